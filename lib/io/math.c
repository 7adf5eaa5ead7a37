/* A graph as formulas for people: infix, with each expression that is used once written
 * in place. */
#include "io/io_impl.h"
#include "lang/print/print.h"

static void write_declaration(const Graph *g, Var v, const char *what,
                              const char *indent, Str *out) {
    str_printf(out, "%s%s: %s%s\n", indent, sym_text(g->s, var_name(g, v)),
               type_str(g->s, var_type(g, v)), what);
}

static void write_equation(Printer *p, const char *label, const char *sign, Var v,
                           const char *indent, Str *out) {
    str_printf(out, "%s%s %s ", indent, label, sign);
    print_expression(p, v, out);
    str_putc(out, '\n');
}

static void write_formulas(const Graph *g, const char *indent, Str *out) {
    Session *s = g->s;
    Arena *a = arena_new(s);
    Printer *p = printer_new(g, PRINT_MATH, graph_live(g, a, ROOTS_RUN), a);
    VarList dim = g->main == g ? graph_free_dims(g, a) : (VarList){0, NULL};
    for (size_t i = 0; i < dim.n; i++)
        str_printf(out, "%s%s: a dim\n", indent, sym_text(s, var_name(g, dim.p[i])));
    for (size_t i = 0; i < g->inputs.n; i++)
        write_declaration(g, g->inputs.p[i], "", indent, out);
    for (size_t i = 0; i < g->shared.n; i++)
        write_declaration(g, g->shared.p[i], " (shared)", indent, out);
    print_block(p, indent, out);
    for (size_t i = 0; i < g->outputs.n; i++) {
        Output o = g->outputs.p[i];
        if (graph_find(g, o.label) != o.var)
            write_equation(p, sym_text(s, o.label), "=", o.var, indent, out);
    }
    for (size_t i = 0; i < g->updates.n; i++)
        write_equation(p, sym_text(s, var_name(g, g->updates.p[i].shared)), "<-",
                       g->updates.p[i].value, indent, out);
    if (g->until != VAR_NONE) write_equation(p, "until", "=", g->until, indent, out);
    arena_free(a);
}

bool math_write(const Graph *main, const WriteOptions *o, Str *out) {
    (void)o;
    for (size_t i = 0; i < main->functions.n; i++) {
        str_printf(out, "%s:\n", sym_text(main->s, main->functions.p[i]->name));
        write_formulas(main->functions.p[i], "    ", out);
    }
    write_formulas(main, "", out);
    return true;
}
