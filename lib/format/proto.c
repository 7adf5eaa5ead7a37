#include "format/proto.h"

#include "base/mem.h"
#include "os/file.h"

typedef enum Wire { WIRE_VARINT, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 } Wire;

/* ---- the wire ---- */

typedef struct ProtoReader {
    Session *s; /* NULL: only looking, nothing is diagnosed */
    Arena *a;
    const char *name;
    const unsigned char *begin, *p, *end; /* begin: of the file */
    const ProtoMessage *message;
    int depth;
} ProtoReader;
/* A field as it stands: a number or bytes. */
typedef struct ProtoItem {
    uint32_t number;
    Wire wire;
    uint64_t value;
    const unsigned char *p;
    size_t n;
} ProtoItem;

static bool fail_proto(const ProtoReader *r, DiagCode code, const char *why) {
    return r->s && fail(r->s, NOWHERE, code, "%s is damaged: in %s, at byte %zu, %s",
                        r->name, r->message->name, (size_t)(r->p - r->begin), why);
}

static bool read_varint(ProtoReader *r, uint64_t *v) {
    *v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (r->p == r->end)
            return fail_proto(r, E_TRUNCATED, "a number ends too early");
        unsigned char c = *r->p++;
        *v |= (uint64_t)(c & 0x7F) << shift;
        if (!(c & 0x80)) return true;
    }
    return fail_proto(r, E_FORMAT, "a number has more than 64 bits");
}

static bool read_fixed(ProtoReader *r, size_t width, uint64_t *v) {
    if ((size_t)(r->end - r->p) < width)
        return fail_proto(r, E_TRUNCATED, "a number ends too early");
    *v = 0;
    for (size_t i = 0; i < width; i++)
        *v |= (uint64_t)*r->p++ << 8 * i;
    return true;
}

static bool read_item(ProtoReader *r, ProtoItem *item) {
    uint64_t key;
    if (!read_varint(r, &key)) return false;
    if (key >> 3 == 0 || key >> 3 > UINT32_MAX)
        return fail_proto(r, E_FORMAT, "a field has no valid number");
    item->number = (uint32_t)(key >> 3);
    item->wire = (Wire)(key & 7);
    switch ((int)item->wire) {
    case WIRE_VARINT:
        return read_varint(r, &item->value);
    case WIRE_64:
        return read_fixed(r, 8, &item->value);
    case WIRE_32:
        return read_fixed(r, 4, &item->value);
    case WIRE_BYTES:
        break;
    default:
        return fail_proto(r, E_FORMAT, "a field is of no known kind");
    }
    if (!read_varint(r, &item->value)) return false;
    if (item->value > (uint64_t)(r->end - r->p))
        return fail_proto(r, E_TRUNCATED, "a field is longer than what is left");
    item->p = r->p;
    item->n = (size_t)item->value;
    r->p += item->n;
    return true;
}

static const ProtoField *find_field(const ProtoMessage *m, uint32_t number) {
    for (size_t i = 0; i < m->nfield; i++)
        if (m->field[i].number == number) return &m->field[i];
    return NULL;
}

static Wire wire_of(ProtoKind k) {
    return k == PROTO_INT      ? WIRE_VARINT
           : k == PROTO_FLOAT  ? WIRE_32
           : k == PROTO_DOUBLE ? WIRE_64
                               : WIRE_BYTES;
}

static size_t size_of(const ProtoField *f) {
    switch ((int)f->kind) {
    case PROTO_INT:
        return sizeof(int64_t);
    case PROTO_FLOAT:
        return sizeof(float);
    case PROTO_DOUBLE:
        return sizeof(double);
    case PROTO_TEXT:
        return sizeof(ProtoText);
    default:
        return f->message->size;
    }
}

/* ---- filling in ---- */

/* Adds a cleared element to a ProtoList of any type. */
static void *add_element(Arena *a, void *list, size_t size) {
    ProtoList(char) l;
    memcpy(&l, list, sizeof l);
    if (l.n == l.room) {
        size_t room = l.room ? 2 * l.room : 4, bytes = SIZE_MAX;
        size_mul(room, size, &bytes);
        char *p = arena_alloc(a, bytes);
        if (l.n) memcpy(p, l.p, l.n * size);
        l.p = p;
        l.room = room;
    }
    char *e = l.p + l.n++ * size;
    memcpy(list, &l, sizeof l);
    return memset(e, 0, size);
}

