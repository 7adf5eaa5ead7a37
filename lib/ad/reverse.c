/* Reverse mode. Ids are in topological order, so finding paths and accumulating
 * gradients are loops over ids.
 *
 * 1. `reach`: walk back from the cost (and the variables with known gradients) along
 * connected inputs, but not through variables held constant. 2. `from`: walk forward
 * from wrt. 3. Differentiate only Applies that have a `from` input and a `reach`
 * output, last one first; each adds its terms to the gradients of its inputs. A known
 * gradient replaces the accumulated one; a pullback's cotangents are initial terms, to
 * which paths from its other results add. Invariant: when the walk visits an Apply, it
 * has visited all users of its outputs (they have larger ids). */
#include "ad/conditional_grad.h"
#include "vmap/vmap.h"

#include <stdio.h>
#include <string.h>

typedef struct Reverse {
    Builder *b;
    const GradOptions *how;
    Arena *tmp;
    uint32_t n; /* number of variables when the walk began */
    uint32_t napply;
    uint8_t *reach, *from; /* by variable */
    uint8_t *constant, *known;
    Var *bar; /* gradient so far, initially GRAD_DISCONNECTED */
    const GradTarget *target;
    GradTrace *trace; /* may be NULL */
    PathConds paths;
    PathCondId *path; /* by variable: the path of its gradient so far */
} Reverse;

/* ---- paths ---- */
static void mark_reaching_cost(Reverse *r) {
    const Graph *g = r->b->g;
    for (ApplyId a = r->napply; a-- > 0;) {
        const Apply *ap = &g->apply[a];
        for (size_t k = 0; k < ap->nout; k++) {
            Var out = ap->out + (Var)k;
            if (!r->reach[out] || r->constant[out]) continue;
            for (size_t i = 0; i < ap->nin; i++)
                if (!r->reach[apply_in(g, a)[i]] && op_connected(g, a, i, k))
                    r->reach[apply_in(g, a)[i]] = 1;
        }
    }
}

static void mark_reachable_from(Reverse *r, uint8_t *mark, bool by_pattern) {
    const Graph *g = r->b->g;
    for (ApplyId a = 0; a < r->napply; a++) {
        const Apply *ap = &g->apply[a];
        for (size_t i = 0; i < ap->nin; i++) {
            if (!mark[apply_in(g, a)[i]]) continue;
            for (size_t k = 0; k < ap->nout; k++)
                if (!by_pattern || op_connected(g, a, i, k)) mark[ap->out + k] = 1;
        }
    }
}

/* ---- accumulating ---- */
static bool accumulate_gradient(Reverse *r, Var x, Var term, PathCondId under) {
    Builder *b = r->b;
    if (term == GRAD_DISCONNECTED || r->known[x]) return true;
    Var *bar = &r->bar[x];
    bool undefined = var_is_null(b->g, term);
    if (*bar == GRAD_DISCONNECTED || undefined) {
        if (var_is_null(b->g, *bar)) return true;
        *bar = term;
        r->path[x] = undefined ? PATH_ALWAYS : under;
        if (undefined) r->paths.more[x] = 0;
        return true;
    }
    if (var_is_null(b->g, *bar)) return true;
    return path_cond_add(&r->paths, x, bar, &r->path[x], term, under);
}

/* The gradient of x, once all its terms are there. */
static bool complete_gradient(Reverse *r, Var x, Var *gradient) {
    bool ok = r->bar[x] == GRAD_DISCONNECTED ||
              path_cond_join(&r->paths, x, &r->bar[x], &r->path[x]);
    *gradient = r->bar[x];
    return ok;
}

/* Brings the cotangents of one Apply under a common path and returns that. */
static PathCondId unify_paths(Reverse *r, const Apply *ap, Var *cot, bool *ok) {
    PathCondId all = PATH_ALWAYS;
    bool first = true;
    for (Var k = 0; k < ap->nout; k++) {
        if (cot[k] == GRAD_DISCONNECTED || var_is_null(r->b->g, cot[k])) continue;
        PathCondId g = r->path[ap->out + k];
        all = first ? g : path_cond_common(&r->paths, all, g);
        first = false;
    }
    for (Var k = 0; k < ap->nout; k++) {
        if (cot[k] == GRAD_DISCONNECTED || var_is_null(r->b->g, cot[k])) continue;
        cot[k] =
            path_cond_leave(&r->paths, ap->out + k, cot[k], r->path[ap->out + k], all);
        *ok = *ok && cot[k] != VAR_NONE;
    }
    return all;
}

/* Is this an ifelse, into whose branches gradients get paths? With a trace, gradients
 * must not have paths. */
