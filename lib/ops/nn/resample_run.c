/* The kernels of resampling: one pass for each axis that changes, from the axis that
 * shrinks most to the one that grows most. A pass sums weighted rows, or, along the
 * innermost axis, elements. The transpose goes through the same tables. float16 is
 * computed in float32. */
#include "ops/nn/resample.h"
#include "ops/shape/linear.h"
#include "ops/shape/move.h"

#include <math.h>
#include <string.h>

/* ---- weights ---- */

ResampleFilter resample_filter(Session *s, const Op *op, const Props *props) {
    const char *mode = sym_text(s, op_prop(s, op, props, "mode")->sym);
    const char *round = sym_text(s, op_prop(s, op, props, "nearest")->sym);
    return (ResampleFilter){
        .mode = *mode == 'n'   ? RESAMPLE_NEAREST
                : *mode == 'l' ? RESAMPLE_LINEAR
                               : RESAMPLE_CUBIC,
        .round = strcmp(round, "round_prefer_floor") == 0  ? ROUND_PREFER_FLOOR
                 : strcmp(round, "round_prefer_ceil") == 0 ? ROUND_PREFER_CEIL
                 : strcmp(round, "floor") == 0             ? ROUND_FLOOR
                                                           : ROUND_CEIL,
        .cubic = op_prop(s, op, props, "cubic_coeff")->f,
        .exclude_outside = prop_bool(s, op, props, "exclude_outside"),
        .antialias = prop_bool(s, op, props, "antialias"),
        .cut = prop_bool(s, op, props, "cut"),
    };
}

/* By how much an antialiasing kernel is wider than between neighbours. */
static double kernel_width(const ResampleFilter *f,
                           const double place[RESAMPLE_PLACE]) {
    double step = fabs(place[1] / place[2]);
    return f->antialias && step > 1 ? step : 1;
}

static double kernel_radius(const ResampleFilter *f) {
    return f->mode == RESAMPLE_LINEAR ? 1 : 2;
}

int64_t resample_taps(const ResampleFilter *f, const double place[RESAMPLE_PLACE]) {
    if (f->mode == RESAMPLE_NEAREST) return 1;
    double reach = kernel_radius(f) * kernel_width(f, place);
    return 2 * (int64_t)ceil(reach);
}

