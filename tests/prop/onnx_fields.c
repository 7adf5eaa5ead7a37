/* Models of ONNX with one field of any message changed: left out, given twice, another
 * number, an empty or a longer text, a message without fields. Each is read as a graph
 * that passes graph_check, and can be written again or is refused, or it is one error.
 * The models are the examples of all ops and those of tests/data/onnx. */
#include "io/onnx/model.h"
#include "models.h"

enum { EVERY = 29, FIELD_MOST = 1 << 12 };

typedef enum Change {
    LEAVE_OUT,
    REPEAT,
    ZERO, /* a number, a text or a message without content */
    MORE, /* the next number, a longer text */
    LESS, /* -1, a shorter text */
    HUGE,
    CHANGES
} Change;

typedef struct Copy {
    Session *s;
    size_t field, seen; /* the field to change, and how many were met */
    Change change;
    bool changed;
} Copy;

/* ---- the wire format ---- */
static bool get_varint(const uint8_t **p, const uint8_t *end, uint64_t *v) {
    *v = 0;
    for (int shift = 0; *p < end && shift < 64; shift += 7) {
        uint8_t b = *(*p)++;
        *v |= (uint64_t)(b & 0x7F) << shift;
        if (b < 0x80) return true;
    }
    return false;
}

static void put_varint(Str *out, uint64_t v) {
    for (; v >= 0x80; v >>= 7)
        str_putc(out, (char)(v | 0x80));
    str_putc(out, (char)v);
}

typedef struct Wire {
    uint64_t tag, number; /* the number is a length for bytes */
    const uint8_t *p;
    size_t n;
} Wire;

static bool get_wire(const uint8_t **p, const uint8_t *end, Wire *w) {
    if (!get_varint(p, end, &w->tag)) return false;
    unsigned type = (unsigned)w->tag & 7;
    w->number = 0;
    if (type == 0) return get_varint(p, end, &w->number);
    if (type == 2 && !get_varint(p, end, &w->number)) return false;
    w->n = type == 1 ? 8 : type == 5 ? 4 : (size_t)w->number;
    w->p = *p;
    if ((type != 1 && type != 2 && type != 5) || w->n > (size_t)(end - *p))
        return false;
    *p += w->n;
    return true;
}

static void put_wire(Str *out, const Wire *w) {
    put_varint(out, w->tag);
    if ((w->tag & 7) == 0) put_varint(out, w->number);
    if ((w->tag & 7) == 2) put_varint(out, w->n);
    if ((w->tag & 7) != 0) str_add(out, (const char *)w->p, w->n);
}

/* ---- one change ---- */
static bool change_number(Change how, uint64_t *v) {
    static const uint64_t huge = UINT64_C(1) << 62;
    uint64_t old = *v;
    *v = how == ZERO ? 0 : how == MORE ? old + 1 : how == LESS ? UINT64_MAX : huge;
    return *v != old;
}

/* The bytes of a text or of a number of fixed size. */
static bool change_bytes(Change how, Wire *w) {
    static const uint8_t nan[8] = {0, 0, 0xC0, 0x7F, 0, 0, 0xF8, 0x7F}, zero[8];
    if ((w->tag & 7) != 2) {
        w->p = how == ZERO ? zero : w->n == 8 ? nan : how == HUGE ? nan : zero + 4;
        return how != LESS;
    }
    if (how == ZERO || how == LESS) {
        if (w->n == 0) return false;
        w->n = how == ZERO ? 0 : w->n - 1;
        return true;
    }
    if (how == HUGE) return false;
    uint8_t *longer = arena_alloc(session_arena(s), w->n + 1);
    if (w->n) memcpy(longer, w->p, w->n);
    longer[w->n++] = 'x';
    w->p = longer;
    return true;
}

static bool change_field(Change how, bool message, Wire *w, Str *out) {
    if (how == LEAVE_OUT) return true;
    if (how == REPEAT) {
        put_wire(out, w);
        put_wire(out, w);
        return true;
    }
    bool changed;
    if (message) {
        changed = how == ZERO && w->n > 0;
        w->n = 0;
    } else {
        changed =
            (w->tag & 7) == 0 ? change_number(how, &w->number) : change_bytes(how, w);
    }
    put_wire(out, w);
    return changed;
}

static const ProtoField *field_of(const ProtoMessage *m, uint64_t number) {
    for (size_t i = 0; m && i < m->nfield; i++)
        if (m->field[i].number == number) return &m->field[i];
    return NULL;
}

static void copy_message(Copy *c, const ProtoMessage *m, const uint8_t *p, size_t n,
                         Str *out) {
    const uint8_t *end = p + n;
    Wire w;
    while (p < end && get_wire(&p, end, &w)) {
        const ProtoField *f = field_of(m, w.tag >> 3);
        bool message = f && f->message && (w.tag & 7) == 2,
             here = c->seen++ == c->field;
        Str inner = STR(c->s);
        if (message && !here) {
            copy_message(c, f->message, w.p, w.n, &inner);
            w.p = (const uint8_t *)inner.p;
            w.n = inner.n;
        }
        if (here)
            c->changed = change_field(c->change, message, &w, out);
        else
            put_wire(out, &w);
        str_free(&inner);
    }
}

/* ---- what is read ---- */
static void write_again(Graph *g, const char *model) {
    Str out = STR(s);
    bool written = io_text(g, &(WriteOptions){.format = IO_ONNX}, &out);
    CHECK(errors_of(s) == !written, "%s: written with %zu errors", model, errors_of(s));
    str_free(&out);
}

static void read_changed(const char *model, const Copy *c, const Str *bytes) {
    Graph *g = io_read_mem(s, "changed", bytes->p, bytes->n, NULL);
    size_t errors = errors_of(s);
    const Diag *d = diag_first_error(s);
    CHECK(errors == !g, "%s, field %zu, change %d: %s with %zu errors: %s", model,
          c->field, (int)c->change, g ? "read" : "refused", errors, d ? d->text : "");
    diag_clear(s);
    if (!g) return;
    CHECK(graph_check(g), "%s, field %zu, change %d: %s", model, c->field,
          (int)c->change, diag_first_error(s) ? diag_first_error(s)->text : "");
    diag_clear(s);
    write_again(g, model);
    diag_clear(s);
    graph_free(g);
}

/* Each EVERY'th pair of field and change, or as the environment says. */
static unsigned pairs_apart(void) {
    const char *text = getenv("EVERY");
    unsigned n = text ? (unsigned)strtoul(text, NULL, 10) : EVERY;
    return n ? n : 1;
}

static void change_model(const char *name, const uint8_t *p, size_t n) {
    static unsigned turn;
    Copy c = {.s = s, .field = SIZE_MAX};
    Str all = STR(s);
    copy_message(&c, &onnx_model_message, p, n, &all);
    size_t fields = c.seen < FIELD_MOST ? c.seen : FIELD_MOST;
    CHECK(all.n == n && memcmp(all.p, p, n) == 0, "%s: is not what it was", name);
    str_free(&all);
    unsigned every = pairs_apart();
    for (size_t k = 0; k < fields * CHANGES; k++) {
        if (turn++ % every != 0) continue;
        Copy change = {.s = s, .field = k / CHANGES, .change = (Change)(k % CHANGES)};
        Str bytes = STR(s);
        copy_message(&change, &onnx_model_message, p, n, &bytes);
        if (change.changed) read_changed(name, &change, &bytes);
        str_free(&bytes);
        trials++;
    }
}

int main(void) {
    models_each(change_model);
    CHECK(trials > 1000, "only %zu changes were tried", trials);
    return TEST_END("prop onnx_fields");
}
