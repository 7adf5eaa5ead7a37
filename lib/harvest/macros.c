/* reap, plant, harvest, call_and_reap and nest as functions of the language. Each
 * returns a function, which is expanded where it is applied; the harvest then covers
 * the Applies that the expansion added. */
#include "harvest/harvest.h"
#include "lang/macro.h"

#include <string.h>

typedef enum Give { GIVE_OUT = 1, GIVE_REAPS = 2 } Give;
/* A function made by one of the macros: what to do when it is applied. */
typedef struct HarvestTransform {
    Node f;
    Sym tag, scope;
    bool plants; /* the first argument is a dict of planted values */
    unsigned give;
    size_t nallow, nblock;
    const Sym *allow, *block;
    bool exclusive;
} HarvestTransform;

/* ---- arguments of the macros ---- */
static bool want_word(Compiler *c, const Ast *arg, const char *name, Sym *out) {
    Session *s = compiler_builder(c)->s;
    Node n;
    if (!compiler_ast(c, arg, &n)) return false;
    if (n.kind != NODE_STRING || !*sym_text(s, n.sym) ||
        strchr(sym_text(s, n.sym), '/'))
        return fail(s, arg->at, E_ARG, "%s must be a word in quotes, such as '%s'",
                    name, strcmp(name, "tag") == 0 ? "probe" : "layer1");
    *out = n.sym;
    return true;
}

/* A list of names; None or absent: NULL. */
static bool want_names(Compiler *c, const Ast *arg, const char *name, size_t *n,
                       const Sym **out) {
    Session *s = compiler_builder(c)->s;
    Node list;
    if (!arg || arg->kind == AST_NONE) return true;
    if (arg->kind != AST_LIST && arg->kind != AST_TUPLE)
        return fail(s, arg->at, E_ARG, "%s must be a list of names: ['y', 'z']", name);
    Sym *names = NEW_N(compiler_arena(c), arg->nkid + 1, Sym);
    for (size_t i = 0; i < arg->nkid; i++) {
        if (!compiler_ast(c, arg->kid[i], &list)) return false;
        if (list.kind != NODE_STRING)
            return fail(s, arg->kid[i]->at, E_ARG,
                        "%s must be a list of names: ['y', 'z']", name);
        names[i] = list.sym;
    }
    *n = arg->nkid;
    *out = names;
    return true;
}

static bool want_bool(Compiler *c, const Ast *arg, const char *name, bool *out) {
    *out = arg && arg->u;
    return !arg || arg->kind == AST_BOOL ||
           fail(compiler_builder(c)->s, arg->at, E_ARG, "%s must be True or False",
                name);
}

/* ---- plants ---- */
typedef struct PlantedDict {
    Compiler *c;
    Vec(Sym) name;
    Vec(Node) value;
} PlantedDict;

/* Flattens {'y': v, 'scope': {'z': w}} to y and scope/z. */
static void flatten_plants(PlantedDict *p, const char *prefix, const Node *dict) {
    Session *s = compiler_builder(p->c)->s;
    for (size_t i = 0; i < dict->n; i++) {
        const char *name = arena_printf(compiler_arena(p->c), "%s%s", prefix,
                                        sym_text(s, dict->key[i]));
        if (dict->item[i].kind == NODE_DICT) {
            char *below = arena_printf(compiler_arena(p->c), "%s/", name);
            flatten_plants(p, below, &dict->item[i]);
            continue;
        }
        vec_push(s, &p->name, sym(s, name));
        vec_push(s, &p->value, dict->item[i]);
    }
}

static Var planted_value(void *ctx, size_t k, Builder *b, const Type *t) {
    const PlantedDict *p = ctx;
    Var v;
    (void)b;
    if (!compiler_var(p->c, &p->value.p[k], t->kind == TYPE_TENSOR ? t->dtype : DT_NONE,
                      &v))
        return VAR_NONE;
    return v;
}

