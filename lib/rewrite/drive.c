/* The driver. A sweep visits everything the roots need, inputs first, in the order in
 * which the last sweep left it. Once an Apply's inputs are done, it is re-interned if
 * any of them was replaced, then the entries for its op are tried; a replacement is
 * walked, with an explicit stack, before it counts as done. One sweep therefore reaches
 * the fixed point of every rule that looks only at inputs; another one is needed only
 * where a rule let a variable be for its clients, and these have gone since. A
 * replacement that would make a variable depend on itself shows up when the walk
 * returns to an Apply that is still open: the newest replacement on the stack is then
 * undone. */
#include "graph/replace.h"
#include "rewrite/rewrite_impl.h"

#include <math.h>
#include <string.h>

enum { PER_NODE = 8, SLACK = 256 };

/* ---- states ---- */

static unsigned seen_state(const Rewriter *r, ApplyId a) {
    return r->state[a] & SEEN;
}

static void set_seen(Rewriter *r, ApplyId a, unsigned s) {
    r->state[a] = (uint8_t)((r->state[a] & ~(unsigned)SEEN) | s);
}

static void set_done(Rewriter *r, ApplyId a) {
    set_seen(r, a, SEEN_DONE);
    vec_push(r->s, &r->order, a);
}

/* b replaces a, with a's current inputs: the uses counted for a move to b, once. */
static void inherit_uses(Rewriter *r, ApplyId a, ApplyId b) {
    if (!r->uses_matter || !(r->state[a] & COUNTED)) {
        rewriter_count(r, b);
        return;
    }
    if (r->state[b] & COUNTED) rewriter_release(r, a);
    r->state[a] &= (uint8_t)~COUNTED;
    r->state[b] |= COUNTED;
}

static void push_visit(Rewriter *r, ApplyId a) {
    set_seen(r, a, SEEN_OPEN);
    rewriter_count(r, a);
    vec_push(r->s, &r->stack, ((Visit){.a = a}));
}

/* ---- undoing ---- */

/* The walk came back to an Apply that is waiting for it: the newest replacement closes
 * a cycle. Drop it and leave its Apply unchanged for this stage. */
static void take_back_newest(Rewriter *r) {
    size_t k = r->stack.n;
    while (k > 0 && !r->stack.p[k - 1].waiting)
        k--;
    if (k == 0) bug("a graph depends on itself");
    for (size_t i = k; i < r->stack.n; i++)
        set_seen(r, r->stack.p[i].a, SEEN_NOT);
    r->stack.n = k - 1;
    ApplyId a = r->stack.p[k - 1].a;
    const Apply *p = &r->g->apply[a];
    for (Var v = p->out; v < p->out + p->nout; v++) {
        r->forward[v] = r->direct[v] = v;
        r->by[v] = 0;
    }
    r->state[a] |= FROZEN;
    r->loose = true;
    set_done(r, a);
}

/* ---- re-interning ---- */

static bool may_decide_types(const Type *t) {
    return t->kind != TYPE_TENSOR || (t->dtype == DT_INT64 && t->ndim <= 1);
}

/* Infers output types again after an input change; they stay the same unless the typing
 * rule may now know more. An error is left for the run to report. */
static void infer_types_again(Rewriter *r, ApplyId a, const Var *in, const Type **out) {
    const Apply *p = &r->g->apply[a];
    bool same = true;
    for (size_t i = 0; i < p->nin; i++) {
        Var old = apply_in(r->g, a)[i];
        const Type *t = var_type(r->g, in[i]);
        same &= in[i] == old || (t == var_type(r->g, old) && !may_decide_types(t));
    }
    for (Var k = 0; k < p->nout; k++)
        out[k] = var_type(r->g, p->out + k);
    if (same) return;
    const Type *found[OUT_MAX];
    size_t mark = diag_count(r->s);
    size_t n = op_infer(r->g, p->op, p->props, (VarList){p->nin, in}, NOWHERE, found);
    diag_rewind(r->s, mark);
    bool fits = n == p->nout;
    for (size_t k = 0; fits && k < n; k++)
        fits = type_is_super(out[k], found[k]);
    for (size_t k = 0; fits && k < n; k++)
        out[k] = found[k];
}

