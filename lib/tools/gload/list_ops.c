/* The catalogue of ops as text or JSON: --list-ops, --op. Defaults of the contract that
 * an op's row leaves out are shown, too. */
#include "io/text_ops.h"
#include "lang/builtin.h"
#include "lang/macro.h"
#include "lang/print/print.h"
#include "optim/optim.h"
#include "tools/gload/list.h"
#include "type/word.h"
#include "userop/userop.h"
#include "value/class.h"

#include <string.h>

static void put_padded(Str *out, const char *p, size_t width) {
    str_puts(out, p);
    for (size_t n = strlen(p); n < width; n++)
        str_putc(out, ' ');
    str_putc(out, ' ');
}

void list_close_list(OpFacts *f) {
    if (f->json && f->open) json_close(&f->w, "}");
    f->open = false;
}

static void put_lines(Str *out, const char *p, size_t indent) {
    for (; *p; p++) {
        str_putc(out, *p);
        for (size_t i = 0; *p == '\n' && p[1] && i < indent; i++)
            str_putc(out, ' ');
    }
    str_putc(out, '\n');
}

void list_put_fact(OpFacts *f, const char *name, const char *text) {
    if (!text || !*text) return;
    list_close_list(f);
    f->name = name;
    if (f->json) {
        json_line(&f->w, "  ");
        json_member(&f->w, name, text);
    } else {
        put_padded(f->out, name, 13);
        put_lines(f->out, text, 14);
    }
}

void list_put_fact_of(OpFacts *f, const char *name, const char *of, const char *text) {
    bool more = f->open && strcmp(f->name, name) == 0;
    if (!more) list_close_list(f);
    if (f->json) {
        if (!more) {
            json_line(&f->w, "  ");
            json_put_key(&f->w, name);
            json_open(&f->w, '{');
        }
        json_member(&f->w, of, text);
    } else {
        put_padded(f->out, more ? "" : name, 13);
        str_printf(f->out, "%s: ", of);
        put_lines(f->out, text, 14);
    }
    f->name = name;
    f->open = true;
}

/* ---- lists ---- */

static void put_signature(Session *s, const Op *op, Str *out) {
    (void)s;
    str_printf(out, "%s(%s", op->name, op->in ? op->in : "");
    if (op->props && *op->props)
        str_printf(out, "%s%s", op->in && *op->in ? ", " : "", op->props);
    str_putc(out, ')');
    if (op->out) str_printf(out, " -> %s", op->out);
}

/* The first sentence. */
static void put_first_sentence(const char *doc, Str *out) {
    size_t n = 0;
    while (doc && doc[n] && !(doc[n] == '.' && strchr(" \n", doc[n + 1])))
        n++;
    for (size_t i = 0; doc && i < n + (doc[n] == '.'); i++)
        str_putc(out, doc[i] == '\n' ? ' ' : doc[i]);
}

void list_put_entry(OpFacts *f, const ListEntry *e) {
    Str text = STR(f->s);
    put_first_sentence(e->doc, &text);
    if (f->json) {
        if (f->open) json_line(&f->w, "");
        json_open(&f->w, '{');
        json_member(&f->w, "name", e->name);
        json_member(&f->w, "kind", e->kind);
        json_member(&f->w, "doc", str_text(&text));
        json_close(&f->w, "}");
    } else {
        put_padded(f->out, e->name, 18);
        str_puts(f->out, str_text(&text));
        if (strcmp(e->kind, "op") != 0) str_printf(f->out, " (%s)", e->kind);
        str_putc(f->out, '\n');
    }
    f->open = true;
    str_free(&text);
}

/* A pattern matches names; a word is looked for in names and texts, too. */
static bool is_asked_for(const char *what, const ListEntry *e) {
    if (strpbrk(what, "*?[")) return str_glob(what, e->name);
    return strcasestr(e->name, what) || (e->doc && strcasestr(e->doc, what)) ||
           (e->alias && strcasestr(e->alias, what));
}

/* The macro of the same name does all that the op does: scan, normal. */
static bool macro_says_more(const Op *op) {
    return op->by_macro || (op->creates && macro_find(op->name, strlen(op->name)));
}

/* The op of the same name is what users write, or the macro is another function:
 * gamma(x), and gamma(shape, seed=1). */
