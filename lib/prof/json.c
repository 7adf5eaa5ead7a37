/* The report for programs: JSON (schemas/profile.schema.json) and TSV. Field names
 * include units; an unknown value is null, one that depends on dims is text such as
 * "1280*n". */
#include "prof/prof_impl.h"

#include <math.h>
#include <string.h>

void number_json(double v, Str *out) {
    char buf[NUM_MAX];
    if (!isfinite(v))
        str_puts(out, "null");
    else if (v == floor(v) && fabs(v) < 0x1p53)
        str_add(out, buf, num_write_int(buf, (int64_t)v));
    else
        str_add(out, buf, num_write_float(buf, v, FLOAT64));
}

static void put_symbols(const Profile *p, const Amount *x, Str *out) {
    poly_text(p->s, poly_add(p->a, x->sym, poly_number(p->a, x->v)), out);
}

/* The known part; null if there is none. */
void amount_json(const Profile *p, const Amount *x, Str *out) {
    if (x->sym) {
        str_putc(out, '"');
        put_symbols(p, x, out);
        str_putc(out, '"');
    } else if (x->unknown && x->v == 0) {
        str_puts(out, "null");
    } else {
        number_json(x->v, out);
    }
}

static void put_quoted_sym(Session *s, Sym y, Str *out) {
    const char *text = sym_text(s, y);
    str_json(out, text, strlen(text));
}

static void put_total(const Profile *p, Str *out) {
    bool any = false;
    str_puts(out, "  \"total\": {");
    for (int f = 0; f < PF_N; f++) {
        double v;
        if (!p->has[f]) continue;
        str_printf(out, "%s\n    \"%s\": ", any ? "," : "",
                   profile_field_name((ProfileField)f));
        if (p->total[f].sym || profile_field_number(p, (ProfileField)f, &v))
            amount_json(p, &p->total[f], out);
        else
            str_puts(out, "null");
        any = true;
    }
    str_puts(out, "\n  }");
}

static void put_amount_field(const Profile *p, const char *name, const Amount *x,
                             Str *out) {
    str_printf(out, ", \"%s\": ", name);
    amount_json(p, x, out);
}

static void put_profile_row(Profile *p, const Row *r, Str *out) {
    Amount bytes = row_bytes(p, r);
    str_puts(out, "    {\"name\": ");
    put_quoted_sym(p->s, row_name(p, r), out);
    if (r->id != APPLY_NONE) {
        str_printf(out, ", \"apply\": %u, \"function\": ", r->id);
        if (r->g == p->g)
            str_puts(out, "null");
        else
            put_quoted_sym(p->s, r->g->name, out);
        str_puts(out, ", \"class\": ");
        put_quoted_sym(p->s, r->cls, out);
        str_puts(out, ", \"op\": ");
        put_quoted_sym(p->s, r->op, out);
        str_puts(out, ", \"rule\": ");
        put_quoted_sym(p->s, r->rule, out);
    }
    if (!p->is_static) {
        str_puts(out, ", \"time_s\": ");
        number_json(r->time_s, out);
    }
    str_puts(out, ", \"calls\": ");
    number_json(r->calls, out);
    str_printf(out, ", \"applies\": %llu", (unsigned long long)r->applies);
    put_amount_field(p, "flops", &r->flops, out);
    put_amount_field(p, "math_calls", &r->math, out);
    put_amount_field(p, "read_bytes", &r->read, out);
    put_amount_field(p, "written_bytes", &r->written, out);
    put_amount_field(p, "bytes", &bytes, out);
    if (!p->is_static) {
        str_puts(out, ", \"gflops_per_s\": ");
        number_json(r->time_s > 0 ? r->flops.v / r->time_s / 1e9 : 0, out);
    }
    str_putc(out, '}');
}

static void put_table(Profile *p, const ReportOptions *how, ProfileBy by, Str *out) {
    Rows rows = rows_by(p, by, how->sort);
    str_printf(out, ",\n  \"%s\": [", by_name(by));
    for (size_t i = 0; i < rows.n && (how->top < 0 || (int64_t)i < how->top); i++) {
        str_puts(out, i ? ",\n" : "\n");
        put_profile_row(p, &rows.p[i], out);
    }
    str_puts(out, rows.n ? "\n  ]" : "]");
    vec_free(&rows);
}

