/* ggrad --check: derivatives against finite differences. The least precise float
 * involved (its dtype, or the digits of its op) determines the step and the tolerance.
 * Most elements agree at once with a single central difference. The rest get many steps
 * and an extrapolation, and an element is wrong only if it is off by more than the
 * tolerance plus the uncertainty of the differences themselves. A second derivative is
 * compared with differences of the first. */
#include "op/services.h"
#include "tools/ggrad/difference.h"
#include "tools/random_inputs.h"

#include <math.h>
#include <string.h>

typedef struct Precision {
    double eps, step, tolerance; /* step: of the first difference */
    double normal; /* the smallest with all its digits: below it none is counted on */
} Precision;

static Precision precision_of(DType d, int digits) {
    if (digits && digits <= 8) return (Precision){0x1p-7, 0x1p-3, 0.2, 0x1p-126};
    switch (dtype_size(dtype_real(d))) {
    case 2:
        return (Precision){0x1p-10, 0x1p-4, 5e-2, 0x1p-14};
    case 4:
        return (Precision){0x1p-23, 0x1p-7, 5e-4, 0x1p-126};
    default:
        return (Precision){0x1p-52, 0x1p-17, 1e-4, 0x1p-1022};
    }
}

typedef struct GradCheck {
    Graph *g;
    Session *s;
    Machine *m;
    Trial t;
    const Derived *d;
    Vec(Var) want;
    Tensor *base; /* by want, at the original point */
    Precision p;
} GradCheck;

static Value *value_of_var(GradCheck *c, Var v) {
    for (size_t i = 0; i < c->g->inputs.n; i++)
        if (c->g->inputs.p[i] == v) return &c->t.input[i];
    for (size_t i = 0; i < c->g->shared.n; i++)
        if (c->g->shared.p[i] == v) return &c->t.shared[i];
    return NULL;
}

static size_t output_place(const GradCheck *c, Var v) {
    size_t i = 0;
    while (c->want.p[i] != v)
        i++;
    return i;
}

/* If a derivative breaks its contract during the run, that is the check's verdict. */
static bool run_contracted(GradCheck *c) {
    size_t mark = diag_count(c->s);
    if (trial_feed(&c->t, c->m) && vm_run(c->m)) return true;
    if (diag_count(c->s) > mark && diag_get(c->s, mark)->code == E_DERIVATIVE)
        diag_set_exit(c->s, diag_exit(E_VERDICT));
    return false;
}

/* ---- a line through the point ---- */

/* A single real number of one variable moves, or all variables along their
 * directions. */
typedef struct MoveLine {
    GradCheck *c;
    bool along;
    size_t by;  /* index into d->wrt */
    int64_t at; /* index of the number: a complex element has two */
    double here, scale, ulp;
    Tensor *was; /* along: the variables at the original point */
} MoveLine;

/* The real numbers of an array: parts of complex elements are adjacent. */
static Tensor real_numbers(const Tensor *t) {
    Tensor y = *t;
    bool pair = dtype_is_complex(t->dtype);
    y.dtype = dtype_real(t->dtype);
    y.ndim = 1;
    y.shape[0] = tensor_size(t) * (pair ? 2 : 1);
    y.stride[0] = (int64_t)dtype_size(y.dtype);
    return y;
}

static void put_number(Tensor *t, int64_t i, double v) {
    Tensor y = real_numbers(t);
    size_t size = dtype_size(y.dtype);
    tensor_cast_elements(y.dtype, (char *)y.data + (size_t)i * size, DT_FLOAT64, &v, 1,
                         0, 0);
}

static double real_number_at(const Tensor *t, int64_t i) {
    Tensor y = real_numbers(t);
    return tensor_f64(&y, i);
}

static Tensor *moved_tensor(const MoveLine *l, size_t by) {
    return &value_of_var(l->c, l->c->d->wrt[by])->t;
}

/* A step that, as far as possible, changes the number without rounding. */
static double whole_step(const MoveLine *l, double step) {
    double grain = 4 * l->ulp;
    return l->along ? step : fmax(1, round(step / grain)) * grain;
}

