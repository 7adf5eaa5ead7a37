/* Calls that are nearly right: each number in a row's text and each size of its inputs
 * is replaced by others, extreme ones among them. Whatever happens, it is a result of
 * the inferred type or exactly one error with a message. */
#include "gen.h"

enum { MEMORY = 1 << 26 };

static void check_type(Case *c, const Value *v) {
    const Type *type = var_type(c->g, c->out);
    if (type->kind != TYPE_TENSOR) return;
    bool fits = v->t.dtype == type->dtype && v->t.ndim == type->ndim;
    for (int k = 0; fits && k < v->t.ndim; k++)
        fits = dim_holds(c->s, type->dim[k], v->t.shape[k]);
    CHECK(fits, "%s of %s: the result is no %s", c->row->text, c->row->in,
          type_str(c->s, type));
}

/* Builds and runs; false: it did not type. */
static bool attempt(Case *c, bool known, const char *how) {
    Value v = {0};
    bool types = case_build(c, known), ok = types;
    if (types) {
        Job j;
        case_tensors(c, 0);
        ok = job_open(&j, c, 1, &c->out, false) && job_run(&j, c);
        if (ok) value_copy_view(&v, vm_output(j.m, 0));
        job_close(&j);
    }
    if (ok) check_type(c, &v);
    size_t errors = 0;
    for (size_t i = 0; i < diag_count(c->s); i++)
        errors += diag_get(c->s, i)->severity == DIAG_ERROR;
    CHECK(errors == (ok ? 0u : 1u), "%s of %s, %s: %zu errors, and it %s", c->row->text,
          c->row->in, how, errors, ok ? "works" : "fails");
    CHECK(ok || (errors && strlen(why(c->s)) > 10), "%s of %s, %s: says \"%s\"",
          c->row->text, c->row->in, how, why(c->s));
    value_unref(&v);
    return types;
}

static void attempt_text(Session *s, const Sample *row, const char *text) {
    Sample other = {row->op, text, row->in, row->flags};
    for (int k = 0; k < 3; k++) {
        Case c = case_of(s, &other, k == 1 ? DT_INT64 : DT_FLOAT64);
        attempt(&c, k < 2, k < 2 ? "sizes known" : "sizes unknown");
        case_close(&c);
    }
}

/* ---- numbers of the text ---- */
static void test_numbers(Session *s, const Sample *row) {
    static const char *const others[] = {"0",
                                         "1",
                                         "-1",
                                         "7",
                                         "-7",
                                         "0.5",
                                         "'x'",
                                         "None",
                                         "[]",
                                         "[0, 0]",
                                         "9223372036854775807",
                                         "-9223372036854775807"};
    for (const char *p = row->text; *p; p++) {
        bool starts = isdigit((unsigned char)*p) && p > row->text &&
                      !isalnum((unsigned char)p[-1]) && p[-1] != '_' && p[-1] != '.';
        if (!starts) continue;
        size_t n = strspn(p, "0123456789.");
        bool minus = p[-1] == '-';
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            attempt_text(s, row,
                         arena_printf(session_arena(s), "%.*s%s%s",
                                      (int)(p - row->text - minus), row->text,
                                      others[i], p + n));
        p += n - 1;
    }
}

/* ---- sizes of the inputs ---- */
static void test_sizes(Session *s, const Sample *row) {
    static const int64_t others[] = {0, 1, 2, 3, 5};
    Case shape = case_of(s, row, DT_FLOAT64);
    for (size_t i = 0; i < shape.nin; i++)
        for (int k = 0; k < shape.spec[i].ndim; k++)
            for (size_t o = 0; o < 2 * sizeof others / sizeof *others; o++) {
                Case c = case_of(s, row, DT_FLOAT64);
                c.spec[i].shape[k] = others[o / 2];
                attempt(&c, o % 2, "another size");
                case_close(&c);
            }
}

/* One dim less or more in front. */
static void test_ranks(Session *s, const Sample *row) {
    Case shape = case_of(s, row, DT_FLOAT64);
    for (size_t i = 0; i < shape.nin; i++)
        for (int more = 0; more < 4; more++) {
            Case c = case_of(s, row, DT_FLOAT64);
            Spec *q = &c.spec[i];
            if (more / 2) {
                memmove(q->shape + 1, q->shape, (size_t)q->ndim * sizeof *q->shape);
                q->shape[0] = 2;
                q->ndim++;
            } else if (q->ndim > 0) {
                q->ndim--;
            }
            attempt(&c, more % 2, "another rank");
            case_close(&c);
        }
}

/* Inputs of kinds that the op may not take. */
static void test_kinds(Session *s, const Sample *row) {
    static const char kinds[] = "bir";
    Case shape = case_of(s, row, DT_FLOAT64);
    for (size_t i = 0; i < shape.nin; i++)
        for (const char *p = kinds; *p; p++) {
            Case c = case_of(s, row, DT_FLOAT64);
            c.spec[i].kind = *p;
            c.spec[i].limit = 9;
            attempt(&c, true, "another kind");
            case_close(&c);
        }
}

static void test_row(Session *s, const Sample *row) {
    session_options(s)->max_memory = MEMORY;
    test_numbers(s, row);
    test_sizes(s, row);
    test_ranks(s, row);
    test_kinds(s, row);
}

int main(int argc, char **argv) {
    return rows_test(argc, argv, 1, test_row, "prop ops_misuse");
}
