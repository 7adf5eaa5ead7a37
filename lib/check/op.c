/* One Apply under DebugMode: its kernel runs repeatedly, with inputs and storage of
 * different layouts. The results must stay the same, have their types, and share no
 * memory beyond what the op declares. */
#include "check/check_impl.h"
/* Among Applies with equal ops and types, the first few are tested in every variation,
 * some more in the important ones; larger values in fewer. */
enum { OFTEN_ALL = 4, OFTEN_SOME = 64, LARGE = 1 << 16, HUGE_ = 1 << 20 };

static void failed_only_so(KernelTrial *x, const OpRun *r) {
    if (!found(x->c, E_THUNK_OUTPUT, trial_key(x, E_THUNK_OUTPUT, r->kind),
               trial_place(x), "%s fails %s: %s", x->op->name, r->how, r->why))
        return;
    trial_note(x);
}

/* Runs a variation that must reproduce the first results. */
static bool run_variant(KernelTrial *x, OpRun *r, bool bits) {
    bool ok = trial_run(x, r);
    if (!ok)
        failed_only_so(x, r);
    else
        ok = trial_inspect(x, r) && trial_same(x, r, bits);
    return ok;
}

static bool try_variant(KernelTrial *x, OpRun r, bool bits) {
    if (check_full(x->c)) return false;
    bool ok = run_variant(x, &r, bits);
    trial_end(x, &r);
    return ok;
}

/* ---- variations ---- */
static const Form storage_forms[] = {
    {.name = "C-ordered", .dim = -1},
    {.name = "strided by -2", .step = -2, .dim = -1, .bytes = true},
    {.name = "F-ordered", .step = F_ORDER, .dim = -1},
    {.name = "strided by -1", .step = -1, .dim = -1},
    {.name = "strided by 2", .step = 2, .dim = -1},
    {.name = "larger in every dim", .grow = 1, .dim = -1, .bytes = true},
    {.name = "smaller in every dim", .grow = -1, .dim = -1},
    {.name = "larger in dim 0", .grow = 1, .dim = 0},
    {.name = "smaller in dim 0", .grow = -1, .dim = 0, .bytes = true},
    {.name = "larger in dim 1", .grow = 1, .dim = 1},
    {.name = "smaller in dim 1", .grow = -1, .dim = 1, .bytes = true},
    {.name = "larger in dim 2", .grow = 1, .dim = 2},
    {.name = "smaller in dim 2", .grow = -1, .dim = 2, .bytes = true},
    {.name = "larger in dim 3", .grow = 1, .dim = 3},
    {.name = "smaller in dim 3", .grow = -1, .dim = 3, .bytes = true},
};
enum { NFORMS = sizeof storage_forms / sizeof *storage_forms, FEW_FORMS = 2 };

static int largest_rank(const KernelTrial *x, const Value *v, size_t n) {
    int rank = 0;
    for (size_t i = 0; i < n; i++)
        if ((v != x->in || x->there[i]) && v[i].kind == TYPE_TENSOR &&
            v[i].t.ndim > rank)
            rank = v[i].t.ndim;
    return rank;
}

static bool form_applies(const Form *f, int rank) {
    if (f->step == F_ORDER) return rank > 1;
    if (f->dim >= 0) return rank > 1 && f->dim < rank;
    return rank > 0 || (!f->step && !f->grow);
}

/* Gives the kernel storage with different previous content. */
static void try_storage(KernelTrial *x, bool all) {
    int rank = largest_rank(x, x->base, x->nout);
    if (x->op->keeps_storage) return;
    for (size_t i = 0; i < (all ? NFORMS : FEW_FORMS); i++) {
        const Form *f = &storage_forms[i];
        if (!form_applies(f, rank)) continue;
        OpRun r = {.kind = KIND_STORAGE, .out = f, .poison = i % 2 == 0};
        r.how = arena_printf(
            x->a, "when its storage already holds an array that is %s, full of %s",
            f->name, f->bytes ? "0xAA" : "666");
        if (!try_variant(x, r, false)) return;
    }
}

