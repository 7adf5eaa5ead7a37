/* A random graph in which everything is well typed and runs: graph SEED FOLDER writes
 * FOLDER/graph.yaml and FOLDER/values, a name=VALUE a line, the same for the same seed.
 * Ops and macros are asked for from the catalogue: arguments are tried until a call
 * types, its value is finite, and a small change of the inputs changes it little (so
 * that two ways to work it out agree). graph --ops SEEDS prints how often each op came
 * about. */
#include "text.h"
#include "value/class.h"

/* ---- what is kept ---- */

/* v, and the effects that came with it: nothing may read what an assert_op returns. */
static bool run_at(Making *m, Var v, size_t effects, const Trial *t, Value *out) {
    Vec(Var) want = {0};
    vec_push(m->s, &want, v);
    for (size_t i = effects; i < m->g->effects.n; i++)
        vec_push(m->s, &want, m->g->apply[m->g->effects.p[i]].out);
    Plan *p = plan_new(
        m->g, &(PlanOptions){
                  .nwant = want.n, .want = want.p, .only_want = true, .threads = 1});
    Machine *machine = p ? vm_new(p) : NULL;
    bool ok = machine && trial_feed(t, machine) && vm_run(machine);
    if (ok) value_copy_view(out, vm_output(machine, 0));
    vm_free(machine);
    plan_free(p);
    vec_free(&want);
    return ok;
}

/* Finite, no larger than what a sum of squares can stand in float16, nearly the same
 * for nearly the same inputs. */
static bool is_calm(Making *m, const Value *a, const Value *b) {
    double parts[2], other[2];
    if (a->kind != TYPE_TENSOR)
        return value_approx(m->s, a, b, (Approx){.rtol = 1e-3, .atol = 1e-3});
    if (!tensor_same_shape(&a->t, &b->t) || tensor_size(&a->t) > 4096) return false;
    Tensor x, y;
    bool ok = tensor_cast(m->s, &a->t, DT_COMPLEX128, &x);
    if (!ok) return false;
    ok = tensor_cast(m->s, &b->t, DT_COMPLEX128, &y);
    for (int64_t i = 0; ok && i < tensor_size(&x); i++) {
        memcpy(parts, (char *)x.data + 16 * i, 16);
        memcpy(other, (char *)y.data + 16 * i, 16);
        for (size_t k = 0; k < 2; k++)
            ok = ok && isfinite(parts[k]) && fabs(parts[k]) < 200 &&
                 fabs(parts[k] - other[k]) <= 1e-3 * fmax(1, fabs(parts[k]));
    }
    tensor_unref(&x);
    if (y.buf) tensor_unref(&y);
    return ok;
}

static bool compile_text(Making *m, const char *text, Var *v) {
    size_t n = strlen(text);
    Span span = {source_add(m->s, "try", text, n), 0, (uint32_t)n};
    return compiler_expr(m->c, span, NULL, v);
}

/* A name for values that were given one by one (a tree, meshgrid(3) too) takes literal
 * indices only, where the variable made of them here would take any. */
static bool takes_any_index(Making *m, const char *text) {
    Str indexed = STR(m->s);
    Var v;
    str_printf(&indexed, "(%s)[integers(0, 1, seed=1) + 0]", text);
    bool ok = compile_text(m, str_text(&indexed), &v);
    str_free(&indexed);
    return ok;
}

static bool compile(Making *m, const char *text, Var *v) {
    if (!compile_text(m, text, v)) return false;
    const Type *t = var_type(m->g, *v);
    bool indexed = t->kind == TYPE_LIST || (t->kind == TYPE_TENSOR && t->ndim > 0);
    if (indexed && !takes_any_index(m, text)) return false;
    return t->kind != TYPE_NULL && t->kind != TYPE_DISCONNECTED &&
           t->kind != TYPE_SLICE && t->kind != TYPE_NONE && t->ndim <= 5;
}

