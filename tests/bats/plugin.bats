#!/usr/bin/env bats
# Types and ops of the user's own in C: --plugin FILE.so.
load common

# Compiles the tutorial's doubles once for the file.
setup_file() {
    command -v cc >/dev/null || command -v gcc >/dev/null || return 0
    make -s -C "$BATS_TEST_DIRNAME/../../examples/plugin-double" CC="$(command -v cc || command -v gcc)" OUT="$BATS_FILE_TMPDIR"
    chmod 755 "$BATS_FILE_TMPDIR"
}
setup() {
    cd "$BATS_TEST_TMPDIR" || exit 1
    chmod 755 .
    CC=$(command -v cc || command -v gcc) || skip 'no C compiler'
    D="--plugin $BATS_FILE_TMPDIR/double.so"
    export CC D
}

# so NAME: compiles NAME.c, which is read from stdin.
so() {
    { echo '#include <thunkline/plugin.h>'; cat; } >"$1.c"
    "$CC" -std=c11 -I"$ROOT/lib/include" -shared -fPIC -o "$1.so" "$1.c"
    chmod 755 "$1.so"
}

@test "a constant of a plugin's type in a file" {
    like 'gload $D -i "x: double" -e "double_mul(x, 2)" -O yaml' '^  x: double$' '_1 = double_mul\(x, double\(2.0\)\)' '^  double_mul: 1$'
}

@test "gradients of doubles, forwards and backwards" {
    ok 'gload $D -i "x: double" -i "y: double" -e "z = double_div(x, y)" | ggrad $D --cost z | grun $D x=1 y=4' \
        "$(printf 'z = 0.25\nd_z_d_x = 0.25\nd_z_d_y = -0.0625')"
    ok 'gload $D -i "x: double" -e "z = double_mul(x, double_sub(x, 3))" | ggrad $D --cost z | grun $D x=5' \
        "$(printf 'z = 10.0\nd_z_d_x = 7.0')"
    ok 'gload $D -i "x: double" -e "z = double_op(x, x, 2, fn=\"mul\")" | ggrad $D --cost z | grun $D x=5' \
        "$(printf 'z = 50.0\nd_z_d_x = 20.0')"
    like 'gload $D -i "x: double" -e "z = double_mul(x, x)" | ggrad $D --jvp z --wrt x | grun $D x=5 t_x=1' '^jvp_z = 10.0$'
    bad 2 E_USAGE 'check varies arrays of floats: x is double' 'gload $D -i "x: double" -e "z = double_mul(x, x)" | ggrad $D --wrt x --check'
    bad 2 E_USAGE 'but z depends only on x \(double\)' 'gload $D -i "x: double" -e "z = double_mul(x, x)" | ggrad $D --check'
    # zeros of the type: of what is held constant, of a branch that has no tangent
    ok 'gload $D -i "x: double" -e "z = double_mul(zero_grad(x), double_sub(x, 3))" | ggrad $D --cost z | grun $D x=5' \
        "$(printf 'z = 10.0\nd_z_d_x = 5.0')"
    ok 'gload $D -i "x: double" -e "z = double_mul(zero_grad(x), double_sub(x, 3))" | ggrad $D --jvp z | grun $D x=5 t_x=1' \
        "$(printf 'z = 10.0\njvp_z = 5.0')"
    ok 'gload $D -i "x: double" -e "z = ifelse(True, double_mul(x, x), double(3))" | ggrad $D --jvp z | grun $D x=5 t_x=1' \
        "$(printf 'z = 25.0\njvp_z = 10.0')"
    # second order
    like 'gload $D -i "x: double" -e "z = double_mul(x, double_mul(x, x))" | ggrad $D --cost z | ggrad $D --cost d_z_d_x --wrt x | grun $D x=2' '^d_d_z_d_x_d_x = 12.0$'
}

@test "through all five tools and every form; state is kept" {
    run "$ROOT/examples/plugin-double/run.sh"
    assert_success
    assert_line 'z = 30.0'
    assert_line 'z = 37.519999999999996'
    assert_line 'harmonic = 1.5'
    assert_line 'd_harmonic_d_x = 1.125'
    gload --new $D -i 'x: double' --shared 's: double = 1.5' -e 'y = double_mul(x, s)' --update 's = y' -o g.tlg
    for f in yaml json tlg; do
        gload $D g.tlg -o "g.$f"
        ok "grun \$D g.$f x=2 --steps 3 --save s.$f" 'y = 12.0'
        ok "grun \$D s.$f x=1" 'y = 12.0'
    done
    ok 'grun $D g.tlg x=2 -O json' '{"name": "y", "type": "double", "value": 3.0}'
    bad 3 E_DTYPE "there is no type 'double'" 'grun g.tlg x=1'
    bad 3 E_ 'not known|there is no type' 'gload g.yaml'
    # constants fold; DEBUG compares by the type
    like 'gload $D -e "double_add(double(1), 2)" | grewrite $D -O math' '^out = double\(3.0\)$'
    ok 'gload $D -i "x: double" -e "double_mul(x, 2)" | grun $D --mode DEBUG x=3' 'out = 6.0'
}