/* A scope takes a dict, a sow takes a value. A plant of the wrong kind matches no sow
 * and would be ignored like an unknown name; the reaped names show the mistake. */
static bool check_plant_kinds(const PlantedDict *p, const Reaps *r) {
    Session *s = compiler_builder(p->c)->s;
    for (size_t k = 0; k < p->name.n; k++)
        for (size_t i = 0; i < r->n; i++) {
            const char *plant = sym_text(s, p->name.p[k]),
                       *sown = sym_text(s, r->p[i].name);
            size_t np = strlen(plant), ns = strlen(sown);
            bool scope = strncmp(plant, sown, np) == 0 && sown[np] == '/';
            if (!scope && !(strncmp(plant, sown, ns) == 0 && plant[ns] == '/'))
                continue;
            fail(s, p->value.p[k].at, E_TYPE,
                 scope ? "%s is sown as a scope: a dict of values is planted for it"
                       : "%s is sown as a value, but a dict is planted for it",
                 scope ? plant : sown);
            return note(s, r->p[i].at, "%s is sown here", sown);
        }
    return true;
}

/* ---- applying ---- */
typedef Vec(Var) Vars;
static void collect_node_vars(Session *s, const Node *n, Vars *out) {
    if (n->kind == NODE_VAR) vec_push(s, out, n->var);
    for (size_t i = 0; (n->kind == NODE_LIST || n->kind == NODE_DICT) && i < n->n; i++)
        collect_node_vars(s, &n->item[i], out);
}

static void remap_node_vars(Compiler *c, const Var *map, Var n, Node *node) {
    if (node->kind == NODE_VAR && node->var < n) node->var = map[node->var];
    if (node->kind != NODE_LIST && node->kind != NODE_DICT) return;
    node->item =
        arena_copy(compiler_arena(c), node->item, node->n * sizeof *node->item);
    for (size_t i = 0; i < node->n; i++)
        remap_node_vars(c, map, n, &node->item[i]);
}

/* The first name of a path, after `skip` bytes of it. */
static Sym path_head(Session *s, const Reap *r, size_t skip) {
    const char *text = sym_text(s, r->name) + skip;
    return sym_n(s, text, strcspn(text, "/"));
}

/* The reaps as a nested dict: {'y': v, 'scope': {'z': w}}. */
static bool reap_tree(Compiler *c, const Reap *r, size_t n, size_t skip, Span at,
                      Node *out) {
    Session *s = compiler_builder(c)->s;
    Arena *a = compiler_arena(c);
    Node *item = NEW_N(a, n + 1, Node);
    Sym *key = NEW_N(a, n + 1, Sym);
    bool *done = NEW_N(a, n + 1, bool);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (done[i]) continue;
        Reap *same = NEW_N(a, n - i, Reap);
        size_t k = 0, len;
        key[count] = path_head(s, &r[i], skip);
        len = strlen(sym_text(s, key[count]));
        for (size_t j = i; j < n; j++)
            if (path_head(s, &r[j], skip) == key[count])
                done[j] = true, same[k++] = r[j];
        bool leaf = sym_text(s, r[i].name)[skip + len] == '\0';
        for (size_t j = 1; j < k; j++)
            if (leaf || sym_text(s, same[j].name)[skip + len] == '\0')
                return fail(s, same[j].at, E_DUPLICATE,
                            "%s is sown as a value and as a scope, or twice",
                            sym_text(s, key[count]));
        if (leaf)
            item[count] = node_var(r[i].var, at);
        else if (!reap_tree(c, same, k, skip + len + 1, at, &item[count]))
            return false;
        count++;
    }
    return compiler_tree(c, count, item, key, at, out);
}

