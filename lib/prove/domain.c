/* Where a rule holds whose class lets it fail somewhere: the widest of some candidates
 * in which no point failed. */
#include "prove/prove_impl.h"

typedef enum Range {
    RANGE_ANY,
    RANGE_NUMBERS,
    RANGE_FINITE,
    RANGE_TAME,
    RANGE_KEPT,
    RANGES
} Range;
typedef enum Signs {
    SIGNS_ANY,
    SIGNS_NOT_ZERO,
    SIGNS_NOT_NEGATIVE,
    SIGNS_POSITIVE,
    SIGNS
} Signs;

uint32_t domain_all(void) {
    return (UINT32_C(1) << RANGES * SIGNS) - 1;
}

static bool is_in_range(Range r, PointKind k) {
    return (r < RANGE_NUMBERS || !k.nan) && (r < RANGE_FINITE || !k.inf) &&
           (r < RANGE_TAME || !k.extreme) && (r < RANGE_KEPT || !k.left_lost);
}

static bool has_signs(Signs s, PointKind k) {
    return !(k.zero && (s == SIGNS_NOT_ZERO || s == SIGNS_POSITIVE)) &&
           !(k.negative && s >= SIGNS_NOT_NEGATIVE);
}

uint32_t domain_excluding(PointKind k) {
    uint32_t out = 0;
    for (int r = 0; r < RANGES; r++)
        for (int s = 0; s < SIGNS; s++)
            if (!is_in_range((Range)r, k) || !has_signs((Signs)s, k))
                out |= UINT32_C(1) << (r * SIGNS + s);
    return out;
}

static void put_names(const Prover *p, Str *out) {
    for (size_t i = 0; i < p->nhole; i++)
        str_printf(out, "%s%s", i ? ", " : "", sym_text(p->s, p->hole[i].name));
}

static void put_domain(const Prover *p, Range range, Signs signs, Str *out) {
    static const char *const sign_text[] = {"", " other than 0", " >= 0", " > 0"};
    str_puts(out, range >= RANGE_FINITE ? "for finite " : "for ");
    put_names(p, out);
    str_puts(out, sign_text[signs]);
    if (range == RANGE_NUMBERS) str_puts(out, " that are not nan");
    if (range == RANGE_TAME) str_puts(out, " where nothing overflows or underflows");
    if (range == RANGE_KEPT)
        str_puts(out, " where the left side neither fails nor overflows");
}

const char *domain_text(const Prover *p) {
    /* from wide to narrow */
    static const struct {
        Range range;
        Signs signs;
    } order[] = {{RANGE_ANY, SIGNS_ANY},
                 {RANGE_NUMBERS, SIGNS_ANY},
                 {RANGE_ANY, SIGNS_NOT_ZERO},
                 {RANGE_NUMBERS, SIGNS_NOT_ZERO},
                 {RANGE_FINITE, SIGNS_ANY},
                 {RANGE_FINITE, SIGNS_NOT_ZERO},
                 {RANGE_TAME, SIGNS_ANY},
                 {RANGE_TAME, SIGNS_NOT_ZERO},
                 {RANGE_ANY, SIGNS_NOT_NEGATIVE},
                 {RANGE_ANY, SIGNS_POSITIVE},
                 {RANGE_FINITE, SIGNS_NOT_NEGATIVE},
                 {RANGE_FINITE, SIGNS_POSITIVE},
                 {RANGE_TAME, SIGNS_NOT_NEGATIVE},
                 {RANGE_TAME, SIGNS_POSITIVE},
                 {RANGE_KEPT, SIGNS_ANY},
                 {RANGE_KEPT, SIGNS_NOT_ZERO},
                 {RANGE_KEPT, SIGNS_NOT_NEGATIVE},
                 {RANGE_KEPT, SIGNS_POSITIVE}};
    Str out = STR(p->s);
    size_t k = 0, n = sizeof order / sizeof *order;
    while (k < n &&
           !(p->domains >> ((int)order[k].range * SIGNS + (int)order[k].signs) & 1))
        k++;
    if (k == 0)
        str_puts(&out, "everywhere");
    else if (k < n)
        put_domain(p, order[k].range, order[k].signs, &out);
    else
        str_puts(&out, "where both sides are numbers");
    if (p->sign_of_zero) str_puts(&out, " but for the sign of 0");
    const char *text = arena_str(session_arena(p->s), str_text(&out), out.n);
    str_free(&out);
    return text;
}
