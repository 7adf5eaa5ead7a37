/* The typing rule of ops that state exact types, "float64[n, m], double". An input must
 * have its type or a narrower one; names of dims are bound to the inputs' dims, and may
 * be used in the types of the outputs. Literal numbers become constants of the type. */
#include "op/infer.h"
#include "op/op_impl.h"
#include "value/class.h"

#include <string.h>

typedef struct ItypesCheck {
    Infer *in;
    Map dim; /* name -> its dim */
    Arena *tmp;
    size_t misfits;
} ItypesCheck;

/* Parses a list of types, which was checked when the op was added. */
static size_t parse_type_list(ItypesCheck *w, const char *list, const Type ***out) {
    char **part;
    size_t n = str_split(w->tmp, list, ',', &part);
    *out = NEW_N(w->tmp, n + 1, const Type *);
    for (size_t i = 0; i < n; i++)
        if (!((*out)[i] = type_parse(w->in->s, part[i], strlen(part[i]), w->in->at)))
            return SIZE_MAX;
    return n;
}

/* The first misfit is the error, the others are notes. */
static bool fail_misfit(ItypesCheck *w, size_t i, const Type *want) {
    Infer *in = w->in;
    const char *name = infer_arg_name(in, i), *expected = type_str(in->s, want),
               *got = type_str(in->s, in->type[i]);
    if (!w->misfits++)
        return infer_fail(in, E_TYPE, in->nin,
                          "input %zu/%zu (%s): expected %s, got %s", i + 1, in->nin,
                          name, expected, got);
    return note(in->s, NOWHERE, "input %zu/%zu (%s): expected %s, got %s", i + 1,
                in->nin, name, expected, got);
}

static bool bind_dim_name(ItypesCheck *w, Dim name, Dim have) {
    uint64_t old;
    if (!map_get(&w->dim, dim_sym(name), &old)) {
        map_put(&w->dim, dim_sym(name), (uint64_t)have);
        return true;
    }
    if (!dim_may_equal((Dim)old, have)) return false;
    map_put(&w->dim, dim_sym(name), (uint64_t)dim_meet((Dim)old, have));
    return true;
}

static bool bind_input_dims(ItypesCheck *w, size_t i, const Type *want) {
    Infer *in = w->in;
    if (!type_is_super(want, in->type[i]) && infer_is_literal(in, i) &&
        !infer_wrap(in, i, want))
        return false;
    const Type *have = in->type[i];
    if (!type_is_super(want, have)) return fail_misfit(w, i, want);
    for (int d = 0; want->kind == TYPE_TENSOR && d < want->ndim; d++)
        if (dim_is_named(want->dim[d]) && !bind_dim_name(w, want->dim[d], have->dim[d]))
            return fail_misfit(w, i, want);
    return true;
}

static const Type *substitute_dims(ItypesCheck *w, const Type *t) {
    Dim dim[MAX_NDIM];
    if (t->kind != TYPE_TENSOR) return t;
    for (int d = 0; d < t->ndim; d++) {
        uint64_t have;
        dim[d] = t->dim[d];
        if (dim_is_named(dim[d]))
            dim[d] = map_get(&w->dim, dim_sym(dim[d]), &have) ? (Dim)have : DIM_UNKNOWN;
    }
    return type_tensor(w->in->s, t->dtype, t->ndim, dim);
}

static bool check_itypes(ItypesCheck *w) {
    Infer *in = w->in;
    const Type **want, **made;
    size_t nin = parse_type_list(w, op_rare(in->op)->itypes, &want);
    size_t nout = parse_type_list(w, op_rare(in->op)->otypes, &made);
    if (nin == SIZE_MAX || nout == SIZE_MAX) return false;
    if (nin != in->nin)
        return infer_fail(in, E_ARITY, in->nin, "expected %zu input%s but got %zu", nin,
                          nin == 1 ? "" : "s", in->nin);
    for (size_t i = 0; i < nin; i++)
        if (!bind_input_dims(w, i, want[i]) && !w->misfits) return false;
    if (w->misfits) return false;
    if (nout != in->nout)
        return infer_fail(in, E_ARITY, in->nin,
                          "otypes lists %zu types, but the op has %zu outputs", nout,
                          in->nout);
    for (size_t k = 0; k < nout; k++)
        in->out[k] = substitute_dims(w, made[k]);
    return true;
}