/* The rows of a loop that took no step, of a size that only a step tells: it is 0, or
 * what rewriting finds. */
static bool is_guessed(const Making *m, Var v, const Value *x) {
    ApplyId a = var_owner(m->g, v);
    if (x->kind != TYPE_TENSOR || a == APPLY_NONE) return false;
    const Type *t = var_type(m->g, v);
    for (int k = 1; k < t->ndim && x->t.shape[0] == 0; k++)
        if (t->dim[k] == DIM_UNKNOWN && op_is(m->s, m->g->apply[a].op, OP_SCAN))
            return true;
    return false;
}

/* Takes the text as the next definition if it holds what is asked. */
static bool take(Making *m, const char *text) {
    size_t diags = diag_count(m->s), effects = m->g->effects.n;
    Value a = {0}, b = {0};
    Var v;
    bool typed = compile(m, text, &v);
    bool ok = typed && run_at(m, v, effects, &m->at, &a) &&
              run_at(m, v, effects, &m->near, &b) && is_calm(m, &a, &b) &&
              !is_guessed(m, v, &a);
    value_unref(&a);
    value_unref(&b);
    if (!ok) {
        diag_rewind(m->s, diags);
        m->g->effects.n = effects;
        return false;
    }
    Named *x = &m->pool[m->npool++];
    x->var = v;
    snprintf(x->name, sizeof x->name, "v%zu", m->npool - m->nleaf);
    Sym name = sym(m->s, x->name);
    graph_name(m->g, v, name);
    str_printf(&m->lines, "  %s = %s\n", x->name, text);
    return true;
}

/* A claim about a random matrix is false, which only DEBUG says. */
static bool claims(const Str *text) {
    return strstr(str_text(text), "assert_structure") != NULL;
}

/* An op is chosen first, then arguments are tried, so that no op is left out for being
 * hard to call. */
static void add_statement(Making *m) {
    uint32_t kind = below(m, 100);
    size_t number = below(m, op_count(m->s));
    const Op *op = op_get(m->s, number);
    const Macro *macro = macro_get(below(m, macro_count()));
    const char *form = PICK(m, forms), *row = PICK(m, fixed_rows).text;
    Str text = STR(m->s);
    for (int i = 0; i < TRIES; i++) {
        str_clear(&text);
        if (kind < 45)
            put_op_call(m, &text, op);
        else if (kind < 70)
            put_form(m, &text, form);
        else if (kind < 88)
            put_row(m, &text, row);
        else
            put_macro_call(m, &text, macro);
        if (text.n >= LINE || claims(&text) || !take(m, str_text(&text))) continue;
        m->uses[number] += kind < 45;
        break;
    }
    str_free(&text);
}

/* The same inputs, a little off. */
static bool make_near(Making *m, const Values *given) {
    if (!trial_new(m->g, given, 1, &m->near)) return false;
    for (size_t i = 0; i < m->g->inputs.n; i++) {
        Value *v = &m->near.input[i];
        Tensor t;
        if (v->kind != TYPE_TENSOR ||
            (v->t.dtype != DT_FLOAT64 && v->t.dtype != DT_FLOAT32))
            continue;
        if (!tensor_clone(m->s, &v->t, &t)) return false;
        for (int64_t k = 0; k < tensor_size(&t); k++) {
            if (t.dtype == DT_FLOAT64)
                ((double *)t.data)[k] *= k % 2 ? 1 + 1e-6 : 1 - 2e-6;
            else
                ((float *)t.data)[k] *= k % 2 ? 1 + 1e-5F : 1 - 2e-5F;
        }
        value_unref(v);
        *v = (Value){.kind = TYPE_TENSOR, .t = t};
    }
    return true;
}

