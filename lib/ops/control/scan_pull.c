/* The gradient of a scan is a scan over its steps in reverse. With y_k the outputs of
 * step t, computed from rows x, earlier outputs y_j[t - tap] and others w, and L the
 * cost:
 *
 *     bar(y_k)[t] = g_k[t] + sum of the terms of later steps t' that read y_k[t]
 *
 * where g_k is the cotangent of row t. A reverse step gets bar(y), recomputes the body
 * from its saved inputs and pulls back: terms of sequence rows become rows of a result,
 * terms of others are summed in a state, and terms of y_j[t - tap] are held in states
 * p_j: p_j[m] is the sum so far for the output m steps earlier.
 *
 *     bar(y_j)[t] = g_j[t] + p_j[1],   p_j[m] <- p_j[m + 1] + term of tap -m
 *
 * In the end the p_j are the gradients of the initial rows. Saved inputs are sequences
 * read backwards; the body has only those that the gradient needs. Only steps that ran
 * are reversed if a loop ended early; truncate_gradient restricts the gradient to the
 * last steps. Integer and random states are saved inputs and have no gradient. */
#include "op/services.h"
#include "ops/control/scan.h"
#include "scan/builder.h"

#include <string.h>

typedef struct ScanPull {
    Pull *p;
    Builder *b;
    Session *s;
    Arena *a;
    ScanForm f;
    Graph *fn;
    bool *active;  /* by output: its bar may be nonzero */
    bool *carried; /* by output: later steps contribute to its bar, or its initial value
                    * may be its last one */
    bool *lost;    /* by output: its effect on the cost is unknown, since it passes
                    * through a non-tensor */
    ScanBuilder m;
    Var rows, steps; /* number of steps run; number of steps reversed */
    bool cut;        /* steps may be fewer than rows */
    Var *u;          /* by input of fn: its variable in the new body */
    size_t *saved;   /* by input of fn, without the others: index in m.seq */
    size_t *list;    /* by input of fn that is an object: index in m.other of its list;
                      * the sequence holds the item indices */
    size_t *seed;    /* by output: index of its cotangent in m.seq */
    size_t *wait;    /* by output: index of p[1] in m.out */
    Var *last;       /* by output: the cotangent of its last value if that is all that
                      * the cost reads, else VAR_NONE */
    Var *term;       /* by input of fn: its gradient in one step; VAR_NONE: not
                      * wanted */
    size_t *result;  /* by input of fn: index in m.out */
} ScanPull;
#define NOWHERE_YET SIZE_MAX

static Var build_text(ScanPull *k, const char *text, Var x, Var y, Var n) {
    if (x == VAR_NONE) return x;
    Bind bind[] = {{sym(k->s, "x"), x}, {sym(k->s, "y"), y}, {sym(k->s, "n"), n}};
    Env env = {.n = 3, .bind = bind};
    bool ok = true;
    Var v = template_build(k->b, text, &env, &ok);
    return ok ? v : VAR_NONE;
}

static Sym derived_name(ScanPull *k, const char *what, Sym of) {
    return sym(k->s, arena_printf(k->a, "%s%s", what, sym_text(k->s, of)));
}

static Sym step_input_name(const ScanPull *k, size_t i) {
    return var_name(k->fn, k->fn->inputs.p[i]);
}

/* ---- which adjoints are needed ---- */

static bool read_by(const ScanPull *k, size_t state, const bool *by) {
    const ScanOut *o = &k->f.out[state];
    for (size_t i = 0; i < k->f.nout; i++)
        if (by[i] && scan_reads(k->fn, o->in, o->ntap, i)) return true;
    return false;
}

static void find_active(ScanPull *k) {
    for (size_t o = 0; o < k->f.nout; o++)
        k->active[o] = k->p->cotangent[o] != VAR_NONE && scan_out_is_float(&k->f, o);
    for (bool more = true; more;) {
        more = false;
        for (size_t j = 0; j < k->f.nout; j++)
            if (!k->active[j] && scan_out_is_float(&k->f, j) &&
                read_by(k, j, k->active))
                k->active[j] = more = true;
    }
}

