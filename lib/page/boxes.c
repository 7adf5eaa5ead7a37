/* How boxes are made: each Apply and leaf gets a path of branches and names; boxes with
 * fewer than two children give way to what is in them; children come into an order that
 * goes with the edges; what is too long is cut into runs. */
#include "page/boxes.h"

#include "page/page.h"

#include <stdlib.h>
#include <string.h>

enum {
    CHILDREN_MAX = 40, /* shown in a box */
    PART_SIZE = 24,    /* about so many in each part of a longer one */
    PATH_MAX_PARTS = 12,
    BRANCHES_MAX = 16 /* within another */
};

typedef struct Maker {
    Session *s;
    const Graph *g;
    Arena *a;
    Boxes *out;
    Vec(Box) box;
    Map child;      /* parent << 32 | part of a name, or the number of a branch */
    uint32_t *base; /* by purpose: the box of the paths */
    /* items have numbers: Applies, then variables, then boxes */
    uint32_t *inside; /* by item: the box around it */
    uint32_t *depth;  /* by box */
} Maker;

static uint32_t number_of_leaf(const Maker *m, Var v) {
    return m->g->napply + v;
}
static uint32_t number_of_box(const Maker *m, uint32_t box) {
    return m->g->napply + m->g->nvar + box;
}
static Item item_of(const Maker *m, uint32_t number) {
    uint32_t leaves = m->g->napply, boxes = leaves + m->g->nvar;
    return number < leaves  ? (Item){ITEM_APPLY, number}
           : number < boxes ? (Item){ITEM_LEAF, number - leaves}
                            : (Item){ITEM_BOX, number - boxes};
}

/* ---- marks ---- */
static bool is_wide_type(const Type *t) {
    return t->kind == TYPE_TENSOR &&
           (t->dtype == DT_FLOAT64 || t->dtype == DT_COMPLEX128);
}

static bool apply_is_wide(const Graph *g, ApplyId id) {
    const Apply *ap = &g->apply[id];
    bool wide = false;
    for (size_t i = 0; i < ap->nin; i++)
        wide |= is_wide_type(var_type(g, apply_in(g, id)[i]));
    for (Var v = ap->out; v < ap->out + ap->nout; v++)
        wide |= is_wide_type(var_type(g, v));
    return wide;
}

static bool any_marked(const Apply *ap, const uint8_t *mark) {
    for (Var v = ap->out; v < ap->out + ap->nout; v++)
        if (mark[v]) return true;
    return false;
}

static void mark_all(Boxes *b, bool all, Arena *a) {
    const Graph *g = b->g;
    const uint8_t *live = graph_live(g, a, ROOTS_RUN), *detail = family_details(g, a);
    for (Var v = 0; v < g->nvar; v++)
        b->var_marks[v] =
            (uint8_t)((detail[v] ? MARK_DETAIL : 0) | (all || live[v] ? 0 : MARK_IDLE));
    for (ApplyId id = 0; id < g->napply; id++) {
        const Apply *ap = &g->apply[id];
        b->apply_marks[id] = (uint8_t)((detail[ap->out] ? MARK_DETAIL : 0) |
                                       (op_is(g->s, ap->op, OP_CAST) ? MARK_CAST : 0) |
                                       (ap->op->effect ? MARK_EFFECT : 0) |
                                       (apply_is_gradient(g, id) ? MARK_GRADIENT : 0) |
                                       (all || any_marked(ap, live) ? 0 : MARK_IDLE) |
                                       (apply_is_wide(g, id) ? MARK_WIDE : 0));
    }
}

static bool is_shown(const Maker *m, Item i) {
    if (i.sort == ITEM_BOX) return true;
    return !((i.sort == ITEM_APPLY ? m->out->apply_marks : m->out->var_marks)[i.id] &
             MARK_HIDDEN);
}

