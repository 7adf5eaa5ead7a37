/* The rewrite database: built-in rules, the user's rules and the C passes in one list
 * ordered by position, and the selection that a query makes from it. What the library
 * brings is read and sorted once per session: in a pipe, while the graph is on its
 * way. */
#include "base/embedded.h"
#include "os/file.h"
#include "rewrite/rewrite_impl.h"

#include <stdlib.h>
#include <string.h>

/* ---- tags ---- */

bool rewrite_tags_have(const char *list, const char *word) {
    size_t n = strlen(word);
    for (const char *p = n ? strstr(list, word) : NULL; p; p = strstr(p + 1, word))
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == 0)) return true;
    return false;
}

static bool has_name_or_tag(const RewriteEntry *e, const char *word) {
    return strcmp(e->name, word) == 0 || rewrite_tags_have(e->tags, word);
}

static bool is_asked_by_any(const RewriteEntry *e, size_t n, const char *const *words) {
    for (size_t i = 0; i < n; i++)
        if (has_name_or_tag(e, words[i])) return true;
    return false;
}

static bool is_asked_by_all(const RewriteEntry *e, size_t n, const char *const *words) {
    for (size_t i = 0; i < n; i++)
        if (!has_name_or_tag(e, words[i])) return false;
    return true;
}

/* What the database asks of tags. */
enum {
    TAG_FAST = 1 << 0,
    TAG_SEARCH = 1 << 1,
    TAG_USER = 1 << 2,
    TAG_FAST_RUN = 1 << 3,
    TAG_FAST_COMPILE = 1 << 4,
    TAG_STABLE = 1 << 5,
    TAG_CLEAN = 1 << 6,
    TAG_INLINE = 1 << 7,
    TAG_ASKED = 1 << 8 /* no mode includes it */
};

static unsigned known_tag(const char *word, size_t n) {
    static const struct {
        const char *word;
        unsigned is;
    } known[] = {{"fast", TAG_FAST | TAG_ASKED}, {"unsafe", TAG_ASKED},
                 {"search", TAG_SEARCH},         {"user", TAG_USER},
                 {"fast_run", TAG_FAST_RUN},     {"fast_compile", TAG_FAST_COMPILE},
                 {"stable", TAG_STABLE},         {"merge", TAG_CLEAN},
                 {"expand", TAG_CLEAN},          {"fold", TAG_CLEAN},
                 {"useless", TAG_CLEAN},         {"inline", TAG_INLINE}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].word[0] == word[0] && strncmp(known[i].word, word, n) == 0 &&
            known[i].word[n] == '\0')
            return known[i].is;
    return 0;
}

static unsigned known_tags(const char *tags) {
    unsigned all = 0;
    while (*tags) {
        size_t n = 0;
        while (tags[n] && tags[n] != ' ')
            n++;
        all |= known_tag(tags, n);
        tags += n + (tags[n] == ' ');
    }
    return all;
}

/* Lower-case mode names are tags too, so --list shows them. */
static void add_mode_tags(Database *db, DatabaseEntry *e) {
    e->tags = known_tags(e->pub.tags);
    if (e->tags & TAG_ASKED) return;
    bool once = e->pub.position > 1.5 || (e->tags & TAG_INLINE);
    const char *modes = e->tags & TAG_CLEAN ? "fast_run fast_compile"
                        : once              ? "fast_run"
                                            : "fast_run stable";
    e->tags |= known_tags(modes);
    e->pub.tags = *e->pub.tags ? arena_join(db->arena, e->pub.tags, " ", modes) : modes;
}

static bool mode_includes(const DatabaseEntry *e, const char *mode) {
    unsigned wanted = strcmp(mode, "NONE") == 0           ? 0
                      : strcmp(mode, "FAST_COMPILE") == 0 ? TAG_FAST_COMPILE
                      : strcmp(mode, "STABILIZE") == 0 ? TAG_FAST_COMPILE | TAG_STABLE
                                                       : TAG_FAST_RUN;
    return (e->tags & wanted) != 0;
}

/* ---- building the database ---- */

static bool fail_name_taken(Database *db, const RewriteEntry *e,
                            const RewriteEntry *have) {
    fail(db->s, e->at, E_DUPLICATE, "there is already a rewrite %s", have->name);
    return have->at.source ? note(db->s, have->at, "it is defined here") : false;
}

static bool add_database_entry(Database *db, DatabaseEntry e) {
    uint64_t have;
    e.name = sym(db->s, e.pub.name);
    if (map_get(&db->by_name, e.name, &have))
        return fail_name_taken(db, &e.pub, &db->entry.p[have].pub);
    map_put(&db->by_name, e.name, db->entry.n);
    add_mode_tags(db, &e);
    e.profile.name = e.pub.name;
    vec_push(db->s, &db->entry, e);
    return true;
}

static bool add_rule_entry(Database *db, Rule *r) {
    DatabaseEntry e = {
        .pub = {.name = r->name, .tags = r->tags, .position = r->position, .at = r->at},
        .rule = r};
    return add_database_entry(db, e);
}

