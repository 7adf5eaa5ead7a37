/* The public interface of profiles: a machine's calls, measured or estimated, as data.
 */
#include "api/api_impl.h"
#include "tools/gprof/gprof.h"
#include "value/class.h"

struct TlProfile {
    Session *s;
    Profile *p;
    bool is_static;
    int by; /* of the rows; -1: none were asked for yet */
    ProfileCost *row;
    size_t nrow;
    Str text; /* of tl_profile_text */
};

/* ---- dims of a static profile ---- */
static void add_dim(TlMachine *m, Sym name, int64_t value) {
    vec_push(m->g->s, &m->dim, ((DimValue){name, value}));
}

/* Inputs that are set determine the dims in their types. */
static void add_dims_of_inputs(TlMachine *m) {
    for (size_t i = 0; i < m->g->inputs.n; i++) {
        const Type *t = var_type(m->g, m->g->inputs.p[i]);
        const Value *v = vm_input(m->m, i);
        const int64_t *shape = v ? value_sizes(v) : NULL;
        for (int k = 0; shape && k < t->ndim; k++)
            if (dim_is_named(t->dim[k])) add_dim(m, dim_sym(t->dim[k]), shape[k]);
    }
}

static void estimate_profile(TlProfile *p, TlMachine *m) {
    size_t own = m->dim.n;
    add_dims_of_inputs(m);
    p->p = profile_new(m->plan, &m->how, m->dim.n, m->dim.p);
    m->dim.n = own;
    profile_static(p->p);
}

/* ---- measuring ---- */
static bool hold_shared(const TlMachine *m, Value *held) {
    for (size_t i = 0; i < m->g->shared.n; i++) {
        const Value *v = vm_shared(m->m, i);
        if (!v) return false;
        value_copy_view(&held[i], v);
    }
    return true;
}

/* The updates of measured calls are undone. */
static bool measure_profile(TlProfile *p, const TlMachine *m,
                            const MeasuredCalls *calls) {
    Session *s = p->s;
    size_t n = m->g->shared.n;
    Value *held = mem_zalloc(s, n + 1, sizeof *held);
    p->p = profile_new(m->plan, &m->how, m->dim.n, m->dim.p);
    bool ok = hold_shared(m, held) && profile_measure(p->p, m->g, m->m, calls);
    for (size_t i = 0; i < n; i++) {
        if (value_has_data(&held[i])) ok = vm_set_shared(m->m, i, &held[i]) && ok;
        value_unref(&held[i]);
    }
    mem_free(held);
    return ok;
}

TlProfile *tl_machine_profile(TlMachine *m, const TlProfileOptions *how) {
    TlProfileOptions o;
    Session *s = m->g->s;
    if (!api_take(s, "TlProfileOptions", &o, sizeof o, how)) return NULL;
    if (o.warmup < -1 || o.repeat < 0)
        return fail(s, NOWHERE, E_USAGE, "%s can't be %lld",
                    o.repeat < 0 ? "repeat" : "warmup",
                    (long long)(o.repeat < 0 ? o.repeat : o.warmup)),
               NULL;
    MeasuredCalls calls = {o.warmup ? o.warmup + (o.warmup < 0) : 1, o.repeat};
    TlProfile *p = mem_zalloc(s, 1, sizeof *p);
    *p = (TlProfile){.s = s, .is_static = o.is_static, .by = -1, .text = STR(s)};
    bool ok = true;
    if (o.is_static)
        estimate_profile(p, m);
    else
        ok = measure_profile(p, m, &calls);
    if (ok) return profile_finish(p->p), p;
    tl_profile_free(p);
    return NULL;
}

void tl_profile_free(TlProfile *p) {
    if (!p) return;
    profile_free(p->p);
    mem_free(p->row);
    str_free(&p->text);
    mem_free(p);
}

/* ---- results ---- */
bool tl_profile_total(TlProfile *p, const char *name, double *value) {
    return api_given(p->s, "the name", name) && api_given(p->s, "the value", value) &&
           profile_total(p->p, name, value);
}

bool tl_profile_cost(TlProfile *p, const char *by, size_t i, TlCost *cost) {
    int number;
    if (!api_given(p->s, "by", by) ||
        !api_word(p->s, "by", PROFILE_TABLES, by, &number))
        return false;
    if (number != p->by) {
        mem_free(p->row);
        p->row =
            profile_costs(p->p, (ProfileBy)(BY_CLASS + number), SORT_TIME, &p->nrow);
        p->by = number;
    }
    if (i >= p->nrow) return false;
    const ProfileCost *r = &p->row[i];
    TlCost c = {.size = sizeof c,
                .name = r->name,
                .applies = r->applies,
                .calls = r->calls,
                .time_s = r->time_s,
                .flops = r->flops,
                .math_calls = r->math_calls,
                .read_bytes = r->read_bytes,
                .written_bytes = r->written_bytes};
    return api_give(p->s, "TlCost", &c, sizeof c, cost);
}

/* Pictures of speed need a run, and a roofline needs what the machine can do. */
static bool can_report(TlProfile *p, ProfileFormat format) {
    Peaks peaks;
    bool roofline = format == PROFILE_ROOFLINE,
         page = format == PROFILE_PAGE && !p->is_static;
    if (!roofline && !page && format != PROFILE_TRACE) return true;
    if (p->is_static)
        return fail(p->s, NOWHERE, E_USAGE, "a %s needs a run",
                    roofline ? "roofline" : "trace");
    if (!roofline && !page) return true;
    if (!profile_measure_peaks(p->s, 0, &peaks)) return false;
    profile_set_peaks(p->p, &peaks);
    return true;
}

const char *tl_profile_text(TlProfile *p, const char *format) {
    int number;
    if (!api_word(p->s, "format", PROFILE_FORMATS, format, &number)) return NULL;
    ReportOptions how = {.format = (ProfileFormat)number, .top = -1};
    if (!can_report(p, how.format)) return NULL;
    str_clear(&p->text);
    return profile_report(p->p, &how, &p->text) ? str_text(&p->text) : NULL;
}
