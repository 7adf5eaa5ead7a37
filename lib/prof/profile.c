/* The life cycle of a profile, and its totals. */
#include "prof/prof_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    bool measured, worse;
} fields[PF_N] = {
#define FIELD(name, measured, worse, doc) {#name, measured, worse},
#include "prof/fields.def"
#undef FIELD
};

const char *profile_field_name(ProfileField f) {
    return fields[f].name;
}

bool profile_field_is_worse(ProfileField f) {
    return fields[f].worse;
}

Profile *profile_new(const Plan *plan, const PlanOptions *how, size_t ndim,
                     const DimValue *dim) {
    const Graph *g = plan_graph(plan);
    Session *s = g->s;
    Profile *p = mem_zalloc(s, 1, sizeof *p);
    p->s = s;
    p->plan = plan;
    p->how = *how;
    p->g = g;
    p->a = arena_new(s);
    p->tmp = arena_new(s);
    p->costing = (Costing){s, p->a, MAP(s), MAP(s)};
    p->table = p->in_place = p->prefixes = p->printers = p->called_keys = p->loops =
        MAP(s);
    p->bytes = NEW_N(p->a, (size_t)g->nvar + 1, int64_t);
    memset(p->bytes, 0xff, g->nvar * sizeof *p->bytes);
    for (size_t i = 0; i < ndim; i++)
        vec_push(s, &p->dims, dim[i]);
    return p;
}

void profile_free(Profile *p) {
    if (!p) return;
    map_free(&p->costing.parsed);
    map_free(&p->costing.negative);
    map_free(&p->table);
    map_free(&p->printers);
    map_free(&p->in_place);
    map_free(&p->loops);
    vec_free(&p->loop);
    map_free(&p->prefixes);
    map_free(&p->called_keys);
    vec_free(&p->called);
    vec_free(&p->functions);
    vec_free(&p->exchanged);
    vec_free(&p->tables);
    vec_free(&p->dims);
    vec_free(&p->drawn);
    vec_free(&p->frames);
    vec_free(&p->events);
    vec_free(&p->calls);
    vec_free(&p->rows);
    arena_free(p->a);
    arena_free(p->tmp);
    mem_free(p);
}

void profile_drawn(Profile *p, Var input) {
    Sym name = var_name(p->g, input);
    vec_push(p->s, &p->drawn, name);
}

void profile_call(Profile *p, double seconds) {
    vec_push(p->s, &p->calls, seconds);
}

void profile_set(Profile *p, ProfileField f, double v) {
    p->total[f] = (Amount){.v = v};
    p->has[f] = true;
}

void profile_set_peaks(Profile *p, const Peaks *peaks) {
    p->peaks = *peaks;
}

