/* Optimizers and schedules as text or JSON: --list-optimizers, --op, the manual. */
#include "optim/optim.h"
#include "tools/gload/list.h"

bool gload_list_optimizers(Session *s, bool json, Str *out) {
    OpFacts f = {.s = s, .out = out, .json = json, .w = {.out = out}};
    if (!io_read_shipped_optimizers(s)) return false;
    if (json) json_open(&f.w, '[');
    for (OptimKind k = OPTIM_OPTIMIZER; k <= OPTIM_SCHEDULE; k++)
        for (size_t i = 0; i < optim_count(s); i++) {
            const OptimRow *row = optim_get(s, i);
            ListEntry e = {row->name, NULL, row->doc, optim_kind_text(k)};
            if (row->kind == k) list_put_entry(&f, &e);
        }
    if (json) json_close(&f.w, "]\n");
    return true;
}

/* "name = expression when condition", as written. */
static void put_line(Session *s, const AstCase *line, Str *out) {
    const Ast *e = line->line;
    Span at = e->at;
    if (line->nwhen) at.end = line->when[line->nwhen - 1]->at.end;
    str_add(out, source_get(s, at.source)->text + at.begin, at.end - at.begin);
}

static void show_lines(OpFacts *f, const char *name, const OptimLines *l) {
    Str text = STR(f->s);
    for (size_t i = 0; i < l->n; i++) {
        if (i) str_putc(&text, '\n');
        put_line(f->s, &l->line[i], &text);
    }
    list_put_fact(f, name, str_text(&text));
    str_free(&text);
}

static void show_row(OpFacts *f, const OptimRow *row) {
    Session *s = f->s;
    Str signature = STR(s);
    optim_signature(s, row, &signature);
    list_put_head(f, row->name, str_text(&signature), row->doc);
    str_free(&signature);
    list_put_fact(f, "kind", optim_kind_text(row->kind));
    show_lines(f, "state", &row->state);
    show_lines(f, "common", &row->common);
    show_lines(f, "sums", &row->sums);
    show_lines(f, "let", &row->let);
    show_lines(f, "updates", &row->updates);
    if (row->schedule)
        list_put_fact(
            f, "value",
            arena_str(session_arena(s),
                      source_get(s, row->value.source)->text + row->value.begin,
                      row->value.end - row->value.begin));
    list_put_fact(f, "from", row->file);
    list_put_fact(f, "example", row->example);
    list_close_list(f);
    if (f->json) json_close(&f->w, "}\n");
}

bool gload_list_optimizer(OpFacts *f, const char *name, bool *any) {
    if (!io_read_shipped_optimizers(f->s)) return false;
    for (size_t i = 0; i < 2; i++) {
        const OptimRow *row = optim_find(f->s, name, i == 1);
        if (!row || (f->json && *any)) continue;
        if (f->out->n) str_putc(f->out, '\n');
        show_row(f, row);
        *any = true;
    }
    return true;
}

void gload_dump_optimizers(Session *s, Str *out) {
    static const char *const family[] = {"optimizers", "wrappers", "schedules"};
    if (!io_read_shipped_optimizers(s)) return;
    for (size_t i = 0; i < optim_count(s); i++) {
        const OptimRow *row = optim_get(s, i);
        ListEntry e = {row->name, NULL, row->doc, optim_kind_text(row->kind)};
        Str signature = STR(s);
        optim_signature(s, row, &signature);
        list_dump_function(out, family[row->kind], str_text(&signature), &e,
                           row->example);
        str_free(&signature);
    }
}
