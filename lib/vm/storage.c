/* Storage. Values whose sizes follow from types and dims share an arena, at offsets
 * decided by lifetimes; others live in slots that grow on demand and persist. Outputs
 * lie in the arena, too, unless the plan has own_results: then they, and new values of
 * shared variables always, have separate buffers. A buffer, or an arena, that anybody
 * else holds when a run begins is left to the holder and replaced. */
#include "vm/vm_impl.h"

void place_free_retired(Machine *m) {
    while (m->retired.n)
        buffer_unref(m->retired.p[--m->retired.n]);
}

static void place_drop(Machine *m, Place *p) {
    if (p->own && p->buf) vec_push(m->s, &m->retired, p->buf);
    p->buf = NULL;
    p->ptr = NULL;
    p->cap = 0;
    p->own = false;
}

void *place_get(Machine *m, uint32_t place, size_t bytes) {
    Place *p = &m->place[place];
    if (bytes == 0) bytes = 1; /* empty arrays need an address, too */
    if (bytes > p->want) p->want = bytes;
    if (p->ptr && bytes <= p->cap) return p->ptr;
    Buffer *b = buffer_new(m->s, bytes);
    if (!b) return NULL;
    place_drop(m, p);
    m->moved++;
    p->buf = b;
    p->ptr = b->data;
    p->cap = b->size;
    p->own = true;
    return p->ptr;
}

static uint32_t place_new(Machine *m, bool result) {
    if (m->nplace == m->place_cap)
        m->place = mem_grow_vec_(m->s, m->place, &m->place_cap, m->nplace + 1,
                                 sizeof *m->place);
    m->place[m->nplace] = (Place){.result = result};
    if (result) vec_push(m->s, &m->results, (uint32_t)m->nplace);
    return (uint32_t)m->nplace++;
}

static bool is_result(StoreClass cls) {
    return cls == STORE_OUT || cls == STORE_OWN;
}

static void place_apart(Machine *m, uint32_t cell) {
    StoreClass cls = m->p->sharing.store.p[m->p->sharing.cell[cell].store].cls;
    m->place_of[cell] = place_new(m, is_result(cls) || cls == STORE_SHARED);
}

/* A result computed before its turn can't use the storage reserved for its lifetime. */
uint32_t place_of(Machine *m, uint32_t cell) {
    if (m->lazy.early && !m->lazy.moved[cell]) {
        m->lazy.moved[cell] = 1;
        place_apart(m, cell);
    }
    return m->place_of[cell];
}

void place_fit(Machine *m, uint32_t cell, const Layout *want) {
    const CellInfo *c = &m->p->sharing.cell[cell];
    if (c->how != PLAN_INPLACE || c->flags & CELL_EXTENDS ||
        m->place_of[cell] >= m->p->sharing.store.n ||
        cell_computed(m, c->of) == NOT_COMPUTED)
        return;
    const Layout *l = m->cell[c->of].layout;
    bool same = l->contiguous && l->ndim == want->ndim && l->bytes == want->bytes;
    for (int i = 0; same && i < l->ndim; i++)
        same = l->shape[i] == want->shape[i];
    if (!same) place_apart(m, cell);
}

/* ---- laying out ---- */
/* Bytes of each store; -1 if unknown. */
static void measure_stores(const Machine *m, const Map *dims, Span64 *span) {
    const Sharing *h = &m->p->sharing;
    for (size_t i = 0; i < h->store.n; i++)
        span[i] = (Span64){h->store.p[i].born, h->store.p[i].dies, 0, 0};
    for (uint32_t c = m->p->nleaf; c < m->p->ncell; c++) {
        Span64 *x = &span[h->cell[c].store];
        bool boxed =
            h->cell[c].flags & CELL_BOXED; /* a non-tensor doesn't use our storage */
        int64_t n = boxed ? -1 : type_bytes(h->cell[c].type, dims);
        if (n < 0 || x->bytes < 0)
            x->bytes = -1;
        else if (n > x->bytes)
            x->bytes = n;
    }
    for (size_t i = 0; i < h->store.n; i++) {
        const Store *x = &h->store.p[i];
        if (x->cls == STORE_OUT && x->born == m->p->nins)
            span[i].bytes = type_bytes(h->cell[x->cell].type, dims); /* a copy */
        if (x->cls != STORE_POOL && x->cls != STORE_OUT) span[i].bytes = -1;
    }
}

