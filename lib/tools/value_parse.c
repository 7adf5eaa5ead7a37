/* VALUEs of a command line: texts in the language, compiled for the receiving variable
 * in a small graph of their own, run, and passed through the type's filter. */
#include "lang/expr.h"
#include "os/file.h"
#include "tools/tools.h"
#include "value/transfer.h"

#include <string.h>

bool value_split_label(Session *s, Span text, Span *label, Span *value) {
    const char *p = source_get(s, text.source)->text + text.begin;
    const char *eq = memchr(p, '=', text.end - text.begin);
    if (!eq || eq == p) return false;
    uint32_t at = text.begin + (uint32_t)(eq - p);
    *label = (Span){text.source, text.begin, at};
    *value = (Span){text.source, at + 1, text.end};
    while (label->end > label->begin && eq[-1] == ' ')
        label->end--, eq--;
    return label->end > label->begin;
}

bool value_split_name(Session *s, Span text, Span *name, Span *value) {
    if (!value_split_label(s, text, name, value)) return false;
    const char *p = source_get(s, text.source)->text + name->begin;
    return !memchr(p, '/', name->end - name->begin);
}

/* ---- @FILE ---- */
static void add_quoted(Str *out, const char *p, size_t n) {
    str_putc(out, '\'');
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\'' || p[i] == '\\') str_putc(out, '\\');
        str_putc(out, p[i]);
    }
    str_putc(out, '\'');
}

/* The longest prefix of p[0..n) that is an existing path. 0: none. */
static size_t longest_path(Session *s, const char *p, size_t n) {
    for (size_t len = n; len; len--) {
        bool at_end = len == n || p[len] == ':' || p[len] == '[';
        if (!at_end) continue;
        Str path = STR(s);
        str_add(&path, p, len);
        bool there = strcmp(str_text(&path), "-") == 0 || file_exists(str_text(&path));
        str_free(&path);
        if (there) return len;
    }
    return 0;
}

/* Rewrites "@F:key[index]" as load('F', 'key')[index]. */
static bool expand_at(Session *s, Span text, Span *out) {
    const Source *src = source_get(s, text.source);
    const char *p = src->text + text.begin + 1;
    size_t n = text.end - text.begin - 1, len = longest_path(s, p, n);
    if (!len) {
        len = strcspn(p, "[") < n ? strcspn(p, "[") : n;
        return fail(s, text, E_IO, "there is no file %.*s", (int)len, p);
    }
    Str load = STR(s);
    str_puts(&load, "load(");
    add_quoted(&load, p, len);
    if (len < n && p[len] == ':') {
        size_t key = ++len;
        while (len < n && p[len] != '[')
            len++;
        str_puts(&load, ", ");
        add_quoted(&load, p + key, len - key);
    }
    str_putc(&load, ')');
    str_add(&load, p + len, n - len);
    uint32_t source = source_add(s, src->name, str_text(&load), load.n);
    *out = (Span){source, 0, (uint32_t)load.n};
    str_free(&load);
    return true;
}

/* ---- compiling and running ---- */
static bool eval_value(Graph *g, Var v, Value *out) {
    const Tensor *c = var_const(g, v);
    if (!c) return services(g->s)->eval(g, 1, &v, out);
    *out = (Value){.kind = TYPE_TENSOR};
    tensor_copy_view(&out->t, c);
    return true;
}

static bool compile_value(Session *s, Span text, const Type *t, Filter how,
                          const char *what, Value *out) {
    ReadOptions reading = READ_DEFAULT;
    Graph *g = io_new(s, &reading);
    const Type *core = t;
    while (core && core->kind == TYPE_LIST)
        core = core->elem;
    if (core && core->dtype != DT_NONE && dtype_is_float(core->dtype))
        g->floatX = core->dtype;
    Builder b = builder(g, true);
    b.from.at = text;
    Compiler *c = compiler_new(&b);
    Var v;
    io_allow_load(c, NULL);
    compiler_set_filter(c, how, what);
    bool ok = compiler_expr(c, text, t, &v) && eval_value(g, v, out);
    compiler_free(c);
    graph_free(g);
    return ok;
}

/* Of n things in `of` parts, those of part i begin here. */
static int64_t part_bound(int64_t n, int64_t i, int64_t of) {
    return n / of * i + n % of * i / of;
}

static bool cut_rows(Session *s, const Value *v, Span at, const char *what,
                     ValueRows *q) {
    if (v->kind != TYPE_TENSOR || !v->t.ndim)
        return fail(s, at, v->kind == TYPE_TENSOR ? E_SHAPE : E_TYPE,
                    "%s is %s: it has no rows to cut", what,
                    v->kind == TYPE_TENSOR ? "0-d" : "no dense array");
    q->rows = v->t.shape[0];
    int64_t n = q->rows / q->unit + (!q->full && q->rows % q->unit);
    q->units = n;
    q->begin = part_bound(n, q->part, q->of) * q->unit;
    q->end = part_bound(n, q->part + 1, q->of) * q->unit;
    if (q->end > q->rows) q->end = q->rows;
    if (q->begin > q->end) q->begin = q->end;
    return true;
}

bool value_compile_rows(Session *s, Span text, const Type *t, Filter how,
                        const char *what, ValueRows *rows, Value *out) {
    const Source *src = source_get(s, text.source);
    while (text.begin < text.end && src->text[text.begin] == ' ')
        text.begin++;
    Span place = text;
    if (text.begin < text.end && src->text[text.begin] == '@' &&
        !expand_at(s, text, &text))
        return false;
    Value v = {0};
    if (!compile_value(s, text, t, how, what, &v)) return false;
    if (rows) {
        if (!cut_rows(s, &v, place, what, rows)) return value_unref(&v), false;
        v.t.shape[0] = rows->end - rows->begin;
        if (v.t.shape[0]) v.t.data = (char *)v.t.data + rows->begin * v.t.stride[0];
    }
    if (!t) return *out = v, true;
    bool ok = value_bind(s, t, &v, &(Receiver){how, what, place}, out);
    value_unref(&v);
    return ok;
}

bool value_compile(Session *s, Span text, const Type *t, Filter how, const char *what,
                   Value *out) {
    return value_compile_rows(s, text, t, how, what, NULL, out);
}
