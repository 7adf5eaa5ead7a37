/* Ops that write into an index: x and y, then the index inputs. */
#ifndef OPS_INDEX_WRITE_H
#define OPS_INDEX_WRITE_H

#include "ops/index/index.h"
#include "ops/index/loops.h"

bool index_write_type(Infer *in);
/* x with y set or combined, by these loops, where the index points. replaces: what is
 * there before makes no difference. */
bool index_write(Call *c, RowFn *row, ScatterFn *scatter, bool replaces);
/* The index of an Apply that writes, to apply another op to it, behind n leading
 * inputs. */
typedef struct IndexOf {
    const Op *op;
    const Props *props;
    size_t nin;
    const Var *in;
} IndexOf;
Var index_apply_same(Builder *b, IndexOf at, const char *op, size_t n, const Var *lead);

#endif