static bool is_lazy_ifelse(const Reverse *r, const Apply *ap) {
    return !r->trace && op_is(r->b->s, ap->op, OP_IFELSE);
}

/* Passes the gradient on to the branches of an ifelse unchanged, each with its path. */
static bool split_into_branches(Reverse *r, const Apply *ap, const Var *in,
                                const Var *cot, bool *wanted, PathCondId under) {
    for (uint32_t i = 1; i < ap->nin; i++) {
        bool then = i <= ap->nout;
        Var g = cot[(i - 1) % ap->nout];
        if (!wanted[i] || g == GRAD_DISCONNECTED) continue;
        wanted[i] = false;
        if (var_type(r->b->g, g)->kind == TYPE_TENSOR) {
            const Type *t = type_with_dtype(r->b->s, var_type(r->b->g, in[i]),
                                            var_type(r->b->g, g)->dtype);
            g = shape_as(r->b, g, t, in[i]);
        }
        PathCondId side = path_cond_side(&r->paths, under, in[0], then);
        if (g == VAR_NONE || !accumulate_gradient(r, in[i], g, side)) return false;
    }
    return true;
}

/* Attributes the Applies made since the last call to the Apply `source`. */
static void trace_source(Reverse *r, ApplyId source) {
    GradTrace *t = r->trace;
    while (t && t->source.n < r->b->g->napply - t->napply)
        vec_push(r->b->s, &t->source, source);
}

static bool differentiate_apply(Reverse *r, ApplyId a) {
    const Apply ap = r->b->g->apply[a];
    Graph *g = r->b->g;
    Var in_few[8], grad_few[8], cot_few[4];
    bool wanted_few[8];
    bool few = ap.nin <= 8 && ap.nout <= 4;
    Arena *tmp = few ? NULL : arena_new(r->b->s);
    Var *in = few ? in_few : NEW_N(tmp, ap.nin, Var),
        *grad = few ? grad_few : NEW_N(tmp, ap.nin, Var);
    Var *cot = few ? cot_few : NEW_N(tmp, ap.nout, Var);
    bool *wanted = few ? wanted_few : NEW_N(tmp, ap.nin, bool);
    bool any_in = false, any_out = false, ok = true;
    for (size_t k = 0; k < ap.nout; k++) {
        Var out = ap.out + (Var)k;
        cot[k] = GRAD_DISCONNECTED;
        if (!r->constant[out]) ok = ok && complete_gradient(r, out, &cot[k]);
        any_out |= cot[k] != GRAD_DISCONNECTED;
    }
    for (size_t i = 0; i < ap.nin; i++) {
        in[i] = apply_in(g, a)[i];
        wanted[i] = false;
        for (size_t k = 0; k < ap.nout && r->from[in[i]]; k++)
            wanted[i] |= cot[k] != GRAD_DISCONNECTED && op_connected(g, a, i, k);
        any_in |= wanted[i];
    }
    if (ok && any_in && any_out) {
        Origin was = ad_origin(r->b, a, "gradient");
        trace_source(r, APPLY_NONE);
        PathCondId under = unify_paths(r, &ap, cot, &ok);
        if (ok && is_lazy_ifelse(r, &ap))
            ok = split_into_branches(r, &ap, in, cot, wanted, under);
        ok = ok && ad_terms(r->b, a, cot, wanted, grad);
        for (size_t i = 0; ok && i < ap.nin; i++)
            if (wanted[i]) ok = accumulate_gradient(r, in[i], grad[i], under);
        trace_source(r, a);
        r->b->from = was;
    }
    arena_free(tmp);
    return ok;
}

/* ---- seeds and results ---- */
/* May g, given by the caller, be a gradient of v? */
static bool check_known_gradient(Builder *b, Var v, Var g) {
    if (g == GRAD_DISCONNECTED || var_is_null(b->g, g)) return true;
    const Type *t = var_type(b->g, g);
    bool kind = t->kind == var_type(b->g, v)->kind &&
                (t->kind == TYPE_TENSOR || t->kind == TYPE_SPARSE);
    if (ad_is_plugin_value(b->g, v) && t == var_type(b->g, v)) return true;
    if (!kind || dtype_is_discrete(t->dtype))
        return fail(b->s, b->from.at, E_DTYPE,
                    "a known gradient must have a float dtype, but it is %s",
                    type_str(b->s, t));
    if (t->ndim != var_type(b->g, v)->ndim)
        return fail(b->s, b->from.at, E_SHAPE,
                    "a known gradient is %s, but its variable is %s", type_str(b->s, t),
                    type_str(b->s, var_type(b->g, v)));
    return true;
}