static void store_number(ProtoKind k, uint64_t v, void *into) {
    uint32_t low = (uint32_t)v;
    if (k == PROTO_FLOAT)
        memcpy(into, &low, sizeof low);
    else
        memcpy(into, &v, sizeof v);
}

static bool read_message(ProtoReader *r, const ProtoMessage *m, void *out);

static bool read_inner(ProtoReader *r, const ProtoField *f, const ProtoItem *item,
                       void *into) {
    ProtoReader inner = *r;
    inner.p = item->p;
    inner.end = item->p + item->n;
    if (++inner.depth > PROTO_DEPTH)
        return fail_proto(r, E_LIMIT, "messages are nested too deeply");
    return read_message(&inner, f->message, into);
}

/* Numbers without gaps in one field. */
static bool read_packed(ProtoReader *r, const ProtoField *f, const ProtoItem *item,
                        void *list) {
    ProtoReader inner = *r;
    inner.p = item->p;
    inner.end = item->p + item->n;
    while (inner.p < inner.end) {
        uint64_t v;
        bool ok = f->kind == PROTO_INT ? read_varint(&inner, &v)
                                       : read_fixed(&inner, size_of(f), &v);
        if (!ok) return false;
        store_number(f->kind, v, add_element(r->a, list, size_of(f)));
    }
    return true;
}

static bool store_field(ProtoReader *r, const ProtoField *f, const ProtoItem *item,
                        char *out) {
    void *at = out + f->offset;
    bool number = f->kind != PROTO_TEXT && f->kind != PROTO_MESSAGE;
    if (item->wire != wire_of(f->kind)) {
        if (number && f->repeated && item->wire == WIRE_BYTES)
            return read_packed(r, f, item, at);
        return fail_proto(r, E_FORMAT, "a field is of the wrong kind");
    }
    void *into = f->repeated ? add_element(r->a, at, size_of(f)) : at;
    if (f->has) *(bool *)(out + f->has) = true;
    if (number) {
        store_number(f->kind, item->value, into);
        return true;
    }
    if (f->kind == PROTO_TEXT) {
        file_mapped_pass(r->s, item->p, item->n);
        *(ProtoText *)into = (ProtoText){(const char *)item->p, item->n};
        return true;
    }
    if (!f->repeated) {
        void *message;
        memcpy(&message, at, sizeof message);
        if (!message) message = arena_zalloc(r->a, 1, f->message->size);
        memcpy(at, &message, sizeof message);
        into = message;
    }
    return read_inner(r, f, item, into);
}

static bool read_message(ProtoReader *r, const ProtoMessage *m, void *out) {
    ProtoItem item;
    r->message = m;
    while (r->p < r->end) {
        if (!read_item(r, &item)) return false;
        const ProtoField *f = find_field(m, item.number);
        if (f && !store_field(r, f, &item, out)) return false;
    }
    return true;
}

bool proto_read(Session *s, Arena *a, const char *name, const ProtoMessage *m,
                const unsigned char *p, size_t n, void *out) {
    ProtoReader r = {.s = s, .a = a, .name = name, .begin = p, .p = p, .end = p + n};
    return read_message(&r, m, out);
}

bool proto_looks_like(const ProtoMessage *m, const unsigned char *p, size_t n,
                      uint64_t *seen) {
    ProtoReader r = {.begin = p, .p = p, .end = p + n, .message = m};
    *seen = 0;
    while (r.p < r.end) {
        ProtoItem item;
        if (!read_item(&r, &item)) return false;
        const ProtoField *f = find_field(m, item.number);
        bool packed = f && f->repeated && item.wire == WIRE_BYTES;
        if (f && item.wire != wire_of(f->kind) && !packed) return false;
        if (item.number < 64) *seen |= UINT64_C(1) << item.number;
    }
    return true;
}
