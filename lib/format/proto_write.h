/* Protocol buffers, written: a message is made of pieces, so that a message in another
 * one is complete before its length is written, and large bytes stay where they are.
 *
 *     ProtoOut m = proto_out(a), inner = proto_out(a);
 *     proto_put_int(&inner, 1, 42);
 *     proto_put_message(&m, 3, &inner); */
#ifndef FORMAT_PROTO_WRITE_H
#define FORMAT_PROTO_WRITE_H

#include "base/mem.h"

typedef struct ProtoPiece {
    const unsigned char *p;
    size_t n;
} ProtoPiece;
typedef struct ProtoOut {
    Arena *a;
    ProtoPiece *piece;
    size_t npiece, room;
    uint64_t n;          /* bytes in all */
    unsigned char *tail; /* where the last piece can grow */
    size_t left;         /* by so many bytes */
} ProtoOut;
/* What a file that others read may have: lengths are 31 bits in most of them. */
#define PROTO_MOST_BYTES INT32_MAX

ProtoOut proto_out(Arena *a);
void proto_put_int(ProtoOut *m, uint32_t number, int64_t v);
void proto_put_float(ProtoOut *m, uint32_t number, float v);
void proto_put_text(ProtoOut *m, uint32_t number, const char *text);
/* Keeps a pointer to the bytes, unless they are few. */
void proto_put_bytes(ProtoOut *m, uint32_t number, const void *p, size_t n);
void proto_put_message(ProtoOut *m, uint32_t number, const ProtoOut *inner);
/* All pieces of m at the end of another message's. */
void proto_append(ProtoOut *to, const ProtoOut *m);

#endif
