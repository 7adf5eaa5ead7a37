/* Shared by the passes over loops: a scan of the graph taken apart, changed, and built
 * anew in place of the old one. */
#ifndef REWRITE_SCAN_PASS_H
#define REWRITE_SCAN_PASS_H

#include "rewrite/rewrite_impl.h"
#include "scan/builder.h"

/* Of one pass over all loops of a graph, found when first asked for. */
typedef struct ScanPass {
    Arena *arena;
    ApplyId napply;         /* of the graph when the pass began */
    uint32_t *scope;        /* scan_scopes */
    bool asked, recomputes; /* scan_recomputes */
} ScanPass;

typedef struct Scan {
    Rewriter *r;
    Arena *a;
    ApplyId id;
    ScanBuilder m;
    ScanBuilderPart part;
    const Clients *clients; /* of the graph when the pass began; ids from `from` on */
    const uint8_t *root;    /* by variable: an output, an update, ... */
    ScanPass *pass;
    Vec(Var) before, after; /* the replacements made */
} Scan;
bool scan_any(const Graph *g);
/* Adds to the inputs that are the same in each step what follows from them, constants
 * and dims alone. */
void scan_spread_invariants(const Graph *fn, uint8_t *fixed);
/* The variables that are the same in each step of each loop whose body r->g is. NULL:
 * it is the body of none. */
uint8_t *scan_body_invariants(Rewriter *r, Arena *a);
void scan_bodies_close(LoopBodies *l);
/* A pass over one scan: true when it replaced something (scan_install). False with *ok
 * false: diagnosed. */
typedef bool ScanFn(Scan *l, bool *ok);
/* Tries every live scan that the graph had at the start. */
bool scan_each(Rewriter *r, ScanFn *fn);

/* By Apply of the graph when the pass began: its control dependence
 * (lang/lazy_scope.h). NULL: all are always needed. */
const uint32_t *scan_scopes(Scan *l);
/* Does the graph compute values anew on purpose, rather than keep them: has it a loop
 * over segments, is it in one, or does it wait with what is computed again? */
bool scan_recomputes(Scan *l);
/* Is v an array of one constant? A body makes such a one anew, which costs less than to
 * read it, and nothing where values are added to it or written into it. */
bool scan_is_fill(const Graph *fn, Var v);
/* By variable of fn, the body of a loop: is it needed whatever branches are taken? */
uint8_t *scan_needed_always(const Scan *l, const Graph *fn);

/* Takes the scan apart; scan_each closes l->m. */
void scan_take_apart(Scan *l);
/* Copies the body; `part` and `m` may be changed beforehand. */
bool scan_copy_body(Scan *l);
/* Builds the scan, unless nothing of it is needed any more. False: diagnosed. */
bool scan_rebuild(Scan *l);
/* Builds the scan and replaces the old results: output as[o] for o, or o itself when as
 * is NULL. Unwanted results keep their entry in r->forward. False: nothing changed, or
 * *ok is false on failure. */
bool scan_install(Scan *l, const size_t *as, bool *ok);
/* Replaces v, or output o of the scan, by x if its type guarantees as much. */
bool scan_forward_var(Scan *l, Var v, Var x);
bool scan_replace_output(Scan *l, size_t o, Var x);
/* Makes the clients whose first input is output o read `rows` instead. */
bool scan_reread_output(Scan *l, size_t o, Var rows);
/* Reports everything replaced as one replacement; false: stop. */
bool scan_fired(Scan *l);

static inline Var scan_output(const Scan *l, size_t o) {
    return l->r->g->apply[l->id].out + (Var)o;
}
bool scan_output_is_read(const Scan *l,
                         size_t o); /* has output o a client, or is it a root? */
/* Do the types and shapes prove that x has exactly one row per step? */
bool scan_has_rows(const Scan *l, Var x);
/* Is the number of steps the number of rows of x, alone or as the minimum of
 * several? */
bool scan_counts_rows(const Scan *l, Var x);

/* An expression of the language in x, y, n. */
Var scan_build_expr(Scan *l, const char *text, Var x, Var y, Var n);

/* ---- the body evaluated in the graph around the loop ---- */
typedef struct Outside {
    Scan *l;
    Var *var;       /* by variable of the body: its counterpart outside; VAR_NONE:
                     * none */
    uint8_t *fails; /* by variable of the body: making it outside may fail */
} Outside;
Outside outside_new(Scan *l);
/* Sets `fails` for the outputs of `a`, which exist outside. */
void outside_note(Outside *o, ApplyId a);
/* Applies the op of `a` to the outside counterparts of its inputs. False: it doesn't
 * type-check. */
bool outside_apply(Outside *o, ApplyId a);
/* Builds everything that v needs; its leaves are already set. VAR_NONE: not
 * possible. */
Var outside_make(Outside *o, Var v);

/* ---- loops that may take no steps ---- */

bool scan_takes_steps(const Scan *l); /* one or more, for certain */
/* Is there a size that only running a step would reveal if the loop takes none? Such a
 * loop tries one step, which may fail, and must continue to do so. */
bool scan_tries_step(const Scan *l);
/* Guards x, which was built outside and may fail, so that it is computed only if there
 * are steps; otherwise a dummy of its type replaces it. `rows`: its first dim is the
 * number of steps. VAR_NONE: not possible. */
Var scan_if_steps(Scan *l, Var x, bool rows);
Var scan_or_initial(Scan *l, Var x, Var init); /* init, if there are none */

#endif
