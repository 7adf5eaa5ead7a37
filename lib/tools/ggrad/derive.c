/* ggrad: adds derivatives of a graph's variables as named outputs. */
#include "optim/optim.h"
#include "tools/ggrad/ggrad_impl.h"
#include "type/word.h"
#include "value/class.h"

#include <string.h>

static void note_asked(Derivation *d, Var v, Sym name) {
    if (!map_get(&d->asked, v, NULL)) map_put(&d->asked, v, name);
}

bool derive_find(Derivation *d, const char *option, const char *list, VarList *out) {
    Outputs found = {0};
    bool ok = names_find_output_list(d->g, derive_span(d, option, list), &found);
    Var *v = NEW_N(d->a, found.n + 1, Var);
    *out = (VarList){found.n, v};
    for (size_t i = 0; i < found.n; i++) {
        v[i] = found.p[i].var;
        /* values of a tree that is named have names of their own, or its path */
        if (graph_find(d->g, found.p[i].label) == v[i])
            note_asked(d, v[i], found.p[i].label);
    }
    vec_free(&found);
    return ok;
}

bool derive_find_one(Derivation *d, const char *name, Var *v) {
    if (!names_find_var(d->g, name, strlen(name), d->d->at, v)) return false;
    note_asked(d, *v, sym(d->s, name));
    return true;
}

const char *derive_shown(const Derivation *d, Var v) {
    uint64_t asked;
    Sym y = map_get(&d->asked, v, &asked) ? (Sym)asked : var_name(d->g, v);
    for (size_t i = 0; !y && i < d->g->outputs.n; i++)
        if (d->g->outputs.p[i].var == v) y = d->g->outputs.p[i].label;
    for (size_t i = 0; !y && i < d->g->trees.n; i++)
        if (d->g->trees.p[i].var == v) y = d->g->trees.p[i].name;
    return sym_text(d->s, y);
}

/* Replaces characters that a name can't have, as in "r/y", by _. */
static void make_name(Str *text) {
    for (size_t i = 0; i < text->n; i++)
        if (!ascii_is_word(text->p[i])) text->p[i] = '_';
}

/* "d_{cost}_d_{wrt}" with the names filled in. */
static Sym result_name(const Derivation *d, OutputName name) {
    Str text = STR(d->s);
    for (const char *p = d->d->name ? d->d->name : name.pattern; *p;) {
        if (strncmp(p, "{cost}", 6) == 0)
            str_puts(&text, name.cost), p += 6;
        else if (strncmp(p, "{wrt}", 5) == 0)
            str_puts(&text, name.wrt), p += 5;
        else
            str_putc(&text, *p++);
    }
    make_name(&text);
    Sym y = sym(d->s, str_text(&text));
    str_free(&text);
    return y;
}

/* Only a wrong name needs a text to point to. */
static bool check_result_name(const Derivation *d, const char *name) {
    return word_is_name(name, strlen(name)) ||
           compiler_check_var_name(d->s, derive_span(d, "--name", name));
}

bool derive_output(Derivation *d, OutputName how, Var v, Var of, size_t by) {
    if (v == GRAD_DISCONNECTED) return true;
    Sym name = result_name(d, how);
    if (!check_result_name(d, sym_text(d->s, name))) return false;
    if (graph_find(d->g, name) != VAR_NONE || graph_has_dim(d->g, name) ||
        graph_output(d->g, name) != VAR_NONE) {
        fail(d->s, d->d->at, E_DUPLICATE, "the graph already has a %s",
             sym_text(d->s, name));
        return note(d->s, NOWHERE,
                    "choose another name with --name, as in --name 'grad_{wrt}'");
    }
    graph_name(d->g, v, name);
    vec_push(d->s, &d->g->outputs, ((Output){name, v}));
    if (!var_is_null(d->g, v)) vec_push(d->s, &d->claims, ((Claim){name, v, of, by}));
    return true;
}

/* ---- costs and wrt ---- */
Span derive_span(const Derivation *d, const char *option, const char *text) {
    uint32_t src = source_add(d->s, option, text, strlen(text));
    return (Span){src, 0, (uint32_t)strlen(text)};
}