/* Moves by t and runs. */
static bool run_at(const MoveLine *l, double t) {
    if (!l->along) put_number(moved_tensor(l, l->by), l->at, l->here + t);
    for (size_t by = 0; l->along && by < l->c->d->nwrt; by++) {
        const Tensor *v = &l->c->base[output_place(l->c, l->c->d->along[by])];
        for (int64_t i = 0, n = real_numbers(&l->was[by]).shape[0]; i < n; i++)
            put_number(moved_tensor(l, by), i,
                       real_number_at(&l->was[by], i) + t * real_number_at(v, i));
    }
    return run_contracted(l->c);
}

/* After a run: an op that rejects its input is no error here; it means that the point
 * is outside the function's domain. */
static bool allow_outside(Session *s, size_t mark, bool ok, bool *outside) {
    DiagCode why = !ok && diag_count(s) > mark ? diag_get(s, mark)->code : E_DERIVATIVE;
    *outside = !ok && why != E_DERIVATIVE && diag_exit(why) == diag_exit(E_RUN);
    if (*outside) diag_rewind(s, mark);
    return ok || *outside;
}

static bool try_at(const MoveLine *l, double t, bool *outside) {
    size_t mark = diag_count(l->c->s);
    return allow_outside(l->c->s, mark, run_at(l, t), outside);
}

static void move_line_back(const MoveLine *l) {
    if (!l->along) put_number(moved_tensor(l, l->by), l->at, l->here);
    for (size_t by = 0; l->along && by < l->c->d->nwrt; by++)
        tensor_assign(moved_tensor(l, by), &l->was[by]);
}

/* ---- claims on a line ---- */

/* A number under suspicion: part `part` of element `o` of the differentiated value,
 * with the claimed slope along the line. */
typedef struct Suspect {
    const Claim *claim;
    int64_t o, flat;
    int part, said; /* parts of the value, and of the claimed slope */
    double have, slack;
    double noise; /* of the value, as far as the rounding of its arguments makes it */
    double plus[DIFFERENCE_STEPS], minus[DIFFERENCE_STEPS];
} Suspect;
typedef Vec(Suspect) Suspects;

static double part_of(const Tensor *t, int64_t i, int part) {
    double both[2];
    tensor_c128(t, i, both);
    return both[part];
}

static double value_now(GradCheck *c, const Suspect *q) {
    return part_of(&vm_output(c->m, output_place(c, q->claim->of))->t, q->o, q->part);
}

static double value_here(GradCheck *c, const Suspect *q) {
    return part_of(&c->base[output_place(c, q->claim->of)], q->o, q->part);
}

static bool fail_mismatch(GradCheck *c, const Suspect *q, Slope want) {
    fail(c->s, NOWHERE, E_VERDICT, "%s is wrong at flat index %lld%s",
         sym_text(c->s, q->claim->name), (long long)q->flat,
         q->said ? ", in its imaginary part" : "");
    return note(c->s, NOWHERE,
                "the derivative is %.9g, finite differences give %.9g (to within %.1g; "
                "tolerance %g)",
                q->have, want.value, want.error, c->p.tolerance);
}

/* Next to the point the function is not finite or rejects its input, so no difference
 * reveals the slope. */
static bool at_edge(const GradCheck *c, const Suspect *q) {
    fail(c->s, NOWHERE, E_VALUE,
         "%s can't be checked at flat index %lld: the point is at the edge of the "
         "function's domain",
         sym_text(c->s, q->claim->name), (long long)q->flat);
    return note(c->s, NOWHERE,
                "the derivative is %.9g, but the function is not finite next to the "
                "point; give values inside its domain, as NAME=VALUE",
                q->have);
}

static bool has_finite(size_t n, const double *sample) {
    while (n && !isfinite(sample[n - 1]))
        n--;
    return n > 0;
}

/* Adds the numbers of a claim on the line, as they are at this point. */
static void add_claim(const MoveLine *l, const Claim *k, Suspects *all) {
    GradCheck *c = l->c;
    const Tensor *of = &c->base[output_place(c, k->of)],
                 *says = &c->base[output_place(c, k->says)];
    const Tensor *x = l->along ? NULL : moved_tensor(l, l->by);
    bool pair = x && dtype_is_complex(x->dtype);
    int64_t n = x ? tensor_size(x) : 1;
    for (int64_t o = 0; o < tensor_size(of); o++)
        for (int part = 0; part <= dtype_is_complex(of->dtype); part++) {
            int64_t i = x ? l->at / (pair ? 2 : 1) : 0;
            Suspect q = {.claim = k, .o = o, .flat = i + o * n, .part = part};
            q.said = pair ? (int)(l->at % 2) : part;
            q.have = part_of(says, q.flat, q.said);
            vec_push(c->s, all, q);
        }
}

