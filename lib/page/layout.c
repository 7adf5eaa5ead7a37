/* The layered layout, step by step: ranks by longest paths; a chain of dummies for what
 * leads through ranks; an order in each rank by the means of neighbours; places by
 * least squares. Whatever is changed here changes in layout.js, too: tests compare
 * them. */
#include "page/layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEPS = 8, DUMMY_WEIGHT = 8, NO_RANK = INT32_MIN };
#define NONE UINT32_MAX

typedef struct LayoutEdge {
    uint32_t upper, lower, net, target; /* target: a number of the table */
    bool back;                          /* the net's target is above its source */
    bool far;
} LayoutEdge;
/* Dummies of consecutive ranks: below `upper`, numbers first, first + 1, ... */
typedef struct LayoutChain {
    uint32_t upper, first, n;
} LayoutChain;
/* What leads from a rank to the next. */
typedef struct LayoutPiece {
    uint32_t upper, lower;
    double out, into; /* where, from the centres */
} LayoutPiece;
typedef struct Ends { /* pieces by node: those of v are piece[first[v]] and so on */
    uint32_t *first, *piece;
} Ends;

typedef struct Finding {
    Session *s;
    Arena *a;
    Layout *l;
    uint32_t n;     /* nodes without dummies */
    uint32_t total; /* with them */
    Vec(LayoutEdge) edge;
    Vec(LayoutChain) chain;
    uint32_t *net_chain;  /* by net: that of its forward targets; NONE */
    uint32_t *edge_chain; /* by edge: its chain; NONE */
    Vec(LayoutPiece) piece;
    Vec(int32_t) rank; /* by node, dummies behind the others; NO_RANK: loose */
    int32_t nrank;
    Ends above, below; /* pieces that lead to a node, or from it */
    uint32_t *first;   /* by rank: its nodes are order[first[r]] .. */
    uint32_t *order;
    uint32_t *pos; /* by node: its place in its rank */
    double *x, *top, *height;
} Finding;

/* ---- edges and ranks ---- */
static void find_edges(Finding *f) {
    const Layout *l = f->l;
    for (uint32_t k = 0; k < l->nnet; k++)
        for (uint32_t i = 0; i < l->net[k].ntarget; i++) {
            uint32_t t = l->net[k].target + i, source = l->net[k].source;
            bool back = l->target[t] < source;
            LayoutEdge e = {.upper = back ? l->target[t] : source,
                            .lower = back ? source : l->target[t],
                            .net = k,
                            .target = t,
                            .back = back};
            vec_push(f->s, &f->edge, e);
        }
}

/* Numbers of edges by their upper node. */
static Ends edges_below(Finding *f) {
    Ends e = {NEW_N(f->a, (size_t)f->n + 2, uint32_t),
              NEW_N(f->a, f->edge.n + 1, uint32_t)};
    for (size_t i = 0; i < f->edge.n; i++)
        e.first[f->edge.p[i].upper + 2]++;
    for (uint32_t v = 2; v < f->n + 2; v++)
        e.first[v] += e.first[v - 1];
    for (size_t i = 0; i < f->edge.n; i++)
        e.piece[e.first[f->edge.p[i].upper + 1]++] = (uint32_t)i;
    return e;
}

static void find_ranks(Finding *f) {
    const Layout *l = f->l;
    Ends below = edges_below(f);
    uint32_t *above = NEW_N(f->a, (size_t)f->n + 1, uint32_t);
    int32_t last = 0;
    vec_reserve(f->s, &f->rank, f->n + 1);
    for (uint32_t v = 0; v < f->n; v++)
        vec_push(f->s, &f->rank, 0);
    int32_t *rank = f->rank.p;
    for (uint32_t v = 0; v < f->n; v++)
        for (uint32_t i = below.first[v]; i < below.first[v + 1]; i++) {
            uint32_t to = f->edge.p[below.piece[i]].lower;
            above[to]++;
            if (rank[to] < rank[v] + 1) rank[to] = rank[v] + 1;
        }
    for (uint32_t v = 0; v < l->nin + l->nitem; v++)
        if (rank[v] > last) last = rank[v];
    for (uint32_t v = l->nin + l->nitem; v < f->n; v++)
        rank[v] = last + 1;
    f->nrank = last + 1 + (l->nout > 0);
    /* what nothing leads to comes down to those that it leads to */
    for (uint32_t v = l->nin + l->nitem; v-- > l->nin;) {
        int32_t least = INT32_MAX;
        for (uint32_t i = below.first[v]; i < below.first[v + 1]; i++) {
            int32_t r = rank[f->edge.p[below.piece[i]].lower];
            if (r < least) least = r;
        }
        if (!above[v]) rank[v] = least == INT32_MAX ? NO_RANK : least - 1;
    }
}

