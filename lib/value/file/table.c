/* Tables of numbers as text: csv and tsv, one row per line. A first line without any
 * number is a header, which is skipped. One column makes a vector, more a matrix. */
#include "value/file/file_impl.h"

#include <string.h>

/* ---- reading ---- */

typedef Vec(double) Numbers;

typedef struct NumberTable {
    const ArrayFile *f;
    char separator;
    size_t line; /* from 1 */
    int64_t rows, columns;
    Numbers numbers;
} NumberTable;

static bool is_cell_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* Reads a cell as a number, with optional blanks and sign. */
static bool read_cell_number(const char *p, const char *end, double *v) {
    while (p < end && is_cell_blank(*p))
        p++;
    while (end > p && is_cell_blank(end[-1]))
        end--;
    if (end - p >= 2 && *p == '"' && end[-1] == '"') {
        p++;
        end--;
    }
    size_t n = (size_t)(end - p);
    return n > 0 && num_read_float(p, n, FLOAT64, v) == n;
}

static bool fail_cell(const NumberTable *t, const char *p, const char *end,
                      int64_t column) {
    enum { SHOWN = 40 };
    Str cell = STR(t->f->s);
    size_t n = (size_t)(end - p);
    str_visible(&cell, p, n < SHOWN ? n : SHOWN);
    array_fail(t->f, E_FORMAT, "line %zu, column %lld: '%s' is not a number", t->line,
               (long long)column + 1, str_text(&cell));
    str_free(&cell);
    return false;
}

/* Reads a line's cells; a first line without numbers adds none. */
static bool read_table_line(NumberTable *t, const char *p, const char *end) {
    size_t before = t->numbers.n;
    int64_t columns = 0;
    const char *other = NULL, *other_end = NULL; /* the first that is no number */
    int64_t at = 0, good = 0;
    for (;; columns++) {
        const char *stop = memchr(p, t->separator, (size_t)(end - p));
        const char *last = stop ? stop : end;
        double v = 0;
        if (read_cell_number(p, last, &v))
            good++;
        else if (!other)
            other = p, other_end = last, at = columns;
        vec_push(t->f->s, &t->numbers, v);
        if (!stop) break;
        p = stop + 1;
    }
    columns++;
    if (other && (t->columns > 0 || good)) return fail_cell(t, other, other_end, at);
    if (t->columns > 0 && columns != t->columns)
        return array_fail(t->f, E_FORMAT, "line %zu has %s, not %lld", t->line,
                          str_counted(t->f->s, (size_t)columns, "column"),
                          (long long)t->columns);
    t->columns = columns;
    if (other)
        t->numbers.n = before;
    else
        t->rows++;
    return true;
}

static bool is_blank_line(const char *p, const char *end) {
    while (p < end && is_cell_blank(*p))
        p++;
    return p == end;
}

static bool read_table_lines(NumberTable *t) {
    const char *p = (const char *)t->f->p, *end = p + t->f->n;
    for (t->line = 1; p < end; t->line++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        const char *last = stop ? stop : end;
        if (!is_blank_line(p, last) && !read_table_line(t, p, last)) return false;
        p = stop ? stop + 1 : end;
    }
    return t->columns > 0 || array_fail(t->f, E_FORMAT, "there are no numbers in it");
}

bool table_read(const ArrayFile *f, char separator, Tensor *out) {
    NumberTable t = {.f = f, .separator = separator};
    bool ok = read_table_lines(&t);
    if (ok) {
        int64_t shape[2] = {t.rows, t.columns};
        ok = tensor_new(f->s, DT_FLOAT64, t.columns == 1 ? 1 : 2, shape, out);
        if (ok && t.numbers.n)
            memcpy(out->data, t.numbers.p, t.numbers.n * sizeof *t.numbers.p);
    }
    vec_free(&t.numbers);
    return ok;
}

/* ---- writing ---- */

/* Booleans become 0 and 1, since a table holds numbers. */
static void write_cell(Session *s, DType d, const char *p, Str *out) {
    if (d == DT_BOOL)
        str_putc(out, *p ? '1' : '0');
    else
        tensor_element_text(s, d, p, out);
}

static bool write_table_rows(Session *s, Writer *w, char separator, const Tensor *t,
                             Str *b) {
    enum { CELLS = 64 };
    _Alignas(16) char block[CELLS * 16];
    size_t size = dtype_size(t->dtype);
    int64_t columns = t->ndim == 2 ? t->shape[1] : 1, count = tensor_size(t);
    for (int64_t i = 0; i < count; i += CELLS) {
        size_t n = count - i < CELLS ? (size_t)(count - i) : CELLS;
        tensor_gather(t, i, n, block);
        str_clear(b);
        for (size_t k = 0; k < n; k++) {
            write_cell(s, t->dtype, block + k * size, b);
            str_putc(b, (i + (int64_t)k + 1) % columns == 0 ? '\n' : separator);
        }
        if (!writer_add(w, b->p, b->n)) return false;
    }
    return true;
}

bool table_write(Session *s, Writer *w, char separator, const Tensor *t) {
    if (t->ndim > 2)
        return fail(
            s, NOWHERE, E_SHAPE,
            "a table has at most 2 dims, and the array has %d; write .npy or .json",
            t->ndim);
    if (dtype_is_complex(t->dtype))
        return fail(s, NOWHERE, E_DTYPE,
                    "a table can't hold complex numbers; write .npy or .json");
    Str b = STR(s);
    bool ok = write_table_rows(s, w, separator, t, &b);
    str_free(&b);
    return ok;
}
