/* A graph as a tree: each root, with the inputs below every Apply. An Apply that was
 * already shown gets only its line. Indentation stops growing at some depth, which
 * keeps the listing linear in the size of the graph. */
#include "io/io_impl.h"
#include "lang/print/print.h"

#include <string.h>

enum { INDENT_MAX = 40, CONST_ELEMENTS = 16, CONST_TEXT = 80 };

typedef struct OpenNode {
    ApplyId a;
    uint32_t next; /* the next input to show */
} OpenNode;

typedef struct Tree {
    Session *s;
    const Graph *g;
    Str *out;
    Arena *a;
    const WriteOptions *o;
    uint32_t *id; /* by variable or Apply: its number in display order, from 1 */
    uint32_t last_id;
    Vec(OpenNode) stack;
} Tree;

/* A, B, ... Z, AA, ... */
static void id_text(Str *out, uint32_t n) {
    char text[8];
    size_t k = sizeof text;
    for (; n > 0; n = (n - 1) / 26)
        text[--k] = (char)('A' + (n - 1) % 26);
    str_add(out, text + k, sizeof text - k);
}

static bool has_more(const Tree *t, size_t i) {
    return t->stack.p[i].next < t->g->apply[t->stack.p[i].a].nin;
}

/* The branches to the left of a node whose parents are on the stack. */
static void draw_branches(Tree *t) {
    size_t n = t->stack.n, from = n > INDENT_MAX ? n - INDENT_MAX : 0;
    if (from) str_printf(t->out, "(%zu) ", n);
    for (size_t i = from; i < n; i++) {
        bool more = has_more(t, i);
        if (i + 1 < n)
            str_puts(t->out, more ? " │ " : "   ");
        else
            str_puts(t->out, more ? " ├─ " : " └─ ");
    }
}

static void const_text(Tree *t, Var v) {
    const Tensor *x = var_const(t->g, v);
    if (x && tensor_size(x) <= CONST_ELEMENTS)
        tensor_text(t->s, x, -1, t->out);
    else if (x || !print_value(t->s, var_type(t->g, v), var_leafrec(t->g, v)->value,
                               CONST_TEXT, t->out))
        str_puts(t->out, "constant");
}

static void put_leaf_text(Tree *t, Var v) {
    switch (var_leaf(t->g, v)) {
    case LEAF_CONST:
        const_text(t, v);
        return;
    case LEAF_SHARED:
        str_printf(t->out, "%s (shared)", sym_text(t->s, var_name(t->g, v)));
        return;
    case LEAF_DIM:
        str_printf(t->out, "%s (dim)", sym_text(t->s, var_name(t->g, v)));
        return;
    case LEAF_INPUT:
    case LEAF_NOT:
        str_puts(t->out, sym_text(t->s, var_name(t->g, v)));
        return;
    }
}

/* One line for a variable. */
static void put_node_line(Tree *t, Var v) {
    ApplyId a = var_owner(t->g, v);
    uint32_t *id = a == APPLY_NONE ? &t->id[v] : &t->id[t->g->apply[a].out];
    if (!*id) *id = ++t->last_id;
    if (a == APPLY_NONE) {
        put_leaf_text(t, v);
    } else {
        print_op(t->s, t->g->apply[a].op, t->g->apply[a].props, t->out);
        if (t->g->apply[a].nout > 1) str_printf(t->out, ".%u", t->g->var[v].index);
    }
    str_puts(t->out, " [");
    id_text(t->out, *id);
    str_putc(t->out, ']');
    if (!t->o->plain) str_printf(t->out, " %s", type_str(t->s, var_type(t->g, v)));
    if (a != APPLY_NONE && var_name(t->g, v))
        str_printf(t->out, " '%s'", sym_text(t->s, var_name(t->g, v)));
    if (a != APPLY_NONE) str_printf(t->out, " #%u", a);
    str_putc(t->out, '\n');
}

/* Shows a variable; pushes its Apply if the inputs still have to be shown. */
static void show_tree_node(Tree *t, Var v) {
    ApplyId a = var_owner(t->g, v);
    bool seen = a != APPLY_NONE && t->id[t->g->apply[a].out];
    draw_branches(t);
    put_node_line(t, v);
    if (a == APPLY_NONE || t->g->apply[a].nin == 0) return;
    vec_push(t->s, &t->stack, ((OpenNode){a, 0}));
    bool deep = t->o->depth > 0 && t->stack.n > (size_t)t->o->depth;
    if (!seen && !deep) return;
    t->stack.p[t->stack.n - 1].next = t->g->apply[a].nin;
    draw_branches(t);
    str_puts(t->out, "···\n");
    t->stack.n--;
}

static void show_tree_from(Tree *t, Var v) {
    show_tree_node(t, v);
    while (t->stack.n) {
        OpenNode *top = &t->stack.p[t->stack.n - 1];
        if (top->next == t->g->apply[top->a].nin) {
            t->stack.n--;
            continue;
        }
        Var in = apply_in(t->g, top->a)[top->next++];
        show_tree_node(t, in);
    }
}

static void write_tree_graph(Tree *t, const Graph *g) {
    t->g = g;
    t->id = NEW_N(t->a, g->nvar + 1, uint32_t);
    t->last_id = 0;
    for (size_t i = 0; i < g->outputs.n; i++) {
        str_printf(t->out, "output %s\n", sym_text(t->s, g->outputs.p[i].label));
        show_tree_from(t, g->outputs.p[i].var);
    }
    for (size_t i = 0; i < g->updates.n; i++) {
        str_printf(t->out, "update %s\n",
                   sym_text(t->s, var_name(g, g->updates.p[i].shared)));
        show_tree_from(t, g->updates.p[i].value);
    }
    for (size_t i = 0; i < g->effects.n; i++) {
        Var v = g->apply[g->effects.p[i]].out;
        if (t->id[v]) continue;
        str_puts(t->out, "effect\n");
        show_tree_from(t, v);
    }
    if (g->until != VAR_NONE) {
        str_puts(t->out, "until\n");
        show_tree_from(t, g->until);
    }
}

bool tree_write(const Graph *main, const WriteOptions *o, Str *out) {
    Tree t = {.s = main->s, .out = out, .a = arena_new(main->s), .o = o};
    write_tree_graph(&t, main);
    for (size_t i = 0; i < main->functions.n; i++) {
        str_printf(out, "\nfunction %s\n",
                   sym_text(main->s, main->functions.p[i]->name));
        write_tree_graph(&t, main->functions.p[i]);
    }
    vec_free(&t.stack);
    arena_free(t.a);
    return true;
}

void tree_of_var(const Graph *g, Var v, int depth, Str *out) {
    WriteOptions o = {.format = IO_TREE, .depth = depth};
    Tree t = {.s = g->s, .out = out, .a = arena_new(g->s), .o = &o, .g = g};
    t.id = NEW_N(t.a, g->nvar + 1, uint32_t);
    show_tree_from(&t, v);
    vec_free(&t.stack);
    arena_free(t.a);
}
