/* Tables of numbers as text, a row on each line: csv, tsv, and columns between blanks.
 * A first line without any number names the columns. One column makes a vector, more a
 * matrix; columns that nobody selects may hold anything. */
#include "value/file/table.h"

#include "base/pool.h"

#include <stdatomic.h>
#include <string.h>

#define LINE_MAX_BYTES ((ptrdiff_t)64 << 20)
enum { COLUMNS_MAX = 1 << 20 };

/* ---- cells ---- */

static bool is_cell_blank(char c) {
    return c == ' ' || c == '\t';
}

static bool is_separator(const Table *t, char c) {
    return c == t->separator || (t->separator == ' ' && c == '\t');
}

static bool ends_cell(const Table *t, const char *p) {
    return p == t->end || *p == t->newline || is_separator(t, *p);
}

static const char *skip_blanks(const Table *t, const char *p) {
    while (p < t->end && is_cell_blank(*p) &&
           (t->separator == ' ' || *p != t->separator))
        p++;
    return p;
}

/* A carriage return is part of the line's end. */
static const char *skip_to_cell_end(const Table *t, const char *p) {
    p = skip_blanks(t, p);
    if (p + 1 < t->end && *p == '\r' && p[1] == t->newline) return p + 1;
    return p + 1 == t->end && *p == '\r' ? t->end : p;
}

static bool fail_at_cell(const Table *t, DiagCode code, const char *what) {
    return array_fail(t->f, code, "line %zu, column %zu: %s", t->line, t->column + 1,
                      what);
}

/* Between quotes, "" is one quote and a line may end. */
static bool read_quoted_cell(Table *t, const char *p, TableCell *c) {
    const char *q = ++p;
    size_t lines = 0;
    for (;; q++) {
        if (q == t->end) return fail_at_cell(t, E_FORMAT, "the quote is not closed");
        lines += *q == t->newline;
        if (*q != '"') continue;
        if (q + 1 == t->end || q[1] != '"') break;
        c->escaped = true;
        q++;
    }
    c->p = p;
    c->n = (size_t)(q - p);
    t->p = t->separator == ' ' ? q + 1 : skip_to_cell_end(t, q + 1);
    if (t->separator == ' ' && !ends_cell(t, t->p)) t->p = skip_to_cell_end(t, t->p);
    t->line += lines;
    return ends_cell(t, t->p) ||
           fail_at_cell(t, E_FORMAT, "there is more text behind the closing quote");
}

static void read_plain_cell(Table *t, const char *p, TableCell *c) {
    const char *q = p;
    while (!ends_cell(t, q))
        q++;
    t->p = q;
    while (q > p && (is_cell_blank(q[-1]) || q[-1] == '\r'))
        q--;
    c->p = p;
    c->n = (size_t)(q - p);
}

bool table_next_cell(Table *t, TableCell *c) {
    const char *p = skip_blanks(t, t->p);
    c->escaped = c->last = false;
    if (p < t->end && *p == '"') {
        if (!read_quoted_cell(t, p, c)) return false;
    } else {
        read_plain_cell(t, p, c);
    }
    if (t->separator == ' ') t->p = skip_to_cell_end(t, t->p);
    if (t->p - t->row > LINE_MAX_BYTES)
        return !t->quiet && array_fail(t->f, E_LIMIT, "line %zu has more than %d MiB",
                                       t->line, (int)(LINE_MAX_BYTES >> 20));
    c->last = t->p == t->end || *t->p == t->newline;
    t->column++;
    if (c->last)
        t->line++;
    else if (t->separator == ' ')
        return true;
    t->p += t->p < t->end;
    return true;
}

static bool is_blank_line(const Table *t, const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\r' || (*p == '\t' && t->separator != '\t')))
        p++;
    return p == end;
}

static const char *line_end(const Table *t, const char *p) {
    const char *stop = p < t->end ? memchr(p, t->newline, (size_t)(t->end - p)) : NULL;
    return stop ? stop : t->end;
}

bool table_next_row(Table *t) {
    for (; t->p < t->end; t->line++) {
        const char *stop = line_end(t, t->p);
        t->row = t->p;
        t->column = 0;
        if (!is_blank_line(t, t->p, stop)) return true;
        t->p = stop < t->end ? stop + 1 : stop;
    }
    return false;
}

/* ---- the form of a table ---- */