static void try_inputs(KernelTrial *x, bool all) {
    static const size_t order[] = {1, 2, 3, 4};
    int rank = largest_rank(x, x->in, x->nin);
    for (size_t i = 0; i < (all ? 4 : 1); i++) {
        const Form *f = &storage_forms[order[i]];
        if (!form_applies(f, rank)) continue;
        OpRun r = {.kind = KIND_INPUTS, .in = f};
        r.how = arena_printf(x->a, "when the inputs are %s", f->name);
        if (!try_variant(x, r, false)) return;
    }
}

/* Gives the last run's results back as storage; a thunk that must not recycle must
 * leave them alone. */
static void try_previous(KernelTrial *x) {
    OpRun first = {.kind = KIND_STORAGE,
                   .how = "in the run whose storage it gets back later"};
    OpRun again = {.kind = KIND_STORAGE,
                   .previous = &first,
                   .poison = true,
                   .how = "when it gets its own storage back"};
    again.renewed = op_rare(x->op)->thunk != NULL;
    bool ok = run_variant(x, &first, false) && run_variant(x, &again, false);
    for (size_t i = 0; ok && again.renewed && i < x->nout; i++) {
        if (!check_is_array(&again.out_value[i]) || op_view(x->g, x->id, i) >= 0 ||
            !tensor_may_share_memory(&again.out_value[i].t, &first.out_value[i].t))
            continue;
        if (found(x->c, E_THUNK_OUTPUT, trial_key(x, E_THUNK_OUTPUT, KIND_STEP),
                  trial_place(x),
                  "output %zu of %s is in the storage of an earlier run's output, but "
                  "must be new",
                  i, x->op->name))
            trial_note(x);
    }
    trial_end(x, &again);
    trial_end(x, &first);
}

static void free_states(KernelTrial *x) {
    for (int k = 0; k < 2; k++) {
        if (x->made[k] && op_rare(x->op)->thunk->free)
            op_rare(x->op)->thunk->free(x->state[k]);
        x->made[k] = false;
    }
}

/* What changes its mind only now and then is found if that costs little. */
static void try_again_and_again(KernelTrial *x, int64_t elements) {
    enum { TIMES = 64, FEW = 256 };
    for (int i = 0; x->op->plugin && elements <= FEW && i < TIMES; i++)
        if (!try_variant(x,
                         (OpRun){.kind = KIND_REPEAT,
                                 .how = "in one of many runs with the same inputs"},
                         true))
            return;
}

/* A thunk with a new state first gets other values, none of which may persist. It is
 * allowed to fail on them. */
static void try_after_others(KernelTrial *x) {
    OpRun others = {.kind = KIND_REPEAT, .others = true};
    if (!x->op->plugin || !op_rare(x->op)->thunk || !op_rare(x->op)->thunk->make)
        return;
    free_states(x);
    bool ran = trial_run(x, &others);
    trial_end(x, &others);
    if (ran)
        try_variant(x,
                    (OpRun){.kind = KIND_REPEAT,
                            .how = "in a run that follows a run with other inputs"},
                    true);
}

static bool may_reuse(const KernelTrial *x, size_t out, size_t in) {
    if (op_rare(x->op)->reuses) return op_rare(x->op)->reuses(x->g, x->id, out, in);
    return out == 0 && in < 32 && (x->op->reuse >> in & 1);
}

static bool is_reusable_input(const KernelTrial *x, size_t out, size_t in) {
    const Value *v = &x->in[in], *o = &x->base[out];
    if (!x->there[in] || v->kind != TYPE_TENSOR || o->kind != TYPE_TENSOR) return false;
    bool size = x->loops ? dtype_size(v->t.dtype) == dtype_size(o->t.dtype)
                         : v->t.dtype == o->t.dtype;
    return size && tensor_same_shape(&v->t, &o->t) && may_reuse(x, out, in);
}

static void try_reuse(KernelTrial *x) {
    for (size_t i = 0; i < x->nin * x->nout; i++) {
        size_t in = i % x->nin, out = i / x->nin;
        if (!is_reusable_input(x, out, in)) continue;
        OpRun r = {.kind = KIND_REUSE, .reuse = (int)in + 1, .reuse_out = out};
        r.how =
            arena_printf(x->a, "when output %zu is written over input %zu", out, in);
        if (!try_variant(x, r, false)) return;
    }
}

