# The places that are easy to get wrong, as far as the shell can show them.
load common

@test "1: closeness is symmetric in the tutorial's sense, and zero is close to zero" {
    gload -i 'x: float64' -e 'x' -o x.tlg
    ok 'grun x.tlg x=1 --expect out=1.000001 --rtol 1e-4 >/dev/null'
    bad 1 E_VERDICT '.' 'grun x.tlg x=1 --expect out=1.001 --rtol 1e-4'
    ok 'grun x.tlg x=0 --expect out=0 >/dev/null'
    ok 'grun x.tlg x=nan --expect out=nan >/dev/null'
    bad 1 E_VERDICT '.' 'grun x.tlg x=inf --expect out=1e308'
    bad 1 E_VERDICT '.' 'grun x.tlg x=nan --expect out=0'
}

@test "2: arrays by dtype, literals by value" {
    gload -e 'int64([3])' | grun -r out=i64.npy
    gload -e 'float64([2.0])' | grun -r out=f64.npy
    gload -e 'int64([9007199254740993])' | grun -r out=big.npy
    gload -i 'i: int32[1]' -e 'i' -o i32.tlg
    gload -i 'i: int64[1]' -e 'i' -o i64.tlg
    ok 'grun i32.tlg i=[3]' 'out = [3]'
    bad 3 E_DTYPE 'int64' 'grun i32.tlg i=@i64.npy'
    ok 'grun i64.tlg i=[2.0]' 'out = [2]'
    bad 3 E_VALUE '2.5' 'grun i64.tlg i=[2.5]'
    bad 3 E_DTYPE 'float64' 'grun i64.tlg i=@f64.npy'
    ok 'gload -i "x: float64[1]" -e "x" | grun x=@big.npy' 'out = [9007199254740992.0]'
    ok 'gload -i "x: float32" -e "x" | grun x=1.1' 'out = 1.1'
}

@test "3: static shapes are kept and checked" {
    bad 3 E_ '3' 'gload -i "x: float64[2, 1]" -e x | grun x=[[1,2,3],[4,5,6]]'
    bad 5 E_ '3' 'gload -i "x: float64[2, ?]" -e "specify_shape(x, [2, 1])" | grun x=[[1,2,3],[4,5,6]]'
}

@test "8: a run-time 1 never stretches by itself" {
    bad 5 E_RUN_SHAPE '1' 'gload -i "x: float64[?, 3]" -i "y: float64[2, 3]" -e "x * y" | grun x=[[1,1,1]] y=[[1,1,1],[1,1,1]]'
    ok 'gload -i "x: float64[1, 3]" -i "y: float64[2, 3]" -e "sum(x * y)" | grun x=[[1,1,1]] y=[[1,1,1],[1,1,1]]' 'out = 6.0'
}

# over.so: add_over(x, y) adds y to each element of x in x's own memory, twice_over(x) doubles them there.
add_over() {
    CC=$(command -v cc || command -v gcc) || skip 'no C compiler'
    cat >over.c <<'END'
#include <thunkline/plugin.h>
static bool node(TlNode *n) { n->out[0] = n->in[0]; return true; }
static bool add(TlCall *c) {
    TlTensor x, y;
    if (!c->api->input(c, 0, &x) || !c->api->input(c, 1, &y)) return false;
    for (int64_t i = 0; i < (x.ndim ? x.shape[0] : 1); i++)
        *(double *)((char *)x.data + (x.ndim ? i * x.stride[0] : 0)) += *(const double *)y.data;
    return c->api->pass(c, 0, 0);
}
static const TlOpDef over = {.size = sizeof over, .name = "add_over", .in = "x, y", .make_node = node, .perform = add, .destroy_map = "r: x", .pullback = "g; sum(g)"};
static bool like(TlNode *n) { n->out[0] = n->in[0]; return true; }
static bool twice(TlCall *c) {
    TlTensor x;
    if (!c->api->input(c, 0, &x)) return false;
    for (int64_t i = 0; i < (x.ndim ? x.shape[0] : 1); i++)
        *(double *)((char *)x.data + (x.ndim ? i * x.stride[0] : 0)) *= 2;
    return c->api->pass(c, 0, 0);
}
static const TlOpDef linear = {.size = sizeof linear, .name = "twice_over", .in = "x", .make_node = like, .perform = twice, .destroy_map = "r: x", .adjoint = "2 * g"};
static bool init(TlHost *h, const TlApi *a) { return a->add_op(h, &over) && a->add_op(h, &linear); }
TL_PLUGIN("over", "1", init)
END
    "$CC" -std=c11 -I"$ROOT/lib/include" -shared -fPIC -o over.so over.c
    chmod 755 . over.so
    export P='--plugin ./over.so'
}

