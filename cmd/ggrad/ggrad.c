/* ggrad: add derivatives. */
#include "cli/cli.h"
#include "tools/tools.h"

#include <string.h>

typedef struct Ggrad {
    Common common;
    Derive d;
    int disconnected, return_disconnected, null;
    bool check;
    int64_t seed;
    Texts dim;
} Ggrad;
#define AT(field) offsetof(Ggrad, field)

static const Opt options[] = {
    {"cost", 0, OPT_STR, AT(d.cost), "NAME",
     "The scalar to differentiate (default: the only output).", "graph", GROUP_WORK},
    {"wrt", 0, OPT_NAMES, AT(d.wrt), "NAMES",
     "Variables to differentiate with respect to (default: the shared variables that "
     "reach the cost, or if there are none, the float inputs).",
     "graph", GROUP_WORK},
    {"optimizer", 0, OPT_STR, AT(d.optimizer), "RULES",
     "Replace the gradients by updates of --wrt, made by these rules, such as "
     "'clip_norm(1.0), adam(1e-3)'; gload --list-optimizers lists them.",
     "optimizers", GROUP_WORK},
    {"vjp", 0, OPT_NAMES, AT(d.vjp), "NAMES",
     "Add the pullback (vector-Jacobian product) of these variables.", "graph",
     GROUP_WORK},
    {"cotangent", 0, OPT_NAMES, AT(d.cotangent), "NAMES",
     "Cotangents of --vjp: names of new inputs, or variables (default g_NAME).",
     "graph", GROUP_WORK},
    {"jvp", 0, OPT_NAMES, AT(d.jvp), "NAMES",
     "Add the pushforward (Jacobian-vector product, forward mode) of these variables.",
     "graph", GROUP_WORK},
    {"tangents", 0, OPT_NAMES, AT(d.tangents), "NAMES",
     "Tangents of --wrt: names of new inputs, or variables (default t_NAME).", "graph",
     GROUP_WORK},
    {"jacobian", 0, OPT_NAMES, AT(d.jacobian), "NAMES",
     "Add the derivatives of all elements of these variables with respect to all "
     "elements "
     "of --wrt.",
     "graph", GROUP_WORK},
    {"hessian", 0, OPT_STR, AT(d.hessian), "NAME",
     "Add the second derivatives of a scalar: a block for each --wrt.", "graph",
     GROUP_WORK},
    {"mixed", 0, OPT_FLAG, AT(d.mixed), NULL,
     "With --hessian: a block for each pair of --wrt.", NULL, GROUP_WORK},
    {"hvp", 0, OPT_STR, AT(d.hvp), "NAME",
     "Add the Hessian of a scalar times a vector, without building the Hessian.",
     "graph", GROUP_WORK},
    {"vector", 0, OPT_NAMES, AT(d.vector), "NAMES",
     "Vectors of --hvp, one for each --wrt: names of new inputs, or variables (default "
     "v_NAME).",
     "graph", GROUP_WORK},
    {"by-pullback", 0, OPT_FLAG, AT(d.by_pullback), NULL,
     "Build --jvp from two pullbacks.", NULL, GROUP_WORK},
    {"checkpoint", 0, OPT_NAMES, AT(d.checkpoint), "NAMES|sqrt",
     "Keep only these variables for the gradient and recompute the others; sqrt "
     "chooses "
     "variables, and states of loops, so as to save memory.",
     "graph", GROUP_WORK},
    {"memory-budget", 0, OPT_STR, AT(d.budget), "SIZE|list",
     "Recompute as little as keeps the planned peak of memory within SIZE, such as "
     "200MB; list prints what the gradient can take, bytes and flops, instead.",
     NULL, GROUP_WORK},
    {"dim", 0, OPT_LIST, AT(dim), "NAME=SIZE",
     "With --memory-budget: the size of a dim, for the comparison alone.", NULL,
     GROUP_WORK},
    {"name", 0, OPT_STR, AT(d.name), "PATTERN",
     "Pattern for the names of the results (default d_{cost}_d_{wrt}, jvp_{cost}, "
     "jacobian_{cost}_{wrt}, hessian_{cost}_{wrt} or hvp_{cost}_{wrt}).",
     NULL, GROUP_OUTPUT},
    {"consider-constant", 0, OPT_NAMES, AT(d.constant), "NAMES",
     "Variables that gradients do not pass through.", "graph", GROUP_WORK},
    {"known-grads", 0, OPT_NAMES, AT(d.known), "VAR=GRAD,...",
     "Gradients that are known already, used in place of those computed.", "graph",
     GROUP_WORK},
    {"disconnected", 0, OPT_ENUM, AT(disconnected), "raise|warn|ignore",
     "What to do if the cost does not depend on a variable of --wrt.", NULL,
     GROUP_WORK},
    {"return-disconnected", 0, OPT_ENUM, AT(return_disconnected), "zero|none",
     "The gradient of a --wrt that the cost does not depend on.", NULL, GROUP_WORK},
    {"null", 0, OPT_ENUM, AT(null), "raise|return",
     "What to do if a gradient is undefined.", NULL, GROUP_WORK},
    {"only", 0, OPT_FLAG, AT(d.only), NULL,
     "Drop the outputs that the graph already had.", NULL, GROUP_OUTPUT},
    {"check", 0, OPT_FLAG, AT(check), NULL,
     "Compare the derivatives with finite differences at the given or random inputs; "
     "exit 1 on a mismatch.",
     NULL, GROUP_OUTPUT},
    {"seed", 0, OPT_INT, AT(seed), "N", "Seed for the random inputs of --check.", NULL,
     GROUP_OUTPUT},
    OPSET_OPTION(Ggrad),
};

