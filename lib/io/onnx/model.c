#include "io/onnx/model.h"

#include "io/io_impl.h"

static const ProtoField sparse_fields[] = {
    PROTO_ONE_OF(1, OnnxSparseTensor, values, onnx_tensor_message),
    PROTO_ONE_OF(2, OnnxSparseTensor, indices, onnx_tensor_message),
    PROTO_MANY(3, PROTO_INT, OnnxSparseTensor, dims)};
static const ProtoMessage sparse_message =
    PROTO_TABLE(OnnxSparseTensor, "a sparse tensor", sparse_fields);

static const ProtoField dim_fields[] = {
    PROTO_FLAGGED(1, PROTO_INT, OnnxDim, value, has_value),
    PROTO_ONE(2, PROTO_TEXT, OnnxDim, param)};
static const ProtoMessage dim_message = PROTO_TABLE(OnnxDim, "a dim", dim_fields);

static const ProtoField shape_fields[] = {
    PROTO_MANY_OF(1, OnnxShape, dim, dim_message)};
static const ProtoMessage shape_message =
    PROTO_TABLE(OnnxShape, "a shape", shape_fields);

static const ProtoField tensor_type_fields[] = {
    PROTO_ONE(1, PROTO_INT, OnnxTensorType, elem),
    PROTO_ONE_OF(2, OnnxTensorType, shape, shape_message)};
static const ProtoMessage tensor_type_message =
    PROTO_TABLE(OnnxTensorType, "a tensor's type", tensor_type_fields);

static const ProtoMessage type_message, graph_message; /* which contain themselves */

static const ProtoField wrapped_fields[] = {
    PROTO_ONE_OF(1, OnnxWrappedType, elem, type_message)};
static const ProtoMessage wrapped_message =
    PROTO_TABLE(OnnxWrappedType, "a type", wrapped_fields);
/* A map's keys and values are not looked at. */
static const ProtoMessage map_message = {"a map's type", sizeof(OnnxWrappedType), 0,
                                         NULL};

static const ProtoField type_fields[] = {
    PROTO_ONE_OF(1, OnnxType, tensor, tensor_type_message),
    PROTO_ONE_OF(4, OnnxType, sequence, wrapped_message),
    PROTO_ONE_OF(5, OnnxType, map, map_message),
    PROTO_ONE_OF(8, OnnxType, sparse, tensor_type_message),
    PROTO_ONE_OF(9, OnnxType, optional, wrapped_message)};
static const ProtoMessage type_message = PROTO_TABLE(OnnxType, "a type", type_fields);

static const ProtoField value_fields[] = {
    PROTO_ONE(1, PROTO_TEXT, OnnxValue, name),
    PROTO_ONE_OF(2, OnnxValue, type, type_message)};
static const ProtoMessage value_message =
    PROTO_TABLE(OnnxValue, "a value", value_fields);

static const ProtoField attribute_fields[] = {
    PROTO_ONE(1, PROTO_TEXT, OnnxAttribute, name),
    PROTO_ONE(2, PROTO_FLOAT, OnnxAttribute, f),
    PROTO_ONE(3, PROTO_INT, OnnxAttribute, i),
    PROTO_ONE(4, PROTO_TEXT, OnnxAttribute, s),
    PROTO_ONE_OF(5, OnnxAttribute, t, onnx_tensor_message),
    PROTO_ONE_OF(6, OnnxAttribute, g, graph_message),
    PROTO_MANY(7, PROTO_FLOAT, OnnxAttribute, floats),
    PROTO_MANY(8, PROTO_INT, OnnxAttribute, ints),
    PROTO_MANY(9, PROTO_TEXT, OnnxAttribute, strings),
    PROTO_MANY_OF(10, OnnxAttribute, tensors, onnx_tensor_message),
    PROTO_ONE(20, PROTO_INT, OnnxAttribute, type),
    PROTO_ONE(21, PROTO_TEXT, OnnxAttribute, ref)};
static const ProtoMessage attribute_message =
    PROTO_TABLE(OnnxAttribute, "an attribute", attribute_fields);