/* The separators on a line, outside of quotes; runs of blanks count once. */
static size_t count_separators(const char *p, const char *end, char separator) {
    size_t n = 0;
    bool quoted = false, cell = false, due = false;
    for (; p < end; p++) {
        bool blank = is_cell_blank(*p) || *p == '\r';
        quoted ^= *p == '"';
        if (separator != ' ') {
            n += *p == separator && !quoted;
            continue;
        }
        if (blank && !quoted) {
            due = cell;
            continue;
        }
        n += due;
        due = false;
        cell = true;
    }
    return n;
}

/* The first two lines decide: what separates as many cells in both. */
static char find_separator(Table *t) {
    static const char all[] = "\t;, ";
    const char *line[2] = {NULL}, *stop[2] = {NULL};
    int n = 0;
    for (const char *p = t->p; n < 2 && p < t->end;) {
        const char *q = line_end(t, p);
        if (!is_blank_line(t, p, q)) line[n] = p, stop[n++] = q;
        p = q < t->end ? q + 1 : q;
    }
    for (const char *c = all; n > 0 && *c; c++) {
        size_t first = count_separators(line[0], stop[0], *c);
        if (first && (n == 1 || first == count_separators(line[1], stop[1], *c)))
            return *c;
    }
    for (const char *c = all; n > 0 && *c != ' '; c++)
        if (count_separators(line[0], stop[0], *c)) return *c;
    return ',';
}

static const char *cell_text(Table *t, const TableCell *c) {
    Str b = STR(t->f->s);
    for (size_t i = 0; i < c->n; i++) {
        str_putc(&b, c->p[i]);
        if (c->escaped && c->p[i] == '"') i++;
    }
    const char *text = arena_str(t->a, str_text(&b), b.n);
    str_free(&b);
    return text;
}

static bool is_number(const TableCell *c) {
    double v;
    return number_store(DT_FLOAT64, c->p, c->n, &v) == NUMBER_STORED &&
           !number_is_missing(c->p, c->n);
}

/* 1,5 or 1.234,5: a number with a decimal comma, which we don't read. */
static bool has_decimal_comma(const TableCell *c) {
    char point[64];
    size_t n = 0, commas = 0;
    double v;
    if (c->n > sizeof point) return false;
    for (size_t i = 0; i < c->n; i++) {
        commas += c->p[i] == ',';
        if (c->p[i] != '.' || commas) point[n++] = c->p[i] == ',' ? '.' : c->p[i];
    }
    return commas == 1 && number_store(DT_FLOAT64, point, n, &v) == NUMBER_STORED;
}

static bool is_missing(const TableCell *c) {
    return number_is_missing(c->p, c->n);
}

static bool read_first_row(Table *t, size_t *numbers, size_t *texts) {
    TableCell c = {.last = false};
    *numbers = *texts = 0;
    while (!c.last) {
        if (!table_next_cell(t, &c)) return false;
        if (t->name.n == COLUMNS_MAX)
            return array_fail(t->f, E_LIMIT, "it has more than %d columns",
                              COLUMNS_MAX);
        if (is_number(&c) || has_decimal_comma(&c))
            ++*numbers;
        else if (!is_missing(&c))
            ++*texts;
        vec_push(t->f->s, &t->name, cell_text(t, &c));
    }
    return true;
}

static bool find_column(const Table *t, const char *name, size_t *column, size_t *n) {
    *n = 0;
    for (size_t i = t->name.n; i-- > 0;)
        if (strcmp(t->name.p[i], name) == 0) {
            *column = i;
            ++*n;
        }
    return *n > 0;
}

/* The names of a selection: the whole key if a column is called so, else what its
 * commas separate, as in a table. */
static bool split_key(Table *t, const char *key, TableNames *out) {
    size_t column, n;
    if (find_column(t, key, &column, &n)) {
        vec_push(t->f->s, out, key);
        return true;
    }
    Table k = {.f = t->f, .a = t->a, .p = key, .end = key + strlen(key), .line = 1};
    TableCell c = {.last = false};
    k.row = key;
    k.separator = ',';
    k.newline = '\n';
    while (!c.last) {
        if (!table_next_cell(&k, &c)) return false;
        vec_push(t->f->s, out, cell_text(t, &c));
    }
    return true;
}

static bool has_all_columns(const Table *t, const TableNames *wanted) {
    size_t column, n;
    for (size_t i = 0; i < wanted->n; i++)
        if (!find_column(t, wanted->p[i], &column, &n)) return false;
    return wanted->n > 0;
}

/* Without names, columns are called 0, 1, 2, ..., as an index counts them. */
static void number_columns(Table *t) {
    for (size_t i = 0; i < t->name.n; i++)
        t->name.p[i] = arena_printf(t->a, "%zu", i);
}

