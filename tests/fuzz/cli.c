/* Any words, one a line, as a command line of each tool: settings, or one error that is
 * reported. */
#include "cli/cli.h"

#include "fuzz.h"

static const char *const texts[] = {
    "-e\ny = x + 1\n-i\nx: "
    "float64[3]\n--outputs=y\n-Oyaml\n-z3\n--info\n--dim\nn=3\n--floatX\nfloat32\n-o-",
    "--cost\nloss\n--wrt=W,b\n--checkpoint\nsqrt\n--check\n--name\nd_{cost}\n--known-"
    "grads\nh=g\nm.yaml\nx=1",
    "--mode\nFAST_RUN\n--include\n,\n--exclude=a,b\n--rules\nf\n--verify\n3\n--"
    "keep\na\n--list\n--explain\n--replace\na = b",
    "m.tlg\nx=@x.npy\n-r\ny=y.npy\n--steps\n3\n--each=x,y\n--batch\n8\n--shuffle\n1\n--"
    "save\ns.tlg\n--rtol\n1e-3\n--max-memory\n10MB\n--no-gc",
    "--static\n--by=op\n--top\n5\n--repeat\n3\n--assert\npeak_bytes < "
    "10e6\n--compare\nf.json\n--fail-above\n1.2\n--\n-x\n-fzv\n--errors=json"};

static Seed seed(size_t i) {
    return i < sizeof texts / sizeof *texts ? seed_text(texts[i]) : (Seed){NULL, 0};
}

/* The tools' own mains hand their tables to this one. */
static const Tool *table;
int tool_main(const Tool *t, int argc, char **argv) {
    (void)argc, (void)argv;
    table = t;
    return 0;
}
int gload_main(int argc, char **argv);
int ggrad_main(int argc, char **argv);
int grewrite_main(int argc, char **argv);
int grun_main(int argc, char **argv);
int gprof_main(int argc, char **argv);

static void parse(int argc, char **argv) {
    Run r = {.tool = table, .program = table->name, .argc = argc, .argv = argv};
    r.common = calloc(1, table->settings);
    if (!r.common) abort();
    if (table->preset) table->preset(r.common);
    r.s = session_new(NULL, NULL);
    const char *file;
    Values given;
    bool ok = tool_parse(&r, argc, argv) &&
              run_operands(&r, strstr(table->operands, "VALUE") != NULL, &file, &given);
    if (ok == (diag_first_error(r.s) != NULL)) abort();
    for (size_t i = 0; i < diag_count(r.s); i++) {
        Str out = STR(r.s);
        report_one(r.s, diag_get(r.s, i), r.program, i % 2, argc % 2, &out);
        str_free(&out);
    }
    const Opt *o;
    for (size_t i = 0; (o = tool_option(table, i)); i++) {
        Texts *t = (Texts *)(void *)((char *)r.common + o->at);
        if (o->kind == OPT_LIST || o->kind == OPT_FILES) mem_free(t->p);
    }
    mem_free(r.common->operands.p);
    session_free(r.s);
    free(r.common);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
    static int (*const mains[])(int, char **) = {gload_main, ggrad_main, grewrite_main,
                                                 grun_main, gprof_main};
    char *copy = malloc(n + 1), *argv[66] = {(char[]){"tool"}};
    int argc = 1;
    if (!copy) abort();
    if (n) memcpy(copy, p, n);
    copy[n] = 0;
    for (char *at = copy; argc < 65 && *at; argc++) {
        argv[argc] = at;
        at += strcspn(at, "\n");
        if (*at) *at++ = 0;
    }
    for (size_t i = 0; i < sizeof mains / sizeof *mains; i++) {
        mains[i](0, NULL);
        parse(argc, argv);
    }
    free(copy);
    return 0;
}