/* ---- dummies ---- */
static uint32_t add_chain(Finding *f, uint32_t upper, int32_t last) {
    LayoutChain c = {upper, f->total, 0};
    for (int32_t r = f->rank.p[upper] + 1; r <= last; r++, c.n++, f->total++)
        vec_push(f->s, &f->rank, r);
    vec_push(f->s, &f->chain, c);
    return (uint32_t)f->chain.n - 1;
}

static void add_piece(Finding *f, uint32_t upper, uint32_t lower, double out,
                      double into) {
    LayoutPiece p = {upper, lower, out, into};
    vec_push(f->s, &f->piece, p);
}

/* The node of a chain that is in rank r, or what the chain begins at. */
static uint32_t node_of_chain(const Finding *f, const LayoutChain *c, int32_t r) {
    int32_t k = r - f->rank.p[c->upper];
    return k > 0 ? c->first + (uint32_t)k - 1 : c->upper;
}

static void add_chain_pieces(Finding *f, const LayoutChain *c, double out) {
    for (uint32_t i = 0; i < c->n; i++)
        add_piece(f, i ? c->first + i - 1 : c->upper, c->first + i, i ? 0 : out, 0);
}

/* The edges of one net. */
static void add_net(Finding *f, uint32_t net, size_t from, size_t end) {
    const Layout *l = f->l;
    const LayoutNet *k = &l->net[net];
    int32_t last = NO_RANK;
    for (size_t i = from; i < end; i++) {
        LayoutEdge *e = &f->edge.p[i];
        int32_t span = f->rank.p[e->lower] - f->rank.p[e->upper];
        e->far = span > LAYOUT_LONG;
        if (!e->far && !e->back && f->rank.p[e->lower] - 1 > last)
            last = f->rank.p[e->lower] - 1;
    }
    if (last != NO_RANK) {
        f->net_chain[net] = add_chain(f, k->source, last);
        LayoutChain c = f->chain.p[f->net_chain[net]];
        add_chain_pieces(f, &c, k->out);
        for (size_t i = from; i < end; i++) {
            const LayoutEdge *e = &f->edge.p[i];
            if (e->far || e->back) continue;
            uint32_t u = node_of_chain(f, &c, f->rank.p[e->lower] - 1);
            f->edge_chain[i] = f->net_chain[net];
            add_piece(f, u, e->lower, u == c.upper ? k->out : 0, l->into[e->target]);
        }
    }
    for (size_t i = from; i < end; i++) {
        const LayoutEdge *e = &f->edge.p[i];
        if (e->far || !e->back) continue;
        f->edge_chain[i] = add_chain(f, e->upper, f->rank.p[e->lower] - 1);
        LayoutChain c = f->chain.p[f->edge_chain[i]];
        double out = l->into[e->target];
        add_chain_pieces(f, &c, out);
        uint32_t u = c.n ? c.first + c.n - 1 : c.upper;
        add_piece(f, u, e->lower, c.n ? 0 : out, k->out);
    }
}

static void add_dummies(Finding *f) {
    f->net_chain = NEW_N(f->a, (size_t)f->l->nnet + 1, uint32_t);
    f->edge_chain = NEW_N(f->a, f->edge.n + 1, uint32_t);
    memset(f->net_chain, 0xff, f->l->nnet * sizeof *f->net_chain);
    memset(f->edge_chain, 0xff, f->edge.n * sizeof *f->edge_chain);
    f->total = f->n;
    for (size_t i = 0, end; i < f->edge.n; i = end) {
        for (end = i; end < f->edge.n && f->edge.p[end].net == f->edge.p[i].net;)
            end++;
        add_net(f, f->edge.p[i].net, i, end);
    }
}

