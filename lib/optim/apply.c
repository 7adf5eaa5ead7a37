/* Applies a chain of rules: compiles their lines for each parameter, and adds state and
 * updates to the graph. Numbers (props, common state, sums, the step) are weak, as
 * literals are: they take the dtype of the parameter that they meet. */
#include "lang/bound_names.h"
#include "op/convert.h"
#include "optim/optim_impl.h"
#include "type/word.h"

#include <string.h>

/* A rule of the chain with its props. */
typedef struct OptimRule {
    const OptimRow *row;
    Span at;
    BoundNames names; /* props, common state, sums */
    Var *common;      /* by line; VAR_NONE: the line doesn't hold */
    Var *state;       /* by parameter and line */
} OptimRule;
typedef struct OptimChain {
    Session *s;
    Builder *b;
    Graph *g;
    Compiler *c;
    Arena *a;
    const OptimRequest *how;
    BoundNames outer; /* t and the schedules */
    Var step;         /* the counter; VAR_NONE: nothing has read it so far */
    Var *w, *grad;    /* by parameter, as the rules so far have left them */
    size_t nrule;
    OptimRule *rule;
    Vec(Update) updates;
} OptimChain;

/* ---- scopes ---- */

/* A copy with room for more, whose names differ from now on. */
static void copy_names(OptimChain *o, const BoundNames *from, size_t more,
                       BoundNames *to) {
    bound_names_open(o->c, o->a, to, from->n + more, NULL);
    to->scope.up = from->scope.up;
    for (size_t i = 0; i < from->n; i++)
        bound_names_add(o->a, to, from->kid[i]->sym, from->value[i]);
}

/* ---- the step ---- */

/* A counter that is there already, from another chain: step = step + 1. */
static bool is_counter(const Graph *g, Var v) {
    Var next = var_leaf(g, v) == LEAF_SHARED ? graph_update(g, v) : VAR_NONE;
    ApplyId a = next == VAR_NONE ? APPLY_NONE : var_owner(g, next);
    if (a == APPLY_NONE || !op_is(g->s, g->apply[a].op, OP_ADD)) return false;
    const Type *t = var_type(g, v);
    const Var *in = apply_in(g, a);
    const Tensor *one = var_const(g, in[1]);
    return t->ndim == 0 && t->dtype == DT_INT64 && in[0] == v && one &&
           one->ndim == 0 && tensor_f64(one, 0) == 1;
}

static bool check_free_name(OptimChain *o, Sym name, const char *what, Span at) {
    Graph *g = o->g;
    if (graph_find(g, name) == VAR_NONE && !graph_has_dim(g, name) &&
        graph_output(g, name) == VAR_NONE)
        return true;
    return fail(o->s, at, E_DUPLICATE, "%s would be called %s, but the graph has a %s",
                what, sym_text(o->s, name), sym_text(o->s, name));
}

static bool make_step(OptimChain *o, Span at) {
    Graph *g = o->g;
    Sym name = sym(o->s, "step");
    Var there = graph_find(g, name);
    if (there != VAR_NONE && is_counter(g, there)) {
        o->step = there;
    } else {
        if (!check_free_name(o, name, "the number of steps", at))
            return hint(o->s, HINT_RENAME);
        Var begin = const_int(o->b, 0), one = const_int(o->b, 1);
        if (begin == VAR_NONE || one == VAR_NONE) return false;
        o->step = graph_shared(g, name, type_scalar(o->s, DT_INT64));
        graph_init_shared(g, o->step, begin);
        Var next = op_call2(o->b, "add", o->step, one);
        if (next == VAR_NONE) return false;
        vec_push(o->s, &o->updates, ((Update){o->step, next}));
    }
    Node *t = &o->outer.value[0];
    *t = node_var(o->step, at);
    t->weak = true;
    return true;
}

/* ---- compiling ---- */

static bool compile_in(OptimChain *o, const Ast *e, BoundNames *names, bool of_row,
                       Node *out) {
    if (o->step == VAR_NONE && optim_reads_step(o->s, e) && !make_step(o, e->at))
        return false;
    return bound_names_compile(o->c, e, names, of_row, out);
}

