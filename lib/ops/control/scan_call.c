/* scan in the language: scan(fn, sequences=[...], outputs_info=[...],
 * non_sequences=[...], n_steps=n, ...), with taps(x, [-1, 0]) to read rows of other
 * steps than the current one, and until(condition) among the results of a lambda. */
#include "lang/macro.h"
#include "ops/control/scan.h"
#include "ops/control/unify.h"
#include "scan/checkpoint.h"

#include <string.h>

enum { NO_STRETCHES = -1 };

/* A sequence, or an output with its initial value. */
typedef struct ScanCallArg {
    Span at;
    Node x; /* NODE_NONE: an output that is not fed back */
    size_t ntap;
    int64_t *tap;
    Var var;
    Var list;  /* a sequence that is a list: `var` becomes the indices of its items */
    bool weak; /* literals only: takes the dtype of the values computed later */
} ScanCallArg;
typedef struct ScanWords {
    Compiler *c;
    Builder *b;
    const Ast *call;
    Node fn;
    size_t nseq, nout, nother;
    ScanCallArg *seq, *out;
    Node *other;
    bool any_out; /* outputs_info was given */
    bool backwards;
    Var steps;
    int64_t truncate, *keep;
    bool checkpoint; /* each step is already a stretch */
    bool rows;
    int64_t stretch; /* steps per stretch, or NO_STRETCHES */
    Span stretch_at;
} ScanWords;

/* ---- reading ---- */

/* The items of a list; a single value is a list of one, None or a missing argument an
 * empty one. `numbers`: a list of numbers is a single value. */
static bool items_of_arg(Compiler *c, const Ast *arg, bool numbers, size_t *n,
                         Node **item) {
    Node *node = NEW(compiler_arena(c), Node);
    *n = 0;
    *item = NULL;
    if (!arg) return true;
    if (!compiler_ast(c, arg, node)) return false;
    if (node->kind == NODE_NONE) return true;
    bool list = node->kind == NODE_LIST, all = numbers && list && node->n > 0;
    for (size_t i = 0; all && i < node->n; i++)
        all = node->item[i].kind == NODE_LITERAL;
    list = list && !all;
    *n = list ? node->n : 1;
    *item = list ? node->item : node;
    return true;
}

static bool read_int(Session *s, const Node *n, const char *what, int64_t *v) {
    const Literal *l = &n->lit;
    bool ok = n->kind == NODE_LITERAL && l->kind == K_INT && l->u <= INT32_MAX;
    if (ok) *v = l->negative ? -(int64_t)l->u : (int64_t)l->u;
    return ok ||
           fail(s, n->at, E_ARG, "%s must be an integer that is written out", what);
}

static bool read_scan_taps(ScanWords *w, const Node *n, ScanCallArg *t) {
    bool list = n->kind == NODE_LIST;
    Session *s = w->b->s;
    t->ntap = list ? n->n : 1;
    t->tap = NEW_N(compiler_arena(w->c), t->ntap, int64_t);
    if (t->ntap == 0) return fail(s, n->at, E_ARG, "the list of taps is empty");
    for (size_t i = 0; i < t->ntap; i++) {
        if (!read_int(s, list ? &n->item[i] : n, "a tap", &t->tap[i])) return false;
        for (size_t k = 0; k < i; k++)
            if (t->tap[k] == t->tap[i])
                return fail(s, n->at, E_ARG, "the tap %lld is given twice",
                            (long long)t->tap[i]);
    }
    return true;
}

static bool fail_key(Session *s, const Node *dict, const char *key) {
    fail(s, dict->at, E_ARG,
         "a sequence or output of a scan has no `%s`: write taps(x, [-1, 0])", key);
    return note(s, NOWHERE,
                "the values of a dict are given one by one, as a list: each is a state "
                "or sequence of its own, and an argument of the function");
}

