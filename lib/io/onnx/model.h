/* The messages of onnx.proto (ir_version 3 to 10) that a graph is read from. */
#ifndef IO_ONNX_MODEL_H
#define IO_ONNX_MODEL_H

#include "value/file/onnx_tensor.h"

typedef struct OnnxSparseTensor {
    OnnxTensor *values, *indices;
    ProtoList(int64_t) dims;
} OnnxSparseTensor;
typedef struct OnnxDim {
    int64_t value;
    bool has_value;
    ProtoText param;
} OnnxDim;
typedef struct OnnxShape {
    ProtoList(OnnxDim) dim;
} OnnxShape;
typedef struct OnnxTensorType {
    int64_t elem;
    OnnxShape *shape; /* NULL: even the number of dims is open */
} OnnxTensorType;
typedef struct OnnxType OnnxType;
typedef struct OnnxWrappedType {
    OnnxType *elem;
} OnnxWrappedType;
struct OnnxType {
    OnnxTensorType *tensor, *sparse;
    OnnxWrappedType *sequence, *optional, *map;
};
typedef struct OnnxValue {
    ProtoText name;
    OnnxType *type;
} OnnxValue;
typedef struct OnnxGraph OnnxGraph;
typedef struct OnnxAttribute {
    ProtoText name, ref; /* ref: the function's attribute that stands here */
    int64_t type, i;
    float f;
    ProtoText s;
    OnnxTensor *t;
    OnnxGraph *g;
    ProtoList(float) floats;
    ProtoList(int64_t) ints;
    ProtoList(ProtoText) strings;
    ProtoList(OnnxTensor) tensors;
} OnnxAttribute;
/* Values of `type`; 0 in files of early writers, where what is set tells. */
enum {
    ONNX_FLOAT = 1,
    ONNX_INT,
    ONNX_STRING,
    ONNX_TENSOR,
    ONNX_GRAPH,
    ONNX_FLOATS,
    ONNX_INTS,
    ONNX_STRINGS,
    ONNX_TYPE = 13
};
typedef struct OnnxNode {
    ProtoList(ProtoText) input, output;
    ProtoText name, op, domain;
    ProtoList(OnnxAttribute) attribute;
} OnnxNode;
struct OnnxGraph {
    ProtoText name, doc;
    ProtoList(OnnxNode) node;
    ProtoList(OnnxTensor) initializer;
    ProtoList(OnnxSparseTensor) sparse;
    ProtoList(OnnxValue) input, output, info;
};
typedef struct OnnxOpset {
    ProtoText domain;
    int64_t version;
} OnnxOpset;
typedef struct OnnxFunction {
    ProtoText name, domain;
    ProtoList(ProtoText) input, output, attribute;
    ProtoList(OnnxAttribute) defaults;
    ProtoList(OnnxNode) node;
    ProtoList(OnnxOpset) opset;
} OnnxFunction;
typedef struct OnnxModel {
    int64_t ir_version;
    ProtoText producer, producer_version, doc;
    OnnxGraph *graph;
    ProtoList(OnnxOpset) opset;
    ProtoList(OnnxFunction) function;
} OnnxModel;

/* The outermost message, with all that it contains. */
extern const ProtoMessage onnx_model_message;
/* `name` is the file's, for messages. False: diagnosed. */
bool onnx_read_model(Session *s, Arena *a, const char *name, const unsigned char *p,
                     size_t n, OnnxModel *out);

#endif
