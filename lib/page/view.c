/* Which boxes are open at first. */
#include "page/view.h"

#include "op/op.h"

#include <string.h>

/* ---- the functions of an Apply ---- */
/* Those that a picture goes into, as numbers of graphs: fused ones are shown as one
 * op. */
static uint32_t functions_of(const Page *p, const Graph *g, ApplyId id,
                             uint32_t *number, uint32_t most) {
    const Props *props = g->apply[id].props;
    uint32_t n = 0;
    for (uint32_t i = 0; props && i < props->n && n < most; i++) {
        if (props->p[i].kind != P_GRAPH) continue;
        const Graph *fn = graph_function(g, props->p[i].sym);
        if (fn && !fn->fused && page_graph_number(p, fn) != UINT32_MAX)
            number[n++] = page_graph_number(p, fn);
    }
    return n;
}

enum { FUNCTIONS_MAX = 16 };

static const Graph *graph_of(const View *v, uint32_t number) {
    return v->page->tables->graph.p[number].g;
}
static const Boxes *boxes_of(const View *v, uint32_t number) {
    return v->page->tables->graph.p[number].boxes;
}

/* ---- labels ---- */
/* In a box of names that begin alike, what they begin with is said by the box alone. */
static void put_name_inside(const Boxes *b, uint32_t box, const char *name, Str *out) {
    while (box != BOX_NONE && b->box[box].kind != BOX_NAMES)
        box = b->box[box].parent;
    const char *all = box == BOX_NONE ? "" : sym_text(b->g->s, b->box[box].title);
    size_t n = strlen(all);
    bool inside = n > 0 && strncmp(name, all, n) == 0 && name[n] &&
                  strchr("_./", name[n]) && name[n + 1];
    str_printf(out, "%s%s", inside ? "\xe2\x80\xa6" : "", inside ? name + n + 1 : name);
}

/* At most LABEL_MAX characters. */
static void cut_label(Str *text) {
    size_t i = 0, n = 0, keep = 0, len;
    uint32_t cp;
    for (; i < text->n; i += len, n++) {
        if (n == LABEL_MAX - 1) keep = i;
        len = str_utf8_next(text->p + i, text->n - i, &cp);
        if (!len) len = 1;
    }
    if (n <= LABEL_MAX) return;
    text->n = keep;
    text->p[keep] = 0;
    str_puts(text, "\xe2\x80\xa6");
}

static size_t count_letters(const Str *text) {
    size_t n = 0;
    for (size_t i = 0; i < text->n; i++)
        n += ((unsigned char)text->p[i] & 0xc0) != 0x80;
    return n;
}

static void label_apply(const Boxes *b, uint32_t box, ApplyId id, Str *line) {
    const Graph *g = b->g;
    Sym name = var_name(g, g->apply[id].out);
    if (name) put_name_inside(b, box, sym_text(g->s, name), &line[0]);
    if (name) str_puts(&line[0], " = ");
    str_puts(&line[0], sym_text(g->s, apply_label(g, id)));
    str_puts(&line[1], type_str(g->s, var_type(g, g->apply[id].out)));
}

static void label_leaf(const Boxes *b, uint32_t box, Var v, Str *line) {
    const Graph *g = b->g;
    if (var_is_const(g, v))
        str_puts(&line[0], "constant");
    else if (var_leaf(g, v) == LEAF_DIM)
        str_puts(&line[0], sym_text(g->s, var_leafrec(g, v)->name));
    else
        put_name_inside(b, box, sym_text(g->s, var_name(g, v)), &line[0]);
    str_puts(&line[1], type_str(g->s, var_type(g, v)));
}

static void count_in_box(Session *s, const Box *box, Str *line) {
    str_puts(&line[1], box->applies ? str_counted(s, box->applies, "Apply")
                                    : str_counted(s, box->leaves, "variable"));
}

static void label_node(const View *v, ViewNode *n) {
    const Boxes *b = boxes_of(v, n->graph);
    uint32_t box = v->container.p[n->parent].box;
    n->line[0] = n->line[1] = STR(v->s);
    if (n->function) {
        str_puts(&n->line[0], sym_text(v->s, b->g->name));
        count_in_box(v->s, &b->box[0], n->line);
    } else if (n->item.sort == ITEM_APPLY) {
        label_apply(b, box, n->item.id, n->line);
    } else if (n->item.sort == ITEM_LEAF) {
        label_leaf(b, box, n->item.id, n->line);
    } else {
        const Box *inner = &b->box[n->item.id];
        put_name_inside(b, box, sym_text(v->s, inner->title), &n->line[0]);
        count_in_box(v->s, inner, n->line);
    }
    size_t longest = 0;
    for (int k = 0; k < 2; k++) {
        cut_label(&n->line[k]);
        size_t letters = count_letters(&n->line[k]);
        if (letters > longest) longest = letters;
    }
    n->w = 7 * (double)longest + 16;
    if (n->w < 40) n->w = 40;
    n->h = 38;
}

