/* Whole sums and products: terms that occur several times are collected, x + y - x is
 * y, and so are constants. Of floats only those of one sign are, where that saves work:
 * 0 would hide what inf and nan do; and only the powers of one base, as in other orders
 * more would overflow. A walk from results to inputs meets the outermost sum of each
 * tree first, and takes the sums within it that nothing else reads along; so each node
 * is looked at once. */
#include "rewrite/rewrite_impl.h"

#include <string.h>

typedef struct Term {
    Var v;
    int64_t times; /* or the power */
} Term;
typedef enum TermsClass {
    TERMS_INTEGER, /* nothing changes */
    TERMS_FLOAT,   /* rounding, and overflow of sums */
    TERMS_FAST     /* what cancels may have been inf or nan */
} TermsClass;
typedef struct Terms {
    Rewriter *r;
    Arena *a;
    bool product;
    TermsClass class;
    const Op *op[3]; /* of sums, or of products; NULL: there are fewer */
    const Op *minus; /* the one whose second input is taken away, or divided by */
    const Op *divide, *power, *square;
    /* where the last sweep's counts don't do; else NULL: */
    uint8_t *reads;   /* by variable: how often it is read, or once more if it is a
                         result; 2: more often */
    uint8_t *counted; /* by Apply: something needs it */
    uint8_t *within;  /* by Apply: part of a tree that was met */
    Map at[2];        /* variable -> index in term; by sign, where that matters */
    Vec(Term) term, todo;
    size_t met, work; /* terms, and the operations that their factors or powers take */
    size_t constants; /* integers that were added up */
    uint64_t constant;
    bool exact; /* no power or multiple became too large to count */
} Terms;

enum { MOST_TIMES = 1 << 20, FEW_TERMS = 12 };

/* ---- the tree ---- */

/* Are the inputs of an Apply of this op terms? */
static inline bool splits(const Terms *t, const Op *op) {
    return op == t->op[0] || op == t->op[1] || op == t->op[2];
}

static bool suits(const Terms *t, const Type *type) {
    if (type->kind != TYPE_TENSOR) return false;
    return t->class == TERMS_INTEGER ? dtype_is_integer(type->dtype)
                                     : dtype_is_float(type->dtype);
}

static bool is_read_once(const Terms *t, Var v) {
    return (t->reads ? t->reads[v] : t->r->uses[v]) == 1;
}

static bool is_needed(const Terms *t, ApplyId a) {
    return t->counted ? t->counted[a] : (t->r->state[a] & COUNTED) != 0;
}

/* A sum of the same type that only this tree reads. */
static ApplyId inner_sum(const Terms *t, Var v, const Type *type) {
    const Graph *g = t->r->g;
    ApplyId a = var_owner(g, v);
    return a != APPLY_NONE && is_read_once(t, v) && var_type(g, v) == type &&
                   !g->apply[a].serial && splits(t, g->apply[a].op)
               ? a
               : APPLY_NONE;
}

static bool whole_constant(const Terms *t, Var v, int64_t *i) {
    if (!rewriter_uniform(t->r, v)) return false;
    double d = tensor_f64(var_const(t->r->g, v), 0);
    if (!(d >= -MOST_TIMES && d <= MOST_TIMES) || d != (double)(int64_t)d) return false;
    *i = (int64_t)d;
    return true;
}

/* A term without the constant whole number that it is multiplied by, or raised to. */
static Var whole_multiple(const Terms *t, Var v, int64_t *times) {
    Rewriter *r = t->r;
    ApplyId id = var_owner(r->g, v);
    const Apply *a = id == APPLY_NONE ? NULL : &r->g->apply[id];
    bool power = a && t->product && t->class == TERMS_FLOAT && a->op == t->power,
         multiple = a && !t->product && rw_is(r, a, OP_MULTIPLY);
    if (a && t->product && t->class == TERMS_FLOAT && a->op == t->square)
        return *times = 2, rewriter_input(r, id, 0);
    for (size_t k = power ? 1 : 0; (power || multiple) && k < 2; k++) {
        Var c = rewriter_input(r, id, k), x = rewriter_input(r, id, !k);
        if (var_type(r->g, x) == var_type(r->g, v) && whole_constant(t, c, times) &&
            (multiple || *times > 0))
            return x;
    }
    *times = 1;
    return v;
}