bool table_open(const ArrayFile *f, const char *key, Table *t, TableNames *wanted) {
    *t = (Table){.f = f, .a = arena_new(f->s), .line = 1, .newline = '\n'};
    t->p = (const char *)f->p;
    t->end = t->p + f->n;
    if (f->n >= 2 &&
        (memcmp(f->p, "\xFF\xFE", 2) == 0 || memcmp(f->p, "\xFE\xFF", 2) == 0))
        return array_fail(f, E_FORMAT, "this is UTF-16: convert it to UTF-8");
    if (f->n >= 3 && memcmp(f->p, "\xEF\xBB\xBF", 3) == 0) t->p += 3;
    if (f->n && !memchr(f->p, '\n', f->n) && memchr(f->p, '\r', f->n))
        t->newline = '\r';
    t->separator = value_is_named(f, ".tsv") ? '\t' : find_separator(t);
    if (!table_next_row(t))
        return array_fail(f, E_FORMAT, "there are no numbers in it");
    size_t numbers, texts, line = t->line;
    if (!read_first_row(t, &numbers, &texts)) return false;
    if (key && !split_key(t, key, wanted)) return false;
    t->named = texts && (numbers == 0 || has_all_columns(t, wanted));
    if (t->named) return true;
    t->p = t->row;
    t->line = line;
    number_columns(t);
    if (key) wanted->n = 0;
    return !key || split_key(t, key, wanted);
}

void table_close(Table *t) {
    vec_free(&t->name);
    arena_free(t->a);
}

bool table_fail_columns(const Table *t, size_t line, size_t columns) {
    return array_fail(t->f, E_FORMAT, "line %zu has %s, not %zu", line,
                      str_counted(t->f->s, columns, "column"), t->name.n);
}

/* ---- reading ---- */

/* What is selected, and where it goes. */
typedef struct TableRead {
    Table t;
    TableNames wanted;
    int32_t *slot; /* by column: its place in a row of the result, or -1 */
    size_t nslot;
    DType dtype;
    Tensor out;
    char *dst; /* the row that is read */
} TableRead;

static bool fail_no_column(const Table *t, const char *name) {
    Names names = {t->name.p, t->name.n};
    return array_fail_no_name(t->f, "column", name, &names);
}

static bool choose_columns(TableRead *r) {
    Table *t = &r->t;
    r->slot = mem_alloc(t->f->s, t->name.n * sizeof *r->slot);
    for (size_t i = 0; i < t->name.n; i++)
        r->slot[i] = r->wanted.n ? -1 : (int32_t)i;
    r->nslot = r->wanted.n ? r->wanted.n : t->name.n;
    for (size_t i = 0; i < r->wanted.n; i++) {
        size_t column = 0, n;
        const char *name = r->wanted.p[i];
        if (!find_column(t, name, &column, &n)) return fail_no_column(t, name);
        if (n > 1)
            return array_fail(t->f, E_NAME, "%zu columns are called '%s'", n, name);
        if (r->slot[column] >= 0)
            return array_fail(t->f, E_NAME, "column '%s' is selected twice", name);
        r->slot[column] = (int32_t)i;
    }
    return true;
}

/* The columns of this line that hold numbers, for an example of how to choose some. */
static void note_columns(const Table *t, size_t line) {
    enum { SHOWN = 8 };
    Table again = *t;
    TableCell c = {.last = false};
    Str names = STR(t->f->s);
    size_t n = 0;
    again.p = t->row;
    again.column = 0;
    again.line = line;
    for (size_t i = 0; !c.last && i < t->name.n; i++) {
        if (!table_next_cell(&again, &c)) break;
        if (!is_number(&c) && !is_missing(&c)) continue;
        if (n++ < SHOWN) str_printf(&names, "%s%s", n > 1 ? "," : "", t->name.p[i]);
    }
    Str shown = STR(t->f->s);
    str_visible(&shown, str_text(&names), names.n);
    if (n)
        note(t->f->s, NOWHERE, "choose the columns that are wanted, as %s:%s%s",
             t->f->name, str_text(&shown), n > SHOWN ? ",..." : "");
    str_free(&shown);
    str_free(&names);
}

