/* --part: which inputs are cut, whether the outputs can be put together again, and the
 * head of a part's files. */
#include "tools/grun/part.h"

#include "tools/grun/digest.h"

#include <string.h>

enum { HEAD_VERSION = 1, HEAD_FIXED = 18, PARTS_MOST = 1 << 20 };

/* ---- the option ---- */

static const char *span_text(Session *s, Span at) {
    return source_get(s, at.source)->text + at.begin;
}

static bool read_count(const char **p, const char *end, int64_t *out) {
    int64_t v = 0;
    const char *from = *p;
    while (*p < end && **p >= '0' && **p <= '9' && v <= INT32_MAX)
        v = 10 * v + (*(*p)++ - '0');
    *out = v;
    return *p > from && v <= INT32_MAX;
}

bool grun_part_option(Session *s, Span text, Span *dim, int64_t *number, int64_t *of) {
    const char *p = span_text(s, text), *end = p + (text.end - text.begin);
    const char *eq = memchr(p, '=', (size_t)(end - p));
    *dim = (Span){text.source, text.begin, text.begin + (eq ? (uint32_t)(eq - p) : 0)};
    if (eq) p = eq + 1;
    bool ok = read_count(&p, end, number) && p < end && *p++ == '/' &&
              read_count(&p, end, of) && p == end && eq != span_text(s, text);
    if (!ok)
        return fail(s, text, E_USAGE,
                    "--part takes K/N, the K-th of N parts, or DIM=K/N");
    if (*of > PARTS_MOST)
        return fail(s, text, E_USAGE, "there may be %d parts at most", PARTS_MOST);
    return (*number >= 1 && *number <= *of) ||
           fail(s, text, E_USAGE,
                "there is no part %lld of %lld: parts have numbers from 1 to their "
                "number",
                (long long)*number, (long long)*of);
}

/* ---- which inputs ---- */

static Dim leading_dim(const GraphRun *r, size_t i) {
    const Type *t = var_type(r->g, r->g->inputs.p[i]);
    bool shaped = t->kind == TYPE_TENSOR || t->kind == TYPE_SPARSE;
    return shaped && t->ndim && dim_is_named(t->dim[0]) ? t->dim[0] : DIM_UNKNOWN;
}

static const char *input_name(const GraphRun *r, size_t i) {
    return sym_text(r->s, var_name(r->g, r->g->inputs.p[i]));
}

/* Does the command line give this input a value? */
static bool has_value(const GraphRun *r, size_t i) {
    const char *name = input_name(r, i);
    size_t n = strlen(name);
    for (size_t k = 0; k < r->spec->values.n; k++) {
        Span at, value;
        if (!value_split_name(r->s, r->spec->values.text[k], &at, &value)) continue;
        if (at.end - at.begin == n && memcmp(span_text(r->s, at), name, n) == 0)
            return true;
    }
    return false;
}

static bool fail_no_rows(GraphRun *r) {
    fail(r->s, r->spec->part_at, E_USAGE,
         "--part finds no rows: no input with a value has a named leading dim");
    return note(r->s, NOWHERE,
                "x: float32[n, 64] has rows; with --each, --part cuts the inputs that "
                "it names, whatever their dims");
}

static bool fail_many_dims(GraphRun *r) {
    Str list = STR(r->s);
    const char *first = NULL;
    for (size_t i = 0; i < r->g->inputs.n; i++) {
        Dim d = leading_dim(r, i);
        if (d == DIM_UNKNOWN || !has_value(r, i)) continue;
        if (!first) first = sym_text(r->s, dim_sym(d));
        str_printf(&list, "%s%s along %s", list.n ? ", " : "", input_name(r, i),
                   sym_text(r->s, dim_sym(d)));
    }
    fail(r->s, r->spec->part_at, E_USAGE,
         "--part could cut the rows of several dims: %s", str_text(&list));
    str_free(&list);
    return note(r->s, NOWHERE, "--part %s=%lld/%lld cuts those along %s", first,
                (long long)r->part.number, (long long)r->part.of, first);
}

/* The only named leading dim of inputs that have values. */
static bool find_dim(GraphRun *r, Dim *dim) {
    *dim = DIM_UNKNOWN;
    for (size_t i = 0; i < r->g->inputs.n; i++) {
        Dim d = leading_dim(r, i);
        if (d == DIM_UNKNOWN || !has_value(r, i) || d == *dim) continue;
        if (*dim != DIM_UNKNOWN) return fail_many_dims(r);
        *dim = d;
    }
    return *dim != DIM_UNKNOWN || fail_no_rows(r);
}