/* ---- paths ---- */
static uint32_t add_box(Maker *m, Sym title, BoxKind kind, uint32_t parent) {
    Box b = {.title = title, .kind = kind, .parent = parent};
    vec_push(m->s, &m->box, b);
    return (uint32_t)(m->box.n - 1);
}

/* The innermost box of a name below `at`. */
static uint32_t box_of_name(Maker *m, uint32_t at, Sym name) {
    const char *text = sym_text(m->s, name);
    for (size_t from = 0, end, n = 0; text[from] && n < PATH_MAX_PARTS;
         from = end, n++) {
        end = family_part_end(text, from);
        uint64_t key = (uint64_t)at << 32 | sym_n(m->s, text + from, end - from), found;
        if (!map_get(&m->child, key, &found)) {
            found = add_box(m, sym_n(m->s, text, end), BOX_NAMES, at);
            map_put(&m->child, key, found);
        }
        at = (uint32_t)found;
    }
    return at;
}

/* Forward, backward and updates are boxes if there is more than one of them. */
static void make_purposes(Maker *m, const Family *family) {
    static const struct {
        BoxKind kind;
        const char *title;
    } rows[PURPOSES] = {{BOX_RESULTS, "forward"},
                        {BOX_GRADIENTS, "gradient"},
                        {BOX_UPDATES, "updates"}};
    bool used[PURPOSES] = {0};
    for (ApplyId id = 0; id < m->g->napply; id++)
        if (is_shown(m, (Item){ITEM_APPLY, id})) used[family[id].purpose] = true;
    bool split = used[FOR_RESULTS] + used[FOR_GRADIENTS] + used[FOR_UPDATES] > 1;
    for (int k = 0; k < PURPOSES; k++)
        m->base[k] = split && used[k]
                         ? add_box(m, sym(m->s, rows[k].title), rows[k].kind, 0)
                         : 0;
}

/* ---- branches: what only one side of an ifelse needs is in a box of that side ---- */
typedef struct Branch {
    ApplyId of;      /* the ifelse */
    uint32_t parent; /* the branch that the ifelse is in; 0: none */
    uint32_t depth, box;
    bool otherwise;
} Branch;
typedef struct Branches {
    Branch *p;
    size_t n, cap;
    uint32_t *of_var; /* the branch that all readers so far are in */
} Branches;
#define BRANCH_UNSEEN UINT32_MAX

static uint32_t common_branch(const Branches *b, uint32_t x, uint32_t y) {
    if (x == BRANCH_UNSEEN) return y;
    while (x != y)
        if (b->p[x].depth >= b->p[y].depth)
            x = b->p[x].parent;
        else
            y = b->p[y].parent;
    return x;
}

static void read_by(Branches *b, Var v, uint32_t branch) {
    b->of_var[v] = common_branch(b, b->of_var[v], branch);
}

static uint32_t branch_of_apply(const Branches *b, const Apply *ap) {
    uint32_t all = BRANCH_UNSEEN;
    for (Var v = ap->out; v < ap->out + ap->nout; v++)
        if (b->of_var[v] != BRANCH_UNSEEN) all = common_branch(b, all, b->of_var[v]);
    return all == BRANCH_UNSEEN || ap->op->effect ? 0 : all;
}

static void read_by_ifelse(Maker *m, Branches *b, ApplyId id, uint32_t around) {
    size_t n = m->g->apply[id].nin;
    uint32_t first = (uint32_t)b->n;
    bool deep = b->p[around].depth >= BRANCHES_MAX;
    for (int side = 0; side < 2 && !deep; side++) {
        Branch x = {id, around, b->p[around].depth + 1, BOX_NONE, side};
        vec_push(m->s, b, x);
    }
    for (size_t i = 0; i < n; i++)
        read_by(b, apply_in(m->g, id)[i],
                i == 0 || deep ? around : first + (i > (n - 1) / 2));
}

