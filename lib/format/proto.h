/* Protocol buffers, read by tables of fields. Texts and bytes point into the input.
 * Lengths are checked against what is left and the nesting against PROTO_DEPTH; fields
 * that no table has are skipped. The wire format is that of
 * protobuf.dev/programming-guides/encoding. */
#ifndef FORMAT_PROTO_H
#define FORMAT_PROTO_H

#include "base/diag.h"

#include <string.h>

typedef struct ProtoText {
    const char *p; /* not NUL-terminated */
    size_t n;
} ProtoText;
/* What is repeated; in the arena. */
#define ProtoList(T)                                                                   \
    struct {                                                                           \
        T *p;                                                                          \
        size_t n, room;                                                                \
    }

/* What a field is in a message's struct: int64_t, float, double, ProtoText, a pointer
 * to another message's struct; a ProtoList of them where it is repeated (of structs,
 * for messages). */
typedef enum ProtoKind {
    PROTO_INT,
    PROTO_FLOAT,
    PROTO_DOUBLE,
    PROTO_TEXT,
    PROTO_MESSAGE
} ProtoKind;
typedef struct ProtoMessage ProtoMessage;
typedef struct ProtoField {
    uint32_t number;
    ProtoKind kind;
    bool repeated;
    size_t offset, has; /* has: of a bool that says that it is there; 0: none */
    const ProtoMessage *message;
} ProtoField;
struct ProtoMessage {
    const char *name; /* "a tensor", for messages of errors */
    size_t size, nfield;
    const ProtoField *field;
};
#define PROTO_ONE(number, kind, T, member)                                             \
    { number, kind, false, offsetof(T, member), 0, NULL }
#define PROTO_FLAGGED(number, kind, T, member, flag)                                   \
    { number, kind, false, offsetof(T, member), offsetof(T, flag), NULL }
#define PROTO_MANY(number, kind, T, member)                                            \
    { number, kind, true, offsetof(T, member), 0, NULL }
#define PROTO_ONE_OF(number, T, member, message)                                       \
    { number, PROTO_MESSAGE, false, offsetof(T, member), 0, &(message) }
#define PROTO_MANY_OF(number, T, member, message)                                      \
    { number, PROTO_MESSAGE, true, offsetof(T, member), 0, &(message) }
#define PROTO_TABLE(T, text, table)                                                    \
    { text, sizeof(T), sizeof(table) / sizeof *(table), table }

enum { PROTO_DEPTH = 64 };
/* Reads all of a message into a cleared struct. False: diagnosed; `name` is the
 * input's. */
bool proto_read(Session *s, Arena *a, const char *name, const ProtoMessage *m,
                const unsigned char *p, size_t n, void *out);
/* Could the bytes be such a message, by its outermost fields? *seen has a bit for each
 * number below 64 that occurs. */
bool proto_looks_like(const ProtoMessage *m, const unsigned char *p, size_t n,
                      uint64_t *seen);

static inline bool proto_text_is(ProtoText t, const char *text) {
    return strlen(text) == t.n && (t.n == 0 || memcmp(t.p, text, t.n) == 0);
}

#endif
