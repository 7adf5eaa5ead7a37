/* gload --info: the contents of a graph or of a file of arrays, as a table or as
 * JSON. */
#include "format/json.h"
#include "lang/print/print.h"
#include "tools/tools.h"
#include "value/class.h"
#include "value/file/file.h"

#include <stdlib.h>
#include <string.h>

/* A row: section, name, and a description. */
typedef struct InfoTable {
    Session *s;
    Graph *g; /* NULL: a file of arrays */
    bool json;
    Str *out;
    JsonWriter w;
    const char *section;
} InfoTable;

static void put_info_row(InfoTable *f, const char *section, const char *name,
                         const char *fmt, ...) __attribute__((format(printf, 4, 5)));
static void put_info_row(InfoTable *f, const char *section, const char *name,
                         const char *fmt, ...) {
    Str text = STR(f->s);
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&text, fmt, ap);
    va_end(ap);
    if (f->json) {
        json_line(&f->w, "  ");
        json_open(&f->w, '{');
        json_member(&f->w, "section", section);
        json_member(&f->w, "name", name);
        json_put_key(&f->w, "text");
        json_put_n(&f->w, str_text(&text), text.n);
        json_close(&f->w, "}");
    } else {
        bool first = !f->section || strcmp(f->section, section) != 0;
        str_printf(f->out, "%-10s ", first ? section : "");
        str_visible(f->out, name, strlen(name));
        for (size_t n = strlen(name); n < 16; n++)
            str_putc(f->out, ' ');
        str_puts(f->out, *name ? " " : "");
        str_visible(f->out, str_text(&text), text.n);
        str_putc(f->out, '\n');
    }
    f->section = section;
    str_free(&text);
}

static const char *shown_name(const Graph *g, Var v) {
    Sym y = var_name(g, v);
    return y ? sym_text(g->s, y) : "(anonymous)";
}

/* A shared variable's initial value; shown in full if it is a short non-array. */
static void state_text(Session *s, const Type *t, const Leaf *leaf, Str *out) {
    enum { SHOWN = 60 };
    bool value = value_has_data(leaf->value) && leaf->value->kind == t->kind;
    if (leaf->init != VAR_NONE) {
        str_puts(out, "initial expression");
        return;
    }
    str_puts(out, value ? "value" : "no value");
    Str text = STR(s);
    if (value && t->kind != TYPE_TENSOR && print_value(s, t, leaf->value, SHOWN, &text))
        str_printf(out, " %s", str_text(&text));
    str_free(&text);
}

static void info_interface(InfoTable *f) {
    Graph *g = f->g;
    Session *s = g->s;
    Arena *a = arena_new(s);
    VarList dim = graph_free_dims(g, a);
    for (size_t i = 0; i < dim.n; i++)
        put_info_row(f, "dims", sym_text(s, var_name(g, dim.p[i])), "%s", "");
    arena_free(a);
    for (size_t i = 0; i < g->inputs.n; i++)
        put_info_row(f, "inputs", shown_name(g, g->inputs.p[i]), "%s",
                     type_str(s, var_type(g, g->inputs.p[i])));
    for (size_t i = 0; i < g->shared.n; i++) {
        const Leaf *leaf = var_leafrec(g, g->shared.p[i]);
        Str state = STR(s);
        state_text(s, var_type(g, g->shared.p[i]), leaf, &state);
        put_info_row(f, "shared", shown_name(g, g->shared.p[i]), "%s, %s%s",
                     type_str(s, var_type(g, g->shared.p[i])), str_text(&state),
                     graph_update(g, g->shared.p[i]) != VAR_NONE ? ", updated" : "");
        str_free(&state);
    }
    for (size_t i = 0; i < g->outputs.n; i++)
        put_info_row(f, "outputs", sym_text(s, g->outputs.p[i].label), "%s",
                     type_str(s, var_type(g, g->outputs.p[i].var)));
    for (size_t i = 0; i < g->effects.n; i++) {
        Str text = STR(s);
        print_apply(g, g->effects.p[i], &text);
        put_info_row(f, "effects", g->apply[g->effects.p[i]].op->name, "%s",
                     str_text(&text));
        str_free(&text);
    }
    for (size_t i = 0; i < g->functions.n; i++)
        put_info_row(f, "functions", sym_text(s, g->functions.p[i]->name),
                     "%s, %s, %s%s",
                     str_counted(s, g->functions.p[i]->inputs.n, "input"),
                     str_counted(s, g->functions.p[i]->outputs.n, "output"),
                     str_counted(s, g->functions.p[i]->napply, "apply"),
                     g->functions.p[i]->fused ? ", fused" : "");
}

static int by_count(const void *a, const void *b) {
    const OpCount *x = a, *y = b;
    if (x->n != y->n) return x->n < y->n ? 1 : -1;
    return strcmp(x->op->name, y->op->name);
}

OpCount *graph_count_ops(const Graph *g, size_t *count) {
    Vec(OpCount) all = {0};
    Map place = MAP(g->s); /* op -> 1 + where it is */
    vec_reserve(g->s, &all, 1);
    for (ApplyId a = 0; a < g->napply; a++) {
        const Op *op = g->apply[a].op;
        uint64_t at = 0;
        if (!map_get(&place, (uintptr_t)op, &at)) {
            vec_push(g->s, &all, ((OpCount){op, 0}));
            map_put(&place, (uintptr_t)op, at = all.n);
        }
        all.p[at - 1].n++;
    }
    map_free(&place);
    qsort(all.p, all.n, sizeof *all.p, by_count);
    *count = all.n;
    return all.p;
}