static void try_references(KernelTrial *x, bool small) {
    if ((x->op->debug && !x->op->debug_instead) || op_rare(x->op)->thunk)
        try_variant(x,
                    (OpRun){.kind = KIND_REFERENCE,
                            .impl = RUN_REFERENCE,
                            .how = "with its debug kernel"},
                    false);
    if (!x->loops) return;
    if (session_cpu_level(x->s) > 0)
        try_variant(x,
                    (OpRun){.kind = KIND_BASELINE,
                            .impl = RUN_BASELINE,
                            .how = "with the loop for the baseline CPU"},
                    false);
    if (small)
        try_variant(x,
                    (OpRun){.kind = KIND_SINGLE,
                            .impl = RUN_SINGLE,
                            .poison = true,
                            .how = "when its elements are computed one by one"},
                    false);
}

/* ---- other declarations of an op ---- */
static bool all_there(const KernelTrial *x) {
    for (size_t i = 0; i < x->nin; i++)
        if (!x->there[i]) return false;
    return true;
}

static bool all_arrays(const KernelTrial *x) {
    for (size_t i = 0; i < x->nin; i++)
        if (!x->there[i] || x->in[i].kind != TYPE_TENSOR) return false;
    return true;
}

static void try_claims(KernelTrial *x) {
    const Op *op = x->op;
    if (op->identity && !value_identical(&x->in[0], &x->base[0]) &&
        found(x->c, E_THUNK_OUTPUT, trial_key(x, E_THUNK_OUTPUT, KIND_IDENTITY),
              trial_place(x),
              "%s declares that it passes its first input on, but output 0 differs "
              "from it",
              op->name))
        trial_note(x);
    if (op->shape_only)
        try_variant(x,
                    (OpRun){.kind = KIND_BLANK,
                            .blank = true,
                            .how = "when only elements change, although it declares "
                                   "that only shapes matter"},
                    false);
    if (op->comm && x->nin == 2 && x->in[0].kind == TYPE_TENSOR &&
        x->in[1].kind == TYPE_TENSOR && x->in[0].t.dtype == x->in[1].t.dtype &&
        tensor_same_shape(&x->in[0].t, &x->in[1].t))
        try_variant(x,
                    (OpRun){.kind = KIND_SWAP,
                            .swapped = true,
                            .how = "when its two inputs are swapped, although it is "
                                   "declared commutative"},
                    false);
}

/* ---- how many variations ---- */
static int64_t count_elements(const KernelTrial *x) {
    int64_t n = 0;
    for (size_t i = 0; i < x->nin; i++)
        if (x->there[i] && check_is_array(&x->in[i])) n += tensor_size(&x->in[i].t);
    for (size_t i = 0; i < x->nout; i++)
        if (check_is_array(&x->base[i])) n += tensor_size(&x->base[i].t);
    return n;
}

static uint64_t signature_key(const KernelTrial *x) {
    uint64_t key = hash_mix((uint64_t)(uintptr_t)x->op, x->props->id);
    for (size_t i = 0; i < x->nin; i++)
        key = hash_mix(key, var_type(x->g, apply_in(x->g, x->id)[i])->id);
    return key;
}

static uint64_t times_seen(const KernelTrial *x) {
    uint64_t n = 0;
    map_get(&x->c->often, signature_key(x), &n);
    return n;
}

/* A definition has no kernel; it is also run as the plan would run it, in one piece. */
static void try_userop(KernelTrial *x, bool small) {
    shape_check(x);
    for (size_t i = 0; all_arrays(x) && small && i < 2; i++)
        vm_check(x, i ? &storage_forms[1] : &form_plain);
    if (all_there(x)) try_claims(x);
}

