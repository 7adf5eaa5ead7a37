/* Prepares a block program for given layouts: run-time shapes by broadcasting, storage
 * for the outputs, and the iteration. It iterates over rows of equal length, after
 * merging dims where all operands allow it; each input is read in place, filled into a
 * register, or gathered. Rows too short to pay are treated as one row, with indices for
 * operands that are not contiguous. */
#include "vm/vm_impl.h"

#include <string.h>

enum {
    BLOCK_BYTES = 4096,    /* of a register */
    BLOCK_STREAM = 1024,   /* bytes of a register when outputs bypass the caches */
    LIVE_BYTES = 24 << 10, /* of all registers and operands */
    BLOCK_MIN = 128,       /* elements */
    ROW_MIN = 48,          /* elements of rows whose results go past the caches */
    ROW_BYTES = 512,       /* of a register; rows of no more are merged into one */
    TILE_MIN = 8,          /* rows that make a tile worthwhile */
    TILE_BYTES = 512,      /* of a row of a tile */
    CHUNK = 32768,         /* elements to add, and fewer of what takes longer, */
    CHUNKS = 8,            /* so that there are some for each thread, */
    CHUNK_MIN = 2048,      /* but not fewer elements than these */
    SHARE_MIN = 384 << 10, /* bytes of results, times work (see BlockProgram), from
                            * which waking other threads pays off */
};

typedef struct Shape {
    int ndim;
    const int64_t *dim;
} Shape;
typedef struct Ready {
    Machine *m;
    uint32_t step;
    const Ins *in;
    const BlockProgram *b;
    Prep *p;
    Shape *shape; /* by value */
    Arena *tmp;
} Ready;

/* ---- shapes ---- */
/* An input of a function has the name of what it is given: its own is x0 or so. */
static Sym name_of_value(const Ready *r, Var v) {
    const Graph *fn = r->b->g, *g = r->m->p->g;
    return fn != g ? var_name_in_call(fn, v, g, r->m->p->ins[r->step].apply)
                   : var_name(g, v);
}

static const char *value_name(const Ready *r, Var v, Str *out) {
    Sym name = name_of_value(r, v);
    if (name)
        str_puts(out, sym_text(r->m->s, name));
    else
        str_puts(out, "an unnamed value");
    return str_text(out);
}

static bool fail_shapes(const Ready *r, const BlockOp *op, uint32_t x, uint32_t y) {
    Session *s = r->m->s;
    Str text[4] = {STR(s), STR(s), STR(s), STR(s)};
    shape_text(s, r->shape[x].ndim, r->shape[x].dim, &text[0]);
    shape_text(s, r->shape[y].ndim, r->shape[y].dim, &text[1]);
    Call c;
    step_call_op(r->m, r->step, op, &c);
    call_fail(&c, E_RUN_SHAPE,
              "the shapes %s of %s and %s of %s don't broadcast (a size of 1 "
              "broadcasts only if the type declares it)",
              str_text(&text[0]), value_name(r, r->b->var[x], &text[2]),
              str_text(&text[1]), value_name(r, r->b->var[y], &text[3]));
    for (int i = 0; i < 4; i++)
        str_free(&text[i]);
    return false;
}

/* One dim of an op's result, counted from the right; who: the input that gave it. */
static bool result_dim(const Ready *r, const BlockOp *op, int back, int64_t *dim,
                       uint32_t *who) {
    *dim = 1;
    *who = NONE;
    for (uint32_t k = 0; k < op->nin; k++) {
        uint32_t v = r->b->value[op->arg + k];
        const Shape *x = &r->shape[v];
        if (back > x->ndim) continue;
        const Type *t = var_type(r->b->g, r->b->var[v]);
        if (t->dim[t->ndim - back] == 1) continue;
        int64_t d = x->dim[x->ndim - back];
        if (*who != NONE && d != *dim) return fail_shapes(r, op, *who, v);
        *dim = d;
        *who = v;
    }
    return true;
}

