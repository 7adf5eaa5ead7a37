/* Block programs: a group of elementwise Applies as a list of loops over slots. A slot
 * is an input, an output, or a register of one block; a linear scan over last uses
 * assigns the registers. */
#include "userop/userop.h"
#include "vm/vm_impl.h"

typedef struct Compile {
    BlockProgram *b;
    Arena *a;
    const Graph *g;
    ApplyId *order;     /* of b->nop Applies */
    uint32_t *value_of; /* by variable of g; NONE */
    uint32_t *slot;     /* by value */
    uint32_t *last;     /* by value: last op that reads it */
    Vec(uint32_t) free_reg;
} Compile;

static Loop *apply_loop(const Graph *g, ApplyId id) {
    const Apply *a = &g->apply[id];
    const Op *op = a->op;
    if (!op->pick || a->nin == 0) return NULL;
    const Type *last = var_type(g, apply_in(g, id)[a->nin - 1]),
               *out = var_type(g, a->out);
    if (last->kind != TYPE_TENSOR || out->kind != TYPE_TENSOR) return NULL;
    return op_loop(g->s, op, last->dtype, out->dtype);
}

static void set_sizes(BlockProgram *b, Arena *a) {
    b->size = NEW_N(a, b->nin + b->nout, uint32_t);
    for (uint32_t i = 0; i < b->nin; i++)
        b->size[i] = (uint32_t)dtype_size(var_type(b->g, b->var[i])->dtype);
    for (uint32_t j = 0; j < b->nout; j++)
        b->size[b->nin + j] =
            (uint32_t)dtype_size(var_type(b->g, b->var[b->out_value[j]])->dtype);
    b->width = 1;
    for (uint32_t i = 0; i < b->nvalue; i++) {
        uint32_t w = (uint32_t)dtype_size(var_type(b->g, b->var[i])->dtype);
        if (w > b->width) b->width = w;
    }
}

/* Arithmetic between registers takes about a quarter of the time of reading the
 * operands and writing a result, exp four times as long. */
static void set_work(BlockProgram *b) {
    b->work = 1 + b->nop / 4;
    for (uint32_t i = 0; i < b->nop; i++)
        if (b->op[i].op) b->work += 4 * (uint32_t)b->op[i].op->math;
}

BlockProgram *program_of_apply(Arena *a, const Graph *g, ApplyId id) {
    const Apply *ap = &g->apply[id];
    Loop *loop = apply_loop(g, id);
    if (!loop) {
        fail(g->s, g->origin[id].at, E_DTYPE, "%s has no loop for these dtypes",
             ap->op->name);
        return NULL;
    }
    BlockProgram *b = NEW(a, BlockProgram);
    uint32_t n = (uint32_t)ap->nin + ap->nout;
    *b = (BlockProgram){.g = g,
                        .nop = 1,
                        .nin = ap->nin,
                        .nplain = ap->nin,
                        .nout = ap->nout,
                        .nplaced = ap->nout,
                        .nslot = n,
                        .nvalue = n,
                        .max_arg = n};
    b->op = NEW(a, BlockOp);
    *b->op = (BlockOp){loop, ap->op, id, 0, ap->nin, ap->nout};
    b->slot = b->value = NEW_N(a, n, uint32_t);
    b->var = NEW_N(a, n, Var);
    b->out_value = b->slot + ap->nin;
    b->last_read = NEW_N(a, n, uint32_t);
    b->written = b->last_read + ap->nin;
    for (uint32_t i = 0; i < n; i++) {
        b->slot[i] = i;
        b->var[i] = i < ap->nin ? apply_in(g, id)[i] : ap->out + (i - ap->nin);
    }
    set_sizes(b, a);
    set_work(b);
    b->run = b->op;
    b->nrun = b->nop;
    return b;
}

/* What the fold writes is then the input itself with some elements changed. */
static bool fold_may_overwrite(const BlockProgram *b, uint32_t in) {
    return b->fold && b->fold->reuse & 1 && b->fold_in[0] == in &&
           b->last_read[in] == NONE;
}