static bool condition_holds(OptimChain *o, const Ast *e, BoundNames *names, bool *yes);

/* ~a, a & b, a | b. */
static bool combination_holds(OptimChain *o, const Ast *e, BoundNames *names, bool *is,
                              bool *yes) {
    bool not = e->kind == AST_UNARY && strcmp(e->op, "~") == 0;
    bool both = e->kind == AST_BINARY && strcmp(e->op, "&") == 0;
    bool either = e->kind == AST_BINARY && strcmp(e->op, "|") == 0;
    *is = not || both || either;
    if (!*is) return true;
    if (!condition_holds(o, e->kid[0], names, yes)) return false;
    if (not ) *yes = !*yes;
    return not || *yes == either || condition_holds(o, e->kid[1], names, yes);
}

/* A condition that only a run decides, as of a rate that changes, holds: lines state
 * the general case behind it. */
static bool condition_holds(OptimChain *o, const Ast *e, BoundNames *names, bool *yes) {
    Node n;
    bool is;
    if (!combination_holds(o, e, names, &is, yes)) return false;
    if (is) return true;
    if (!compile_in(o, e, names, true, &n)) return false;
    *yes = n.kind != NODE_LITERAL || n.lit.u || n.lit.re != 0;
    return true;
}

static bool line_holds(OptimChain *o, const AstCase *line, BoundNames *names,
                       bool *yes) {
    *yes = true;
    for (size_t i = 0; *yes && i < line->nwhen; i++)
        if (!condition_holds(o, line->when[i], names, yes)) return false;
    return true;
}

static Sym line_target(const OptimLines *l, size_t i) {
    return l->line[i].line->kid[0]->sym;
}

static const Ast *line_value(const OptimLines *l, size_t i) {
    return l->line[i].line->kid[1];
}

/* The first line from i on that defines the same name as line i and holds; *next: the
 * first that defines another. *at is l->n if none holds. */
static bool choose_line(OptimChain *o, const OptimLines *l, size_t i, BoundNames *names,
                        size_t *at, size_t *next) {
    bool yes;
    Sym name = line_target(l, i);
    *at = l->n;
    for (; i < l->n && line_target(l, i) == name; i++) {
        if (*at < l->n) continue;
        if (!line_holds(o, &l->line[i], names, &yes)) return false;
        if (yes) *at = i;
    }
    *next = i;
    return true;
}

static bool define_lines(OptimChain *o, const OptimLines *l, BoundNames *names) {
    for (size_t i = 0, at; i < l->n;) {
        Node n;
        if (!choose_line(o, l, i, names, &at, &i)) return false;
        if (at == l->n) continue;
        if (!compile_in(o, line_value(l, at), names, true, &n)) return false;
        bound_names_add(o->a, names, line_target(l, at), n);
    }
    return true;
}

/* ---- props ---- */

static bool fail_prop(OptimChain *o, const OptimRow *row, Span at, const char *what,
                      const char *name) {
    Str b = STR(o->s);
    optim_signature(o->s, row, &b);
    fail(o->s, at, E_ARG, "%s %s%s%s", row->name, what, *name ? " " : "", name);
    note(o->s, NOWHERE, "its signature is %s", str_text(&b));
    str_free(&b);
    return false;
}

static bool fail_no_prop(OptimChain *o, const OptimRow *row, Span at, Sym name) {
    const char **of = NEW_N(o->a, row->nprop + 1, const char *);
    for (size_t i = 0; i < row->nprop; i++)
        of[i] = sym_text(o->s, row->prop[i].name);
    Str text = STR(o->s);
    str_puts(&text, sym_text(o->s, name));
    word_advise(&text, WORD_OPTIMIZER, sym_text(o->s, name), of, row->nprop);
    fail_prop(o, row, at, "has no argument", str_text(&text));
    str_free(&text);
    return false;
}

/* A number as a weak node of the widest dtype, so that nothing is lost on the way. */
static bool weak_number(OptimChain *o, Node *n) {
    if (n->kind != NODE_VAR) return true;
    DType d = var_type(o->g, n->var)->dtype;
    n->var = op_cast_to(o->b, n->var, dtype_is_float(d) ? DT_FLOAT64 : DT_INT64);
    n->weak = true;
    return n->var != VAR_NONE;
}

