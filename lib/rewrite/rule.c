/* Rules as text: `name @tag [position]: lhs => rhs when guard, guard`. A file is read
 * in two steps: headers at once, so that rules can be listed and selected by tag; sides
 * and guards when a mode first needs the rule. */
#include "base/num.h"
#include "rewrite/rewrite_impl.h"

#include <string.h>

/* Every character of every rule is asked at each start of a tool. */
static inline bool is_blank(char ch) {
    return ch == ' ' || ch == '\t' || ch == '\r' || ch == '\n';
}
/* 1 for an opening bracket, -1 for a closing one, MARK for what else a search for the
 * end of a part looks at, 0 for most. */
enum { MARK = 2 };
static inline int bracket_step(char ch) {
    static const signed char step[256] = {
        ['('] = 1,  ['['] = 1,    ['{'] = 1,     [')'] = -1,   [']'] = -1,
        ['}'] = -1, ['#'] = MARK, ['\n'] = MARK, ['"'] = MARK, ['\''] = MARK};
    return step[(unsigned char)ch];
}

/* Cursor over a rule's text: [p, end) in its source. */
typedef struct RuleCut {
    Session *s;
    const char *text;
    uint32_t source, p, end;
} RuleCut;

static Span cut_span(const RuleCut *c, uint32_t begin, uint32_t end) {
    while (begin < end && is_blank(c->text[begin]))
        begin++;
    while (end > begin && is_blank(c->text[end - 1]))
        end--;
    return (Span){c->source, begin, end};
}

static bool is_header_char(char ch) {
    return ascii_is_word(ch) || ch == '-' || ch == '.';
}

/* Position of `word` outside brackets and strings from c->p on, or c->end. */
static uint32_t find_outside(const RuleCut *c, const char *word) {
    size_t n = strlen(word);
    int depth = 0;
    char quote = 0;
    for (uint32_t i = c->p; i < c->end; i++) {
        char ch = c->text[i];
        if (ch == word[0] && (n < 2 || c->text[i + 1] == word[1]) && !quote &&
            depth == 0 && i + n <= c->end && memcmp(c->text + i, word, n) == 0)
            return i;
        int step = bracket_step(ch);
        if (step == 0) continue;
        if (quote)
            quote = ch == quote ? 0 : quote;
        else if (step != MARK)
            depth += step;
        else if (ch == '\'' || ch == '"')
            quote = ch;
    }
    return c->end;
}

/* ---- the header ---- */

static Span next_header_word(RuleCut *c) {
    while (c->p < c->end && (c->text[c->p] == ' ' || c->text[c->p] == '\t'))
        c->p++;
    uint32_t begin = c->p;
    if (c->p < c->end && c->text[c->p] == '@') c->p++;
    while (c->p < c->end && is_header_char(c->text[c->p]))
        c->p++;
    return (Span){c->source, begin, c->p};
}

static double default_position(const char *tags) {
    static const struct {
        const char *tag;
        double position;
    } stage[] = {{"useless", 0.6},     {"canonicalize", 1}, {"stabilize", 1.5},
                 {"algebra", ALGEBRA}, {"specialize", 2},   {"fusion", 49}};
    size_t first = sizeof stage / sizeof *stage, n;
    for (const char *word = tags; *word; word += n + (word[n] == ' ')) {
        n = strcspn(word, " ");
        for (size_t i = 0; i < first; i++)
            if (stage[i].tag[0] == word[0] && strncmp(stage[i].tag, word, n) == 0 &&
                stage[i].tag[n] == '\0')
                first = i;
    }
    return first < sizeof stage / sizeof *stage ? stage[first].position : 1;
}

static bool read_header_word(Rule *r, Arena *a, const char *p, size_t n, Span at) {
    double v;
    if (*p == '@' && n > 1) {
        const char *tag = arena_str(a, p + 1, n - 1);
        r->tags = *r->tags ? arena_join(a, r->tags, " ", tag) : tag;
        return true;
    }
    if (num_read_float(p, n, FLOAT64, &v) != n)
        return fail(r->s, at, E_REWRITE,
                    "a rule begins with `name @tag position:`; `%.*s` is none of these",
                    (int)n, p);
    r->position = v;
    return true;
}