/* A product for a multiple, squares and products for a power. */
static size_t work_of(const Terms *t, int64_t times) {
    uint64_t n = (uint64_t)(times < 0 ? -times : times);
    if (!t->product) return n > 1;
    size_t work = 0;
    for (; n > 1; n >>= 1)
        work += 1 + (n & 1);
    return work;
}

/* Terms of the other sign are others, where cancelling would hide inf and nan. */
static int sign_of(const Terms *t, int64_t times) {
    return t->class == TERMS_FLOAT && times < 0;
}

/* Few terms are looked through; when there are more, they get an index. */
static bool find_term(Terms *t, Var v, int64_t times, uint64_t *k) {
    size_t n = t->term.n;
    if (n > FEW_TERMS) return map_get(&t->at[sign_of(t, times)], v, k);
    for (*k = 0; *k < n; ++*k)
        if (t->term.p[*k].v == v &&
            sign_of(t, t->term.p[*k].times) == sign_of(t, times))
            return true;
    for (size_t i = 0; n == FEW_TERMS && i < n; i++)
        map_put(&t->at[sign_of(t, t->term.p[i].times)], t->term.p[i].v, i);
    return false;
}

static void add_term(Terms *t, Var v, int64_t times) {
    uint64_t k;
    if (!find_term(t, v, times, &k)) {
        if (t->term.n >= FEW_TERMS) map_put(&t->at[sign_of(t, times)], v, t->term.n);
        vec_push(t->r->s, &t->term, ((Term){v, times}));
        return;
    }
    Term *term = &t->term.p[k];
    term->times += times;
    t->exact &= term->times >= -MOST_TIMES && term->times <= MOST_TIMES;
}

/* Integer constants of sums wrap as their sums do. */
static bool add_constant(Terms *t, Var v, int64_t times) {
    const Type *type = var_type(t->r->g, v);
    if (t->class != TERMS_INTEGER || type->ndim > 0 || !var_is_const(t->r->g, v))
        return false;
    t->constant += (uint64_t)tensor_i64(var_const(t->r->g, v), 0) * (uint64_t)times;
    t->constants++;
    return true;
}

static void collect_terms(Terms *t, ApplyId top) {
    const Graph *g = t->r->g;
    const Type *type = var_type(g, g->apply[top].out);
    vec_push(t->r->s, &t->todo, ((Term){g->apply[top].out, 1}));
    while (t->todo.n) {
        Term x = t->todo.p[--t->todo.n];
        ApplyId a = var_owner(g, x.v);
        const Apply *p = &g->apply[a];
        bool minus = p->op == t->r->known[OP_NEGATIVE], second = p->op == t->minus;
        t->within[a] = 1;
        for (size_t i = p->nin; i-- > 0;) {
            Var v = rewriter_input(t->r, a, i);
            int64_t times = minus || (i == 1 && second) ? -x.times : x.times, n;
            if (inner_sum(t, v, type) != APPLY_NONE) {
                vec_push(t->r->s, &t->todo, ((Term){v, times}));
                continue;
            }
            t->met++;
            if (add_constant(t, v, times)) continue;
            Var of = whole_multiple(t, v, &n);
            t->work += work_of(t, n);
            add_term(t, of, times * n);
        }
    }
}

/* ---- what is left ---- */

/* Do the types prove that leaving out v loses no check of shapes? */
static bool leaves_no_check(const Terms *t, Var v, const Type *type) {
    return rewrite_dims_fit(var_type(t->r->g, v), type);
}

static Var build_term(const Terms *t, Term x, DType d) {
    Rewriter *r = t->r;
    if (x.times < 0) x.times = -x.times;
    if (x.times == 1) return x.v;
    Var pair[2] = {x.v, const_number(&r->b, d, (double)x.times)};
    rewriter_grow(r);
    return rewriter_apply(r, t->product ? t->power : op_known(r->s, OP_MULTIPLY), NULL,
                          2, pair);
}