/* Keeps only those that disagree with a single central difference. */
static bool drop_agreeing_claims(const MoveLine *l, Suspects *all) {
    GradCheck *c = l->c;
    double step = whole_step(l, c->p.step * l->scale);
    size_t kept = 0;
    for (int side = 0; side < 2; side++) {
        bool outside;
        if (!try_at(l, side ? -step : step, &outside)) return false;
        for (size_t i = 0; i < all->n; i++)
            *(side ? all->p[i].minus : all->p[i].plus) =
                outside ? (double)NAN : value_now(c, &all->p[i]);
    }
    for (size_t i = 0; i < all->n; i++) {
        const Suspect *q = &all->p[i];
        double want = (*q->plus - *q->minus) / (2 * step);
        double near = c->p.tolerance * fmax(fabs(want), fabs(q->have));
        if (!isfinite(q->have) && !isfinite(want)) return at_edge(c, q);
        if (!isfinite(q->have))
            return fail_mismatch(c, q, (Slope){want, c->p.tolerance * fabs(want)});
        if (!(fabs(want - q->have) <= near)) all->p[kept++] = *q;
    }
    all->n = kept;
    return true;
}

/* Steps from a quarter of the number's size down to the smallest that changes it. */
static size_t choose_steps(const MoveLine *l, double *step) {
    double least = l->here != 0 || l->along ? 8 * l->ulp : 0x1p-60;
    size_t n = 0;
    /* not a power of 2, which a period might match */
    for (double h = 0.2371 * l->scale; n < DIFFERENCE_STEPS && h >= least; h /= 2) {
        double whole = whole_step(l, h);
        if (n == 0 || whole < 0.75 * step[n - 1]) step[n++] = whole;
    }
    return n;
}

/* The claimed slope changes only by rounding when the number moves by a few units in
 * the last place; the array's largest value carries the same errors. */
static double claim_slack(GradCheck *c, const Suspect *q, double was) {
    const Tensor *now = &vm_output(c->m, output_place(c, q->claim->says))->t;
    return fmax(was, fabs(part_of(now, q->flat, q->said) - q->have));
}

static double claim_rounding(const GradCheck *c, const Suspect *q) {
    const Tensor *says = &c->base[output_place(c, q->claim->says)];
    double most = 0;
    for (int64_t i = 0; i < tensor_size(says); i++)
        most = fmax(most, hypot(part_of(says, i, 0), part_of(says, i, 1)));
    return 4 * c->p.eps * most;
}

static bool sample_slopes(const MoveLine *l, size_t n, const double *step,
                          Suspects *all) {
    GradCheck *c = l->c;
    for (size_t j = 0; j < n; j++)
        for (int side = 0; side < 2; side++) {
            bool outside;
            if (!try_at(l, side ? -step[j] : step[j], &outside)) return false;
            for (size_t i = 0; i < all->n; i++) {
                Suspect *q = &all->p[i];
                (side ? q->minus : q->plus)[j] =
                    outside ? (double)NAN : value_now(c, q);
                if (!outside && step[j] <= 64 * l->ulp)
                    q->slack = claim_slack(c, q, q->slack);
            }
        }
    return true;
}

/* Moves every number of a variable up or down by a few units in the last place: so many
 * times what rounding does to it. */
enum { SHAKEN = 4 };
static void shake_variable(const GradCheck *c, const Tensor *was, Tensor *now,
                           int pattern) {
    for (int64_t i = 0, n = real_numbers(was).shape[0]; i < n; i++) {
        double sign = ((i + 1) * (pattern + 2) * 7919 >> 3) & 1 ? 1 : -1;
        double x = real_number_at(was, i);
        put_number(now, i, x + sign * SHAKEN / 2 * c->p.eps * fabs(x));
    }
}

/* Runs at the variables' current values; *outside as in allow_outside. */
static bool try_here(GradCheck *c, bool *outside) {
    size_t mark = diag_count(c->s);
    return allow_outside(c->s, mark, run_contracted(c), outside);
}