/* taps(x, [...]), or a dict with input or initial, and taps. */
static bool read_dict(ScanWords *w, const Node *n, ScanCallArg *t) {
    Session *s = w->b->s;
    for (size_t i = 0; i < n->n; i++) {
        const char *key = sym_text(s, n->key[i]);
        if (strcmp(key, "input") == 0 || strcmp(key, "initial") == 0)
            t->x = n->item[i];
        else if (strcmp(key, "taps") != 0)
            return fail_key(s, n, key);
        else if (!read_scan_taps(w, &n->item[i], t))
            return false;
    }
    return true;
}

static bool read_item(ScanWords *w, const Node *n, int64_t usual, ScanCallArg *t) {
    *t = (ScanCallArg){
        .at = n->at, .x = {.kind = NODE_NONE, .at = n->at}, .var = VAR_NONE};
    if (n->kind == NODE_DICT ? !read_dict(w, n, t) : (t->x = *n, false)) return false;
    if (t->ntap == 0 && t->x.kind != NODE_NONE) {
        t->tap = NEW(compiler_arena(w->c), int64_t);
        t->tap[0] = usual;
        t->ntap = 1;
    }
    return true;
}

static bool read_scan_sequences(ScanWords *w, const Ast *arg) {
    Node *item;
    if (!items_of_arg(w->c, arg, true, &w->nseq, &item)) return false;
    w->seq = NEW_N(compiler_arena(w->c), w->nseq, ScanCallArg);
    for (size_t i = 0; i < w->nseq; i++) {
        if (!read_item(w, &item[i], 0, &w->seq[i])) return false;
        if (w->seq[i].x.kind == NODE_NONE)
            return fail(w->b->s, item[i].at, E_ARG, "sequence %zu is None", i + 1);
    }
    return true;
}

static bool read_outputs_info(ScanWords *w, const Ast *arg) {
    Session *s = w->b->s;
    Node *item;
    if (!items_of_arg(w->c, arg, false, &w->nout, &item)) return false;
    w->any_out = w->nout > 0;
    w->out = NEW_N(compiler_arena(w->c), w->nout, ScanCallArg);
    for (size_t i = 0; i < w->nout; i++) {
        ScanCallArg *t = &w->out[i];
        if (!read_item(w, &item[i], -1, t)) return false;
        if (t->x.kind == NODE_NONE && t->ntap)
            return fail(s, t->at, E_ARG,
                        "output %zu has taps but no initial value: write taps(initial, "
                        "[...])",
                        i + 1);
        for (size_t k = 0; k < t->ntap; k++)
            if (t->tap[k] >= 0)
                return fail(s, t->at, E_ARG,
                            "output %zu has the tap %lld, but only earlier steps "
                            "(negative taps) are known",
                            i + 1, (long long)t->tap[k]);
    }
    return true;
}

static bool read_others(ScanWords *w, const Ast *arg) {
    return items_of_arg(w->c, arg, false, &w->nother, &w->other);
}

/* ---- sequences ---- */

static bool is_list(const ScanWords *w, const ScanCallArg *t) {
    return var_type(w->b->g, t->var)->kind == TYPE_LIST;
}

/* x[::-1]: a sequence read backwards is a view, and its taps change sign. */
static bool reverse_sequence(ScanWords *w, ScanCallArg *t) {
    const Op *op = op_named(w->b->s, "subtensor");
    PropArg index = {"index", PROP_STR(sym(w->b->s, "::$"))};
    Var in[2] = {t->var, const_int(w->b, -1)};
    for (size_t k = 0; k < t->ntap; k++)
        t->tap[k] = -t->tap[k];
    if (is_list(w, t))
        return (t->var = op_call1(w->b, "list_reverse", t->var)) != VAR_NONE;
    t->var = op_apply1(w->b, op, props_make(w->b->s, op, 1, &index), 2, in);
    return t->var != VAR_NONE;
}

/* The dtype for a literal at input k of the body; DT_NONE: its own. */
static DType wanted_dtype(const ScanWords *w, size_t k) {
    const Graph *fn = w->fn.fn;
    if (!fn || k >= fn->inputs.n) return DT_NONE;
    const Type *t = var_type(fn, fn->inputs.p[k]);
    return t->kind == TYPE_TENSOR ? t->dtype : DT_NONE;
}