/* By Apply, the branch that it is in. */
static uint32_t *find_branches(Maker *m, Branches *b) {
    const Graph *g = m->g;
    uint32_t *of = NEW_N(m->a, (size_t)g->napply + 1, uint32_t);
    b->of_var = NEW_N(m->a, (size_t)g->nvar + 1, uint32_t);
    for (Var v = 0; v < g->nvar; v++)
        b->of_var[v] = BRANCH_UNSEEN;
    VarList root = graph_roots(g, m->a, ROOTS_RUN);
    vec_push(m->s, b, ((Branch){.of = APPLY_NONE, .box = BOX_NONE}));
    for (size_t i = 0; i < root.n; i++)
        read_by(b, root.p[i], 0);
    for (ApplyId id = g->napply; id-- > 0;) {
        if (m->out->apply_marks[id] & MARK_IDLE) continue;
        of[id] = branch_of_apply(b, &g->apply[id]);
        if (op_is(m->s, g->apply[id].op, OP_IFELSE)) {
            read_by_ifelse(m, b, id, of[id]);
            continue;
        }
        for (size_t i = 0; i < g->apply[id].nin; i++)
            read_by(b, apply_in(g, id)[i], of[id]);
    }
    return of;
}

static uint32_t box_of_branch(Maker *m, Branches *b, uint32_t branch) {
    Branch *x = &b->p[branch];
    if (x->box != BOX_NONE) return x->box;
    Sym name = var_name(m->g, m->g->apply[x->of].out);
    Str title = STR(m->s);
    str_puts(&title, x->otherwise ? "else" : "then");
    if (name) str_printf(&title, " of %s", sym_text(m->s, name));
    x->box = add_box(m, sym(m->s, str_text(&title)), BOX_BRANCH, m->inside[x->of]);
    str_free(&title);
    return x->box;
}

/* ---- everything gets into its box ---- */
static void place_applies(Maker *m, Branches *b, const Family *family) {
    const uint32_t *branch = find_branches(m, b);
    for (ApplyId id = m->g->napply; id-- > 0;) {
        uint32_t in = branch[id];
        Sym name = family[id].name;
        /* in a branch, the name of its ifelse says nothing */
        if (in && name == family[b->p[in].of].name) name = 0;
        m->inside[id] = box_of_name(
            m, in ? box_of_branch(m, b, in) : m->base[family[id].purpose], name);
    }
}

/* Leaves that have names are with these; constants and dims where they are read
 * first. */
static void place_leaves(Maker *m, Branches *b) {
    const Graph *g = m->g;
    uint32_t *reader = NEW_N(m->a, (size_t)g->nvar + 1, uint32_t);
    for (ApplyId id = g->napply; id-- > 0;)
        for (size_t i = 0; i < g->apply[id].nin; i++)
            reader[apply_in(g, id)[i]] = m->inside[id];
    for (Var v = 0; v < g->nvar; v++) {
        LeafKind k = var_leaf(g, v);
        uint32_t in = b->of_var[v];
        if (k == LEAF_NOT) continue;
        bool named = k == LEAF_INPUT || k == LEAF_SHARED;
        uint32_t at = in && in != BRANCH_UNSEEN && b->p[in].box != BOX_NONE
                          ? b->p[in].box
                          : m->base[FOR_RESULTS];
        m->inside[number_of_leaf(m, v)] =
            named ? box_of_name(m, at, var_name(g, v)) : reader[v];
    }
}