static bool infer_result_shape(Ready *r, const BlockOp *op) {
    int ndim = 0;
    for (uint32_t k = 0; k < op->nin; k++) {
        const Shape *x = &r->shape[r->b->value[op->arg + k]];
        if (x->ndim > ndim) ndim = x->ndim;
    }
    int64_t *dim = NEW_N(r->tmp, (size_t)ndim, int64_t);
    uint32_t who;
    for (int back = 1; back <= ndim; back++)
        if (!result_dim(r, op, back, &dim[ndim - back], &who)) return false;
    for (uint32_t j = 0; j < op->nout; j++)
        r->shape[r->b->value[op->arg + op->nin + j]] = (Shape){ndim, dim};
    return true;
}

static bool result_shapes(Ready *r) {
    const BlockProgram *b = r->b;
    r->shape = NEW_N(r->tmp, b->nvalue, Shape);
    for (uint32_t i = 0; i < b->nin; i++)
        r->shape[i] = (Shape){r->p->layout[i]->ndim, r->p->layout[i]->shape};
    for (uint32_t k = 0; k < b->nop; k++)
        if (b->op[k].loop && !infer_result_shape(r, &b->op[k])) return false;
    const Shape *first = &r->shape[b->out_value[0]];
    for (uint32_t j = 1; j < b->nout; j++) {
        const Shape *x = &r->shape[b->out_value[j]];
        r->p->split |= x->ndim != first->ndim;
        for (int i = 0; !r->p->split && i < x->ndim; i++)
            r->p->split |= x->dim[i] != first->dim[i];
    }
    return true;
}

/* ---- operands ---- */
/* A dim that a function uses as a value, from an input's declared shape. */
static bool dim_of_function(const Ready *r, Sym name, int64_t *out) {
    for (uint32_t i = 0; i < r->b->nplain; i++) {
        const Type *t = var_type(r->b->g, r->b->var[i]);
        for (int d = 0; d < t->ndim; d++)
            if (t->dim[d] == DIM_NAMED(name))
                return *out = r->p->layout[i]->shape[d], true;
    }
    return fail(r->m->s, r->m->p->g->origin[r->in->apply].at, E_MISSING,
                "the dim %s of a function is not known", sym_text(r->m->s, name));
}

static bool bind_fused_leaf(Ready *r, uint32_t i) {
    Var v = r->b->var[i];
    const Tensor *t = var_const(r->b->g, v);
    if (t) {
        r->p->layout[i] =
            layout_get(&r->m->layouts, t->dtype, t->ndim, t->shape, t->stride);
        r->p->data[i] = t->data;
        return true;
    }
    int64_t *dim = &r->p->dim[i - r->b->nplain];
    r->p->layout[i] = layout_get(&r->m->layouts, DT_INT64, 0, NULL, NULL);
    r->p->data[i] = dim;
    return dim_of_function(r, var_leafrec(r->b->g, v)->name, dim);
}

static bool take_layouts(Ready *r) {
    const uint32_t *arg = r->m->p->arg + r->in->arg;
    for (uint32_t i = 0; i < r->b->nplain; i++) {
        r->p->layout[i] = r->m->cell[arg[i]].layout;
        const Type *t = var_type(r->b->g, r->b->var[i]);
        if (r->p->layout[i]->ndim != t->ndim || r->p->layout[i]->dtype != t->dtype)
            bug("an operand of %s is not of its type",
                r->m->p->g->apply[r->in->apply].op->name);
    }
    for (uint32_t i = r->b->nplain; i < r->b->nin; i++)
        if (!bind_fused_leaf(r, i)) return false;
    return true;
}

static void fail_uncountable(const Ready *r, const Layout *l) {
    Str shape = STR(r->m->s);
    layout_shape_text(l, &shape);
    fail(r->m->s, r->m->p->g->origin[r->in->apply].at, E_LIMIT,
         "a result of the shape %s has more elements than can be addressed",
         str_text(&shape));
    str_free(&shape);
}

