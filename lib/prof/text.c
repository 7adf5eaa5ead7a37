/* The report for people: totals, tables, the timeline of memory. */
#include "prof/prof_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_SHOWN = 100, TOP = 20, PEAK_TOP = 10, HIDDEN_BELOW = 1024 };

/* ---- numbers ---- */
/* Three digits and a unit: 1.23, 45.6, 789. */
static void put_three_digits(double v, Str *out) {
    str_printf(out, v < 9.995 ? "%.2f" : v < 99.95 ? "%.1f" : "%.0f", v);
}

void prof_count_text(double v, const char *unit, Str *out) {
    static const char *const scale[] = {"", "k", "M", "G", "T", "P", "E"};
    size_t i = 0;
    while (fabs(v) >= 999.5 && i + 1 < sizeof scale / sizeof *scale)
        v /= 1000, i++;
    if (i == 0 && v == floor(v))
        str_printf(out, "%.0f", v);
    else
        put_three_digits(v, out);
    str_printf(out, "%s%s%s", *unit ? " " : "", scale[i], unit);
}

void profile_time_text(double s, Str *out) {
    static const char *const unit[] = {"s", "ms", "us", "ns"};
    size_t i = 0;
    while (s > 0 && s < 0.9995 && i < 3)
        s *= 1000, i++;
    put_three_digits(s, out);
    str_printf(out, " %s", unit[i]);
}

void amount_text(const Profile *p, const Amount *x, const char *unit, Str *out) {
    if (x->text) {
        str_puts(out, x->text);
        if (*unit) str_printf(out, " %s", unit);
    } else if (x->sym) {
        Amount all = {.sym = poly_add(p->a, x->sym, poly_number(p->a, x->v))};
        poly_text(p->s, all.sym, out);
        if (*unit) str_printf(out, " %s", unit);
    } else if (x->v != 0 || !x->unknown) {
        prof_count_text(x->v, unit, out);
    }
    if (x->unknown) str_puts(out, x->v != 0 || x->sym ? " + ?" : "?");
}

/* Columns are as wide as their widest cell; the last one is not padded. */
enum { COLS = 11 };
typedef struct Table {
    Session *s;
    Arena *a;
    size_t cols;
    Vec(const char *) cell;
} Table;

static void add_cell_text(Table *t, const char *text) {
    vec_push(t->s, &t->cell, arena_str(t->a, text, strlen(text)));
}

static size_t width_of(const char *p) {
    size_t n = 0;
    for (; *p; p++)
        n += (*p & 0xc0) != 0x80;
    return n;
}

static void table_print(Table *t, Str *out) {
    size_t w[COLS] = {0};
    for (size_t i = 0; i < t->cell.n; i++)
        if (width_of(t->cell.p[i]) > w[i % t->cols])
            w[i % t->cols] = width_of(t->cell.p[i]);
    for (size_t i = 0; i < t->cell.n; i++) {
        size_t k = i % t->cols, n = width_of(t->cell.p[i]);
        bool last = k + 1 == t->cols;
        for (size_t pad = n; !last && pad < w[k]; pad++)
            str_putc(out, ' ');
        str_puts(out, t->cell.p[i]);
        str_puts(out, last ? "\n" : "  ");
    }
    vec_free(&t->cell);
}

static void str_cell(Table *t, Str *b) {
    add_cell_text(t, str_text(b));
    str_clear(b);
}

static double percent_of(double part, double all) {
    return all > 0 ? part / all * 100 : 0;
}