@test "11: what overwrites its input runs after all who read it" {
    add_over
    # in whatever order they are listed
    ok 'gload $P --new -i "k: float64" -e "x = exp(k)" -e "r1 = log(x)" -e "r2 = add_over(x, 1.)" --outputs r1,r2 | grun $P k=0' $'r1 = 0.0\nr2 = 2.0'
    ok 'gload $P --new -i "k: float64" -e "r2 = add_over(x, 1.)" -e "x = exp(k)" -e "r1 = log(x)" --outputs r2,r1 | grun $P k=0' $'r2 = 2.0\nr1 = 0.0'
    ok 'gload $P --new -i "k: float64" -e "x = exp(k)" -e "r2 = add_over(x, 1.)" -e "r1 = log(x)" --outputs r2,r1 | grewrite $P | grun $P k=0 --mode DEBUG' $'r2 = 2.0\nr1 = 0.0'
    # who reads a view of it counts
    ok 'gload $P --new -i "k: float64[n]" -e "x = exp(k)" -e "r2 = add_over(x, 1.)" -e "v = x[::-1]" -e "r1 = log(v)" --outputs r2,r1 | grun $P k=[0,2]' $'r2 = [2.0, 8.38905609893065]\nr1 = [2.0, 0.0]'
    # where no order is right it gets a copy
    local m
    for m in FAST_RUN FAST_COMPILE DEBUG; do
        ok 'gload $P --new -i "k: float64[n]" -e "x = exp(k)" -e "y = add_over(x, 1.)" -e "r = y * x" --outputs x,r | grun $P k=[0,0] --mode '$m $'x = [1.0, 1.0]\nr = [2.0, 2.0]'
        ok 'gload $P --new -i "k: float64[n]" -e "sum(add_over(exp(k), 1.))" | ggrad $P --wrt k | grun $P k=[0,2] --mode '$m $'out = 10.38905609893065\nd_out_d_k = [1.0, 7.38905609893065]'
        # x is asked for late, by a branch
        ok 'gload $P --new -i "k: float64" -e "x = exp(k)" -e "ifelse(add_over(x, 1.) > 1, x, -x)" --outputs out | grun $P k=0 --mode '$m 'out = 1.0'
    done
    ok 'gload $P --new -i "k: float64[n]" -e "x = exp(k)" -e "sum(x * add_over(x, 1.))" --outputs out | ggrad $P --wrt k --check k=[0,1]' ''
    like 'gload $P --new -i "k: float64[n]" -e "x = exp(k)" -e "add_over(x, 1.)" --outputs x,out | gprof $P --static --dim n=1000 --assert "peak_bytes >= 16000"' "planned 16.0 kB"
    # where it can't be meant
    bad 3 E_DESTROY 'overwrites it already' 'gload $P --new -i "k: float64" -e "x = exp(k)" -e "a = add_over(x, 1.)" -e "b = add_over(x, 2.)" --outputs a,b | grun $P k=1'
    bad 3 E_DESTROY 'which is a constant' 'gload $P --new -e "a = add_over(float64(1), 2.)" | grun $P'
    bad 3 E_DESTROY 'reads as another input' 'gload $P --new -i "k: float64[n]" -e "x = exp(k)" -e "a = add_over(x, x.T)" --outputs a | grun $P k=[1,2]'
    bad 3 E_DESTROY 'its memory is the caller' 'gload $P --new -i "k: float64" -e "a = add_over(k, 1.)" | grun $P k=1'
}

