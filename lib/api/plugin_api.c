/* The functions offered to plugins, thin wrappers of the library's own. The public
 * header's handles are the library's own objects under other names. */
#include "api/plugin_impl.h"

#include <string.h>

_Static_assert((int)TL_NDIM == (int)MAX_NDIM, "the public rank is the library's");
_Static_assert((int)TL_COMPLEX128 == (int)DT_COMPLEX128 &&
                   (int)TL_FLOAT16 == (int)DT_FLOAT16,
               "the public dtypes are the library's");

static const Type *type_in(const TlType *t) {
    return (const Type *)(const void *)t;
}
static const TlType *type_out(const Type *t) {
    return (const TlType *)(const void *)t;
}
static const Value *value_in(const TlValue *v) {
    return (const Value *)(const void *)v;
}

/* ---- errors ---- */

static DiagCode code_of(const TlHost *h, TlError e) {
    static const DiagCode typing[] = {
        [TL_WRONG_TYPE] = E_TYPE,   [TL_WRONG_DTYPE] = E_DTYPE,
        [TL_WRONG_SHAPE] = E_SHAPE, [TL_WRONG_VALUE] = E_VALUE,
        [TL_WRONG_INDEX] = E_VALUE, [TL_WRONG_COUNT] = E_ARITY};
    static const DiagCode running[] = {
        [TL_WRONG_TYPE] = E_RUN,        [TL_WRONG_DTYPE] = E_RUN,
        [TL_WRONG_SHAPE] = E_RUN_SHAPE, [TL_WRONG_VALUE] = E_RUN,
        [TL_WRONG_INDEX] = E_INDEX,     [TL_WRONG_COUNT] = E_RUN};
    if (e < TL_WRONG_TYPE || e >= TL_FAILED || h->plugin) return h->other;
    return h->call ? running[e] : typing[e];
}

static bool api_fail(TlHost *h, TlError e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static bool api_fail(TlHost *h, TlError e, const char *fmt, ...) {
    Str b = STR(h->s);
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&b, fmt, ap);
    va_end(ap);
    DiagCode code = code_of(h, e);
    if (diag_count(h->s) > h->mark)
        note(h->s, NOWHERE, "%s", str_text(&b));
    else if (h->infer)
        infer_fail(h->infer, code, h->infer->nin, "%s", str_text(&b));
    else if (h->call)
        call_fail(h->call, code, "%s", str_text(&b));
    else
        fail(h->s, h->at, code, "%s: %s", h->what, str_text(&b));
    str_free(&b);
    return false;
}

/* ---- types ---- */

static const TlType *api_type(TlHost *h, const char *text) {
    return type_out(type_parse(h->s, text, strlen(text), h->at));
}

static const char *api_type_text(TlHost *h, const TlType *t) {
    return type_str(h->s, type_in(t));
}

static bool api_tensor_type(const TlType *t, TlDType *d, int *ndim,
                            const int64_t **dim) {
    const Type *own = type_in(t);
    if (own->kind != TYPE_TENSOR) return false;
    if (d) *d = (TlDType)own->dtype;
    if (ndim) *ndim = own->ndim;
    if (dim) *dim = own->dim;
    return true;
}

static const TlType *api_make_tensor(TlHost *h, TlDType d, int ndim,
                                     const int64_t *dim) {
    if ((int)d >= 0 && (int)d < DT_N && ndim >= 0 && ndim <= MAX_NDIM)
        return type_out(type_tensor(h->s, (DType)d, ndim, dim));
    return api_fail(h, TL_FAILED, "there is no tensor of dtype %d with %d dims", (int)d,
                    ndim),
           NULL;
}

static bool api_type_is(const TlType *t, const TlTypeDef *def) {
    return t && plugin_type_is(type_in(t), def);
}
static size_t api_type_params(const TlType *t, const TlParam **param) {
    return plugin_type_params(type_in(t), param);
}

/* ---- props ---- */

/* NULL: diagnosed, there is no such prop. */
static const Prop *plugin_prop(TlHost *h, const char *name) {
    const Signature *sig = h->op ? op_signature(h->s, h->op) : NULL;
    size_t i = sig ? prop_place(sig, name) : 0;
    if (sig && i < sig->nprop) return &h->props->p[i];
    return api_fail(h, TL_FAILED,
                    "the plugin asks for the prop %s, which the op does not have",
                    name),
           NULL;
}

