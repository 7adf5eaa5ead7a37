/* gprof --pack: offsets for anybody's buffers, from a table of lives and sizes. */
#include "vm/pack.h"

#include "base/num.h"
#include "os/file.h"
#include "tools/gprof/gprof.h"

#include <stdlib.h>
#include <string.h>

static const double LONG_ENOUGH = 0.8; /* seconds */

typedef enum Column { COL_ID, COL_LOWER, COL_UPPER, COL_SIZE, COL_N } Column;
static const char *const column_name[COL_N] = {"id", "lower", "upper", "size"};
typedef struct Buffers {
    Session *s;
    const PackSpec *q;
    Arena *a;
    uint32_t source;
    const char *text;
    size_t at[COL_N]; /* position of each column */
    Span header;
    Vec(Span) row;
    Vec(Span64) span;
    Vec(uint64_t) lower, upper;
} Buffers;

/* ---- reading ---- */
/* The field that begins at p; a quoted one may have commas. */
static size_t field_length(const char *p, size_t n) {
    bool quoted = false;
    size_t i = 0;
    for (; i < n && (quoted || p[i] != ','); i++)
        quoted ^= p[i] == '"';
    return i;
}

/* Field `at` of a line, without blanks around it. False: there is none. */
static bool take_field(const Buffers *b, Span line, size_t at, Span *out) {
    uint32_t from = line.begin;
    for (size_t i = 0;; i++) {
        uint32_t end = from + (uint32_t)field_length(b->text + from, line.end - from);
        if (i == at) {
            while (from < end && b->text[from] == ' ')
                from++;
            while (end > from && b->text[end - 1] == ' ')
                end--;
            *out = (Span){b->source, from, end};
            return true;
        }
        if (end == line.end) return false;
        from = end + 1;
    }
}

static bool find_columns(Buffers *b) {
    for (int c = 0; c < COL_N; c++) {
        Span f;
        size_t i = 0, n = strlen(column_name[c]);
        bool found = false;
        for (; !found && take_field(b, b->header, i, &f); i += !found)
            found = f.end - f.begin == n &&
                    memcmp(b->text + f.begin, column_name[c], n) == 0;
        b->at[c] = i;
        if (found) continue;
        fail(b->s, b->header, E_FORMAT, "the table has no column %s", column_name[c]);
        return note(b->s, NOWHERE,
                    "the first line names the columns: id,lower,upper,size");
    }
    return true;
}

static bool take_number(const Buffers *b, Span line, Column c, uint64_t *v) {
    Span f = line;
    bool overflow = false, ok = take_field(b, line, b->at[c], &f);
    size_t n = f.end - f.begin;
    ok = ok && n && num_read_uint(b->text + f.begin, n, v, &overflow) == n;
    if (ok && !overflow && *v < 1ULL << 60) return true;
    if (ok) return fail(b->s, f, E_VALUE, "%s is too large", column_name[c]);
    return fail(b->s, f, E_FORMAT, "%s must be a whole number from 0 up",
                column_name[c]);
}

static bool take_row(Buffers *b, Span line) {
    uint64_t lower, upper, size;
    if (!take_number(b, line, COL_LOWER, &lower) ||
        !take_number(b, line, COL_UPPER, &upper) ||
        !take_number(b, line, COL_SIZE, &size))
        return false;
    if (upper <= lower)
        return fail(b->s, line, E_VALUE,
                    "the buffer ends before it begins: it lives from lower up to, but "
                    "not at, upper");
    vec_push(b->s, &b->row, line);
    vec_push(b->s, &b->lower, lower);
    vec_push(b->s, &b->upper, upper);
    vec_push(b->s, &b->span, ((Span64){.bytes = (int64_t)size}));
    return true;
}

static bool take_lines(Buffers *b, size_t n) {
    bool first = true;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t end = i;
        while (end < n && b->text[end] != '\n')
            end++;
        Span line = {b->source, i, end};
        if (line.end > line.begin && b->text[line.end - 1] == '\r') line.end--;
        i = end;
        if (line.end == line.begin) continue;
        if (first) b->header = line;
        if (first ? !find_columns(b) : !take_row(b, line)) return false;
        first = false;
    }
    return !first || fail(b->s, (Span){b->source, 0, 0}, E_FORMAT,
                          "the table is empty: its first line must be "
                          "id,lower,upper,size");
}

