/* The expression language: text -> syntax tree -> graph. Grammar:
 * schemas/expression.ebnf. */
#ifndef LANG_EXPR_H
#define LANG_EXPR_H

#include "op/build.h"

/* ---- syntax ---- */
typedef enum AstKind {
    AST_INT,   /* u */
    AST_FLOAT, /* text is the span: rounded when its dtype is known; v is the float64 */
    AST_IMAG,  /* v */
    AST_BOOL,  /* u */
    AST_STRING, /* sym */
    AST_NONE,
    AST_NAME,    /* sym */
    AST_UNARY,   /* op; kid[0] */
    AST_BINARY,  /* op; kid[0], kid[1] */
    AST_CALL,    /* sym function; kids: positional, then AST_KEYWORD and AST_STARS */
    AST_KEYWORD, /* sym = kid[0] */
    AST_STARS,   /* **name, in rule patterns: sym */
    AST_APPLY,   /* call of an expression: kid[0](kid[1..]), for reap(f, tag='t')(x) */
    AST_METHOD,  /* kid[0].sym(kid[1..]) */
    AST_ATTR,    /* kid[0].sym: T shape ndim size dtype */
    AST_INDEX,   /* kid[0][kid[1..]] */
    AST_SLICE,   /* kids start, stop, step; NULL where absent */
    AST_ELLIPSIS,
    AST_LIST,
    AST_TUPLE,
    AST_DICT,   /* kids: AST_KEYWORD with the key as sym */
    AST_LAMBDA, /* names: kid[0..n-2] are AST_NAME; last kid the body */
    AST_ASSIGN, /* targets kid[0..n-2] (AST_NAME, with kid type annotation text span in
                   `type`), last kid the expression */
    AST_ANNOT   /* sym: type text span `type`; kid[0] the expression or absent */
} AstKind;
typedef struct Ast Ast;
struct Ast {
    AstKind kind;
    Span at;
    Sym sym;
    uint32_t nkid;
    union { /* by kind */
        uint64_t u;
        double v;
        Span type;
        const char *op;   /* operators: "+", "//"; unary "-", "+", "~" */
        const Op **found; /* calls, methods: the op once it was looked up */
    };
    const Ast **kid;
};
enum { EXPR_DEPTH = 200 };
/* Parses the text of a span of a source. NULL: diagnosed with a caret at the place. */
const Ast *ast_parse(Session *s, Arena *a, Span text);
/* The statements of a block, one a line: AST_ASSIGN or AST_ANNOT each. */
bool ast_parse_block(Session *s, Arena *a, Span text, const Ast ***statements,
                     size_t *n);
/* Does the text begin like a definition (`name =`, `name:`, `a, b`), not like an
 * expression? */
bool ast_is_definition(Session *s, Span text);

/* ---- compiling ---- */
/* What an expression denotes while it is compiled. */
typedef enum NodeKind {
    NODE_VAR,  /* var; weak: a dim, or what an elementwise op made of weak things */
    NODE_LIST, /* items */
    NODE_DICT, /* items with keys */
    NODE_STRING,
    NODE_NONE,
    NODE_DTYPE,    /* float32 as a name */
    NODE_FUNCTION, /* fn: a named function or a lambda, with captured variables appended
                      to its inputs */
    NODE_LITERAL,  /* a weak number whose dtype is not decided yet: lit */
    NODE_DISCONNECTED
} NodeKind;
typedef struct Literal {
    DKind kind; /* K_BOOL, K_INT, K_FLOAT, K_COMPLEX */
    bool negative;
    uint64_t u; /* integers */
    double re, im;
    Span text; /* of a float literal, so that it is rounded once; empty if computed */
} Literal;
typedef struct Node Node;
typedef struct Compiler Compiler;
/* Applies a function to arguments; nodes with a key (item name) are keyword arguments.
 */
typedef bool NodeApply(Compiler *c, const Node *f, size_t n, const Node *arg,
                       const Sym *key, Span at, Node *out);
struct Node {
    NodeKind kind;
    Span at;
    Var var;
    bool weak;
    Literal lit;
    Sym sym;
    DType dtype;
    size_t n;
    Node *item;
    Sym *key;
    uint32_t leaves, depth; /* of a tree */
    /* NODE_FUNCTION is one of: a lambda with its scope; a function of the graph; what a
     * macro made, with its own way to be applied. */
    const Ast *lambda;
    struct LambdaScope *scope;
    Graph *fn;
    size_t ncaptured;
    const Var *captured;
    NodeApply *apply;
    const void *data;
    Sym call_scope; /* the scope of its calls (op call), 0: none */
};

/* Compiles the texts of one graph: definitions may come in any order. */
Compiler *compiler_new(Builder *b);
void compiler_free(Compiler *c);
Builder *compiler_builder(Compiler *c);
/* How numbers and texts become constants of plugins' types; without it nothing may be
 * lost. */
