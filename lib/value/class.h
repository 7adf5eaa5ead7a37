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
 * Absent members have the default that is said at them. */
// clang-format on
#ifndef VALUE_CLASS_H
#define VALUE_CLASS_H

#include "value/rng.h"

/* What a value is made of, for whatever treats all kinds alike: constants in files,
 * merging, sharing, sizes. Borrowed. */
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
    bool typed; /* the text must say the type by itself: make_list(...), not [...] */
    void (*tensor)(void *ctx, const Tensor *t, Str *out);
    void *ctx;
} ValueWriter;

/* What the size of a value depends on, quick to take while a function runs. */
typedef struct ShapeInfo {
    const TypeClass *cls;
    DType dtype;
    int n;
    int64_t v[MAX_NDIM]; /* tensor: the shape; sparse: rows, columns, elements of data,
                            indices, indptr; else the class's own */
} ShapeInfo;

struct TypeClass {
    const char *name;    /* as types of it are written: "sparse" */
    const char *a_value; /* in messages: "a sparse matrix" */
    /* for people (gload --list-types): how its types are written, what values they
     * hold, what the filter takes beside values of the very type, how values are
     * compared, what memory is counted */
    const char *form, *holds, *filters, *compares, *sizes;
    const char *constant; /* how one is written in a graph; NULL: in its own way */
    /* The type's filter. Borrowed in, a new reference or a converted copy out. False:
     * one diagnostic at `at` in which `what` names the variable. */
    bool (*filter)(Session *s, const Type *t, const Value *v, Filter how,
                   const char *what, Span at, Value *out);
    bool (*equal)(const Value *a, const Value *b); /* absent: equal parts */
    bool (*approx)(Session *s, const Value *a, const Value *b,
                   Approx how); /* absent: equal */
    const Type *(*type)(Session *s,
                        const Value *v); /* the narrowest; absent: of the kind alone */
    /* "a csr matrix float64[2, 3]"; absent: a_value */
    void (*describe)(Session *s, const Value *v, Str *out);
    /* In the language. t: the value's type, or NULL. */
    void (*text)(const ValueWriter *w, const Type *t, const Value *v, Str *out);
    void (*json)(Session *s, const Value *v, Str *out); /* members of an object */
    /* Both or none; without them a value can't be a constant of a file. */
    void (*parts)(const Value *v, ValueParts *p);
    /* Checks parts that come from anywhere; takes references of its own. False:
     * diagnosed. */
    bool (*build)(Session *s, const Type *t, const ValueParts *p, Value *out);
    void (*shape_info)(const Value *v, ShapeInfo *info); /* both or none; */
    uint64_t (*size)(const ShapeInfo *info); /* absent: bytes of the parts */
    bool fixed; /* every value has `each` bytes, as size says */
    uint64_t each;
    /* plugins only */
    const char *from; /* its file */
    /* The filter for a text in quotes. Absent: it takes none. */
    bool (*from_text)(Session *s, const Type *t, const char *text, Filter how,
                      const char *what, Span at, Value *out);
    bool (*shares)(const Value *a, const Value *b); /* memory, beside the tensors */
    /* One that has no memory in common with v; false: none can be made. Absent: another
     * reference. */
    bool (*copy)(Session *s, const Value *v, Value *out);
    void (*disown)(Value *v); /* value_unref, but what it owns is another's: leave it */
    /* A value to try; false: diagnosed. */
    bool (*random)(Session *s, const Type *t, Rng *rng, Value *out);
    /* Has it a text, which (back) gives the same when it is read back? False:
     * diagnosed, at NOWHERE. */
    bool (*readable)(Session *s, const Value *v, bool back);
    const char *add; /* the op that adds two values, for derivatives */
    bool no_values;  /* nothing is ever a value of it: null, disconnected */
};
const TypeClass *type_class(const Type *t);
const TypeClass *value_class(const Value *v);
/* The table, in the order of TypeKind, without plugins (type_maker_class has those). */
enum { CLASS_N = TYPE_PLUGIN };
const TypeClass *class_get(TypeKind k);

/* Is there a value? A leaf that waits for one has none; None always is. */
bool value_has_data(const Value *v);

/* ---- checking and comparing ---- */
bool value_filter(Session *s, const Type *t, const Value *v, Filter how,
                  const char *what, Span at, Value *out);
/* *storage holds an old value of the type, or none (value_unref is fine for it), and
 * gets the new one: in the memory of the old one when that is held by nobody else and
 * has the room, so that pointers to it stay good. On failure it is as it was. */
bool value_filter_inplace(Session *s, const Type *t, const Value *v, Filter how,
                          const char *what, Span at, Value *storage);
bool value_is_valid(Session *s, const Type *t, const Value *v); /* no diagnostic */
/* False: diagnosed, values of this type can't be compared. */
bool value_eq(Session *s, const Type *t, const Value *a, const Value *b, bool *equal);
bool value_eq_approx(Session *s, const Type *t, const Value *a, const Value *b,
                     Approx how, bool *equal);
/* The same without a type: values of two kinds are different. */
bool value_equal(const Value *a, const Value *b);
bool value_approx(Session *s, const Value *a, const Value *b, Approx how);
/* Bit for bit, as constants merge, and the hash that goes with it. */
bool value_identical(const Value *a, const Value *b);
uint64_t value_hash(const Value *v);

/* A copy in memory of its own, where the class can make one; else another reference,
 * and *own is false. False: no memory, diagnosed. */
bool value_clone(Session *s, const Value *v, Value *out, bool *own);
/* Before it is written as text; back: where it is to be read again. False: diagnosed.
 */
bool value_readable(Session *s, const Value *v, bool back);

/* ---- memory ---- */
bool value_may_share_memory(const Value *a, const Value *b);
void value_shape_info(const Value *v, ShapeInfo *info);
uint64_t shape_info_size(const ShapeInfo *info);
uint64_t value_bytes(const Value *v); /* get_size of its type, without headers */

/* The sizes of a tensor or sparse matrix, as many as its type has dims; NULL: it is
 * another kind. */
const int64_t *value_sizes(const Value *v);

/* ---- saying ---- */
const Type *value_type(Session *s, const Value *v); /* NULL: items of different kinds */
void value_describe(Session *s, const Value *v, Str *out);
/* "a list of 2 items: [1.0, 2.0]": with its text if that is short. */
void value_show(Session *s, const Value *v, Str *out);
/* As VALUEs are written: for a receiver of its type it reads back. indent as
 * tensor_text's. */
void value_text(Session *s, const Value *v, int indent, Str *out);
void value_write(const ValueWriter *w, const Type *t, const Value *v, Str *out);
/* {"name": ..., members}; name NULL: only the members, in braces. */
void value_json(Session *s, const char *name, const Value *v, Str *out);

#endif
