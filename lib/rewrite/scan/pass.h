/* What the passes over loops share: a scan of the graph taken apart, changed, and put
 * in the place of the old one. */
#ifndef REWRITE_SCAN_PASS_H
#define REWRITE_SCAN_PASS_H

#include "rewrite/rewrite_impl.h"
#include "scan/builder.h"

typedef struct Scan {
    Rewriter *r;
    Arena *a;
    ApplyId id;
    ScanBuilder m;
    ScanBuilderPart part;
    const Clients *clients; /* of the graph when the pass began; ids from `from` on */
    const uint8_t *root;    /* by variable: an output, an update, ... */
    Vec(Var) before, after; /* what was replaced */
} Scan;
bool scan_any(const Graph *g);
/* One scan: true when it has put something in its place (scan_install). False with
 * *ok false: diagnosed. */
typedef bool ScanFn(Scan *l, bool *ok);
/* Tries every live scan of the graph, those that stood there when it began. */
bool scan_each(Rewriter *r, ScanFn *fn);

/* Takes the scan apart; l->m is closed by scan_each. */
void scan_take_apart(Scan *l);
/* Copies the body, which `part` and `m` may have been changed for before. */
bool scan_copy_body(Scan *l);
/* Makes the scan, if something of it is still needed. False: diagnosed. */
bool scan_rebuild(Scan *l);
/* Makes the scan and lets its results stand for the old ones: output as[o] for o, or o
 * itself when as is NULL. Results that are not wanted keep what r->forward says. False:
 * nothing has changed, or *ok says that it failed. */
bool scan_install(Scan *l, const size_t *as, bool *ok);
/* Lets x stand for v, or for output o of the scan, if its type says as much. */
bool scan_forward_var(Scan *l, Var v, Var x);
bool scan_replace_output(Scan *l, size_t o, Var x);
/* The clients of output o, which it is the first input of, read `rows` instead. */
bool scan_reread_output(Scan *l, size_t o, Var rows);
/* Tells what was replaced, as one replacement; false: stop. */
bool scan_fired(Scan *l);

static inline Var scan_output(const Scan *l, size_t o) {
    return l->r->g->apply[l->id].out + (Var)o;
}
bool scan_output_is_read(const Scan *l,
                         size_t o); /* has output o a client, or is it a root? */
/* Do the rows of x number exactly the steps of the scan, as types and shapes tell? */
bool scan_has_rows(const Scan *l, Var x);
/* Are the steps counted by the rows of x, alone or as the least of several numbers? */
bool scan_counts_rows(const Scan *l, Var x);

/* An expression of the language in x, y, n. */
Var scan_build_expr(Scan *l, const char *text, Var x, Var y, Var n);

/* ---- the body, worked out in the graph around the loop ---- */
typedef struct Outside {
    Scan *l;
    Var *var;       /* by variable of the body: the same outside, VAR_NONE: not there */
    uint8_t *fails; /* by variable of the body: making it outside may fail */
} Outside;
Outside outside_new(Scan *l);
/* Sets `fails` for what `a` makes, which is there. */
void outside_note(Outside *o, ApplyId a);
/* Applies the op of `a` to what stands for its inputs outside. False: it is not typed.
 */
bool outside_apply(Outside *o, ApplyId a);
/* Makes what v needs; its leaves have been set. VAR_NONE: not possible. */
Var outside_make(Outside *o, Var v);

/* ---- loops that may take no steps ---- */

bool scan_takes_steps(const Scan *l); /* one or more, for certain */
/* Is there a size that only a step would tell, if none is taken? Then one is tried, and
 * may fail; it must go on to do so. */
bool scan_tries_step(const Scan *l);
/* What was made outside and may fail, made only if there are steps: where there are
 * none something of its type stands for it. `rows`: its first dim is the number of
 * steps. VAR_NONE: that is not possible. */
Var scan_if_steps(Scan *l, Var x, bool rows);
Var scan_or_initial(Scan *l, Var x, Var init); /* init, if there are none */

#endif