static bool note_order(const ScanWords *w) {
    return w->any_out && note(w->b->s, NOWHERE,
                              "sequences come before the initial values of states, "
                              "here and in the arguments of the function");
}

static bool take_sequences(ScanWords *w) {
    Session *s = w->b->s;
    for (size_t i = 0, k = 0; i < w->nseq; k += w->seq[i].ntap, i++) {
        ScanCallArg *t = &w->seq[i];
        if (!compiler_var(w->c, &t->x, wanted_dtype(w, k), &t->var)) return false;
        const Type *x = var_type(w->b->g, t->var);
        if (x->kind != TYPE_LIST && (x->kind != TYPE_TENSOR || x->ndim == 0))
            return fail(s, t->at, E_TYPE,
                        "sequence %zu must be a tensor with an axis for steps, or a "
                        "list, not %s",
                        i + 1, type_str(s, x)) ||
                   note_order(w);
        if (w->backwards && !reverse_sequence(w, t)) return false;
    }
    return true;
}

/* ---- the number of steps ---- */

static int64_t tap_span(const ScanCallArg *t) {
    int64_t low = 0, high = 0;
    for (size_t k = 0; k < t->ntap; k++) {
        if (t->tap[k] < low) low = t->tap[k];
        if (t->tap[k] > high) high = t->tap[k];
    }
    return high - low;
}

/* The number of steps for which one sequence has rows. */
static Var steps_of(ScanWords *w, const ScanCallArg *t) {
    int64_t span = tap_span(t);
    bool list = is_list(w, t);
    Dim d = list ? DIM_UNKNOWN : var_type(w->b->g, t->var)->dim[0];
    if (dim_is_known(d)) return const_int(w->b, d > span ? d - span : 0);
    Var n = list ? op_call1(w->b, "list_length", t->var) : shape_of(w->b, t->var, 0);
    if (n == VAR_NONE || span == 0) return n;
    n = op_call2(w->b, "subtract", n, const_int(w->b, span));
    return n == VAR_NONE ? n : op_call2(w->b, "maximum", n, const_int(w->b, 0));
}

static bool take_shortest_steps(ScanWords *w) {
    w->steps = VAR_NONE;
    for (size_t i = 0; i < w->nseq; i++) {
        Var n = steps_of(w, &w->seq[i]);
        if (n == VAR_NONE) return false;
        if (w->steps == VAR_NONE)
            w->steps = n;
        else if (!scan_has_same_steps(w->b->g, w->steps, n))
            w->steps = op_call2(w->b, "minimum", w->steps, n);
        if (w->steps == VAR_NONE) return false;
    }
    return true;
}

static bool read_n_steps(ScanWords *w, const Ast *arg) {
    Session *s = w->b->s;
    Node n = {.kind = NODE_NONE};
    if (arg && !compiler_ast(w->c, arg, &n)) return false;
    if (n.kind == NODE_NONE && w->nseq == 0)
        return fail(s, w->call->at, E_ARG,
                    "scan needs a sequence or n_steps to know how many steps there "
                    "are");
    if (n.kind == NODE_NONE) return take_shortest_steps(w);
    if (n.kind == NODE_LITERAL && (n.lit.kind != K_INT || n.lit.negative))
        return fail(s, n.at, E_ARG, "n_steps must be an integer that is not negative");
    return compiler_var(w->c, &n, DT_INT64, &w->steps);
}

/* ---- the body ---- */

static bool take_initial(ScanWords *w, size_t i, size_t k, DType like) {
    ScanCallArg *t = &w->out[i];
    if (t->ntap == 0) return true;
    if (like == DT_NONE) like = wanted_dtype(w, k);
    return compiler_var(w->c, &t->x, like, &t->var);
}

static bool fail_initial_rows(const ScanWords *w, size_t i, const Type *x) {
    Session *s = w->b->s;
    fail(s, w->out[i].at, x->kind == TYPE_TENSOR ? E_SHAPE : E_TYPE,
         "the initial value of output %zu needs one row for each step that its taps go "
         "back, but it is %s",
         i + 1, type_str(s, x));
    if (x->kind == TYPE_TENSOR) return false;
    return note(s, NOWHERE,
                "a state that is not a tensor can have only the tap -1: carry the "
                "value of an earlier step as a state of its own");
}