/* The terms of one sign together; VAR_NONE: there are none, or *ok is false. */
static Var build_side(const Terms *t, bool positive, DType d, bool *ok) {
    Rewriter *r = t->r;
    Var all = VAR_NONE;
    for (size_t i = 0; i < t->term.n && *ok; i++) {
        if (t->term.p[i].times == 0 || (t->term.p[i].times > 0) != positive) continue;
        Var pair[2] = {all, build_term(t, t->term.p[i], d)};
        all = all == VAR_NONE
                  ? pair[1]
                  : rewriter_apply(r, op_known(r->s, t->product ? OP_MULTIPLY : OP_ADD),
                                   NULL, 2, pair);
        *ok = all != VAR_NONE;
    }
    return all;
}

/* The constant as a last term; a shape that only it had is given back at the end. */
static void add_built_constant(Terms *t, DType d) {
    Rewriter *r = t->r;
    if (t->constants == 0 || (t->constant == 0 && t->term.n > 0)) return;
    bool minus = dtype_kind(d) != K_UINT && (int64_t)t->constant < 0;
    uint64_t size = minus ? 0 - t->constant : t->constant;
    Var v = op_cast_to(&r->b, const_int(&r->b, (int64_t)size), d);
    rewriter_grow(r);
    vec_push(r->s, &t->term, ((Term){v, minus ? -1 : 1}));
}

static Var build_terms(Terms *t, const Type *type) {
    Rewriter *r = t->r;
    bool ok = true;
    add_built_constant(t, type->dtype);
    Var pair[2] = {build_side(t, true, type->dtype, &ok), VAR_NONE};
    pair[1] = build_side(t, false, type->dtype, &ok);
    if (!ok) return VAR_NONE;
    if (pair[0] == VAR_NONE && pair[1] != VAR_NONE && !t->product)
        return rewriter_apply(r, op_known(r->s, OP_NEGATIVE), NULL, 1, &pair[1]);
    if (pair[0] == VAR_NONE) pair[0] = const_number(&r->b, type->dtype, t->product);
    rewriter_grow(r);
    if (pair[1] == VAR_NONE) return pair[0];
    return rewriter_apply(r, t->product ? t->divide : op_known(r->s, OP_SUBTRACT), NULL,
                          2, pair);
}

static bool replace_tree(Terms *t, ApplyId top) {
    Rewriter *r = t->r;
    Var was = r->g->apply[top].out;
    const Type *type = var_type(r->g, was);
    for (size_t i = 0; i < t->term.n; i++)
        if (t->term.p[i].times == 0 && !leaves_no_check(t, t->term.p[i].v, type))
            return true;
    r->b.from = (Origin){r->g->origin[top].at, r->db->entry.p[r->current].name};
    Var v = build_terms(t, type);
    v = rewriter_fit(r, v, type);
    rewriter_grow(r);
    if (v == VAR_NONE || v == was) return true;
    if (t->class == TERMS_FAST) rewriter_loosen(r, was);
    r->forward[was] = v;
    return rewriter_fired(r, r->current, 1, &was, &v);
}

/* Fewer operations than there were; of a product only if it is a power of one base. */
static bool saves_work(const Terms *t) {
    size_t work = 0;
    for (size_t i = 0; i < t->term.n; i++)
        work += work_of(t, t->term.p[i].times);
    return (!t->product || t->term.n == 1) && t->term.n + work < t->met + t->work;
}

static bool look_at_tree(Terms *t, ApplyId top) {
    t->met = t->term.n = t->work = t->constants = 0;
    t->constant = 0;
    t->exact = true;
    collect_terms(t, top);
    for (size_t i = 0; i < 2; i++)
        if (t->at[i].n) map_free(&t->at[i]);
    bool gathers = t->term.n + (t->constants > 0) < t->met;
    return !gathers || !t->exact || (t->class == TERMS_FLOAT && !saves_work(t)) ||
           replace_tree(t, top);
}