static bool macro_is_listed(Session *s, const Macro *m) {
    const Op *op = op_find(s, m->name, strlen(m->name));
    return !op || macro_says_more(op) || strstr(m->signature, "rng=");
}

bool gload_list_ops(Session *s, const char *what, bool all, bool json, Str *out) {
    OpFacts f = {.s = s, .out = out, .json = json, .w = {.out = out}};
    const Builtin *b;
    const Op *none;
    if (!io_text_op(s, NULL, &none)) return false;
    if (json) json_open(&f.w, '[');
    for (size_t i = 0; i < op_count(s); i++) {
        const Op *op = op_get(s, i);
        ListEntry e = {op->name, op->alias, op->doc, "op"};
        if (!all && (op->internal || macro_says_more(op))) continue;
        if (is_asked_for(what, &e)) list_put_entry(&f, &e);
    }
    for (const MacroList *const *l = catalogue_macros; *l; l++)
        for (size_t i = 0; i < (*l)->n; i++) {
            const Macro *m = &(*l)->macro[i];
            ListEntry e = {m->name, NULL, m->doc, "macro"};
            if ((all || macro_is_listed(s, m)) && is_asked_for(what, &e))
                list_put_entry(&f, &e);
        }
    for (size_t i = 0; (b = builtin_at(i)); i++) {
        ListEntry e = {b->name, NULL, b->doc, "language"};
        if (!op_find(s, b->name, strlen(b->name)) && is_asked_for(what, &e))
            list_put_entry(&f, &e);
    }
    if (json) json_close(&f.w, "]\n");
    if (f.open) return true;
    if (strpbrk(what, "*?["))
        return fail(s, NOWHERE, E_UNKNOWN, "there is no op called %s", what);
    return fail(s, NOWHERE, E_UNKNOWN, "no op has %s in its name or text", what);
}

/* ---- for the manual ---- */

/* In one line, as far as `stop`. */
static void put_field(Str *out, const char *p, const char *stop) {
    for (; p && *p && !strchr(stop, *p); p++)
        str_putc(out, *p == '\n' || *p == '\t' ? ' ' : *p);
}

void list_dump_function(Str *out, const char *family, const char *signature,
                        const ListEntry *e, const char *example) {
    str_printf(out, "%s\t%s\t", family, signature);
    put_field(out, e->doc, "");
    str_putc(out, '\t');
    put_field(out, e->alias, "");
    str_putc(out, '\t');
    put_field(out, example, "\n");
    str_putc(out, '\n');
}

/* "linalg" of lib/ops/linalg/det.c, "elemwise/exp" of a table of elementwise ops,
 * "nn/losses" of a file of ops as text. */
static const char *family_of(Session *s, const Op *op) {
    const char *p = op->file ? strstr(op->file, "ops/") : NULL;
    if (!p) return "other";
    p += strlen("ops/");
    bool table =
        strncmp(p, "elemwise/", strlen("elemwise/")) == 0 || strstr(p, ".ops.yaml");
    return arena_str(session_arena(s), p, table ? strcspn(p, ".") : strcspn(p, "/"));
}

bool gload_dump_ops(Session *s, Str *out) {
    Arena *a = session_arena(s);
    const Builtin *b;
    const Op *none;
    if (!io_text_op(s, NULL, &none)) return false;
    for (size_t i = 0; i < op_count(s); i++) {
        const Op *op = op_get(s, i);
        ListEntry e = {op->name, op->alias, op->doc, "op"};
        Str signature = STR(s);
        put_signature(s, op, &signature);
        if (!op->internal && !macro_says_more(op))
            list_dump_function(out, family_of(s, op), str_text(&signature), &e,
                               op->example);
        str_free(&signature);
    }
    for (size_t l = 0; catalogue_macros[l]; l++)
        for (size_t i = 0; i < catalogue_macros[l]->n; i++) {
            const Macro *m = &catalogue_macros[l]->macro[i];
            ListEntry e = {m->name, NULL, m->doc, "macro"};
            if (macro_is_listed(s, m))
                list_dump_function(out, catalogue_macro_folders[l],
                                   arena_printf(a, "%s(%s)", m->name, m->signature), &e,
                                   m->example);
        }
    for (size_t i = 0; (b = builtin_at(i)); i++) {
        ListEntry e = {b->name, NULL, b->doc, "language"};
        if (!op_find(s, b->name, strlen(b->name)))
            list_dump_function(out, "lang", b->signature, &e, b->example);
    }
    gload_dump_optimizers(s, out);
    return true;
}