static bool api_prop_bool(TlHost *h, const char *name) {
    const Prop *p = plugin_prop(h, name);
    return p && p->kind == P_BOOL && p->i != 0;
}
static int64_t api_prop_int(TlHost *h, const char *name) {
    const Prop *p = plugin_prop(h, name);
    return p && p->kind == P_INT ? p->i : 0;
}
static double api_prop_float(TlHost *h, const char *name) {
    const Prop *p = plugin_prop(h, name);
    return p && p->kind == P_FLOAT ? p->f : 0;
}
static const char *api_prop_str(TlHost *h, const char *name) {
    const Prop *p = plugin_prop(h, name);
    return p && p->kind == P_STR ? sym_text(h->s, p->sym) : "";
}
static TlDType api_prop_dtype(TlHost *h, const char *name) {
    const Prop *p = plugin_prop(h, name);
    return p && p->kind == P_DTYPE ? (TlDType)p->i : TL_FLOAT64;
}
static size_t api_prop_ints(TlHost *h, const char *name, const int64_t **v) {
    const Prop *p = plugin_prop(h, name);
    bool list = p && p->kind == P_INTS;
    *v = list ? p->ints.p : NULL;
    return list ? p->ints.n : 0;
}
static bool api_prop_is_none(TlHost *h, const char *name) {
    const Prop *p = plugin_prop(h, name);
    return p && p->kind == P_NONE;
}

/* ---- make_node ---- */

static bool api_is_literal(TlNode *n, size_t i) {
    return i < n->nin && infer_is_literal(n->host->infer, i);
}

static bool api_wrap(TlNode *n, size_t i, const TlType *t) {
    if (i < n->nin && t) return infer_wrap(n->host->infer, i, type_in(t));
    return api_fail(n->host, TL_FAILED, "there is no input %zu to turn into a constant",
                    i);
}

/* ---- values ---- */

static const TlType *api_value_type(TlHost *h, const TlValue *v) {
    return type_out(value_type(h->s, value_in(v)));
}

void tensor_to_plugin(const Tensor *t, TlTensor *out) {
    out->dtype = (TlDType)t->dtype;
    out->ndim = t->ndim;
    out->data = t->data;
    for (int i = 0; i < t->ndim; i++) {
        out->shape[i] = t->shape[i];
        out->stride[i] = t->stride[i];
    }
}

static bool api_tensor(const TlValue *v, TlTensor *t) {
    const Value *own = value_in(v);
    if (own->kind != TYPE_TENSOR || !own->t.data) return false;
    tensor_to_plugin(&own->t, t);
    return true;
}

static bool api_to_double(const TlValue *v, double *x, bool *exact) {
    const Value *own = value_in(v);
    if (own->kind != TYPE_TENSOR || own->t.ndim != 0 || !own->t.data ||
        dtype_is_complex(own->t.dtype))
        return false;
    bool integer = dtype_is_discrete(own->t.dtype);
    *x = tensor_f64(&own->t, 0);
    *exact = true;
    if (integer && own->t.dtype == DT_UINT64)
        *exact = *x < 0x1p64 && (uint64_t)*x == *(const uint64_t *)own->t.data;
    else if (integer)
        *exact = *x < 0x1p63 && (int64_t)*x == tensor_i64(&own->t, 0);
    return true;
}

static const void *api_object(const TlValue *v, const TlTypeDef *def) {
    return plugin_object(value_in(v), def);
}

static const char *api_describe(TlHost *h, const TlValue *v) {
    Str b = STR(h->s);
    value_describe(h->s, value_in(v), &b);
    const char *text = sym_text(h->s, sym_n(h->s, str_text(&b), b.n));
    str_free(&b);
    return text;
}

/* ---- running ---- */

static bool no_such(TlHost *h, const char *what, size_t i) {
    return api_fail(h, TL_FAILED, "the plugin asks for %s %zu, which does not exist",
                    what, i);
}

static bool api_input(const TlCall *c, size_t i, TlTensor *t) {
    if (i >= c->nin) return no_such(c->host, "input", i);
    return api_tensor(c->in[i], t) ||
           api_fail(c->host, TL_FAILED,
                    "the plugin reads input %zu as a tensor, but it is %s", i,
                    api_describe(c->host, c->in[i]));
}

/* The strides of a contiguous array of that shape. */
static void set_packed_strides(Tensor *t) {
    int64_t step = (int64_t)dtype_size(t->dtype);
    for (int i = t->ndim; i-- > 0;) {
        t->stride[i] = step;
        step *= t->shape[i] ? t->shape[i] : 1;
    }
}

