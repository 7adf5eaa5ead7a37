# grewrite --prove: certificates for true rules, counter-examples for false ones.
load common

# proves FILE: each rule of the file is true, as its line NAME|PATTERN on standard input says.
proves() {
    ok "grewrite --rules $1 --prove >proofs" || return
    local name pattern
    while IFS='|' read -r name pattern; do
        grep -Eq "^$name +$pattern" proofs || { cat proofs >&2 && fail "$name: $pattern"; } || return
    done
}

# refutes: each line RULE|PATTERN on standard input is a rule that is false, with its counter-example.
refutes() {
    local rule pattern
    while IFS='|' read -r rule pattern; do
        echo "$rule" >false.rules
        bad 1 E_VERDICT "false.rules:1:1: .*rule ${rule%%[ :]*} is false" 'grewrite --rules false.rules --prove' || return
        grep -Eq -- "counter-example: $pattern.*\(false.rules:1\)" .out || complain "should have: $pattern" "$rule" || return
    done
}

@test "rational identities are certified in every dtype and shape, for open props and both directions" {
    cat >true.rules <<'END'
horner @reassociate: a * square(x) + b * x => x * (a * x + b)
third: x / 4 => 0.25 * x when float(x)
reshapes: reshape(reshape(x, s), t) => reshape(x, t)
rows @search @algebra: sum(x + y, **p) <=> sum(x, **p) + sum(y, **p) when same_shape(x, y), same_dtype(x, y), sum_keeps(x)
last @reassociate: mean(x * y, axis=a) => mean(y * x, axis=a)
inner @algebra: sum(x * (a @ b)) => sum((x @ b.T) * a) when same_shape(a @ b, x), matrix(a), matrix(b), same_dtype(a, b), same_dtype(x, a), sum_keeps(x)
END
    proves true.rules <<'END'
horner|rounded  proved: rational identity; .* for finite a, x, b
third|exact    proved: rational identity; .* worst 0 ulp, everywhere; .*float16 float32 float64$
reshapes|exact    proved: rational identity; .* everywhere; bool int8 .* complex128$
rows|algebra  proved: rational identity
last|rounded  proved: rational identity
inner|algebra  proved: rational identity
END
}

@test "other rules hold in a dense search, with the domain in which they do" {
    cat >true.rules <<'END'
and-commutes: x & y => y & x
twice @reassociate: 2 * sin(x) * cos(x) => sin(2 * x)
halves @search @algebra: sigmoid(x) <=> (1 + tanh(0.5 * x)) / 2
root @fast: square(sqrt(x)) => x when real(x)
tanh @stabilize: 2 * sigmoid(2 * x) - 1 => tanh(x)
extremes: max(-x, **p) => -min(x, **p) when float(x)
known: x ** 0.5 => sqrt(x) when nonnegative(x), float(x)
END
    proves true.rules <<'END'
and-commutes|exact    holds: [0-9]+ points, worst 0 ulp, everywhere; bool int8 .* uint64$
twice|rounded  holds: .* for finite x
halves|algebra  holds:
root|fast     holds: .* for x >= 0
tanh|stable   holds:
extremes|exact    holds: .* everywhere; float16 float32 float64$
known|exact    holds: .* everywhere
END
}

