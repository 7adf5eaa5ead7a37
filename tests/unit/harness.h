/* Runs ops without the VM: a graph is built with op_apply and its Applies are performed
 * in order, each with a CallHost of the harness. Tensors come in several memory
 * layouts, so that kernels meet strides that they did not choose. */
#ifndef HARNESS_H
#define HARNESS_H

#include "op/build.h"
#include "op/services.h"
#include "test.h"

#include <stdlib.h>

typedef struct Lab {
    Session *s;
    Graph *g;
    Builder b;
    Value *val; /* by variable */
    size_t nval;
    uint32_t done; /* Applies performed */
} Lab;

static inline Lab lab_new(unsigned threads) {
    Lab l = {.s = session_new(NULL, NULL)};
    session_options(l.s)->threads = threads;
    l.g = graph_new(l.s);
    l.b = builder(l.g, true);
    return l;
}

static inline void lab_reset(Lab *l) {
    for (size_t i = 0; i < l->nval; i++)
        value_unref(&l->val[i]);
    free(l->val);
    graph_free(l->g);
    l->val = NULL;
    l->nval = 0;
    l->done = 0;
    l->g = graph_new(l->s);
    l->b = builder(l->g, true);
    diag_clear(l->s);
}

static inline void lab_free(Lab *l) {
    lab_reset(l);
    graph_free(l->g);
    session_free(l->s);
}

static inline void lab_room(Lab *l) {
    if (l->nval >= l->g->nvar) return;
    l->val = realloc(l->val, l->g->nvar * sizeof *l->val);
    memset(l->val + l->nval, 0, (l->g->nvar - l->nval) * sizeof *l->val);
    l->nval = l->g->nvar;
}

/* An input that holds t (taken over). `known`: its type has the sizes; else only 1s are
 * known. */
static inline Var lab_input(Lab *l, Tensor t, bool known) {
    Dim dim[MAX_NDIM];
    char name[24];
    for (int k = 0; k < t.ndim; k++)
        dim[k] = known || t.shape[k] == 1 ? t.shape[k] : DIM_UNKNOWN;
    snprintf(name, sizeof name, "in%u", l->g->nvar);
    Var v = graph_input(l->g, sym(l->s, name), type_tensor(l->s, t.dtype, t.ndim, dim));
    lab_room(l);
    l->val[v] = (Value){.kind = TYPE_TENSOR, .t = t};
    return v;
}

static bool lab_alloc(Call *c, size_t i, DType d, int ndim, const int64_t *shape) {
    value_unref(&c->out[i]);
    return tensor_new(c->s, d, ndim, shape, &c->out[i].t);
}

static void
    *lab_scratch_mem; /* one Call's at a time; each piece begins with the last */
static void *lab_scratch(Call *c, size_t bytes) {
    size_t room = (bytes + 127) / 64 * 64;
    char *piece = aligned_alloc(64, 64 + room);
    (void)c;
    memcpy(piece, &lab_scratch_mem, sizeof lab_scratch_mem);
    lab_scratch_mem = piece;
    return memset(piece + 64, 0xa5, room);
}

static inline void lab_scratch_free(void) {
    for (void *piece = lab_scratch_mem; piece; piece = lab_scratch_mem) {
        memcpy(&lab_scratch_mem, piece, sizeof lab_scratch_mem);
        free(piece);
    }
}

/* An elementwise Apply, element by element through its loop. */
static inline bool lab_elementwise(Lab *l, Call *c) {
    int64_t shape[MAX_NDIM];
    int ndim = 0;
    for (size_t i = 0; i < c->nin; i++)
        if (call_in(c, i)->ndim > ndim) ndim = call_in(c, i)->ndim;
    for (int k = 0; k < ndim; k++)
        shape[k] = 1;
    for (size_t i = 0; i < c->nin; i++)
        for (int k = 0; k < call_in(c, i)->ndim; k++) {
            int64_t n = call_in(c, i)->shape[k];
            if (n != 1) shape[ndim - call_in(c, i)->ndim + k] = n;
        }
    Tensor *out = call_out(c, 0, ndim, shape);
    Loop *loop = op_loop(l->s, c->op, call_in(c, c->nin - 1)->dtype, out->dtype);
    if (!loop) return false;
    const Tensor *op[4] = {out};
    Iter it;
    for (size_t i = 0; i < c->nin; i++)
        op[i + 1] = call_in(c, i);
    for (iter_init(&it, ndim, shape, (int)c->nin + 1, op); !it.done; iter_next(&it))
        for (int64_t i = 0; i < it.inner; i++) {
            const void *in[3];
            void *to[1] = {it.ptr[0] + i * it.step[0]};
            for (size_t k = 0; k < c->nin; k++)
                in[k] = it.ptr[k + 1] + i * it.step[k + 1];
            loop(1, in, to);
        }
    return true;
}