/* The arena of this depth of calls, as large as its functions needed so far. */
static bool borrow_arena(Machine *m) {
    Machine *top = outermost_machine(m);
    while (top->levels.n <= m->level)
        vec_push(m->s, &top->levels, NULL);
    Buffer **b = &top->levels.p[m->level];
    m->arena = NULL;
    if (!*b || (*b)->size < m->arena_need) {
        buffer_unref(*b);
        *b = buffer_new(m->s, m->arena_need);
    }
    if (!*b) return false;
    m->arena = *b;
    return true;
}

static bool take_own_arena(Machine *m, uint64_t bytes) {
    if (m->arena && m->arena->size >= bytes) return true;
    buffer_unref(m->arena);
    m->arena = buffer_new(m->s, bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes);
    return m->arena != NULL;
}

static bool take_arena(Machine *m, uint64_t bytes) {
    m->arena_need = bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
    if (bytes == 0) return true;
    if (m->borrows ? borrow_arena(m) : take_own_arena(m, bytes)) {
        m->arena_at = m->arena->data;
        return true;
    }
    return note(m->s, NOWHERE,
                "for the results of %u instructions, packed by their lifetimes",
                m->p->nins);
}

/* Stores outside the arena share slots, assigned by the same method with size one. */
static void assign_slots(Machine *m, Span64 *span, uint32_t *slot) {
    const Sharing *h = &m->p->sharing;
    size_t n = h->store.n, base = m->nplace;
    for (size_t i = 0; i < n; i++)
        span[i].bytes =
            h->store.p[i].cls <= STORE_LAZY && span[i].bytes < 0 ? ALIGNMENT : -1;
    uint64_t end = arena_layout(m->s, n, span);
    for (uint64_t k = 0; k < end / ALIGNMENT; k++)
        place_new(m, false);
    for (size_t i = 0; i < n; i++)
        slot[i] = span[i].bytes < 0 ? (uint32_t)i
                                    : (uint32_t)(base + span[i].offset / ALIGNMENT);
}

static void forget_prepared(Machine *m) {
    for (uint32_t i = 0; i < m->p->nins; i++) {
        m->fast[i].loop = NULL;
        prep_free(m->prep[i]);
        m->prep[i] = NULL;
    }
}

/* Keeps the results' buffers and drops the rest. */
static void begin_layout(Machine *m) {
    const Sharing *h = &m->p->sharing;
    size_t n = h->store.n;
    for (size_t i = 0; i < m->nplace; i++)
        if (i >= n || !(h->store.p[i].cls == STORE_OWN || m->place[i].kept))
            place_drop(m, &m->place[i]);
    place_free_retired(m);
    bool first = m->nplace == 0;
    m->results.n = 0;
    if (!first) m->nplace = n;
    for (size_t i = 0; i < n; i++) {
        bool result = is_result(h->store.p[i].cls);
        if (first)
            place_new(m, result);
        else if (result)
            vec_push(m->s, &m->results, (uint32_t)i);
        m->place[i].want = 0;
        m->place[i].kept = h->store.p[i].cls == STORE_KEPT;
    }
    forget_prepared(m);
}

bool place_lay_out(Machine *m) {
    const Sharing *h = &m->p->sharing;
    size_t n = h->store.n;
    begin_layout(m);
    Map dims = dim_value_map(m->s, m->dim.n, m->dim.p);
    Span64 *span = mem_zalloc(m->s, n, sizeof *span);
    uint32_t *slot = mem_zalloc(m->s, n, sizeof *slot);
    measure_stores(m, &dims, span);
    map_free(&dims);
    bool ok = take_arena(m, arena_layout(m->s, n, span));
    for (size_t i = 0; ok && i < n; i++)
        if (span[i].bytes >= 0) {
            size_t cap = span[i].bytes ? round_up((size_t)span[i].bytes) : ALIGNMENT;
            m->place[i] = (Place){.ptr = (char *)m->arena->data + span[i].offset,
                                  .cap = cap,
                                  .buf = m->arena,
                                  .pooled = true,
                                  .result = is_result(h->store.p[i].cls)};
        }
    if (ok) assign_slots(m, span, slot);
    for (uint32_t c = m->p->nleaf; ok && c < m->p->ncell; c++) {
        m->place_of[c] = slot[h->cell[c].store];
        if (m->p->lazy) m->lazy.moved[c] = 0;
    }
    mem_free(span);
    mem_free(slot);
    return m->laid_out = ok;
}

