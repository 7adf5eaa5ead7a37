/* The report for programs: JSON (schemas/profile.schema.json) and TSV. Field names
 * include units; an unknown value is null, one that depends on dims is text such as
 * "1280*n". */
#include "prof/prof_impl.h"

#include <math.h>
#include <string.h>

static void put_symbols(const Profile *p, const Amount *x, Str *out) {
    poly_text(p->s, poly_add(p->a, x->sym, poly_number(p->a, x->v)), out);
}

/* The known part; null if there is none. */
static void put_amount(const Profile *p, const char *name, const Amount *x,
                       JsonWriter *w) {
    json_put_key(w, name);
    if (x->text) {
        json_put(w, x->text);
    } else if (x->sym) {
        Str text = STR(p->s);
        put_symbols(p, x, &text);
        json_put(w, str_text(&text));
        str_free(&text);
    } else {
        json_put_number(w, x->unknown && x->v == 0 ? (double)NAN : x->v);
    }
}

static void put_sym(const Profile *p, const char *name, Sym y, JsonWriter *w) {
    json_member(w, name, sym_text(p->s, y));
}

static void put_total(const Profile *p, JsonWriter *w) {
    static const Amount nothing = {.unknown = true};
    json_line(w, "  ");
    json_put_key(w, "total");
    json_open(w, '{');
    for (int f = 0; f < PF_N; f++) {
        double v;
        if (!p->has[f]) continue;
        bool known = p->total[f].sym || p->total[f].text ||
                     profile_field_number(p, (ProfileField)f, &v);
        json_line(w, "    ");
        put_amount(p, profile_field_name((ProfileField)f),
                   known ? &p->total[f] : &nothing, w);
    }
    json_close(w, "\n  }");
}

static void put_profile_row(Profile *p, const Row *r, JsonWriter *w) {
    Amount bytes = row_bytes(p, r);
    json_line(w, "    ");
    json_open(w, '{');
    put_sym(p, "name", row_name(p, r), w);
    if (r->id != APPLY_NONE) {
        json_member_number(w, "apply", r->id);
        json_put_key(w, "function");
        if (r->g == p->g)
            json_put_word(w, "null");
        else
            json_put(w, sym_text(p->s, r->g->name));
        put_sym(p, "class", r->cls, w);
        put_sym(p, "op", r->op, w);
        put_sym(p, "rule", r->rule, w);
    }
    if (!p->is_static) json_member_number(w, "time_s", r->time_s);
    json_member_number(w, "calls", r->calls);
    json_member_number(w, "applies", (double)r->applies);
    put_amount(p, "flops", &r->flops, w);
    put_amount(p, "math_calls", &r->math, w);
    put_amount(p, "read_bytes", &r->read, w);
    put_amount(p, "written_bytes", &r->written, w);
    put_amount(p, "bytes", &bytes, w);
    if (!p->is_static)
        json_member_number(w, "gflops_per_s",
                           r->time_s > 0 ? r->flops.v / r->time_s / 1e9 : 0);
    json_close(w, "}");
}

static void put_table(Profile *p, const ReportOptions *how, ProfileBy by,
                      JsonWriter *w) {
    Rows rows = rows_by(p, by, how->sort);
    json_line(w, "  ");
    json_put_key(w, by_name(by));
    json_open(w, '[');
    for (size_t i = 0; i < rows.n && (how->top < 0 || (int64_t)i < how->top); i++)
        put_profile_row(p, &rows.p[i], w);
    json_close(w, rows.n ? "\n  ]" : "]");
    vec_free(&rows);
}

static void put_timeline(Profile *p, JsonWriter *w) {
    Arena *a = arena_new(p->s);
    Timeline m = timeline_new(p, a);
    Map vars = plan_var_map(p);
    Str codes = STR(p->s);
    json_line(w, "  ");
    json_put_key(w, "memory");
    json_open(w, '[');
    for (size_t i = 0; i < m.nstep; i++) {
        PlanStep st = plan_step(p->plan, i);
        Row r = {.g = p->g, .id = st.apply};
        bool unknown;
        uint64_t bytes = step_bytes(p, &st, &unknown);
        json_line(w, "    ");
        json_open(w, '{');
        json_member_number(w, "at", (double)i);
        json_member_number(w, "apply", st.apply);
        put_sym(p, "name", row_name(p, &r), w);
        json_member_number(w, "live_bytes", m.live[i].bytes);
        json_member_number(w, "result_bytes", unknown ? (double)NAN : (double)bytes);
        str_clear(&codes);
        step_codes(p, &vars, &st, &codes);
        json_member(w, "how", str_text(&codes));
        json_close(w, "}");
    }
    json_close(w, m.nstep ? "\n  ]" : "]");
    str_free(&codes);
    map_free(&vars);
    arena_free(a);
}

