/* ggrad: add derivatives. */
#include "cli/cli.h"
#include "pipeline/pipeline.h"

typedef struct Ggrad {
    Common common;
    Derive d;
    int disconnected, return_disconnected, null;
    bool check;
    int64_t seed;
} Ggrad;
#define AT(field) offsetof(Ggrad, field)

static const Opt options[] = {
    {"cost", 0, OPT_STR, AT(d.cost), "NAME",
     "The scalar to differentiate; the only output if unset.", "graph"},
    {"wrt", 0, OPT_STR, AT(d.wrt), "NAMES",
     "What to differentiate by; the float inputs and shared variables that reach the "
     "cost if unset.",
     "graph"},
    {"vjp", 0, OPT_STR, AT(d.vjp), "NAMES", "Pullback of these variables.", "graph"},
    {"cotangent", 0, OPT_STR, AT(d.cotangent), "NAMES",
     "Their cotangents: new inputs, or variables; g_NAME if unset.", "graph"},
    {"jvp", 0, OPT_STR, AT(d.jvp), "NAMES",
     "Pushforward (forward mode) of these variables.", "graph"},
    {"tangents", 0, OPT_STR, AT(d.tangents), "NAMES",
     "Tangents of --wrt: new inputs, or variables; t_NAME if unset.", "graph"},
    {"by-pullback", 0, OPT_FLAG, AT(d.by_pullback), NULL,
     "Make --jvp from two pullbacks.", NULL},
    {"name", 0, OPT_STR, AT(d.name), "PATTERN",
     "Names of the results; d_{cost}_d_{wrt} if unset.", NULL},
    {"consider-constant", 0, OPT_STR, AT(d.constant), "NAMES",
     "Variables that gradients do not pass.", "graph"},
    {"known-grads", 0, OPT_STR, AT(d.known), "VAR=GRAD,...",
     "Gradients that are known already; they stand instead of what would be collected.",
     "graph"},
    {"disconnected", 0, OPT_ENUM, AT(disconnected), "raise|warn|ignore",
     "What to do when the cost does not depend on a --wrt.", NULL},
    {"return-disconnected", 0, OPT_ENUM, AT(return_disconnected), "zero|none",
     "The gradient that such a --wrt gets.", NULL},
    {"null", 0, OPT_ENUM, AT(null), "raise|return",
     "What to do when a gradient is undefined.", NULL},
    {"only", 0, OPT_FLAG, AT(d.only), NULL, "Drop the outputs that were there before.",
     NULL},
    {"check", 0, OPT_FLAG, AT(check), NULL,
     "Compare the gradient with finite differences at the given or random inputs; exit "
     "1 on a mismatch.",
     NULL},
    {"seed", 0, OPT_INT, AT(seed), "N", "Seed of the random inputs of --check.", NULL},
};

/* One kind of derivative at a time, and options only beside the kind that reads them.
 */
static bool options_agree(Run *r, const Ggrad *o) {
    const Derive *d = &o->d;
    if (!!d->cost + !!d->vjp + !!d->jvp > 1)
        return fail(
            r->s, NOWHERE, E_USAGE,
            "--cost, --vjp and --jvp exclude each other: one derivative a command");
    if (d->wrt && !*d->wrt) return fail(r->s, NOWHERE, E_USAGE, "--wrt needs names");
    if (d->cotangent && !d->vjp)
        return fail(r->s, NOWHERE, E_USAGE, "--cotangent goes with --vjp");
    if ((d->tangents || d->by_pullback) && !d->jvp)
        return fail(r->s, NOWHERE, E_USAGE, "--%s goes with --jvp",
                    d->tangents ? "tangents" : "by-pullback");
    return true;
}

static bool ggrad(Run *r) {
    Ggrad *o = (Ggrad *)r->common;
    const char *path;
    if (!options_agree(r, o)) return false;
    o->d.how.disconnected = (OnDisconnected)o->disconnected;
    o->d.how.return_disconnected = (ReturnDisconnected)o->return_disconnected;
    o->d.how.null = (OnNull)o->null;
    const char *what = o->d.vjp ? o->d.vjp : o->d.jvp ? o->d.jvp : o->d.cost;
    if (what)
        o->d.at = run_text(r, o->d.vjp ? "--vjp" : o->d.jvp ? "--jvp" : "--cost", what);
    Values given;
    r->no_graph = o->check;
    if (!run_operands(r, o->check, &path, &given)) return false;
    Graph *g = run_read(r, path);
    if (!g) return false;
    bool ok = graph_check(g) &&
              (o->check ? graph_check_grad(g, &o->d, &given, (uint64_t)o->seed)
                        : graph_derive(g, &o->d) && run_write(r, g));
    graph_free(g);
    return ok;
}

static const Tool tool = {.name = "ggrad",
                          .brief = "add derivatives to a tensor graph",
                          .operands = "[FILE]",
                          .formats = "yaml|json|tlg|dot|tree|math",
                          .opt = options,
                          .nopt = sizeof options / sizeof *options,
                          .settings = sizeof(Ggrad),
                          .writes_graph = true,
                          .run = ggrad};

int main(int argc, char **argv) {
    return tool_main(&tool, argc, argv);
}
