/* Cutting the rows of some inputs into parts: what does a graph that runs on the rows
 * of one part say of the result for all rows? Each variable is one of these:
 *
 *   the same in every part (it doesn't depend on the rows);
 *   rows: along one axis, row i comes from row i of the inputs alone, so that the
 *     values of the parts follow each other in the whole;
 *   a term: the whole is the sum (product, maximum, ...) of what the parts give;
 *   none of these: some op needs more rows than those of its part.
 *
 * The walk knows n, the number of rows, as a number: a sum over rows that is divided by
 * n, before or after summing, is a mean, of which the whole is the mean of the parts
 * weighted by their rows. Knows ops by their rows in part/rows.c, and neither files nor
 * machines. */
#ifndef PART_PART_H
#define PART_PART_H

#include "op/op.h"

typedef enum PartKind {
    PART_SAME,  /* in every part, up to a power of n */
    PART_ROWS,  /* along `axis` */
    PART_TERM,  /* of the whole, by `term` */
    PART_INDEX, /* along `axis`: the numbers of the part's own rows, from 0 */
    PART_SHAPE, /* a vector of sizes; element `axis` is n times `each`, the others are
                 * the same in every part */
    PART_NONE   /* because of `why` */
} PartKind;
typedef enum PartTerm {
    TERM_SUM,
    TERM_PROD,
    TERM_MAX,
    TERM_MIN,
    TERM_ALL,
    TERM_ANY,
    TERM_LOGSUMEXP
} PartTerm;
typedef struct Part {
    PartKind kind;
    PartTerm term;
    int axis;
    int power; /* SAME, ROWS, TERM: has the factor n^power. Power 1 of SAME is a number
                * of rows, -1 of a sum a mean */
    int64_t each; /* ROWS: adjacent elements along the axis that belong to one row; SAME
                   * of power 1, SHAPE: exactly this many times n; 0: not known */
    bool zero;    /* all elements are 0, whatever the power */
    struct PartWhy {
        const Graph *g; /* the graph or function of the Apply */
        ApplyId id;
        const char *said; /* what it needs: "needs all rows at once" */
    } why;
} Part;

/* Finds what each variable of g is if the inputs for which cut[i] is true are cut along
 * their leading axis. The result and its reasons live in `a`. NULL: diagnosed. */
Part *part_graph(Graph *g, Arena *a, const bool *cut);
/* The same of one Apply, by what its inputs are (`x`, of which all may be rows): fills
 * out, by output. False: diagnosed. */
bool part_apply(const Graph *g, Arena *a, ApplyId id, const Part *x, Part *out);
/* May fn, a function whose input i has rows along axis[i], or not at all (-1), be
 * computed for some rows after the others? The rows are one named dim of all these
 * inputs. Fills in by output the axis along which the results follow each other, or -1:
 * they are added up. False, and what is wrong: not for this reason, nothing is
 * diagnosed; `a` keeps the text. */
bool part_by_rows(const Graph *fn, Arena *a, const int64_t *axis, int *out_axis,
                  const char **why);
/* May sums of parts be added up, although each is rounded once more? */
bool part_may_add_up(const Type *t);
/* The dim of these rows; 0: the inputs have no such dim in common. */
Sym part_rows_dim(const Graph *fn, const int64_t *axis);
/* Can the whole be put together from what parts give? */
bool part_can_merge(const Part *p);
/* The whole of what n parts of `rows` rows each give. Sums and means are computed in
 * float64, in pairs, pairs of pairs and so on. False: diagnosed. */
bool part_merge(Session *s, const Part *how, size_t n, const Tensor *t,
                const int64_t *rows, Tensor *out);
/* "rows along axis 1", "a mean over the rows": for messages. */
const char *part_text(Arena *a, const Part *p);

#endif