@test "gload tells what a plugin brings" {
    like 'gload $D --list-types' '^double +A number in double precision' '^  compare +by its values_eq_approx' '^  size +8 bytes' '^  from .*double.so'
    ok 'gload $D --list-types -O json | jq -c ".[] | select(.type == \"double\") | [.form, .size]"' '["double","8 bytes"]'
    like 'gload $D --op double_mul' 'Product of two doubles' 'adjoint +x: double_mul\(g, y\)' 'from .*double.so'
    like 'gload $D --list-ops "double*"' '^double_add ' '^double_op '
}

@test "a plugin is refused when it is not what it should be" {
    bad 4 E_IO "can't be found" 'gload --plugin ./none.so -e 1.'
    so empty <<<'int nothing;'
    bad 3 E_PLUGIN 'does not export tl_plugin' 'gload --plugin ./empty.so -e 1.'
    so abi <<<'static bool init(TlHost *h, const TlApi *a) { return h && a; }
extern TL_EXPORT const TlPlugin tl_plugin;
const TlPlugin tl_plugin = {99, "x", "1", init};'
    bad 3 E_PLUGIN 'version 99 .* has version 1' 'gload --plugin ./abi.so -e 1.'
    so fine <<<'static bool init(TlHost *h, const TlApi *a) { return h && a; }
TL_PLUGIN("x", "1", init)'
    ok 'gload --plugin ./fine.so -e 1.5 | grun' 'out = 1.5'
    chmod o+w fine.so
    bad 3 E_PLUGIN 'anybody may write to it' 'gload --plugin ./fine.so -e 1.'
    chmod o-w fine.so
    mkdir open
    cp fine.so open/
    chmod 777 open
    bad 3 E_PLUGIN 'anybody may write to its folder' 'gload --plugin open/fine.so -e 1.'
    so silent <<<'static bool init(TlHost *h, const TlApi *a) { (void)h, (void)a; return false; }
TL_PLUGIN("x", "1", init)'
    bad 3 E_PLUGIN 'gave no reason' 'gload --plugin ./silent.so -e 1.'
    bad 4 E_IO "can't be loaded.*invalid ELF header" 'gload -i "x: float64" -e x | grun --plugin /etc/passwd x=1'
    for f in . /dev/null; do bad 3 E_PLUGIN 'not a regular file' "gload --plugin $f -e 1."; done
    ln -s open/fine.so link.so
    bad 3 E_PLUGIN 'anybody may write to its folder' 'gload --plugin ./link.so -e 1.'
    # a name alone is a file of this folder, never one of the library path
    ok 'gload --plugin fine.so -e 1.5 | grun' 'out = 1.5'
    bad 4 E_IO "can't be found" 'gload --plugin libm.so.6 -e 1.'
    bad 3 E_DUPLICATE "there is already a type double in .*double.so" 'gload $D $D -e 1.'
    echo text >text.so
    bad 4 E_IO "can't be loaded" 'gload --plugin ./text.so -e 1.'
}

@test "what is wrong with a def is said at the member" {
    so bad <<'END'
static bool make(TlNode *n) { n->out[0] = n->in[0]; return true; }
static bool run(TlCall *c) { return c->api->pass(c, 0, 0); }
static const TlOpDef d = {.size = sizeof d, .name = "f", .in = "x", .make_node = make, .perform = run, .adjoint = "g +"};
static bool init(TlHost *h, const TlApi *a) { return a->add_op(h, &d); }
TL_PLUGIN("bad", "1", init)
END
    bad 3 E_SYNTAX '^gload: ./bad.so \(adjoint of f\):1:4: ' 'gload --plugin ./bad.so -e 1.'
}

