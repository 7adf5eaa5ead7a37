/* The table of passes: rewrites that rule text can't express. */
#include "rewrite/rewrite_impl.h"

static const char *const casts[] = {"cast", NULL};
static const char *const specifies[] = {"specify_shape", NULL};
static const char *const reshapes[] = {"reshape", NULL};
static const char *const transposes[] = {"transpose", NULL};
static const char *const broadcasts[] = {"broadcast_to", NULL};
static const char *const reductions[] = {"sum", "prod", "max",  "min",
                                         "any", "all",  "mean", NULL};
static const char *const slices[] = {"subtensor", NULL};
static const char *const branches[] = {"ifelse", NULL};
static const char *const joins[] = {"concatenate", NULL};
static const char *const sums[] = {"sum", NULL};
static const char *const scatters[] = {"inc_subtensor", "set_subtensor", NULL};
static const char *const differences[] = {"subtract", NULL};
static const char *const shapes[] = {"shape", "shape_i", NULL};

/* In order of position. merge has no function: it is the copy that starts every run. */
const Pass rewrite_passes[] = {
    {"merge", "merge", "Equal expressions become one.", 0, NULL, NULL, NULL},
    {"inline-calls", "inline", "Calls of small functions are replaced by their bodies.",
     0.3, NULL, inline_pass, NULL},
    {"expand-ops", "expand",
     "Ops of the user's files that state no derivative of their own are replaced by "
     "their definitions.",
     0.4, NULL, inline_expand_pass, NULL},
    {"constant-folding", "fold",
     "What has only constants as inputs is computed, up to 1 MiB a constant.", 0.5,
     rewrite_fold_pass, NULL, NULL},
    {"merge-swapped", "merge",
     "A commutative op of two inputs that stand in the other order elsewhere is that.",
     1.0, rewrite_swapped_pass, NULL, NULL},
    {"useless-branch-results", "useless",
     "Results of an ifelse that nothing uses, with their values in both branches.",
     0.55, NULL, ifelse_results_pass, NULL},
    {"useless-branch", "useless",
     "ifelse whose condition is known, whose branches are the same, or in a branch of "
     "an ifelse of the same condition.",
     0.6, ifelse_pass, NULL, branches},
    {"useless-broadcast", "useless",
     "broadcast_to that changes nothing, or of another broadcast_to.", 0.6,
     rewrite_broadcast_pass, NULL, broadcasts},
    {"useless-cast", "useless",
     "cast to the same dtype, or after a cast that lost nothing.", 0.6,
     rewrite_cast_pass, NULL, casts},
    {"useless-concatenate", "useless", "concatenate of one part, and its empty parts.",
     0.6, rewrite_concat_pass, NULL, joins},
    {"useless-reduction", "useless",
     "Reductions over no axis or axes of size 1, and of reductions of the same kind.",
     0.6, rewrite_reduce_pass, NULL, reductions},
    {"useless-reshape", "useless",
     "reshape to the shape that is there, or of a reshape.", 0.6, rewrite_reshape_pass,
     NULL, reshapes},
    {"useless-slice", "useless", "x[:, :] and x[...].", 0.6, rewrite_slice_pass, NULL,
     slices},
    {"useless-specify-shape", "useless", "specify_shape that the type already says.",
     0.6, rewrite_specify_pass, NULL, specifies},
    {"useless-transpose", "useless",
     "transpose that changes nothing, or of a transpose.", 0.6, rewrite_transpose_pass,
     NULL, transposes},
    {"lift-shape", "canonicalize",
     "Shapes of results are expressed by shapes of inputs, so that nothing is computed "
     "for its shape alone.",
     1, shape_pass, NULL, shapes},
    {"read-shape", "canonicalize", "An element of a stack or shape, read by index.", 1,
     shape_read_pass, NULL, slices},
    {"sink-broadcast", "canonicalize",
     "Elementwise ops take a repeated operand (broadcast_to, ones_like, full, ...) "
     "before "
     "it is repeated.",
     1, sink_pass, NULL, NULL},
    {"sum-of-scatter", "canonicalize shape_unsafe",
     "The sum over rows that hold one scattered value each is that value.", 1,
     scatter_pass, NULL, sums},
    {"scatter-value", "canonicalize",
     "inc_subtensor and set_subtensor repeat their value themselves.", 1,
     scatter_value_pass, NULL, scatters},
    {"scan-merge", "scan",
     "Loops of the same steps that need nothing of each other are one.", LOOPS, NULL,
     scan_merge_pass, NULL},
    {"scan-clean", "scan",
     "Loops without results that nothing reads, arguments that do nothing or stand "
     "twice, and states that go the same way.",
     1.61, NULL, scan_dce_pass, NULL},
    {"scan-keep-rows", "scan", "A loop keeps only the last rows that are read.", 1.62,
     NULL, scan_save_last_pass, NULL},
    {"scan-last", "scan", "The last of some rows is kept itself.", 1.63, NULL,
     scan_last_value_pass, NULL},
    {"scan-first-steps", "scan",
     "A loop of which only the first rows are read takes no more steps.", 1.635, NULL,
     scan_truncate_pass, NULL},
    {"scan-hoist", "scan",
     "Work that is the same in every step is done before the loop.", 1.64, NULL,
     scan_hoist_pass, NULL},
    {"scan-rows-out", "scan",
     "Products and elementwise work on rows of sequences are done for all steps at "
     "once.",
     1.65, NULL, scan_pushout_pass, NULL},
    {"scan-sums-out", "scan",
     "Sums over the steps are made after the loop, those of products as one product.",
     1.66, NULL, scan_sum_pass, NULL},
    {"scan-one-step", "scan", "A loop of one step is no loop.", 1.67, NULL,
     scan_unroll_pass, NULL},
    {"scatter-scaled", "specialize reassociate",
     "A value added to zeros at an index, less x times the value: -1 is added to x, "
     "which is then scaled.",
     2, scatter_scaled_pass, NULL, differences},
    {"fuse-elementwise", "fusion",
     "Groups of elementwise ops of one shape, and a reduction of what they make, "
     "become "
     "a call of one fused function.",
     49, NULL, fuse_pass, NULL},
};
const size_t rewrite_npasses = sizeof rewrite_passes / sizeof *rewrite_passes;