static bool read_rule_header(Rule *r, Arena *a, RuleCut *c) {
    Span w = next_header_word(c);
    if (w.begin == w.end || c->text[w.begin] == '@')
        return fail(r->s, cut_span(c, w.begin, c->end), E_REWRITE,
                    "a rule begins with its name: `name @tag: lhs => rhs`");
    r->name = arena_str(a, c->text + w.begin, w.end - w.begin);
    r->tags = "";
    r->position = -1;
    bool ok = true;
    for (w = next_header_word(c); ok && w.begin < w.end; w = next_header_word(c))
        ok = read_header_word(r, a, c->text + w.begin, w.end - w.begin, w);
    if (ok && (c->p == c->end || c->text[c->p] != ':'))
        return fail(r->s, cut_span(c, c->p, c->end), E_REWRITE,
                    "expected `:` after the name and tags of rule %s", r->name);
    if (r->position < 0) r->position = default_position(r->tags);
    r->shape_unsafe = strstr(r->tags, "shape_unsafe") != NULL;
    return ok;
}

/* ---- the sides and the guards' text ---- */

static bool read_rule_sides(Rule *r, RuleCut *c) {
    uint32_t begin = ++c->p, arrow = find_outside(c, "=>");
    if (arrow == c->end)
        return fail(r->s, cut_span(c, begin, c->end), E_REWRITE,
                    "rule %s has no `=>` between its sides", r->name);
    r->both = arrow > begin && c->text[arrow - 1] == '<';
    if (r->both && !rewrite_tags_have(r->tags, "search"))
        return fail(r->s, cut_span(c, arrow - 1, arrow + 2), E_REWRITE,
                    "rule %s must have the tag @search to hold in both directions",
                    r->name);
    r->lhs_at = cut_span(c, begin, arrow - r->both);
    c->p = arrow + 2;
    uint32_t when = find_outside(c, " when ");
    r->rhs_at = cut_span(c, arrow + 2, when);
    r->guard_at = when < c->end ? cut_span(c, when + 6, c->end)
                                : (Span){c->source, c->end, c->end};
    return true;
}

static bool guards_name(const Rule *r, const char *text, const char *guard) {
    size_t n = strlen(guard);
    for (uint32_t i = r->guard_at.begin; i + n <= r->guard_at.end; i++)
        if (text[i] == *guard && memcmp(text + i, guard, n) == 0) return true;
    return false;
}

/* The text on one line, without comments. */
static const char *put_on_one_line(Arena *a, const char *p, size_t n) {
    char *text = arena_alloc(a, n + 1), *to = text;
    for (size_t i = 0; i < n; i++) {
        bool blank = is_blank(p[i]);
        if (p[i] == '#') {
            while (i + 1 < n && p[i + 1] != '\n')
                i++;
            continue;
        }
        if (blank && (to == text || to[-1] == ' ')) continue;
        *to++ = blank ? ' ' : p[i];
    }
    while (to > text && to[-1] == ' ')
        to--;
    *to = '\0';
    return text;
}

static Rule *read_rule(Session *s, Arena *a, Span at) {
    const Source *src = source_get(s, at.source);
    RuleCut c = {s, src->text, at.source, at.begin, at.end};
    Rule *r = NEW(a, Rule);
    r->s = s;
    r->at = cut_span(&c, at.begin, at.end);
    if (!read_rule_header(r, a, &c)) return NULL;
    if (!read_rule_sides(r, &c)) return NULL;
    r->counts_uses = guards_name(r, src->text, "single_use") ||
                     guards_name(r, src->text, "accumulates");
    return r;
}

const char *rule_text(Rule *r) {
    const char *all = source_get(r->s, r->at.source)->text;
    uint32_t begin = r->lhs_at.begin;
    if (!r->text)
        r->text = put_on_one_line(session_arena(r->s), all + begin, r->at.end - begin);
    return r->text;
}

/* Just after the last character of [begin, end) that isn't blank; `none` if all are. */
static size_t text_end(const char *text, size_t begin, size_t end, size_t none) {
    while (end > begin && is_blank(text[end - 1]))
        end--;
    return end > begin ? end : none;
}

