/* Shared by the files of scan. */
#ifndef OPS_CONTROL_SCAN_H
#define OPS_CONTROL_SCAN_H

#include "lang/macro.h"
#include "op/build.h"
#include "scan/scan.h"
#include "vmap/kit.h"

/* scan_run.c: a plain reference that runs one machine step by step. */
bool scan_perform(Call *c);
bool scan_pull(Pull *p); /* scan_pull.c */
/* scan_last_row.c: what the last one of `rows` is if all others are zeros, as far as
 * the graph shows it; VAR_NONE: they may not be. */
Var scan_last_row(Builder *b, Var rows);
bool scan_push(Push *p); /* scan_push.c */
bool scan_vmap(Vmap *q); /* scan_vmap.c */
#define SCAN_LOST                                                                      \
    "in a loop it passes through a list or another value that is not a tensor: carry " \
    "tensors instead"
/* scan_call.c: the language's scan. Arguments: fn, sequences, outputs_info,
 * non_sequences, n_steps, truncate_gradient, go_backwards, keep, checkpoint, rows. */
enum { SCAN_ARGS = 10 };
bool scan_expand(Compiler *c, const Ast *call, const Ast *const *arg, Node *out);
/* scan_draws.c: warns of the first draw of random numbers in a body that gives every
 * step the same. The body's first `nown` inputs are rows and states. */
void scan_warn_of_draws(const Graph *fn, size_t nown);
/* scan_items.c: a body that takes item indices and lists instead of items. */
typedef struct ScanItems {
    size_t before; /* inputs that are rows or states */
    const size_t
        *list_of; /* by such input: the list whose item it is, SIZE_MAX: none */
    size_t nlist; /* inputs after those */
    const Type **type;
} ScanItems;
/* NULL: diagnosed. */
Graph *scan_over_items(Builder *b, const Graph *fn, const ScanItems *q);

#endif
