/* The tangents of a scan: a second scan that recomputes the values along with their
 * tangents. If the results are needed too, merging makes one scan of the two. */
#include "op/services.h"
#include "ops/control/scan.h"
#include "scan/builder.h"

typedef struct ScanPush {
    Push *p;
    Builder *b;
    Session *s;
    Arena *a;
    ScanForm f;
    Graph *fn;
    bool *moves; /* by output: its tangent may be nonzero */
    bool *lost;  /* by output: its tangent is unknown, since it passes through a
                  * non-tensor */
    ScanBuilder m;
    Var *u;      /* by input of fn: its variable in the new body */
    Var *t;      /* its tangent; VAR_NONE: zero */
    size_t *out; /* by output: its index in m.out, and that of its tangent */
    size_t *dot;
} ScanPush;

/* The output whose initial state is argument `arg`; nout: none. */
static size_t begun_by(const ScanPush *k, size_t arg) {
    for (size_t o = 0; o < k->f.nout; o++)
        if (k->f.out[o].ntap && k->f.out[o].arg == arg) return o;
    return k->f.nout;
}

/* Does argument `arg` have a tangent? A non-float state never does. */
static bool brings_tangent(const ScanPush *k, size_t arg) {
    size_t o = begun_by(k, arg);
    return k->p->tangent[arg] != VAR_NONE &&
           (o == k->f.nout || scan_out_is_float(&k->f, o));
}

static bool output_moves(const ScanPush *k, size_t o) {
    for (size_t i = 0; i < k->f.nin; i++) {
        size_t arg = scan_arg(&k->f, i), j = begun_by(k, arg);
        if ((brings_tangent(k, arg) || (j < k->f.nout && k->moves[j])) &&
            scan_reads(k->fn, i, 1, o))
            return true;
    }
    return k->f.out[o].ntap && k->f.out[o].keep == SCAN_LAST &&
           brings_tangent(k, k->f.out[o].arg);
}

static bool reads_lost(const ScanPush *k, size_t o) {
    for (size_t j = 0; j < k->f.nout; j++)
        if (k->lost[j] && scan_reads(k->fn, k->f.out[j].in, k->f.out[j].ntap, o))
            return true;
    return false;
}

static void find_lost_tangents(ScanPush *k) {
    for (size_t o = 0; o < k->f.nout; o++)
        k->lost[o] = scan_out_is_object(&k->f, o) &&
                     (output_moves(k, o) ||
                      (k->f.out[o].ntap && k->p->tangent[k->f.out[o].arg] != VAR_NONE));
    for (bool more = true; more;) {
        more = false;
        for (size_t o = 0; o < k->f.nout; o++)
            if (!k->lost[o] &&
                (scan_out_is_object(&k->f, o) || scan_out_is_float(&k->f, o)) &&
                reads_lost(k, o))
                k->lost[o] = more = true;
    }
}

static void find_moves(ScanPush *k) {
    for (bool more = true; more;) {
        more = false;
        for (size_t o = 0; o < k->f.nout; o++)
            if (!k->moves[o] && scan_out_is_float(&k->f, o) && output_moves(k, o))
                k->moves[o] = more = true;
    }
}

static Sym tangent_name(ScanPush *k, Sym name) {
    return sym(k->s, arena_printf(k->a, "t_%s", sym_text(k->s, name)));
}

static const Type *tangent_type(ScanPush *k, size_t i) {
    const Type *t = var_type(k->fn, k->fn->inputs.p[i]);
    return dtype_is_inexact(t->dtype) ? t : type_with_dtype(k->s, t, k->b->floatX);
}

/* A tangent with its variable's dtype and the shape that the body expects. */
static Var tangent_of(ScanPush *k, size_t arg, const Type *want, int rows) {
    Var t = k->p->tangent[arg];
    if (t == VAR_NONE) return VAR_NONE;
    return scan_fit_arg(k->b, op_cast_to(k->b, t, want->dtype), want, rows);
}