/* The end of the logical line that begins at p: open brackets continue it. */
static size_t logical_line_end(const char *text, size_t p, size_t n) {
    int depth = 0;
    size_t begin = p, last = p; /* begin: after the last comment; last: just after the
                                 * last character that is neither blank nor comment */
    for (; p < n; p++) {
        int step = bracket_step(text[p]);
        if (step != MARK) {
            depth += step;
        } else if (text[p] == '#') {
            last = text_end(text, begin, p, last);
            p += strcspn(text + p, "\n") - 1;
            begin = p + 1;
        } else if (text[p] == '\n' && depth <= 0) {
            break;
        }
    }
    return text_end(text, begin, p, last);
}

bool rules_read(Session *s, Arena *a, uint32_t source, RuleVec *out) {
    const Source *src = source_get(s, source);
    for (size_t p = 0; p < src->len;) {
        p += strspn(src->text + p, " \t\r\n");
        if (p >= src->len) break;
        if (src->text[p] == '#') {
            p += strcspn(src->text + p, "\n");
            continue;
        }
        size_t end = logical_line_end(src->text, p, src->len);
        Rule *r = read_rule(s, a, (Span){source, (uint32_t)p, (uint32_t)end});
        if (!r) return false;
        vec_push(s, out, r);
        p = end + strcspn(src->text + end, "\n");
    }
    return true;
}

/* ---- guards ---- */

static bool same_pattern(const Pat *p, const Pat *q) {
    if (p->kind != q->kind) return false;
    if (p->kind == PAT_HOLE) return p->hole == q->hole;
    if (p->kind == PAT_LITERAL)
        return p->lit == q->lit && p->negative == q->negative && p->u == q->u &&
               p->re == q->re && p->im == q->im;
    bool same =
        p->op == q->op && p->nin == q->nin && p->picks == q->picks && p->out == q->out;
    for (size_t i = 0; same && i < p->nin; i++)
        same = same_pattern(p->in[i], q->in[i]);
    return same;
}

/* The part of `all` that equals p apart from its props; NULL: none. */
static const Pat *find_pattern_part(const Pat *all, const Pat *p) {
    if (same_pattern(all, p)) return all;
    const Pat *part = NULL;
    for (size_t i = 0; all->kind == PAT_APPLY && i < all->nin && !part; i++)
        part = find_pattern_part(all->in[i], p);
    return part;
}

static bool read_guard_arg(Rule *r, const RuleArenas *m, Guard *g, const Ast *e) {
    const Pat *p = pattern_compile(r, m->keep, e, true);
    if (!p) return false;
    if (p->kind != PAT_HOLE) {
        p = g->narg == 0 && r->nguard < PART_MAX ? find_pattern_part(r->lhs, p) : NULL;
        g->part = true;
    }
    if (!p || (g->narg == 0 && g->part && p->kind != PAT_APPLY))
        return fail(
            r->s, e->at, E_REWRITE,
            "the argument of a guard must be a name in the pattern, or a part of it");
    g->arg[g->narg++] = p;
    return true;
}

static bool fail_no_guard(const Rule *r, const Ast *e) {
    const char *names[64];
    size_t n = 0;
    while (n < 64 && (names[n] = guard_name(n)))
        n++;
    const char *near = str_nearest(r->s, sym_text(r->s, e->sym), names, n);
    return fail(r->s, e->at, E_REWRITE, "there is no guard %s%s%s%s",
                sym_text(r->s, e->sym), near ? "; did you mean " : "", near ? near : "",
                near ? "?" : "");
}

static bool read_guard(Rule *r, const RuleArenas *m, Span at, Guard *g) {
    const Ast *e = ast_parse(r->s, m->scratch, at);
    if (!e) return false;
    if (e->kind != AST_CALL)
        return fail(r->s, at, E_REWRITE, "a guard must be a call such as const(x)");
    *g = (Guard){.test = guard_find(r->s, e->sym), .at = at};
    if (g->test < 0) return fail_no_guard(r, e);
    if (e->nkid != guard_arity(g->test))
        return fail(r->s, e->at, E_REWRITE, "the guard %s takes %zu name%s",
                    sym_text(r->s, e->sym), guard_arity(g->test),
                    guard_arity(g->test) == 1 ? "" : "s");
    for (size_t i = 0; i < e->nkid; i++)
        if (!read_guard_arg(r, m, g, e->kid[i])) return false;
    return true;
}

/* What a name of the pattern stands for; NULL: it isn't one, but perhaps a parameter.
 */