/* Something was replaced. */
static void note_news(Rewriter *r) {
    r->dirty = r->news = true;
}

static void note_reinterned(Rewriter *r, Var from, Var to) {
    note_news(r);
    r->forward[from] = r->direct[from] = to;
    r->by[from] = 0;
    uses_move(r, from, to);
}

/* Was an input replaced, or what one is made of? Is the maker of one not done yet, or
 * no longer counted? */
enum { INPUT_REPLACED = 1, INPUT_CHANGED = 2, INPUT_OPEN = 4 };
static unsigned news_of_inputs(const Rewriter *r, ApplyId a) {
    const Apply *p = &r->g->apply[a];
    const Var *in = apply_in(r->g, a);
    unsigned any = 0, all = SEEN_DONE | COUNTED;
    for (size_t i = 0; i < p->nin; i++) {
        if (r->forward[in[i]] != in[i]) return INPUT_REPLACED;
        ApplyId maker = var_owner(r->g, in[i]);
        if (maker == APPLY_NONE) continue;
        any |= r->state[maker];
        all &= r->state[maker];
    }
    return (any & CHANGED ? INPUT_CHANGED : 0u) |
           (all != (SEEN_DONE | COUNTED) ? INPUT_OPEN : 0u);
}

/* What was found out about the Apply need no longer hold. */
static void note_changed(Rewriter *r, ApplyId a) {
    const Apply *p = &r->g->apply[a];
    r->state[a] = (uint8_t)((r->state[a] & ~(SETTLED | TRIED | NOFOLD)) | CHANGED);
    for (Var v = p->out; v < p->out + p->nout; v++)
        r->facts[v] = 0;
}

/* May other inputs be put in? Results of the same types, that no typing rule of a
 * client looks at again. */
static bool keeps_types(Rewriter *r, const Apply *p, const Type *const *type) {
    for (Var k = 0; k < p->nout; k++)
        if (type[k] != var_type(r->g, p->out + k) || may_decide_types(type[k]))
            return false;
    return true;
}

/* The Apply with its inputs resolved: an equal one that is there, itself, or a new
 * one. */
static ApplyId with_inputs(Rewriter *r, ApplyId a, const Var *in) {
    Apply p = r->g->apply[a];
    const Type *type[OUT_MAX];
    infer_types_again(r, a, in, type);
    ApplyId b = graph_equal_apply(r->g, p.op, p.props, p.nin, in);
    if (b == APPLY_NONE && keeps_types(r, &p, type)) {
        graph_replace_inputs(r->g, a, in);
        r->form_at[a] = 0;
        note_changed(r, a);
        note_news(r);
        r->view_napply = 0; /* the view is out of date */
        return a;
    }
    Var first = graph_apply(r->g, p.op, p.props, p.nin, in, p.nout, type, true, false,
                            r->g->origin[a]);
    rewriter_grow(r);
    b = var_owner(r->g, first);
    for (Var k = 0; b != a && k < p.nout; k++)
        note_reinterned(r, p.out + k, first + k);
    return b;
}

/* Effects are never duplicated: the final copy forwards their inputs. */
static ApplyId reintern_apply(Rewriter *r, ApplyId a) {
    const Apply *p = &r->g->apply[a];
    if (p->serial) return a;
    unsigned news = news_of_inputs(r, a);
    if (news & INPUT_CHANGED) note_changed(r, a);
    if (!(news & INPUT_REPLACED)) return a;
    Var small[16], *in = p->nin <= 16 ? small : mem_alloc(r->s, p->nin * sizeof *in);
    for (size_t i = 0; i < r->g->apply[a].nin; i++)
        in[i] = rewriter_input(r, a, i);
    ApplyId b = with_inputs(r, a, in);
    if (in != small) mem_free(in);
    return b;
}

/* ---- what fired ---- */

bool rewriter_limit_reached(const Rewriter *r) {
    return r->o->limit && *r->number >= r->o->limit;
}

