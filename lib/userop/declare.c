/* Declares user ops: turns a file's rows into Ops of the catalogue, whose hooks use the
 * body. check.c checks the texts. */
#include "type/word.h"
#include "userop/userop_impl.h"
#include "value/class.h"

#include <string.h>

static bool fail_row(Session *s, const UserOp *d, Span at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* An error in the row of an op. */
static bool fail_row(Session *s, const UserOp *d, Span at, const char *fmt, ...) {
    Str b = STR(s);
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&b, fmt, ap);
    va_end(ap);
    fail(s, at, E_PLUGIN, "the op %s: %s", d->name, str_text(&b));
    str_free(&b);
    return false;
}

/* ---- names ---- */

bool userop_check_name(Session *s, const char *name, Span at) {
    size_t n = strlen(name);
    if (!word_is_name(name, n))
        return fail(s, at, E_NAME, "\"%s\" can't be the name of an op", name);
    const Type *t = type_by_name(s, name);
    if (t && t->cls)
        return fail(s, at, E_DUPLICATE, "there is already a type %s in %s", name,
                    t->cls->from);
    if (macro_find(name, n) || builtin_is_name(name) || t)
        return fail(s, at, E_DUPLICATE, "%s is a function of the language already",
                    name);
    return true;
}

bool userop_is_reserved_word(const char *name) {
    return strcmp(name, "g") == 0 || strcmp(name, "r") == 0 ||
           strcmp(name, "disconnected") == 0 || strncmp(name, "g_", 2) == 0 ||
           strncmp(name, "t_", 2) == 0;
}

static bool is_free_word(const char *name) {
    return word_is_name(name, strlen(name)) && !userop_is_reserved_word(name);
}

static bool check_signature_words(Session *s, const UserOp *d, const UserOpTexts *l,
                                  const char *what) {
    for (size_t i = 0; i < l->n; i++) {
        const char *name = sym_text(s, l->p[i].name);
        bool result = l == &d->out && strcmp(name, "r") == 0;
        if (!is_free_word(name) && !result)
            return fail_row(s, d, l->p[i].at, "\"%s\" can't be the name of %s", name,
                            what);
        for (size_t k = 0; k < i; k++)
            if (l->p[k].name == l->p[i].name)
                return fail_row(s, d, l->p[i].at, "\"%s\" occurs twice", name);
    }
    return true;
}

/* ---- the signature ---- */

void userop_check_signature(Session *s, const Op *op, SignatureError *e) {
    signature_parse(s, op_table(s)->arena, op, e);
}

/* "x, n: int = 3"; NULL for an empty list. */
static const char *join_declared(Session *s, const UserOpTexts *l, bool names) {
    Str b = STR(s);
    for (size_t i = 0; i < l->n; i++)
        str_printf(&b, "%s%s", i ? ", " : "",
                   names ? sym_text(s, l->p[i].name) : l->p[i].text);
    const char *text = b.n ? arena_str(session_arena(s), str_text(&b), b.n) : NULL;
    str_free(&b);
    return text;
}

static bool check_row_signature(Session *s, const UserOp *d, const Op *op) {
    SignatureError e;
    userop_check_signature(s, op, &e);
    if (!e.what) return true;
    const UserOpTexts *l = e.part == SIGNATURE_IN      ? &d->in
                           : e.part == SIGNATURE_PROPS ? &d->props
                                                       : &d->out;
    Span at = e.index < l->n ? l->p[e.index].at : l->at;
    fail_row(s, d, at, "%s%s%s%s", e.what, *e.rest ? " at \"" : "", e.rest,
             *e.rest ? "\"" : "");
    if (e.part == SIGNATURE_IN)
        return note(s, NOWHERE,
                    "an input must be `x`, `n: int`, `axes: ints`, `b: bool`, `v: "
                    "any`, `eps = 1e-5`, `y?` or, as the last, `*rest`");
    return note(s, NOWHERE,
                "a prop must be a name and one of bool, int, float, str, dtype, ints, "
                "axes, axis, sides, with a default: `beta: float = 1.0`");
}

bool userop_is_default(const char *p) {
    double v;
    if (strcmp(p, "True") == 0 || strcmp(p, "False") == 0 || strcmp(p, "pi") == 0)
        return true;
    p += *p == '-';
    size_t n = num_read_float(p, strlen(p), FLOAT64, &v);
    return n > 0 && !p[n];
}