static inline bool lab_perform(Lab *l, ApplyId id) {
    const Apply *a = &l->g->apply[id];
    const Value *in[64];
    const Type *type[64];
    CallHost host = {
        .alloc = lab_alloc, .scratch = lab_scratch, .pool = session_pool(l->s)};
    for (size_t i = 0; i < a->nin && i < 64; i++)
        in[i] = &l->val[apply_in(l->g, id)[i]];
    for (size_t i = 0; i < a->nout && i < 64; i++)
        type[i] = var_type(l->g, a->out + (Var)i);
    Call c = {.s = l->s,
              .g = l->g,
              .id = id,
              .op = a->op,
              .props = a->props,
              .nin = a->nin,
              .nout = a->nout,
              .in = in,
              .out = &l->val[a->out],
              .out_type = type,
              .host = &host};
    bool ok = a->op->perform ? a->op->perform(&c) : lab_elementwise(l, &c);
    lab_scratch_free();
    for (size_t i = 0; ok && i < a->nout; i++) {
        const Tensor *t = &l->val[a->out + i].t;
        CHECK(t->dtype == type[i]->dtype && t->ndim == type[i]->ndim,
              "%s: output %zu is not of its type", a->op->name, i);
        for (int k = 0; k < t->ndim && k < type[i]->ndim; k++)
            CHECK(type[i]->dim[k] < 0 || type[i]->dim[k] == t->shape[k],
                  "%s: dim %d is %lld, its type says %lld", a->op->name, k,
                  (long long)t->shape[k], (long long)type[i]->dim[k]);
    }
    return ok;
}

/* The value of v; NULL when an op failed (its diagnostic is in the session). */
static inline const Tensor *lab_run(Lab *l, Var v) {
    if (v == VAR_NONE) return NULL;
    lab_room(l);
    for (Var i = 0; i < l->g->nvar; i++)
        if (var_is_const(l->g, i) && !l->val[i].t.data)
            value_copy_view(&l->val[i], var_leafrec(l->g, i)->value);
    for (; l->done < l->g->napply; l->done++)
        if (!lab_perform(l, l->done)) return NULL;
    return &l->val[v].t;
}

/* ---- applying by name ---- */
static inline Var lab_apply(Lab *l, const char *name, size_t nin, const Var *in,
                            size_t nprop, const PropArg *prop) {
    const Op *op = op_find(l->s, name, strlen(name));
    CHECK(op != NULL, "no op %s", name);
    return op ? op_apply1(&l->b, op, props_make(l->s, op, nprop, prop), nin, in)
              : VAR_NONE;
}

/* ---- tensors ---- */
enum {
    LAYOUTS = 4
}; /* row-major, column-major, every other element with the last dim backwards, dim 0
      repeated */

static inline void lab_put(const Tensor *t, int64_t flat, double v) {
    char *p = t->data;
    for (int k = t->ndim - 1; k >= 0; k--) {
        p += flat % t->shape[k] * t->stride[k];
        flat /= t->shape[k];
    }
    tensor_cast_elements(t->dtype, p, DT_FLOAT64, &v, 1, 0, 0);
}

static inline Tensor lab_tensor(Lab *l, DType d, int ndim, const int64_t *shape,
                                int layout) {
    int64_t wide[MAX_NDIM] = {0};
    Tensor t;
    for (int k = 0; k < ndim; k++)
        wide[k] = layout == 1   ? shape[ndim - 1 - k]
                  : layout == 2 ? 2 * shape[k] + 1
                                : shape[k];
    if (layout == 3 && ndim && shape[0]) wide[0] = 1;
    tensor_zeros(l->s, d, ndim, wide, &t);
    Tensor base = t;
    for (int k = 0; k < ndim; k++) {
        t.shape[k] = shape[k];
        t.stride[k] = layout == 1   ? base.stride[ndim - 1 - k]
                      : layout == 2 ? 2 * base.stride[k]
                                    : base.stride[k];
    }
    if (layout == 3 && ndim && shape[0]) t.stride[0] = 0;
    if (layout == 2 && ndim && shape[ndim - 1]) {
        t.data = (char *)t.data + (shape[ndim - 1] - 1) * t.stride[ndim - 1];
        t.stride[ndim - 1] = -t.stride[ndim - 1];
    }
    return t;
}

/* Small whole numbers that every dtype holds, none of them in order. */
static inline double lab_number(DType d, int64_t i) {
    uint64_t h = ((uint64_t)i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    double v = (double)(h >> 40 & 15);
    if (d == DT_BOOL) return v > 7;
    return dtype_kind(d) == K_UINT ? v : v - 7;
}

static inline Tensor lab_filled(Lab *l, DType d, int ndim, const int64_t *shape,
                                int layout) {
    Tensor t = lab_tensor(l, d, ndim, shape, layout);
    for (int64_t i = 0; i < tensor_size(&t); i++)
        lab_put(&t, i, lab_number(d, i));
    return t;
}

static inline Tensor lab_list(Lab *l, DType d, int64_t n, const double *v) {
    Tensor t;
    tensor_new(l->s, d, 1, &n, &t);
    for (int64_t i = 0; i < n; i++)
        lab_put(&t, i, v[i]);
    return t;
}

/* The language's text of a value, for golden comparisons. */
static inline const char *lab_text(Lab *l, const Tensor *t) {
    if (!t) return diag_count(l->s) ? diag_name(diag_get(l->s, 0)->code) : "nothing";
    Str b = STR(l->s);
    tensor_text(l->s, t, -1, &b);
    const char *text = arena_str(session_arena(l->s), str_text(&b), b.n);
    str_free(&b);
    return text;
}

#endif