# Members of an op f, what the error is and what it says; a member that is right says nothing.
members() {
    cat <<'T'
.in = "x", .adjoint = "nope * g"|E_NAME ./bad.so \(adjoint of f\):1:1: |`nope` is not defined in this text of f|names here are x, r, g
.in = "x", .props = "k: int = 1", .partials = "k * g"|E_NAME ./bad.so \(partials of f\):1:5: |`g` is not defined|names here are x, k, r
.in = "x", .pullback = "nope(g, x)"|E_NAME ./bad.so \(pullback of f\):1:1: |there is no function `nope`|
.in = "x", .flops = "2 * nope"|E_NAME ./bad.so \(flops of f\):1:5: |`nope` is not defined in this text of f|names here are x, r
.in = "x", .flops = "2 * x"|E_TYPE ./bad.so \(flops of f\)|expected a number|
.in = "x", .flops = "x.shape[5] * x.shape[-2] - 2"|||
.in = "x", .flops = "x.shape[40]"|E_VALUE ./bad.so \(flops of f\):1:9: |the index is out of range for a shape with 32 dims|
.make_node = NULL, .in = "x", .itypes = "float64[?, 3]", .otypes = "float64[?]", .flops = "x.shape[2]"|E_VALUE ./bad.so \(flops of f\):1:9: |the index is out of range for a shape with 2 dims|
.make_node = NULL, .in = "x", .itypes = "float64[?, 3]", .otypes = "float64[?]", .flops = "r.shape[1]"|E_VALUE ./bad.so \(flops of f\):1:9: |the index is out of range for a shape with 1 dim|
.make_node = NULL, .in = "x", .itypes = "float64[?, 3]", .otypes = "float64[?]", .flops = "x.shape[1] * r.shape[0]"|||
.in = "x", .shape = "[r.shape[0]]"|E_NAME ./bad.so \(shape of f\):1:2: |`r` is not defined|names here are x
.in = "x", .shape = "disconnected"|E_NAME ./bad.so \(shape of f\):1:1: |`disconnected` is not defined|names here are x
.in = "lambda"|E_PLUGIN |the op f: in: "lambda" can't be a name|
.in = "x", .props = "None: int = 3"|E_PLUGIN |the op f: props: "None" can't be a name|
.in = "x", .out = "if"|E_PLUGIN |the op f: out: "if" can't be a name|
.in = "g", .adjoint = "2 * g"|E_PLUGIN |the op f: in: "g" has another meaning in texts of derivatives|
.in = "g"|||
.in = "x", .props = "k: int = 1", .adjoint = "later(g) * k + float64(x) - (lambda q: q)(r)", .flops = "k * x.size", .shape = "x.shape"|||
.in = "x", .pullback = "undefined('why')"|||
.in = "x", .adjoint = "disconnected"|||
.in = "x", .debug_is_reference = true|E_PLUGIN |debug_is_reference needs debug_perform|
.in = "x", .itypes = "float64", .otypes = "float64"|E_PLUGIN |make_node excludes itypes and otypes|
.in = "x", .default_output = 3|E_PLUGIN |default_output is 3, but it has 1 output|
.in = "x", .partials = "1.", .adjoint = "g"|E_PLUGIN |exclude each other: give one|
T
}

@test "names and functions that a text of an op can't mean are refused when the plugin is loaded" {
    local member where what names
    while IFS='|' read -r member where what names; do
        so bad <<END
static bool make(TlNode *n) { n->out[0] = n->in[0]; return true; }
static bool run(TlCall *c) { return c->api->pass(c, 0, 0); }
static const TlOpDef d = {.size = sizeof d, .name = "f", .make_node = make, .perform = run, $member};
static const TlOpDef later = {.size = sizeof later, .name = "later", .in = "x", .make_node = make, .perform = run};
static bool init(TlHost *h, const TlApi *a) { return a->add_op(h, &d) && a->add_op(h, &later); }
TL_PLUGIN("bad", "1", init)
END
        if [ -z "$where" ]; then
            ok 'gload --plugin ./bad.so -e 1. | grun' 'out = 1.0'
            continue
        fi
        bad 3 "${where%% *}" "$what" 'gload --plugin ./bad.so -e 1.'
        grep -Eq -- "${where#* }.*$what" .err
        grep -Fq "$names" .err
    done < <(members)
}

