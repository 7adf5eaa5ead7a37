/* Which of an author's statements a graph still says. The text is read again, and each
 * statement's expression is compared with the graph down to variables with names. A
 * statement is kept if all that it computes is unchanged, and if what is written beside
 * it needs nothing from inside of it. */
#include "io/author.h"
#include "value/class.h"

#include <string.h>

typedef struct Keeper {
    Author *au;
    const Graph *was, *now;
    GraphPairs *pairs;
    Var *next_owned;      /* by variable: the next one of its entry */
    Var *first_owned;     /* by entry */
    Vec(ApplyId) printed; /* those that are to be looked at */
} Keeper;

static uint32_t find_section(const Keeper *k, const char *key) {
    Sym y = sym_find(k->au->s, key, strlen(key));
    return y ? author_find(k->au, NO_ENTRY, y) : NO_ENTRY;
}

/* The entries below a section follow it. */
static size_t end_of_section(const Author *au, uint32_t id) {
    size_t end = id + 1;
    while (id != NO_ENTRY && end < au->entry.n && au->entry.p[end].up == id)
        end++;
    return id == NO_ENTRY ? 0 : end;
}

bool author_owns(const Author *au, Var v) {
    return au && au->owner[v] && au->entry.p[au->owner[v] - 1].kept;
}

bool author_defines(const Author *au, Sym name) {
    uint64_t id;
    return map_get(&au->defined, name, &id) && au->entry.p[id].kept;
}

/* ---- comparing ---- */

static void own_one(Keeper *k, Var v, uint32_t id) {
    if (k->au->owner[v]) return;
    k->au->owner[v] = id + 1;
    k->next_owned[v] = k->first_owned[id];
    k->first_owned[id] = v;
}

/* With all results of its Apply, of which the expression may use one only. */
static void own_var(Keeper *k, Var v, uint32_t id) {
    ApplyId a = var_owner(k->now, v);
    if (a == APPLY_NONE)
        own_one(k, v, id);
    else
        for (uint16_t i = 0; i < k->now->apply[a].nout; i++)
            own_one(k, k->now->apply[a].out + i, id);
}

static bool match_values(Keeper *k, uint32_t id, Sym name, Var was, Var now) {
    VarList walked;
    if (!graph_pairs_match(k->pairs, name, was, now, &walked)) return false;
    for (size_t i = 0; i < walked.n; i++)
        own_var(k, walked.p[i], id);
    return true;
}

static bool statement_holds(Keeper *k, uint32_t id) {
    const Entry *e = &k->au->entry.p[id];
    for (size_t i = 0; i < e->ntarget; i++) {
        Sym name = e->target[i];
        map_put(&k->au->defined, name, id);
        Var was = graph_find(k->was, name), now = graph_find(k->now, name);
        if (was == VAR_NONE && now == VAR_NONE) continue; /* a tree, or a function */
        if (was == VAR_NONE || now == VAR_NONE || !match_values(k, id, name, was, now))
            return false;
        own_var(k, now, id);
    }
    return true;
}

static bool same_type(const Keeper *k, Var was, Var now) {
    return was != VAR_NONE && now != VAR_NONE &&
           var_leaf(k->was, was) == var_leaf(k->now, now) &&
           var_type(k->was, was) == var_type(k->now, now);
}

static bool shared_holds(Keeper *k, uint32_t id, Var was, Var now) {
    if (!same_type(k, was, now)) return false;
    const Leaf *a = var_leafrec(k->was, was), *b = var_leafrec(k->now, now);
    bool known = value_has_data(a->value);
    if (known != value_has_data(b->value)) return false;
    return known ? value_identical(a->value, b->value)
                 : match_values(k, id, 0, a->init, b->init);
}

static bool entry_holds(Keeper *k, const char *in, uint32_t id) {
    const Entry *e = &k->au->entry.p[id];
    Var was = graph_find(k->was, e->key), now = graph_find(k->now, e->key);
    if (strcmp(in, "let") == 0) return e->text && statement_holds(k, id);
    if (strcmp(in, "inputs") == 0) return e->text && same_type(k, was, now);
    if (strcmp(in, "shared") == 0) return e->text && shared_holds(k, id, was, now);
    if (strcmp(in, "outputs") == 0) {
        was = graph_output(k->was, e->key);
        now = graph_output(k->now, e->key);
    } else {
        was = was == VAR_NONE ? VAR_NONE : graph_update(k->was, was);
        now = now == VAR_NONE ? VAR_NONE : graph_update(k->now, now);
    }
    return e->text && was != VAR_NONE && now != VAR_NONE &&
           match_values(k, id, 0, was, now);
}

/* All outputs, those of trees among them, which no single entry says. */
static bool outputs_hold(Keeper *k, uint32_t id) {
    const Graph *a = k->was, *b = k->now;
    bool same = a->outputs.n == b->outputs.n;
    for (size_t i = 0; same && i < a->outputs.n; i++)
        same = a->outputs.p[i].label == b->outputs.p[i].label &&
               match_values(k, id, 0, a->outputs.p[i].var, b->outputs.p[i].var);
    for (size_t i = id + 1; same && i < end_of_section(k->au, id); i++)
        same = k->au->entry.p[i].text;
    return same;
}

