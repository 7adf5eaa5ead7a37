/* gprof: where a graph's time, flops and memory go. */
#include "tools/gprof/gprof.h"

#include "cli/cli.h"
#include "os/file.h"

#include <string.h>

typedef struct Gprof {
    Common common;
    Texts dim, assertion;
    int mode, by, sort;
    int64_t repeat, warmup, top, threads, seed;
    int64_t ranks;
    const char *outputs, *compare, *link;
    double fail_above;
    bool is_static, ulp, no_updates, memory, no_gc;
    const char *pack, *solve;
    uint64_t capacity;
} Gprof;
#define AT(field) offsetof(Gprof, field)

static const Opt options[] = {
    {"static", 0, OPT_FLAG, AT(is_static), NULL,
     "Run nothing; compute flops, bytes and the planned peak of memory from the types. "
     "Both branches of an ifelse count, and all steps of a loop that may end early.",
     NULL, GROUP_WORK},
    {"ulp", 0, OPT_FLAG, AT(ulp), NULL,
     "Print the rounding errors of results instead: each op's own and what it inherits "
     "from its inputs, in units in the last place, against the same graph in a wider "
     "dtype. A graph of float64 alone is run in float32.",
     NULL, GROUP_WORK},
    {"solve", 0, OPT_STR, AT(solve), "NAME: FORMULA",
     "Print the largest size of the dim NAME for which FORMULA holds with --static, "
     "such as 'n: peak_bytes <= 16 GB'.",
     NULL, GROUP_WORK},
    {"pack", 0, OPT_FILE, AT(pack), "FILE",
     "Read no graph, but a table of buffers with the columns id, lower, upper and size "
     "(CSV), and give each an offset so that they take little memory.",
     NULL, GROUP_WORK},
    {"capacity", 0, OPT_SIZE, AT(capacity), "SIZE",
     "With --pack: as little as this is enough; exit 1 if they take more.", NULL,
     GROUP_WORK},
    {"dim", 0, OPT_LIST, AT(dim), "NAME=SIZE",
     "Replace a named dim, or an input that is an integer, by a number. With --static, "
     "dims that are not set stay "
     "symbols; without, inputs whose sizes are then known and that have no value are "
     "drawn at random.",
     NULL, GROUP_INPUT},
    {"seed", 0, OPT_INT, AT(seed), "N", "Seed for the random inputs (default 0).", NULL,
     GROUP_INPUT},
    {"outputs", 0, OPT_NAMES, AT(outputs), "NAMES",
     "Compute these variables or trees instead of the graph's outputs.", "graph",
     GROUP_WORK},
    {"no-updates", 0, OPT_FLAG, AT(no_updates), NULL,
     "Leave the shared variables as they are, and the inputs that only their updates "
     "need.",
     NULL, GROUP_WORK},
    {"mode", 0, OPT_ENUM, AT(mode),
     "unset|FAST_RUN|FAST_COMPILE|~DEBUG|~NAN_GUARD|~MONITOR",
     "How to rewrite the graph first (default FAST_RUN if it was not rewritten yet).",
     NULL, GROUP_WORK},
    {"warmup", 0, OPT_INT, AT(warmup), "N",
     "Number of calls before the measured ones (default 1).", NULL, GROUP_WORK},
    {"repeat", 0, OPT_INT, AT(repeat), "N",
     "Number of calls to measure, and then to observe (default: until 0.2 s or 10 "
     "calls).",
     NULL, GROUP_WORK},
    {"threads", 0, OPT_INT, AT(threads), "N", "Number of threads (default: all cores).",
     NULL, GROUP_WORK},
    {"no-gc", 0, OPT_FLAG, AT(no_gc), NULL,
     "Keep the storage of every value until the end of a call.", NULL, GROUP_WORK},
    {"ranks", 0, OPT_INT, AT(ranks), "R",
     "Predict what R ranks, a power of two, exchange in a call, and with a run how "
     "long "
     "a call takes.",
     NULL, GROUP_WORK},
    {"link", 0, OPT_STR, AT(link), "SPEED",
     "With --ranks: bytes a second between two ranks, and after a comma the latency of "
     "a message (default 10GB,5us).",
     NULL, GROUP_WORK},
    {"by", 0, OPT_ENUM, AT(by), PROFILE_BY,
     "Print only one table: by family of ops, by op, by Apply, by the rewrite rule "
     "that created the Apply, by function, by prefix of names (layer1 of layer1_h), or "
     "by line of the file.",
     NULL, GROUP_OUTPUT},
    {"sort", 0, OPT_ENUM, AT(sort), "time|flops|bytes|calls|name",
     "Sort the tables by this; with --static, time means flops.", NULL, GROUP_OUTPUT},
    {"top", 0, OPT_INT, AT(top), "N",
     "Number of rows of a table (default: 20 in text, otherwise all).", NULL,
     GROUP_OUTPUT},
    {"memory", 0, OPT_FLAG, AT(memory), NULL,
     "Print live memory by instruction, and whether each result is created (c), in "
     "place "
     "(i) or a view (v).",
     NULL, GROUP_OUTPUT},
    {"assert", 0, OPT_LIST, AT(assertion), "FORMULA",
     "Exit 1 unless FORMULA holds for the totals, such as 'peak_bytes < 10e6'.", NULL,
     GROUP_OUTPUT},
    {"compare", 0, OPT_FILE, AT(compare), "FILE",
     "Compare the totals with an earlier report (-O json).", NULL, GROUP_OUTPUT},
    {"fail-above", 0, OPT_FLOAT, AT(fail_above), "R",
     "With --compare: exit 1 if a cost is more than R times the earlier one, such as "
     "1.05.",
     NULL, GROUP_OUTPUT},
};

