/* Lists the user ops that a graph needs. */
#include "userop/userop.h"

#include <stdlib.h>
#include <string.h>

typedef struct UserOpUses {
    Session *s;
    Map seen;
    Vec(const Op *) op;
} UserOpUses;

static void collect_userops(UserOpUses *u, const Graph *g) {
    for (ApplyId a = 0; a < g->napply; a++) {
        const Op *op = g->apply[a].op;
        if (!op->from || map_get(&u->seen, (uintptr_t)op, NULL)) continue;
        map_put(&u->seen, (uintptr_t)op, 1);
        vec_push(u->s, &u->op, op);
    }
}

const Op **userop_list_of_graph(const Graph *g, Arena *a, size_t *n) {
    UserOpUses u = {.s = g->s, .seen = MAP(g->s)};
    collect_userops(&u, g);
    for (size_t i = 0; i < g->functions.n; i++)
        collect_userops(&u, g->functions.p[i]);
    if (u.op.n) qsort(u.op.p, u.op.n, sizeof *u.op.p, op_compare_names);
    *n = u.op.n;
    const Op **list = arena_copy(a, u.op.p, u.op.n * sizeof *list);
    map_free(&u.seen);
    vec_free(&u.op);
    return list;
}

static const char *text_or_empty(const char *where) {
    return where ? where : "";
}

bool userop_find(Session *s, const char *name, uint64_t version, Span at,
                 const char *where, const Op **op) {
    const char *sep = where ? ": " : "";
    *op = op_find_firm(s, name, strlen(name));
    if (!*op) {
        fail(s, at, E_NAME, "%s%sthe op %s is not known here", text_or_empty(where),
             sep, name);
        return hint(s, HINT_OWN_OPS);
    }
    unsigned have = (*op)->version ? (*op)->version : 1;
    if (version == have) return true;
    return fail(s, at, E_VERSION,
                "%s%sthe graph uses version %llu of the op %s, but %s has version %u",
                text_or_empty(where), sep, (unsigned long long)version, name,
                (*op)->from ? (*op)->from : "this thunkline", have);
}