/* ---- totals ---- */
static void time_line(const Profile *p, Str *out) {
    const Amount *t = p->total;
    if (!p->has[PF_time_s]) return;
    profile_time_text(t[PF_time_s].v, out);
    str_printf(out, " a call, the median of %.0f (", t[PF_runs].v);
    profile_time_text(t[PF_time_min_s].v, out);
    str_puts(out, " to ");
    profile_time_text(t[PF_time_max_s].v, out);
    str_puts(out, ", mean ");
    profile_time_text(t[PF_time_mean_s].v, out);
    str_puts(out, "); instructions, watched: ");
    profile_time_text(t[PF_steps_time_s].v, out);
    str_puts(out, "\nbefore: ");
    profile_time_text(t[PF_rewrite_time_s].v, out);
    str_puts(out, " rewriting, ");
    profile_time_text(t[PF_plan_time_s].v, out);
    str_puts(out, " planning, ");
    profile_time_text(t[PF_first_time_s].v, out);
    str_puts(out, " in the first call\n");
}

static void put_total_line(const Profile *p, const char *what, ProfileField f,
                           const char *unit, Str *out) {
    if (!p->has[f]) return;
    str_puts(out, what);
    amount_text(p, &p->total[f], unit, out);
}

static void time_or_unknown(double s, Str *out) {
    if (isnan(s))
        str_putc(out, '?');
    else
        profile_time_text(s, out);
}

static void count_or_unknown(double v, const char *unit, Str *out) {
    if (isnan(v))
        str_putc(out, '?');
    else
        prof_count_text(v, unit, out);
}

static void efficiency_cell(Table *t, double part, double all, Str *b) {
    str_printf(b, "%.0f%%", percent_of(part, all));
    str_cell(t, b);
}

/* A line for each power of two up to the ranks that are asked for. */
static void scaling_lines(const Profile *p, Str *out) {
    bool times = p->has[PF_time_s];
    if (!p->ranks) return;
    Table t = {.s = p->s, .a = arena_new(p->s), .cols = times ? 8 : 4};
    static const char *const heads[] = {"ranks",         "messages",  "sent",
                                        "their time",    "same rows", "efficiency",
                                        "rows for each", "efficiency"};
    for (size_t i = 0; i < t.cols; i++)
        add_cell_text(&t, heads[i]);
    Str b = STR(p->s);
    for (unsigned n = 1; n <= p->ranks; n *= 2) {
        Scaled r = ranks_scaled(p, n);
        double one = p->total[PF_time_s].v;
        str_printf(&b, "%u", n);
        str_cell(&t, &b);
        count_or_unknown(r.comm.messages, "", &b);
        str_cell(&t, &b);
        count_or_unknown(r.comm.bytes, "B", &b);
        str_cell(&t, &b);
        time_or_unknown(r.comm.time_s, &b);
        str_cell(&t, &b);
        if (!times) continue;
        time_or_unknown(r.time_s, &b);
        str_cell(&t, &b);
        efficiency_cell(&t, one / n, r.time_s, &b);
        time_or_unknown(r.weak_time_s, &b);
        str_cell(&t, &b);
        efficiency_cell(&t, one, r.weak_time_s, &b);
    }
    table_print(&t, out);
    str_free(&b);
    arena_free(t.a);
}

static void cost_lines(const Profile *p, Str *out) {
    put_total_line(p, "flops: ", PF_flops, "", out);
    put_total_line(p, ", math calls: ", PF_math_calls, "", out);
    put_total_line(p, ", GFLOP/s: ", PF_gflops_per_s, "", out);
    put_total_line(p, "; moved: ", PF_bytes, "B", out);
    put_total_line(p, " (read ", PF_read_bytes, "B", out);
    put_total_line(p, ", written ", PF_written_bytes, "B", out);
    str_puts(out, ")\n");
    put_total_line(p, "peak of memory: planned ", PF_peak_bytes, "B", out);
    put_total_line(p, ", measured ", PF_measured_peak_bytes, "B", out);
    put_total_line(p, " (results ", PF_measured_results_bytes, "B", out);
    put_total_line(p, ", workspace ", PF_measured_workspace_bytes, "B", out);
    put_total_line(p, ", other ", PF_measured_other_bytes, "B)", out);
    put_total_line(p, "; inputs, shared, constants: ", PF_leaves_bytes, "B", out);
    str_putc(out, '\n');
    scaling_lines(p, out);
}

