/* The parsed form of an op row's `in`, `props` and `out`. Included by op/op.h. */
#ifndef OP_SIGNATURE_H
#define OP_SIGNATURE_H

#include "op/op.h"

/* The parsed signature, cached in the session. */
typedef enum ParamKind {
    IN_TENSOR,
    IN_INTS,
    IN_INT,
    IN_BOOL,
    IN_ANY,
    IN_SPARSE,
    IN_ARRAY,
    IN_LIST,
    IN_ITEM
} ParamKind;
/* Does its dtype take part in promotion? */
static inline bool param_has_dtype(ParamKind k) {
    return k == IN_TENSOR || k == IN_SPARSE || k == IN_ARRAY;
}
typedef struct Param {
    Sym name;
    ParamKind kind;
    bool optional, rest;
    const char *value; /* default as text, or NULL */
} Param;
typedef enum PropType {
    T_BOOL,
    T_INT,
    T_FLOAT,
    T_STR,
    T_DTYPE,
    T_INTS,
    T_AXES,
    T_AXIS,
    T_GRAPH,
    T_KEY,
    T_SIDES
} PropType;
typedef struct PropDef {
    Sym name;
    const char *text; /* of the name */
    PropType type;
    bool none;     /* None is accepted */
    bool required; /* no default */
    Prop value;    /* default */
} PropDef;
typedef struct Signature {
    size_t nin, nprop, nout, nrest;
    const Param *in; /* rest parameters are the last */
    const PropDef *prop;
    const Sym *out;
    size_t min_in;         /* of a call; inputs with defaults may be left out */
    size_t least;          /* of an Apply, which includes defaults */
    const Props *defaults; /* of all props, None for required ones */
} Signature;
/* The number of the prop; nprop: there is none of that name. */
size_t prop_place(const Signature *sig, const char *name);
/* Where a row's texts can't be parsed. */
typedef enum SignaturePart {
    SIGNATURE_IN,
    SIGNATURE_PROPS,
    SIGNATURE_OUT
} SignaturePart;
typedef struct SignatureError {
    const char *what; /* NULL: no error */
    const char *rest; /* the text from the error on */
    SignaturePart part;
    size_t index; /* of the input, prop or output */
} SignatureError;

const Signature *op_signature(Session *s, const Op *op);
static inline size_t signature_fixed(const Signature *sig) {
    return sig->nin - sig->nrest;
}
/* The rest parameter that takes input i of nin. */
size_t signature_list_of(const Signature *sig, size_t nin, size_t i);

/* Input i of nin, for messages: its name, or "args[2]" for a rest parameter. */
const char *signature_input_text(Session *s, const Op *op, size_t nin, size_t i);

/* May the prop be of this kind? And how messages describe what it may be: "an integer",
 * " or None". */
bool prop_is_of(const PropDef *d, PropKind kind);
const char *prop_wanted(const PropDef *d);
const char *prop_or_none(const PropDef *d);
/* Props by name, for kernels and typing rules. The op must have the prop. */
const Prop *op_prop(Session *s, const Op *op, const Props *p, const char *name);
bool prop_bool(Session *s, const Op *op, const Props *p, const char *name);
int64_t prop_int(Session *s, const Op *op, const Props *p, const char *name);

#endif