@test "11: derivatives of what overwrites its input overwrite copies" {
    add_over
    local m
    gload $P --new -i 'k: float64[n]' -e 'x = exp(k)' -e 'y = twice_over(x)' -e 'c = sum(y ** 3)' -e 'z = y * twice_over(x + 1)' --outputs y,c,z -o g.tlg
    for m in FAST_RUN FAST_COMPILE DEBUG; do
        d() { ggrad $P g.tlg --only $1 | grun $P --mode $m k=[0,0] "${@:2}" | tr -d ' \n'; }
        export -f d; export m
        # the tangent is an input, a constant, and that of two such ops
        ok 'd "--jvp y --wrt x" t_x=[1,2]' 'jvp_y=[2.0,4.0]'
        ok 'd "--jvp y --wrt k" t_k=[1,2]' 'jvp_y=[2.0,4.0]'
        ok 'd "--jvp z --wrt x" t_x=[1,2]' 'jvp_z=[12.0,24.0]'
        ok 'd "--vjp y --wrt x" g_y=[1,2]' 'd_y_d_x=[2.0,4.0]'
        # rows of a loop
        ok 'd "--jacobian y --wrt x"' 'jacobian_y_x=[[2.0,0.0],[0.0,2.0]]'
        ok 'd "--hessian c --wrt x"' 'hessian_c_x=[[48.0,0.0],[0.0,48.0]]'
        ok 'd "--hessian c --wrt k"' 'hessian_c_k=[[72.0,0.0],[0.0,72.0]]'
        ok 'd "--hvp c --wrt k --vector v" v=[1,2]' 'hvp_c_k=[72.0,144.0]'
    done
    gload $P --new -i 'k: float64[n]' -e 'x = exp(k)' -e 'c = sum(twice_over(x) ** 3)' --outputs c -o c.tlg
    ok 'ggrad $P c.tlg --jvp c --wrt k --check k=[0,1] t_k=[1,2]'
}

@test "13: merging keeps dtypes apart and draws equal" {
    ok 'gload -e "a = int8(1)" -e "b = int64(1)" -e "c = float64(1)" | grewrite | grun -O json | cut -d, -f2 | tr -d "\n"' ' "dtype": "int8" "dtype": "int64" "dtype": "float64"'
    ok 'gload -e "sum(abs(normal(0, 1, (3,), seed=5) - normal(0, 1, (3,), seed=5)))" | grewrite | grun' 'out = 0.0'
    ok 'gload -e "1 / float64(-0.0) + 1 / float64(0.0)" | grewrite | grun' 'out = nan'
    ok 'gload -i "x: float64" -e "a = x + 0.0" -e "b = x + -0.0" | grewrite | grun x=-0.0' $'a = 0.0\nb = -0.0'
}

@test "14: updates are simultaneous; outputs use the old values" {
    gload --new --shared 'a: float64 = 1' --shared 'b: float64 = 2' -e 'x = a' -e 'y = b' --outputs x,y --update 'a = b' --update 'b = a' -o s.tlg
    ok 'grun s.tlg' $'x = 1.0\ny = 2.0'
    ok 'grun s.tlg --steps 2' $'x = 2.0\ny = 1.0'
    ok 'grun s.tlg --steps 3' $'x = 1.0\ny = 2.0'
    ok 'grun s.tlg --steps 2 --every 1 -O tsv' $'call\tx\ty\n1\t1.0\t2.0\n2\t2.0\t1.0'
    ok 'gload s.tlg --update "a = 5.0" | grun --steps 2' $'x = 5.0\ny = 1.0'
    printf 'thunkline: 1\nshared:\n  a: float64 = 1\nupdates: |\n  a = a + 1\n  a = a * 2\n' >d.yaml
    bad 3 E_DUPLICATE 'a' 'gload d.yaml'
    ok 'grewrite s.tlg | grun --steps 2' $'x = 2.0\ny = 1.0'
}

