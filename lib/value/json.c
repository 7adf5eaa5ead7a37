/* Tensors as JSON: numbers in nested lists; values that JSON has no numbers for become
 * strings. */
#include "value/value_impl.h"

#include <math.h>
#include <string.h>

static void write_json_number(double v, FloatWidth w, Str *out) {
    char buf[NUM_MAX];
    if (isnan(v))
        str_puts(out, "\"NaN\"");
    else if (isinf(v))
        str_puts(out, v < 0 ? "\"-Infinity\"" : "\"Infinity\"");
    else
        str_add(out, buf, num_write_float(buf, v, w));
}

static void write_json_element(Session *s, DType d, const void *p, Str *out) {
    double z[2];
    if (d == DT_BOOL) {
        str_puts(out, *(const uint8_t *)p ? "true" : "false");
        return;
    }
    if (!dtype_is_inexact(d)) {
        tensor_element_text(s, d, p, out);
        return;
    }
    tensor_cast_elements(DT_COMPLEX128, z, d, p, 1, 16, 16);
    if (dtype_is_complex(d)) str_putc(out, '[');
    write_json_number(z[0], dtype_float_width(d), out);
    if (!dtype_is_complex(d)) return;
    str_puts(out, ", ");
    write_json_number(z[1], dtype_float_width(d), out);
    str_putc(out, ']');
}

/* Counts the dims that begin anew at flat position i, from the last. */
static int count_boundaries(const Tensor *t, int64_t i) {
    int n = 0;
    for (int64_t block = 1; n < t->ndim; n++) {
        block *= t->shape[t->ndim - 1 - n];
        if (i % block != 0) break;
    }
    return n;
}

static void write_json_elements(Session *s, const Tensor *t, Str *out) {
    enum { BLOCK = 64 };
    _Alignas(16) char block[BLOCK * 16];
    size_t size = dtype_size(t->dtype);
    int64_t count = tensor_size(t);
    for (int64_t i = 0; i < count; i++) {
        int64_t k = i % BLOCK;
        if (k == 0)
            tensor_gather(t, i, (size_t)(count - i < BLOCK ? count - i : BLOCK), block);
        int open = count_boundaries(t, i);
        if (i) {
            str_repeat(out, ']', open);
            str_puts(out, ", ");
        }
        str_repeat(out, '[', open);
        write_json_element(s, t->dtype, block + (size_t)k * size, out);
    }
    str_repeat(out, ']', t->ndim);
}

void tensor_json_data(Session *s, const char *key, const Tensor *t, JsonWriter *w) {
    json_put_key(w, key);
    json_put_word(w, tensor_size(t) == 0 ? "[]" : ""); /* the shape says the rest */
    if (tensor_size(t)) write_json_elements(s, t, w->out);
}

void tensor_json_members(Session *s, const Tensor *t, JsonWriter *w) {
    json_member(w, "dtype", dtype_name(t->dtype));
    json_put_key(w, "shape");
    json_put_ints(w, (size_t)t->ndim, t->shape);
    tensor_json_data(s, "data", t, w);
}
