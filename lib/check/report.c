/* Findings, kept until they are reported: diagnostics of kernels that fail in a trial
 * are dropped, findings stay. */
#include "check/check_impl.h"
#include "io/io.h"
#include "lang/print/print.h"

#include <math.h>
#include <string.h>

enum { SHOWN = 8, PLACES = 10, TREE_DEPTH = 6, SCANNED = 1 << 22 };

uint64_t check_key(DiagCode code, const void *what, uint64_t more) {
    return hash_mix(hash_mix((uint64_t)code, (uint64_t)(uintptr_t)what), more);
}

static const char *text_of(Check *c, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
static const char *text_of(Check *c, const char *fmt, va_list ap) {
    Str b = STR(c->s);
    str_vprintf(&b, fmt, ap);
    const char *text = arena_str(c->a, str_text(&b), b.n);
    str_free(&b);
    return text;
}

static bool add_finding(Check *c, Diag d, uint64_t key, const char *fmt, va_list ap)
    __attribute__((format(printf, 4, 0)));
static bool add_finding(Check *c, Diag d, uint64_t key, const char *fmt, va_list ap) {
    size_t *count = d.severity == DIAG_ERROR ? &c->found : &c->warned;
    if (c->limit) return false;
    if (map_get(&c->reported, key, NULL) || *count >= c->o.most) {
        c->hidden += d.severity == DIAG_ERROR;
        return false;
    }
    map_put(&c->reported, key, 1);
    ++*count;
    Finding *f = NEW(c->a, Finding);
    f->d = d;
    f->d.text = text_of(c, fmt, ap);
    *c->last = f;
    c->last = &f->next;
    c->newest = f;
    return true;
}

bool found(Check *c, DiagCode code, uint64_t key, Span at, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    Diag d = {.severity = DIAG_ERROR, .code = code, .at = at};
    bool new = add_finding(c, d, key, fmt, ap);
    va_end(ap);
    return new;
}

bool found_warning(Check *c, DiagCode code, uint64_t key, Span at, const char *fmt,
                   ...) {
    va_list ap;
    va_start(ap, fmt);
    Diag d = {.severity = DIAG_WARNING, .code = code, .at = at};
    bool new = add_finding(c, d, key, fmt, ap);
    va_end(ap);
    return new;
}

void found_note(Check *c, Span at, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    DiagNote *n = NEW(c->a, DiagNote), **end = &c->newest->d.notes;
    *n = (DiagNote){.at = at, .text = text_of(c, fmt, ap)};
    va_end(ap);
    while (*end)
        end = &(*end)->next;
    *end = n;
}

void found_hint(Check *c, Hint h) {
    DiagNote *n = c->newest->d.notes;
    found_note(c, NOWHERE, "%s", hint_text(h));
    while (n->next)
        n = n->next;
    n->hint = h;
}

bool check_full(const Check *c) {
    return c->found >= c->o.most || c->limit;
}

const char *check_forget(Check *c, size_t mark) {
    const char *text = "it gives no reason";
    const Diag *limit = NULL;
    for (size_t i = diag_count(c->s); i-- > mark;) {
        const Diag *d = diag_get(c->s, i);
        if (d->severity != DIAG_ERROR) continue;
        text = d->text;
        if (d->code == E_MEM || d->code == E_LIMIT ||
            atomic_load(session_expired(c->s)))
            limit = d;
    }
    text = arena_str(c->a, text, strlen(text));
    if (limit && !c->limit) {
        c->limit = arena_str(c->a, limit->text, strlen(limit->text));
        c->limit_code = limit->code;
        c->limit_at = limit->at;
    }
    diag_rewind(c->s, mark);
    return text;
}

bool check_tell(Check *c) {
    if (atomic_load(session_expired(c->s))) return session_fail_expired(c->s, NOWHERE);
    if (c->limit) {
        fail(c->s, c->limit_at, c->limit_code, "%s", c->limit);
        return c->limit_code == E_MEM && hint(c->s, HINT_DEBUG_MEMORY);
    }
    for (Finding *f = c->first; f; f = f->next) {
        if (f->d.severity == DIAG_ERROR)
            fail(c->s, f->d.at, f->d.code, "%s", f->d.text);
        else
            warn(c->s, f->d.at, f->d.code, "%s", f->d.text);
        for (const DiagNote *n = f->d.notes; n; n = n->next)
            n->hint ? hint(c->s, n->hint) : note(c->s, n->at, "%s", n->text);
    }
    if (c->found && c->hidden)
        note(c->s, NOWHERE, "%zu more of these were found", c->hidden);
    c->first = NULL;
    c->last = &c->first;
    c->hidden = 0;
    return c->found == 0;
}

/* ---- notes ---- */
void check_note_apply(Check *c, const Graph *g, ApplyId a) {
    Str b = STR(c->s);
    print_apply(g, a, &b);
    if (g->main != g)
        str_printf(&b, ", of the %s %s", g->fused ? "fused group" : "function",
                   sym_text(c->s, g->name));
    else if (g != c->log_graph && g != c->ready)
        str_printf(&b, ", of the definition of %s", sym_text(c->s, g->name));
    found_note(c, NOWHERE, "in %s", str_text(&b));
    str_free(&b);
}

static void tensor_note(Check *c, const char *label, const Tensor *t) {
    Str b = STR(c->s);
    Stats q = tensor_stats(t);
    str_puts(&b, dtype_name(t->dtype));
    shape_text(c->s, t->ndim, t->shape, &b);
    str_puts(&b, ", strides ");
    shape_text(c->s, t->ndim, t->stride, &b);
    str_printf(&b, ", min %.9g, max %.9g", q.min, q.max);
    if (q.nans || q.infs)
        str_printf(&b, ", %lld nan, %lld inf", (long long)q.nans, (long long)q.infs);
    if (q.size <= SHOWN) {
        str_puts(&b, ": ");
        tensor_text(c->s, t, -1, &b);
    }
    found_note(c, NOWHERE, "%s: %s", label, str_text(&b));
    str_free(&b);
}

void check_note_value(Check *c, const char *label, const Value *v) {
    if ((v->kind == TYPE_TENSOR || v->kind == TYPE_RANDOM) && v->t.data) {
        tensor_note(c, label, &v->t);
        return;
    }
    Str b = STR(c->s);
    value_show(c->s, v, &b);
    found_note(c, NOWHERE, "%s: %s", label, str_text(&b));
    str_free(&b);
}

void check_note_tree(Check *c, const char *label, const Graph *g, Var v) {
    Str b = STR(c->s);
    tree_of_var(g, v, TREE_DEPTH, &b);
    if (b.n && b.p[b.n - 1] == '\n') b.p[--b.n] = '\0';
    found_note(c, NOWHERE, "%s:\n%s", label, str_text(&b));
    str_free(&b);
}

/* ---- differences ---- */
typedef struct Differences {
    int64_t n;
    double worst, sum, worst_rel;
    Str places;
} Differences;

Tensor check_element(const Tensor *t, int64_t i, int64_t index[MAX_NDIM]) {
    Tensor e = *t;
    e.ndim = 0;
    for (int k = t->ndim - 1; k >= 0; k--) {
        index[k] = i % t->shape[k];
        i /= t->shape[k];
        e.data = (char *)e.data + index[k] * t->stride[k];
    }
    return e;
}

double check_distance(const Tensor *a, const Tensor *b) {
    double x[2] = {0, 0}, y[2] = {0, 0};
    tensor_cast_elements(DT_COMPLEX128, x, a->dtype, a->data, 1, 16, 0);
    tensor_cast_elements(DT_COMPLEX128, y, b->dtype, b->data, 1, 16, 0);
    return hypot(x[0] - y[0], x[1] - y[1]);
}

static void put_place(Check *c, Differences *d, int ndim, const int64_t *index,
                      const Tensor *a, const Tensor *b) {
    str_puts(&d->places, d->n == 1 ? "at " : "; at ");
    shape_text(c->s, ndim, index, &d->places);
    str_putc(&d->places, ' ');
    tensor_element_text(c->s, a->dtype, a->data, &d->places);
    str_puts(&d->places, " and ");
    tensor_element_text(c->s, b->dtype, b->data, &d->places);
}

static void count_difference(Check *c, Differences *d, const Tensor *a, const Tensor *b,
                             int64_t i, Approx how) {
    int64_t index[MAX_NDIM];
    Tensor x = check_element(a, i, index), y = check_element(b, i, index);
    if (tensor_approx(&x, &y, how, NULL)) return;
    double gap = check_distance(&x, &y), size = fabs(tensor_f64(&y, 0));
    d->sum += gap;
    if (gap > d->worst) d->worst = gap;
    if (size > 0 && gap / size > d->worst_rel) d->worst_rel = gap / size;
    if (++d->n <= PLACES) put_place(c, d, a->ndim, index, &x, &y);
}

void check_note_difference(Check *c, const Value *want, const Value *got, Approx how) {
    const Tensor *a = &want->t, *b = &got->t;
    if (want->kind != got->kind || want->kind != TYPE_TENSOR || a->dtype != b->dtype ||
        !tensor_same_shape(a, b))
        return;
    Differences d = {.places = STR(c->s)};
    int64_t size = tensor_size(a), n = size < SCANNED ? size : SCANNED;
    for (int64_t i = 0; i < n; i++)
        count_difference(c, &d, a, b, i, how);
    double rtol, atol;
    tensor_tolerance(a->dtype, how, &rtol, &atol);
    found_note(c, NOWHERE, "%s%s", str_text(&d.places), d.n > PLACES ? "; ..." : "");
    found_note(c, NOWHERE,
               "%lld of %lld differ; absolute difference at most %.9g, on average "
               "%.9g; relative at most %.9g; tolerance rtol %g, atol %g",
               (long long)d.n, (long long)n, d.worst, d.n ? d.sum / (double)d.n : 0.0,
               d.worst_rel, rtol, atol);
    str_free(&d.places);
}