static void try_everything(KernelTrial *x) {
    uint64_t seen = times_seen(x);
    map_put(&x->c->often, signature_key(x), seen + 1);
    int64_t n = count_elements(x);
    bool small = n <= LARGE, all = small && !x->inner;
    if (seen >= OFTEN_SOME || check_full(x->c)) return;
    if (x->by_formula) {
        try_userop(x, small);
        return;
    }
    /* the first run went through a function op by op, on arrays of other strides, for
     * which BLAS adds in another order */
    try_variant(
        x, (OpRun){.kind = KIND_REPEAT, .how = "in a second run with the same inputs"},
        !x->inner);
    if (seen == 0) try_again_and_again(x, n);
    try_after_others(x);
    if (n <= HUGE_) try_references(x, small);
    shape_check(x);
    if (seen >= OFTEN_ALL) return;
    if (!x->loops) try_storage(x, all);
    if (!x->loops) try_inputs(x, all);
    if (!x->loops) try_previous(x);
    for (size_t i = 1; x->loops && small && i <= 2; i++)
        if (form_applies(&storage_forms[i], largest_rank(x, x->in, x->nin)))
            vm_check(x, &storage_forms[i]);
    try_reuse(x);
    if (all_there(x)) try_claims(x);
}

/* ---- one Apply ---- */
static bool trial_open(KernelTrial *x, ReferenceRun *f, ApplyId id) {
    const Apply *a = &f->g->apply[id];
    *x = (KernelTrial){.f = f, .c = f->c, .s = f->c->s, .g = f->g, .id = id};
    x->a = arena_new(x->s);
    x->op = a->op;
    x->props = a->props;
    x->nin = a->nin;
    x->nout = a->nout;
    x->in = NEW_N(x->a, x->nin, Value);
    x->there = NEW_N(x->a, x->nin, bool);
    x->type = NEW_N(x->a, x->nout, const Type *);
    x->by_formula = x->inner = x->op->body != NULL;
    x->lazy = op_rare(x->op)->thunk && op_rare(x->op)->thunk->lazy;
    bool ok = true, arrays = true;
    for (size_t i = 0; i < x->nin; i++) {
        x->there[i] = reference_get(f, apply_in(f->g, id)[i], &x->in[i]);
        ok &= x->there[i] || x->lazy;
        arrays &= x->there[i] && x->in[i].kind == TYPE_TENSOR;
    }
    for (size_t i = 0; i < x->nout; i++)
        x->type[i] = var_type(f->g, a->out + (Var)i);
    x->loops = x->op->pick && arrays && x->nin;
    for (size_t i = 0; i < x->props->n; i++)
        x->inner |= x->props->p[i].kind == P_GRAPH;
    return ok && (x->by_formula || x->loops || x->op->perform || op_rare(x->op)->thunk);
}

static void trial_close(KernelTrial *x) {
    free_states(x);
    for (size_t i = 0; x->base && i < x->nout; i++)
        value_unref(&x->base[i]);
    for (size_t i = 0; x->first && i < x->nout; i++)
        value_unref(&x->first[i]);
    arena_free(x->a);
}

/* Copies the results, so that no later run can reach them. */
static bool take_base(KernelTrial *x, const OpRun *r) {
    Value *base = NEW_N(x->a, x->nout, Value);
    bool own, ok = true;
    for (size_t i = 0; ok && i < x->nout; i++)
        ok = trial_clone(x, &r->out_value[i], &base[i], &own);
    for (size_t i = 0; !ok && i < x->nout; i++)
        value_unref(&base[i]);
    if (!ok) return false;
    x->first = NEW_N(x->a, x->nout, Value);
    for (size_t i = 0; i < x->nout; i++)
        if (r->out_value[i].kind == TYPE_PLUGIN)
            value_copy_view(&x->first[i], &r->out_value[i]);
    x->base = base;
    return true;
}

static bool is_finite_value(const Value *v) {
    if (v->kind != TYPE_TENSOR || !dtype_is_inexact(v->t.dtype)) return true;
    Stats q = tensor_stats(&v->t);
    return q.nans + q.infs == 0;
}

/* Reports only where non-finite values originate: results of non-finite inputs are
 * skipped. */
static void tell_nonfinite(KernelTrial *x) {
    Check *c = x->c;
    for (size_t i = 0; !c->o.allow_nonfinite && i < x->nin; i++)
        if (x->there[i] && !is_finite_value(&x->in[i])) return;
    for (size_t i = 0; !c->o.allow_nonfinite && i < x->nout; i++) {
        const Value *v = &x->base[i];
        Var out = x->g->apply[x->id].out + (Var)i;
        if (is_finite_value(v) || !x->f->b->runs.p[out]) continue;
        if (x->inner && c->nonfinite) continue; /* reported inside the function */
        c->nonfinite = true;
        Stats q = tensor_stats(&v->t);
        if (!found(c, E_INVALID_VALUE, trial_key(x, E_INVALID_VALUE, 1), trial_place(x),
                   "output %zu of %s is not finite: %lld nan, %lld inf", i, x->op->name,
                   (long long)q.nans, (long long)q.infs))
            continue;
        trial_note_type(x, i, v);
        trial_note(x);
        found_hint(c, HINT_ALLOW_NONFINITE);
        found_hint(c, HINT_NAN_GUARD);
    }
}

