/* Parses the texts `in`, `props` and `out` of an op's row. Parsing stops at the first
 * error. */
#include "op/op_impl.h"

#include <stdio.h>
#include <string.h>

typedef struct SignatureCursor {
    Session *s;
    Arena *a;
    const Op *op;
    const char *p; /* the rest of the current part, blanks trimmed */
    SignatureError *error;
} SignatureCursor;

/* After an error, parsing functions return usable but meaningless values. */
static bool fail_signature(SignatureCursor *c, const char *what) {
    if (!c->error->what) {
        c->error->what = what;
        c->error->rest = c->p;
    }
    c->p = "";
    return false;
}

static void skip_row_blanks(SignatureCursor *c) {
    c->p += strspn(c->p, " \t\n");
}

static bool eat_char(SignatureCursor *c, char ch) {
    skip_row_blanks(c);
    if (*c->p != ch) return false;
    c->p++;
    skip_row_blanks(c);
    return true;
}

static size_t word_length(const char *p) {
    size_t n = 0;
    while (ascii_is_letter(p[n]) || (n > 0 && ascii_is_digit(p[n])))
        n++;
    return n;
}

static Sym parse_param_name(SignatureCursor *c) {
    size_t n = word_length(c->p);
    if (n == 0) return fail_signature(c, "a name is missing");
    Sym y = sym_n(c->s, c->p, n);
    c->p += n;
    skip_row_blanks(c);
    return y;
}

/* The index of the next word in a list of words; consumes the word. */
static int match_word(SignatureCursor *c, const char *const *list, int n) {
    size_t len = word_length(c->p);
    for (int i = 0; i < n; i++) {
        if (strlen(list[i]) != len || memcmp(list[i], c->p, len) != 0) continue;
        c->p += len;
        skip_row_blanks(c);
        return i;
    }
    return fail_signature(c, "an unknown kind");
}

/* ---- inputs ---- */

static void parse_param(SignatureCursor *c, Param *p) {
    static const char *const kinds[] = {"tensor", "ints",  "int",  "bool", "any",
                                        "sparse", "array", "list", "item"};
    p->rest = eat_char(c, '*');
    p->name = parse_param_name(c);
    p->optional = eat_char(c, '?');
    if (eat_char(c, ':')) p->kind = (ParamKind)match_word(c, kinds, 9);
    p->optional |= eat_char(c, '?');
    if (eat_char(c, '=')) {
        if (*c->p == '\0') fail_signature(c, "a default is missing");
        p->value = c->p;
    } else if (*c->p) {
        fail_signature(c, "too much");
    }
}

static void begin_part(SignatureCursor *c, SignaturePart part, size_t i,
                       const char *text) {
    if (c->error->what) return;
    c->error->part = part;
    c->error->index = i;
    c->p = text;
}

/* Names the inputs of an op that states only their types: x, or x1, x2, ... */
static void number_inputs(SignatureCursor *c, Signature *sig) {
    char **part = NULL, name[24];
    size_t n = str_split(c->a, op_rare(c->op)->itypes, ',', &part);
    Param *param = NEW_N(c->a, n, Param);
    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, n == 1 ? "x" : "x%zu", i + 1);
        param[i] = (Param){.name = sym(c->s, name), .kind = IN_ANY};
    }
    sig->in = param;
    sig->nin = sig->min_in = sig->least = n;
}

static void parse_inputs(SignatureCursor *c, Signature *sig) {
    char **part = NULL;
    if (!c->op->in && op_rare(c->op)->itypes) {
        number_inputs(c, sig);
        return;
    }
    size_t n = c->op->in ? str_split(c->a, c->op->in, ',', &part) : 0;
    Param *param = NEW_N(c->a, n, Param);
    for (size_t i = 0; i < n && !c->error->what; i++) {
        begin_part(c, SIGNATURE_IN, i, part[i]);
        parse_param(c, &param[i]);
        bool must = !param[i].optional && !param[i].value && !param[i].rest;
        if (must && sig->min_in != i)
            fail_signature(c, "an input that must be given after one that need not");
        if (i > 0 && param[i - 1].rest && !param[i].rest)
            fail_signature(c, "a rest parameter that is not the last");
        sig->nrest += param[i].rest;
        sig->min_in += must;
        if (must || param[i].value) sig->least = i + 1;
        for (size_t k = 0; k < i; k++)
            if (param[k].name == param[i].name) fail_signature(c, "an input twice");
    }
    sig->in = param;
    sig->nin = n;
}

