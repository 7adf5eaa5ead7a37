/* One run of one Apply by its kernel, in DebugMode's storage: inputs are copies between
 * guards, output cells hold what the run prescribes, and storage requested by the
 * kernel is poisoned. */
#include "check/check_impl.h"

#include <string.h>

/* ---- storage requested by kernels ---- */
typedef struct Host {
    CallHost host;
    KernelTrial *x;
    OpRun *r;
} Host;

static bool is_contiguous_as(const Tensor *t, DType d, int ndim, const int64_t *shape) {
    return t->dtype == d && t->ndim == ndim && tensor_is_contiguous(t) &&
           (ndim == 0 || memcmp(t->shape, shape, (size_t)ndim * sizeof *shape) == 0);
}

static bool host_alloc(Call *call, size_t i, DType d, int ndim, const int64_t *shape) {
    Host *h = (Host *)call->host;
    const Form form = {.dim = -1, .bytes = !h->r->poison};
    Tensor t;
    int over = call->reuse ? call->reuse[i] : -1;
    Tensor kept = call->out[i].t;
    bool keeps = h->x->op->keeps_storage && h->r->previous && kept.data;
    if (keeps && is_contiguous_as(&kept, d, ndim, shape))
        tensor_copy_view(&t, &kept);
    else if (over >= 0 && call->in[over]->kind == TYPE_TENSOR &&
             is_contiguous_as(call_in(call, (size_t)over), d, ndim, shape))
        tensor_copy_view(&t, call_in(call, (size_t)over));
    else if (!form_new(h->x->c, &form, d, ndim, shape, &h->r->rooms, &t))
        return false;
    value_unref(&call->out[i]);
    call->out[i].t = t;
    return true;
}

static void *host_scratch(Call *call, size_t bytes) {
    Host *h = (Host *)call->host;
    return room_raw(h->x->c, bytes, &h->r->rooms);
}

/* ---- inputs and output cells ---- */
/* Does a copy of the value equal it? Compares a separate copy: values cache their
 * bytes. */
static bool copies_well(KernelTrial *x, const Value *from) {
    Value probe;
    bool own;
    if (!value_clone(x->s, from, &probe, &own)) return false;
    bool equal = own && value_equal(from, &probe);
    if (own && !equal && !value_approx(x->s, from, &probe, APPROX_DEFAULT) &&
        found(x->c, E_INVALID_VALUE,
              check_key(E_INVALID_VALUE, value_type(x->s, from), 5), trial_place(x),
              "the copy of a value of type %s differs from it: its `copy`, or "
              "from_bytes of to_bytes, is wrong",
              type_str(x->s, value_type(x->s, from)))) {
        check_note_value(x->c, "the value", from);
        check_note_value(x->c, "its copy", &probe);
    }
    value_unref(&probe);
    return equal;
}

/* Copies a value of a plugin's type if possible, so that a change by the op becomes
 * visible. */
bool trial_clone(KernelTrial *x, const Value *from, Value *to, bool *own) {
    bool plugin = from->kind == TYPE_PLUGIN && from->obj && x->op->plugin;
    *own = false;
    if (check_is_array(from) || (plugin && copies_well(x, from)))
        return value_clone(x->s, from, to, own);
    return value_copy_view(to, from), true;
}

static bool give_input(KernelTrial *x, OpRun *r, size_t i) {
    const Value *from = &x->in[r->swapped ? 1 - i : i];
    const Form *form = r->in && from->kind == TYPE_TENSOR ? r->in : &form_plain;
    Value *to = &r->given[i];
    r->given_p[i] = to;
    r->room_of[i] = SIZE_MAX;
    if (!x->there[i]) return *to = (Value){.kind = TYPE_NONE}, true;
    if (!check_is_array(from)) return trial_clone(x, from, to, &r->copied[i]);
    to->kind = from->kind;
    r->room_of[i] = r->rooms.n;
    if (!form_new(x->c, form, from->t.dtype, from->t.ndim, from->t.shape, &r->rooms,
                  &to->t))
        return false;
    bool other = r->blank || (r->others && dtype_is_inexact(from->t.dtype));
    if (!other)
        tensor_assign(&to->t, &from->t);
    else
        room_fill_666(to->t.dtype, to->t.data, (size_t)tensor_size(&to->t));
    if (r->moved && dtype_is_inexact(to->t.dtype))
        rounding_move(&to->t, r->moved * 64 + (int)i);
    return true;
}

static bool give_output(KernelTrial *x, OpRun *r, size_t i) {
    const Value *like = x->base ? &x->base[i] : NULL;
    r->out_value[i].kind = x->type[i]->kind;
    r->out_value[i].t.dtype = x->type[i]->dtype;
    if (r->previous) {
        value_copy_view(&r->out_value[i], &r->previous->out_value[i]);
    } else if (r->out && like && like->kind == TYPE_TENSOR) {
        return form_new(x->c, r->out, like->t.dtype, like->t.ndim, like->t.shape,
                        &r->rooms, &r->out_value[i].t);
    }
    return true;
}

