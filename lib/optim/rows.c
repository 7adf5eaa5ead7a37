/* The table of optimizers and schedules, and the checks of their texts. A line sees
 * what stands above it, so rows are compiled from top to bottom. */
#include "optim/optim_impl.h"
#include "type/word.h"

#include <string.h>

typedef struct OptimTable {
    Vec(const OptimRow *) rows;
} OptimTable;

static void free_table(void *p) {
    OptimTable *t = p;
    vec_free(&t->rows);
    mem_free(t);
}

static OptimTable *optim_table(Session *s) {
    OptimTable *t = session_slot(s, SLOT_OPTIM);
    if (t) return t;
    t = mem_zalloc(s, 1, sizeof *t);
    session_set_slot(s, SLOT_OPTIM, t, free_table);
    return t;
}

size_t optim_count(Session *s) {
    return optim_table(s)->rows.n;
}

const OptimRow *optim_get(Session *s, size_t i) {
    return optim_table(s)->rows.p[i];
}

const OptimRow *optim_find(Session *s, const char *name, bool schedule) {
    const OptimTable *t = optim_table(s);
    for (size_t i = 0; i < t->rows.n; i++)
        if (t->rows.p[i]->schedule == schedule && strcmp(t->rows.p[i]->name, name) == 0)
            return t->rows.p[i];
    return NULL;
}

const char *optim_kind_text(OptimKind kind) {
    static const char *const text[] = {"optimizer", "wrapper", "schedule"};
    return text[kind];
}

static void put_span(Session *s, Span at, Str *out) {
    str_add(out, source_get(s, at.source)->text + at.begin, at.end - at.begin);
}

void optim_signature(Session *s, const OptimRow *row, Str *out) {
    str_printf(out, "%s(", row->name);
    for (size_t i = 0; i < row->nprop; i++) {
        str_printf(out, "%s%s", i ? ", " : "", sym_text(s, row->prop[i].name));
        if (!row->prop[i].value) continue;
        str_puts(out, " = ");
        put_span(s, row->prop[i].text, out);
    }
    str_putc(out, ')');
}

bool optim_fail_unknown(Session *s, Span at, const char *name) {
    Vec(const char *) names = {0};
    const OptimRow *other = optim_find(s, name, true);
    for (size_t i = 0; i < optim_count(s); i++)
        if (!optim_get(s, i)->schedule) vec_push(s, &names, optim_get(s, i)->name);
    Str advice = STR(s);
    word_advise(&advice, WORD_OPTIMIZER, name, names.p, names.n);
    fail(s, at, E_UNKNOWN, "there is no optimizer `%s`%s", name, str_text(&advice));
    str_free(&advice);
    if (other)
        note(s, NOWHERE,
             "%s is a schedule: give it to an optimizer, as in sgd(%s(...))", name,
             name);
    vec_free(&names);
    return hint(s, HINT_OPTIMIZERS);
}

/* ---- schedules in expressions ---- */

Sym optim_schedule_sym(Session *s, const OptimRow *row) {
    Str b = STR(s);
    str_printf(&b, "schedule %s", row->name);
    Sym y = sym(s, str_text(&b));
    str_free(&b);
    return y;
}

static const OptimRow *called_schedule(Session *s, const Ast *e) {
    return e->kind == AST_CALL ? optim_find(s, sym_text(s, e->sym), true) : NULL;
}

const Ast *optim_link_schedules(Session *s, Arena *a, const Ast *e) {
    const OptimRow *row = called_schedule(s, e);
    Ast *copy = NEW(a, Ast);
    *copy = *e;
    const Ast **kid = NEW_N(a, e->nkid + 1U, const Ast *);
    size_t n = 0;
    if (row) {
        Ast *name = NEW(a, Ast);
        *name = (Ast){.kind = AST_NAME, .at = e->at, .sym = optim_schedule_sym(s, row)};
        copy->kind = AST_APPLY;
        kid[n++] = name;
    }
    for (size_t i = 0; i < e->nkid; i++)
        kid[n++] = e->kid[i] ? optim_link_schedules(s, a, e->kid[i]) : NULL;
    copy->kid = kid;
    copy->nkid = (uint32_t)n;
    return copy;
}