static double kernel_value(const ResampleFilter *f, double x) {
    double a = f->cubic;
    x = fabs(x);
    if (f->mode == RESAMPLE_LINEAR) return x < 1 ? 1 - x : 0;
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static double round_place(ResampleRound r, double x) {
    switch (r) {
    case ROUND_PREFER_FLOOR:
        return ceil(x - 0.5);
    case ROUND_PREFER_CEIL:
        return floor(x + 0.5);
    case ROUND_FLOOR:
        return floor(x);
    case ROUND_CEIL:
        break;
    }
    return ceil(x);
}

static int32_t clamp_index(double x, int64_t n) {
    return x < 0 ? 0 : x > (double)(n - 1) ? (int32_t)(n - 1) : (int32_t)x;
}

void resample_tap_weights(const ResampleFilter *f, const double place[RESAMPLE_PLACE],
                          int64_t n, int64_t i, const ResampleTaps *to) {
    double x = ((double)i + place[0]) * place[1] / place[2] + place[3], sum = 0;
    bool none = f->cut && !(x >= 0 && x <= (double)(n - 1));
    if (f->mode == RESAMPLE_NEAREST) {
        *to->index = clamp_index(round_place(f->round, x), n);
        *to->weight = !none;
        return;
    }
    double width = kernel_width(f, place),
           first = floor(x) - (double)(to->count / 2 - 1);
    for (int64_t t = 0; t < to->count; t++) {
        double at = first + (double)t;
        bool outside = !(at >= 0 && at <= (double)(n - 1));
        double w = none || (f->exclude_outside && outside)
                       ? 0
                       : kernel_value(f, (at - x) / width);
        to->index[t * to->stride] = clamp_index(at, n);
        to->weight[t * to->stride] = w;
        sum += w;
    }
    bool divide = (f->exclude_outside || f->antialias) && sum != 0;
    for (int64_t t = 0; divide && t < to->count; t++)
        to->weight[t * to->stride] /= sum;
}

/* ---- plans ---- */

typedef struct ResampleJob {
    ResampleFilter f;
    const ResampleLoops *loops;
    int passes;
    ResampleTable pass[MAX_NDIM]; /* in the order in which they run */
    int64_t outer;                /* blocks, which are resampled one by one */
    int64_t from, to, most; /* elements of a block of x, of the result, and of what is
                               largest on the way */
    DType dtype, work;
    const char *x;
    char *out, *room;
    size_t room_size;
    int64_t chunk;
    bool back, copies; /* nearest: elements are copied, whatever they are */
} ResampleJob;

static const ResampleLoops *resample_loops(Session *s) {
    return FOR_CPU_LEVEL(s, resample_loops);
}

/* Places that are no numbers, or so far apart that no kernel could be that wide. */
static bool check_places(Call *c) {
    const Tensor *t = call_in(c, 2);
    for (int64_t i = 0; i < tensor_size(t); i += RESAMPLE_PLACE) {
        bool fine = true;
        for (int64_t k = i; k < i + RESAMPLE_PLACE; k++)
            fine = fine && fabs(tensor_f64(t, k)) < 0x1p62;
        double b = fine ? tensor_f64(t, i + 2) : 0;
        if (b == 0 || !(fabs(tensor_f64(t, i + 1) / b) < 0x1p30))
            return call_fail(c, E_ARITHMETIC,
                             "the scale of axis %lld is 0, not finite or too extreme",
                             (long long)(i / RESAMPLE_PLACE));
    }
    return true;
}

bool resample_shape(Call *c, int64_t shape[MAX_NDIM], int *first) {
    const Tensor *x = call_in(c, 0), *places = call_in(c, 2);
    int64_t all[MAX_NDIM];
    int n, last = (int)places->shape[0];
    if (!call_shape(c, 1, &n, all)) return false;
    *first = x->ndim - last;
    memcpy(shape, x->shape, sizeof all);
    memcpy(shape + *first, all + n - last, (size_t)last * sizeof *all);
    for (int k = *first; k < x->ndim; k++) {
        long long have = x->shape[k], want = shape[k];
        if (have > INT32_MAX || want > INT32_MAX)
            return call_fail(c, E_LIMIT,
                             "axis %d is too long: at most 2^31 - 1 elements", k);
        if (have == 0 && want > 0)
            return call_fail(c, E_RUN_SHAPE, "axis %d has no elements to make %lld of",
                             k, want);
    }
    if (move_count(x->ndim, shape) && tensor_size(x) && !check_places(c)) return false;
    return call_size_fits(c, x->dtype, x->ndim, shape);
}

static void read_place(const Call *c, int row, double place[RESAMPLE_PLACE]) {
    for (int j = 0; j < RESAMPLE_PLACE; j++)
        place[j] = tensor_f64(call_in(c, 2), (int64_t)row * RESAMPLE_PLACE + j);
}

static bool is_identity(const ResampleFilter *f, int64_t n, int64_t m,
                        const double *place) {
    return n == m && place[1] == place[2] && place[0] + place[3] == 0 && !f->cut;
}

/* From a tensor of shape n to one of shape m, which differ from axis `first` on. */
typedef struct ResampleShape {
    int ndim, first;
    const int64_t *n, *m;
} ResampleShape;

/* Which axes change, from the one that shrinks most to the one that grows most; of
 * equal ones, rows shrink before their elements do, and grow after them. */
static int order_axes(const ResampleJob *j, const Call *c, const ResampleShape *r,
                      int axis[MAX_NDIM]) {
    double place[RESAMPLE_PLACE], ratio[MAX_NDIM];
    int count = 0;
    for (int k = r->first; k < r->ndim; k++) {
        read_place(c, k - r->first, place);
        if (is_identity(&j->f, r->n[k], r->m[k], place)) continue;
        ratio[k] = (double)r->m[k] / (double)r->n[k];
        int at = count++;
        for (; at > 0; at--) {
            double before = ratio[axis[at - 1]];
            if (before < ratio[k] || (before == ratio[k] && before <= 1)) break;
            axis[at] = axis[at - 1];
        }
        axis[at] = k;
    }
    return count;
}

static void plan_passes(ResampleJob *j, const Call *c, const ResampleShape *r) {
    int axis[MAX_NDIM], ndim = r->ndim, lead = ndim;
    int64_t now[MAX_NDIM];
    j->passes = order_axes(j, c, r, axis);
    for (int p = 0; p < j->passes; p++)
        lead = axis[p] < lead ? axis[p] : lead;
    memcpy(now, r->n, (size_t)ndim * sizeof *now);
    j->outer = move_count(lead, r->n);
    j->from = j->to = j->most = move_count(ndim - lead, r->n + lead);
    for (int p = 0; p < j->passes; p++) {
        ResampleTable *t = &j->pass[p];
        int k = axis[p];
        *t = (ResampleTable){.n = r->n[k], .m = r->m[k]};
        read_place(c, k - r->first, t->place);
        t->taps = resample_taps(&j->f, t->place);
        t->outer = move_count(k - lead, now + lead);
        t->inner = move_count(ndim - k - 1, now + k + 1);
        now[k] = r->m[k];
        j->to = move_count(ndim - lead, now + lead);
        if (j->to > j->most) j->most = j->to;
    }
}

static size_t rounded_up(size_t n) {
    return (n + 63) / 64 * 64;
}

/* False: too large. */
static bool table_bytes(const ResampleTable *t, size_t *bytes) {
    size_t n;
    if (t->taps > INT32_MAX || !size_mul((size_t)t->taps, (size_t)t->m, &n) ||
        n > SIZE_MAX / 64)
        return false;
    *bytes += rounded_up(n * sizeof(double)) + rounded_up(n * sizeof(float)) +
              rounded_up(n * sizeof(int32_t));
    return true;
}

static char *fill_table(const ResampleFilter *f, ResampleTable *t, char *mem) {
    size_t n = (size_t)(t->taps * t->m);
    t->weight = (double *)(void *)mem;
    t->weight32 = (float *)(void *)(mem += rounded_up(n * sizeof(double)));
    t->index = (int32_t *)(void *)(mem += rounded_up(n * sizeof(float)));
    for (int64_t i = 0; i < t->m; i++)
        resample_tap_weights(
            f, t->place, t->n, i,
            &(ResampleTaps){t->taps, t->m, t->index + i, t->weight + i});
    for (size_t i = 0; i < n; i++)
        t->weight32[i] = (float)t->weight[i];
    return mem + rounded_up(n * sizeof(int32_t));
}

/* ---- passes ---- */

static void copy_pass(const ResampleJob *j, const ResampleTable *t, const char *x,
                      char *to) {
    size_t item = dtype_size(j->work), run = (size_t)t->inner * item, m = (size_t)t->m;
    int log = item == 1 ? 0 : item == 2 ? 1 : item == 4 ? 2 : 3;
    for (int64_t o = 0; o < t->outer; o++, x += (size_t)t->n * run, to += m * run) {
        if (t->inner == 1 && item <= 8) j->loops->pick[log](to, x, t->index, m);
        for (size_t i = 0; i < m && (t->inner > 1 || item > 8); i++)
            memcpy(to + i * run, x + (size_t)t->index[i] * run, run);
        for (size_t i = 0; i < m && j->f.cut; i++)
            if (t->weight[i] == 0) memset(to + i * run, 0, run);
    }
}

/* Result i of a block of rows. */
static void sum_row(const ResampleJob *j, const ResampleTable *t, const char *x,
                    int64_t i, char *to) {
    size_t run = (size_t)t->inner * dtype_size(j->work);
    for (int64_t k = 0; k < t->taps; k += 4) {
        ResampleRows r;
        size_t count = t->taps - k < 4 ? (size_t)(t->taps - k) : 4;
        for (size_t l = 0; l < count; l++) {
            int64_t at = (k + (int64_t)l) * t->m + i;
            r.row[l] = x + (size_t)t->index[at] * run;
            r.weight[l] = t->weight[at];
        }
        j->loops->rows[j->work == DT_FLOAT64](to, &r, count, (size_t)t->inner, k > 0);
    }
}

static void sum_rows(const ResampleJob *j, const ResampleTable *t, const char *x,
                     char *to) {
    size_t run = (size_t)t->inner * dtype_size(j->work);
    for (int64_t o = 0; o < t->outer; o++, x += (size_t)t->n * run)
        for (int64_t i = 0; i < t->m; i++, to += run)
            sum_row(j, t, x, i, to);
}

static void weighted_pass(const ResampleJob *j, const ResampleTable *t, const char *x,
                          char *to) {
    bool wide = j->work == DT_FLOAT64;
    size_t item = dtype_size(j->work);
    if (t->inner > 1) {
        sum_rows(j, t, x, to);
        return;
    }
    for (int64_t o = 0; o < t->outer; o++)
        j->loops->across[wide](to + (size_t)(o * t->m) * item,
                               x + (size_t)(o * t->n) * item, t);
}

/* Can the two passes, the last ones, run row by row? float16 has no third buffer. */
static bool can_join(const ResampleJob *j, const ResampleTable *rows,
                     const ResampleTable *elements) {
    return !j->back && !j->f.cut && j->work == j->dtype && elements->inner == 1 &&
           rows->inner == elements->n && (!j->copies || dtype_size(j->work) <= 8);
}

/* Result row i of a block, whose index the row before may share: that one is then
 * still in the cache, and copied. */
static void pick_row(const ResampleJob *j, const ResampleTable *rows,
                     const ResampleTable *elements, const char *x, int64_t i,
                     char *to) {
    size_t item = dtype_size(j->work), m = (size_t)elements->m;
    int log = item == 1 ? 0 : item == 2 ? 1 : item == 4 ? 2 : 3;
    if (i > 0 && rows->index[i] == rows->index[i - 1])
        memcpy(to, to - m * item, m * item);
    else
        j->loops->pick[log](to, x + (size_t)(rows->index[i] * rows->inner) * item,
                            elements->index, m);
}

/* A pass over rows, then one along them, without the tensor between: each row stays in
 * the cache. */
static void joined_pass(const ResampleJob *j, const ResampleTable *rows,
                        const ResampleTable *elements, const char *x, char *row,
                        char *to) {
    size_t item = dtype_size(j->work), run = (size_t)rows->inner * item;
    ResampleTable along = *elements;
    along.outer = 1;
    for (int64_t o = 0; o < rows->outer; o++, x += (size_t)rows->n * run)
        for (int64_t i = 0; i < rows->m; i++, to += (size_t)elements->m * item) {
            if (j->copies) {
                pick_row(j, rows, elements, x, i, to);
                continue;
            }
            sum_row(j, rows, x, i, row);
            weighted_pass(j, &along, row, to);
        }
}

/* The transpose: of m elements become n. */
static void scatter_elements(const ResampleJob *j, const ResampleTable *t,
                             const char *x, char *to) {
    int64_t n = t->taps * t->m;
    for (int64_t o = 0; o < t->outer; o++) {
        if (j->work == DT_FLOAT64) {
            const double *v = (const double *)(const void *)x + o * t->m;
            double *r = (double *)(void *)to + o * t->n;
            for (int64_t k = 0; k < n; k++)
                r[t->index[k]] += t->weight[k] * v[k % t->m];
        } else {
            const float *v = (const float *)(const void *)x + o * t->m;
            float *r = (float *)(void *)to + o * t->n;
            for (int64_t k = 0; k < t->taps; k++)
                for (int64_t i = 0; i < t->m; i++)
                    r[t->index[k * t->m + i]] += t->weight32[k * t->m + i] * v[i];
        }
    }
}

static void transposed_pass(const ResampleJob *j, const ResampleTable *t, const char *x,
                            char *to) {
    bool wide = j->work == DT_FLOAT64;
    size_t run = (size_t)t->inner * dtype_size(j->work);
    memset(to, 0, (size_t)(t->outer * t->n) * run);
    if (t->inner == 1) {
        scatter_elements(j, t, x, to);
        return;
    }
    for (int64_t o = 0; o < t->outer; o++, to += (size_t)t->n * run)
        for (int64_t i = 0; i < t->m; i++, x += run)
            for (int64_t k = 0; k < t->taps; k++) {
                ResampleRows r = {{x}, {t->weight[k * t->m + i]}};
                j->loops->rows[wide](to + (size_t)t->index[k * t->m + i] * run, &r, 1,
                                     (size_t)t->inner, true);
            }
}

/* ---- blocks ---- */

static void resample_block(const ResampleJob *j, int64_t block, char *room) {
    size_t item = dtype_size(j->dtype), wide = dtype_size(j->work);
    int64_t from = j->back ? j->to : j->from, to = j->back ? j->from : j->to;
    const char *x = j->x + (size_t)(block * from) * item;
    char *out = j->out + (size_t)(block * to) * item;
    char *buffer[2] = {room, room + rounded_up((size_t)j->most * wide)};
    if (wide != item) {
        tensor_cast_elements(j->work, buffer[1], j->dtype, x, (size_t)from,
                             (ptrdiff_t)wide, (ptrdiff_t)item);
        x = buffer[1];
    }
    for (int p = 0; p < j->passes; p++) {
        const ResampleTable *t = &j->pass[j->back ? j->passes - 1 - p : p];
        if (p + 2 == j->passes && can_join(j, t, t + 1)) {
            joined_pass(j, t, t + 1, x, buffer[p % 2], out);
            break;
        }
        char *next = p + 1 == j->passes && wide == item ? out : buffer[p % 2];
        (j->back     ? transposed_pass
         : j->copies ? copy_pass
                     : weighted_pass)(j, t, x, next);
        x = next;
    }
    if (wide != item)
        tensor_cast_elements(j->dtype, out, j->work, x, (size_t)to, (ptrdiff_t)item,
                             (ptrdiff_t)wide);
}

static void resample_chunk(void *ctx, size_t chunk, unsigned worker) {
    const ResampleJob *j = ctx;
    int64_t b = (int64_t)chunk * j->chunk, end = b + j->chunk;
    for (; b < end && b < j->outer; b++)
        resample_block(j, b, j->room + worker * j->room_size);
}

/* Scratch: a copy of a strided x, the tables, two buffers for each worker. */
static bool open_room(Call *c, ResampleJob *j, const Tensor *x) {
    Pool *pool = move_pool(c);
    size_t copy = tensor_is_contiguous(x) ? 0 : rounded_up(tensor_bytes(x)), tables = 0,
           bytes = copy;
    for (int p = 0; p < j->passes; p++)
        if (!table_bytes(&j->pass[p], &tables))
            return call_fail(c, E_LIMIT,
                             "the weights of an axis have too many elements");
    j->room_size = 0;
    for (int i = 0; i < 2; i++)
        size_append(&j->room_size, (size_t)j->most, dtype_size(j->work));
    size_append(&bytes, tables, 1);
    size_append(&bytes, pool ? pool_threads(pool) : 1, j->room_size);
    char *mem = call_scratch(c, bytes);
    if (!mem) return false;
    j->x = move_contiguous(pool, x, mem).data;
    mem += copy;
    for (int p = 0; p < j->passes; p++)
        mem = fill_table(&j->f, &j->pass[p], mem);
    j->room = mem;
    return true;
}

static bool run_resample(Call *c, bool back) {
    enum { CHUNK = 1 << 15 };
    const Tensor *x = call_in(c, 0);
    ResampleJob j = {.f = resample_filter(c->s, c->op, c->props),
                     .loops = resample_loops(c->s),
                     .dtype = x->dtype,
                     .back = back};
    int64_t shape[MAX_NDIM];
    int first;
    if (!resample_shape(c, shape, &first)) return false;
    Tensor *out = call_out(c, 0, x->ndim, shape);
    if (!out) return false;
    if (tensor_size(out) == 0 || tensor_size(x) == 0) {
        if (tensor_size(out)) memset(out->data, 0, tensor_bytes(out));
        return true;
    }
    plan_passes(&j, c,
                &(ResampleShape){x->ndim, first, back ? shape : x->shape,
                                 back ? x->shape : shape});
    if (j.passes == 0) return tensor_assign(out, x), true;
    j.copies = !back && j.f.mode == RESAMPLE_NEAREST;
    j.work = x->dtype == DT_FLOAT16 && !j.copies ? DT_FLOAT32 : x->dtype;
    j.out = out->data;
    if (!open_room(c, &j, x)) return false;
    j.chunk = j.most < CHUNK ? CHUNK / j.most : 1;
    pool_run(move_pool(c), (size_t)((j.outer + j.chunk - 1) / j.chunk), resample_chunk,
             &j);
    return true;
}

bool resample_perform(Call *c) {
    return run_resample(c, false);
}
bool resample_back_perform(Call *c) {
    return run_resample(c, true);
}