static const ProtoField node_fields[] = {
    PROTO_MANY(1, PROTO_TEXT, OnnxNode, input),
    PROTO_MANY(2, PROTO_TEXT, OnnxNode, output),
    PROTO_ONE(3, PROTO_TEXT, OnnxNode, name),
    PROTO_ONE(4, PROTO_TEXT, OnnxNode, op),
    PROTO_MANY_OF(5, OnnxNode, attribute, attribute_message),
    PROTO_ONE(7, PROTO_TEXT, OnnxNode, domain)};
static const ProtoMessage node_message = PROTO_TABLE(OnnxNode, "a node", node_fields);

static const ProtoField graph_fields[] = {
    PROTO_MANY_OF(1, OnnxGraph, node, node_message),
    PROTO_ONE(2, PROTO_TEXT, OnnxGraph, name),
    PROTO_MANY_OF(5, OnnxGraph, initializer, onnx_tensor_message),
    PROTO_ONE(10, PROTO_TEXT, OnnxGraph, doc),
    PROTO_MANY_OF(11, OnnxGraph, input, value_message),
    PROTO_MANY_OF(12, OnnxGraph, output, value_message),
    PROTO_MANY_OF(13, OnnxGraph, info, value_message),
    PROTO_MANY_OF(15, OnnxGraph, sparse, sparse_message)};
static const ProtoMessage graph_message =
    PROTO_TABLE(OnnxGraph, "a graph", graph_fields);

static const ProtoField opset_fields[] = {PROTO_ONE(1, PROTO_TEXT, OnnxOpset, domain),
                                          PROTO_ONE(2, PROTO_INT, OnnxOpset, version)};
static const ProtoMessage opset_message =
    PROTO_TABLE(OnnxOpset, "an opset", opset_fields);

static const ProtoField function_fields[] = {
    PROTO_ONE(1, PROTO_TEXT, OnnxFunction, name),
    PROTO_MANY(4, PROTO_TEXT, OnnxFunction, input),
    PROTO_MANY(5, PROTO_TEXT, OnnxFunction, output),
    PROTO_MANY(6, PROTO_TEXT, OnnxFunction, attribute),
    PROTO_MANY_OF(7, OnnxFunction, node, node_message),
    PROTO_MANY_OF(9, OnnxFunction, opset, opset_message),
    PROTO_ONE(10, PROTO_TEXT, OnnxFunction, domain),
    PROTO_MANY_OF(11, OnnxFunction, defaults, attribute_message)};
static const ProtoMessage function_message =
    PROTO_TABLE(OnnxFunction, "a function", function_fields);

static const ProtoField model_fields[] = {
    PROTO_ONE(1, PROTO_INT, OnnxModel, ir_version),
    PROTO_ONE(2, PROTO_TEXT, OnnxModel, producer),
    PROTO_ONE(3, PROTO_TEXT, OnnxModel, producer_version),
    PROTO_ONE(6, PROTO_TEXT, OnnxModel, doc),
    PROTO_ONE_OF(7, OnnxModel, graph, graph_message),
    PROTO_MANY_OF(8, OnnxModel, opset, opset_message),
    PROTO_MANY_OF(25, OnnxModel, function, function_message)};
const ProtoMessage onnx_model_message = PROTO_TABLE(OnnxModel, "a model", model_fields);

/* Only the outermost fields are read. */
bool onnx_is_model(const unsigned char *p, size_t n) {
    enum { IR_VERSION = 0x08, BYTES = 2 }; /* the first field's key; a kind of fields */
    uint64_t seen;
    /* ir_version comes first in what writers write: then even a broken file is one */
    if (n >= 3 && p[0] == IR_VERSION && p[1] > 0 && p[1] < 0x20 && (p[2] & 7) == BYTES)
        return true;
    return proto_looks_like(&onnx_model_message, p, n, &seen) && (seen >> 7 & 1) &&
           (seen >> 1 & 1);
}

bool onnx_read_model(Session *s, Arena *a, const char *name, const unsigned char *p,
                     size_t n, OnnxModel *out) {
    *out = (OnnxModel){0};
    return proto_read(s, a, name, &onnx_model_message, p, n, out);
}