static void print_head(const Profile *p, Str *out) {
    const char *name = sym_text(p->s, p->g->name);
    str_visible(out, *name ? name : "graph", *name ? strlen(name) : 5);
    str_printf(out, ": %.0f applies, %.0f runs of them a call", p->total[PF_applies].v,
               p->total[PF_calls].v);
    for (size_t i = 0; i < p->dims.n; i++)
        str_printf(out, "%s%s=%lld", i ? ", " : "; ", sym_text(p->s, p->dims.p[i].name),
                   (long long)p->dims.p[i].value);
    for (size_t i = 0; i < p->drawn.n; i++)
        str_printf(out, "%s%s",
                   i ? ", " : "\ndrawn at random: ", sym_text(p->s, p->drawn.p[i]));
    str_putc(out, '\n');
    time_line(p, out);
    cost_lines(p, out);
}

/* ---- tables ---- */
typedef struct Sum {
    double all, so_far;
} Sum;

static void percent_cells(Table *t, double part, Sum *sum) {
    char text[32];
    sum->so_far += part;
    snprintf(text, sizeof text, "%.1f%%", percent_of(part, sum->all));
    add_cell_text(t, text);
    snprintf(text, sizeof text, "%.1f%%", percent_of(sum->so_far, sum->all));
    add_cell_text(t, text);
}

static void time_cells(Table *t, const Row *r, Str *b) {
    profile_time_text(r->time_s, b);
    str_cell(t, b);
    profile_time_text(r->calls > 0 ? r->time_s / r->calls : 0, b);
    str_cell(t, b);
}

static void speed_cell(Table *t, const Row *r, Str *b) {
    if (r->flops.v > 0 && r->time_s > 0)
        put_three_digits(r->flops.v / r->time_s / 1e9, b);
    else
        str_putc(b, '-');
    str_cell(t, b);
}

static void name_cell(Table *t, Profile *p, const Row *r, Str *b) {
    const char *name = sym_text(p->s, row_name(p, r));
    size_t n = strlen(name), shown = n > NAME_MAX_SHOWN ? NAME_MAX_SHOWN - 3 : n;
    while (shown < n && shown && (name[shown] & 0xc0) == 0x80)
        shown--;
    str_visible(b, name, shown);
    if (shown < n) str_puts(b, "...");
    str_cell(t, b);
}

static void row_cells(Table *t, Profile *p, const Row *r, Sum *sum) {
    Str b = STR(p->s);
    Amount bytes = row_bytes(p, r);
    percent_cells(t, row_weight(p, r), sum);
    if (!p->is_static) time_cells(t, r, &b);
    prof_count_text(r->calls, "", &b);
    str_cell(t, &b);
    prof_count_text((double)r->applies, "", &b);
    str_cell(t, &b);
    amount_text(p, &r->flops, "", &b);
    str_cell(t, &b);
    if (p->is_static) {
        amount_text(p, &r->math, "", &b);
        str_cell(t, &b);
    } else {
        speed_cell(t, r, &b);
    }
    amount_text(p, &bytes, "B", &b);
    str_cell(t, &b);
    name_cell(t, p, r, &b);
    str_free(&b);
}

static void add_heading(Table *t, const Profile *p, ProfileBy by) {
    static const char *const timed[] = {"% time",   "sum",     "time",
                                        "per call", "calls",   "applies",
                                        "flops",    "GFLOP/s", "moved"},
                             *const counted[] = {"% flops", "sum",   "calls",
                                                 "applies", "flops", "math calls",
                                                 "moved"};
    const char *const *names = p->is_static ? counted : timed;
    t->cols = p->is_static ? 8 : 10;
    for (size_t i = 0; i + 1 < t->cols; i++)
        add_cell_text(t, names[i]);
    add_cell_text(t, by_name(by));
}

