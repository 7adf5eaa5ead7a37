/* Random graph files and expressions as texts: inputs with values, calls of ops and
 * macros with arguments as their rows declare them, other forms of the language.
 * Whether a text types is for the caller to try. */
#ifndef TORTURE_TEXT_H
#define TORTURE_TEXT_H

#include "../prop/gen.h"
#include "lang/macro.h"
#include "tools/random_inputs.h"

enum { POOL = 96, TRIES = 40, LINE = 1600 };
typedef struct Named {
    char name[8];
    Var var;
} Named;
typedef struct Making {
    Session *s;
    Graph *g;
    Builder b;
    Compiler *c;
    uint64_t state;
    Named pool[POOL];
    size_t npool, nleaf;
    unsigned *uses; /* by op, of all graphs */
    int depth;
    Str head, lines, values;
    Trial at, near;
} Making;

static uint32_t below(Making *m, size_t n) {
    m->state += UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(mix(m->state) % n);
}
static bool chance(Making *m, unsigned percent) {
    return below(m, 100) < percent;
}
#define PICK(m, list) ((list)[below(m, sizeof(list) / sizeof *(list))])

/* ---- the interface: inputs with their values, shared variables, functions ---- */

/* Sizes of n, m and k, and what an unknown dim is. */
static const struct {
    const char *text;
    int size;
} dims[] = {{"3", 3}, {"4", 4}, {"2", 2}, {"1", 1}, {"n", 3}, {"n", 3},
            {"m", 4}, {"k", 2}, {"?", 3}, {"?", 1}, {"?", 4}};

static const char *const dtypes[] = {
    "float64", "float64", "float64", "float64", "float32",    "float32",
    "float32", "float16", "int64",   "int64",   "int32",      "int8",
    "uint8",   "uint64",  "bool",    "bool",    "complex128", "complex64"};

/* A value for a dtype and a shape such as "(3, 4)". */
static void put_draw(Making *m, Str *out, const char *dtype, const char *shape) {
    unsigned seed = below(m, 1000);
    if (strncmp(dtype, "float", 5) == 0)
        str_printf(out, "normal(%s, 1, %s, seed=%u)",
                   PICK(m, ((const char *[]){"0", "0", "2", "-1"})), shape, seed);
    else if (strncmp(dtype, "complex", 7) == 0)
        str_printf(out, "normal(0, 1, %s, seed=%u) + 1j * normal(0, 1, %s, seed=%u)",
                   shape, seed, shape, seed + 1);
    else if (strcmp(dtype, "bool") == 0)
        str_printf(out, "integers(0, 2, %s, seed=%u) > 0", shape, seed);
    else
        str_printf(out, "integers(%s, 4, %s, seed=%u)",
                   dtype[0] == 'u' ? "0" : PICK(m, ((const char *[]){"0", "1", "-3"})),
                   shape, seed);
}

/* "3, n" as a type has it, and "(3, 3)" as a value. */
static void put_shape(Making *m, unsigned ndim, Str *type, Str *size) {
    str_puts(size, "(");
    unsigned first = below(m, sizeof dims / sizeof *dims);
    for (unsigned i = 0; i < ndim; i++) {
        unsigned k = i && chance(m, 60) ? first : below(m, sizeof dims / sizeof *dims);
        if (i == 0) k = first;
        str_printf(type, "%s%s", i ? ", " : "", dims[k].text);
        str_printf(size, "%d,%s", dims[k].size, i + 1 < ndim ? " " : "");
    }
    str_puts(size, ")");
}