static bool api_contiguous(TlCall *c, size_t i, TlTensor *t) {
    if (!api_input(c, i, t)) return false;
    const Tensor *own = &value_in(c->in[i])->t;
    Tensor copy = *own;
    set_packed_strides(&copy);
    if (!tensor_is_contiguous(own)) {
        copy.data = call_scratch(c->host->call, tensor_bytes(own));
        if (!copy.data) return false;
        tensor_assign(&copy, own);
    }
    tensor_to_plugin(&copy, t);
    return true;
}

static const void *api_input_object(const TlCall *c, size_t i) {
    if (i >= c->nin) return no_such(c->host, "input", i), NULL;
    const void *p = plugin_object(value_in(c->in[i]), NULL);
    if (!p)
        api_fail(c->host, TL_FAILED,
                 "the plugin reads input %zu as a value of its own type, but it is %s",
                 i, api_describe(c->host, c->in[i]));
    return p;
}

static void *api_output_object(TlCall *c, size_t i) {
    if (i >= c->nout) return no_such(c->host, "output", i), NULL;
    void *p = plugin_output_object(c->host->call, i);
    if (!p)
        api_fail(c->host, TL_FAILED, "output %zu is %s, not a value of a plugin", i,
                 type_str(c->host->s, type_in(c->out_type[i])));
    return p;
}

static bool shape_fits(const Type *t, int ndim, const int64_t *shape) {
    bool ok = t->ndim == ndim;
    for (int i = 0; ok && i < ndim; i++)
        ok = shape[i] >= 0 && (!dim_is_known(t->dim[i]) || t->dim[i] == shape[i]);
    return ok;
}

/* The type of output i, which must be a tensor's; NULL: diagnosed. */
static const Type *tensor_output(TlCall *c, size_t i, int ndim, const int64_t *shape) {
    if (i >= c->nout) return no_such(c->host, "output", i), NULL;
    const Type *t = type_in(c->out_type[i]);
    if (t->kind != TYPE_TENSOR)
        return api_fail(c->host, TL_FAILED, "output %zu is %s, not a tensor", i,
                        type_str(c->host->s, t)),
               NULL;
    if (shape_fits(t, ndim, shape)) return t;
    Str b = STR(c->host->s);
    shape_text(c->host->s, ndim >= 0 && ndim <= MAX_NDIM ? ndim : 0, shape, &b);
    api_fail(c->host, TL_WRONG_SHAPE, "output %zu is declared %s, but the shape is %s",
             i, type_str(c->host->s, t), str_text(&b));
    str_free(&b);
    return NULL;
}

static bool api_output(TlCall *c, size_t i, int ndim, const int64_t *shape,
                       TlTensor *t) {
    if (!tensor_output(c, i, ndim, shape)) return false;
    const Tensor *own = call_out(c->host->call, i, ndim, shape);
    if (own) tensor_to_plugin(own, t);
    return own != NULL;
}

static bool api_kept(TlCall *c, size_t i, TlTensor *t) {
    const Value *old = i < c->nout ? &c->host->call->out[i] : NULL;
    if (!old || old->kind != TYPE_TENSOR || !old->t.data) return false;
    tensor_to_plugin(&old->t, t);
    return true;
}

static bool api_pass(TlCall *c, size_t i, size_t of) {
    if (of >= c->nin) return no_such(c->host, "input", of);
    if (i >= c->nout) return no_such(c->host, "output", i);
    const Value *v = value_in(c->in[of]);
    const Type *t = type_in(c->out_type[i]);
    bool tensor = v->kind == TYPE_TENSOR && t->kind == TYPE_TENSOR;
    if (v->kind != t->kind || (tensor && v->t.dtype != t->dtype))
        return api_fail(c->host, TL_FAILED,
                        "input %zu can't be used as output %zu, which is %s", of, i,
                        type_str(c->host->s, t));
    if (tensor)
        return tensor_output(c, i, v->t.ndim, v->t.shape) &&
               call_view(c->host->call, i, &v->t) != NULL;
    Value *out = &c->host->call->out[i];
    value_unref(out);
    value_copy_view(out, v);
    return true;
}

/* The byte range that a strided array touches, as offsets from its data. */
static bool byte_extent(const TlTensor *t, DType d, int64_t *lo, int64_t *hi) {
    *lo = 0;
    *hi = (int64_t)dtype_size(d);
    for (int i = 0; i < t->ndim; i++) {
        int64_t step;
        if (t->shape[i] == 0) return *lo = *hi = 0, true;
        if (!i64_mul(t->stride[i], t->shape[i] - 1, &step)) return false;
        if (__builtin_add_overflow(step < 0 ? *lo : *hi, step, step < 0 ? lo : hi))
            return false;
    }
    return true;
}