/* ---- props ---- */

static int64_t parse_integer(SignatureCursor *c) {
    bool minus = eat_char(c, '-'), overflow = false;
    uint64_t v;
    size_t n = num_read_uint(c->p, strlen(c->p), &v, &overflow);
    if (n == 0 || overflow || v > INT64_MAX)
        return fail_signature(c, "an integer is missing");
    c->p += n;
    skip_row_blanks(c);
    return minus ? -(int64_t)v : (int64_t)v;
}

static Prop parse_int_list(SignatureCursor *c) {
    Vec(int64_t) v = {0};
    char end = *c->p == '[' ? ']' : ')';
    if (!eat_char(c, '(') && !eat_char(c, '[')) {
        vec_push(c->s, &v, parse_integer(c));
    } else {
        while (!eat_char(c, end) && !c->error->what) {
            vec_push(c->s, &v, parse_integer(c));
            eat_char(c, ',');
        }
    }
    int64_t *own = v.n ? arena_copy(c->a, v.p, v.n * sizeof *v.p) : NULL;
    Prop p = PROP_INTS(own, v.n);
    vec_free(&v);
    return p;
}

static Prop parse_string_value(SignatureCursor *c) {
    char quote = *c->p;
    const char *end = quote == '\'' || quote == '"' ? strchr(c->p + 1, quote) : NULL;
    if (!end) return fail_signature(c, "a string is missing"), PROP_STR(0);
    Sym y = sym_n(c->s, c->p + 1, (size_t)(end - c->p - 1));
    c->p = end + 1;
    return PROP_STR(y);
}

static Prop parse_float_value(SignatureCursor *c) {
    bool minus = eat_char(c, '-');
    double v;
    size_t n = num_read_float(c->p, strlen(c->p), FLOAT64, &v);
    if (n == 0)
        return fail_signature(c, "a number is missing"), (Prop){.kind = P_FLOAT};
    c->p += n;
    return (Prop){.kind = P_FLOAT, .f = minus ? -v : v};
}

static Prop parse_dtype_value(SignatureCursor *c) {
    size_t n = word_length(c->p);
    DType d = dtype_find(c->p, n);
    if (d == DT_NONE)
        fail_signature(c, "a dtype is missing");
    else
        c->p += n;
    return PROP_DTYPE(d);
}

static Prop parse_prop_default(SignatureCursor *c, PropType type) {
    static const char *const truth[] = {"False", "True"};
    if (word_length(c->p) == 4 && memcmp(c->p, "None", 4) == 0) {
        c->p += 4;
        return (Prop){.kind = P_NONE};
    }
    switch (type) {
    case T_BOOL:
        return PROP_BOOL(match_word(c, truth, 2));
    case T_INT:
    case T_AXIS:
        return PROP_INT(parse_integer(c));
    case T_FLOAT:
        return parse_float_value(c);
    case T_STR:
        return parse_string_value(c);
    case T_DTYPE:
        return parse_dtype_value(c);
    case T_INTS:
    case T_AXES:
        return parse_int_list(c);
    case T_SIDES:
        return *c->p == '\'' ? parse_string_value(c) : parse_int_list(c);
    case T_KEY:
        return *c->p == '\'' ? parse_string_value(c) : parse_float_value(c);
    case T_GRAPH:
        break;
    }
    fail_signature(c, "a function has no default but None");
    return (Prop){.kind = P_NONE};
}

