/* The props of convolutions, and the sizes that follow from them. */
#include "ops/nn/conv.h"

#include <string.h>

enum { LARGEST = INT32_MAX }; /* of any number among the props */

/* `value` gets the number for each axis. */
static const char *read_numbers(Session *s, const char *name, const Prop *p, int ndim,
                                int64_t least, int64_t *value) {
    if (p->ints.n != 1 && p->ints.n != (size_t)ndim)
        return arena_printf(session_arena(s), "%s has %s for %s", name,
                            str_counted(s, p->ints.n, "number"),
                            str_counted(s, (size_t)ndim, "axis"));
    for (int k = 0; k < ndim; k++) {
        value[k] = p->ints.p[p->ints.n == 1 ? 0 : k];
        if (value[k] < least || value[k] > LARGEST)
            return arena_printf(session_arena(s), "%s is %lld: it must be %lld to %d",
                                name, (long long)value[k], (long long)least, LARGEST);
    }
    return NULL;
}

static const char *read_padding_word(Session *s, const char *word, ConvProps *p) {
    static const struct {
        const char *name;
        ConvPadding padding;
    } words[] = {{"valid", CONV_GIVEN},
                 {"same", CONV_SAME_UPPER},
                 {"same_upper", CONV_SAME_UPPER},
                 {"same_lower", CONV_SAME_LOWER}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i].name) == 0) {
            p->padding = words[i].padding;
            return NULL;
        }
    return arena_printf(session_arena(s),
                        "padding must be numbers, 'valid', 'same', 'same_upper' or "
                        "'same_lower', not '%s'",
                        word);
}

/* One number, or a number or a pair for each axis. */
static const char *read_padding(Session *s, const Prop *v, ConvProps *p) {
    if (v->kind == P_STR) return read_padding_word(s, sym_text(s, v->sym), p);
    size_t n = v->ints.n;
    size_t ndim = (size_t)p->ndim, pairs = n == 2 * ndim;
    if (n != 1 && n != ndim && !pairs)
        return arena_printf(session_arena(s),
                            "padding must be a number, or a number or a pair (before, "
                            "after) for each of %s",
                            str_counted(s, (size_t)p->ndim, "axis"));
    for (int k = 0; k < p->ndim; k++) {
        const int64_t *at = v->ints.p + (n > 1 ? (size_t)k << pairs : 0);
        p->before[k] = at[0];
        p->after[k] = at[pairs];
        if (at[0] < -LARGEST || at[0] > LARGEST || at[pairs] < -LARGEST ||
            at[pairs] > LARGEST)
            return "padding is too large";
    }
    return NULL;
}

const char *conv_props(Session *s, const Op *op, const Props *props, int ndim,
                       bool transposed, ConvProps *p) {
    *p = (ConvProps){.ndim = ndim, .groups = prop_int(s, op, props, "groups")};
    const char *why = read_numbers(s, "strides", op_prop(s, op, props, "strides"), ndim,
                                   1, p->stride);
    if (!why)
        why = read_numbers(s, "dilations", op_prop(s, op, props, "dilations"), ndim, 1,
                           p->dilation);
    if (!why) why = read_padding(s, op_prop(s, op, props, "padding"), p);
    if (!why && (p->groups < 1 || p->groups > LARGEST))
        why = arena_printf(session_arena(s), "groups is %lld: it must be 1 to %d",
                           (long long)p->groups, LARGEST);
    if (why || !transposed) return why;
    why = read_numbers(s, "output_padding", op_prop(s, op, props, "output_padding"),
                       ndim, 0, p->extra);
    for (int k = 0; !why && k < ndim; k++)
        if (p->extra[k] && p->padding != CONV_GIVEN)
            why = "output_padding needs padding in numbers";
    return why;
}

/* ---- sizes ---- */
static const char *too_large(Session *s, int k) {
    return arena_printf(session_arena(s), "the sizes along axis %d are too large",
                        k + 2);
}

/* How many elements the kernel covers. */
static const char *kernel_extent(Session *s, const ConvProps *p, int k, int64_t w,
                                 int64_t *n) {
    if (w < 1)
        return arena_printf(session_arena(s), "w has no elements along axis %d", k + 2);
    return i64_mul(p->dilation[k], w - 1, n) && !__builtin_add_overflow(*n, 1, n)
               ? NULL
               : too_large(s, k);
}

/* 'same': as many elements of y as there are strides in x. */
static bool same_axis(const ConvProps *p, int64_t window, ConvAxis *a) {
    int64_t last, total;
    a->y = a->x / a->stride + (a->x % a->stride != 0);
    if (a->y == 0) return true;
    if (!i64_mul(a->y - 1, a->stride, &last) ||
        __builtin_add_overflow(last, window, &total))
        return false;
    total = total > a->x ? total - a->x : 0;
    a->before = p->padding == CONV_SAME_LOWER ? total - total / 2 : total / 2;
    return true;
}

const char *conv_axis(Session *s, const ConvProps *p, int k, int64_t x, int64_t w,
                      ConvAxis *a) {
    int64_t window = 0, all;
    *a = (ConvAxis){x, w, 0, p->stride[k], p->dilation[k], p->before[k]};
    const char *why = kernel_extent(s, p, k, w, &window);
    if (why) return why;
    if (p->padding != CONV_GIVEN)
        return same_axis(p, window, a) ? NULL : too_large(s, k);
    if (__builtin_add_overflow(x, p->before[k] + p->after[k], &all))
        return too_large(s, k);
    if (all < window)
        return arena_printf(
            session_arena(s),
            "the kernel covers %lld elements along axis %d, but x has %lld%s",
            (long long)window, k + 2, (long long)all,
            p->before[k] || p->after[k] ? " with its padding" : "");
    a->y = (all - window) / a->stride + 1;
    return NULL;
}

const char *conv_axis_transposed(Session *s, const ConvProps *p, int k, int64_t y,
                                 int64_t w, ConvAxis *a) {
    int64_t window = 0, last, more = p->extra[k] - p->before[k] - p->after[k];
    *a = (ConvAxis){0, w, y, p->stride[k], p->dilation[k], p->before[k]};
    const char *why = kernel_extent(s, p, k, w, &window);
    if (why) return why;
    if (p->padding != CONV_GIVEN)
        return i64_mul(y, a->stride, &a->x) && same_axis(p, window, a)
                   ? NULL
                   : too_large(s, k);
    if (y == 0)
        return arena_printf(session_arena(s), "x has no elements along axis %d", k + 2);
    if (!i64_mul(y - 1, a->stride, &last) ||
        __builtin_add_overflow(last, window, &last) ||
        __builtin_add_overflow(last, more, &a->x))
        return too_large(s, k);
    if (a->x < 0)
        return arena_printf(
            session_arena(s),
            "the padding takes more along axis %d than the result has (%lld)", k + 2,
            (long long)last);
    return NULL;
}