static bool name_dim(GraphRun *r, Span at, Dim *dim) {
    const char *p = span_text(r->s, at);
    Sym y = sym_find(r->s, p, at.end - at.begin);
    *dim = y ? DIM_NAMED(y) : DIM_UNKNOWN;
    for (size_t i = 0; y && i < r->g->inputs.n; i++)
        if (leading_dim(r, i) == *dim && has_value(r, i)) return true;
    return fail(r->s, at, E_UNKNOWN, "no input with a value has the leading dim %.*s",
                (int)(at.end - at.begin), p);
}

/* Where else the dim is, so that cutting it there, too, would need columns. */
static bool dim_is_free(GraphRun *r, Dim dim) {
    const char *name = sym_text(r->s, dim_sym(dim));
    for (size_t i = 0; i < r->g->inputs.n + r->g->shared.n; i++) {
        bool input = i < r->g->inputs.n;
        Var v = input ? r->g->inputs.p[i] : r->g->shared.p[i - r->g->inputs.n];
        const Type *t = var_type(r->g, v);
        bool shaped = t->kind == TYPE_TENSOR || t->kind == TYPE_SPARSE;
        for (int k = input; shaped && k < t->ndim; k++)
            if (t->dim[k] == dim)
                return fail(r->s, r->spec->part_at, E_SHAPE,
                            "--part can't cut %s: it is also axis %d of %s%s", name, k,
                            input ? "" : "the shared variable ",
                            sym_text(r->s, var_name(r->g, v)));
    }
    for (size_t i = 0; i < r->spec->ndim; i++) {
        Sym y;
        int64_t n;
        if (!dim_option(r->g, r->spec->dim[i], &y, &n)) return false;
        if (y == dim_sym(dim))
            return fail(r->s, r->spec->dim[i], E_USAGE,
                        "--dim gives the size of %s, which --part cuts", name);
    }
    return true;
}

/* ---- the outputs ---- */

static bool fail_output(GraphRun *r, const Output *out, const Part *p) {
    const char *label = sym_text(r->s, out->label);
    if (p->kind == PART_NONE) {
        const Graph *g = p->why.g;
        const Apply *ap = &g->apply[p->why.id];
        fail(r->s, g->origin[p->why.id].at, E_SHAPE,
             "%s can't be put together from parts: %s %s", label, ap->op->name,
             p->why.said);
    } else
        fail(r->s, NOWHERE, E_SHAPE, "%s can't be put together from parts: it is %s",
             label, part_text(r->a, p));
    return note(r->s, NOWHERE,
                "rows that depend on their own row alone can, and sums, means, "
                "products and extremes over rows; --outputs chooses other outputs");
}

static bool fail_effect(GraphRun *r, ApplyId id, const struct PartWhy *why) {
    const char *name = r->g->apply[id].op->name;
    bool own = why->g == r->g && why->id == id;
    return fail(r->s, r->g->origin[id].at, E_SHAPE,
                "%s can't run on a part of the rows: %s %s", name,
                own ? "it" : why->g->apply[why->id].op->name, why->said);
}

/* A check that looks at all rows would look at those of each part. */
static bool effects_are_apart(GraphRun *r, const Part *p) {
    for (size_t i = 0; i < r->g->effects.n; i++) {
        ApplyId id = r->g->effects.p[i];
        const Apply *ap = &r->g->apply[id];
        const Part *x = &p[ap->out];
        if (!ap->op->identity || x->kind != PART_NONE) continue;
        if (x->why.id == id && x->why.g == r->g) return fail_effect(r, id, &x->why);
        for (size_t k = 1; k < ap->nin; k++) {
            const Part *condition = &p[apply_in(r->g, id)[k]];
            if (condition->kind == PART_NONE)
                return fail_effect(r, id, &condition->why);
        }
    }
    return true;
}

bool grun_part_check_outputs(GraphRun *r, const bool *cut, const Part **out) {
    Part *p = part_graph(r->g, r->a, cut);
    *out = p;
    if (!p) return false;
    for (size_t i = 0; i < r->g->outputs.n; i++) {
        const Output *o = &r->g->outputs.p[i];
        if (!part_can_merge(&p[o->var])) return fail_output(r, o, &p[o->var]);
    }
    return effects_are_apart(r, p);
}

