/* The form of an Apply: its op and what makes its inputs, as a number. What a stage
 * tries at an Apply depends on its form, but for a closer look at it, so each form has
 * lists of its own, and most of these are empty. Ops never change: an Apply keeps its
 * form until it gets other inputs. A graph has few forms, however large it is. */
#include "rewrite/rewrite_impl.h"

#include <string.h>

/* What makes an input: an op by its number, a constant by its class, or neither. Three
 * inputs and the op fit in one key; if there are more, the third is all of the rest. */
enum {
    MADE_BY = 16, /* from here on, ops */
    REST = 0x8000,
    SAME = UINT16_MAX - 1, /* as the first input */
    NOTHING = UINT16_MAX,
    KEY_INPUTS = 3,
    FORMS_MAX = UINT16_MAX,
    RESTS_MAX = SAME - REST
};
_Static_assert(MADE_BY + OPS_MAX < REST, "an op's number fits");

static inline unsigned maker_of(Rewriter *r, Var v) {
    ApplyId maker = var_owner(r->g, v);
    if (maker != APPLY_NONE) return MADE_BY + r->op_at[maker];
    return var_is_const(r->g, v) ? 1 + match_class_of(r, v) : 0;
}

static InputKinds kinds_of_inputs(Rewriter *r, ApplyId a) {
    InputKinds x = NO_INPUTS;
    for (size_t i = 0; i < r->g->apply[a].nin; i++)
        stage_add_input(&x, stage_kinds_of(r, rewriter_input(r, a, i)));
    return x;
}

void form_free_all(Rewriter *r) {
    for (size_t i = 0; i < r->forms.n; i++)
        for (unsigned level = 0; level < TRY_LEVELS; level++)
            vec_free(&r->forms.p[i].list[level]);
    vec_free(&r->forms);
    map_free(&r->form_number);
    map_free(&r->form_rest);
}

/* The Applies of such a graph have little in common. */
static void begin_anew(Rewriter *r) {
    form_free_all(r);
    memset(r->form_at, 0, r->napply * sizeof *r->form_at);
}

static unsigned number_of_rest(Rewriter *r, ApplyId a) {
    Kinds rest = kinds_of_inputs(r, a).rest;
    uint64_t n;
    if (map_get(&r->form_rest, rest, &n)) return (unsigned)n;
    n = REST + r->form_rest.n;
    map_put(&r->form_rest, rest, n);
    return (unsigned)n;
}

static inline uint64_t key_of(Rewriter *r, ApplyId a) {
    size_t n = r->g->apply[a].nin;
    unsigned of[KEY_INPUTS] = {NOTHING, NOTHING, NOTHING};
    Var v[KEY_INPUTS];
    for (size_t i = 0; i < n && i < KEY_INPUTS; i++)
        v[i] = rewriter_input(r, a, i), of[i] = maker_of(r, v[i]);
    if (n > KEY_INPUTS) of[2] = number_of_rest(r, a);
    if (n >= 2 && v[0] == v[1]) of[1] = SAME;
    return (uint64_t)r->op_at[a] << 48 | (uint64_t)of[0] << 32 | of[1] << 16 | of[2];
}

/* From 1 on. */
static uint16_t find_form(Rewriter *r, ApplyId a) {
    if (r->forms.n == FORMS_MAX || r->form_rest.n == RESTS_MAX) begin_anew(r);
    uint64_t key = key_of(r, a), n;
    if (!map_get(&r->form_number, key, &n)) {
        Form f = {.kinds = kinds_of_inputs(r, a), .op = r->op_at[a]};
        f.kinds.same = (uint16_t)(key >> 16) == SAME;
        vec_push(r->s, &r->forms, f);
        n = r->forms.n;
        map_put(&r->form_number, key, n);
    }
    return r->form_at[a] = (uint16_t)n;
}

static void list_tries(Rewriter *r, Form *f, TryLevel level) {
    const Bucket *b = &r->tries.p[f->op].level[level];
    for (size_t i = 0; i < b->n; i++) {
        unsigned orders = stage_orders(&b->p[i], &f->kinds);
        if (orders)
            vec_push(r->s, &f->list[level], ((FormTry){&b->p[i], (uint8_t)orders}));
    }
    f->listed |= (uint8_t)(1U << level);
}

const FormTries *form_list_tries(Rewriter *r, ApplyId a, TryLevel level) {
    uint16_t n = r->form_at[a] ? r->form_at[a] : find_form(r, a);
    Form *f = &r->forms.p[n - 1];
    if (!(f->listed >> level & 1)) list_tries(r, f, level);
    return &f->list[level];
}

void form_forget_tries(Rewriter *r) {
    for (size_t i = 0; i < r->forms.n; i++) {
        r->forms.p[i].listed = 0;
        for (unsigned level = 0; level < TRY_LEVELS; level++)
            r->forms.p[i].list[level].n = 0;
    }
}