static bool part_lies_in(const TlTensor *part, const Tensor *whole) {
    TlTensor w;
    int64_t lo, hi, from, to;
    tensor_to_plugin(whole, &w);
    if (!byte_extent(part, whole->dtype, &lo, &hi) ||
        !byte_extent(&w, whole->dtype, &from, &to))
        return false;
    intptr_t p = (intptr_t)part->data, q = (intptr_t)whole->data;
    return lo == hi || (p + lo >= q + from && p + hi <= q + to);
}

static bool api_view(TlCall *c, size_t i, size_t of, const TlTensor *part) {
    if (of >= c->nin) return no_such(c->host, "input", of);
    const Type *t = tensor_output(c, i, part->ndim, part->shape);
    if (!t) return false;
    const Value *v = value_in(c->in[of]);
    if (v->kind != TYPE_TENSOR || v->t.dtype != t->dtype || !part_lies_in(part, &v->t))
        return api_fail(c->host, TL_FAILED, "output %zu is not a part of input %zu", i,
                        of);
    Tensor *own = call_view(c->host->call, i, &v->t);
    own->data = part->data;
    own->ndim = part->ndim;
    for (int k = 0; k < part->ndim; k++) {
        own->shape[k] = part->shape[k];
        own->stride[k] = part->stride[k];
    }
    return true;
}

static void *api_scratch(TlCall *c, size_t bytes) {
    return call_scratch(c->host->call, bytes);
}

/* ---- building ---- */

static TlVar said_why(TlHost *h, Var v, const char *what) {
    if (v == VAR_NONE) plugin_verdict(h, false, what);
    return v;
}

static TlVar api_text(TlHost *h, const char *text) {
    bool ok = false;
    const char *kept = sym_text(h->s, sym(h->s, text)); /* interned by content, so that
                                                         * it is parsed only once */
    Var v = VAR_NONE;
    if (h->pull)
        v = grad_text_pull(h->pull, kept, &ok);
    else if (h->push)
        v = grad_text_push(h->push, kept, &ok);
    else if (h->b)
        v = template_build_apply(h->b, kept, h->b->g, h->id, VAR_NONE, &ok);
    return ok ? v : said_why(h, VAR_NONE, "text");
}

static TlVar api_apply(TlHost *h, const char *op, const char *props, size_t nin,
                       const TlVar *in, TlVar *out) {
    const Op *found = op_find(h->s, op, strlen(op));
    Var all[OUT_MAX];
    if (!h->b || !found || nin > UINT8_MAX)
        return api_fail(h, TL_FAILED, "can't apply the op %s here", op), VAR_NONE;
    for (size_t i = 0; i < nin; i++)
        if (in[i] >= h->b->g->nvar)
            return api_fail(h, TL_FAILED, "input %zu for %s is not a variable", i, op),
                   VAR_NONE;
    const Props *p = NULL;
    if (props && *props && !props_from_text(h->b, found, props, &p))
        return api_fail(h, TL_FAILED, "%s applies %s with these props", h->what, op),
               VAR_NONE;
    if (!op_apply(h->b, found, p, nin, in, all)) return VAR_NONE;
    const Signature *sig = op_signature(h->s, found);
    if (out) memcpy(out, all, sig->nout * sizeof *all);
    return all[0];
}

static TlVar api_number(TlHost *h, TlDType d, double v) {
    if (h->b && (int)d >= 0 && (int)d < DT_N) return const_number(h->b, (DType)d, v);
    return api_fail(h, TL_FAILED, "can't create a number here"), VAR_NONE;
}

static TlVar api_ints(TlHost *h, size_t n, const int64_t *v) {
    if (h->b) return const_ints(h->b, n, v);
    return api_fail(h, TL_FAILED, "can't create integers here"), VAR_NONE;
}

static TlVar api_constant(TlHost *h, const TlType *t, double v) {
    Value number = {.kind = TYPE_TENSOR}, own;
    if (!h->b || !t)
        return api_fail(h, TL_FAILED, "can't create a constant here"), VAR_NONE;
    if (!tensor_scalar(h->s, DT_FLOAT64, v, 0, &number.t)) return VAR_NONE;
    Receiver to = {FILTER_DEFAULT, h->what, h->at};
    bool ok = value_filter(h->s, type_in(t), &number, &to, &own);
    value_unref(&number);
    if (!ok) return VAR_NONE;
    Var c = graph_const_value(h->b->g, type_in(t), &own);
    value_unref(&own);
    return c;
}

