/* Tables as text, cell by cell. */
#ifndef VALUE_FILE_TABLE_H
#define VALUE_FILE_TABLE_H

#include "value/file/number.h"

typedef Vec(const char *) TableNames;

typedef struct Table {
    const ArrayFile *f;
    Arena *a;
    const char *p, *end;     /* what is still to be read */
    const char *row;         /* where this row begins */
    char separator, newline; /* ' ': any number of blanks */
    size_t line;             /* of p, from 1 */
    size_t column;           /* cells of this row so far */
    bool named;              /* by the first line; else called 0, 1, 2, ... */
    bool quiet;              /* errors are not reported */
    TableNames name;
} Table;

typedef struct TableCell {
    const char *p; /* without quotes and blanks around it */
    size_t n;
    bool escaped; /* "" means one quote */
    bool last;    /* of its row */
} TableCell;

/* Finds separator and names, and the names that `key` selects (NULL: none). Close it
 * even after a failure. */
bool table_open(const ArrayFile *f, const char *key, Table *t, TableNames *wanted);
void table_close(Table *t);
bool table_next_row(Table *t); /* skips blank lines; false: there is none */
bool table_next_cell(Table *t, TableCell *c); /* false: diagnosed */
/* False: a row of the wrong length. */
bool table_fail_columns(const Table *t, size_t line, size_t columns);

#endif
