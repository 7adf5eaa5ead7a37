/* Reads models of ONNX (onnx.ai). A model becomes a graph node by node: rows of text
 * (*.rows) say what an op means in the expression language, with its inputs, attributes
 * and a few functions (functions.c) as names. */
#ifndef IO_ONNX_ONNX_IMPL_H
#define IO_ONNX_ONNX_IMPL_H

#include "base/embedded.h"
#include "io/io_impl.h"
#include "io/onnx/model.h"
#include "lang/bound_names.h"
#include "type/word.h"

/* ---- rows ---- */
typedef struct OnnxParam {
    Sym name;
    bool optional, rest;
    bool known;     /* must be known when the graph is made */
    bool maybe;     /* is a number or a list where it is known, else a variable */
    bool statistic; /* was measured, not learned */
} OnnxParam;
typedef struct OnnxDefault {
    Sym name;
    const Ast *value;
} OnnxDefault;
typedef struct OnnxRow {
    const char *op, *domain; /* domain: "" is ONNX's own */
    int64_t since, until;    /* opsets, both included */
    Span head, body;
    bool parsed;
    size_t nparam, nattribute, nout, nline;
    const OnnxParam *param;
    const OnnxDefault *attribute;
    const Sym *out;
    bool rest_out; /* the last output is a list of any number */
    const Ast **line;
    size_t ncall; /* names with a capital that the lines call */
    const Sym *call;
    struct OnnxRow *next, *after; /* of the same op; in the texts */
} OnnxRow;
typedef struct OnnxRows OnnxRows;
/* The same for ONNX's own domain by both of its names. */
Sym onnx_op_key(Session *s, ProtoText domain, ProtoText op);
OnnxRows *onnx_rows_new(Session *s, Arena *a, const EmbeddedText *texts);
void onnx_rows_free(OnnxRows *rows);
/* The row for an op of that version of its domain; its head is parsed. NULL: none. */
const OnnxRow *onnx_row(OnnxRows *rows, ProtoText domain, ProtoText op, int64_t opset);
/* Is there a row of that op for any version? The nearest names and versions then go to
 * the message. */
bool onnx_row_versions(OnnxRows *rows, ProtoText domain, ProtoText op, int64_t *from,
                       int64_t *to);

/* One after the other, those of ONNX's own domain that hold for the opset; NULL: the
 * first. */
OnnxRow *onnx_rows_next(OnnxRows *rows, const OnnxRow *after, int64_t opset);
/* Lines `accepts DTYPES: OPS` of the texts: op name -> a bit for each dtype. */
void onnx_rows_accepts(OnnxRows *rows, Map *accepts);
enum { ONNX_OPSET = 17, ONNX_OLDEST_WRITTEN = 13, ONNX_NEWEST_OPSET = 22 };

/* ---- reading a graph ---- */
typedef enum OnnxUse {
    ONNX_USE_KNOWN = 1, /* it must be known when the graph is made */
    ONNX_USE_STATISTIC = 2,
    ONNX_USE_OTHER = 4
} OnnxUse;
typedef struct OnnxReading {
    Session *s;
    Arena *a;
    Input *in;
    const ReadOptions *o;
    OnnxModel model;
    OnnxRows *rows;
    Graph *g;
    Compiler *c;
    Map functions;      /* name -> OnnxFunction */
    Map uses;           /* name -> what its readers read it for, a set of OnnxUse */
    DataFiles files;    /* data outside of the model; no folder: refused */
    BoundNames helpers; /* the functions that rows may call */
    int depth;          /* of local functions and graphs in attributes */
    size_t inner;       /* nodes read in these so far */
} OnnxReading;
/* The values of a graph, a graph in an attribute, or a function's body. */
typedef struct OnnxScope {
    const struct OnnxScope *up; /* the graph around; NULL: none */
    const struct OnnxScope *of; /* of the call, whose attributes a body may use */
    const OnnxNode *call;       /* whose body it is; NULL: a graph */
    const OnnxFunction *function;
    const OnnxGraph *graph;
    const OnnxOpset *opset;
    size_t nopset;
    CompileFrame *frame;
    bool named; /* values get names in the graph */
    Map value;  /* ONNX name -> Node */
} OnnxScope;
/* Functions that call each other twice are exponential, so their nodes are counted. */
enum { ONNX_DEPTH = 50, ONNX_INNER_NODES = 1 << 17 };