static bool take_output_places(Ready *r) {
    const BlockProgram *b = r->b;
    const Shape *shape = &r->shape[b->out_value[0]];
    for (uint32_t j = 0; j < b->nout; j++) {
        DType d = var_type(b->g, b->var[b->out_value[j]])->dtype;
        const Layout *l = layout_get(&r->m->layouts, d, shape->ndim, shape->dim, NULL);
        uint32_t cell = r->m->p->arg[r->in->arg + r->in->nin + j];
        r->p->layout[b->nin + j] = l;
        if (l->bytes == SIZE_MAX) return fail_uncountable(r, l), false;
        if (j >= b->nplaced) break;
        place_fit(r->m, cell, l);
        if (!place_get(r->m, r->m->place_of[cell], l->bytes))
            return step_no_memory(r->m, cell), false;
    }
    return true;
}

/* ---- the iteration ---- */
static int64_t *strides_of(const Prep *p, uint32_t i) {
    return p->stride + (size_t)i * p->dims;
}

/* The stride of input i along dim d of the outputs' shape. */
static int64_t stride_at(const Ready *r, uint32_t i, int d) {
    const Layout *l = r->p->layout[i];
    int at = d - (r->shape[r->b->out_value[0]].ndim - l->ndim);
    return at < 0 || l->shape[at] == 1 ? 0 : l->stride[at];
}

/* Can dim d extend the rows of the last dim, for every input? */
static bool can_join(const Ready *r, int d, int64_t extent) {
    int64_t n;
    for (uint32_t i = 0; i < r->b->nin; i++) {
        if (r->p->access[i] == ACC_UNUSED) continue;
        if (!i64_mul(stride_at(r, i, d), extent, &n) ||
            strides_of(r->p, i)[r->p->ndim - 1] != n)
            return false;
    }
    return true;
}

static void join_dims(Ready *r) {
    Prep *p = r->p;
    const Shape *shape = &r->shape[r->b->out_value[0]];
    for (int d = 0; d < shape->ndim; d++) {
        if (shape->dim[d] == 1) continue;
        if (p->ndim == 0 || !can_join(r, d, shape->dim[d]) ||
            !i64_mul(p->ext[p->ndim - 1], shape->dim[d], &p->ext[p->ndim - 1]))
            p->ext[p->ndim++] = shape->dim[d];
        for (uint32_t i = 0; i < r->b->nin; i++)
            if (p->access[i] != ACC_UNUSED)
                strides_of(p, i)[p->ndim - 1] = stride_at(r, i, d);
    }
    if (p->ndim == 0) {
        p->ext[p->ndim++] = 1;
        for (uint32_t i = 0; i < r->b->nin; i++)
            strides_of(p, i)[0] = r->b->size[i];
    }
}

static bool all_zero(const int64_t *v, int n) {
    for (int i = 0; i < n; i++)
        if (v[i] != 0) return false;
    return true;
}

/* Is the input contiguous along the last outer dim instead of along the rows? */
static bool is_turned(const Ready *r, uint32_t i) {
    const Prep *p = r->p;
    int64_t size = r->b->size[i], step = p->step[i];
    return p->ndim > 1 && strides_of(p, i)[p->ndim - 2] == size &&
           p->ext[p->ndim - 2] >= TILE_MIN && (step > size || step < -size);
}

static uint64_t output_bytes(const Ready *r, int64_t total) {
    uint64_t bytes = 0;
    for (uint32_t j = 0; j < r->b->nout; j++)
        bytes += (uint64_t)total * r->b->size[r->b->nin + j];
    return bytes;
}

/* Different elements of an input. */
static uint64_t input_bytes(const Ready *r, uint32_t i) {
    const int64_t *stride = strides_of(r->p, i);
    uint64_t bytes = r->b->size[i];
    for (int d = 0; d < r->p->ndim; d++)
        if (stride[d] != 0) bytes *= (uint64_t)r->p->ext[d];
    return r->p->access[i] == ACC_UNUSED ? 0 : bytes;
}

/* Will no cache hold the outputs until they are read? Those that are made of little may
 * be larger: nothing else comes through the caches with them. */
