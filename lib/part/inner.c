/* Ops with functions: calls, users' ops, branches and loops. */
#include "part/part_impl.h"
#include "scan/scan.h"
#include "userop/userop.h"

#include <string.h>

bool part_draw(PartCall *c) {
    return part_refuse(c, "draws numbers for all rows at once");
}

/* Output 0 is input 0. A condition on the rows of a part says nothing of the others
 * unless it holds row by row. */
bool part_pass(PartCall *c) {
    for (size_t i = 1; i < c->ap->nin; i++) {
        const Part *p = &c->x[i];
        bool rows = p->kind == PART_ROWS && !p->power;
        bool all = p->kind == PART_TERM && p->term == TERM_ALL;
        bool shape = p->kind == PART_SHAPE || p->power == 1;
        if (!part_is_same(p) && !rows && !all && !shape)
            return part_refuse(c, "checks or uses a value of all rows at once");
    }
    return part_set(c, c->x[0]);
}

bool part_call(PartCall *c) {
    const Graph *fn =
        c->ap->op->body ? userop_body(c->g, c->id) : op_called_function(c->g, c->ap);
    c->w->failed |= !fn;
    const Part *out =
        fn && fn->inputs.n == c->ap->nin ? part_function(c->w, fn, c->x) : NULL;
    if (!out) return part_refuse_rows(c);
    for (size_t k = 0; k < c->ap->nout; k++)
        c->out[k] = out[k];
    return true;
}

/* A value that is a in one case and b in the other. False: nothing that merges. */
static bool join_parts(const Part *a, const Part *b, Part *out) {
    if (a->zero && a->kind == PART_SAME && b->kind != PART_ROWS) return *out = *b, true;
    if (b->zero && b->kind == PART_SAME && a->kind != PART_ROWS) return *out = *a, true;
    if (a->kind != b->kind || a->axis != b->axis || a->term != b->term) return false;
    if (a->kind == PART_INDEX || a->kind == PART_SHAPE || a->kind == PART_NONE)
        return false;
    if (a->kind == PART_ROWS && a->each != b->each) return false;
    *out = a->zero ? *b : *a;
    out->zero = a->zero && b->zero;
    if (out->kind == PART_SAME) out->each = 0;
    return a->zero || b->zero || a->power == b->power;
}

bool part_ifelse(PartCall *c) {
    size_t n = c->ap->nout;
    if (!part_is_same(&c->x[0])) return part_refuse_rows(c);
    for (size_t k = 0; k < n; k++) {
        const Part *a = &c->x[1 + k], *b = &c->x[1 + n + k];
        if (join_parts(a, b, &c->out[k])) continue;
        if (a->kind + b->kind == PART_ROWS + PART_SAME)
            return part_refuse(c, "has rows in one of its cases only");
        return part_refuse_rows(c);
    }
    return true;
}

/* ---- loops ---- */

/* One row of what a loop walks along. */
static bool row_of(const Part *p, Part *out) {
    *out = *p;
    if (p->kind == PART_ROWS) return p->axis > 0 ? out->axis--, true : false;
    if (p->kind == PART_SAME) out->each = 0;
    return p->kind == PART_TERM || p->kind == PART_SAME;
}

static bool begin_states(const PartCall *c, const ScanForm *f, Part *in) {
    for (size_t o = 0; o < f->nout; o++) {
        const ScanOut *s = &f->out[o];
        Part first;
        if (!s->ntap) continue;
        if (scan_one_row(s))
            first = c->x[s->arg];
        else if (!row_of(&c->x[s->arg], &first))
            return false;
        if (first.kind == PART_SHAPE || first.kind == PART_INDEX) return false;
        if (first.kind == PART_SAME) first.each = 0;
        for (size_t k = 0; k < s->ntap; k++)
            in[s->in + k] = first;
    }
    return true;
}

/* A state is what it begins as and what each step makes of it. *changed: the step must
 * be looked at again. */