/* ---- boxes that hold fewer than two things give way to them ---- */
static void drop_small_boxes(Maker *m) {
    size_t n = m->box.n;
    uint32_t *shown = NEW_N(m->a, n, uint32_t), *into = NEW_N(m->a, n, uint32_t);
    for (uint32_t i = 0; i < m->g->napply + m->g->nvar; i++)
        if (i < m->g->napply || m->g->var[i - m->g->napply].leaf)
            shown[m->inside[i]] += is_shown(m, item_of(m, i));
    for (uint32_t b = (uint32_t)n; b-- > 1;)
        shown[m->box.p[b].parent] += shown[b] > 0;
    for (uint32_t b = 1; b < n; b++) {
        uint32_t up = into[m->box.p[b].parent];
        into[b] = shown[b] > 1 ? b : up;
        m->box.p[b].parent = up;
    }
    for (uint32_t i = 0; i < m->g->napply + m->g->nvar; i++)
        m->inside[i] = into[m->inside[i]];
    uint32_t kept = 0;
    for (uint32_t b = 0; b < n; b++) {
        if (into[b] != b) continue;
        into[b] = kept; /* from here on the new number */
        m->box.p[kept] = m->box.p[b];
        if (b) m->box.p[kept].parent = into[m->box.p[b].parent];
        kept++;
    }
    m->box.n = kept;
    for (uint32_t i = 0; i < m->g->napply + m->g->nvar; i++)
        m->inside[i] = into[m->inside[i]];
    for (uint32_t b = 0; b < kept; b++)
        m->inside[number_of_box(m, b)] = m->box.p[b].parent;
}

/* ---- the order of children ---- */
typedef struct Order {
    Maker *m;
    uint32_t n;     /* items */
    double *key;    /* those that could come next come by this */
    uint32_t *wait; /* edges that lead to it from what hasn't come */
    uint32_t *first, *to;
    Vec(uint32_t) heap;
} Order;

static bool is_item(const Maker *m, uint32_t number) {
    Item i = item_of(m, number);
    return i.sort != ITEM_LEAF || m->g->var[i.id].leaf;
}

/* Applies have their numbers, leaves come before their readers, boxes in the middle of
 * what they hold. */
static void find_keys(Order *o) {
    const Maker *m = o->m;
    const Graph *g = m->g;
    uint32_t boxes = number_of_box(m, 0);
    double *sum = NEW_N(m->a, m->box.n, double), *count = NEW_N(m->a, m->box.n, double);
    bool *applies = NEW_N(m->a, m->box.n, bool);
    for (uint32_t i = g->napply; i < boxes; i++)
        o->key[i] = -1;
    for (ApplyId id = g->napply; id-- > 0;) {
        o->key[id] = id;
        for (size_t i = 0; i < g->apply[id].nin; i++)
            o->key[number_of_leaf(m, apply_in(g, id)[i])] = id - 0.5;
    }
    for (int leaves = 1; leaves >= 0; leaves--)
        for (uint32_t i = leaves ? g->napply : 0; i < (leaves ? boxes : g->napply); i++)
            for (uint32_t b = is_item(m, i) ? m->inside[i] : BOX_NONE; b != BOX_NONE;
                 b = m->box.p[b].parent) {
                /* leaves count only where there is nothing else */
                if (!leaves && !applies[b]) sum[b] = count[b] = 0;
                applies[b] = !leaves;
                sum[b] += o->key[i];
                count[b]++;
            }
    for (uint32_t b = 0; b < m->box.n; b++)
        o->key[boxes + b] = count[b] > 0 ? sum[b] / count[b] : 0;
}

/* The two items of one box that an edge goes between; false: it is inside of one. */
static bool lift_edge(const Maker *m, uint32_t *x, uint32_t *y) {
    while (m->inside[*x] != m->inside[*y]) {
        uint32_t *deep = m->depth[m->inside[*x]] >= m->depth[m->inside[*y]] ? x : y;
        *deep = number_of_box(m, m->inside[*deep]);
    }
    return *x != *y;
}

typedef struct Edge {
    uint32_t from, to;
} Edge;