static bool leaves_caches(const Ready *r, int64_t total) {
    uint64_t out = output_bytes(r, total), all = out;
    for (uint32_t i = 0; i < r->b->nin && all < 2 * STREAM_BYTES; i++)
        all += input_bytes(r, i);
    return out >= STREAM_BYTES && all >= 2 * STREAM_BYTES;
}

/* Has the program loops over rows, and are these as they want them? Results that go
 * past the caches have other loops, unless rows are short. Keeps the strides: the
 * inputs' own dims may take their place. */
static void choose_nest(Ready *r, int64_t total, bool leaves) {
    const BlockProgram *b = r->b;
    Prep *p = r->p;
    if (total == 0 || !(b->nest || b->columns[1].op)) return;
    size_t n = (size_t)b->nin * p->dims;
    p->walk = mem_alloc(r->m->s, n * sizeof *p->walk);
    memcpy(p->walk, p->stride, n * sizeof *p->walk);
    bool past = !b->fold && p->ext[p->ndim - 1] >= ROW_MIN && leaves;
    p->nest = !past && nest_fits(b, p);
    p->turns = nest_turns(b, p);
}

static bool find_pattern(Ready *r, uint32_t i) {
    Prep *p = r->p;
    Pattern q;
    if (!pattern_of_dims(r->m->s, &q, p->nown[i], p->own + (size_t)i * p->dims,
                         strides_of(p, i), r->b->size[i]))
        return false;
    if (!p->pattern)
        p->pattern = mem_zalloc(r->m->s, p->npattern = r->b->nin, sizeof q);
    p->pattern[i] = q;
    return true;
}

static Access flat_access(Ready *r, uint32_t i) {
    if (r->p->row == 0) return ACC_FLAT; /* nothing is read */
    gather_join(r->p, i);
    Access x = gather_access(r->p, i, r->b->size[i]);
    return x == ACC_PATTERN && !find_pattern(r, i) ? ACC_FLAT : x;
}

/* Of a row that a register repeats. */
static void note_period(Prep *p, uint32_t i) {
    const int64_t *own = p->own + (size_t)i * p->dims + p->nown[i];
    if (p->access[i] == ACC_CYCLE) p->step[i] = own[-1];
    if (p->access[i] != ACC_CYCLE && p->access[i] != ACC_ROUND) return;
    if (p->period < own[-1]) p->period = own[-1];
}

static void choose_access(Ready *r, bool flat) {
    Prep *p = r->p;
    for (uint32_t i = 0; i < r->b->nin; i++) {
        const int64_t *stride = strides_of(p, i);
        if (p->access[i] == ACC_UNUSED) continue;
        p->step[i] = stride[p->ndim - 1];
        if (all_zero(stride, p->ndim))
            p->access[i] = ACC_SCALAR;
        else if (flat)
            p->access[i] = (uint8_t)flat_access(r, i);
        else if (p->step[i] == (int64_t)r->b->size[i])
            p->access[i] = ACC_DIRECT;
        else
            p->access[i] = p->step[i] == 0                  ? ACC_ROW
                           : is_turned(r, i) && !r->b->fold ? ACC_TILED
                                                            : ACC_STRIDED;
        note_period(p, i);
        if (p->access[i] == ACC_TILED)
            p->fill[i] = p->ntile++;
        else if (p->access[i] > ACC_DIRECT)
            p->fill[i] = p->nfill++;
    }
}

/* Elements per block: few enough that all registers stay in the nearest cache, and
 * fewer if blocks are written past the caches, so that writing one overlaps with
 * reading the next. */
static uint32_t block_size(const Ready *r) {
    uint32_t n = BLOCK_BYTES / r->b->width,
             regs = r->b->nreg + r->p->nfill + r->b->nout;
    for (uint32_t i = 0; i < r->b->nin; i++)
        regs += r->p->access[i] == ACC_DIRECT;
    if (n > 1024) n = 1024;
    if (r->p->stream != NONE && n > BLOCK_STREAM / r->b->width)
        n = BLOCK_STREAM / r->b->width;
    while (n > BLOCK_MIN && (size_t)regs * n * r->b->width > LIVE_BYTES)
        n /= 2;
    if (r->p->ntile && n > TILE_BYTES / r->b->width) n = TILE_BYTES / r->b->width;
    return n;
}