static bool give_results(Compiler *c, const HarvestTransform *t, const Node *result,
                         const Reaps *r, Span at, Node *out) {
    Node pair[2] = {*result};
    if (t->give == GIVE_OUT) return *out = *result, true;
    if (!reap_tree(c, r->p, r->n, 0, at, &pair[1])) return false;
    if (t->give == GIVE_REAPS) return *out = pair[1], true;
    return compiler_tree(c, 2, pair, NULL, at, out);
}

static bool expand_and_harvest(Compiler *c, const HarvestTransform *t,
                               const Arguments *args, PlantedDict *p, Node *out) {
    Builder *b = compiler_builder(c);
    ApplyId from = b->g->napply;
    Node result;
    Vars root = {0};
    if (!compiler_apply(c, &t->f, args, &result)) return false;
    Var nvar = b->g->nvar, *map = mem_alloc(b->s, ((size_t)nvar + 1) * sizeof *map);
    Reaps reaps = {0};
    for (Var v = 0; v < nvar; v++)
        map[v] = v;
    collect_node_vars(b->s, &result, &root);
    HarvestSpec h = {.tag = t->tag,
                     .nplant = p->name.n,
                     .plant = p->name.p,
                     .value = planted_value,
                     .ctx = p,
                     .nallow = t->nallow,
                     .allow = t->allow,
                     .nblock = t->nblock,
                     .block = t->block,
                     .exclusive = t->exclusive};
    bool ok = harvest_range(b, &h, from, (VarList){root.n, root.p}, map, &reaps) &&
              check_plant_kinds(p, &reaps);
    if (ok) remap_node_vars(c, map, nvar, &result);
    ok = ok && give_results(c, t, &result, &reaps, args->at, out);
    vec_free(&reaps);
    vec_free(&root);
    mem_free(map);
    return ok;
}

static bool apply_harvest(Compiler *c, const Node *f, const Arguments *args,
                          Node *out) {
    const HarvestTransform *t = f->data;
    Session *s = compiler_builder(c)->s;
    PlantedDict p = {.c = c};
    Arguments rest = *args;
    if (t->plants &&
        (args->n == 0 || args->arg[0].kind != NODE_DICT || (args->key && args->key[0])))
        return fail(
            s, args->n ? args->arg[0].at : args->at, E_ARG,
            "the first argument must be a dict of planted values: {'y': 0.}, or "
            "{} for none");
    if (t->plants) {
        flatten_plants(&p, "", &args->arg[0]);
        rest.n--;
        rest.arg++;
        if (rest.key) rest.key++;
    }
    bool ok = expand_and_harvest(c, t, &rest, &p, out);
    vec_free(&p.name);
    vec_free(&p.value);
    return ok;
}

/* A call with a scope. The body must remain a function of the graph, since the scope is
 * a prop of the call. */
static bool apply_nest(Compiler *c, const Node *f, const Arguments *args, Node *out) {
    size_t n = args->n;
    const HarvestTransform *t = f->data;
    Node inner = t->f;
    const Type **type = NEW_N(compiler_arena(c), n + 1, const Type *);
    Node *vars = NEW_N(compiler_arena(c), n + 1, Node);
    for (size_t i = 0; i < n; i++) {
        Var v;
        DType like = DT_NONE;
        if (inner.fn && i < inner.fn->inputs.n)
            like = var_type(inner.fn, inner.fn->inputs.p[i])->dtype;
        if (!compiler_var(c, &args->arg[i], like, &v)) return false;
        type[i] = var_type(compiler_builder(c)->g, v);
        vars[i] = node_var(v, args->arg[i].at);
    }
    if (!compiler_function(c, &inner, n, type)) return false;
    inner.apply = NULL;
    inner.call_scope = t->scope;
    return compiler_apply(c, &inner, &(Arguments){n, vars, args->key, args->at}, out);
}