/* At a shaken point: the claimed slope, and the slope of a long step. */
static bool sample_shaken(const MoveLine *l, Suspects *all, double *low, double *high) {
    GradCheck *c = l->c;
    double step = 0.2371 * l->scale;
    bool outside;
    if (!try_here(c, &outside)) return false;
    for (size_t i = 0; i < all->n; i++) {
        Suspect *q = &all->p[i];
        q->plus[0] = outside ? (double)NAN : value_now(c, q);
        if (outside) continue;
        q->slack = claim_slack(c, q, q->slack);
        double moved = fabs(q->plus[0] - value_here(c, q));
        if (isfinite(moved)) q->noise = fmax(q->noise, moved / SHAKEN);
    }
    if (l->along || outside) return true;
    put_number(moved_tensor(l, l->by), l->at,
               real_number_at(moved_tensor(l, l->by), l->at) + step);
    if (!try_here(c, &outside)) return false;
    for (size_t i = 0; !outside && i < all->n; i++) {
        double slope = (value_now(c, &all->p[i]) - all->p[i].plus[0]) / step;
        low[i] = fmin(low[i], slope);
        high[i] = fmax(high[i], slope);
    }
    return true;
}

/* Where terms cancel, only rounding error remains, in the claim and in the slopes:
 * shaking all variables shows how large it is. */
static bool shake_all(const MoveLine *l, Suspects *all) {
    enum { PATTERNS = 4 };
    GradCheck *c = l->c;
    Tensor *was = NEW_N(c->t.a, c->d->nwrt, Tensor);
    double *low = mem_alloc(c->s, 2 * all->n * sizeof *low), *high = low + all->n;
    bool ok = true;
    for (size_t i = 0; i < all->n; i++)
        low[i] = (double)INFINITY, high[i] = -(double)INFINITY;
    for (size_t by = 0; ok && by < c->d->nwrt; by++)
        ok = tensor_clone(c->s, moved_tensor(l, by), &was[by]);
    for (int k = 0; ok && k < PATTERNS; k++) {
        for (size_t by = 0; by < c->d->nwrt; by++)
            shake_variable(c, &was[by], moved_tensor(l, by), k);
        ok = sample_shaken(l, all, low, high);
    }
    for (size_t i = 0; i < all->n; i++)
        if (isfinite(high[i] - low[i])) all->p[i].slack += high[i] - low[i];
    for (size_t by = 0; by < c->d->nwrt; by++) {
        if (was[by].data) tensor_assign(moved_tensor(l, by), &was[by]);
        tensor_unref(&was[by]);
    }
    mem_free(low);
    return ok;
}

static bool judge_suspects(const MoveLine *l, Suspects *all) {
    GradCheck *c = l->c;
    double step[DIFFERENCE_STEPS];
    size_t n = choose_steps(l, step);
    move_line_back(l);
    if (!shake_all(l, all) || !sample_slopes(l, n, step, all)) return false;
    for (size_t i = 0; i < all->n; i++) {
        Suspect *q = &all->p[i];
        if (!has_finite(n, q->plus) && !has_finite(n, q->minus)) return at_edge(c, q);
        Samples s = {n,
                     step,
                     q->plus,
                     q->minus,
                     value_here(c, q),
                     fmax(c->p.eps * fabs(value_here(c, q)), q->noise),
                     l->here != 0 ? l->ulp : 0};
        Slope want;
        double slack = q->slack + claim_rounding(c, q) + c->p.normal;
        if (l->along) slack += 4 * c->p.eps * fabs(q->have);
        if (!slope_agrees(&s, q->have, c->p.tolerance, slack, &want))
            return fail_mismatch(c, q, want);
    }
    return true;
}

static bool check_line(MoveLine *l) {
    GradCheck *c = l->c;
    Suspects all = {0};
    for (size_t k = 0; k < c->d->nclaim; k++)
        if (l->along || c->d->claim[k].by == l->by) add_claim(l, &c->d->claim[k], &all);
    bool ok = drop_agreeing_claims(l, &all);
    ok = ok && (all.n == 0 || judge_suspects(l, &all));
    move_line_back(l);
    vec_free(&all);
    return ok;
}

static bool check_number(GradCheck *c, size_t by, int64_t at) {
    MoveLine l = {.c = c, .by = by, .at = at};
    l.here = real_number_at(moved_tensor(&l, by), at);
    l.scale = fmax(fabs(l.here), 1);
    l.ulp = c->p.eps * fabs(l.here);
    if (l.here == 0) l.ulp = 0x1p-80;
    return check_line(&l);
}