static size_t ceil_div(int64_t a, int64_t b) {
    return (size_t)((a + b - 1) / b);
}

/* Chunks depend only on the program and the shapes. They begin with whole cache lines,
 * which is what can be written past the caches. */
static void cut_chunks(Prep *p, uint32_t work, int64_t total) {
    int64_t chunk = CHUNK / work < total / CHUNKS ? CHUNK / work : total / CHUNKS;
    if (chunk < CHUNK_MIN) chunk = CHUNK_MIN;
    int64_t limit = p->ntile ? chunk / TILE_ROWS * 4 : chunk,
            tall = p->ntile ? TILE_ROWS : 1;
    limit -= limit % ALIGNMENT;
    bool split = p->row > limit;
    p->row_chunk = split ? limit : p->row;
    p->rows_chunk = split || p->row == 0 ? tall : chunk / (p->row * tall) * tall;
    if (p->rows_chunk < tall) p->rows_chunk = tall;
    p->pieces = split ? ceil_div(p->row, limit) : 1;
    p->chunks = total == 0 ? 0 : ceil_div(p->rows, p->rows_chunk) * p->pieces;
}

/* Outputs that no cache holds are written past the caches, which saves reading their
 * lines first. An overwritten input is read anyway. */
static void choose_stream(Ready *r) {
    if (r->b->fold) return;
    for (uint32_t j = 0; j < r->b->nout; j++) {
        uint32_t cell = r->m->p->arg[r->in->arg + r->in->nin + j];
        if (r->m->p->sharing.cell[cell].how == PLAN_INPLACE) return;
    }
    r->p->past =
        r->b->past && (r->p->rows == 1 || r->p->row * r->b->width % ALIGNMENT == 0);
    if (r->p->past) return;
    r->p->stream = r->p->nfill;
    r->p->nfill += r->b->nout;
}

static void plan_walk(Ready *r) {
    Prep *p = r->p;
    int64_t total = 1;
    for (int d = 0; d < p->ndim; d++)
        if (p->ext[d] == 0) total = 0; /* whatever the other sizes' product is */
    for (int d = 0; d < p->ndim && total; d++)
        total *= p->ext[d];
    bool leaves = leaves_caches(r, total);
    choose_nest(r, total, leaves);
    bool whole = p->nest && !r->b->fold,
         flat = whole || (!p->nest && p->ndim > 1 &&
                          p->ext[p->ndim - 1] <= ROW_BYTES / r->b->width);
    p->row = flat ? total : p->ext[p->ndim - 1];
    p->rows = p->row ? total / p->row : 0;
    if (!whole) choose_access(r, flat);
    p->stream = NONE;
    if (!p->nest && leaves) choose_stream(r);
    if (r->b->nplaced < r->b->nout) p->hidden = p->nfill++;
    p->block = block_size(r);
    size_t room = p->block + (size_t)p->period;
    p->reg_bytes = round_up(room * r->b->width) +
                   ALIGNMENT; /* apart by more than a power of two */
    cut_chunks(p, r->b->work, total);
    p->shared = p->chunks > 1 && r->m->workers > 1 &&
                total >= SHARE_MIN / (r->b->work * r->b->width);
}

/* Workspace of a worker: slots, row bases, index, arguments, registers; the operands'
 * addresses come before all workers'. */
static bool take_room(Ready *r) {
    const BlockProgram *b = r->b;
    Prep *p = r->p;
    size_t need;
    p->worker_bytes =
        block_pointers(b) + WORKER_BYTES +
        (b->nreg + p->nfill + (size_t)p->ntile * TILE_ROWS) * p->reg_bytes;
    need = p->worker_bytes * r->m->workers + p->turned_bytes +
           round_up((size_t)(b->nin + b->nout) * sizeof(void *));
    if (r->m->block && r->m->block->size >= need) return true;
    Buffer *more = buffer_new(r->m->s, need);
    if (!more) return false;
    buffer_unref(r->m->block);
    r->m->block = more;
    return true;
}