/* A linked call has the name "schedule NAME". */
static const OptimRow *linked_schedule(Session *s, const Ast *e) {
    const char *name = e->kind == AST_NAME ? sym_text(s, e->sym) : "";
    return strncmp(name, "schedule ", 9) == 0 ? optim_find(s, name + 9, true) : NULL;
}

static bool reads_step(Session *s, const Ast *e, Sym t, unsigned depth);

static bool schedule_reads_step(Session *s, const OptimRow *row, Sym t,
                                unsigned depth) {
    if (depth > LAMBDA_DEPTH || reads_step(s, row->result, t, depth)) return true;
    for (size_t i = 0; i < row->let.n; i++)
        if (reads_step(s, row->let.line[i].line, t, depth)) return true;
    return false;
}

static bool reads_step(Session *s, const Ast *e, Sym t, unsigned depth) {
    const OptimRow *row = linked_schedule(s, e);
    if (row && schedule_reads_step(s, row, t, depth + 1)) return true;
    if (e->kind == AST_NAME && e->sym == t) return true;
    for (size_t i = 0; i < e->nkid; i++)
        if (e->kid[i] && reads_step(s, e->kid[i], t, depth)) return true;
    return false;
}

bool optim_reads_step(Session *s, const Ast *e) {
    return reads_step(s, e, sym(s, "t"), 0);
}

/* ---- checking a row ---- */

/* What a name in a row's lines means. */
typedef enum NameUse {
    USE_PROP = 1,
    USE_STEP = 2,
    USE_W = 4,
    USE_G = 8,
    USE_STATE = 16,
    USE_COMMON = 32,
    USE_SUM = 64,
    USE_OWN_LET = 128, /* depends on one parameter */
    USE_LET = 256
} NameUse;
enum { USE_OWN = USE_W | USE_G | USE_STATE | USE_OWN_LET };
typedef struct RowName {
    Sym name;
    NameUse use;
} RowName;
typedef struct RowCheck {
    Session *s;
    OptimRow *row;
    Vec(RowName) names;
    unsigned used; /* by the line */
} RowCheck;

static const RowName *find_name(const RowCheck *k, Sym name) {
    for (size_t i = 0; i < k->names.n; i++)
        if (k->names.p[i].name == name) return &k->names.p[i];
    return NULL;
}

static bool add_name(RowCheck *k, Sym name, Span at, NameUse use) {
    const char *text = sym_text(k->s, name);
    if (!word_is_name(text, strlen(text)))
        return fail(k->s, at, E_NAME, "%s: \"%s\" can't be a name", k->row->name, text);
    if (find_name(k, name))
        return fail(k->s, at, E_DUPLICATE, "%s: `%s` has a meaning already",
                    k->row->name, text);
    vec_push(k->s, &k->names, ((RowName){name, use}));
    return true;
}

/* Parameters of lambdas around an expression. */
typedef struct RowLambda {
    const struct RowLambda *up;
    const Ast *lambda;
} RowLambda;

static bool is_parameter(const RowLambda *l, Sym name) {
    for (; l; l = l->up)
        if (lambda_binds(l->lambda, name)) return true;
    return false;
}

static bool is_dtype_word(const char *text) {
    return strcmp(text, "floatX") == 0 || dtype_find(text, strlen(text)) != DT_NONE;
}

static bool check_name(RowCheck *k, const Ast *e, unsigned allowed,
                       const RowLambda *around) {
    const char *text = sym_text(k->s, e->sym);
    if (is_parameter(around, e->sym) || linked_schedule(k->s, e)) return true;
    const RowName *n = find_name(k, e->sym);
    if (!n && is_dtype_word(text)) return true;
    if (!n)
        return fail(k->s, e->at, E_NAME, "%s: `%s` is not defined above this line",
                    k->row->name, text);
    k->used |= n->use;
    return (n->use & allowed) ||
           fail(k->s, e->at, E_NAME, "%s: `%s` can't be used here", k->row->name, text);
}

static bool check_expr(RowCheck *k, const Ast *e, unsigned allowed,
                       const RowLambda *around) {
    RowLambda inside = {around, e};
    size_t first = 0;
    if (e->kind == AST_NAME) return check_name(k, e, allowed, around);
    if (e->kind == AST_LAMBDA) {
        around = &inside;
        first = e->nkid - 1U;
    }
    for (size_t i = first; i < e->nkid; i++)
        if (e->kid[i] && !check_expr(k, e->kid[i], allowed, around)) return false;
    return true;
}

