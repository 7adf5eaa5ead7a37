/* The types for which a rule is tried. Elementwise rules: vectors of points in every
 * dtype, with truth values, constants and other dtypes in each place. All rules:
 * shapes, as letters for sizes that must agree, plain ones first; those for which the
 * rule fires are tried in every dtype, with every form of the open props, and with
 * sizes 0 and 1. */
#include "prove/prove_impl.h"

#include <string.h>

static const DType all_dtypes[] = {
    DT_FLOAT64,    DT_FLOAT32,   DT_FLOAT16, DT_INT64, DT_INT8,   DT_UINT8,  DT_BOOL,
    DT_COMPLEX128, DT_COMPLEX64, DT_INT32,   DT_INT16, DT_UINT64, DT_UINT32, DT_UINT16};
enum { NDTYPE = sizeof all_dtypes / sizeof *all_dtypes };

/* One of each class, for what is not tried in every dtype. */
static bool is_varied(DType d) {
    return d == DT_FLOAT64 || d == DT_INT8 || d == DT_BOOL || d == DT_COMPLEX128;
}

/* Did the rule fire? */
static bool try_typing(Prover *p, const Typing *t) {
    Instance x;
    if (prover_done(p) || !instance_open(p, t, &x)) return false;
    instance_try(&x);
    instance_close(&x);
    return true;
}

static bool typing_fits(Prover *p, const Typing *t) {
    Instance x;
    if (!instance_open(p, t, &x)) return false;
    instance_close(&x);
    return true;
}

/* ---- dense typings ---- */

static void try_dense(Prover *p, Typing *t) {
    t->dense = true;
    t->size[0] = points_count(p, t);
    try_typing(p, t);
}

/* A digit for each name: a variable, a truth value, a constant. */
typedef enum Digit { DIGIT_VARIABLE, DIGIT_TRUTH, DIGIT_CONSTANT, DIGITS } Digit;

static bool set_digits(const Prover *p, Typing *t, DType d, size_t code) {
    size_t constants = 0;
    *t = (Typing){0};
    for (size_t i = 0; i < p->nhole; i++, code /= DIGITS) {
        Digit digit = (Digit)(code % DIGITS);
        if (digit == DIGIT_TRUTH && d == DT_BOOL) return false;
        if (p->hole[i].constant && digit != DIGIT_VARIABLE) return false;
        if (p->hole[i].constant) digit = DIGIT_CONSTANT;
        constants += digit == DIGIT_CONSTANT;
        t->hole[i] = (Standing){.stand = digit == DIGIT_CONSTANT ? STAND_CONSTANT
                                                                 : STAND_VARIABLE,
                                .dtype = digit == DIGIT_TRUTH ? DT_BOOL : d,
                                .ndim = digit == DIGIT_CONSTANT ? 0 : 1};
    }
    return constants < p->nhole || p->nhole == 1;
}

static size_t power_of(size_t base, size_t n) {
    size_t r = 1;
    while (n-- > 0)
        r *= base;
    return r;
}

/* Every combination of constants: of all, where one name is constant because a guard
 * wants it; of fewer else. */
static size_t constants_each(const Prover *p, const Typing *t, size_t *n) {
    bool wanted = true;
    *n = 0;
    for (size_t i = 0; i < p->nhole; i++) {
        if (t->hole[i].stand != STAND_CONSTANT) continue;
        ++*n;
        wanted &= p->hole[i].constant;
    }
    enum { SOME = 6, FEW = 4, FEWEST = 2 };
    return *n <= 1 && wanted ? points_constant_count()
           : wanted          ? SOME
           : *n == 1         ? FEW
                             : FEWEST;
}

static void try_constants(Prover *p, const Typing *t) {
    size_t n, each = constants_each(p, t, &n), all = power_of(each, n);
    for (size_t code = 0; code < all && !prover_done(p); code++) {
        Typing with = *t;
        size_t rest = code;
        for (size_t i = 0; i < p->nhole; i++) {
            if (with.hole[i].stand != STAND_CONSTANT) continue;
            with.hole[i].constant = rest % each;
            rest /= each;
        }
        try_dense(p, &with);
    }
}

