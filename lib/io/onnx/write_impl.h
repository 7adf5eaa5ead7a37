/* Shared by the files that write ONNX. A graph becomes nodes Apply by Apply: rows of
 * text
 * (*.to) say what an op becomes, as an expression of the language in its inputs and
 * props. A call whose name begins with a capital is a node of ONNX; all other calls are
 * ops of ours, which are built and then written in their turn, so that a row may also
 * say an op by others. */
#ifndef IO_ONNX_WRITE_IMPL_H
#define IO_ONNX_WRITE_IMPL_H

#include "format/proto_write.h"
#include "io/onnx/onnx_impl.h"

/* ---- what is written ---- */
/* A value of the model. It gets its name at the end, if no one has asked for one. */
typedef struct OutName {
    const char *name; /* NULL: none yet */
    bool fixed;       /* of an input or an initializer */
    bool needed;
} OutName;
typedef struct OutValue {
    OutName *name;
    const Type *type;
} OutValue;
typedef struct OutGraph OutGraph;
typedef struct OutSub {
    const char *attribute;
    OutGraph *graph;
} OutSub;
typedef struct OutNode {
    const char *op;
    size_t nin, nout, nsub;
    OutName **in, **out; /* NULL: left out */
    ProtoOut attribute;  /* as fields of a node */
    OutSub sub[2];
    bool needed;
} OutNode;
struct OutGraph {
    const char *name, *doc;
    Vec(OutNode *) node;
    Vec(OutValue) input, output;
    ProtoOut initializer;
};

/* ---- while it is written ---- */
/* Where nodes go: a graph, or one in an attribute, which sees those around it. */
typedef struct OutRegion {
    struct OutRegion *up;
    OutGraph *out;
    Map name; /* variable of the frame's graph -> OutName */
} OutRegion;
/* The two branches of an ifelse. */
typedef struct OutBranches {
    OutRegion *then, *otherwise;
} OutBranches;
/* A graph of ours that is being written: the main graph, or the body of a loop. */
typedef struct OutFrame {
    struct OutFrame *up;
    Graph *g;
    Builder b;
    Compiler *c;
    BoundNames helpers;
    OutRegion *root, *region; /* region: where nodes go now */
    uint32_t napply;          /* Applies that were there from the beginning */
    OutRegion **home;         /* of them: the innermost region that all readers see */
    OutBranches *branches;    /* of them, if they are ifelse */
} OutFrame;
typedef struct OnnxWriting {
    Session *s;
    Arena *a;
    Graph *g;
    int64_t opset;
    OnnxRows *rows, *reading; /* from ours to ONNX's; the reader's */
    Map turned;               /* op -> row of the reader that means it */
    Map accepts;              /* op name -> dtypes that ONNX has it for */
    Map taken;                /* names in the model */
    Map label;                /* variable of the main graph -> the name it gets */
    OutFrame *frame;
    Vec(OutRegion *) regions;
    Vec(OutGraph *) graphs;
    Vec(Tensor) copies; /* of constants whose elements are not in order */
} OnnxWriting;

OutName *out_name(OnnxWriting *w);
OutGraph *out_graph(OnnxWriting *w, const char *name);
OutRegion *out_region(OnnxWriting *w, OutRegion *up, OutGraph *g);
OutNode *out_node(OnnxWriting *w, const char *op, size_t nin, size_t nout);
/* Appends a node with one output to the current region. */
OutName *out_call(OnnxWriting *w, const char *op, size_t nin, OutName *const *in);
void out_append(OnnxWriting *w, OutNode *n);
void out_attribute_int(OutNode *n, const char *name, int64_t v);
void out_attribute_float(OutNode *n, const char *name, double v);
void out_attribute_text(OutNode *n, const char *name, const char *text);
void out_attribute_ints(OutNode *n, const char *name, size_t count, const int64_t *v);
void out_attribute_floats(OutNode *n, const char *name, size_t count, const double *v);
void out_attribute_tensor(OnnxWriting *w, OutNode *n, const char *name,
                          const Tensor *t);
bool out_initializer(OnnxWriting *w, OutGraph *g, OutName *name, const Tensor *t);
OutName *out_constant(OnnxWriting *w, const Tensor *t); /* NULL: E_DTYPE */
OutName *out_ints(OnnxWriting *w, int ndim, size_t n, const int64_t *v);
/* May an input, an output or a state have the type? False: diagnosed. */
bool out_check_type(OnnxWriting *w, const Type *t, const char *what);
/* Gives names to all values, leaves out what nothing needs, and writes the bytes. */
void out_model(OnnxWriting *w, OutGraph *g, ProtoOut *out);

/* ---- write_applies.c ---- */
/* Finds the rows of the reader that hold from right to left, too. */
void onnx_turn_rows(OnnxWriting *w);
/* The name in the model that the graph was read from, else its own; 0: none. */
Sym onnx_model_name(const OnnxWriting *w, const Graph *g, Var v, Sym own);
/* The value of a variable of the frame's graph, in the current region. NULL:
 * diagnosed. */
OutName *onnx_write_var(OnnxWriting *w, Var v);
void onnx_set_var(OnnxWriting *w, OutRegion *r, Var v, OutName *name);
/* False: diagnosed. */
bool onnx_open_frame(OnnxWriting *w, OutFrame *f, Graph *g, OutGraph *out);
void onnx_close_frame(OnnxWriting *w);
/* Has the reader's function for values of the model. */
Node onnx_value_node(OutName *name);
OutName *onnx_node_value(OnnxWriting *w, const Node *n);

/* write_control.c */
bool onnx_write_ifelse(OnnxWriting *w, ApplyId a);
bool onnx_write_scan(OnnxWriting *w, ApplyId a);
/* Finds the region of each Apply of the frame's graph. */
void onnx_place_applies(OnnxWriting *w, OutFrame *f);
/* write_functions.c: the functions of *.to */
void onnx_bind_write_functions(OnnxWriting *w, OutFrame *f);
/* write_index.c */
bool onnx_write_index(OnnxWriting *w, const Arguments *a, Node *out);
bool onnx_call_node(Compiler *c, const Node *f, const Arguments *args, Node *out);

#endif
