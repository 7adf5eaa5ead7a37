/* The first half of make_node: brings inputs to what the op's row demands, by inserting
 * casts and conversions, or by value if they are constants. */
#include "op/infer.h"
#include "op/op_impl.h"

#include <string.h>

void make_node_open(MakeNode *m, Session *s, const Graph *g, const Op *op, size_t nin,
                    const Var *in) {
    const Signature *sig = op_signature(s, op);
    size_t room = nin + sig->nin;
    m->var = room <= 8 ? m->small_var : mem_alloc(s, room * sizeof *m->var);
    m->type = room <= 8 ? m->small_type : mem_alloc(s, room * sizeof *m->type);
    m->b = NULL;
    m->looked = false;
    for (size_t i = 0; i < nin; i++) {
        m->var[i] = in[i];
        m->type[i] = var_type(g, in[i]);
    }
    m->in = (Infer){.s = s,
                    .graph = g,
                    .op = op,
                    .sig = sig,
                    .nin = nin,
                    .in = m->var,
                    .type = m->type,
                    .looked = &m->looked};
}

void make_node_close(MakeNode *m) {
    if (m->var != m->small_var) mem_free(m->var);
    if (m->type != m->small_type) mem_free(m->type);
}

bool infer_check_arity(Infer *in, size_t least) {
    const Signature *sig = in->sig;
    bool rest = sig->nrest > 0;
    if (in->nin >= least && (rest || in->nin <= sig->nin) && in->nin <= UINT16_MAX) {
        if (sig->nrest < 2 || (in->nin - signature_fixed(sig)) % sig->nrest == 0)
            return true;
        return infer_fail(in, E_ARITY, in->nin, "%zu values are not %zu equal lists",
                          in->nin - signature_fixed(sig), sig->nrest);
    }
    if (rest || least == sig->nin)
        return infer_fail(in, E_ARITY, in->nin, "%s takes %zu%s argument%s, not %zu",
                          in->op->name, least, rest ? " or more" : "",
                          least == 1 && !rest ? "" : "s", in->nin);
    return infer_fail(in, E_ARITY, in->nin, "%s takes %zu to %zu arguments, not %zu",
                      in->op->name, least, sig->nin, in->nin);
}

static ParamKind param_kind_at(const Infer *in, size_t i) {
    ParamKind k = signature_param(in->sig, i)->kind;
    return k == IN_TENSOR && op_rare(in->op)->itypes ? IN_ANY
                                                     : k; /* the itypes decide */
}

static bool put_node_input(Builder *b, MakeNode *m, size_t i, Var v) {
    if (v == VAR_NONE) return false;
    m->var[i] = v;
    m->type[i] = var_type(b->g, v);
    return true;
}

/* ---- promotion ---- */

/* The first input of `where`: any dtype will do, nonzero is true. */
static bool is_condition(const Infer *in, size_t i) {
    return in->op->promote == PROMOTE_TAIL && i == 0;
}

static bool takes_part_in_promote(const Infer *in, size_t i) {
    if (in->op->promote == PROMOTE_NONE || is_condition(in, i)) return false;
    return param_has_dtype(param_kind_at(in, i));
}

/* DT_NONE: no input takes part. */
static DType common_dtype(const Infer *in) {
    DType d = DT_NONE;
    for (size_t i = 0; i < in->nin; i++) {
        if (!takes_part_in_promote(in, i)) continue;
        DType x = in->type[i]->dtype;
        d = d == DT_NONE ? x : dtype_promote(d, x);
    }
    if (d != DT_NONE && in->op->promote == PROMOTE_INEXACT)
        d = dtype_inexact(d, in->floatX);
    return d;
}

static bool param_kind_fits(ParamKind k, TypeKind have) {
    switch (k) {
    case IN_TENSOR:
    case IN_INTS:
    case IN_INT:
    case IN_BOOL:
        return have == TYPE_TENSOR;
    case IN_SPARSE:
        return have == TYPE_SPARSE;
    case IN_ARRAY:
        return have == TYPE_TENSOR || have == TYPE_SPARSE;
    case IN_LIST:
        return have == TYPE_LIST;
    case IN_ANY:
    case IN_ITEM:
        break;
    }
    return true;
}