static void find_edges(Order *o) {
    const Maker *m = o->m;
    const Graph *g = m->g;
    Edge *edge = NEW_N(m->a, (size_t)g->nin + 1, Edge);
    size_t n = 0;
    for (ApplyId id = 0; id < g->napply; id++)
        for (size_t i = 0; i < g->apply[id].nin; i++) {
            Var v = apply_in(g, id)[i];
            ApplyId from = var_owner(g, v);
            Edge e = {from == APPLY_NONE ? number_of_leaf(m, v) : from, id};
            if (lift_edge(m, &e.from, &e.to)) edge[n++] = e;
        }
    o->first = NEW_N(m->a, (size_t)o->n + 2, uint32_t);
    o->to = NEW_N(m->a, n + 1, uint32_t);
    for (size_t i = 0; i < n; i++)
        o->first[edge[i].from + 2]++, o->wait[edge[i].to]++;
    for (uint32_t i = 2; i < o->n + 2; i++)
        o->first[i] += o->first[i - 1];
    for (size_t i = 0; i < n; i++)
        o->to[o->first[edge[i].from + 1]++] = edge[i].to;
}

static bool comes_before(const Order *o, uint32_t x, uint32_t y) {
    return o->key[x] != o->key[y] ? o->key[x] < o->key[y] : x < y;
}

static void heap_push(Order *o, uint32_t x) {
    vec_push(o->m->s, &o->heap, x);
    size_t i = o->heap.n - 1;
    for (; i && comes_before(o, x, o->heap.p[(i - 1) / 2]); i = (i - 1) / 2)
        o->heap.p[i] = o->heap.p[(i - 1) / 2];
    o->heap.p[i] = x;
}

static uint32_t heap_pop(Order *o) {
    uint32_t top = o->heap.p[0], x = o->heap.p[--o->heap.n];
    size_t i = 0, k;
    while ((k = 2 * i + 1) < o->heap.n) {
        k += k + 1 < o->heap.n && comes_before(o, o->heap.p[k + 1], o->heap.p[k]);
        if (!comes_before(o, o->heap.p[k], x)) break;
        o->heap.p[i] = o->heap.p[k];
        i = k;
    }
    if (o->heap.n) o->heap.p[i] = x;
    return top;
}

typedef struct Keyed {
    double key;
    uint32_t item;
} Keyed;