/* ---- the macros ---- */
static bool make_transform(Compiler *c, const Ast *f, NodeApply *apply,
                           HarvestTransform **out, Node *node) {
    HarvestTransform *t = NEW(compiler_arena(c), HarvestTransform);
    if (!compiler_ast(c, f, &t->f)) return false;
    if (t->f.kind != NODE_FUNCTION)
        return fail(compiler_builder(c)->s, f->at, E_TYPE,
                    "expected a function: the name of one, or (lambda x: ...)");
    *out = t;
    *node = (Node){
        .kind = NODE_FUNCTION, .at = f->at, .var = VAR_NONE, .apply = apply, .data = t};
    return true;
}

static bool make_harvest_macro(Compiler *c, const Ast *const *arg, bool plants,
                               unsigned what, Node *out) {
    HarvestTransform *t;
    if (!make_transform(c, arg[0], apply_harvest, &t, out) ||
        !want_word(c, arg[1], "tag", &t->tag) ||
        !want_names(c, arg[2], "allowlist", &t->nallow, &t->allow) ||
        !want_names(c, arg[3], "blocklist", &t->nblock, &t->block) ||
        !want_bool(c, arg[4], "exclusive", &t->exclusive))
        return false;
    t->plants = plants;
    t->give = what;
    return true;
}

static bool harvest_macro(Compiler *c, const Ast *call, const Ast *const *arg,
                          Node *out) {
    (void)call;
    return make_harvest_macro(c, arg, true, GIVE_OUT | GIVE_REAPS, out);
}

static bool call_and_reap_macro(Compiler *c, const Ast *call, const Ast *const *arg,
                                Node *out) {
    (void)call;
    return make_harvest_macro(c, arg, false, GIVE_OUT | GIVE_REAPS, out);
}

static bool reap_macro(Compiler *c, const Ast *call, const Ast *const *arg, Node *out) {
    (void)call;
    return make_harvest_macro(c, arg, false, GIVE_REAPS, out);
}

static bool plant_macro(Compiler *c, const Ast *call, const Ast *const *arg,
                        Node *out) {
    (void)call;
    return make_harvest_macro(c, arg, true, GIVE_OUT, out);
}

static bool nest_macro(Compiler *c, const Ast *call, const Ast *const *arg, Node *out) {
    HarvestTransform *t;
    (void)call;
    return make_transform(c, arg[0], apply_nest, &t, out) &&
           want_word(c, arg[1], "scope", &t->scope);
}

#define LISTS "tag, allowlist=None, blocklist=None, exclusive=False"
static const Macro table[] = {
    {.name = "harvest",
     .doc = "harvest(f, tag='t')({'y': v}, x) is a pair: f(x) with the sows of the tag "
            "that the dict names replaced by its values, and a dict of the values of "
            "the other sows. allowlist and blocklist choose names or scopes; exclusive "
            "also drops the sows of other tags. Harvest first, then differentiate: the "
            "derivative of a called function doesn't see what is planted later.",
     .signature = "f, " LISTS,
     .expand = harvest_macro,
     .gives_function = 5},
    {.name = "reap",
     .doc = "reap(f, tag='t')(x) is a dict of what f(x) sows under the tag.",
     .signature = "f, " LISTS,
     .expand = reap_macro,
     .gives_function = 5},
    {.name = "call_and_reap",
     .doc = "call_and_reap(f, tag='t')(x) is a pair: f(x) and reap(f, tag='t')(x).",
     .signature = "f, " LISTS,
     .expand = call_and_reap_macro,
     .gives_function = 5},
    {.name = "plant",
     .doc = "plant(f, tag='t')({'y': v}, x) is f(x) with v in place of the value that "
            "it sows as y.",
     .signature = "f, " LISTS,
     .expand = plant_macro,
     .gives_function = 5},
    {.name = "nest",
     .doc = "nest(f, scope='s')(x) is f(x), whose sows are harvested as s/NAME.",
     .signature = "f, scope",
     .expand = nest_macro,
     .gives_function = 2},
};
const MacroList macros_harvest = LIST_OF(table);
