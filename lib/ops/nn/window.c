/* Windows that slide along spatial axes: their props, and how many fit. */
#include "ops/nn/window.h"

#include <string.h>

enum { NO_DIMS = 2 }; /* rows and channels, before the spatial axes */
static const int64_t limit = INT64_C(1) << 31;

/* ---- props ---- */

int window_infer_axes(Infer *in, size_t arg) {
    if (!infer_want_rank(in, arg, NO_DIMS + 1, NO_DIMS + WINDOW_AXES)) return 0;
    return in->type[arg]->ndim - NO_DIMS;
}

void window_read_ints(const Prop *p, int axes, int64_t *v) {
    for (int k = 0; k < axes; k++)
        v[k] = p->ints.p[p->ints.n == 1 ? 0 : k];
}

bool window_infer_ints(Infer *in, const char *name, int axes, int64_t *v) {
    const Prop *p = infer_prop(in, name);
    if (p->ints.n != 1 && p->ints.n != (size_t)axes)
        return infer_fail(in, E_ARG, 0,
                          "%s must be one integer, or one for each of %d spatial axes, "
                          "not %zu",
                          name, axes, p->ints.n);
    for (size_t i = 0; i < p->ints.n; i++)
        if (p->ints.p[i] < 1 || p->ints.p[i] >= limit)
            return infer_fail(in, E_VALUE, in->nin,
                              "%s must be from 1 to 2^31 - 1, not %lld", name,
                              (long long)p->ints.p[i]);
    window_read_ints(p, axes, v);
    return true;
}

static const char *const fits[] = {
    [WINDOW_GIVEN] = "valid",
    [WINDOW_SAME_UPPER] = "same_upper",
    [WINDOW_SAME_LOWER] = "same_lower",
};

/* One number, one for each axis, or a pair for each axis. */
static void read_padding(Session *s, const Prop *p, Window *w) {
    bool pairs = p->kind == P_INTS && p->ints.n == 2 * (size_t)w->axes;
    w->fit = WINDOW_GIVEN;
    for (int k = 0; k < w->axes; k++) {
        size_t at = p->kind == P_INTS && p->ints.n > 1 ? (size_t)k << pairs : 0;
        w->before[k] = p->kind == P_INTS ? p->ints.p[at] : 0;
        w->after[k] = p->kind == P_INTS ? p->ints.p[at + pairs] : 0;
    }
    for (WindowFit f = WINDOW_GIVEN; p->kind == P_STR && f <= WINDOW_SAME_LOWER; f++)
        if (strcmp(sym_text(s, p->sym), fits[f]) == 0) w->fit = f;
}

static bool infer_padding(Infer *in, Window *w) {
    const Prop *p = infer_prop(in, "padding");
    size_t n = p->ints.n, axes = (size_t)w->axes;
    if (p->kind == P_INTS && n != 1 && n != axes && n != 2 * axes)
        return infer_fail(in, E_ARG, 0,
                          "padding must be one integer, or an integer or a pair for "
                          "each of %zu spatial axes, not %zu integers",
                          axes, n);
    read_padding(in->s, p, w);
    if (p->kind == P_STR)
        return strcmp(sym_text(in->s, p->sym), fits[w->fit]) == 0 ||
               infer_fail(in, E_ARG, in->nin,
                          "padding must be 'valid', 'same_upper' or 'same_lower', or "
                          "integers, not '%s'",
                          sym_text(in->s, p->sym));
    for (size_t i = 0; i < n; i++)
        if (p->ints.p[i] < 0 || p->ints.p[i] >= limit)
            return infer_fail(in, E_VALUE, in->nin,
                              "padding must be from 0 to 2^31 - 1, not %lld",
                              (long long)p->ints.p[i]);
    return true;
}

bool window_infer_props(Infer *in, Window *w) {
    if (infer_prop(in, "strides")->kind == P_NONE)
        memcpy(w->stride, w->size, sizeof w->stride);
    else if (!window_infer_ints(in, "strides", w->axes, w->stride))
        return false;
    return window_infer_ints(in, "dilations", w->axes, w->dilation) &&
           infer_padding(in, w);
}

void window_read_props(Session *s, const Op *op, const Props *props, Window *w) {
    const Prop *strides = op_prop(s, op, props, "strides");
    if (strides->kind == P_NONE)
        memcpy(w->stride, w->size, sizeof w->stride);
    else
        window_read_ints(strides, w->axes, w->stride);
    window_read_ints(op_prop(s, op, props, "dilations"), w->axes, w->dilation);
    read_padding(s, op_prop(s, op, props, "padding"), w);
}