bool program_may_overwrite(const BlockProgram *b, uint32_t out, uint32_t in) {
    if (out >= b->nplaced) return fold_may_overwrite(b, in);
    if (b->size[b->nin + out] != b->size[in] || b->last_read[in] == NONE) return false;
    return b->last_read[in] <= b->written[out];
}

/* ---- functions ---- */
/* Is what the fold takes in pieces computed here, and nothing else that it reads? */
static bool takes_pieces(const Graph *fn, ApplyId id) {
    const Apply *a = &fn->apply[id];
    uint32_t streamed = op_rare(a->op)->streamed;
    if (!op_rare(a->op)->streams || a->nin <= streamed || a->nin > STREAM_INPUTS)
        return false;
    for (uint32_t k = 0; k < a->nin; k++)
        if ((var_owner(fn, apply_in(fn, id)[k]) == APPLY_NONE) == (k == streamed))
            return false;
    return true;
}

/* A fold must be the last output, only once. */
static bool ends_in(const Graph *fn, ApplyId id) {
    const Apply *a = &fn->apply[id];
    size_t last = fn->outputs.n - 1;
    if (!takes_pieces(fn, id) || a->nout != 1 || fn->outputs.p[last].var != a->out)
        return false;
    for (size_t j = 0; j < last; j++)
        if (fn->outputs.p[j].var == a->out) return false;
    for (ApplyId i = id + 1; i < fn->napply; i++)
        for (uint32_t k = 0; k < fn->apply[i].nin; k++)
            if (apply_in(fn, i)[k] == a->out) return false;
    return true;
}

static ApplyId final_fold(const Graph *fn) {
    ApplyId id = fn->outputs.n && fn->inputs.n
                     ? var_owner(fn, fn->outputs.p[fn->outputs.n - 1].var)
                     : APPLY_NONE;
    return id != APPLY_NONE && !apply_loop(fn, id) && ends_in(fn, id) ? id : APPLY_NONE;
}

static bool can_compile(const Graph *fn, const uint8_t *live) {
    if (fn->effects.n || fn->shared.n || fn->until != VAR_NONE || !fn->outputs.n)
        return false;
    for (ApplyId i = 0; i < fn->napply; i++)
        if (live[fn->apply[i].out] && !apply_loop(fn, i)) return false;
    for (size_t j = 0; j < fn->outputs.n; j++)
        if (var_type(fn, fn->outputs.p[j].var)->kind != TYPE_TENSOR) return false;
    for (size_t i = 0; i < fn->inputs.n; i++)
        if (var_type(fn, fn->inputs.p[i])->kind != TYPE_TENSOR) return false;
    for (uint32_t l = 0; l < fn->nleaf; l++)
        if (live[fn->leaf[l].var] && var_type(fn, fn->leaf[l].var)->kind != TYPE_TENSOR)
            return false;
    return true;
}

/* graph_live marks single variables; an Apply is live if any output is. */
static void widen_live(const Graph *fn, uint8_t *live) {
    for (ApplyId i = 0; i < fn->napply; i++) {
        const Apply *a = &fn->apply[i];
        uint8_t any = 0;
        for (uint32_t j = 0; j < a->nout; j++)
            any |= live[a->out + j];
        live[a->out] |= any;
    }
}

static void add_value(Compile *c, Var v) {
    c->value_of[v] = c->b->nvalue;
    c->b->var[c->b->nvalue++] = v;
}

static void number_values(Compile *c, const uint8_t *live) {
    const Graph *fn = c->g;
    BlockProgram *b = c->b;
    for (size_t i = 0; i < fn->inputs.n; i++)
        add_value(c, fn->inputs.p[i]);
    b->nplain = b->nvalue;
    for (uint32_t l = 0; l < fn->nleaf; l++) {
        LeafKind k = var_leaf(fn, fn->leaf[l].var);
        if (live[fn->leaf[l].var] && (k == LEAF_CONST || k == LEAF_DIM))
            add_value(c, fn->leaf[l].var);
    }
    b->nin = b->nvalue;
    for (uint32_t k = 0; k < b->nop; k++) {
        const Apply *a = &fn->apply[c->order[k]];
        for (uint32_t j = 0; j < a->nout; j++)
            add_value(c, a->out + j);
    }
}