enum { REPEAT_UNSET = INT32_MIN };

static bool check_gprof_counts(Run *r, const Gprof *o) {
    const struct {
        const char *name;
        int64_t value;
    } rows[] = {{"warmup", o->warmup}, {"threads", o->threads}, {"seed", o->seed}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].value < 0)
            return fail(r->s, NOWHERE, E_USAGE, "--%s can't be negative", rows[i].name);
    if (o->repeat < 1 && o->repeat != REPEAT_UNSET)
        return fail(r->s, NOWHERE, E_USAGE, "--repeat must be at least 1");
    if (o->fail_above > 0 && !o->compare)
        return fail(r->s, NOWHERE, E_USAGE, "--fail-above needs --compare");
    if (o->compare && o->fail_above != 0 && !(o->fail_above >= 1)) {
        fail(r->s, NOWHERE, E_USAGE, "--fail-above must be at least 1");
        return note(r->s, NOWHERE, "--fail-above 1.05 allows a cost to grow by 5%%");
    }
    return true;
}

enum { RANKS_MOST = 1 << 16 };

/* The exchange is that of a binary tree. */
static bool check_gprof_ranks(Run *r, const Gprof *o, ProfileSpec *q) {
    if (o->link && !o->ranks)
        return fail(r->s, NOWHERE, E_USAGE, "--link needs --ranks");
    if (o->ranks < 0 || o->ranks > RANKS_MOST || o->ranks & (o->ranks - 1))
        return fail(r->s, NOWHERE, E_USAGE,
                    "--ranks must be a power of two, at most %d", RANKS_MOST);
    q->ranks = (unsigned)o->ranks;
    q->link[0] = 10e9;
    q->link[1] = 5e-6;
    return !o->link ||
           profile_link(r->s, run_text(r, "--link", o->link), &q->link[0], &q->link[1]);
}

/* Hooks that inspect values would dominate the measured times. */
static bool check_gprof_mode(Run *r, const Gprof *o) {
    if (o->mode <= RUN_FAST_COMPILE) return true;
    return fail(r->s, NOWHERE, E_USAGE,
                "this mode inspects every value, so its times would mean nothing: use "
                "it with grun");
}

/* Formats that show times need a run. */
static bool check_gprof_format(Run *r, const Gprof *o) {
    if (o->is_static && o->common.format == PROFILE_TRACE)
        return fail(r->s, NOWHERE, E_USAGE, "a trace needs a run: leave --static out");
    if (o->is_static && o->common.format == PROFILE_ROOFLINE)
        return fail(r->s, NOWHERE, E_USAGE,
                    "a roofline shows measured speeds, so it needs a run: leave "
                    "--static out");
    return true;
}

static bool check_gprof_ulp(Run *r, const Gprof *o) {
    const struct {
        bool set;
        const char *name;
    } rows[] = {{o->is_static, "--static"},
                {o->memory, "--memory"},
                {o->compare != NULL, "--compare"},
                {o->assertion.n > 0, "--assert"},
                {o->by != BY_ALL, "--by"},
                {o->ranks != 0, "--ranks"},
                {o->repeat != REPEAT_UNSET, "--repeat"}};
    if (!o->ulp) return true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].set)
            return fail(r->s, NOWHERE, E_USAGE,
                        "--ulp measures errors in one run: leave %s out", rows[i].name);
    int f = o->common.format;
    return f < 0 || f == PROFILE_TEXT || f == PROFILE_JSON || f == PROFILE_TSV ||
           fail(r->s, NOWHERE, E_USAGE, "--ulp prints text, json or tsv");
}

static bool pack_buffers(Run *r, const Gprof *o) {
    if (r->common->operands.n)
        return fail(r->s, r->common->operands.p[0].at, E_USAGE,
                    "--pack reads no graph and takes no values");
    if (r->common->format > PROFILE_TEXT)
        return fail(r->s, NOWHERE, E_USAGE, "--pack writes CSV: leave -O out");
    Str out = STR(r->s), verdict = STR(r->s);
    PackSpec q = {o->pack, o->capacity};
    bool ok = gprof_pack(r->s, &q, &out, &verdict);
    if (out.n) ok = run_print(r, &out) && ok;
    if (verdict.n) run_say(r, str_text(&verdict));
    str_free(&out);
    str_free(&verdict);
    return ok;
}

