/* DebugMode's entry points: rewrite a graph under observation, then check each call of
 * a machine. */
#include "check/check_impl.h"

enum { MOST = 20, PATIENCE = 10 };

Check *check_new(Graph *g, const CheckOptions *o) {
    Session *s = g->s;
    Arena *a = arena_new(s);
    Check *c = NEW(a, Check);
    *c = (Check){.s = s, .a = a, .o = *o, .log_of = MAP(s), .reported = MAP(s)};
    c->body_of = MAP(s);
    c->often = MAP(s);
    c->strayed = MAP(s);
    c->last = &c->first;
    if (!c->o.most) c->o.most = MOST;
    if (!c->o.patience) c->o.patience = PATIENCE;
    c->loose = APPROX_DEFAULT;
    c->loose.sloppy = o->sloppy;
    c->loose.allow_remove_inf = c->loose.allow_remove_nan = true; /* for rules that
                                                                   * stabilise */
    c->real = *services(s);
    session_set_slot(s, SLOT_CHECK, c, NULL);
    services(s)->eval = history_fold;
    bool ok = rewrite_log_open(c, g) && order_check(c, g);
    services(s)->eval = c->real.eval;
    if (!ok) return check_free(c), NULL;
    rewrite_log_maps(c);
    return c;
}

void check_free(Check *c) {
    if (!c) return;
    if (c->open) reference_close(&c->main);
    session_set_slot(c->s, SLOT_CHECK, NULL, NULL);
    past_free(&c->past);
    rewrite_log_free(c);
    graph_free(c->ready);
    vec_free(&c->log);
    vec_free(&c->dim);
    map_free(&c->reported);
    map_free(&c->often);
    map_free(&c->strayed);
    arena_free(c->a);
}

Graph *check_ready(const Check *c) {
    return c->ready;
}

void check_set_dim(Check *c, Sym name, int64_t value) {
    vec_push(c->s, &c->dim, ((DimValue){name, value}));
}

/* ---- before a call ---- */
static void check_leaf_value(Check *c, Var v, const Value *x) {
    const Type *t = var_type(c->log_graph, v);
    const char *name = sym_text(c->s, var_leafrec(c->log_graph, v)->name);
    Receiver to = {{.strict = true, .finite = !c->o.allow_nonfinite}, name, NOWHERE};
    Value same = {0};
    size_t mark = diag_count(c->s);
    bool ok = value_filter(c->s, t, x, &to, &same);
    value_unref(&same);
    if (ok) return;
    const char *why = check_forget(c, mark);
    if (!found(c, E_INVALID_VALUE, hash_mix(E_INVALID_VALUE, v), NOWHERE,
               "the value of %s is not of its type: %s", name, why))
        return;
    found_note(c, NOWHERE, "its type is %s", type_str(c->s, t));
    check_note_value(c, "its value", x);
    if (to.how.finite) found_hint(c, HINT_ALLOW_NONFINITE);
}

static void set_checked_leaf(Check *c, Var v, const Value *x, bool *ok) {
    if (!x || (x->kind == TYPE_TENSOR && !x->t.data)) return;
    check_leaf_value(c, v, x);
    *ok = *ok && reference_set(&c->main, v, x);
    reference_bind(&c->main, var_type(c->log_graph, v), x);
}

static bool set_leaves(Check *c, Machine *m) {
    const Graph *g = c->log_graph;
    bool ok = true;
    for (size_t i = 0; i < c->dim.n; i++)
        map_put(&c->main.dim, c->dim.p[i].name, (uint64_t)c->dim.p[i].value);
    for (size_t i = 0; i < g->inputs.n; i++)
        set_checked_leaf(c, g->inputs.p[i], vm_input(m, i), &ok);
    for (size_t i = 0; i < g->shared.n; i++) {
        size_t mark = diag_count(c->s);
        const Value *x = vm_shared(m, i);
        if (x)
            set_checked_leaf(c, g->shared.p[i], x, &ok);
        else
            diag_rewind(c->s, mark); /* the run reports it if it matters */
    }
    return ok;
}

