/* Values in files: npy, npz, safetensors, csv, tsv, json. Readers trust nothing: they
 * check sizes against the available bytes before they allocate. */
#ifndef VALUE_FILE_H
#define VALUE_FILE_H

#include "value/class.h"

/* Reads an array from `path` ("-" is stdin: npy only). The content determines the
 * format, except that csv and tsv are recognised by suffix. `key` selects a member of
 * npz or safetensors (NULL: the only one). A table of one column is a vector, else a
 * matrix of float64. A mapped npy file is not copied if its data is aligned. */
bool array_read(Session *s, const char *path, const char *key, Span at, Tensor *out);
/* The same, or, if key is NULL, a sparse matrix from an npz written by
 * scipy.sparse.save_npz (csr, csc, coo, which becomes csr). */
bool value_read(Session *s, const char *path, const char *key, Span at, Value *out);
bool value_read_mem(Session *s, const char *name, const void *p, size_t n,
                    const char *key, Span at, Value *out);
/* The same from memory that holds a whole file, which is copied; `name` is for messages
 * and the suffix. */
bool array_read_mem(Session *s, const char *name, const void *p, size_t n,
                    const char *key, Span at, Tensor *out);

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
bool value_form_holds_many(ValueForm f);

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