/* ---- one op ---- */

static void show_props(OpFacts *f, const Op *op, const Signature *sig) {
    static const char *const kinds[] = {
        [T_BOOL] = "True or False",
        [T_INT] = "an integer",
        [T_FLOAT] = "a number",
        [T_STR] = "a text",
        [T_DTYPE] = "a dtype",
        [T_INTS] = "a list of integers",
        [T_AXES] = "an axis, a list of axes or None for all",
        [T_AXIS] = "an axis",
        [T_GRAPH] = "a function of the graph",
        [T_KEY] = "a number or a text",
        [T_SIDES] = "a number, a list of numbers or pairs, or a text"};
    for (size_t i = 0; i < sig->nprop; i++) {
        const PropDef *d = &sig->prop[i];
        Str b = STR(f->s);
        str_puts(&b, kinds[d->type]);
        if (d->none && d->type != T_AXES) str_puts(&b, " or None");
        str_puts(&b, d->required ? "; must be given" : "; ");
        if (!d->required) print_prop(f->s, d, &d->value, &b);
        if (!d->required) str_puts(&b, " if left out");
        list_put_fact_of(f, "props", sym_text(f->s, d->name), str_text(&b));
        str_free(&b);
    }
    (void)op;
}

static void put_kinds(unsigned kinds, Str *b) {
    static const struct {
        unsigned kinds;
        const char *word;
    } words[] = {{KIND_BOOL, " bool"},
                 {KIND_INT, " int"},
                 {KIND_FLOAT, " float"},
                 {KIND_COMPLEX, " complex"}};
    if (!kinds || kinds == KIND_ANY) return;
    str_puts(b, "; accepts");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (kinds & words[i].kinds) str_puts(b, words[i].word);
}

static void show_typing(OpFacts *f, const Op *op) {
    static const char *const rules[] = {[PROMOTE_NONE] = "used as they are",
                                        [PROMOTE_SAME] = "promoted to a common dtype",
                                        [PROMOTE_INEXACT] =
                                            "promoted, integers to floatX",
                                        [PROMOTE_TAIL] = "all but the first promoted"};
    static const char *const results[] = {[OUT_SAME] = "the same",
                                          [OUT_BOOL] = "bool",
                                          [OUT_REAL] = "real",
                                          [OUT_INT64] = "int64",
                                          [OUT_PROP] = "dtype"};
    Str b = STR(f->s);
    if (op_rare(op)->itypes) {
        str_printf(&b, "(%s) -> (%s)", op_rare(op)->itypes,
                   op_rare(op)->otypes ? op_rare(op)->otypes : "");
        list_put_fact(f, "types", str_text(&b));
    } else {
        str_puts(&b, op->plugin ? "decided in C" : rules[op->promote]);
        if (op->elemwise && !op->body)
            str_printf(&b, "; the result is %s", results[op->out_dtype]);
        put_kinds(op->kinds, &b);
        list_put_fact(f, "dtypes", str_text(&b));
    }
    str_free(&b);
    if (op->body) list_put_fact(f, "typing", "of its definition");
    if (op->default_output)
        list_put_fact(
            f, "a call gives",
            arena_printf(session_arena(f->s), "output %d", op->default_output - 1));
}

static const char *shape_text_of(const Op *op) {
    if (op_rare(op)->shape) return op_rare(op)->shape;
    if (op->elemwise) return "broadcast of the inputs";
    if (op_rare(op)->infer_shape) return "in C";
    return op->body ? "of its definition" : "of the types";
}

static void show_cost(OpFacts *f, const Op *op) {
    const char *flops = op->flops               ? op->flops
                        : op->body && !op->math ? "of its definition"
                        : op->math              ? "of its math calls"
                                                : "0";
    list_put_fact(f, "flops",
                  op->elemwise && op->flops
                      ? arena_printf(session_arena(f->s), "%s an element", flops)
                      : flops);
    if (op->math)
        list_put_fact(f, "math calls",
                      arena_printf(session_arena(f->s), "%d an element", op->math));
}

/* Does the comma-separated list have the name? */
static bool comma_list_has(const char *list, const char *name) {
    size_t len = strlen(name), n;
    for (const char *p = list; p && *p; p += n) {
        p += strspn(p, ", ");
        n = strcspn(p, ", ");
        if (n == len && memcmp(p, name, n) == 0) return true;
    }
    return false;
}