/* Two terms that are floats have rules, so a tree has three, or powers. */
static bool has_terms(const Terms *t, ApplyId a) {
    const Graph *g = t->r->g;
    const Apply *p = &g->apply[a];
    if (!suits(t, var_type(g, p->out)) || p->serial || p->nout != 1) return false;
    if (t->class != TERMS_FLOAT) return true;
    for (size_t i = 0; i < p->nin; i++) {
        ApplyId of = var_owner(g, rewriter_input(t->r, a, i));
        if (of == APPLY_NONE) continue;
        const Apply *q = &g->apply[of];
        if (splits(t, q->op)) return true;
        if (t->product && (q->op == t->power || q->op == t->square)) return true;
    }
    return false;
}

/* Most Applies have other ops. */
static inline bool may_gather(const Terms *t, ApplyId a) {
    return splits(t, t->r->g->apply[a].op) && has_terms(t, a);
}

static Terms terms_of(Rewriter *r, bool product, TermsClass class) {
    Terms t = {.r = r,
               .product = product,
               .class = class,
               .divide = op_named(r->s, "true_divide"),
               .power = op_named(r->s, "power"),
               .square = op_named(r->s, "square"),
               .at = {MAP(r->s), MAP(r->s)}};
    if (product) {
        t.op[0] = r->known[OP_MULTIPLY];
        t.op[1] = t.minus = class == TERMS_FAST ? t.divide : NULL;
    } else {
        t.op[0] = r->known[OP_ADD];
        t.op[1] = t.minus = r->known[OP_SUBTRACT];
        t.op[2] = r->known[OP_NEGATIVE];
    }
    return t;
}

/* Applies, inputs first: as numbered, but after replacements in the last sweep's
 * order. */
static size_t count_applies(const Rewriter *r) {
    return r->dirty ? r->order.n : r->g->napply;
}
static ApplyId apply_at(const Rewriter *r, size_t i) {
    return r->dirty ? r->order.p[i] : (ApplyId)i;
}

/* 1 + the place of the last tree; 0: there is none. */
static size_t end_of_trees(const Terms *t) {
    size_t end = count_applies(t->r);
    while (end > 0 && !may_gather(t, apply_at(t->r, end - 1)))
        end--;
    return end;
}

static bool any_tree(Rewriter *r, bool product, TermsClass class) {
    Terms t = terms_of(r, product, class);
    return end_of_trees(&t) > 0;
}

static void count_inputs(Terms *t, ApplyId a) {
    t->counted[a] = 1;
    for (size_t i = 0; i < t->r->g->apply[a].nin; i++) {
        Var v = rewriter_input(t->r, a, i);
        if (t->reads[v] < 2) t->reads[v]++;
    }
}

static bool is_read(const Terms *t, ApplyId a) {
    const Apply *p = &t->r->g->apply[a];
    bool read = false;
    for (Var v = p->out; v < p->out + p->nout; v++)
        read |= t->reads[v] > 0;
    return read;
}

static void count_for_results(Terms *t) {
    VarList root = graph_roots(t->r->g, t->a, ROOTS_RUN);
    for (size_t i = 0; i < root.n; i++)
        t->reads[rewriter_resolve(t->r, root.p[i])] = 1;
    for (size_t i = count_applies(t->r); i-- > 0;)
        if (is_read(t, apply_at(t->r, i))) count_inputs(t, apply_at(t->r, i));
}

/* As the last sweep found them. */
static void take_counts(Terms *t) {
    const Rewriter *r = t->r;
    for (Var v = 0; v < r->nvar; v++)
        t->reads[v] = (uint8_t)(r->uses[v] < 2 ? r->uses[v] : 2);
    for (ApplyId a = 0; a < r->napply; a++)
        t->counted[a] = (r->state[a] & COUNTED) != 0;
}

/* What only an initial value needs, no sweep visits. */
static void count_for_initial_values(Terms *t, VarList init) {
    for (size_t i = 0; i < init.n; i++) {
        Var v = rewriter_resolve(t->r, init.p[i]);
        if (t->reads[v] < 2) t->reads[v]++;
        vec_push(t->r->s, &t->todo, ((Term){v, 1}));
    }
    while (t->todo.n) {
        ApplyId a = var_owner(t->r->g, t->todo.p[--t->todo.n].v);
        if (a == APPLY_NONE || t->counted[a]) continue;
        count_inputs(t, a);
        for (size_t i = 0; i < t->r->g->apply[a].nin; i++)
            vec_push(t->r->s, &t->todo, ((Term){rewriter_input(t->r, a, i), 1}));
    }
}

