/* einsum: parses the subscripts, turns repeated labels into diagonals, and contracts
 * the operands from left to right, one matrix product per pair. */
#include "ops/linalg/product/contract.h"
#include "ops/shape/linear.h"

#include <string.h>

enum {
    ELLIPSIS = -1,
    FIRST_DIM = 128
}; /* FIRST_DIM + k: the k-th dim from the right in an ellipsis */

typedef struct Einsum {
    Builder *b;
    size_t n;
    Term *term;
    int broadcast;      /* the largest number of dims in an ellipsis */
    int count[LABEL_N]; /* number of occurrences among the operands */
    Dim dim[LABEL_N];
    int nout, out[MAX_NDIM];
} Einsum;

static bool is_label_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A label as messages show it. */
static const char *label_text(const Einsum *e, int label) {
    if (label >= FIRST_DIM) return "...";
    char c = (char)label;
    return sym_text(e->b->s, sym_n(e->b->s, &c, 1));
}

/* ---- parsing ---- */
/* Parses labels up to a comma, an arrow or the end; `label` may contain one ELLIPSIS.
 * Returns their number, -1: diagnosed. */
static int read_labels(const Einsum *e, const char **p, int label[MAX_NDIM + 1]) {
    int n = 0;
    bool dots = false;
    for (; **p && **p != ',' && **p != '-'; ++*p) {
        if (**p == ' ') continue;
        bool here = strncmp(*p, "...", 3) == 0;
        if (n > MAX_NDIM || (!here && !is_label_letter(**p)) || (here && dots)) {
            fail(e->b->s, e->b->from.at, E_ARG,
                 "einsum: %s at `%s`; labels are letters, with one ... for the dims "
                 "without a label",
                 n > MAX_NDIM ? "there are too many labels"
                 : here       ? "there is a second ellipsis"
                              : "there is no label",
                 *p);
            return -1;
        }
        label[n++] = here ? ELLIPSIS : **p;
        dots |= here;
        if (here) *p += 2;
    }
    return n;
}

/* Replaces the ellipsis by its dims. */
static int expand_ellipsis(int n, const int *from, int ndots,
                           int to[2 * MAX_NDIM + 2]) {
    int m = 0;
    for (int k = 0; k < n; k++) {
        if (from[k] != ELLIPSIS)
            to[m++] = from[k];
        else
            for (int d = ndots; d-- > 0;)
                to[m++] = FIRST_DIM + d;
    }
    return m;
}

static bool has_ellipsis(int n, const int *label) {
    for (int k = 0; k < n; k++)
        if (label[k] == ELLIPSIS) return true;
    return false;
}

static bool meet_dims(Einsum *e, size_t which) {
    const Term *t = &e->term[which];
    const Type *type = var_type(e->b->g, t->v);
    for (int k = 0; k < t->n; k++) {
        int l = t->label[k];
        Dim d = type->dim[k], *have = &e->dim[l];
        bool inside = false;
        for (int j = 0; j < k; j++)
            inside |= t->label[j] == l && !dim_may_equal(type->dim[j], d);
        if (inside || (e->count[l] && !dim_may_equal(*have, d) && *have != 1 && d != 1))
            return fail(e->b->s, e->b->from.at, E_SHAPE,
                        "einsum: label %s is %lld, but %lld in operand %zu, a %s",
                        label_text(e, l), (long long)*have, (long long)d, which,
                        type_str(e->b->s, type));
        *have = !e->count[l] || *have == 1 ? d : d == 1 ? *have : dim_meet(*have, d);
        e->count[l]++;
    }
    return true;
}