bool check_begin(Check *c, Machine *m) {
    if (c->open) reference_close(&c->main);
    reference_open(&c->main, c, c->logs.p[0]);
    c->open = true;
    map_free(&c->strayed);
    c->strayed = MAP(c->s);
    size_t mark = diag_count(c->s);
    if (!set_leaves(c, m)) return false;
    reference_run(&c->main, true);
    return !diag_hit_limit(c->s, mark) && check_tell(c);
}

/* ---- while the machine runs ---- */
static const char *name_of(const Call *call) {
    return call->op->name;
}

static bool values_agree(Check *c, const Value *a, const Value *b) {
    Approx how = APPROX_DEFAULT;
    how.sloppy = c->o.sloppy;
    return value_approx(c->s, a, b, how);
}

static bool find_reference(const Check *c, const Call *call, Var v, const Value *got,
                           Value *want) {
    if (call->g != c->ready || !got) return false;
    if (got->kind == TYPE_NONE && var_type(call->g, v)->kind != TYPE_NONE) return false;
    bool array = got->kind == TYPE_TENSOR || got->kind == TYPE_RANDOM;
    return (!array || got->t.data) && reference_get(&c->main, c->ready_map[v], want);
}

/* Sums over the rows of a call, which are added up block by block, are rounded
 * otherwise than over all rows at once. */
static Approx how_result_agrees(const Check *c, const Call *call, const Value *v) {
    Approx how = APPROX_DEFAULT;
    bool rows = op_is(c->s, call->op, OP_CALL) && v->kind == TYPE_TENSOR &&
                op_prop(c->s, call->op, call->props, "rows")->ints.n > 0;
    bool coarse = rows && dtype_real(v->t.dtype) == DT_FLOAT32 && c->o.sloppy == 0;
    how.sloppy = coarse ? 1 : c->o.sloppy;
    return how;
}

static void tell_difference(Check *c, const Call *call, const Value *want,
                            const Value *got) {
    Approx how = how_result_agrees(c, call, got);
    check_note_apply(c, call->g, call->id);
    check_note_value(c, "from its kernel alone", want);
    check_note_value(c, "in the run", got);
    check_note_difference(c, want, got, how);
}

/* Is it known that the run's value of this input isn't the kernels'? */
static bool has_strayed(const Check *c, const Call *call, size_t i) {
    return call->g == c->ready &&
           map_get(&c->strayed, apply_in(call->g, call->id)[i], NULL);
}

static bool check_step_inputs(void *ctx, size_t step, const Call *call) {
    Check *c = ctx;
    (void)step;
    for (size_t i = 0; i < call->nin && !check_full(c); i++) {
        Value want;
        Var v = apply_in(call->g, call->id)[i];
        if (call->computed && call->computed[i] != COMPUTED) continue;
        if (has_strayed(c, call, i) ||
            !find_reference(c, call, v, call->in[i], &want) ||
            values_agree(c, &want, call->in[i]))
            continue;
        map_put(&c->strayed, v, 1);
        if (found(c, E_DESTROY_MAP, check_key(E_DESTROY_MAP, call->op, 9), call->at,
                  "input %zu of %s was overwritten before it was read", i,
                  name_of(call)))
            tell_difference(c, call, &want, call->in[i]);
    }
    return true;
}

/* In the run, other kernels may have made it than here, with what they were given. */
static bool rounding_explains_result(Check *c, Var v, const Value *want,
                                     const Value *got) {
    Approx how = check_how(c->log_graph, v, APPROX_DEFAULT);
    if (how.sloppy < c->o.sloppy) how.sloppy = c->o.sloppy;
    return rounding_explains_var(&c->main, v, NULL, want, got, how);
}

