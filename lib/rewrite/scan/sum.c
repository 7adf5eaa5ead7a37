/* Sums that a loop accumulates step by step: a state s <- s + e of which only the last
 * value is needed. The terms become rows that are summed after the loop. For a product
 * of matrices the factors become rows instead: sum_t P_t' Q_t is one product of all
 * rows of P and Q. And what each step adds to one place of the state, s[i] + e, or
 * writes there, becomes a row that is added there after the loop. */
#include "rewrite/scan/pass.h"

#include <string.h>

enum { READS = 8 };
typedef struct StepSum {
    Scan *l;
    const Graph *fn;
    uint32_t *uses;   /* by variable of the body */
    size_t o;         /* the state */
    Var term;         /* e */
    Var p, q;         /* factors, or what is written and where; VAR_NONE: neither */
    bool writes;      /* the latter */
    const char *text; /* formula of the total in the rows of p and q, or of the term; of
                       * the result, in the initial value and the rows of q and p */
    size_t row[2];    /* index in m->out of their rows; NOT_A_ROW: a sequence */
    Var seq[2];
    Var numbers;         /* the sequence that counts where is written */
    Var read[READS];     /* what reads rows that were written before, */
    int64_t back[READS]; /* so many steps ago */
    size_t nread;
} StepSum;
#define NOT_A_ROW SIZE_MAX

static const Apply *owner_of_op(const Graph *fn, Var v, KnownOp op) {
    ApplyId a = var_owner(fn, v);
    if (a == APPLY_NONE || !op_is(fn->s, fn->apply[a].op, op)) return NULL;
    return &fn->apply[a];
}

static uint32_t *count_body_uses(const Scan *l) {
    const Graph *fn = l->part.f.fn;
    uint32_t *uses = NEW_N(l->a, fn->nvar, uint32_t);
    for (uint32_t i = 0; i < fn->nin; i++)
        uses[fn->in[i]]++;
    for (size_t o = 0; o < fn->outputs.n; o++)
        uses[fn->outputs.p[o].var]++;
    if (fn->until != VAR_NONE) uses[fn->until]++;
    return uses;
}

/* Is output o such a sum? Sets its term. */
static bool find_step_sum(StepSum *x, size_t o) {
    const ScanForm *f = &x->l->part.f;
    const ScanOut *out = &f->out[o];
    Var made = x->fn->outputs.p[o].var;
    const Apply *a = owner_of_op(x->fn, made, OP_ADD);
    if (!a || !scan_one_row(out) || out->keep != SCAN_LAST || x->uses[made] != 1 ||
        !scan_output_is_read(x->l, o))
        return false;
    Var s = x->fn->inputs.p[out->in], in[2] = {x->fn->in[a->in], x->fn->in[a->in + 1]};
    if (x->uses[s] != 1 || (in[0] != s && in[1] != s)) return false;
    x->o = o;
    x->writes = false;
    x->term = in[in[0] == s];
    const Type *t = var_type(x->fn, x->term), *as = var_type(x->fn, made);
    return t->ndim == as->ndim && dtype_is_inexact(t->dtype);
}

/* ---- what is written ---- */

/* Is `a` x[i] + v, or one where it is set? */
static bool is_write_at(const StepSum *x, const Apply *a, Var *v, Var *i) {
    if (!a || a->nin != 3) return false;
    const Prop *index = op_prop(x->fn->s, a->op, a->props, "index");
    const Type *at = var_type(x->fn, x->fn->in[a->in + 2]);
    *v = x->fn->in[a->in + 1];
    *i = x->fn->in[a->in + 2];
    return strcmp(sym_text(x->fn->s, index->sym), "$") == 0 &&
           at->kind == TYPE_TENSOR && at->ndim == 0 && dtype_is_integer(at->dtype);
}