@test "an op that breaks its promise while running is an error of the run" {
    so lies <<'END'
static bool same(TlNode *n) { n->out[0] = n->in[0]; return true; }
static bool none(TlNode *n) { (void)n; return true; }
static bool nothing(TlCall *c) { (void)c; return true; }
static bool larger(TlCall *c) { TlTensor t; int64_t shape[1] = {9}; return c->api->output(c, 0, 1, shape, &t); }
static bool silent(TlCall *c) { (void)c; return false; }
static bool says(TlCall *c) { return c->api->fail(c->host, TL_WRONG_VALUE, "no such value"); }
static bool outside(TlCall *c) { TlTensor t; c->api->input(c, 0, &t); t.data = (char *)t.data + 64; return c->api->view(c, 0, 0, &t); }
#define OP(n, m, p) {.size = sizeof(TlOpDef), .name = n, .in = "x", .make_node = m, .perform = p}
static const TlOpDef d[] = {OP("f_nothing", same, nothing), OP("f_larger", same, larger), OP("f_silent", same, silent),
    OP("f_says", same, says), OP("f_none", none, nothing), OP("f_outside", same, outside)};
static bool init(TlHost *h, const TlApi *a) { for (int i = 0; i < 6; i++) if (!a->add_op(h, &d[i])) return false; return true; }
TL_PLUGIN("lies", "1", init)
END
    local op want
    while IFS='|' read -r op want; do
        bad 5 E_RUN "$want" "gload --plugin ./lies.so -i 'x: float64[3]' -e '$op(x)' | grun --plugin ./lies.so x=[1,2,3]"
    done <<'END'
f_nothing|did not create output 0
f_larger|is declared float64\[3\]
f_silent|gave no reason
f_says|no such value
f_outside|not a part of input 0
END
    bad 3 E_PLUGIN 'make_node sets no type for output 0' "gload --plugin ./lies.so -e 'f_none(x)'"
}

@test "itypes and otypes, props, views, several outputs, thunks" {
    so more <<'END'
#include <stdlib.h>
static bool dot(TlCall *c) {
    TlTensor x, y, r;
    if (!c->api->input(c, 0, &x) || !c->api->input(c, 1, &y) || !c->api->output(c, 0, 0, NULL, &r)) return false;
    double s = 0;
    for (int64_t i = 0; i < x.shape[0]; i++)
        s += *(double *)((char *)x.data + i * x.stride[0]) * *(double *)((char *)y.data + i * y.stride[0]);
    *(double *)r.data = s * c->api->prop_float(c->host, "scale");
    return true;
}
static bool rest_node(TlNode *n) {
    const int64_t dim[1] = {-1};
    n->out[0] = n->out[1] = c_tensor(n, dim);
    return n->out[0] != NULL;
}
END
    sed -i 's/^static bool rest_node/static const TlType *c_tensor(TlNode *n, const int64_t *dim) { return n->api->make_tensor(n->host, TL_FLOAT64, 1, dim); }\n&/' more.c
    cat >>more.c <<'END'
static bool evens(TlCall *c) {
    TlTensor x;
    if (!c->api->input(c, 0, &x)) return false;
    for (size_t i = 0; i < 2; i++) {
        TlTensor part = x;
        part.data = (char *)x.data + (int64_t)i * x.stride[0];
        part.shape[0] = (x.shape[0] + 1 - (int64_t)i) / 2;
        part.stride[0] = 2 * x.stride[0];
        if (!c->api->view(c, i, 0, &part)) return false;
    }
    return true;
}
static bool count_make(const TlCall *c, int impl, void **state) { (void)c, (void)impl; *state = calloc(1, sizeof(double)); return true; }
static TlThunkResult count_run(void *state, TlCall *c) {
    TlTensor r;
    if (!c->api->output(c, 0, 0, NULL, &r)) return TL_THUNK_FAILED;
    *(double *)r.data = ++*(double *)state;
    return TL_THUNK_DONE;
}
static const TlThunk thunk = {.size = sizeof thunk, .make = count_make, .run = count_run, .free = free};
static const TlOpDef d[] = {
    {.size = sizeof(TlOpDef), .name = "own_dot", .in = "x, y", .props = "scale: float = 1.0", .itypes = "float64[n], float64[n]",
     .otypes = "float64", .perform = dot, .adjoint = "g * scale * y; g * scale * x", .flops = "2 * x.size"},
    {.size = sizeof(TlOpDef), .name = "own_evens", .in = "x", .out = "a, b", .make_node = rest_node, .perform = evens, .view_map = "a: x, b: x"},
    {.size = sizeof(TlOpDef), .name = "own_count", .in = "x", .itypes = "float64", .otypes = "float64", .thunk = &thunk, .never_fold = true}};
static bool init(TlHost *h, const TlApi *a) { for (int i = 0; i < 3; i++) if (!a->add_op(h, &d[i])) return false; return true; }
TL_PLUGIN("more", "1", init)
END
    "$CC" -std=c11 -I"$ROOT/lib/include" -shared -fPIC -o more.so more.c
    chmod 755 more.so
    local P='--plugin ./more.so'
    ok "gload $P -i 'x: float64[n]' -i 'y: float64[n]' -e 'own_dot(x, y, scale=2.)' | ggrad $P | grun $P x=[1,2] y=[3,4]" \
        "$(printf 'out = 22.0\nd_out_d_x = [6.0, 8.0]\nd_out_d_y = [2.0, 4.0]')"
    bad 3 E_TYPE 'input 2/2 \(y\): expected float64\[n\], got float64\[4\]' "gload $P -i 'x: float64[3]' -i 'y: float64[4]' -e 'own_dot(x, y)'"
    ok "gload $P -i 'x: float64[n]' -e 'a, b = own_evens(x)' -e 'c = b + 1' --outputs a,c --new | grun $P x=[1,2,3]" \
        "$(printf 'a = [1.0, 3.0]\nc = [3.0]')"
    ok "gload $P -i 'x: float64' -e 'own_count(x)' | grun $P x=1 --steps 3" 'out = 3.0'
    bad 3 E_GRADIENT 'no gradient' "gload $P -i 'x: float64' -e 'own_count(x)' | ggrad $P"
}

