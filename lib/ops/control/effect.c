/* Ops that return their first input and have an effect: assert_op, print, sow and
 * sow_cond. They are roots of a graph even when nothing reads them, and keep their
 * order. `after` and `require` return their first input too but have no effect. */
#include "op/services.h"
#include "ops/shape/linear.h"
#include "value/class.h"
#include "vmap/kit.h"

#include <string.h>

static bool all_true(const Tensor *t) {
    int64_t n = tensor_size(t);
    if (t->dtype == DT_BOOL && n > 0 && tensor_is_contiguous(t))
        return !memchr(t->data, 0, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        if (tensor_f64(t, i) == 0) return false;
    return true;
}

static bool assert_perform(Call *c) {
    const char *text = sym_text(c->s, op_prop(c->s, c->op, c->props, "msg")->sym);
    for (size_t i = 1; i < c->nin; i++)
        if (!all_true(call_in(c, i)))
            return call_fail(c, E_ASSERT, "%s",
                             *text ? text : "the assertion does not hold");
    return call_pass_on(c);
}

static bool require_perform(Call *c) {
    for (size_t i = 1; i < c->nin; i++)
        if (!all_true(call_in(c, i)))
            return call_fail(
                c, E_ARITHMETIC, "%s",
                sym_text(c->s, op_prop(c->s, c->op, c->props, "msg")->sym));
    return call_pass_on(c);
}

static bool print_perform(Call *c) {
    const Services *sv = services(c->s);
    if (sv->print) {
        Str text = STR(c->s);
        const char *message =
            sym_text(c->s, op_prop(c->s, c->op, c->props, "msg")->sym);
        str_puts(&text, message);
        if (*message) str_puts(&text, " = ");
        value_text(c->s, c->in[0], -1, &text);
        str_putc(&text, '\n');
        sv->print(sv->print_ctx, str_text(&text));
        str_free(&text);
    }
    return call_pass_on(c);
}

/* Tags and names become parts of labels TAG/SCOPE/NAME; a name may itself have
 * parts. */
static bool want_label(Infer *in, const char *prop, bool parts) {
    const char *text = sym_text(in->s, infer_prop(in, prop)->sym);
    size_t n = strlen(text);
    for (const char *p = text; *p; p++)
        if ((*p == '/' && !parts) || (unsigned char)*p < ' ')
            return infer_fail(in, E_ARG, in->nin, "%s can't have a `/`: got '%s'", prop,
                              text);
    if (n && (text[0] == '/' || text[n - 1] == '/' || strstr(text, "//")))
        return infer_fail(in, E_ARG, in->nin,
                          "the parts of a %s can't be empty: got '%s'", prop, text);
    return *text || infer_fail(in, E_ARG, in->nin, "%s can't be empty", prop);
}

static bool want_mode(Infer *in) {
    static const char *const modes[] = {"strict", "append", "clobber", "cond_clobber"};
    const char *mode = sym_text(in->s, infer_prop(in, "mode")->sym);
    for (size_t i = 0; i < 3; i++)
        if (strcmp(modes[i], mode) == 0) return true;
    if (strcmp(mode, "cond_clobber") == 0)
        return infer_fail(in, E_ARG, in->nin,
                          "mode 'cond_clobber' needs a predicate: use sow_cond(value, "
                          "pred, ...)");
    const char *near = str_nearest(in->s, mode, modes, 4);
    infer_fail(in, E_ARG, in->nin, "there is no mode '%s' of sow%s%s%s", mode,
               near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
    return note(in->s, NOWHERE, "the modes are strict, append and clobber");
}

static bool sow_type(Infer *in) {
    return want_label(in, "tag", false) && want_label(in, "name", true) &&
           want_mode(in) && infer_same_type(in);
}

/* A scalar, or one element per part of the value along its leading dims. */
static bool pred_fits(Infer *in) {
    const Type *value = in->type[0], *pred = in->type[1];
    if (pred->ndim == 0) return true;
    bool fits = value->kind == TYPE_TENSOR && pred->ndim <= value->ndim;
    for (int i = 0; fits && i < pred->ndim; i++)
        fits = dim_may_equal(pred->dim[i], value->dim[i]);
    return fits || infer_fail(in, E_SHAPE, 1,
                              "pred must be a scalar, or have an element for each row "
                              "of the value: %s has no such rows for %s",
                              type_str(in->s, value), type_str(in->s, pred));
}

static bool sow_cond_type(Infer *in) {
    const char *mode = sym_text(in->s, infer_prop(in, "mode")->sym);
    if (strcmp(mode, "cond_clobber") != 0)
        return infer_fail(in, E_ARG, in->nin,
                          "the only mode of sow_cond is 'cond_clobber', not '%s'",
                          mode);
    return want_label(in, "tag", false) && want_label(in, "name", true) &&
           pred_fits(in) && infer_same_type(in);
}

/* Rows of the predicate pair with rows of the value. */
static bool sow_cond_vmap(Vmap *q) {
    Var in[3] = {q->in[0], q->in[1], q->nin > 2 ? q->in[2] : VAR_NONE};
    bool rows = q->rows[1] || (q->rows[0] && vmap_ndim(q, 1) > 0);
    if (rows) in[0] = vmap_with_rows(q, 0), in[1] = vmap_with_rows(q, 1);
    q->out_rows[0] = q->rows[0] || rows;
    return vmap_apply(q, q->props, in);
}

static const char *const through[] = {"g", "disconnected"};
static const char *const through_cond[] = {"g", "disconnected", "disconnected"};

/* x with its tangent; with an effect, too. */
#define PASS_ON .push = push_tangent_through, .view = 1, .identity = true
#define EFFECT  PASS_ON, .fold = FOLD_NEVER, .effect = true
static const Op table[] = {
    {.name = OP_ROW("after"),
     .doc =
         "x, but only once the others have been computed. Computations that read this "
         "result are not merged with the same ones that read x: they run again, later.",
     .in = "x: any, *others: any",
     .type = infer_same_type,
     .perform = call_pass_on,
     .adjoint = through,
     .disconnected = "others",
     PASS_ON,
     .example = "after(1.5, 2) -> 1.5"},
    {.name = OP_ROW("assert_op"),
     .doc = "x, after checking that every element of the conditions is true.",
     .alias = "Assert",
     .in = "x: any, *conditions",
     .props = "msg: str = ''",
     .type = infer_same_type,
     .perform = assert_perform,
     .adjoint = through,
     .disconnected = "conditions",
     EFFECT,
     .example = "assert_op(1.5, True) -> 1.5"},
    {.name = OP_ROW("require"),
     .doc =
         "x, which makes sense only if every element of the conditions is true. Unlike "
         "assert_op it is removed if nothing reads it: then nothing is checked.",
     .in = "x: any, *conditions",
     .props = "msg: str = 'a condition does not hold'",
     .type = infer_same_type,
     .perform = require_perform,
     .adjoint = through,
     .disconnected = "conditions",
     PASS_ON,
     .example = "require(1.5, True) -> 1.5"},
    {.name = OP_ROW("print"),
     .doc = "x, after showing its value with a message.",
     .in = "x: any",
     .props = "msg: str = ''",
     .type = infer_same_type,
     .perform = print_perform,
     .adjoint = through,
     EFFECT,
     .example = "print(1.5) -> 1.5"},
    {.name = OP_ROW("sow"),
     .doc =
         "value, named for harvesting: reap collects it, plant replaces it. `key` only "
         "makes the sow come after it. Each leaf of a dict is sown as NAME/KEY.",
     .in = "value: any, key: any?",
     .props = "tag: str, name: str, mode: str = 'strict'",
     .type = sow_type,
     .perform = call_pass_on,
     .adjoint = through,
     .disconnected = "key",
     EFFECT,
     .example = "sow(1.5, tag='probe', name='x') -> 1.5"},
    {.name = OP_ROW("sow_cond"),
     .doc = "value, named for harvesting where pred holds: reap collects the last such "
            "value, or zeros if there is none. pred is one bool, or one for each row.",
     .in = "value: any, pred: tensor, key: any?",
     .props = "tag: str, name: str, mode: str = 'cond_clobber'",
     .type = sow_cond_type,
     .perform = call_pass_on,
     .adjoint = through_cond,
     .vmap = sow_cond_vmap,
     .disconnected = "pred, key",
     EFFECT,
     .example = "sow_cond(1.5, True, tag='probe', name='x') -> 1.5"},
};
const OpList ops_control_effect = LIST_OF(table);
