/* The table of passes: rewrites that rule text can't express. */
#include "rewrite/rewrite_impl.h"

static const char *const casts[] = {"cast", NULL};
static const char *const specifies[] = {"specify_shape", NULL};
static const char *const reshapes[] = {"reshape", NULL};
static const char *const transposes[] = {"transpose", NULL};
static const char *const broadcasts[] = {"broadcast_to", NULL};
static const char *const reductions[] = {"sum", "prod", "max",  "min",
                                         "any", "all",  "mean", NULL};
static const char *const alike[] = {"zeros_like", "ones_like", "full_like", NULL};
static const char *const slices[] = {"subtensor", NULL};
static const char *const indexed[] = {"subtensor", "set_subtensor", "inc_subtensor",
                                      NULL};
static const char *const branches[] = {"ifelse", NULL};
static const char *const joins[] = {"concatenate", NULL};
static const char *const splits[] = {"split", NULL};
static const char *const sums[] = {"sum", NULL};
static const char *const scatters[] = {"inc_subtensor", "set_subtensor", NULL};
static const char *const increments[] = {"inc_subtensor", NULL};
static const char *const differences[] = {"subtract", NULL};
static const char *const additive[] = {"add", "subtract", NULL};
static const char *const shapes[] = {"shape", "shape_i", NULL};

static const char *const asserts[] = {"assert_op", NULL};
static const char *const loops[] = {"scan", NULL};
static const char *const calls[] = {"call", NULL};
static const char *const claims[] = {"assert_structure", NULL};
static const char *const diagonals[] = {"diagonal", NULL};
static const char *const systems[] = {"solve", "cho_factor", NULL};
static const char *const products[] = {"matmul", NULL};
static const char *const multiplies[] = {"multiply", NULL};
static const char *const averages[] = {"sum", "mean", NULL};
static const char *const totals[] = {"sum", "prod", "max", "min", NULL};
static const char *const empties[] = {"sum", "prod", "matmul", NULL};
static const char *const repeats[] = {"sum", "max", "min", "mean", "any", "all", NULL};
static const char *const powers[] = {"power", NULL};
static const char *const scales[] = {"multiply", "true_divide", NULL};
static const char *const shifts[] = {"add", "subtract", NULL};

static const char *const convolutions[] = {"conv", NULL};
static const char *const repeated[] = {"broadcast_to", "zeros_like", "ones_like",
                                       "full",         "full_like",  "expand_dims",
                                       "squeeze",      NULL};

static bool fold_takes(const Op *op) {
    return op->fold != FOLD_NEVER && !op->effect;
}

static bool swapped_takes(const Op *op) {
    return op->comm && !op->uneven;
}

static bool sink_takes(const Op *op) {
    return op->elemwise;
}