/* All variables move one step along their directions. */
static bool check_along(GradCheck *c) {
    MoveLine l = {.c = c, .along = true};
    double x = 1, v = 0;
    bool ok = true;
    l.was = NEW_N(c->t.a, c->d->nwrt, Tensor);
    for (size_t k = 0; ok && k < c->d->nwrt; k++) {
        const Tensor *to = &c->base[output_place(c, c->d->along[k])];
        ok = tensor_clone(c->s, moved_tensor(&l, k), &l.was[k]);
        for (int64_t i = 0, n = ok ? real_numbers(&l.was[k]).shape[0] : 0; i < n; i++) {
            x = fmax(x, fabs(real_number_at(&l.was[k], i)));
            v = fmax(v, fabs(real_number_at(to, i)));
        }
    }
    l.scale = v > 0 ? x / v : 1;
    l.ulp = c->p.eps * l.scale;
    ok = ok && check_line(&l);
    for (size_t k = 0; k < c->d->nwrt; k++)
        tensor_unref(&l.was[k]);
    return ok;
}

/* A derivative has one number for each pair of an element of the differentiated value
 * and an element of the variable. */
static bool is_whole(GradCheck *c, const Claim *k) {
    const Tensor *says = &c->base[output_place(c, k->says)],
                 *of = &c->base[output_place(c, k->of)];
    int64_t n = tensor_size(of);
    if (!c->d->along) n *= tensor_size(&value_of_var(c, c->d->wrt[k->by])->t);
    return n == tensor_size(says) ||
           fail(c->s, NOWHERE, E_VERDICT, "%s has %lld elements, but must have %lld",
                sym_text(c->s, k->name), (long long)tensor_size(says), (long long)n);
}

static bool check_point_finite(GradCheck *c, const Tensor *t) {
    for (int64_t i = 0, n = tensor_size(t); i < n; i++)
        if (!isfinite(part_of(t, i, 0)) || !isfinite(part_of(t, i, 1)))
            return fail(c->s, NOWHERE, E_VALUE,
                        "the function is not finite at this point; give values");
    return true;
}

static bool check_all_numbers(GradCheck *c) {
    c->base = NEW_N(c->t.a, c->want.n, Tensor);
    bool ok = run_contracted(c);
    for (size_t i = 0; ok && i < c->want.n; i++)
        ok = tensor_clone(c->s, &vm_output(c->m, i)->t, &c->base[i]);
    for (size_t k = 0; ok && k < c->d->nclaim; k++)
        ok = check_point_finite(c, &c->base[output_place(c, c->d->claim[k].of)]) &&
             is_whole(c, &c->d->claim[k]);
    for (size_t by = 0; ok && !c->d->along && by < c->d->nwrt; by++)
        for (int64_t i = 0,
                     n = real_numbers(&value_of_var(c, c->d->wrt[by])->t).shape[0];
             ok && i < n; i++)
            ok = check_number(c, by, i);
    if (ok && c->d->along) ok = check_along(c);
    for (size_t i = 0; i < c->want.n; i++)
        tensor_unref(&c->base[i]);
    return ok;
}

/* Moving both parts of a complex number makes sense if the result is real, or if both
 * move along a direction; otherwise one complex derivative does not determine the
 * effect of each part. */
static bool is_number(const GradCheck *c, DType d) {
    if (!dtype_is_complex(d) || c->d->along) return dtype_is_inexact(d);
    for (size_t k = 0; k < c->d->nclaim; k++)
        if (dtype_is_complex(var_type(c->g, c->d->claim[k].of)->dtype)) return false;
    return true;
}

static bool fail_cant_move(GradCheck *c, Var v, bool leaf) {
    const Type *t = var_type(c->g, v);
    const char *name = sym_text(c->s, var_name(c->g, v)), *type = type_str(c->s, t);
    if (!leaf)
        return fail(c->s, NOWHERE, E_USAGE,
                    "--check varies inputs and shared variables: %s is neither", name);
    if (t->kind != TYPE_TENSOR || !dtype_is_complex(t->dtype))
        return fail(c->s, NOWHERE, E_USAGE, "--check varies arrays of floats: %s is %s",
                    name, type);
    return fail(c->s, NOWHERE, E_USAGE,
                "--check varies %s, which is %s, only for derivatives of real values "
                "and for pushforwards",
                name, type);
}