bool rewriter_fired(Rewriter *r, size_t entry, size_t n, const Var *before,
                    const Var *after) {
    RewriteProfile *p = &r->db->entry.p[entry].profile;
    p->fired++;
    r->recent[r->fired++ % (sizeof r->recent / sizeof *r->recent)] = (uint16_t)entry;
    RewriteEvent e = {.rule = r->db->entry.p[entry].pub.name,
                      .tags = r->db->entry.p[entry].pub.tags,
                      .number = ++*r->number,
                      .epoch = r->epoch,
                      .g = r->g,
                      .before = before[0],
                      .after = after[0],
                      .nmore = n - 1,
                      .more_before = before + 1,
                      .more_after = after + 1,
                      .forward = r->forward,
                      .nforward = r->nvar};
    return !r->o->explain || r->o->explain(r->o->ctx, &e);
}

static const char *recent_names(Rewriter *r, Str *names) {
    size_t room = sizeof r->recent / sizeof *r->recent,
           n = r->fired < room ? r->fired : room;
    for (size_t i = 0; i < n; i++) {
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again |= r->recent[k] == r->recent[i];
        if (again) continue;
        if (names->n) str_puts(names, ", ");
        str_puts(names, r->db->entry.p[r->recent[i]].pub.name);
    }
    return str_text(names);
}

/* The library's own entries stop at the budget, and the graph stays as they left it: in
 * long chains they have more to do than is worth while, as where each of many reads
 * passes all the ops below it. A user's rule, and what it works against, may never
 * end. */
static bool users_rule_goes_on(const Rewriter *r) {
    for (size_t i = stage_entry(r, 0); i < r->end; i = stage_entry(r, i + 1)) {
        const DatabaseEntry *e = &r->db->entry.p[i];
        if (e->spent > r->budget / 2 && rewrite_tags_have(e->pub.tags, "user"))
            return true;
    }
    return false;
}

static bool is_spent(const Rewriter *r, const DatabaseEntry *e) {
    return e->spent > r->budget;
}

static bool fail_over_budget(Rewriter *r, size_t entry) {
    Str names = STR(r->s);
    const RewriteEntry *e = &r->db->entry.p[entry].pub;
    fail(r->s, e->at, E_LIMIT,
         "rewriting does not end: %s fired %llu times in a graph of %u Applies",
         e->name, (unsigned long long)r->budget, r->g->napply);
    note(r->s, NOWHERE, "the last rewrites to fire: %s; exclude one of them",
         recent_names(r, &names));
    str_free(&names);
    return r->failed = true, false;
}

/* The entry's result is a variable that earlier entries replaced, leading to this
 * one. */
static bool fail_on_undo_circle(Rewriter *r, size_t entry, Var result, Var v) {
    Str names = STR(r->s);
    bool only_changed = false; /* a link without an entry changes only inputs */
    str_puts(&names, r->db->entry.p[entry].pub.name);
    for (uint32_t steps = 0; result != v && steps < 64; steps++) {
        only_changed |= r->by[result] == 0;
        if (r->by[result])
            str_printf(&names, ", %s", r->db->entry.p[r->by[result] - 1].pub.name);
        result = r->direct[result];
    }
    if (!only_changed) {
        fail(r->s, r->db->entry.p[entry].pub.at, E_REWRITE,
             "rewrites undo each other: %s; exclude one of them", str_text(&names));
        r->failed = true;
    }
    str_free(&names);
    return !only_changed;
}

/* ---- trying entries ---- */

/* A @fast rule may change results at infinities and nans, so comparisons of this
 * variable must tolerate that from now on. */
void rewriter_loosen(Rewriter *r, Var v) {
    Approx how = APPROX_DEFAULT;
    how.allow_remove_inf = how.allow_remove_nan = true;
    graph_loosen_approx(r->g, v, how);
}