@test "15: a branch that is not taken does not run, and nothing is cast" {
    ok 'gload -e "ifelse(True, 5.0, assert_op(6.0, False))" | grun' 'out = 5.0'
    ok 'gload -i "c: bool" -e "ifelse(c, 5.0, assert_op(6.0, False))" | grewrite | grun c=True' 'out = 5.0'
    bad 5 E_ASSERT 'does not hold' 'gload -i "c: bool" -e "ifelse(c, 5.0, assert_op(6.0, False))" | grun c=False'
    bad 5 E_ASSERT 'does not hold' 'gload -e "where(True, 5.0, assert_op(6.0, False))" | grun'
    bad 3 E_DTYPE 'casts nothing' 'gload -i "c: bool" -i "a: float32" -i "b: float64" -e "ifelse(c, a, b)"'
}

@test "16: recurrences and running sums" {
    ok 'gload -e "recurrence([0, 2, 2], [1, 1, 1])" | grun' 'out = [1, 3, 7]'
    ok 'gload -e "a = recurrence(ones(5000), ones(5000))[-1]" -e "b = all(recurrence(ones(5000, dtype=uint64), ones(5000, dtype=uint64)) == arange(1, 5001))" | grun' $'a = 5000.0\nb = True'
    # complex ones, and those without the element itself
    gload --new -i 'z: complex128[n]' -e 'a = cumsum(z)' -e 'b = cumprod(z)' -e 'c = cumsum(z, exclusive=True)' -e 'd = cumprod(z, exclusive=True)' -e 'e = recurrence(z, [1, 1j, 0j])' --outputs a,b,c,d,e -o complex.tlg
    ok 'grun complex.tlg "z=[1j, 2, 3 - 1j]"' 'a = [(0.0+1.0j), (2.0+1.0j), (5.0+0.0j)]
b = [(0.0+1.0j), (0.0+2.0j), (2.0+6.0j)]
c = [(0.0+0.0j), (0.0+1.0j), (2.0+1.0j)]
d = [(1.0+0.0j), (0.0+1.0j), (0.0+2.0j)]
e = [(1.0+0.0j), (2.0+1.0j), (7.0+1.0j)]'
    # the powers of i, further than one block of elements
    ok 'gload -e "recurrence(full(4099, 1j), where(arange(4099) == 0, 1+0j, 0j))[[1, 2, 3, 4096, 4098]]" | grun' 'out = [(0.0+1.0j), (-1.0+0.0j), (0.0-1.0j), (1.0+0.0j), (-1.0+0.0j)]'
    ok 'gload -i "x: float64[n]" -e "cumsum(x)" | grun x=[0,1,2,3,4]' 'out = [0.0, 1.0, 3.0, 6.0, 10.0]'
    ok 'gload -i "x: float64[n]" -e "cumsum(x)" | grun x="zeros(0)"' 'out = []'
    ok 'gload --new -i "a: float64[3]" -e "y = recurrence(a, ones(3))[2]" | ggrad --only | grun a=[5,2,3]' 'd_y_d_a = [0.0, 3.0, 3.0]'
}

