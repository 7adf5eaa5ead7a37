/* The wires of a view, as nets of the containers that they go through, and the places
 * of everything, from the innermost containers outward. */
#include "page/view.h"

#include <string.h>

enum { PORT_WIDTH = 8 };

/* Where a net begins or ends in a container. */
typedef enum EndKind { END_IN, END_ITEM, END_OUT } EndKind;
typedef struct End {
    EndKind kind;
    uint32_t number; /* of the port, or of the item in the container */
} End;
typedef struct Net {
    uint32_t container, wire; /* the node that the wire begins at */
    End source;
    Vec(End) target;
} Net;
typedef struct Wiring {
    View *v;
    Map shown; /* instance << 32 | number of an item -> node */
    Map net;   /* container << 32 | wire -> net */
    Map port;  /* container << 32 | wire -> port */
    Map known; /* net << 34 | end -> 1 */
    Vec(Net) nets;
    Vec(uint32_t) path;
    uint32_t *nin, *nout; /* ports by container */
} Wiring;

static uint64_t key_of(uint32_t x, uint32_t y) {
    return (uint64_t)x << 32 | y;
}

static uint32_t item_key(const Graph *g, Item i) {
    return i.sort == ITEM_APPLY  ? i.id
           : i.sort == ITEM_LEAF ? g->napply + i.id
                                 : g->napply + g->nvar + i.id;
}

static void list_shown(Wiring *w) {
    View *v = w->v;
    for (uint32_t i = 0; i < v->node.n; i++) {
        const ViewNode *n = &v->node.p[i];
        const Container *c = &v->container.p[n->parent];
        const Graph *g = v->page->tables->graph.p[n->graph].g;
        if (!n->function)
            map_put(&w->shown, key_of(c->instance, item_key(g, n->item)), i);
    }
}

/* ---- which node shows what ---- */
static uint32_t node_in_box(const Wiring *w, const Boxes *b, uint32_t instance,
                            Item item, uint32_t box) {
    uint64_t found;
    for (;;) {
        if (map_get(&w->shown, key_of(instance, item_key(b->g, item)), &found))
            return (uint32_t)found;
        if (box == BOX_NONE) return VIEW_NONE;
        item = (Item){ITEM_BOX, box};
        box = b->box[box].parent;
    }
}

static uint32_t node_of_apply(const Wiring *w, const Boxes *b, uint32_t instance,
                              ApplyId id) {
    if (b->apply_marks[id] & MARK_HIDDEN) return VIEW_NONE;
    return node_in_box(w, b, instance, (Item){ITEM_APPLY, id}, b->apply_box[id]);
}

/* Casts are drawn as their inputs. */
static uint32_t node_of_var(const Wiring *w, const Boxes *b, uint32_t instance, Var v) {
    ApplyId id = var_owner(b->g, v);
    while (id != APPLY_NONE && b->apply_marks[id] & MARK_CAST) {
        v = apply_in(b->g, id)[0];
        id = var_owner(b->g, v);
    }
    if (id != APPLY_NONE) return node_of_apply(w, b, instance, id);
    if (b->var_marks[v] & MARK_HIDDEN) return VIEW_NONE;
    return node_in_box(w, b, instance, (Item){ITEM_LEAF, v}, b->leaf_box[v]);
}

/* ---- nets ---- */
static uint32_t container_around(const View *v, uint32_t container) {
    return v->node.p[v->container.p[container].node].parent;
}

static End item_end(const View *v, uint32_t node) {
    return (End){END_ITEM, node - v->container.p[v->node.p[node].parent].first};
}

static uint32_t port_of(Wiring *w, uint32_t container, uint32_t wire, uint32_t *count) {
    uint64_t found;
    if (map_get(&w->port, key_of(container, wire), &found)) return (uint32_t)found;
    map_put(&w->port, key_of(container, wire), count[container]);
    return count[container]++;
}

static void add_to_net(Wiring *w, uint32_t container, uint32_t wire, End source,
                       End target) {
    uint64_t at;
    if (!map_get(&w->net, key_of(container, wire), &at)) {
        Net new = {.container = container, .wire = wire, .source = source};
        at = w->nets.n;
        map_put(&w->net, key_of(container, wire), at);
        vec_push(w->v->s, &w->nets, new);
    }
    uint64_t key = at << 34 | (uint64_t)target.kind << 32 | target.number;
    if (map_get(&w->known, key, NULL)) return;
    map_put(&w->known, key, 1);
    vec_push(w->v->s, &w->nets.p[at].target, target);
}