/* One name of another dtype than the rest. */
static void try_mixed(Prover *p, const Typing *t) {
    static const DType others[] = {DT_FLOAT64, DT_FLOAT32, DT_INT64,
                                   DT_INT8,    DT_UINT8,   DT_COMPLEX64};
    for (size_t i = 0; i < p->nhole && p->nhole > 1; i++)
        for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
            Typing mixed = *t;
            if (t->hole[i].dtype == others[k] || t->hole[i].stand == STAND_SIZES)
                continue;
            mixed.hole[i].dtype = others[k];
            if (t->dense)
                try_dense(p, &mixed);
            else
                try_typing(p, &mixed);
        }
}

static void try_dense_typings(Prover *p) {
    enum { DIGIT_HOLES = 5 };
    size_t codes = p->nhole <= DIGIT_HOLES ? power_of(DIGITS, p->nhole) : 1;
    Typing t;
    for (size_t k = 0; k < NDTYPE; k++) {
        bool varied = is_varied(all_dtypes[k]);
        for (size_t code = 0; code < (varied ? codes : 1) && !prover_done(p); code++)
            if (set_digits(p, &t, all_dtypes[k], code)) try_constants(p, &t);
        if (varied && set_digits(p, &t, all_dtypes[k], 0)) try_mixed(p, &t);
    }
}

/* ---- shapes ---- */

enum { KEPT_MAX = 20, TRIES_MAX = 1500, TRIED_FORMS = 8 };
/* Different from each other, so that only sizes that must agree do. */
static const int64_t distinct[LETTERS] = {4, 2, 3, 5}, others[LETTERS] = {3, 5, 2, 4},
                     equal[LETTERS] = {3, 3, 3, 3};

typedef struct ShapeSearch {
    Prover *p;
    Typing t;
    size_t form;  /* of the open props */
    int from, to; /* ranks */
    bool ones;    /* dims of size 1 are letters, too */
    unsigned tries, found, most;
    Typing kept[KEPT_MAX];
    unsigned nkept;
} ShapeSearch;

static void keep_shapes(ShapeSearch *x) {
    if (x->nkept < KEPT_MAX) x->kept[x->nkept++] = x->t;
    x->found++;
}

static bool search_full(const ShapeSearch *x) {
    return x->tries >= TRIES_MAX || x->found >= x->most || x->nkept == KEPT_MAX ||
           prover_done(x->p);
}

static void search_hole(ShapeSearch *x, size_t hole, int letters);

/* The dims of a name from k on: letters that others have, and one new one. */
static void search_dims(ShapeSearch *x, size_t hole, int k, int letters) {
    Standing *h = &x->t.hole[hole];
    if (search_full(x)) return;
    if (k == h->ndim) {
        search_hole(x, hole + 1, letters);
        return;
    }
    int most = letters < LETTERS ? letters : LETTERS - 1;
    for (int d = h->stand == STAND_SIZES ? DIM_REST
                 : x->ones               ? DIM_ONE
                                         : 0;
         d <= most; d++) {
        if (d == DIM_REST && h->ndim > 1) continue;
        h->dim[k] = (int8_t)d;
        search_dims(x, hole, k + 1, d == letters ? letters + 1 : letters);
    }
}

static void search_hole(ShapeSearch *x, size_t hole, int letters) {
    if (search_full(x)) return;
    if (hole == x->p->nhole) {
        x->tries++;
        if (typing_fits(x->p, &x->t)) keep_shapes(x);
        return;
    }
    Standing *h = &x->t.hole[hole];
    const RuleHole *want = &x->p->hole[hole];
    if (h->stand == STAND_CONSTANT) {
        h->ndim = 0;
        search_hole(x, hole + 1, letters);
        return;
    }
    for (int n = x->from; n <= x->to; n++) {
        if (want->ndim >= 0 && n != want->ndim && !want->sizes) continue;
        h->ndim = n;
        search_dims(x, hole, 0, letters);
    }
    if (want->ndim < x->from && want->ndim >= 0 && !want->sizes) {
        h->ndim = want->ndim;
        search_dims(x, hole, 0, letters);
    }
}

static void start_search(ShapeSearch *x, DType d, const Stand *stand) {
    Prover *p = x->p;
    x->t = (Typing){.form = x->form};
    memcpy(x->t.size, distinct, sizeof distinct);
    for (size_t i = 0; i < p->nhole; i++)
        x->t.hole[i] = (Standing){.stand = stand[i], .dtype = d};
}