static bool is_real_number(const OptimChain *o, const Node *n) {
    if (n->kind == NODE_LITERAL)
        return n->lit.kind != K_BOOL && n->lit.kind != K_COMPLEX;
    if (n->kind != NODE_VAR || n->n) return false;
    const Type *t = var_type(o->g, n->var);
    return t->kind == TYPE_TENSOR && t->ndim == 0 &&
           (dtype_is_float(t->dtype) || dtype_is_integer(t->dtype));
}

static bool settle_prop(OptimChain *o, const OptimRow *row, const OptimProp *p,
                        Node *n) {
    bool flag = p->value && p->value->kind == AST_BOOL;
    bool is_flag = n->kind == NODE_LITERAL && n->lit.kind == K_BOOL;
    if (flag ? is_flag : is_real_number(o, n)) return weak_number(o, n);
    bool var = n->kind == NODE_VAR && !n->n;
    const char *kind = is_flag ? "a bool"
                       : n->kind == NODE_LITERAL && n->lit.kind == K_COMPLEX
                           ? "a complex number"
                           : node_kind_text(n);
    return fail(o->s, n->at, E_ARG, "%s: %s must be %s, not %s", row->name,
                sym_text(o->s, p->name),
                flag ? "True or False, known when the graph is made"
                     : "a number, such as 0.1, or a variable that is one",
                var ? type_str(o->s, var_type(o->g, n->var)) : kind);
}

/* Sorts arguments by prop, then settles them and defaults as names. */
static bool bind_props(OptimChain *o, const OptimRow *row, const Arguments *args,
                       BoundNames *names) {
    Node *given = NEW_N(o->a, row->nprop + 1, Node);
    bool *has = NEW_N(o->a, row->nprop + 1, bool);
    for (size_t i = 0; i < args->n; i++) {
        Sym key = args->key ? args->key[i] : 0;
        size_t k = key ? 0 : i;
        while (key && k < row->nprop && row->prop[k].name != key)
            k++;
        if (key && k == row->nprop) return fail_no_prop(o, row, args->arg[i].at, key);
        if (k >= row->nprop)
            return fail_prop(o, row, args->arg[i].at, "got too many arguments", "");
        if (has[k])
            return fail_prop(o, row, args->arg[i].at, "got a second value for",
                             sym_text(o->s, row->prop[k].name));
        has[k] = true;
        given[k] = args->arg[i];
    }
    for (size_t k = 0; k < row->nprop; k++) {
        const OptimProp *p = &row->prop[k];
        if (!has[k] && !p->value)
            return fail_prop(o, row, args->at, "needs the argument",
                             sym_text(o->s, p->name));
        if (!has[k] && !compile_in(o, p->value, names, true, &given[k])) return false;
        if (!settle_prop(o, row, p, &given[k])) return false;
        bound_names_add(o->a, names, p->name, given[k]);
    }
    return true;
}

/* ---- schedules ---- */

static bool apply_schedule(Compiler *c, const Node *f, const Arguments *args,
                           Node *out) {
    OptimChain *o = (OptimChain *)(uintptr_t)f->data;
    const OptimRow *row = optim_find(o->s, sym_text(o->s, f->sym), true);
    BoundNames names;
    if (c->depth >= LAMBDA_DEPTH)
        return fail(o->s, args->at, E_LIMIT,
                    "schedules call each other more than %d deep", LAMBDA_DEPTH);
    bound_names_open(o->c, o->a, &names, row->nprop + row->let.n, &o->outer);
    c->depth++;
    bool ok = bind_props(o, row, args, &names) && define_lines(o, &row->let, &names) &&
              compile_in(o, row->result, &names, true, out);
    c->depth--;
    if (!ok || is_real_number(o, out)) return ok;
    return fail(o->s, row->result->at, E_TYPE, "the schedule %s must be a number",
                row->name);
}

