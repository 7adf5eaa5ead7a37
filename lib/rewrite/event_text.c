/* Replacements as text. */
#include "lang/print/print.h"
#include "rewrite/rewrite.h"

/* Only an event's own text and later ones of the same epoch show the same graph. */
static Printer *printer_for(EventText *x, const RewriteEvent *e) {
    bool same =
        x->printer && x->g == e->g && x->epoch == e->epoch && x->number <= e->number;
    if (same) {
        printer_follow(x->printer);
    } else {
        event_text_close(x);
        x->arena = arena_new(e->g->s);
        x->printer = printer_new(e->g, PRINT_MATH, NULL, x->arena);
    }
    x->g = e->g;
    x->epoch = e->epoch;
    x->number = e->number;
    return x->printer;
}

void event_text_of(EventText *x, const RewriteEvent *e, Var v, Str *out) {
    print_definition(printer_for(x, e), v, out);
}

void event_text(EventText *x, const RewriteEvent *e, Str *out) {
    event_text_of(x, e, e->before, out);
    str_puts(out, "  =>  ");
    event_text_of(x, e, e->after, out);
}

void event_text_close(EventText *x) {
    if (x->arena) arena_free(x->arena);
    *x = (EventText){0};
}