static bool only_output(Derivation *d, const char *option, Var *cost) {
    if (d->g->outputs.n == 1) {
        Output only = d->g->outputs.p[0];
        note_asked(d, only.var, only.label);
        return *cost = only.var, true;
    }
    fail(d->s, NOWHERE, E_USAGE,
         "the graph has %zu outputs: use %s to say which one to differentiate",
         d->g->outputs.n, option);
    Str list = STR(d->s);
    for (size_t i = 0; i < d->g->outputs.n && i < 12; i++)
        str_printf(&list, "%s%s", i ? ", " : "",
                   sym_text(d->s, d->g->outputs.p[i].label));
    if (list.n) note(d->s, NOWHERE, "its outputs are %s", str_text(&list));
    str_free(&list);
    return false;
}

static bool is_differentiable(const Graph *g, Var v) {
    const Type *t = var_type(g, v);
    if (t->kind == TYPE_PLUGIN) return type_class(t)->add != NULL;
    return (t->kind == TYPE_TENSOR || t->kind == TYPE_SPARSE) &&
           dtype_is_inexact(t->dtype);
}

/* Can --check move it? A Hessian with respect to a complex variable has no real
 * differences. */
static bool is_movable(const Derivation *d, Var v) {
    const Type *t = var_type(d->g, v);
    return t->kind == TYPE_TENSOR && !(d->d->hessian && dtype_is_complex(t->dtype));
}

/* left: names that --check can't move. */
static bool note_left_out(Derivation *d, Var cost, const Str *left) {
    if (!left->n) return true;
    if (!d->wrt.n)
        return fail(d->s, d->d->at, E_USAGE,
                    "--check varies arrays of floats, but %s depends only on %s",
                    derive_shown(d, cost), str_text(left));
    warn(d->s, d->d->at, E_VERDICT,
         "left out of the check, which varies only arrays of floats: %s",
         str_text(left));
    return true;
}

static uint8_t *mark_reaching(const Derivation *d, Var cost) {
    const Graph *g = d->g;
    uint8_t *reach = NEW_N(d->a, g->nvar, uint8_t);
    reach[cost] = 1;
    for (ApplyId a = g->napply; a-- > 0;)
        for (size_t k = 0; k < g->apply[a].nout; k++)
            for (size_t i = 0; reach[g->apply[a].out + k] && i < g->apply[a].nin; i++)
                if (op_connected(g, a, i, k)) reach[apply_in(g, a)[i]] = 1;
    return reach;
}

/* Adds those of `from` that reach the cost; for --check only those that it can move. */
static void take_reaching(Derivation *d, size_t n, const Var *from,
                          const uint8_t *reach, Str *left) {
    Var *wrt = NEW_N(d->a, n + 1, Var);
    d->wrt = (VarList){0, wrt};
    for (size_t i = 0; i < n; i++) {
        Var v = from[i];
        if (!reach[v] || !is_differentiable(d->g, v)) continue;
        if (graph_is_statistic(d->g, v)) continue;
        if (!d->d->made || is_movable(d, v))
            wrt[d->wrt.n++] = v;
        else
            str_printf(left, "%s%s (%s)", left->n ? ", " : "", derive_shown(d, v),
                       type_str(d->s, var_type(d->g, v)));
    }
}

/* The shared variables that reach the cost through connected paths, statistics left
 * out; without any, the float inputs. */
static bool default_wrt(Derivation *d, Var cost) {
    const Graph *g = d->g;
    const uint8_t *reach = mark_reaching(d, cost);
    Str left = STR(d->s);
    take_reaching(d, g->shared.n, g->shared.p, reach, &left);
    if (!d->wrt.n) take_reaching(d, g->inputs.n, g->inputs.p, reach, &left);
    bool ok = note_left_out(d, cost, &left);
    str_free(&left);
    if (d->wrt.n || !ok) return ok;
    fail(d->s, d->d->at, E_DISCONNECTED,
         "%s depends on no float input or shared variable", derive_shown(d, cost));
    return note(d->s, NOWHERE,
                "give the variables to differentiate with respect to with --wrt");
}

/* --wrt 'W[:2]' */
static bool fail_slice(Derivation *d, Span at) {
    fail(d->s, at, E_UNKNOWN, "--wrt takes names, and a slice can have one");
    return note(
        d->s, NOWHERE,
        "give it its name first, as in gload -e 'part = W[:2]' | ggrad --wrt part");
}