static bool check_defaults(Session *s, const UserOp *d, const Signature *sig) {
    for (size_t i = 0; i < sig->nin; i++)
        if (sig->in[i].value && !userop_is_default(sig->in[i].value))
            return fail_row(s, d, d->in.p[i].at, "a default must be a number, not %s",
                            sig->in[i].value);
    for (size_t i = 0; i < sig->nprop; i++)
        if (sig->prop[i].type == T_GRAPH)
            return fail_row(s, d, d->props.p[i].at,
                            "only ops in C can have functions as props");
    return true;
}

/* ---- derivatives ---- */

static bool list_has_name(const UserOpTexts *l, Sym name) {
    for (size_t i = 0; i < l->n; i++)
        if (l->p[i].name == name) return true;
    return false;
}

/* Every entry must name an input, and every tensor input must have an entry. */
static bool check_inputs_have(Session *s, const UserOp *d, const Signature *sig,
                              const UserOpTexts *l, const char *what) {
    for (size_t i = 0; i < l->n; i++) {
        const char *name = sym_text(s, l->p[i].name);
        size_t k = 0;
        while (k < sig->nin && sig->in[k].name != l->p[i].name)
            k++;
        if (k == sig->nin)
            return fail_row(s, d, l->p[i].at, "it has no input %s", name);
        if (sig->in[k].rest)
            return fail_row(s, d, l->p[i].at,
                            "%s of a rest parameter can't be given as text: without "
                            "them, the definition is differentiated",
                            what);
    }
    for (size_t k = 0; l->n && k < sig->nin; k++) {
        bool cut = list_has_name(&d->disconnected, sig->in[k].name);
        if (sig->in[k].kind != IN_TENSOR || cut || list_has_name(l, sig->in[k].name))
            continue;
        const char *name = sym_text(s, sig->in[k].name);
        fail_row(s, d, l->at, "%s lacks the input %s", what, name);
        return note(s, NOWHERE,
                    "write `%s: 0` if it changes nothing, or `%s: undefined('why')`",
                    name, name);
    }
    return true;
}

static bool check_outputs_have(Session *s, const UserOp *d, const Signature *sig) {
    const UserOpTexts *l = &d->pushforward;
    for (size_t i = 0; i < l->n; i++) {
        size_t k = 0;
        while (k < sig->nout && sig->out[k] != l->p[i].name)
            k++;
        if (k == sig->nout)
            return fail_row(s, d, l->p[i].at, "it has no output %s",
                            sym_text(s, l->p[i].name));
    }
    return !l->n || l->n == sig->nout ||
           fail_row(s, d, l->at, "pushforward lacks an output");
}

static bool check_derivatives(Session *s, const UserOp *d, const Signature *sig) {
    const UserOpTexts *ways[] = {&d->partials, &d->adjoint, &d->pullback};
    const char *name[] = {"partials", "adjoint", "pullback"};
    int given = -1;
    for (int i = 0; i < 3; i++) {
        if (!ways[i]->n) continue;
        if (given >= 0)
            return fail_row(s, d, ways[i]->at,
                            "%s and %s are two answers to one question", name[given],
                            name[i]);
        given = i;
        if (!check_inputs_have(s, d, sig, ways[i], name[i])) return false;
    }
    if (given >= 0 && given < 2 && sig->nout > 1)
        return fail_row(s, d, ways[given]->at,
                        "%s is for ops with one output: write a pullback", name[given]);
    if (d->replace && (given >= 0 || d->pushforward.n))
        return fail_row(s, d, d->at,
                        "an op that is replaced at once has the derivative of its "
                        "definition");
    for (size_t i = 0; i < d->disconnected.n; i++) {
        size_t k = 0;
        while (k < sig->nin && sig->in[k].name != d->disconnected.p[i].name)
            k++;
        if (k == sig->nin)
            return fail_row(s, d, d->disconnected.p[i].at, "it has no input %s",
                            sym_text(s, d->disconnected.p[i].name));
    }
    return check_outputs_have(s, d, sig);
}

/* ---- the Op ---- */

