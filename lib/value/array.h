/* Values in files: npy, npz, safetensors, csv, tsv, json. Readers trust nothing: they
 * check sizes against the available bytes before they allocate. */
#ifndef VALUE_ARRAY_H
#define VALUE_ARRAY_H

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
/* The path's suffix determines the format: .npy .npz .csv .tsv .json .safetensors; npz,
 * json and safetensors hold several arrays. */
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