bool derive_wrt(Derivation *d, Var cost) {
    if (!d->d->wrt) return default_wrt(d, cost);
    if (strchr(d->d->wrt, '['))
        return fail_slice(d, derive_span(d, "--wrt", d->d->wrt));
    return derive_find(d, "--wrt", d->d->wrt, &d->wrt);
}

/* --known-grads 'h=g_h, k=g_k' */
static bool take_known(Derivation *d, GradOptions *how) {
    if (!d->d->known) return true;
    Span all = derive_span(d, "--known-grads", d->d->known);
    char **part;
    size_t n = str_split(d->a, d->d->known, ',', &part);
    Var *of = NEW_N(d->a, n, Var), *is = NEW_N(d->a, n, Var);
    for (size_t i = 0; i < n; i++) {
        char *eq = strchr(part[i], '='), **side;
        if (!eq || str_split(d->a, part[i], '=', &side) != 2)
            return fail(d->s, all, E_USAGE,
                        "a known gradient must be VARIABLE=GRADIENT, not '%s'",
                        part[i]);
        if (!names_find_var(d->g, side[0], strlen(side[0]), all, &of[i]) ||
            !names_find_var(d->g, side[1], strlen(side[1]), all, &is[i]))
            return false;
    }
    how->nknown = n;
    how->known_of = of;
    how->known_grad = is;
    return true;
}

bool derive_options(Derivation *d, GradOptions *how) {
    *how = d->d->how;
    how->parts = true;
    if (d->d->constant &&
        !names_find_vars(d->g, d->a,
                         derive_span(d, "--consider-constant", d->d->constant),
                         &how->constant))
        return false;
    return take_known(d, how);
}

/* ---- kinds of derivatives ---- */
static bool add_grads(Derivation *d, Var cost, const char *name, const Var *grad) {
    for (size_t i = 0; i < d->wrt.n; i++) {
        OutputName out = {"d_{cost}_d_{wrt}", name, derive_shown(d, d->wrt.p[i])};
        if (!derive_output(d, out, grad[i], cost, i)) return false;
    }
    return true;
}

/* Does the cost reach v through float or complex values alone? Through integers and
 * bools, as those of argmax, every gradient is zero. */
static uint8_t *mark_smooth_paths(Derivation *d, Var cost) {
    uint8_t *smooth = arena_alloc(d->a, d->g->nvar + 1);
    memset(smooth, 0, d->g->nvar + 1);
    smooth[cost] = 1;
    for (ApplyId a = d->g->napply; a-- > 0;) {
        const Apply *ap = &d->g->apply[a];
        bool on_path = false;
        for (uint32_t k = 0; k < ap->nout; k++)
            on_path |= smooth[ap->out + k];
        VarList in = apply_ins(d->g, a);
        for (size_t i = 0; on_path && i < in.n; i++) {
            const Type *t = var_type(d->g, in.p[i]);
            bool discrete = t->kind == TYPE_TENSOR && dtype_is_discrete(t->dtype);
            smooth[in.p[i]] |= !discrete;
        }
    }
    return smooth;
}

/* Training by such a cost does nothing, without a word. */
static void warn_of_still_parameters(Derivation *d, Var cost) {
    const uint8_t *smooth = mark_smooth_paths(d, cost), *reach = mark_reaching(d, cost);
    Str names = STR(d->s);
    for (size_t i = 0; i < d->wrt.n; i++)
        if (reach[d->wrt.p[i]] && !smooth[d->wrt.p[i]])
            str_printf(&names, "%s%s", names.n ? ", " : "",
                       derive_shown(d, d->wrt.p[i]));
    if (names.n) {
        warn(d->s, d->d->at, E_DISCONNECTED,
             "the gradient of %s is zero: %s depends on it only through integers or "
             "bools, so training won't change it",
             str_text(&names), derive_shown(d, cost));
        note(d->s, NOWHERE, "give the smooth loss as --cost, not the accuracy");
    }
    str_free(&names);
}

