// clang-format off
/* Classes of types: what the values of one kind of Type are and how they behave. Each kind
 * is one row of the table in class.c; a plugin's Type brings its own (Type.cls). Which
 * member or function carries which clause of the Type contract (the rest is type/type.h):
 *
 *   filter                       filter: value_filter; tensors: tensor_filter
 *   filter_inplace               value_filter_inplace: the filter, and the old storage where it fits;
 *                                for shared variables that get a new value
 *   is_valid_value               value_is_valid: true iff a strict filter succeeds
 *   values_eq                    equal: value_eq (checks), value_equal (a verdict only)
 *   values_eq_approx             approx: value_eq_approx (checks), value_approx; absent: equal
 *   may_share_memory             value_may_share_memory: any two of the tensors in `parts`
 *   get_shape_info, get_size     shape_info, size: value_shape_info, shape_info_size
 *   transfer, register_transfer  value/transfer.h; add_transfer of thunkline/plugin.h
 *
 * Each member states what its absence means. */
// clang-format on
#ifndef VALUE_CLASS_H
#define VALUE_CLASS_H

#include "value/value.h"

typedef struct JsonWriter JsonWriter; /* format/json.h */
typedef struct Rng Rng;               /* value/rng.h */

/* The parts of a value, for operations on all kinds: constants in files, merging,
 * sharing, sizes. Borrowed. */
typedef struct ValueParts {
    size_t nnumber, ntensor, nitem, nbyte;
    int64_t number[6];
    const Tensor *tensor[3];
    const Value *item;
    const void *byte;
} ValueParts;

/* How values are written as text of the language. */
typedef struct ValueWriter {
    Session *s;
    bool typed; /* the text itself must show the type: make_list(...), not [...] */
    void (*tensor)(void *ctx, const Tensor *t, Str *out);
    void *ctx;
} ValueWriter;

/* What a value's size depends on, quick to determine during a run. */
typedef struct ShapeInfo {
    const TypeClass *cls;
    DType dtype;
    int n;
    int64_t v[MAX_NDIM]; /* tensor: the shape; sparse: rows, columns, elements of data,
                            indices, indptr; others: up to the class */
} ShapeInfo;

struct TypeClass {
    const char *name;    /* as in types' text: "sparse" */
    const char *a_value; /* in messages: "a sparse matrix" */
    /* for people (gload --list-types): how its types are written, what values they
     * hold, what the filter accepts besides values of the exact type, how values are
     * compared, which memory is counted */
    const char *form, *holds, *filters, *compares, *sizes;
    const char *constant; /* how a graph's text writes one; NULL: in its own way */
    /* The type's filter. Borrows v; out is a new reference or a converted copy. False:
     * one diagnostic. */
    bool (*filter)(Session *s, const Type *t, const Value *v, const Receiver *to,
                   Value *out);
    bool (*equal)(const Value *a, const Value *b); /* absent: equal parts */
    bool (*approx)(Session *s, const Value *a, const Value *b,
                   Approx how); /* absent: equal */
    const Type *(*type)(Session *s,
                        const Value *v); /* the narrowest type; absent: only the kind */
    /* "a csr matrix float64[2, 3]"; absent: a_value */
    void (*describe)(Session *s, const Value *v, Str *out);
    /* As text of the language. t: the value's type, or NULL. */
    void (*text)(const ValueWriter *w, const Type *t, const Value *v, Str *out);
    void (*json)(Session *s, const Value *v, JsonWriter *w); /* members of an object */
    /* Both or neither; without them a value can't be a constant in a file. */
    void (*parts)(const Value *v, ValueParts *p);
    /* Checks parts of any origin; takes its own references. False: diagnosed. */
    bool (*build)(Session *s, const Type *t, const ValueParts *p, Value *out);
    void (*shape_info)(const Value *v, ShapeInfo *info); /* both or neither; */
    uint64_t (*size)(const ShapeInfo *info); /* absent: bytes of the parts */
    bool fixed;                              /* every value has `each` bytes */
    uint64_t each;
    /* plugins only: */
    const char *from; /* its file */
    /* The filter for a quoted text. Absent: it accepts none. */
    bool (*from_text)(Session *s, const Type *t, const char *text, const Receiver *to,
                      Value *out);
    bool (*shares)(const Value *a, const Value *b); /* memory, besides the tensors' */
    /* A copy that shares no memory with v; false: impossible. Absent: another
     * reference. */
    bool (*copy)(Session *s, const Value *v, Value *out);
    void (*disown)(Value *v); /* like value_unref, but leaves what others own */
    /* A value for trials; false: diagnosed. */
    bool (*random)(Session *s, const Type *t, Rng *rng, Value *out);
    /* Can it be written as text, which (back) reads back to the same value? False:
     * diagnosed, at NOWHERE. */
    bool (*readable)(Session *s, const Value *v, bool back);
    const char *add; /* the op that adds two values, for derivatives */
    bool no_values;  /* has no values at all: null, disconnected */
};
const TypeClass *type_class(const Type *t);
const TypeClass *value_class(const Value *v);
/* The table, in order of TypeKind, without plugins (type_maker_class has those). */
enum { CLASS_N = TYPE_PLUGIN };
const TypeClass *class_get(TypeKind k);