/* ---- arguments ---- */

static bool add_push_sequences(ScanPush *k) {
    for (size_t s = 0; s < k->f.nseq; s++) {
        const ScanSeq *q = &k->f.seq[s];
        Var x = k->p->in[q->arg];
        bool dot = brings_tangent(k, q->arg);
        size_t at = 0, dot_at = 0;
        for (size_t i = 0; i < q->ntap; i++) {
            size_t in = q->in + i;
            const Type *t = var_type(k->fn, k->fn->inputs.p[in]);
            Sym name = var_name(k->fn, k->fn->inputs.p[in]);
            if (i == 0) at = scan_builder_add_seq(&k->m, name, x, q->tap[i], t);
            k->u[in] = scan_builder_add_tap(&k->m, &k->m.seq.p[at], q->tap[i], t);
            if (!dot) continue;
            t = tangent_type(k, in);
            if (i == 0) {
                Var d = tangent_of(k, q->arg, t, 1);
                if (d == VAR_NONE) return false;
                dot_at =
                    scan_builder_add_seq(&k->m, tangent_name(k, name), d, q->tap[i], t);
            }
            k->t[in] = scan_builder_add_tap(&k->m, &k->m.seq.p[dot_at], q->tap[i], t);
        }
    }
    return true;
}

static bool add_tangent_state(ScanPush *k, size_t o) {
    const ScanOut *out = &k->f.out[o];
    Sym label = k->fn->outputs.p[o].label;
    k->dot[o] = scan_builder_add_out(&k->m, tangent_name(k, label), out->keep);
    k->m.out.p[k->dot[o]].wanted = true;
    if (out->ntap == 0) return true;
    const Type *t = tangent_type(k, out->in);
    Var x = tangent_of(k, out->arg, t, !scan_one_row(out));
    if (x == VAR_NONE && k->p->tangent[out->arg] == VAR_NONE)
        x = op_zeros_like(k->b, k->p->in[out->arg], t->dtype);
    if (x == VAR_NONE) return false;
    k->m.out.p[k->dot[o]].x = x;
    for (size_t i = 0; i < out->ntap; i++)
        k->t[out->in + i] =
            scan_builder_add_tap(&k->m, &k->m.out.p[k->dot[o]], out->tap[i], t);
    return true;
}

static bool add_push_outputs(ScanPush *k) {
    for (size_t o = 0; o < k->f.nout; o++) {
        const ScanOut *out = &k->f.out[o];
        k->out[o] = scan_builder_add_out(&k->m, k->fn->outputs.p[o].label, SCAN_LAST);
        if (out->ntap) k->m.out.p[k->out[o]].x = k->p->in[out->arg];
        for (size_t i = 0; i < out->ntap; i++)
            k->u[out->in + i] =
                scan_builder_add_tap(&k->m, &k->m.out.p[k->out[o]], out->tap[i],
                                     var_type(k->fn, k->fn->inputs.p[out->in + i]));
    }
    for (size_t o = 0; o < k->f.nout; o++)
        if (k->moves[o] && !add_tangent_state(k, o)) return false;
    return true;
}

static bool add_push_others(ScanPush *k) {
    for (size_t i = 0; i < k->f.nother; i++) {
        size_t in = k->f.other_in + i, arg = k->f.other_arg + i;
        Var v = k->fn->inputs.p[in];
        size_t at = scan_builder_add_other(&k->m, var_name(k->fn, v), k->p->in[arg],
                                           var_type(k->fn, v));
        k->u[in] = k->m.other.p[at].tap.p[0].in;
        if (!brings_tangent(k, arg)) continue;
        const Type *t = tangent_type(k, in);
        Var d = tangent_of(k, arg, t, 0);
        if (d == VAR_NONE) return false;
        at = scan_builder_add_other(&k->m, tangent_name(k, var_name(k->fn, v)), d, t);
        k->t[in] = k->m.other.p[at].tap.p[0].in;
    }
    return true;
}

/* ---- the step ---- */

