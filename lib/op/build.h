/* Building graphs: applying ops (make_node), constants, and whole expressions as text.
 * What is built of VAR_NONE is VAR_NONE: the error was reported where that was made, so
 * that calls can be nested, and the last result tells. */
#ifndef OP_BUILD_H
#define OP_BUILD_H

#include "op/op.h"

struct Builder {
    Session *s;
    Graph *g;
    bool intern; /* equal expressions share a variable */
    Origin from; /* for new Applies; errors point there too */
    DType floatX;
    const char *asked; /* the function that was called, while we build what replaces it:
                          errors name it. NULL: the op itself */
};
Builder builder(Graph *g, bool intern); /* floatX: the graph's or session's */

/* make_node: coerces and casts the inputs, checks, infers, appends. props NULL: all
 * defaults. out gets every output. */
bool op_apply(Builder *b, const Op *op, const Props *props, size_t nin, const Var *in,
              Var *out);
/* Returns the default output, else the first. */
Var op_apply1(Builder *b, const Op *op, const Props *props, size_t nin, const Var *in);
/* By name; the op must exist. */
Var op_call1(Builder *b, const char *op, Var x);
Var op_call2(Builder *b, const char *op, Var x, Var y);
Var op_call3(Builder *b, const char *op, Var x, Var y, Var z);
/* Only the typing rule, for inputs that need no coercion: used by readers and checks.
 * Returns the number of outputs, 0: diagnosed. Assumes that floatX is float64, since
 * the graph states what any other floatX makes. */
size_t op_infer(const Graph *g, const Op *op, const Props *props, VarList in, Span at,
                const Type *out[OUT_MAX]);
/* Makes a dim of the leaves' types a number; then infer the other types again. */
bool graph_bind_dim(Graph *g, Sym name, int64_t n);
bool graph_reinfer(Graph *g);
/* The dtype of the only output that the language gives an Apply of the graph where
 * floatX is another than float64; DT_NONE: the same as in the graph. */
DType op_dtype_by_floatX(const Graph *g, ApplyId a, DType floatX);
/* Checks a graph that came from outside, and its functions: ids are in range; every
 * Apply's types are those its rule infers, or wider; interface, updates, effects and
 * names are valid; function calls aren't circular. Linear time. */
bool graph_check(Graph *g);
/* A shared variable whose initial value can't be computed before a run; VAR_NONE: there
 * is none. */
Var graph_open_init(const Graph *g, const char **why);
/* Props from name/value pairs, the rest at their defaults; unknown names are a bug. */
typedef struct PropArg {
    const char *name;
    Prop value;
} PropArg;
const Props *props_make(Session *s, const Op *op, size_t n, const PropArg *arg);
#define PROP_BOOL(v)          ((Prop){.kind = P_BOOL, .i = (v)})
#define PROP_INT(v)           ((Prop){.kind = P_INT, .i = (v)})
#define PROP_INTS(ptr, count) ((Prop){.kind = P_INTS, .ints = {(ptr), (count)}})
#define PROP_DTYPE(d)         ((Prop){.kind = P_DTYPE, .i = (d)})
#define PROP_STR(y)           ((Prop){.kind = P_STR, .sym = (y)})

/* Applies a named op with props given as pairs. */
Var apply_named(Builder *b, const char *op, size_t nin, const Var *in, size_t nprop,
                const PropArg *prop);

Var const_int(Builder *b, int64_t v);                   /* int64 0-d */
Var const_number(Builder *b, DType d, double v);        /* 0-d */
Var const_ints(Builder *b, size_t n, const int64_t *v); /* int64 [n] */
Var op_cast_to(Builder *b, Var x, DType d);             /* x itself if it has dtype d */
/* Integers that are sizes or indices as int64: see tensor_index. */
Var op_cast_to_index(Builder *b, Var x);
/* x.shape[axis] as an int64 0-d variable: a constant, the dim's leaf, or an op. */
Var shape_of(Builder *b, Var x, int axis);
/* The size of the dim `name` of a parameter of type t, as its argument x shows it,
 * which may have leading axes of its own. VAR_NONE: t doesn't have the dim. */