/* ---- before each run ---- */
static bool is_shared_elsewhere(const Buffer *b) {
    return atomic_load_explicit(&b->refs, memory_order_acquire) > 1;
}

/* Another function has used the arena, which may have moved, or somebody keeps an
 * output of the last run: then this one writes to another arena. */
static bool refresh_arena(Machine *m) {
    Buffer *old = m->arena;
    const char *was = m->arena_at;
    if (!m->arena_need || (!m->borrows && !is_shared_elsewhere(old))) return true;
    if (!m->borrows) m->arena = NULL;
    if (!take_arena(m, m->arena_need)) return m->arena = m->borrows ? NULL : old, false;
    if (m->arena == old && m->arena_at == was) return true;
    for (size_t i = 0; i < m->nplace; i++) {
        Place *p = &m->place[i];
        if (p->own || !p->pooled || !p->ptr) continue;
        p->ptr = (char *)m->arena->data + (p->ptr - was);
        p->buf = m->arena;
    }
    if (!m->borrows) buffer_unref(old);
    return true;
}

static bool refresh_results(Machine *m) {
    for (size_t i = 0; i < m->results.n; i++) {
        Place *p = &m->place[m->results.p[i]];
        if (p->own && p->buf && is_shared_elsewhere(p->buf)) place_drop(m, p);
        if (p->want && (!p->ptr || p->cap < p->want) &&
            !place_get(m, m->results.p[i], p->want))
            return false;
    }
    place_free_retired(m);
    return true;
}

/* Makes an old value that will be overwritten exclusively ours and contiguous. */
static bool make_writable(Machine *m, uint32_t i) {
    Shared *h = &m->shared[i];
    uint32_t cell = m->p->shared[i];
    if (h->owned && !is_shared_elsewhere(h->value.t.buf) &&
        m->cell[cell].layout->contiguous)
        return true;
    Tensor t;
    if (!tensor_clone(m->s, &h->value.t, &t)) return false;
    tensor_unref(&h->value.t);
    h->value.t = t;
    h->owned = true;
    cell_set(m, cell, &t);
    return true;
}

bool place_refresh_all(Machine *m) {
    if (!refresh_arena(m) || !refresh_results(m)) return false;
    const Plan *p = m->p;
    for (uint32_t u = 0; u < p->nupdate; u++) {
        const Result *r = &p->sharing.update[u];
        const CellInfo *c = &p->sharing.cell[r->cell],
                       *shared = &p->sharing.cell[p->shared[r->shared]];
        bool over = r->copy == NONE && c->store != NONE &&
                    p->sharing.store.p[c->store].cls == STORE_SHARED;
        if (!over && !(shared->flags & CELL_DESTROYED)) continue;
        if (!make_writable(m, r->shared)) return false;
        if (!over) continue;
        const Cell *old = &m->cell[p->shared[r->shared]];
        Place *place = &m->place[c->store];
        place_drop(m, place);
        *place = (Place){.ptr = old->data, .cap = old->layout->bytes, .buf = old->buf};
    }
    return true;
}

void place_free_all(Machine *m) {
    for (size_t i = 0; i < m->nplace; i++)
        place_drop(m, &m->place[i]);
    place_free_retired(m);
    if (!m->borrows) buffer_unref(m->arena);
    for (size_t i = 0; i < m->levels.n; i++)
        buffer_unref(m->levels.p[i]);
    vec_free(&m->levels);
    mem_free(m->place);
    vec_free(&m->results);
    vec_free(&m->retired);
}
