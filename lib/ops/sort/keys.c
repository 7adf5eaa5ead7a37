/* Pairs of a key and a position: the smallest chosen; and what the ops of sorting
 * share. */
#include "ops/sort/keys.h"

#include "ops/shape/linear.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

SortForm sort_form(DType d, bool descending) {
    size_t item = dtype_size(d);
    return (SortForm){.is_float = dtype_is_float(d),
                      .is_signed = dtype_kind(d) == K_INT,
                      .descending = descending,
                      .item = item,
                      .top = UINT64_C(1) << (8 * item - 1),
                      .inf = item == 2   ? 0x7c00
                             : item == 4 ? 0x7f800000
                                         : UINT64_C(0x7ff0) << 48};
}

const SortLoops *sort_loops(Session *s, DType d) {
    int level = session_cpu_level(s);
    size_t item = dtype_size(d), i = item == 8 ? 3 : item / 2;
#ifdef __x86_64__
    return &(level == 2 ? sort_loops2 : level == 1 ? sort_loops1 : sort_loops0)[i];
#else
    return (void)level, &sort_loops0[i];
#endif
}

const SortQuick *sort_quick(Session *s, DType d) {
    size_t item = dtype_size(d), i = item == 8;
    const SortQuick *q = &sort_quick0[i];
    if (item < 4) return NULL;
#ifdef __x86_64__
    int level = session_cpu_level(s);
    if (level > 0) q = &(level == 2 ? sort_quick2 : sort_quick1)[i];
#else
    (void)s;
#endif
    return q->line ? q : NULL;
}

uint64_t sort_key_at(size_t item, const void *key, int64_t i) {
    return item == 1   ? ((const uint8_t *)key)[i]
           : item == 2 ? ((const uint16_t *)key)[i]
           : item == 4 ? ((const uint32_t *)key)[i]
                       : ((const uint64_t *)key)[i];
}

/* ---- packed keys ---- */

/* Those of numbers `from` to `to`, in at most `moves`; how many of these are left, or a
 * negative number. */
static int64_t settle_some(const SortPacked *p, int64_t from, int64_t to,
                           int64_t moves) {
    uint64_t *order = p->order, low = p->low;
    for (int64_t i = from; i < to && moves >= 0; i++) {
        uint64_t one = order[i];
        if ((order[i - 1] ^ one) > low) continue;
        uint64_t this = sort_key_at(p->item, p->key, (int64_t)(one & low));
        int64_t k = i;
        for (; k > 0 && (order[k - 1] ^ one) <= low &&
               sort_key_at(p->item, p->key, (int64_t)(order[k - 1] & low)) > this;
             k--)
            order[k] = order[k - 1];
        order[k] = one;
        moves -= i - k;
    }
    return moves;
}

bool sort_settle(const SortLoops *wide, const SortPacked *p) {
    enum { BLOCK = 256 }; /* most have none */
    int64_t moves = p->n;
    for (int64_t i = 1; i < p->n && moves >= 0; i += BLOCK) {
        int64_t end = p->n - i < BLOCK ? p->n : i + BLOCK;
        if (!wide->apart(p->order + i - 1, end - i + 1, p->low))
            moves = settle_some(p, i, end, moves);
    }
    return moves >= 0;
}

/* Bits that are not the same in all keys. */
static uint64_t varying_bits(const SortPair *p, int64_t n) {
    uint64_t bits = 0;
    for (int64_t i = 1; i < n; i++)
        bits |= p[i].key ^ p[0].key;
    return bits;
}

/* By the bytes of the key, most significant first: what is below the byte of the k-th
 * is kept, what is above it is dropped, and those that have it, in room, are compared
 * by the next. */
void sort_select(SortPair *p, SortPair *room, int64_t n, int64_t k) {
    const SortPair *from = p;
    int64_t kept = 0;
    uint64_t bits = varying_bits(p, n);
    for (int b = 56; b >= 0 && kept + n > k; b -= 8) {
        int64_t count[256] = {0}, below = 0, equal = 0;
        if ((bits >> b & 255) == 0) continue;
        for (int64_t i = 0; i < n; i++)
            count[from[i].key >> b & 255]++;
        unsigned v = 0;
        while (below + count[v] < k - kept)
            below += count[v++];
        if (count[v] == n) continue;
        for (int64_t i = 0; i < n; i++) {
            SortPair one = from[i];
            unsigned u = one.key >> b & 255;
            if (u < v)
                p[kept++] = one;
            else if (u == v)
                room[equal++] = one;
        }
        from = room;
        n = equal;
    }
    if (from != p) memcpy(p + kept, from, (size_t)(k - kept) * sizeof *p);
}

/* ---- reference ---- */

int sort_compare(const void *a, const void *b) {
    const SortRanked *x = a, *y = b;
    double v = 0, w = 0;
    tensor_cast_elements(DT_FLOAT64, &v, x->dtype, x->p, 1, 0, 0);
    tensor_cast_elements(DT_FLOAT64, &w, y->dtype, y->p, 1, 0, 0);
    int order = (v > w) - (v < w);
    if (isnan(v) || isnan(w)) order = (isnan(v) != 0) - (isnan(w) != 0);
    if (order == 0 && x->dtype == DT_INT64) {
        int64_t i, k; /* float64 would round them */
        memcpy(&i, x->p, 8), memcpy(&k, y->p, 8);
        order = (i > k) - (i < k);
    } else if (order == 0 && x->dtype == DT_UINT64) {
        uint64_t i, k;
        memcpy(&i, x->p, 8), memcpy(&k, y->p, 8);
        order = (i > k) - (i < k);
    }
    if (x->descending) order = -order;
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

void sort_ranked(SortRanked *v, int64_t n) {
    qsort(v, (size_t)n, sizeof *v, sort_compare);
}

/* ---- shared by the ops ---- */

bool sort_axis(Infer *in, int *axis) {
    return infer_want_rank(in, 0, 1, -1) &&
           infer_axis(in, infer_prop(in, "axis")->i, in->type[0]->ndim, axis);
}

bool sort_expand(Builder *b, const Op *op, const Props *p, size_t nin, const Var *in,
                 Var *out) {
    if (op_prop(b->s, op, p, "axis")->kind != P_NONE) return true;
    const Signature *sig = op_signature(b->s, op);
    PropArg arg[8];
    Var args[2] = {op_call1(b, "ravel", in[0]), nin > 1 ? in[1] : VAR_NONE};
    for (size_t i = 0; i < sig->nprop; i++)
        arg[i] = (PropArg){sym_text(b->s, sig->prop[i].name), p->p[i]};
    arg[0].value = PROP_INT(0); /* the axis is the first prop */
    return args[0] != VAR_NONE &&
           op_apply(b, op, props_make(b->s, op, sig->nprop, arg), nin, args, out);
}
