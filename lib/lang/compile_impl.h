/* Shared by the files of the compiler. */
#ifndef LANG_COMPILE_IMPL_H
#define LANG_COMPILE_IMPL_H

#include "lang/macro.h"

/* A graph under construction: the compiler's own, or the function that a lambda
 * becomes. Variables of an outer graph that the lambda uses become inputs. */
typedef struct CompileFrame {
    struct CompileFrame *up;
    Builder *b;
    Map inner; /* captured variable of the next outer frame -> input here */
    Vec(Var) captured;
} CompileFrame;
/* The names of a lambda, bound to nodes whose variables belong to `frame`. */
typedef struct LambdaScope {
    struct LambdaScope *up;
    const Ast *lambda;
    const Node *value;
    CompileFrame *frame;
    const struct LambdaLocal *local; /* what := has named so far, the last one first */
} LambdaScope;
typedef struct LambdaLocal {
    const struct LambdaLocal *up;
    Sym name;
    Node value;
} LambdaLocal;

/* One that waits for others. */
typedef struct Definition {
    const Ast *ast;
    uint32_t place; /* in the list of those to compile, if it names this one there */
    bool done;      /* compiled */
} Definition;

typedef struct DefinedName {
    Sym name;
    Span at;
} DefinedName;

typedef enum Infix {
    IN_ADD,
    IN_SUB,
    IN_MUL,
    IN_DIV,
    IN_FLOORDIV,
    IN_MOD,
    IN_POW,
    IN_MATMUL,
    IN_AND,
    IN_OR,
    IN_XOR,
    IN_SHL,
    IN_SHR,
    IN_LT,
    IN_LE,
    IN_GT,
    IN_GE,
    IN_EQ,
    IN_NE,
    IN_NEG,
    IN_POS,
    IN_INVERT,
    INFIX_N
} Infix;
Infix infix_of(const char *op, bool unary);
static inline bool infix_is_arithmetic(Infix k) {
    return k <= IN_POW || k == IN_NEG || k == IN_POS;
}
const char *infix_text(Infix k);

/* Kept in the session: the parsed texts of rows, and the ops of operators. */
typedef struct TextCache {
    Map ast;   /* text pointer -> Ast */
    Map block; /* the same for lines: text_lines.c */
    Arena *arena, *tmp;
    int depth; /* template_build inside template_build */
    const Op *infix[INFIX_N];
    bool looked;
    Sym g, r, call;
} TextCache;
TextCache *text_cache(Session *s);
/* The expression of a text, parsed once; `op` identifies the row in messages. NULL:
 * diagnosed. */
const Ast *text_ast(Session *s, TextCache *t, const char *text, const Op *op);
/* The same for a text on a line of a source called `name`. */
const Ast *text_ast_in(Session *s, TextCache *t, const char *text, const char *name,
                       uint32_t line);
/* A compiler for texts of rows, which sees only the names of env. */
void text_compiler_open(Compiler *c, Builder *b, const Env *env);
void text_compiler_close(Compiler *c);
/* A node as a variable; bare numbers take the cotangent's dtype, else the result's. */
bool text_node_var(Compiler *c, const Node *n, Node *out);
const Op *infix_op(Session *s, Infix k); /* NULL if the catalogue has none */

struct Compiler {
    Session *s;
    Builder *b; /* of the innermost frame */
    Arena *arena, *tmp;
    Arena *nodes;          /* lists and scopes: until the next definition */
    ArenaMark named_nodes; /* up to here they belong to names */
    CompileFrame top, *frame;
    LambdaScope *scope;
    Map named;      /* sym -> Node *: names of what isn't a variable */
    Map definition; /* sym -> index in defs */
    Map lambda;     /* names given to functions by `name = lambda ...` and its like */
    Vec(Definition) defs;
    Vec(DefinedName) defined;      /* those that were compiled at once */
    Arena *line;                   /* the statement at hand */
    const char *lines, *lines_end; /* where definitions may be */
    Map expected;                  /* name -> may there be a definition of it? */
    bool complete;                 /* there are no others */
    Map dims; /* dim names of inputs and shared variables seen so far */
    size_t ninputs, nshared;
    const Env *env; /* template_build: no other names are visible */
    bool auto_inputs;
    LoadFn *load;
    void *load_ctx;
    int depth;               /* of lambdas being applied */
    uint64_t work;           /* expressions compiled inside lambdas so far */
    Filter filter;           /* for constants of plugins' types */
    const char *filter_what; /* what these constants are for, in messages */
    uint32_t lambdas;
    const char *lambda_name; /* base name of lambdas' functions; NULL: lambda */
    bool noted_all_axes;     /* softmax(x) over all dims: said once */
    bool noted_one_axis;     /* gradient(x) of a matrix: said once */
    Map warned;              /* places: said once, however often a lambda is called */
    int busy;                /* inside a definition or expression, which use tmp */
};
enum { LAMBDA_DEPTH = 100, TREE_LEAVES = 1 << 22 };

