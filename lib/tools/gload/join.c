/* Joins several graphs: leaves, nodes, outputs, updates and effects of all of them.
 * Dims of the same name are the same dim; variables, outputs and functions of the same
 * name are an error, which --prefix avoids. */
#include "tools/tools.h"

typedef struct GraphJoin {
    Session *s;
    Graph *to;
    const Graph *from;
    Arena *a;
    Var *map; /* by variable of `from` */
} GraphJoin;

static bool note_prefix(Session *s) {
    return note(s, NOWHERE, "load one of them with --prefix, or --rename it, first");
}

static bool name_is_taken(GraphJoin *j, Sym name) {
    if (graph_find(j->to, name) == VAR_NONE) return false;
    fail(j->s, NOWHERE, E_DUPLICATE, "both graphs have a variable %s",
         sym_text(j->s, name));
    return !note_prefix(j->s);
}

static bool join_leaves(GraphJoin *j) {
    const Graph *from = j->from;
    for (uint32_t i = 0; i < from->nleaf; i++) {
        const Leaf *leaf = &from->leaf[i];
        LeafKind kind = var_leaf(from, leaf->var);
        const Type *t = var_type(from, leaf->var);
        if (kind == LEAF_DIM) j->map[leaf->var] = graph_dim(j->to, leaf->name);
        if (kind != LEAF_INPUT && kind != LEAF_SHARED) continue;
        if (name_is_taken(j, leaf->name)) return false;
        Var made = kind == LEAF_INPUT ? graph_input(j->to, leaf->name, t)
                                      : graph_shared(j->to, leaf->name, t);
        j->map[leaf->var] = made;
        if (kind == LEAF_SHARED)
            value_copy_view(var_leafrec(j->to, made)->value, leaf->value);
    }
    return true;
}

/* Copies everything that has a name or is a root. */
static bool join_body(GraphJoin *j) {
    const Graph *from = j->from;
    Vec(Var) want = {0};
    for (Var v = 0; v < from->nvar; v++)
        if (var_owner(from, v) != APPLY_NONE || var_leaf(from, v) == LEAF_CONST)
            vec_push(j->s, &want, v);
    bool ok = graph_import(j->to, from, (VarList){want.n, want.p}, false, j->map);
    vec_free(&want);
    return ok;
}

static bool join_tables(GraphJoin *j) {
    const Graph *from = j->from;
    for (size_t i = 0; i < from->names.n; i++) {
        VarName n = from->names.p[i];
        Var v = j->map[n.var];
        if (graph_find(j->to, n.name) == v) continue;
        if (name_is_taken(j, n.name)) return false;
        graph_name(j->to, v, n.name);
    }
    for (size_t i = 0; i < from->trees.n; i++) {
        VarName n = {j->map[from->trees.p[i].var], from->trees.p[i].name};
        vec_push(j->s, &j->to->trees, n);
    }
    for (size_t i = 0; i < from->approx.n; i++) {
        Var v = j->map[from->approx.p[i].var];
        if (v != VAR_NONE) graph_set_approx(j->to, v, from->approx.p[i].how);
    }
    graph_copy_marks(j->to, from, j->map);
    for (size_t i = 0; i < from->outputs.n; i++) {
        Output o = from->outputs.p[i];
        if (graph_output(j->to, o.label) != VAR_NONE)
            return fail(j->s, NOWHERE, E_DUPLICATE, "both graphs have an output %s",
                        sym_text(j->s, o.label));
        o.var = j->map[o.var];
        vec_push(j->s, &j->to->outputs, o);
    }
    for (size_t i = 0; i < from->updates.n; i++) {
        Update u = {j->map[from->updates.p[i].shared],
                    j->map[from->updates.p[i].value]};
        vec_push(j->s, &j->to->updates, u);
    }
    for (uint32_t i = 0; i < from->nleaf; i++)
        if (var_leaf(from, from->leaf[i].var) == LEAF_SHARED &&
            from->leaf[i].init != VAR_NONE)
            var_leafrec(j->to, j->map[from->leaf[i].var])->init =
                j->map[from->leaf[i].init];
    for (size_t i = 0; i < from->steps.n; i++)
        vec_push(j->s, &j->to->steps, from->steps.p[i]);
    return true;
}

static bool join_one(GraphJoin *j) {
    j->map = graph_import_map(j->from, j->a, NULL);
    return join_leaves(j) && join_body(j) && join_tables(j) &&
           (graph_check_dims(j->to, NOWHERE) || note_prefix(j->s));
}

/* The parts are freed, so their texts must be copied. */
static void keep_steps(Graph *g) {
    for (size_t i = 0; i < g->steps.n; i++) {
        Step *s = &g->steps.p[i];
        s->tool = arena_printf(g->arena, "%s", s->tool);
        s->version = arena_printf(g->arena, "%s", s->version);
        s->args = arena_printf(g->arena, "%s", s->args);
    }
}

Graph *graph_join(Session *s, size_t n, Graph **parts) {
    GraphJoin j = {.s = s, .to = graph_new(s)};
    bool ok = true;
    j.to->name = parts[0]->name;
    j.to->floatX = parts[0]->floatX;
    if (parts[0]->folder)
        j.to->folder = arena_printf(j.to->arena, "%s", parts[0]->folder);
    for (size_t i = 0; ok && i < n; i++) {
        j.from = parts[i];
        j.a = arena_new(s);
        ok = join_one(&j);
        arena_free(j.a);
    }
    keep_steps(j.to);
    for (size_t i = 0; i < n; i++)
        graph_free(parts[i]);
    if (ok) return j.to;
    graph_free(j.to);
    return NULL;
}