@test "state of a plugin's type: outputs are old values, updates happen at the same time" {
    gload $D --new --shared 'a: double = 1.5' --update 'a = double_add(a, 1)' -e 'o = a' --outputs o >g.tlg
    gload $D --new --shared 'a: double = 1' --shared 'b: double = 2' --update 'a = b' --update 'b = a' -e 'o = double_add(a, double_mul(b, 10))' --outputs o >h.tlg
    gload $D --new --shared 'l: list(double) = [1]' --update 'l = list_append(l, double(3))' -e 'o = l' -e 'p = l[0]' --outputs o,p >l.tlg
    for m in FAST_RUN FAST_COMPILE DEBUG NAN_GUARD; do
        ok "grun $D g.tlg --mode $m --steps 3" 'o = 3.5'
        ok "grun $D h.tlg --mode $m --save s.yaml" 'o = 21.0'
        ok 'grep "^  .: double" s.yaml' $'  a: double = 2.0\n  b: double = 1.0'
        ok "grun $D l.tlg --mode $m --steps 3" $'o = [1.0, 3.0, 3.0]\np = 1.0'
    done
}

@test "only a tensor that nobody else has may be written over" {
    so over <<'END'
#include <stdint.h>
static bool object(TlCall *c) {
    double *x = (double *)(uintptr_t)c->api->input_object(c, 0);
    return x && (*x += 1, c->api->pass(c, 0, 0));
}
static bool tensor(TlCall *c) {
    TlTensor x;
    return c->api->input(c, 0, &x) && (*(double *)x.data += 1, c->api->pass(c, 0, 0));
}
static const TlOpDef ops[] = {
    {.size = sizeof *ops, .name = "double_inc", .in = "x: any", .itypes = "double", .otypes = "double", .perform = object, .destroy_map = "r: x"},
    {.size = sizeof *ops, .name = "inc", .in = "x", .itypes = "float64", .otypes = "float64", .perform = tensor, .destroy_map = "r: x"}};
static bool init(TlHost *h, const TlApi *api) { return api->add_op(h, &ops[0]) && api->add_op(h, &ops[1]); }
TL_PLUGIN("over", "1", init)
END
    O="$D --plugin ./over.so"
    for m in FAST_RUN DEBUG; do
        bad 3 E_DESTROY 'double_inc would overwrite a, which is not a tensor' \
            "gload $O --new --shared 'a: double = 1' --update 'a = double_inc(a)' -e 'o = double_add(a, 1)' --outputs o | grun $O --mode $m"
        bad 3 E_DESTROY 'inc would overwrite list_get.*, which is in a list' \
            "gload $O --new --shared 'l: list(float64) = [1.]' -e 'o = inc(list_append(l, 2.)[0])' --outputs o | grun $O --mode $m"
    done
}