Var compiler_empty_var(Compiler *c); /* the result {} */

/* ---- literal.c: weak numbers ---- */
Literal literal_int(int64_t v);
bool literal_of(const Ast *e, Literal *out); /* from the syntax of a number or bool */
DType literal_dtype_of_kind(DKind k,
                            DType floatX); /* of literals that meet no tensor */
bool literal_unary(Session *s, Infix k, Span at, const Literal *a, Literal *out);
/* Writes the literal as one element. `convert`: as a cast would (2.7 to an integer is
 * 2); else only if the dtype can represent it. */
bool literal_store(Session *s, const Literal *l, DType d, bool convert, Span at,
                   void *dst);
bool literal_i64(const Literal *l, int64_t *v); /* an int that fits */
double literal_f64(const Literal *l);
/* literal_arith.c */
bool literal_binary(Session *s, Infix k, Span at, const Literal *a, const Literal *b,
                    Literal *out);

/* ---- operand.c: nodes as variables ---- */
Node node_literal(Literal l, Span at);
bool node_is_literal(const Node *n); /* a literal, or a list of literals */
/* What a tensor operand is made of: the common dtype of its strong parts (DT_NONE if
 * none), the highest kind of its weak ones (-1 if none). False, diagnosed: it can't be
 * a tensor. */
typedef struct OperandParts {
    DType strong;
    int weak;
    bool variable; /* a weak part is a variable, such as a dim */
} OperandParts;
bool node_parts(Compiler *c, const Node *n, OperandParts *p);
DType operand_dtype(const Compiler *c, OperandParts p, Promote promote);
/* Makes a variable of that dtype; literals must fit. */
bool node_to_dtype(Compiler *c, const Node *n, DType d, Var *out);
/* Prepares inputs of an op that states exact types: weak values other than literal
 * numbers, such as sqrt(2.). */
bool node_weak_as_itypes(Compiler *c, const Op *op, size_t n, Node *in);
bool node_ints(Compiler *c, const Node *n, Var *out); /* int64 vector */
/* What literals become. ndim -1: in their own shape; else in this one, however they are
 * nested: the caller has checked their number. */
typedef struct ConstForm {
    DType dtype;
    bool convert; /* else they must fit */
    int ndim;
    const int64_t *shape;
} ConstForm;
bool node_const(Compiler *c, const Node *n, const ConstForm *form, Var *out);
/* ---- compile_value.c: receivers of any Type ---- */
/* The dtype that numbers for t take, also within lists; DT_NONE: none. t may be
 * NULL. */
DType compiler_receiver_dtype(const Type *t);
bool node_to_type(Compiler *c, const Node *n, const Type *t, Var *out);
/* A list's items as one list value; elem NULL: their common type, where weak items have
 * the dtype `like`. */
bool node_list(Compiler *c, const Node *n, const Type *elem, DType like, Var *out);
/* compiler_apply_op, unless the op is evaluated at once (Op.constant): then *out is the
 * constant. */
bool compiler_evaluate_or_apply(Compiler *c, const Op *op, const Props *props,
                                VarList in, Span at, Node *out);

const char *node_kind_text(const Node *n); /* "a string" */
bool node_fail_not_tensor(Compiler *c, const Node *n);

/* ---- compile_expr.c ---- */
bool compile(Compiler *c, const Ast *e, DType want, Node *out);
/* The result of an elementwise op on weak inputs only is weak, unless a cast in the
 * op's own text has determined its dtype. */
void node_weaken(const Compiler *c, const Op *op, size_t n, const Node *arg, Node *out);
/* Until its dtype is known, such a result has the widest one (floatX is float64), so
 * that no digits are lost. Returns the floatX to restore. */
DType compiler_weak_floatX(Compiler *c, const Op *op, size_t n, const Node *arg);
bool compiler_apply_infix(Compiler *c, Infix k, Span at, size_t n, const Node *arg,
                          Node *out);
/* op_apply; a single output gives a variable, several a list. */
bool compiler_apply_op(Compiler *c, const Op *op, const Props *props, VarList in,
                       Span at, Node *out);
/* definition_order.c: first compiles the definitions that an expression needs */
bool compile_needed(Compiler *c, const Ast *e);
/* Do all names of the definition mean now what they will at the end? What follows one
 * that waits does too, so that the order in the graph is the text's. `kept`: its syntax
 * is needed after it is compiled. */
bool definition_is_ready(Compiler *c, const Ast *e, bool *kept);
bool compile_definition(Compiler *c, const Ast *e); /* compile.c */
/* scope.c */
/* A node of frame `home`, which is around, in the present frame. */
bool compiler_capture(Compiler *c, const CompileFrame *home, const Node *n, Span at,
                      Node *out);