static void info_ops(InfoTable *f) {
    size_t n;
    OpCount *c = graph_count_ops(f->g, &n);
    for (size_t i = 0; i < n; i++)
        put_info_row(f, "ops", c[i].op->name, "%u", c[i].n);
    mem_free(c);
}

static void info_sizes(InfoTable *f) {
    Graph *g = f->g;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < g->nleaf; i++)
        if (g->leaf[i].value && value_has_data(g->leaf[i].value))
            bytes += value_bytes(g->leaf[i].value);
    put_info_row(f, "sizes", "applies", "%u", g->napply);
    put_info_row(f, "sizes", "variables", "%u", g->nvar);
    put_info_row(f, "sizes", "value bytes", "%llu", (unsigned long long)bytes);
    for (size_t i = 0; i < g->modes.n; i++)
        put_info_row(f, "rewritten", sym_text(g->s, g->modes.p[i]), "%s", "");
    for (size_t i = 0; i < g->steps.n; i++)
        put_info_row(f, "provenance", g->steps.p[i].tool, "%s %s",
                     g->steps.p[i].version, g->steps.p[i].args);
}

bool graph_info(Graph *g, bool json, Str *out) {
    InfoTable f = {.s = g->s, .g = g, .json = json, .out = out, .w = {.out = out}};
    if (json) json_open(&f.w, '[');
    if (g->name)
        put_info_row(&f, "graph", sym_text(g->s, g->name), "%s", g->doc ? g->doc : "");
    info_interface(&f);
    info_ops(&f);
    info_sizes(&f);
    if (json) json_close(&f.w, "\n]\n");
    return true;
}

void model_info(Session *s, const ModelOverview *v, bool json, Str *out) {
    InfoTable f = {.s = s, .json = json, .out = out, .w = {.out = out}};
    if (json) json_open(&f.w, '[');
    put_info_row(&f, "model", v->name, "%s", v->producer);
    for (size_t i = 0; i < v->nop; i++)
        put_info_row(&f, "ops", v->op[i].name, "%u%s", v->op[i].count,
                     v->op[i].known ? "" : ", not known");
    put_info_row(&f, "sizes", "inputs", "%zu", v->ninput);
    put_info_row(&f, "sizes", "outputs", "%zu", v->noutput);
    put_info_row(&f, "sizes", "weights", "%zu", v->nweight);
    put_info_row(&f, "sizes", "value bytes", "%llu",
                 (unsigned long long)v->weight_bytes);
    if (json) json_close(&f.w, "\n]\n");
}

/* ---- files of arrays ---- */

static void put_array_json(InfoTable *f, const ValueInfo *v) {
    json_line(&f->w, "  ");
    json_open(&f->w, '{');
    json_member(&f->w, "section", "arrays");
    json_put_key(&f->w, "name");
    if (v->name)
        json_put(&f->w, v->name);
    else
        json_put_word(&f->w, "null");
    json_member(&f->w, "dtype", v->dtype);
    json_put_key(&f->w, "shape");
    json_put_ints(&f->w, (size_t)v->ndim, v->shape);
    json_put_key(&f->w, "bytes");
    json_put_int(&f->w, (int64_t)v->bytes);
    if (v->more) json_member(&f->w, "text", v->more);
    json_close(&f->w, "}");
}

/* "float32[64, 10], 2560 bytes" */
static void put_array_row(InfoTable *f, const ValueInfo *v) {
    Str text = STR(f->s);
    str_puts(&text, v->dtype);
    for (int i = 0; i < v->ndim; i++)
        str_printf(&text, "%s%lld%s", i ? ", " : "[", (long long)v->shape[i],
                   i + 1 < v->ndim ? "" : "]");
    if (v->bytes) str_printf(&text, ", %llu bytes", (unsigned long long)v->bytes);
    if (v->more) str_printf(&text, ", %s", v->more);
    put_info_row(f, "arrays", v->name ? v->name : "(one)", "%s", str_text(&text));
    str_free(&text);
}

static void put_file_row(InfoTable *f, const char *path, const ValueList *l) {
    if (l->notes.n)
        put_info_row(f, "file", path, "%s, %s of metadata", l->form,
                     str_counted(f->s, l->notes.n, "entry"));
    else
        put_info_row(f, "file", path, "%s", l->form);
}

bool values_info(Session *s, const char *path, bool json, Str *out) {
    InfoTable f = {.s = s, .json = json, .out = out, .w = {.out = out}};
    ValueList l;
    bool ok = value_list(s, path, NOWHERE, &l);
    if (ok && json) json_open(&f.w, '[');
    if (ok && !json) put_file_row(&f, path, &l);
    for (size_t i = 0; ok && i < l.notes.n; i++)
        put_info_row(&f, "metadata", l.notes.p[i].name, "%s", l.notes.p[i].text);
    for (size_t i = 0; ok && i < l.info.n; i++)
        (json ? put_array_json : put_array_row)(&f, &l.info.p[i]);
    if (ok && json) json_close(&f.w, "\n]\n");
    value_list_free(&l);
    return ok;
}
