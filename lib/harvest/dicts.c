/* sow and sow_cond of a dict: each leaf is sown as NAME/KEY, so that reap gives a dict
 * again. */
#include "lang/macro.h"

#include <string.h>

typedef struct DictSow {
    Compiler *c;
    const Op *op;
    Sym tag, mode;
    Span at;
    Var in[3]; /* value, then pred and key if given */
    size_t nin;
} DictSow;

static bool sow_leaf(DictSow *q, const char *name, const Node *value, Node *out) {
    Builder *b = compiler_builder(q->c);
    PropArg prop[] = {{"tag", PROP_STR(q->tag)},
                      {"name", PROP_STR(sym(b->s, name))},
                      {"mode", PROP_STR(q->mode)}};
    Var sown;
    if (!compiler_var(q->c, value, DT_NONE, &q->in[0]) ||
        !op_apply(b, q->op, props_make(b->s, q->op, 3, prop), q->nin, q->in, &sown))
        return false;
    *out = node_var(sown, q->at);
    return true;
}

static bool sow_node(DictSow *q, const char *name, const Node *value, Node *out) {
    if (value->kind != NODE_DICT) return sow_leaf(q, name, value, out);
    Session *s = compiler_builder(q->c)->s;
    Arena *a = compiler_arena(q->c);
    Node *item = NEW_N(a, value->n + 1, Node);
    for (size_t i = 0; i < value->n; i++) {
        char *path = arena_printf(a, "%s/%s", name, sym_text(s, value->key[i]));
        if (!sow_node(q, path, &value->item[i], &item[i])) return false;
    }
    return compiler_tree(q->c, value->n, item, value->key, q->at, out);
}

static bool add_sow_input(DictSow *q, const Ast *arg) {
    Node n;
    if (!arg || arg->kind == AST_NONE) return true;
    return compiler_ast(q->c, arg, &n) &&
           compiler_var(q->c, &n, DT_NONE, &q->in[q->nin++]);
}

static bool want_string_arg(const DictSow *q, const Ast *arg, const char *what,
                            Sym *out) {
    Node n;
    if (!compiler_ast(q->c, arg, &n)) return false;
    *out = n.sym;
    return n.kind == NODE_STRING ||
           fail(compiler_builder(q->c)->s, arg->at, E_ARG,
                "%s takes a string for %s, such as 'text'", q->op->name, what);
}

/* arg: value, (pred,) tag, name, mode, key. */
static bool expand_dict_sow(Compiler *c, const Ast *call, const char *op,
                            const char *mode, const Ast *const *arg, Node *out) {
    Session *s = compiler_builder(c)->s;
    DictSow q = {.c = c,
                 .op = op_find(s, op, strlen(op)),
                 .mode = sym(s, mode),
                 .at = call->at,
                 .nin = 1};
    bool conditional = strcmp(op, "sow_cond") == 0;
    const Ast *const *how = arg + 1 + conditional; /* tag, name, mode, key */
    Sym name;
    Node value;
    return (!conditional || add_sow_input(&q, arg[1])) && add_sow_input(&q, how[3]) &&
           want_string_arg(&q, how[0], "tag", &q.tag) &&
           want_string_arg(&q, how[1], "name", &name) &&
           (!how[2] || want_string_arg(&q, how[2], "mode", &q.mode)) &&
           compiler_ast(c, arg[0], &value) &&
           sow_node(&q, sym_text(s, name), &value, out);
}

static bool expand_sow(Compiler *c, const Ast *call, const Ast *const *arg, Node *out) {
    return expand_dict_sow(c, call, "sow", "strict", arg, out);
}

static bool expand_sow_cond(Compiler *c, const Ast *call, const Ast *const *arg,
                            Node *out) {
    return expand_dict_sow(c, call, "sow_cond", "cond_clobber", arg, out);
}

static const Macro table[] = {
    {.name = "sow",
     .doc = "A dict of values, each sown as NAME/KEY: harvested it is a dict again.",
     .signature = "value, tag, name, mode='strict', key=None",
     .expand = expand_sow},
    {.name = "sow_cond",
     .doc = "A dict of values, each sown as NAME/KEY where pred holds.",
     .signature = "value, pred, tag, name, mode='cond_clobber', key=None",
     .expand = expand_sow_cond},
};
const MacroList macros_harvest_dicts = LIST_OF(table);