static bool give_operands(KernelTrial *x, OpRun *r) {
    r->given = NEW_N(x->a, x->nin, Value);
    r->given_p = NEW_N(x->a, x->nin, const Value *);
    r->room_of = NEW_N(x->a, x->nin, size_t);
    r->copied = NEW_N(x->a, x->nin, bool);
    r->out_value = NEW_N(x->a, x->nout, Value);
    for (size_t i = 0; i < x->nin; i++)
        if (!give_input(x, r, i)) return false;
    r->nroom_in = r->rooms.n;
    for (size_t i = 0; i < x->nout; i++)
        if (!give_output(x, r, i)) return false;
    return true;
}

/* ---- elementwise: the loop itself ---- */
/* The common shape; only a dim that is 1 by type is broadcast. */
static bool out_shape(KernelTrial *x, int *ndim, int64_t *shape) {
    *ndim = 0;
    for (size_t i = 0; i < x->nin; i++)
        if (x->in[i].t.ndim > *ndim) *ndim = x->in[i].t.ndim;
    bool fixed[MAX_NDIM] = {false};
    for (int k = 0; k < *ndim; k++)
        shape[k] = 1;
    for (size_t i = 0; i < x->nin; i++) {
        const Tensor *t = &x->in[i].t;
        const Type *type = var_type(x->g, apply_in(x->g, x->id)[i]);
        for (int k = 0; k < t->ndim; k++) {
            int at = *ndim - t->ndim + k;
            if (type->dim[k] == 1) continue;
            if (fixed[at] && shape[at] != t->shape[k]) return false;
            fixed[at] = true;
            shape[at] = t->shape[k];
        }
    }
    return true;
}

static Loop *trial_loop(const KernelTrial *x, RunHow how) {
    DType from = x->in[x->nin - 1].t.dtype, to = x->type[0]->dtype;
    if (how != RUN_BASELINE) return op_loop(x->s, x->op, from, to);
    return x->op->pick(from, to, 0);
}

/* Expands each input to a block of the output's size. */
static bool broadcast_blocks(KernelTrial *x, OpRun *r, int ndim, const int64_t *shape,
                             Tensor *block) {
    for (size_t i = 0; i < x->nin; i++) {
        const Tensor *t = &r->given[i].t;
        if (!form_new(x->c, &form_plain, t->dtype, ndim, shape, &r->rooms, &block[i]))
            return false;
        tensor_assign(&block[i], t);
    }
    return true;
}

static unsigned call_loop(const KernelTrial *x, const OpRun *r, Loop *loop, size_t n,
                          const Tensor *block) {
    const void *in[8];
    void *out[8];
    size_t step = r->impl == RUN_SINGLE ? 1 : n;
    unsigned fault = 0;
    for (size_t at = 0; at < n; at += step) {
        for (size_t i = 0; i < x->nin; i++)
            in[i] = (const char *)block[i].data + at * dtype_size(block[i].dtype);
        for (size_t i = 0; i < x->nout; i++)
            out[i] =
                (char *)r->out_value[i].t.data + at * dtype_size(x->type[i]->dtype);
        fault |= loop(step, in, out);
    }
    return fault;
}

/* The block of an input that may be overwritten becomes the output. */
static bool loop_results(KernelTrial *x, OpRun *r, int ndim, const int64_t *shape,
                         Tensor *block) {
    const Form form = {.dim = -1, .bytes = !r->poison};
    for (size_t i = 0; i < x->nout; i++) {
        Value *o = &r->out_value[i];
        o->kind = TYPE_TENSOR;
        if (i == r->reuse_out && r->reuse) {
            o->t = block[r->reuse - 1], o->t.dtype = x->type[i]->dtype;
            block[r->reuse - 1].buf = NULL;
        } else if (!form_new(x->c, &form, x->type[i]->dtype, ndim, shape, &r->rooms,
                             &o->t))
            return false;
    }
    return true;
}

static bool run_loop(KernelTrial *x, OpRun *r) {
    int64_t shape[MAX_NDIM];
    int ndim;
    Tensor block[8] = {0};
    Loop *loop = trial_loop(x, r->impl);
    if (!loop || x->nin > 8 || x->nout > 8) return r->why = "there is no loop", false;
    if (!out_shape(x, &ndim, shape)) return r->why = "the shapes differ", false;
    bool ok = broadcast_blocks(x, r, ndim, shape, block) &&
              loop_results(x, r, ndim, shape, block);
    if (ok) {
        size_t n = (size_t)tensor_size(&r->out_value[0].t);
        if (n && call_loop(x, r, loop, n, block)) r->why = "an element has no result";
    }
    for (size_t i = 0; i < x->nin; i++)
        tensor_unref(&block[i]);
    return ok && !r->why;
}

