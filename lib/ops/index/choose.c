/* Choices among several tensors by element, lexsort and fill_diagonal: chains of
 * simpler ops, as long as the list of inputs. */
#include "op/build.h"

#include <math.h>
#include <string.h>

/* A text in up to three variables and the op's props. */
static Var chain_text(Builder *b, const Op *op, const Props *p, const char *text,
                      const Var v[3]) {
    Bind bind[3] = {
        {sym(b->s, "a"), v[0]}, {sym(b->s, "x"), v[1]}, {sym(b->s, "r"), v[2]}};
    Env env = {.n = 3, .bind = bind, .op = op, .props = p};
    bool ok = true;
    Var r = template_build(b, text, &env, &ok);
    return ok ? r : VAR_NONE;
}

static bool select_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                          const Var *in, Var *out) {
    size_t n = nin / 2;
    if (n == 0)
        return fail(b->s, b->from.at, E_ARITY, "select: there are no conditions");
    double d = op_prop(b->s, op, p, "default")->f;
    Str text = STR(b->s); /* a whole number is written so: it makes no floats */
    if (d == trunc(d) && fabs(d) < 1e15) str_printf(&text, "where(a, x, %.0f)", d);
    const char *last =
        text.n ? sym_text(b->s, sym(b->s, str_text(&text))) : "where(a, x, default)";
    str_free(&text);
    Var r = VAR_NONE;
    for (size_t i = n; i-- > 0;) {
        Var v[3] = {in[i], in[n + i], i + 1 == n ? in[n + i] : r};
        r = chain_text(b, op, p, i + 1 == n ? last : "where(a, x, r)", v);
        if (r == VAR_NONE) return false;
    }
    return *out = r, true;
}

/* The index, of which the mode makes a number of a choice. */
static Var choice_index(Builder *b, const Op *op, const Props *p, size_t n, Var a) {
    const char *mode = sym_text(b->s, op_prop(b->s, op, p, "mode")->sym);
    Var v[3] = {a, const_int(b, (int64_t)n), a};
    const char *text = strcmp(mode, "wrap") == 0   ? "a % x"
                       : strcmp(mode, "clip") == 0 ? "clip(a, 0, x - 1)"
                       : strcmp(mode, "raise") == 0
                           ? "require(a, all((a >= 0) & (a < x)), msg='there is no "
                             "choice of that number')"
                           : NULL;
    if (text) return chain_text(b, op, p, text, v);
    fail(b->s, b->from.at, E_ARG,
         "choose: mode must be 'raise', 'wrap' or 'clip', not '%s'", mode);
    return VAR_NONE;
}

static bool choose_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                          const Var *in, Var *out) {
    DType d = var_type(b->g, in[0])->dtype;
    if (d != DT_BOOL && !dtype_is_integer(d))
        return fail(b->s, b->from.at, E_DTYPE, "choose: a must be integers, not %s",
                    dtype_name(d));
    if (nin < 2) return fail(b->s, b->from.at, E_ARITY, "choose: there are no choices");
    Var a = choice_index(b, op, p, nin - 1, op_cast_to(b, in[0], DT_INT64)),
        r = in[nin - 1];
    if (a == VAR_NONE) return false;
    Var whole[3] = {a, r, r}; /* of a's shape if that is larger */
    r = chain_text(b, op, p, "where(a == a, x, r)", whole);
    for (size_t i = nin - 2; i > 0 && r != VAR_NONE; i--) {
        Var is = op_call2(b, "equal", a, const_int(b, (int64_t)i - 1));
        r = op_call3(b, "where", is, in[i], r);
    }
    return (*out = r) != VAR_NONE;
}

/* Of a matrix, each shape[1] + 1 elements, as if the rows were one line. */
static bool fill_wrapped(Builder *b, const Op *op, const Props *p, const Var *in,
                         Var *out) {
    static const char *const text[] = {
        "arange((x.size + x.shape[1]) // (x.shape[1] + 1)) * (x.shape[1] + 1)",
        "a // x.shape[1]", "a % x.shape[1]"};
    Var v[3] = {in[0], in[0], in[0]}, at[3];
    for (size_t i = 0; i < 3; i++) {
        at[i] = chain_text(b, op, p, text[i], v);
        if (at[i] == VAR_NONE) return false;
        if (i == 0) v[0] = at[0];
    }
    Var args[4] = {in[0], in[1], at[1], at[2]};
    PropArg arg = {"index", PROP_STR(sym(b->s, "$, $"))};
    return (*out = apply_named(b, "set_subtensor", 4, args, 1, &arg)) != VAR_NONE;
}