static void find_lost_objects(ScanPull *k) {
    size_t n = k->f.nout;
    bool *on = NEW_N(k->a, n, bool);
    for (size_t o = 0; o < n; o++) {
        k->lost[o] = scan_out_is_object(&k->f, o) && k->p->cotangent[o] != VAR_NONE;
        on[o] = k->active[o] || k->lost[o];
    }
    for (bool more = true; more;) {
        more = false;
        for (size_t j = 0; j < n; j++) {
            bool object = scan_out_is_object(&k->f, j);
            if (k->lost[j] || !(object || scan_out_is_float(&k->f, j))) continue;
            k->lost[j] = read_by(k, j, object ? on : k->lost);
            if (!on[j] && read_by(k, j, on)) on[j] = more = true;
            more |= k->lost[j];
        }
    }
}

/* Does argument `arg` influence a lost output? */
static bool is_lost(const ScanPull *k, size_t arg) {
    for (size_t i = 0; i < k->f.nin; i++)
        for (size_t o = 0; o < k->f.nout && scan_arg(&k->f, i) == arg; o++)
            if (k->lost[o] && scan_reads(k->fn, i, 1, o)) return true;
    return false;
}

/* Does a wanted argument influence this output within a step? */
static bool influenced_in_step(const ScanPull *k, size_t out) {
    for (size_t i = 0; i < k->f.nin; i++)
        if (k->p->wanted[scan_arg(&k->f, i)] && scan_reads(k->fn, i, 1, out))
            return true;
    return false;
}

/* If no step runs, a last value is the initial one, whatever steps do. */
static bool may_be_initial(const ScanPull *k, size_t out) {
    const Tensor *steps = var_const(k->p->g, k->p->in[0]);
    return k->f.out[out].keep == SCAN_LAST && k->p->cotangent[out] != VAR_NONE &&
           k->p->wanted[k->f.out[out].arg] && !(steps && tensor_i64(steps, 0) > 0);
}

static void find_carried(ScanPull *k) {
    size_t n = k->f.nout;
    bool *reach = NEW_N(k->a, n, bool);
    for (size_t o = 0; o < n; o++)
        reach[o] = influenced_in_step(k, o);
    for (bool more = true; more;) {
        more = false;
        for (size_t o = 0; o < n; o++)
            for (size_t j = 0; !reach[o] && j < n; j++)
                if (reach[j] && scan_out_is_float(&k->f, j) &&
                    scan_reads(k->fn, k->f.out[j].in, k->f.out[j].ntap, o))
                    reach[o] = more = true;
    }
    for (size_t j = 0; j < n; j++) {
        const ScanOut *o = &k->f.out[j];
        k->carried[j] =
            o->ntap && scan_out_is_float(&k->f, j) &&
            ((read_by(k, j, k->active) && (k->p->wanted[o->arg] || reach[j])) ||
             may_be_initial(k, j));
    }
}

/* Where later steps contribute too, the cotangent of the last value is what these begin
 * with, and no row of zeros is made for the others. */
static void find_last(ScanPull *k) {
    for (size_t o = 0; o < k->f.nout; o++) {
        Var g = k->p->cotangent[o];
        if (g == VAR_NONE) continue;
        if (k->f.out[o].keep == SCAN_LAST) {
            k->last[o] = g;
        } else if (k->carried[o]) {
            k->last[o] = scan_last_row(k->b, g);
            k->b->g->litter |= k->last[o] != VAR_NONE;
        }
    }
}

/* ---- the body ---- */

/* A state without rows is an item of a list, indexed by the step. */
static bool save_object(ScanPull *k, size_t i, Sym name, const Type *t) {
    k->list[i] = scan_builder_add_other(&k->m, name, VAR_NONE, type_list(k->s, t));
    k->saved[i] =
        scan_builder_add_seq(&k->m, name, VAR_NONE, 0, type_scalar(k->s, DT_INT64));
    Var list = k->m.other.p[k->list[i]].tap.p[0].in;
    k->u[i] = op_call2(&k->m.in, "list_get", list, k->m.seq.p[k->saved[i]].tap.p[0].in);
    return k->u[i] != VAR_NONE;
}

