/* The rows of *.rows: what an ONNX op means.
 *
 *     Gemm(A, B, [C], alpha=1.0, beta=1.0, transA=0, transB=0) -> Y since 7
 *         ab = (A.T if transA else A) @ (B.T if transB else B)
 *         Y = alpha * ab + beta * C if given(C) else alpha * ab
 *
 * The head has the inputs, then the attributes with their defaults, the outputs, and
 * the opsets (`since`, `until`, both included). An input is [optional], (of any
 * number,), known(when the graph is made), maybe(known); [known(k)] is both. A line
 * `domain NAME` says whose ops follow. */
#include "io/onnx/onnx_impl.h"

#include <stdlib.h>

struct OnnxRows {
    Session *s;
    Arena *a;  /* of the syntax trees */
    Map first; /* sym of "domain:op" -> OnnxRow */
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
    size_t n = strcspn(line, "\n"), name = strcspn(line, "("),
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
}

static void add_rows(OnnxRows *rows, const OnnxRowText *of) {
    uint32_t source = source_add(rows->s, of->file, of->text, strlen(of->text));
    const char *text = source_get(rows->s, source)->text, *domain = "";
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        if (strncmp(p, "domain ", 7) == 0)
            domain = arena_str(rows->a, p + 7, n - 7);
        else if (ascii_is_letter(*p))
            add_row(rows, source, text, p, domain);
        p += n + (p[n] == '\n');
    }
}

OnnxRows *onnx_rows_new(Session *s, Arena *a) {
    OnnxRows *rows = NEW(a, OnnxRows);
    *rows = (OnnxRows){s, a, MAP(s)};
    for (size_t i = 0; onnx_row_texts[i].file; i++)
        add_rows(rows, &onnx_row_texts[i]);
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

static void parse_row(OnnxRows *rows, OnnxRow *row) {
    const char *text = source_get(rows->s, row->head.source)->text;
    const char *p = text + row->head.begin, *end = text + row->head.end;
    const char *arrow = strstr(p, " -> ");
    if (!arrow || arrow > end) bad_row(row, "it has no outputs");
    Span call = {row->head.source, row->head.begin, (uint32_t)(arrow - text)};
    const Ast *e = ast_parse(rows->s, rows->a, call);
    if (!e || e->kind != AST_CALL) bad_row(row, "its head is no call");
    parse_call(rows, row, e);
    parse_outputs(rows, row, arrow + 4, end);
    if (!ast_parse_block(rows->s, rows->a, row->body, &row->line, &row->nline))
        bad_row(row, diag_get(rows->s, diag_count(rows->s) - 1)->text);
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