static bool fail_cell(const TableRead *r, size_t line, const TableCell *c,
                      NumberResult why) {
    const Table *t = &r->t;
    Str name = STR(t->f->s), what = STR(t->f->s);
    size_t column = t->column - 1;
    if (t->named) {
        str_puts(&name, " (");
        str_visible(&name, t->name.p[column], strlen(t->name.p[column]));
        str_putc(&name, ')');
    }
    number_explain(why, r->dtype, c->p, c->n, &what);
    array_fail(t->f, E_FORMAT, "line %zu, column %zu%s: %s", line, column + 1,
               str_text(&name), str_text(&what));
    if (why == NUMBER_TEXT && has_decimal_comma(c))
        note(t->f->s, NOWHERE, "numbers have a point, not a comma%s",
             t->separator == ',' ? "" : ": `tr , .` changes all commas of a text");
    else if (why == NUMBER_TEXT && !r->wanted.n && t->name.n > 1)
        note_columns(t, line);
    str_free(&what);
    str_free(&name);
    return false;
}

static bool read_row(TableRead *r) {
    Table *t = &r->t;
    TableCell c = {.last = false};
    size_t line = t->line, width = dtype_size(r->dtype);
    while (!c.last) {
        size_t at = t->line;
        if (!table_next_cell(t, &c)) return false;
        size_t column = t->column - 1;
        if (column >= t->name.n || r->slot[column] < 0) continue;
        void *dst = r->dst + (size_t)r->slot[column] * width;
        NumberResult k = number_store(r->dtype, c.p, c.n, dst);
        if (k != NUMBER_STORED) return !t->quiet && fail_cell(r, at, &c, k);
    }
    if (t->column != t->name.n)
        return !t->quiet && table_fail_columns(t, line, t->column);
    r->dst += r->nslot * width;
    return true;
}

/* More rows can't follow: each has an end and a cell for each column. */
static int64_t count_rows_at_most(const Table *t) {
    size_t lines = 1, left = (size_t)(t->end - t->p);
    for (const char *p = t->p; (p = line_end(t, p)) < t->end; p++)
        lines++;
    size_t rows = left / t->name.n + 1;
    return (int64_t)(lines < rows ? lines : rows);
}

/* Gives back memory that was reserved for rows that did not come. */
static bool fit_rows(TableRead *r, int64_t rows, Tensor *out) {
    Tensor *t = &r->out;
    int64_t reserved = t->shape[0];
    t->shape[0] = rows;
    if (rows >= reserved - reserved / 8) return *out = *t, *t = (Tensor){0}, true;
    return tensor_clone(r->t.f->s, t, out);
}

static bool read_rows(TableRead *r, Tensor *out) {
    Table *t = &r->t;
    int64_t shape[2] = {count_rows_at_most(t), (int64_t)r->nslot}, rows = 0;
    if (!tensor_new(t->f->s, r->dtype, r->nslot == 1 ? 1 : 2, shape, &r->out))
        return false;
    r->dst = r->out.data;
    for (; table_next_row(t); rows++)
        if (!read_row(r)) return false;
    return fit_rows(r, rows, out);
}

/* ---- reading by several threads ---- */
/* Without quotes, lines are rows: threads count those of each piece of the text, then
 * read them to where they belong. */
enum { PIECE = 1 << 16 };
typedef struct TablePieces {
    const TableRead *r;
    size_t n;
    int64_t *rows; /* by piece; then those before it */
    atomic_bool failed;
} TablePieces;

/* The first line that begins at or after `at` bytes. */
static const char *line_from(const Table *t, size_t at) {
    if (at == 0) return t->p;
    if (at >= (size_t)(t->end - t->p)) return t->end;
    const char *stop = line_end(t, t->p + at - 1);
    return stop < t->end ? stop + 1 : stop;
}

static Table piece_of(const Table *t, size_t piece) {
    Table part = *t;
    part.p = line_from(t, piece * PIECE);
    part.end = line_from(t, (piece + 1) * PIECE);
    part.quiet = true;
    return part;
}

static void count_piece(void *ctx, size_t piece, unsigned worker) {
    TablePieces *q = ctx;
    Table t = piece_of(&q->r->t, piece);
    (void)worker;
    q->rows[piece] = 0;
    for (; table_next_row(&t); q->rows[piece]++) {
        const char *stop = line_end(&t, t.p);
        t.p = stop < t.end ? stop + 1 : stop;
    }
}

static void read_piece(void *ctx, size_t piece, unsigned worker) {
    TablePieces *q = ctx;
    TableRead r = *q->r;
    (void)worker;
    r.t = piece_of(&q->r->t, piece);
    r.dst = (char *)r.out.data + (size_t)q->rows[piece] * r.nslot * dtype_size(r.dtype);
    while (table_next_row(&r.t))
        if (!read_row(&r)) {
            atomic_store(&q->failed, true);
            return;
        }
}