/* Takes `bytes` from the rest of a block. */
static void *carve_bytes(char **at, size_t bytes) {
    void *p = *at;
    *at += (bytes + 15) & ~(size_t)15;
    return p;
}

static int most_dims(const BlockProgram *b) {
    int n = 1;
    for (uint32_t i = 0; i < b->nin; i++)
        if (var_type(b->g, b->var[i])->ndim > n) n = var_type(b->g, b->var[i])->ndim;
    return n;
}

/* A single allocation, because there is one per step. */
static Prep *prep_alloc(Session *s, const BlockProgram *b) {
    size_t n = b->nin, dims = (size_t)most_dims(b), own = b->nin - b->nplain, pad = 16;
    size_t slots = b->nslot <= QUICK_SLOTS ? b->nslot : 0;
    size_t bytes = sizeof(Prep) + (n + b->nout) * sizeof(void *) +
                   n * (sizeof(void *) + 8 + 4 + 4 + 2) + (2 * n + 1) * dims * 8 +
                   own * 8 + slots * sizeof(void *) + 12 * pad;
    Prep *p = mem_zalloc(s, 1, bytes);
    char *at = (char *)p;
    carve_bytes(&at, sizeof *p);
    p->layout = carve_bytes(&at, (n + b->nout) * sizeof *p->layout);
    p->slot = carve_bytes(&at, slots * sizeof *p->slot);
    p->data = carve_bytes(&at, n * sizeof *p->data);
    p->step = carve_bytes(&at, n * sizeof *p->step);
    p->stride = carve_bytes(&at, n * dims * sizeof *p->stride);
    p->own = carve_bytes(&at, n * dims * sizeof *p->own);
    p->ext = carve_bytes(&at, dims * sizeof *p->ext);
    p->dim = carve_bytes(&at, own * sizeof *p->dim);
    p->fill = carve_bytes(&at, n * sizeof *p->fill);
    p->turned = carve_bytes(&at, n * sizeof *p->turned);
    p->access = carve_bytes(&at, n);
    p->nown = carve_bytes(&at, n);
    p->dims = (uint32_t)dims;
    for (uint32_t i = 0; i < b->nin; i++)
        if (b->last_read[i] == NONE) p->access[i] = ACC_UNUSED;
    return p;
}

static bool fold_pays(const Ready *r) {
    const BlockProgram *b = r->b;
    if (!b->fold) return true;
    const Shape *x = &r->shape[b->out_value[b->folded]];
    return op_rare(b->fold)->streams(b->g, b->folded_by, x->ndim, x->dim);
}

static bool make_ready(Ready *r) {
    if (!take_layouts(r) || !result_shapes(r)) return false;
    r->p->split |= !fold_pays(r);
    if (r->p->split) return true;
    if (!take_output_places(r)) return false;
    join_dims(r);
    plan_walk(r);
    block_settle_quick(r->b, r->p);
    return take_room(r);
}

Prep *prep_new(Machine *m, uint32_t step) {
    const Ins *in = &m->p->ins[step];
    Ready r = {.m = m,
               .step = step,
               .in = in,
               .b = in->prog,
               .p = prep_alloc(m->s, in->prog),
               .tmp = m->tmp};
    bool ok = make_ready(&r);
    arena_reset(m->tmp);
    if (ok) return r.p;
    prep_free(r.p);
    return NULL;
}

void prep_free(Prep *p) {
    for (uint32_t i = 0; p && i < p->npattern; i++)
        pattern_free(&p->pattern[i]);
    if (p) mem_free(p->pattern);
    if (p) mem_free(p->walk);
    mem_free(p);
}

bool prep_holds(const Machine *m, uint32_t step, const Prep *p) {
    const Ins *in = &m->p->ins[step];
    const uint32_t *arg = m->p->arg + in->arg;
    for (uint32_t i = 0; i < in->nin; i++)
        if (m->cell[arg[i]].layout != p->layout[i]) return false;
    return true;
}