/* Does it have a value? A leaf that awaits one doesn't; None always does. */
bool value_has_data(const Value *v);

/* ---- checking and comparing ---- */
bool value_filter(Session *s, const Type *t, const Value *v, const Receiver *to,
                  Value *out);
/* *storage holds an old value of the type, or none (valid for value_unref), and
 * receives the new one: in the old one's memory if nobody else holds that and it has
 * enough room, so that pointers to it stay valid. Unchanged on failure. */
bool value_filter_inplace(Session *s, const Type *t, const Value *v, const Receiver *to,
                          Value *storage);
bool value_is_valid(Session *s, const Type *t, const Value *v); /* doesn't diagnose */
/* False, diagnosed: values of this type can't be compared. */
bool value_eq(Session *s, const Type *t, const Value *a, const Value *b, bool *equal);
bool value_eq_approx(Session *s, const Type *t, const Value *a, const Value *b,
                     Approx how, bool *equal);
/* The same without a type: values of different kinds differ. */
bool value_equal(const Value *a, const Value *b);
bool value_approx(Session *s, const Value *a, const Value *b, Approx how);
/* Equality bit for bit, as constants merge, and the corresponding hash. */
bool value_identical(const Value *a, const Value *b);
uint64_t value_hash(const Value *v);

/* A copy in its own memory if the class can make one; else another reference, and *own
 * is false. False: no memory, diagnosed. */
bool value_clone(Session *s, const Value *v, Value *out, bool *own);
/* To be called before writing a value as text; back: the text will be read again.
 * False: diagnosed. */
bool value_readable(Session *s, const Value *v, bool back);

/* ---- memory ---- */
bool value_may_share_memory(const Value *a, const Value *b);
void value_shape_info(const Value *v, ShapeInfo *info);
uint64_t shape_info_size(const ShapeInfo *info);
uint64_t value_bytes(const Value *v); /* get_size of its type, excluding headers */

/* The sizes of a tensor or sparse matrix, one for each dim; NULL for other kinds. */
const int64_t *value_sizes(const Value *v);

/* ---- describing ---- */
const Type *value_type(Session *s, const Value *v); /* NULL: items of different kinds */
void value_describe(Session *s, const Value *v, Str *out);
/* "a list of 2 items: [1.0, 2.0]": includes its text if that is short. */
void value_show(Session *s, const Value *v, Str *out);
/* As VALUEs are written: reads back for a receiver of its type. indent as in
 * tensor_text. */
void value_text(Session *s, const Value *v, int indent, Str *out);
void value_write(const ValueWriter *w, const Type *t, const Value *v, Str *out);
/* {"name": ..., members}; name NULL: only the members, in braces. */
void value_json(Session *s, const char *name, const Value *v, JsonWriter *w);

#endif