/* The inputs of a step, needed to recompute it. */
static bool save_inputs(ScanPull *k) {
    for (size_t i = 0; i < k->f.nin; i++) {
        const Type *t = var_type(k->fn, k->fn->inputs.p[i]);
        Sym name = step_input_name(k, i);
        if (i >= k->f.other_in) {
            Var x = k->p->in[scan_arg(&k->f, i)];
            size_t at = scan_builder_add_other(&k->m, name, x, t);
            k->u[i] = k->m.other.p[at].tap.p[0].in;
        } else if (t->kind != TYPE_TENSOR) {
            if (!save_object(k, i, name, t)) return false;
        } else {
            k->saved[i] = scan_builder_add_seq(&k->m, name, VAR_NONE, 0, t);
            k->u[i] = k->m.seq.p[k->saved[i]].tap.p[0].in;
        }
    }
    return true;
}

/* Adds a state with the initial value x; returns its input in the body. */
static Var add_state(ScanPull *k, Sym name, Var x, const Type *type, size_t *at) {
    *at = scan_builder_add_out(&k->m, name, SCAN_LAST);
    ScanBuilderArg *o = &k->m.out.p[*at];
    o->x = x;
    return scan_builder_add_tap(&k->m, o, -1, type);
}

/* The cotangent of a last value counts only in the first reverse step. */
static Var seed_once(ScanPull *k, size_t o, const Type *t) {
    size_t at;
    Var g = add_state(k, derived_name(k, "g_", k->fn->outputs.p[o].label), k->last[o],
                      t, &at);
    k->m.out.p[at].made = op_zeros_like(&k->m.in, g, t->dtype);
    return k->m.out.p[at].made == VAR_NONE ? VAR_NONE : g;
}

/* Adds p[1] .. p[depth] and returns the first. */
static Var add_waiting(ScanPull *k, size_t o, const Type *t) {
    const ScanOut *out = &k->f.out[o];
    Var first = VAR_NONE, init = k->p->in[out->arg];
    bool wanted = k->p->wanted[out->arg];
    if (!scan_one_row(out)) init = build_text(k, "x[0]", init, init, init);
    if (init == VAR_NONE) return init;
    for (int64_t m = 1; m <= out->depth; m++) {
        size_t at;
        bool given = m == 1 && k->last[o] != VAR_NONE;
        Var begin = given ? k->last[o] : op_zeros_like(k->b, init, t->dtype);
        if (begin == VAR_NONE) return begin;
        Var in = add_state(k, derived_name(k, "d_", k->fn->outputs.p[o].label), begin,
                           t, &at);
        k->m.out.p[at].wanted = wanted;
        if (m == 1) {
            k->wait[o] = at;
            first = in;
        }
    }
    return first;
}

/* bar(y_o) in the body; VAR_NONE with *ok: none. */
static Var body_cotangent(ScanPull *k, size_t o, bool *ok) {
    const Type *t = var_type(k->fn, k->fn->outputs.p[o].var);
    bool last = k->last[o] != VAR_NONE, given = k->p->cotangent[o] != VAR_NONE;
    Var bar = VAR_NONE, g = VAR_NONE;
    if (k->carried[o]) {
        const Type *state = var_type(k->fn, k->fn->inputs.p[k->f.out[o].in]);
        bar = add_waiting(k, o, state);
        *ok = bar != VAR_NONE;
    }
    if (!given || (last && k->carried[o])) return bar;
    if (last) {
        g = seed_once(k, o, t);
        *ok = *ok && g != VAR_NONE;
    } else {
        Sym name = derived_name(k, "g_", k->fn->outputs.p[o].label);
        k->seed[o] = scan_builder_add_seq(&k->m, name, VAR_NONE, 0, t);
        g = k->m.seq.p[k->seed[o]].tap.p[0].in;
    }
    if (bar == VAR_NONE) return g;
    bar = op_call2(&k->m.in, "add", g, bar);
    *ok = *ok && bar != VAR_NONE;
    return bar;
}

/* The output of which input i of the body is an earlier value; NOWHERE_YET: none. */
static size_t state_of(const ScanPull *k, size_t i, int64_t *tap) {
    for (size_t j = 0; j < k->f.nout; j++)
        if (i - k->f.out[j].in < k->f.out[j].ntap) {
            *tap = k->f.out[j].tap[i - k->f.out[j].in];
            return j;
        }
    return NOWHERE_YET;
}

