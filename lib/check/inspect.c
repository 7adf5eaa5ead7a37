/* Invariants after any run of an Apply: inputs are unchanged, results have their types
 * and share no memory beyond what the op declares, values equal those of the first
 * run. */
#include "check/check_impl.h"

#include <stdio.h>

static const Approx exact = {0};

uint64_t trial_key(const KernelTrial *x, DiagCode code, RunKind kind) {
    return check_key(code, x->op, kind);
}
Span trial_place(const KernelTrial *x) {
    return x->g->origin[x->id].at;
}

void trial_note(KernelTrial *x) {
    char label[32];
    check_note_apply(x->c, x->g, x->id);
    for (size_t i = 0; i < x->nin && i < 8; i++) {
        if (!x->there[i]) continue;
        snprintf(label, sizeof label, "input %zu", i);
        check_note_value(x->c, label, &x->in[i]);
    }
}

/* Advice for the author of the op: a plugin's or a row's. */
static const char *plugin_or_op_advice(const KernelTrial *x, const char *plugin,
                                       const char *row) {
    return x->op->plugin ? plugin : row;
}

static const char *advice_on_writing(const KernelTrial *x, bool object) {
    if (object)
        return "values of such types are shared: leave the input unchanged and build "
               "the result in what api->output_object returns";
    return plugin_or_op_advice(x,
                               "declare it in destroy_map, or work in storage from "
                               "api->output or api->scratch",
                               "declare it with `destroys` (or `reuse`, if the plan "
                               "may decide), or work in storage from call_out");
}

/* ---- inputs after a run ---- */
static bool may_destroy(const KernelTrial *x, const OpRun *r, size_t k) {
    if (r->reuse == (int)k + 1) return true;
    for (size_t i = 0; op_rare(x->op)->destroys && i < x->nout; i++)
        if (op_rare(x->op)->destroys(x->g, x->id, i) == (int)k) return true;
    return false;
}

static bool is_changed(KernelTrial *x, const OpRun *r, size_t k) {
    const Value *like = &x->in[r->swapped ? 1 - k : k];
    if (r->copied[k]) return !value_equal(like, &r->given[k]);
    const Form *form = r->in && like->kind == TYPE_TENSOR ? r->in : &form_plain;
    return !room_holds(x->c, &r->rooms.p[r->room_of[k]], form, &like->t);
}

static void changed_input(KernelTrial *x, const OpRun *r, size_t k) {
    Check *c = x->c;
    if (!found(c, E_DESTROY_MAP, trial_key(x, E_DESTROY_MAP, 0), trial_place(x),
               "%s overwrote input %zu, which it does not declare as destroyed%s%s",
               x->op->name, k, *r->how ? ", " : "", r->how))
        return;
    check_note_apply(c, x->g, x->id);
    check_note_value(c, "before", &x->in[k]);
    check_note_value(c, "after", &r->given[k]);
    check_note_difference(c, &x->in[k], &r->given[k], exact);
    found_note(c, NOWHERE, "%s", advice_on_writing(x, r->copied[k]));
}

static void check_inputs(KernelTrial *x, const OpRun *r) {
    Check *c = x->c;
    for (size_t k = 0; k < x->nin; k++) {
        bool looked = r->given && (r->copied[k] || r->room_of[k] != SIZE_MAX);
        if (!looked || r->blank) continue;
        bool changed = is_changed(x, r, k), may = may_destroy(x, r, k);
        bool empty = check_is_array(&x->in[k]) && tensor_size(&x->in[k].t) == 0;
        if (changed && !may) changed_input(x, r, k);
        if (changed || !may || r->reuse || empty) continue;
        if (r->kind == KIND_FIRST &&
            found_warning(
                c, E_DESTROY_MAP, trial_key(x, E_DESTROY_MAP, 1), trial_place(x),
                "%s declares that it destroys input %zu, but did not change it",
                x->op->name, k))
            check_note_apply(c, x->g, x->id);
    }
    for (size_t i = 0; i < r->rooms.n; i++)
        if (!room_is_intact(&r->rooms.p[i]) &&
            found(c, E_THUNK_OUTPUT, trial_key(x, E_THUNK_OUTPUT, KIND_FIRST),
                  trial_place(x), "%s wrote outside %s%s%s", x->op->name,
                  i < r->nroom_in ? "an input" : "its storage", *r->how ? ", " : "",
                  r->how))
            trial_note(x);
}

/* Storage of an earlier run must not be touched by this run, nor be part of its
 * result. */
static void check_past(KernelTrial *x, const OpRun *r) {
    for (const PastRoom *p; (p = past_changed(&x->c->past));)
        if (found(x->c, E_THUNK_OUTPUT, trial_key(x, E_THUNK_OUTPUT, KIND_KEPT),
                  trial_place(x),
                  "%s wrote to %s of an earlier run%s%s: it keeps a pointer to it",
                  p->op->name, p->input ? "an input" : "its storage",
                  *r->how ? ", " : "", r->how))
            trial_note(x);
}