static bool push_step(ScanPush *k) {
    Var *y = NEW_N(k->a, k->f.nout, Var), *f = NEW_N(k->a, k->f.nout, Var);
    Var *dot = NEW_N(k->a, k->f.nout, Var);
    Var *wrt = NEW_N(k->a, k->f.nin, Var), *tangent = NEW_N(k->a, k->f.nin, Var);
    size_t nf = 0, nwrt = 0;
    if (!scan_builder_add_body(&k->m, &k->f, k->u, true, y)) return false;
    for (size_t o = 0; o < k->f.nout; o++) {
        k->m.out.p[k->out[o]].made = y[o];
        if (k->moves[o]) f[nf++] = y[o];
    }
    for (size_t i = 0; i < k->f.nin; i++)
        if (k->t[i] != VAR_NONE) wrt[nwrt] = k->u[i], tangent[nwrt++] = k->t[i];
    if (!services(k->s)->jvp(&k->m.in, (VarList){nf, f}, (VarList){nwrt, wrt}, tangent,
                             false, dot))
        return false;
    for (size_t o = 0, n = 0; o < k->f.nout; o++) {
        if (!k->moves[o]) continue;
        Var d = dot[n++];
        if (d == VAR_NONE)
            d = op_zeros_like(&k->m.in, y[o], var_type(k->m.body, y[o])->dtype);
        if (var_is_null(k->m.body, d)) {
            k->p->result[o] = grad_undefined(k->b, var_type(k->m.body, d)->why);
            d = op_zeros_like(&k->m.in, y[o], var_type(k->m.body, y[o])->dtype);
        }
        d = op_cast_to(&k->m.in, d, var_type(k->m.body, y[o])->dtype);
        if (d == VAR_NONE) return false;
        k->m.out.p[k->dot[o]].made = d;
    }
    return true;
}

static bool build_forward_scan(ScanPush *k) {
    if (!add_push_sequences(k) || !add_push_outputs(k) || !add_push_others(k) ||
        !push_step(k) ||
        !scan_builder_apply(
            &k->m, arena_printf(k->a, "%s_forward", sym_text(k->s, k->fn->name))))
        return false;
    for (size_t o = 0; o < k->f.nout; o++)
        if (k->moves[o] && k->p->result[o] == VAR_NONE)
            k->p->result[o] = k->m.out.p[k->dot[o]].result;
    return true;
}

bool scan_push(Push *p) {
    ScanPush k = {.p = p, .b = p->b, .s = p->b->s, .a = arena_new(p->b->s)};
    k.f = scan_form_of(p->g, p->id, k.a);
    k.fn = k.f.fn;
    k.moves = NEW_N(k.a, k.f.nout, bool);
    k.lost = NEW_N(k.a, k.f.nout, bool);
    k.u = NEW_N(k.a, k.f.nin, Var);
    k.t = NEW_N(k.a, k.f.nin, Var);
    k.out = NEW_N(k.a, k.f.nout, size_t);
    k.dot = NEW_N(k.a, k.f.nout, size_t);
    for (size_t i = 0; i < k.f.nin; i++)
        k.t[i] = VAR_NONE;
    for (size_t o = 0; o < k.f.nout; o++)
        p->result[o] = VAR_NONE;
    find_moves(&k);
    find_lost_tangents(&k);
    bool any = false, ok = true;
    for (size_t o = 0; o < k.f.nout; o++)
        any |= k.moves[o];
    if (any) {
        scan_builder_open(&k.m, p->b, p->in[0]);
        k.m.truncate = k.f.truncate;
        k.m.checkpoint = k.f.checkpoint;
        ok = build_forward_scan(&k);
        scan_builder_close(&k.m);
    }
    for (size_t o = 0; ok && o < k.f.nout; o++)
        if (k.lost[o]) ok = (p->result[o] = grad_undefined(k.b, SCAN_LOST)) != VAR_NONE;
    arena_free(k.a);
    return ok;
}
