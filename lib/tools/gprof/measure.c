/* A graph's profile: prepares what runs, finds the sizes, and either measures calls or
 * estimates from the types. */
#include "base/num.h"
#include "op/bind_input.h"
#include "tools/gprof/gprof.h"
#include "tools/grun/grun_impl.h"
#include "tools/retype.h"
#include "value/class.h"

#include <string.h>

typedef struct Profiling {
    GraphRun r;
    const ProfileSpec *q;
    Profile *p;
    Vec(DimValue) dims;
    double rewrite_s, plan_s;
} Profiling;

/* ---- dims ---- */
/* Dims are numbers from here on, so that the sizes which follow from them are known
 * when the graph is rewritten and planned. */
static bool bind_dims(Profiling *f) {
    for (size_t i = 0; i < f->dims.n; i++)
        if (!graph_bind_dim(f->r.g, f->dims.p[i].name, f->dims.p[i].value))
            return false;
    return !f->dims.n || graph_reinfer(f->r.g);
}

static bool given_dims(Profiling *f) {
    for (size_t i = 0; i < f->r.spec->ndim; i++) {
        DimValue d;
        if (!dim_option(f->r.g, f->r.spec->dim[i], &d.name, &d.value)) return false;
        vec_push(f->r.s, &f->dims, d);
    }
    return bind_dims(f);
}

/* A value's size of a dim; the same dim of an earlier value has the same. */
static bool add_dim(Profiling *f, Map *by, DimValue d, Var input) {
    uint64_t i;
    if (!map_get(by, d.name, &i)) {
        map_put(by, d.name, (uint64_t)f->dims.n << 32 | input);
        vec_push(f->r.s, &f->dims, d);
        return true;
    }
    const DimValue *was = &f->dims.p[i >> 32];
    return was->value == d.value ||
           fail(f->r.s, NOWHERE, E_SHAPE, "the dim %s is %lld by %s and %lld by %s",
                sym_text(f->r.s, d.name), (long long)was->value,
                sym_text(f->r.s, var_name(f->r.g, (Var)i)), (long long)d.value,
                sym_text(f->r.s, var_name(f->r.g, input)));
}

/* Given values determine the dims of their inputs. */
static bool dims_of_values(Profiling *f) {
    Map by = MAP(f->r.s);
    bool ok = true;
    for (size_t i = 0; i < f->r.g->inputs.n; i++) {
        Var input = f->r.g->inputs.p[i];
        const Type *t = var_type(f->r.g, input);
        const Value *v = &f->r.feed[i].value;
        const int64_t *shape = f->r.feed[i].given ? value_sizes(v) : NULL;
        for (int k = 0; ok && shape && k < t->ndim; k++)
            if (dim_is_named(t->dim[k]))
                ok = add_dim(f, &by, (DimValue){dim_sym(t->dim[k]), shape[k]}, input);
    }
    map_free(&by);
    return ok;
}

/* ---- sizes that types leave unknown ---- */
static void drop_plan(Profiling *f) {
    vm_free(f->r.m);
    plan_free(f->r.plan);
    if (f->r.ready != f->r.g) graph_free(f->r.ready);
    f->r.m = NULL;
    f->r.plan = NULL;
    f->r.ready = NULL;
}

/* Does an input or a shared variable have a size that is known by a dim's name only? */
static bool has_open_dims(const Graph *g) {
    for (uint32_t i = 0; i < g->nleaf; i++) {
        const Type *t = var_type(g, g->leaf[i].var);
        for (int k = 0; k < t->ndim; k++)
            if (!var_is_const(g, g->leaf[i].var) && !dim_is_known(t->dim[k]))
                return true;
    }
    return false;
}

/* What can't be found out is left unknown, unless the reason is a lack of memory. */
static bool forgive(Session *s, size_t mark) {
    if (diag_hit_limit(s, mark)) return false;
    diag_rewind(s, mark);
    return true;
}

/* Sizes that no dim names, such as those of concatenated rows, follow from constant
 * folding once the dims are known, also in a graph that was rewritten before. */
static bool derive_sizes(Profiling *f) {
    static const char *const fold[] = {"constant-folding", "lift-shape", "read-shape",
                                       "useless-specify-shape"};
    RewriteOptions how = {.query = {.mode = "NONE", .ninclude = 4, .include = fold}};
    PlanMemory m = plan_memory(f->r.plan, f->dims.n, f->dims.p, NULL);
    if (!m.unknown || (!f->dims.n && has_open_dims(f->r.ready))) return true;
    size_t mark = diag_count(f->r.s);
    Graph *g = rewrite_run(f->r.ready, &how, NULL);
    Plan *p = g ? plan_new(g, &f->r.how) : NULL;
    if (!p) {
        graph_free(g);
        return forgive(f->r.s, mark);
    }
    drop_plan(f);
    f->r.plan = p;
    f->r.ready = g;
    return forgive(f->r.s, mark);
}

/* A dim of a variable, requested as an output of a copy of the graph. */
typedef struct AskedDim {
    Var var;
    int axis;
} AskedDim;
typedef struct AskedDims {
    Graph *g; /* the copy */
    Var *map;
    Vec(AskedDim) what;
} AskedDims;