static void put_input(Making *m, unsigned i) {
    Str shape = STR(m->s), size = STR(m->s), draw = STR(m->s);
    const char *d = i == 0 ? dtypes[below(m, 6)] : PICK(m, dtypes);
    unsigned what = i == 0 ? 0 : below(m, 24), ndim = what < 2 ? 2
                                                      : i == 0 ? 1 + below(m, 2)
                                                      : below(m, 10) < 9 ? below(m, 4)
                                                                         : 4;
    bool sparse = what == 1 && strcmp(d, "bool") != 0 && strcmp(d, "float16") != 0;
    put_shape(m, ndim, &shape, &size);
    if (what == 22 && ndim == 0) what = 2;
    put_draw(m, &draw, d, str_text(&size));
    if (what == 23) {
        str_printf(&m->head, "  x%u: random\n", i);
        str_printf(&m->values, "x%u=rng(%u)\n", i, below(m, 100));
    } else if (sparse) {
        const char *format = chance(m, 50) ? "csr" : "csc";
        str_printf(&m->head, "  x%u: \"sparse('%s', %s[%s])\"\n", i, format, d,
                   str_text(&shape));
        str_printf(&m->values, "x%u=%s_from_dense(cast(%s, '%s'))\n", i, format,
                   str_text(&draw), d);
    } else if (what == 22) {
        str_printf(&m->head, "  x%u: \"list(%s[%s])\"\n", i, d, str_text(&shape));
        str_printf(&m->values, "x%u=[cast(%s, '%s'), cast(%s, '%s')]\n", i,
                   str_text(&draw), d, str_text(&draw), d);
    } else {
        str_printf(&m->head, ndim ? "  x%u: \"%s[%s]\"\n" : "  x%u: %s\n", i, d,
                   str_text(&shape));
        str_printf(&m->values, "x%u=cast(%s, '%s')\n", i, str_text(&draw), d);
    }
    str_free(&shape);
    str_free(&size);
    str_free(&draw);
}

static void put_head(Making *m) {
    static const char *const shared[] = {
        "W: 'float64[3, 3] = normal(0, 1, (3, 3), seed=2)'",
        "W: 'float32[4] = [1, 2, -3, 4]'", "W: 'float64[?] = [0.5, 1, 2]'",
        "W: 'int64 = 2'", "W: 'float64[n, 4] = normal(0, 1, (3, 4), seed=4)'"};
    static const char *const functions[] = {
        "f: {inputs: {a: 'float64[?]'}, outputs: {r: 'tanh(a) * 2'}}",
        "f: {inputs: {a: float64, b: float64}, outputs: {r: 'a * b + 1', q: 'sin(a)'}}",
        ("f: {inputs: {a: 'float64[k, k]'}, let: {h: 'sow(a @ a, tag=\"t\", "
         "name=\"h\")'}, outputs: {r: 'h - a.T'}}"),
        "f: {inputs: {a: float64, h: float64}, outputs: {r: 'a + 0.5 * h'}}"};
    str_printf(&m->head, "thunkline: 1\n%s", chance(m, 25) ? "floatX: float32\n" : "");
    if (chance(m, 40)) str_printf(&m->head, "functions:\n  %s\n", PICK(m, functions));
    str_puts(&m->head, "inputs:\n");
    unsigned n = 2 + below(m, 4);
    for (unsigned i = 0; i < n; i++)
        put_input(m, i);
    if (chance(m, 40)) str_printf(&m->head, "shared:\n  %s\n", PICK(m, shared));
}

/* ---- expressions, as texts ---- */

static void put_expr(Making *m, Str *out);

static void put_var(Making *m, Str *out) {
    size_t recent = m->npool > m->nleaf && chance(m, 50) ? m->npool - m->nleaf : 0;
    size_t i = recent ? m->nleaf + below(m, recent) : below(m, m->npool);
    str_puts(out, m->pool[i].name);
}

static void put_of_kind(Making *m, Str *out, TypeKind kind) {
    size_t start = below(m, m->npool);
    for (size_t i = 0; i < m->npool; i++) {
        const Named *x = &m->pool[(start + i) % m->npool];
        if (var_type(m->g, x->var)->kind == kind) {
            str_puts(out, x->name);
            return;
        }
    }
    put_var(m, out);
}

static void put_int(Making *m, Str *out) {
    str_printf(out, "%d", (int)below(m, 6) - 1);
}

static void put_ints(Making *m, Str *out) {
    unsigned n = 1 + below(m, 3);
    str_putc(out, '(');
    for (unsigned i = 0; i < n; i++)
        str_printf(
            out, "%s, ",
            PICK(m, ((const char *[]){"3", "4", "2", "1", "0", "-1", "12", "6"})));
    str_putc(out, ')');
}

static void put_tensor(Making *m, Str *out) {
    if (m->depth < 2 && chance(m, 12))
        put_expr(m, out);
    else if (chance(m, 8))
        str_puts(out, PICK(m, ((const char *[]){"2", "0.5", "1", "-1.5", "0",
                                                "[1, 2, 3]", "[[1., 2.], [3., 5.]]",
                                                "True", "pi", "1j", "sqrt(2.)"})));
    else
        put_of_kind(m, out, TYPE_TENSOR);
}