/* How each input's gradient is defined: a formula, "in C", "disconnected", or
 * nothing. */
static const char *gradient_of(const Op *op, const UserOp *own, const Param *p,
                               const char *name, size_t i) {
    const char *const *list = op->partial ? op->partial : op->adjoint;
    if (op->shape_only || comma_list_has(op->disconnected, name)) return "disconnected";
    for (size_t k = 0; own && k < own->disconnected.n; k++)
        if (own->disconnected.p[k].name == p->name) return "disconnected";
    if (list) return list[i] ? list[i] : "none: asking for it is an error";
    for (size_t k = 0; own && k < own->pullback.n; k++)
        if (own->pullback.p[k].name == p->name) return own->pullback.p[k].text;
    if (own || op->def || (op->expand && !op->perform)) return "of its definition";
    if (op->pullback) return "by the pullback";
    return op->pull ? "in C" : "none: asking for it is an error";
}

static void show_gradient(OpFacts *f, const Op *op, const Signature *sig) {
    const UserOp *own = userop_declaration(op);
    const char *what = op->partial              ? "gradient"
                       : op->adjoint            ? "adjoint"
                       : own && own->pullback.n ? "pullback"
                                                : "gradient";
    for (size_t i = 0; i < sig->nin; i++) {
        const char *name = sym_text(f->s, sig->in[i].name);
        const char *of =
            op->partial ? arena_printf(session_arena(f->s), "d/d%s", name) : name;
        list_put_fact_of(f, what, of, gradient_of(op, own, &sig->in[i], name, i));
    }
    for (size_t k = 0; own && k < own->pushforward.n; k++)
        list_put_fact_of(f, "pushforward", sym_text(f->s, own->pushforward.p[k].name),
                         own->pushforward.p[k].text);
    list_put_fact(f, "pullback", op->pullback);
    list_put_fact(f, "pushforward", op->pushforward);
    if (op->push && !(own && own->pushforward.n))
        list_put_fact(f, "pushforward", "in C");
    if (op_rare(op)->connect && !own) list_put_fact(f, "connection", "in C");
}

static void show_memory(OpFacts *f, const Op *op, const Signature *sig) {
    Str b = STR(f->s);
    if (op->view)
        list_put_fact_of(f, "view_map", sym_text(f->s, sig->out[0]),
                         sym_text(f->s, sig->in[op->view - 1].name));
    else if (op_rare(op)->views)
        list_put_fact(f, "view_map", "in C");
    if (op_rare(op)->destroys) list_put_fact(f, "destroy_map", "in C");
    for (size_t i = 0; i < sig->nin && i < 32; i++)
        if (op->reuse >> i & 1U)
            str_printf(&b, "%s%s", b.n ? ", " : "", sym_text(f->s, sig->in[i].name));
    if (b.n) list_put_fact(f, "may overwrite", str_text(&b));
    str_free(&b);
}

static const char *runs_by(const Op *op) {
    if (op->def || (op->expand && !op->perform))
        return "its definition, in place of the call";
    if (op->body) return "its definition";
    if (op_rare(op)->thunk)
        return op_rare(op)->thunk->lazy ? "a lazy thunk of its own" : "a thunk";
    return op->pick ? "loops for each dtype" : "a kernel";
}

/* How a random op draws from a state that persists between calls. */
static void show_draw(OpFacts *f, const char *name) {
    const Macro *m = macro_find(name, strlen(name));
    if (!m || !strstr(m->signature, "rng=")) return;
    list_put_fact(
        f, "with a state",
        arena_printf(session_arena(f->s),
                     "next, y = %s(..., rng=r): the state after the draw, and the "
                     "draw; r is of type random, as a shared variable r: random = "
                     "rng(1) that is updated by r = next",
                     name));
}