/* ---- opening ---- */
static void add_node(View *v, ViewNode n) {
    n.container = VIEW_NONE;
    vec_push(v->s, &v->node, n);
    v->container.p[n.parent].n++;
}

static void add_items(View *v, uint32_t container) {
    uint32_t graph = v->container.p[container].graph;
    const Boxes *b = boxes_of(v, graph);
    uint32_t box = v->container.p[container].box;
    for (uint32_t i = b->first[box]; i < b->first[box + 1]; i++)
        if (box_shows(b, b->item[i]))
            add_node(
                v, (ViewNode){.parent = container, .graph = graph, .item = b->item[i]});
}

/* What a node holds: false, if nothing. */
static bool inside_of(const View *v, uint32_t node, Container *c, uint32_t *fn,
                      uint32_t *nfn) {
    ViewNode *n = &v->node.p[node];
    *c = (Container){.node = node, .graph = n->graph};
    *nfn = 0;
    if (n->function) return true;
    if (n->item.sort == ITEM_LEAF) return false;
    if (n->item.sort == ITEM_BOX) {
        c->box = n->item.id;
        return true;
    }
    *nfn = functions_of(v->page, graph_of(v, n->graph), n->item.id, fn, FUNCTIONS_MAX);
    c->functions = *nfn > 1;
    if (*nfn == 1) c->graph = fn[0];
    return *nfn > 0;
}

static uint32_t children_of(const View *v, const Container *c, uint32_t nfn) {
    if (c->functions) return nfn;
    const Boxes *b = boxes_of(v, c->graph);
    uint32_t n = 0;
    for (uint32_t i = b->first[c->box]; i < b->first[c->box + 1]; i++)
        n += box_shows(b, b->item[i]);
    return n;
}

/* Who opens a graph wants to see what it computes, then how it learns. */
static uint32_t interest_in(const View *v, const ViewNode *n) {
    const Boxes *b = boxes_of(v, n->graph);
    uint32_t box = n->function                ? 0
                   : n->item.sort == ITEM_BOX ? n->item.id
                                              : b->apply_box[n->item.id];
    for (; box != BOX_NONE; box = b->box[box].parent) {
        if (b->box[box].kind == BOX_GRADIENTS) return 2;
        if (b->box[box].kind == BOX_UPDATES) return 1;
    }
    return 8;
}

static uint64_t weight_of(const View *v, const Container *c, const uint32_t *fn,
                          uint32_t nfn) {
    uint64_t n = c->functions ? 0 : boxes_of(v, c->graph)->box[c->box].applies;
    for (uint32_t i = 0; c->functions && i < nfn; i++)
        n += boxes_of(v, fn[i])->box[0].applies;
    return n * interest_in(v, &v->node.p[c->node]);
}

/* Opens a node, whose children come at the end. False: nothing is in it. */
static bool open_node(View *v, uint32_t node) {
    uint32_t fn[FUNCTIONS_MAX], nfn, number = (uint32_t)v->container.n;
    Container c;
    if (!inside_of(v, node, &c, fn, &nfn) || !children_of(v, &c, nfn)) return false;
    c.first = (uint32_t)v->node.n;
    c.depth = v->container.p[v->node.p[node].parent].depth + 1;
    vec_push(v->s, &v->container, c);
    v->node.p[node].container = number;
    if (!c.functions) add_items(v, number);
    for (uint32_t i = 0; c.functions && i < nfn; i++)
        add_node(v, (ViewNode){.parent = number,
                               .graph = fn[i],
                               .item = {ITEM_APPLY, i},
                               .function = true});
    return true;
}

