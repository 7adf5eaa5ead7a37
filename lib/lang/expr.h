/* The expression language: text -> syntax tree -> graph. Grammar:
 * schemas/expression.ebnf. */
#ifndef LANG_EXPR_H
#define LANG_EXPR_H

#include "op/build.h"

/* ---- syntax ---- */
typedef enum AstKind {
    AST_INT,   /* u */
    AST_FLOAT, /* text is the span, rounded when the dtype is known; v is the float64 */
    AST_IMAG,  /* v */
    AST_BOOL,  /* u */
    AST_STRING, /* sym */
    AST_NONE,
    AST_NAME,    /* sym */
    AST_UNARY,   /* op; kid[0] */
    AST_BINARY,  /* op; kid[0], kid[1] */
    AST_CHAIN,   /* a < b < c: kid[0], then AST_LINK */
    AST_LINK,    /* op; kid[0], compared with what stands before */
    AST_NOT,     /* not kid[0] */
    AST_LOGIC,   /* op "and" or "or"; kids */
    AST_IF,      /* kid[1] if kid[0] else kid[2] */
    AST_BIND,    /* (sym := kid[0]) */
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
    AST_LAMBDA, /* parameters: kid[0..n-2] are AST_NAME; last kid the body; local */
    AST_ASSIGN, /* targets kid[0..n-2] (AST_NAME, with kid type annotation text span in
                   `type`), last kid the expression */
    AST_ANNOT   /* sym: type text span `type`; kid[0] the expression or absent */
} AstKind;
/* What the compiler found that a call means, so that it looks once. */
typedef struct Callee {
    const Op *op;                    /* NULL: not looked up, or none */
    const struct LineFunction *line; /* text_lines.c */
    bool line_known;
} Callee;
/* The names that := gives in a lambda, but not in one within it; maybe repeated. */
typedef struct AstLocals {
    size_t n;
    const Sym *sym;
} AstLocals;
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
        const char *op;         /* operators: "+", "//"; unary "-", "+", "~" */
        const AstLocals *local; /* lambdas; NULL: none */
        Callee *callee;         /* calls, methods */
    };
    const Ast **kid;
};
enum { EXPR_DEPTH = 200 };
/* Parses the text of a span of a source. NULL: diagnosed with a caret at the place. */
const Ast *ast_parse(Session *s, Arena *a, Span text);
/* The statements of a block, one per line: AST_ASSIGN or AST_ANNOT each. */
bool ast_parse_block(Session *s, Arena *a, Span text, const Ast ***statements,
                     size_t *n);
/* The same one by one. A statement can be parsed again, into another arena, before the
 * next is asked for. Close it; `a` has the rest. */
typedef struct AstBlock AstBlock;
AstBlock *ast_block_open(Session *s, Arena *a, Span text);
bool ast_block_next(AstBlock *b);                      /* is there another one? */
const Ast *ast_block_statement(AstBlock *b, Arena *a); /* NULL: diagnosed */
void ast_block_close(AstBlock *b);
/* A line of a derivative: the definition holds if all conditions do (text_lines.c). */
typedef struct AstCase {
    const Ast *line; /* AST_ASSIGN */
    size_t nwhen;
    const Ast *const *when;
} AstCase;
/* Lines `name = expression` or `name = expression when condition, condition`. */
bool ast_parse_cases(Session *s, Arena *a, Span text, const AstCase **cases, size_t *n);
/* Is it a parameter of the lambda, or given by := in it? */
bool lambda_binds(const Ast *lambda, Sym name);
/* Does the text begin like a definition (`name =`, `name:`, `a, b`) rather than an
 * expression? */
bool ast_is_definition(Session *s, Span text);

/* ---- compiling ---- */
/* What an expression denotes during compilation. */
typedef enum NodeKind {
    NODE_VAR,  /* var; weak: a dim, or the result of an elementwise op on weak values */
    NODE_LIST, /* items */
    NODE_DICT, /* items with keys */
    NODE_STRING,
    NODE_NONE,
    NODE_DTYPE,    /* a dtype's name, such as float32 */
    NODE_FUNCTION, /* fn: a named function or a lambda, with captured variables appended
                      to its inputs */
    NODE_LITERAL,  /* lit: a weak number whose dtype is still open */
    NODE_DISCONNECTED
} NodeKind;
typedef struct Literal {
    DKind kind; /* K_BOOL, K_INT, K_FLOAT, K_COMPLEX */
    bool negative;
    uint64_t u; /* integers */
    double re, im;
    Span text; /* of a float literal, to round it once only; empty if computed */
} Literal;
typedef struct Node Node;
typedef struct Compiler Compiler;
/* What a function is applied to, and where. key[i] 0 or key NULL: positional. */
typedef struct Arguments {
    size_t n;
    const Node *arg;
    const Sym *key;
    Span at;
} Arguments;
typedef bool NodeApply(Compiler *c, const Node *f, const Arguments *args, Node *out);
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
    bool tuple; /* as an index it stands for its items, as a list does not */
    /* NODE_FUNCTION is one of: a lambda with its scope; a function of the graph; the
     * result of a macro, which has its own way to be applied. */
    const Ast *lambda;
    struct LambdaScope *scope;
    Graph *fn;
    size_t ncaptured;
    const Var *captured;
    NodeApply *apply;
    const void *data;
    Sym call_scope; /* scope of its calls (op call), 0: none */
};

