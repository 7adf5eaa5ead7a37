#include "format/proto_write.h"

#include <string.h>

enum { FEW_BYTES = 512, FIRST_PIECE = 64, LARGEST_PIECE = 1 << 13 };
typedef enum Wire { WIRE_VARINT, WIRE_BYTES = 2, WIRE_32 = 5 } Wire;

ProtoOut proto_out(Arena *a) {
    return (ProtoOut){.a = a};
}

static void add_piece(ProtoOut *m, const unsigned char *p, size_t n) {
    if (m->npiece == m->room) {
        size_t room = m->room ? 2 * m->room : 4, bytes = SIZE_MAX;
        size_mul(room, sizeof *m->piece, &bytes);
        ProtoPiece *more = arena_alloc(m->a, bytes);
        if (m->npiece) memcpy(more, m->piece, m->npiece * sizeof *more);
        m->piece = more;
        m->room = room;
    }
    m->piece[m->npiece++] = (ProtoPiece){p, n};
}

static void open_tail(ProtoOut *m, size_t n) {
    size_t size = FIRST_PIECE;
    while (size < LARGEST_PIECE && size < m->n)
        size *= 2;
    if (size < n) size = n;
    m->tail = arena_alloc(m->a, size);
    m->left = size;
    add_piece(m, m->tail, 0);
}

static void put_bytes(ProtoOut *m, const void *p, size_t n) {
    if (n == 0) return;
    if (m->left < n) open_tail(m, n);
    memcpy(m->tail, p, n);
    m->tail += n;
    m->left -= n;
    m->piece[m->npiece - 1].n += n;
    m->n += n;
}

static void put_varint(ProtoOut *m, uint64_t v) {
    unsigned char b[10];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        b[n++] = (unsigned char)(v | 0x80);
    b[n++] = (unsigned char)v;
    put_bytes(m, b, n);
}

static void put_key(ProtoOut *m, uint32_t number, Wire wire) {
    put_varint(m, (uint64_t)number << 3 | wire);
}

void proto_put_int(ProtoOut *m, uint32_t number, int64_t v) {
    put_key(m, number, WIRE_VARINT);
    put_varint(m, (uint64_t)v);
}

void proto_put_float(ProtoOut *m, uint32_t number, float v) {
    uint32_t bits;
    unsigned char b[4];
    memcpy(&bits, &v, sizeof bits);
    for (unsigned i = 0; i < 4; i++)
        b[i] = (unsigned char)(bits >> 8 * i);
    put_key(m, number, WIRE_32);
    put_bytes(m, b, sizeof b);
}

void proto_put_text(ProtoOut *m, uint32_t number, const char *text) {
    size_t n = strlen(text);
    put_key(m, number, WIRE_BYTES);
    put_varint(m, n);
    put_bytes(m, text, n);
}

static void put_piece(ProtoOut *m, const unsigned char *p, size_t n) {
    if (n <= FEW_BYTES) {
        put_bytes(m, p, n);
        return;
    }
    add_piece(m, p, n);
    m->left = 0;
    m->n += n;
}

void proto_put_bytes(ProtoOut *m, uint32_t number, const void *p, size_t n) {
    put_key(m, number, WIRE_BYTES);
    put_varint(m, n);
    put_piece(m, p, n);
}

void proto_append(ProtoOut *to, const ProtoOut *m) {
    for (size_t i = 0; i < m->npiece; i++)
        put_piece(to, m->piece[i].p, m->piece[i].n);
}

void proto_put_message(ProtoOut *m, uint32_t number, const ProtoOut *inner) {
    put_key(m, number, WIRE_BYTES);
    put_varint(m, inner->n);
    proto_append(m, inner);
}