void compiler_set_filter(Compiler *c, Filter how, const char *what);
Arena *compiler_arena(Compiler *c);
/* May a leaf of the graph be called so, and have a type with these dims? Dims and
 * variables share their names. */
bool compiler_check_name(Compiler *c, Sym name, Span at);
bool compiler_check_dims(Compiler *c, const Type *t, Sym name, Span at);
/* Remembers `name = expr`, `a, b = expr`, `name: type = expr` (a block of lines);
 * errors for duplicates. */
bool compiler_define(Compiler *c, Span text);
bool compiler_define_ast(Compiler *c, const Ast *statement);
/* Compiles everything defined so far, in dependency order, without recursion over its
 * depth; names are registered in the graph. A cycle is E_CYCLE with its names. */
bool compiler_run(Compiler *c);
/* In a new graph, names that nothing declares become floatX scalar inputs. */
void compiler_auto_inputs(Compiler *c, bool on);
/* Compiles an expression for a receiver: literals, lists of literals, creation and
 * random functions without dtype= take its dtype; NULL: weak ones become int64, floatX.
 */
bool compiler_expr(Compiler *c, Span text, const Type *receiver, Var *out);
bool compiler_ast(Compiler *c, const Ast *e, Node *out); /* for macros */
/* A node as a variable of dtype `like` (DT_NONE: default) / as list of variables (a
 * single one counts as a list of 1). */
bool compiler_var(Compiler *c, const Node *n, DType like, Var *out);
bool compiler_vars(Compiler *c, const Node *n, size_t *count, Var **vars);
/* A list of ints and dims, or an int64 vector. */
bool compiler_ints(Compiler *c, const Node *n, Var *out);
bool node_is_weak(const Node *n); /* a literal, a weak variable, a list of such */
Node node_var(Var v, Span at);
/* A list or dict (key not NULL); items are copied, to live as long as the compiler.
 * E_LIMIT beyond 2^22 leaves. */
bool compiler_tree(Compiler *c, size_t n, const Node *item, const Sym *key, Span at,
                   Node *out);
/* f(arg...): a lambda is compiled in place, a function of the graph becomes a call.
 * key[i] 0 or key NULL: positional. */
bool compiler_apply(Compiler *c, const Node *f, size_t n, const Node *arg,
                    const Sym *key, Span at, Node *out);
/* Makes f->fn, a function of the graph for arguments of these types, from a lambda:
 * f->captured is what it takes beside them. A function of the graph stays as it is; its
 * number of inputs is checked. */
bool compiler_function(Compiler *c, Node *f, size_t n, const Type *const *arg);
/* A trial: what was diagnosed and the functions that were made since are taken back. */
typedef struct CompilerTrial {
    size_t diags, functions;
    uint32_t lambdas;
} CompilerTrial;
CompilerTrial compiler_try(Compiler *c);
void compiler_undo(Compiler *c, CompilerTrial t);
/* What load('F', 'key') means; without it load() is an error. `ref` and `ref_key` are
 * kept with the constant. */
typedef bool LoadFn(void *ctx, const char *path, const char *key, Span at, Value *out,
                    const char **ref);
void compiler_set_load(Compiler *c, LoadFn *load, void *ctx);
/* Adds the outputs that an expression stands for: one, or a tree's leaves as LABEL/key.
 * label 0: the name itself. */
bool compiler_output(Compiler *c, Sym label, Span text);
/* What was defined under a name as an output, unless it is a function. */
bool compiler_output_defined(Compiler *c, Span name);
/* May this text be the name of a variable? Diagnosed if not (a keyword, a literal's
 * name, no identifier). */
bool compiler_check_var_name(Session *s, Span name);
/* Adds `W = expr` to the updates. */
bool compiler_update(Compiler *c, Span text);

/* A formula over numbers (flops, assertions): names are looked up by the caller, which
 * may answer with a number or a shape. True: *v is set. Comparisons give 0 or 1. A text
 * counts as the number of its Sym. */
typedef struct FormulaValue {
    bool is_shape;
    double number;
    int ndim;
    const int64_t *shape;
} FormulaValue;
typedef bool FormulaLookup(void *ctx, Sym name, FormulaValue *v);
bool formula(Session *s, const char *text, FormulaLookup *look, void *ctx, double *v);
bool formula_span(Session *s, Span text, FormulaLookup *look, void *ctx, double *v);
/* What operators and functions mean on numbers, for other readers of formulas; false:
 * it is none. A function gathers its arguments into *r, one by one. */
bool formula_binary(const char *op, double a, double b, double *v);
double formula_unary(const char *op, double a);
bool formula_gather(const char *name, bool first, double x, double *r);

#endif