static bool derive_cost(Derivation *d) {
    GradOptions how;
    Var cost;
    if (!derive_options(d, &how)) return false;
    if (d->d->cost ? !derive_find_one(d, d->d->cost, &cost)
                   : !only_output(d, "--cost", &cost))
        return false;
    if (!derive_wrt(d, cost)) return false;
    OptimRequest optimizer = {.name = d->d->name, .w = d->wrt};
    if (d->d->optimizer) {
        optimizer.chain = derive_span(d, "--optimizer", d->d->optimizer);
        if (!optim_check_parameters(d->g, &optimizer)) return false;
        warn_of_still_parameters(d, cost);
    }
    Var *grad = NEW_N(d->a, d->wrt.n, Var);
    if (!derive_gradients(d, &(GradTarget){.cost = cost}, &how, grad)) return false;
    return d->d->optimizer ? io_read_shipped_optimizers(d->s) &&
                                 optim_apply(&d->b, &optimizer, grad)
                           : add_grads(d, cost, derive_shown(d, cost), grad);
}

/* The variable with that name, or a new input with the type of `like`. */
static bool find_or_input(Derivation *d, const char *option, const char *name, Var like,
                          Var *v) {
    Sym y = sym(d->s, name);
    *v = graph_find(d->g, y);
    if (*v != VAR_NONE) return true;
    Span at = derive_span(d, option, name);
    if (!compiler_check_var_name(d->s, at)) return false;
    if (graph_has_dim(d->g, y))
        return fail(d->s, at, E_DUPLICATE, "%s is a dim of the graph already", name);
    const Type *t = var_type(d->g, like);
    if (t->kind == TYPE_TENSOR && dtype_is_discrete(t->dtype))
        t = type_with_dtype(d->s, t, d->b.floatX);
    return (*v = graph_input(d->g, y, t)) != VAR_NONE;
}

bool derive_companions(Derivation *d, const Companions *how, VarList of, Var *v) {
    char **part = NULL;
    size_t given = how->list ? str_split(d->a, how->list, ',', &part) : of.n;
    if (given != of.n)
        return fail(d->s, d->d->at, E_USAGE, "%s has %s for %s", how->option,
                    str_counted(d->s, given, "name"),
                    str_counted(d->s, of.n, "variable"));
    for (size_t i = 0; i < of.n; i++) {
        Str name = STR(d->s);
        str_printf(&name, "%s%s", how->prefix, derive_shown(d, of.p[i]));
        make_name(&name);
        bool ok = find_or_input(d, how->option, part ? part[i] : str_text(&name),
                                of.p[i], &v[i]);
        str_free(&name);
        if (!ok) return false;
    }
    return true;
}

/* The number whose gradient a pullback is: the sum of f times the cotangents; for
 * complex ones, the real part of the product with the conjugate. Built only for the
 * check. */
static Var project_cotangents(Derivation *d, const GradTarget *of) {
    Var sum = VAR_NONE;
    for (size_t k = 0; d->d->made && k < of->f.n; k++) {
        Var c = of->cotangent[k], f = of->f.p[k], y;
        bool pair = dtype_is_complex(var_type(d->g, f)->dtype);
        if (pair && (c = op_call1(&d->b, "conj", c)) == VAR_NONE) return c;
        y = op_call2(&d->b, "multiply", f, c);
        if (y != VAR_NONE) y = op_call1(&d->b, "sum", y);
        if (y != VAR_NONE && pair) y = op_call1(&d->b, "real", y);
        if (y != VAR_NONE && sum != VAR_NONE) y = op_call2(&d->b, "add", sum, y);
        if ((sum = y) == VAR_NONE) break;
    }
    return sum;
}

static bool derive_vjp(Derivation *d) {
    GradOptions how;
    VarList f;
    if (!derive_options(d, &how) || !derive_find(d, "--vjp", d->d->vjp, &f))
        return false;
    Companions option = {"--cotangent", d->d->cotangent, "g_"};
    Var *cotangent = NEW_N(d->a, f.n, Var);
    if (!derive_wrt(d, f.p[0]) || !derive_companions(d, &option, f, cotangent))
        return false;
    GradTarget target = {VAR_NONE, f, cotangent};
    Var *grad = NEW_N(d->a, d->wrt.n, Var);
    if (!derive_gradients(d, &target, &how, grad)) return false;
    Var of = project_cotangents(d, &target);
    return (of != VAR_NONE || !d->d->made) &&
           add_grads(d, of, derive_shown(d, f.p[0]), grad);
}