static Ends pieces_of(Finding *f, bool above) {
    Ends e = {NEW_N(f->a, (size_t)f->total + 2, uint32_t),
              NEW_N(f->a, f->piece.n + 1, uint32_t)};
    for (size_t i = 0; i < f->piece.n; i++)
        e.first[(above ? f->piece.p[i].lower : f->piece.p[i].upper) + 2]++;
    for (uint32_t v = 2; v < f->total + 2; v++)
        e.first[v] += e.first[v - 1];
    for (size_t i = 0; i < f->piece.n; i++)
        e.piece[e.first[(above ? f->piece.p[i].lower : f->piece.p[i].upper) + 1]++] =
            (uint32_t)i;
    return e;
}

/* ---- the order in each rank ---- */
static void place_in_rank(Finding *f, uint32_t *next, uint32_t v) {
    int32_t r = f->rank.p[v];
    f->pos[v] = next[r] - f->first[r];
    f->order[next[r]++] = v;
}

static void first_order(Finding *f) {
    uint32_t *next = NEW_N(f->a, (size_t)f->nrank + 1, uint32_t);
    f->first = NEW_N(f->a, (size_t)f->nrank + 1, uint32_t);
    f->order = NEW_N(f->a, (size_t)f->total + 1, uint32_t);
    f->pos = NEW_N(f->a, (size_t)f->total + 1, uint32_t);
    for (uint32_t v = 0; v < f->total; v++)
        if (f->rank.p[v] != NO_RANK) f->first[f->rank.p[v] + 1]++;
    for (int32_t r = 0; r < f->nrank; r++) {
        f->first[r + 1] += f->first[r];
        next[r] = f->first[r];
    }
    /* chains by their upper nodes, in the order made */
    uint32_t *begin = NEW_N(f->a, (size_t)f->n + 2, uint32_t),
             *chain = NEW_N(f->a, f->chain.n + 1, uint32_t);
    for (size_t i = 0; i < f->chain.n; i++)
        begin[f->chain.p[i].upper + 2]++;
    for (uint32_t v = 2; v < f->n + 2; v++)
        begin[v] += begin[v - 1];
    for (size_t i = 0; i < f->chain.n; i++)
        chain[begin[f->chain.p[i].upper + 1]++] = (uint32_t)i;
    for (uint32_t v = 0; v < f->n; v++) {
        if (f->rank.p[v] == NO_RANK) continue;
        place_in_rank(f, next, v);
        for (uint32_t i = begin[v]; i < begin[v + 1]; i++) {
            const LayoutChain *c = &f->chain.p[chain[i]];
            for (uint32_t k = 0; k < c->n; k++)
                place_in_rank(f, next, c->first + k);
        }
    }
}

typedef struct Ranked {
    double key;
    uint32_t node, pos;
} Ranked;

static int compare_ranked(const void *a, const void *b) {
    const Ranked *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->pos < y->pos ? -1 : x->pos > y->pos;
}

/* Sorts a rank by the means of the neighbours' places on one side. */
static void sort_rank(Finding *f, int32_t r, const Ends *side, bool above,
                      Ranked *room) {
    uint32_t from = f->first[r], n = f->first[r + 1] - from;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = f->order[from + i], count = side->first[v + 1] - side->first[v];
        double sum = 0;
        for (uint32_t k = side->first[v]; k < side->first[v + 1]; k++) {
            const LayoutPiece *p = &f->piece.p[side->piece[k]];
            sum += f->pos[above ? p->upper : p->lower];
        }
        room[i] = (Ranked){count ? sum / count : i, v, i};
    }
    qsort(room, n, sizeof *room, compare_ranked);
    for (uint32_t i = 0; i < n; i++) {
        f->order[from + i] = room[i].node;
        f->pos[room[i].node] = i;
    }
}

static void sort_ranks(Finding *f) {
    Ranked *room = NEW_N(f->a, (size_t)f->total + 1, Ranked);
    for (int k = 0; k < SWEEPS; k++) {
        if (k % 2 == 0)
            for (int32_t r = 1; r < f->nrank; r++)
                sort_rank(f, r, &f->above, true, room);
        else
            for (int32_t r = f->nrank - 1; r-- > 0;)
                sort_rank(f, r, &f->below, false, room);
    }
}

/* ---- places ---- */
static double width_of(const Finding *f, uint32_t v) {
    return v < f->n ? f->l->w[v] : 0;
}

