/* gload --nodes: a graph as data for jq and the like. Nodes are Applies, in the order
 * of the file; inputs and outputs are ids of variables. */
#include "format/json.h"
#include "lang/print/print.h"
#include "tools/tools.h"

#include <math.h>
#include <string.h>

static void put_name(const char *key, const Graph *g, Sym name, JsonWriter *w) {
    json_put_key(w, key);
    if (name)
        json_put(w, sym_text(g->s, name));
    else
        json_put_word(w, "null");
}

static void put_prop(Session *s, const PropDef *def, const Prop *q, JsonWriter *w) {
    json_put_key(w, sym_text(s, def->name));
    switch ((int)q->kind) {
    case P_BOOL:
        json_put_word(w, q->i ? "true" : "false");
        return;
    case P_INT:
        json_put_int(w, q->i);
        return;
    case P_FLOAT:
        json_put_number(w, q->f);
        return;
    case P_INTS:
        json_put_ints(w, q->ints.n, q->ints.p);
        return;
    case P_STR:
    case P_GRAPH:
        json_put(w, sym_text(s, q->sym));
        return;
    default:
        break;
    }
    Str text = STR(s);
    print_prop(s, def, q, &text);
    if (strcmp(str_text(&text), "None") == 0)
        json_put_word(w, "null");
    else
        json_put_n(w, str_text(&text), text.n);
    str_free(&text);
}

static void put_node(const Graph *g, ApplyId id, JsonWriter *w) {
    const Apply *ap = &g->apply[id];
    const Signature *sig = op_signature(g->s, ap->op);
    uint32_t line = apply_line(g, id);
    json_line(w, "    ");
    json_open(w, '{');
    json_member_number(w, "id", id);
    json_member(w, "op", ap->op->name);
    put_name("name", g, var_name(g, ap->out), w);
    json_put_key(w, "props");
    json_open(w, '{');
    for (size_t i = 0; ap->props && i < sig->nprop && i < ap->props->n; i++)
        put_prop(g->s, &sig->prop[i], &ap->props->p[i], w);
    json_close(w, "}");
    json_put_numbers(w, "inputs", ap->nin, apply_in(g, id));
    json_put_key(w, "outputs");
    json_open(w, '[');
    for (Var k = 0; k < ap->nout; k++)
        json_put_int(w, ap->out + k);
    json_close(w, "]");
    json_member_number(w, "line", line ? (double)line : (double)NAN);
    json_close(w, "}");
}

static void put_var(const Graph *g, Var v, JsonWriter *w) {
    static const char *const kinds[] = {[LEAF_NOT] = "result",
                                        [LEAF_INPUT] = "input",
                                        [LEAF_SHARED] = "shared",
                                        [LEAF_CONST] = "constant",
                                        [LEAF_DIM] = "dim"};
    json_line(w, "    ");
    json_open(w, '{');
    json_member_number(w, "id", v);
    put_name("name", g, var_name(g, v), w);
    json_member(w, "type", type_str(g->s, var_type(g, v)));
    json_member_number(w, "bytes", type_known_bytes(var_type(g, v)));
    json_member(w, "kind", kinds[var_leaf(g, v)]);
    json_close(w, "}");
}

/* The members of a graph or function. */
static void put_graph(const Graph *g, JsonWriter *w) {
    json_line(w, "  ");
    json_put_key(w, "nodes");
    json_open(w, '[');
    for (ApplyId id = 0; id < g->napply; id++)
        put_node(g, id, w);
    json_close(w, g->napply ? "\n  ]" : "]");
    json_line(w, "  ");
    json_put_key(w, "vars");
    json_open(w, '[');
    for (Var v = 0; v < g->nvar; v++)
        put_var(g, v, w);
    json_close(w, g->nvar ? "\n  ]" : "]");
    json_line(w, "  ");
    json_put_key(w, "outputs");
    json_open(w, '[');
    for (size_t i = 0; i < g->outputs.n; i++) {
        json_open(w, '{');
        put_name("name", g, g->outputs.p[i].label, w);
        json_member_number(w, "var", g->outputs.p[i].var);
        json_close(w, "}");
    }
    json_close(w, "]");
    json_line(w, "  ");
    json_put_key(w, "updates");
    json_open(w, '[');
    for (size_t i = 0; i < g->updates.n; i++) {
        json_open(w, '{');
        json_member_number(w, "shared", g->updates.p[i].shared);
        json_member_number(w, "value", g->updates.p[i].value);
        json_close(w, "}");
    }
    json_close(w, "]");
}

void graph_nodes(const Graph *g, Str *out) {
    JsonWriter w = {.out = out};
    json_open(&w, '{');
    put_graph(g, &w);
    json_line(&w, "  ");
    json_put_key(&w, "functions");
    json_open(&w, '{');
    for (size_t i = 0; i < g->functions.n; i++) {
        json_put_key(&w, sym_text(g->s, g->functions.p[i]->name));
        json_open(&w, '{');
        put_graph(g->functions.p[i], &w);
        json_close(&w, "\n  }");
    }
    json_close(&w, "}");
    json_close(&w, "\n}\n");
}
