/* Helpers of typing rules: errors that name op, argument and types; broadcasting; axes.
 */
#include "op/infer.h"

#include "op/op_impl.h"

#include <string.h>

/* ---- errors ---- */

const char *infer_arg_name(const Infer *in, size_t i) {
    const Signature *sig = in->sig;
    const Param *p = signature_param(sig, i);
    if (!p->rest) return sym_text(in->s, p->name);
    size_t fixed = signature_fixed(sig), each = (in->nin - fixed) / sig->nrest,
           list = signature_list_of(sig, in->nin, i);
    return arena_printf(session_arena(in->s), "%s[%zu]",
                        sym_text(in->s, sig->in[fixed + list].name),
                        i - fixed - list * each);
}

/* "add(x: float32[3, 4], float32[5])", with the graph's names. */
void infer_note_call(const Infer *in, Span at) {
    enum { SHOWN = 16 };
    Str b = STR(in->s);
    for (size_t i = 0; i < in->nin && i < SHOWN; i++) {
        Sym name = in->graph && in->in ? var_name(in->graph, in->in[i]) : 0;
        str_printf(&b, "%s%s%s%s", i ? ", " : "", sym_text(in->s, name),
                   name ? ": " : "", type_str(in->s, in->type[i]));
    }
    note(in->s, at, "in %s(%s%s)", in->op->name, str_text(&b),
         in->nin > SHOWN ? ", ..." : "");
    str_free(&b);
}

bool infer_ndim(Infer *in, int64_t n) {
    return n <= MAX_NDIM || infer_fail(in, E_LIMIT, in->nin, TOO_MANY_DIMS, MAX_NDIM);
}

bool infer_fail(Infer *in, DiagCode code, size_t arg, const char *fmt, ...) {
    Str b = STR(in->s);
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&b, fmt, ap);
    va_end(ap);
    const char *text = str_text(&b), *asked = in->make ? in->make->b->asked : NULL;
    size_t n = strlen(in->op->name);
    bool named =
        strncmp(text, in->op->name, n) == 0 && (text[n] == ' ' || text[n] == ':');
    fail(in->s, in->at, code, "%s%s%s", asked ? asked : in->op->name, named ? "" : ": ",
         named ? text + n : text);
    if (arg < in->nin)
        note(in->s, NOWHERE, "argument %zu (%s) is %s", arg + 1,
             infer_arg_name(in, arg), type_str(in->s, in->type[arg]));
    infer_note_call(in, NOWHERE);
    str_free(&b);
    return false;
}

/* ---- conditions on inputs ---- */

static bool want_tensor_input(Infer *in, size_t arg) {
    if (in->type[arg]->kind == TYPE_TENSOR) return true;
    return infer_fail(in, E_TYPE, arg, "%s takes a tensor for %s, not %s", in->op->name,
                      infer_arg_name(in, arg), type_str(in->s, in->type[arg]));
}

bool infer_want_rank(Infer *in, size_t arg, int least, int most) {
    if (!want_tensor_input(in, arg)) return false;
    int n = in->type[arg]->ndim;
    if (n >= least && (most < 0 || n <= most)) return true;
    const char *name = infer_arg_name(in, arg);
    if (least == most)
        return infer_fail(in, E_SHAPE, arg, "%s must have %d dim%s, not %d", name,
                          least, least == 1 ? "" : "s", n);
    if (most < 0)
        return infer_fail(in, E_SHAPE, arg, "%s must have at least %d dim%s, not %d",
                          name, least, least == 1 ? "" : "s", n);
    return infer_fail(in, E_SHAPE, arg, "%s must have %d to %d dims, not %d", name,
                      least, most, n);
}

bool infer_want_castable(Infer *in, size_t arg, DType to) {
    DType from = in->type[arg]->dtype;
    if (!dtype_is_complex(from) || dtype_is_complex(to) || to == DT_BOOL) return true;
    return infer_fail(
        in, E_DTYPE, arg,
        "%s from %s to %s would drop the imaginary part: write real(x) or "
        "abs(x)",
        in->op->name, dtype_name(from), dtype_name(to));
}