@test "17: what was collected is not computed again" {
    add_over
    # x = 1, and 1 is added twice in place, before a branch asks for it: 3, whether memory is collected or not
    gload $P --new -i 'k: float64' -e 'x = exp(k)' -e 'a = add_over(add_over(x, 1.), 1.)' -e 'r = ifelse(k > -1, a * 1, other)' -e 'other = exp(k + 7)' --outputs r -o lazy.tlg
    ok 'grun $P lazy.tlg k=0' 'r = 3.0'
    ok 'grun $P lazy.tlg k=0 --no-gc' 'r = 3.0'
    ok 'grun $P lazy.tlg k=0 --steps 3' 'r = 3.0'
    # both branches read it
    gload $P --new -i 'k: float64' -e 'x = exp(k)' -e 'a = add_over(add_over(x, 1.), 1.)' -e 'r = ifelse(k > -1, a * 1, a * 2)' -e 'q = a + r' --outputs r,q -o both.tlg
    ok 'grun $P both.tlg k=0' $'r = 3.0\nq = 6.0'
    ok 'grun $P both.tlg k=0 --no-gc' $'r = 3.0\nq = 6.0'
}

@test "19: stability" {
    ok 'gload -e "log(1 + exp(x))" | grun x=-40 --expect out=4.248354255291589e-18 --rtol 1e-9 >/dev/null'
    ok 'gload -e "exp(x) - 1" | grun x=1e-20' 'out = 1e-20'
    ok 'gload -i "x: float64[2]" -e "log(softmax(x))" | grun x=[0,1000]' 'out = [-1000.0, 0.0]'
    ok 'gload -e "log(exp(a) + exp(b))" | grun a=1000 b=1000 --expect out=1000.693147 --rtol 1e-9 >/dev/null'
    bad 5 E_RUN_SHAPE '.' 'gload -i "x: float64[?]" -i "y: float64[?]" -e "zeros_like(y) + x" | grun x=[1,2,3] y=[1,2]'
    bad 5 E_RUN_SHAPE '.' 'gload -i "x: float64[?]" -i "y: float64[?]" -e "y * 0 + x" | grun x=[1,2,3] y=[1,2]'
}

@test "20: arithmetic by dtype" {
    local expr want
    while IFS='|' read -r expr want; do
        ok "gload -e '$expr' | grewrite | grun -O json | sed 's/.*\"dtype\": \"\\([a-z0-9]*\\)\".*\"data\": \\(.*\\)}/\\1 \\2/'" "$want"
        ok "gload -e '$expr' | grewrite --mode NONE | grun -O json | sed 's/.*\"dtype\": \"\\([a-z0-9]*\\)\".*\"data\": \\(.*\\)}/\\1 \\2/'" "$want"
    done <<'END'
int8(100) + int8(100)|int8 -56
sum(int8([100, 100]))|int64 200
mean(int64([1, 2]))|float64 1.5
1 / 2|float64 0.5
-7 // 3|int64 -3
-7 % 3|int64 2
7 % -3|int64 -2
int64(-7) // int64(3)|int64 -3
-7.5 // 2|float64 -4.0
-7.5 % 2|float64 0.5
float32(1) + 1.1|float32 2.1
int64(1) + uint64(1)|float64 2.0
int8(1) + uint8(1)|int16 2
uint8(200) + uint8(100)|uint8 44
True + True|int64 2
int64(2) ** int64(10)|int64 1024
0 ** 0|int64 1
float16(65504) * float16(2)|float16 "Infinity"
int64(3) > 2.5|bool true
~int8(5)|int8 -6
1 << 10|int64 1024
round(2.5)|float64 2.0
sqrt(int64(4))|float64 2.0
abs(-0.0)|float64 0.0
maximum(nan, 1)|float64 "NaN"
argmax([3, 7, 7])|int64 1
modf(-0.0)[0]|float64 -0.0
modf(-4.0)[0]|float64 -0.0
modf(-inf)[0]|float64 -0.0
modf(4.0)[0]|float64 0.0
modf(float32(-0.0))[0]|float32 -0.0
int8(-128) // int8(-1)|int8 -128
abs(int8(-128))|int8 -128
END
    bad 3 E_ 'bool' 'gload -i "b: bool" -e "b - b"'
}

