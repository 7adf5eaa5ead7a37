/* What rows of the domain ai.onnx.ml may call: decision trees as vectors, the labels of
 * classes. */
#include "io/onnx/onnx_impl.h"

#include <math.h>
#include <stdlib.h>

/* ---- numbers of attributes ---- */

typedef struct Numbers {
    size_t n;
    double *v;
} Numbers;

static double number_of_literal(const Literal *l) {
    return l->kind == K_FLOAT ? l->re : literal_f64(l);
}

static bool read_numbers(Compiler *c, const Node *n, Numbers *out) {
    *out = (Numbers){0, NULL};
    bool known = n->kind != NODE_VAR;
    Value value = {0};
    if (!known && !compiler_constant(c, n->var, &known, &value)) return false;
    if (!known) return onnx_fail_call(c, "an attribute that is no constant");
    if (n->kind == NODE_VAR) out->n = (size_t)tensor_size(&value.t);
    if (n->kind == NODE_LIST) out->n = n->n;
    out->v = NEW_N(compiler_arena(c), out->n + 1, double);
    for (size_t i = 0; i < out->n; i++)
        out->v[i] = n->kind == NODE_VAR ? tensor_f64(&value.t, (int64_t)i)
                                        : number_of_literal(&n->item[i].lit);
    value_unref(&value);
    return true;
}

/* ---- trees ---- */

enum {
    TREE_IDS,
    NODE_IDS,
    FEATURES,
    VALUES,
    TRUE_IDS,
    FALSE_IDS,
    MISSING,
    NODE_ARGUMENTS, /* the modes come here */
    W_TREE_IDS = NODE_ARGUMENTS + 1,
    W_NODE_IDS,
    W_IDS,
    WEIGHTS,
    OUTPUTS,
    AGGREGATE,
    TREE_ARGUMENTS
};
typedef enum Mode { LEAF, LEQ, LT, GTE, GT, EQ, NEQ, MODES } Mode;
static const char *const mode_names[] = {"LEAF",       "BRANCH_LEQ", "BRANCH_LT",
                                         "BRANCH_GTE", "BRANCH_GT",  "BRANCH_EQ",
                                         "BRANCH_NEQ"};

typedef struct TreeKey {
    int64_t tree, node;
    int32_t at; /* the node in the file's order */
} TreeKey;
typedef struct Forest {
    Compiler *c;
    Numbers of[W_TREE_IDS + 5];
    uint8_t *mode;
    size_t n;
    TreeKey *key;  /* sorted */
    int32_t *made; /* by node of the file: its first vector element, -1: none yet */
    bool *child;
    /* the vectors */
    size_t made_n;
    int64_t *feature, *yes, *no;
    double *threshold;
    bool *missing;
    Vec(int64_t) root;
} Forest;