static bool add_builtin_passes(Database *db) {
    bool ok = true;
    for (size_t i = 0; ok && i < rewrite_npasses; i++) {
        const Pass *p = &rewrite_passes[i];
        DatabaseEntry e = {.pub = {.name = p->name,
                                   .tags = p->tags,
                                   .position = p->position,
                                   .text = p->doc,
                                   .is_pass = true},
                           .pass = p};
        ok = add_database_entry(db, e);
    }
    return ok;
}

static bool add_rule_file(Database *db, const char *path) {
    FileData f;
    RuleVec rules = {0};
    if (!file_read(db->s, path, 1 << 24, &f)) return false;
    uint32_t source = source_add(db->s, path, (const char *)f.p, f.n);
    bool ok = file_unchanged(&f);
    file_close(&f);
    ok = ok && rules_read(db->s, db->arena, source, &rules);
    for (size_t i = 0; ok && i < rules.n; i++) {
        Rule *r = rules.p[i];
        r->tags = arena_printf(db->arena, "%s%suser", r->tags, *r->tags ? " " : "");
        ok = add_rule_entry(db, r);
    }
    vec_free(&rules);
    return ok;
}

static int compare_position(const void *a, const void *b) {
    const DatabaseEntry *x = a, *y = b;
    if (x->pub.position != y->pub.position)
        return x->pub.position < y->pub.position ? -1 : 1;
    return strcmp(x->pub.name, y->pub.name);
}

static void sort_entries(Database *db) {
    if (db->entry.n)
        qsort(db->entry.p, db->entry.n, sizeof *db->entry.p, compare_position);
}