/* Weak initial values get their dtype later. */
static bool take_initials(ScanWords *w, const DType *like) {
    size_t k = 0;
    for (size_t i = 0; i < w->nseq; i++)
        k += w->seq[i].ntap;
    for (size_t i = 0; i < w->nout; k += w->out[i].ntap, i++) {
        ScanCallArg *t = &w->out[i];
        t->weak = t->ntap && node_is_weak(&t->x) && wanted_dtype(w, k) == DT_NONE;
        if (!take_initial(w, i, k, like[i])) return false;
        const Type *x = t->ntap ? var_type(w->b->g, t->var) : NULL;
        bool one = t->ntap == 1 && t->tap[0] == -1;
        if (!x || one || (x->kind == TYPE_TENSOR && x->ndim > 0)) continue;
        return fail_initial_rows(w, i, x);
    }
    return true;
}

static const Type *row_type_of_sequence(Session *s, const Type *t) {
    if (t->kind == TYPE_LIST) return t->elem;
    return type_of_row(s, t);
}

static size_t count_inputs(const ScanWords *w) {
    size_t n = w->nother;
    for (size_t i = 0; i < w->nseq; i++)
        n += w->seq[i].ntap;
    for (size_t i = 0; i < w->nout; i++)
        n += w->out[i].ntap;
    return n;
}

/* The Apply's inputs from the second on, and the types of the body's inputs. */
static bool take_others(ScanWords *w, size_t k, Var *var) {
    for (size_t i = 0; i < w->nother; i++)
        if (!compiler_var(w->c, &w->other[i], wanted_dtype(w, k + i), &var[i]))
            return false;
    return true;
}

static const Type *state_type(const Graph *g, Var v) {
    const Type *t = var_type(g, v);
    return scan_is_object(t) ? type_unnamed(g->s, t) : t;
}

static void input_types(const ScanWords *w, const Var *other, const Type **type) {
    const Graph *g = w->b->g;
    Session *s = g->s;
    size_t k = 0;
    for (size_t i = 0; i < w->nseq; i++)
        for (size_t j = 0; j < w->seq[i].ntap; j++)
            type[k++] = row_type_of_sequence(s, var_type(g, w->seq[i].var));
    for (size_t i = 0; i < w->nout; i++) {
        const ScanCallArg *t = &w->out[i];
        bool one = t->ntap == 1 && t->tap[0] == -1;
        for (size_t j = 0; j < t->ntap; j++)
            type[k++] = one ? state_type(g, t->var)
                            : row_type_of_sequence(s, var_type(g, t->var));
    }
    for (size_t i = 0; i < w->nother; i++)
        type[k++] = var_type(g, other[i]);
}

/* The smallest dtype of a weak value's kind, so that promotion in the body yields the
 * other operand's dtype. */
static DType least_dtype(const Graph *g, const Node *n) {
    static const DType least[] = {DT_BOOL, DT_INT8, DT_INT8, DT_FLOAT16, DT_COMPLEX64};
    if (n->kind == NODE_LIST) {
        DType most = DT_BOOL;
        for (size_t i = 0; i < n->n; i++)
            most = dtype_promote(most, least_dtype(g, &n->item[i]));
        return most;
    }
    return least[n->kind == NODE_VAR ? dtype_kind(var_type(g, n->var)->dtype)
                                     : n->lit.kind];
}

static bool try_body(ScanWords *w, const DType *like, const Var *other) {
    size_t n = count_inputs(w);
    const Type **type = NEW_N(compiler_arena(w->c), n, const Type *);
    if (!take_initials(w, like)) return false;
    input_types(w, other, type);
    return compiler_function(w->c, &w->fn, n, type);
}

/* Weak initial values start as the smallest dtype of their kind. The dtype that the
 * body computes from them becomes theirs; if the body left them unchanged, they keep
 * their own. */