static bool check_step_outputs(void *ctx, size_t step, const Call *call,
                               double seconds) {
    Check *c = ctx;
    (void)step, (void)seconds;
    bool follows = false;
    for (size_t i = 0; i < call->nin; i++)
        follows |= has_strayed(c, call, i);
    for (size_t i = 0; i < call->nout && !check_full(c); i++) {
        Value want;
        Var v = call->g->apply[call->id].out + (Var)i;
        if (!find_reference(c, call, v, &call->out[i], &want) ||
            value_approx(c->s, &want, &call->out[i],
                         how_result_agrees(c, call, &call->out[i])))
            continue;
        map_put(&c->strayed, v, 1);
        if (!follows &&
            !rounding_explains_result(c, c->ready_map[v], &want, &call->out[i]) &&
            found(
                c, E_THUNK_OUTPUT, check_key(E_THUNK_OUTPUT, call->op, 99), call->at,
                "output %zu of %s in the run differs from what its kernel alone gives",
                i, name_of(call)))
            tell_difference(c, call, &want, &call->out[i]);
    }
    return true;
}

VmHooks check_hooks(Check *c) {
    return (VmHooks){
        .ctx = c, .before = check_step_inputs, .after = check_step_outputs};
}

/* ---- after a call ---- */
static void compare_result(Check *c, const char *kind, const char *name, Var v,
                           const Value *got) {
    Value want;
    if (!got) return;
    if (!reference_get(&c->main, v, &want)) {
        if (found_warning(c, E_VERDICT, hash_mix(77, v), NOWHERE,
                          "%s %s could not be checked", kind, name))
            found_note(c, NOWHERE, "%s", reference_reason(&c->main, v));
        return;
    }
    Approx how = check_how(c->log_graph, v, c->loose);
    if (value_approx(c->s, &want, got, how) ||
        rounding_explains_var(&c->main, v, NULL, &want, got, how))
        return;
    if (!found(c, E_OPTIMIZATION, hash_mix(78, v), NOWHERE,
               "the %s %s differs from that of the graph as it was written", kind,
               name))
        return;
    check_note_value(c, "as written", &want);
    check_note_value(c, "as run", got);
    check_note_difference(c, &want, got, how);
    check_note_tree(c, "as written", c->log_graph, v);
}

/* Results belong to the caller: nothing else may share their memory. */
static void check_sharing(Check *c, Machine *m) {
    const Graph *g = c->ready;
    for (size_t i = 0; i < g->outputs.n; i++) {
        const Value *a = vm_output(m, i);
        if (a->kind != TYPE_TENSOR || tensor_size(&a->t) == 0) continue;
        for (size_t k = 0; k < i + g->inputs.n; k++) {
            const Value *b = k < i ? vm_output(m, k) : vm_input(m, k - i);
            if (!b || b->kind != TYPE_TENSOR || !b->t.data || tensor_size(&b->t) == 0 ||
                !tensor_may_share_memory(&a->t, &b->t))
                continue;
            found(c, E_VIEW_MAP, hash_mix(79, i), NOWHERE,
                  "the output %s shares memory with another result or an input",
                  sym_text(c->s, g->outputs.p[i].label));
        }
    }
}

bool check_end(Check *c, Machine *m) {
    const Graph *g = c->log_graph;
    for (size_t i = 0; i < g->outputs.n; i++)
        compare_result(c, "output", sym_text(c->s, g->outputs.p[i].label),
                       g->outputs.p[i].var, vm_output(m, i));
    for (size_t k = 0; k < g->shared.n; k++) {
        Var new = graph_update(g, g->shared.p[k]);
        if (new == VAR_NONE) continue;
        compare_result(c, "new value of",
                       sym_text(c->s, var_leafrec(g, g->shared.p[k])->name), new,
                       vm_shared(m, k));
    }
    check_sharing(c, m);
    reference_close(&c->main);
    c->open = false;
    return check_tell(c);
}