static void open_outer(OptimChain *o) {
    size_t n = optim_count(o->s);
    bound_names_open(o->c, o->a, &o->outer, n + 1, NULL);
    bound_names_add(o->a, &o->outer, sym(o->s, "t"),
                    (Node){.kind = NODE_NONE, .var = VAR_NONE});
    for (size_t i = 0; i < n; i++) {
        const OptimRow *row = optim_get(o->s, i);
        Node f = {.kind = NODE_FUNCTION,
                  .var = VAR_NONE,
                  .sym = sym(o->s, row->name),
                  .apply = apply_schedule,
                  .data = o};
        if (row->schedule)
            bound_names_add(o->a, &o->outer, optim_schedule_sym(o->s, row), f);
    }
}

/* ---- state ---- */

/* The pattern {wrt}_{state} with the names filled in; {rule} is the rule's name, which
 * also stands for the parameter where all share the state. */
static Sym state_name(OptimChain *o, const OptimRow *row, const char *wrt,
                      const char *state) {
    Str text = STR(o->s);
    for (const char *p = o->how->name ? o->how->name : "{wrt}_{state}"; *p;) {
        if (strncmp(p, "{wrt}", 5) == 0)
            str_puts(&text, wrt), p += 5;
        else if (strncmp(p, "{state}", 7) == 0)
            str_puts(&text, state), p += 7;
        else if (strncmp(p, "{rule}", 6) == 0)
            str_puts(&text, row->name), p += 6;
        else
            str_putc(&text, *p++);
    }
    Sym y = sym(o->s, str_text(&text));
    str_free(&text);
    return y;
}

static bool new_state(OptimChain *o, const OptimRule *r, const char *wrt, Sym state,
                      Var init, Var *out) {
    Sym name = state_name(o, r->row, wrt, sym_text(o->s, state));
    const char *text = sym_text(o->s, name),
               *what = arena_printf(o->a, "the state %s of %s, for %s,",
                                    sym_text(o->s, state), r->row->name, wrt);
    if (!word_is_name(text, strlen(text)))
        return fail(o->s, r->at, E_NAME, "%s can't be called %s", what, text),
               hint(o->s, HINT_STATE_NAME);
    if (!check_free_name(o, name, what, r->at)) return hint(o->s, HINT_STATE_NAME);
    *out = graph_shared(o->g, name, var_type(o->g, init));
    graph_init_shared(o->g, *out, init);
    return true;
}

/* Makes the state of a section, and names for it. w: the parameter; 0: all share it. */
static bool make_state(OptimChain *o, const OptimRule *r, const OptimLines *l,
                       BoundNames *names, Sym w, Var *state) {
    for (size_t i = 0, at; i < l->n;) {
        size_t first = i;
        Node n;
        Var init;
        for (size_t k = first; k < l->n && line_target(l, k) == line_target(l, first);
             k++)
            state[k] = VAR_NONE;
        if (!choose_line(o, l, i, names, &at, &i)) return false;
        if (at == l->n) continue;
        if (!compile_in(o, line_value(l, at), names, true, &n) ||
            !compiler_var(o->c, &n, DT_NONE, &init) ||
            !new_state(o, r, w ? sym_text(o->s, w) : r->row->name, line_target(l, at),
                       init, &state[first]))
            return false;
        Node v = node_var(state[first], r->at);
        if (!w && is_real_number(o, &v) && !weak_number(o, &v)) return false;
        bound_names_add(o->a, names, line_target(l, at), v);
    }
    return true;
}

/* ---- a rule ---- */

/* A line's value for what has type t. */
static bool fit_value(OptimChain *o, const OptimRule *r, const Node *n, const Type *t,
                      const char *what, Var *out) {
    if (!compiler_var(o->c, n, t->dtype, out)) return false;
    const Type *have = var_type(o->g, *out);
    bool cast = have->kind == TYPE_TENSOR && t->kind == TYPE_TENSOR &&
                have->dtype != t->dtype && !dtype_is_complex(have->dtype);
    if (cast) *out = op_cast_to(o->b, *out, t->dtype);
    if (*out != VAR_NONE) *out = type_filter_variable(o->b, t, *out, what);
    return *out != VAR_NONE || note(o->s, r->at, "in the updates of %s", r->row->name);
}