static void put_timeline(Profile *p, Str *out) {
    Arena *a = arena_new(p->s);
    Timeline m = timeline_new(p, a);
    Map vars = plan_var_map(p);
    str_puts(out, ",\n  \"memory\": [");
    for (size_t i = 0; i < m.nstep; i++) {
        PlanStep st = plan_step(p->plan, i);
        Row r = {.g = p->g, .id = st.apply};
        bool unknown;
        uint64_t bytes = step_bytes(p, &st, &unknown);
        str_printf(out, "%s\n    {\"at\": %zu, \"apply\": %u, \"name\": ", i ? "," : "",
                   i, st.apply);
        put_quoted_sym(p->s, row_name(p, &r), out);
        str_puts(out, ", \"live_bytes\": ");
        number_json(m.live[i].bytes, out);
        str_puts(out, ", \"result_bytes\": ");
        number_json(unknown ? (double)NAN : (double)bytes, out);
        str_puts(out, ", \"how\": \"");
        step_codes(p, &vars, &st, out);
        str_puts(out, "\"}");
    }
    str_puts(out, m.nstep ? "\n  ]" : "]");
    map_free(&vars);
    arena_free(a);
}

static void put_dims(const Profile *p, Str *out) {
    str_puts(out, ",\n  \"dims\": {");
    for (size_t i = 0; i < p->dims.n; i++) {
        str_puts(out, i ? ", " : "");
        put_quoted_sym(p->s, p->dims.p[i].name, out);
        str_printf(out, ": %lld", (long long)p->dims.p[i].value);
    }
    str_puts(out, "},\n");
}

void report_json(Profile *p, const ReportOptions *how, const Compared *c, Str *out) {
    static const ProfileBy all[] = {BY_CLASS, BY_OP, BY_APPLY, BY_RULE};
    str_puts(out, "{\n  \"profile\": 1,\n  \"graph\": ");
    put_quoted_sym(p->s, p->g->name, out);
    str_printf(out, ",\n  \"static\": %s", p->is_static ? "true" : "false");
    put_dims(p, out);
    put_total(p, out);
    for (size_t i = 0; how->by == BY_ALL && i < sizeof all / sizeof *all; i++)
        put_table(p, how, all[i], out);
    if (how->by != BY_ALL) put_table(p, how, how->by, out);
    if (how->memory) put_timeline(p, out);
    if (c) profile_compare_json(p, c, out);
    str_puts(out, "\n}\n");
}

/* ---- TSV ---- */
static void tsv_amount(const Profile *p, const Amount *x, Str *out) {
    str_putc(out, '\t');
    if (x->sym)
        put_symbols(p, x, out);
    else if (x->unknown && x->v == 0)
        str_putc(out, '?');
    else
        number_json(x->v, out);
}

void report_tsv(Profile *p, const ReportOptions *how, Str *out) {
    ProfileBy by = how->by == BY_ALL ? BY_APPLY : how->by;
    Rows rows = rows_by(p, by, how->sort);
    str_printf(out,
               "%s\t%scalls\tapplies\tflops\tmath_calls\tread_bytes\twritten_bytes\n",
               by_name(by), p->is_static ? "" : "time_s\t");
    for (size_t i = 0; i < rows.n && (how->top < 0 || (int64_t)i < how->top); i++) {
        const Row *r = &rows.p[i];
        const char *name = sym_text(p->s, row_name(p, r));
        str_visible(out, name, strlen(name));
        str_putc(out, '\t');
        if (!p->is_static) number_json(r->time_s, out), str_putc(out, '\t');
        number_json(r->calls, out);
        str_printf(out, "\t%llu", (unsigned long long)r->applies);
        tsv_amount(p, &r->flops, out);
        tsv_amount(p, &r->math, out);
        tsv_amount(p, &r->read, out);
        tsv_amount(p, &r->written, out);
        str_putc(out, '\n');
    }
    vec_free(&rows);
}
