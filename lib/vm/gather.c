/* Operands of block programs that are read by flat index. Each has dims of its own:
 * those of the results, merged where they are one for it alone. All rows of
 * x[:, None] - y are one long row of y, which is read in place, and a row of x is
 * repeated. */
#include "vm/vm_impl.h"

#include <string.h>

enum {
    CYCLE_MOST = 256, /* elements of a row that is kept in a register, repeated */
    ROUND_MIN = 4096, /* elements for which it must last */
    LONG_MIN = 256,   /* elements of a run that is worth reading in place */
    FILL_MIN = 48,    /* times that an element is repeated, for which a loop pays */
    MANY = 16         /* elements that vectors copy faster, backwards or every other */
};

#define GATHER(T)                                                                      \
    {                                                                                  \
        T *to = (T *)(void *)dst;                                                      \
        for (size_t i = 0; i < n; i++, src += step)                                    \
            to[i] = *(const T *)(const void *)src;                                     \
        break;                                                                         \
    }
typedef struct Element16 {
    uint64_t w[2];
} Element16;
void gather_strided(char *dst, const char *src, int64_t step, uint32_t size, size_t n) {
    if (n >= MANY && (step == 2 * (int64_t)size || step == -(int64_t)size)) {
        tensor_copy_elements(dst, (ptrdiff_t)size, src, (ptrdiff_t)step, n, size);
        return;
    }
    switch (size) {
    case 1:
        GATHER(uint8_t)
    case 2:
        GATHER(uint16_t)
    case 4:
        GATHER(uint32_t)
    case 8:
        GATHER(uint64_t)
    default:
        GATHER(Element16)
    }
}

/* Goes on for `want` bytes with a period that begins with `have` bytes. */
static void repeat_bytes(char *dst, size_t have, size_t want) {
    for (; have < want; have *= 2)
        memcpy(dst + have, dst, have < want - have ? have : want - have);
}

void gather_cycle(char *dst, const char *src, uint32_t size, size_t period, size_t n) {
    memcpy(dst, src, period * size);
    repeat_bytes(dst, period * size, (n + period) * size);
}

/* ---- walks ---- */
typedef struct Walk {
    const char *src;
    const int64_t *stride, *ext;
    int last;
    int64_t index[MAX_NDIM];
} Walk;

static void walk_to(Walk *x, const Prep *p, uint32_t input, const char *base,
                    int64_t at) {
    size_t first = (size_t)input * p->dims;
    x->stride = p->stride + first;
    x->ext = p->own + first;
    x->last = p->nown[input] - 1;
    for (int d = x->last; d > 0; d--) {
        int64_t rest = at / x->ext[d];
        x->index[d] = at - rest * x->ext[d];
        base += x->index[d] * x->stride[d];
        at = rest;
    }
    x->index[0] = at;
    x->src = base + at * x->stride[0];
}

const char *gather_place(const Prep *p, uint32_t input, const char *base, int64_t at) {
    Walk x;
    walk_to(&x, p, input, base, at);
    return x.src;
}

static void walk_on(Walk *x, size_t n) {
    x->index[x->last] += (int64_t)n;
    x->src += (int64_t)n * x->stride[x->last];
    for (int d = x->last; d > 0 && x->index[d] >= x->ext[d]; d--) {
        int64_t rows = x->index[d] / x->ext[d];
        x->src += rows * (x->stride[d - 1] - x->ext[d] * x->stride[d]);
        x->index[d] -= rows * x->ext[d];
        x->index[d - 1] += rows;
    }
}

static bool repeats_rows(const Walk *x, uint32_t size) {
    return x->last > 0 && x->stride[x->last - 1] == 0 &&
           x->stride[x->last] == (int64_t)size;
}

/* At most n elements of a row that is repeated: how many there are. */
static size_t copy_repeated(const Walk *x, char *dst, uint32_t size, size_t n) {
    int64_t row = x->ext[x->last], from = x->index[x->last],
            all = (x->ext[x->last - 1] - x->index[x->last - 1]) * row - from;
    if (n > (size_t)all) n = (size_t)all;
    size_t head = (size_t)(row - from) < n ? (size_t)(row - from) : n,
           next = n - head < (size_t)row ? n - head : (size_t)row;
    memcpy(dst, x->src, head * size);
    memcpy(dst + head * size, x->src - from * (int64_t)size, next * size);
    repeat_bytes(dst + head * size, next * size, (n - head) * size);
    return n;
}

/* At most n elements of a run: how many there are. */
static size_t copy_run(const Walk *x, char *dst, uint32_t size, size_t n) {
    int64_t left = x->ext[x->last] - x->index[x->last], step = x->stride[x->last];
    if (n > (size_t)left) n = (size_t)left;
    if (step == (int64_t)size)
        memcpy(dst, x->src, n * size);
    else if (step)
        gather_strided(dst, x->src, step, size, n);
    else
        block_fill(dst, x->src, size, n);
    return n;
}

const char *gather_flat(const Prep *p, uint32_t input, uint32_t size, const char *base,
                        char *room, int64_t at, size_t n) {
    char *dst = room;
    Walk x;
    walk_to(&x, p, input, base, at);
    if (x.stride[x.last] == (int64_t)size &&
        x.ext[x.last] - x.index[x.last] >= (int64_t)n)
        return x.src;
    for (size_t k; n; dst += k * size, n -= k, walk_on(&x, k))
        k = repeats_rows(&x, size) ? copy_repeated(&x, dst, size, n)
                                   : copy_run(&x, dst, size, n);
    return room;
}

const char *gather_round(const Prep *p, uint32_t input, uint32_t size, const char *base,
                         char *room, int64_t at, size_t n, int64_t *held) {
    const int64_t *ext = p->own + (size_t)input * p->dims + p->nown[input] - 2;
    int64_t turn = ext[0] * ext[1], round = at / turn, from = at % turn;
    if (from + (int64_t)n > turn) {
        *held = -1;
        return gather_flat(p, input, size, base, room, at, n);
    }
    if (*held != round) {
        const char *src = gather_place(p, input, base, round * turn);
        gather_cycle(room, src, size, (size_t)ext[1], p->block);
        *held = round;
    }
    return room + from % ext[1] * (int64_t)size;
}

/* ---- preparation ---- */
void gather_join(Prep *p, uint32_t input) {
    int64_t *stride = p->stride + (size_t)input * p->dims,
            *ext = p->own + (size_t)input * p->dims, across;
    int n = 0;
    for (int d = 0; d < p->ndim; d++) {
        if (n && i64_mul(stride[d], p->ext[d], &across) && stride[n - 1] == across)
            ext[n - 1] *= p->ext[d];
        else
            ext[n++] = p->ext[d];
        stride[n - 1] = stride[d];
    }
    p->nown[input] = (uint8_t)n;
}

Access gather_access(const Prep *p, uint32_t input, uint32_t size) {
    const int64_t *stride = p->stride + (size_t)input * p->dims,
                  *ext = p->own + (size_t)input * p->dims;
    int last = p->nown[input] - 1;
    if (stride[last] == 0 && ext[last] >= FILL_MIN) return ACC_FLAT;
    if (stride[last] != (int64_t)size) return ACC_PATTERN;
    if (last == 0) return ACC_DIRECT;
    if (stride[last - 1] == 0 && ext[last] <= CYCLE_MOST) {
        if (last == 1) return ACC_CYCLE;
        if (ext[last - 1] >= ROUND_MIN / ext[last]) return ACC_ROUND;
    }
    return ext[last] >= LONG_MIN ? ACC_FLAT : ACC_PATTERN;
}