static bool guess_dtypes(ScanWords *w, const Var *other, DType *like) {
    Node fn = w->fn;
    CompilerTrial trial = compiler_try(w->c);
    for (size_t i = 0; i < w->nout; i++)
        like[i] = w->out[i].weak ? least_dtype(w->b->g, &w->out[i].x) : DT_NONE;
    bool ok = try_body(w, like, other);
    const Graph *made = ok ? w->fn.fn : NULL;
    for (size_t i = 0; i < w->nout; i++) {
        const Type *t =
            made && i < made->outputs.n ? var_type(made, made->outputs.p[i].var) : NULL;
        bool took =
            w->out[i].weak && t && t->kind == TYPE_TENSOR && t->dtype != like[i];
        like[i] = took ? t->dtype : DT_NONE;
    }
    if (!ok && diag_hit_limit(w->b->s, trial.diags)) return false;
    compiler_undo(w->c, trial);
    w->fn = fn;
    return true;
}

/* Does the function take as many arguments as a step provides? */
static bool check_body_arity(ScanWords *w) {
    size_t need = count_inputs(w), have = need, seen = 0;
    if (w->fn.lambda) have = w->fn.lambda->nkid - 1;
    if (w->fn.fn) have = w->fn.fn->inputs.n - w->fn.ncaptured;
    if (have == need) return true;
    for (size_t i = 0; i < w->nseq; i++)
        seen += w->seq[i].ntap;
    fail(w->b->s, w->fn.at, E_ARITY,
         "the function takes %s, but gets %zu: %zu of sequences, %zu of "
         "earlier steps, %zu of non_sequences",
         str_counted(w->b->s, have, "argument"), need, seen, need - seen - w->nother,
         w->nother);
    bool scan = strcmp(sym_text(w->b->s, w->call->sym), "scan") == 0;
    if (have < need || w->any_out || !scan) return false;
    return note(w->b->s, NOWHERE,
                "the last value of a result is an argument if outputs_info has its "
                "initial value");
}

/* [] may have been meant as an empty list. */
static bool note_brackets(const ScanWords *w) {
    for (size_t i = 0; i < w->nout; i++)
        if (w->out[i].x.kind == NODE_LIST && w->out[i].x.n == 0)
            return note(w->b->s, w->out[i].at,
                        "this is a tensor without elements; for an empty list write "
                        "make_list(type='float64'), with the type of its items");
    return false;
}

static bool compile_scan_body(ScanWords *w, Var *other) {
    DType *like = NEW_N(compiler_arena(w->c), w->nout, DType);
    bool weak = false;
    for (size_t i = 0; i < w->nout; i++)
        like[i] = DT_NONE;
    if (!check_body_arity(w) || !take_initials(w, like) ||
        !take_others(w, count_inputs(w) - w->nother, other))
        return false;
    for (size_t i = 0; i < w->nout; i++)
        weak |= w->out[i].weak;
    if (weak && w->fn.lambda && !guess_dtypes(w, other, like)) return false;
    if (!try_body(w, like, other)) return note_brackets(w);
    scan_warn_of_draws(w->fn.fn, count_inputs(w) - w->nother);
    return true;
}

/* ---- keep ---- */

static bool keep_of(ScanWords *w, const Node *n, int64_t *keep) {
    const char *word = n->kind == NODE_STRING ? sym_text(w->b->s, n->sym) : "";
    if (strcmp(word, "all") == 0) return *keep = SCAN_ALL, true;
    if (strcmp(word, "last") == 0) return *keep = SCAN_LAST, true;
    if (n->kind == NODE_LITERAL && n->lit.kind == K_INT && !n->lit.negative &&
        n->lit.u > 0 && n->lit.u <= INT32_MAX)
        return *keep = (int64_t)n->lit.u, true;
    return fail(w->b->s, n->at, E_ARG,
                "keep must be 'all', 'last' or a number of rows: one for all outputs, "
                "or a list with one for each");
}