/* Replaces the outputs of a by out[k]. False when nothing changes. */
static bool install_replacement(Rewriter *r, ApplyId a, size_t entry, const Var *out) {
    Apply p = r->g->apply[a];
    bool changed = false;
    for (Var k = 0; k < p.nout; k++) {
        Var v = p.out + k, x = rewriter_resolve(r, out[k]);
        if (out[k] == v) continue; /* unchanged, or already replaced by another */
        if (x == v) {
            if (fail_on_undo_circle(r, entry, out[k], v)) return false;
            continue;
        }
        if (r->db->entry.p[entry].fast) rewriter_loosen(r, v);
        r->forward[v] = x;
        r->direct[v] = out[k];
        r->by[v] = (uint16_t)(entry + 1);
        uses_move(r, v, x);
        if (!rewriter_fired(r, entry, 1, &v, &x)) return r->failed = true, false;
        note_news(r);
        changed = true;
    }
    if (!changed) return false;
    r->db->entry.p[entry].spent++;
    if (is_spent(r, &r->db->entry.p[entry]) && users_rule_goes_on(r))
        return fail_over_budget(r, entry);
    return true;
}

/* The output that a rule replaces: the one that it picks, or the only one. VAR_NONE:
 * the Apply has no such output, or it is replaced already. */
static Var output_of_rule(Rewriter *r, ApplyId a, const Rule *rule) {
    const Apply *p = &r->g->apply[a];
    size_t k = rule->lhs->picks ? rule->lhs->out : 0;
    Var v = p->out + (Var)k;
    return k < p->nout && rewriter_resolve(r, v) == v ? v : VAR_NONE;
}

/* What only the replaced Apply read is no longer needed, and doesn't count as a client
 * of its own inputs: rules that ask for a single use would have to wait for the next
 * sweep. */
static void release_parts(Rewriter *r, const Rule *rule, const Match *m) {
    for (size_t i = 0; i < rule->nguard; i++)
        if (rule->guard[i].part && r->uses[m->part[i]] <= 1)
            rewriter_release(r, var_owner(r->g, m->part[i]));
}

static bool fire_rule(Rewriter *r, ApplyId a, const Rule *rule, const Match *m, Var v,
                      Var *out) {
    const Apply *p = &r->g->apply[a];
    Var first = p->out;
    for (Var i = 0; i < p->nout; i++)
        out[i] = first + i;
    Var x = rule_replace(r, rule, m, v);
    if (x == VAR_NONE) return false;
    release_parts(r, rule, m);
    out[v - first] = x;
    return true;
}

void rewriter_forget(Rewriter *r, size_t mark) {
    for (size_t i = mark; i < diag_count(r->s); i++)
        if (diag_get(r->s, i)->code == E_MEM) return;
    diag_rewind(r->s, mark);
}

/* Of a rule that has matched, or of a pass. */
static bool fire_entry(Rewriter *r, ApplyId a, size_t i, const Match *m, Var v) {
    DatabaseEntry *e = &r->db->entry.p[i];
    uint32_t before = r->g->napply;
    size_t mark = diag_count(r->s);
    Var out[OUT_MAX];
    r->b.from = (Origin){r->g->origin[a].at, e->name};
    bool hit = e->rule ? fire_rule(r, a, e->rule, m, v, out) : e->pass->node(r, a, out);
    rewriter_grow(r);
    if (diag_failed(r->s, mark)) return r->failed = true, false;
    hit = hit && install_replacement(r, a, i, out);
    if (hit) r->db->entry.p[i].profile.nodes += (int64_t)(r->g->napply - before) - 1;
    return hit;
}

/* The right side is compiled when the left one matches for the first time. */
static bool rule_applies(Rewriter *r, ApplyId a, Rule *rule, Match *m, Var *v) {
    *v = output_of_rule(r, a, rule);
    if (*v == VAR_NONE || !rule_match(r, rule, *v, m)) return false;
    if (!database_compile(r->db, rule)) r->failed = true;
    return !r->failed && !rule->broken;
}

static bool try_entry(Rewriter *r, ApplyId a, size_t i) {
    DatabaseEntry *e = &r->db->entry.p[i];
    double start = r->o->profile ? clock_seconds() : 0;
    Match m;
    Var v = VAR_NONE;
    bool may = !e->rule || rule_applies(r, a, e->rule, &m, &v);
    bool hit = may && fire_entry(r, a, i, &m, v);
    if (r->o->profile) e->profile.seconds += clock_seconds() - start;
    return hit;
}

