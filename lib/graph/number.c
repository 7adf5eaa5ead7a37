/* Numbers: values of 0-d constants, of which a large graph may have one for each of its
 * Applies. A Value has room for the shape of an array, ten times what a number needs,
 * so it is cut off before that, and many lie in one block of memory. */
#include "graph/graph_impl.h"

#include <stddef.h>
#include <string.h>

enum { NUMBER_ALIGN = 16, LARGEST_BLOCK = 1 << 10 };

/* The fields of a Value in front of its shape, which nothing reads without dims. */
typedef struct Number {
    unsigned char value[offsetof(Value, t.shape)];
    _Alignas(NUMBER_ALIGN) unsigned char bytes[NUMBER_ALIGN];
} Number;
_Static_assert(sizeof(Number) % _Alignof(Value) == 0, "a Number's place is a Value's");

/* The buffer owns the block: each leaf with a number of it has a reference, as views
 * have, which may last longer than the graph. Copies of a whole Value also read what
 * follows a number, so there is room for that behind the last one. */
struct NumberBlock {
    Buffer buffer;
    uint32_t n, cap;
    Number number[];
};

static void release_block(Buffer *b) {
    mem_free(b);
}

static NumberBlock *new_block(Session *s, uint32_t cap) {
    NumberBlock *b =
        mem_zalloc(s, 1, sizeof *b + cap * sizeof *b->number + sizeof(Value));
    b->cap = cap;
    b->buffer.data = b->number;
    b->buffer.size = cap * sizeof *b->number;
    b->buffer.release = release_block;
    atomic_init(&b->buffer.refs, 1);
    return b;
}

void numbers_close(struct GraphPriv *p) {
    if (p->block) buffer_unref(&p->block->buffer);
    p->block = NULL;
}

static Number *new_number(Session *s, struct GraphPriv *p) {
    NumberBlock *b = p->block;
    if (!b || b->n == b->cap) {
        uint32_t cap = !b ? 1 : b->cap < LARGEST_BLOCK ? 2 * b->cap : LARGEST_BLOCK;
        numbers_close(p);
        b = p->block = new_block(s, cap);
    }
    return &b->number[b->n++];
}

Value *number_share(Value *v) {
    buffer_ref(v->t.buf);
    return v;
}

void number_drop(Value *v) {
    buffer_unref(v->t.buf);
}

Value *number_new(Graph *g, DType d, const void *bytes) {
    size_t size = dtype_size(d);
    if (size > NUMBER_ALIGN) bug("a number of %zu bytes", size);
    Number *x = new_number(g->s, g->priv);
    Value v = {.kind = TYPE_TENSOR,
               .t = {.dtype = d, .data = x->bytes, .buf = &g->priv->block->buffer}};
    memcpy(x->bytes, bytes, size);
    memcpy(x->value, &v, sizeof x->value);
    return number_share((Value *)(void *)x);
}

bool value_is_number(const Value *v) {
    return v->kind == TYPE_TENSOR && v->t.ndim == 0 && v->t.data;
}