/* ---- totals ---- */
static int compare_seconds(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void total_times(Profile *p) {
    size_t n = p->calls.n;
    double sum = 0, steps = 0;
    if (!n) return;
    qsort(p->calls.p, n, sizeof *p->calls.p, compare_seconds);
    for (size_t i = 0; i < n; i++)
        sum += p->calls.p[i];
    for (size_t i = 0; i < p->rows.n; i++)
        steps += p->rows.p[i].time_s;
    profile_set(p, PF_time_mean_s, sum / (double)n);
    profile_set(p, PF_time_min_s, p->calls.p[0]);
    profile_set(p, PF_time_max_s, p->calls.p[n - 1]);
    profile_set(p, PF_time_s, (p->calls.p[(n - 1) / 2] + p->calls.p[n / 2]) / 2);
    profile_set(p, PF_steps_time_s, steps);
    profile_set(p, PF_runs, (double)n);
}

static void total_costs(Profile *p) {
    Amount *t = p->total;
    double calls = 0;
    for (size_t i = 0; i < p->rows.n; i++) {
        const Row *r = &p->rows.p[i];
        Amount bytes = row_bytes(p, r);
        calls += r->calls;
        amount_sum(p->a, &t[PF_flops], &r->flops);
        amount_sum(p->a, &t[PF_math_calls], &r->math);
        amount_sum(p->a, &t[PF_read_bytes], &r->read);
        amount_sum(p->a, &t[PF_written_bytes], &r->written);
        amount_sum(p->a, &t[PF_bytes], &bytes);
    }
    p->has[PF_flops] = p->has[PF_math_calls] = p->has[PF_bytes] = true;
    p->has[PF_read_bytes] = p->has[PF_written_bytes] = true;
    profile_set(p, PF_applies, (double)p->rows.n);
    profile_set(p, PF_calls, calls);
    profile_set(p, PF_unknown_flops, (double)t[PF_flops].unknown);
    profile_set(p, PF_unknown_bytes, (double)t[PF_bytes].unknown);
    if (p->has[PF_time_s] && t[PF_time_s].v > 0 && !t[PF_flops].sym)
        profile_set(p, PF_gflops_per_s, t[PF_flops].v / t[PF_time_s].v / 1e9);
}

/* Unknown parts are counted, so that nobody takes the rest for the whole. */
static void total_memory(Profile *p) {
    PlanMemory m = plan_memory(p->plan, p->dims.n, p->dims.p, p->bytes),
               f = called_memory(p);
    m.peak += f.peak;
    m.least += f.least;
    m.peak_no_inplace += f.peak_no_inplace;
    m.peak_no_reuse += f.peak_no_reuse;
    m.unknown += f.unknown;
    profile_set(p, PF_peak_bytes, (double)m.peak);
    profile_set(p, PF_peak_no_inplace_bytes, (double)m.peak_no_inplace);
    profile_set(p, PF_peak_no_reuse_bytes, (double)m.peak_no_reuse);
    profile_set(p, PF_least_bytes, (double)m.least);
    profile_set(p, PF_leaves_bytes, (double)m.leaves);
    profile_set(p, PF_unknown_sizes, m.unknown);
    static const ProfileField planned[] = {PF_peak_bytes, PF_peak_no_inplace_bytes,
                                           PF_peak_no_reuse_bytes, PF_least_bytes,
                                           PF_leaves_bytes};
    for (size_t i = 0; i < sizeof planned / sizeof *planned; i++)
        p->total[planned[i]].unknown = m.unknown;
}

/* Where dims are open, the planned figures are polynomials in them. */
static void total_open_memory(Profile *p) {
    static const struct {
        ProfileField field;
        PlanOptions change;
    } row[] = {{PF_peak_bytes, {0}},
               {PF_least_bytes, {0}},
               {PF_peak_no_inplace_bytes, {.no_inplace = true}},
               {PF_peak_no_reuse_bytes, {.no_inplace = true, .no_reuse = true}}};
    if (!p->is_static || !p->total[PF_peak_bytes].unknown) return;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const char *text = peak_text(p, &row[i].change);
        if (text) p->total[row[i].field] = (Amount){.text = text};
    }
    const Poly *leaves = leaves_poly(p);
    if (leaves) p->total[PF_leaves_bytes] = (Amount){.sym = leaves};
}

void profile_finish(Profile *p) {
    rows_make(p);
    total_times(p);
    total_costs(p);
    total_memory(p);
    total_open_memory(p);
    ranks_total(p);
}

/* A sum of flops without its unknown parts is still useful; a peak of memory is not. */
bool profile_field_number(const Profile *p, ProfileField f, double *v) {
    bool planned = f >= PF_peak_bytes && f <= PF_leaves_bytes;
    *v = p->total[f].v;
    return p->has[f] && !p->total[f].sym && !p->total[f].text && !isnan(*v) &&
           !(planned && p->total[f].unknown);
}

/* ---- reports ---- */
static bool report_in_format(Profile *p, const ReportOptions *how, const Compared *with,
                             Str *out) {
    switch (how->format) {
    case PROFILE_TEXT:
        report_text(p, how, with, out);
        break;
    case PROFILE_JSON:
        report_json(p, how, with, out);
        break;
    case PROFILE_TSV:
        report_tsv(p, how, out);
        break;
    case PROFILE_TRACE:
        report_trace(p, out);
        break;
    case PROFILE_FOLDED:
        report_folded(p, out);
        break;
    case PROFILE_SVG:
        report_svg(p, out);
        break;
    case PROFILE_DOT:
        report_dot(p, out);
        break;
    case PROFILE_ROOFLINE:
        report_roofline(p, how, out);
        break;
    case PROFILE_PAGE:
        return report_page(p, how, with, out);
    }
    return true;
}

bool profile_report(Profile *p, const ReportOptions *how, Str *out) {
    Compared c = {0};
    bool ok = !how->compare || profile_compare_read(p->s, how->compare, &c);
    ok = ok && report_in_format(p, how, how->compare ? &c : NULL, out);
    if (ok && how->compare && how->fail_above > 0)
        ok = profile_compare_verdict(p, &c, how->fail_above);
    vec_free(&c.ops);
    vec_free(&c.applies);
    return ok;
}