/* Then the whole section is kept; without comments, if it is a list. */
static void compare_outputs(Keeper *k) {
    uint32_t id = find_section(k, "outputs");
    if (id == NO_ENTRY) return;
    bool same = outputs_hold(k, id);
    k->au->entry.p[id].kept = same;
    for (size_t i = id + 1; same && i < end_of_section(k->au, id); i++)
        k->au->entry.p[i].kept = true;
}

static bool same_free_dims(const Graph *a, const Graph *b, Arena *arena) {
    VarList x = graph_free_dims(a, arena), y = graph_free_dims(b, arena);
    bool same = x.n == y.n;
    for (size_t i = 0; same && i < x.n; i++)
        same = var_name(a, x.p[i]) == var_name(b, y.p[i]);
    return same;
}

static const char *const compared[] = {"inputs", "shared", "let", "outputs", "updates"};
enum { NCOMPARED = sizeof compared / sizeof *compared };

static void compare_entries(Keeper *k) {
    for (size_t i = 0; i < NCOMPARED; i++) {
        uint32_t up = find_section(k, compared[i]);
        for (size_t id = up + 1, end = end_of_section(k->au, up); id < end; id++)
            k->au->entry.p[id].kept = entry_holds(k, compared[i], (uint32_t)id);
    }
}

static void keep_if(Keeper *k, const char *key, bool same) {
    uint32_t id = find_section(k, key);
    if (id != NO_ENTRY) k->au->entry.p[id].kept = same;
}

static void compare_head(Keeper *k) {
    const Graph *was = k->was, *now = k->now;
    keep_if(k, "name", was->name == now->name);
    keep_if(k, "doc", was->doc && now->doc && strcmp(was->doc, now->doc) == 0);
    keep_if(k, "dims", same_free_dims(was, now, k->au->a));
}

/* A function's entries are kept together. */
static void compare_functions(Keeper *k) {
    uint32_t up = find_section(k, "functions");
    for (size_t id = up + 1; up != NO_ENTRY && id < k->au->entry.n; id++) {
        Entry *e = &k->au->entry.p[id];
        if (e->up == NO_ENTRY) break;
        e->kept = e->up == up ? graph_pairs_function(k->pairs, e->key)
                              : k->au->entry.p[e->up].kept;
    }
}

/* ---- what is written beside the author's text ---- */

/* What is written anew refers to v by a name; v has none if only a statement says how
 * it is computed. Then that statement is written anew, too. */
static void need_name(Keeper *k, Var v) {
    if (v == VAR_NONE || !author_owns(k->au, v) || var_name(k->now, v)) return;
    uint32_t id = k->au->owner[v] - 1;
    k->au->entry.p[id].kept = false;
    for (Var u = k->first_owned[id]; u != VAR_NONE; u = k->next_owned[u])
        if (var_owner(k->now, u) != APPLY_NONE)
            vec_push(k->au->s, &k->printed, var_owner(k->now, u));
}

static bool is_kept(const Keeper *k, const char *in, Sym key) {
    uint32_t up = find_section(k, in);
    uint32_t id = up == NO_ENTRY ? NO_ENTRY : author_find(k->au, up, key);
    return id != NO_ENTRY && k->au->entry.p[id].kept;
}

static bool keeps_outputs(const Keeper *k) {
    uint32_t id = find_section(k, "outputs");
    return id != NO_ENTRY && k->au->entry.p[id].kept;
}

static void need_roots(Keeper *k) {
    const Graph *g = k->now;
    for (size_t i = 0; i < g->outputs.n && !keeps_outputs(k); i++)
        if (!is_kept(k, "outputs", g->outputs.p[i].label))
            need_name(k, g->outputs.p[i].var);
    for (size_t i = 0; i < g->updates.n; i++)
        if (!is_kept(k, "updates", var_name(g, g->updates.p[i].shared)))
            need_name(k, g->updates.p[i].value);
    for (size_t i = 0; i < g->shared.n; i++)
        if (!is_kept(k, "shared", var_name(g, g->shared.p[i])))
            need_name(k, var_leafrec(g, g->shared.p[i])->init);
}

static void need_inputs(Keeper *k) {
    const Graph *g = k->now;
    for (ApplyId a = 0; a < g->napply; a++)
        if (!author_owns(k->au, g->apply[a].out)) vec_push(g->s, &k->printed, a);
    while (k->printed.n) {
        VarList in = apply_ins(g, k->printed.p[--k->printed.n]);
        for (size_t i = 0; i < in.n; i++)
            need_name(k, in.p[i]);
    }
}

/* `b = a` says nothing where a is written anew, with all its names. */
static void drop_aliases(Keeper *k) {
    uint32_t up = find_section(k, "let");
    for (size_t id = up + 1, end = end_of_section(k->au, up); id < end; id++) {
        Entry *e = &k->au->entry.p[id];
        for (size_t i = 0; i < e->ntarget; i++) {
            Var v = graph_find(k->now, e->target[i]);
            if (v != VAR_NONE && !author_owns(k->au, v)) e->kept = false;
        }
    }
}

