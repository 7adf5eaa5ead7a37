/* Compares the outputs of a graph, put together from parts of the rows and in shards,
 * with those of all rows. */
#ifndef PARTS_H
#define PARTS_H

#include "gen.h"
#include "part/part.h"
#include "rewrite/rewrite.h"

enum { SHARDS = 4 };
static unsigned long long merged, sharded, blocked;

/* Runs the graph on rows [from, to) of the inputs that are cut. */
static inline bool run_rows(Case *c, unsigned cut, int64_t from, int64_t to, size_t n,
                            const Var *want, Tensor *out) {
    Tensor all[INPUTS];
    Job j;
    memcpy(all, c->t, sizeof all);
    for (size_t i = 0; i < c->nin; i++)
        if (cut >> i & 1) {
            c->t[i].data = (char *)c->t[i].data + from * c->t[i].stride[0];
            c->t[i].shape[0] = to - from;
        }
    bool ok = job_open(&j, c, n, want, false) && job_run(&j, c);
    for (size_t i = 0; ok && i < n; i++)
        ok = tensor_clone(c->s, &vm_output(j.m, i)->t, &out[i]);
    job_close(&j);
    memcpy(c->t, all, sizeof all);
    return ok;
}

/* Of results that are float32 on the way, too. */
static inline Approx tolerance(const Case *c, const Output *o, DType d) {
    if (d == DT_FLOAT64 || d == DT_COMPLEX128)
        d = strstr(c->row->text, "float32") ||
                    strstr(sym_text(c->s, o->label), "float32")
                ? DT_FLOAT32
                : d;
    double r = d == DT_FLOAT16                        ? 5e-2
               : d == DT_FLOAT32 || d == DT_COMPLEX64 ? 1e-4
                                                      : 1e-9;
    return (Approx){.rtol = r, .atol = r};
}

/* Puts output k together from parts with these bounds. */
static inline void compare(Case *c, unsigned cut, size_t k, const Part *how,
                           const int64_t *bound, size_t n) {
    const Output *o = &c->g->outputs.p[k];
    Tensor whole = {0}, piece[8] = {{0}}, made = {0};
    int64_t rows[8];
    bool ok = run_rows(c, cut, 0, bound[n], 1, &o->var, &whole);
    diag_clear(c->s);
    for (size_t i = 0; ok && i < n; i++) {
        rows[i] = bound[i + 1] - bound[i];
        bool ran = run_rows(c, cut, bound[i], bound[i + 1], 1, &o->var, &piece[i]);
        CHECK(ran, "%s of %s, cut %u: %s of a part: %s", c->row->text, c->row->in, cut,
              sym_text(c->s, o->label), why(c->s));
        ok = ran;
    }
    if (ok && part_merge(c->s, how, n, piece, rows, &made)) {
        merged++;
        CHECK(tensor_approx(&made, &whole, tolerance(c, o, whole.dtype), NULL),
              "%s of %s (%s), cut %u in %zu: %s, %s, is %s, not %s", c->row->text,
              c->row->in, dtype_name(c->dtype), cut, n, sym_text(c->s, o->label),
              part_text(session_arena(c->s), how), shown(c->s, &made),
              shown(c->s, &whole));
    }
    tensor_unref(&whole);
    tensor_unref(&made);
    for (size_t i = 0; i < n; i++)
        tensor_unref(&piece[i]);
}

/* Output k alone, of inputs in shards; NULL: it can't be split. */
static inline Graph *in_shards(Case *c, unsigned cut, size_t k) {
    Var split[INPUTS];
    size_t n = 0;
    for (size_t i = 0; i < c->nin; i++)
        if (cut >> i & 1) split[n++] = c->in[i];
    Output *all = c->g->outputs.p;
    size_t nall = c->g->outputs.n;
    c->g->outputs.p = &all[k];
    c->g->outputs.n = 1;
    Graph *g = rewrite_parallel(c->g, &(ParallelOptions){{n, split}, SHARDS, 0});
    c->g->outputs.p = all;
    c->g->outputs.n = nall;
    return g;
}

/* Each shard draws from a stream of its own. */
static inline void compare_shards(Case *c, unsigned cut, size_t k, int64_t rows) {
    if (strcmp(c->row->op, "draw") == 0) return;
    const Output *o = &c->g->outputs.p[k];
    Tensor whole = {0}, made = {0};
    Case in = *c;
    in.g = in_shards(c, cut, k);
    diag_clear(c->s);
    if (in.g && run_rows(c, cut, 0, rows, 1, &o->var, &whole)) {
        bool ran = run_rows(&in, cut, 0, rows, 1, &in.g->outputs.p[0].var, &made);
        sharded++;
        CHECK(ran && tensor_approx(&made, &whole, tolerance(c, o, whole.dtype), NULL),
              "%s of %s (%s), cut %u: %s in shards is %s, not %s", c->row->text,
              c->row->in, dtype_name(c->dtype), cut, sym_text(c->s, o->label),
              ran ? shown(c->s, &made) : why(c->s), shown(c->s, &whole));
    }
    tensor_unref(&whole);
    tensor_unref(&made);
    graph_free(in.g);
}

