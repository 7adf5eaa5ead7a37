/* TensorProto of onnx.proto: an array in a model, or alone in a file (.pb). */
#ifndef VALUE_FILE_ONNX_TENSOR_H
#define VALUE_FILE_ONNX_TENSOR_H

#include "format/proto.h"
#include "value/file/file.h"

typedef struct OnnxEntry {
    ProtoText key, value;
} OnnxEntry;
typedef struct OnnxTensor {
    ProtoList(int64_t) dims;
    int64_t dtype, location; /* location 1: in another file */
    ProtoText name, raw;
    bool has_raw;
    ProtoList(float) floats;
    ProtoList(double) doubles;
    ProtoList(int64_t) int32s, int64s, uint64s;
    ProtoList(ProtoText) strings;
    ProtoList(OnnxEntry) external; /* location, offset, length */
} OnnxTensor;
extern const ProtoMessage onnx_tensor_message;

/* The dtype of a number of TensorProto.DataType; bfloat16 and float8 are float32.
 * DT_NONE: there is none; *name is what ONNX calls it, NULL if it is no such number. */
DType onnx_dtype(int64_t code, const char **name);
int64_t onnx_dtype_code(DType d); /* 0: ONNX has none */
/* Where an array's bytes are. */
typedef struct OnnxBytes {
    const char *file; /* for messages */
    const unsigned char *p;
    size_t n;
    Buffer
        *buf; /* keeps them alive, so that a tensor may use them in place; NULL: copy */
    ElementUse use;
} OnnxBytes;
/* The array; raw: its bytes where they are not in the message's other fields. Sizes are
 * checked. False: diagnosed. */
bool onnx_tensor_value(Session *s, const OnnxTensor *t, const OnnxBytes *raw,
                       Tensor *out);

#endif