/* GNU's gprof takes a program and gmon.out; tell a user who passes one to ours. */
static bool is_gnu_input(Run *r, const char *path) {
    Reader in;
    bool found = false;
    if (strcmp(path, "-") == 0 || !file_exists(path)) return false;
    size_t mark = diag_count(r->s);
    if (reader_open(r->s, path, &in)) {
        found = reader_need(&in, 4) && in.n >= 4 &&
                (memcmp(in.p, "\177ELF", 4) == 0 || memcmp(in.p, "gmon", 4) == 0);
        reader_close(&in);
    }
    diag_rewind(r->s, mark);
    return found;
}

static bool refuse_programs(Run *r) {
    const Texts *t = &r->common->operands;
    for (size_t i = 0; i < t->n; i++) {
        if (!is_gnu_input(r, t->p[i].p)) continue;
        fail(r->s, t->p[i].at, E_USAGE, "%s is for GNU's gprof", t->p[i].p);
        return note(r->s, NOWHERE,
                    "this is thunkline's gprof, which profiles tensor graphs; GNU's is "
                    "in binutils, as /usr/bin/gprof");
    }
    return true;
}

static ProfileSpec profile_spec(Run *r, const Gprof *o) {
    Span *dim = NEW_N(session_arena(r->s), o->dim.n, Span);
    Span *assertion = NEW_N(session_arena(r->s), o->assertion.n, Span);
    for (size_t i = 0; i < o->dim.n; i++)
        dim[i] = o->dim.p[i].at;
    for (size_t i = 0; i < o->assertion.n; i++)
        assertion[i] = o->assertion.p[i].at;
    return (ProfileSpec){
        .run = {.mode = (RunMode)o->mode,
                .filter = {.allow_downcast = -1},
                .outputs = o->outputs,
                .no_updates = o->no_updates,
                .series = {.shuffle = -1},
                .ndim = o->dim.n,
                .dim = dim,
                .threads = (unsigned)o->threads,
                .seed = o->seed,
                .draw = true,
                .no_gc = o->no_gc},
        .is_static = o->is_static,
        .calls = {o->warmup, o->repeat == REPEAT_UNSET ? 0 : o->repeat},
        .nassert = o->assertion.n,
        .assertion = assertion,
        .report = {.format = o->common.format < 0 ? PROFILE_TEXT
                                                  : (ProfileFormat)o->common.format,
                   .by = (ProfileBy)o->by,
                   .sort = (ProfileSort)o->sort,
                   .top = o->top,
                   .memory = o->memory,
                   .compare = o->compare,
                   .fail_above = o->fail_above}};
}

static bool gprof_run(Run *r) {
    const Gprof *o = (const Gprof *)r->common;
    const char *path;
    if (o->pack) return pack_buffers(r, o);
    if (o->capacity) return fail(r->s, NOWHERE, E_USAGE, "--capacity needs --pack");
    if (!run_pick_format(r)) return false;
    ProfileSpec q = profile_spec(r, o);
    if (!refuse_programs(r) || !check_gprof_counts(r, o) || !check_gprof_mode(r, o) ||
        !check_gprof_format(r, o) || !check_gprof_ulp(r, o) ||
        !check_gprof_ranks(r, o, &q) || !run_operands(r, true, &path, &q.run.values))
        return false;
    session_options(r->s)->threads = q.run.threads;
    if (o->outputs) q.run.outputs_at = run_text(r, "--outputs", o->outputs);
    Graph *g = run_read(r, path);
    if (!g) return false;
    Str out = STR(r->s);
    Graph *run = graph_check(g) ? graph_chosen(g, &q.run) : NULL;
    bool ok =
        run && (o->solve ? graph_solve(run, &q, run_text(r, "--solve", o->solve), &out)
                : o->ulp ? graph_ulp(run, &q, &out)
                         : graph_profile(run, &q, &out));
    if (out.n) ok = run_print(r, &out) && ok;
    str_free(&out);
    if (run != g) graph_free(run);
    graph_free(g);
    return ok;
}

static void preset_gprof(Common *settings) {
    Gprof *o = (Gprof *)settings;
    o->warmup = 1;
    o->repeat = REPEAT_UNSET;
    o->top = -1;
}

static const Tool tool = {
    .name = "gprof",
    .brief = "profile tensor graphs: time, flops and memory",
    .operands = "[FILE] [NAME=VALUE...]",
    .work = "Measuring",
    .examples = "gprof model.yaml --static --dim n=1000 --by op\n"
                "gprof model.yaml X=@x.npy y=@y.npy --top 5\n"
                "gprof model.yaml --static --dim n=1000 --assert 'peak_bytes < 10e6'\n",
    .formats = PROFILE_FORMATS,
    .opt = options,
    .nopt = sizeof options / sizeof *options,
    .settings = sizeof(Gprof),
    .preset = preset_gprof,
    .run = gprof_run};

int main(int argc, char **argv) {
    return tool_main(&tool, argc, argv);
}