/* ---- outputs: presence and type ---- */
bool check_is_array(const Value *v) {
    return v->kind == TYPE_TENSOR || v->kind == TYPE_RANDOM;
}

void trial_note_type(KernelTrial *x, size_t i, const Value *v) {
    found_note(x->c, NOWHERE, "its type is %s", type_str(x->s, x->type[i]));
    check_note_value(x->c, "its value", v);
    if (v->kind != TYPE_TENSOR || !dtype_is_inexact(v->t.dtype)) return;
    Stats q = tensor_stats(&v->t);
    found_note(x->c, NOWHERE, "isfinite: %s", q.nans || q.infs ? "no" : "yes");
}

static void tell_invalid(KernelTrial *x, const OpRun *r, size_t i, const char *why) {
    if (!found(x->c, E_INVALID_VALUE, trial_key(x, E_INVALID_VALUE, 0), trial_place(x),
               "output %zu of %s is not of its type: %s%s%s", i, x->op->name, why,
               *r->how ? ", " : "", r->how))
        return;
    if (!check_is_array(&r->out_value[i]) || r->out_value[i].t.data)
        trial_note_type(x, i, &r->out_value[i]);
    trial_note(x);
    found_note(x->c, NOWHERE, "%s",
               plugin_or_op_advice(x,
                                   "perform must create what make_node or otypes "
                                   "declares; one of the two is wrong",
                                   "a kernel must produce what the op's typing rule "
                                   "promises; one of the two is wrong"));
}

/* The first named dim that contradicts an earlier input. */
static const char *wrong_dim(KernelTrial *x, const Type *t, const Tensor *v) {
    uint64_t n;
    for (int k = 0; k < t->ndim; k++)
        if (dim_is_named(t->dim[k]) && map_get(&x->f->dim, dim_sym(t->dim[k]), &n) &&
            (int64_t)n != v->shape[k])
            return arena_printf(x->a, "dim %d is %lld, but %s is %lld", k,
                                (long long)v->shape[k],
                                sym_text(x->s, dim_sym(t->dim[k])), (long long)n);
    return NULL;
}

static bool is_valid(KernelTrial *x, const OpRun *r, size_t i) {
    const Value *v = &r->out_value[i];
    const Type *t = x->type[i];
    Receiver to = {{.strict = true}, "it", NOWHERE};
    const char *why = NULL;
    Value same = {0};
    size_t mark = diag_count(x->s);
    if (check_is_array(v) && !v->t.data)
        why = "it was not created";
    else if (!value_filter(x->s, t, v, &to, &same))
        why = check_forget(x->c, mark);
    else if (v->kind == TYPE_TENSOR)
        why = wrong_dim(x, t, &v->t);
    value_unref(&same);
    if (why) tell_invalid(x, r, i, why);
    return !why;
}

/* ---- outputs: memory ---- */
static bool lies_in(const Tensor *t, const Room *r) {
    const char *p = t->data, *from = r->buf->data;
    return p >= from && p < from + r->bytes + (size_t)2 * GUARD_BYTES;
}

static int viewed_input(const KernelTrial *x, size_t i) {
    return op_view(x->g, x->id, i);
}

static bool may_share(const KernelTrial *x, const OpRun *r, size_t i, size_t k) {
    if (viewed_input(x, i) == (int)k || (i == r->reuse_out && r->reuse == (int)k + 1))
        return true;
    return op_rare(x->op)->destroys &&
           op_rare(x->op)->destroys(x->g, x->id, i) == (int)k;
}

static void check_views(KernelTrial *x, const OpRun *r, size_t i) {
    const Tensor *t = &r->out_value[i].t;
    for (size_t k = 0; k < x->nin; k++) {
        if (r->room_of[k] == SIZE_MAX) continue;
        bool shares = lies_in(t, &r->rooms.p[r->room_of[k]]);
        if (shares && !may_share(x, r, i, k)) {
            if (!found(x->c, E_VIEW_MAP, trial_key(x, E_VIEW_MAP, 0), trial_place(x),
                       "output %zu of %s shares memory with input %zu, but the op "
                       "declares no such view%s%s",
                       i, x->op->name, k, *r->how ? ", " : "", r->how))
                continue;
            trial_note(x);
            found_note(x->c, NOWHERE, "declare it with %s, or copy",
                       plugin_or_op_advice(x, "view_map", "`view` or `views`"));
        }
        if (!shares && viewed_input(x, i) == (int)k && r->kind == KIND_FIRST &&
            tensor_size(t) > 1 &&
            found_warning(x->c, E_VIEW_MAP, trial_key(x, E_VIEW_MAP, 1), trial_place(x),
                          "%s declares output %zu as a view of input %zu, but took new "
                          "memory for it",
                          x->op->name, i, k))
            check_note_apply(x->c, x->g, x->id);
    }
}