static bool read_keep(ScanWords *w, const Ast *arg, size_t nout) {
    Node n;
    w->keep = NEW_N(compiler_arena(w->c), nout, int64_t);
    for (size_t i = 0; i < w->nout; i++)
        if (w->out[i].ntap && var_type(w->b->g, w->out[i].var)->kind != TYPE_TENSOR)
            w->keep[i] = SCAN_LAST;
    if (!arg) return true;
    if (!compiler_ast(w->c, arg, &n)) return false;
    bool list = n.kind == NODE_LIST;
    if (list && n.n != nout)
        return fail(w->b->s, n.at, E_ARITY, "keep has %s for %s",
                    str_counted(w->b->s, n.n, "entry"),
                    str_counted(w->b->s, nout, "output"));
    for (size_t i = 0; i < nout; i++)
        if (!keep_of(w, list ? &n.item[i] : &n, &w->keep[i])) return false;
    return true;
}

/* ---- the Apply ---- */

static Prop ints_prop(Arena *a, size_t n, const ScanCallArg *item, size_t more) {
    size_t count = n + more, at = 0;
    for (size_t i = 0; i < n; i++)
        count += item[i].ntap;
    int64_t *v = NEW_N(a, count, int64_t);
    for (size_t i = 0; i < n; i++) {
        v[at++] = (int64_t)item[i].ntap;
        for (size_t k = 0; k < item[i].ntap; k++)
            v[at++] = item[i].tap[k];
    }
    return PROP_INTS(v, count);
}

/* Replaces the scan by one over stretches; the old one becomes unused. */
static bool checkpoint_scan(ScanWords *w, Var *r) {
    Graph *g = w->b->g;
    if (w->stretch == NO_STRETCHES) return true;
    ApplyId id = var_owner(g, r[0]);
    ScanForm f = scan_form_of(g, id, compiler_arena(w->c));
    const char *why = scan_why_no_segments(&f);
    if (why)
        return fail(w->b->s, w->stretch_at, E_ARG,
                    "this scan can't have a checkpoint: %s", why);
    g->main->litter = true;
    return scan_in_segments(w->b, id, w->stretch, NULL, r);
}

/* Replaces lists by the indices of their items, and the body by one that takes
 * indices. */
static bool scan_list_items(ScanWords *w) {
    Arena *a = compiler_arena(w->c);
    size_t *of = NEW_N(a, count_inputs(w), size_t);
    ScanItems q = {.before = count_inputs(w) - w->nother, .list_of = of};
    q.type = NEW_N(a, w->nseq, const Type *);
    for (size_t k = 0; k < q.before; k++)
        of[k] = SIZE_MAX;
    for (size_t i = 0, k = 0; i < w->nseq; k += w->seq[i].ntap, i++) {
        ScanCallArg *t = &w->seq[i];
        t->list = VAR_NONE;
        if (!is_list(w, t)) continue;
        for (size_t j = 0; j < t->ntap; j++)
            of[k + j] = q.nlist;
        Bind x = {sym(w->b->s, "x"), t->list = t->var};
        bool ok = true;
        q.type[q.nlist++] = var_type(w->b->g, t->list);
        t->var = template_build(w->b, "arange(list_length(x))",
                                &(Env){.n = 1, .bind = &x}, &ok);
        if (!ok) return false;
    }
    if (q.nlist == 0) return true;
    if (w->fn.lambda) w->fn.fn->derived = true; /* may be removed when unused */
    w->fn.fn = scan_over_items(w->b, w->fn.fn, &q);
    w->b->g->main->litter = true;
    return w->fn.fn != NULL;
}