@test "gprof: a result of unknown dims is planned as large as it was" {
    so half <<'END'
static bool make(TlNode *n) { const int64_t d[1] = {-1}; return (n->out[0] = n->api->make_tensor(n->host, TL_FLOAT64, 1, d)) != NULL; }
static bool run(TlCall *c) {
    TlTensor x;
    return c->api->input(c, 0, &x) && (x.shape[0] /= 2, c->api->view(c, 0, 0, &x));
}
static const TlOpDef d = {.size = sizeof d, .name = "half", .in = "x", .make_node = make, .perform = run, .view_map = "r: x", .shape = "[x.shape[0] // 2]"};
static bool init(TlHost *h, const TlApi *a) { return a->add_op(h, &d); }
TL_PLUGIN("half", "1", init)
END
    gload --plugin ./half.so --new -i 'x: float64[n]' -e 'y = half(exp(x))' --outputs y -o g.tlg
    ok "gprof --plugin ./half.so g.tlg 'x=ones(1000)' --assert 'unknown_sizes == 0' --assert 'peak_bytes == 8000' >/dev/null"
    # without a run its text tells, if dims do
    for a in '--dim n=1000' "'x=ones(1000)'"; do
        ok "gprof --plugin ./half.so g.tlg --static $a --assert 'unknown_sizes == 0' --assert 'peak_bytes == 8000' >/dev/null"
    done
    like "gprof --plugin ./half.so g.tlg --static" 'planned 8\*n B'
    ok "gload --plugin ./half.so --new -i 'x: float64[1000]' -e 'y = half(x).shape[0]' --outputs y | grewrite --plugin ./half.so -O math | tail -1" 'y = 500'
}

# plugin_of FILE.c: compiles a file of this folder.
plugin_of() {
    "$CC" -std=c11 -Wall -Wextra -I"$ROOT/lib/include" -shared -fPIC -o "$1.so" "$BATS_TEST_DIRNAME/$1.c"
    chmod 755 "$1.so"
    P="--plugin ./$1.so"
    export P
}

@test "an op of exact types and any number of inputs: each misfit is told" {
    so exact <<'END' || return
static bool run(TlCall *c) { return c->api->pass(c, 0, 0); }
static const TlOpDef two = {.size = sizeof two, .name = "two_of", .in = "x, *rest", .itypes = "float64[n], int64", .otypes = "float64[n]", .perform = run};
static bool init(TlHost *h, const TlApi *a) { return a->add_op(h, &two); }
TL_PLUGIN("exact", "1", init)
END
    of() { gload --plugin ./exact.so --new -i 'x: float64[3]' -i 'b: bool' -e "y = two_of($1)" --outputs y "${@:2}"; }
    export -f of
    ok 'of "x, 1" | grun --plugin ./exact.so x=[1,2,3] --on-unused-input ignore' 'y = [1.0, 2.0, 3.0]'
    bad 3 E_ARITY 'two_of: expected 2 inputs but got 1$' 'of x'
    bad 3 E_ARITY 'two_of: expected 2 inputs but got 3$' 'of "x, 1, 2"'
    bad 3 E_TYPE 'input 2/2 .rest.0..: expected int64, got bool' 'of "x, b"'
    bad 3 E_TYPE 'input 1/2 .x.: expected float64.n., got bool' 'of "b, b"'
    grep -q '^  note: input 2/2 (rest\[0\]): expected int64, got bool$' .err || complain 'should tell the second misfit' "$(cat .err)"
}