/* Most ops have none, at the later levels. */
static bool has_tries(const Rewriter *r, ApplyId a, TryLevel level) {
    return r->tries.p[r->op_at[a]].level[level].n > 0;
}

static void find_first_inputs(Rewriter *r, ApplyId a, FirstInputs *x) {
    x->n = r->g->apply[a].nin;
    for (size_t i = 0; i < FEW_INPUTS; i++) {
        x->v[i] = i < x->n ? rewriter_input(r, a, i) : VAR_NONE;
        x->has_below[i] = false;
    }
}

/* Tries entries until the Apply is replaced. A rule may replace one output of several;
 * later rules then handle the others. */
static bool try_list(Rewriter *r, ApplyId a, TryLevel level) {
    if (!has_tries(r, a, level)) return false;
    const FormTries *list = form_tries(r, a, level);
    const FormTry *f = list->p, *end = f + list->n;
    if (f == end) return false;
    FirstInputs inputs;
    find_first_inputs(r, a, &inputs);
    bool hit = false;
    for (; f < end && !r->failed; f++) {
        const Try *t = f->t;
        if (t->looks && !stage_may_fire(r, t, f->orders, &inputs)) continue;
        DatabaseEntry *e = &r->db->entry.p[t->entry];
        if ((hit && !e->rule) || is_spent(r, e)) continue;
        e->profile.tried++;
        if (!try_entry(r, a, t->entry)) continue;
        hit = true;
        if (!e->rule || r->g->apply[a].nout == 1) break;
    }
    return hit;
}

static TryLevel level_at(const Rewriter *r, ApplyId a) {
    unsigned state = r->state[a];
    return !(state & SETTLED) || r->why ? TRY_ALL
           : state & TRIED              ? TRY_AGAIN
                                        : TRY_SETTLED;
}

static void note_nothing_fired(Rewriter *r, ApplyId a) {
    if (!op_rare(r->g->apply[a].op)->fold_if) r->state[a] |= SETTLED | TRIED;
}

static bool try_entries(Rewriter *r, ApplyId a) {
    if (atomic_load_explicit(session_expired(r->s), memory_order_relaxed) && !r->failed)
        return r->failed = true, session_fail_expired(r->s, NOWHERE);
    if (r->g->apply[a].serial || r->state[a] & FROZEN || rewriter_limit_reached(r))
        return false;
    if (r->new_op) stage_sort_entries(r);
    bool hit = try_list(r, a, level_at(r, a));
    if (!hit)
        note_nothing_fired(r, a);
    else if (r->g->apply[a].nout > 1)
        r->loose = true;
    return hit;
}

static bool try_apply(Rewriter *r, ApplyId a) {
    bool matched = r->why && why_look(r, a);
    bool hit = try_entries(r, a);
    if (hit && matched)
        why_replaced(
            r, a, r->recent[(r->fired - 1) % (sizeof r->recent / sizeof *r->recent)]);
    return hit;
}

/* ---- the walk ---- */

/* Pushes the maker of v. True: the top of the stack has changed. */
static bool visit_maker(Rewriter *r, Var v, ApplyId self) {
    ApplyId a = var_owner(r->g, v);
    if (a == APPLY_NONE || a == self) return false;
    if (seen_state(r, a) == SEEN_DONE) return uses_revive(r, a), false;
    if (seen_state(r, a) == SEEN_OPEN)
        take_back_newest(r);
    else
        push_visit(r, a);
    return true;
}

static void finish_visit(Rewriter *r) {
    set_done(r, r->stack.p[--r->stack.n].a);
}

