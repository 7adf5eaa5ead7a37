/* Rows of the tables: one per Apply, and their sums by class, op or rule. */
#include "prof/prof_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- names of rows ---- */
static const char *constant_text(void *ctx, const Graph *g, Var v) {
    (void)ctx, (void)g, (void)v;
    return "...";
}

static Printer *printer_for(Profile *p, const Graph *g) {
    uint64_t found;
    if (map_get(&p->printers, (uintptr_t)g, &found)) return (Printer *)(uintptr_t)found;
    uint8_t *live = NEW_N(p->a, (size_t)g->nvar + 1, uint8_t);
    memset(live, 1, g->nvar);
    Printer *pr = printer_new(g, PRINT_STATEMENTS, live, p->a);
    printer_set_ref(pr, constant_text, NULL);
    map_put(&p->printers, (uintptr_t)g, (uintptr_t)pr);
    return pr;
}

Sym value_name(Profile *p, Var v) {
    return printer_name(printer_for(p, p->g), v);
}

Sym op_name_of(Profile *p, const Graph *g, ApplyId id) {
    (void)p;
    return apply_label(g, id);
}

/* "y = x @ W"; "f: y = x @ W" in a function. */
Sym row_name(Profile *p, const Row *r) {
    if (r->id == APPLY_NONE) return r->name;
    Str b = STR(p->s);
    if (r->g != p->g) str_printf(&b, "%s: ", sym_text(p->s, r->g->name));
    print_statement(printer_for(p, r->g), r->id, &b);
    if (apply_fused_function(r->g, r->id))
        str_printf(&b, "  # %s", sym_text(p->s, op_name_of(p, r->g, r->id)));
    Sym y = sym_n(p->s, str_text(&b), b.n);
    str_free(&b);
    return y;
}

/* ---- making rows ---- */
static void divide_amount(Amount *x, double n) {
    x->v /= n;
    x->unknown = (uint64_t)((double)x->unknown / n + 0.5);
}

static Row row_of(Profile *p, const Graph *g, ApplyId id, const Rec *rec) {
    const Op *op = g->apply[id].op;
    const Graph *fn = apply_fused_function(g, id);
    double n = p->watched ? (double)p->watched : 1;
    Row r = {.g = g,
             .id = id,
             .cls = fn ? sym(p->s, "elemwise") : op_family(p->s, op),
             .op = op_name_of(p, g, id),
             .rule = g->origin[id].rule,
             .applies = 1,
             .calls = (double)rec->calls / n,
             .time_s = rec->time_s,
             .flops = rec->flops,
             .math = rec->math,
             .read = rec->read,
             .written = rec->written};
    if (!r.rule) r.rule = sym(p->s, "as written");
    divide_amount(&r.flops, n), divide_amount(&r.math, n), divide_amount(&r.read, n),
        divide_amount(&r.written, n);
    return r;
}

/* A lazy Apply may have kept a planned Apply from running: its row has no calls. */
void rows_make(Profile *p) {
    uint8_t *planned = mem_zalloc(p->s, p->g->napply, 1);
    rec_of(p, p->g, 0); /* exists whatever ran */
    for (size_t i = 0; i < plan_steps(p->plan); i++)
        planned[plan_step(p->plan, i).apply] = 1;
    for (size_t t = 0; t < p->tables.n; t++)
        for (ApplyId id = 0; id < p->tables.p[t].g->napply; id++) {
            const Rec *rec = &p->tables.p[t].rec[id];
            if (!rec->calls && !(p->tables.p[t].g == p->g && planned[id])) continue;
            Row r = row_of(p, p->tables.p[t].g, id, rec);
            vec_push(p->s, &p->rows, r);
        }
    mem_free(planned);
}

/* ---- sums ---- */
Amount row_bytes(const Profile *p, const Row *r) {
    Amount sum = r->read;
    amount_sum(p->a, &sum, &r->written);
    sum.unknown =
        r->read.unknown > r->written.unknown ? r->read.unknown : r->written.unknown;
    return sum;
}

static void row_add(Profile *p, Row *to, const Row *r) {
    to->applies += r->applies;
    to->calls += r->calls;
    to->time_s += r->time_s;
    to->roof_s += r->roof_s;
    if (to->cls != r->cls) to->cls = sym(p->s, "other");
    amount_sum(p->a, &to->flops, &r->flops);
    amount_sum(p->a, &to->math, &r->math);
    amount_sum(p->a, &to->read, &r->read);
    amount_sum(p->a, &to->written, &r->written);
}

static Sym line_name(Profile *p, const Row *r) {
    uint32_t line = apply_line(r->g, r->id);
    const Source *src = source_get(p->s, r->g->origin[r->id].at.source);
    if (!line) return sym(p->s, src ? src->name : "unknown");
    return sym(p->s, arena_printf(p->tmp, "%s:%u", src->name, line));
}

/* The part of a name before its first / or ., else before its last _; else all. */
static Sym prefix_of(Session *s, Sym name) {
    const char *text = sym_text(s, name);
    size_t n = strcspn(text, "/.");
    const char *under = text[n] ? NULL : strrchr(text, '_');
    if (under && under > text) n = (size_t)(under - text);
    return n ? sym_n(s, text, n) : name;
}

/* By variable, the prefix of its name; one without a name belongs to the first that
 * needs it. 0: none has a name. */