static void number_fold_inputs(Compile *c) {
    BlockProgram *b = c->b;
    for (uint32_t k = 0; b->fold && k < c->g->apply[b->folded_by].nin; k++)
        b->fold_in[k] = c->value_of[apply_in(c->g, b->folded_by)[k]];
}

static void find_last_reads(Compile *c) {
    BlockProgram *b = c->b;
    c->last = NEW_N(c->a, b->nvalue, uint32_t);
    for (uint32_t i = 0; i < b->nvalue; i++)
        c->last[i] = NONE;
    uint32_t nslot = 0;
    for (uint32_t k = 0; k < b->nop; k++) {
        const Apply *a = &c->g->apply[c->order[k]];
        for (uint32_t j = 0; j < a->nin; j++)
            c->last[c->value_of[c->g->in[a->in + j]]] = k;
        if ((uint32_t)a->nin + a->nout > b->max_arg)
            b->max_arg = (uint32_t)a->nin + a->nout;
        nslot += (uint32_t)a->nin + a->nout;
    }
    /* copies: an output that is an input, or a repeated result */
    b->op = NEW_N(c->a, b->nop + b->nout, BlockOp);
    b->slot = NEW_N(c->a, nslot + 2 * b->nout, uint32_t);
    b->value = NEW_N(c->a, nslot + 2 * b->nout, uint32_t);
}

static uint32_t register_take(Compile *c) {
    if (c->free_reg.n) return c->free_reg.p[--c->free_reg.n];
    return c->b->nin + c->b->nout + c->b->nreg++;
}

static void emit_block_op(Compile *c, uint32_t k, ApplyId id, uint32_t *at) {
    BlockProgram *b = c->b;
    const Apply *a = &c->g->apply[id];
    b->op[k] = (BlockOp){apply_loop(c->g, id), a->op, id, *at, a->nin, a->nout};
    for (uint32_t j = 0; j < (uint32_t)a->nin + a->nout; j++) {
        Var v = j < a->nin ? apply_in(c->g, id)[j] : a->out + (j - a->nin);
        uint32_t value = c->value_of[v];
        if (c->slot[value] == NONE) c->slot[value] = register_take(c);
        b->value[*at] = value;
        b->slot[(*at)++] = c->slot[value];
    }
    for (uint32_t j = 0; j < (uint32_t)a->nin + a->nout; j++) {
        uint32_t value = b->value[b->op[k].arg + j], slot = c->slot[value];
        bool over = c->last[value] == k || (j >= a->nin && c->last[value] == NONE);
        if (slot < b->nin + b->nout || !over) continue;
        bool again = false; /* a value repeated among the arguments is freed only
                             * once */
        for (uint32_t i = 0; i < j; i++)
            again |= b->value[b->op[k].arg + i] == value;
        if (!again) vec_push(c->g->s, &c->free_reg, slot);
    }
}

static Var streamed_var(const BlockProgram *b) {
    return apply_in(b->g, b->folded_by)[op_rare(b->fold)->streamed];
}

/* What the fold takes is one of the outputs, or an additional one without a place. */
static void take_fold(BlockProgram *b, ApplyId id) {
    b->nplaced = b->nout;
    if (id == APPLY_NONE) return;
    b->fold = b->g->apply[id].op;
    b->folded_by = id;
    b->nplaced = --b->nout;
    while (b->folded < b->nout && b->g->outputs.p[b->folded].var != streamed_var(b))
        b->folded++;
    if (b->folded == b->nout) b->nout++;
}

/* Results that are outputs are computed in place; a second use of one, or an input, is
 * copied at the end. */
static void place_outputs(Compile *c) {
    BlockProgram *b = c->b;
    c->slot = NEW_N(c->a, b->nvalue, uint32_t);
    for (uint32_t i = 0; i < b->nvalue; i++)
        c->slot[i] = i < b->nin ? i : NONE;
    b->out_value = NEW_N(c->a, b->nout, uint32_t);
    for (uint32_t j = 0; j < b->nout; j++) {
        uint32_t v =
            c->value_of[j < b->nplaced ? c->g->outputs.p[j].var : streamed_var(b)];
        b->out_value[j] = v;
        if (c->slot[v] == NONE) c->slot[v] = b->nin + j;
    }
}