static bool check_type_kinds(Infer *in) {
    static const char *const want[] = {[IN_TENSOR] = "a tensor",
                                       [IN_INTS] = "a tensor",
                                       [IN_INT] = "a tensor",
                                       [IN_BOOL] = "a tensor",
                                       [IN_ANY] = "anything",
                                       [IN_SPARSE] = "a sparse matrix",
                                       [IN_ARRAY] = "a tensor or a sparse matrix",
                                       [IN_LIST] = "a list",
                                       [IN_ITEM] = "anything"};
    for (size_t i = 0; i < in->nin; i++) {
        const Type *t = in->type[i];
        if (param_kind_fits(param_kind_at(in, i), t->kind)) continue;
        infer_fail(in, E_TYPE, i, "%s takes %s for %s, not %s", in->op->name,
                   want[param_kind_at(in, i)], infer_arg_name(in, i),
                   type_str(in->s, t));
        if (t->kind == TYPE_SLICE)
            note(in->s, NOWHERE, "the positions of slice(1, 3) are arange(1, 3)");
        return false;
    }
    return true;
}

bool infer_check_kinds(Infer *in) {
    unsigned kinds = in->op->kinds ? in->op->kinds : KIND_ANY;
    for (size_t i = 0; i < in->nin; i++) {
        bool asked = param_has_dtype(param_kind_at(in, i)) && !is_condition(in, i);
        if (asked && !infer_want_kinds(in, i, kinds)) return false;
    }
    return true;
}

/* ---- defaults ---- */

typedef struct ParamDefault {
    DKind kind;
    double v;
    bool none; /* an empty vector */
} ParamDefault;

static ParamDefault read_default(const Infer *in, const Param *p) {
    const char *text = p->value;
    double sign = *text == '-' ? -1 : 1, v;
    if (strcmp(text, "[]") == 0) return (ParamDefault){K_BOOL, 0, true};
    if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0)
        return (ParamDefault){K_BOOL, *text == 'T', false};
    if (strcmp(text, "pi") == 0)
        return (ParamDefault){K_FLOAT, 3.14159265358979323846, false};
    text += *text == '-';
    size_t n = num_read_float(text, strlen(text), FLOAT64, &v);
    if (n == 0 || text[n])
        bug("the row of op %s: default \"%s\"", in->op->name, p->value);
    return (ParamDefault){strpbrk(text, ".einf") ? K_FLOAT : K_INT, sign * v, false};
}

static DType default_dtype(const Infer *in, const Param *p, ParamDefault d,
                           DType common) {
    if (p->kind == IN_INT || p->kind == IN_INTS) return DT_INT64;
    if (p->kind == IN_BOOL) return DT_BOOL;
    if (common == DT_NONE && in->nin > 0 && in->type[0]->kind == TYPE_TENSOR)
        common = in->type[0]->dtype;
    if (common != DT_NONE) return dtype_weak(common, d.kind, in->floatX);
    return d.kind == K_BOOL ? DT_BOOL : d.kind == K_INT ? DT_INT64 : in->floatX;
}

/* Adds the defaults of inputs that were left out. */
static bool add_defaults(Builder *b, MakeNode *m, DType common) {
    const Signature *sig = m->in.sig;
    while (m->in.nin < sig->nin && sig->in[m->in.nin].value) {
        const Param *p = &sig->in[m->in.nin];
        ParamDefault d = read_default(&m->in, p);
        Var v = d.none ? const_ints(b, 0, NULL)
                       : const_number(b, default_dtype(&m->in, p, d, common), d.v);
        if (d.none) v = op_cast_to(b, v, DT_BOOL);
        if (!put_node_input(b, m, m->in.nin, v)) return false;
        m->in.nin++;
    }
    return true;
}

/* ---- integers and truth values ---- */

static bool want_integer_input(Infer *in, size_t i) {
    const Type *t = in->type[i];
    if (dtype_is_integer(t->dtype) || type_size(t) == 0) return true;
    return infer_fail(in, E_DTYPE, i, "%s takes integers for %s, not %s", in->op->name,
                      infer_arg_name(in, i), dtype_name(t->dtype));
}

static bool want_scalar_input(Infer *in, size_t i) {
    const Type *t = in->type[i];
    return t->ndim == 0 ||
           infer_fail(in, E_SHAPE, i, "%s takes a scalar for %s, not %s", in->op->name,
                      infer_arg_name(in, i), type_str(in->s, t));
}