static void put_lambda(Making *m, Str *out) {
    static const char *const bodies[] = {"lambda p: p * 2",
                                         "lambda p, q: p + q",
                                         "lambda p, q: p * 0.5 + q",
                                         "lambda p: tanh(p)",
                                         "lambda p: sum(p)",
                                         "lambda p, q: (p + q, q)",
                                         "lambda p: p",
                                         "lambda p, q, r: p + q * r",
                                         "lambda p: sow(p * p, tag='t', name='s')",
                                         "f"};
    if (chance(m, 60) || m->depth > 1) {
        str_puts(out, PICK(m, bodies));
        return;
    }
    str_puts(out,
             PICK(m, ((const char *[]){"lambda p: p + ", "lambda p, q: p + q * "})));
    put_expr(m, out);
}

static void put_list(Making *m, Str *out) {
    unsigned n = 1 + below(m, 3);
    const char *same = m->pool[below(m, m->npool)].name;
    bool alike = chance(m, 50);
    str_putc(out, '[');
    for (unsigned i = 0; i < n; i++) {
        if (i) str_puts(out, ", ");
        if (alike)
            str_puts(out, same);
        else
            put_tensor(m, out);
    }
    str_putc(out, ']');
}

/* A word in quotes from what the op says of itself: the strings that its props take. */
static void put_word(Making *m, Str *out, const Op *op) {
    const char *from[] = {op->doc, op->example, op->props}, *found = "s";
    unsigned n = 0;
    size_t len = 1;
    for (size_t i = 0; i < 3; i++)
        for (const char *p = from[i]; p && (p = strchr(p, '\'')) != NULL;) {
            const char *e = strchr(p + 1, '\'');
            if (!e) break;
            if (e - p < 24 && below(m, ++n) == 0)
                found = p + 1, len = (size_t)(e - p - 1);
            p = e + 1;
        }
    str_printf(out, "'%.*s'", (int)len, found);
}

static void put_prop(Making *m, Str *out, const Op *op, const PropDef *p) {
    if (p->none && chance(m, 15)) {
        str_puts(out, "None");
        return;
    }
    switch (p->type) {
    case T_BOOL:
        str_puts(out, chance(m, 50) ? "True" : "False");
        return;
    case T_FLOAT:
        str_puts(out, PICK(m, ((const char *[]){"0.5", "1", "2.", "1e-3"})));
        return;
    case T_STR:
        put_word(m, out, op);
        return;
    case T_DTYPE:
        str_printf(out, "'%s'", PICK(m, dtypes));
        return;
    case T_INTS:
        put_ints(m, out);
        return;
    case T_SIDES:
        if (chance(m, 50))
            put_ints(m, out);
        else
            str_puts(out, PICK(m, ((const char *[]){"'valid'", "'same_upper'", "1",
                                                    "[(1, 0), (0, 1)]"})));
        return;
    case T_AXES:
        str_puts(out, PICK(m, ((const char *[]){"None", "0", "1", "-1", "(0, 1)",
                                                "(0,)", "(-1, 0)"})));
        return;
    case T_GRAPH:
        put_lambda(m, out);
        return;
    case T_KEY:
        str_puts(out, chance(m, 50) ? "'k'" : "1");
        return;
    case T_INT:
    case T_AXIS:
        put_int(m, out);
        return;
    }
}

static void put_argument(Making *m, Str *out, const Param *p) {
    if (p->rest && chance(m, 60)) {
        put_list(m, out);
        return;
    }
    switch (p->kind) {
    case IN_INTS:
        if (chance(m, 75))
            put_ints(m, out);
        else
            put_tensor(m, out);
        return;
    case IN_INT:
        if (chance(m, 75))
            put_int(m, out);
        else
            put_tensor(m, out);
        return;
    case IN_BOOL:
        if (chance(m, 50))
            str_puts(out, "True");
        else
            put_tensor(m, out);
        return;
    case IN_SPARSE:
        if (chance(m, 70)) {
            put_of_kind(m, out, TYPE_SPARSE);
            return;
        }
        str_puts(out, chance(m, 50) ? "csr_from_dense(" : "csc_from_dense(");
        put_tensor(m, out);
        str_putc(out, ')');
        return;
    case IN_LIST:
        if (chance(m, 60))
            put_of_kind(m, out, TYPE_LIST);
        else {
            str_puts(out, "make_list(");
            put_list(m, out);
            str_putc(out, ')');
        }
        return;
    case IN_ITEM:
    case IN_ANY:
        put_var(m, out);
        return;
    case IN_TENSOR:
    case IN_ARRAY:
        put_tensor(m, out);
        return;
    }
}