/* "bool, integers or float" */
static void kinds_text(unsigned kinds, Str *b) {
    static const struct {
        unsigned kinds;
        const char *text;
    } words[] = {{KIND_BOOL, "bool"},
                 {KIND_INT, "integers"},
                 {1U << K_INT, "signed integers"},
                 {1U << K_UINT, "unsigned integers"},
                 {KIND_FLOAT, "float"},
                 {KIND_COMPLEX, "complex"}};
    bool first = true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if ((kinds & words[i].kinds) != words[i].kinds) continue;
        kinds &= ~words[i].kinds;
        str_printf(b, "%s%s", first ? "" : kinds ? ", " : " or ", words[i].text);
        first = false;
    }
}

bool infer_want_kinds(Infer *in, size_t arg, unsigned kinds) {
    if (in->type[arg]->kind != TYPE_SPARSE && !want_tensor_input(in, arg)) return false;
    DType d = in->type[arg]->dtype;
    if (kinds >> dtype_kind(d) & 1U) return true;
    Str b = STR(in->s);
    kinds_text(kinds, &b);
    infer_fail(in, E_DTYPE, arg, "%s takes %s, not %s", in->op->name, str_text(&b),
               dtype_name(d));
    str_free(&b);
    return false;
}

bool infer_want_same_dtype(Infer *in) {
    size_t first = in->nin;
    for (size_t i = 0; i < in->nin; i++) {
        if (in->type[i]->kind != TYPE_TENSOR) continue;
        if (first == in->nin) first = i;
        if (in->type[i]->dtype != in->type[first]->dtype)
            return infer_fail(
                in, E_DTYPE, i, "%s is %s but %s is %s: they must have the same dtype",
                infer_arg_name(in, first), dtype_name(in->type[first]->dtype),
                infer_arg_name(in, i), dtype_name(in->type[i]->dtype));
    }
    return true;
}

bool infer_want_dims_equal(Infer *in, size_t a, int axis_a, size_t b, int axis_b,
                           Dim *meet) {
    Dim x = infer_in_dim(in, a, axis_a), y = infer_in_dim(in, b, axis_b);
    if (meet) *meet = dim_meet(x, y);
    if (dim_may_equal(x, y)) return true;
    return infer_fail(
        in, E_SHAPE, in->nin,
        "%s is %s and %s is %s: axis %d has %lld, axis %d has %lld, and they must be "
        "equal",
        infer_arg_name(in, a), type_str(in->s, in->type[a]), infer_arg_name(in, b),
        type_str(in->s, in->type[b]), axis_a, (long long)x, axis_b, (long long)y);
}

bool infer_out_tensor(Infer *in, size_t i, DType d, int ndim, const Dim *dim) {
    in->out[i] = type_tensor(in->s, d, ndim, dim);
    return true;
}

/* ---- the rule of elementwise ops ---- */

/* The axis (negative, from the right) at which two shapes can't broadcast; 0: they
 * can. */
static int broadcast_clash(const Type *a, const Type *b) {
    for (int k = 1; k <= a->ndim && k <= b->ndim; k++) {
        Dim x = a->dim[a->ndim - k], y = b->dim[b->ndim - k];
        if (!dim_may_equal(x, y) && x != 1 && y != 1) return -k;
    }
    return 0;
}

static bool fail_broadcast(Infer *in, size_t i) {
    for (size_t j = 0; j < i; j++) {
        const Type *a = in->type[j], *b = in->type[i];
        int axis = broadcast_clash(a, b);
        if (axis == 0) continue;
        return infer_fail(
            in, E_SHAPE, in->nin, "%s is %s and %s is %s: axis %d has %lld and %lld",
            infer_arg_name(in, j), type_str(in->s, a), infer_arg_name(in, i),
            type_str(in->s, b), axis, (long long)a->dim[a->ndim + axis],
            (long long)b->dim[b->ndim + axis]);
    }
    return infer_fail(in, E_SHAPE, i,
                      "the shape of %s does not broadcast with the others",
                      infer_arg_name(in, i));
}

static DType elemwise_out_dtype(Infer *in) {
    DType d = in->type[in->nin - 1]->dtype;
    switch (in->op->out_dtype) {
    case OUT_SAME:
        return d;
    case OUT_BOOL:
        return DT_BOOL;
    case OUT_REAL:
        return dtype_real(d);
    case OUT_INT64:
        return DT_INT64;
    case OUT_PROP:
        break;
    }
    const Prop *p = infer_prop(in, "dtype");
    return p->kind == P_DTYPE ? (DType)p->i : d;
}