/* ---- kernels and thunks ---- */
static void note_unread(const KernelTrial *x, const uint8_t *computed) {
    uint8_t *unread = x->f->unread + x->g->apply[x->id].in;
    for (size_t i = 0; i < x->nin; i++)
        unread[i] = computed[i] == NOT_COMPUTED;
}

static bool run_thunk(KernelTrial *x, OpRun *r, Call *c) {
    const Thunk *t = op_rare(x->op)->thunk;
    const Value none = {.kind = TYPE_NONE};
    uint8_t *computed = NEW_N(x->a, x->nin, uint8_t);
    bool *need = NEW_N(x->a, x->nin, bool), *fresh = NEW_N(x->a, x->nout, bool);
    for (size_t i = 0; i < x->nin; i++) {
        bool wait = t->lazy && !r->eager && (i > 31 || !(t->first >> i & 1));
        computed[i] = wait ? NOT_COMPUTED : COMPUTED;
        if (wait)
            r->given_p[i] = &none;
        else if (!x->there[i])
            return r->why = "an input that it needs has no value", false;
    }
    for (size_t i = 0; i < x->nout; i++)
        fresh[i] = r->renewed;
    c->computed = computed;
    c->need = need;
    c->no_recycling = fresh;
    for (size_t turn = 0; turn <= x->nin; turn++) {
        memset(need, 0, x->nin * sizeof *need);
        ThunkResult got = t->run(x->state[r->impl == RUN_REFERENCE], c);
        if (got != THUNK_NEEDS) {
            if (r->kind == KIND_FIRST) note_unread(x, computed);
            return got == THUNK_DONE;
        }
        if (t->once && turn) break;
        bool more = false;
        for (size_t i = 0; i < x->nin; i++) {
            if (!need[i] || computed[i] == COMPUTED) continue;
            if (!x->there[i])
                return r->why = "an input that it needs has no value", false;
            computed[i] = COMPUTED;
            r->given_p[i] = &r->given[i];
            more = true;
        }
        r->broken = !more;
        if (!more)
            return r->why = "it waits, although nothing that it waits for is missing",
                   false;
    }
    r->broken = true;
    return r->why = "it keeps asking for inputs", false;
}

static bool make_thunk(KernelTrial *x, const Call *c, bool reference) {
    if (x->made[reference] || !op_rare(x->op)->thunk->make) return true;
    Impl impl = reference ? IMPL_DEBUG : IMPL_FAST;
    return x->made[reference] =
               op_rare(x->op)->thunk->make(c, impl, &x->state[reference]);
}

static bool run_kernel(KernelTrial *x, OpRun *r) {
    int16_t *reuse = NEW_N(x->a, x->nout, int16_t);
    Host h = {
        {.alloc = host_alloc, .scratch = host_scratch, .pool = session_pool(x->s)},
        x,
        r};
    Call c = {.s = x->s,
              .g = x->g,
              .id = x->id,
              .op = x->op,
              .props = x->props,
              .nin = x->nin,
              .nout = x->nout,
              .in = r->given_p,
              .out = r->out_value,
              .out_type = x->type,
              .at = x->g->origin[x->id].at,
              .host = &h.host};
    for (size_t i = 0; i < x->nout; i++)
        reuse[i] = -1;
    reuse[r->reuse_out] = (int16_t)(r->reuse - 1);
    if (r->reuse) c.reuse = reuse;
    bool reference = r->impl == RUN_REFERENCE;
    if (x->op->debug && (reference || x->op->debug_instead)) return x->op->debug(&c);
    if (!op_rare(x->op)->thunk) return x->op->perform(&c);
    return make_thunk(x, &c, reference) && run_thunk(x, r, &c);
}

bool trial_run(KernelTrial *x, OpRun *r) {
    Services kept;
    size_t mark = diag_count(x->s);
    bool loop = x->loops && r->impl != RUN_REFERENCE;
    inner_swap(x->c, &kept, r->watched);
    r->ok = give_operands(x, r) && (loop            ? run_loop(x, r)
                                    : x->by_formula ? userop_trial(x, r)
                                                    : run_kernel(x, r));
    inner_restore(x->c, &kept);
    if (diag_count(x->s) > mark) {
        const char *said = check_forget(x->c, mark);
        if (!r->why) r->why = said;
    }
    if (!r->ok && !r->why) r->why = "it gives no reason";
    return r->ok;
}

void trial_end(KernelTrial *x, OpRun *r) {
    for (size_t i = 0; r->given && i < x->nin; i++)
        value_unref(&r->given[i]);
    for (size_t i = 0; r->out_value && i < x->nout; i++)
        value_unref(&r->out_value[i]);
    if (x->op->plugin)
        past_keep(&x->c->past, x->op, r->nroom_in, &r->rooms);
    else
        rooms_free(&r->rooms);
}