static double gap_between(const Finding *f, uint32_t a, uint32_t b) {
    double gap = a < f->n && b < f->n ? LAYOUT_GAP_X : LAYOUT_GAP_DUMMY;
    return (width_of(f, a) + width_of(f, b)) / 2 + gap;
}

typedef struct Block { /* neighbours that touch */
    double sum, weight;
    uint32_t n;
} Block;

/* Adds up where the neighbours on one side would have v. */
static void add_wishes(const Finding *f, uint32_t v, const Ends *side, bool above,
                       double *sum, double *count) {
    for (uint32_t k = side->first[v]; k < side->first[v + 1]; k++) {
        const LayoutPiece *p = &f->piece.p[side->piece[k]];
        *sum += above ? f->x[p->upper] + p->out - p->into
                      : f->x[p->lower] + p->into - p->out;
        *count += 1;
    }
}

/* Puts a rank where the neighbours would have it, by least squares, with the order and
 * the gaps as they are: neighbours that would be too near become a block, which goes to
 * the mean of what its members want. */
static void place_rank(Finding *f, int32_t r, bool above, bool below, Block *block) {
    uint32_t from = f->first[r], n = f->first[r + 1] - from, nblock = 0;
    double shift = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t v = f->order[from + i];
        double sum = 0, count = 0, weight = 0.125;
        if (i) shift += gap_between(f, f->order[from + i - 1], v);
        if (above) add_wishes(f, v, &f->above, true, &sum, &count);
        if (below) add_wishes(f, v, &f->below, false, &sum, &count);
        double wish = count > 0 ? sum / count : f->x[v];
        if (count > 0) weight = v < f->n ? count : count * DUMMY_WEIGHT;
        block[nblock++] = (Block){weight * (wish - shift), weight, 1};
        while (nblock > 1 && block[nblock - 2].sum / block[nblock - 2].weight >
                                 block[nblock - 1].sum / block[nblock - 1].weight) {
            block[nblock - 2].sum += block[nblock - 1].sum;
            block[nblock - 2].weight += block[nblock - 1].weight;
            block[nblock - 2].n += block[nblock - 1].n;
            nblock--;
        }
    }
    shift = 0;
    for (uint32_t i = 0, b = 0, left = 0; i < n; i++) {
        uint32_t v = f->order[from + i];
        if (i) shift += gap_between(f, f->order[from + i - 1], v);
        if (!left) left = block[b++].n;
        left--;
        f->x[v] = block[b - 1].sum / block[b - 1].weight + shift;
    }
}

static void place_in_x(Finding *f) {
    Block *block = NEW_N(f->a, (size_t)f->total + 1, Block);
    f->x = NEW_N(f->a, (size_t)f->total + 1, double);
    for (int32_t r = 0; r < f->nrank; r++)
        for (uint32_t i = f->first[r]; i < f->first[r + 1]; i++)
            f->x[f->order[i]] = i == f->first[r]
                                    ? width_of(f, f->order[i]) / 2
                                    : f->x[f->order[i - 1]] +
                                          gap_between(f, f->order[i - 1], f->order[i]);
    for (int k = 0; k <= SWEEPS; k++) {
        bool last = k == SWEEPS;
        if (k % 2 == 0)
            for (int32_t r = 0; r < f->nrank; r++)
                place_rank(f, r, true, last, block);
        else
            for (int32_t r = f->nrank; r-- > 0;)
                place_rank(f, r, false, true, block);
    }
    double least = 0;
    bool any = false;
    for (uint32_t v = 0; v < f->total; v++) {
        if (f->rank.p[v] == NO_RANK) continue;
        double left = f->x[v] - width_of(f, v) / 2;
        if (!any || left < least) least = left;
        any = true;
    }
    for (uint32_t v = 0; v < f->total; v++) {
        if (f->rank.p[v] == NO_RANK) continue;
        f->x[v] = floor(f->x[v] - least + 0.5);
        double right = f->x[v] + width_of(f, v) / 2;
        if (right > f->l->width) f->l->width = right;
    }
}