bool onnx_text_equal(ProtoText a, ProtoText b);
const char *onnx_text(OnnxReading *r, ProtoText t); /* NUL-terminated, in r->a */
Sym onnx_sym(OnnxReading *r, ProtoText t);
/* "node '/fc/Gemm' (Gemm)" */
const char *onnx_node_text(OnnxReading *r, const OnnxNode *n);
/* A name of the language, free in the graph, for an ONNX name. */
Sym onnx_free_name(OnnxReading *r, ProtoText t, const char *otherwise);
/* The type as ours. NULL: diagnosed, with `what`. */
const Type *onnx_type(OnnxReading *r, const OnnxType *t, const char *what);
/* The array of a tensor, wherever its bytes are. */
bool onnx_value(OnnxReading *r, const OnnxTensor *t, ElementUse use, Tensor *out);
bool onnx_constant(OnnxReading *r, const OnnxTensor *t, Node *out);
int64_t onnx_opset(const OnnxScope *x, ProtoText domain); /* 0: not imported */

bool onnx_read_nodes(OnnxReading *r, OnnxScope *x, const OnnxNode *node, size_t n);
/* What a name stands for, in the present frame. False: diagnosed. */
bool onnx_lookup(OnnxReading *r, const OnnxScope *x, ProtoText name, Node *out);
void onnx_bind(OnnxReading *r, OnnxScope *x, ProtoText name, Node value);
/* Compiles a row for a node: its outputs are bound. */
bool onnx_apply_row(OnnxReading *r, OnnxScope *x, const OnnxNode *n,
                    const OnnxRow *row);
/* A graph in an attribute as a function of the language. */
Node onnx_graph_function(OnnxReading *r, const OnnxScope *x, const OnnxGraph *g);
/* An attribute of a node as it stands, or as the call of the function says; NULL: it is
 * not there. */
const OnnxAttribute *onnx_attribute(const OnnxScope *x, const OnnxNode *n,
                                    const char *name);
bool onnx_attribute_node(OnnxReading *r, const OnnxScope *x, const OnnxAttribute *a,
                         Node *out);

/* ---- functions.c ---- */
/* Names of the functions that rows may call. */
void onnx_bind_functions(Compiler *c, Arena *a, BoundNames *names);
/* A line `a, b = f(x)` of a row takes the parts of a list. */
bool onnx_define_line(Compiler *c, Arena *a, const Ast *line, BoundNames *names);
typedef struct OnnxRowFunction {
    const char *name;
    NodeApply *apply;
    size_t least; /* arguments */
} OnnxRowFunction;
bool onnx_fail_call(Compiler *c, const char *why);
bool onnx_int_of(Compiler *c, const Node *n, int64_t *v);
static inline Node row_bool_node(bool yes) {
    return node_literal((Literal){.kind = K_BOOL, .u = yes}, NOWHERE);
}
static inline Node row_int_node(int64_t v) {
    return node_literal(literal_int(v), NOWHERE);
}
/* A list's items; anything else is a list of one, and none is empty. */
static inline size_t row_count_of(const Node *n) {
    return n->kind == NODE_LIST ? n->n : n->kind == NODE_NONE ? 0 : 1;
}
static inline const Node *row_item_of(const Node *n, size_t i) {
    return n->kind == NODE_LIST ? &n->item[i] : n;
}

/* ---- bodies.c ---- */
extern const OnnxRowFunction onnx_body_functions[];
extern const size_t onnx_body_function_count;

/* ---- known.c ---- */
/* Integers that types tell, such as parts of shapes, as a number or a list. */
bool onnx_known_by_types(Compiler *c, Var v, bool *known, Node *out);
/* Replaces a variable whose value is known by a number or a list of numbers. */
bool onnx_make_known(Compiler *c, Node *n, bool *known);

/* ---- ml.c ---- */
extern const OnnxRowFunction onnx_ml_functions[];
extern const size_t onnx_ml_function_count;

/* ---- lists.c ---- */
extern const OnnxRowFunction onnx_list_functions[];
extern const size_t onnx_list_function_count;
/* A list whose items are known one by one while a model is read, and an optional value
 * that isn't there, stand for themselves; other nodes become variables. */
bool onnx_is_list(const Node *n);
bool onnx_is_nothing(const Node *n);
/* A variable; a list of known items becomes a value. `elem` may be NULL: the items
 * tell. */
bool onnx_variable(Compiler *c, const Node *n, const Type *elem, Var *out);

#endif