static bool seed_cotangents(Reverse *r) {
    Builder *b = r->b;
    const GradTarget *of = r->target;
    Var cost = of->cost;
    if (cost != VAR_NONE) {
        const Type *t = var_type(b->g, cost);
        if (t->kind == TYPE_NULL)
            return fail(b->s, b->from.at, E_NULL,
                        "can't differentiate an undefined cost: %s", t->why);
        bool own = ad_is_plugin_value(b->g, cost);
        if (!own && (t->kind != TYPE_TENSOR || t->ndim != 0)) {
            fail(b->s, b->from.at, E_SHAPE,
                 "the cost must be a scalar (0-d), but it is %s", type_str(b->s, t));
            return hint(b->s, HINT_COTANGENT);
        }
        if (!own && dtype_is_complex(t->dtype)) {
            fail(b->s, b->from.at, E_DTYPE, "the cost must be real, but it is %s",
                 type_str(b->s, t));
            return note(b->s, NOWHERE, "take its real part or its absolute value");
        }
        r->bar[cost] = ad_number(b, cost, 1);
        if (r->bar[cost] == VAR_NONE) return false;
        r->reach[cost] = 1;
    }
    for (size_t i = 0; i < r->how->nknown; i++) {
        Var v = r->how->known_of[i], g = r->how->known_grad[i];
        if (!check_known_gradient(b, v, g)) return false;
        r->bar[v] = g;
        r->known[v] = 1;
        r->reach[v] = 1;
    }
    for (size_t i = 0; i < of->f.n; i++) {
        Var v = of->f.p[i], g = of->cotangent[i];
        if (!check_known_gradient(b, v, g) ||
            !accumulate_gradient(r, v, g, PATH_ALWAYS))
            return false;
        r->reach[v] = 1;
    }
    return true;
}

static const char *shown_var_name(Builder *b, Var v) {
    Sym y = v == VAR_NONE ? 0 : var_name(b->g, v);
    return y ? sym_text(b->s, y) : "the variable";
}

/* Notes where the path from wrt to the cost breaks, if any values flow from one to the
 * other. */
static void note_path_break(Reverse *r, Var wrt) {
    const Graph *g = r->b->g;
    uint8_t *flow = NEW_N(r->tmp, r->n, uint8_t);
    flow[wrt] = 1;
    mark_reachable_from(r, flow, false);
    uint8_t *link = NEW_N(r->tmp, r->n, uint8_t);
    link[wrt] = 1;
    mark_reachable_from(r, link, true);
    for (ApplyId a = r->napply; a-- > 0;) {
        const Apply *ap = &g->apply[a];
        bool to_cost = false, linked = false;
        for (size_t k = 0; k < ap->nout; k++)
            to_cost |= r->reach[ap->out + k] && !link[ap->out + k];
        for (size_t i = 0; i < ap->nin; i++)
            linked |= link[apply_in(g, a)[i]] != 0;
        if (!to_cost || !linked) continue;
        note(r->b->s, g->origin[a].at,
             "%s reaches the cost only through %s, which does not use the values of "
             "its elements",
             shown_var_name(r->b, wrt), ap->op->name);
        return;
    }
    for (Var v = wrt; v < r->n; v++)
        if (r->constant[v] && link[v]) {
            note(r->b->s, NOWHERE,
                 "its path to the cost stops at %s, which is held constant",
                 shown_var_name(r->b, v));
            return;
        }
    note(r->b->s, NOWHERE, "the cost does not use it at all");
}

static bool finish_wrt_gradient(Reverse *r, Var wrt, Var *grad) {
    Builder *b = r->b;
    Var g;
    if (!complete_gradient(r, wrt, &g)) return false;
    if (g == GRAD_DISCONNECTED) {
        char text[160];
        snprintf(text, sizeof text, "the cost does not depend on %.100s",
                 shown_var_name(b, wrt));
        if (r->how->disconnected == GRAD_RAISE) {
            fail(b->s, b->from.at, E_DISCONNECTED, "%s", text);
            note_path_break(r, wrt);
            return hint(b->s, HINT_DISCONNECTED);
        }
        if (r->how->disconnected == GRAD_WARN) {
            warn(b->s, b->from.at, E_DISCONNECTED, "%s", text);
            note_path_break(r, wrt);
        }
        if (r->how->return_disconnected == GRAD_NONE) return *grad = g, true;
        return (*grad = ad_zero(b, wrt)) != VAR_NONE;
    }
    if (var_is_null(b->g, g) && r->how->null == NULL_RAISE)
        return fail(b->s, b->from.at, E_NULL, "the gradient of %s is undefined: %s",
                    shown_var_name(b, wrt), var_type(b->g, g)->why);
    *grad = path_cond_leave(&r->paths, wrt, g, r->path[wrt], PATH_ALWAYS);
    return *grad != VAR_NONE;
}