bool type_by_itypes(Infer *in) {
    ItypesCheck w = {in, MAP(in->s), arena_new(in->s), 0};
    bool ok = check_itypes(&w);
    map_free(&w.dim);
    arena_free(w.tmp);
    return ok;
}

const Type *type_of_list(Session *s, const char *types, size_t i) {
    Arena *tmp = arena_new(s);
    char **part;
    size_t n = types ? str_split(tmp, types, ',', &part) : 0;
    const Type *t = i < n ? type_parse(s, part[i], strlen(part[i]), NOWHERE) : NULL;
    arena_free(tmp);
    return t && t->kind == TYPE_TENSOR ? t : NULL;
}

DType itypes_dtype(Session *s, const Op *op, size_t i) {
    const Type *t = type_of_list(s, op_rare(op)->itypes, i);
    return t ? t->dtype : DT_NONE;
}

/* ---- literals: numbers, lists of numbers, texts ---- */

/* A quoted text is an input only until it is wrapped. Its type is named after the text
 * and has no values. */
static bool reject_text_value(Session *s, const Type *t, const Value *v,
                              const Receiver *to, Value *out) {
    (void)v, (void)out;
    return fail(s, to->at, E_TYPE, "%s: the text %s can't be a value", to->what,
                type_str(s, t));
}
static const TypeClass class_text = {.name = "text",
                                     .a_value = "a text",
                                     .filter = reject_text_value,
                                     .no_values = true};

bool type_is_text(const Type *t) {
    return t->kind == TYPE_PLUGIN && t->cls == &class_text;
}

Var text_literal(Graph *g, const char *text) {
    Value none = {.kind = TYPE_NONE};
    Str name = STR(g->s);
    str_printf(&name, "'%s'", text);
    const Type *t = type_plugin(g->s, str_text(&name), &class_text);
    str_free(&name);
    return graph_const_value(g, t, &none);
}

bool infer_is_literal(const Infer *in, size_t i) {
    const Graph *g = infer_graph(in);
    if (!in->make || !var_is_const(g, in->in[i]) || var_name(g, in->in[i]))
        return false;
    bool tensor = in->type[i]->kind == TYPE_TENSOR;
    return type_is_text(in->type[i]) || (tensor && !leaf_ref(g, in->in[i]));
}

/* A number takes the dtype of the type it meets unless its own kind is higher. */
static bool is_weaker(const Type *have, const Type *want) {
    return want->kind == TYPE_TENSOR && have->kind == TYPE_TENSOR &&
           dtype_weak(want->dtype, dtype_kind(have->dtype), DT_FLOAT64) == want->dtype;
}

static bool wrap_text(Infer *in, size_t i, const Type *t, const Receiver *to,
                      Value *out) {
    const char *quoted = in->type[i]->why;
    const TypeClass *cls = type_class(t);
    if (!cls->from_text)
        return fail(in->s, in->at, E_TYPE,
                    "a value of type %s can't be made from a text", type_str(in->s, t));
    const char *text = arena_str(session_arena(in->s), quoted + 1, strlen(quoted) - 2);
    return cls->from_text(in->s, t, text, to, out);
}

bool infer_wrap(Infer *in, size_t i, const Type *t) {
    if (!infer_is_literal(in, i))
        return infer_fail(in, E_TYPE, i, "%s is not a literal number, list or text",
                          infer_arg_name(in, i));
    MakeNode *m = in->make;
    if (is_weaker(in->type[i], t)) {
        m->var[i] = op_cast_to(m->b, m->var[i], t->dtype);
    } else {
        Value v;
        const Value *old = var_leafrec(infer_graph(in), in->in[i])->value;
        Receiver to = {FILTER_DEFAULT, infer_arg_name(in, i), in->at};
        bool ok = type_is_text(in->type[i]) ? wrap_text(in, i, t, &to, &v)
                                            : value_filter(in->s, t, old, &to, &v);
        if (!ok) {
            infer_note_call(in, NOWHERE);
            return false;
        }
        m->var[i] = graph_const_value(m->b->g, t, &v);
        value_unref(&v);
    }
    m->type[i] = var_type(m->b->g, m->var[i]);
    return true;
}

bool infer_no_texts(Infer *in) {
    for (size_t i = 0; i < in->nin; i++)
        if (type_is_text(in->type[i]))
            return infer_fail(in, E_TYPE, i, "%s takes no text for %s, but got %s",
                              in->op->name, infer_arg_name(in, i),
                              type_str(in->s, in->type[i]));
    return true;
}
