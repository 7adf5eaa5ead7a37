# What expressions of the language are worth.
load common

# Python computes the same.
@test "operators on literals are computed as Python computes them" {
    local expr want
    while IFS='#' read -r expr want; do
        ok "gload --new -e 'out = $expr' --outputs out | grun" "out = $want"
    done <<'END'
(-3) ** 39#-4052555153018976267
0 ** 5#0
0 << 100#0
5 >> 200#0
-5 >> 200#-1
-7 % 3#2
-7 // 3#-3
7 % -3#-2
-6 // 3#-2
-7.0 % 3.0#2.0
7.0 % -3.0#-2.0
7.5 % 3.0#1.5
-7.5 % -3.0#-1.5
7.0 // -2.0#-4.0
-7.0 // 2.0#-4.0
-7.0 // -2.0#3.0
1.0 // 3.0#0.0
-0.0 // 3.0#-0.0
-0.5 // 2#-1.0
5.0 // 0.1#49.0
6.0 % -3.0#-0.0
(-8.0) ** (1.0 / 3.0)#(1.0+1.732050807568877j)
(-8.0) ** 0.5#(1.7319121124709863e-16+2.82842712474619j)
(-8.0) ** inf#inf
(-inf) ** 0.5#inf
(-8.0) ** 3.0#-512.0
(-0.5) ** -inf#inf
8.0 ** 0.5#2.8284271247461903
1.0 % inf#1.0
-1.0 % inf#inf
1.0 / inf#0.0
0.0 ** 0.5#0.0
1j == 1j#True
1j == 1#False
1j != 2j#True
(1+2j) == (1+2j)#True
(1+2j) == (1+3j)#False
(1+2j) == (2+2j)#False
2.0 >= 1.0#True
2.0 >= 2.0#True
1.0 >= 2.0#False
2.0 <= 2.0#True
3.0 <= 2.0#False
nan <= 1.0#False
nan != nan#True
nan == nan#False
2 > 1.5#True
18446744073709551615 > 18446744073709551614#True
9007199254740993 > 9007199254740992.0#True
0j ** 0#(1.0+0.0j)
0j ** 2#(0.0+0.0j)
0j ** (0+0j)#(1.0+0.0j)
(1+1j) ** 2#(0.0+2.0j)
(1+2j) * (3-1j)#(5.0+5.0j)
(1+2j) / (3-1j)#(0.1+0.7000000000000001j)
(1+2j) - (3-1j)#(-2.0+3.0j)
True & False#False
True | 2#3
True ^ True#False
6 & 3#2
6 | 3#7
6 ^ 3#5
~6#-7
-True#-1
+True#1
+5#5
+2.5#2.5
-9223372036854775808#-9223372036854775808
-(1j)#(-0.0-1.0j)
-(0)#0
-(0.0)#-0.0
0x1f#31
0b101#5
0o17#15
1_000.5#1000.5
1e3#1000.0
1_0e1_0#100000000000.0
.5#0.5
5.#5.0
pi#3.141592653589793
inf#inf
nan#nan
1 < 2 < 3#True
1 < 3 < 2#False
3 > 2 >= 2 != 1 == 1#True
1 < 2 == True#False
2 < 1 < (1 // 0)#False
not 0.0#True
not not 7#True
not 1 == 2#True
0 or 2.5#2.5
3 and 0 or 7#7
1 and 2 and 3#3
0j or False#False
True or 1 // 0#True
1 if 2 > 1 else 1 // 0#1
1 if nan else 2#1
1 if 0 else 2 if 0 else 3#3
(lambda n: 1 if n < 2 else n)(5)#5
(lambda x: (y := x * 2) + y)(3)#12
(lambda x: [a := x + 1, b := a * 2, a + b][2])(1)#6
(lambda x: (y := x) + (lambda z: (y := z * 10) + y)(x) + y)(1)#22
(lambda f: (g := f)(g(3)))(lambda x: x * x)#81
(lambda x: (x and (y := 5)) + y)(1)#10
END
}

@test "choices depend on what is known when the graph is made: dims, dtypes, constants, never inputs" {
    local expr want code
    cat >c.yaml <<'END'
thunkline: 1
inputs: {x: 'float32[3, 4]', i: int64, c: 'float64[n]'}
let: |
  size = 5
  grown = size ** 2 + 1
END
    while IFS='#' read -r expr want; do
        ok "gload c.yaml -e 'out = $expr' --outputs out | grun x='ones((3, 4))' i=1 c=[1]" "out = $want"
    done <<'END'
1 if x.shape[0] < x.shape[1] <= 4 else 2#1
1 if x.ndim == 2 and not x.size != 12 else 2#1
x[0, 0] if x.dtype == float32 else i#1.0
1 if x == None or None != None else 2#2
x.dtype == "float32"#True
"float32" == x.dtype#True
"float64" == x.dtype#False
1 if array(2j) else 2#1
1 if array(0j) else 2#2
1 if 0j else 2#2
1 if 2j else 2#1
([] + [2.5])[0]#2.5
([2.5] + [])[0]#2.5
x.dtype != int8 != float32#True
x.sum(axis=0) if 3 < size < grown else i#[3.0, 3.0, 3.0, 3.0]
0 < 1 < i#False
1 and i#1
[x, {"a": 2}][1 if size > 4 else 0]["a"]#2
zeros(2, dtype=x.dtype if x.ndim > 1 else int8).dtype == float32#True
scan(lambda s: (t := s + i) * t if size > 4 else s, outputs_info=[1], n_steps=2)#[4, 25]
scan(lambda s: (t := s + i) + scan(lambda u: u * t, outputs_info=[i], n_steps=2)[1], outputs_info=[1], n_steps=2)#[6, 56]
END
    bad 5 E_ARITHMETIC '1:12: .*division' 'gload c.yaml -e "out = 1 if size // int64(0) else 2" -o o.tlg'
    bad 6 E_MEM '.' 'gload --max-memory 100K c.yaml -e "out = 1 if cumsum(ones(60000))[9] > 2 else 2" -o o.tlg'
    while IFS='#' read -r expr code want; do
        bad 3 "$code" "$want" "gload c.yaml -e 'out = $expr' -o o.tlg"
    done <<'END'
0 < x < 2#E_TYPE#1:7: .*write `\(0 < x\) & \(x < 2\)`
x > 0 if i else 1#E_TYPE#1:16: .*write `where\(i, x > 0, 1\)`
1 if n > 2 else 0#E_TYPE#write `where\(n > 2, 1, 0\)`
1 if print(3.0) > 2 else 0#E_TYPE#write `where\(print\(3.0\) > 2, 1, 0\)`
1 if ones(300000)[0] else 0#E_TYPE#write `where\(ones\(300000\)\[0\], 1, 0\)`
1 if [1] else 0#E_TYPE#write `where\(\[1\], 1, 0\)`
i and 2#E_TYPE#write `\(i\) & \(2\)`, or logical_and
0 or i or 2#E_TYPE#1:12: .*logical_or
not x.sum()#E_TYPE#write `~\(x.sum\(\)\)`, or logical_not
(lambda v: w + (w := v))(1)#E_NAME#1:18: .*`w` has no value here
(lambda v: w(1) + (w := v))(1)#E_NAME#1:18: .*`w` has no value here
(lambda v: (0 and (w := v)) + w)(1)#E_NAME#1:37: .*`w` has no value here
(lambda v: (v := 2))(1)#E_DUPLICATE#`v` is a parameter of this lambda
(lambda v: (w := v) + (w := v))(1)#E_DUPLICATE#1:30: .*`w` is named twice
END
}

@test "calls of functions, lambdas that use what is around them, lists and dicts" {
    local expr want
    cat >f.yaml <<'END'
thunkline: 1
functions:
  sq:
    inputs: {v: 'float64[3]', w: 'float64[3]'}
    outputs: {out: v * w}
  sq1:
    inputs: {v: float64}
    outputs: {out: v * v}
inputs: {x: 'float64[3]', m: 'float64[2, 3]', k: int64}
let: |
  c = array([1.5, 2.5, 3.5])
  p = [x, [k, m]]
  d = {'a': x, 'b': k, 'e': [x, {'f': 7.0}]}
outputs: {}
END
    while IFS='#' read -r expr want; do
        ok "gload f.yaml -e \"out = $expr\" --outputs out | grun x=[1,2,3] m=[[1,2,3],[4,5,6]] k=2" "out = $want"
    done <<'END'
sq(x, x)#[1.0, 4.0, 9.0]
sq(w=m[1], v=x)#[4.0, 10.0, 18.0]
call(x, x, fn='sq')#[1.0, 4.0, 9.0]
call(x, x, fn=sq)#[1.0, 4.0, 9.0]
map(lambda v: v + c[2], x)#[4.5, 5.5, 6.5]
map(lambda v: v + c, x)[1]#[3.5, 4.5, 5.5]
map(lambda v: v * p[1][0] + p[0], x)[2]#[7.0, 8.0, 9.0]
map(lambda v: v + d['b'], x)#[3.0, 4.0, 5.0]
map(lambda v: v + d['e'][1]['f'], x)#[8.0, 9.0, 10.0]
map(lambda v: map(lambda w: w * p[1][0] + v, x), x)[1]#[4.0, 6.0, 8.0]
map(sq1, x)#[1.0, 4.0, 9.0]
map(lambda v: sq1(v) + sq1(v=v), x)#[2.0, 8.0, 18.0]
(lambda v, w: v - w)(w=x, v=m[1])#[3.0, 3.0, 3.0]
(lambda f, v: f(f(v)))(lambda v: v * 3, 2)#18
scan(lambda s: [s + 1, until(s > 2)], outputs_info=0.0, n_steps=9)#[1.0, 2.0, 3.0, 4.0]
scan(lambda s: [s + 1, until(3 - int64(s))], outputs_info=0.0, n_steps=9)#[1.0]
x.astype('floatX')#[1.0, 2.0, 3.0]
array(x, dtype='int8')#[1, 2, 3]
array([x[0], 1])#[1.0, 1.0]
array(5, shape=[])#5
complex(x, 2)[0]#(1.0+2.0j)
concatenate(x, [1.0, 2])#[1.0, 2.0, 3.0, 1.0, 2.0]
einsum(x, x, subscripts='i,i->')#14.0
ifelse(k > 0, [x, k], [x * 2, 1])[1]#2
ifelse(k < 0, 1, 2.5)#2.5
make_list(1, 2.5)#[1.0, 2.5]
list_append([1, 2], 2.5)#[1.0, 2.0, 2.5]
m.shape[-1]#3
(p + p)[2]#[1.0, 2.0, 3.0]
m[[0, 1], k]#[3.0, 6.0]
x[make_slice(0, k, 1)]#[1.0, 2.0]
tensordot(m, m, ([0, 1], [0, 1]))#91.0
norm(x, 1)#6.0
norm(m, 'fro') ** 2 < 91.0001#True
sum(x, axis=[])#[1.0, 2.0, 3.0]
END
}

@test "a name that is given to a function means it in calls, whatever makes the function" {
    while IFS='#' read -r f want; do
        printf 'thunkline: 1\nfunctions:\n  own: {inputs: {v: float64}, outputs: {out: v * 5}}\nlet: |\n  cos = lambda v: v * 3\n  sin = %s\n  out = sin(1.0)\noutputs: [out]\n' "$f" >f.yaml
        ok "gload f.yaml | grun" "out = $want"
    done <<'END'
lambda v: v * 2#2.0
cos#3.0
own#5.0
vectorize(cos)([2.0])[0]#0.8414709848078965
nest(cos, scope='s')#3.0
END
    # its second name may stand above it
    ok "gload -e 'cos = sin' -e 'out = cos(1.0) + tan(1.0)' -e 'tan = cos' -e 'sin = lambda v: v * 2' --outputs out | grun" 'out = 4.0'
    ok "gload -e 'sin = f' -e 'out = map(sin, ones(2))' -e 'f = lambda v: v * 2' --outputs out | grun" 'out = [2.0, 2.0]'
    bad 3 E_CYCLE 'sin -> cos -> sin' "gload -e 'sin = cos' -e 'cos = sin' -e 'out = sin(1.0)'"
    ok "gload -e 'sum = vectorize(lambda v: v[0] - v[1])' -e 'out = sum([[5., 1.], [7., 1.]])' --outputs out | grun" 'out = [4.0, 6.0]'
    ok "gload -e 'sum = plant(lambda v: sow(v, tag=\"t\", name=\"n\") * 2, tag=\"t\")' -e 'out = sum({\"n\": 4.}, 1.)' --outputs out | grun" 'out = 8.0'
    ok "gload -i 'x: float64[2]' -e 'sum = vectorize(x @ x, x, ones((3, 2)))' -e 'out = sum(sum)' --outputs out | grun x=[1,2]" 'out = 6.0'
}

@test "a draw takes the float dtype of the shared variable that it begins, and no other kind" {
    local text want
    while IFS='#' read -r text want; do
        ok "gload --new --shared 'W: $text' -e 'y = W' --outputs y | grun" "y = $want"
    done <<'END'
float64[3] = exponential(1.0, (3,), seed=1)#[2.2507967263583644, 1.2422566219687854, 2.0723621413701836]
float32[3] = exponential(1.0, (3,), seed=1)#[2.2507968, 1.2422566, 2.0723622]
float16[3] = exponential(1.0, (3,), seed=1)#[2.25, 1.242, 2.072]
int64[3] = 0 * poisson(2.0, (3,), seed=1)#[0, 0, 0]
END
    while IFS='#' read -r text want; do
        bad 3 E_DTYPE "the shared variable .W. is $want" "gload --new --shared 'W: $text' -e 'y = W' -o o.tlg"
    done <<'END'
float32[3] = poisson(2.0, (3,), seed=1)#float32.3., but its initial value is int64.3
int8[3] = poisson(2.0, (3,), seed=1)#int8.3., but its initial value is int64.3
int64[3] = exponential(1.0, (3,), seed=1)#int64.3., but its initial value is float64.3
complex64[3] = exponential(1.0, (3,), seed=1)#complex64.3., but its initial value is float64.3
END
}

@test "updates in a graph's text: what they are, of what, once" {
    local text code want
    while IFS='#' read -r text code want; do
        printf 'thunkline: 1\ninputs: {x: float64}\nshared:\n  W: float64[3] = zeros(3)\noutputs: {y: x + W}\nupdates: |\n%b\n' "$text" >u.yaml
        bad 3 "$code" "u.yaml:$want" 'gload u.yaml -o u.tlg'
    done <<'END'
  W: float64[3] = W#E_SYNTAX#7:3: .*an update is .name = expression.
  W, V = W#E_SYNTAX#7:3: .*an update is .name = expression.
  x + 1#E_SYNTAX#7:5: .*where .=. of a statement
  W = 2.0 * W\n  W = W#E_DUPLICATE#8:3: .*.W. is updated twice
  x = W#E_NAME#7:3: .*.x. can.t be updated: it is not a shared variable
  V = W#E_NAME#7:3: .*.V. can.t be updated: it is not a shared variable
  W = x#E_SHAPE#7:7: .*W is float64.3., but the value is float64
  W = "a"#E_TYPE#7:7: .*a string where a tensor is expected
END
    printf 'thunkline: 1\ninputs: {x: float64}\nshared:\n  W: float64[3] = zeros(3)\noutputs: {y: x + W}\nupdates: |\n  W = [1, 2, 3]\n' >u.yaml
    ok 'grun u.yaml x=1 --steps 2' 'y = [2.0, 3.0, 4.0]'
}

@test "a shape is a list of sizes in expressions; a slice that is a value indexes tensors and lists" {
    local expr want
    while IFS='|' read -r expr want; do
        gload --new -i 'x: float64[n, 3]' -i 'k: int64' -i 'l: list(float64)' -i 'q: slice' -e "r = $expr" --outputs r -o r.tlg || fail "$expr"
        ok "gload r.tlg --no-provenance -O math | tail -n +5 | tr '\n' ';'" "$want" || fail "$expr"
    done <<'END'
x.shape[-1]|r = 3;
x.shape[-2]|r = n;
x.shape[k]|r = stack(n, 3)[k];
x.shape[::-1]|r/0 = 3;r/1 = n;
x.shape[0:1]|r/0 = n;
x.shape[None:1]|r/0 = n;
x.shape * 2|r = stack(n, 3) * 2;
(1,) + x.shape|r/0 = 1;r/1 = n;r/2 = 3;
x.shape.sum()|r = sum(stack(n, 3));
{'a': x.shape}|r/a/0 = n;r/a/1 = 3;
x.shape == (3, 3)|r = stack(n, 3) == array([3, 3]);
x[:, q]|_1, _2, _3 = slice_indices(q, 3);r = x[:, _1:_2:_3];
l[q]|r = list_get(l, q);
l[k:]|r = list_get(l, make_slice(k, None, None));
l[:None:k]|r = list_get(l, make_slice(None, None, k));
[1, 2, 3][None:2]|r/0 = 1;r/1 = 2;
END
    while IFS='|' read -r expr code want; do
        bad 3 "$code" "$want" "gload --new -i 'x: float64[n, 3]' -i 'k: int64' -i 'l: list(float64)' -i 'q: slice' -e 'r = $expr' -o r.tlg"
    done <<'END'
x.shape[2]|E_VALUE|axis 2 of a tensor with 2 dims
x.shape[-3]|E_VALUE|axis -3 of a tensor with 2 dims
l.T|E_TYPE|`.T` needs a tensor, not list\(float64\)
l.ndim|E_TYPE|`.ndim` needs a tensor, not list\(float64\)
x[..., q]|E_TYPE|a slice that is a value can't follow
x[0, 0, q]|E_TYPE|there are more indices than dims .2.
[1, 2, 3][k:2]|E_VALUE|the parts of a list.s slice must be literals
END
}

@test "numbers of a tree have the dtypes that they have alone, whatever floatX is" {
    ok "gload --floatX float32 --new -e \"t = {'a': 1.5, 'b': True, 'c': 3000000000, 'd': 1j}\" --outputs t | grun -O json | jq -c '[.name, .dtype]'" \
        $'["t/a","float32"]\n["t/b","bool"]\n["t/c","int64"]\n["t/d","complex64"]'
    ok "gload --new -e \"t = {'a': 1.5, 'd': 1j}\" --outputs t | grun -O json | jq -c '[.name, .dtype]'" $'["t/a","float64"]\n["t/d","complex128"]'
}