/* What is differentiated: the cost, or the f with cotangents, and what has a known
 * gradient. */
static VarList list_differentiated(const Reverse *r) {
    const GradTarget *of = r->target;
    Var *v = NEW_N(r->tmp, of->f.n + r->how->nknown + 1, Var);
    size_t n = 0;
    if (of->cost != VAR_NONE) v[n++] = of->cost;
    for (size_t i = 0; i < of->f.n; i++)
        v[n++] = of->f.p[i];
    for (size_t i = 0; i < r->how->nknown; i++)
        v[n++] = r->how->known_of[i];
    return (VarList){n, v};
}

static bool has_gradient(const Graph *g, Var v) {
    return v != GRAD_DISCONNECTED && !var_is_null(g, v);
}

static bool run_backprop(Reverse *r, VarList wrt, Var *grad) {
    VarList part = wrt;
    if (r->how->parts) wrt.p = ad_whole(r->b, r->tmp, list_differentiated(r), wrt);
    bool *asked = NEW_N(r->tmp, r->n, bool);
    for (size_t i = 0; i < r->how->constant.n; i++)
        r->constant[r->how->constant.p[i]] = 1;
    for (size_t i = 0; i < wrt.n; i++)
        asked[wrt.p[i]] = true, r->from[wrt.p[i]] = 1;
    if (!seed_cotangents(r)) return false;
    mark_reaching_cost(r);
    mark_reachable_from(r, r->from, true);
    for (ApplyId a = r->napply; a-- > 0;) {
        const Apply *ap = &r->b->g->apply[a];
        bool on_path = false;
        for (size_t k = 0; k < ap->nout; k++)
            on_path |= r->from[ap->out + k] && r->reach[ap->out + k] &&
                       r->bar[ap->out + k] != GRAD_DISCONNECTED;
        if (on_path && !differentiate_apply(r, a)) return false;
    }
    for (size_t i = 0; i < wrt.n; i++) {
        if (!finish_wrt_gradient(r, wrt.p[i], &grad[i])) return false;
        if (!has_gradient(r->b->g, grad[i])) continue;
        grad[i] = ad_take_part(r->b, wrt.p[i], part.p[i], grad[i]);
        if (grad[i] == VAR_NONE) return false;
    }
    return true;
}

bool ad_grad_traced(Builder *b, const GradTarget *of, VarList wrt,
                    const GradOptions *how, Var *grad, GradTrace *t) {
    static const GradOptions usual = {0};
    Arena *tmp = arena_new(b->s);
    uint32_t n = b->g->nvar;
    Reverse r = {.b = b,
                 .how = how ? how : &usual,
                 .tmp = tmp,
                 .n = n,
                 .napply = b->g->napply,
                 .target = of,
                 .trace = t};
    r.reach = NEW_N(tmp, n, uint8_t);
    r.from = NEW_N(tmp, n, uint8_t);
    r.constant = NEW_N(tmp, n, uint8_t);
    r.known = NEW_N(tmp, n, uint8_t);
    r.bar = NEW_N(t ? t->arena : tmp, n, Var);
    r.paths = path_conds_new(b, tmp, n);
    r.path = NEW_N(tmp, n, PathCondId);
    if (t) *t = (GradTrace){t->arena, n, r.napply, r.bar, {0}};
    for (uint32_t v = 0; v < n; v++)
        r.bar[v] = GRAD_DISCONNECTED;
    bool ok = run_backprop(&r, wrt, grad);
    trace_source(&r, APPLY_NONE);
    path_conds_free(&r.paths);
    arena_free(tmp);
    return ok;
}

bool ad_grad(Builder *b, Var cost, VarList wrt, const GradOptions *how, Var *grad) {
    return ad_grad_traced(b, &(GradTarget){.cost = cost}, wrt, how, grad, NULL);
}

bool ad_vjp(Builder *b, VarList f, const Var *cotangent, VarList wrt,
            const GradOptions *how, Var *grad) {
    return ad_grad_traced(b, &(GradTarget){VAR_NONE, f, cotangent}, wrt, how, grad,
                          NULL);
}

void ad_open(Session *s) {
    services(s)->grad = ad_grad;
    services(s)->vjp = ad_vjp;
    services(s)->jvp = ad_jvp;
    services(s)->pullback = ad_pullback;
    services(s)->vmap = vmap_function;
}
