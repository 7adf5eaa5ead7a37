#include "tools/grun/receipt.h"

#include "format/json.h"
#include "os/file.h"
#include "tools/grun/digest.h"
#include "tools/grun/grun_impl.h"

#include <stdlib.h>
#include <string.h>

enum { RECEIPT_VERSION = 1, RECEIPT_BYTES = 1 << 24 };

/* ---- reading ---- */
typedef Vec(ReceiptLine) Lines;

static bool read_value(JsonReader *j, JsonText *v) {
    if (json_next_is(j, '"')) return json_string(j, v);
    return json_scalar(j, &v->p, &v->n);
}

/* An object of texts and numbers, or of such objects: "inputs/x". */
static bool read_object(JsonReader *j, const char *prefix, Lines *out) {
    size_t n = 0;
    if (!json_want(j, '{', "an object")) return false;
    while (json_item(j, '}', &n)) {
        JsonText key, value;
        if (!json_key(j, &key)) return false;
        const char *name = arena_printf(j->a, "%s%.*s", prefix, (int)key.n, key.p);
        if (!*prefix && json_next_is(j, '{')) {
            if (!read_object(j, arena_printf(j->a, "%s/", name), out)) return false;
            continue;
        }
        if (!read_value(j, &value)) return false;
        ReceiptLine line = {name, arena_str(j->a, value.p, value.n)};
        vec_push(j->s, out, line);
    }
    return !j->wrong;
}

bool receipt_read(Session *s, const char *path, Receipt *out) {
    FileData f;
    Lines lines = {0};
    Arena *a = session_arena(s);
    if (!file_read(s, path, RECEIPT_BYTES, &f)) return false;
    JsonReader j = json_reader(s, a, (const char *)f.p, f.n);
    bool ok = read_object(&j, "", &lines) && json_at_end(&j);
    file_close(&f);
    *out =
        (Receipt){path, lines.n,
                  lines.n ? arena_copy(a, lines.p, lines.n * sizeof *lines.p) : NULL};
    vec_free(&lines);
    int64_t version;
    if (!ok || !receipt_int(out, "thunkline_receipt", &version))
        return fail(s, NOWHERE, E_FORMAT, "%s: this is no receipt of a run", path);
    return version <= RECEIPT_VERSION ||
           fail(s, NOWHERE, E_VERSION, "%s: a newer form of receipts", path);
}

const char *receipt_get(const Receipt *r, const char *key) {
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->line[i].key, key) == 0) return r->line[i].value;
    return NULL;
}

bool receipt_int(const Receipt *r, const char *key, int64_t *out) {
    const char *text = receipt_get(r, key);
    char *end;
    if (!text || !*text) return false;
    long long v = strtoll(text, &end, 10);
    *out = v;
    return !*end;
}

bool receipt_mode(const Receipt *r, Arena *a, RunMode *out) {
    char **name;
    const char *text = receipt_get(r, "mode");
    size_t n = str_split(a, RUN_MODES, '|', &name);
    for (size_t i = 0; text && i < n; i++)
        if (strcmp(name[i], text) == 0) return *out = (RunMode)i, true;
    return false;
}

/* ---- lines of this run ---- */
static void add_text(GraphRun *r, Lines *out, const char *key, const char *value) {
    if (value) vec_push(r->s, out, ((ReceiptLine){key, value}));
}

static void add_int(GraphRun *r, Lines *out, const char *key, int64_t v) {
    add_text(r, out, key, arena_printf(r->a, "%lld", (long long)v));
}

static bool add_value(GraphRun *r, Lines *out, const char *of, Sym name,
                      const Value *v) {
    const char *digest = v ? digest_value(r->s, r->a, v) : NULL;
    add_text(r, out, arena_printf(r->a, "%s/%s", of, sym_text(r->s, name)), digest);
    return digest || !v;
}

static const char *mode_name(Arena *a, RunMode mode) {
    char **name;
    str_split(a, RUN_MODES, '|', &name);
    return name[mode];
}

static void add_settings(GraphRun *r, Lines *out) {
    static const char *const levels[] = {"baseline", "AVX2", "AVX-512"};
    const RunSpec *q = r->spec;
    add_int(r, out, "thunkline_receipt", RECEIPT_VERSION);
    add_text(r, out, "version", TL_VERSION);
    add_text(r, out, "cpu_level", levels[session_cpu_level(r->s)]);
    add_text(r, out, "mode", mode_name(r->a, q->mode));
    add_int(r, out, "seed", q->seed);
    add_int(r, out, "steps", q->series.steps);
    add_int(r, out, "batch", q->series.batch);
    add_int(r, out, "epochs", q->series.epochs);
    add_int(r, out, "shuffle", q->series.shuffle);
    add_int(r, out, "drop_last", q->series.drop_last);
    add_text(r, out, "each", q->series.each);
    add_text(r, out, "until", q->until);
    add_text(r, out, "outputs", q->outputs);
}

