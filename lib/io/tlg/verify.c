/* Checks a tlg before it is trusted: is it complete, and unchanged since it was
 * written? After reading: are its functions free of recursion? */
#include "base/toposort.h"
#include "io/tlg/tlg.h"

#include <string.h>

enum { END_TAIL = 15 }; /* "xxh64" as text, 8 bytes as bytes */
static const unsigned char tail[7] = {0x65, 'x', 'x', 'h', '6', '4', 0x48};

static bool key_equals(const char *p, size_t n, const char *key) {
    return strlen(key) == n && memcmp(p, key, n) == 0;
}

static bool fail_upstream_abort(Cbor *c) {
    size_t n, len;
    const char *p;
    uint64_t exit = 4, v;
    if (!cbor_map(c, &n)) return false;
    for (size_t i = 0; i < n; i++) {
        if (!cbor_text(c, &p, &len)) return false;
        if (!key_equals(p, len, "exit")) {
            if (!cbor_skip(c)) return false;
        } else if (!cbor_uint(c, 255, &v)) {
            return false;
        } else if (v) {
            exit = v;
        }
    }
    fail(c->s, NOWHERE, E_UPSTREAM, "%s: the command before this one failed", c->name);
    diag_set_exit(c->s, (int)exit);
    return false;
}

static bool check_hash(Cbor *c, size_t body) {
    if (!cbor_skip(c)) return false;
    if (c->p != c->end) return cbor_fail(c, "there are bytes after the end record");
    if (c->end - c->begin < END_TAIL ||
        memcmp(c->end - END_TAIL, tail, sizeof tail) != 0)
        return cbor_fail(c, "the end record has no checksum");
    uint64_t want = 0;
    for (int i = 8; i > 0; i--)
        want = want << 8 | c->end[-i];
    Xxh64 h;
    hash_xxh64_init(&h, 0);
    hash_xxh64_add(&h, c->begin, body);
    return hash_xxh64_end(&h) == want ||
           fail(c->s, NOWHERE, E_CHECKSUM,
                "%s: the checksum is wrong: the graph was changed after it was written",
                c->name);
}

static bool verify_sections(Cbor *c) {
    unsigned major;
    uint64_t tag;
    if (!cbor_head(c, &major, &tag)) return false;
    for (;;) {
        size_t body = (size_t)(c->p - c->begin), n, len;
        const char *key;
        if (!cbor_map(c, &n)) return false;
        if (n != 1) return cbor_fail(c, "expected a section, a map with one key");
        if (!cbor_key(c, &key, &len)) return false;
        if (key_equals(key, len, "abort")) return fail_upstream_abort(c);
        if (key_equals(key, len, "end")) return check_hash(c, body);
        if (!cbor_skip(c)) return false;
    }
}

bool tlg_verify(Input *in) {
    Session *s = in->s;
    Cbor c = {s, in->name, in->p, in->p, in->p + in->n};
    size_t mark = diag_count(s);
    if (verify_sections(&c)) return true;
    const Diag *d = diag_get(s, mark);
    bool whole = in->n > END_TAIL && memcmp(c.end - END_TAIL, tail, sizeof tail) == 0;
    if (!whole || d->code == E_UPSTREAM || d->code == E_CHECKSUM) return false;
    if (c.p == c.end && d->code == E_FORMAT) return false;
    diag_rewind(s, mark);
    return fail(s, NOWHERE, E_CHECKSUM,
                "%s: damaged: the graph was changed after it was written", in->name);
}

/* ---- calls ---- */

/* Calls f(ctx, name) for each function that g mentions. */
typedef bool EachCall(void *ctx, const Graph *g, Sym name);

static bool each_call(const Graph *g, EachCall *f, void *ctx) {
    const Props *last = NULL;
    for (ApplyId a = 0; a < g->napply; a++) {
        const Props *p = g->apply[a].props;
        if (p == last) continue;
        last = p;
        for (uint32_t i = 0; i < p->n; i++)
            if (p->p[i].kind == P_GRAPH && !f(ctx, g, p->p[i].sym)) return false;
    }
    return true;
}

typedef struct CallGraph {
    const Graph *main;
    const char *name;
    Map number;             /* function's sym -> its number */
    Vec(uint32_t) from, to; /* caller, callee */
} CallGraph;

static bool fail_no_function(const CallGraph *c, Session *s, Sym name) {
    return fail(s, NOWHERE, E_NAME, "%s: there is no function \"%s\"", c->name,
                sym_text(s, name));
}

static bool add_call(void *ctx, const Graph *g, Sym name) {
    CallGraph *c = ctx;
    Session *s = g->s;
    uint64_t to, from;
    if (!map_get(&c->number, name, &to)) return fail_no_function(c, s, name);
    if (g == c->main || !map_get(&c->number, g->name, &from)) return true;
    vec_push(s, &c->from, (uint32_t)from);
    vec_push(s, &c->to, (uint32_t)to);
    return true;
}

/* An override may call the function that it overrides: only its existence is
 * checked. */
static bool overrides_exist(CallGraph *c, const Graph *g) {
    const Sym name[2] = {g->pullback, g->pushforward};
    for (int i = 0; i < 2; i++)
        if (name[i] && !map_get(&c->number, name[i], NULL))
            return fail_no_function(c, g->s, name[i]);
    return true;
}

static bool check_no_recursion(CallGraph *c, Session *s, uint32_t n) {
    Arena *a = arena_new(s);
    uint32_t *first = NEW_N(a, n + 2, uint32_t), *order = NEW_N(a, n + 1, uint32_t),
             *callee = NEW_N(a, c->to.n + 1, uint32_t), cycle;
    for (size_t i = 0; i < c->from.n; i++)
        first[c->from.p[i] + 1]++;
    for (uint32_t i = 0; i < n; i++)
        first[i + 1] += first[i];
    uint32_t *at = arena_copy(a, first, (n + 1) * sizeof *at);
    for (size_t i = 0; i < c->from.n; i++)
        callee[at[c->from.p[i]]++] = c->to.p[i];
    bool ok = toposort(s, n, first, callee, order, &cycle);
    Sym name = ok ? 0 : c->main->functions.p[order[0]]->name;
    arena_free(a);
    return ok || fail(s, NOWHERE, E_CYCLE,
                      "%s: function \"%s\" calls itself, directly or through others",
                      c->name, sym_text(s, name));
}

bool tlg_calls(const Graph *main, const char *name) {
    CallGraph c = {.main = main, .name = name, .number = MAP(main->s)};
    size_t n = main->functions.n;
    for (size_t i = 0; i < n; i++)
        map_put(&c.number, main->functions.p[i]->name, i);
    bool ok = overrides_exist(&c, main) && each_call(main, add_call, &c);
    for (size_t i = 0; ok && i < n; i++)
        ok = overrides_exist(&c, main->functions.p[i]) &&
             each_call(main->functions.p[i], add_call, &c);
    ok = ok && check_no_recursion(&c, main->s, (uint32_t)n);
    map_free(&c.number);
    vec_free(&c.from);
    vec_free(&c.to);
    return ok;
}