static void place_in_y(Finding *f) {
    Layout *l = f->l;
    double y = 0;
    f->top = NEW_N(f->a, (size_t)f->nrank + 1, double);
    f->height = NEW_N(f->a, (size_t)f->nrank + 1, double);
    for (uint32_t v = 0; v < f->n; v++)
        if (f->rank.p[v] != NO_RANK && l->h[v] > f->height[f->rank.p[v]])
            f->height[f->rank.p[v]] = l->h[v];
    for (int32_t r = 0; r < f->nrank; r++) {
        f->top[r] = y;
        if (f->first[r] < f->first[r + 1]) l->height = y + f->height[r];
        y += f->height[r] + LAYOUT_GAP_Y;
    }
    for (uint32_t v = 0; v < f->n; v++) {
        int32_t r = f->rank.p[v];
        if (r == NO_RANK) continue;
        l->x[v] = f->x[v];
        l->y[v] = f->top[r] + floor((f->height[r] - l->h[v]) / 2);
    }
}

/* What has no edges stands below the rest, in rows. */
static void place_loose(Finding *f) {
    Layout *l = f->l;
    double limit = l->width > LAYOUT_ROW_WIDTH ? l->width : LAYOUT_ROW_WIDTH, x = 0,
           y = l->height > 0 ? l->height + LAYOUT_GAP_Y : 0, row = 0;
    for (uint32_t v = 0; v < f->n; v++) {
        if (f->rank.p[v] != NO_RANK) continue;
        if (x > 0 && x + l->w[v] > limit) {
            x = 0;
            y += row + LAYOUT_GAP_ROW;
            row = 0;
        }
        l->x[v] = x + l->w[v] / 2;
        l->y[v] = y;
        x += l->w[v] + LAYOUT_GAP_X;
        if (x - LAYOUT_GAP_X > l->width) l->width = x - LAYOUT_GAP_X;
        if (l->h[v] > row) row = l->h[v];
        if (y + row > l->height) l->height = y + row;
    }
}

/* ---- lines ---- */
static void put_point(LayoutLine *line, double x, double y) {
    line->point[2 * line->npoint] = x;
    line->point[2 * line->npoint + 1] = y;
    line->npoint++;
}

static void put_dummy(const Finding *f, LayoutLine *line, uint32_t v, bool up) {
    int32_t r = f->rank.p[v];
    double top = f->top[r], bottom = top + f->height[r];
    put_point(line, f->x[v], up ? bottom : top);
    if (f->height[r] > 0) put_point(line, f->x[v], up ? top : bottom);
}

static void draw_line(Finding *f, size_t edge) {
    Layout *l = f->l;
    const LayoutEdge *e = &f->edge.p[edge];
    const LayoutNet *k = &l->net[e->net];
    const LayoutChain *c =
        f->edge_chain[edge] == NONE ? NULL : &f->chain.p[f->edge_chain[edge]];
    uint32_t n = c && f->rank.p[e->lower] - f->rank.p[e->upper] > 1
                     ? (uint32_t)(f->rank.p[e->lower] - f->rank.p[e->upper] - 1)
                     : 0,
             s = k->source, t = l->target[e->target];
    LayoutLine *line = &l->line[e->target];
    *line = (LayoutLine){e->net, e->target, 0, NEW_N(f->a, 4 * (size_t)n + 4, double)};
    put_point(line, l->x[s] + k->out, e->back ? l->y[s] : l->y[s] + l->h[s]);
    for (uint32_t i = 0; i < n; i++)
        put_dummy(f, line, c->first + (e->back ? n - 1 - i : i), e->back);
    put_point(line, l->x[t] + l->into[e->target],
              e->back ? l->y[t] + l->h[t] : l->y[t]);
}

void page_layout_find(Session *s, Arena *a, Layout *l) {
    Finding f = {.s = s, .a = a, .l = l, .n = l->nin + l->nitem + l->nout};
    l->x = NEW_N(a, (size_t)f.n + 1, double);
    l->y = NEW_N(a, (size_t)f.n + 1, double);
    l->line = NEW_N(a, (size_t)l->ntarget + 1, LayoutLine);
    l->width = l->height = 0;
    find_edges(&f);
    find_ranks(&f);
    add_dummies(&f);
    f.above = pieces_of(&f, true);
    f.below = pieces_of(&f, false);
    first_order(&f);
    sort_ranks(&f);
    place_in_x(&f);
    place_in_y(&f);
    place_loose(&f);
    for (size_t i = 0; i < f.edge.n; i++)
        draw_line(&f, i);
    vec_free(&f.edge);
    vec_free(&f.chain);
    vec_free(&f.piece);
    vec_free(&f.rank);
}