static void take_dims(Run *r, Ggrad *o) {
    Span *dim = NEW_N(session_arena(r->s), o->dim.n, Span);
    for (size_t i = 0; i < o->dim.n; i++)
        dim[i] = o->dim.p[i].at;
    o->d.ndim = o->dim.n;
    o->d.dim = dim;
}

static bool derive_within(Run *r, Graph *g, const Ggrad *o) {
    Str list = STR(r->s);
    bool ok = graph_derive_within(g, &o->d, &list) &&
              (list.n ? run_print(r, &list) : run_write(r, g));
    str_free(&list);
    return ok;
}

static bool ggrad_run(Run *r) {
    Ggrad *o = (Ggrad *)r->common;
    const char *path;
    take_dims(r, o);
    if (!derive_agrees(r->s, &o->d)) return false;
    o->d.how.disconnected = (OnDisconnected)o->disconnected;
    o->d.how.return_disconnected = (ReturnDisconnected)o->return_disconnected;
    o->d.how.null = (OnNull)o->null;
    Values given;
    if (o->d.optimizer && o->check)
        return fail(r->s, NOWHERE, E_USAGE,
                    "--optimizer writes updates, so it excludes --check");
    if (o->d.budget && o->check)
        return fail(r->s, NOWHERE, E_USAGE,
                    "--memory-budget writes a graph, so it excludes --check");
    r->no_graph = o->check || (o->d.budget && strcmp(o->d.budget, "list") == 0);
    if (!run_operands(r, o->check, &path, &given)) return false;
    Graph *g = run_read(r, path);
    if (!g) return false;
    bool ok = graph_check(g) &&
              (o->check      ? graph_check_grad(g, &o->d, &given, (uint64_t)o->seed)
               : o->d.budget ? derive_within(r, g, o)
                             : graph_derive(g, &o->d) && run_write(r, g));
    graph_free(g);
    return ok;
}

static const Tool tool = {
    .name = "ggrad",
    .brief = "add derivatives to a tensor graph",
    .operands = "[FILE] [NAME=VALUE...]",
    .work = "Derivatives",
    .examples = "gload model.yaml | ggrad --cost loss --wrt W,b -o gradients.tlg\n"
                "ggrad model.yaml --cost loss --optimizer 'adam(1e-3)' -o train.tlg\n"
                "ggrad model.yaml --hessian loss --wrt b | gload -O math\n"
                "ggrad model.yaml --cost loss --wrt W --check\n",
    .formats = IO_FORMAT_NAMES,
    .opt = options,
    .nopt = sizeof options / sizeof *options,
    .settings = sizeof(Ggrad),
    .writes_graph = true,
    .run = ggrad_run};

int main(int argc, char **argv) {
    return tool_main(&tool, argc, argv);
}