static bool add_values(GraphRun *r, Lines *out) {
    for (size_t i = 0; i < r->g->inputs.n; i++) {
        Value given = grun_ranks_given(r, i);
        if (r->feed[i].given &&
            !add_value(r, out, "inputs", var_name(r->g, r->g->inputs.p[i]), &given))
            return false;
    }
    for (size_t i = 0; i + r->spec->nhidden < r->g->outputs.n; i++)
        if (!add_value(r, out, "results", r->g->outputs.p[i].label, grun_result(r, i)))
            return false;
    for (size_t i = 0; i < r->g->shared.n; i++) {
        Var v = r->g->shared.p[i];
        if (graph_update(r->g, v) == VAR_NONE) continue;
        const Value *now = vm_shared(r->m, i);
        if (!now || !add_value(r, out, "shared", var_name(r->g, v), now)) return false;
    }
    return true;
}

/* ---- writing ---- */
static void put_lines(const Lines *lines, Str *out) {
    JsonWriter w = {.out = out};
    const char *group = "";
    size_t ngroup = 0;
    json_open(&w, '{');
    for (size_t i = 0; i < lines->n; i++) {
        const char *key = lines->p[i].key, *slash = strchr(key, '/');
        size_t n = slash ? (size_t)(slash - key) : 0;
        if (n != ngroup || strncmp(key, group, n) != 0) {
            if (ngroup) json_close(&w, "\n  }");
            group = key;
            ngroup = n;
            if (n) {
                char name[16] = "";
                memcpy(name, key, n < sizeof name ? n : sizeof name - 1);
                json_line(&w, "  ");
                json_put_key(&w, name);
                json_open(&w, '{');
            }
        }
        json_line(&w, n ? "    " : "  ");
        json_member(&w, n ? slash + 1 : key, lines->p[i].value);
    }
    if (ngroup) json_close(&w, "\n  }");
    json_close(&w, "\n}");
    str_putc(out, '\n');
}

static bool write_receipt(GraphRun *r, const Lines *lines) {
    Str text = STR(r->s);
    put_lines(lines, &text);
    Writer *w = writer_open(r->s, r->spec->receipt);
    bool ok = w && writer_add(w, str_text(&text), text.n);
    ok = w && (ok ? writer_commit(w) : (writer_abort(w), false));
    str_free(&text);
    return ok;
}

/* ---- comparing ---- */
static bool may_differ(const char *key) {
    return strcmp(key, "version") == 0 || strcmp(key, "cpu_level") == 0;
}

static void note_machine(GraphRun *r, const char *key, const char *here) {
    const char *there = receipt_get(r->spec->verify, key);
    if (there && strcmp(there, here) != 0)
        note(r->s, NOWHERE, "%s is %s here, and %s in the receipt", key, here, there);
}

static bool fail_line(GraphRun *r, const Lines *lines, const char *key,
                      const char *here, const char *there) {
    fail(r->s, NOWHERE, E_VERDICT, "%s: %s is %s here, but %s in the receipt",
         r->spec->verify->path, key, here ? here : "missing",
         there ? there : "missing");
    for (size_t i = 0; i < lines->n; i++)
        if (may_differ(lines->p[i].key))
            note_machine(r, lines->p[i].key, lines->p[i].value);
    return false;
}

static const char *find_line(const Lines *lines, const char *key) {
    for (size_t i = 0; i < lines->n; i++)
        if (strcmp(lines->p[i].key, key) == 0) return lines->p[i].value;
    return NULL;
}

static bool compare_lines(GraphRun *r, const Lines *lines) {
    const Receipt *q = r->spec->verify;
    for (size_t i = 0; i < lines->n; i++) {
        const ReceiptLine *x = &lines->p[i];
        const char *there = receipt_get(q, x->key);
        if (!may_differ(x->key) && (!there || strcmp(there, x->value) != 0))
            return fail_line(r, lines, x->key, x->value, there);
    }
    for (size_t i = 0; i < q->n; i++)
        if (!find_line(lines, q->line[i].key))
            return fail_line(r, lines, q->line[i].key, NULL, q->line[i].value);
    return true;
}

bool grun_receipt(GraphRun *r) {
    if (!r->spec->receipt && !r->spec->verify) return true;
    Lines lines = {0};
    add_settings(r, &lines);
    Sha256 x;
    char hex[SHA256_HEX + 1];
    bool graph = digest_graph(r->spec->saved ? r->spec->saved : r->g, &x, hex);
    add_text(r, &lines, "graph", graph ? arena_printf(r->a, "sha256:%s", hex) : NULL);
    bool ok = graph && add_values(r, &lines) &&
              (!r->spec->receipt || write_receipt(r, &lines)) &&
              (!r->spec->verify || compare_lines(r, &lines));
    vec_free(&lines);
    return ok;
}