static bool read_counted(TableRead *r, Pool *pool, TablePieces *q, int64_t rows,
                         Tensor *out) {
    int64_t shape[2] = {rows, (int64_t)r->nslot};
    if (!tensor_new(r->t.f->s, r->dtype, r->nslot == 1 ? 1 : 2, shape, &r->out))
        return false;
    pool_run(pool, q->n, read_piece, q);
    if (!q->failed) return *out = r->out, r->out = (Tensor){0}, true;
    tensor_unref(&r->out);
    return read_rows(r, out); /* says what is wrong */
}

static bool read_pieces(TableRead *r, Pool *pool, Tensor *out) {
    size_t bytes = (size_t)(r->t.end - r->t.p);
    TablePieces q = {.r = r, .n = (bytes + PIECE - 1) / PIECE};
    q.rows = mem_alloc(r->t.f->s, q.n * sizeof *q.rows);
    pool_run(pool, q.n, count_piece, &q);
    int64_t rows = 0;
    for (size_t i = 0; i < q.n; i++) {
        int64_t here = q.rows[i];
        q.rows[i] = rows;
        rows += here;
    }
    bool ok = rows <= count_rows_at_most(&r->t)
                  ? read_counted(r, pool, &q, rows, out)
                  : read_rows(r, out); /* most of them lack columns */
    mem_free(q.rows);
    return ok;
}

static bool read_all(TableRead *r, Tensor *out) {
    Table *t = &r->t;
    size_t bytes = (size_t)(t->end - t->p);
    Pool *pool = session_pool(t->f->s);
    return bytes < 4 * PIECE || pool_threads(pool) == 1 || memchr(t->p, '"', bytes)
               ? read_rows(r, out)
               : read_pieces(r, pool, out);
}

bool table_read(const ArrayFile *f, const char *key, Tensor *out) {
    DType want = f->what->want;
    TableRead r = {.dtype = want == DT_NONE ? DT_FLOAT64 : dtype_real(want)};
    f->what->converted = r.dtype != DT_FLOAT64;
    bool ok =
        table_open(f, key, &r.t, &r.wanted) && choose_columns(&r) && read_all(&r, out);
    tensor_unref(&r.out);
    mem_free(r.slot);
    vec_free(&r.wanted);
    table_close(&r.t);
    return ok;
}

/* ---- listing ---- */

typedef struct ColumnKind {
    size_t missing;
    bool text, part; /* not all are numbers; not all of these are whole */
    bool comma;      /* some have a decimal comma */
} ColumnKind;

static void classify_cell(const TableCell *c, ColumnKind *k) {
    int64_t whole;
    double v;
    if (is_missing(c)) {
        k->missing++;
        return;
    }
    k->part |= number_store(DT_INT64, c->p, c->n, &whole) != NUMBER_STORED;
    k->comma |= has_decimal_comma(c);
    k->text |= k->part && number_store(DT_FLOAT64, c->p, c->n, &v) != NUMBER_STORED;
}

static bool classify_row(Table *t, ColumnKind *kind) {
    TableCell c = {.last = false};
    size_t line = t->line;
    while (!c.last) {
        if (!table_next_cell(t, &c)) return false;
        if (t->column <= t->name.n) classify_cell(&c, &kind[t->column - 1]);
    }
    return t->column == t->name.n || table_fail_columns(t, line, t->column);
}

static void add_column(const Table *t, size_t i, const ColumnKind *k, int64_t rows,
                       ValueList *l) {
    const char *name = arena_str(l->a, t->name.p[i], strlen(t->name.p[i]));
    DType d = k->text ? DT_NONE : k->part || k->missing ? DT_FLOAT64 : DT_INT64;
    ValueInfo *v = value_list_add(t->f->s, l, name, d, 1, &rows);
    if (k->text) v->dtype = "text";
    const char *comma = k->comma ? "with decimal commas" : NULL;
    v->more = comma;
    if (k->missing)
        v->more = arena_printf(l->a, "%zu missing%s%s", k->missing, comma ? ", " : "",
                               comma ? comma : "");
}

/* Its columns; int64 are those that can be read so. */
bool table_list(const ArrayFile *f, ValueList *l) {
    Table t;
    TableNames none = {0};
    int64_t rows = 0;
    ColumnKind *kind = NULL;
    bool ok = table_open(f, NULL, &t, &none);
    if (ok) kind = mem_zalloc(f->s, t.name.n, sizeof *kind);
    for (; ok && table_next_row(&t); rows++)
        ok = classify_row(&t, kind);
    for (size_t i = 0; ok && i < t.name.n; i++)
        add_column(&t, i, &kind[i], rows, l);
    mem_free(kind);
    table_close(&t);
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