/* Into a container that is open: from the outermost inward. */
static void enter(Wiring *w, uint32_t wire, uint32_t target, uint32_t outside) {
    View *v = w->v;
    w->path.n = 0;
    for (uint32_t c = v->node.p[target].parent; c != outside;
         c = container_around(v, c))
        vec_push(v->s, &w->path, c);
    for (size_t n = w->path.n; n-- > 0;) {
        uint32_t c = w->path.p[n],
                 inner = n > 0 ? v->container.p[w->path.p[n - 1]].node : target;
        End port = {END_IN, port_of(w, c, wire, w->nin)};
        add_to_net(w, c, wire, port, item_end(v, inner));
    }
}

static void add_wire(Wiring *w, uint32_t from, uint32_t to) {
    View *v = w->v;
    uint32_t x = from, y = to, cx = v->node.p[from].parent, cy = v->node.p[to].parent;
    if (from == to) return;
    /* a wire out of what is open leaves through its border */
    uint32_t a = cx, b = cy;
    while (a != b)
        if (v->container.p[a].depth >= v->container.p[b].depth)
            a = container_around(v, a);
        else
            b = container_around(v, b);
    for (; cx != a; cx = v->node.p[x].parent) {
        End port = {END_OUT, port_of(w, cx, from, w->nout)};
        add_to_net(w, cx, from, item_end(v, x), port);
        x = v->container.p[cx].node;
    }
    for (; cy != a; cy = v->node.p[y].parent)
        y = v->container.p[cy].node;
    if (x == y) return; /* within an open call */
    add_to_net(w, a, from, item_end(v, x), item_end(v, y));
    enter(w, from, to, a);
}

static void add_wires_of(Wiring *w, uint32_t instance) {
    View *v = w->v;
    uint32_t graph = v->container.p[instance].graph;
    const Graph *g = v->page->tables->graph.p[graph].g;
    const Boxes *b = v->page->tables->graph.p[graph].boxes;
    for (ApplyId id = 0; id < g->napply; id++) {
        uint32_t to = node_of_apply(w, b, instance, id);
        if (to == VIEW_NONE) continue;
        for (size_t i = 0; i < g->apply[id].nin; i++) {
            uint32_t from = node_of_var(w, b, instance, apply_in(g, id)[i]);
            if (from != VIEW_NONE) add_wire(w, from, to);
        }
    }
}

/* ---- places ---- */
static uint32_t index_of_end(const Layout *l, End e) {
    return e.kind == END_IN     ? e.number
           : e.kind == END_ITEM ? l->nin + e.number
                                : l->nin + l->nitem + e.number;
}

/* Where a wire goes through the border of a node, from its centre: 0 unless it is open
 * and the wire ends inside. */
static double offset_at(const Wiring *w, const Container *c, uint32_t wire, End e,
                        bool leaves) {
    View *v = w->v;
    uint64_t port;
    if (e.kind != END_ITEM) return 0;
    const ViewNode *n = &v->node.p[c->first + e.number];
    if (n->container == VIEW_NONE ||
        !map_get(&w->port, key_of(n->container, wire), &port))
        return 0;
    const Layout *l = &v->container.p[n->container].layout;
    uint32_t at = leaves ? l->nin + l->nitem + (uint32_t)port : (uint32_t)port;
    return VIEW_PAD + l->x[at] - n->w / 2;
}