static void put_holders(Profile *p, JsonWriter *w) {
    Arena *a = arena_new(p->s);
    Timeline m = timeline_new(p, a);
    Holders h = memory_peak_holders(p, &m, a);
    json_line(w, "  ");
    json_put_key(w, "at_peak");
    json_open(w, '[');
    for (size_t i = 0; i < h.n; i++) {
        Var v = h.p[i].var;
        ApplyId id = v == VAR_NONE ? APPLY_NONE : var_owner(p->g, v);
        uint32_t line = id == APPLY_NONE ? 0 : apply_line(p->g, id);
        json_line(w, "    ");
        json_open(w, '{');
        put_sym(p, "name", v == VAR_NONE ? h.p[i].function : value_name(p, v), w);
        json_member_number(w, "bytes", h.p[i].bytes);
        if (id == APPLY_NONE)
            json_member(w, "op", v == VAR_NONE ? "function" : "leaf");
        else
            put_sym(p, "op", op_name_of(p, p->g, id), w);
        json_member_number(w, "line", line ? (double)line : (double)NAN);
        json_close(w, "}");
    }
    json_close(w, h.n ? "\n  ]" : "]");
    arena_free(a);
}

static void put_dims(const Profile *p, JsonWriter *w) {
    json_line(w, "  ");
    json_put_key(w, "dims");
    json_open(w, '{');
    for (size_t i = 0; i < p->dims.n; i++) {
        json_put_key(w, sym_text(p->s, p->dims.p[i].name));
        json_put_int(w, p->dims.p[i].value);
    }
    json_close(w, "}");
}

static void put_drawn(const Profile *p, JsonWriter *w) {
    json_line(w, "  ");
    json_put_key(w, "drawn");
    json_open(w, '[');
    for (size_t i = 0; i < p->drawn.n; i++)
        json_put(w, sym_text(p->s, p->drawn.p[i]));
    json_close(w, "]");
}

/* Powers of two up to the ranks that are asked for. */
static void put_scaling(const Profile *p, JsonWriter *w) {
    json_line(w, "  ");
    json_put_key(w, "scaling");
    json_open(w, '[');
    for (unsigned n = 1; n <= p->ranks; n *= 2) {
        Scaled r = ranks_scaled(p, n);
        json_line(w, "    ");
        json_open(w, '{');
        json_member_number(w, "ranks", n);
        json_member_number(w, "comm_bytes", r.comm.bytes);
        json_member_number(w, "comm_messages", r.comm.messages);
        json_member_number(w, "comm_time_s", r.comm.time_s);
        if (!p->is_static) {
            json_member_number(w, "ranks_time_s", r.time_s);
            json_member_number(w, "weak_time_s", r.weak_time_s);
        }
        json_close(w, "}");
    }
    json_close(w, "\n  ]");
}

void report_put_setting(const Profile *p, JsonWriter *w) {
    put_dims(p, w);
    if (p->drawn.n) put_drawn(p, w);
    put_total(p, w);
    if (p->ranks) put_scaling(p, w);
}

void report_json(Profile *p, const ReportOptions *how, const Compared *c, Str *out) {
    static const ProfileBy all[] = {BY_CLASS, BY_OP, BY_APPLY, BY_RULE};
    JsonWriter w = {.out = out};
    json_open(&w, '{');
    json_line(&w, "  ");
    json_member_number(&w, "profile", 1);
    json_line(&w, "  ");
    put_sym(p, "graph", p->g->name, &w);
    json_line(&w, "  ");
    json_put_key(&w, "static");
    json_put_word(&w, p->is_static ? "true" : "false");
    report_put_setting(p, &w);
    for (size_t i = 0; how->by == BY_ALL && i < sizeof all / sizeof *all; i++)
        put_table(p, how, all[i], &w);
    if (how->by != BY_ALL) put_table(p, how, how->by, &w);
    put_holders(p, &w);
    if (how->memory) put_timeline(p, &w);
    if (c) profile_compare_json(p, c, worse_limit(how), &w);
    json_close(&w, "\n}\n");
}

/* ---- TSV ---- */
static void tsv_amount(const Profile *p, const Amount *x, Str *out) {
    str_putc(out, '\t');
    if (x->sym)
        put_symbols(p, x, out);
    else if (x->unknown && x->v == 0)
        str_putc(out, '?');
    else
        json_number(x->v, out);
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
        if (!p->is_static) json_number(r->time_s, out), str_putc(out, '\t');
        json_number(r->calls, out);
        str_printf(out, "\t%llu", (unsigned long long)r->applies);
        tsv_amount(p, &r->flops, out);
        tsv_amount(p, &r->math, out);
        tsv_amount(p, &r->read, out);
        tsv_amount(p, &r->written, out);
        str_putc(out, '\n');
    }
    vec_free(&rows);
}