static TlVar api_undefined(TlHost *h, const char *why) {
    if (h->b) return grad_undefined(h->b, why);
    return api_fail(h, TL_FAILED, "can't make a gradient undefined here"), VAR_NONE;
}

static const TlType *api_var_type(TlHost *h, TlVar v) {
    if (h->b && v < h->b->g->nvar) return type_out(var_type(h->b->g, v));
    return api_fail(h, TL_FAILED,
                    "the plugin asks for the type of something that is not a variable"),
           NULL;
}

/* ---- the graph around an Apply ---- */

static bool api_is_output(const TlApply *a) {
    const TlHost *h = a->host;
    const Apply *ap = &h->g->apply[h->id];
    bool any = false;
    for (Var k = 0; h->view && k < ap->nout; k++)
        any |= h->view->is_output[ap->out + k] != 0;
    return any;
}

static size_t api_clients(const TlApply *a) {
    const TlHost *h = a->host;
    const Apply *ap = &h->g->apply[h->id];
    const uint32_t *first = h->view ? h->view->clients->first : NULL;
    return first ? first[ap->out + ap->nout] - first[ap->out] : 0;
}

static const char *api_client(const TlApply *a, size_t i, size_t *in, size_t *out) {
    const TlHost *h = a->host;
    const Apply *ap = &h->g->apply[h->id];
    if (i >= api_clients(a)) return "";
    const Clients *c = h->view->clients;
    uint32_t at = c->first[ap->out] + (uint32_t)i;
    ApplyId id = c->client[at];
    Var k = 0;
    while (k + 1u < ap->nout && c->first[ap->out + k + 1] <= at)
        k++;
    size_t n = 0;
    while (n + 1u < h->g->apply[id].nin && apply_in(h->g, id)[n] != ap->out + k)
        n++;
    if (in) *in = n;
    if (out) *out = k;
    return h->g->apply[id].op->name;
}

/* ---- text ---- */

static void api_put(TlHost *h, const char *text) {
    if (h->out) str_puts(h->out, text);
}
static void api_put_number(TlHost *h, double v) {
    if (h->out) tensor_element_text(h->s, DT_FLOAT64, &v, h->out);
}
static void api_put_quoted(TlHost *h, const char *text) {
    if (h->out) str_quote(h->out, text);
}

/* ---- random ---- */

static double api_uniform(TlHost *h) {
    double v = 0;
    if (!h->rng) return v;
    rng_uniform(h->rng, DT_FLOAT64, 0, 1, &v);
    *h->rng = rng_next(h->rng);
    return v;
}
static double api_normal(TlHost *h) {
    double v = 0;
    if (!h->rng) return v;
    rng_normal(h->rng, 0, 1, &v);
    *h->rng = rng_next(h->rng);
    return v;
}

const TlApi plugin_api = {
    .size = sizeof(TlApi),
    .abi = TL_PLUGIN_ABI,
    .version = TL_VERSION,
    .fail = api_fail,
    .add_type = plugin_add_type,
    .add_op = plugin_add_op,
    .type = api_type,
    .type_text = api_type_text,
    .type_is = api_type_is,
    .type_params = api_type_params,
    .tensor_type = api_tensor_type,
    .make_tensor = api_make_tensor,
    .prop_bool = api_prop_bool,
    .prop_int = api_prop_int,
    .prop_float = api_prop_float,
    .prop_str = api_prop_str,
    .prop_dtype = api_prop_dtype,
    .prop_ints = api_prop_ints,
    .prop_is_none = api_prop_is_none,
    .is_literal = api_is_literal,
    .wrap = api_wrap,
    .value_type = api_value_type,
    .tensor = api_tensor,
    .to_double = api_to_double,
    .object = api_object,
    .describe = api_describe,
    .input = api_input,
    .input_object = api_input_object,
    .output = api_output,
    .kept = api_kept,
    .output_object = api_output_object,
    .pass = api_pass,
    .view = api_view,
    .scratch = api_scratch,
    .text = api_text,
    .apply = api_apply,
    .number = api_number,
    .ints = api_ints,
    .constant = api_constant,
    .undefined = api_undefined,
    .var_type = api_var_type,
    .is_output = api_is_output,
    .clients = api_clients,
    .client = api_client,
    .put = api_put,
    .put_number = api_put_number,
    .put_quoted = api_put_quoted,
    .add_transfer = plugin_add_transfer,
    .transfer_object = plugin_transfer_object,
    .transfer_tensor = plugin_transfer_tensor,
    .uniform = api_uniform,
    .normal = api_normal,
    .contiguous = api_contiguous,
};