# The prover has ways of its own to follow what an op makes of elements and of errors.
@test "ops that move, sum, fold or compare elements, and functions of real and complex numbers" {
    cat >true.rules <<'END'
running @reassociate: running_sum(x * c, axis=0) => running_sum(x, axis=0) * c when scalar(c), same_dtype(x, c), float(x)
rolls @reassociate: roll_axes(x, s, a) - roll_axes(y, s, a) => roll_axes(x - y, s, a) when same_shape(x, y), same_dtype(x, y), float(x)
repeats @reassociate: repeat_axis(x, n, **p) / c => repeat_axis(x / c, n, **p) when scalar(c), same_dtype(x, c), float(x)
diagonals @reassociate: diagonal(x + y) => diagonal(x) + diagonal(y) when matrix(x), same_shape(x, y), same_dtype(x, y), float(x)
prods @reassociate: prod(x * y, axis=a) => prod(x, axis=a) * prod(y, axis=a) when same_shape(x, y), same_dtype(x, y), float(x)
means @reassociate: mean(x + c, axis=a) => mean(x, axis=a) + c when scalar(c), same_dtype(x, c), float(x)
powers @algebra: (x ** -2) * x => 1 / x
maxs @reassociate: max(x, axis=a) * 2 => max(2 * x, axis=a) when float(x)
mins: min(-x, axis=a) => -max(x, axis=a) when float(x)
anys: any(x, axis=a) => ~all(~x, axis=a) when bool(x)
probabilities @algebra: softmax(x, axis=a) => exp(log_softmax(x, axis=a)) when float(x)
sums @stabilize: log(sum(exp(x), axis=a)) => logsumexp(x, axis=a) when float(x)
exps @algebra: exp(x) * exp(y) => exp(x + y) when same_dtype(x, y)
circle @algebra: sin(x) ** 2 + cos(x) ** 2 => ones_like(x)
slope @algebra: tan(x) => sin(x) / cos(x)
sines @algebra: sin(arcsin(x)) => x
cosines @algebra: cos(arccos(x)) => x
hyperbola @algebra: cosh(x) ** 2 - sinh(x) ** 2 => ones_like(x)
areas @algebra: sinh(arcsinh(x)) => x
others @algebra: cosh(arccosh(x)) => x
rapidity @algebra: tanh(arctanh(x)) => x
cubes @algebra: cbrt(x) ** 3 => x when float(x)
bits @algebra: log2(exp2(x)) => x when float(x)
digits @algebra: log10(x) => log(x) / log(10) when float(x)
small @algebra: log1p(expm1(x)) => x when float(x)
far @algebra: hypot(x, y) => sqrt(x * x + y * y) when float(x), same_dtype(x, y)
tails @algebra: erf(x) + erfc(x) => ones_like(x) when float(x)
hinges @algebra: softplus(x) - softplus(-x) => x when float(x)
pairs @algebra: logaddexp(x, y) => log(exp(x) + exp(y)) when float(x), same_dtype(x, y)
rests @algebra: log1mexp(x) => log(1 - exp(x)) when float(x)
larger @algebra: where(x > y, x, y) * 3 + 0.1 => 3 * maximum(x, y) + 0.1 when float(x), same_dtype(x, y)
smaller @algebra: where(x < y, x, y) * 3 + 0.1 => 3 * minimum(x, y) + 0.1 when float(x), same_dtype(x, y)
atmost @algebra: where(x <= y, x, y) * 3 + 0.1 => 3 * minimum(x, y) + 0.1 when float(x), same_dtype(x, y)
atleast @algebra: where(x >= y, x, y) * 3 + 0.1 => 3 * maximum(x, y) + 0.1 when float(x), same_dtype(x, y)
equals @algebra: where(x == y, x, y) * 3 + 0.1 => 3 * y + 0.1 when float(x), same_dtype(x, y)
differs @algebra: where(x != y, x, y) * 3 + 0.1 => 3 * x + 0.1 when float(x), same_dtype(x, y)
spread: sin(broadcast_to(x, s)) => broadcast_to(sin(x), s)
shifts @algebra: softmax(x + 1, axis=a) => softmax(x, axis=a) when float(x)
signs @algebra: sign(x) * abs(x) * 0.1 => 0.1 * x when float(x)
floors @algebra: floor(x) + ceil(-x) + 0.1 => 0.1 * ones_like(x) when float(x)
END
    proves true.rules <<'END'
running|rounded  proved: rational identity; .* for finite x, c where nothing overflows or underflows but for the sign of 0
rolls|rounded  proved: rational identity; .* worst 0 ulp, everywhere
repeats|rounded  proved: rational identity; .* worst 0 ulp, everywhere
diagonals|rounded  proved: rational identity; .* worst 0 ulp, everywhere
prods|rounded  proved: rational identity; .* for finite x, y where
means|rounded  proved: rational identity; .* for finite x, c where
powers|algebra  proved: rational identity; .*float64 complex64 complex128$
maxs|rounded  holds: .* worst 0 ulp, everywhere
mins|exact    holds: .* worst 0 ulp, everywhere
anys|exact    holds: .* worst 0 ulp, everywhere; bool$
probabilities|algebra  holds: .* everywhere
sums|stable   holds: .* for finite x where
exps|algebra  holds: .* for finite x, y where .*complex64 complex128$
circle|algebra  holds: .* for finite x where .*complex64 complex128$
slope|algebra  holds: .* for finite x where .*complex64 complex128$
sines|algebra  holds: .* for finite x where .*complex64 complex128$
cosines|algebra  holds: .* for finite x where .*complex64 complex128$
hyperbola|algebra  holds: .* for finite x where .*complex64 complex128$
areas|algebra  holds: .*complex64 complex128$
others|algebra  holds: .* for finite x where .*complex64 complex128$
rapidity|algebra  holds: .* for finite x where .*complex64 complex128$
cubes|algebra  holds: .* for finite x where
bits|algebra  holds: .* for finite x where
digits|algebra  holds: .* everywhere
small|algebra  holds: .* for finite x where
far|algebra  holds: .* for finite x, y where
tails|algebra  holds: .* for x that are not nan
hinges|algebra  holds: .* everywhere but for the sign of 0
pairs|algebra  holds: .* for finite x, y where
rests|algebra  holds: .* for finite x where
larger|algebra  holds: .* for x, y that are not nan
smaller|algebra  holds: .* for x, y that are not nan
atmost|algebra  holds: .* for x, y that are not nan
atleast|algebra  holds: .* for x, y that are not nan
equals|algebra  holds: .* worst 0 ulp, everywhere
differs|algebra  holds: .* worst 0 ulp, everywhere
spread|exact    holds: .* worst 0 ulp, everywhere
shifts|algebra  holds: .* everywhere
signs|algebra  holds: .* everywhere but for the sign of 0
floors|algebra  holds: .* for finite x;
END
    refutes <<'END'
angle @algebra: arctan2(y, x) => arctan(y / x) when float(x), same_dtype(x, y)|y = 1.0 \(float64\), x = -1.0 \(float64\), left = 2.356
times @reassociate: sum(broadcast_to(x, s), axis=0) => x * 3 when scalar(x)|x = .*, s = \[
sooner @reassociate: running_sum(x, axis=0) => sum(x, axis=0) + 0 * x when matrix(x), float(x)|x = .*float64
END
}

@test "powers, casts, matrices, pools and transforms; what overflow, underflow and wrapping refute" {
    cat >true.rules <<'END'
big @algebra: x ** 2000 => square(x ** 1000) when float(x)
far @algebra: (x ** 1000) ** 900 => x ** 900000 when float(x)
down @algebra: x ** -2000 => 1 / x ** 2000 when float(x)
lift @algebra: cast(x * y, dtype='complex128') => cast(x, dtype='complex128') * cast(y, dtype='complex128') when float(x), same_dtype(x, y)
nothing @algebra: a / (x - x) => a / (x * 0) when float(x), same_dtype(a, x)
minus: -(-3 * x) => 3 * x when float(x)
pools @reassociate: avg_pool(x + y, [2]) => avg_pool(x, [2]) + avg_pool(y, [2]) when same_shape(x, y), same_dtype(x, y), float(x)
dfts @algebra: dft(x + y, axis=a) => dft(x, axis=a) + dft(y, axis=a) when same_shape(x, y), same_dtype(x, y)
sorts: sort(sort(x, axis=a), axis=a) => sort(x, axis=a)
roots: sqrt(x) * sqrt(x) => x when nonnegative(x), float(x)
invs @algebra: det(inv(x)) => 1 / det(x) when float(x)
twice @algebra: inv(inv(x)) => x when float(x)
args: argmax(-x, axis=a) => argmin(x, axis=a) when float(x)
fulls: full(s, v) * 2 => full(s, v * 2)
conjs: conj(conj(x)) => x
hyp @stabilize: sqrt(x * x + y * y) => hypot(x, y) when float(x), same_dtype(x, y)
less @stabilize: exp(x) - 1 => expm1(x) when float(x)
logs @fast: log(x * x) => 2 * log(x) when float(x)
maxs: maximum(x, -inf) => x when float(x)
vars @algebra: var(x) => mean(square(x)) - square(mean(x)) when float(x)
adds @reassociate: inc_subtensor(x, y, index='...') => x + y when float(x)
END
    proves true.rules <<'END'
big|algebra  holds: .* everywhere; float16 float32 float64$
far|algebra  holds: .* everywhere; float16
down|algebra  holds: .* everywhere; float16
lift|algebra  proved: rational identity; .* for finite x, y where nothing overflows or underflows
nothing|algebra  holds: .* worst 0 ulp, for finite a, x
minus|exact    proved: rational identity; .* worst 0 ulp, everywhere
pools|rounded  holds: .* everywhere
dfts|algebra  holds: .* everywhere; .*complex64 complex128$
sorts|exact    holds: .* worst 0 ulp, everywhere; bool int8
roots|exact    holds: .* everywhere
invs|algebra  holds: .* everywhere
twice|algebra  holds: .* everywhere but for the sign of 0
args|exact    holds: .* worst 0 ulp, everywhere
fulls|exact    holds: .* worst 0 ulp, everywhere; int8
conjs|exact    holds: .* worst 0 ulp, everywhere; .*complex64 complex128$
hyp|stable   holds: .* for finite x, y where nothing overflows or underflows
less|stable   holds: .* everywhere but for the sign of 0
logs|fast     holds: .* for finite x other than 0
maxs|exact    holds: .* worst 0 ulp, everywhere
vars|algebra  holds: .* everywhere; float16 float32 float64$
adds|rounded  holds: .* everywhere
END
    refutes <<'END'
open @algebra: (x ** y) * x => x ** (y + 1) when float(x), same_dtype(x, y)|x = -1.0 \(float64\), y = .*, left = -1.0, right = 1.0
wrong: x * 3 / 3 => x when float(x)|x = .*, left = inf, right = [0-9]
wraps: cast(x + y, dtype='float64') => cast(x, dtype='float64') + cast(y, dtype='float64') when integer(x), same_dtype(x, y)|x = 9223372036854775807 \(int64\), y = 1
stable @stabilize: hypot(x, y) => sqrt(x * x + y * y) when float(x), same_dtype(x, y)|x = .*, left = 1.79.*, right = inf
matrix @algebra: inv(x) => x when float(x)|x = \[\[.*left = .*, right = 
order: x * y * z => x * (y * z) when float(x)|x = .*, left = nan, right = 0.0
small: sqrt(square(x)) => abs(x) when float(x)|x = .*e-308 \(float64\), left = 0.0
unsigned: abs(-x) => abs(x)|x = 1 \(uint8\), left = 255, right = 1
times @reassociate: sum(x, axis=0) + sum(y, axis=0) => sum(x - y, axis=0) when same_shape(x, y), same_dtype(x, y)|x = .*, left = 
half @fast: x * abs(y) => abs(x * y) when float(x), same_dtype(x, y)|x = -1.0 \(float64\), y = 1.0 \(float64\), left = -1.0, right = 1.0
END
}

@test "a false rule has a counter-example" {
    refutes <<'END'
sign: x - (y - z) => x - y - z|x = 1.0 \(float64\), y = 1.0 \(float64\), z = 1.0 \(float64\), left = 1.0, right = -1.0
domain: sqrt(x) ** 2 => x|x = -1.0 \(float64\), left = nan, right = -1.0
positive @fast: sqrt(square(x)) => x|x = -1.0 \(float64\), left = 1.0, right = -1.0
overflow: x * y // y => x when integer(x)|x = 100 \(int8\), y = 2, left = -28, right = 100
greater: x < x + 1 => ones_like(x, dtype=bool) when integer(x)|x = 9223372036854775807 \(int64\), left = False, right = True
product: log(a * b) => log(a) + log(b)|a = -1.0 \(float64\), b = -1.0 \(float64\), left = 0.0, right = nan
nan: x == x => ones_like(x, dtype=bool)|x = nan \(float64\), left = False, right = True
zero: x + 0 => x|x = -0.0 \(float64\), left = 0.0, right = -0.0
size: mean(x) => sum(x) / 4 when vector(x)|x = .* \(float64\[3\]\), left
empty @reassociate: sum(c * x) => c * sum(x) when scalar(c), float(x)|c = .*, x = zeros\(\(0
branch @algebra: log(square(x)) => 2 * log(abs(x))|x = \(1.0\+1.0j\) \(complex128\), left
branch @fast: log(exp(x)) => x|x = .*j\) \(complex128\), left
limit @stabilize: log(1 + exp(x)) => x when float(x)|x = 1.0 \(float64\), left = 1.31[0-9]*, right = 1.0
worse @stabilize: expm1(x) => exp(x) - 1 when float(x)|x = [^,]*, left = [^,]*, right = 0.0
inner @reassociate: sum(x * (a @ b)) => sum((x @ b.T) * a) when same_shape(a @ b, x), matrix(a), matrix(b), same_dtype(a, b), same_dtype(x, a), sum_keeps(x)|.*, left = 0.0, right = nan
rough @reassociate: x + 1e-9 => x|x = 1.0 \(float64\), left = 1.000000001, right = 1.0
transposed @algebra: transpose(a @ b) => transpose(a) @ transpose(b) when matrix(a), matrix(b)|a = .*float64
axis @algebra: sum(x, axis=a) => sum(x) / 4 when vector(x)|x = 
both @search @algebra: x * x <=> 2 * x|x = 1.0 \(float64\), left = 1.0, right = 2.0
END
}

@test "several false rules are one error, and the others are still decided" {
    printf '%s\n' 'a: x + y => y + x' 'b: x - y => y - x' 'c: x * 2 => x' 'd: x // y => y' >some.rules
    bad 1 E_VERDICT 'some.rules:2:1: .*rule b is false, and so are 2 others' 'grewrite --rules some.rules --prove'
    [ "$(cut -d' ' -f1 .out | tr '\n' ' ')" = 'a b c d ' ]
    ok 'grewrite --rules some.rules --prove a'
    bad 1 E_VERDICT 'rule b is false' 'grewrite --rules some.rules --prove b'
    # of two files: first all of one, in its order, then all of the other
    printf '%s\n' 'one: exp(x) => x + 1' 'two: x + y => y + x' >first.rules
    printf '%s\n' 'three: sin(x) => cos(x)' 'four: log(x) => x when integer(x), float(x)' >second.rules
    bad 1 E_VERDICT 'first.rules:1:1: .*rule one is false, and so is another one' 'grewrite --rules first.rules --rules second.rules --prove'
    [ "$(cut -d' ' -f1 .out | tr '\n' ' ')" = 'one two three four ' ]
    bad 1 E_VERDICT 'second.rules:1:1: .*rule three is false, and so is another one' 'grewrite --rules second.rules --rules first.rules --prove'
    [ "$(cut -d' ' -f1 .out | tr '\n' ' ')" = 'three four one two ' ]
    ok 'grewrite --rules second.rules --prove four | tr -s " "' 'four exact undecided: no types were found that it fits'
    ok 'grewrite --rules first.rules --prove user 2>/dev/null | cut -d" " -f1 | tr "\n" " " || true' 'one two '
}

@test "rules of the library by name and tag, the same points every time, to a file" {
    like 'grewrite --prove log1p' '^log1p +stable +holds: .*; float16 float32 float64$'
    like 'grewrite --prove sum-neg' 'proved: rational identity; .*, everywhere but for the sign of 0'
    ok 'grewrite --prove linear -o proofs' '' || bad 2 E_UNKNOWN 'no rule and no tag' 'grewrite --prove linear'
    ok 'grewrite --prove softplus -o first && grewrite --prove softplus -o second && cmp first second'
    bad 2 E_UNKNOWN 'did you mean log1p' 'grewrite --prove log1q'
    bad 2 E_UNKNOWN 'there is no rule and no tag of rules no-such-rule$' 'grewrite --prove no-such-rule'
    bad 2 E_USAGE 'reads no graph' 'grewrite --prove log1p m.tlg'
    bad 4 E_IO 'none.rules' 'grewrite --rules none.rules --prove'
    echo 'a: x + y y' >bad.rules
    bad 3 E_REWRITE 'has no' 'grewrite --rules bad.rules --prove'
    echo 'a: nothing(x) => x' >bad.rules
    bad 3 E_NAME 'there is no op nothing' 'grewrite --rules bad.rules --prove'
}

@test "-O json: certificates and counter-examples as the schema says" {
    cat >some.rules <<'END'
third: x / 4 => 0.25 * x when float(x)
and-commutes: x & y => y & x
sign @fast: x - y => y - x
fails: x + 0 => x + 0 * cholesky(x) when matrix(x), float(x)
size: mean(x) => sum(x) / 4 when vector(x)
never: log(x) => x when integer(x), float(x)
END
    bad 1 E_VERDICT 'some.rules:3:1: .*rule sign is false, and so are 2 others' 'grewrite --rules some.rules --prove -O json'
    cp .out p.json
    python_with jsonschema
    "$PYTHON" - "$ROOT/schemas/proof.schema.json" <<'END'
import json, jsonschema, sys
proof, schema = json.load(open("p.json")), json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator(schema).validate(proof)
of = {r["rule"]: r for r in proof["rules"]}
assert [r["rule"] for r in proof["rules"]] == ["third", "and-commutes", "sign", "fails", "size", "never"]
assert [r["verdict"] for r in proof["rules"]] == ["proved", "holds", "false", "false", "false", "undecided"]
third, sign = of["third"], of["sign"]
assert third["text"] == "x / 4 => 0.25 * x when float(x)" and third["line"] == "some.rules:1"
assert (third["promise"], third["worst"], third["domain"]) == ("exact", 0, "everywhere")
assert third["dtypes"][-3:] == ["float16", "float32", "float64"] and third["points"] > 65536
assert sign["promise"] == "fast" and "fast" in sign["tags"]
one = {x["name"]: x for x in sign["counter"]["inputs"]}
assert set(one) == {"x", "y"} and all(x["type"] for x in one.values())
assert sign["counter"]["left"] != sign["counter"]["right"]
assert "failure" in of["fails"]["counter"] and "right" not in of["fails"]["counter"]
assert of["size"]["counter"]["inputs"][0]["type"].startswith("float64[")
# the schema tells a certificate from a counter-example
for wrong in ({**third, "verdict": "false"}, {**sign, "verdict": "holds"}, {**third, "worst": -1}):
    try:
        jsonschema.Draft202012Validator(schema).validate({"proof": 1, "rules": [wrong]})
    except jsonschema.ValidationError:
        continue
    raise SystemExit("passes: %s" % wrong)
END
    # a name that ends in .json asks for it, too; no other form goes
    ok 'grewrite --prove log1p -o one.json && grep -q "\"rule\": \"log1p\"" one.json'
    bad 2 E_USAGE 'prints text, or json' 'grewrite --prove log1p -O dot'
    # a rule that can't be decided: no half of a report
    printf '%s\n' 'a: x + y => y + x' 'b: nothing(x) => x' >bad.rules
    bad 3 E_NAME 'there is no op nothing' 'grewrite --rules bad.rules --prove -O json'
    [ ! -s .out ]
}

# What --prove found in the library: branches of the complex logarithm, the sign of a sum of zeros.
@test "logarithms of complex exponentials stay, also with --include fast" {
    for e in 'log(exp(z))' 'log(z * exp(z))'; do
        gload --new -i 'z: complex128[2]' -e "w = $e" --outputs w -o m.tlg
        ok 'grewrite m.tlg --include fast --exclude fusion --no-provenance -O math | tail -n 1' "w = $e"
    done
    gload --new -i 'z: float64[2]' -e 'w = log(z * exp(z))' --outputs w -o m.tlg
    ok 'grewrite m.tlg --include fast --exclude fusion --no-provenance -O math | tail -n 1' 'w = log(z) + z'
    like 'grewrite --prove log-exp' '^log-exp +fast +holds: .* for finite x'
    for r in sum-neg matmul-neg matmul-neg-right; do
        like "grewrite --prove $r" "^$r +rounded +proved: .* but for the sign of 0"
    done
}

# Jia et al. 2019, table 2
@test "TASO's equations are decided, and so are their broken forms" {
    cat >taso.rules <<'END'
ewadd-associative @reassociate: x + (y + z) => (x + y) + z when same_dtype(x, y), same_dtype(y, z)
ewadd-commutative: x + y => y + x
ewmul-associative @reassociate: x * (y * z) => (x * y) * z when same_dtype(x, y), same_dtype(y, z)
ewmul-commutative: x * y => y * x
ewmul-distributive @reassociate: (x + y) * z => x * z + y * z when same_dtype(x, y), same_dtype(y, z), real(x)
smul-associative @reassociate: (x * v) * w => x * (v * w) when scalar(v), scalar(w), same_dtype(x, v), same_dtype(v, w)
smul-ewadd @reassociate: (x + y) * w => x * w + y * w when scalar(w), same_dtype(x, y), same_dtype(y, w), real(x)
smul-ewmul @reassociate: (x * y) * w => x * (y * w) when scalar(w), same_dtype(x, y), same_dtype(y, w)
transpose-inverse: transpose(transpose(x)) => x
transpose-ewadd: transpose(x + y) => transpose(x) + transpose(y) when same_shape(x, y)
transpose-ewmul: transpose(x * y) => transpose(x) * transpose(y) when same_shape(x, y)
transpose-smul: transpose(x * w) => transpose(x) * w when scalar(w)
transpose-relu: transpose(maximum(x, 0)) => maximum(transpose(x), 0)
matmul-associative @reassociate: x @ (y @ z) => (x @ y) @ z when matrix(x), matrix(y), matrix(z), same_dtype(x, y), same_dtype(y, z)
matmul-smul @reassociate: (x @ y) * w => x @ (y * w) when matrix(x), matrix(y), scalar(w), same_dtype(x, y), same_dtype(y, w)
matmul-ewadd @reassociate: x @ (y + z) => x @ y + x @ z when matrix(x), same_shape(y, z), same_dtype(x, y), same_dtype(y, z)
matmul-transpose @reassociate: transpose(x @ y) => transpose(y) @ transpose(x) when matrix(x), matrix(y)
conv-smul @reassociate: conv(x, y, **p) * w => conv(x * w, y, **p) when scalar(w), same_dtype(x, w), same_dtype(x, y)
# of x * nan the padding is no part
conv-smul-filters @algebra: conv(x * w, y, **p) => conv(x, y * w, **p) when scalar(w), same_dtype(x, w), same_dtype(x, y)
conv-ewadd @reassociate: conv(x + y, z, **p) => conv(x, z, **p) + conv(y, z, **p) when same_shape(x, y), same_dtype(x, y), same_dtype(x, z)
conv-ewadd-filters @reassociate: conv(x, y + z, **p) => conv(x, y, **p) + conv(x, z, **p) when same_shape(y, z), same_dtype(x, y), same_dtype(x, z)
split-first: split(concatenate(x, y, axis=0), 2, axis=0)[0] => x when same_shape(x, y), same_dtype(x, y)
split-second: split(concatenate(x, y, axis=1), 2, axis=1)[1] => y when same_shape(x, y), same_dtype(x, y)
concat-geometry: concatenate(concatenate(x, y, axis=0), concatenate(z, w, axis=0), axis=1) => concatenate(concatenate(x, z, axis=1), concatenate(y, w, axis=1), axis=0) when same_shape(x, y), same_shape(z, w), same_shape(x, z)
concat-smul: concatenate(x * w, y * w, axis=0) => concatenate(x, y, axis=0) * w when scalar(w), same_dtype(x, y), same_dtype(x, w)
concat-ewadd: concatenate(x + y, z + w, axis=0) => concatenate(x, z, axis=0) + concatenate(y, w, axis=0) when same_shape(x, y), same_shape(z, w), same_dtype(x, y), same_dtype(y, z), same_dtype(z, w)
concat-ewmul: concatenate(x * y, z * w, axis=0) => concatenate(x, z, axis=0) * concatenate(y, w, axis=0) when same_shape(x, y), same_shape(z, w), same_dtype(x, y), same_dtype(y, z), same_dtype(z, w)
concat-relu: concatenate(maximum(x, 0), maximum(y, 0), axis=0) => maximum(concatenate(x, y, axis=0), 0) when same_dtype(x, y)
concat-transpose: concatenate(transpose(x), transpose(y), axis=1) => transpose(concatenate(x, y, axis=0)) when matrix(x), matrix(y)
concat-matmul @reassociate: concatenate(x @ y, x @ z, axis=1) => x @ concatenate(y, z, axis=1) when matrix(x), matrix(y), matrix(z), same_dtype(x, y), same_dtype(y, z)
concat-inner @reassociate: x @ y + z @ w => concatenate(x, z, axis=1) @ concatenate(y, w, axis=0) when matrix(x), matrix(y), matrix(z), matrix(w), same_dtype(x, y), same_dtype(y, z), same_dtype(z, w)
concat-conv-batch @reassociate: concatenate(conv(x, z, **p), conv(y, z, **p), axis=0) => conv(concatenate(x, y, axis=0), z, **p) when same_dtype(x, y), same_dtype(y, z)
concat-conv-filters @reassociate: concatenate(conv(x, y), conv(x, z), axis=1) => conv(x, concatenate(y, z, axis=0)) when same_dtype(x, y), same_dtype(y, z)
concat-conv-inner @reassociate: conv(x, y) + conv(z, w) => conv(concatenate(x, z, axis=1), concatenate(y, w, axis=1)) when same_dtype(x, y), same_dtype(y, z), same_dtype(z, w)
concat-pool-sum: concatenate(sum_pool(x, size=[2], **p), sum_pool(y, size=[2], **p), axis=0) => sum_pool(concatenate(x, y, axis=0), size=[2], **p) when same_dtype(x, y)
concat-pool-max: concatenate(max_pool(x, size=[2]), max_pool(y, size=[2]), axis=1) => max_pool(concatenate(x, y, axis=1), size=[2]) when same_dtype(x, y)
END
    ok 'grewrite --rules taso.rules --prove >proofs'
    [ "$(grep -c 'proved: rational identity' proofs)" = 33 ]
    [ "$(grep -Ec '(relu|max) .*holds: .* worst 0 ulp, everywhere' proofs)" = 3 ]
    refutes <<'END'
matmul-commutative @reassociate: x @ y => y @ x when matrix(x), matrix(y)|x = .*float64
matmul-transpose @reassociate: transpose(x @ y) => transpose(x) @ y when matrix(x), matrix(y)|x = .*float64
split-swapped: split(concatenate(x, y, axis=0), 2, axis=0)[0] => y when same_shape(x, y), same_dtype(x, y)|x = .*, left
concat-geometry: concatenate(concatenate(x, y, axis=0), concatenate(z, w, axis=0), axis=1) => concatenate(concatenate(x, y, axis=1), concatenate(z, w, axis=1), axis=0) when same_shape(x, y), same_shape(z, w), same_shape(x, z)|x = .*, left
concat-relu: concatenate(maximum(x, 0), y, axis=0) => maximum(concatenate(x, y, axis=0), 0) when same_dtype(x, y)|x = .*, left
relu-ewadd @reassociate: maximum(x + y, 0) => maximum(x, 0) + maximum(y, 0) when same_dtype(x, y)|x = .*, left
conv-swapped @reassociate: conv(x, y) => conv(y, x)|x = .*, left
concat-conv @reassociate: concatenate(conv(x, y), conv(x, z), axis=1) => conv(x, concatenate(z, y, axis=0)) when same_shape(y, z), same_dtype(x, y), same_dtype(y, z)|x = .*, left
conv-inner @reassociate: conv(x, y) + conv(z, w) => conv(concatenate(x, z, axis=1), concatenate(w, y, axis=1)) when same_dtype(x, y), same_dtype(y, z), same_dtype(z, w)|x = .*, left
END
}