/* Passes over more and more shapes; each keeps a few. */
static void search_shapes(ShapeSearch *x, DType d, const Stand *stand) {
    static const struct {
        int from, to;
        bool ones;
        unsigned most;
    } pass[] = {{2, 2, false, 4}, {1, 1, false, 2}, {0, 0, false, 1}, {0, 2, false, 4},
                {3, 3, false, 3}, {1, 2, true, 3},  {1, 3, false, 2}, {4, 4, false, 2}};
    for (size_t i = 0; i < sizeof pass / sizeof *pass; i++) {
        x->from = pass[i].from;
        x->to = pass[i].to;
        x->ones = pass[i].ones;
        x->most = pass[i].most;
        x->tries = x->found = 0;
        start_search(x, d, stand);
        search_hole(x, 0, 0);
    }
}

/* ---- trying shapes ---- */

static void set_dtype(const Prover *p, Typing *t, DType d) {
    for (size_t i = 0; i < p->nhole; i++)
        t->hole[i].dtype = d;
}

/* The first few constants, the same for each name. */
static void try_constants_of(Prover *p, const Typing *t) {
    enum { SOME = 3 };
    bool any = false;
    for (size_t k = 0; k < SOME && (k == 0 || any); k++) {
        Typing with = *t;
        for (size_t i = 0; i < p->nhole; i++) {
            any |= with.hole[i].stand == STAND_CONSTANT;
            with.hole[i].constant = k;
        }
        try_typing(p, &with);
    }
}

static void try_sizes(Prover *p, const Typing *t) {
    Typing with = *t;
    memcpy(with.size, others, sizeof others);
    try_constants_of(p, &with);
    memcpy(with.size, equal, sizeof equal);
    try_constants_of(p, &with);
    for (int letter = 0; letter < LETTERS; letter++)
        for (int64_t n = 0; n < 2; n++) {
            memcpy(with.size, distinct, sizeof distinct);
            with.size[letter] = n;
            try_constants_of(p, &with);
        }
}

static void try_shapes(Prover *p, const Typing *kept, bool many) {
    size_t forms = rule_forms(p->rule);
    for (size_t k = 0; k < NDTYPE && !prover_done(p); k++) {
        Typing t = *kept;
        bool varied = is_varied(all_dtypes[k]);
        if (p->elementwise && !varied) continue; /* dense typings had them */
        set_dtype(p, &t, all_dtypes[k]);
        try_typing(p, &t);
        if (varied) try_sizes(p, &t);
        if (many && varied && !p->elementwise) try_mixed(p, &t);
        for (size_t f = 0; f < forms && varied && !prover_done(p); f++) {
            if (f == kept->form) continue;
            t.form = f;
            try_typing(p, &t);
            if (many && f < TRIED_FORMS) try_sizes(p, &t);
        }
    }
}

/* The dtype for which the rule fires at all, and the first form of its open props. */
static void search_and_try(Prover *p, const Stand *stand) {
    static const DType first[] = {DT_FLOAT64, DT_INT64, DT_BOOL, DT_COMPLEX128,
                                  DT_INT8};
    ShapeSearch x = {.p = p};
    size_t forms = rule_forms(p->rule);
    for (; x.form < forms && x.form < TRIED_FORMS && x.nkept == 0; x.form++)
        for (size_t i = 0; i < sizeof first / sizeof *first && x.nkept == 0; i++)
            search_shapes(&x, first[i], stand);
    enum { VARIED = 4 };
    for (unsigned k = 0; k < x.nkept && !prover_done(p); k++)
        try_shapes(p, &x.kept[k], k < VARIED);
}

static void try_shape_typings(Prover *p) {
    Stand stand[HOLES];
    for (size_t i = 0; i < p->nhole; i++)
        stand[i] = p->hole[i].sizes      ? STAND_SIZES
                   : p->hole[i].constant ? STAND_CONSTANT
                                         : STAND_VARIABLE;
    search_and_try(p, stand);
    for (size_t i = 0; i < p->nhole && !p->elementwise && !prover_done(p); i++) {
        if (stand[i] != STAND_VARIABLE) continue;
        stand[i] = STAND_CONSTANT;
        search_and_try(p, stand);
        stand[i] = STAND_VARIABLE;
    }
}

void try_all_typings(Prover *p) {
    if (p->elementwise) try_dense_typings(p);
    if (!prover_done(p)) try_shape_typings(p);
}
