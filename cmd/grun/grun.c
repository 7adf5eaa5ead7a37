/* grun: run a graph, once or many times. */
#include "cli/ranks.h"
#include "cli/watch.h"
#include "tools/grun/receipt.h"
#include "value/file/file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct Grun {
    Common common;
    Texts result, expect, dim, include, exclude, rules, reap, plant;
    int mode, unused;
    int64_t sloppy, threads, seed, steps, batch, epochs, shuffle, every, save_every;
    const char *outputs, *each, *until, *save, *guard, *unguarded, *plot, *report,
        *trace, *against, *receipt, *verify, *part;
    int64_t trace_samples;
    double rtol, atol;
    bool no_gc, time, lines, drop_last, progress, no_progress, no_updates, strict,
        allow_downcast, allow_nonfinite, merge, all_ranks, own_rows;
} Grun;
#define AT(field) offsetof(Grun, field)

static const Opt options[] = {
    {"result", 'r', OPT_LIST, AT(result), "NAME=FILE",
     "Write an output, the values of a tree, or with * all outputs, to FILE (.npy .npz "
     ".csv .tsv .json "
     ".safetensors) instead of standard output.",
     "graph", GROUP_OUTPUT},
    {"outputs", 0, OPT_NAMES, AT(outputs), "NAMES",
     "Compute these variables or trees instead of the graph's outputs.", "graph",
     GROUP_OUTPUT},
    {"no-updates", 0, OPT_FLAG, AT(no_updates), NULL,
     "Leave the shared variables as they are, and the inputs that only their updates "
     "need.",
     NULL, GROUP_WORK},
    {"mode", 0, OPT_ENUM, AT(mode), RUN_MODES,
     "How to rewrite the graph first, and what to inspect while it runs (default "
     "FAST_RUN "
     "if it was not rewritten yet).",
     NULL, GROUP_WORK},
    {"sloppy", 0, OPT_INT, AT(sloppy), "N", "Widen the tolerances of DEBUG: 1 or 2.",
     NULL, GROUP_WORK},
    {"allow-nonfinite", 0, OPT_FLAG, AT(allow_nonfinite), NULL,
     "Let DEBUG accept nan and inf like other values.", NULL, GROUP_WORK},
    {"guard", 0, OPT_STR, AT(guard), "KINDS",
     "What NAN_GUARD looks for: some of nan,inf,big (default all).", NULL, GROUP_WORK},
    {"unguarded", 0, OPT_NAMES, AT(unguarded), "NAMES",
     "Variables that NAN_GUARD ignores.", "graph", GROUP_WORK},
    {"include", 0, OPT_LIST, AT(include), "NAME",
     "Add the rewrites with this tag or name; commas separate several.", "rules",
     GROUP_WORK},
    {"exclude", 0, OPT_LIST, AT(exclude), "NAME",
     "Exclude the rewrites with this tag or name.", "rules", GROUP_WORK},
    {"rules", 0, OPT_FILES, AT(rules), "FILE", "Add the rewrite rules of a file.", NULL,
     GROUP_WORK},
    {"dim", 0, OPT_LIST, AT(dim), "NAME=SIZE", "Set a dim that no input determines.",
     NULL, GROUP_INPUT},
    {"threads", 0, OPT_INT, AT(threads), "N",
     "Number of threads (default: all cores). Results do not depend on it.", NULL,
     GROUP_WORK},
    {"seed", 0, OPT_INT, AT(seed), "N",
     "Seed for the random states of inputs that have no value.", NULL, GROUP_INPUT},
    {"no-gc", 0, OPT_FLAG, AT(no_gc), NULL,
     "Keep the storage of every value until the end of a call.", NULL, GROUP_WORK},
    {"time", 0, OPT_FLAG, AT(time), NULL,
     "Print to standard error how long the calls took.", NULL, GROUP_OUTPUT},
    {"steps", 0, OPT_INT, AT(steps), "N", "Call the graph N times.", NULL, GROUP_WORK},
    {"until", 0, OPT_STR, AT(until), "EXPRESSION",
     "End after the first call for which EXPRESSION, such as 'loss < 0.03', holds.",
     NULL, GROUP_WORK},
    {"each", 0, OPT_NAMES, AT(each), "NAMES",
     "Inputs that get one row of their value at each call, along its leading axis.",
     "graph", GROUP_INPUT},
    {"batch", 0, OPT_INT, AT(batch), "B", "With --each: B rows at each call.", NULL,
     GROUP_INPUT},
    {"drop-last", 0, OPT_FLAG, AT(drop_last), NULL,
     "With --batch: skip the last batch if it is not full.", NULL, GROUP_INPUT},
    {"epochs", 0, OPT_INT, AT(epochs), "E", "With --each: go through the rows E times.",
     NULL, GROUP_INPUT},
    {"shuffle", 0, OPT_INT, AT(shuffle), "SEED",
     "With --each: take the rows in random order, a new one for each epoch.", NULL,
     GROUP_INPUT},
    {"lines", 0, OPT_FLAG, AT(lines), NULL,
     "Call the graph for each line of standard input, a JSON object of inputs by name, "
     "and answer with a line of outputs.",
     NULL, GROUP_INPUT},
    {"part", 0, OPT_STR, AT(part), "K/N",
     "Run on the K-th of N parts of the rows of the inputs; DIM=K/N cuts the rows of "
     "this dim.",
     NULL, GROUP_INPUT},
    {"merge", 0, OPT_FLAG, AT(merge), NULL,
     "Put together what the parts of a run have written: FILE is the graph, all other "
     "FILEs are theirs.",
     NULL, GROUP_WORK},
    {"every", 0, OPT_INT, AT(every), "K", "Print the outputs of every K-th call, too.",
     NULL, GROUP_OUTPUT},
    {"save", 0, OPT_FILE, AT(save), "FILE",
     "Write the graph as it was read, with the new values of its shared variables; to "
     "a .npz or .safetensors, these values alone.",
     NULL, GROUP_OUTPUT},
    {"save-every", 0, OPT_INT, AT(save_every), "K",
     "With --save: write FILE after every K-th call, too.", NULL, GROUP_OUTPUT},
    {"plot", 0, OPT_FILE, AT(plot), "FILE.svg",
     "Draw the outputs that are numbers as curves over the calls, those of --every if "
     "it is given.",
     NULL, GROUP_OUTPUT},
    {"report", 0, OPT_FILE, AT(report), "FILE.html",
     "Write a page for a browser: the curves of --plot, also over time, the results, "
     "how "
     "it ran, and the graph.",
     NULL, GROUP_OUTPUT},
    {"reap", 0, OPT_LIST, AT(reap), "TAG",
     "Turn the values sown under a tag into outputs TAG/NAME; TAG/NAME selects one.",
     NULL, GROUP_OUTPUT},
    {"plant", 0, OPT_LIST, AT(plant), "TAG/NAME=VALUE",
     "Replace a sown value by VALUE.", NULL, GROUP_INPUT},
    {"expect", 0, OPT_LIST, AT(expect), "NAME=VALUE",
     "Exit 1 unless an output is approximately equal to VALUE.", "graph", GROUP_OUTPUT},
    {"rtol", 0, OPT_FLOAT, AT(rtol), "R",
     "Relative tolerance of --expect and --against (default: by dtype).", NULL,
     GROUP_OUTPUT},
    {"atol", 0, OPT_FLOAT, AT(atol), "A",
     "Absolute tolerance of --expect and --against (default: by dtype).", NULL,
     GROUP_OUTPUT},
    {"receipt", 0, OPT_FILE, AT(receipt), "FILE",
     "Write digests of the graph, its data and its results, and how it ran.", NULL,
     GROUP_OUTPUT},
    {"verify-receipt", 0, OPT_FILE, AT(verify), "FILE",
     "Run as a receipt says, with the graph and data given here, and exit 1 unless the "
     "results are the same bits.",
     NULL, GROUP_WORK},
    {"trace", 0, OPT_FILE, AT(trace), "FILE",
     "Write a digest of every value to FILE: its shape, hash, range and mean.", NULL,
     GROUP_OUTPUT},
    {"trace-sample", 0, OPT_INT, AT(trace_samples), "N",
     "With --trace: keep N elements of every value, too.", NULL, GROUP_OUTPUT},
    {"against", 0, OPT_FILE, AT(against), "FILE",
     "Compare every value with a trace, and exit 1 at the first that differs.", NULL,
     GROUP_OUTPUT},
    {"strict", 0, OPT_FLAG, AT(strict), NULL,
     "Accept only values of the input's dtype.", NULL, GROUP_INPUT},
    {"allow-downcast", 0, OPT_FLAG, AT(allow_downcast), NULL,
     "Convert values even if that loses precision.", NULL, GROUP_INPUT},
    {"on-unused-input", 0, OPT_ENUM, AT(unused), UNUSED_INPUTS,
     "What to do about an input that no output, update or effect needs.", NULL,
     GROUP_INPUT},
    {"all-ranks", 0, OPT_FLAG, AT(all_ranks), NULL,
     "Under mpirun, print the outputs of each rank, and write those of rank 2 to "
     "FILE.2.npy, not only those of rank 0.",
     NULL, GROUP_OUTPUT},
    {"own-rows", 0, OPT_FLAG, AT(own_rows), NULL,
     "Under mpirun, what is given for split inputs are this rank's rows already.", NULL,
     GROUP_INPUT},
    {"progress", 0, OPT_FLAG, AT(progress), NULL,
     "Show the line of progress on a terminal at once, not after a second.", NULL,
     GROUP_OUTPUT},
    {"no-progress", 0, OPT_FLAG, AT(no_progress), NULL, "Never show progress.", NULL,
     GROUP_OUTPUT},
};