static int compare_keyed(const void *a, const void *b) {
    const Keyed *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

/* All items in an order in which edges lead forward; where boxes read each other in a
 * circle, what would come first otherwise does. */
static uint32_t *sort_items(Order *o, uint32_t *count) {
    const Maker *m = o->m;
    uint32_t *out = NEW_N(m->a, (size_t)o->n + 1, uint32_t), n = 0, all = 0, next = 0;
    uint8_t *done = NEW_N(m->a, (size_t)o->n + 1, uint8_t);
    Keyed *by_key = NEW_N(m->a, (size_t)o->n + 1, Keyed);
    for (uint32_t i = 0; i < o->n; i++)
        if (is_item(m, i)) by_key[all++] = (Keyed){o->key[i], i};
    qsort(by_key, all, sizeof *by_key, compare_keyed);
    for (uint32_t i = 0; i < all; i++)
        if (!o->wait[by_key[i].item]) heap_push(o, by_key[i].item);
    while (n < all) {
        while (!o->heap.n && done[by_key[next].item])
            next++;
        uint32_t x = o->heap.n ? heap_pop(o) : by_key[next].item;
        if (done[x]) continue;
        done[x] = 1;
        out[n++] = x;
        for (uint32_t i = o->first[x]; i < o->first[x + 1]; i++)
            if (!--o->wait[o->to[i]] && !done[o->to[i]]) heap_push(o, o->to[i]);
    }
    *count = n;
    return out;
}

/* ---- runs of children ---- */
typedef struct Children {
    uint32_t *p; /* items */
    uint32_t n;
} Children;

static Sym title_of_item(const Maker *m, uint32_t number) {
    Item i = item_of(m, number);
    if (i.sort == ITEM_BOX) return m->box.p[i.id].title;
    Var v = i.sort == ITEM_LEAF ? i.id : m->g->apply[i.id].out;
    if (var_name(m->g, v)) return var_name(m->g, v);
    if (i.sort == ITEM_LEAF) return sym(m->s, "constant");
    return sym(m->s, arena_printf(m->a, "%s #%u",
                                  sym_text(m->s, apply_label(m->g, i.id)), i.id));
}

/* "first … last"; of parts, the first of the first one. */
static Sym title_of_run(const Maker *m, uint32_t from, uint32_t to) {
    static const char dots[] = " \xe2\x80\xa6 ";
    const char *x = sym_text(m->s, title_of_item(m, from)),
               *y = sym_text(m->s, title_of_item(m, to)), *end = strstr(x, dots),
               *begin;
    int n = (int)(end ? (size_t)(end - x) : strlen(x));
    while ((begin = strstr(y, dots)))
        y = begin + strlen(dots);
    return sym(m->s, arena_printf(m->a, "%.*s%s%s", n, x, dots, y));
}

/* A box for each of several runs of about as many shown children. */
static void cut_children(Maker *m, uint32_t box, Children *c, uint32_t shown) {
    uint32_t parts = (shown + PART_SIZE - 1) / PART_SIZE, seen = 0, at = 0;
    Children whole = {NEW_N(m->a, parts, uint32_t), 0};
    for (uint32_t k = 0; k < parts; k++) {
        uint32_t end = (uint32_t)((uint64_t)shown * (k + 1) / parts), first = BOX_NONE,
                 last = BOX_NONE;
        uint32_t new = add_box(m, 0, BOX_PART, box);
        m->inside[number_of_box(m, new)] = box;
        for (; at < c->n &&
               (seen < end || k + 1 == parts || !is_shown(m, item_of(m, c->p[at])));
             at++) {
            m->inside[c->p[at]] = new;
            Item i = item_of(m, c->p[at]);
            if (i.sort == ITEM_BOX) m->box.p[i.id].parent = new;
            if (!is_shown(m, i)) continue;
            last = c->p[at];
            if (first == BOX_NONE) first = last;
            seen++;
        }
        m->box.p[new].title = title_of_run(m, first, last);
        whole.p[whole.n++] = number_of_box(m, new);
    }
    *c = whole;
}

/* By box, its children: those that are in it now. */
static void list_children(Maker *m, const uint32_t *order, uint32_t n) {
    Boxes *b = m->out;
    uint32_t boxes = (uint32_t)m->box.n, parts = number_of_box(m, 0);
    b->first = NEW_N(m->a, (size_t)boxes + 2, uint32_t);
    b->item = NEW_N(m->a, (size_t)n + boxes, Item);
    /* parts of boxes have no place in `order`, but come as they were made */
    uint8_t *listed = NEW_N(m->a, boxes, uint8_t);
    for (uint32_t i = 0; i < n; i++)
        if (order[i] >= parts) listed[order[i] - parts] = 1;
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0; i < n + boxes; i++) {
            uint32_t x = i < n ? order[i] : parts + i - n;
            if (i >= n && (i == n || listed[i - n])) continue;
            if (x == parts) continue; /* the root */
            if (fill)
                b->item[b->first[m->inside[x] + 1]++] = item_of(m, x);
            else
                b->first[m->inside[x] + 2]++;
        }
        for (uint32_t i = 2; !fill && i < boxes + 2; i++)
            b->first[i] += b->first[i - 1];
    }
}

/* Cuts the boxes that are too long. */
static void cut_boxes(Maker *m, const uint32_t *order, uint32_t n) {
    uint32_t boxes = (uint32_t)m->box.n;
    list_children(m, order, n);
    for (uint32_t b = 0; b < boxes; b++) {
        uint32_t from = m->out->first[b], end = m->out->first[b + 1], shown = 0;
        Children c = {NEW_N(m->a, (size_t)(end - from) + 1, uint32_t), 0};
        for (uint32_t i = from; i < end; i++) {
            Item x = m->out->item[i];
            shown += is_shown(m, x);
            c.p[c.n++] = x.sort == ITEM_APPLY  ? x.id
                         : x.sort == ITEM_LEAF ? number_of_leaf(m, x.id)
                                               : number_of_box(m, x.id);
        }
        for (; shown > CHILDREN_MAX; shown = c.n)
            cut_children(m, b, &c, shown);
    }
    if (m->box.n > boxes) list_children(m, order, n);
}