static bool read_operand(Einsum *e, size_t which, const char **p) {
    Session *s = e->b->s;
    Term *t = &e->term[which];
    const Type *type = var_type(e->b->g, t->v);
    int label[MAX_NDIM + 1], full[2 * MAX_NDIM + 2], n = read_labels(e, p, label);
    if (n < 0) return false;
    bool dots = has_ellipsis(n, label);
    int ndots = dots ? type->ndim - (n - 1) : 0;
    if (ndots < 0 || (!dots && n != type->ndim))
        return fail(s, e->b->from.at, E_SHAPE,
                    "einsum: operand %zu has %d labels, but is a %s with %d dims",
                    which, dots ? n - 1 : n, type_str(s, type), type->ndim);
    t->n = expand_ellipsis(n, label, ndots, full);
    memcpy(t->label, full, (size_t)t->n * sizeof *full);
    if (ndots > e->broadcast) e->broadcast = ndots;
    return meet_dims(e, which);
}

static bool read_operands(Einsum *e, const char **p) {
    for (size_t i = 0; i < e->n; i++) {
        if (!read_operand(e, i, p)) return false;
        bool more = **p == ',';
        if (more != (i + 1 < e->n))
            return fail(e->b->s, e->b->from.at, E_ARITY,
                        "einsum: the subscripts are for %s than the %zu operands given",
                        more ? "more" : "fewer", e->n);
        *p += more;
    }
    return true;
}

/* Without an arrow, the output is the ellipsis, then the labels that occur once, in
 * alphabetical order. */
static bool implicit_output(Einsum *e) {
    int n = 0, out[LABEL_N];
    for (int d = e->broadcast; d-- > 0;)
        out[n++] = FIRST_DIM + d;
    for (int l = 0; l < FIRST_DIM; l++)
        if (e->count[l] == 1) out[n++] = l;
    if (!type_ndim_fits(e->b->s, e->b->from.at, "einsum", n)) return false;
    memcpy(e->out, out, (size_t)n * sizeof *out);
    e->nout = n;
    return true;
}

static bool check_output(const Einsum *e, int n, const int *out) {
    Session *s = e->b->s;
    for (int k = 0; k < n; k++) {
        if (!e->count[out[k]])
            return fail(s, e->b->from.at, E_ARG,
                        "einsum: label %s of the output is in no operand",
                        label_text(e, out[k]));
        for (int j = 0; j < k; j++)
            if (out[j] == out[k])
                return fail(s, e->b->from.at, E_ARG,
                            "einsum: label %s occurs twice in the output",
                            label_text(e, out[k]));
    }
    return true;
}

static bool read_output(Einsum *e, const char *p) {
    Session *s = e->b->s;
    if (*p == '\0') return implicit_output(e);
    if (strncmp(p, "->", 2) != 0)
        return fail(s, e->b->from.at, E_ARG, "einsum: expected -> at `%s`", p);
    p += 2;
    int label[MAX_NDIM + 1], full[2 * MAX_NDIM + 2], n = read_labels(e, &p, label);
    if (n < 0) return false;
    if (*p)
        return fail(s, e->b->from.at, E_ARG,
                    "einsum: unexpected text after the output: `%s`", p);
    if (e->broadcast && !has_ellipsis(n, label))
        return fail(s, e->b->from.at, E_ARG,
                    "einsum: the dims of the ellipsis must be in the output: write "
                    "... after ->");
    n = expand_ellipsis(n, label, e->broadcast, full);
    if (!check_output(e, n, full)) return false;
    e->nout = n; /* distinct, and each in an operand with at most MAX_NDIM dims */
    if (!type_ndim_fits(s, e->b->from.at, "einsum", n)) return false;
    memcpy(e->out, full, (size_t)n * sizeof *full);
    return true;
}

/* ---- building ---- */
/* Checks sizes at run time where types don't: a diagonal would silently take the
 * smaller one. */
static Var same_sizes(Einsum *e, const Term *t, int j, int k) {
    Builder *b = e->b;
    const Dim *dim = var_type(b->g, t->v)->dim;
    if (dim[j] == dim[k] && dim[j] != DIM_UNKNOWN) return t->v;
    Var size[2] = {shape_of(b, t->v, j), shape_of(b, t->v, k)};
    Var in[2] = {t->v, apply_named(b, "equal", 2, size, 0, NULL)};
    Str text = STR(b->s);
    str_printf(&text, "einsum: the sizes of label %s differ",
               label_text(e, t->label[j]));
    PropArg msg = {"msg", PROP_STR(sym(b->s, str_text(&text)))};
    str_free(&text);
    return apply_named(b, "assert_op", 2, in, 1, &msg);
}