static void show_op_facts(OpFacts *f, const Op *op) {
    const Signature *sig = op_signature(f->s, op);
    if (f->json) show_draw(f, op->name); /* in text, the macro below shows it */
    list_put_fact(f, "alias", op->alias);
    list_put_fact(f, "operator", op->infix);
    list_put_fact(f, "definition",
                  op->body ? userop_declaration(op)->def.text : op->def);
    show_props(f, op, sig);
    show_typing(f, op);
    list_put_fact(f, "shape", shape_text_of(op));
    show_cost(f, op);
    show_gradient(f, op, sig);
    show_memory(f, op, sig);
    list_put_fact(f, "runs by", runs_by(op));
    if (op->debug)
        list_put_fact(f, "debug",
                      op->debug_instead ? "a kernel of its own" : "a reference kernel");
    if (op->comm) list_put_fact(f, "commutative", "its two inputs may be swapped");
    list_put_fact(f, "effect", op->effect ? "kept even when nothing reads it" : NULL);
    list_put_fact(f, "folding",
                  op->fold == FOLD_NEVER ? "never"
                  : op_rare(op)->fold_if ? "when all inputs are constant, by case"
                                         : "when all inputs are constant");
    if (op->version > 1)
        list_put_fact(f, "version",
                      arena_printf(session_arena(f->s), "%d", op->version));
    list_put_fact(f, "from", op->from);
    list_put_fact(f, "example", op->example);
    list_close_list(f);
}

void list_put_head(OpFacts *f, const char *name, const char *signature,
                   const char *doc) {
    if (f->json) {
        json_open(&f->w, '{');
        json_member(&f->w, "name", name);
        json_line(&f->w, "  ");
        json_member(&f->w, "signature", signature);
        json_line(&f->w, "  ");
        json_member(&f->w, "doc", doc ? doc : "");
    } else {
        str_printf(f->out, "%s\n    ", signature);
        put_lines(f->out, doc ? doc : "", 4);
        str_putc(f->out, '\n');
    }
}

static bool show_macro(OpFacts *f, const char *name) {
    const Macro *m = macro_find(name, strlen(name));
    if (!m) return false;
    list_put_head(f, m->name,
                  arena_printf(session_arena(f->s), "%s(%s)", m->name, m->signature),
                  m->doc);
    list_put_fact(f, "kind", "macro: expands while a graph is built");
    show_draw(f, name);
    list_put_fact(f, "example", m->example);
    if (f->json) json_close(&f->w, "}\n");
    return true;
}

static bool show_builtin(OpFacts *f, const char *name) {
    const Builtin *b = builtin_find(name);
    if (!b) return false;
    list_put_head(f, b->name, b->signature, b->doc);
    list_put_fact(f, "kind", "part of the language: read while a graph is built");
    list_put_fact(f, "example", b->example);
    if (f->json) json_close(&f->w, "}\n");
    return true;
}

static bool show_op(OpFacts *f, const Op *op) {
    Str signature = STR(f->s);
    put_signature(f->s, op, &signature);
    list_put_head(f, op->name, str_text(&signature), op->doc);
    str_free(&signature);
    show_op_facts(f, op);
    if (f->json) json_close(&f->w, "}\n");
    if (f->json || !macro_find(op->name, strlen(op->name))) return true;
    str_putc(f->out, '\n');
    return show_macro(f, op->name); /* gamma(x), and gamma(shape, seed=1) */
}

bool gload_list_op(Session *s, const char *name, bool json, Str *out) {
    OpFacts f = {.s = s, .out = out, .json = json, .w = {.out = out}};
    const Op *op = op_find(s, name, strlen(name)), *none;
    if (!op && !io_text_op(s, name, &op)) return false;
    bool optim = false, any = op && op->by_macro ? show_macro(&f, name)
                              : op               ? show_op(&f, op)
                                   : show_macro(&f, name) || show_builtin(&f, name);
    if ((!json || !any) && !gload_list_optimizer(&f, name, &optim)) return false;
    if (any || optim) return true;
    if (!io_text_op(s, NULL, &none)) return false;
    Vec(const char *) names = {0};
    for (size_t i = 0; i < op_count(s); i++)
        vec_push(s, &names, op_get(s, i)->name);
    for (const MacroList *const *l = catalogue_macros; *l; l++)
        for (size_t i = 0; i < (*l)->n; i++)
            vec_push(s, &names, (*l)->macro[i].name);
    for (size_t i = 0; i < optim_count(s); i++)
        vec_push(s, &names, optim_get(s, i)->name);
    Str advice = STR(s);
    word_advise(&advice, WORD_FUNCTION, name, names.p, names.n);
    fail(s, NOWHERE, E_UNKNOWN, "there is no op %s%s", name, str_text(&advice));
    str_free(&advice);
    vec_free(&names);
    return false;
}