static const char *const *texts_by_input(Session *s, const UserOpTexts *l,
                                         const Signature *sig) {
    if (!l->n) return NULL;
    const char **text = NEW_N(session_arena(s), sig->nin + 1, const char *);
    for (size_t i = 0; i < sig->nin; i++)
        for (size_t k = 0; k < l->n; k++)
            if (l->p[k].name == sig->in[i].name) text[i] = l->p[k].text;
    for (size_t i = 0; i < sig->nin; i++)
        if (!text[i]) text[i] = "disconnected";
    return text;
}

static void fill_catalogue_op(Session *s, struct OpBody *b) {
    const UserOp *d = b->decl;
    uint32_t line = 0, col;
    span_place(s, d->at, &line, &col);
    b->rare = (OpRare){.shape = d->shape.text, .connect = userop_connect};
    b->op = (Op){.name = d->name,
                 .doc = d->doc,
                 .alias = d->alias.text,
                 .in = join_declared(s, &d->in, false),
                 .props = join_declared(s, &d->props, false),
                 .out = join_declared(s, &d->out, true),
                 .version = d->version,
                 .promote = d->promote,
                 .kinds = d->kinds & KIND_ANY,
                 .type = userop_type,
                 .flops = d->flops.text,
                 .math = d->math,
                 .rare = &b->rare,
                 .comm = d->comm,
                 .assoc = d->assoc,
                 .fold = d->never_fold ? FOLD_NEVER : FOLD_ALWAYS,
                 .example = d->example.text,
                 .file = d->file,
                 .line = (int)line,
                 .yields = d->shipped,
                 .from = d->file,
                 .body = b};
    if (d->replace) b->op.expand = userop_expand;
    if (d->pushforward.n) b->op.push = userop_push;
    if (!d->partials.n && !d->adjoint.n) b->op.pull = userop_pull;
}

static bool check_op_names(Session *s, const UserOp *d) {
    char **part = NULL;
    Arena *a = session_arena(s);
    size_t n = d->alias.text ? str_split(a, d->alias.text, ',', &part) : 0;
    for (size_t i = 0; i < n; i++)
        if (!userop_check_name(s, part[i], d->alias.at)) return false;
    return userop_check_name(s, d->name, d->at);
}

static bool check_shared_names(Session *s, const UserOp *d) {
    for (size_t i = 0; i < d->props.n; i++)
        if (list_has_name(&d->in, d->props.p[i].name))
            return fail_row(s, d, d->props.p[i].at, "%s is both an input and a prop",
                            sym_text(s, d->props.p[i].name));
    for (size_t i = 0; i < d->out.n; i++)
        if (list_has_name(&d->in, d->out.p[i].name) ||
            list_has_name(&d->props, d->out.p[i].name))
            return fail_row(s, d, d->out.p[i].at, "%s is an input or a prop already",
                            sym_text(s, d->out.p[i].name));
    return true;
}

static bool declare_op(Session *s, struct OpBody *b) {
    const UserOp *d = b->decl;
    if (!check_op_names(s, d)) return false;
    fill_catalogue_op(s, b);
    if (!check_signature_words(s, d, &d->in, "an input") ||
        !check_signature_words(s, d, &d->props, "a prop") ||
        !check_signature_words(s, d, &d->out, "an output") ||
        !check_shared_names(s, d) || !check_row_signature(s, d, &b->op))
        return false;
    if (!d->def.text)
        return fail_row(s, d, d->at, "it has no def, so there is no way to run it");
    if (!op_add(s, &b->op, d->at)) return false;
    const Signature *sig = op_signature(s, &b->op);
    b->op.partial = texts_by_input(s, &d->partials, sig);
    b->op.adjoint = texts_by_input(s, &d->adjoint, sig);
    if (sig->nin != 2 && (d->comm || d->assoc))
        return fail_row(s, d, d->at, "only an op with two inputs can be %s",
                        d->comm ? "commutative" : "associative");
    return check_defaults(s, d, sig) && check_derivatives(s, d, sig);
}

bool userop_add_file(Session *s, size_t n, const UserOp *op) {
    struct OpBody *body = NEW_N(session_arena(s), n + 1, struct OpBody);
    for (size_t i = 0; i < n; i++) {
        body[i].decl = &op[i];
        if (!declare_op(s, &body[i])) return false;
    }
    return userop_check(s, n, body);
}