@test "gload --op says what an op of a plugin declares" {
    so shown <<'END' || return
static bool node(TlNode *n) { for (size_t i = 0; i < n->nin; i++) n->out[i] = n->in[i]; return true; }
static bool run(TlCall *c) { return c->api->pass(c, 0, 0); }
static TlThunkResult go(void *state, TlCall *c) { (void)state; return run(c) ? TL_THUNK_DONE : TL_THUNK_FAILED; }
static bool grad(TlGrad *g) { (void)g; return true; }
static bool push(TlPush *p) { (void)p; return true; }
static bool connected(const TlApply *a, size_t in, size_t out) { (void)a; return in == out; }
static bool fold(const TlApply *a) { (void)a; return true; }
static int view(const TlApply *a, size_t out) { (void)a; return (int)out; }
static const TlThunk lazy = {.size = sizeof lazy, .lazy = true, .run = go}, eager = {.size = sizeof eager, .run = go};
static const TlOpDef d[] = {
    {.size = sizeof *d, .name = "shown_typed", .in = "x, y", .itypes = "float64[n], int64", .otypes = "float64[n]", .perform = run, .debug_perform = run, .debug_is_reference = true, .grad = grad, .pushforward = push, .never_fold = true, .version = 3, .flops = "x.size"},
    {.size = sizeof *d, .name = "shown_node", .in = "x, y", .out = "a, b", .make_node = node, .perform = run, .debug_perform = run, .connected = connected, .view = view, .fold = fold, .default_output = 2},
    {.size = sizeof *d, .name = "shown_over", .in = "x", .out = "a", .make_node = node, .thunk = &lazy, .destroy_map = "a: x", .adjoint = "2 * g"},
    {.size = sizeof *d, .name = "shown_view", .in = "x, y", .out = "a", .make_node = node, .thunk = &eager, .view_map = "a: y", .disconnected = "y", .pullback = "g; g"}};
static bool init(TlHost *h, const TlApi *a) { for (int i = 0; i < 4; i++) if (!a->add_op(h, &d[i])) return false; return true; }
TL_PLUGIN("shown", "1", init)
END
    local name want
    while IFS='|' read -r name want; do
        gload --plugin ./shown.so --op "$name" | tr -s ' ' >shown.txt
        grep -qxF -- "$want" shown.txt || { cat shown.txt >&2; echo "$name should say: $want" >&2; return 1; }
    done <<'END'
shown_typed|types (float64[n], int64) -> (float64[n])
shown_typed|gradient x: in C
shown_typed|pushforward in C
shown_typed|flops x.size
shown_typed|debug a reference kernel
shown_typed|folding never
shown_typed|version 3
shown_typed|runs by a kernel
shown_node|dtypes decided in C
shown_node|a call gives output 1
shown_node|connection in C
shown_node|view_map in C
shown_node|gradient x: none: asking for it is an error
shown_node|debug a kernel of its own
shown_node|folding when all inputs are constant, by case
shown_over|adjoint x: 2 * g
shown_over|destroy_map in C
shown_over|runs by a lazy thunk of its own
shown_view|view_map in C
shown_view| y: disconnected
shown_view|gradient x: in C
shown_view|runs by a thunk
END
    ok 'gload --plugin ./shown.so --op shown_node -O json | jq -r ".[\"a call gives\"]"' 'output 1'
}

@test "an op asks for its props of every kind, and has a text of its own" {
    plugin_of asks
    ok 'gload $P -i "x: float64" -e "ask(x)" | grun $P x=1' 'out = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 1.0, 0.0]'
    ok "gload \$P -i 'x: float64' -e 'ask(x, flag=True, k=-3, f=2.5, s=\"four\", d=\"int16\", v=[4, 5], o=1)' | grun \$P x=1" \
        'out = [1.0, -3.0, 2.5, 4.0, 1.0, 2.0, 5.0, 0.0, 0.0]'
    like 'gload $P -i "x: float64" -e "ask(x, k=4)" -O math' "^out = ask<4.0'it\\\\'s'>\(x\)$"
    like 'gload $P -i "x: float64" -e "ask(x, k=4)" | gprof $P --static --by op -O tsv' $'^ask<4.0\'it\\\\\'s\'>\t1\t1\t'
    like 'gload $P -i "x: float64" -e "ask_bad(x)" -O math' '^out = ask_bad\(x\)$'
}

@test "derivatives, shapes and foldings in C: what they build and see of the graph" {
    plugin_of asks
    gload $P -i 'x: float64[n]' -i 'k: float64' -e 'c = total(x, k)' -o c.tlg
    ok 'ggrad $P c.tlg --wrt x | grun $P x=[1,2,3] k=2' $'c = 12.0\nd_c_d_x = [2.0, 2.0, 2.0]'
    ok 'ggrad $P c.tlg --jvp c --wrt x | grun $P x=[1,2,3] k=2 t_x=[1,0,1]' $'c = 12.0\njvp_c = 4.0'
    ok 'ggrad $P c.tlg --wrt x --check' ''
    bad 3 E_NULL 'the gradient of k is undefined: nobody asked for k' 'ggrad $P c.tlg --wrt k'
    # a column is no row-major array
    ok 'gload $P -i "x: float64[n,2]" -e "c = total(x[:, 0], 1.)" | grun $P "x=[[1,2],[3,4]]"' 'c = 4.0'
    like 'gload $P -i "x: float64" -e "three(x).shape[0]" | grewrite $P -O math' '^out = 3$'
    like 'gload $P -i "x: float64" -e "three_not(x).shape[0]" | grewrite $P -O math' '^out = .*three_not\(x\)'
    bad 3 E_PLUGIN 'infer_shape must give output 0 a vector of 1 integers' 'gload $P -i "x: float64" -e "three_bad(x).shape[0]" | grewrite $P'
    # seen folds where its only client subtracts it
    like 'gload $P -i "x: float64" -e "y = x - seen(1.0)" | grewrite $P -O math' '^y = x - 3.0$'
    like 'gload $P -i "x: float64" -e "y = x + seen(1.0)" | grewrite $P -O math' '^y = x \+ seen\(1.0\)$'
    like 'gload $P -e "seen(1.0)" | grewrite $P -O math' '^out = seen\(1.0\)$'
}

