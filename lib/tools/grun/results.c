/* Writes outputs to files (-r) and to standard output, as text, JSON lines, npy or
 * TSV. */
#include "tools/grun/part.h"
#include "value/class.h"
#include "value/file/file.h"
#include "value/file/json.h"

#include <string.h>

bool grun_goes_to_file(const GraphRun *r, size_t output) {
    for (size_t i = 0; i < r->result.n; i++)
        if (r->result.p[i].output == output) return true;
    return false;
}

static bool is_printed(const GraphRun *r, size_t output) {
    return output + r->spec->nhidden < r->g->outputs.n && !grun_goes_to_file(r, output);
}

size_t grun_output(const GraphRun *r, Sym label) {
    size_t i = 0;
    while (i < r->g->outputs.n && r->g->outputs.p[i].label != label)
        i++;
    return i;
}

static bool check_format(GraphRun *r) {
    size_t n = 0;
    for (size_t i = 0; i < r->g->outputs.n; i++)
        n += is_printed(r, i);
    for (size_t i = 0; i < r->g->outputs.n && r->spec->format == RESULT_NPY; i++) {
        const Output *out = &r->g->outputs.p[i];
        const Type *t = var_type(r->g, out->var);
        if (!is_printed(r, i) || t->kind == TYPE_TENSOR) continue;
        fail(r->s, NOWHERE, E_USAGE, "npy holds arrays, but %s is %s",
             sym_text(r->s, out->label), type_str(r->s, t));
        return note(r->s, NOWHERE, "use -O text or -O json");
    }
    if (r->spec->format == RESULT_NPY && n != 1) {
        fail(r->s, NOWHERE, E_USAGE, "npy on standard output takes one output, not %zu",
             n);
        return note(r->s, NOWHERE,
                    "choose one with --outputs, or use -r NAME=FILE.npz");
    }
    return true;
}

/* Checked before the run, which may take long. */
static bool check_paths(GraphRun *r) {
    for (size_t i = 0; i < r->result.n; i++) {
        size_t n = 0;
        for (size_t k = 0; k < r->result.n; k++)
            n += strcmp(r->result.p[k].path, r->result.p[i].path) == 0;
        n += r->part.on;
        if (!values_check_path(r->s, r->result.p[i].path, n)) return false;
    }
    return true;
}

/* The outputs that a name of -r means. `*` is those that would be printed. */
static bool find_results(GraphRun *r, const char *text, Span name, Outputs *found) {
    if (!grun_is_all(r->s, name))
        return names_find_outputs(r->g, text, name.end - name.begin, name, found);
    for (size_t i = 0; i + r->spec->nhidden < r->g->outputs.n; i++)
        vec_push(r->s, found, r->g->outputs.p[i]);
    return true;
}

bool grun_open_results(GraphRun *r) {
    for (size_t i = 0; i < r->spec->nresult; i++) {
        Span name, file, at = r->spec->result[i];
        if (!grun_split_result(r->s, at, &name, &file)) return false;
        const char *text = source_get(r->s, at.source)->text;
        const char *path = grun_ranks_path(
            r, arena_str(r->a, text + file.begin, file.end - file.begin));
        Outputs found = {0};
        bool ok = find_results(r, text + name.begin, name, &found);
        for (size_t k = 0; k < found.n; k++) {
            Sym label = found.p[k].label;
            vec_push(r->s, &r->result, ((Result){label, path, grun_output(r, label)}));
        }
        vec_free(&found);
        if (!ok) return false;
    }
    return check_paths(r) && check_format(r);
}

/* Results that name the same file share it. A part of a run says so; without rows, that
 * is all. */
static bool write_files(GraphRun *r, const Value *head) {
    NamedValue *part = NEW_N(r->a, r->result.n + 1, NamedValue);
    bool empty = r->part.on && r->part.empty;
    for (size_t i = 0; i < r->result.n; i++) {
        size_t n = 0;
        bool earlier = false;
        for (size_t k = 0; k < r->result.n; k++) {
            const Result *x = &r->result.p[k];
            if (strcmp(x->path, r->result.p[i].path) != 0) continue;
            earlier |= k < i;
            if (!empty)
                part[n++] = (NamedValue){sym_text(r->s, x->label),
                                         grun_collected(r, x->output)};
        }
        if (r->part.on) part[n++] = (NamedValue){PART_NAME, head};
        if (!earlier && !values_write(r->s, r->result.p[i].path, n, part)) return false;
    }
    return true;
}