static bool input_needs_term(const ScanPull *k, size_t i) {
    int64_t tap;
    size_t state = state_of(k, i, &tap);
    if (var_type(k->fn, k->fn->inputs.p[i])->kind != TYPE_TENSOR) return false;
    if (state != NOWHERE_YET) return k->carried[state];
    return k->p->wanted[scan_arg(&k->f, i)];
}

static bool pull_step(ScanPull *k, const Var *y) {
    size_t nf = 0, nwrt = 0;
    Var *f = NEW_N(k->a, k->f.nout, Var), *g = NEW_N(k->a, k->f.nout, Var);
    Var *wrt = NEW_N(k->a, k->f.nin, Var), *part = NEW_N(k->a, k->f.nin, Var);
    GradOptions how = {.disconnected = GRAD_IGNORE,
                       .return_disconnected = GRAD_NONE,
                       .null = NULL_RETURN};
    for (size_t o = 0; o < k->f.nout; o++) {
        bool ok = true;
        if (!k->active[o]) continue;
        g[nf] = body_cotangent(k, o, &ok);
        if (!ok) return false;
        f[nf] = y[o];
        nf += g[nf] != VAR_NONE;
    }
    for (size_t i = 0; i < k->f.nin; i++)
        if (input_needs_term(k, i)) wrt[nwrt++] = k->u[i];
    if (!services(k->s)->vjp(&k->m.in, (VarList){nf, f}, g, (VarList){nwrt, wrt}, &how,
                             part))
        return false;
    for (size_t i = 0, j = 0; i < k->f.nin; i++)
        k->term[i] = input_needs_term(k, i) ? part[j++] : VAR_NONE;
    return true;
}

/* p[m] <- p[m + 1] + term of tap -m */
static bool carry_waiting(ScanPull *k, size_t o) {
    const ScanOut *out = &k->f.out[o];
    for (int64_t m = 1; m <= out->depth; m++) {
        ScanBuilderArg *p = &k->m.out.p[k->wait[o] + (size_t)m - 1];
        Var sum = m < out->depth ? p[1].tap.p[0].in : VAR_NONE;
        for (size_t i = 0; i < out->ntap; i++) {
            Var term = k->term[out->in + i];
            if (out->tap[i] != -m || term == VAR_NONE) continue;
            sum = sum == VAR_NONE ? term : op_call2(&k->m.in, "add", sum, term);
            if (sum == VAR_NONE) return false;
        }
        if (sum == VAR_NONE)
            sum = op_zeros_like(&k->m.in, p->tap.p[0].in,
                                var_type(k->m.body, p->tap.p[0].in)->dtype);
        if ((p->made = sum) == VAR_NONE) return false;
    }
    return true;
}

/* Collects the terms of wanted arguments as results. */
static bool collect_term(ScanPull *k, size_t i) {
    int64_t tap;
    Var term = k->term[i];
    if (term == VAR_NONE || var_is_null(k->m.body, term)) return true;
    if (state_of(k, i, &tap) != NOWHERE_YET) return true;
    Sym name = derived_name(k, "d_", step_input_name(k, i));
    DType d = var_type(k->m.body, term)->dtype;
    if (i < k->f.other_in) {
        k->result[i] = scan_builder_add_out(&k->m, name, SCAN_ALL);
        k->m.out.p[k->result[i]].made = term;
    } else {
        Var x = k->p->in[scan_arg(&k->f, i)], zero = op_zeros_like(k->b, x, d);
        const Type *t = type_with_dtype(k->s, var_type(k->fn, k->fn->inputs.p[i]), d);
        if (zero == VAR_NONE) return false;
        Var sum = add_state(k, name, zero, t, &k->result[i]);
        k->m.out.p[k->result[i]].made = op_call2(&k->m.in, "add", sum, term);
    }
    k->m.out.p[k->result[i]].wanted = true;
    return k->m.out.p[k->result[i]].made != VAR_NONE;
}

/* An undefined term of a state makes everything undefined. Returns why, or NULL. */
static const char *why_spoiled(const ScanPull *k) {
    int64_t tap;
    for (size_t i = 0; i < k->f.nin; i++)
        if (var_is_null(k->m.body, k->term[i]) && state_of(k, i, &tap) != NOWHERE_YET)
            return var_type(k->m.body, k->term[i])->why;
    return NULL;
}