/* Finds which state line the name is of; l->n: none. */
static size_t state_line(const OptimLines *l, Sym name) {
    size_t i = 0;
    while (i < l->n && line_target(l, i) != name)
        i++;
    return i;
}

/* The updates for parameter p. Common state is updated once, with the first. */
static bool update_parameter(OptimChain *o, OptimRule *r, size_t p, BoundNames *names) {
    const OptimRow *row = r->row;
    const OptimLines *l = &row->updates;
    Var w = o->w[p], grad = o->grad[p], new_w = w, new_g = grad;
    const Var *state = r->state + p * row->state.n;
    for (size_t i = 0, at; i < l->n;) {
        Sym name = line_target(l, i);
        size_t own = state_line(&row->state, name),
               all = state_line(&row->common, name);
        bool is_w = name == sym(o->s, "w"), is_g = name == sym(o->s, "g");
        Node n;
        Var to = is_w || is_g                    ? o->how->w.p[p]
                 : own < row->state.n            ? state[own]
                 : all < row->common.n && p == 0 ? r->common[all]
                                                 : VAR_NONE;
        size_t first = i;
        if (!choose_line(o, l, i, names, &at, &i)) return false;
        if (to == VAR_NONE || at == l->n) continue;
        Var v;
        if (!compile_in(o, line_value(l, at), names, true, &n) ||
            !fit_value(o, r, &n, var_type(o->g, is_g ? grad : to),
                       sym_text(o->s, line_target(l, first)), &v))
            return false;
        if (is_w)
            new_w = v;
        else if (is_g)
            new_g = v;
        else
            vec_push(o->s, &o->updates, ((Update){to, v}));
    }
    o->w[p] = new_w;
    o->grad[p] = new_g;
    return true;
}

static bool add_sum(OptimChain *o, const Node *part, Node *sum) {
    Node both[2] = {*sum, *part};
    if (sum->kind == NODE_NONE) return *sum = *part, true;
    return compiler_apply_infix(o->c, IN_ADD, part->at, 2, both, sum);
}

/* Adds up each of the row's sums over all parameters. names: by parameter. */
static bool make_sums(OptimChain *o, OptimRule *r, BoundNames *names) {
    const OptimLines *l = &r->row->sums;
    size_t n = o->how->w.n;
    for (size_t i = 0, next; i < l->n; i = next) {
        Node sum = {.kind = NODE_NONE, .var = VAR_NONE, .at = r->at}, part;
        size_t at = l->n;
        next = l->n;
        for (size_t p = 0; p < n; p++) {
            if (!choose_line(o, l, i, &names[p], &at, &next)) return false;
            if (at == l->n) continue;
            if (!compile_in(o, line_value(l, at), &names[p], true, &part) ||
                !add_sum(o, &part, &sum))
                return false;
        }
        if (sum.kind == NODE_NONE) continue;
        if (is_real_number(o, &sum) && !weak_number(o, &sum)) return false;
        for (size_t p = 0; p < n; p++)
            bound_names_add(o->a, &names[p], line_target(l, i), sum);
    }
    return true;
}

/* What a rule computes with: of float16, float32, as its smallest numbers are too large
 * for eps and its largest too small for sums of squares. */
static bool working_value(OptimChain *o, Var v, Span at, Node *out) {
    bool half = var_type(o->g, v)->dtype == DT_FLOAT16;
    Var wide = half ? op_cast_to(o->b, v, DT_FLOAT32) : v;
    *out = node_var(wide, at);
    return wide != VAR_NONE;
}

static size_t count_names(const OptimRow *row) {
    return row->state.n + row->sums.n + row->let.n + 2;
}