static bool is_zeros(const Graph *fn, Var v) {
    ApplyId id = var_owner(fn, v);
    if (!scan_is_fill(fn, v)) return false;
    const Op *op = fn->apply[id].op;
    const Var *in = apply_in(fn, id);
    if (op_is(fn->s, op, OP_ZEROS_LIKE)) return true;
    if (op_is(fn->s, op, OP_ONES_LIKE)) return false;
    bool repeats = op_is(fn->s, op, OP_BROADCAST_TO);
    const Tensor *t = var_const(fn, in[repeats ? 0 : 1]);
    return t && tensor_size(t) == 1 && tensor_f64(t, 0) == 0;
}

/* The write that makes output o of its state. */
static const Apply *find_write(StepSum *x, size_t o, Var s) {
    Var made = x->fn->outputs.p[o].var;
    const Apply *inc = owner_of_op(x->fn, made, OP_INC_SUBTENSOR),
                *set = owner_of_op(x->fn, made, OP_SET_SUBTENSOR),
                *add = owner_of_op(x->fn, made, OP_ADD);
    x->text = set ? "set_subtensor(x[y], n)" : "inc_subtensor(x[y], n)";
    if (inc || set) {
        const Apply *a = inc ? inc : set;
        return x->fn->in[a->in] == s ? a : NULL;
    }
    for (uint32_t k = 0; add && k < 2; k++) {
        Var to = x->fn->in[add->in + k];
        const Apply *a = owner_of_op(x->fn, to, OP_INC_SUBTENSOR);
        if (a && x->uses[to] == 1 && x->fn->in[add->in + !k] == s &&
            is_zeros(x->fn, x->fn->in[a->in]))
            return a;
    }
    return NULL;
}

/* The sequence of which a step reads a row as v; VAR_NONE: it is none. */
static Var sequence_of(const StepSum *x, Var v) {
    const ScanForm *f = &x->l->part.f;
    for (size_t i = 0; i < f->nseq; i++)
        if (f->seq[i].low == 0 && f->seq[i].high == 0 &&
            x->fn->inputs.p[f->seq[i].in] == v)
            return x->l->part.arg[f->seq[i].arg];
    return VAR_NONE;
}

/* By how many numbers is j behind i, which counts the steps? */
static bool is_behind(StepSum *x, Var j, Var i, int64_t *back) {
    const Apply *add = owner_of_op(x->fn, j, OP_ADD),
                *sub = owner_of_op(x->fn, j, OP_SUBTRACT), *a = add ? add : sub;
    Var rows = sequence_of(x, j);
    if (rows != VAR_NONE) return read_counts_behind(x->l->r, rows, x->numbers, back);
    if (!a) return false;
    size_t k = add && x->fn->in[a->in + 1] == i;
    const Tensor *t = var_const(x->fn, x->fn->in[a->in + !k]);
    if (x->fn->in[a->in + k] != i || !t || tensor_size(t) != 1) return false;
    *back = add ? -tensor_i64(t, 0) : tensor_i64(t, 0);
    return true;
}

/* Does a step read nothing else of s than s[i - 1], s[i - 2] ..., which an earlier one
 * has written, or the initial value has? */
static bool find_reads_behind(StepSum *x, Var s) {
    int64_t first;
    x->nread = 0;
    if (!read_counts_from(x->l->r, x->numbers, &first)) return false;
    for (ApplyId id = 0; id < x->fn->napply; id++) {
        const Apply *a = &x->fn->apply[id];
        if (a->nin != 2 || !op_is(x->fn->s, a->op, OP_SUBTENSOR) ||
            x->fn->in[a->in] != s)
            continue;
        int64_t back;
        const Prop *index = op_prop(x->fn->s, a->op, a->props, "index");
        if (x->nread == READS || strcmp(sym_text(x->fn->s, index->sym), "$") != 0 ||
            !is_behind(x, x->fn->in[a->in + 1], x->q, &back) || back < 1 ||
            back > first || back > READS)
            return false;
        x->read[x->nread] = a->out;
        x->back[x->nread++] = back;
    }
    return x->nread + 1 == x->uses[s];
}