static bool fill_diagonal_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                                 const Var *in, Var *out) {
    (void)nin;
    const Type *x = var_type(b->g, in[0]);
    if (x->ndim == 2 && prop_bool(b->s, op, p, "wrap"))
        return fill_wrapped(b, op, p, in, out);
    if (x->ndim < 2)
        return fail(b->s, b->from.at, E_SHAPE,
                    "%s: x must have at least 2 dims, not %d", op->name, x->ndim);
    Var args[2 + MAX_NDIM] = {in[0], in[1]}, n = shape_of(b, in[0], 0);
    for (int k = 1; k < x->ndim && n != VAR_NONE; k++) {
        if (x->ndim > 2 && !dim_may_equal(x->dim[0], x->dim[k]))
            return fail(
                b->s, b->from.at, E_SHAPE,
                "%s: all dims must be equal, if there are more than 2, but they "
                "are %lld and %lld",
                op->name, (long long)x->dim[0], (long long)x->dim[k]);
        if (x->dim[k] == x->dim[0] && x->dim[k] != DIM_UNKNOWN) continue;
        n = op_call2(b, "minimum", n, shape_of(b, in[0], k));
    }
    if (n != VAR_NONE && x->ndim == 2 && dim_is_known(x->dim[0]) &&
        dim_is_known(x->dim[1]))
        n = const_int(b, x->dim[0] < x->dim[1] ? x->dim[0] : x->dim[1]);
    Str text = STR(b->s);
    for (int k = 0; k < x->ndim; k++) {
        str_puts(&text, k ? ", $" : "$");
        args[2 + k] = k ? args[2] : op_call1(b, "arange", n);
    }
    PropArg arg = {"index", PROP_STR(sym(b->s, str_text(&text)))};
    str_free(&text);
    *out = apply_named(b, "set_subtensor", 2 + (size_t)x->ndim, args, 1, &arg);
    return *out != VAR_NONE;
}

/* Key i: an input, or a row of the only one. */
static Var key_at(Builder *b, size_t nin, const Var *in, bool rows, size_t i) {
    if (!rows) return i < nin ? in[i] : VAR_NONE;
    Var of[2] = {in[0], const_int(b, (int64_t)i)};
    PropArg arg = {"index", PROP_STR(sym(b->s, "$"))};
    return apply_named(b, "subtensor", 2, of, 1, &arg);
}

/* Sorts by each key, stably, the most important one last. */
static bool lexsort_expand(Builder *b, const Op *op, const Props *p, size_t nin,
                           const Var *in, Var *out) {
    const Type *t = nin ? var_type(b->g, in[0]) : NULL;
    bool rows = nin == 1 && t->ndim > 1;
    if (rows && !dim_is_known(t->dim[0]))
        return fail(b->s, b->from.at, E_SHAPE,
                    "lexsort: the number of keys must be known: give a list of them");
    size_t n = rows ? (size_t)t->dim[0] : nin;
    Var order = VAR_NONE;
    if (n == 0) return fail(b->s, b->from.at, E_ARITY, "lexsort: there are no keys");
    for (size_t i = 0; i < n; i++) {
        Var key = key_at(b, nin, in, rows, i), v[3] = {key, key, i ? order : key};
        const char *text = i == 0 ? "argsort(x, axis=axis)"
                                  : "take_along_axis(r, argsort(take_along_axis(x, r, "
                                    "axis=axis), axis=axis), axis=axis)";
        if (key == VAR_NONE) return false;
        order = chain_text(b, op, p, text, v);
        if (order == VAR_NONE) return false;
    }
    return *out = order, true;
}

static const Op table[] = {
    {.name = OP_ROW("select"),
     .doc =
         "By element, the choice of the first condition that holds, default where none "
         "does. A last condition True has an array for all other elements: "
         "select([x < 0, x > 9, True], [0, 9, x]).",
     .in = "*conditions, *choices",
     .props = "default: float = 0",
     .expand = select_expand,
     .example =
         "select([[True, False, False], [True, True, False]], [[1, 2, 3], [4, 5, "
         "6]], default=9) -> [1, 5, 9]"},
    {.name = OP_ROW("choose"),
     .doc =
         "By element, the choice whose number a has: choose(a, [x, y, z]). Numbers out "
         "of range are an error, with mode='wrap' they wrap around, with 'clip' they "
         "are the first or last.",
     .in = "a, *choices",
     .props = "mode: str = 'raise'",
     .expand = choose_expand,
     .disconnected = "a",
     .example = "choose([1, 0, 1], [[1, 2, 3], [4, 5, 6]]) -> [4, 2, 6]"},
    {.name = OP_ROW("fill_diagonal"),
     .doc = "x with value on its main diagonal, a number or a vector as long; NumPy's, "
            "but "
            "x itself is not changed. More than two dims must be equal. wrap begins "
            "anew below a tall matrix's diagonal, after a row without.",
     .in = "x, value",
     .props = "wrap: bool = False",
     .expand = fill_diagonal_expand,
     .example =
         "fill_diagonal([[1, 2], [3, 4], [5, 6]], 0) -> [[0, 2], [3, 0], [5, 6]]"},
    {.name = OP_ROW("lexsort"),
     .doc =
         "Positions of elements sorted by several keys, of which the last counts most, "
         "the one before it among equal ones, and so on; as argsort along axis. The "
         "keys are a list, or the rows of a matrix.",
     .in = "*keys",
     .props = "axis: axis = -1",
     .expand = lexsort_expand,
     .example = "lexsort([[9, 1, 5], [2, 7, 2]]) -> [2, 0, 1]"},
};
const OpList ops_index_choose = LIST_OF(table);