static const Pat *plain_hole(const Rule *r, Arena *keep, Span at) {
    const char *text = source_get(r->s, at.source)->text + at.begin;
    Sym name = sym_find(r->s, text, at.end - at.begin);
    for (size_t i = 0; name && i < r->nhole; i++) {
        if (r->hole[i] != name || r->prop_hole[i] || r->rest_hole[i]) continue;
        Pat *p = NEW(keep, Pat);
        *p = (Pat){.kind = PAT_HOLE, .at = at, .hole = (uint16_t)i, .rest = -1};
        return p;
    }
    return NULL;
}

/* The part of p that is written with this text; NULL: none. */
static const Pat *find_written_part(const Pat *p, const char *text, Span at) {
    const Pat *part = NULL;
    uint32_t n = at.end - at.begin;
    if (p->kind != PAT_APPLY) return NULL;
    if (!p->picks && p->at.end - p->at.begin == n &&
        memcmp(text + p->at.begin, text + at.begin, n) == 0)
        return p;
    for (size_t i = 0; i < p->nin && !part; i++)
        part = find_written_part(p->in[i], text, at);
    return part;
}

/* Most guards are a word and one or two names, or a part as it is written on the left:
 * no parser is needed. False: this one isn't, or not as it should be. */
static bool read_plain_guard(const Rule *r, Arena *keep, Span at, Guard *g) {
    RuleCut c = {r->s, source_get(r->s, at.source)->text, at.source, at.begin, at.end};
    while (c.p < at.end && ascii_is_word(c.text[c.p]))
        c.p++;
    Sym word = sym_find(r->s, c.text + at.begin, c.p - at.begin);
    *g = (Guard){.test = word ? guard_find(r->s, word) : -1, .at = at};
    if (g->test < 0 || c.p == at.end || c.text[c.p++] != '(' || c.text[--c.end] != ')')
        return false;
    for (size_t n = guard_arity(g->test); g->narg < n; c.p++) {
        uint32_t comma = g->narg + 1 < n ? find_outside(&c, ",") : c.end;
        Span one = cut_span(&c, c.p, comma);
        const Pat *p = plain_hole(r, keep, one);
        if (!p && g->narg == 0 && r->nguard < PART_MAX) {
            p = find_written_part(r->lhs, c.text, one);
            if (p) p = find_pattern_part(r->lhs, p);
            g->part = true;
        }
        if (!p) return false;
        g->arg[g->narg++] = p;
        c.p = comma;
    }
    return true;
}

static void note_guard(Rule *r, Guard *g) {
    r->parts |= g->part;
    if (g->arg[0]->kind != PAT_HOLE) return;
    uint16_t hole = g->arg[0]->hole;
    GuardSet test = guard_by_type(g->test);
    g->early = test != 0;
    r->by_type[hole] |= test;
    r->const_hole[hole] |= strcmp(guard_name((size_t)g->test), "const") == 0;
}

static bool read_guards(Rule *r, const RuleArenas *m) {
    RuleCut c = {r->s, source_get(r->s, r->at.source)->text, r->guard_at.source,
                 r->guard_at.begin, r->guard_at.end};
    size_t most = c.p < c.end;
    for (uint32_t i = c.p; i < c.end; i++)
        most += c.text[i] == ',';
    Guard *g = NEW_N(m->keep, most, Guard);
    r->nguard = 0;
    for (uint32_t comma; c.p < c.end; c.p = comma + 1) {
        comma = find_outside(&c, ",");
        Span at = cut_span(&c, c.p, comma);
        if (!read_plain_guard(r, m->keep, at, &g[r->nguard]) &&
            !read_guard(r, m, at, &g[r->nguard]))
            return false;
        note_guard(r, &g[r->nguard++]);
    }
    r->guard = g; /* not NULL, even of none */
    return true;
}

/* ---- the whole ---- */

static unsigned pattern_weight(const Pat *p) {
    unsigned n = p->kind == PAT_HOLE ? 0 : 2;
    for (size_t i = 0; p->kind == PAT_APPLY && i < p->nin; i++)
        n += pattern_weight(p->in[i]);
    return n + (p->kind == PAT_APPLY && p->nprop > 0);
}

static void note_rhs(Rule *r, const Pat *p) {
    if (p->kind == PAT_HOLE) r->in_rhs[p->hole] = true;
    if (p->kind != PAT_APPLY) return;
    for (size_t i = 0; i < p->nin; i++)
        note_rhs(r, p->in[i]);
}