static void keep_base_values(KernelTrial *x) {
    ReferenceRun *f = x->f;
    for (size_t i = 0; i < x->nout; i++)
        reference_set(f, x->g->apply[x->id].out + (Var)i, &x->base[i]);
}

/* If a lazy thunk failed: does it succeed with all inputs present? Then it read one
 * without requesting it, and works only if that happens to be computed. */
static void try_eager(KernelTrial *x, const char *why) {
    OpRun r = {.kind = KIND_REPEAT, .how = "", .eager = true};
    bool there = x->lazy && x->op->plugin;
    for (size_t i = 0; i < x->nin; i++)
        there &= x->there[i];
    if (!there) return;
    if (trial_run(x, &r) &&
        found(x->c, E_THUNK_OUTPUT, trial_key(x, E_THUNK_OUTPUT, KIND_FIRST),
              trial_place(x), "%s reads an input that it did not ask for: %s",
              x->op->name, why)) {
        trial_note(x);
        found_note(x->c, NOWHERE,
                   "a lazy thunk sets need for it and returns TL_THUNK_NEEDS");
    }
    trial_end(x, &r);
}

static void run_first(KernelTrial *x, bool checked) {
    OpRun r = {.kind = KIND_FIRST, .how = "", .watched = x->inner && checked};
    if (!trial_run(x, &r)) {
        x->f->why[x->id] = r.why;
        if (r.broken &&
            found(x->c, E_THUNK_OUTPUT, trial_key(x, E_THUNK_OUTPUT, KIND_FIRST),
                  trial_place(x), "the thunk of %s breaks its protocol: %s",
                  x->op->name, r.why))
            trial_note(x);
        if (!r.broken && checked) try_eager(x, r.why);
        if (x->op->promise &&
            found(x->c, E_BAD_DERIVATIVE, check_key(E_BAD_DERIVATIVE, x->props, 0),
                  trial_place(x), "%s", r.why))
            trial_note(x);
    } else if (!trial_inspect(x, &r)) {
        x->f->why[x->id] = "it is not of its type";
    } else if (take_base(x, &r)) {
        keep_base_values(x);
    }
    trial_end(x, &r);
}

/* Runs the function once more with checks, because its values turn out to be needed. */
static void look_inside(KernelTrial *x) {
    OpRun r = {.kind = KIND_REPEAT, .how = "", .watched = true};
    trial_run(x, &r);
    trial_end(x, &r);
}

void op_finite(ReferenceRun *f, ApplyId id, bool again) {
    KernelTrial x;
    if (trial_open(&x, f, id)) {
        if (x.inner && !x.by_formula && again) look_inside(&x);
        Value *base = NEW_N(x.a, x.nout, Value);
        bool all = true;
        for (size_t i = 0; all && i < x.nout; i++) {
            Value v = {0};
            all = reference_get(f, x.g->apply[id].out + (Var)i, &v);
            if (all) value_copy_view(&base[i], &v);
        }
        x.base = base;
        if (all) tell_nonfinite(&x);
    }
    trial_close(&x);
}

void op_check(ReferenceRun *f, ApplyId id, bool checked) {
    KernelTrial x;
    size_t mark = diag_count(f->c->s);
    if (trial_open(&x, f, id)) {
        Value *history = checked && !times_seen(&x) ? history_run(&x) : NULL;
        run_first(&x, checked);
        if (x.base && checked) try_everything(&x);
        if (x.base && history) history_check(&x, history);
        history_free(&x, history);
    }
    trial_close(&x);
    if (diag_count(f->c->s) > mark) { /* out of memory */
        const char *why = check_forget(f->c, mark);
        if (!f->why[id]) f->why[id] = why;
    }
}
