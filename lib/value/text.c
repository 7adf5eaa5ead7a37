/* Tensors as text of the language: nested lists of shortest numbers. */
#include "value/value_impl.h"

#include <math.h>
#include <string.h>

enum { TEXT_BLOCK = 64, ELEMENT_TEXT_MAX = 2 * NUM_MAX + 4, EMPTY_ROWS_MAX = 64 };

void shape_text(Session *s, int ndim, const int64_t *shape, Str *out) {
    (void)s;
    str_putc(out, '(');
    for (int i = 0; i < ndim; i++)
        str_printf(out, "%s%lld", i ? ", " : "", (long long)shape[i]);
    str_puts(out, ndim == 1 ? ",)" : ")");
}

static size_t write_complex(char *buf, double re, double im, FloatWidth w) {
    char *p = buf;
    *p++ = '(';
    p += num_write_float(p, re, w);
    if (!signbit(im) || isnan(im)) *p++ = '+';
    p += num_write_float(p, im, w);
    memcpy(p, "j)", 3);
    return (size_t)(p + 2 - buf);
}

#define AS(T, p) (*(const T *)(p))
static size_t write_element(char *buf, DType d, const void *p) {
    switch (d) {
    case DT_BOOL: {
        bool v = AS(uint8_t, p) != 0;
        memcpy(buf, v ? "True" : "False", 6 - v);
        return 5U - v;
    }
    case DT_INT8:
        return num_write_int(buf, AS(int8_t, p));
    case DT_INT16:
        return num_write_int(buf, AS(int16_t, p));
    case DT_INT32:
        return num_write_int(buf, AS(int32_t, p));
    case DT_INT64:
        return num_write_int(buf, AS(int64_t, p));
    case DT_UINT8:
        return num_write_uint(buf, AS(uint8_t, p));
    case DT_UINT16:
        return num_write_uint(buf, AS(uint16_t, p));
    case DT_UINT32:
        return num_write_uint(buf, AS(uint32_t, p));
    case DT_UINT64:
        return num_write_uint(buf, AS(uint64_t, p));
    case DT_FLOAT16:
        return num_write_float(buf, half_to_double(AS(uint16_t, p)), FLOAT16);
    case DT_FLOAT32:
        return num_write_float(buf, (double)AS(float, p), FLOAT32);
    case DT_FLOAT64:
        return num_write_float(buf, AS(double, p), FLOAT64);
    case DT_COMPLEX64:
        return write_complex(buf, (double)AS(float, p), (double)((const float *)p)[1],
                             FLOAT32);
    case DT_COMPLEX128:
        return write_complex(buf, AS(double, p), ((const double *)p)[1], FLOAT64);
    case DT_N:
    case DT_NONE:
        break;
    }
    bug("text of an element of dtype %d", (int)d);
}
#undef AS

void tensor_element_text(Session *s, DType d, const void *p, Str *out) {
    (void)s;
    char buf[ELEMENT_TEXT_MAX];
    str_add(out, buf, write_element(buf, d, p));
}

/* One row: the elements at first .. first + n - 1, in brackets. */
static void write_tensor_row(const Tensor *t, int64_t first, int64_t n, Str *out) {
    _Alignas(16) char block[TEXT_BLOCK * 16];
    char buf[ELEMENT_TEXT_MAX + 2];
    size_t size = dtype_size(t->dtype);
    str_putc(out, '[');
    for (int64_t i = 0, m; i < n; i += m) {
        m = n - i < TEXT_BLOCK ? n - i : TEXT_BLOCK;
        tensor_gather(t, first + i, (size_t)m, block);
        for (int64_t k = 0; k < m; k++) {
            size_t len = write_element(buf, t->dtype, block + (size_t)k * size);
            if (i + k + 1 < n) {
                buf[len++] = ',';
                buf[len++] = ' ';
            }
            str_add(out, buf, len);
        }
    }
    str_putc(out, ']');
}

/* Between two rows: closes and opens as many brackets as dims begin anew. */
static void write_row_break(int rolled, int open, int indent, Str *out) {
    str_repeat(out, ']', rolled);
    str_putc(out, ',');
    if (indent < 0)
        str_putc(out, ' ');
    else {
        str_putc(out, '\n');
        str_repeat(out, ' ', indent + open - rolled);
    }
    str_repeat(out, '[', rolled);
}

static void write_nested_rows(const Tensor *t, int64_t rows, int indent, Str *out) {
    int outer = t->ndim - 1;
    int64_t n = t->shape[outer], index[MAX_NDIM] = {0};
    str_repeat(out, '[', outer);
    for (int64_t r = 0; r < rows; r++) {
        write_tensor_row(t, r * n, n, out);
        if (r + 1 == rows) break;
        int k = outer - 1, rolled = 0;
        for (; ++index[k] == t->shape[k]; k--, rolled++)
            index[k] = 0;
        write_row_break(rolled, outer, indent, out);
    }
    str_repeat(out, ']', outer);
}

/* The number of rows, if nested brackets can show the array's shape; -1 if not. */
static int64_t rows_to_show(const Tensor *t) {
    int64_t rows = 1;
    for (int i = 0; i < t->ndim - 1; i++)
        if (t->shape[i] == 0 || !i64_mul(rows, t->shape[i], &rows)) return -1;
    return t->shape[t->ndim - 1] == 0 && rows > EMPTY_ROWS_MAX ? -1 : rows;
}

void tensor_text(Session *s, const Tensor *t, int indent, Str *out) {
    if (t->ndim == 0) {
        tensor_element_text(s, t->dtype, t->data, out);
        return;
    }
    int64_t rows = rows_to_show(t);
    if (rows >= 0) {
        write_nested_rows(t, rows, indent, out);
        return;
    }
    str_puts(out, "zeros(");
    shape_text(s, t->ndim, t->shape, out);
    str_printf(out, ", dtype='%s')", dtype_name(t->dtype));
}