/* In order of position. merge has no function: it is the copy that starts every run. */
const Pass rewrite_passes[] = {
    {"merge", "merge", "Merges equal expressions.", 0, .node = NULL},
    {"inline-calls", "inline",
     "Replaces calls of functions of up to 512 Applies by their bodies, within limits.",
     0.3, .graph = inline_pass, .ops = calls},
    {"expand-ops", "expand",
     "Replaces ops of users' files by their definitions, unless they state a "
     "derivative of their own.",
     0.4, .graph = inline_expand_pass},
    {"constant-folding", "fold",
     "Computes what has only constant inputs, up to 1 MiB for each constant.", 0.5,
     .node = rewrite_fold_pass, .takes = fold_takes, .all_const = true},
    {"merge-swapped", "merge",
     "Merges commutative ops whose two inputs are in opposite order.", 1.0,
     .node = rewrite_swapped_pass, .takes = swapped_takes},
    {"useless-branch-results", "useless",
     "Removes results of an ifelse that nothing uses, with their values in both "
     "branches.",
     0.55, .graph = ifelse_results_pass, .ops = branches},
    {"useless-branch", "useless",
     "Removes an ifelse whose condition is known, whose branches are the same, or that "
     "is in a branch of an ifelse with the same condition.",
     0.6, .node = ifelse_pass, .ops = branches},
    {"useless-broadcast", "useless",
     "Removes a broadcast_to that changes nothing, and merges one with another.", 0.6,
     .node = rewrite_broadcast_pass, .ops = broadcasts},
    {"useless-cast", "useless",
     "Removes a cast to the same dtype, and merges one with an earlier cast that loses "
     "nothing.",
     0.6, .node = rewrite_cast_pass, .ops = casts},
    {"useless-concatenate", "useless",
     "Removes a concatenate of one part, and the empty parts of others.", 0.6,
     .node = rewrite_concat_pass, .ops = joins},
    {"useless-reduction", "useless",
     "Removes reductions over no axis or axes of size 1, and merges reductions of the "
     "same kind.",
     0.6, .node = rewrite_reduce_pass, .ops = reductions},
    {"useless-reshape", "useless",
     "Removes a reshape to the same shape, and merges one with another.", 0.6,
     .node = rewrite_reshape_pass, .ops = reshapes},
    {"useless-slice", "useless",
     "Removes an index that takes everything: x[:, :], x[...].", 0.6,
     .node = rewrite_slice_pass, .ops = slices},
    {"useless-specify-shape", "useless",
     "Removes a specify_shape that the type already guarantees.", 0.6,
     .node = rewrite_specify_pass, .ops = specifies},
    {"useless-transpose", "useless",
     "Removes a transpose that changes nothing, and merges one with another.", 0.6,
     .node = rewrite_transpose_pass, .ops = transposes},
    {"lift-shape", "canonicalize",
     "Expresses shapes of results by shapes of inputs, so that nothing is computed for "
     "its shape alone.",
     1, .node = shape_pass, .ops = shapes},
    {"read-shape", "canonicalize",
     "Replaces an element that is read from a stack or shape by the element itself.", 1,
     .node = shape_read_pass, .ops = slices},
    {"sink-broadcast", "canonicalize",
     "Lets elementwise ops take a repeated operand (broadcast_to, ones_like, full, "
     "...) before it is repeated, and repeats the result if none is left as large.",
     1, .node = sink_pass, .takes = sink_takes, .of = repeated},
    {"sum-of-scatter", "canonicalize shape_unsafe",
     "Replaces the sum over rows that hold one scattered value each by that value.", 1,
     .node = scatter_pass, .ops = sums},
    {"scatter-value", "canonicalize",
     "Lets inc_subtensor and set_subtensor broadcast their value themselves.", 1,
     .node = scatter_value_pass, .ops = scatters},
    {"reduce-empty", "canonicalize",
     "Replaces a sum or product of no elements by 0 or 1.", 1,
     .node = reduce_empty_pass, .ops = empties},
    {"assert-true", "canonicalize", "Removes assertions that are known to hold.", 1.05,
     .graph = rewrite_true_pass, .ops = asserts},
    {"collect-terms", "canonicalize",
     "Collects the terms and constants of whole sums of integers: x + y - x is y.", 1.1,
     .graph = terms_pass, .worth = terms_worth, .forwards = true},
    {"collect-terms-fast", "fast", "Collects the terms of whole sums of floats.", 1.2,
     .graph = terms_fast_pass, .worth = terms_fast_worth, .forwards = true},
    {"collect-factors-fast", "fast",
     "Collects the factors of whole products of floats: x * y / x is y.", 1.3,
     .graph = factors_fast_pass, .worth = factors_fast_worth, .forwards = true},
    {"read-from-end", "reads",
     "Counts bounds from the end that are given by the size: x[1:n - 1] is x[1:-1].",
     ALGEBRA, .node = read_from_end_pass, .ops = indexed},
    {"read-counted", "reads",
     "Replaces an index array that counts by a slice: x[arange(2, n)] is x[2:n].",
     ALGEBRA, .node = read_counted_pass, .ops = indexed},
    {"merge-reads", "reads",
     "Merges an index with another, and reads what set_subtensor or inc_subtensor "
     "wrote, or one part of what concatenate joins.",
     ALGEBRA, .node = read_merge_pass, .ops = slices, .uses = true},
    {"useless-write", "reads",
     "Removes a write of what is there, one to all there is and one that another "
     "overwrites, and merges the write of a part with one to a part of that.",
     ALGEBRA, .node = read_write_pass, .ops = scatters, .uses = true},
    {"reorder-write", "reads",
     "Replaces a write to all places of an axis, in another order, by a read in that "
     "order.",
     ALGEBRA, .node = read_reorder_pass, .ops = scatters},
    {"read-exactly", "reads",
     "Computes of an elementwise op, a transpose, a reshape, a concatenate, a "
     "broadcast, a diagonal, an identity or an extreme only what is read.",
     ALGEBRA, .node = read_exact_pass, .ops = slices, .uses = true},
    {"read-product", "algebra",
     "Computes of a product, a sum or a softmax only what is read.", ALGEBRA,
     .node = read_rounded_pass, .ops = slices, .uses = true},
    {"split-slices", "reads",
     "Replaces a split by slices where not all parts are read.", ALGEBRA,
     .node = read_split_pass, .ops = splits, .uses = true},
    {"new-dims", "reads",
     "Replaces an index of None alone, x[:, None], by expand_dims.", ALGEBRA,
     .node = read_none_pass, .ops = slices},
    {"lift-late-shape", "reads", "lift-shape, of what these rewrites have made.",
     ALGEBRA, .node = shape_pass, .ops = shapes},
    {"like-shape", "canonicalize",
     "Replaces zeros_like, ones_like or full_like of what nothing else needs: "
     "zeros_like(exp(x)) is zeros_like(x).",
     1.59, .node = shape_like_pass, .ops = alike, .uses = true},
    {"product-by-diagonal", "algebra",
     "Replaces a product by an identity or a diagonal matrix by its other operand, "
     "scaled.",
     ALGEBRA, .node = chain_diagonal_pass, .ops = products},
    {"read-diagonal", "algebra",
     "Replaces the diagonal of a matrix that is made of it by what it is made of, and "
     "the diagonal of a matrix with ones there by ones.",
     ALGEBRA, .node = chain_read_diagonal_pass, .ops = diagonals},
    {"product-order", "algebra",
     "Multiplies several matrices in the order that costs least, vectors first.",
     ALGEBRA, .node = chain_order_pass, .ops = products, .of = products, .uses = true},
    {"share-product", "algebra", "Computes b.T @ a as the transpose of a.T @ b.",
     ALGEBRA, .node = chain_share_pass, .ops = products, .of = transposes},
    {"reduce-transposed", "algebra",
     "Reduces a transpose before it is transposed, over the axes that these are then.",
     ALGEBRA, .node = batch_reduce_transposed_pass, .ops = reductions,
     .of = transposes},
    {"sum-products", "algebra",
     "Sums the rows or columns of a batch of products before they are multiplied.",
     ALGEBRA, .node = batch_reduce_product_pass, .ops = averages, .of = products,
     .uses = true},
    {"transposed-products", "algebra",
     "Replaces the transposes of a batch of products of transposes by the products.",
     ALGEBRA, .node = batch_transposed_product_pass, .ops = transposes, .of = products},
    {"diagonal-products", "algebra",
     "Computes the diagonals of a batch of products without the rest.", ALGEBRA,
     .node = batch_diagonal_product_pass, .ops = diagonals, .of = products,
     .uses = true},
    {"sum-factors", "algebra",
     "Takes a factor that is the same along an axis out of the sum over it.", ALGEBRA,
     .node = batch_sum_factor_pass, .ops = averages, .of = multiplies, .uses = true},
    {"outer-products", "algebra",
     "Multiplies a batch of outer products x[..., None] * y[..., None, :] by y first.",
     ALGEBRA, .node = batch_outer_product_pass, .ops = products, .of = multiplies,
     .uses = true},
    {"reduce-all", "reads", "Replaces a list of all axes of a reduction by None.",
     ALGEBRA, .node = reduce_all_pass, .ops = reductions},
    {"reduce-parts", "algebra",
     "Sums a concatenate or stack part by part, and so with its extremes.", ALGEBRA,
     .node = reduce_parts_pass, .ops = totals, .uses = true},
    {"reduce-repeated", "algebra",
     "Sums a repeated value (broadcast_to, ones_like, full, ...) as a multiple, or "
     "before it is repeated.",
     ALGEBRA, .node = reduce_repeated_pass, .ops = repeats},
    {"collect-multiples", "algebra",
     "Collects the terms of whole sums of floats, those of one sign: x + y + x + x is "
     "3 * x + y.",
     1.56, .graph = terms_float_pass, .worth = terms_float_worth, .forwards = true},
    {"collect-powers", "algebra",
     "Collects the factors of whole products of floats that are powers of one base: x "
     "** 2 * x ** 3 is x ** 5.",
     1.57, .graph = factors_float_pass, .worth = factors_float_worth, .forwards = true},
    {"join-writes", "algebra",
     "Joins parts that are written into zeros each, and then added up.", 1.575,
     .graph = read_join_pass, .ops = increments},
    {"share-factors", "algebra",
     "Solves systems of one matrix, or of its transpose, by one factorisation, "
     "which gives its determinant, too; of a positive definite one by Cholesky's.",
     1.58, .graph = solve_share_pass, .ops = systems},
    {"scan-merge", "scan",
     "Merges loops with the same steps that need nothing of each other, and loops with "
     "until that differ only in the rows that they keep.",
     LOOPS, .graph = scan_merge_pass, .ops = loops},
    {"scan-clean", "scan",
     "Removes results of loops that nothing reads, arguments that are unused or given "
     "twice, and states that always equal another.",
     LOOPS_CLEAN, .graph = scan_dce_pass, .ops = loops},
    {"scan-keep-rows", "scan", "Lets a loop keep only the last rows that are read.",
     1.62, .graph = scan_save_last_pass, .ops = loops},
    {"scan-last", "scan", "Lets a loop keep the last row itself if only that is read.",
     1.63, .graph = scan_last_value_pass, .ops = loops},
    {"scan-last-of-rows", "scan",
     "Reads the last value of a loop's state from its rows, if all are kept, too.",
     LOOPS_CLEANED, .graph = scan_last_of_rows_pass, .ops = loops},
    {"scan-first-steps", "scan",
     "Ends a loop after the first rows if only those are read.", 1.635,
     .graph = scan_truncate_pass, .ops = loops},
    {"scan-hoist", "scan", "Moves work that is the same in every step before the loop.",
     1.64, .graph = scan_hoist_pass, .ops = loops},
    {"scan-reuse", "scan",
     "Lets a loop, as that of a gradient, read products and reductions of an earlier "
     "one instead of computing them again from its states: from its results, or from "
     "further rows that it keeps, of up to 4 times the bytes of its states. Loops with "
     "checkpoints keep nothing more.",
     1.645, .graph = scan_reuse_pass, .ops = loops},
    {"scan-rows-out", "scan",
     "Does products and elementwise work on rows of sequences for all steps at once.",
     1.65, .graph = scan_pushout_pass, .ops = loops},
    {"scan-sums-out", "scan",
     "Sums over the steps after the loop, and sums products as one product; writes to "
     "one place in each step at once.",
     1.66, .graph = scan_sum_pass, .ops = loops},
    {"scan-unroll", "scan",
     "Replaces a loop of one step, or of a few steps of elementwise work, by its "
     "steps.",
     1.67, .graph = scan_unroll_pass, .ops = loops},
    {"scan-scalars", "scan",
     "Replaces small vectors of a loop's body, up to 16 elements, by their elements.",
     LOOPS_SCALARS, .graph = scan_scalars_pass, .ops = loops},
    {"short-rows", "algebra",
     "Replaces short vectors in rows, up to 36 elements each, by vectors of the rows, "
     "one for each element.",
     SHORT_ROWS, .graph = rows_pass, .worth = rows_worth},
    {"scatter-scaled", "specialize reassociate",
     "Turns a value v added to zeros at an index, minus x * v, into one scaling: adds "
     "-1 to x at the index and multiplies by -v.",
     2, .node = scatter_scaled_pass, .ops = differences, .of = increments,
     .among = increments},
    {"integer-power", "specialize reassociate",
     "Computes a power by a constant whole number, up to 512, as products of squares.",
     2, .node = terms_power_pass, .ops = powers},
    {"conv-scale", "specialize reassociate",
     "Multiplies constant filters of a convolution by a constant that scales the "
     "result, as a whole or by channel.",
     2, .node = conv_scale_pass, .among = convolutions, .ops = scales, .uses = true},
    {"conv-shift", "specialize reassociate",
     "Adds constants to a convolution as one, by channel.", 2, .node = conv_shift_pass,
     .among = convolutions, .ops = shifts, .uses = true},
    {"scatter-into", "specialize reassociate",
     "Turns values added to zeros at an index, plus x, into values added to x.", 2.01,
     .node = scatter_into_pass, .ops = additive, .of = increments, .among = increments,
     .uses = true},
    {"drop-structure", "useless",
     "Removes assert_structure once no other rewrite asks for it.", 2.6,
     .node = rewrite_claim_pass, .ops = claims},
    {"row-blocks", "algebra",
     "Computes what makes and reads large values, such as the scores of attention or "
     "the states of a loop, for blocks of their rows, so that they are never whole.",
     ROW_BLOCKS, .graph = row_blocks_pass, .worth = row_blocks_worth},
    {"choose-numbers", "fusion",
     "In a function, replaces the ifelse of two numbers by where if they are computed "
     "anyway, or cheap.",
     48, .graph = ifelse_numbers_pass, .ops = branches},
    {"carry-numbers", "fusion",
     "In a loop's body of numbers, copies those that it passes on as they are, so that "
     "a step is one function.",
     48.5, .graph = scan_carry_pass, .worth = scan_carry_worth},
    {"fuse-elementwise", "fusion",
     "Fuses elementwise ops of one shape, and what reduces their result or writes it "
     "into an array, into a call of one function.",
     49, .graph = fuse_pass},
};
const size_t rewrite_npasses = sizeof rewrite_passes / sizeof *rewrite_passes;