static bool feed_back(const ScanForm *f, const Part *made, Part *in, bool *changed) {
    for (size_t o = 0; o < f->nout; o++) {
        const ScanOut *s = &f->out[o];
        Part both;
        if (!s->ntap) continue;
        if (!join_parts(&in[s->in], &made[o], &both)) return false;
        Part *now = &in[s->in];
        *changed |= both.kind != now->kind || both.power != now->power ||
                    both.zero != now->zero;
        for (size_t k = 0; k < s->ntap; k++)
            in[s->in + k] = both;
    }
    return true;
}

enum { LOOP_ROUNDS = 8 };

static const Part *find_step(const PartCall *c, const ScanForm *f, Part *in) {
    bool changed = true;
    const Part *made = NULL;
    for (int round = 0; changed; round++) {
        changed = false;
        if (round == LOOP_ROUNDS) return NULL;
        made = part_function(c->w, f->fn, in);
        if (!made || !feed_back(f, made, in, &changed)) return NULL;
    }
    return made;
}

/* The rows of the parts lie across the steps: each step has some of all rows. */
static bool scan_across(PartCall *c, const ScanForm *f, Part *in) {
    if (!part_is_same(&c->x[0]) || f->fn->until != VAR_NONE) return false;
    for (size_t i = 0; i < f->nseq; i++)
        for (size_t k = 0; k < f->seq[i].ntap; k++)
            if (!row_of(&c->x[f->seq[i].arg], &in[f->seq[i].in + k])) return false;
    for (size_t i = 0; i < f->nother; i++)
        in[f->other_in + i] = c->x[f->other_arg + i];
    if (!begin_states(c, f, in)) return false;
    const Part *made = find_step(c, f, in);
    if (!made) return false;
    for (size_t o = 0; o < f->nout; o++) {
        const ScanOut *s = &f->out[o];
        c->out[o] = s->ntap ? in[s->in] : made[o];
        if (c->out[o].kind == PART_INDEX || c->out[o].kind == PART_SHAPE) return false;
        c->out[o].axis += c->out[o].kind == PART_ROWS && s->keep != SCAN_LAST;
        if (c->out[o].kind == PART_SAME) c->out[o].each = 0;
    }
    return true;
}

/* Each step has one row, and nothing of another. */
static bool scan_along(PartCall *c, const ScanForm *f) {
    if (!part_is_count(&c->x[0]) || f->fn->until != VAR_NONE) return false;
    for (size_t i = 0; i < f->nseq; i++) {
        const Part *p = &c->x[f->seq[i].arg];
        if (p->kind != PART_ROWS || p->axis || p->power || p->each != c->x[0].each ||
            f->seq[i].ntap != 1 || f->seq[i].tap[0])
            return false;
    }
    for (size_t o = 0; o < f->nout; o++)
        if (f->out[o].ntap || f->out[o].keep != SCAN_ALL) return false;
    for (size_t i = 0; i < f->nother; i++)
        if (!part_is_same(&c->x[f->other_arg + i])) return false;
    return part_set(c, (Part){.kind = PART_ROWS, .each = c->x[0].each});
}

/* Because of what its step refuses, if that was found. */
static bool refuse_loop(PartCall *c, const Graph *fn) {
    for (size_t i = 0; i < c->w->memo.n; i++) {
        const PartMemo *m = &c->w->memo.p[i];
        for (size_t k = 0; m->fn == fn && m->out && k < fn->outputs.n; k++)
            if (m->out[k].kind == PART_NONE) return part_set(c, m->out[k]), false;
    }
    return part_refuse_rows(c);
}

bool part_scan(PartCall *c) {
    ScanForm f = scan_form_of(c->g, c->id, c->w->a);
    Part *in = NEW_N(c->w->a, f.nin + 1, Part);
    if (!f.fn || f.fn->inputs.n != f.nin) return part_refuse_rows(c);
    return scan_along(c, &f) || scan_across(c, &f, in) || refuse_loop(c, f.fn);
}