static bool check_line(RowCheck *k, const AstCase *c, unsigned allowed) {
    k->used = 0;
    for (size_t i = 0; i < c->nwhen; i++)
        if (!check_expr(k, c->when[i], allowed, NULL)) return false;
    return check_expr(k, c->line->kid[c->line->nkid - 1], allowed, NULL);
}

/* Parses the texts of a section; calls of schedules are linked. */
static bool parse_lines(RowCheck *k, OptimLines *l) {
    Arena *a = session_arena(k->s);
    Vec(AstCase) all = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < l->ntext; i++) {
        const AstCase *c;
        size_t n;
        ok = ast_parse_cases(k->s, a, l->text[i], &c, &n);
        for (size_t j = 0; ok && j < n; j++) {
            AstCase one = c[j];
            const Ast **when = NEW_N(a, one.nwhen + 1, const Ast *);
            ok = (one.line->kind == AST_ASSIGN && one.line->nkid == 2) ||
                 fail(k->s, one.line->at, E_SYNTAX, "%s: expected `name = expression`",
                      k->row->name);
            for (size_t w = 0; ok && w < one.nwhen; w++)
                when[w] = optim_link_schedules(k->s, a, one.when[w]);
            if (ok) one.line = optim_link_schedules(k->s, a, one.line);
            one.when = when;
            vec_push(k->s, &all, one);
        }
    }
    l->n = ok ? all.n : 0;
    l->line = arena_copy(a, all.p, all.n * sizeof *all.p);
    vec_free(&all);
    return ok;
}

/* Lines that define names; a name may have several, one after the other. */
static bool check_section(RowCheck *k, OptimLines *l, unsigned allowed, NameUse use) {
    if (!parse_lines(k, l)) return false;
    for (size_t i = 0; i < l->n; i++) {
        const Ast *target = l->line[i].line->kid[0];
        bool again = i > 0 && l->line[i - 1].line->kid[0]->sym == target->sym;
        unsigned used = again ? k->used : 0;
        if (again) k->names.n--; /* it isn't known in its own lines */
        if (!check_line(k, &l->line[i], allowed)) return false;
        k->used |= used;
        NameUse as = use == USE_LET && k->used & USE_OWN ? USE_OWN_LET : use;
        if (!add_name(k, target->sym, target->at, as)) return false;
    }
    return true;
}

static bool has_update(const OptimRow *row, Sym name) {
    for (size_t i = 0; i < row->updates.n; i++)
        if (row->updates.line[i].line->kid[0]->sym == name) return true;
    return false;
}

static bool check_updates_of(RowCheck *k, const OptimLines *state) {
    for (size_t i = 0; i < state->n; i++) {
        const Ast *target = state->line[i].line->kid[0];
        if (!has_update(k->row, target->sym))
            return fail(k->s, target->at, E_NAME, "%s: the state `%s` has no update",
                        k->row->name, sym_text(k->s, target->sym));
    }
    return true;
}

static bool check_updates(RowCheck *k) {
    OptimLines *l = &k->row->updates;
    if (!parse_lines(k, l)) return false;
    for (size_t i = 0; i < l->n; i++) {
        const Ast *target = l->line[i].line->kid[0];
        const RowName *n = find_name(k, target->sym);
        unsigned use = n ? n->use : 0;
        if (!(use & (USE_W | USE_G | USE_STATE | USE_COMMON)))
            return fail(k->s, target->at, E_NAME,
                        "%s: `%s` can't be updated: it is neither w, g nor state",
                        k->row->name, sym_text(k->s, target->sym));
        if (!check_line(k, &l->line[i], ~0U)) return false;
        if (use == USE_COMMON && k->used & USE_OWN)
            return fail(k->s, target->at, E_NAME,
                        "%s: all parameters share `%s`, so its update can't depend on "
                        "one: use a sum over them",
                        k->row->name, sym_text(k->s, target->sym));
    }
    return check_updates_of(k, &k->row->state) && check_updates_of(k, &k->row->common);
}

