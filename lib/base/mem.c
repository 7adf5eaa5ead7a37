/* Heap memory that never fails to its caller: running out ends the program through the
 * session's hook, so that only tensor memory needs an error path. */
#include "base/mem.h"

#include "base/session.h"

#include <stdlib.h>

enum { EXIT_MEMORY = 6 };

static _Noreturn void out_of_memory(Session *s) {
    session_panic(s, EXIT_MEMORY, "out of memory");
}

static size_t checked_product(Session *s, size_t count, size_t size) {
    size_t total;
    if (!size_mul(count, size, &total)) out_of_memory(s);
    return total;
}

void *mem_alloc(Session *s, size_t size) {
    void *p = malloc(size ? size : 1);
    if (!p) out_of_memory(s);
    return p;
}

void *mem_zalloc(Session *s, size_t count, size_t size) {
    size_t total = checked_product(s, count, size);
    void *p = calloc(total ? total : 1, 1);
    if (!p) out_of_memory(s);
    return p;
}

void *mem_realloc(Session *s, void *p, size_t count, size_t size) {
    size_t total = checked_product(s, count, size);
    void *q = realloc(p, total ? total : 1);
    if (!q) out_of_memory(s);
    return q;
}

void mem_free(void *p) {
    free(p);
}

void *vec_grow_(Session *s, void *p, size_t *cap, size_t need, size_t size) {
    size_t n;
    if (!size_mul(*cap, 2, &n)) n = need;
    if (n < 8) n = 8;
    if (n < need) n = need;
    p = mem_realloc(s, p, n, size);
    *cap = n;
    return p;
}