static bool read_buffers(Buffers *b) {
    FileData d;
    if (!file_read(b->s, b->q->file, UINT32_MAX, &d)) return false;
    const char *name = strcmp(b->q->file, "-") == 0 ? "<stdin>" : b->q->file;
    b->source = source_add(b->s, name, (const char *)d.p, d.n);
    b->text = source_get(b->s, b->source)->text;
    bool ok = take_lines(b, d.n);
    file_close(&d);
    return ok;
}

/* ---- packing ---- */
static int compare_u64(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static uint32_t position_of(const uint64_t *step, size_t n, uint64_t v) {
    size_t low = 0;
    while (n) {
        size_t half = n / 2;
        if (step[low + half] < v)
            low += half + 1, n -= half + 1;
        else
            n = half;
    }
    return (uint32_t)low;
}

/* Times become steps: nothing changes but where a buffer begins. False: more bytes than
 * can be counted. */
static bool number_steps(Buffers *b) {
    size_t n = b->row.n, steps = 0;
    uint64_t *step = arena_copy(b->a, b->lower.p, n * sizeof *step), all = 0;
    if (n) qsort(step, n, sizeof *step, compare_u64);
    for (size_t i = 0; i < n; i++)
        if (!i || step[i] != step[i - 1]) step[steps++] = step[i];
    for (size_t i = 0; i < n; i++) {
        Span64 *x = &b->span.p[i];
        x->born = position_of(step, steps, b->lower.p[i]);
        x->dies = position_of(step, steps, b->upper.p[i]) - 1;
        if (__builtin_add_overflow(all, (uint64_t)x->bytes, &all) || all >> 62)
            return fail(b->s, b->row.p[i], E_VALUE, "the sizes add up to too much");
    }
    return true;
}

static uint64_t pack_all(Buffers *b, uint64_t enough, uint64_t *bound, double end) {
    size_t n = b->row.n;
    PackLimits limits = {UINT64_MAX, end};
    uint64_t height = pack_quickly(b->s, n, b->span.p);
    if (height > enough && n <= PACK_MOST)
        height = pack_lowest(b->s, n, b->span.p, enough, &limits, bound);
    return height;
}

/* ---- the answer ---- */
static void write_rows(const Buffers *b, Str *out) {
    const Span *h = &b->header;
    str_printf(out, "%.*s,offset\n", (int)(h->end - h->begin), b->text + h->begin);
    for (size_t i = 0; i < b->row.n; i++) {
        Span r = b->row.p[i];
        str_printf(out, "%.*s,%llu\n", (int)(r.end - r.begin), b->text + r.begin,
                   (unsigned long long)b->span.p[i].offset);
    }
}

static bool give_verdict(const Buffers *b, uint64_t height, uint64_t bound,
                         Str *verdict) {
    const char *what = str_counted(b->s, b->row.n, "buffer");
    str_printf(verdict, "%s in %llu bytes", what, (unsigned long long)height);
    if (height <= bound)
        str_puts(verdict, ": optimal");
    else
        str_printf(verdict, ": at least %llu are needed, a gap of %.2f%%",
                   (unsigned long long)bound,
                   100.0 * ((double)height / (double)bound - 1));
    if (!b->q->capacity || height <= b->q->capacity) return true;
    str_printf(verdict, "; the capacity is %llu", (unsigned long long)b->q->capacity);
    return fail(b->s, NOWHERE, E_VERDICT,
                bound > b->q->capacity
                    ? "the buffers don't fit in %llu bytes: at least %llu are needed"
                    : "no packing in %llu bytes was found, only one in %llu",
                (unsigned long long)b->q->capacity,
                (unsigned long long)(bound > b->q->capacity ? bound : height));
}

bool gprof_pack(Session *s, const PackSpec *q, Str *out, Str *verdict) {
    Buffers b = {.s = s, .q = q, .a = arena_new(s)};
    double end = clock_seconds() + LONG_ENOUGH;
    bool ok = read_buffers(&b) && number_steps(&b);
    if (ok) {
        uint64_t bound = pack_bound(s, b.row.n, b.span.p),
                 enough = q->capacity > bound ? q->capacity : bound,
                 height = pack_all(&b, enough, &bound, end);
        write_rows(&b, out);
        ok = give_verdict(&b, height, bound, verdict);
    }
    vec_free(&b.row);
    vec_free(&b.span);
    vec_free(&b.lower);
    vec_free(&b.upper);
    arena_free(b.a);
    return ok;
}