@test "an unsigned index beyond int64 is out of range, never one from the end" {
    local e want mode
    while IFS='|' read -r e want; do
        gload -i 'u: uint64[n]' -e "$e" -o g.tlg
        for mode in FAST_RUN FAST_COMPILE; do
            if [ -n "$want" ]; then
                ok "grun --mode $mode g.tlg u=[18446744073709551615]" "out = $want"
            else
                bad 5 E_INDEX 'index 9223372036854775807( or more)? (is out of range for axis [01] of size 5|is out of range for a list of length 2)' \
                    "grun --mode $mode g.tlg u=[18446744073709551615]"
            fi
        done
    done <<'E'
arange(5)[u]|
arange(5)[u[0]]|
eye(5)[:, u]|
eye(5)[u, [1]]|
eye(5)[[1], u]|
take(arange(5), u)|
take_along_axis(arange(5), u, 0)|
set_subtensor(arange(5)[u], 7)|
inc_subtensor(eye(5)[:, u[0]], 1)|
make_list(1, 2)[u[0]]|
arange(5)[u[0]:]|[]
arange(5)[1:u[0]]|[1, 2, 3, 4]
arange(5)[::u[0]]|[0]
arange(5)[make_slice(u[0], u[0], None)]|[]
make_list(1, 2)[u[0]:]|[]
make_list(1, 2)[:u[0]]|[1, 2]
arange(5)[u % 4]|[3]
E
}

@test "what the sizes and values of a run decide: the error, or the result" {
    local in e v status says
    while IFS='|' read -r in e v status says; do
        gload -i "$in" -i 'i: int64[?]' -e "$e" -o g.tlg
        if [ "$status" = 0 ]; then
            ok "grun g.tlg '${v% i=*}' 'i=${v##* i=}'" "out = $says"
        else
            bad "$([ "$status" = E_LIMIT ] && echo 6 || echo 5)" "$status" "$says" "grun g.tlg '${v% i=*}' 'i=${v##* i=}'"
        fi
    done <<'E'
x: float64|arange(x)|x=nan i=[]|E_RUN_SHAPE|arange: the step is 0, or a bound is not a finite number
x: float64|arange(x, 3.0)|x=inf i=[]|0|[]
x: float64|arange(0.0, 3.0, x)|x=0 i=[]|E_RUN_SHAPE|arange: the step is 0, or a bound is not a finite number
x: int64|eye(x)|x=-1 i=[]|E_RUN_SHAPE|eye: a size can't be negative
x: float64[n]|x[i[0]:i[1]:i[2]]|x=[1,2] i=[0,1,0]|E_INDEX|the step of a slice can't be 0
x: float64[n]|repeat(x, i)|x=[1,2] i=[1,-1]|E_RUN_SHAPE|a count can't be negative, got -1
x: float64[n]|repeat(x, i)|x=[1,2] i=[9223372036854775807,9223372036854775807]|E_LIMIT|the result has too many elements
x: float64[n]|repeat(x, i)|x=[1,2] i=[1,2,3]|E_RUN_SHAPE|there are 3 counts for 2 elements
x: float64[n]|repeat(x, i[0])|x=[1,2] i=[9223372036854775807]|E_LIMIT|the result has too many elements
x: float64[?, ?]|x[i, [0, 1]]|x=[[1,2]] i=[0,0,0]|E_RUN_SHAPE|index arrays have different sizes: 3 and 2
x: float64[?, ?]|inc_subtensor(x[i], i)|x=[[1,2]] i=[4]|E_INDEX|index 4 is out of range for axis 0 of size 1
x: float64[?, ?]|einsum('ii', x)|x=[[1,2]] i=[]|E_ASSERT|the sizes of label i differ
x: float64[?, ?]|einsum('ij,ij->j', x, x)|x=[[1,2]] i=[]|0|[1.0, 4.0]
x: complex64[?, ?]|solve_triangular(x, x)|x=[[2,1j],[-1j,0]] i=[]|E_SINGULAR|element 1 of its diagonal is 0
x: float64[?, ?]|solve(x, x, assume_a='sym')|x=zeros((2,2)) i=[]|E_SINGULAR|solve: the matrix is singular
x: float64[?, ?]|solve(x, x)|x=zeros((0,0)) i=[]|0|zeros((0, 0), dtype='float64')
x: float64[?, ?]|svdvals(x)|x=zeros((0,2)) i=[]|0|[]
x: float64[?, ?]|pinv(x)|x=zeros((2,0)) i=[]|0|zeros((0, 2), dtype='float64')
x: float64[?, ?]|lstsq(x, x)[0]|x=zeros((2,0)) i=[]|0|zeros((0, 0), dtype='float64')
x: float64[?, ?]|lstsq(eye(2), x)[0]|x=[[nan,0],[0,0]] i=[]|E_NAN|lstsq: an element of the matrix is inf or nan
x: float64[?, ?]|lu_solve(x, i, x)|x=eye(2) i=[5,1]|E_INDEX|pivot 0 must be the index of a row at or below its own
x: complex64[?, ?]|lu_solve(x, i, x)|x=zeros((2,2)) i=[0,1]|E_SINGULAR|pivot 1 is 0
x: float64[?, ?]|lu_solve(x, i, x)|x=zeros((0,0)) i=[]|0|zeros((0, 0), dtype='float64')
x: complex128[n]|cumprod(x)|x=[1j,2,3j] i=[]|0|[(0.0+1.0j), (0.0+2.0j), (-6.0+0.0j)]
x: complex128[?, ?]|sum(cumprod(x, axis=0))|x=[[1j,2],[3,1]] i=[]|0|(4.0+4.0j)
x: float32[n]|argmax(concatenate([zeros(130, dtype='float32'), x, zeros(20, dtype='float32')]))|x=[1,7] i=[]|0|131
x: float64[n]|argmax(concatenate([zeros(65), x, zeros(10)]))|x=[1,nan] i=[]|0|66
x: float32[n]|argmax(concatenate([zeros(20, dtype='float32'), x, zeros(20, dtype='float32')]))|x=[1,nan] i=[]|0|21
E
}