static bool fail_updates(GraphRun *r) {
    fail(r->s, r->spec->part_at, E_USAGE,
         "the graph has updates, which a part of the rows can't make for all");
    return note(r->s, NOWHERE, "--no-updates leaves the shared variables as they are");
}

static bool results_have_room(GraphRun *r) {
    for (size_t i = 0; i < r->spec->nresult; i++) {
        Span name, file;
        if (!grun_split_result(r->s, r->spec->result[i], &name, &file)) return false;
        const char *path =
            arena_str(r->a, span_text(r->s, file), file.end - file.begin);
        ValueForm f = value_form_of(path);
        if (f == VALUE_NPZ || f == VALUE_SAFETENSORS || f == VALUE_JSON) continue;
        fail(r->s, file, E_USAGE, "%s can't say which part of the results it holds",
             path);
        return note(r->s, NOWHERE, "--part writes .npz, .safetensors or .json");
    }
    return true;
}

bool grun_open_part(GraphRun *r) {
    Span name;
    Dim dim;
    const Part *p;
    RunPart *part = &r->part;
    if (!r->spec->part) return true;
    if (!grun_part_option(r->s, r->spec->part_at, &name, &part->number, &part->of))
        return false;
    if (r->g->updates.n) return fail_updates(r);
    part->on = true;
    part->cut = NEW_N(r->a, r->g->inputs.n + 1, bool);
    part->rows = -1;
    for (size_t i = 0; i < r->g->outputs.n; i++)
        if (r->g->outputs.p[i].label == sym(r->s, PART_NAME))
            return fail(r->s, r->spec->part_at, E_DUPLICATE,
                        "the output " PART_NAME " has the name of what says which part "
                        "a file holds");
    if (!results_have_room(r)) return false;
    if (r->spec->series.each) {
        if (name.end > name.begin)
            return fail(r->s, name, E_USAGE, "--each says already which rows are cut");
        return true;
    }
    if (!(name.end > name.begin ? name_dim(r, name, &dim) : find_dim(r, &dim)) ||
        !dim_is_free(r, dim))
        return false;
    for (size_t i = 0; i < r->g->inputs.n; i++) {
        part->cut[i] = leading_dim(r, i) == dim;
        if (part->cut[i] && var_type(r->g, r->g->inputs.p[i])->kind == TYPE_SPARSE)
            return fail(r->s, r->spec->part_at, E_TYPE,
                        "%s is sparse, but --part cuts dense arrays only",
                        input_name(r, i));
    }
    return grun_part_check_outputs(r, part->cut, &p);
}

/* ---- rows ---- */

ValueRows grun_part_rows(const GraphRun *r) {
    const Series *q = &r->spec->series;
    return (ValueRows){.part = r->part.number - 1,
                       .of = r->part.of,
                       .unit = q->each && q->batch ? q->batch : 1,
                       .full = q->drop_last};
}

bool grun_note_rows(GraphRun *r, size_t i, const ValueRows *rows) {
    RunPart *part = &r->part;
    if (part->rows >= 0 && part->rows != rows->rows)
        return fail(r->s, r->spec->part_at, E_SHAPE,
                    "%s has %lld rows, but %s has %lld", part->first,
                    (long long)part->rows, input_name(r, i), (long long)rows->rows);
    part->rows = rows->rows;
    part->begin = rows->begin;
    part->end = rows->end;
    part->empty = rows->units && rows->begin == rows->end;
    part->first = input_name(r, i);
    return true;
}

/* ---- heads ---- */

bool grun_part_graph_digest(const Graph *g, uint32_t digest[8]) {
    Sha256 x;
    char hex[SHA256_HEX + 1];
    if (!digest_graph(g, &x, hex)) return false;
    memcpy(digest, x.h, sizeof x.h);
    return true;
}

static bool hash_value(GraphRun *r, Xxh64 *h, const char *name, const Value *v) {
    const char *digest = digest_value(r->s, r->a, v);
    hash_xxh64_add(h, name, strlen(name) + 1);
    if (digest) hash_xxh64_add(h, digest, strlen(digest));
    return digest != NULL;
}

bool grun_note_shared(GraphRun *r, const char *name, const Value *v) {
    Xxh64 h;
    if (!r->part.on) return true;
    hash_xxh64_init(&h, 0);
    if (!hash_value(r, &h, name, v)) return false;
    r->part.shared ^= hash_xxh64_end(&h); /* in any order */
    return true;
}

