/* Values in files: npy, npz, safetensors, csv, tsv, json. Readers trust nothing: sizes
 * are checked against the bytes at hand before memory is taken. */
#ifndef VALUE_ARRAY_H
#define VALUE_ARRAY_H

#include "value/class.h"

/* Reads an array from `path` ("-" is stdin: npy only). The content decides the format;
 * csv and tsv go by suffix. `key` picks a member of npz or safetensors (NULL: the only
 * one). A table of one column is a vector, else a matrix of float64. A mapped npy file
 * is not copied when its data is aligned. */
bool array_read(Session *s, const char *path, const char *key, Span at, Tensor *out);
/* The same, or a sparse matrix from an npz as scipy.sparse.save_npz writes it (csr,
 * csc, coo, which becomes csr), when no member is picked. */
bool value_read(Session *s, const char *path, const char *key, Span at, Value *out);
bool value_read_mem(Session *s, const char *name, const void *p, size_t n,
                    const char *key, Span at, Value *out);
/* The same from memory that holds a whole file (copied); `name` for messages and the
 * suffix. */
bool array_read_mem(Session *s, const char *name, const void *p, size_t n,
                    const char *key, Span at, Tensor *out);

/* npy version 1.0, C order, '<'. */
bool npy_write(Session *s, Writer *w, const Tensor *t);
/* The format is the path's suffix: .npy .npz .csv .tsv .json .safetensors; npz, json
 * and safetensors hold several. */
typedef struct NamedTensor {
    const char *name;
    const Tensor *t;
} NamedTensor;
bool array_write(Session *s, const char *path, size_t n, const NamedTensor *arrays);
/* Values of any kind: json takes all, npz one sparse matrix, the rest arrays only. */
typedef struct NamedValue {
    const char *name;
    const Value *v;
} NamedValue;
bool values_write(Session *s, const char *path, size_t n, const NamedValue *values);
/* The same bytes to a Writer, which stays open. */
bool values_write_to(Session *s, Writer *w, const char *path, size_t n,
                     const NamedValue *values);
/* Does the path's end say how n of them are written? False: diagnosed. */
bool values_check_path(Session *s, const char *path, size_t n);
/* {"name":..., "dtype":..., "shape":[...], "data":[...]}: nested lists, non-finite
 * numbers as the strings "NaN", "Infinity", "-Infinity"; complex as [re, im]. */
void tensor_json(Session *s, const char *name, const Tensor *t, Str *out);

#endif
