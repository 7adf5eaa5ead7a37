/* ONNX models (onnx.ai) as graphs. */
#ifndef IO_ONNX_ONNX_H
#define IO_ONNX_ONNX_H

#include "io/io.h"

typedef struct OnnxRowText {
    const char *file, *text;
} OnnxRowText;
extern const OnnxRowText onnx_row_texts[]; /* ended by a NULL file */

#endif
