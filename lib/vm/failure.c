/* Explains a failed run beyond the Apply's own error: the rewrite or derivation that
 * made the Apply, the readers of its results, and the results of the graph that depend
 * on it. */
#include "vm/vm_impl.h"

#include <string.h>

enum { SHOWN = 4 };

/* Builds "a, b and 3 more". */
typedef struct NameList {
    Str text;
    size_t n, all;
    const char *last;
} NameList;

static void list_name(NameList *w, const char *kind, const char *name) {
    w->all++;
    if (w->n == SHOWN) return;
    if (w->n) str_puts(&w->text, ", ");
    if (!w->last || strcmp(kind, w->last) != 0) str_puts(&w->text, kind);
    w->last = kind;
    str_puts(&w->text, name);
    w->n++;
}

static void end_names(NameList *w) {
    if (w->all > w->n) str_printf(&w->text, " and %zu more", w->all - w->n);
}

/* ---- origin ---- */
static void note_maker(Machine *m, Origin from) {
    if (!from.rule) return;
    const char *rule = sym_text(m->s, from.rule);
    if (strstr(rule, " of ")) {
        note(m->s, NOWHERE, "it is part of the %s", rule);
        return;
    }
    note(m->s, NOWHERE, "the rewrite %s created it", rule);
    Machine *top = m;
    while (top->outer)
        top = top->outer;
    if (!top->blame) top->blame = from.rule;
}

/* ---- readers ---- */
static bool reads_reached(const Plan *p, const Ins *in, const uint8_t *reached) {
    for (uint32_t k = 0; k < in->nin; k++)
        if (reached[p->arg[in->arg + k]]) return true;
    return false;
}

static void mark_step_results(const Plan *p, const Ins *in, uint8_t *reached) {
    for (uint32_t j = 0; j < in->nout; j++)
        reached[p->arg[in->arg + in->nin + j]] = 1;
}

static void list_readers(const Plan *p, const uint8_t *reached, NameList *out) {
    for (uint32_t i = 0; i < p->nins; i++) {
        const Ins *in = &p->ins[i];
        const char *name = p->g->apply[in->apply].op->name;
        if (in->kind == PLAN_CALL || in->kind == PLAN_FUSED)
            name = sym_text(p->s, in->fn->name);
        if (reads_reached(p, in, reached)) list_name(out, "", name);
    }
    end_names(out);
}

static bool is_reached(const Plan *p, const uint8_t *reached, Var v) {
    uint32_t c = plan_cell(p, v);
    return c != NONE && reached[c];
}

static void list_results(const Plan *p, uint8_t *reached, NameList *out) {
    const Graph *g = p->g;
    for (uint32_t i = 0; i < p->nins; i++)
        if (reads_reached(p, &p->ins[i], reached))
            mark_step_results(p, &p->ins[i], reached);
    for (size_t i = 0; i < g->outputs.n; i++)
        if (is_reached(p, reached, g->outputs.p[i].var))
            list_name(out, "output ", sym_text(p->s, g->outputs.p[i].label));
    for (size_t i = 0; i < g->updates.n; i++)
        if (is_reached(p, reached, g->updates.p[i].value))
            list_name(out, "the update of ",
                      sym_text(p->s, var_leafrec(g, g->updates.p[i].shared)->name));
    for (size_t i = 0; i < g->effects.n; i++) {
        const Apply *a = &g->apply[g->effects.p[i]];
        if (is_reached(p, reached, a->out)) list_name(out, "the effect ", a->op->name);
    }
    end_names(out);
}

static void note_clients(Machine *m, const Ins *in) {
    const Plan *p = m->p;
    NameList reader = {.text = STR(m->s)}, result = {.text = STR(m->s)};
    uint8_t *reached = mem_zalloc(m->s, p->ncell, 1);
    mark_step_results(p, in, reached);
    list_readers(p, reached, &reader);
    if (!p->o.only_want && p->g->main == p->g) list_results(p, reached, &result);
    if (reader.n)
        note(m->s, NOWHERE, "its result is read by %s", str_text(&reader.text));
    if (result.n) note(m->s, NOWHERE, "it is needed for %s", str_text(&result.text));
    mem_free(reached);
    str_free(&reader.text);
    str_free(&result.text);
}

/* Where time runs out is arbitrary, and not the fault of the Apply's origin. */
bool step_failed(Machine *m, uint32_t step) {
    if (atomic_load(session_expired(m->s)) || session_is_hushed(m->s)) return false;
    const Ins *in = &m->p->ins[step];
    note_maker(m, m->p->g->origin[in->apply]);
    note_clients(m, in);
    return false;
}

const char *vm_blamed(const Machine *m) {
    return m->blame ? sym_text(m->s, m->blame) : NULL;
}