static void check_overlap(KernelTrial *x, const OpRun *r, size_t i, size_t j) {
    const Tensor *a = &r->out_value[i].t, *b = &r->out_value[j].t;
    if (tensor_size(a) == 0 || tensor_size(b) == 0 || !tensor_may_share_memory(a, b))
        return;
    if (viewed_input(x, i) >= 0 && viewed_input(x, i) == viewed_input(x, j)) return;
    if (found(x->c, E_VIEW_MAP, trial_key(x, E_VIEW_MAP, 2), trial_place(x),
              "outputs %zu and %zu of %s share memory", i, j, x->op->name))
        trial_note(x);
}

/* The same for a value of a plugin's type, using its may_share_memory. False: both
 * would free the same memory, so the output was abandoned. */
static bool check_object_memory(KernelTrial *x, OpRun *r, size_t i) {
    Value *v = &r->out_value[i];
    for (size_t k = 0; k < x->nin; k++) {
        const Value *in = &r->given[k];
        if (in->kind != TYPE_PLUGIN || may_share(x, r, i, k) ||
            !value_may_share_memory(v, in))
            continue;
        if (found(x->c, E_VIEW_MAP, trial_key(x, E_VIEW_MAP, 0), trial_place(x),
                  "output %zu of %s shares memory with input %zu, but the op declares "
                  "no such view%s%s",
                  i, x->op->name, k, *r->how ? ", " : "", r->how)) {
            trial_note(x);
            found_note(x->c, NOWHERE, "declare it in view_map, or copy");
        }
        if (v->obj != in->obj) return value_class(v)->disown(v), false;
    }
    return true;
}

/* Two results, of one run or of different runs. */
static bool check_objects(KernelTrial *x, OpRun *r, size_t i, const Value *other,
                          const char *what) {
    Value *v = &r->out_value[i];
    if (op_view(x->g, x->id, i) >= 0 || other->kind != TYPE_PLUGIN || !other->obj ||
        !value_may_share_memory(v, other))
        return true;
    if (found(x->c, E_VIEW_MAP, trial_key(x, E_VIEW_MAP, 3), trial_place(x),
              "output %zu of %s shares memory with %s%s%s", i, x->op->name, what,
              *r->how ? ", " : "", r->how))
        trial_note(x);
    if (v->obj != other->obj) return value_class(v)->disown(v), false;
    return true;
}

static bool check_boxed(KernelTrial *x, OpRun *r) {
    bool ok = true;
    for (size_t i = 0; i < x->nout; i++) {
        if (r->out_value[i].kind != TYPE_PLUGIN || !x->op->plugin) continue;
        bool own = check_object_memory(x, r, i);
        for (size_t j = 0; own && j < i; j++)
            own = check_objects(x, r, i, &r->out_value[j], "another output");
        if (own && x->first)
            own = check_objects(x, r, i, &x->first[i], "an output of an earlier run");
        ok &= own;
    }
    return ok;
}

static void check_memory(KernelTrial *x, const OpRun *r) {
    for (size_t i = 0; i < x->nout; i++) {
        if (!check_is_array(&r->out_value[i])) continue;
        if (tensor_size(&r->out_value[i].t)) check_views(x, r, i);
        for (size_t j = 0; j < i; j++)
            if (check_is_array(&r->out_value[j])) check_overlap(x, r, j, i);
    }
}

/* ---- outputs: their values ---- */
static bool same_value(KernelTrial *x, const Value *a, const Value *b, bool bits) {
    Approx how = APPROX_DEFAULT;
    how.sloppy = x->c->o.sloppy;
    if (!bits) return value_approx(x->s, a, b, how);
    bool bytes = a->kind != TYPE_PLUGIN || !a->obj || value_class(a)->parts;
    return bytes ? value_identical(a, b) : value_equal(a, b);
}

/* Checks that the results equal those of the first run. */
bool trial_same(KernelTrial *x, const OpRun *r, bool bits) {
    Check *c = x->c;
    Approx how = APPROX_DEFAULT;
    how.sloppy = c->o.sloppy;
    for (size_t i = 0; i < x->nout; i++) {
        if (same_value(x, &x->base[i], &r->out_value[i], bits)) continue;
        if (!bits && rounding_explains(x, i, &r->out_value[i], how)) continue;
        if (!found(c, E_THUNK_OUTPUT, trial_key(x, E_THUNK_OUTPUT, r->kind),
                   trial_place(x), "output %zu of %s differs %s", i, x->op->name,
                   r->how))
            return false;
        check_note_value(c, "first", &x->base[i]);
        check_note_value(c, "then", &r->out_value[i]);
        check_note_difference(c, &x->base[i], &r->out_value[i], bits ? exact : how);
        trial_note(x);
        return false;
    }
    return true;
}

/* Checks everything that must hold after any run. False: the outputs are unusable. */
bool trial_inspect(KernelTrial *x, OpRun *r) {
    bool ok = true;
    for (size_t i = 0; i < x->nout; i++)
        ok = is_valid(x, r, i) && ok;
    check_inputs(x, r);
    if (x->op->plugin) check_past(x, r);
    if (ok) check_memory(x, r);
    return ok && check_boxed(x, r);
}