@test "einsum's subscripts, pad's widths, and axes that are none" {
    local e code says
    while IFS='|' read -r e code says; do
        bad 3 "$code" "$says" "gload -i 'x: float64[3, 3]' -e \"$e\" -o o.tlg"
    done <<'E'
einsum('ij', x[0])|E_SHAPE|operand 0 has 2 labels, but is a float64.3. with 1 dim
einsum('...ijk', x)|E_SHAPE|operand 0 has 3 labels
einsum('i.j', x)|E_ARG|there is no label at `?.j
einsum('i...j...', x)|E_ARG|there is a second ellipsis
einsum('i1', x)|E_ARG|labels are letters
einsum('i{', x)|E_ARG|labels are letters
einsum('ij->k', x)|E_ARG|label k of the output is in no operand
einsum('ij->ii', x)|E_ARG|label i occurs twice in the output
einsum('ij,jk', x)|E_ARITY|more than the 1 operands given
einsum('ij', x, x)|E_ARITY|fewer than the 2 operands given
pad(x, [1, 2, 3])|E_SHAPE|one number, a pair, or a pair for each of 2 dims
pad(x, [[1, 2, 3]])|E_SHAPE|one number, a pair, or a pair for each of 2 dims
norm(x, axis=())|E_ARG|one axis .vectors. or two .matrices., not 0
tensordot(x, x, axes=3)|E_ARG|axes=3, but the operands have 2 and 2 dims
diagonal(x, 0, 1, 1)|E_ARG|axis1 and axis2 are the same dim
transpose(x, (0, 0))|E_ARG|names dim 0 twice
E
}