static bool make_results(ScanPull *k) {
    for (size_t o = 0; o < k->f.nout; o++)
        if (k->carried[o] && !carry_waiting(k, o)) return false;
    for (size_t i = 0; i < k->f.nin; i++)
        if (!collect_term(k, i)) return false;
    return true;
}

/* ---- saved inputs ---- */

/* The same scan, keeping the rows of all steps. */
static bool keep_all_rows(ScanPull *k, Var *out) {
    Pull *p = k->p;
    int64_t *keep = NEW_N(k->a, k->f.nout, int64_t);
    Prop seq = *op_prop(k->s, p->op, p->props, "sequences");
    Prop states = *op_prop(k->s, p->op, p->props, "states");
    bool same = true;
    for (size_t o = 0; o < k->f.nout; o++) {
        keep[o] = SCAN_ALL;
        same &= keep[o] == k->f.out[o].keep;
        out[o] = p->out[o];
    }
    PropArg arg[] = {{"fn", {.kind = P_GRAPH, .sym = k->fn->name}},
                     {"sequences", seq},
                     {"states", states},
                     {"keep", PROP_INTS(keep, k->f.nout)},
                     {"truncate", PROP_INT(k->f.truncate)},
                     {"checkpoint", PROP_BOOL(k->f.checkpoint)}};
    return same ||
           op_apply(k->b, p->op, props_make(k->s, p->op, 6, arg), p->nin, p->in, out);
}

/* The outputs with all their rows; a scan that keeps them is built only if needed. */
static bool output_traces(ScanPull *k, bool need, Var *out) {
    for (size_t o = 0; o < k->f.nout; o++)
        out[o] = k->p->out[o];
    return !need || keep_all_rows(k, out);
}

static bool has_row_per_step(const ScanPull *k, Var x) {
    Dim d = var_type(k->b->g, x)->dim[0];
    const Tensor *c = var_const(k->b->g, k->rows);
    if (c) return d == tensor_i64(c, 0);
    return dim_is_named(d) && var_leaf(k->b->g, k->rows) == LEAF_DIM &&
           var_leafrec(k->b->g, k->rows)->name == dim_sym(d);
}

/* x, asserted to have a row per step where types can't prove it. */
static Var of_all_steps(ScanPull *k, Var x) {
    int ndim = var_type(k->b->g, x)->ndim;
    Var shape[MAX_NDIM];
    for (int i = 0; i < ndim; i++)
        shape[i] = i ? const_int(k->b, -1) : k->rows;
    return op_call2(k->b, "specify_shape", x, ints_stack(k->b, (size_t)ndim, shape));
}

/* Rows of a sequence, in reverse order of the steps. */
static Var saved_sequence(ScanPull *k, const ScanSeq *q, int64_t tap) {
    Var x = k->p->in[q->arg];
    if (q->low == 0 && q->high == 0 && has_row_per_step(k, x))
        return build_text(k, "x[::-1]", x, x, x);
    Var from = const_int(k->b, tap - q->low);
    return build_text(k, "x[y:y + n][::-1]", x, from, k->rows);
}

/* Rows of a state as seen by a tap, in reverse order of the steps. */
static Var saved_state(ScanPull *k, const ScanOut *o, int64_t tap, Var trace) {
    Var init = k->p->in[o->arg];
    if (scan_one_row(o)) init = build_text(k, "x[None]", init, init, init);
    if (init == VAR_NONE) return init;
    Var all = build_text(k, "concatenate([x, y])", init, trace, trace);
    if (all == VAR_NONE) return all;
    /* rows depth + tap .. end + tap */
    all = build_text(k, "x[y:n]", all, const_int(k->b, o->depth + tap),
                     const_int(k->b, tap));
    all = all == VAR_NONE || has_row_per_step(k, all) ? all : of_all_steps(k, all);
    return build_text(k, "x[::-1]", all, all, all);
}

/* Binds the list of the initial value and the values of all steps, and its indices in
 * reverse. */
