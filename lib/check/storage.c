/* Arrays of every layout, between guards, filled with values that no kernel would
 * write. */
#include "check/check_impl.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD_BYTE = 0xC5, POISON_BYTE = 0xAA, STRIDED_DIMS = 4, PIECE = 256 };

const Form form_plain = {.name = "contiguous", .dim = -1, .bytes = true};

void room_fill_666(DType d, void *p, size_t n) {
    double v = 666;
    size_t size = dtype_size(d);
    for (size_t i = 0; i < n; i++)
        tensor_cast_elements(d, (char *)p + i * size, DT_FLOAT64, &v, 1, 0, 0);
}

static bool room_new(Check *c, size_t bytes, Room *r) {
    size_t all;
    if (!size_add(bytes, (size_t)2 * GUARD_BYTES, &all)) all = SIZE_MAX;
    r->buf = buffer_new(c->s, all);
    r->bytes = bytes;
    if (!r->buf) return false;
    memset(r->buf->data, GUARD_BYTE, GUARD_BYTES);
    memset((char *)r->buf->data + GUARD_BYTES + bytes, GUARD_BYTE, GUARD_BYTES);
    return true;
}

static char *room_data(const Room *r) {
    return (char *)r->buf->data + GUARD_BYTES;
}

bool room_is_intact(const Room *r) {
    const unsigned char *p = r->buf->data, *q = p + GUARD_BYTES + r->bytes;
    for (int i = 0; i < GUARD_BYTES; i++)
        if (p[i] != GUARD_BYTE || q[i] != GUARD_BYTE) return false;
    return true;
}

void rooms_free(Rooms *r) {
    for (size_t i = 0; i < r->n; i++)
        buffer_unref(r->p[i].buf);
    vec_free(r);
}

void *room_raw(Check *c, size_t bytes, Rooms *rooms) {
    Room r;
    if (!room_new(c, bytes, &r)) return NULL;
    vec_push(c->s, rooms, r);
    memset(room_data(&r), POISON_BYTE, bytes);
    return room_data(&r);
}

/* ---- rooms of finished runs ---- */
static uint64_t past_hash(const Room *r) {
    return hash_bytes(r->buf->data, r->bytes + (size_t)2 * GUARD_BYTES, 0);
}

void past_keep(Past *p, const Op *op, size_t nin, Rooms *r) {
    for (size_t i = 0; i < r->n; i++) {
        if (r->p[i].bytes > PAST_BYTES) {
            buffer_unref(r->p[i].buf);
            continue;
        }
        PastRoom *at = &p->room[p->next++ % PAST_ROOMS];
        buffer_unref(at->room.buf);
        *at = (PastRoom){r->p[i], op, i < nin, past_hash(&r->p[i])};
    }
    vec_free(r);
}

const PastRoom *past_changed(Past *p) {
    for (int i = 0; i < PAST_ROOMS; i++) {
        PastRoom *at = &p->room[i];
        if (!at->room.buf) continue;
        uint64_t now = past_hash(&at->room);
        if (now == at->hash) continue;
        at->hash = now;
        return at;
    }
    return NULL;
}

void past_free(Past *p) {
    for (int i = 0; i < PAST_ROOMS; i++)
        buffer_unref(p->room[i].room.buf);
}

/* ---- layouts ---- */
/* Sizes after `grow`, strides in elements, and the position of index 0. */
typedef struct Plan_ {
    int64_t shape[MAX_NDIM], stride[MAX_NDIM], elements, first;
    size_t bytes;
} FormPlan;

static int step_of(const Form *f, int ndim, int k) {
    bool strided = f->step != F_ORDER && f->step != 0 && k >= ndim - STRIDED_DIMS;
    return strided ? f->step : 1;
}

static bool plan_form(const Form *f, DType d, int ndim, const int64_t *shape,
                      FormPlan *p) {
    int64_t at = 1;
    size_t bytes = dtype_size(d);
    p->first = 0;
    for (int k = 0; k < ndim; k++) {
        int64_t n = shape[k] + (f->dim < 0 || f->dim == k ? f->grow : 0);
        p->shape[k] = n < 0 ? 0 : n;
    }
    for (int i = 0; i < ndim; i++) {
        int k = f->step == F_ORDER ? i : ndim - 1 - i, step = step_of(f, ndim, k);
        int64_t room = p->shape[k] * abs(step);
        p->stride[k] = at * step;
        if (step < 0 && p->shape[k]) p->first -= (p->shape[k] - 1) * p->stride[k];
        if (!size_mul(bytes, (size_t)room, &bytes)) return false;
        at *= room ? room : 1;
    }
    p->elements = (int64_t)(bytes / dtype_size(d));
    p->bytes = bytes;
    return true;
}

static void fill_form(const Form *f, DType d, const FormPlan *p, char *to) {
    if (f->bytes)
        memset(to, POISON_BYTE, p->bytes);
    else
        room_fill_666(d, to, (size_t)p->elements);
}

static Tensor lay_out(const FormPlan *p, DType d, int ndim, char *at, Buffer *buf) {
    Tensor t = {.dtype = d, .ndim = ndim, .buf = buf};
    int64_t size = (int64_t)dtype_size(d);
    t.data = at + p->first * size;
    for (int k = 0; k < ndim; k++) {
        t.shape[k] = p->shape[k];
        t.stride[k] = p->stride[k] * size;
    }
    return t;
}

bool form_new(Check *c, const Form *f, DType d, int ndim, const int64_t *shape,
              Rooms *rooms, Tensor *out) {
    FormPlan p;
    Room r;
    if (!plan_form(f, d, ndim, shape, &p)) p.bytes = SIZE_MAX;
    if (!room_new(c, p.bytes, &r)) return false;
    fill_form(f, d, &p, room_data(&r));
    vec_push(c->s, rooms, r);
    *out = lay_out(&p, d, ndim, room_data(&r), buffer_ref(r.buf));
    return true;
}

bool room_holds(Check *c, const Room *r, const Form *f, const Tensor *like) {
    FormPlan p;
    char *copy = mem_alloc(c->s, r->bytes + 1);
    plan_form(f, like->dtype, like->ndim, like->shape, &p);
    fill_form(f, like->dtype, &p, copy);
    Tensor t = lay_out(&p, like->dtype, like->ndim, copy, NULL);
    tensor_assign(&t, like);
    bool same = memcmp(copy, room_data(r), r->bytes) == 0;
    mem_free(copy);
    return same;
}