/* Replaces a tangent that doesn't depend on the wrt by zeros, or leaves it out. */
static bool no_tangent(Derivation *d, Var f, Var *result) {
    Str text = STR(d->s);
    str_printf(&text, "%s does not depend on %s", derive_shown(d, f),
               d->d->wrt ? d->d->wrt : "the inputs");
    bool ok = d->d->how.disconnected != GRAD_RAISE ||
              fail(d->s, d->d->at, E_DISCONNECTED, "%s", str_text(&text));
    if (d->d->how.disconnected == GRAD_WARN)
        warn(d->s, d->d->at, E_DISCONNECTED, "%s", str_text(&text));
    str_free(&text);
    if (ok && d->d->how.return_disconnected == GRAD_ZERO)
        ok = (*result = op_zeros_like(&d->b, f, d->b.floatX)) != VAR_NONE;
    return ok;
}

static bool derive_jvp(Derivation *d) {
    VarList f;
    if (!derive_find(d, "--jvp", d->d->jvp, &f) || !derive_wrt(d, f.p[0])) return false;
    Companions option = {"--tangents", d->d->tangents, "t_"};
    Var *tangent = NEW_N(d->a, d->wrt.n, Var), *result = NEW_N(d->a, f.n, Var);
    d->along = tangent;
    if (!derive_companions(d, &option, d->wrt, tangent) ||
        !ad_jvp_parts(&d->b, f, d->wrt, tangent, d->d->by_pullback, result))
        return false;
    for (size_t k = 0; k < f.n; k++) {
        const char *shown = derive_shown(d, f.p[k]);
        if (result[k] == GRAD_DISCONNECTED && !no_tangent(d, f.p[k], &result[k]))
            return false;
        if (result[k] == GRAD_DISCONNECTED) continue;
        if (var_is_null(d->g, result[k]) && d->d->how.null == NULL_RAISE)
            return fail(d->s, d->d->at, E_NULL, "the tangent of %s is undefined: %s",
                        shown, var_type(d->g, result[k])->why);
        OutputName name = {"jvp_{cost}", shown, ""};
        if (!derive_output(d, name, result[k], f.p[k], d->wrt.n)) return false;
    }
    return true;
}

static bool derive_asked(Derivation *d) {
    const Derive *how = d->d;
    return how->vjp        ? derive_vjp(d)
           : how->jvp      ? derive_jvp(d)
           : how->jacobian ? derive_jacobian(d)
           : how->hessian  ? derive_hessian(d)
           : how->hvp      ? derive_hvp(d)
                           : derive_cost(d);
}

/* Copies what the check needs to memory that outlives the derivation. */
static void hand_over(const Derivation *d, Derived *made) {
    Arena *a = session_arena(d->s);
    *made = (Derived){.nwrt = d->wrt.n, .nclaim = d->claims.n};
    made->wrt = arena_copy(a, d->wrt.p, d->wrt.n * sizeof *d->wrt.p);
    made->claim = arena_copy(a, d->claims.p, d->claims.n * sizeof *d->claims.p);
    if (d->along) made->along = arena_copy(a, d->along, d->wrt.n * sizeof *d->along);
}

bool graph_derive(Graph *g, const Derive *how) {
    uint32_t before = g->napply;
    if (!derive_loops(g, how)) return false;
    Derivation d = {.g = g,
                    .s = g->s,
                    .a = arena_new(g->s),
                    .d = how,
                    .kept = g->outputs.n,
                    .asked = MAP(g->s)};
    d.b = builder(g, true);
    d.b.from.at = how->at;
    bool ok = derive_asked(&d);
    if (ok && how->only) {
        size_t n = g->outputs.n - d.kept;
        memmove(g->outputs.p, g->outputs.p + d.kept, n * sizeof *g->outputs.p);
        g->outputs.n = n;
        graph_outputs_changed(g);
    }
    if (ok && how->made) hand_over(&d, how->made);
    if (ok && !how->made) graph_sweep(g);
    if (ok)
        session_log(g->s, "differentiated: %u -> %s", before,
                    str_counted(g->s, g->napply, "Apply"));
    vec_free(&d.claims);
    map_free(&d.asked);
    arena_free(d.a);
    return ok;
}