static bool bind_object(ScanPull *k, size_t i, const ScanOut *o, Var trace) {
    Var init = k->p->in[o->arg],
        all = build_text(k, "list_insert(y, 0, x)", init, trace, init);
    k->m.other.p[k->list[i]].x = all;
    k->m.seq.p[k->saved[i]].x =
        build_text(k, "arange(n)[::-1]", k->rows, k->rows, k->rows);
    return all != VAR_NONE && k->m.seq.p[k->saved[i]].x != VAR_NONE;
}

static bool bind_saved(ScanPull *k, const Var *trace) {
    for (size_t i = 0; i < k->f.other_in; i++) {
        ScanBuilderArg *q = &k->m.seq.p[k->saved[i]];
        int64_t tap;
        size_t state = state_of(k, i, &tap);
        if (!q->live) continue;
        if (k->list[i] != NOWHERE_YET) {
            if (!bind_object(k, i, &k->f.out[state], trace[state])) return false;
            continue;
        }
        if (state != NOWHERE_YET) {
            q->x = saved_state(k, &k->f.out[state], tap, trace[state]);
        } else {
            size_t s = 0;
            while (i - k->f.seq[s].in >= k->f.seq[s].ntap)
                s++;
            q->x = saved_sequence(k, &k->f.seq[s], k->f.seq[s].tap[i - k->f.seq[s].in]);
        }
        q->x = scan_fit_arg(k->b, q->x, var_type(k->m.body, k->u[i]), 1);
        if (q->x == VAR_NONE) return false;
    }
    return true;
}

/* Binds the cotangents of rows in reverse order; rows that were not kept get zeros. */
static bool bind_seeds(ScanPull *k) {
    for (size_t o = 0; o < k->f.nout; o++) {
        if (k->seed[o] == NOWHERE_YET) continue;
        ScanBuilderArg *q = &k->m.seq.p[k->seed[o]];
        if (!q->live) continue;
        Var g = k->p->cotangent[o];
        q->x = build_text(k, "x[::-1]", g, g, g);
        if (q->x != VAR_NONE && k->f.out[o].keep != SCAN_ALL)
            q->x = build_text(
                k, "concatenate([x, full(concatenate([stack([n]), shape(x)[1:]]), y)])",
                q->x, const_number(k->b, var_type(k->b->g, g)->dtype, 0), k->rows);
        q->x = scan_fit_arg(k->b, q->x, var_type(k->m.body, q->tap.p[0].in), 1);
        if (q->x == VAR_NONE) return false;
    }
    for (size_t i = 0; i < k->m.out.n; i++) {
        ScanBuilderArg *p = &k->m.out.p[i];
        if (p->live && p->tap.n)
            p->x = scan_fit_arg(k->b, p->x, var_type(k->m.body, p->tap.p[0].in), 0);
        if (p->live && p->tap.n && p->x == VAR_NONE) return false;
    }
    return true;
}

static bool count_steps(ScanPull *k, const Var *trace) {
    k->rows = k->p->in[0];
    if (k->fn->until != VAR_NONE) {
        size_t o = 0;
        while (var_type(k->fn, k->fn->outputs.p[o].var)->kind != TYPE_TENSOR)
            o++;
        k->rows = shape_of(k->b, trace[o], 0);
        if (k->rows == VAR_NONE) return false;
    }
    k->steps = k->rows;
    k->cut = k->f.truncate > 0;
    if (k->cut)
        k->steps = op_call2(k->b, "minimum", k->rows, const_int(k->b, k->f.truncate));
    k->m.steps = k->steps;
    return k->steps != VAR_NONE;
}

/* ---- results ---- */

static bool add_gradient_term(ScanPull *k, size_t arg, Var term) {
    Var *g = &k->p->grad[arg];
    if (term == VAR_NONE) return false;
    *g = *g == GRAD_DISCONNECTED ? term : op_call2(k->b, "add", *g, term);
    return *g != VAR_NONE;
}