bool compile_name(Compiler *c, const Ast *e, Node *out);
bool scope_has_param(const Compiler *c, Sym name); /* of a lambda around */
bool scope_awaits(const Compiler *c, Sym name);    /* := will name it further on */
/* The name of a lambda, or a parameter that is a function: nearer than the catalogue's
 * functions of that name. */
bool compiler_is_own_function(const Compiler *c, Sym name);
/* Is it to be warned of what stands there? True once. */
bool compiler_warns(Compiler *c, Span at);
/* By a definition: `name = lambda ...` and its like, or the name of such a name. */
bool compiler_names_function(const Compiler *c, Sym name);
bool compile_binding(Compiler *c, const Ast *e, Node *out); /* (y := x * 2) */
bool compiler_lookup(Compiler *c, Sym name, Span at,
                     Node *out); /* false: unknown, not diagnosed */
bool compiler_fail_unknown(Compiler *c, Sym name, Span at);
bool compiler_is_dim_name(Compiler *c, Sym name);
Node node_from_prop(Compiler *c, const Prop *p, Span at);
/* compile_choice.c: a if c else b, and, or, not, a < b < c */
/* The value of a constant, or of something small that a few ops compute from constants.
 * *known false: it is none. False: diagnosed. */
bool compiler_constant(Compiler *c, Var v, bool *known, Value *out);
bool compile_choice(Compiler *c, const Ast *e, DType want, Node *out);
/* compile_call.c */
bool compile_call(Compiler *c, const Ast *e, const Node *self, DType want, Node *out);
bool compile_apply(Compiler *c, const Ast *e, const Node *f, Node *out);
/* call_inputs.c: promotes tensor operands as the op's row demands and turns them into
 * variables */
bool compiler_coerce(Compiler *c, Promote promote, DType creates, size_t n,
                     const Node *arg, Var *out);
/* call_props.c */
/* Always false: what n, given as a dtype, is called here. */
bool node_note_dtype(Compiler *c, const Node *n);
bool node_prop(Compiler *c, const Op *op, const PropDef *def, const Node *n, Prop *out);
/* builtin.c: cast by name, array, load, ... *is: is it a builtin? */
bool compile_builtin(Compiler *c, const Ast *e, const Node *self, DType want, bool *is,
                     Node *out);
bool builtin_is_name(const char *name); /* is it the name of a builtin? */
/* constant.c: constants of plugins' types */
bool node_makes_constant(const Node *n); /* numbers or a text */
bool node_plugin_constant(Compiler *c, const Node *n, const Type *t, Node *out);
bool call_constant(Compiler *c, const Ast *e, Node *out);
bool call_type(Compiler *c, const Ast *e, const Type *t, Node *out);
bool compile_typed(Compiler *c, const Ast *e, bool *is, Node *out); /* fixed(2)(1.25) */
/* compile_index.c */
bool compile_index(Compiler *c, const Ast *e, const Node *x, Node *out);
/* The text and the inputs of an index into `of`. */
bool index_spec(Compiler *c, const Ast *e, Var of, Sym *spec, size_t *n, Var **in);
bool index_row(Compiler *c, const Node *r, size_t i, Node *out);
bool call_subtensor(Compiler *c, const Op *op, const Ast *e, Node *out);
bool shape_item(Compiler *c, const Node *x, int axis, Span at, Node *out);
/* items and keys must live in c->arena or c->nodes; they are not copied */
bool node_tree(Compiler *c, size_t n, Node *item, Sym *key, Span at, Node *out);
bool compiler_fail_function(Compiler *c, const Ast *e);
bool compile_macro(Compiler *c, const Macro *m, const Ast *e, Node *out);

/* ---- text_lines.c: a text of several lines ---- */
/* Opens a compiler for the lines; env names what the row has. Close it in any case. */
bool text_lines_open(Compiler *c, Builder *b, Env *env, const char *text);
/* What the lines define. VAR_NONE: no line does, or it is disconnected. */
bool text_lines_result(Compiler *c, Sym name, Var *v);
/* *is false: no line defines the name. */
bool text_lines_name(Compiler *c, Sym name, bool *is, Node *out);
/* A parameter of the function whose text this is. False: unknown. */
bool text_lines_param(const Compiler *c, Sym name, Node *out);
/* The function of derivatives that a call in lines means. NULL: another call. */
typedef struct LineFunction LineFunction;
const LineFunction *text_lines_callee(const Compiler *c, const Ast *e);
bool text_lines_call(Compiler *c, const LineFunction *f, const Ast *e, Node *out);
/* Does the expression vanish because a cotangent or tangent is disconnected? */
bool text_lines_vanish(Compiler *c, const Ast *e);
Node node_disconnected(Span at);
/* A sum or difference of which one part vanishes. *is false: none does. */
bool text_lines_sum(Compiler *c, Infix k, Span at, size_t n, const Node *arg, bool *is,
                    Node *out);
/* The same for where(c, x, y). */
void text_lines_where(const Op *op, size_t n, Node *arg);

#endif
