/* A quicksort that threads share: the first parts are halved, two at once, then four,
 * until there are several for each thread, which sorts them one by one. Whatever the
 * number of threads, sorted keys are the same. */
#include "ops/sort/keys.h"

enum { PARTS = 128, PARTS_PER_THREAD = 4, SHORTEST = 1 << 13 };

typedef struct KeyPart {
    char *key, *room;   /* where its keys are, and the same place in the other memory */
    int64_t at, n, low; /* its first key's place; keys; those of its lower half */
} KeyPart;

typedef struct SharedKeys {
    const SortQuick *quick;
    const SortForm *form;
    char *r;
    size_t count;
    KeyPart part[PARTS];
} SharedKeys;

static void halve_part(void *ctx, size_t chunk, unsigned worker) {
    SharedKeys *s = ctx;
    KeyPart *p = &s->part[chunk];
    (void)worker;
    p->low = p->n < SHORTEST ? 0 : s->quick->halve(p->key, p->n, p->room);
}

/* Its lower half stays in its place of the table, the other one is new. */
static void add_half(SharedKeys *s, KeyPart *p) {
    size_t skip = (size_t)p->low * s->form->item;
    char *swap = p->key;
    if (p->low == 0) return;
    s->part[s->count++] =
        (KeyPart){p->room + skip, p->key + skip, p->at + p->low, p->n - p->low, 0};
    p->key = p->room;
    p->room = swap;
    p->n = p->low;
}

static void sort_part(void *ctx, size_t chunk, unsigned worker) {
    const SharedKeys *s = ctx;
    const KeyPart *p = &s->part[chunk];
    (void)worker;
    s->quick->keys(s->form, p->key, p->room, p->n, s->r + (size_t)p->at * s->form->item,
                   SORT_BAD);
}

void sort_quick_shared(Pool *pool, const SortQuick *q, const SortForm *f, void *key,
                       void *room, int64_t n, void *r) {
    SharedKeys s = {.quick = q, .form = f, .r = r, .count = 1};
    size_t want = PARTS_PER_THREAD * (size_t)pool_threads(pool), before = 0;
    s.part[0] = (KeyPart){key, room, 0, n, 0};
    while (s.count > before && s.count < want && s.count <= PARTS / 2) {
        before = s.count;
        pool_run(pool, before, halve_part, &s);
        for (size_t i = 0; i < before; i++)
            add_half(&s, &s.part[i]);
    }
    pool_run(pool, s.count, sort_part, &s);
}
