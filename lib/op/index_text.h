/* The prop `index` of subtensor and its relatives: the text between the brackets with a
 * `$` for each index input, "$:$, None, ::$, $". */
#ifndef OP_INDEX_TEXT_H
#define OP_INDEX_TEXT_H

#include "type/type.h"

typedef enum ItemKind { IX_SLICE, IX_NEW, IX_ELLIPSIS, IX_INPUT } ItemKind;
typedef struct IndexItem {
    ItemKind kind;
    int start, stop, step; /* slice: index of the index input, or -1 */
    int input;             /* IX_INPUT */
} IndexItem;
enum { ITEMS_MAX = 2 * MAX_NDIM };
typedef struct IndexItems {
    int n, inputs;
    IndexItem item[ITEMS_MAX];
} IndexItems;
/* False when the text is not an index. */
bool index_parse(const char *text, IndexItems *out);

/* NumPy's clipping: first element and number of elements of start:stop:step in a dim of
 * `size`. step is nonzero. */
typedef struct Slice {
    int64_t start, step, length;
} Slice;
Slice slice_of(int64_t size, bool has_start, int64_t start, bool has_stop, int64_t stop,
               int64_t step);

#endif
