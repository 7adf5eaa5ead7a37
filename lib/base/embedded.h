/* Text files of this library that its programs carry: lib/gen/embed.awk makes a table
 * of each kind, ended by a NULL file. */
#ifndef BASE_EMBEDDED_H
#define BASE_EMBEDDED_H

typedef struct EmbeddedText {
    const char *file, *text;
} EmbeddedText;

extern const EmbeddedText rule_texts[]; /* lib/rewrite/rules */
extern const EmbeddedText optim_texts[];
extern const EmbeddedText op_texts[];   /* lib/ops/FAMILY/NAME.ops.yaml */
extern const EmbeddedText page_texts[]; /* of pages: HTML, CSS, JavaScript */
extern const EmbeddedText onnx_texts[], onnx_write_texts[]; /* the rows of ONNX ops */

#endif