/* The inputs are done: re-interns the Apply and tries the entries. */
static void settle_visit(Rewriter *r) {
    Visit *f = &r->stack.p[r->stack.n - 1];
    ApplyId a = f->a, b = reintern_apply(r, a);
    f = &r->stack.p[r->stack.n - 1];
    if (b != a) {
        if (seen_state(r, b) == SEEN_OPEN) {
            take_back_newest(r);
            return;
        }
        set_seen(r, a, SEEN_DONE);
        inherit_uses(r, a, b);
        f->a = b;
        if (seen_state(r, b) == SEEN_DONE) {
            r->stack.n--;
            return;
        }
        set_seen(r, b, SEEN_OPEN);
    }
    f->next = 0;
    f->waiting = try_apply(r, b);
    if (!f->waiting) finish_visit(r);
}

static void step_visit(Rewriter *r) {
    Visit *f = &r->stack.p[r->stack.n - 1];
    const Apply *p = &r->g->apply[f->a];
    if (f->waiting) {
        while (f->next < p->nout)
            if (visit_maker(r, rewriter_resolve(r, p->out + f->next++), f->a)) return;
        uses_drop_replaced(r, f->a);
        finish_visit(r);
        return;
    }
    while (f->next < p->nin)
        if (visit_maker(r, rewriter_input(r, f->a, f->next++), APPLY_NONE)) return;
    settle_visit(r);
}

static void walk(Rewriter *r) {
    while (r->stack.n > 0 && !r->failed)
        step_visit(r);
}

static void visit(Rewriter *r, ApplyId a) {
    push_visit(r, a);
    walk(r);
}

/* Its inputs are as they were and done: only what replaces it has to be walked. */
static void settle_in_place(Rewriter *r, ApplyId a) {
    set_seen(r, a, SEEN_OPEN);
    if (!try_apply(r, a)) {
        set_done(r, a);
        return;
    }
    vec_push(r->s, &r->stack, ((Visit){.a = a, .waiting = true}));
    walk(r);
}

/* Is there nothing to try at an Apply about whose inputs there is no news? */
static bool is_quiet(Rewriter *r, ApplyId a) {
    if (r->why || r->new_op) return false;
    TryLevel level = level_at(r, a);
    return !has_tries(r, a, level) || form_tries(r, a, level)->n == 0;
}

static void sweep_apply(Rewriter *r, ApplyId a) {
    unsigned news = r->news ? news_of_inputs(r, a) : 0;
    if (news == INPUT_CHANGED && !r->g->apply[a].serial) {
        note_changed(r, a);
        settle_in_place(r, a);
    } else if (news)
        visit(r, a);
    else if (is_quiet(r, a))
        set_done(r, a);
    else
        settle_in_place(r, a);
}

/* The order of the last sweep holds: what was replaced since then is no longer needed,
 * and what replaced it has been put in. */
static void sweep(Rewriter *r) {
    Vec(ApplyId) last;
    r->news = !r->settled;
    if (r->uses_matter && r->nvar) memset(r->wish, 0, r->nvar * sizeof *r->wish);
    memcpy(&last, &r->order, sizeof last);
    memset(&r->order, 0, sizeof r->order);
    size_t n = last.n ? last.n : r->compacted;
    vec_reserve(r->s, &r->order, n);
    for (size_t i = 0; i < n && !r->failed; i++) {
        ApplyId a = last.n ? last.p[i] : (ApplyId)i;
        if (!(r->state[a] & COUNTED) || seen_state(r, a) != SEEN_NOT) continue;
        sweep_apply(r, a);
    }
    vec_free(&last);
}

/* ---- needs, before a sweep ---- */

static void need_maker(Rewriter *r, Var v) {
    ApplyId a = var_owner(r->g, rewriter_resolve(r, v));
    if (a != APPLY_NONE) r->state[a] |= COUNTED;
}

/* A result is one use more. */
static void need_result(Rewriter *r, Var v) {
    if (v == VAR_NONE) return;
    if (r->uses_matter) r->uses[rewriter_resolve(r, v)]++;
    need_maker(r, v);
}

static void need_named_result(Rewriter *r, Var v) {
    need_result(r, v);
    if (v != VAR_NONE) r->result[rewriter_resolve(r, v)] = 1;
}