/* Puts the rows at their places in the sequence. */
static bool sequence_term(ScanPull *k, const ScanSeq *q, int64_t tap, Var rows) {
    Var x = k->p->in[q->arg];
    if (q->low == 0 && q->high == 0 && !k->cut && has_row_per_step(k, x))
        return add_gradient_term(k, q->arg, build_text(k, "x[::-1]", rows, rows, rows));
    Var zero = op_zeros_like(k->b, x, var_type(k->b->g, rows)->dtype);
    Var from = const_int(k->b, tap - q->low);
    if (zero == VAR_NONE) return false;
    if (k->cut) from = build_text(k, "x + y - n", from, k->rows, k->steps);
    if (from == VAR_NONE) return false;
    Var part = build_text(k, "y[::-1]", rows, rows, rows);
    Bind bind[] = {{sym(k->s, "x"), zero},
                   {sym(k->s, "y"), from},
                   {sym(k->s, "n"), k->steps},
                   {sym(k->s, "r"), part}};
    Env env = {.n = 4, .bind = bind};
    bool ok = part != VAR_NONE;
    Var v =
        ok ? template_build(k->b, "inc_subtensor(x[y:y + n], r)", &env, &ok) : VAR_NONE;
    return ok && add_gradient_term(k, q->arg, v);
}

/* p[1] .. p[depth] as rows, the oldest first. After truncation p[m] belongs to a step
 * that was not reversed, unless that step is close enough to the beginning. */
static bool initial_term(ScanPull *k, size_t o) {
    const ScanOut *out = &k->f.out[o];
    size_t d = (size_t)out->depth;
    const ScanBuilderArg *p = &k->m.out.p[k->wait[o]];
    if (scan_one_row(out) && !k->cut) return add_gradient_term(k, out->arg, p->result);
    Var *row = NEW_N(k->a, d, Var);
    for (size_t m = 0; m < d; m++)
        row[m] = p[m].result;
    Var all = op_apply1(k->b, op_known(k->s, OP_STACK), NULL, d, row);
    if (all == VAR_NONE) return false;
    if (k->cut) {
        Var skip = build_text(k, "minimum(x - y, n)", k->rows, k->steps,
                              const_int(k->b, out->depth));
        if (skip == VAR_NONE) return false;
        all = build_text(k, "concatenate([x, zeros_like(x)])[y:y + n]", all, skip,
                         const_int(k->b, out->depth));
        if (all == VAR_NONE) return false;
    }
    return add_gradient_term(
        k, out->arg,
        build_text(k, scan_one_row(out) ? "x[0]" : "x[::-1]", all, all, all));
}

static bool give_terms(ScanPull *k) {
    Pull *p = k->p;
    for (size_t s = 0; s < k->f.nseq; s++)
        for (size_t i = 0; i < k->f.seq[s].ntap; i++) {
            size_t r = k->result[k->f.seq[s].in + i];
            if (r != NOWHERE_YET && !sequence_term(k, &k->f.seq[s], k->f.seq[s].tap[i],
                                                   k->m.out.p[r].result))
                return false;
        }
    for (size_t o = 0; o < k->f.nout; o++)
        if (k->carried[o] && p->wanted[k->f.out[o].arg] && !initial_term(k, o))
            return false;
    for (size_t i = 0; i < k->f.nother; i++) {
        size_t r = k->result[k->f.other_in + i];
        if (r != NOWHERE_YET) p->grad[k->f.other_arg + i] = k->m.out.p[r].result;
    }
    return true;
}

#define NO_TENSOR                                                                      \
    "a loop has derivatives with respect to tensors only, not to lists, sparse "       \
    "matrices and plugins' values"

/* Is the argument a tensor, or a non-tensor whose elements influence a result? */
static bool arg_has_gradient(const Pull *p, size_t a) {
    TypeKind kind = var_type(p->g, p->in[a])->kind;
    if (kind != TYPE_LIST && kind != TYPE_SPARSE && kind != TYPE_PLUGIN)
        return kind == TYPE_TENSOR;
    for (size_t o = 0; o < p->nout; o++)
        if (p->cotangent[o] != GRAD_DISCONNECTED &&
            op_rare(p->op)->connect(p->g, p->id, a, o))
            return true;
    return false;
}