Var shape_of_dim(Builder *b, const Type *t, Var x, Sym name);
/* The size of the dim `name` of a function, as the arguments of a call show it;
 * VAR_NONE: diagnosed. */
Var shape_of_call_dim(Builder *b, const Graph *fn, const Var *arg, Sym name);
Var shape_vector(Builder *b, Var x); /* int64 [ndim] */
/* Writes the sizes of x's dims from `first` on to item[n..]; returns the new n. */
size_t shape_items(Builder *b, Var x, int first, size_t n, Var *item);
/* The product of x's first ndim dims, int64 0-d. */
Var shape_leading_size(Builder *b, int ndim, Var x);
Var op_first_row(Builder *b, Var x); /* x[0] */
/* x with n axes of size 1 from axis `first` of the result on; n <= 0: x itself. */
Var op_insert_axes(Builder *b, Var x, int first, int n);
/* A vector of 0-d int64 variables: a constant if all of them are. */
Var ints_stack(Builder *b, size_t n, const Var *v);
/* Sums g to the shape of `like`, over the dims along which `like` was broadcast (static
 * ones and missing dims). */
Var sum_to_shape(Builder *b, Var g, Var like);
Var op_zeros_like(Builder *b, Var x, DType d); /* d: ignored for plugin types */
Var op_float_zeros(Builder *b, Var x); /* in x's dtype if that is float or complex */
/* Of the inputs of an Apply like a of g, those that its op overwrites become copies
 * that nothing else reads: in[i] may be the caller's, or another such op's too. */
bool op_copy_destroyed(Builder *b, const Graph *g, ApplyId a, Var *in);
Var op_conj_of_complex(Builder *b, Var x); /* itself where it is real */
/* A number as a value of a plugin's type, if its values have derivatives. */
Var op_plugin_number(Builder *b, const Type *t, double v);
bool op_fail_no_derivatives(Builder *b, const Type *t); /* always false */
/* g with like's shape: adds a specify_shape if g's type says less than t. */
Var shape_as(Builder *b, Var g, const Type *t, Var like);
Var grad_undefined(Builder *b, const char *why); /* a constant of type null(why) */
static inline bool var_is_null(const Graph *g, Var v) {
    return v != VAR_NONE && var_type(g, v)->kind == TYPE_NULL;
}

/* Builds the variable that a text in the language describes, with names bound to
 * variables and props: "matmul(g, transpose(b))". Each text is parsed once per session,
 * by its pointer. "disconnected" returns GRAD_DISCONNECTED with *ok true. Errors point
 * to the op's row. */
typedef struct Bind {
    Sym name;
    Var var;
} Bind;
typedef struct Env {
    size_t n;
    const Bind *bind;
    const Op *op; /* whose props are names too; may be NULL */
    const Props *props;
    struct TextLines *lines; /* if the text is several: text_lines.c; else NULL */
} Env;
Var template_build(Builder *b, const char *text, const Env *env, bool *ok);
/* The names of an op's signature are bound: inputs, outputs (r or their names), props,
 * and the cotangents or tangents. */
Var grad_text_pull(const Pull *p, const char *text, bool *ok); /* g, or g_NAME */
Var grad_text_push(const Push *p, const char *text, bool *ok); /* t_NAME */
/* All results, by the lines of a row's pullback or pushforward. */
bool grad_lines_pull(Pull *p, const char *text);
bool grad_lines_push(Push *p, const char *text);
/* A row's `def`: an expression, or lines that define r. */
Var definition_build(Builder *b, const char *text, const Env *env, bool *ok);
/* The name of the i-th function that only lines have; NULL: there is none. */
const char *text_lines_function(size_t i);
/* Reads an op's props from "axis=0, keepdims=True"; all others get their defaults. */
bool props_from_text(Builder *b, const Op *op, const char *text, const Props **out);
Var template_build_apply(Builder *b, const char *text, const Graph *g, ApplyId a,
                         Var cotangent, bool *ok);

#endif