static void print_table(Profile *p, const ReportOptions *how, ProfileBy by, Str *out) {
    Rows rows = rows_by(p, by, how->sort);
    size_t top = how->top < 0 ? TOP : (size_t)how->top;
    Arena *a = arena_new(p->s);
    Table t = {.s = p->s, .a = a};
    Sum sum = {0};
    for (size_t i = 0; i < rows.n; i++)
        sum.all += row_weight(p, &rows.p[i]);
    str_putc(out, '\n');
    add_heading(&t, p, by);
    for (size_t i = 0; i < rows.n && i < top; i++)
        row_cells(&t, p, &rows.p[i], &sum);
    table_print(&t, out);
    if (rows.n > top)
        str_printf(out, "... (remaining %zu account for %.1f%% of the %s)\n",
                   rows.n - top, percent_of(sum.all - sum.so_far, sum.all),
                   p->is_static ? "flops" : "time");
    vec_free(&rows);
    arena_free(a);
}

/* ---- memory ---- */
static void memory_row(Profile *p, Table *t, const Timeline *m, const Map *vars,
                       size_t i) {
    Str b = STR(p->s);
    PlanStep st = plan_step(p->plan, i);
    bool unknown;
    uint64_t bytes = step_bytes(p, &st, &unknown);
    str_printf(&b, "%zu", i);
    str_cell(t, &b);
    prof_count_text(m->live[i].bytes, "B", &b);
    str_cell(t, &b);
    prof_count_text((double)bytes, "B", &b);
    if (unknown) str_puts(&b, " + ?");
    str_cell(t, &b);
    step_codes(p, vars, &st, &b);
    str_cell(t, &b);
    Row r = {.g = p->g, .id = st.apply};
    name_cell(t, p, &r, &b);
    str_free(&b);
}

static void print_memory(Profile *p, const ReportOptions *how, Str *out) {
    Arena *a = arena_new(p->s);
    Timeline m = timeline_new(p, a);
    Map vars = plan_var_map(p);
    Table t = {.s = p->s, .a = a, .cols = 5};
    size_t top = how->top < 0 ? SIZE_MAX : (size_t)how->top, shown = 0, hidden = 0;
    put_total_line(p, "\npeak of memory as planned: ", PF_peak_bytes, "B", out);
    put_total_line(p, "; nothing in place: ", PF_peak_no_inplace_bytes, "B", out);
    put_total_line(p, "; nothing reused: ", PF_peak_no_reuse_bytes, "B", out);
    put_total_line(p, "; alive at most: ", PF_least_bytes, "B", out);
    str_printf(out, ", at %u\n", m.peak_at);
    add_cell_text(&t, "at"), add_cell_text(&t, "alive"), add_cell_text(&t, "results"),
        add_cell_text(&t, "civ");
    add_cell_text(&t, "created (c), in place (i), a view (v)");
    for (size_t i = 0; i < m.nstep; i++) {
        PlanStep st = plan_step(p->plan, i);
        bool unknown;
        uint64_t bytes = step_bytes(p, &st, &unknown);
        bool small = bytes < HIDDEN_BELOW && !unknown && m.nstep > TOP;
        if (small || shown >= top)
            hidden++;
        else
            memory_row(p, &t, &m, &vars, i), shown++;
    }
    table_print(&t, out);
    if (hidden)
        str_printf(out, "... (%zu more, small or beyond the rows wanted)\n", hidden);
    map_free(&vars);
    arena_free(a);
}