static void emit_copies(Compile *c, uint32_t *at) {
    BlockProgram *b = c->b;
    for (uint32_t j = 0; j < b->nout; j++) {
        uint32_t v = b->out_value[j];
        if (c->slot[v] == b->nin + j) continue;
        b->op[b->nop] = (BlockOp){NULL, NULL, APPLY_NONE, *at, 1, 1};
        b->value[*at] = b->value[*at + 1] = v;
        b->slot[(*at)++] = c->slot[v];
        b->slot[(*at)++] = b->nin + j;
        c->last[v] = b->nop++;
    }
    if (b->max_arg < 2) b->max_arg = 2;
}

static void find_written(Compile *c) {
    BlockProgram *b = c->b;
    b->last_read = NEW_N(c->a, b->nin + b->nout, uint32_t);
    b->written = b->last_read + b->nin;
    for (uint32_t i = 0; i < b->nin; i++)
        b->last_read[i] = c->last[i];
    for (uint32_t k = 0; k < b->nop; k++)
        for (uint32_t j = b->op[k].nin; j < (uint32_t)b->op[k].nin + b->op[k].nout;
             j++) {
            uint32_t slot = b->slot[b->op[k].arg + j];
            if (slot >= b->nin && slot < b->nin + b->nout)
                b->written[slot - b->nin] = k;
        }
}

static void order_applies(Compile *c, const uint8_t *live) {
    c->order = NEW_N(c->a, c->g->napply, ApplyId);
    for (ApplyId i = 0; i < c->g->napply; i++)
        if (live[c->g->apply[i].out]) c->order[c->b->nop++] = i;
    program_order(c->g, c->b->nop, c->order);
}

/* fn itself unless it has ops defined by formulas. NULL: such a formula can't be
 * built. */
static const Graph *flatten_userops(Plan *p, const Graph *fn) {
    bool any;
    size_t mark = diag_count(p->s);
    Graph *made = userop_flatten(fn, &any);
    if (!any) return fn;
    if (made)
        vec_push(p->s, &p->flat_fn, made);
    else
        diag_rewind(p->s, mark); /* running the function will report it */
    return made;
}

BlockProgram *program_of_function(Plan *p, const Graph *whole) {
    Arena *a = p->arena;
    const Graph *fn = flatten_userops(p, whole);
    if (!fn) return NULL;
    if (p->o.threads != 1) graph_learn_names(fn);
    uint8_t *live = graph_live(fn, a, ROOTS_RUN);
    widen_live(fn, live);
    ApplyId fold = final_fold(fn);
    if (fold != APPLY_NONE) live[fn->apply[fold].out] = 0;
    if (!can_compile(fn, live)) return NULL;
    BlockProgram *b = NEW(a, BlockProgram);
    *b = (BlockProgram){.g = fn, .nout = (uint32_t)fn->outputs.n};
    take_fold(b, fold);
    b->var = NEW_N(a, fn->nvar, Var);
    Compile c = {.b = b, .a = a, .g = fn, .value_of = NEW_N(a, fn->nvar, uint32_t)};
    for (Var v = 0; v < fn->nvar; v++)
        c.value_of[v] = NONE;
    order_applies(&c, live);
    number_values(&c, live);
    number_fold_inputs(&c);
    find_last_reads(&c);
    place_outputs(&c);
    uint32_t at = 0;
    for (uint32_t k = 0, n = b->nop; k < n; k++)
        emit_block_op(&c, k, c.order[k], &at);
    emit_copies(&c, &at);
    find_written(&c);
    vec_free(&c.free_reg);
    b->nslot = b->nin + b->nout + b->nreg;
    set_sizes(b, a);
    set_work(b);
    b->run = b->op;
    b->nrun = b->nop;
    return b;
}
