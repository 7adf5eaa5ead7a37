/* --merge: the results of a run, put together from those of its parts. */
#include "tools/compare.h"
#include "tools/grun/part.h"
#include "value/file/file.h"

#include <string.h>

typedef struct PartFile {
    const char *path;
    PartHead head;
    ValueList list;
} PartFile;
typedef struct RunParts {
    Session *s;
    Arena *a;
    size_t n;
    PartFile *file;   /* as they are given */
    PartFile **first; /* by number of part, from 0: the first of its files */
} RunParts;

/* ---- opening ---- */

static bool holds(const PartFile *f, const char *name) {
    for (size_t i = 0; i < f->list.info.n; i++) {
        const char *own = f->list.info.p[i].name;
        if (own && strcmp(own, name) == 0) return true;
    }
    return false;
}

static bool open_file(RunParts *p, PartFile *f) {
    Tensor head;
    if (!value_list(p->s, f->path, NOWHERE, &f->list)) return false;
    if (!holds(f, PART_NAME)) {
        fail(p->s, NOWHERE, E_FORMAT, "%s: this is no part of a run", f->path);
        return note(p->s, NOWHERE,
                    "it has no array " PART_NAME ", which grun --part K/N -r "
                    "'*=FILE.npz' writes");
    }
    if (!array_read(p->s, f->path, PART_NAME, NOWHERE, &head)) return false;
    bool ok = grun_part_head_read(p->s, p->a, f->path, &head, &f->head);
    tensor_unref(&head);
    return ok;
}

static bool same_run(RunParts *p, const PartFile *f) {
    const PartFile *first = &p->file[0];
    const PartHead *a = &first->head, *b = &f->head;
    if (memcmp(a->graph, b->graph, sizeof a->graph) != 0)
        return fail(p->s, NOWHERE, E_VALUE,
                    "%s is a part of a run of another graph "
                    "than %s",
                    f->path, first->path);
    if (a->of != b->of)
        return fail(p->s, NOWHERE, E_VALUE,
                    "%s is one of %lld parts, but %s one of %lld", f->path,
                    (long long)b->of, first->path, (long long)a->of);
    if (a->rows != b->rows)
        return fail(p->s, NOWHERE, E_VALUE, "%s is a part of %lld rows, but %s of %lld",
                    f->path, (long long)b->rows, first->path, (long long)a->rows);
    if (a->run == b->run && a->each == b->each && a->ncut == b->ncut) return true;
    fail(p->s, NOWHERE, E_VALUE, "%s is a part of another run than %s", f->path,
         first->path);
    return note(p->s, NOWHERE,
                "their graph is the same, but other options or other values were "
                "given, or other outputs chosen");
}

/* "4, 7-9" of the parts without a file. */
static bool all_there(RunParts *p) {
    Str list = STR(p->s);
    int64_t of = p->file[0].head.of, missing = 0, shown = 0;
    for (int64_t k = 0; k < of; k++) {
        if (p->first[k]) continue;
        int64_t to = k;
        while (to + 1 < of && !p->first[to + 1])
            to++;
        if (shown++ < 8) {
            str_printf(&list, "%s%lld", list.n ? ", " : "", (long long)k + 1);
            if (to > k)
                str_printf(&list, "%s%lld", to > k + 1 ? "-" : ", ", (long long)to + 1);
        } else if (shown == 9)
            str_puts(&list, ", ...");
        missing += to - k + 1;
        k = to;
    }
    if (missing)
        fail(p->s, NOWHERE, E_MISSING, "part%s %s of %lld %s missing",
             missing > 1 ? "s" : "", str_text(&list), (long long)of,
             missing > 1 ? "are" : "is");
    str_free(&list);
    return !missing;
}

/* No result may come from two files. */
static bool none_twice(RunParts *p) {
    for (size_t i = 0; i < p->n; i++) {
        PartFile *f = &p->file[i], **first = &p->first[f->head.number - 1];
        if (!*first) {
            *first = f;
            continue;
        }
        for (size_t k = 0; k < i; k++) {
            const PartFile *e = &p->file[k];
            if (e->head.number != f->head.number) continue;
            for (size_t j = 0; j < f->list.info.n; j++) {
                const char *name = f->list.info.p[j].name;
                if (!name || strcmp(name, PART_NAME) == 0 || !holds(e, name)) continue;
                return fail(p->s, NOWHERE, E_DUPLICATE,
                            "%s and %s are both part %lld of %lld", e->path, f->path,
                            (long long)f->head.number, (long long)f->head.of);
            }
        }
    }
    return true;
}

