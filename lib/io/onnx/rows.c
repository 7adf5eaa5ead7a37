/* The rows of *.rows: what an ONNX op means.
 *
 *     Gemm(A, B, [C], alpha=1.0, beta=1.0, transA=0, transB=0) -> Y since 7
 *         ab = (A.T if transA else A) @ (B.T if transB else B)
 *         Y = alpha * ab + beta * C if given(C) else alpha * ab
 *
 * The head has the inputs, then the attributes with their defaults, the outputs, and
 * the opsets (`since`, `until`, both included). An input is [optional], (of any
 * number,), known(when the graph is made), maybe(known), statistic(measured, so that it
 * is no weight to be learned); [known(k)] is both. A line
 * `domain NAME` says whose ops follow. Rows of *.to say what an op of ours becomes:
 * their heads have only its name and the opsets. */
#include "base/embedded.h"
#include "io/onnx/onnx_impl.h"

#include <stdlib.h>

struct OnnxRows {
    Session *s;
    Arena *a;  /* of the syntax trees */
    Map first; /* sym of "domain:op" -> OnnxRow */
    const EmbeddedText *texts;
    OnnxRow *begin, *end; /* in the order of the texts */
};

Sym onnx_op_key(Session *s, ProtoText domain, ProtoText op) {
    Str b = STR(s);
    if (!proto_text_is(domain, "ai.onnx"))
        str_add(&b, domain.p ? domain.p : "", domain.n);
    str_putc(&b, ':');
    str_add(&b, op.p ? op.p : "", op.n);
    Sym y = sym_n(s, b.p, b.n);
    str_free(&b);
    return y;
}

/* The number after a word of a head's end, such as `since 7`. */
static int64_t number_after(const char *p, size_t n, const char *word,
                            int64_t otherwise) {
    size_t len = strlen(word);
    for (size_t i = 0; i + len < n; i++)
        if (memcmp(p + i, word, len) == 0) return strtoll(p + i + len, NULL, 10);
    return otherwise;
}

/* The length of a row's lines: those that begin with a blank. */
static size_t body_length(const char *p) {
    size_t n = 0;
    while (p[n] == ' ' || p[n] == '\n')
        n += strcspn(p + n, "\n") + (p[n + strcspn(p + n, "\n")] == '\n');
    return n;
}

static void add_row(OnnxRows *rows, uint32_t source, const char *text, const char *line,
                    const char *domain) {
    size_t n = strcspn(line, "\n"), name = strcspn(line, "( \n"),
           at = (size_t)(line - text);
    OnnxRow *row = NEW(rows->a, OnnxRow);
    row->op = arena_str(rows->a, line, name);
    row->domain = domain;
    row->since = number_after(line, n, " since ", 1);
    row->until = number_after(line, n, " until ", INT64_MAX);
    row->head = (Span){source, (uint32_t)at, (uint32_t)(at + n)};
    size_t body = at + n + (line[n] == '\n');
    row->body =
        (Span){source, (uint32_t)body, (uint32_t)(body + body_length(text + body))};
    Sym key = onnx_op_key(rows->s, (ProtoText){domain, strlen(domain)},
                          (ProtoText){line, name});
    uint64_t have;
    row->next = map_get(&rows->first, key, &have) ? (OnnxRow *)(uintptr_t)have : NULL;
    map_put(&rows->first, key, (uintptr_t)row);
    if (rows->end) rows->end->after = row;
    if (!rows->begin) rows->begin = row;
    rows->end = row;
}

#define ACCEPTS "accepts "

static void add_rows(OnnxRows *rows, const EmbeddedText *of) {
    uint32_t source = source_add(rows->s, of->file, of->text, strlen(of->text));
    const char *text = source_get(rows->s, source)->text, *domain = "";
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        if (strncmp(p, "domain ", 7) == 0)
            domain = arena_str(rows->a, p + 7, n - 7);
        else if (ascii_is_letter(*p) && strncmp(p, ACCEPTS, strlen(ACCEPTS)) != 0)
            add_row(rows, source, text, p, domain);
        p += n + (p[n] == '\n');
    }
}

OnnxRows *onnx_rows_new(Session *s, Arena *a, const EmbeddedText *texts) {
    OnnxRows *rows = NEW(a, OnnxRows);
    *rows = (OnnxRows){.s = s, .a = a, .first = MAP(s), .texts = texts};
    for (size_t i = 0; texts[i].file; i++)
        add_rows(rows, &texts[i]);
    return rows;
}

void onnx_rows_free(OnnxRows *rows) {
    map_free(&rows->first);
}

/* ---- heads ---- */

static _Noreturn void bad_row(const OnnxRow *row, const char *why) {
    bug("the row of the ONNX op %s: %s", row->op, why);
}

static const Ast *only_kid(const OnnxRow *row, const Ast *e) {
    if (e->nkid != 1) bad_row(row, "an input in brackets is not one name");
    return e->kid[0];
}

static OnnxParam read_param(const OnnxRow *row, Session *s, const Ast *e) {
    OnnxParam p = {0};
    for (; e->kind != AST_NAME; e = only_kid(row, e)) {
        const char *f = e->kind == AST_CALL ? sym_text(s, e->sym) : "";
        p.optional |= e->kind == AST_LIST;
        p.rest |= e->kind == AST_TUPLE;
        p.known |= strcmp(f, "known") == 0;
        p.maybe |= strcmp(f, "maybe") == 0;
        p.statistic |= strcmp(f, "statistic") == 0;
    }
    p.name = e->sym;
    return p;
}

