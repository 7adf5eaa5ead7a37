/* The planned peak where dims are open: the largest of a few polynomials. Live bytes
 * are a polynomial at each instruction; those that others exceed for all sizes from 1
 * on are dropped. Sizes count as they are: a plan rounds each to whole cache lines. */
#include "prof/prof_impl.h"

enum { PIECES_MAX = 16 };

typedef struct PeakPieces { /* max(p[0], p[1], ...) */
    const Poly *p[PIECES_MAX];
    size_t n;
    bool unknown;
} PeakPieces;

static void add_piece(Arena *a, PeakPieces *x, const Poly *p) {
    size_t kept = 0;
    for (size_t i = 0; p && i < x->n; i++)
        if (poly_at_most(a, p, x->p[i])) return;
    for (size_t i = 0; p && i < x->n; i++)
        if (!poly_at_most(a, x->p[i], p)) x->p[kept++] = x->p[i];
    x->unknown |= !p || kept == PIECES_MAX;
    if (x->unknown) return;
    x->p[kept++] = p;
    x->n = kept;
}

/* A store's first value determines its size; one that overwrites a shared variable
 * needs none. */
typedef struct Lives {
    Arena *a;
    const Plan *plan;
    const Shape *shape; /* by variable */
    const Poly **bytes; /* by store; NULL: not met */
    uint32_t *dies, *born;
    size_t nstore;
    const Poly *copies;
} Lives;

static Lives find_lives(Arena *a, const Plan *plan, const Shape *shape) {
    Lives l = {.a = a, .plan = plan, .shape = shape, .copies = poly_number(a, 0)};
    size_t n = plan_vars(plan);
    for (size_t i = 0; i < n; i++) {
        PlanVar x = plan_var(plan, i);
        if (x.store != UINT32_MAX && x.store >= l.nstore)
            l.nstore = x.store + (size_t)1;
    }
    l.bytes = arena_zalloc(a, l.nstore + 1, sizeof *l.bytes);
    l.born = NEW_N(a, l.nstore + 1, uint32_t);
    l.dies = NEW_N(a, l.nstore + 1, uint32_t);
    bool *met = NEW_N(a, l.nstore + 1, bool);
    for (size_t i = 0; i < n; i++) {
        PlanVar x = plan_var(plan, i);
        if (x.copied)
            l.copies = poly_add(a, l.copies, bytes_of_shape(a, &shape[x.var]));
        if (x.store == UINT32_MAX) continue;
        if (!met[x.store])
            l.bytes[x.store] = x.how == PLAN_OWN && !x.apart
                                   ? bytes_of_shape(a, &shape[x.var])
                                   : poly_number(a, 0);
        if (!met[x.store]) l.born[x.store] = x.born;
        if (x.dies > l.dies[x.store]) l.dies[x.store] = x.dies;
        met[x.store] = true;
    }
    return l;
}

/* In a, with `more` bytes at each instruction. */
static void add_live_pieces(const Lives *l, const Poly *more, PeakPieces *out) {
    Arena *a = l->a;
    size_t steps = plan_steps(l->plan);
    const Poly **change = arena_zalloc(a, steps + 2, sizeof *change), *now = more,
               *minus = poly_number(a, -1);
    for (size_t i = 0; i < steps + 2; i++)
        change[i] = poly_number(a, 0);
    for (size_t i = 0; i < l->nstore; i++) {
        uint32_t end = l->dies[i] + 1;
        change[l->born[i]] = poly_add(a, change[l->born[i]], l->bytes[i]);
        change[end] = poly_add(a, change[end], poly_mul(a, minus, l->bytes[i]));
    }
    for (size_t i = 0; i <= steps && !out->unknown; i++) {
        now = poly_add(a, now, change[i]);
        add_piece(a, out, i == steps ? poly_add(a, now, l->copies) : now);
    }
}

/* Planning only reads. NULL: it can't be planned, or nothing is known of it. */
static Plan *plan_quietly(Session *s, const Graph *g, const PlanOptions *how) {
    size_t mark = diag_count(s);
    Plan *p = plan_new((Graph *)(uintptr_t)g, how);
    diag_rewind(s, mark);
    return p;
}

static void add_pieces_of_call(Profile *p, Arena *a, const Called *c,
                               const PlanOptions *how, PeakPieces *out) {
    Plan *plan = c->in ? plan_quietly(p->s, c->fn, how) : NULL;
    Map dims = MAP(p->s);
    out->unknown |= !plan;
    if (plan) {
        bind_inputs(c->fn, &dims, c->nin, c->in);
        Shape *h = cost_shapes(a, c->fn, &dims, false, c->nin, c->in);
        Lives l = find_lives(a, plan, h);
        const Poly *spares = called_spares(a, c, plan);
        add_live_pieces(
            &l, poly_add(a, c->rings, poly_mul(a, poly_number(a, -1), spares)), out);
    }
    map_free(&dims);
    plan_free(plan);
}

static void put_pieces(const Profile *p, const PeakPieces *x, Str *out) {
    if (x->n > 1) str_puts(out, "max(");
    for (size_t i = 0; i < x->n; i++) {
        if (i) str_puts(out, ", ");
        poly_text(p->s, x->p[i], out);
    }
    if (x->n > 1) str_putc(out, ')');
}

/* Each group keeps the storage of its largest call, so the peaks add up. */
static bool put_functions(Profile *p, Arena *a, const PlanOptions *how,
                          PeakPieces *main, Str *out) {
    CallGroups groups = called_groups(p, a);
    for (size_t i = 0; i < groups.n; i++) {
        PeakPieces x = {0};
        for (size_t k = 0; k < groups.p[i].n; k++) {
            const Called *c = &p->called.p[groups.p[i].call[k]];
            PlanOptions own = *how;
            called_plan(c, &own);
            add_pieces_of_call(p, a, c, &own, &x);
        }
        if (x.unknown) return false;
        if (x.n > 1) {
            str_puts(out, " + ");
            put_pieces(p, &x, out);
        }
        for (size_t m = 0; x.n == 1 && m < main->n; m++)
            main->p[m] = poly_add(a, main->p[m], x.p[0]);
    }
    return true;
}

const char *peak_text(Profile *p, const PlanOptions *change) {
    PlanOptions how = p->how;
    how.no_code = true;
    how.no_inplace |= change->no_inplace;
    how.no_reuse |= change->no_reuse;
    Plan *plan = p->shape ? plan_quietly(p->s, p->g, &how) : NULL;
    if (!plan) return NULL;
    Arena *a = arena_new(p->s);
    PeakPieces main = {0};
    Lives l = find_lives(a, plan, p->shape);
    add_live_pieces(&l, poly_number(a, 0), &main);
    Str functions = STR(p->s), text = STR(p->s);
    const char *found = NULL;
    if (!main.unknown && put_functions(p, a, &how, &main, &functions)) {
        put_pieces(p, &main, &text);
        str_add(&text, functions.p, functions.n);
        found = arena_str(p->a, str_text(&text), text.n);
    }
    str_free(&functions);
    str_free(&text);
    arena_free(a);
    plan_free(plan);
    return found;
}

const Poly *leaves_poly(const Profile *p) {
    const Poly *sum = poly_number(p->a, 0);
    for (size_t i = 0; p->shape && i < plan_vars(p->plan); i++) {
        PlanVar x = plan_var(p->plan, i);
        if (x.how == PLAN_LEAF)
            sum = poly_add(p->a, sum, bytes_of_shape(p->a, &p->shape[x.var]));
    }
    return p->shape ? sum : NULL;
}