RunParts *run_parts_open(Session *s, size_t n, const char *const *path) {
    RunParts *p = mem_zalloc(s, 1, sizeof *p);
    *p = (RunParts){.s = s, .a = arena_new(s)};
    p->file = NEW_N(p->a, n + 1, PartFile);
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        PartFile *f = &p->file[p->n++];
        f->path = path[i];
        ok = open_file(p, f) && same_run(p, f);
    }
    if (ok) p->first = NEW_N(p->a, (size_t)p->file[0].head.of, PartFile *);
    if (ok && none_twice(p) && all_there(p)) return p;
    run_parts_close(p);
    return NULL;
}

void run_parts_close(RunParts *p) {
    if (!p) return;
    for (size_t i = 0; i < p->n; i++)
        value_list_free(&p->file[i].list);
    arena_free(p->a);
    mem_free(p);
}

/* ---- the graph ---- */

/* An output for each result of the parts, in the order of the files. */
static bool take_labels(Graph *g, const RunParts *p) {
    Outputs found = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < p->n; i++)
        for (size_t j = 0; ok && j < p->file[i].list.info.n; j++) {
            const char *name = p->file[i].list.info.p[j].name;
            bool known = !name || strcmp(name, PART_NAME) == 0;
            Sym label = known ? 0 : sym(g->s, name);
            for (size_t k = 0; k < found.n; k++)
                known |= found.p[k].label == label;
            if (known) continue;
            Output o = {label, graph_output(g, label)};
            if (o.var == VAR_NONE)
                ok = names_find_var(g, name, strlen(name), NOWHERE, &o.var) ||
                     note(g->s, NOWHERE,
                          "%s has a result of that name; --reap and --plant are given "
                          "again, as to its run",
                          p->file[i].path);
            vec_push(g->s, &found, o);
        }
    g->outputs.n = 0;
    for (size_t i = 0; ok && i < found.n; i++)
        vec_push(g->s, &g->outputs, found.p[i]);
    vec_free(&found);
    graph_outputs_changed(g);
    return ok;
}

static bool graph_is_theirs(const Graph *g, const PartFile *f) {
    uint32_t digest[8];
    if (!grun_part_graph_digest(g, digest)) return false;
    if (memcmp(digest, f->head.graph, sizeof digest) == 0) return true;
    return fail(g->s, NOWHERE, E_VALUE, "%s is a part of a run of another graph",
                f->path);
}

Graph *graph_merged(Graph *g, RunSpec *q) {
    if (!graph_is_theirs(q->saved, &q->parts->file[0])) return NULL;
    Graph *made =
        graph_copy(g, ROOTS_RUN | ROOTS_INIT | ROOTS_NAMED, NULL, false, NULL);
    made->updates.n = 0;
    graph_updates_changed(made);
    q->nreaped = 0;
    Graph *chosen = take_labels(made, q->parts) ? graph_chosen(made, q) : NULL;
    if (chosen != made) graph_free(made);
    return chosen;
}

/* ---- merging ---- */

/* The results of an output, in the order of the parts, those without rows left out. */
typedef struct PartValues {
    GraphRun *r;
    const char *label;
    size_t n;
    const PartFile **file;
    Tensor *t;
    const Part *how; /* NULL: all are rows, of calls */
} PartValues;

static const char *text_of_shape(const PartValues *q, size_t i) {
    Str text = STR(q->r->s);
    str_puts(&text, dtype_name(q->t[i].dtype));
    shape_text(q->r->s, q->t[i].ndim, q->t[i].shape, &text);
    const char *made = arena_str(q->r->a, str_text(&text), text.n);
    str_free(&text);
    return made;
}

static int axis_of(const PartValues *q) {
    if (!q->how) return 0;
    return q->how->kind == PART_ROWS ? q->how->axis : -1;
}

/* Has piece i the dtype and shape of the first one, except for its rows? */
static bool piece_fits(const PartValues *q, size_t i, const Type *t) {
    const Tensor *a = &q->t[0], *b = &q->t[i];
    int axis = axis_of(q);
    bool ok = b->dtype == t->dtype && a->ndim == b->ndim && axis < b->ndim &&
              (!q->how || b->ndim == t->ndim);
    for (int k = 0; ok && k < a->ndim; k++)
        ok = k == axis || a->shape[k] == b->shape[k];
    const PartHead *h = &q->file[i]->head;
    if (ok && q->how && axis >= 0)
        ok = b->shape[axis] == (h->end - h->begin) * q->how->each;
    if (ok) return true;
    fail(q->r->s, NOWHERE, E_SHAPE,
         "%s: its %s is %s, which is not what part %lld gives", q->file[i]->path,
         q->label, text_of_shape(q, i), (long long)h->number);
    return i ? note(q->r->s, NOWHERE, "%s has %s", q->file[0]->path,
                    text_of_shape(q, 0))
             : note(q->r->s, NOWHERE, "the graph says %s", type_str(q->r->s, t));
}

static const PartFile *file_of(const RunParts *p, int64_t number, const char *label) {
    for (size_t i = 0; i < p->n; i++)
        if (p->file[i].head.number == number && holds(&p->file[i], label))
            return &p->file[i];
    return NULL;
}