static void count_members(Maker *m) {
    for (uint32_t i = 0; i < number_of_box(m, 0); i++) {
        Item x = item_of(m, i);
        if (!is_item(m, i) || !is_shown(m, x)) continue;
        bool shared = x.sort == ITEM_LEAF && var_leaf(m->g, x.id) == LEAF_SHARED;
        for (uint32_t b = m->inside[i]; b != BOX_NONE; b = m->box.p[b].parent) {
            m->box.p[b].applies += x.sort == ITEM_APPLY;
            m->box.p[b].leaves += x.sort == ITEM_LEAF;
            m->box.p[b].shared += shared;
        }
    }
}

static void order_children(Maker *m) {
    uint32_t n = number_of_box(m, (uint32_t)m->box.n);
    Order o = {.m = m, .n = n};
    m->depth = NEW_N(m->a, m->box.n, uint32_t);
    for (uint32_t b = 1; b < m->box.n; b++)
        m->depth[b] = m->depth[m->box.p[b].parent] + 1;
    o.key = NEW_N(m->a, n, double);
    o.wait = NEW_N(m->a, n, uint32_t);
    find_keys(&o);
    find_edges(&o);
    uint32_t count, *order = sort_items(&o, &count);
    vec_free(&o.heap);
    cut_boxes(m, order, count);
}

bool box_shows(const Boxes *b, Item i) {
    if (i.sort == ITEM_APPLY) return !(b->apply_marks[i.id] & MARK_HIDDEN);
    if (i.sort == ITEM_LEAF) return !(b->var_marks[i.id] & MARK_HIDDEN);
    return true; /* smaller boxes have given way */
}

static void place_all(Maker *m) {
    const Family *family = family_of_applies(m->g, m->a);
    Branches branches = {0};
    add_box(m, 0, BOX_ROOT, BOX_NONE);
    make_purposes(m, family);
    place_applies(m, &branches, family);
    place_leaves(m, &branches);
    vec_free(&branches);
}

/* Room for the boxes that cutting adds: one for about PART_SIZE children, and one for
 * as many of these. */
static void make_room(Maker *m, size_t boxes) {
    size_t items = (size_t)m->g->napply + m->g->nvar;
    uint32_t *room = NEW_N(m->a, items + boxes + (items + boxes) / 8 + 16, uint32_t);
    if (m->inside && items) memcpy(room, m->inside, items * sizeof *room);
    m->inside = room;
}

Boxes *boxes_new(const Graph *g, bool all, Arena *a) {
    Boxes *b = NEW(a, Boxes);
    uint32_t base[PURPOSES];
    Maker m = {.s = g->s, .g = g, .a = a, .out = b, .child = MAP(g->s), .base = base};
    b->g = g;
    b->apply_marks = NEW_N(a, (size_t)g->napply + 1, uint8_t);
    b->var_marks = NEW_N(a, (size_t)g->nvar + 1, uint8_t);
    mark_all(b, all, a);
    make_room(&m, 0);
    place_all(&m);
    make_room(&m, m.box.n);
    drop_small_boxes(&m);
    order_children(&m);
    count_members(&m);
    b->n = (uint32_t)m.box.n;
    b->box = arena_copy(a, m.box.p, m.box.n * sizeof *m.box.p);
    b->apply_box = m.inside;
    b->leaf_box = m.inside + g->napply;
    map_free(&m.child);
    vec_free(&m.box);
    return b;
}