static void ask_dims(AskedDims *a, Builder *b, Var v, const Type *t) {
    for (int k = 0; t->kind == TYPE_TENSOR && k < t->ndim; k++) {
        if (dim_is_known(t->dim[k]) || a->map[v] == VAR_NONE) continue;
        Var dim = shape_of(b, a->map[v], k);
        if (dim == VAR_NONE) continue;
        Sym label = sym(b->s, arena_printf(session_arena(b->s), "%zu", a->what.n));
        vec_push(b->s, &a->g->outputs, ((Output){label, dim}));
        vec_push(b->s, &a->what, ((AskedDim){v, k}));
    }
}

static void ask_all_dims(AskedDims *a, const Graph *from) {
    a->map = mem_alloc(from->s, from->nvar * sizeof *a->map);
    a->g = graph_copy(from, ROOTS_RUN, NULL, false, a->map);
    a->g->outputs.n = a->g->updates.n = a->g->effects.n = 0;
    graph_outputs_changed(a->g);
    graph_updates_changed(a->g);
    Builder b = builder(a->g, true);
    for (ApplyId id = 0; id < from->napply; id++)
        for (Var k = 0; k < from->apply[id].nout; k++) {
            Var v = from->apply[id].out + k;
            ask_dims(a, &b, v, var_type(from, v));
        }
}

/* Bytes of v, whose unknown dims are given by the outputs from *i on; -1: they are
 * not. */
static int64_t known_bytes(const AskedDims *a, const Graph *shapes, const Type *t,
                           size_t *i) {
    Var v = a->what.p[*i].var;
    int64_t n = (int64_t)dtype_size(t->dtype), size;
    for (int k = 0; k < t->ndim; k++) {
        size = t->dim[k];
        if (*i < a->what.n && a->what.p[*i].var == v && a->what.p[*i].axis == k) {
            const Tensor *c = var_const(shapes, shapes->outputs.p[(*i)++].var);
            size = c ? tensor_i64(c, 0) : -1;
        }
        if (n >= 0 && (size < 0 || !i64_mul(n, size, &n))) n = -1;
    }
    return n;
}

/* Derives sizes from the ops' shape formulas where types leave them unknown. */
static bool derive_shapes(Profiling *f) {
    static const char *const lift[] = {"lift-shape", "read-shape", "constant-folding"};
    RewriteOptions how = {.query = {.mode = "NONE", .ninclude = 3, .include = lift}};
    const Graph *g = f->r.ready;
    if (!plan_memory(f->r.plan, f->dims.n, f->dims.p, NULL).unknown) return true;
    size_t mark = diag_count(g->s);
    AskedDims a = {0};
    ask_all_dims(&a, g);
    bool asked = a.what.n && !diag_hit_limit(g->s, mark);
    Graph *shapes = asked ? rewrite_run(a.g, &how, NULL) : NULL;
    for (size_t i = 0; shapes && i < a.what.n;) {
        Var v = a.what.p[i].var;
        int64_t n = known_bytes(&a, shapes, var_type(g, v), &i);
        if (n >= 0) profile_size(f->p, v, n);
    }
    graph_free(shapes);
    graph_free(a.g);
    mem_free(a.map);
    vec_free(&a.what);
    return forgive(g->s, mark);
}

/* ---- measuring ---- */
static bool measure_calls(Profiling *f) {
    if (!grun_values(&f->r)) return false;
    for (size_t i = 0; i < f->r.ready->inputs.n; i++)
        if (f->r.feed[i].drawn) profile_drawn(f->p, f->r.ready->inputs.p[i]);
    return profile_measure(f->p, f->r.ready, f->r.m, &f->q->calls);
}

/* ---- all ---- */
static bool prepare_plan(Profiling *f) {
    double start = clock_seconds();
    if (!grun_ready(&f->r)) return false;
    double ready = clock_seconds();
    if (!grun_plan(&f->r)) return false;
    f->rewrite_s = ready - start;
    f->plan_s = clock_seconds() - ready;
    return true;
}

/* Values are read into a machine, and tell dims of a graph that is then planned anew.
 */
static bool plan_for_values(Profiling *f) {
    size_t given = f->dims.n;
    if (!grun_given(&f->r)) return false;
    if (!dims_of_values(f)) return false;
    if (f->dims.n == given) return true;
    drop_plan(f);
    return bind_dims(f) && prepare_plan(f);
}

static bool measure_peaks(Profiling *f) {
    Peaks peaks;
    ProfileFormat how = f->q->report.format;
    if (how != PROFILE_ROOFLINE && how != PROFILE_PAGE) return true;
    if (!profile_measure_peaks(f->r.s, f->q->run.threads, &peaks)) return false;
    profile_set_peaks(f->p, &peaks);
    return true;
}