static const Sym *prefixes_of(Profile *p, const Graph *g) {
    uint64_t found;
    if (map_get(&p->prefixes, (uintptr_t)g, &found))
        return (const Sym *)(uintptr_t)found;
    Sym *of = NEW_N(p->a, (size_t)g->nvar + 1, Sym);
    for (size_t i = 0; i < g->outputs.n; i++)
        of[g->outputs.p[i].var] = prefix_of(p->s, g->outputs.p[i].label);
    for (ApplyId id = g->napply; id-- > 0;) {
        const Apply *ap = &g->apply[id];
        Sym first = 0;
        for (Var v = ap->out + ap->nout; v-- > ap->out;) {
            if (var_name(g, v)) of[v] = prefix_of(p->s, var_name(g, v));
            if (of[v]) first = of[v];
        }
        of[ap->out] = first;
        for (size_t i = 0; i < ap->nin; i++)
            of[apply_in(g, id)[i]] = first;
    }
    map_put(&p->prefixes, (uintptr_t)g, (uintptr_t)of);
    return of;
}

static Sym key_of(Profile *p, const Row *r, ProfileBy by) {
    Sym prefix;
    switch (by) {
    case BY_CLASS:
        return r->cls;
    case BY_OP:
        return r->op;
    case BY_FUNCTION:
        return r->g == p->g ? sym(p->s, "the graph itself") : r->g->name;
    case BY_PREFIX:
        if (r->g != p->g) return r->g->name;
        prefix = prefixes_of(p, r->g)[r->g->apply[r->id].out];
        return prefix ? prefix : sym(p->s, "unnamed");
    case BY_LINE:
        return line_name(p, r);
    case BY_ALL:
    case BY_APPLY:
    case BY_RULE:
        break;
    }
    return r->rule;
}

/* ---- order ---- */
enum { TYPICAL_DIM = 1000 };
double amount_key(const Amount *x) {
    return x->v + poly_at(x->sym, TYPICAL_DIM);
}

double row_weight(const Profile *p, const Row *r) {
    return p->is_static ? amount_key(&r->flops) : r->time_s;
}

typedef struct Sorted {
    double key;
    const char *name;
    size_t at;
} Sorted;

static int compare_keys(const void *a, const void *b) {
    const Sorted *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? 1 : -1;
    int names = strcmp(x->name, y->name);
    return names ? names : x->at < y->at ? -1 : x->at > y->at;
}

static double sort_key(const Profile *p, const Row *r, ProfileSort sort) {
    switch (sort) {
    case SORT_TIME:
        return row_weight(p, r);
    case SORT_FLOPS:
        return amount_key(&r->flops);
    case SORT_BYTES:
        return amount_key(&r->read) + amount_key(&r->written);
    case SORT_CALLS:
        return r->calls;
    case SORT_NAME:
        return 0;
    }
    return 0;
}

void rows_sort(Profile *p, Rows *rows, ProfileSort sort) {
    Sorted *k = mem_alloc(p->s, (rows->n + 1) * sizeof *k);
    Row *to = mem_alloc(p->s, (rows->n + 1) * sizeof *to);
    for (size_t i = 0; i < rows->n; i++) {
        Sym name = rows->p[i].name;
        if (sort == SORT_NAME && !name) name = row_name(p, &rows->p[i]);
        k[i] = (Sorted){sort_key(p, &rows->p[i], sort), sym_text(p->s, name), i};
    }
    qsort(k, rows->n, sizeof *k, compare_keys);
    for (size_t i = 0; i < rows->n; i++)
        to[i] = rows->p[k[i].at];
    mem_free(k);
    mem_free(rows->p);
    rows->p = to;
    rows->cap = rows->n + 1;
}

Rows rows_by(Profile *p, ProfileBy by, ProfileSort sort) {
    Rows out = {0};
    Map group = MAP(p->s);
    for (size_t i = 0; i < p->rows.n; i++) {
        Row r = p->rows.p[i];
        uint64_t at = out.n;
        if (by != BY_APPLY) r.name = key_of(p, &r, by);
        if (by != BY_APPLY && map_get(&group, r.name, &at)) {
            row_add(p, &out.p[at], &r);
            continue;
        }
        if (by != BY_APPLY) {
            map_put(&group, r.name, at);
            r.id = APPLY_NONE;
        }
        vec_push(p->s, &out, r);
    }
    map_free(&group);
    rows_sort(p, &out, sort);
    return out;
}

static double known_amount(const Amount *x) {
    return x->sym || (x->unknown && x->v == 0) ? (double)NAN : x->v;
}

ProfileCost *profile_costs(Profile *p, ProfileBy by, ProfileSort sort, size_t *n) {
    Rows rows = rows_by(p, by, sort);
    ProfileCost *cost = mem_zalloc(p->s, rows.n + 1, sizeof *cost);
    for (size_t i = 0; i < rows.n; i++) {
        const Row *r = &rows.p[i];
        cost[i] = (ProfileCost){.name = sym_text(p->s, row_name(p, r)),
                                .applies = (double)r->applies,
                                .calls = r->calls,
                                .time_s = p->is_static ? (double)NAN : r->time_s,
                                .flops = known_amount(&r->flops),
                                .math_calls = known_amount(&r->math),
                                .read_bytes = known_amount(&r->read),
                                .written_bytes = known_amount(&r->written)};
    }
    *n = rows.n;
    vec_free(&rows);
    return cost;
}

const char *by_name(ProfileBy by) {
    static const char *const names[] = {"all",  "class",    "op",     "apply",
                                        "rule", "function", "prefix", "line"};
    return names[by];
}