static void parse_call(OnnxRows *rows, OnnxRow *row, const Ast *call) {
    OnnxParam *param = NEW_N(rows->a, call->nkid + 1, OnnxParam);
    OnnxDefault *attribute = NEW_N(rows->a, call->nkid + 1, OnnxDefault);
    for (size_t i = 0; i < call->nkid; i++) {
        const Ast *e = call->kid[i];
        if (e->kind == AST_KEYWORD)
            attribute[row->nattribute++] = (OnnxDefault){e->sym, e->kid[0]};
        else
            param[row->nparam++] = read_param(row, rows->s, e);
    }
    row->param = param;
    row->attribute = attribute;
}

static void parse_outputs(OnnxRows *rows, OnnxRow *row, const char *p,
                          const char *end) {
    Sym *out = NEW_N(rows->a, (size_t)(end - p) + 1, Sym);
    row->rest_out = *p == '(';
    for (p += row->rest_out; p < end && ascii_is_word(*p); p += strspn(p, ", ")) {
        size_t n = 0;
        while (p + n < end && ascii_is_word(p[n]))
            n++;
        out[row->nout++] = sym_n(rows->s, p, n);
        p += n;
        if (*p == ' ') break; /* since, until */
    }
    row->out = out;
}

static void parse_head(OnnxRows *rows, OnnxRow *row) {
    const char *text = source_get(rows->s, row->head.source)->text;
    const char *p = text + row->head.begin, *end = text + row->head.end;
    const char *arrow = strstr(p, " -> ");
    if (!arrow || arrow > end) bad_row(row, "it has no outputs");
    Span call = {row->head.source, row->head.begin, (uint32_t)(arrow - text)};
    const Ast *e = ast_parse(rows->s, rows->a, call);
    if (!e || e->kind != AST_CALL) bad_row(row, "its head is no call");
    parse_call(rows, row, e);
    parse_outputs(rows, row, arrow + 4, end);
}

static bool has_call(const OnnxRow *row, Sym name) {
    for (size_t i = 0; i < row->ncall; i++)
        if (row->call[i] == name) return true;
    return false;
}

/* Names with a capital that are called: nodes of ONNX. */
static void collect_calls(OnnxRows *rows, OnnxRow *row, const Ast *e) {
    for (size_t i = 0; e && i < e->nkid; i++)
        collect_calls(rows, row, e->kid[i]);
    if (!e || e->kind != AST_CALL || has_call(row, e->sym)) return;
    char first = sym_text(rows->s, e->sym)[0];
    if (first < 'A' || first > 'Z') return;
    Sym *call = NEW_N(rows->a, row->ncall + 1, Sym);
    if (row->ncall) memcpy(call, row->call, row->ncall * sizeof *call);
    call[row->ncall++] = e->sym;
    row->call = call;
}

/* A row of the reader has a head; one of the writer takes the names from the op. */
static void parse_row(OnnxRows *rows, OnnxRow *row) {
    if (rows->texts == onnx_texts) parse_head(rows, row);
    if (!ast_parse_block(rows->s, rows->a, row->body, &row->line, &row->nline))
        bad_row(row, diag_get(rows->s, diag_count(rows->s) - 1)->text);
    for (size_t i = 0; rows->texts != onnx_texts && i < row->nline; i++)
        collect_calls(rows, row, row->line[i]);
    row->parsed = true;
}

const OnnxRow *onnx_row(OnnxRows *rows, ProtoText domain, ProtoText op, int64_t opset) {
    uint64_t p;
    if (!map_get(&rows->first, onnx_op_key(rows->s, domain, op), &p)) return NULL;
    OnnxRow *row = (OnnxRow *)(uintptr_t)p;
    while (row && (opset < row->since || opset > row->until))
        row = row->next;
    if (row && !row->parsed) parse_row(rows, row);
    return row;
}

OnnxRow *onnx_rows_next(OnnxRows *rows, const OnnxRow *after, int64_t opset) {
    OnnxRow *row = after ? after->after : rows->begin;
    while (row && (*row->domain || opset < row->since || opset > row->until))
        row = row->after;
    if (row && !row->parsed) parse_row(rows, row);
    return row;
}

/* ---- dtypes ---- */

static uint64_t read_dtypes(const char **p) {
    uint64_t all = 0;
    while (**p && **p != ':' && **p != '\n') {
        size_t n = strcspn(*p, " :\n");
        DType d = dtype_find(*p, n);
        if (d == DT_NONE) bug("the dtype %.*s of a row", (int)n, *p);
        all |= UINT64_C(1) << d;
        *p += n + strspn(*p + n, " ");
    }
    *p += **p == ':';
    return all;
}

void onnx_rows_accepts(OnnxRows *rows, Map *accepts) {
    for (const EmbeddedText *t = rows->texts; t->file; t++)
        for (const char *p = t->text; *p; p += *p == '\n') {
            if (strncmp(p, ACCEPTS, strlen(ACCEPTS)) != 0) {
                p += strcspn(p, "\n");
                continue;
            }
            p += strlen(ACCEPTS);
            uint64_t dtypes = read_dtypes(&p);
            for (p += strspn(p, " "); *p && *p != '\n'; p += strspn(p, " ")) {
                size_t n = strcspn(p, " \n");
                map_put(accepts, sym_n(rows->s, p, n), dtypes);
                p += n;
            }
        }
}

/* ---- versions ---- */

bool onnx_row_versions(OnnxRows *rows, ProtoText domain, ProtoText op, int64_t *from,
                       int64_t *to) {
    uint64_t p;
    if (!map_get(&rows->first, onnx_op_key(rows->s, domain, op), &p)) return false;
    *from = INT64_MAX;
    *to = 0;
    for (OnnxRow *row = (OnnxRow *)(uintptr_t)p; row; row = row->next) {
        if (row->since < *from) *from = row->since;
        if (row->until > *to) *to = row->until;
    }
    return true;
}
