/* The types of elements in GGUF files. */
#ifndef VALUE_FILE_GGUF_H
#define VALUE_FILE_GGUF_H

#include "base/num.h"
#include "value/file/file_impl.h"

enum { GGUF_SMALL = 32, GGUF_LARGE = 256 }; /* numbers in a block */

typedef struct GgufType {
    const char *name;
    DType dtype; /* what it is read as; DT_NONE: it can't be */
    int block;   /* numbers that are packed together */
    int size;    /* bytes that they take */
    /* A block's numbers; NULL: numbers of the dtype, or of bfloat16. */
    void (*widen)(const unsigned char *p, float *x);
} GgufType;

/* NULL: not known, so that its size isn't either. */
const GgufType *gguf_type(uint64_t code);

#endif