static void count_reads(Terms *t) {
    const Graph *g = t->r->g;
    VarList init = graph_roots(g, t->a, ROOTS_INIT);
    if (t->r->counted && init.n == 0) return;
    t->reads = NEW_N(t->a, g->nvar, uint8_t);
    t->counted = NEW_N(t->a, g->napply, uint8_t);
    if (t->r->counted)
        take_counts(t);
    else
        count_for_results(t);
    count_for_initial_values(t, init);
}

static bool collect_all(Rewriter *r, bool product, TermsClass class) {
    Terms t = terms_of(r, product, class);
    size_t end = end_of_trees(&t);
    if (end == 0) return true;
    t.a = arena_new(r->s);
    count_reads(&t);
    t.within = NEW_N(t.a, r->g->napply, uint8_t);
    bool ok = true;
    for (size_t i = end; ok && i-- > 0;) {
        ApplyId a = apply_at(r, i);
        if (t.within[a] || !is_needed(&t, a) || !may_gather(&t, a)) continue;
        if (rewriter_limit_reached(r)) break;
        ok = look_at_tree(&t, a);
    }
    vec_free(&t.term);
    vec_free(&t.todo);
    arena_free(t.a);
    return ok;
}

bool terms_worth(Rewriter *r) {
    return any_tree(r, false, TERMS_INTEGER);
}
bool terms_float_worth(Rewriter *r) {
    return any_tree(r, false, TERMS_FLOAT);
}
bool factors_float_worth(Rewriter *r) {
    return any_tree(r, true, TERMS_FLOAT);
}
bool terms_fast_worth(Rewriter *r) {
    return any_tree(r, false, TERMS_FAST);
}
bool factors_fast_worth(Rewriter *r) {
    return any_tree(r, true, TERMS_FAST);
}
bool terms_pass(Rewriter *r) {
    return collect_all(r, false, TERMS_INTEGER);
}
bool terms_float_pass(Rewriter *r) {
    return collect_all(r, false, TERMS_FLOAT);
}
bool factors_float_pass(Rewriter *r) {
    return collect_all(r, true, TERMS_FLOAT);
}
bool terms_fast_pass(Rewriter *r) {
    return collect_all(r, false, TERMS_FAST);
}
bool factors_fast_pass(Rewriter *r) {
    return collect_all(r, true, TERMS_FAST);
}

/* ---- powers ---- */

/* x ** n as products of squares: a power costs as much as a hundred products. */
bool terms_power_pass(Rewriter *r, ApplyId id, Var *out) {
    enum { MOST_POWER = 512 };
    Terms t = {.r = r};
    int64_t n;
    Var x = rewriter_input(r, id, 0), all = VAR_NONE;
    const Type *type = var_type(r->g, r->g->apply[id].out);
    bool whole = dtype_is_float(type->dtype) || dtype_is_integer(type->dtype);
    if (var_type(r->g, x) != type || !whole ||
        !whole_constant(&t, rewriter_input(r, id, 1), &n))
        return false;
    bool under = n < 0;
    if (under) n = -n;
    if (n < (under ? 2 : 4) || n > MOST_POWER ||
        (under && !dtype_is_float(type->dtype)))
        return false;
    for (; n > 0; n >>= 1) {
        Var pair[2] = {x, all};
        if (n & 1)
            all = all == VAR_NONE
                      ? x
                      : rewriter_apply(r, op_known(r->s, OP_MULTIPLY), NULL, 2, pair);
        if (n > 1) x = rewriter_apply(r, op_named(r->s, "square"), NULL, 1, &x);
        if (x == VAR_NONE || ((n & 1) && all == VAR_NONE)) return false;
    }
    out[0] =
        under ? rewriter_apply(r, op_named(r->s, "reciprocal"), NULL, 1, &all) : all;
    return out[0] != VAR_NONE && type_keeps(type, var_type(r->g, out[0]));
}