static int compare_keys(const void *p, const void *q) {
    const TreeKey *a = p, *b = q;
    if (a->tree != b->tree) return a->tree < b->tree ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

static bool find_node(const Forest *f, double tree, double node, int32_t *at) {
    TreeKey key = {(int64_t)tree, (int64_t)node, 0};
    const TreeKey *k = bsearch(&key, f->key, f->n, sizeof key, compare_keys);
    if (k) *at = k->at;
    return k || fail(f->c->s, NOWHERE, E_ARG, "tree %lld has no node %lld",
                     (long long)key.tree, (long long)key.node);
}

static bool read_modes(Forest *f, const Node *modes) {
    Session *s = f->c->s;
    Sym known[MODES];
    for (int m = 0; m < MODES; m++)
        known[m] = sym(s, mode_names[m]);
    if (modes->kind != NODE_LIST || modes->n != f->n)
        return onnx_fail_call(f->c, "there are not as many modes as nodes");
    for (size_t i = 0; i < f->n; i++) {
        int m = 0;
        while (m < MODES && modes->item[i].sym != known[m])
            m++;
        if (m == MODES)
            return fail(s, NOWHERE, E_ARG, "a node of a tree of the mode '%s'",
                        sym_text(s, modes->item[i].sym));
        f->mode[i] = (uint8_t)m;
    }
    return true;
}

static bool index_nodes(Forest *f) {
    Arena *a = compiler_arena(f->c);
    f->key = NEW_N(a, f->n + 1, TreeKey);
    f->child = NEW_N(a, f->n + 1, bool);
    f->made = NEW_N(a, f->n + 1, int32_t);
    for (size_t i = 0; i < f->n; i++) {
        f->key[i] = (TreeKey){(int64_t)f->of[TREE_IDS].v[i],
                              (int64_t)f->of[NODE_IDS].v[i], (int32_t)i};
        f->made[i] = -1;
        f->child[i] = false;
    }
    qsort(f->key, f->n, sizeof *f->key, compare_keys);
    for (size_t i = 0; i < f->n; i++) {
        int32_t to[2];
        if (f->mode[i] == LEAF) continue;
        double tree = f->of[TREE_IDS].v[i];
        if (!find_node(f, tree, f->of[TRUE_IDS].v[i], &to[0]) ||
            !find_node(f, tree, f->of[FALSE_IDS].v[i], &to[1]))
            return false;
        f->child[to[0]] = f->child[to[1]] = true;
    }
    return true;
}

/* Room in the vectors for a node; those that compare for equality are two. */
static bool place_node(Forest *f, int32_t at) {
    if (f->made[at] >= 0)
        return onnx_fail_call(f->c, "a node of a tree that two nodes lead to");
    f->made[at] = (int32_t)f->made_n;
    f->made_n += f->mode[at] == EQ || f->mode[at] == NEQ ? 2 : 1;
    return true;
}

/* x[feature] <= threshold? nan goes to yes if `missing`. */
typedef struct TreeNode {
    int64_t feature;
    double threshold;
    int64_t yes, no;
    bool missing;
} TreeNode;

static void put_tree_node(Forest *f, int64_t i, TreeNode n) {
    f->feature[i] = n.feature;
    f->threshold[i] = n.threshold;
    f->yes[i] = n.yes;
    f->no[i] = n.no;
    f->missing[i] = n.missing;
}

/* All modes by `at most`: below v is at most the number before v. */
static void write_node(Forest *f, int32_t at, int64_t yes, int64_t no) {
    double v = f->of[VALUES].v[at], before = nextafter(v, -HUGE_VAL);
    int64_t i = f->made[at], feature = (int64_t)f->of[FEATURES].v[at];
    bool missing = f->of[MISSING].n && f->of[MISSING].v[at] != 0;
    switch ((Mode)f->mode[at]) {
    case LEQ:
        put_tree_node(f, i, (TreeNode){feature, v, yes, no, missing});
        break;
    case LT:
        put_tree_node(f, i, (TreeNode){feature, before, yes, no, missing});
        break;
    case GTE:
        put_tree_node(f, i, (TreeNode){feature, before, no, yes, !missing});
        break;
    case GT:
        put_tree_node(f, i, (TreeNode){feature, v, no, yes, !missing});
        break;
    case EQ:
        put_tree_node(f, i, (TreeNode){feature, v, i + 1, no, missing});
        put_tree_node(f, i + 1, (TreeNode){feature, before, no, yes, false});
        break;
    case NEQ: /* nan is not equal either */
        put_tree_node(f, i, (TreeNode){feature, v, i + 1, yes, false});
        put_tree_node(f, i + 1, (TreeNode){feature, before, yes, no, false});
        break;
    case LEAF:
    case MODES:
        put_tree_node(f, i, (TreeNode){-1, 0, 0, 0, false});
    }
}

/* A tree from its root on: what a node leads to comes after it. */
static bool write_tree(Forest *f, int32_t root) {
    Vec(int32_t) todo = {0};
    Session *s = f->c->s;
    bool ok = place_node(f, root);
    vec_push(s, &f->root, f->made[root]);
    vec_push(s, &todo, root);
    while (ok && todo.n) {
        int32_t at = todo.p[--todo.n], to[2] = {0, 0};
        double tree = f->of[TREE_IDS].v[at];
        bool leaf = f->mode[at] == LEAF;
        if (!leaf)
            ok = find_node(f, tree, f->of[TRUE_IDS].v[at], &to[0]) &&
                 find_node(f, tree, f->of[FALSE_IDS].v[at], &to[1]) &&
                 place_node(f, to[0]) && place_node(f, to[1]);
        if (!ok) break;
        write_node(f, at, leaf ? 0 : f->made[to[0]], leaf ? 0 : f->made[to[1]]);
        if (leaf) continue;
        vec_push(s, &todo, to[0]);
        vec_push(s, &todo, to[1]);
    }
    vec_free(&todo);
    return ok;
}

static bool write_trees(Forest *f) {
    Arena *a = compiler_arena(f->c);
    size_t room = 2 * f->n + 1;
    f->feature = NEW_N(a, room, int64_t);
    f->yes = NEW_N(a, room, int64_t);
    f->no = NEW_N(a, room, int64_t);
    f->threshold = NEW_N(a, room, double);
    f->missing = NEW_N(a, room, bool);
    for (size_t i = 0; i < f->n; i++)
        if (!f->child[i] && !write_tree(f, (int32_t)i)) return false;
    return true;
}

static bool read_forest(Forest *f, const Arguments *a) {
    for (int i = 0; i < W_TREE_IDS + 4; i++)
        if (i != NODE_ARGUMENTS && !read_numbers(f->c, &a->arg[i], &f->of[i]))
            return false;
    f->n = f->of[TREE_IDS].n;
    for (int i = NODE_IDS; i < NODE_ARGUMENTS; i++)
        if (f->of[i].n != f->n && !(i == MISSING && f->of[i].n == 0))
            return onnx_fail_call(f->c, "attributes of nodes of different lengths");
    for (int i = W_NODE_IDS; i <= WEIGHTS; i++)
        if (f->of[i].n != f->of[W_TREE_IDS].n)
            return onnx_fail_call(f->c, "attributes of weights of different lengths");
    if (f->n == 0 || f->n > INT32_MAX / 2)
        return onnx_fail_call(f->c, "no trees, or more than 2^30 nodes");
    f->mode = NEW_N(compiler_arena(f->c), f->n, uint8_t);
    return read_modes(f, &a->arg[NODE_ARGUMENTS]) && index_nodes(f) && write_trees(f);
}

/* [nodes, outputs]: what a leaf adds to an output; where it says nothing, `none`. */
static bool weights_table(Forest *f, const Node *only, int64_t outputs, double none,
                          Tensor *t) {
    int64_t shape[2] = {(int64_t)f->made_n, outputs};
    bool sum = none == 0;
    const Numbers *w = &f->of[WEIGHTS];
    if (!tensor_new(f->c->s, DT_FLOAT64, 2, shape, t)) return false;
    double *p = t->data;
    for (int64_t i = 0; i < shape[0] * shape[1]; i++)
        p[i] = none;
    for (size_t i = 0; i < w->n; i++) {
        int32_t at;
        int64_t id = only ? 0 : (int64_t)f->of[W_IDS].v[i];
        if (!find_node(f, f->of[W_TREE_IDS].v[i], f->of[W_NODE_IDS].v[i], &at))
            return false;
        if (id < 0 || id >= outputs)
            return fail(f->c->s, NOWHERE, E_ARG, "a weight of output %lld of %lld",
                        (long long)id, (long long)outputs);
        if (f->made[at] < 0) continue;
        double *to = &p[f->made[at] * outputs + id];
        *to = sum ? *to + w->v[i] : none > 0 ? fmin(*to, w->v[i]) : fmax(*to, w->v[i]);
    }
    return true;
}

static bool constant_vector(Compiler *c, DType d, size_t n, const void *p, Node *out) {
    Tensor t;
    int64_t shape = (int64_t)n;
    if (!tensor_new(c->s, d, 1, &shape, &t)) return false;
    if (n) memcpy(t.data, p, n * dtype_size(d));
    *out = node_var(graph_const(c->b->g, &t, false), NOWHERE);
    tensor_unref(&t);
    return true;
}

static bool forest_nodes(Forest *f, const Tensor *table, bool positive, bool single,
                         Node *out) {
    Compiler *c = f->c;
    Node *item = NEW_N(compiler_arena(c), 9, Node);
    size_t n = f->made_n;
    if (!constant_vector(c, DT_INT64, n, f->feature, &item[0]) ||
        !constant_vector(c, DT_FLOAT64, n, f->threshold, &item[1]) ||
        !constant_vector(c, DT_INT64, n, f->yes, &item[2]) ||
        !constant_vector(c, DT_INT64, n, f->no, &item[3]) ||
        !constant_vector(c, DT_BOOL, n, f->missing, &item[4]) ||
        !constant_vector(c, DT_INT64, f->root.n, f->root.p, &item[5]))
        return false;
    item[6] = node_var(graph_const(c->b->g, table, false), NOWHERE);
    item[7] = node_literal((Literal){.kind = K_BOOL, .u = positive}, NOWHERE);
    item[8] = node_literal((Literal){.kind = K_BOOL, .u = single}, NOWHERE);
    return node_tree(c, 9, item, NULL, NOWHERE, out);
}

/* trees(nodes_treeids, nodes_nodeids, ..., outputs, aggregate): what tree_leaves takes,
 * the weights of leaves, whether none is negative, whether two classes share one. */
static bool f_trees(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    Forest x = {.c = c};
    int64_t outputs;
    Tensor table = {0};
    const Node *how = &a->arg[AGGREGATE];
    const char *aggregate = how->kind == NODE_STRING ? sym_text(c->s, how->sym) : "";
    double none = strcmp(aggregate, "MIN") == 0   ? HUGE_VAL
                  : strcmp(aggregate, "MAX") == 0 ? -HUGE_VAL
                                                  : 0;
    if (!onnx_int_of(c, &a->arg[OUTPUTS], &outputs)) return false;
    bool ok = outputs > 0 || onnx_fail_call(c, "trees without outputs");
    ok = ok && read_forest(&x, a);
    const Numbers *w = &x.of[WEIGHTS];
    bool positive = true, single = outputs == 2;
    for (size_t i = 0; ok && i < w->n; i++) {
        positive &= !(w->v[i] < 0);
        single &= x.of[W_IDS].v[i] == x.of[W_IDS].v[0];
    }
    const Node *only = single && aggregate[0] == 'C' ? how : NULL; /* CLASSES */
    ok = ok && weights_table(&x, only, only ? 1 : outputs, none, &table) &&
         forest_nodes(&x, &table, positive, only != NULL, out);
    tensor_unref(&table);
    vec_free(&x.root);
    return ok;
}

/* ---- labels ---- */

static void warn_labels(Compiler *c, const Node *texts) {
    enum { SHOWN = 8 };
    Str b = STR(c->s);
    for (size_t i = 0; i < texts->n && i < SHOWN; i++) {
        str_printf(&b, "%s%zu for '", i ? ", " : "", i);
        const char *t = sym_text(c->s, texts->item[i].sym);
        str_visible(&b, t, strlen(t));
        str_puts(&b, "'");
    }
    if (texts->n > SHOWN) str_puts(&b, ", ...");
    warn(c->s, NOWHERE, E_TYPE,
         "labels are texts, which thunkline does not have: their indices stand for "
         "them, %s",
         str_text(&b));
    str_free(&b);
}

/* labelled(i, ints, texts): the labels of classes i */
static bool f_labelled(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    const Node *ints = &a->arg[1], *texts = &a->arg[2];
    *out = a->arg[0];
    if (texts->kind == NODE_LIST && texts->n) return warn_labels(c, texts), true;
    Numbers v;
    if (!read_numbers(c, ints, &v)) return false;
    bool plain = true;
    int64_t *label = NEW_N(compiler_arena(c), v.n + 1, int64_t);
    for (size_t i = 0; i < v.n; i++) {
        label[i] = (int64_t)v.v[i];
        plain &= label[i] == (int64_t)i;
    }
    if (plain) return true;
    Node table;
    Var i;
    if (!constant_vector(c, DT_INT64, v.n, label, &table) ||
        !compiler_var(c, &a->arg[0], DT_NONE, &i))
        return false;
    *out = node_var(op_call2(c->b, "take", table.var, i), NOWHERE);
    return out->var != VAR_NONE;
}

/* left_out('text'): warns that a node does nothing here */
static bool f_left_out(Compiler *c, const Node *f, const Arguments *a, Node *out) {
    (void)f;
    warn(c->s, NOWHERE, E_TYPE, "%s", sym_text(c->s, a->arg[0].sym));
    *out = (Node){.kind = NODE_NONE, .var = VAR_NONE};
    return true;
}

const OnnxRowFunction onnx_ml_functions[] = {{"trees", f_trees, TREE_ARGUMENTS},
                                             {"labelled", f_labelled, 3},
                                             {"left_out", f_left_out, 1}};
const size_t onnx_ml_function_count =
    sizeof onnx_ml_functions / sizeof *onnx_ml_functions;
