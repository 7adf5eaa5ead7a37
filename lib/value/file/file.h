/* Values in files: npy, npz, safetensors, GGUF, csv, tsv, json. Readers trust nothing:
 * they check sizes against the available bytes before they allocate. */
#ifndef VALUE_FILE_H
#define VALUE_FILE_H

#include "os/file.h"
#include "value/class.h"

/* What becomes of the elements of a large array. */
typedef enum ElementUse {
    ELEMENTS_COMPUTED,
    ELEMENTS_COPIED, /* only: they need not be aligned */
    ELEMENTS_IGNORED /* they may be anywhere and in any order */
} ElementUse;
/* What is read of a file. */
typedef struct Selection {
    const char *key; /* a member of npz, safetensors, GGUF or JSON, columns of a table
                      * as "a,b"; NULL: all there is */
    DType want;      /* what numbers in texts become, exactly; DT_NONE: float64, or as
                      * JSON writes them. Other formats have dtypes of their own */
    Span at;
    bool converted; /* set by reading: without `want`, the dtype would be another */
} Selection;
/* Reads a value from `path`; "-" and /dev/stdin are standard input, of which several
 * values may be read if they have names. gzip and zstd are undone. The content
 * determines the format, except that .csv and .tsv are tables and .json is JSON. A
 * table of one column is a vector, else a matrix. A mapped npy file is not copied if
 * its data is aligned. Without a key, an npz written by scipy.sparse.save_npz (csr,
 * csc, coo, which becomes csr) is a sparse matrix; everything else is an array. */
bool value_read(Session *s, const char *path, Selection *what, Value *out);
/* The same from memory that holds a whole file, which is copied; `name` is for messages
 * and the suffix. */
bool value_read_mem(Session *s, const char *name, const void *p, size_t n,
                    Selection *what, Value *out);
/* A file of which several arrays are read: opened once, and its header read once. NULL:
 * diagnosed. */
typedef struct ValueFile ValueFile;
ValueFile *value_file_open(Session *s, const char *path, Span at);
bool value_file_read(ValueFile *f, Selection *what, Value *out);
void value_file_close(ValueFile *f); /* also NULL */
/* The same for an array of whatever dtype. */
bool array_read(Session *s, const char *path, const char *key, Span at, Tensor *out);
bool array_read_mem(Session *s, const char *name, const void *p, size_t n,
                    const char *key, Span at, Tensor *out);
bool value_is_stdin(const char *path, size_t n);

/* What a file holds, without reading more than it must. */
typedef struct ValueInfo {
    const char *name;  /* NULL: the only array, which has none */
    const char *dtype; /* as it will be read; else what the file calls it */
    const char *more;  /* "2 missing", or NULL */
    int ndim;
    int64_t shape[MAX_NDIM];
    uint64_t bytes; /* once it is read */
} ValueInfo;
/* What a file tells besides its arrays. */
typedef struct ValueNote {
    const char *name, *text;
} ValueNote;
typedef struct ValueList {
    Arena *a;
    const char *form; /* "npz" */
    Vec(ValueInfo) info;
    Vec(ValueNote) notes;
} ValueList;
bool value_list(Session *s, const char *path, Span at, ValueList *out);
void value_list_free(ValueList *l); /* also after a failure */
/* Does a regular file look like one of values rather than a graph? */
bool value_is_file(Session *s, const char *path);

/* npy version 1.0, C order, '<'. */
bool npy_write(Session *s, Writer *w, const Tensor *t);
/* FORM(ID, name, suffixes, many): the formats that values are written in, and whether
 * a file holds several. The suffix of a path chooses one (write.c has the writers). */
#define VALUE_FORMS(FORM)                                                              \
    FORM(NPY, "npy", ".npy", false)                                                    \
    FORM(CSV, "csv", ".csv", false)                                                    \
    FORM(TSV, "tsv", ".tsv", false)                                                    \
    FORM(NPZ, "npz", ".npz", true)                                                     \
    FORM(JSON, "json", ".json", true)                                                  \
    FORM(SAFETENSORS, "safetensors", ".safetensors", true)
#define VALUE_FORM_ID(id, name, suffixes, many) VALUE_##id,
typedef enum ValueForm {
    VALUE_FORMLESS, /* the suffix of no format */
    VALUE_FORMS(VALUE_FORM_ID) VALUE_FORM_N
} ValueForm;
#define VALUE_FORM_SUFFIX(id, name, suffixes, many) " " suffixes
#define VALUE_SUFFIXES                              (&(VALUE_FORMS(VALUE_FORM_SUFFIX))[1]) /* ".npy .csv ..." */
ValueForm value_form_of(const char *path);

typedef struct NamedTensor {
    const char *name;
    const Tensor *t;
} NamedTensor;
bool array_write(Session *s, const char *path, size_t n, const NamedTensor *arrays);
/* Values of any kind: json holds all kinds, npz one sparse matrix, the others arrays
 * only. */
typedef struct NamedValue {
    const char *name;
    const Value *v;
} NamedValue;
bool values_write(Session *s, const char *path, size_t n, const NamedValue *values);
/* Writes the same bytes to a Writer, which stays open. */
bool values_write_to(Session *s, Writer *w, const char *path, size_t n,
                     const NamedValue *values);
/* Does the path's suffix name a format for n values? False: diagnosed. */
bool values_check_path(Session *s, const char *path, size_t n);

#endif