/* Gives every wrt a value to move: contiguous, with a single owner. */
static bool take_own_values(GradCheck *c) {
    for (size_t k = 0; k < c->d->nwrt; k++) {
        Value *v = value_of_var(c, c->d->wrt[k]);
        const Type *t = var_type(c->g, c->d->wrt[k]);
        if (!v || t->kind != TYPE_TENSOR || !is_number(c, t->dtype))
            return fail_cant_move(c, c->d->wrt[k], v != NULL);
        for (size_t i = 0; !v->t.data && i < c->g->shared.n; i++)
            if (c->g->shared.p[i] == c->d->wrt[k]) {
                const Value *now = vm_shared(c->m, i);
                if (!now) return false;
                value_copy_view(v, now);
            }
        Tensor own;
        if (!tensor_clone(c->s, &v->t, &own)) return false;
        tensor_unref(&v->t);
        v->t = own;
    }
    return true;
}

static bool run_point(GradCheck *c, const Values *given, uint64_t seed) {
    PlanOptions how = {.nwant = c->want.n, .want = c->want.p, .no_updates = true};
    Plan *plan = plan_new(c->g, &how);
    if (!plan) return false;
    c->m = vm_new(plan);
    bool ok = trial_new(c->g, given, seed, &c->t);
    ok = ok && take_own_values(c) && check_all_numbers(c);
    trial_free(&c->t);
    vm_free(c->m);
    plan_free(plan);
    return ok;
}

static void widen_precision(GradCheck *c, Var v) {
    const Type *t = var_type(c->g, v);
    if (t->kind != TYPE_TENSOR || !dtype_is_inexact(t->dtype)) return;
    ApplyId a = var_owner(c->g, v);
    Precision p =
        precision_of(t->dtype, a == APPLY_NONE ? 0 : c->g->apply[a].op->digits);
    c->p.step = fmax(c->p.step, p.step);
    c->p.eps = fmax(c->p.eps, p.eps);
    c->p.tolerance = fmax(c->p.tolerance, p.tolerance);
    c->p.normal = fmax(c->p.normal, p.normal);
}

/* Considers everything between the wrt and the differentiated value. */
static void choose_precision(GradCheck *c) {
    const Graph *g = c->g;
    Arena *tmp = arena_new(c->s);
    uint8_t *below = NEW_N(tmp, g->nvar, uint8_t),
            *above = NEW_N(tmp, g->nvar, uint8_t);
    for (size_t k = 0; k < c->d->nwrt; k++) {
        below[c->d->wrt[k]] = 1;
        widen_precision(c, c->d->wrt[k]);
    }
    for (size_t k = 0; k < c->d->nclaim; k++)
        above[c->d->claim[k].of] = 1;
    for (ApplyId a = 0; a < g->napply; a++)
        for (size_t i = 0; i < g->apply[a].nin; i++)
            for (Var k = 0; below[apply_in(g, a)[i]] && k < g->apply[a].nout; k++)
                below[g->apply[a].out + k] = 1;
    graph_spread_needs(g, 0, above);
    for (Var v = 0; v < g->nvar; v++)
        if (above[v] && below[v] && !var_leaf(g, v)) widen_precision(c, v);
    arena_free(tmp);
}

static void choose_values(GradCheck *c) {
    for (size_t k = 0; k < c->d->nclaim; k++) {
        vec_push(c->s, &c->want, c->d->claim[k].says);
        vec_push(c->s, &c->want, c->d->claim[k].of);
    }
    for (size_t k = 0; c->d->along && k < c->d->nwrt; k++)
        vec_push(c->s, &c->want, c->d->along[k]);
}

bool graph_check_grad(Graph *g, const Derive *d, const Values *given, uint64_t seed) {
    Derive how = *d;
    Derived made = {0};
    GradCheck c = {.g = g, .s = g->s, .d = &made};
    how.only = true;
    how.made = &made;
    bool *watch = &services(g->s)->check_derivatives, was = *watch;
    *watch = true;
    bool derived = graph_derive(g, &how);
    *watch = was;
    if (!derived) return false;
    choose_values(&c);
    choose_precision(&c);
    bool ok = true;
    for (uint64_t i = 0; ok && i < 2; i++) /* verify_grad's n_tests */
        ok = run_point(&c, given, seed + i);
    vec_free(&c.want);
    return ok;
}