/* Opens what holds most, as long as what is then seen can be taken in. */
static void open_some(View *v) {
    uint32_t shown = v->container.p[0].n;
    for (;;) {
        uint32_t best = VIEW_NONE, more = 0;
        uint64_t most = 0;
        for (uint32_t i = 0; i < v->node.n; i++) {
            uint32_t fn[FUNCTIONS_MAX], nfn;
            Container c;
            if (v->node.p[i].container != VIEW_NONE || !inside_of(v, i, &c, fn, &nfn))
                continue;
            uint32_t n = children_of(v, &c, nfn);
            uint64_t weight = weight_of(v, &c, fn, nfn);
            if (!n || shown + n - 1 > VIEW_MAX || weight <= most) continue;
            best = i;
            most = weight;
            more = n - 1;
        }
        if (best == VIEW_NONE) return;
        open_node(v, best);
        shown += more;
    }
}

static void open_levels(View *v, int levels) {
    for (uint32_t i = 0; i < v->node.n; i++)
        if (v->container.p[v->node.p[i].parent].depth + 1 < (uint32_t)levels)
            open_node(v, i);
}

/* ---- containers in the order of the tree ---- */
static void copy_container(View *v, const View *from, uint32_t which, uint32_t node) {
    const Container *old = &from->container.p[which];
    Container c = *old;
    uint32_t number = (uint32_t)v->container.n;
    c.node = node;
    c.n = 0;
    c.first = (uint32_t)v->node.n;
    bool new = node == VIEW_NONE || v->node.p[node].function ||
               v->node.p[node].item.sort == ITEM_APPLY;
    c.instance = new ? number : v->container.p[v->node.p[node].parent].instance;
    vec_push(v->s, &v->container, c);
    if (node != VIEW_NONE) v->node.p[node].container = number;
    for (uint32_t i = 0; i < old->n; i++) {
        ViewNode n = from->node.p[old->first + i];
        n.parent = number;
        label_node(v, &n);
        add_node(v, n);
    }
    for (uint32_t i = 0; i < old->n; i++) {
        uint32_t inner = from->node.p[old->first + i].container;
        if (inner != VIEW_NONE) copy_container(v, from, inner, c.first + i);
    }
}

View *page_view_open(Page *p, uint32_t graph, int levels) {
    View found = {.page = p, .s = p->s};
    Container whole = {.node = VIEW_NONE, .graph = graph};
    vec_push(p->s, &found.container, whole);
    add_items(&found, 0);
    if (levels > 0)
        open_levels(&found, levels);
    else
        open_some(&found);
    View *v = NEW(p->a, View);
    *v = (View){.page = p, .s = p->s, .a = arena_new(p->s)};
    copy_container(v, &found, 0, VIEW_NONE);
    vec_free(&found.node);
    vec_free(&found.container);
    return v;
}

void page_view_free(View *v) {
    if (!v) return;
    for (size_t i = 0; i < v->node.n; i++) {
        str_free(&v->node.p[i].line[0]);
        str_free(&v->node.p[i].line[1]);
    }
    vec_free(&v->node);
    vec_free(&v->container);
    arena_free(v->a);
}

/* ---- names of nodes ---- */
/* Does the container hold a graph rather than one of its boxes? */
static bool begins_graph(const View *v, uint32_t container) {
    const Container *c = &v->container.p[container];
    return c->node == VIEW_NONE || v->node.p[c->node].function ||
           v->node.p[c->node].item.sort != ITEM_BOX;
}

void page_view_path(const View *v, uint32_t node, Str *out) {
    const ViewNode *n = &v->node.p[node];
    uint32_t call = n->parent;
    while (!begins_graph(v, call))
        call = v->node.p[v->container.p[call].node].parent;
    if (v->container.p[call].node != VIEW_NONE) {
        page_view_path(v, v->container.p[call].node, out);
        str_putc(out, '/');
    }
    str_printf(out, "%c%u",
               n->function                  ? 'f'
               : n->item.sort == ITEM_APPLY ? 'a'
               : n->item.sort == ITEM_LEAF  ? 'v'
                                            : 'b',
               n->item.id);
}

void page_put_open(Page *p, const char *key, const Graph *main) {
    uint32_t graph = page_graph_number(p, main);
    if (graph == UINT32_MAX) return; /* too large */
    View *v = page_view_open(p, graph, 0);
    Str path = STR(p->s);
    json_line(&p->w, "");
    json_put_key(&p->w, key);
    json_open(&p->w, '[');
    for (uint32_t i = 1; i < v->container.n; i++) {
        str_clear(&path);
        page_view_path(v, v->container.p[i].node, &path);
        json_put(&p->w, str_text(&path));
    }
    json_close(&p->w, "]");
    str_free(&path);
    page_view_free(v);
}