static bool coerce_ints(Builder *b, MakeNode *m, size_t i) {
    const Type *t = m->type[i];
    if (t->ndim > 1)
        return infer_fail(&m->in, E_SHAPE, i,
                          "%s takes a list of integers for %s, not %s", m->in.op->name,
                          infer_arg_name(&m->in, i), type_str(b->s, t));
    if (!want_integer_input(&m->in, i) ||
        !put_node_input(b, m, i, op_cast_to_index(b, m->var[i])))
        return false;
    if (t->ndim == 1) return true;
    const Tensor *c = var_const(b->g, m->var[i]);
    int64_t v = c ? tensor_i64(c, 0) : 0;
    return put_node_input(b, m, i,
                          c ? const_ints(b, 1, &v) : op_call1(b, "stack", m->var[i]));
}

static bool coerce_int(Builder *b, MakeNode *m, size_t i) {
    return want_scalar_input(&m->in, i) && want_integer_input(&m->in, i) &&
           put_node_input(b, m, i, op_cast_to_index(b, m->var[i]));
}

static bool coerce_bool(Builder *b, MakeNode *m, size_t i) {
    if (!want_scalar_input(&m->in, i)) return false;
    if (!dtype_is_discrete(m->type[i]->dtype))
        return infer_fail(&m->in, E_DTYPE, i, "%s takes a bool for %s, not %s",
                          m->in.op->name, infer_arg_name(&m->in, i),
                          dtype_name(m->type[i]->dtype));
    return put_node_input(b, m, i, op_cast_to(b, m->var[i], DT_BOOL));
}

static bool coerce_input(Builder *b, MakeNode *m, size_t i, DType common) {
    switch (param_kind_at(&m->in, i)) {
    case IN_INTS:
        return coerce_ints(b, m, i);
    case IN_INT:
        return coerce_int(b, m, i);
    case IN_BOOL:
        return coerce_bool(b, m, i);
    case IN_TENSOR:
    case IN_SPARSE:
    case IN_ARRAY:
        if (is_condition(&m->in, i))
            common = DT_BOOL;
        else if (!takes_part_in_promote(&m->in, i))
            return true;
        return put_node_input(b, m, i, op_cast_to(b, m->var[i], common));
    case IN_ANY:
    case IN_ITEM:
    case IN_LIST:
        break;
    }
    return true;
}

/* Checked before any casts are added: would the op take inputs of the common dtype? */
static bool check_common_dtype(Infer *in, DType common) {
    if (common == DT_NONE || !in->op->kinds || in->op->kinds >> dtype_kind(common) & 1U)
        return true;
    for (size_t i = 0; i < in->nin; i++)
        if (takes_part_in_promote(in, i) && !infer_want_kinds(in, i, in->op->kinds))
            return false;
    return true;
}

bool coerce_inputs(Builder *b, MakeNode *m) {
    if (!check_type_kinds(&m->in)) return false;
    DType common = common_dtype(&m->in);
    if (!check_common_dtype(&m->in, common) || !add_defaults(b, m, common))
        return false;
    common = common_dtype(&m->in);
    for (size_t i = 0; i < m->in.nin; i++)
        if (!coerce_input(b, m, i, common)) return false;
    return infer_check_kinds(&m->in);
}

/* ---- checks of coerced inputs ---- */

static bool check_coerced_input(Infer *in, size_t i, DType common) {
    const Type *t = in->type[i];
    bool ok = true;
    switch (param_kind_at(in, i)) {
    case IN_INTS:
        ok = t->dtype == DT_INT64 && t->ndim == 1;
        break;
    case IN_INT:
        ok = t->dtype == DT_INT64 && t->ndim == 0;
        break;
    case IN_BOOL:
        ok = t->dtype == DT_BOOL && t->ndim == 0;
        break;
    case IN_TENSOR:
    case IN_SPARSE:
    case IN_ARRAY:
        ok = is_condition(in, i) ? t->dtype == DT_BOOL
                                 : !takes_part_in_promote(in, i) || t->dtype == common;
        break;
    case IN_ANY:
    case IN_ITEM:
    case IN_LIST:
        break;
    }
    return ok || infer_fail(in, E_TYPE, i, "%s does not take %s for %s", in->op->name,
                            type_str(in->s, t), infer_arg_name(in, i));
}

bool infer_check_inputs(Infer *in) {
    if (!check_type_kinds(in)) return false;
    DType common = common_dtype(in);
    for (size_t i = 0; i < in->nin; i++)
        if (!check_coerced_input(in, i, common)) return false;
    return infer_check_kinds(in);
}
