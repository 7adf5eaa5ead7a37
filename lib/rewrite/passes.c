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
static const char *const splits[] = {"split", NULL};
static const char *const sums[] = {"sum", NULL};
static const char *const scatters[] = {"inc_subtensor", "set_subtensor", NULL};
static const char *const differences[] = {"subtract", NULL};
static const char *const shapes[] = {"shape", "shape_i", NULL};

static const char *const claims[] = {"assert_structure", NULL};
static const char *const diagonals[] = {"diagonal", NULL};
static const char *const products[] = {"matmul", NULL};
static const char *const totals[] = {"sum", "prod", "max", "min", NULL};
static const char *const empties[] = {"sum", "prod", "matmul", NULL};
static const char *const repeats[] = {"sum", "max", "min", "mean", "any", "all", NULL};
static const char *const powers[] = {"power", NULL};
static const char *const scales[] = {"multiply", "true_divide", NULL};
static const char *const shifts[] = {"add", "subtract", NULL};

/* In order of position. merge has no function: it is the copy that starts every run. */
const Pass rewrite_passes[] = {
    {"merge", "merge", "Merges equal expressions.", 0, NULL, NULL, NULL, false},
    {"inline-calls", "inline", "Inlines calls of small functions.", 0.3, NULL,
     inline_pass, NULL, false},
    {"expand-ops", "expand",
     "Replaces ops of users' files by their definitions, unless they state a "
     "derivative of their own.",
     0.4, NULL, inline_expand_pass, NULL, false},
    {"constant-folding", "fold",
     "Computes what has only constant inputs, up to 1 MiB for each constant.", 0.5,
     rewrite_fold_pass, NULL, NULL, false},
    {"merge-swapped", "merge",
     "Merges commutative ops whose two inputs are in opposite order.", 1.0,
     rewrite_swapped_pass, NULL, NULL, false},
    {"useless-branch-results", "useless",
     "Removes results of an ifelse that nothing uses, with their values in both "
     "branches.",
     0.55, NULL, ifelse_results_pass, NULL, false},
    {"useless-branch", "useless",
     "Removes an ifelse whose condition is known, whose branches are the same, or that "
     "is in a branch of an ifelse with the same condition.",
     0.6, ifelse_pass, NULL, branches, false},
    {"useless-broadcast", "useless",
     "Removes a broadcast_to that changes nothing, and merges one with another.", 0.6,
     rewrite_broadcast_pass, NULL, broadcasts, false},
    {"useless-cast", "useless",
     "Removes a cast to the same dtype, and merges one with an earlier cast that loses "
     "nothing.",
     0.6, rewrite_cast_pass, NULL, casts, false},
    {"useless-concatenate", "useless",
     "Removes a concatenate of one part, and the empty parts of others.", 0.6,
     rewrite_concat_pass, NULL, joins, false},
    {"useless-reduction", "useless",
     "Removes reductions over no axis or axes of size 1, and merges reductions of the "
     "same kind.",
     0.6, rewrite_reduce_pass, NULL, reductions, false},
    {"useless-reshape", "useless",
     "Removes a reshape to the same shape, and merges one with another.", 0.6,
     rewrite_reshape_pass, NULL, reshapes, false},
    {"useless-slice", "useless",
     "Removes an index that takes everything: x[:, :], x[...].", 0.6,
     rewrite_slice_pass, NULL, slices, false},
    {"useless-specify-shape", "useless",
     "Removes a specify_shape that the type already guarantees.", 0.6,
     rewrite_specify_pass, NULL, specifies, false},
    {"useless-transpose", "useless",
     "Removes a transpose that changes nothing, and merges one with another.", 0.6,
     rewrite_transpose_pass, NULL, transposes, false},
    {"lift-shape", "canonicalize",
     "Expresses shapes of results by shapes of inputs, so that nothing is computed for "
     "its shape alone.",
     1, shape_pass, NULL, shapes, false},
    {"read-shape", "canonicalize",
     "Replaces an element that is read from a stack or shape by the element itself.", 1,
     shape_read_pass, NULL, slices, false},
    {"sink-broadcast", "canonicalize",
     "Lets elementwise ops take a repeated operand (broadcast_to, ones_like, full, "
     "...) before it is repeated.",
     1, sink_pass, NULL, NULL, false},
    {"sum-of-scatter", "canonicalize shape_unsafe",
     "Replaces the sum over rows that hold one scattered value each by that value.", 1,
     scatter_pass, NULL, sums, false},
    {"scatter-value", "canonicalize",
     "Lets inc_subtensor and set_subtensor broadcast their value themselves.", 1,
     scatter_value_pass, NULL, scatters, false},
    {"reduce-empty", "canonicalize",
     "Replaces a sum or product of no elements by 0 or 1.", 1, reduce_empty_pass, NULL,
     empties, false},
    {"assert-true", "canonicalize", "Removes assertions that are known to hold.", 1.05,
     NULL, rewrite_true_pass, NULL, false},
    {"collect-terms", "canonicalize",
     "Collects the terms and constants of whole sums of integers: x + y - x is y.", 1.1,
     NULL, terms_pass, NULL, false},
    {"collect-terms-fast", "fast", "Collects the terms of whole sums of floats.", 1.2,
     NULL, terms_fast_pass, NULL, false},
    {"collect-factors-fast", "fast",
     "Collects the factors of whole products of floats: x * y / x is y.", 1.3, NULL,
     factors_fast_pass, NULL, false},
    {"merge-reads", "reads",
     "Merges an index with another, and reads what set_subtensor or inc_subtensor "
     "wrote.",
     ALGEBRA, read_merge_pass, NULL, slices, true},
    {"useless-write", "reads",
     "Removes a write of what is there, and one that another overwrites.", ALGEBRA,
     read_write_pass, NULL, scatters, true},
    {"read-exactly", "reads",
     "Computes of an elementwise op, a transpose, a reshape, a concatenate, a "
     "broadcast, a diagonal, an identity or an extreme only what is read.",
     ALGEBRA, read_exact_pass, NULL, slices, true},
    {"read-product", "algebra",
     "Computes of a product, a sum or a softmax only what is read.", ALGEBRA,
     read_rounded_pass, NULL, slices, true},
    {"split-slices", "reads",
     "Replaces a split by slices where not all parts are read.", ALGEBRA,
     read_split_pass, NULL, splits, true},
    {"new-dims", "reads",
     "Replaces an index of None alone, x[:, None], by expand_dims.", ALGEBRA,
     read_none_pass, NULL, slices, false},
    {"lift-late-shape", "reads", "lift-shape, of what these rewrites have made.",
     ALGEBRA, shape_pass, NULL, shapes, false},
    {"product-by-diagonal", "algebra",
     "Replaces a product by an identity or a diagonal matrix by its other operand, "
     "scaled.",
     ALGEBRA, chain_diagonal_pass, NULL, products, false},
    {"read-diagonal", "algebra",
     "Replaces the diagonal of a matrix that is made of it by what it is made of, and "
     "the diagonal of a matrix with ones there by ones.",
     ALGEBRA, chain_read_diagonal_pass, NULL, diagonals, false},
    {"product-order", "algebra",
     "Multiplies several matrices in the order that costs least, vectors first.",
     ALGEBRA, chain_order_pass, NULL, products, true},
    {"share-product", "algebra", "Computes b.T @ a as the transpose of a.T @ b.",
     ALGEBRA, chain_share_pass, NULL, products, false},
    {"reduce-all", "reads", "Replaces a list of all axes of a reduction by None.",
     ALGEBRA, reduce_all_pass, NULL, reductions, false},
    {"reduce-parts", "algebra",
     "Sums a concatenate or stack part by part, and so with its extremes.", ALGEBRA,
     reduce_parts_pass, NULL, totals, true},
    {"reduce-repeated", "algebra",
     "Sums a repeated value (broadcast_to, ones_like, full, ...) as a multiple.",
     ALGEBRA, reduce_repeated_pass, NULL, repeats, false},
    {"collect-multiples", "algebra",
     "Collects the terms of whole sums of floats, those of one sign: x + y + x + x is "
     "3 * x + y.",
     1.56, NULL, terms_float_pass, NULL, false},
    {"collect-powers", "algebra",
     "Collects the factors of whole products of floats that are powers of one base: x "
     "** 2 * x ** 3 is x ** 5.",
     1.57, NULL, factors_float_pass, NULL, false},
    {"scan-merge", "scan",
     "Merges loops with the same steps that need nothing of each other.", LOOPS, NULL,
     scan_merge_pass, NULL, false},
    {"scan-clean", "scan",
     "Removes results of loops that nothing reads, arguments that are unused or given "
     "twice, and states that always equal another.",
     1.61, NULL, scan_dce_pass, NULL, false},
    {"scan-keep-rows", "scan", "Lets a loop keep only the last rows that are read.",
     1.62, NULL, scan_save_last_pass, NULL, false},
    {"scan-last", "scan", "Lets a loop keep the last row itself if only that is read.",
     1.63, NULL, scan_last_value_pass, NULL, false},
    {"scan-first-steps", "scan",
     "Ends a loop after the first rows if only those are read.", 1.635, NULL,
     scan_truncate_pass, NULL, false},
    {"scan-hoist", "scan", "Moves work that is the same in every step before the loop.",
     1.64, NULL, scan_hoist_pass, NULL, false},
    {"scan-rows-out", "scan",
     "Does products and elementwise work on rows of sequences for all steps at once.",
     1.65, NULL, scan_pushout_pass, NULL, false},
    {"scan-sums-out", "scan",
     "Sums over the steps after the loop, and sums products as one product.", 1.66,
     NULL, scan_sum_pass, NULL, false},
    {"scan-one-step", "scan", "Replaces a loop of one step by its body.", 1.67, NULL,
     scan_unroll_pass, NULL, false},
    {"scatter-scaled", "specialize reassociate",
     "Turns a value v added to zeros at an index, minus x * v, into one scaling: adds "
     "-1 to x at the index and multiplies by -v.",
     2, scatter_scaled_pass, NULL, differences, false},
    {"integer-power", "specialize reassociate",
     "Computes a power by a constant whole number, up to 512, as products of squares.",
     2, terms_power_pass, NULL, powers, false},
    {"conv-scale", "specialize reassociate",
     "Multiplies constant filters of a convolution by a constant that scales the "
     "result, as a whole or by channel.",
     2, conv_scale_pass, NULL, scales, true},
    {"conv-shift", "specialize reassociate",
     "Adds constants to a convolution as one, by channel.", 2, conv_shift_pass, NULL,
     shifts, true},
    {"drop-structure", "useless",
     "Removes assert_structure once no other rewrite asks for it.", 2.6,
     rewrite_claim_pass, NULL, claims, false},
    {"fuse-elementwise", "fusion",
     "Fuses elementwise ops of one shape, and a reduction of their result, into a call "
     "of one function.",
     49, NULL, fuse_pass, NULL, false},
};
const size_t rewrite_npasses = sizeof rewrite_passes / sizeof *rewrite_passes;