/* A graph that calls output k's as a function, by rows. NULL: it can't be. */
static inline Graph *by_rows(Case *c, unsigned cut, size_t k) {
    Session *s = c->s;
    Graph *main = graph_new(s), *fn = graph_function_new(main, sym(s, "f"));
    Builder b = builder(main, true);
    Arena *a = arena_new(s);
    int64_t axis[INPUTS];
    Var arg[INPUTS], in[INPUTS], out[1], want = c->g->outputs.p[k].var;
    for (size_t i = 0; i < c->nin; i++) {
        Sym name = sym(s, (const char *[]){"a", "b", "c"}[i]);
        const Type *t = var_type(c->g, c->in[i]);
        in[i] = graph_input(fn, name, t);
        arg[i] = graph_input(main, name, t);
        axis[i] = cut >> i & 1 ? 0 : -1;
    }
    Var *map = graph_import_map(c->g, a, in);
    PropArg prop[] = {{"fn", {.kind = P_GRAPH, .sym = fn->name}},
                      {"rows", PROP_INTS(axis, c->nin)}};
    const Op *call = op_known(s, OP_CALL);
    bool ok = graph_import(fn, c->g, (VarList){1, &want}, true, map);
    if (ok) vec_push(s, &fn->outputs, ((Output){sym(s, "r"), map[want]}));
    ok = ok && op_apply(&b, call, props_make(s, call, 2, prop), c->nin, arg, out);
    if (ok) vec_push(s, &main->outputs, ((Output){sym(s, "r"), out[0]}));
    arena_free(a);
    if (ok) return main;
    graph_free(main);
    return NULL;
}

/* Where part/ says that output k is rows, or a sum over them, a call by rows must be
 * possible, and give what all rows at once give. */
static inline void compare_blocks(Case *c, unsigned cut, size_t k, const Part *how,
                                  int64_t rows) {
    const Output *o = &c->g->outputs.p[k];
    DType d = var_type(c->g, o->var)->dtype;
    bool joined = how->kind == PART_ROWS && how->each == 1,
         sum = how->kind == PART_TERM && how->term == TERM_SUM && d != DT_BOOL &&
               d != DT_FLOAT16;
    Tensor whole = {0}, made = {0};
    if (how->power || !(joined || sum)) return;
    Case in = *c;
    in.g = by_rows(c, cut, k);
    CHECK(in.g, "%s of %s, cut %u: %s by rows: %s", c->row->text, c->row->in, cut,
          sym_text(c->s, o->label), why(c->s));
    if (in.g && run_rows(c, cut, 0, rows, 1, &o->var, &whole)) {
        Job j;
        j.plan = plan_new(in.g, &(PlanOptions){.block_rows = 1});
        j.m = j.plan ? vm_new(j.plan) : NULL;
        for (int again = 0; again < 2; again++) { /* then on threads */
            bool ran = j.m && job_run(&j, &in);
            const Tensor *got = ran ? &vm_output(j.m, 0)->t : &made;
            blocked++;
            CHECK(ran && tensor_approx(got, &whole, tolerance(c, o, whole.dtype), NULL),
                  "%s of %s (%s), cut %u: %s by rows is %s, not %s", c->row->text,
                  c->row->in, dtype_name(c->dtype), cut, sym_text(c->s, o->label),
                  ran ? shown(c->s, got) : why(c->s), shown(c->s, &whole));
        }
        job_close(&j);
    }
    diag_clear(c->s);
    tensor_unref(&whole);
    if (in.g) graph_free(in.g);
}

/* The rows that these inputs have in common; 0: none. */
static inline int64_t common_rows(const Case *c, unsigned cut) {
    int64_t n = 0;
    for (size_t i = 0; i < c->nin; i++) {
        if (!(cut >> i & 1)) continue;
        if (!c->spec[i].ndim || (n && c->spec[i].shape[0] != n)) return 0;
        n = c->spec[i].shape[0];
    }
    return n;
}

/* All outputs of c's graph, whose inputs have tensors. */
static inline void compare_outputs(Case *c, unsigned cut, const Part *p, int64_t rows) {
    int64_t two[] = {0, rows - 1, rows}, each[9];
    for (int64_t i = 0; i <= rows; i++)
        each[i] = i;
    for (size_t k = 0; k < c->g->outputs.n; k++) {
        const Part *how = &p[c->g->outputs.p[k].var];
        compare_shards(c, cut, k, rows);
        if (!part_can_merge(how)) continue;
        compare(c, cut, k, how, two, 2);
        compare(c, cut, k, how, each, (size_t)rows);
        compare_blocks(c, cut, k, how, rows);
    }
}

#endif