/* A call of an op with random arguments for what its row declares. */
static void put_op_call(Making *m, Str *out, const Op *op) {
    const Signature *sig = op_signature(m->s, op);
    const char *between = "";
    str_printf(out, "%s(", op->name);
    for (size_t i = 0; i < sig->nin; i++) {
        const Param *p = &sig->in[i];
        if ((p->optional || p->value) && chance(m, 50)) break;
        str_puts(out, between);
        put_argument(m, out, p);
        between = ", ";
    }
    for (size_t i = 0; i < sig->nprop; i++) {
        if (!sig->prop[i].required && chance(m, 65)) continue;
        str_printf(out, "%s%s=", between, sym_text(m->s, sig->prop[i].name));
        put_prop(m, out, op, &sig->prop[i]);
        between = ", ";
    }
    str_putc(out, ')');
    if (sig->nout > 1 && !op->default_output)
        str_printf(out, "[%u]", below(m, sig->nout));
}

/* An argument of a macro, by its name where that tells, else anything. */
static void put_macro_argument(Making *m, Str *out, const char *name) {
    if (strcmp(name, "seed") == 0)
        str_printf(out, "%u", below(m, 50));
    else if (strcmp(name, "size") == 0)
        put_ints(m, out);
    else if (strcmp(name, "fn") == 0)
        put_lambda(m, out);
    else if (strcmp(name, "rng") == 0)
        put_of_kind(m, out, TYPE_RANDOM);
    else if (strcmp(name, "dtype") == 0)
        str_printf(out, "'%s'", PICK(m, dtypes));
    else if (strstr(name, "outputs_info") || strstr(name, "sequences"))
        put_list(m, out);
    else if (strcmp(name, "cost") == 0) {
        str_puts(out, "sum(");
        put_tensor(m, out);
        str_putc(out, ')');
    } else if (chance(m, 70))
        put_tensor(m, out);
    else
        str_puts(out,
                 PICK(m, ((const char *[]){"1", "2", "0.5", "[0.2, 0.3, 0.5]", "3"})));
}

static void put_macro_call(Making *m, Str *out, const Macro *macro) {
    const char *between = "";
    str_printf(out, "%s(", macro->name);
    for (const char *p = macro->signature; *p;) {
        char name[64];
        const char *e = p + strcspn(p, ",");
        while (strchr("([", *p) == NULL && strchr(p, '[') && strchr(p, '[') < e &&
               e[0] && !memchr(p, ']', (size_t)(e - p)))
            e += 1 + strcspn(e + 1, ",");
        const char *eq = memchr(p, '=', (size_t)(e - p));
        snprintf(name, sizeof name, "%.*s", (int)((eq ? eq : e) - p), p);
        if (!eq || strcmp(name, "seed") == 0 || chance(m, 20)) {
            str_printf(out, eq ? "%s%s=" : "%s", between, name);
            put_macro_argument(m, out, name);
            between = ", ";
        }
        p = *e ? e + 1 : e;
        p += strspn(p, " ");
    }
    str_putc(out, ')');
}

/* What the language has beside calls; $ is a tensor, ~ any variable, # a whole number,
 * % a function. */
