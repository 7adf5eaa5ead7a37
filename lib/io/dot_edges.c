/* What flows between the nodes of a picture, and which of them are around a variable.
 */
#include "io/dot_impl.h"

#include <string.h>

Var dot_without_casts(const Dot *d, Var v) {
    while (d->hidden && var_owner(d->g, v) != APPLY_NONE &&
           op_is(d->s, d->g->apply[var_owner(d->g, v)].op, OP_CAST))
        v = apply_in(d->g, var_owner(d->g, v))[0];
    return v;
}

bool dot_draws_apply(const Dot *d, ApplyId a) {
    const Apply *ap = &d->g->apply[a];
    if (d->hidden && (d->hidden[ap->out] || op_is(d->s, ap->op, OP_CAST))) return false;
    for (uint16_t i = 0; i < ap->nout; i++)
        if (d->live[ap->out + i]) return true;
    return false;
}

static DotNode node_in_group(const Dot *d, DotNode n, uint32_t group) {
    uint32_t shown = group == DOT_NONE ? DOT_NONE : d->group[group].within;
    return shown == DOT_NONE ? n : dot_node_of_group(d, shown);
}

static DotNode node_of_apply(const Dot *d, ApplyId a) {
    return node_in_group(d, dot_node_of_apply(d, a), d->apply_group[a]);
}

DotNode dot_node_of_var(const Dot *d, Var named) {
    Var v = dot_without_casts(d, named);
    ApplyId a = var_owner(d->g, v);
    return a == APPLY_NONE ? node_in_group(d, v, d->leaf_group[v])
                           : node_of_apply(d, a);
}

/* ---- edges ---- */
typedef struct Merging {
    Dot *d;
    Map edge; /* both nodes -> number of the edge */
    Map flow; /* a variable and the node that reads it */
} Merging;

static void add_edge(Merging *m, DotEdge e) {
    Dot *d = m->d;
    bool merged = dot_is_group(d, e.from) || dot_is_group(d, e.to);
    uint64_t at, pair = (uint64_t)e.from << 32 | e.to;
    uint64_t flow = (uint64_t)dot_without_casts(d, e.var) << 32 | e.to;
    if (merged && e.from == e.to) return;
    if (merged && !e.update) {
        if (map_get(&m->flow, flow, NULL)) return;
        map_put(&m->flow, flow, 1);
    }
    if (e.update) pair = ~pair;
    if (merged && map_get(&m->edge, pair, &at)) {
        d->edges.p[at].count++;
        return;
    }
    if (merged) map_put(&m->edge, pair, d->edges.n);
    vec_push(d->s, &d->edges, e);
}

static bool is_viewed(const Graph *g, ApplyId a, uint32_t in) {
    for (uint16_t i = 0; i < g->apply[a].nout; i++)
        if (op_view(g, a, i) == (int)in) return true;
    return false;
}

/* Constants and dims are a group's own affair. */
static bool is_shown_input(const Dot *d, Var v, DotNode reader) {
    if (d->hidden && d->hidden[v]) return false;
    LeafKind k = var_leaf(d->g, v);
    return !dot_is_group(d, reader) || (k != LEAF_CONST && k != LEAF_DIM);
}

static void add_reads(Merging *m, ApplyId a) {
    Dot *d = m->d;
    DotNode to = node_of_apply(d, a);
    for (uint32_t i = 0; i < d->g->apply[a].nin; i++) {
        Var v = apply_in(d->g, a)[i];
        if (!is_shown_input(d, dot_without_casts(d, v), to)) continue;
        add_edge(m, (DotEdge){.from = dot_node_of_var(d, v),
                              .to = to,
                              .var = v,
                              .count = 1,
                              .in = i,
                              .viewed = is_viewed(d->g, a, i)});
    }
}

/* ---- around a variable ---- */
DotEnds dot_ends(const Dot *d, Arena *a, bool down) {
    size_t nodes = dot_node_count(d);
    DotEnds x = {NEW_N(a, nodes + 2, uint32_t), NEW_N(a, d->edges.n + 1, uint32_t),
                 down};
    for (size_t i = 0; i < d->edges.n; i++)
        x.first[(down ? d->edges.p[i].from : d->edges.p[i].to) + 2]++;
    for (size_t n = 2; n <= nodes; n++)
        x.first[n] += x.first[n - 1];
    for (uint32_t i = 0; i < d->edges.n; i++)
        x.edge[x.first[(down ? d->edges.p[i].from : d->edges.p[i].to) + 1]++] = i;
    return x;
}

/* Shows what the node reads in o->steps steps, or with `down` what reads it. Leaves
 * lead nowhere: what else reads them is not near. */
static void show_near(Dot *d, DotNode start, bool down) {
    Arena *a = arena_new(d->s);
    DotEnds ends = dot_ends(d, a, down);
    DotNode *queue = NEW_N(a, dot_node_count(d) + 1, DotNode);
    uint32_t *distance = NEW_N(a, dot_node_count(d) + 1, uint32_t);
    size_t n = 1;
    queue[0] = start;
    distance[start] = 1; /* and one more for each step; 0: not reached */
    for (size_t i = 0; i < n; i++) {
        DotNode at = queue[i];
        d->shown[at] = 1;
        if (distance[at] > d->o->steps || (i && dot_is_leaf(d, at))) continue;
        for (uint32_t k = ends.first[at]; k < ends.first[at + 1]; k++) {
            const DotEdge *e = &d->edges.p[ends.edge[k]];
            DotNode to = down ? e->to : e->from;
            if (distance[to]) continue;
            distance[to] = distance[at] + 1;
            queue[n++] = to;
        }
    }
    arena_free(a);
}

static void show_around(Dot *d, Var v) {
    DotNode at = dot_node_of_var(d, v);
    memset(d->shown, 0, dot_node_count(d));
    show_near(d, at, false);
    show_near(d, at, true);
    for (size_t i = 0; i < d->edges.n; i++) {
        const DotEdge *e = &d->edges.p[i];
        if (dot_is_leaf(d, e->from) && d->shown[e->to] && !dot_is_leaf(d, e->to))
            d->shown[e->from] = 1;
    }
}

void dot_make_edges(Dot *d) {
    const Graph *g = d->g;
    Merging m = {d, MAP(d->s), MAP(d->s)};
    for (ApplyId a = 0; a < g->napply; a++)
        if (dot_draws_apply(d, a)) add_reads(&m, a);
    for (size_t i = 0; i < g->updates.n; i++)
        add_edge(&m, (DotEdge){.from = dot_node_of_var(d, g->updates.p[i].value),
                               .to = dot_node_of_var(d, g->updates.p[i].shared),
                               .var = g->updates.p[i].value,
                               .count = 1,
                               .update = true});
    map_free(&m.edge);
    map_free(&m.flow);
    d->readers = NEW_N(d->a, dot_node_count(d) + 1, uint32_t);
    for (size_t i = 0; i < d->edges.n; i++)
        d->readers[d->edges.p[i].from] += !d->edges.p[i].update;
    d->shown = NEW_N(d->a, dot_node_count(d) + 1, uint8_t);
    memset(d->shown, 1, dot_node_count(d));
    if (d->o->around && !d->no) show_around(d, d->o->around_var);
}