@test "what a derivative in C asks for and can't have is an error of the plugin" {
    plugin_of asks
    local op code want
    while IFS='|' read -r op code want; do
        bad 3 "$code" "$want" "gload \$P -i 'x: float64' -e '$op(x)' | ggrad \$P"
    done <<'T'
g_op|E_PLUGIN|g_op: can't apply the op nothing here
g_far|E_PLUGIN|g_far: input 1 for add is not a variable
g_props|E_ARG|<props of sum>:1:5: .*: sum has no prop axes: it has axis,
g_props|E_ARG|note: g_props applies sum with these props
g_value|E_ARG|<props of sum>:1:10: 
g_place|E_ARG|<props of sum>:1:5: .*a prop of sum is written NAME=VALUE: it has axis
g_number|E_PLUGIN|g_number: can't create a number here
g_const|E_PLUGIN|g_const: can't create a constant here
g_filter|E_DTYPE|g_filter: expected int8, got a float64 scalar
g_type|E_PLUGIN|g_type: the plugin asks for the type of something that is not a variable
T
}

@test "parameters of a type: texts and numbers, checked, and told to filters and ops" {
    plugin_of money
    ok "gload \$P -i 'm: money(\"EUR\", 9)' -e 'left(m)' -o m.tlg; grun \$P m.tlg m=2" 'out = 7.0'
    ok "gload \$P -e 'left(money(\"EUR\", 9)(2))' | grun \$P" 'out = 7.0'
    ok 'gload $P -i "x: float64" -e "without(x)" | grun $P x=1' 'out = 0.0'
    bad 3 E_VALUE 'm: at most 9 EUR' 'grun $P m.tlg m=12'
    bad 3 E_TYPE 'an int64 array of shape \(2,\) is no amount' 'grun $P m.tlg m=[1,2]'
    local params code want
    while IFS='|' read -r params code want; do
        bad 3 "$code" "money: $want" "gload \$P -i 'm: money$params' -e 'left(m)'"
    done <<'T'
("EURO", 9)|E_VALUE|a currency has three letters, not 'EURO'
(9, "EUR")|E_VALUE|parameter 1 is a text in quotes
("EUR", "x")|E_VALUE|parameter 2 is an integer
("EUR")|E_ARITY|it takes 2 parameters, not 1
|E_ARITY|it takes 2 parameters, not 0
T
    bad 3 E_TYPE 'left: it is float64' 'gload $P -i "m: float64" -e "left(m)"'
    bad 3 E_TYPE "money\('USD', 9\) differs from money\('EUR', 9\)" \
        "gload \$P -i 'm: money(\"EUR\", 9)' -i 'k: money(\"USD\", 9)' -e 'make_list(m, k)'"
    bad 3 E_TYPE "mute\('EUR', 9\): its text is empty" "gload \$P -i 'm: mute(\"EUR\", 9)' -e 'r = m' | grun \$P m=1"
    like 'gload $P --list-types' '^  form +money\(str, int\)$'
}

@test "values of a plugin's type are shown, and counted in profiles" {
    gload $D --new --shared 'a: double = 1.5' -i 'x: double' -e "p = print(x, 'x')" -e 'y = double_mul(a, 2)' -e 'z = double_add(y, p)' --outputs z >g.tlg
    shell "grun $D g.tlg x=4"
    [ "$(cat .out .err)" = $'z = 7.0\nx = 4.0' ]
    like "gload $D g.tlg -O tree" '─ double\(2.0\) \[.\] double$'
    like "gload $D g.tlg -O dot" 'label="double\(2.0\)\\ndouble"'
    like "gload $D g.tlg --info" 'a  *double, value double\(1.5\)$' 'value bytes  *16 *$'
    ok "gprof $D g.tlg x=4 --assert 'unknown_sizes == 0' --assert 'peak_bytes == 128' --assert 'measured_peak_bytes == 16' --assert 'leaves_bytes == 24' >/dev/null 2>.print"
}