static bool emit_scan(ScanWords *w, const Var *other, size_t nout, Node *out) {
    Session *s = w->b->s;
    Arena *a = compiler_arena(w->c);
    const Op *op = op_named(s, "scan");
    size_t n = 0;
    if (!scan_list_items(w)) return false;
    Var *in = NEW_N(a, 1 + 2 * w->nseq + w->nout + w->nother + w->fn.ncaptured, Var);
    Var *r = NEW_N(a, OUT_MAX, Var);
    in[n++] = w->steps;
    for (size_t i = 0; i < w->nseq; i++)
        in[n++] = w->seq[i].var;
    for (size_t i = 0; i < w->nout; i++)
        if (w->out[i].ntap) in[n++] = w->out[i].var;
    for (size_t i = 0; i < w->nseq; i++)
        if (w->seq[i].list != VAR_NONE) in[n++] = w->seq[i].list;
    for (size_t i = 0; i < w->nother; i++)
        in[n++] = other[i];
    for (size_t i = 0; i < w->fn.ncaptured; i++)
        in[n++] = w->fn.captured[i];
    PropArg p[] = {{"fn", {.kind = P_GRAPH, .sym = w->fn.fn->name}},
                   {"sequences", ints_prop(a, w->nseq, w->seq, 0)},
                   {"states", ints_prop(a, w->nout, w->out, nout - w->nout)},
                   {"keep", PROP_INTS(w->keep, nout)},
                   {"truncate", PROP_INT(w->truncate)},
                   {"checkpoint", PROP_BOOL(w->checkpoint)},
                   {"rows", PROP_BOOL(w->rows)}};
    if (!op_apply(w->b, op, props_make(s, op, 7, p), n, in, r) ||
        !checkpoint_scan(w, r))
        return false;
    *out = node_var(r[0], w->call->at);
    if (nout == 1) return true;
    Node *item = NEW_N(a, nout, Node);
    for (size_t i = 0; i < nout; i++)
        item[i] = node_var(r[i], w->call->at);
    return compiler_tree(w->c, nout, item, NULL, w->call->at, out);
}

static bool read_bool_arg(ScanWords *w, const Ast *arg, const char *name, bool *flag) {
    Node n;
    if (!arg) return true;
    if (!compiler_ast(w->c, arg, &n)) return false;
    *flag = n.lit.u != 0;
    return (n.kind == NODE_LITERAL && n.lit.kind == K_BOOL) ||
           fail(w->b->s, n.at, E_ARG, "%s must be True or False", name);
}

static bool read_flags(ScanWords *w, const Ast *truncate, const Ast *backwards) {
    Node n;
    w->truncate = -1;
    if (truncate) {
        if (!compiler_ast(w->c, truncate, &n) ||
            !read_int(w->b->s, &n, "truncate_gradient", &w->truncate))
            return false;
        if (w->truncate < -1 || w->truncate == 0)
            return fail(w->b->s, n.at, E_ARG,
                        "truncate_gradient must be a number of steps or -1 (all)");
    }
    return read_bool_arg(w, backwards, "go_backwards", &w->backwards);
}

/* None, 'sqrt' or a number of steps; True is what the printer writes for a scan over
 * stretches. */
static bool read_checkpoint(ScanWords *w, const Ast *arg) {
    Node n;
    w->stretch = NO_STRETCHES;
    if (!arg) return true;
    if (!compiler_ast(w->c, arg, &n)) return false;
    w->stretch_at = n.at;
    bool word = n.kind == NODE_STRING, number = n.kind == NODE_LITERAL;
    w->checkpoint = number && n.lit.kind == K_BOOL && n.lit.u;
    if (n.kind == NODE_NONE || (number && n.lit.kind == K_BOOL)) return true;
    if (word && strcmp(sym_text(w->b->s, n.sym), "sqrt") == 0)
        return w->stretch = STRETCH_SQRT, true;
    if (number && n.lit.kind == K_INT && !n.lit.negative && n.lit.u > 0 &&
        n.lit.u <= INT32_MAX)
        return w->stretch = (int64_t)n.lit.u, true;
    return fail(w->b->s, n.at, E_ARG,
                "checkpoint must be 'sqrt' or a number of steps: of that many steps, "
                "the gradient keeps only the states of the first");
}

static bool read_function(ScanWords *w, const Ast *arg) {
    if (!compiler_function_ast(w->c, arg, &w->fn)) return false;
    if (w->fn.kind == NODE_FUNCTION) return true;
    const char *name = w->call->sym ? sym_text(w->b->s, w->call->sym) : "scan";
    fail(w->b->s, arg->at, E_TYPE, "the first argument of %s must be a function", name);
    return note(w->b->s, NOWHERE, "the name of a function, or lambda x%s: ...",
                strcmp(name, "map") == 0 || strcmp(name, "filter") == 0 ? "" : ", h");
}

