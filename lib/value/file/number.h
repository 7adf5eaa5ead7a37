/* Numbers as text in files. */
#ifndef VALUE_FILE_NUMBER_H
#define VALUE_FILE_NUMBER_H

#include "value/file/file_impl.h"

typedef enum NumberResult {
    NUMBER_STORED,
    NUMBER_TEXT,    /* it is something else */
    NUMBER_MISSING, /* and the dtype has no nan */
    NUMBER_PART,    /* not whole */
    NUMBER_RANGE    /* does not fit */
} NumberResult;
/* Reads n characters as an element of a dtype that is not complex, rounded once; what
 * is missing is nan. */
NumberResult number_store(DType d, const char *p, size_t n, void *dst);
/* Empty, NA, N/A, null or nan. */
bool number_is_missing(const char *p, size_t n);
/* "'2.5' is not a whole number, ..." */
void number_explain(NumberResult why, DType d, const char *p, size_t n, Str *out);

#endif