static bool begin(Making *m) {
    Span text[16];
    Values given = {0, text};
    put_head(m);
    Str whole = STR(m->s);
    str_printf(&whole, "%soutputs: [x0]\n", str_text(&m->head));
    m->g = io_read_mem(m->s, "head", whole.p, whole.n, NULL);
    str_free(&whole);
    if (!m->g) return false;
    uint32_t source = source_add(m->s, "values", m->values.p, m->values.n);
    for (size_t at = 0; at < m->values.n; given.n++) {
        size_t n = strcspn(m->values.p + at, "\n");
        text[given.n] = (Span){source, (uint32_t)at, (uint32_t)(at + n)};
        at += n + 1;
    }
    if (!trial_new(m->g, &given, 1, &m->at) || !make_near(m, &given)) return false;
    m->b = builder(m->g, false);
    m->c = compiler_new(&m->b);
    for (size_t i = 0; i < m->g->inputs.n + m->g->shared.n; i++) {
        Named *x = &m->pool[m->npool++];
        x->var =
            i < m->g->inputs.n ? m->g->inputs.p[i] : m->g->shared.p[i - m->g->inputs.n];
        snprintf(x->name, sizeof x->name, "%s", sym_text(m->s, var_name(m->g, x->var)));
    }
    m->nleaf = m->npool;
    return true;
}

/* Outputs, and an update where a result has the shared variable's type. */
static void put_tail(Making *m, Str *out) {
    size_t n = m->npool - m->nleaf;
    str_puts(out, "outputs: [");
    for (size_t i = 0; i < n; i++)
        if (n - i <= 4 || chance(m, 25))
            str_printf(out, "%s%s", m->pool[m->nleaf + i].name, i + 1 < n ? ", " : "");
    if (n == 0) str_puts(out, "x0");
    str_puts(out, "]\n");
    for (size_t i = 0; i < n && m->g->shared.n; i++)
        if (var_type(m->g, m->pool[m->nleaf + i].var) ==
            var_type(m->g, m->g->shared.p[0])) {
            str_printf(out, "updates: {W: %s}\n", m->pool[m->nleaf + i].name);
            return;
        }
}

static bool write_file(const char *folder, const char *name, const Str *text) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    return f && fwrite(str_text(text), 1, text->n, f) == text->n && fclose(f) == 0;
}

static bool make(uint64_t seed, const char *folder, unsigned *uses) {
    Making m = {.s = tools_session(NULL, NULL), .state = mix(seed), .uses = uses};
    Str out = STR(m.s);
    m.head = m.lines = m.values = STR(m.s);
    session_options(m.s)->max_memory = 1 << 28;
    bool ok = begin(&m);
    if (!ok)
        fprintf(stderr, "graph %llu: %s\n%s", (unsigned long long)seed, why(m.s),
                str_text(&m.head));
    for (unsigned n = ok ? 4 + below(&m, 16) : 0; n > 0; n--)
        add_statement(&m);
    str_printf(&out, "%slet: |\n  x = x0\n%s", str_text(&m.head), str_text(&m.lines));
    if (ok) put_tail(&m, &out);
    if (ok && folder)
        ok = write_file(folder, "graph.yaml", &out) &&
             write_file(folder, "values", &m.values);
    str_free(&out);
    str_free(&m.head);
    str_free(&m.lines);
    str_free(&m.values);
    if (m.c) compiler_free(m.c);
    trial_free(&m.at);
    trial_free(&m.near);
    graph_free(m.g);
    session_free(m.s);
    return ok;
}

int main(int argc, char **argv) {
    static unsigned uses[4096];
    if (argc != 3) return 2;
    if (strcmp(argv[1], "--ops") != 0)
        return !make(strtoull(argv[1], NULL, 10), argv[2], uses);
    for (uint64_t i = 0; i < strtoull(argv[2], NULL, 10); i++)
        if (!make(i, NULL, uses)) return 1;
    Session *s = tools_session(NULL, NULL);
    for (size_t i = 0; i < op_count(s); i++)
        printf("%6u %s\n", uses[i], op_get(s, i)->name);
    session_free(s);
    return 0;
}