bool infer_same_type(Infer *in) {
    in->out[0] = in->type[0];
    return true;
}

bool type_elemwise(Infer *in) {
    Dim dim[MAX_NDIM];
    int ndim = 0;
    if (in->nin == 0) bug("%s has no typing rule", in->op->name);
    for (size_t i = 0; i < in->nin; i++) {
        const Type *t = in->type[i];
        if (!want_tensor_input(in, i)) return false;
        ndim = shape_broadcast(ndim, dim, t->ndim, t->dim, dim);
        if (ndim < 0) return fail_broadcast(in, i);
    }
    DType d = elemwise_out_dtype(in);
    for (size_t i = 0; i < in->nout; i++)
        infer_out_tensor(in, i, d, ndim, dim);
    return true;
}

/* ---- props ---- */

const Prop *infer_prop(const Infer *in, const char *name) {
    return op_prop(in->s, in->op, in->props, name);
}

/* Replaces prop i of the new Apply: axes have one canonical form, so that sum(x,
 * axis=-1) and sum(x, axis=1) are equal. */
static void replace_prop(Infer *in, size_t i, Prop value) {
    Prop *p = mem_alloc(in->s, in->props->n * sizeof *p);
    memcpy(p, in->props->p, in->props->n * sizeof *p);
    p[i] = value;
    in->props = props_intern(in->s, in->props->n, p);
    mem_free(p);
}

bool infer_axis(Infer *in, int64_t axis, int ndim, int *out) {
    if (axis < -ndim || axis >= ndim)
        return infer_fail(in, E_VALUE, in->nin,
                          "axis %lld is out of range for %d dim%s", (long long)axis,
                          ndim, ndim == 1 ? "" : "s");
    *out = (int)(axis < 0 ? axis + ndim : axis);
    const Signature *sig = in->sig;
    for (size_t i = 0; axis < 0 && i < sig->nprop; i++) {
        const Prop *p = &in->props->p[i];
        if (sig->prop[i].type != T_AXIS || p->kind != P_INT || p->i != axis) continue;
        replace_prop(in, i, PROP_INT(*out));
        break;
    }
    return true;
}

static bool mark_axis(Infer *in, int64_t axis, int ndim, bool flag[MAX_NDIM]) {
    if (axis < -ndim || axis >= ndim)
        return infer_fail(in, E_VALUE, in->nin,
                          "axis %lld is out of range for %d dim%s", (long long)axis,
                          ndim, ndim == 1 ? "" : "s");
    bool *f = &flag[axis < 0 ? axis + ndim : axis];
    if (*f)
        return infer_fail(in, E_VALUE, in->nin, "axis %lld is given twice",
                          (long long)axis);
    return *f = true;
}

/* If `axes` is one of the Apply's props, makes it sorted and non-negative. */
static void settle_axes(Infer *in, const Prop *axes, int ndim, const bool *flag) {
    int64_t list[MAX_NDIM];
    size_t n = 0;
    for (int k = 0; k < ndim; k++)
        if (flag[k]) list[n++] = k;
    for (size_t i = 0; i < in->props->n; i++)
        if (&in->props->p[i] == axes && in->sig->prop[i].type == T_AXES) {
            replace_prop(in, i, PROP_INTS(list, n));
            return;
        }
}

bool infer_axes(Infer *in, const Prop *axes, int ndim, bool flag[MAX_NDIM]) {
    memset(flag, axes->kind == P_NONE, MAX_NDIM * sizeof *flag);
    if (axes->kind == P_NONE) return true;
    if (axes->kind == P_INT) return mark_axis(in, axes->i, ndim, flag);
    for (size_t k = 0; k < axes->ints.n; k++)
        if (!mark_axis(in, axes->ints.p[k], ndim, flag)) return false;
    settle_axes(in, axes, ndim, flag);
    return true;
}

void infer_settle_prop(Infer *in, const char *name, Prop value) {
    for (size_t i = 0; i < in->props->n; i++)
        if (&in->props->p[i] == infer_prop(in, name)) {
            replace_prop(in, i, value);
            return;
        }
}