/* Merges labels that an operand repeats into one, along the diagonal. */
static bool take_diagonals(Einsum *e, Term *t) {
    for (int j = 0; j < t->n; j++) {
        int k = j + 1, l = t->label[j], m = 0;
        while (k < t->n && t->label[k] != l)
            k++;
        if (k == t->n) continue;
        PropArg arg[2] = {{"axis1", PROP_INT(j)}, {"axis2", PROP_INT(k)}};
        Var x = same_sizes(e, t, j, k);
        t->v = apply_named(e->b, "diagonal", 1, &x, 2, arg);
        if (t->v == VAR_NONE) return false;
        for (int i = 0; i < t->n; i++)
            if (i != j && i != k) t->label[m++] = t->label[i];
        t->label[m++] = l;
        t->n = m;
        j = -1; /* start over: axes have moved */
    }
    return true;
}

/* The labels that the output or an operand from `next` on still needs. */
static void needed_labels(const Einsum *e, size_t next, bool keep[LABEL_N]) {
    memset(keep, 0, LABEL_N * sizeof *keep);
    for (int k = 0; k < e->nout; k++)
        keep[e->out[k]] = true;
    for (size_t i = next; i < e->n; i++)
        for (int k = 0; k < e->term[i].n; k++)
            keep[e->term[i].label[k]] = true;
}

static bool contract_operands(Einsum *e, Var *out) {
    bool keep[LABEL_N];
    for (size_t i = 0; i < e->n; i++)
        if (!take_diagonals(e, &e->term[i])) return false;
    Term all = e->term[0];
    for (size_t i = 1; i < e->n; i++) {
        Term left = all;
        needed_labels(e, i + 1, keep);
        if (!term_product(e->b, &left, &e->term[i], keep, &all)) return false;
    }
    needed_labels(e, e->n, keep);
    if (!term_sum(e->b, &all, keep) || !term_permute(e->b, &all, e->nout, e->out))
        return false;
    *out = all.v;
    return true;
}

static bool einsum_expand(Builder *b, const Op *op, const Props *props, size_t nin,
                          const Var *in, Var *out) {
    const char *text = sym_text(b->s, op_prop(b->s, op, props, "subscripts")->sym);
    const char *p = text;
    if (nin == 0)
        return fail(b->s, b->from.at, E_ARITY,
                    "einsum needs an operand: "
                    "einsum('ij,jk->ik', a, b)");
    Einsum e = {.b = b, .n = nin, .term = mem_zalloc(b->s, nin, sizeof(Term))};
    for (size_t i = 0; i < nin; i++)
        e.term[i].v = in[i];
    bool ok = read_operands(&e, &p) && read_output(&e, p) && contract_operands(&e, out);
    if (!ok) note(b->s, b->from.at, "the subscripts are '%s'", text);
    mem_free(e.term);
    return ok;
}

static const Op table[] = {
    {.name = OP_ROW("einsum"),
     .doc = "Einstein summation: the axes of each operand get labels, and products are "
            "summed over the labels that are not in the output. 'ii' takes a diagonal, "
            "... matches dims that broadcast; without ->, the output is the labels "
            "that occur once, in alphabetical order. Operands are multiplied from left "
            "to right.",
     .in = "*operands",
     .props = "subscripts: str",
     .promote = PROMOTE_SAME,
     .expand = einsum_expand,
     .example = "einsum('ij,jk->ik', [[1.0, 2.0]], [[3.0], [4.0]]) -> [[11.0]]\n"
                "einsum('ii', [[1, 2], [3, 4]]) -> 5\n"
                "einsum('ij->ji', [[1, 2], [3, 4]]) -> [[1, 3], [2, 4]]"},
};
const OpList ops_linalg_einsum = LIST_OF(table);