static void fill_layout(Wiring *w, uint32_t number, const uint32_t *first,
                        const uint32_t *net) {
    View *v = w->v;
    Container *c = &v->container.p[number];
    Layout *l = &c->layout;
    *l = (Layout){.nin = w->nin[number], .nitem = c->n, .nout = w->nout[number]};
    size_t n = (size_t)l->nin + l->nitem + l->nout, k = 0;
    l->w = NEW_N(v->a, n + 1, double);
    l->h = NEW_N(v->a, n + 1, double);
    for (size_t i = 0; i < n; i++)
        l->w[i] = PORT_WIDTH;
    for (uint32_t i = 0; i < c->n; i++) {
        l->w[l->nin + i] = v->node.p[c->first + i].w;
        l->h[l->nin + i] = v->node.p[c->first + i].h;
    }
    l->nnet = first[number + 1] - first[number];
    l->net = NEW_N(v->a, (size_t)l->nnet + 1, LayoutNet);
    for (uint32_t i = 0; i < l->nnet; i++)
        l->ntarget += (uint32_t)w->nets.p[net[first[number] + i]].target.n;
    l->target = NEW_N(v->a, (size_t)l->ntarget + 1, uint32_t);
    l->into = NEW_N(v->a, (size_t)l->ntarget + 1, double);
    for (uint32_t i = 0; i < l->nnet; i++) {
        const Net *q = &w->nets.p[net[first[number] + i]];
        l->net[i] = (LayoutNet){index_of_end(l, q->source), (uint32_t)q->target.n,
                                (uint32_t)k, offset_at(w, c, q->wire, q->source, true)};
        for (size_t t = 0; t < q->target.n; t++, k++) {
            l->target[k] = index_of_end(l, q->target.p[t]);
            l->into[k] = offset_at(w, c, q->wire, q->target.p[t], false);
        }
    }
}

static double width_of_title(const ViewNode *n) {
    size_t letters = 0;
    for (size_t i = 0; i < n->line[0].n; i++)
        letters += ((unsigned char)n->line[0].p[i] & 0xc0) != 0x80;
    return 7 * (double)letters + 40;
}

static void place_container(Wiring *w, uint32_t number, const uint32_t *first,
                            const uint32_t *net) {
    View *v = w->v;
    Container *c = &v->container.p[number];
    fill_layout(w, number, first, net);
    page_layout_find(v->s, v->a, &c->layout);
    if (c->node == VIEW_NONE) return;
    ViewNode *n = &v->node.p[c->node];
    n->w = c->layout.width + 2 * VIEW_PAD;
    n->h = c->layout.height + VIEW_HEAD + VIEW_PAD;
    if (width_of_title(n) > n->w) n->w = width_of_title(n);
}

static void place_absolutely(View *v) {
    for (uint32_t i = 0; i < v->container.n; i++) {
        Container *c = &v->container.p[i];
        if (c->node != VIEW_NONE) {
            c->x = v->node.p[c->node].x + VIEW_PAD;
            c->y = v->node.p[c->node].y + VIEW_HEAD;
        }
        for (uint32_t k = 0; k < c->n; k++) {
            ViewNode *n = &v->node.p[c->first + k];
            n->x = c->x + c->layout.x[c->layout.nin + k] - n->w / 2;
            n->y = c->y + c->layout.y[c->layout.nin + k];
        }
    }
    v->width = v->container.p[0].layout.width;
    v->height = v->container.p[0].layout.height;
}

void page_view_places(View *v) {
    Wiring w = {.v = v};
    w.shown = w.net = w.port = w.known = MAP(v->s);
    size_t n = v->container.n;
    w.nin = NEW_N(v->a, n + 1, uint32_t);
    w.nout = NEW_N(v->a, n + 1, uint32_t);
    list_shown(&w);
    for (uint32_t i = 0; i < n; i++)
        if (v->container.p[i].instance == i && !v->container.p[i].functions)
            add_wires_of(&w, i);
    uint32_t *first = NEW_N(v->a, n + 2, uint32_t),
             *net = NEW_N(v->a, w.nets.n + 1, uint32_t);
    for (size_t i = 0; i < w.nets.n; i++)
        first[w.nets.p[i].container + 2]++;
    for (size_t i = 2; i < n + 2; i++)
        first[i] += first[i - 1];
    for (size_t i = 0; i < w.nets.n; i++)
        net[first[w.nets.p[i].container + 1]++] = (uint32_t)i;
    for (uint32_t i = (uint32_t)n; i-- > 0;)
        place_container(&w, i, first, net);
    place_absolutely(v);
    for (size_t i = 0; i < w.nets.n; i++)
        vec_free(&w.nets.p[i].target);
    vec_free(&w.nets);
    vec_free(&w.path);
    map_free(&w.shown);
    map_free(&w.net);
    map_free(&w.port);
    map_free(&w.known);
}
