/* Chooses what to keep. The forward part is a line of Applies; a cut at one place of
 * the line keeps everything that is made before it and used after it. A cut is due once
 * the values that the gradient needs reach some number of bytes, and is made at the
 * nearby place that keeps the least. This is tried for several numbers of cuts; the
 * best has the smallest sum of kept bytes and the largest segment. (For a chain of n
 * equal steps that is about sqrt(n) cuts: Chen et al., Training deep nets with
 * sublinear memory cost, 2016.) */
#include "ad/checkpoint.h"

#include <math.h>

typedef struct ForwardLine {
    const Graph *g;
    const GradTrace *t;
    const Checkpoint *how;
    size_t n; /* Applies between leaves and cost */
    ApplyId *apply;
    double *needs;     /* by place: bytes made there that the gradient reads */
    double *crossing;  /* by place: bytes made up to there and used later */
    uint32_t *last;    /* by variable: the last place that uses it */
    double all, share; /* share: of `all`, before the last cut */
} ForwardLine;

double ad_estimate_bytes(const Graph *g, Var v) {
    enum { UNKNOWN = 256 };
    const Type *t = var_type(g, v);
    if (t->kind != TYPE_TENSOR) return 0;
    double n = (double)dtype_size(t->dtype);
    for (int k = 0; k < t->ndim; k++)
        n *= dim_is_known(t->dim[k]) ? (double)t->dim[k] : UNKNOWN;
    return n;
}

/* Lists the Applies whose outputs get a gradient, and those that they need. */
static void find_forward_line(ForwardLine *l, Arena *tmp, const uint8_t *needed) {
    uint8_t *on = NEW_N(tmp, l->t->nvar, uint8_t);
    l->apply = NEW_N(tmp, l->t->napply, ApplyId);
    l->last = NEW_N(tmp, l->t->nvar, uint32_t);
    for (ApplyId a = l->t->napply; a-- > 0;) {
        const Apply *ap = &l->g->apply[a];
        bool use = false;
        for (size_t k = 0; k < ap->nout; k++) {
            Var v = ap->out + (Var)k;
            use |= on[v] || needed[v] || l->t->bar[v] != GRAD_DISCONNECTED;
        }
        for (size_t i = 0; use && i < ap->nin; i++)
            on[apply_in(l->g, a)[i]] = 1;
        if (use) l->apply[l->n++] = a;
    }
    for (size_t i = 0; i < l->n / 2; i++) {
        ApplyId a = l->apply[i];
        l->apply[i] = l->apply[l->n - 1 - i];
        l->apply[l->n - 1 - i] = a;
    }
}

static void measure_line(ForwardLine *l, Arena *tmp, const uint8_t *needed) {
    l->needs = NEW_N(tmp, l->n, double);
    l->crossing = NEW_N(tmp, l->n + 1, double);
    for (size_t p = 0; p < l->n; p++)
        for (size_t i = 0; i < l->g->apply[l->apply[p]].nin; i++)
            l->last[apply_in(l->g, l->apply[p])[i]] = (uint32_t)p;
    for (size_t p = 0; p < l->n; p++) {
        const Apply *ap = &l->g->apply[l->apply[p]];
        for (size_t k = 0; k < ap->nout; k++) {
            Var v = ap->out + (Var)k;
            double bytes =
                ad_is_small(l->g, l->how, v) ? 0 : ad_estimate_bytes(l->g, v);
            if (needed[v]) l->needs[p] += bytes;
            if (l->last[v] <= p) continue;
            l->crossing[p] += bytes; /* a difference, turned into sums below */
            l->crossing[l->last[v]] -= bytes;
        }
        l->all += l->needs[p];
    }
    for (size_t p = 1; p < l->n; p++)
        l->crossing[p] += l->crossing[p - 1];
}

/* Cuts the line once `each` bytes have accumulated, at the cheapest place in the second
 * half of them. Sets place[] to the cuts; returns kept bytes plus the largest
 * segment. */
static double cut_line(const ForwardLine *l, double each, size_t *place, size_t *n) {
    double kept = 0, largest = 0, sum = 0, since = 0, done = 0;
    size_t best = 0;
    bool open = false;
    *n = 0;
    for (size_t p = 0; p + 1 < l->n; p++) {
        sum += l->needs[p];
        since += l->needs[p];
        done += l->needs[p];
        if (done > l->share * l->all) continue;
        if (sum < each / 2 || l->crossing[p] <= 0) continue;
        if (!open || l->crossing[p] <= l->crossing[best]) {
            best = p;
            since = 0;
        }
        open = true;
        if (sum < each) continue;
        place[(*n)++] = best;
        kept += l->crossing[best];
        if (sum - since > largest) largest = sum - since;
        sum = since;
        since = 0;
        open = false;
    }
    return kept + (sum > largest ? sum : largest);
}

static void keep_across_cuts(const ForwardLine *l, const size_t *place, size_t n,
                             uint8_t *keep) {
    size_t k = 0;
    for (size_t p = 0; p < l->n; p++) {
        const Apply *ap = &l->g->apply[l->apply[p]];
        while (k < n && place[k] < p)
            k++;
        for (size_t o = 0; k < n && o < ap->nout; o++) {
            Var v = ap->out + (Var)o;
            if (l->last[v] > place[k] && !ad_is_small(l->g, l->how, v)) keep[v] = 1;
        }
    }
}

void ad_choose_kept(Builder *b, const GradTrace *t, const Checkpoint *how,
                    const uint8_t *needed, uint8_t *keep) {
    Arena *tmp = arena_new(b->s);
    size_t parts = how->parts;
    ForwardLine l = {
        .g = b->g, .t = t, .how = how, .share = how->share > 0 ? how->share : 1};
    find_forward_line(&l, tmp, needed);
    measure_line(&l, tmp, needed);
    size_t *place = NEW_N(tmp, l.n, size_t), n,
           most = 2 * (size_t)sqrt((double)l.n) + 2;
    double least = l.all, each = parts ? l.share * l.all / (double)parts : 0;
    for (size_t m = 2; !parts && m <= most; m += 1 + m / 16) {
        double bytes = cut_line(&l, l.all / (double)m, place, &n);
        if (bytes >= least) continue;
        least = bytes;
        each = l.all / (double)m;
    }
    if (each > 0) {
        cut_line(&l, each, place, &n);
        keep_across_cuts(&l, place, n, keep);
    }
    arena_free(tmp);
}