static bool check_props(RowCheck *k) {
    Session *s = k->s;
    for (size_t i = 0; i < k->row->nprop; i++) {
        OptimProp *p = &k->row->prop[i];
        if (p->text.begin < p->text.end) {
            const Ast *e = ast_parse(s, session_arena(s), p->text);
            if (!e) return false;
            p->value = optim_link_schedules(s, session_arena(s), e);
            if (!check_expr(k, p->value, USE_PROP | USE_STEP, NULL)) return false;
        }
        if (!add_name(k, p->name, p->at, USE_PROP)) return false;
    }
    return true;
}

static bool check_schedule(RowCheck *k) {
    OptimRow *row = k->row;
    Session *s = k->s;
    if (!check_section(k, &row->let, ~0U, USE_LET)) return false;
    if (row->value.begin >= row->value.end)
        return fail(s, row->at, E_FORMAT, "the schedule %s has no value", row->name);
    const Ast *e = ast_parse(s, session_arena(s), row->value);
    if (!e) return false;
    row->result = optim_link_schedules(s, session_arena(s), e);
    return check_expr(k, row->result, ~0U, NULL);
}

static bool check_rule(RowCheck *k) {
    OptimRow *row = k->row;
    Session *s = k->s;
    Sym w = sym(s, "w"), g = sym(s, "g");
    if (!check_section(k, &row->common, USE_PROP, USE_COMMON) ||
        !add_name(k, w, row->at, USE_W) ||
        !check_section(k, &row->state, USE_PROP | USE_W, USE_STATE) ||
        !add_name(k, g, row->at, USE_G) ||
        !check_section(k, &row->sums, ~0U & ~(unsigned)USE_SUM, USE_SUM) ||
        !check_section(k, &row->let, ~0U, USE_LET))
        return false;
    if (!row->updates.ntext)
        return fail(s, row->at, E_FORMAT, "the optimizer %s has no updates", row->name);
    return check_updates(k);
}

static bool expr_mentions(const Ast *e, Sym name) {
    if (e->kind == AST_NAME && e->sym == name) return true;
    for (size_t i = 0; i < e->nkid; i++)
        if (e->kid[i] && expr_mentions(e->kid[i], name)) return true;
    return false;
}

static bool reads_gradient(const OptimLines *l, Sym g) {
    for (size_t i = 0; i < l->n; i++)
        if (expr_mentions(l->line[i].line->kid[1], g)) return true;
    return false;
}

static OptimKind kind_of(Session *s, const OptimRow *row) {
    Sym g = sym(s, "g");
    if (row->schedule) return OPTIM_SCHEDULE;
    bool by_gradient = reads_gradient(&row->sums, g) || reads_gradient(&row->let, g) ||
                       reads_gradient(&row->updates, g);
    return by_gradient && has_update(row, sym(s, "w")) ? OPTIM_OPTIMIZER
                                                       : OPTIM_WRAPPER;
}

static bool check_row(Session *s, OptimRow *row) {
    RowCheck k = {.s = s, .row = row};
    vec_push(s, &k.names, ((RowName){sym(s, "t"), USE_STEP}));
    bool ok = check_props(&k) && (row->schedule ? check_schedule(&k) : check_rule(&k));
    if (ok) row->kind = kind_of(s, row);
    vec_free(&k.names);
    return ok;
}

static bool add_row(Session *s, OptimRow *row) {
    OptimTable *t = optim_table(s);
    const OptimRow *other = optim_find(s, row->name, row->schedule);
    if (!word_is_name(row->name, strlen(row->name)))
        return fail(s, row->at, E_NAME, "\"%s\" can't be the name of %s", row->name,
                    row->schedule ? "a schedule" : "an optimizer");
    if (other)
        return fail(s, row->at, E_DUPLICATE, "there is already a %s %s in %s",
                    row->schedule ? "schedule" : "rule", row->name, other->file);
    vec_push(s, &t->rows, row);
    return true;
}

bool optim_add_file(Session *s, size_t n, OptimRow *row) {
    for (size_t i = 0; i < n; i++)
        if (!add_row(s, &row[i])) return false;
    for (size_t i = 0; i < n; i++)
        if (!check_row(s, &row[i])) return false;
    return true;
}