static bool read_values(PartValues *q, const Type *t) {
    const RunParts *p = q->r->spec->parts;
    int64_t of = p->file[0].head.of;
    q->file = NEW_N(q->r->a, (size_t)of, const PartFile *);
    q->t = NEW_N(q->r->a, (size_t)of, Tensor);
    for (int64_t k = 0; k < of; k++) {
        const PartHead *h = &p->first[k]->head;
        const PartFile *f = file_of(p, k + 1, q->label);
        if (!f && h->begin == h->end && h->rows) continue;
        if (!f)
            return fail(q->r->s, NOWHERE, E_MISSING, "%s, part %lld of %lld, has no %s",
                        p->first[k]->path, (long long)k + 1, (long long)of, q->label);
        q->file[q->n] = f;
        if (!array_read(q->r->s, f->path, q->label, NOWHERE, &q->t[q->n])) return false;
        if (!piece_fits(q, q->n++, t)) return false;
    }
    return true;
}

/* What doesn't depend on the rows. */
static bool all_same(const PartValues *q) {
    for (size_t i = 1; i < q->n; i++) {
        int64_t where;
        Value a = {.kind = TYPE_TENSOR, .t = q->t[0]},
              b = {.kind = TYPE_TENSOR, .t = q->t[i]};
        if (compare_values(q->r->s, &a, &b, APPROX_DEFAULT, &where)) continue;
        fail(q->r->s, NOWHERE, E_VALUE,
             "%s has another %s than %s, although it doesn't depend on the rows",
             q->file[i]->path, q->label, q->file[0]->path);
        return compare_note(q->r->s, &a, "the first", &b, "this one", where);
    }
    return true;
}

static bool merge_output(GraphRun *r, const Part *parts, size_t k) {
    const Output *o = &r->g->outputs.p[k];
    const Type *t = var_type(r->g, o->var);
    PartValues q = {.r = r,
                    .label = sym_text(r->s, o->label),
                    .how = parts ? &parts[o->var] : NULL};
    Collected *c = &r->collected[k];
    const Part rows = {.kind = PART_ROWS, .each = 1};
    bool ok = read_values(&q, t);
    int64_t *size = NEW_N(r->a, q.n + 1, int64_t);
    for (size_t i = 0; i < q.n; i++)
        size[i] = q.file[i]->head.end - q.file[i]->head.begin;
    if (ok && q.how && q.how->kind == PART_SAME && !q.how->power) ok = all_same(&q);
    ok = ok && part_merge(r->s, q.how ? q.how : &rows, q.n, q.t, size, &c->all);
    for (size_t i = 0; i < q.n; i++)
        tensor_unref(&q.t[i]);
    c->any = true;
    c->rows = c->all.ndim ? c->all.shape[0] : 0;
    return ok;
}

/* Before what they are is asked. */
static bool have_outputs(GraphRun *r) {
    const RunParts *p = r->spec->parts;
    for (size_t k = 0; k < r->g->outputs.n; k++) {
        const char *label = sym_text(r->s, r->g->outputs.p[k].label);
        bool any = false;
        for (size_t i = 0; i < p->n; i++)
            any |= holds(&p->file[i], label);
        if (!any)
            return fail(r->s, NOWHERE, E_UNKNOWN, "the parts have no result %s", label);
    }
    return true;
}

/* What the outputs are, as --part has found it. */
static bool find_parts(GraphRun *r, const PartFile *f, const Part **out) {
    const PartHead *h = &f->head;
    *out = NULL;
    if (h->each) return true;
    bool *cut = NEW_N(r->a, r->g->inputs.n + 1, bool);
    for (size_t i = 0; i < h->ncut; i++) {
        if (h->cut[i] >= r->g->inputs.n) return grun_part_fail_head(r->s, f->path);
        cut[h->cut[i]] = true;
    }
    return grun_part_check_outputs(r, cut, out);
}

static bool merge_to_end(GraphRun *r) {
    const PartFile *first = &r->spec->parts->file[0];
    const Part *parts;
    if (!have_outputs(r) || !find_parts(r, first, &parts) || !grun_open_results(r))
        return false;
    r->collect = true;
    for (size_t k = 0; k < r->g->outputs.n; k++)
        if (!merge_output(r, parts, k)) return false;
    session_log(r->s, "put together %lld parts of %lld rows", (long long)first->head.of,
                (long long)first->head.rows);
    return grun_check_expected(r) && grun_write_results(r) &&
           grun_report_results(r, 0) && (!r->out || grun_commit(r));
}

bool graph_merge(Graph *g, const RunSpec *q) {
    GraphRun r;
    grun_begin(&r, g, q);
    bool ok = merge_to_end(&r);
    grun_end(&r);
    return ok;
}
