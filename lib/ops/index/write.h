/* Ops that write into an index: x and y, then the index inputs. */
#ifndef OPS_INDEX_WRITE_H
#define OPS_INDEX_WRITE_H

#include "ops/index/index.h"
#include "ops/index/loops.h"

bool index_write_type(Infer *in);
/* x with y set or combined, by these loops, where the index points. replaces: what is
 * there before makes no difference. */
bool index_write(Call *c, RowFn *row, ScatterFn *scatter, bool replaces);
/* Streams: y may come in pieces. */
bool index_write_streams(const Graph *g, ApplyId id, int ndim, const int64_t *dim);
/* Writes c->pieces to the places that an index without arrays points to; row: the loop
 * for n of them. room: index_pieces_room() bytes. */
void index_write_pieces(Call *c, const Tensor *to, RowFn *row, bool replaces,
                        char *room);
size_t index_pieces_room(const Call *c, size_t item);
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