bool grun_write_results(GraphRun *r) {
    Value head = {0};
    if (r->part.on && r->result.n && !grun_part_head(r, &head)) return false;
    bool ok = write_files(r, &head);
    value_unref(&head);
    return ok;
}

/* ---- printing ---- */
static bool put_result_text(GraphRun *r, Str *text) {
    bool ok = writer_add(r->out, str_text(text), text->n);
    str_free(text);
    return ok;
}

static bool prints_any(const GraphRun *r) {
    for (size_t i = 0; i < r->g->outputs.n; i++)
        if (is_printed(r, i)) return true;
    return false;
}

static void tsv_row(GraphRun *r, int64_t call, Str *out) {
    if (!prints_any(r)) return;
    if (!r->header) {
        if (r->spec->series.every) str_puts(out, "call\t");
        for (size_t i = 0, n = 0; i < r->g->outputs.n; i++)
            if (is_printed(r, i))
                str_printf(out, "%s%s", n++ ? "\t" : "",
                           sym_text(r->s, r->g->outputs.p[i].label));
        str_putc(out, '\n');
        r->header = true;
    }
    if (r->spec->series.every) str_printf(out, "%lld\t", (long long)call + 1);
    for (size_t i = 0, n = 0; i < r->g->outputs.n; i++) {
        if (!is_printed(r, i)) continue;
        if (n++) str_putc(out, '\t');
        value_text(r->s, grun_result(r, i), -1, out);
    }
    str_putc(out, '\n');
}

static void text_lines(GraphRun *r, Str *out) {
    for (size_t i = 0; i < r->g->outputs.n; i++) {
        if (!is_printed(r, i)) continue;
        const char *label = sym_text(r->s, r->g->outputs.p[i].label);
        const Value *v = grun_result(r, i);
        bool rows = v->kind == TYPE_TENSOR && v->t.ndim > 1;
        str_visible(out, label, strlen(label));
        str_puts(out, " = ");
        value_text(r->s, v, rows ? (int)strlen(label) + 3 : -1, out);
        str_putc(out, '\n');
    }
}

/* Checks that all printed outputs have a text form. */
static bool outputs_have_text(GraphRun *r) {
    for (size_t i = 0; i < r->g->outputs.n; i++) {
        if (!is_printed(r, i) || value_readable(r->s, grun_result(r, i), false))
            continue;
        return note(r->s, NOWHERE,
                    "it is the output %s; --outputs chooses other outputs",
                    sym_text(r->s, r->g->outputs.p[i].label));
    }
    return true;
}

bool grun_open_output(GraphRun *r) {
    if (!r->out)
        r->out = writer_open(r->s, r->spec->output ? grun_ranks_path(r, r->spec->output)
                                                   : "-");
    return r->out != NULL;
}

/* No label of an output looks like an option, as the key of the times does. */
static void answer_line(GraphRun *r, Str *out) {
    JsonWriter w = {.out = out};
    json_open(&w, '{');
    for (size_t i = 0; i < r->g->outputs.n; i++)
        if (is_printed(r, i))
            json_put_value(r->s, &w, sym_text(r->s, r->g->outputs.p[i].label),
                           grun_result(r, i));
    if (r->spec->time) grun_line_times(r, &w);
    json_close(&w, "}\n");
}

bool grun_report_results(GraphRun *r, int64_t call) {
    Str text = STR(r->s);
    if (!outputs_have_text(r)) return false;
    if (!grun_open_output(r)) return false;
    if (r->lines) {
        answer_line(r, &text);
        return put_result_text(r, &text) && writer_flush(r->out);
    }
    switch (r->spec->format) {
    case RESULT_TEXT:
        text_lines(r, &text);
        break;
    case RESULT_TSV:
        tsv_row(r, call, &text);
        break;
    case RESULT_JSON:
        for (size_t i = 0; i < r->g->outputs.n; i++) {
            if (!is_printed(r, i)) continue;
            JsonWriter json = {.out = &text};
            value_json(r->s, sym_text(r->s, r->g->outputs.p[i].label),
                       grun_result(r, i), &json);
            str_putc(&text, '\n');
        }
        break;
    case RESULT_NPY:
        for (size_t i = 0; i < r->g->outputs.n; i++)
            if (is_printed(r, i)) return npy_write(r->s, r->out, &grun_result(r, i)->t);
        break;
    }
    return put_result_text(r, &text) &&
           (!r->spec->series.every || writer_flush(r->out));
}