/* ---- who holds the peak ---- */
static void holder_row(Profile *p, Table *t, const Holder *h, Sum *sum) {
    Str b = STR(p->s);
    ApplyId id = h->var == VAR_NONE ? APPLY_NONE : var_owner(p->g, h->var);
    uint32_t line = id == APPLY_NONE ? 0 : apply_line(p->g, id);
    percent_cells(t, h->bytes, sum);
    prof_count_text(h->bytes, "B", &b);
    str_cell(t, &b);
    if (line)
        str_printf(&b, "%u", line);
    else
        str_putc(&b, '-');
    str_cell(t, &b);
    if (id == APPLY_NONE) {
        Sym name = h->var == VAR_NONE ? h->function : value_name(p, h->var);
        str_printf(&b, "%s%s", h->var == VAR_NONE ? "function " : "",
                   sym_text(p->s, name));
        str_cell(t, &b);
    } else {
        Row r = {.g = p->g, .id = id};
        name_cell(t, p, &r, &b);
    }
    str_free(&b);
}

static void print_holders(Profile *p, const ReportOptions *how, Str *out) {
    static const char *const heading[] = {"% peak", "sum", "bytes", "line",
                                          "held at the peak"};
    Arena *a = arena_new(p->s);
    Timeline m = timeline_new(p, a);
    Holders h = memory_peak_holders(p, &m, a);
    Table t = {.s = p->s, .a = a, .cols = 5};
    Sum sum = {0};
    size_t top = how->top < 0 ? PEAK_TOP : (size_t)how->top;
    for (size_t i = 0; i < h.n; i++)
        sum.all += h.p[i].bytes;
    for (size_t i = 0; i < t.cols; i++)
        add_cell_text(&t, heading[i]);
    for (size_t i = 0; i < h.n && i < top; i++)
        holder_row(p, &t, &h.p[i], &sum);
    if (h.n) str_putc(out, '\n');
    if (h.n)
        table_print(&t, out);
    else
        vec_free(&t.cell);
    if (h.n > top)
        str_printf(out, "... (remaining %zu hold %.1f%%)\n", h.n - top,
                   percent_of(sum.all - sum.so_far, sum.all));
    arena_free(a);
}

/* ---- all ---- */
/* `rows`: those of --memory show such values as ?. */
static void print_footer(const Profile *p, bool rows, Str *out) {
    enum { ROUNDING = 4096 };
    double n, peak;
    if (profile_field_number(p, PF_unknown_flops, &n) && n > 0)
        str_printf(out,
                   "\n? the flops of %.0f runs of Applies are unknown: their op gives "
                   "no count, or a size is not known\n",
                   n);
    if (profile_field_number(p, PF_unknown_sizes, &n) && n > 0 &&
        (rows || !p->total[PF_peak_bytes].text))
        str_printf(out,
                   "\n? %.0f values are in no planned figure of memory, because their "
                   "size is not known%s\n",
                   n, p->is_static ? ": a dim's size may tell it" : "");
    if (p->whole_rows && p->total[PF_peak_bytes].text)
        str_puts(out, "\nblocks of rows take less than the planned peak: it has all "
                      "rows at once while sizes are open\n");
    if (profile_field_number(p, PF_measured_results_bytes, &n) &&
        profile_field_number(p, PF_peak_bytes, &peak) && n - peak >= ROUNDING) {
        str_puts(out, "\n");
        prof_count_text(n - peak, "B", out);
        str_puts(out, " of results are beyond the plan: storage of unknown size (?) is "
                      "taken on demand, and not always shared\n");
    }
}

void report_text(Profile *p, const ReportOptions *how, const Compared *c, Str *out) {
    static const ProfileBy all[] = {BY_CLASS, BY_OP, BY_APPLY};
    print_head(p, out);
    if (c) profile_compare_text(p, c, worse_limit(how), out);
    for (size_t i = 0; !c && how->by == BY_ALL && i < sizeof all / sizeof *all; i++)
        print_table(p, how, all[i], out);
    if (how->by != BY_ALL) print_table(p, how, how->by, out);
    if (how->memory || (!c && how->by == BY_ALL)) print_holders(p, how, out);
    if (how->memory) print_memory(p, how, out);
    print_footer(p, how->memory, out);
}