/* The graph as it runs, how it is cut, and all values that aren't. */
static bool hash_run(GraphRun *r, uint64_t *out) {
    Sha256 x;
    char hex[SHA256_HEX + 1];
    Xxh64 h;
    const Series *q = &r->spec->series;
    int64_t how[] = {q->each != NULL, q->batch, q->drop_last, r->spec->seed,
                     (int64_t)r->part.shared};
    bool ok = digest_graph(r->g, &x, hex);
    hash_xxh64_init(&h, 0);
    hash_xxh64_add(&h, how, sizeof how);
    hash_xxh64_add(&h, hex, sizeof hex);
    for (size_t i = 0; ok && i < r->g->inputs.n; i++)
        if (r->feed[i].given && !r->part.cut[i])
            ok = hash_value(r, &h, input_name(r, i), &r->feed[i].value);
    *out = hash_xxh64_end(&h);
    return ok;
}

static bool head_of_run(GraphRun *r, PartHead *h) {
    const RunPart *part = &r->part;
    *h = (PartHead){.number = part->number,
                    .of = part->of,
                    .begin = part->begin,
                    .end = part->end,
                    .rows = part->rows,
                    .each = r->spec->series.each != NULL,
                    .cut = NEW_N(r->a, r->g->inputs.n + 1, size_t)};
    for (size_t i = 0; i < r->g->inputs.n; i++)
        if (part->cut[i]) h->cut[h->ncut++] = i;
    return hash_run(r, &h->run) &&
           grun_part_graph_digest(r->spec->saved ? r->spec->saved : r->g, h->graph);
}

bool grun_part_head(GraphRun *r, Value *out) {
    PartHead h;
    *out = (Value){.kind = TYPE_TENSOR};
    return head_of_run(r, &h) && grun_part_head_tensor(r, &h, &out->t);
}

bool grun_part_head_tensor(GraphRun *r, const PartHead *h, Tensor *out) {
    int64_t n = HEAD_FIXED + (int64_t)h->ncut;
    if (!tensor_new(r->s, DT_INT64, 1, &n, out)) return false;
    int64_t *to = out->data;
    const int64_t fixed[] = {HEAD_VERSION,
                             h->number,
                             h->of,
                             h->begin,
                             h->end,
                             h->rows,
                             h->each,
                             0,
                             (int64_t)(h->run >> 32),
                             (int64_t)(uint32_t)h->run};
    memcpy(to, fixed, sizeof fixed);
    for (size_t i = 0; i < 8; i++)
        to[10 + i] = h->graph[i];
    for (size_t i = 0; i < h->ncut; i++)
        to[HEAD_FIXED + i] = (int64_t)h->cut[i];
    return true;
}

bool grun_part_fail_head(Session *s, const char *path) {
    return fail(s, NOWHERE, E_FORMAT, "%s: its " PART_NAME " says nothing of a part",
                path);
}

static bool head_is_sound(const PartHead *h) {
    return h->of >= 1 && h->of <= PARTS_MOST && h->number >= 1 && h->number <= h->of &&
           h->begin >= 0 && h->begin <= h->end && h->end <= h->rows;
}

bool grun_part_head_read(Session *s, Arena *a, const char *path, const Tensor *t,
                         PartHead *out) {
    int64_t n = t->ndim == 1 && t->dtype == DT_INT64 ? t->shape[0] : 0;
    if (n >= 1 && tensor_i64(t, 0) > HEAD_VERSION)
        return fail(s, NOWHERE, E_VERSION, "%s: a newer form of parts", path);
    *out = (PartHead){0};
    if (n < HEAD_FIXED) return grun_part_fail_head(s, path);
    int64_t v[HEAD_FIXED];
    for (int64_t i = 0; i < HEAD_FIXED; i++)
        v[i] = tensor_i64(t, i);
    *out = (PartHead){.number = v[1],
                      .of = v[2],
                      .begin = v[3],
                      .end = v[4],
                      .rows = v[5],
                      .each = v[6] != 0,
                      .run = (uint64_t)v[8] << 32 | (uint32_t)v[9],
                      .ncut = (size_t)(n - HEAD_FIXED)};
    for (size_t i = 0; i < 8; i++)
        out->graph[i] = (uint32_t)v[10 + i];
    out->cut = NEW_N(a, out->ncut + 1, size_t);
    for (size_t i = 0; i < out->ncut; i++)
        out->cut[i] = (size_t)tensor_i64(t, HEAD_FIXED + (int64_t)i);
    return head_is_sound(out) || grun_part_fail_head(s, path);
}