/* A connected argument without a term gets zeros; undefined terms stay undefined. */
static bool fill_missing_gradients(ScanPull *k, const char *why) {
    Pull *p = k->p;
    for (size_t i = 0; i < k->f.nin; i++) {
        size_t arg = scan_arg(&k->f, i);
        if (k->term[i] != VAR_NONE && var_is_null(k->m.body, k->term[i]) &&
            p->wanted[arg])
            p->grad[arg] = grad_undefined(k->b, var_type(k->m.body, k->term[i])->why);
    }
    for (size_t a = 1; a < p->nin; a++) {
        const Type *t = var_type(k->b->g, p->in[a]);
        if (!p->wanted[a] || !arg_has_gradient(p, a)) continue;
        if (t->kind != TYPE_TENSOR) {
            if (p->grad[a] == GRAD_DISCONNECTED)
                p->grad[a] = grad_undefined(k->b, NO_TENSOR);
        } else if (why || is_lost(k, a)) {
            p->grad[a] = grad_undefined(k->b, why ? why : SCAN_LOST);
        } else if (p->grad[a] == GRAD_DISCONNECTED) {
            DType d = dtype_is_inexact(t->dtype) ? t->dtype : k->b->floatX;
            p->grad[a] = op_zeros_like(k->b, p->in[a], d);
        }
        if (p->grad[a] == VAR_NONE) return false;
    }
    return true;
}

static bool has_results(const ScanPull *k) {
    for (size_t i = 0; i < k->m.out.n; i++)
        if (k->m.out.p[i].wanted) return true;
    return false;
}

static bool build_backward_scan(ScanPull *k) {
    Var *y = NEW_N(k->a, k->f.nout, Var), *trace = NEW_N(k->a, k->f.nout, Var);
    if (!save_inputs(k) || !scan_builder_add_body(&k->m, &k->f, k->u, false, y) ||
        !pull_step(k, y))
        return false;
    const char *why = why_spoiled(k);
    if (!why && !make_results(k)) return false;
    if (why || !has_results(k)) return fill_missing_gradients(k, why);
    scan_builder_mark_live(&k->m);
    bool need = k->fn->until != VAR_NONE;
    for (size_t o = 0; o < k->f.nout; o++)
        for (size_t i = 0; i < k->f.out[o].ntap; i++)
            need |= k->m.seq.p[k->saved[k->f.out[o].in + i]].live;
    return output_traces(k, need, trace) && count_steps(k, trace) &&
           bind_saved(k, trace) && bind_seeds(k) &&
           scan_builder_apply(
               &k->m, arena_printf(k->a, "%s_backward", sym_text(k->s, k->fn->name))) &&
           give_terms(k) && fill_missing_gradients(k, NULL);
}

bool scan_pull(Pull *p) {
    ScanPull k = {.p = p, .b = p->b, .s = p->b->s, .a = arena_new(p->b->s)};
    k.f = scan_form_of(p->g, p->id, k.a);
    k.fn = k.f.fn;
    k.active = NEW_N(k.a, k.f.nout, bool);
    k.carried = NEW_N(k.a, k.f.nout, bool);
    k.lost = NEW_N(k.a, k.f.nout, bool);
    k.last = NEW_N(k.a, k.f.nout, Var);
    k.u = NEW_N(k.a, k.f.nin, Var);
    k.term = NEW_N(k.a, k.f.nin, Var);
    k.saved = NEW_N(k.a, k.f.nin, size_t);
    k.list = NEW_N(k.a, k.f.nin, size_t);
    k.result = NEW_N(k.a, k.f.nin, size_t);
    k.seed = NEW_N(k.a, k.f.nout, size_t);
    k.wait = NEW_N(k.a, k.f.nout, size_t);
    for (size_t i = 0; i < k.f.nin; i++) {
        k.result[i] = k.list[i] = NOWHERE_YET;
        k.term[i] = VAR_NONE;
    }
    for (size_t o = 0; o < k.f.nout; o++)
        k.seed[o] = NOWHERE_YET, k.last[o] = VAR_NONE;
    for (size_t i = 0; i < p->nin; i++)
        p->grad[i] = GRAD_DISCONNECTED;
    find_active(&k);
    find_carried(&k);
    find_last(&k);
    find_lost_objects(&k);
    scan_builder_open(&k.m, p->b, VAR_NONE);
    k.m.checkpoint = k.f.checkpoint;
    bool ok = build_backward_scan(&k);
    scan_builder_close(&k.m);
    arena_free(k.a);
    return ok;
}