size_t database_first(const Database *db, double position) {
    size_t low = 0, high = db->entry.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (db->entry.p[mid].pub.position < position)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* ---- what the library brings ---- */

typedef struct Builtin {
    Arena *arena, *scratch; /* scratch: while a rule is compiled */
    RuleVec rules;
    Database all;                /* its entries, sorted, none selected */
    Vec(RewriteProfile) profile; /* of the last run */
    Vec(RewriteEntry) list;
} Builtin;

static void builtin_free(void *p) {
    Builtin *h = p;
    vec_free(&h->rules);
    vec_free(&h->all.entry);
    vec_free(&h->profile);
    vec_free(&h->list);
    arena_free(h->arena);
    arena_free(h->scratch);
    mem_free(h);
}

static void read_builtin(Session *s, Builtin *h) {
    for (const EmbeddedText *t = rule_texts; t->file; t++) {
        uint32_t source = source_add(s, t->file, t->text, strlen(t->text));
        if (!rules_read(s, h->arena, source, &h->rules))
            bug("%s can't be read: %s", t->file, diag_get(s, diag_count(s) - 1)->text);
    }
    h->all = (Database){.s = s, .arena = h->arena, .by_name = MAP(s)};
    vec_reserve(s, &h->all.entry, rewrite_npasses + h->rules.n);
    bool ok = add_builtin_passes(&h->all);
    for (size_t i = 0; ok && i < h->rules.n; i++)
        ok = add_rule_entry(&h->all, h->rules.p[i]);
    if (!ok) bug("%s", diag_get(s, diag_count(s) - 1)->text);
    map_free(&h->all.by_name);
    sort_entries(&h->all);
}

static Builtin *builtin(Session *s) {
    Builtin *h = session_slot(s, SLOT_RULES);
    if (h) return h;
    h = mem_zalloc(s, 1, sizeof *h);
    h->arena = arena_new(s);
    h->scratch = arena_new(s);
    session_set_slot(s, SLOT_RULES, h, builtin_free);
    read_builtin(s, h);
    return h;
}

void rewrite_prepare(Session *s) {
    builtin(s);
}

static bool add_user_rules(Database *db, const RewriteQuery *q) {
    bool ok = true;
    db->by_name = MAP(db->s);
    for (size_t i = 0; i < db->entry.n; i++)
        map_put(&db->by_name, db->entry.p[i].name, i);
    for (size_t i = 0; ok && i < q->nrules; i++)
        ok = add_rule_file(db, q->rules[i]);
    map_free(&db->by_name);
    if (ok) sort_entries(db);
    return ok;
}

static bool fill_database(Database *db, const RewriteQuery *q) {
    const Database *all = &builtin(db->s)->all;
    vec_reserve(db->s, &db->entry, all->entry.n);
    db->entry.n = all->entry.n;
    memcpy(db->entry.p, all->entry.p, all->entry.n * sizeof *all->entry.p);
    return !q->nrules || add_user_rules(db, q);
}

/* ---- the query ---- */

static bool check_mode(Session *s, const char *mode) {
    static const char *const modes[] = {"FAST_RUN", "FAST_COMPILE", "STABILIZE",
                                        "NONE"};
    size_t n = sizeof modes / sizeof *modes;
    for (size_t i = 0; i < n; i++)
        if (strcmp(modes[i], mode) == 0) return true;
    const char *near = str_nearest(s, mode, modes, n);
    return fail(s, NOWHERE, E_UNKNOWN,
                "there is no mode %s%s%s%s; the modes are FAST_RUN, FAST_COMPILE, "
                "STABILIZE and NONE",
                mode, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static const char *nearest_word(const Database *db, Arena *a, const char *word) {
    Vec(const char *) words = {0};
    for (size_t i = 0; i < db->entry.n; i++) {
        char **tag;
        size_t n = str_split(a, db->entry.p[i].pub.tags, ' ', &tag);
        vec_push(db->s, &words, db->entry.p[i].pub.name);
        for (size_t k = 0; k < n; k++)
            vec_push(db->s, &words, tag[k]);
    }
    const char *near = str_nearest(db->s, word, words.p, words.n);
    vec_free(&words);
    return near;
}

static bool check_words(Database *db, size_t n, const char *const *words) {
    for (size_t i = 0; i < n; i++) {
        bool known = false;
        for (size_t k = 0; k < db->entry.n && !known; k++)
            known = has_name_or_tag(&db->entry.p[k].pub, words[i]);
        if (known) continue;
        const char *near = nearest_word(db, db->arena, words[i]);
        return fail(db->s, NOWHERE, E_UNKNOWN,
                    "there is no rewrite and no tag %s%s%s%s", words[i],
                    near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
    return true;
}

static void select_entries(Database *db, const RewriteQuery *q, const char *mode) {
    for (size_t i = 0; i < db->entry.n; i++) {
        DatabaseEntry *e = &db->entry.p[i];
        bool in = mode_includes(e, mode) || (e->tags & TAG_USER) ||
                  is_asked_by_any(&e->pub, q->ninclude, q->include);
        e->fast = e->tags & TAG_FAST;
        in = in && is_asked_by_all(&e->pub, q->nrequire, q->require) &&
             !is_asked_by_any(&e->pub, q->nexclude, q->exclude);
        e->searched = in && (e->tags & TAG_SEARCH);
        e->selected = in && !e->searched;
    }
}

static bool compile_rule(Database *db, Rule *rule, RuleCompileFn *compile) {
    Builtin *h = builtin(db->s);
    bool user = rewrite_tags_have(rule->tags, "user");
    return compile(rule, &(RuleArenas){user ? db->arena : h->arena, h->scratch}, !user);
}

bool database_compile_left(Database *db, Rule *rule) {
    return rule->lhs || compile_rule(db, rule, rule_compile_left);
}

bool database_compile_when(Database *db, Rule *rule) {
    return rule->guard || compile_rule(db, rule, rule_compile_when);
}

bool database_compile(Database *db, Rule *rule) {
    return rule->compiled || compile_rule(db, rule, rule_compile);
}

/* A search needs all of the library's rules, a run those whose ops it meets. */
static bool compile_selected(Database *db, bool search) {
    for (size_t i = 0; i < db->entry.n; i++) {
        DatabaseEntry *e = &db->entry.p[i];
        if (!(e->selected || (e->searched && search)) || !e->rule) continue;
        if (!search && !(e->tags & TAG_USER)) continue;
        if (!database_compile(db, e->rule)) return false;
    }
    return true;
}

static bool open_database(Database *db, const RewriteQuery *q) {
    const char *mode = q->mode ? q->mode : "FAST_RUN";
    if (!check_mode(db->s, mode) || !fill_database(db, q) ||
        !check_words(db, q->ninclude, q->include) ||
        !check_words(db, q->nexclude, q->exclude) ||
        !check_words(db, q->nrequire, q->require))
        return false;
    select_entries(db, q, mode);
    return compile_selected(db, q->search);
}

Database *database_open(Session *s, const RewriteQuery *q) {
    Database *db = mem_zalloc(s, 1, sizeof *db);
    db->s = s;
    db->arena = arena_new(s);
    if (open_database(db, q)) return db;
    database_free(db);
    return NULL;
}

void database_free(Database *db) {
    vec_free(&db->entry);
    arena_free(db->arena);
    mem_free(db);
}

const RewriteProfile *database_profile(Database *db, size_t *n) {
    Builtin *h = builtin(db->s);
    h->profile.n = 0;
    for (size_t i = 0; i < db->entry.n; i++) {
        RewriteProfile p = db->entry.p[i].profile;
        if (!db->entry.p[i].selected) continue;
        p.name = sym_text(db->s, db->entry.p[i].name); /* outlives the database */
        vec_push(db->s, &h->profile, p);
    }
    *n = h->profile.n;
    return h->profile.p;
}

bool rewrite_list(Session *s, const RewriteQuery *q, const RewriteEntry **entries,
                  size_t *n) {
    Database *db = mem_zalloc(s, 1, sizeof *db);
    db->s = s;
    db->arena = session_arena(s);
    Builtin *h = builtin(s);
    h->list.n = 0;
    bool ok = check_mode(s, q->mode ? q->mode : "FAST_RUN") && fill_database(db, q);
    for (size_t i = 0; ok && i < db->entry.n; i++) {
        RewriteEntry e = db->entry.p[i].pub;
        if (db->entry.p[i].rule) e.text = rule_text(db->entry.p[i].rule);
        vec_push(s, &h->list, e);
    }
    *entries = h->list.p;
    *n = h->list.n;
    vec_free(&db->entry);
    mem_free(db);
    return ok;
}