/* ---- counting ---- */

int64_t window_span(const Window *w, int k) {
    return (w->size[k] - 1) * w->dilation[k] + 1;
}

void window_settle(Window *w, int k, int64_t n) {
    if (w->fit == WINDOW_GIVEN) return;
    int64_t beyond = n % w->stride[k] ? n % w->stride[k] : w->stride[k];
    int64_t sum = n == 0 ? 0 : window_span(w, k) - beyond;
    if (sum < 0) sum = 0;
    int64_t less = sum / 2;
    w->before[k] = w->fit == WINDOW_SAME_UPPER ? less : sum - less;
    w->after[k] = sum - w->before[k];
}

static int64_t divide_down(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

int64_t window_count(const Window *w, int k, int64_t n) {
    int64_t stride = w->stride[k];
    if (w->fit != WINDOW_GIVEN) return n / stride + (n % stride > 0);
    int64_t room = w->before[k] - window_span(w, k) + w->after[k] + n;
    int64_t count = divide_down(room + (w->ceil ? stride - 1 : 0), stride) + 1;
    int64_t most = divide_down(n + w->before[k] - 1, stride) + 1;
    return w->ceil && count > most ? most : count;
}

/* Of no elements there may be no windows. */
static bool window_fits(int64_t count, int64_t n) {
    return count > 0 || (count == 0 && n == 0);
}

/* Nor can one be a tensor's: window_count doesn't overflow. */
static bool is_too_long(int64_t n) {
    return n > INT64_MAX / 2;
}

bool window_infer_count(Infer *in, size_t arg, const Window *w, int k, Dim n,
                        Dim *count) {
    Window own = *w;
    bool same = w->fit != WINDOW_GIVEN;
    *count = DIM_UNKNOWN;
    if (w->stride[k] == 1 &&
        (same ||
         (w->size[k] >= 0 && w->before[k] + w->after[k] + 1 == window_span(w, k)))) {
        *count = n;
        return true;
    }
    if (!dim_is_known(n) || w->size[k] < 0) return true;
    if (is_too_long(n))
        return infer_fail(in, E_LIMIT, arg, "spatial axis %d is too long", k);
    window_settle(&own, k, n);
    *count = window_count(&own, k, n);
    return window_fits(*count, n) ||
           infer_fail(in, E_SHAPE, arg,
                      "the window covers %lld elements of spatial axis %d, which has "
                      "%lld and padding of %lld and %lld",
                      (long long)window_span(w, k), k, (long long)n,
                      (long long)own.before[k], (long long)own.after[k]);
}

bool window_call_count(Call *c, const Tensor *x, Window *w, int64_t *count) {
    for (int k = 0; k < w->axes; k++) {
        int64_t n = x->shape[NO_DIMS + k];
        if (is_too_long(n))
            return call_fail(c, E_LIMIT, "spatial axis %d is too long", k);
        window_settle(w, k, n);
        count[k] = window_count(w, k, n);
        if (!window_fits(count[k], n))
            return call_fail(c, E_RUN_SHAPE,
                             "the window covers %lld elements of spatial axis %d, "
                             "which has %lld and padding of %lld and %lld",
                             (long long)window_span(w, k), k, (long long)n,
                             (long long)w->before[k], (long long)w->after[k]);
    }
    return true;
}

Var window_count_var(Builder *b, const Window *w, int k, Var n, Var size) {
    bool ok = n != VAR_NONE;
    if (size == VAR_NONE) size = const_int(b, w->size[k]);
    Bind bind[] = {{sym(b->s, "n"), n},
                   {sym(b->s, "size"), size},
                   {sym(b->s, "stride"), const_int(b, w->stride[k])},
                   {sym(b->s, "dilation"), const_int(b, w->dilation[k])},
                   {sym(b->s, "before"), const_int(b, w->before[k])},
                   {sym(b->s, "after"), const_int(b, w->after[k])}};
    Env env = {.n = sizeof bind / sizeof *bind, .bind = bind};
    const char *text =
        w->fit != WINDOW_GIVEN ? "(n + (stride - 1)) // stride"
        : w->ceil
            ? "minimum((n + (before + after - (size - 1) * dilation - 1 + stride - "
              "1)) // stride, (n + (before - 1)) // stride) + 1"
            : "(n + (before + after - (size - 1) * dilation - 1)) // stride + 1";
    Var v = ok ? template_build(b, text, &env, &ok) : VAR_NONE;
    return ok ? v : VAR_NONE;
}