/* Compiles the texts of one graph; definitions may be in any order. */
Compiler *compiler_new(Builder *b);
void compiler_free(Compiler *c);
Builder *compiler_builder(Compiler *c);
/* How numbers and texts become constants of plugins' types; by default, without any
 * loss. */
void compiler_set_filter(Compiler *c, Filter how, const char *what);
Arena *compiler_arena(Compiler *c);
/* May a leaf of the graph have this name, and a type with these dims? Dims and
 * variables share one name space. */
bool compiler_check_name(Compiler *c, Sym name, Span at);
bool compiler_check_dims(Compiler *c, const Type *t, Sym name, Span at);
/* A block of `name = expr`, `a, b = expr`, `name: type = expr`: compiles what needs
 * only what is known by now, and records the rest; duplicates are errors. `all`: no
 * other text has definitions. */
bool compiler_define(Compiler *c, Span text, bool all);
/* The same for the statement that `make` makes in an arena: once more, in one that
 * lasts, if its syntax is needed later. NULL: diagnosed. */
typedef const Ast *StatementFn(void *ctx, Arena *a);
bool compiler_define_made(Compiler *c, StatementFn *make, void *ctx);
/* That name will be defined by such a statement. Say so of all of them, or of none. */
void compiler_expect(Compiler *c, Sym name);
/* Compiles all recorded definitions, in order of dependence, without recursion over its
 * depth; registers the names in the graph. A cycle is E_CYCLE with its names. */
bool compiler_run(Compiler *c);
/* In a new graph, undeclared names become floatX scalar inputs. */
void compiler_auto_inputs(Compiler *c, bool on);
/* Compiles an expression for a receiver: literals, lists of literals, creation and
 * random functions without dtype= take its dtype; NULL: weak ones become int64,
 * floatX. */
bool compiler_expr(Compiler *c, Span text, const Type *receiver, Var *out);
bool compiler_ast(Compiler *c, const Ast *e, Node *out); /* for macros */
/* The same where a function is wanted: the name of an op is one, too. */
bool compiler_function_ast(Compiler *c, const Ast *e, Node *out);
/* A node as a variable of dtype `like` (DT_NONE: default) / as a list of variables (a
 * single one is a list of 1). */
bool compiler_var(Compiler *c, const Node *n, DType like, Var *out);
bool compiler_vars(Compiler *c, const Node *n, size_t *count, Var **vars);
/* A list of ints and dims, or an int64 vector. */
bool compiler_ints(Compiler *c, const Node *n, Var *out);
bool node_is_weak(const Node *n); /* a literal, a weak variable, a list of such */
Node node_var(Var v, Span at);
/* A list or dict (key not NULL); copies the items, which live as long as the compiler.
 * E_LIMIT beyond 2^22 leaves. */
bool compiler_tree(Compiler *c, size_t n, const Node *item, const Sym *key, Span at,
                   Node *out);
/* The same for a tuple, which as an index stands for its items. */
bool compiler_tuple(Compiler *c, size_t n, const Node *item, Span at, Node *out);
/* f(args): a lambda is compiled in place, a function of the graph becomes a call. */
bool compiler_apply(Compiler *c, const Node *f, const Arguments *args, Node *out);
/* Makes f->fn, a function of the graph for arguments of these types, from a lambda: it
 * takes f->captured as additional arguments. A function of the graph stays unchanged;
 * only its number of inputs is checked. */
bool compiler_function(Compiler *c, Node *f, size_t n, const Type *const *arg);
/* A trial: undo removes the diagnostics and functions made since. */
typedef struct CompilerTrial {
    size_t diags, functions;
    uint32_t lambdas;
} CompilerTrial;
CompilerTrial compiler_try(Compiler *c);
void compiler_undo(Compiler *c, CompilerTrial t);
/* What load('F', 'key') means; if not set, load() is an error. The constant keeps `ref`
 * and the key. */
typedef struct Selection Selection; /* value/file/file.h */
typedef bool LoadFn(void *ctx, const char *path, Selection *what, Value *out,
                    const char **ref);
void compiler_set_load(Compiler *c, LoadFn *load, void *ctx);
/* Adds the outputs that an expression denotes: a single one, or a tree's leaves as
 * LABEL/key. label 0: the name itself. */
bool compiler_output(Compiler *c, Sym label, Span text);
/* Adds the definition of a name as an output, unless it is a function. */
bool compiler_output_defined(Compiler *c, Span name);
/* May this text name a variable? False, diagnosed: a keyword, a literal's name, no
 * identifier. */
bool compiler_check_var_name(Session *s, Span name);
/* Adds `W = expr` to the updates. */
bool compiler_update(Compiler *c, Span text);

#endif