static bool is_row_of(const Type *row, const Type *t) {
    bool same = true;
    for (int k = 0; k < row->ndim; k++)
        same &= row->dim[k] == t->dim[k + 1] && row->dim[k] != DIM_UNKNOWN;
    return same;
}

/* Is output o a state that is written at one place in each step, the next one, and read
 * by nothing else, or behind that place? The places must certainly be there: of others
 * the step says which one fails. */
static bool find_step_write(StepSum *x, size_t o) {
    const ScanOut *out = &x->l->part.f.out[o];
    Var made = x->fn->outputs.p[o].var;
    if (!scan_one_row(out) || out->keep != SCAN_LAST || x->uses[made] != 1 ||
        !scan_output_is_read(x->l, o))
        return false;
    Var s = x->fn->inputs.p[out->in];
    if (!is_write_at(x, find_write(x, o, s), &x->p, &x->q)) return false;
    const Type *t = var_type(x->fn, x->p), *as = var_type(x->fn, s);
    if (t->kind != TYPE_TENSOR || t->ndim != as->ndim - 1 || t->dtype != as->dtype ||
        var_is_const(x->fn, x->p))
        return false;
    x->numbers = sequence_of(x, x->q);
    if (x->numbers == VAR_NONE ||
        !read_counts_within(x->l->r, x->l->part.arg[out->arg], x->numbers))
        return false;
    x->o = o;
    x->writes = true;
    x->nread = 0;
    return x->uses[s] == 1 ||
           (x->text[0] == 's' && is_row_of(t, as) && find_reads_behind(x, s));
}

/* ---- products ---- */

/* transpose(P) of a matrix */
static bool is_matrix_transpose(const Graph *fn, Var v, Var *of) {
    const Apply *a = owner_of_op(fn, v, OP_TRANSPOSE);
    if (!a || var_type(fn, v)->ndim != 2) return false;
    const Prop *axes = op_prop(fn->s, a->op, a->props, "axes");
    if (axes->kind == P_INTS && axes->ints.p[0] % 2 == 0) return false; /* (0, 1) */
    *of = fn->in[a->in];
    return true;
}

/* A vector as a column (axis 1) or as a row (axis 0). */
static bool is_raised_vector(const Graph *fn, Var v, int64_t axis, Var *of) {
    const Apply *a = owner_of_op(fn, v, OP_EXPAND_DIMS);
    if (!a || var_type(fn, v)->ndim != 2) return false;
    const Prop *p = op_prop(fn->s, a->op, a->props, "axis");
    int64_t at = p->kind == P_INT                      ? p->i
                 : p->kind == P_INTS && p->ints.n == 1 ? p->ints.p[0]
                                                       : 9;
    if (at < 0) at += 2;
    *of = fn->in[a->in];
    return at == axis && var_type(fn, *of)->ndim == 1;
}

static bool find_factors(StepSum *x) {
    const Apply *m = owner_of_op(x->fn, x->term, OP_MATMUL),
                *o = owner_of_op(x->fn, x->term, OP_MULTIPLY);
    if (x->uses[x->term] != 1) return false;
    if (m) {
        Var a = x->fn->in[m->in], b = x->fn->in[m->in + 1];
        if (var_type(x->fn, a)->ndim != 2 || var_type(x->fn, b)->ndim != 2)
            return false;
        x->q = b;
        if (is_matrix_transpose(x->fn, a, &x->p)) {
            x->text = "tensordot(x, y, ([0, 1], [0, 1]))";
        } else {
            x->p = a;
            x->text = "tensordot(x, y, ([0, 2], [0, 1]))";
        }
        return true;
    }
    for (int turn = 0; o && turn < 2; turn++) {
        Var a = x->fn->in[o->in + (size_t)turn], b = x->fn->in[o->in + (size_t)!turn];
        if (!is_raised_vector(x->fn, a, 1, &x->p) ||
            !is_raised_vector(x->fn, b, 0, &x->q))
            continue;
        x->text = "matmul(transpose(x), y)";
        return true;
    }
    return false;
}