static Span *spans_of_texts(Run *r, const Texts *t) {
    Span *at = NEW_N(session_arena(r->s), t->n, Span);
    for (size_t i = 0; i < t->n; i++)
        at[i] = t->p[i].at;
    return at;
}

/* A value that no option can have: a 0 computed by a script is not the same as an
 * absent option. */
#define UNSET INT64_MIN

static bool check_grun_counts(Run *r, Grun *o) {
    const struct {
        const char *name;
        int64_t *value;
    } rows[] = {{"steps", &o->steps},
                {"batch", &o->batch},
                {"epochs", &o->epochs},
                {"every", &o->every},
                {"save-every", &o->save_every}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (*rows[i].value == UNSET)
            *rows[i].value = 0;
        else if (*rows[i].value < 1)
            return fail(r->s, NOWHERE, E_USAGE, "--%s must be at least 1",
                        rows[i].name);
    if (o->save_every && !o->save)
        return fail(r->s, NOWHERE, E_USAGE, "--save-every needs --save FILE");
    return o->threads >= 0 ||
           fail(r->s, NOWHERE, E_USAGE, "--threads can't be negative");
}

/* Does the suffix of -o ask for the values of the shared variables? */
static bool wants_shared(const Common *c) {
    ValueForm f =
        c->output && c->format < 0 ? value_form_of(c->output) : VALUE_FORMLESS;
    return f == VALUE_NPZ || f == VALUE_SAFETENSORS;
}

/* Checked before the run, which may take long. */
static bool check_grun_files(Run *r, const Grun *o) {
    IoFormat graph;
    bool values;
    if (o->plot && !str_has_suffix(o->plot, strlen(o->plot), ".svg"))
        return fail(r->s, NOWHERE, E_USAGE, "%s: --plot writes files named .svg",
                    o->plot);
    if (o->report && !str_has_suffix(o->report, strlen(o->report), ".html .htm"))
        return fail(r->s, NOWHERE, E_USAGE, "%s: --report writes files named .html",
                    o->report);
    if (o->save && !graph_save_form(r->s, o->save, &graph, &values)) return false;
    if (wants_shared(r->common) || run_pick_format(r)) return true;
    return note(r->s, NOWHERE,
                "--save writes the graph; -o FILE.npz or FILE.safetensors has the "
                "values of the shared variables "
                "after the run, -r NAME=FILE an output");
}

static RewriteQuery extra_rewrites(Run *r, const Grun *o) {
    RewriteQuery q = {0};
    q.ninclude = run_names(r, &o->include, &q.include);
    q.nexclude = run_names(r, &o->exclude, &q.exclude);
    const char **files = NEW_N(session_arena(r->s), o->rules.n, const char *);
    for (size_t i = 0; i < o->rules.n; i++)
        files[q.nrules++] = o->rules.p[i].p;
    q.rules = files;
    return q;
}

/* How a receipt says that the graph ran, instead of the command line. */
static bool take_receipt(Run *r, Grun *o, Receipt *from) {
    int64_t drop = 0;
    RunMode mode;
    if (!receipt_read(r->s, o->verify, from)) return false;
    const struct {
        const char *key;
        int64_t *value;
    } rows[] = {{"seed", &o->seed},     {"steps", &o->steps},     {"batch", &o->batch},
                {"epochs", &o->epochs}, {"shuffle", &o->shuffle}, {"drop_last", &drop}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!receipt_int(from, rows[i].key, rows[i].value))
            return fail(r->s, NOWHERE, E_FORMAT, "%s: no number for %s", o->verify,
                        rows[i].key);
    if (o->steps < 0 || o->batch < 0 || o->epochs < 0 ||
        !receipt_mode(from, session_arena(r->s), &mode))
        return fail(r->s, NOWHERE, E_FORMAT, "%s: its mode, or a number, is none",
                    o->verify);
    o->mode = (int)mode;
    o->drop_last = drop != 0;
    o->each = receipt_get(from, "each");
    o->until = receipt_get(from, "until");
    o->outputs = receipt_get(from, "outputs");
    return true;
}

static RunSpec run_spec(Run *r, const Grun *o) {
    RunSpec q = {.mode = (RunMode)o->mode,
                 .rewrites = extra_rewrites(r, o),
                 .sloppy = (int)o->sloppy,
                 .allow_nonfinite = o->allow_nonfinite,
                 .guard = o->guard,
                 .unguarded = o->unguarded,
                 .outputs = o->outputs,
                 .no_updates = o->no_updates,
                 .until = o->until,
                 .lines = o->lines,
                 .time = o->time,
                 .filter.strict = o->strict,
                 .filter.allow_downcast = o->allow_downcast ? 1 : -1,
                 .series = {.steps = o->steps,
                            .each = o->each,
                            .batch = o->batch,
                            .drop_last = o->drop_last,
                            .epochs = o->epochs,
                            .shuffle = o->shuffle,
                            .every = o->every,
                            .save_every = o->save_every},
                 .nresult = o->result.n,
                 .nexpect = o->expect.n,
                 .ndim = o->dim.n,
                 .result = spans_of_texts(r, &o->result),
                 .expect = spans_of_texts(r, &o->expect),
                 .dim = spans_of_texts(r, &o->dim),
                 .rtol = o->rtol,
                 .atol = o->atol,
                 .output = wants_shared(&o->common) ? NULL : o->common.output,
                 .format = o->common.format < 0 ? RESULT_TEXT
                                                : (ResultFormat)o->common.format,
                 .plot = o->plot,
                 .report = o->report,
                 .seed = o->seed,
                 .threads = (unsigned)o->threads,
                 .no_gc = o->no_gc,
                 .trace = o->trace,
                 .trace_samples = o->trace_samples,
                 .against = o->against,
                 .receipt = o->receipt,
                 .part = o->part};
    if (o->guard) q.guard_at = run_text(r, "--guard", o->guard);
    if (o->unguarded) q.unguarded_at = run_text(r, "--unguarded", o->unguarded);
    if (o->outputs) q.outputs_at = run_text(r, "--outputs", o->outputs);
    if (o->until) q.until_at = run_text(r, "--until", o->until);
    if (o->each) q.series.each_at = run_text(r, "--each", o->each);
    if (o->part) q.part_at = run_text(r, "--part", o->part);
    return q;
}

static bool save_graph(Run *r, Graph *g, const char *path) {
    return graph_save(g, path,
                      &(WriteOptions){.no_provenance = r->common->no_provenance,
                                      .zstd = r->common->zstd});
}

/* The graph that runs: g, or a copy, since the saved graph keeps its sows, outputs and
 * updates. NULL: diagnosed. */
static Graph *graph_to_run(Run *r, const Grun *o, Graph *g, RunSpec *q) {
    Graph *reaped = g;
    if (o->reap.n || o->plant.n) {
        Harvesting h = {.nreap = o->reap.n,
                        .reap = spans_of_texts(r, &o->reap),
                        .nplant = o->plant.n,
                        .plant = spans_of_texts(r, &o->plant),
                        .filter = q->filter};
        reaped = graph_harvested(g, &h);
        if (!reaped) return NULL;
        q->nreaped = reaped->outputs.n - g->outputs.n;
    }
    Graph *chosen = q->parts ? graph_merged(reaped, q) : graph_chosen(reaped, q);
    if (reaped != g && chosen != reaped) graph_free(reaped);
    return chosen;
}

typedef struct SavedTo {
    Run *run;
    const char *path;
} SavedTo;

/* All ranks have the same values: the first one saves them. */
static bool save_now(void *ctx, Graph *g) {
    const SavedTo *to = ctx;
    return !rank_is_first(to->run) || save_graph(to->run, g, to->path);
}

/* Puts the files of parts together as a run of g would have made them. */
static bool merge_parts(Run *r, const Grun *o, Graph *g, RunSpec *q) {
    q->saved = g;
    Graph *run = graph_to_run(r, o, g, q);
    bool ok = run && graph_merge(run, q);
    if (run && run != g) graph_free(run);
    return ok;
}

/* Runs g, or what is chosen of it, with somebody watching. False in *whole: a signal
 * ended it. */
static bool run_graph(Run *r, const Grun *o, Graph *g, RunSpec *q, bool *whole) {
    const char *out = o->common.output;
    bool rows =
        (o->every || o->lines) && (o->result.n || (out && strcmp(out, "-") != 0));
    WatchOptions how = {.line = !o->no_progress && !o->lines && isatty(STDERR_FILENO) &&
                                rank_is_first(r),
                        .quiet = !rank_is_first(r),
                        .ranks = ranks_count(r->s) > 1,
                        .at_once = o->progress,
                        .keeps = o->save || o->plot || o->report || rows,
                        .save = o->save};
    SavedTo to = {r, o->save};
    RunWatch calls;
    Graph *run = graph_to_run(r, o, g, q);
    if (!run) return false;
    q->saved = g;
    q->save = o->save ? save_now : NULL;
    q->save_ctx = &to;
    q->watch = &calls;
    Watch *w = watch_open(r, &how, &calls);
    bool ok = graph_run(run, q);
    *whole = !watch_ended_early(w);
    watch_close(w);
    if (ok && run != g) graph_take_shared(g, run);
    if (run != g) graph_free(run);
    return ok;
}

typedef struct Refusal {
    bool given;
    const char *name;
} Refusal;

static bool check_refusals(Run *r, const char *option, size_t n, const Refusal *row) {
    const Ranks *ranks = services(r->s)->ranks;
    for (size_t i = 0; i < n; i++)
        if (row[i].given)
            return fail(r->s, NOWHERE, E_USAGE, "--%s doesn't go with %s", row[i].name,
                        option);
    return !ranks || ranks->n == 1 ||
           fail(r->s, NOWHERE, E_USAGE, "%s runs without ranks", option);
}

/* What a part can't do as all rows would, and what isn't part of putting together. */
static bool check_parts(Run *r, const Grun *o) {
    const Refusal rows[] = {{o->steps, "steps"},
                            {o->epochs, "epochs"},
                            {o->shuffle >= 0, "shuffle"},
                            {o->until, "until"},
                            {o->every, "every"},
                            {o->save, "save"},
                            {o->plot, "plot"},
                            {o->report, "report"},
                            {o->receipt, "receipt"},
                            {o->verify, "verify-receipt"},
                            {o->trace, "trace"},
                            {o->against, "against"},
                            {wants_shared(&o->common), "output FILE.npz"},
                            {!o->merge && o->expect.n, "expect"},
                            {o->merge && o->part, "part"},
                            {o->merge && o->each, "each"},
                            {o->merge && o->batch, "batch"}};
    return (!o->part && !o->merge) || check_refusals(r, o->merge ? "--merge" : "--part",
                                                     sizeof rows / sizeof *rows, rows);
}

/* What speaks of one set of inputs, or of results at the end. */
static bool check_lines(Run *r, const Grun *o) {
    const Refusal rows[] = {{o->each, "each"},
                            {o->batch, "batch"},
                            {o->drop_last, "drop-last"},
                            {o->epochs, "epochs"},
                            {o->shuffle >= 0, "shuffle"},
                            {o->every, "every"},
                            {o->result.n, "result"},
                            {o->expect.n, "expect"},
                            {o->report, "report"},
                            {o->receipt, "receipt"},
                            {o->verify, "verify-receipt"},
                            {o->trace, "trace"},
                            {o->against, "against"},
                            {o->part, "part"},
                            {o->merge, "merge"},
                            {o->common.format >= 0 && o->common.format != RESULT_JSON,
                             "format other than json"}};
    return !o->lines || check_refusals(r, "--lines", sizeof rows / sizeof *rows, rows);
}

/* Standard input holds the lines. */
static bool check_lines_input(Run *r, const char *path, const Values *given) {
    if (!path || value_is_stdin(path, strlen(path)))
        return fail(r->s, NOWHERE, E_USAGE,
                    "--lines takes standard input: name the graph's file");
    return run_stdin_free(r, given, "standard input has the lines of --lines already");
}

/* With --merge, the first operand is the graph, all others are parts. */
static bool take_parts(Run *r, const char **path, RunSpec *q) {
    const Texts *t = &r->common->operands;
    const char **file = NEW_N(session_arena(r->s), t->n + 1, const char *);
    for (size_t i = 0; i < t->n; i++)
        file[i] = t->p[i].p;
    *path = t->n ? file[0] : NULL;
    if (t->n < 2) {
        fail(r->s, NOWHERE, E_USAGE,
             "--merge takes the graph, then the files of parts");
        return note(r->s, NOWHERE, "grun --merge g.tlg part.*.npz -r '*=all.npz'");
    }
    q->parts = run_parts_open(r->s, t->n - 1, file + 1);
    return q->parts != NULL;
}

static bool take_operands(Run *r, const Grun *o, const char **path, RunSpec *q) {
    if (!check_parts(r, o) || !check_lines(r, o)) return false;
    if (o->merge) return take_parts(r, path, q);
    return run_operands(r, true, path, &q->values) &&
           (!o->lines || check_lines_input(r, *path, &q->values));
}

/* What a rank does differently than a process alone. */
static bool take_rank(Run *r, const Grun *o, const char *path, RunSpec *q) {
    Ranks *ranks = services(r->s)->ranks;
    if (!ranks || ranks->n == 1) return true;
    ranks->own_rows = o->own_rows;
    q->quiet = !rank_is_first(r) && !o->all_ranks;
    if (q->quiet) services(r->s)->print = NULL;
    if (o->own_rows && (o->receipt || o->verify))
        return fail(r->s, NOWHERE, E_USAGE,
                    "a receipt needs the rows of all ranks, of which --own-rows gives "
                    "each its own only: run it on one rank, with the same results");
    if (path && strcmp(path, "-") != 0) return true;
    fail(r->s, NOWHERE, E_USAGE,
         "of several ranks only the first has standard input: name the graph's file");
    return note(r->s, NOWHERE, "mpirun -n %u %s step.tlg x=@x.npy ...", ranks->n,
                r->program);
}

static bool grun_run(Run *r) {
    Grun *o = (Grun *)r->common;
    const char *path;
    if (!check_grun_counts(r, o) || !check_grun_files(r, o)) return false;
    Receipt verify;
    if (o->verify && !take_receipt(r, o, &verify)) return false;
    RunSpec q = run_spec(r, o);
    q.verify = o->verify ? &verify : NULL;
    if (!take_operands(r, o, &path, &q)) return false;
    if (q.format == RESULT_NPY && !run_binary(r)) return false;
    if (!q.threads) q.threads = rank_threads(r);
    session_options(r->s)->threads = q.threads;
    if (!take_rank(r, o, path, &q)) return false;
    Graph *g = run_read(r, path);
    if (!g) return run_parts_close(q.parts), false;
    double start = clock_seconds();
    bool whole = true;
    bool ok = graph_check(g) && graph_unused_inputs(g, (UnusedInput)o->unused) &&
              (o->merge ? merge_parts(r, o, g, &q) : run_graph(r, o, g, &q, &whole));
    run_parts_close(q.parts);
    if (ok && o->time && rank_is_first(r))
        fprintf(stderr, "%s: %.6f s\n", r->program, clock_seconds() - start);
    if (ok && whole && o->save && rank_is_first(r)) ok = save_graph(r, g, o->save);
    if (ok && whole && wants_shared(r->common) && rank_is_first(r))
        ok = graph_write_shared(g, r->common->output);
    graph_free(g);
    return ok;
}

static void preset_grun(Common *settings) {
    Grun *o = (Grun *)settings;
    o->rtol = o->atol = -1;
    o->shuffle = o->seed = -1;
    o->steps = o->batch = o->epochs = o->every = o->save_every = UNSET;
}

static const Tool tool = {
    .name = "grun",
    .brief = "run tensor graphs: once, in batches, as a training loop",
    .operands = "[FILE] [NAME=VALUE...]",
    .work = "Running",
    .examples =
        "gload -e 'x @ x.T' -i 'x: float64[2, 2]' | grun x='[[1, 2], [3, 4]]'\n"
        "grun model.yaml X=@x.npy y=@y.npy --steps 100 --save trained.tlg\n"
        "grun model.yaml X=@x.npy y=@y.npy --mode NAN_GUARD --expect loss=1 --atol 9\n",
    .formats = "text|json|npy|tsv",
    .opt = options,
    .nopt = sizeof options / sizeof *options,
    .settings = sizeof(Grun),
    .ranked = true,
    .watched = true,
    .preset = preset_grun,
    .run = grun_run};

int main(int argc, char **argv) {
    return tool_main(&tool, argc, argv);
}