static const char *const forms[] = {
    "$ + $",
    "$ - $",
    "$ * $",
    "$ / $",
    "$ // $",
    "$ % $",
    "$ @ $",
    "$ ** 2",
    "-$",
    "$ < $",
    "$ == $",
    "$ & $",
    "$ | $",
    "~$",
    "$ ^ $",
    "$.T",
    "$.shape[0]",
    "$.size * $",
    "$[0]",
    "$[1:]",
    "$[::-1]",
    "$[..., 0]",
    "$[None, :]",
    "$[:, 1:3]",
    "$[[0, 1, 1]]",
    "$[$ > 0]",
    "$[:0:-1]",
    "$[#:#]",
    "$[::2]",
    "$[-1:]",
    "$.sum(axis=0)",
    "$[$]",
    "float32($)",
    "x0 + 1",
    "ifelse(sum($) > 0, $, $)",
    "ifelse(x0.ndim > 1, $ * 2, $)",
    "set_subtensor($[0], $)",
    "inc_subtensor($[1:], $)",
    "scan(lambda p, h: p + h, [$], [$])",
    "scan(lambda p, h: tanh(p) * h, [$], [$[0]])",
    "scan(lambda h: h * 0.5 + $, [], [$], [], 3)",
    "scan(lambda p, h: (h + p, until(sum(h) > 3)), [$], [$])",
    "map(lambda p: p * 2, $)",
    "map(%, $)",
    "reduce(lambda p, h: p + h, $, $)",
    "foldl(lambda p, h: maximum(p, h), $, $)",
    "scan(%, [$], [$])",
    "scan(%, [$, $], [$, None])",
    "filter(lambda p: sum(p) > 0, $)",
    "grad(sum($), x0)",
    "grad(sum(tanh($ * $)), $)",
    "jacobian($, x0)",
    "hvp(sum($ * $), x0, x0)",
    "jvp($, x0, x0)",
    "vjp($, x0, $)",
    "hessian(sum($ ** 2), x0)",
    "vectorize($, x0, stack([x0, x0 * 2]))",
    "sow($, tag='t', name='a')",
    "sow($, tag='t', name='b', mode='append')",
    "reap(%, tag='t')(x0)['s']",
    "call_and_reap(%, tag='t')(x0)[0]",
    "plant(%, tag='t')({'s': $}, x0)",
    "f($)",
    "f($, $)",
    "f(x0)",
    "f(f($))",
    "print($, msg='p')",
    "normal(0, 1, $.shape, seed=3)",
    "normal(size=(3,), rng=~)[0]",
    "normal(0, 1, (3, 4), rng=rng(3))",
    "make_list([$, $])",
    "list_append(~, $)",
    "list_get(~, 0)",
    "concatenate(~)",
    "stack([$, $])",
    "csr_from_dense($)",
    "dense_from_sparse(~)",
    "~ @ $",
    "~ * $",
    "where($ > 0, $, $)",
    "cholesky($ @ conj($.T) + 3 * eye(3))",
    "inv($ + 9 * eye(3))",
    "assert_op($, all($ == $))",
    "sum($ * log(abs($) + 1))",
    "softmax($, axis=-1) * $",
    "exp(-($ ** 2))",
    "x0 / sqrt(sum(x0 * x0) + 1)",
    "log1p(exp($))",
    "einsum('ij,jk->ik', $, $)",
    "einsum('i,i->', $, $)",
    "clip($, -1, 1)",
    "sum(where($ > 0, $, 0), axis=#)",
    "$ + (x0 * 0)",
    "maximum($, 0) * 2 + $"};

static void put_form(Making *m, Str *out, const char *form) {
    for (const char *p = form; *p; p++) {
        if (*p == '$')
            put_tensor(m, out);
        else if (*p == '~' && form[1] == ' ')
            put_var(m, out);
        else if (*p == '~' && p > form)
            put_var(m, out);
        else if (*p == '#')
            put_int(m, out);
        else if (*p == '%' && p > form && p[-1] == '(')
            put_lambda(m, out);
        else
            str_putc(out, *p);
    }
}

/* A call of tests/prop/rows.def, whose a, b and c become variables. */
static void put_row(Making *m, Str *out, const char *row) {
    char quote = 0;
    const char *of[3];
    for (size_t i = 0; i < 3; i++)
        of[i] = m->pool[below(m, m->npool)].name;
    for (const char *p = row; *p; p++) {
        bool in_word =
            p > row && (isalnum((unsigned char)p[-1]) || strchr("_.", p[-1]));
        bool word = isalnum((unsigned char)p[1]) || p[1] == '_' || p[1] == '=';
        if (*p == '\'') quote = quote ? 0 : '\'';
        if (!quote && !in_word && !word && *p >= 'a' && *p <= 'c')
            str_puts(out, of[*p - 'a']);
        else
            str_putc(out, *p);
    }
}

static size_t macro_count(void) {
    size_t n = 0;
    for (const MacroList *const *l = catalogue_macros; *l; l++)
        n += (*l)->n;
    return n;
}

static const Macro *macro_get(size_t i) {
    for (const MacroList *const *l = catalogue_macros; *l; l++) {
        if (i < (*l)->n) return &(*l)->macro[i];
        i -= (*l)->n;
    }
    return NULL;
}

static void put_expr(Making *m, Str *out) {
    unsigned kind = below(m, 100);
    m->depth++;
    if (kind < 45)
        put_op_call(m, out, op_get(m->s, below(m, op_count(m->s))));
    else if (kind < 65)
        put_form(m, out, PICK(m, forms));
    else if (kind < 85)
        put_row(m, out, PICK(m, fixed_rows).text);
    else
        put_macro_call(m, out, macro_get(below(m, macro_count())));
    m->depth--;
}

#endif
