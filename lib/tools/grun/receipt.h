/* Receipts: what a run was made of and what it gave, as digests, so that anybody who
 * has the graph and the data can run it again and compare. A receipt names no file. */
#ifndef TOOLS_GRUN_RECEIPT_H
#define TOOLS_GRUN_RECEIPT_H

#include "tools/grun/run.h"

typedef struct ReceiptLine {
    const char *key, *value;
} ReceiptLine;
typedef struct Receipt {
    const char *path;
    size_t n;
    const ReceiptLine *line;
} Receipt;
/* Reads a receipt into the session's memory. False: diagnosed. */
bool receipt_read(Session *s, const char *path, Receipt *out);
/* Its value for a key; NULL: it has none. */
const char *receipt_get(const Receipt *r, const char *key);
bool receipt_mode(const Receipt *r, Arena *a, RunMode *out);
bool receipt_int(const Receipt *r, const char *key, int64_t *out);

#endif