/* Rows of a variable of the body that are there: of a sequence, or of an output that
 * has been added. */
static bool find_term_rows(StepSum *x, int which, Var v) {
    Scan *l = x->l;
    const ScanForm *f = &l->part.f;
    x->row[which] = NOT_A_ROW;
    for (size_t i = 0; i < f->nseq; i++)
        for (size_t k = 0; k < f->seq[i].ntap; k++) {
            if (x->fn->inputs.p[f->seq[i].in + k] != v) continue;
            Var s = l->part.arg[f->seq[i].arg];
            bool whole = f->seq[i].low == 0 && f->seq[i].high == 0 &&
                         scan_has_rows(l, s) && x->fn->until == VAR_NONE;
            if (!whole) continue;
            x->seq[which] = s;
            return true;
        }
    for (size_t k = l->part.first + f->nout; k < l->m.out.n; k++)
        if (l->m.out.p[k].made == v) {
            x->row[which] = k;
            return true;
        }
    return false;
}

static void add_term_rows(StepSum *x, int which, Var v) {
    Scan *l = x->l;
    if (find_term_rows(x, which, v)) return;
    x->row[which] = scan_builder_add_out(&l->m, var_name(x->fn, v), SCAN_ALL);
    l->m.out.p[x->row[which]].wanted = true;
    l->m.out.p[x->row[which]].made = v; /* still the old body's variable */
}

static Var term_rows(const StepSum *x, int which) {
    size_t k = x->row[which];
    return k == NOT_A_ROW ? x->seq[which] : x->l->m.out.p[k].result;
}

static bool replace_by_writes(StepSum *x) {
    Scan *l = x->l;
    Var init = l->part.arg[l->part.f.out[x->o].arg];
    Var made = scan_build_expr(l, x->text, init, term_rows(x, 1), term_rows(x, 0));
    const Type *want = var_type(l->r->g, scan_output(l, x->o));
    return made != VAR_NONE &&
           scan_replace_output(l, x->o, scan_fit_arg(&l->r->b, made, want, 0));
}

/* Replaces the sum by a total computed after the loop. */
static bool replace_by_total(StepSum *x) {
    Scan *l = x->l;
    if (x->writes) return replace_by_writes(x);
    Var total = scan_build_expr(l, x->text, term_rows(x, 0), term_rows(x, 1), VAR_NONE);
    Var init = l->part.arg[l->part.f.out[x->o].arg];
    if (total == VAR_NONE) return false;
    Var sum = scan_build_expr(l, "x + y", init, total, VAR_NONE);
    if (sum == VAR_NONE) return false;
    const Type *want = var_type(l->r->g, scan_output(l, x->o));
    bool fits = rewrite_dims_fit(var_type(l->r->g, total), var_type(l->r->g, init));
    if (!fits && !scan_takes_steps(l)) sum = scan_or_initial(l, sum, init);
    if (sum == VAR_NONE) return false;
    return scan_replace_output(l, x->o, scan_fit_arg(&l->r->b, sum, want, 0));
}

/* Rows that are stored for the sum alone must be small. */
enum { SMALL_TERM = 1024 };
static bool has_cheap_rows(StepSum *x) {
    const Type *t = var_type(x->fn, x->term);
    int64_t n = type_size(t);
    return t->ndim <= 1 &&
           ((n >= 0 && n <= SMALL_TERM) || find_term_rows(x, 0, x->term));
}