static void parse_prop(SignatureCursor *c, PropDef *d) {
    static const char *const types[] = {"bool", "int",  "float", "str", "dtype", "ints",
                                        "axes", "axis", "graph", "key", "sides"};
    d->name = parse_param_name(c);
    d->text = sym_text(c->s, d->name);
    if (!eat_char(c, ':')) fail_signature(c, "a kind is missing");
    d->type = (PropType)match_word(c, types, sizeof types / sizeof *types);
    d->none = eat_char(c, '?') || d->type == T_AXES;
    d->required = !eat_char(c, '=');
    if (!d->required) d->value = parse_prop_default(c, d->type);
    if (d->value.kind == P_NONE && !d->required) d->none = true;
    skip_row_blanks(c);
    if (*c->p) fail_signature(c, "too much");
}

static void parse_props(SignatureCursor *c, Signature *sig) {
    char **part = NULL;
    size_t n = c->op->props ? str_split(c->a, c->op->props, ',', &part) : 0;
    PropDef *def = NEW_N(c->a, n, PropDef);
    for (size_t i = 0; i < n && !c->error->what; i++) {
        begin_part(c, SIGNATURE_PROPS, i, part[i]);
        parse_prop(c, &def[i]);
        for (size_t k = 0; k < i; k++)
            if (def[k].name == def[i].name) fail_signature(c, "a prop twice");
    }
    sig->prop = def;
    sig->nprop = n;
}

static void number_outputs(SignatureCursor *c, Signature *sig) {
    char **part = NULL, name[24];
    size_t n = str_split(c->a, op_rare(c->op)->otypes, ',', &part);
    Sym *out = NEW_N(c->a, n, Sym);
    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, n == 1 ? "r" : "r%zu", i + 1);
        out[i] = sym(c->s, name);
    }
    sig->out = out;
    sig->nout = n;
}

static void parse_outputs(SignatureCursor *c, Signature *sig) {
    char **part = NULL;
    if (!c->op->out && op_rare(c->op)->otypes) {
        number_outputs(c, sig);
        return;
    }
    size_t n = str_split(c->a, c->op->out ? c->op->out : "r", ',', &part);
    Sym *out = NEW_N(c->a, n, Sym);
    for (size_t i = 0; i < n && !c->error->what; i++) {
        begin_part(c, SIGNATURE_OUT, i, part[i]);
        out[i] = parse_param_name(c);
        if (*c->p) fail_signature(c, "too much");
        for (size_t k = 0; k < i; k++)
            if (out[k] == out[i]) fail_signature(c, "an output twice");
    }
    sig->out = out;
    sig->nout = n;
}

const Signature *signature_parse(Session *s, Arena *a, const Op *op,
                                 SignatureError *error) {
    *error = (SignatureError){0};
    SignatureCursor c = {s, a, op, "", error};
    Signature *sig = NEW(a, Signature);
    parse_inputs(&c, sig);
    parse_props(&c, sig);
    parse_outputs(&c, sig);
    Prop *value = NEW_N(a, sig->nprop, Prop);
    for (size_t i = 0; i < sig->nprop; i++)
        value[i] = sig->prop[i].value;
    sig->defaults = props_intern(s, sig->nprop, value);
    return sig;
}

const Param *signature_param(const Signature *sig, size_t i) {
    size_t fixed = signature_fixed(sig);
    if (i < fixed) return &sig->in[i];
    if (sig->nrest == 0) bug("no parameter takes input %zu", i);
    return &sig->in[sig->nin - 1];
}

size_t signature_list_of(const Signature *sig, size_t nin, size_t i) {
    size_t each = (nin - signature_fixed(sig)) / sig->nrest;
    return each ? (i - signature_fixed(sig)) / each : 0;
}

const char *signature_input_text(Session *s, const Op *op, size_t nin, size_t i) {
    const Signature *sig = op_signature(s, op);
    size_t fixed = signature_fixed(sig), at = i;
    if (i >= fixed && sig->nrest) at = fixed + signature_list_of(sig, nin, i);
    if (at >= sig->nin) return arena_printf(session_arena(s), "%zu", i);
    const char *name = sym_text(s, sig->in[at].name);
    size_t each = sig->nrest ? (nin - fixed) / sig->nrest : 0;
    return sig->in[at].rest ? arena_printf(session_arena(s), "%s[%zu]", name,
                                           (i - fixed) % (each ? each : 1))
                            : name;
}