static bool apply_rule(OptimChain *o, OptimRule *r) {
    const OptimRow *row = r->row;
    size_t n = o->how->w.n;
    BoundNames *names = NEW_N(o->a, n + 1, BoundNames);
    r->common = NEW_N(o->a, row->common.n + 1, Var);
    r->state = NEW_N(o->a, n * row->state.n + 1, Var);
    if (!make_state(o, r, &row->common, &r->names, 0, r->common)) return false;
    for (size_t p = 0; p < n; p++) {
        Var shared = o->how->w.p[p];
        Node first, now, grad;
        copy_names(o, &r->names, count_names(row), &names[p]);
        size_t w = names[p].n;
        if (!working_value(o, shared, r->at, &first)) return false;
        bound_names_add(o->a, &names[p], sym(o->s, "w"), first);
        if (!make_state(o, r, &row->state, &names[p], var_name(o->g, shared),
                        r->state + p * row->state.n) ||
            !working_value(o, o->w[p], r->at, &now) ||
            !working_value(o, o->grad[p], r->at, &grad))
            return false;
        names[p].value[w] = now;
        bound_names_add(o->a, &names[p], sym(o->s, "g"), grad);
    }
    if (!make_sums(o, r, names)) return false;
    for (size_t p = 0; p < n; p++)
        if (!define_lines(o, &row->let, &names[p]) ||
            !update_parameter(o, r, p, &names[p]))
            return false;
    return true;
}

/* ---- the chain as text ---- */

/* Splits at commas outside brackets. */
static Span next_part(OptimChain *o, Span *rest) {
    const char *p = source_get(o->s, rest->source)->text;
    Span one = *rest;
    uint32_t i = rest->begin;
    for (int depth = 0; i < rest->end && (depth > 0 || p[i] != ','); i++)
        depth += (strchr("([{", p[i]) != NULL) - (strchr(")]}", p[i]) != NULL);
    one.end = i;
    rest->begin = i < rest->end ? i + 1 : i;
    while (one.begin < one.end && p[one.begin] == ' ')
        one.begin++;
    return one;
}

/* A rate may be an expression in the graph's variables; `t` is the step. */
static bool check_step_name(OptimChain *o, const Ast *e) {
    Sym t = sym(o->s, "t");
    if (e->kind == AST_NAME && e->sym == t && graph_find(o->g, t) != VAR_NONE)
        return fail(o->s, e->at, E_NAME,
                    "`t` is the number of steps here, but the graph has a variable t, "
                    "too"),
               hint(o->s, HINT_RENAME);
    for (size_t i = 0; i < e->nkid; i++)
        if (e->kid[i] && !check_step_name(o, e->kid[i])) return false;
    return true;
}

static bool read_arguments(OptimChain *o, const Ast *e, Arguments *args) {
    Node *arg = NEW_N(o->a, e->nkid + 1U, Node);
    Sym *key = NEW_N(o->a, e->nkid + 1U, Sym);
    for (size_t i = 0; i < e->nkid; i++) {
        bool keyword = e->kid[i]->kind == AST_KEYWORD;
        const Ast *value = keyword ? e->kid[i]->kid[0] : e->kid[i];
        if (keyword) key[i] = e->kid[i]->sym;
        if (!check_step_name(o, value)) return false;
        value = optim_link_schedules(o->s, o->a, value);
        if (!compile_in(o, value, &o->outer, false, &arg[i])) return false;
        arg[i].at = e->kid[i]->at;
    }
    *args = (Arguments){e->nkid, arg, key, e->at};
    return true;
}

static bool read_rule(OptimChain *o, Span text, OptimRule *r) {
    const Ast *e = ast_parse(o->s, o->a, text);
    Arguments args = {.at = text};
    if (!e) return false;
    if (e->kind != AST_NAME && e->kind != AST_CALL)
        return fail(o->s, e->at, E_SYNTAX,
                    "expected an optimizer, as in adam or adam(1e-3)");
    r->at = e->at;
    r->row = optim_find(o->s, sym_text(o->s, e->sym), false);
    if (!r->row) return optim_fail_unknown(o->s, e->at, sym_text(o->s, e->sym));
    bound_names_open(o->c, o->a, &r->names, r->row->nprop + r->row->common.n,
                     &o->outer);
    o->b->from.at = r->at;
    return (e->kind == AST_NAME || read_arguments(o, e, &args)) &&
           bind_props(o, r->row, &args, &r->names);
}