/* ---- functions without a place in the text ---- */

static void call_props(const Props *p, Map *called) {
    for (uint32_t i = 0; i < p->n; i++)
        if (p->p[i].kind == P_GRAPH && p->p[i].sym) map_put(called, p->p[i].sym, 1);
}

static void call_all(const Keeper *k, const Graph *g, bool anew, Map *called) {
    for (ApplyId a = 0; a < g->napply; a++)
        if (!anew || g != k->now || !author_owns(k->au, g->apply[a].out))
            call_props(g->apply[a].props, called);
    if (g->pullback) map_put(called, g->pullback, 1);
    if (g->pushforward) map_put(called, g->pushforward, 1);
}

/* Those that only the author's statements call: reading these makes them again. */
static void omit_functions(Keeper *k) {
    const Graph *g = k->now;
    uint32_t up = find_section(k, "functions");
    Map called = MAP(g->s), needed = MAP(g->s);
    call_all(k, g, false, &called);
    call_all(k, g, true, &needed);
    for (size_t i = 0; i < g->functions.n; i++)
        call_all(k, g->functions.p[i], false, &called);
    for (size_t known = SIZE_MAX; known != needed.n;) {
        known = needed.n;
        for (size_t i = 0; i < 2 * g->functions.n; i++) {
            size_t n = g->functions.n;
            const Graph *fn = g->functions.p[i < n ? i : 2 * n - 1 - i];
            bool own = up != NO_ENTRY && author_find(k->au, up, fn->name) != NO_ENTRY;
            bool written = own ? !is_kept(k, "functions", fn->name)
                               : map_get(&needed, fn->name, NULL) ||
                                     !map_get(&called, fn->name, NULL);
            if (written) call_all(k, fn, true, &needed);
        }
    }
    for (size_t i = 0; i < g->functions.n; i++) {
        Sym name = g->functions.p[i]->name;
        bool own = up != NO_ENTRY && author_find(k->au, up, name) != NO_ENTRY;
        if (!own && map_get(&called, name, NULL) && !map_get(&needed, name, NULL))
            map_put(&k->au->omitted, name, 1);
    }
    map_free(&called);
    map_free(&needed);
}

/* ---- the whole ---- */

static bool has_names(const Graph *b, const Graph *a) {
    for (size_t i = 0; i < a->names.n; i++)
        if (graph_find(b, a->names.p[i].name) == VAR_NONE) return false;
    return true;
}

static bool is_same(const Graph *a, const Graph *b) {
    ApplyId at_a, at_b;
    return has_names(b, a) && graph_equal(a, b, &at_a, &at_b, NULL);
}

static void keep_entries(Author *au, const Graph *g) {
    Keeper k = {
        .au = au, .was = au->was, .now = g, .pairs = graph_pairs_new(au->was, g)};
    au->owner = NEW_N(au->a, g->nvar + 1, uint32_t);
    k.next_owned = NEW_N(au->a, g->nvar + 1, Var);
    k.first_owned = arena_alloc(au->a, (au->entry.n + 1) * sizeof(Var));
    memset(k.first_owned, 0xFF, (au->entry.n + 1) * sizeof(Var));
    compare_entries(&k);
    compare_outputs(&k);
    compare_functions(&k);
    compare_head(&k);
    need_roots(&k);
    need_inputs(&k);
    drop_aliases(&k);
    omit_functions(&k);
    au->unchanged = is_same(au->was, g) && has_names(au->was, g);
    vec_free(&k.printed);
    graph_pairs_free(k.pairs);
}

/* What was reported since `mark` is of no interest, but for memory and other limits. */
static void forget_reports(Session *s, size_t mark) {
    if (!diag_hit_limit(s, mark)) diag_rewind(s, mark);
}

Author *author_open(const Graph *g) {
    if (!g->source || g->main != g) return NULL;
    size_t mark = diag_count(g->s);
    Arena *a = arena_new(g->s);
    ReadOptions o = {.floatX = g->floatX};
    Doc *root = yaml_read(g->s, a, g->source);
    Author *au = root ? author_read(g->s, root, g->source) : NULL;
    if (au) au->was = doc_graph(g->s, root, g->folder, &o);
    if (au && au->was) {
        keep_entries(au, g);
    } else {
        author_free(au);
        au = NULL;
    }
    forget_reports(g->s, mark);
    arena_free(a);
    return au;
}

bool author_holds(const Graph *g, const Str *text, const Refs *refs) {
    size_t mark = diag_count(g->s);
    Arena *a = arena_new(g->s);
    ReadOptions o = {.floatX = g->floatX, .pending = refs};
    Doc *root = yaml_read(g->s, a, source_add(g->s, "", str_text(text), text->n));
    Graph *again = root ? doc_graph(g->s, root, g->folder, &o) : NULL;
    bool ok = again && is_same(g, again);
    if (again) graph_free(again);
    forget_reports(g->s, mark);
    arena_free(a);
    return ok;
}
