/* A part of a run: its rows, and what its files say of it, so that others can put the
 * whole together. */
#ifndef TOOLS_GRUN_PART_H
#define TOOLS_GRUN_PART_H

#include "base/sha256.h"
#include "part/part.h"
#include "tools/grun/grun_impl.h"

/* The array PART_NAME beside the results in a part's file: int64, in this order, the
 * hashes in words of 32 bits. */
#define PART_NAME "thunkline_part"
typedef struct PartHead {
    int64_t number, of;       /* from 1 */
    int64_t begin, end, rows; /* this part's, and of all */
    bool each;                /* of calls, with --each: everything is rows */
    uint64_t run;             /* hash of what all parts of a run have in common */
    uint32_t graph[8];        /* SHA-256 of the graph as it was read */
    size_t ncut;
    size_t *cut; /* the inputs that are cut */
} PartHead;

/* Reads "3/16" or "n=3/16". False: diagnosed. */
bool grun_part_option(Session *s, Span text, Span *dim, int64_t *number, int64_t *of);
bool grun_part_head_tensor(GraphRun *r, const PartHead *h, Tensor *out);
/* False: diagnosed, as an error of the file. */
bool grun_part_head_read(Session *s, Arena *a, const char *path, const Tensor *t,
                         PartHead *out);
/* Says that the head of a file is damaged. */
bool grun_part_fail_head(Session *s, const char *path);
/* The digest of the graph as it was read. */
bool grun_part_graph_digest(const Graph *g, uint32_t digest[8]);
/* Can all outputs be put together? False: diagnosed. *out: what each variable is. */
bool grun_part_check_outputs(GraphRun *r, const bool *cut, const Part **out);

#endif