static bool read_chain(OptimChain *o) {
    Span rest = o->how->chain;
    bool moves = false;
    o->rule = NEW_N(o->a, (size_t)(rest.end - rest.begin) + 1, OptimRule);
    do {
        OptimRule *r = &o->rule[o->nrule++];
        if (!read_rule(o, next_part(o, &rest), r)) return false;
        moves |= r->row->kind == OPTIM_OPTIMIZER;
    } while (rest.begin < rest.end);
    const char *last = o->rule[o->nrule - 1].row->name;
    return moves ||
           (fail(o->s, o->how->chain, E_ARG,
                 "no optimizer: %s alone doesn't use the gradient to move a parameter",
                 last),
            hint(o->s, HINT_OPTIMIZERS));
}

/* ---- parameters ---- */

static bool check_parameter(const Graph *g, Span at, Var v) {
    Session *s = g->s;
    const char *name = sym_text(s, var_name(g, v));
    const Type *t = var_type(g, v);
    if (var_leaf(g, v) != LEAF_SHARED) {
        fail(s, at, E_USAGE, "%s can't be updated: it is %s", *name ? name : "a result",
             var_leaf(g, v) == LEAF_INPUT ? "an input" : "computed");
        return note(s, NOWHERE,
                    "parameters are shared variables: declare it in "
                    "`shared`, with its initial value");
    }
    if (t->kind != TYPE_TENSOR || !dtype_is_float(t->dtype))
        return fail(s, at, E_DTYPE,
                    "optimizers update arrays of real floats, but %s is %s", name,
                    type_str(s, t));
    return graph_update(g, v) == VAR_NONE ||
           fail(s, at, E_DUPLICATE, "%s has an update already", name);
}

bool optim_check_parameters(const Graph *g, const OptimRequest *how) {
    for (size_t i = 0; i < how->w.n; i++)
        if (!check_parameter(g, how->chain, how->w.p[i])) return false;
    return true;
}

/* ---- everything ---- */

static bool check_inits(OptimChain *o) {
    const char *why;
    Var open = graph_open_init(o->g, &why);
    return open == VAR_NONE ||
           fail(o->s, o->how->chain, E_VALUE, "the initial value of %s %s",
                sym_text(o->s, var_name(o->g, open)), why);
}

static bool apply_chain(OptimChain *o) {
    if (!read_chain(o)) return false;
    for (size_t i = 0; i < o->nrule; i++) {
        o->b->from.at = o->rule[i].at;
        if (!apply_rule(o, &o->rule[i])) return false;
    }
    for (size_t i = 0; i < o->how->w.n; i++)
        vec_push(o->s, &o->g->updates, ((Update){o->how->w.p[i], o->w[i]}));
    for (size_t i = 0; i < o->updates.n; i++)
        vec_push(o->s, &o->g->updates, o->updates.p[i]);
    graph_updates_changed(o->g);
    return check_inits(o);
}

/* The parameters that have gradients. */
static VarList connected_parameters(Arena *a, VarList w, const Var *grad, Var *have) {
    Var *p = NEW_N(a, w.n + 1, Var);
    size_t n = 0;
    for (size_t i = 0; i < w.n; i++) {
        if (grad[i] == GRAD_DISCONNECTED) continue;
        have[n] = grad[i];
        p[n++] = w.p[i];
    }
    return (VarList){n, p};
}

bool optim_apply(Builder *b, const OptimRequest *how, const Var *grad) {
    Arena *a = arena_new(b->s);
    OptimRequest with = *how;
    OptimChain o = {.s = b->s, .b = b, .g = b->g, .a = a, .how = &with};
    Origin from = b->from;
    o.step = VAR_NONE;
    o.grad = NEW_N(a, how->w.n + 1, Var);
    with.w = connected_parameters(a, how->w, grad, o.grad);
    o.w = NEW_N(a, with.w.n + 1, Var);
    for (size_t i = 0; i < with.w.n; i++)
        o.w[i] = with.w.p[i];
    o.c = compiler_new(b);
    o.c->busy = 1;
    open_outer(&o);
    bool ok = apply_chain(&o);
    compiler_free(o.c);
    b->from = from;
    vec_free(&o.updates);
    arena_free(a);
    return ok;
}