static bool collect_profile(Profiling *f) {
    if (f->q->is_static && !plan_for_values(f)) return false;
    if (f->q->is_static && !derive_sizes(f)) return false;
    f->p = profile_new(f->r.plan, &f->r.how, f->dims.n, f->dims.p);
    if (f->q->ranks) profile_set_ranks(f->p, f->q->ranks, f->q->link[0], f->q->link[1]);
    profile_set(f->p, PF_rewrite_time_s, f->rewrite_s);
    profile_set(f->p, PF_plan_time_s, f->plan_s);
    if (f->q->is_static) {
        if (!derive_shapes(f)) return false;
        profile_static(f->p);
    } else if (!measure_calls(f) || !measure_peaks(f)) {
        return false;
    }
    profile_finish(f->p);
    return true;
}

/* The input that "pos=7" sets: an integer without dims; VAR_NONE: it means a dim. */
static Var find_scalar_input(const Graph *g, Span text) {
    const char *p = source_get(g->s, text.source)->text + text.begin,
               *eq = memchr(p, '=', text.end - text.begin);
    Sym name = eq ? sym_find(g->s, p, (size_t)(eq - p)) : 0;
    if (!name || graph_has_dim(g, name)) return VAR_NONE;
    for (size_t i = 0; i < g->inputs.n; i++) {
        const Type *t = var_type(g, g->inputs.p[i]);
        bool scalar = t->kind == TYPE_TENSOR && t->ndim == 0 &&
                      dtype_is_discrete(t->dtype) && t->dtype != DT_BOOL;
        if (scalar && var_name(g, g->inputs.p[i]) == name) return g->inputs.p[i];
    }
    return VAR_NONE;
}

static bool bind_scalar(Graph *g, Var input, Span text) {
    const char *p = source_get(g->s, text.source)->text + text.begin,
               *eq = strchr(p, '=');
    uint64_t n;
    bool overflow = false;
    size_t len = num_read_uint(eq + 1, strlen(eq + 1), &n, &overflow);
    if (len && !eq[1 + len] && !overflow && n <= INT64_MAX)
        return graph_bind_input(g, input, (int64_t)n);
    return fail(g->s, text, E_USAGE, "--dim takes NAME=SIZE, as in --dim n=128");
}

/* Sizes may depend on numbers that are inputs: x[:pos + 1]. These become constants;
 * `to` has the dims that are left. */
static bool bind_scalars(Graph *g, const ProfileSpec *q, ProfileSpec *to) {
    Span *rest = NEW_N(session_arena(g->s), q->run.ndim, Span);
    *to = *q;
    to->run.dim = rest;
    to->run.ndim = 0;
    for (size_t i = 0; i < q->run.ndim; i++) {
        Var input = find_scalar_input(g, q->run.dim[i]);
        if (input == VAR_NONE)
            rest[to->run.ndim++] = q->run.dim[i];
        else if (!bind_scalar(g, input, q->run.dim[i]))
            return false;
    }
    return to->run.ndim == q->run.ndim || graph_reinfer(g);
}

/* Makes a static profile of g or a measured one, for `use`. */
static bool with_profile(Graph *g, const ProfileSpec *spec,
                         bool (*use)(Profile *p, void *ctx), void *ctx) {
    ProfileSpec q;
    if (!bind_scalars(g, spec, &q)) return false;
    Profiling f = {.q = &q};
    grun_begin(&f.r, g, &q.run);
    bool ok =
        given_dims(&f) && prepare_plan(&f) && collect_profile(&f) && use(f.p, ctx);
    profile_free(f.p);
    vec_free(&f.dims);
    grun_end(&f.r);
    return ok;
}

typedef struct Reporting {
    const ProfileSpec *q;
    Str *out;
} Reporting;

static bool report_profile(Profile *p, void *ctx) {
    const Reporting *r = ctx;
    bool ok = profile_report(p, &r->q->report, r->out);
    for (size_t i = 0; i < r->q->nassert; i++)
        ok = profile_assert(p, r->q->assertion[i]) && ok;
    return ok;
}

bool graph_profile(Graph *g, const ProfileSpec *q, Str *out) {
    for (size_t i = 0; i < q->nassert; i++)
        if (!profile_assert_check(g->s, q->assertion[i])) return false;
    return with_profile(g, q, report_profile, &(Reporting){q, out});
}

typedef struct Asking {
    Span formula;
    bool *yes;
} Asking;

static bool ask_profile(Profile *p, void *ctx) {
    const Asking *a = ctx;
    return profile_holds(p, a->formula, a->yes);
}

bool graph_profile_holds(Graph *g, const ProfileSpec *q, Span formula, bool *yes) {
    return with_profile(g, q, ask_profile, &(Asking){formula, yes});
}

typedef struct Totals {
    size_t n;
    const char *const *field;
    double *v;
} Totals;

static bool take_totals(Profile *p, void *ctx) {
    const Totals *t = ctx;
    for (size_t i = 0; i < t->n; i++)
        if (!profile_total(p, t->field[i], &t->v[i])) return false;
    return true;
}

bool graph_profile_totals(Graph *g, const ProfileSpec *q, size_t n,
                          const char *const *field, double *v) {
    return with_profile(g, q, take_totals, &(Totals){n, field, v});
}
