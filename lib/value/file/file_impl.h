/* Shared by the readers and writers of array files. */
#ifndef VALUE_FILE_IMPL_H
#define VALUE_FILE_IMPL_H

#include "value/file/file.h"
#include "value/sparse.h"
#include "value/value_impl.h"

/* The bytes of a file or of one of its members. */
typedef struct ArrayFile {
    Session *s;
    const char *name; /* for messages */
    Span at;
    const unsigned char *p;
    size_t n;
    Buffer *buf; /* keeps p alive, so that tensors may use it in place; NULL: copy */
    ElementUse use;
    Selection *what;
    struct FileHeader *header; /* keeps it for the next array; NULL: there is none */
} ArrayFile;
/* What a format has read of a file before its arrays. */
typedef struct FileHeader {
    void *p; /* NULL: not read yet */
    void (*free)(void *p);
} FileHeader;
/* Does it have one of these suffixes, before .gz or .zst? */
bool value_is_named(const ArrayFile *f, const char *suffixes);

/* Reports "NAME: ..." as an error at the file's span. */
bool array_fail(const ArrayFile *f, DiagCode code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

typedef struct Names {
    const char *const *p;
    size_t n;
} Names;
/* The file holds these arrays or columns (`what`), but no `key`, or several and there
 * is no key. */
bool array_fail_no_name(const ArrayFile *f, const char *what, const char *key,
                        const Names *names);

/* Adds an array; returns the entry for what the caller knows besides. */
ValueInfo *value_list_add(Session *s, ValueList *l, const char *name, DType d, int ndim,
                          const int64_t *shape);
bool npy_list(const ArrayFile *f, ValueList *l);
bool npz_list(const ArrayFile *f, ValueList *l);
bool safetensors_list(const ArrayFile *f, ValueList *l);
bool table_list(const ArrayFile *f, ValueList *l);
bool json_array_list(const ArrayFile *f, ValueList *l);
bool torch_list(const ArrayFile *f, ValueList *l);
bool gguf_list(const ArrayFile *f, ValueList *l);

/* The layout of elements in a file. */
typedef struct ArrayLayout {
    DType dtype;
    bool big_endian, fortran;
    int ndim;
    int64_t shape[MAX_NDIM];
} ArrayLayout;
/* Makes a tensor of the file's bytes from `offset` on: in place if their layout suits a
 * tensor, else a copy. Checks that all bytes are there. */
bool array_from_bytes(const ArrayFile *f, size_t offset, const ArrayLayout *lay,
                      Tensor *out);

/* The same for bfloat16, which becomes float32. */
bool array_from_bfloat16(const ArrayFile *f, size_t offset, const ArrayLayout *lay,
                         Tensor *out);

bool npy_read(const ArrayFile *f, Tensor *out);
/* Reads a 0-d array of bytes or text that is ASCII. */
bool npy_read_text(const ArrayFile *f, char *out, size_t room);
/* Writes such an array as a whole npy file; returns its size. */
size_t npy_text(Session *s, const char *text, char *buf, size_t room);
bool npz_read(const ArrayFile *f, const char *key, Tensor *out);
/* *is: is the archive a sparse matrix, as written by scipy.sparse.save_npz? */
bool npz_read_sparse(const ArrayFile *f, bool *is, Value *out);
bool safetensors_read(const ArrayFile *f, const char *key, Tensor *out);
bool gguf_is(const ArrayFile *f);
bool gguf_read(const ArrayFile *f, const char *key, Tensor *out);
bool table_read(const ArrayFile *f, const char *key, Tensor *out);
bool json_array_read(const ArrayFile *f, const char *key, Tensor *out);
bool torch_is(const ArrayFile *f); /* is a zip archive one of PyTorch's? */
bool torch_read(const ArrayFile *f, const char *key, Tensor *out);
bool torch_is_pickle(const ArrayFile *f); /* not in an archive */
bool torch_fail_pickle(const ArrayFile *f);

/* ONNX's TensorProto, alone in a file. */
bool onnx_tensor_is(const ArrayFile *f);
bool onnx_tensor_file_read(const ArrayFile *f, const char *key, Tensor *out);
bool onnx_tensor_file_list(const ArrayFile *f, ValueList *l);

/* A destination of bytes: a file, or a checksum. */
typedef bool SinkFn(void *ctx, const void *p, size_t n);
/* Elements in row-major order, little-endian. */
bool array_sink_elements(const Tensor *t, SinkFn *sink, void *ctx);
uint64_t npy_size(Session *s, const Tensor *t);
bool npy_sink(Session *s, const Tensor *t, SinkFn *sink, void *ctx);
bool writer_sink(void *w, const void *p, size_t n);

bool npz_write(Session *s, Writer *w, size_t n, const NamedTensor *arrays);
bool npz_write_sparse(Session *s, Writer *w, const SparseObject *m);
bool safetensors_write(Session *s, Writer *w, size_t n, const NamedTensor *arrays);
bool table_write(Session *s, Writer *w, char separator, const Tensor *t);

static inline uint64_t read_le(const unsigned char *p, int bytes) {
    uint64_t v = 0;
    for (int i = bytes; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}
static inline unsigned char *put_le(unsigned char *p, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++)
        *p++ = (unsigned char)(v >> 8 * i);
    return p;
}
enum { HOST_IS_BIG = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ };
/* Reverses the bytes of n numbers of `size` bytes each. */
void array_swap_bytes(void *p, size_t n, size_t size);

#endif