static void need_roots(Rewriter *r) {
    const Graph *g = r->g;
    for (size_t i = 0; i < g->effects.n; i++)
        r->state[g->effects.p[i]] |= COUNTED;
    for (size_t i = 0; i < g->outputs.n; i++)
        need_named_result(r, g->outputs.p[i].var);
    for (size_t i = 0; i < g->updates.n; i++)
        need_named_result(r, g->updates.p[i].value);
    need_result(r, g->until);
}

static void keep_states(Rewriter *r, unsigned kept) {
    if (r->counted) kept |= COUNTED;
    for (ApplyId a = 0; a < r->napply; a++)
        r->state[a] &= (uint8_t)kept;
}

/* What the sweep doesn't visit will not be told if what it is made of changes. */
static void forget_unneeded(Rewriter *r) {
    for (ApplyId a = 0; a < r->napply; a++)
        if (!(r->state[a] & COUNTED))
            r->state[a] &= (uint8_t) ~(SETTLED | TRIED | NOFOLD);
}

static void count_all_needs(Rewriter *r) {
    keep_states(r, FROZEN | SETTLED | TRIED | NOFOLD);
    if (r->counted) return;
    if (r->uses_matter && r->nvar) {
        memset(r->uses, 0, r->nvar * sizeof *r->uses);
        memset(r->parts, 0, r->nvar * sizeof *r->parts);
        memset(r->result, 0, r->nvar * sizeof *r->result);
    }
    need_roots(r);
    for (size_t i = r->order.n ? r->order.n : r->compacted; i-- > 0;) {
        ApplyId a = r->order.n ? r->order.p[i] : (ApplyId)i;
        if (r->state[a] & COUNTED) uses_need_inputs(r, a);
    }
    forget_unneeded(r);
    r->counted = r->uses_matter;
}

static void log_spent(const Rewriter *r) {
    if (r->o->trial) return;
    for (size_t i = stage_entry(r, 0); i < r->end; i = stage_entry(r, i + 1))
        if (is_spent(r, &r->db->entry.p[i]))
            session_log(r->s, "the rewrite %s stopped after %llu replacements",
                        r->db->entry.p[i].pub.name,
                        (unsigned long long)r->db->entry.p[i].spent);
}

static bool stage_ends(Rewriter *r) {
    log_spent(r);
    keep_states(r, SETTLED | NOFOLD);
    r->settled = !r->loose && !rewriter_limit_reached(r);
    return true;
}

/* Counted anew, has some Apply clients less, or is it a result now, for which an entry
 * has waited? */
static bool another_sweep_may_fire(Rewriter *r) {
    if (!r->uses_matter || rewriter_limit_reached(r)) return false;
    count_all_needs(r);
    return r->loose || uses_grant_wishes(r);
}

/* Of a settled graph: does the stage add something that may fire at one of the Applies?
 * It needn't be swept otherwise. */
static bool any_to_try(Rewriter *r) {
    if (!r->works) return false;
    size_t n = r->order.n ? r->order.n : r->compacted;
    for (size_t i = 0; i < n; i++)
        if (!is_quiet(r, r->order.n ? r->order.p[i] : (ApplyId)i)) return true;
    return false;
}

bool drive_stage(Rewriter *r, size_t first, size_t end) {
    double per_node = r->o->sweeps_per_node > 0 ? r->o->sweeps_per_node : PER_NODE;
    r->clean_end = database_first(r->db, nextafter(CLEANING, 1));
    r->first = first;
    r->end = end > r->clean_end ? end : r->clean_end;
    stage_sort_entries(r);
    if (r->settled && !r->why && !any_to_try(r)) return true;
    r->budget = (uint64_t)(per_node * r->g->napply) + SLACK;
    for (size_t i = stage_entry(r, 0); i < r->end; i = stage_entry(r, i + 1))
        r->db->entry.p[i].spent = 0;
    r->loose = false;
    uint32_t fired;
    do {
        fired = r->fired;
        count_all_needs(r);
        sweep(r);
        r->sweeps++;
        if (r->failed) return r->stack.n = 0, false;
    } while (r->fired != fired && another_sweep_may_fire(r));
    return stage_ends(r);
}