/* `ok` as it is now: a rule of the library may name an op that this build lacks. */
static bool end_compiling(Rule *r, bool ok, size_t mark, bool lenient) {
    if (!ok && lenient && diag_count(r->s) > mark &&
        diag_get(r->s, diag_count(r->s) - 1)->code == E_NAME) {
        diag_rewind(r->s, mark);
        r->broken = ok = true;
    }
    return ok || note(r->s, r->at, "in rule %s", r->name);
}

static bool compile_left(Rule *r, const RuleArenas *m) {
    const Ast *lhs = ast_parse(r->s, m->scratch, r->lhs_at);
    const Pat *p = lhs ? pattern_compile(r, m->keep, lhs, false) : NULL;
    if (!p) return false;
    if (p->kind != PAT_APPLY)
        return fail(r->s, r->lhs_at, E_REWRITE,
                    "the left side of rule %s must be an operation", r->name);
    r->lhs = p;
    r->weight = pattern_weight(p);
    return true;
}

static bool compile_right(Rule *r, const RuleArenas *m) {
    const Ast *rhs = ast_parse(r->s, m->scratch, r->rhs_at);
    if (!rhs || !(r->rhs = pattern_compile(r, m->keep, rhs, true))) return false;
    note_rhs(r, r->rhs);
    return true;
}

/* A rule for both directions is two rules of one name. */
static bool compile_reverse(Rule *r, const RuleArenas *m) {
    Rule *back = NEW(m->keep, Rule);
    *back = (Rule){.s = r->s,
                   .name = r->name,
                   .tags = r->tags,
                   .position = r->position,
                   .at = r->at,
                   .lhs_at = r->rhs_at,
                   .rhs_at = r->lhs_at,
                   .guard_at = r->guard_at,
                   .shape_unsafe = r->shape_unsafe,
                   .compiled = true};
    r->reverse = back;
    return compile_left(back, m) && compile_right(back, m) && read_guards(back, m);
}

bool rule_compile_left(Rule *r, const RuleArenas *m, bool lenient) {
    if (r->lhs || r->broken) return true;
    size_t mark = diag_count(r->s);
    bool ok = compile_left(r, m);
    arena_reset(m->scratch);
    return end_compiling(r, ok, mark, lenient);
}

bool rule_compile_when(Rule *r, const RuleArenas *m, bool lenient) {
    if (!rule_compile_left(r, m, lenient)) return false;
    if (r->guard || r->broken) return true;
    size_t mark = diag_count(r->s);
    bool ok = read_guards(r, m);
    arena_reset(m->scratch);
    return end_compiling(r, ok, mark, lenient);
}

bool rule_compile(Rule *r, const RuleArenas *m, bool lenient) {
    if (r->compiled) return true;
    if (!rule_compile_left(r, m, lenient)) return false;
    size_t mark = diag_count(r->s);
    bool ok = end_compiling(r, r->broken || compile_right(r, m), mark, lenient) &&
              rule_compile_when(r, m, lenient);
    if (ok && r->both && !r->broken && !compile_reverse(r, m))
        ok = note(r->s, r->at, "in rule %s", r->name);
    arena_reset(m->scratch);
    r->compiled = ok;
    return ok;
}

const Rule *rule_parse(Session *s, Span text) {
    RuleArenas m = {session_arena(s), arena_new(s)};
    Rule *r = read_rule(s, m.keep, text);
    bool ok = r && rule_compile(r, &m, false);
    arena_free(m.scratch);
    return ok ? r : NULL;
}

/* ---- before a rule is compiled ---- */

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

bool rule_names_ops(const Rule *r, bool (*see)(const void *ctx, const Op *op),
                    const void *ctx) {
    const char *text = source_get(r->s, r->lhs_at.source)->text;
    const char *p = text + r->lhs_at.begin, *end = text + r->lhs_at.end;
    while (p < end) {
        const char *word = p;
        while (p < end && is_word(*p))
            p++;
        const Op *op = p > word && p < end && *p == '('
                           ? op_find(r->s, word, (size_t)(p - word))
                           : NULL;
        bool stands = op && !op->def && (op->perform || !op->expand);
        if (stands && !see(ctx, op)) return false;
        if (p == word) p++;
    }
    return true;
}