/* The rows of the initial value that the first steps read. */
static Var rows_before(StepSum *x, int64_t depth) {
    Scan *l = x->l;
    int64_t first;
    Var init = l->part.arg[l->part.f.out[x->o].arg];
    if (!read_counts_from(l->r, x->numbers, &first)) return VAR_NONE;
    Var from = const_int(&l->r->b, first - depth), to = const_int(&l->r->b, first);
    if (depth > 1) return scan_build_expr(l, "x[y:n]", init, from, to);
    return scan_if_steps(l, scan_build_expr(l, "x[y]", init, from, VAR_NONE), false);
}

/* Rows become a state, of which steps read earlier values as taps. */
static bool add_taps(StepSum *x) {
    Scan *l = x->l;
    int64_t depth = 0;
    for (size_t i = 0; i < x->nread; i++)
        if (x->back[i] > depth) depth = x->back[i];
    Var before = rows_before(x, depth);
    if (before == VAR_NONE || find_term_rows(x, 0, x->p)) return false;
    rewriter_grow(l->r);
    add_term_rows(x, 0, x->p);
    ScanBuilderArg *out = &l->m.out.p[x->row[0]];
    out->x = before;
    const Type *row = var_type(x->fn, x->p);
    for (size_t i = 0; i < x->nread; i++)
        l->part.map[x->read[i]] = scan_builder_add_tap(&l->m, out, -x->back[i], row);
    return true;
}

static bool take_write(StepSum *x) {
    if (x->nread > 0 && !add_taps(x)) return false;
    add_term_rows(x, 0, x->p);
    add_term_rows(x, 1, x->q);
    x->l->m.out.p[x->l->part.first + x->o].wanted = false;
    return true;
}

static bool take_sum(StepSum *x, bool product) {
    x->p = x->q = VAR_NONE;
    if (find_factors(x) != product) return false;
    if (product) {
        add_term_rows(x, 0, x->p);
        add_term_rows(x, 1, x->q);
    } else if (has_cheap_rows(x)) {
        x->text = "sum(x, axis=0)";
        add_term_rows(x, 0, x->term);
        x->row[1] = x->row[0];
        x->seq[1] = x->seq[0];
    } else {
        return false;
    }
    x->l->m.out.p[x->l->part.first + x->o].wanted = false;
    return true;
}

static bool push_sums(Scan *l, bool *ok) {
    scan_take_apart(l);
    StepSum x = {.l = l, .fn = l->part.f.fn};
    if (scan_is_opaque(x.fn) || x.fn->effects.n || l->part.f.checkpoint) return false;
    x.uses = count_body_uses(l);
    size_t n = l->part.f.nout, nsum = 0;
    StepSum *sum = NEW_N(l->a, n, StepSum);
    for (size_t o = 0; o < n; o++)
        l->m.out.p[l->part.first + o].wanted = scan_output_is_read(l, o);
    /* products first: their factors' rows may be those of other terms, too */
    for (int round = 0; round < 2; round++)
        for (size_t o = 0; o < n; o++)
            if (find_step_sum(&x, o) && take_sum(&x, round == 0)) sum[nsum++] = x;
    for (size_t o = 0; o < n; o++)
        if (find_step_write(&x, o) && take_write(&x)) sum[nsum++] = x;
    if (nsum == 0) return false;
    if (!(*ok = scan_copy_body(l))) return false;
    for (size_t k = l->part.first + n; k < l->m.out.n; k++)
        l->m.out.p[k].made = l->part.map[l->m.out.p[k].made];
    if (!(*ok = scan_rebuild(l))) return false;
    for (size_t i = 0; i < nsum; i++)
        if (!replace_by_total(&sum[i])) return false;
    for (size_t o = 0; o < n; o++)
        if (l->m.out.p[l->part.first + o].result != VAR_NONE &&
            !scan_replace_output(l, o, l->m.out.p[l->part.first + o].result))
            return false;
    return *ok = scan_fired(l);
}

bool scan_sum_pass(Rewriter *r) {
    return scan_each(r, push_sums);
}
