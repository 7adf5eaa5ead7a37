/* --lines: calls whose inputs come line by line from standard input, each line a JSON
 * object of values by name. What the command line gives stays; all else that the graph
 * needs every line gives anew. The next line is waited for only once the last one has
 * its answer. */
#include "os/stdin.h"
#include "tools/grun/grun_impl.h"
#include "value/file/json.h"
#include "value/transfer.h"

#include <math.h>
#include <string.h>

enum { PASSED = 1 << 20 /* bytes of a mapped file that may stay behind the reader */ };
/* The member that is no input: how many calls the line is for. */
static const char STEPS[] = "--steps";

struct Lines {
    Reader in;
    size_t passed; /* bytes since the system last heard of them */
    Arena *a;      /* texts of this line */
    int64_t number, left;
    const bool *missing; /* by input: each line must give it */
    int64_t *given;      /* by input: the last line that did */
    Vec(double) seconds; /* of this line's calls */
};

bool grun_open_lines(GraphRun *r, const bool *missing) {
    Reader in;
    if (!reader_open(r->s, "-", &in)) return false;
    r->lines = NEW(r->a, struct Lines);
    *r->lines = (struct Lines){.in = in,
                               .a = arena_new(r->s),
                               .missing = missing,
                               .given = NEW_N(r->a, r->g->inputs.n, int64_t)};
    return grun_open_output(r);
}

void grun_close_lines(GraphRun *r) {
    if (!r->lines) return;
    reader_close(&r->lines->in);
    arena_free(r->lines->a);
    vec_free(&r->lines->seconds);
}

void grun_note_line(const GraphRun *r) {
    note(r->s, NOWHERE, "in line %lld of standard input", (long long)r->lines->number);
}

bool grun_line_done(const GraphRun *r) {
    return r->lines->left == 0;
}

void grun_line_called(GraphRun *r, double seconds) {
    r->lines->left--;
    if (r->spec->time) vec_push(r->s, &r->lines->seconds, seconds);
}

void grun_line_times(const GraphRun *r, JsonWriter *w) {
    json_put_key(w, "--time");
    json_open(w, '[');
    for (size_t i = 0; i < r->lines->seconds.n; i++)
        json_put_number(w, round(r->lines->seconds.p[i] * 1e9) / 1e9);
    json_close(w, "]");
}

/* ---- the next line ---- */

/* Its length, without what ends it. *end: there is no more, or a signal came. */
static bool read_line(GraphRun *r, size_t *n, bool *end) {
    Reader *in = &r->lines->in;
    const unsigned char *stop;
    for (size_t seen = 0;;) {
        stop = memchr(in->p + seen, '\n', in->n - seen);
        if (stop || in->eof) break;
        seen = in->n;
        while (!stdin_wait())
            if (grun_stopped(r)) return *end = true;
        if (!reader_need(in, seen + 1)) return false;
    }
    *end = in->n == 0;
    *n = stop ? (size_t)(stop - in->p) : in->n;
    return true;
}

static void pass_line(GraphRun *r, size_t n) {
    struct Lines *l = r->lines;
    n += l->in.n > n;
    reader_skip(&l->in, n);
    l->passed += n;
    if (!reader_is_mapped(&l->in) || l->passed < PASSED) return;
    file_mapped_pass(r->s, l->in.p - l->passed, l->passed);
    l->passed = 0;
}

/* ---- what it says ---- */

static bool find_input(GraphRun *r, const JsonText *key, size_t *i) {
    const Graph *g = r->g;
    Sym y = sym_find(r->s, key->p, key->n);
    for (*i = 0; y && *i < g->inputs.n; ++*i)
        if (var_leafrec(g, g->inputs.p[*i])->name == y) return true;
    for (size_t k = 0; y && k < g->shared.n; k++)
        if (var_leafrec(g, g->shared.p[k])->name == y)
            return fail(r->s, NOWHERE, E_NAME,
                        "%s is a shared variable: the command line gives its value, "
                        "updates change it",
                        key->p);
    return grun_no_input(r, E_NAME, NOWHERE, key->p);
}

static bool read_input(GraphRun *r, const JsonText *key, JsonReader *j) {
    struct Lines *l = r->lines;
    size_t i;
    if (!find_input(r, key, &i)) return false;
    if (r->feed[i].given || l->given[i] == l->number)
        return fail(r->s, NOWHERE, E_DUPLICATE, "%s is given %s", key->p,
                    r->feed[i].given ? "on the command line already" : "twice");
    const Type *t = var_type(r->g, r->g->inputs.p[i]);
    Value read = {.kind = TYPE_TENSOR}, v = {0};
    if (!json_array_next(j, key->p, t, &read.t)) return false;
    bool ok =
        value_bind(r->s, t, &read, &(Receiver){r->spec->filter, key->p, NOWHERE}, &v) &&
        vm_set_input(r->m, i, &v);
    value_unref(&read);
    value_unref(&v);
    l->given[i] = l->number;
    return ok;
}

static bool read_steps(GraphRun *r, JsonReader *j) {
    Tensor t = {0};
    const Type *count = type_tensor(r->s, DT_INT64, 0, NULL);
    if (!json_array_next(j, STEPS, count, &t)) return false;
    r->lines->left = t.ndim == 0 && t.dtype == DT_INT64 ? *(int64_t *)t.data : 0;
    tensor_unref(&t);
    return r->lines->left > 0 ||
           fail(r->s, NOWHERE, E_VALUE, "%s must be a whole number, at least 1", STEPS);
}

static bool read_members(GraphRun *r, JsonReader *j) {
    JsonText key;
    if (!json_want(j, '{', "expected an object of inputs, as in {\"x\": [1.5, 2]}"))
        return false;
    for (size_t n = 0; json_item(j, '}', &n);) {
        if (!json_key(j, &key)) return false;
        if (!(strcmp(key.p, STEPS) == 0 ? read_steps(r, j) : read_input(r, &key, j)))
            return false;
    }
    return !j->wrong &&
           (json_at_end(j) || json_fail(j, "something follows the object"));
}

static bool gives_all(GraphRun *r) {
    const struct Lines *l = r->lines;
    for (size_t i = 0; i < r->g->inputs.n; i++) {
        if (!l->missing[i] || l->given[i] == l->number) continue;
        Var v = r->g->inputs.p[i];
        const char *name = sym_text(r->s, var_name(r->g, v));
        return fail(r->s, NOWHERE, E_FORMAT, "the line has no %s: %s", name,
                    type_str(r->s, var_type(r->g, v)));
    }
    return true;
}

static bool take_line(GraphRun *r, size_t n) {
    struct Lines *l = r->lines;
    int64_t steps = r->spec->series.steps;
    size_t mark = diag_count(r->s);
    l->left = steps ? steps : 1;
    l->seconds.n = 0;
    arena_reset(l->a);
    const char *p = (const char *)l->in.p;
    JsonReader j = json_reader(r->s, l->a, p, n);
    if (read_members(r, &j) && gives_all(r)) return true;
    if (diag_count(r->s) == mark)
        fail(r->s, NOWHERE, E_FORMAT, "no line of JSON, at byte %zu: %s",
             (size_t)(j.p - p) + 1, j.wrong);
    grun_note_line(r);
    return false;
}

bool grun_next_line(GraphRun *r, bool *end) {
    size_t n;
    *end = false;
    if (r->lines->left) return true;
    if (!read_line(r, &n, end)) return false;
    if (*end) return true;
    r->lines->number++;
    if (!take_line(r, n)) return false;
    pass_line(r, n);
    return true;
}