/* Python's reduce and the scans of JAX and TensorFlow pass the state first. */
static void warn_of_order(const ScanWords *w, const Ast *fn) {
    static const char *const states[] = {"acc",  "accumulator", "carry", "last",
                                         "prev", "previous",    "state", "total"};
    if (fn->kind != AST_LAMBDA || fn->nkid < 3 || w->nseq == 0 || !w->any_out) return;
    const char *first = sym_text(w->b->s, fn->kid[0]->sym);
    size_t i = 0, n = sizeof states / sizeof *states;
    while (i < n && strcmp(states[i], first) != 0)
        i++;
    if (i == n) return;
    warn(w->b->s, fn->kid[0]->at, E_ARG, "`%s` is the row: states come after it",
         first);
    note(w->b->s, NOWHERE, "write lambda x, %s: ...", first);
}

bool scan_expand(Compiler *c, const Ast *call, const Ast *const *arg, Node *out) {
    ScanWords w = {.c = c, .b = compiler_builder(c), .call = call};
    if (!read_function(&w, arg[0]) || !read_flags(&w, arg[5], arg[6]) ||
        !read_checkpoint(&w, arg[8]) || !read_bool_arg(&w, arg[9], "rows", &w.rows) ||
        !read_scan_sequences(&w, arg[1]) || !read_outputs_info(&w, arg[2]) ||
        !read_others(&w, arg[3]) || !take_sequences(&w) || !read_n_steps(&w, arg[4]))
        return false;
    warn_of_order(&w, arg[0]);
    Var *other = NEW_N(compiler_arena(c), w.nother, Var);
    if (!compile_scan_body(&w, other)) return false;
    size_t nout = w.any_out ? w.nout : w.fn.fn->outputs.n;
    return read_keep(&w, arg[7], nout) && emit_scan(&w, other, nout, out);
}

/* ---- taps, until ---- */

static bool taps_expand(Compiler *c, const Ast *call, const Ast *const *arg,
                        Node *out) {
    Session *s = compiler_builder(c)->s;
    Sym key[2] = {sym(s, "input"), sym(s, "taps")};
    Node item[2];
    return compiler_ast(c, arg[0], &item[0]) && compiler_ast(c, arg[1], &item[1]) &&
           compiler_tree(c, 2, item, key, call->at, out);
}

static bool until_expand(Compiler *c, const Ast *call, const Ast *const *arg,
                         Node *out) {
    Sym key = sym(compiler_builder(c)->s, "until");
    Node item;
    return compiler_ast(c, arg[0], &item) &&
           compiler_tree(c, 1, &item, &key, call->at, out);
}

static const Macro table[] = {
    {.name = "scan",
     .doc = "Runs a function once for each step, on rows of the sequences and its own "
            "earlier results. The results are rows of all steps, or lists of values "
            "that are not tensors; of states that are not tensors, the last value. "
            "With checkpoint='sqrt' or a number of steps k, gradients keep only the "
            "states of every k-th step and compute the others again. rows=True says "
            "that the steps are rows of a vectorize: a value that they sow is sown "
            "once, with those rows.",
     .signature = "fn, sequences=[], outputs_info=[], non_sequences=[], n_steps=None, "
                  "truncate_gradient=-1, go_backwards=False, keep='all', "
                  "checkpoint=None, rows=False",
     .expand = scan_expand,
     .example = "scan(lambda x, c: x + c, sequences=[arange(5)], outputs_info=[1]) -> "
                "[1, 2, 4, 7, 11]"},
    {.name = "taps",
     .doc = "A sequence or the initial rows of an output of scan, read at other steps "
            "than usual: taps(x, [-1, 0]).",
     .signature = "x, taps",
     .expand = taps_expand},
    {.name = "until",
     .doc = "As the last result of a lambda: ends scan after the first step in which "
            "the condition holds.",
     .signature = "condition",
     .expand = until_expand},
};
const MacroList macros_control = LIST_OF(table);
