#!/usr/bin/env bats
# ggrad --optimizer: rules as text, that make updates of gradients.
load common

# A cost that is not quadratic, in parameters of two, one and no dims.
# shellcheck disable=SC2120 # the dtype; without it: float64
problem() {
    cat <<END
thunkline: 1
shared:
  W: ${1:-float64}[3, 2] = [[0.1, -0.2], [0.3, 0.4], [-0.5, 0.6]]
  b: ${1:-float64}[2] = [0.05, -0.05]
  s: ${1:-float64} = 1.5
let: |
  X: ${1:-float64}[4, 3] = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.5], [-1.0, 1.0, 0.75], [0.1, -0.3, 0.9]]
  Y: ${1:-float64}[4, 2] = [[1.0, -0.5], [0.2, 0.7], [-0.6, 0.4], [0.9, -1.1]]
  p = tanh(X @ W) * s + b
  loss = mean((p - Y) ** 2) + 0.01 * sum(W ** 4)
  all = concatenate([stack([loss]), W.reshape((6,)), b, stack([s])])
outputs: [all]
END
}

train() { ggrad --cost loss --wrt W,b,s --optimizer "$@"; }

# Compares columns of numbers: NAME, the file with the values that should be, the file with those that are, tolerance.
agree() {
    paste "$2" "$3" | awk -v name="$1" -v tol="$4" '
        NF != 2 { print name ": " NR ": " $0; bad = 1; exit }
        { d = $1 - $2; if (d < 0) d = -d; m = $1 < 0 ? -$1 : $1; if (d > tol * (m > 1 ? m : 1)) { print name ": number " NR " is " $2 ", not " $1; bad = 1 } }
        END { exit bad || !NR }'
}

@test "each rule follows the trajectory of PyTorch for 100 steps" {
    problem >m.yaml
    gload m.yaml -o m.tlg
    local rules rest
    while IFS=$'\t' read -r rules rest; do
        tr '\t' '\n' <<<"$rest" >want
        train "$rules" m.tlg | grewrite | grun --steps 100 --every 10 | sed 's/all = //' | tr -d '[] ' | tr ',' '\n' >have
        agree "$rules" want have 1e-6
    done <"$ROOT/tests/bats/optimizers.tsv"
}

@test "state is named by parameter and state, begins as its row says, and is saved, shown and set" {
    problem >m.yaml
    train 'clip_norm(1.0), adam, average' m.yaml -o a.tlg
    ok 'gload a.tlg -O yaml | grep -cE "^  [Wbs](_m|_v|_average)?: float64.* ="' 12
    ok 'gload a.tlg --outputs W_m,b_v,s_average,step | grun --no-updates' $'W_m = [[0.0, 0.0],\n       [0.0, 0.0],\n       [0.0, 0.0]]\nb_v = [0.0, 0.0]\ns_average = 1.5\nstep = 0'
    ok 'grun a.tlg --steps 3 --save b.tlg >/dev/null; gload b.tlg --outputs step | grun --no-updates' 'step = 3'
    ok 'gload a.tlg --set step=7 --set W_v="ones((3, 2))" --outputs step,W_v | grun --no-updates | head -n 1' 'step = 7'
    # in place of gradients: no output is added, and what is there stays
    ok 'ggrad m.yaml --cost loss --optimizer sgd | gload -O yaml | grep ^outputs' 'outputs: [all]'
    ok "ggrad m.yaml --cost loss --wrt W,b --optimizer nadam --name '{rule}_{wrt}_{state}' | gload -O yaml | grep -o '^  nadam_[A-Za-z_]*:'" $'  nadam_nadam_mu:\n  nadam_W_m:\n  nadam_W_v:\n  nadam_b_m:\n  nadam_b_v:'
    # only what needs the step counts it
    ok 'ggrad m.yaml --cost loss --optimizer momentum | gload -O yaml | grep -c step: || true' 0
    like 'ggrad m.yaml --cost loss --optimizer "momentum(dampening=0.1)" | gload -O yaml' '^  step: int64 = 0'
}

@test "50 steps, saved, and 50 more are 100 steps, bit for bit, rewritten or not" {
    problem >m.yaml
    local rules
    for rules in 'momentum(0.05)' 'nadam' 'adafactor' 'clip_norm(0.5), adamw(cosine(0.02, steps=100, warmup=10)), average(0.9)'; do
        train "$rules" m.yaml -o a.tlg
        ok 'grun a.tlg --steps 100 --save whole.tlg >/dev/null
            grun a.tlg --steps 50 --save half.tlg >/dev/null; grun half.tlg --steps 50 --save halves.tlg >/dev/null
            diff <(gload whole.tlg --no-provenance -O yaml | sed /^steps/d) <(gload halves.tlg --no-provenance -O yaml | sed /^steps/d)'
        ok 'grewrite a.tlg | grun --steps 40 --save one.tlg >/dev/null; grewrite one.tlg | grun --steps 60 --save two.tlg >/dev/null
            grewrite a.tlg | grun --steps 100 --save three.tlg >/dev/null
            diff <(gload two.tlg -O yaml --outputs W,b,s | sed -n "/^shared/,/^let/p") <(gload three.tlg -O yaml --outputs W,b,s | sed -n "/^shared/,/^let/p")'
    done
}

@test "parameters keep their dtypes, several in one graph, and whatever the dtype of a rate" {
    cat >m.yaml <<'END'
thunkline: 1
inputs: {rate: float64, slow: float32}
shared:
  h: float16[2] = [1, 2]
  f: float32[3] = [1, 2, 3]
  d: float64 = 0.5
  q: float64[n] = [1, 2]
let: |
  loss = sum(h * h) + sum(f ** 2) + d * d + sum(q * q)
outputs: [loss]
END
    local rules
    while IFS= read -r rules; do
        ggrad m.yaml --cost loss --optimizer "$rules" -o a.tlg
        ok "gload a.tlg -O yaml | grep -cE '^  h: float16|^  h_[_a-z]*: float32|^  f[_a-z]*: float32|^  [dq][_a-z]*: float64|^  step: int64|^  nadam_mu: float64'" \
            "$(gload a.tlg -O json | jq '.shared | length')"
        ok 'grewrite a.tlg | grun rate=0.01 slow=0.01 --steps 5 >fast; grun a.tlg rate=0.01 slow=0.01 --steps 5 --mode FAST_COMPILE >slow; sed "s/\(\....\).*/\1/" fast | diff - <(sed "s/\(\....\).*/\1/" slow)'
        ok 'grun a.tlg rate=0.01 slow=0.01 --mode DEBUG >/dev/null'
    done <<'END'
sgd(rate)
momentum(slow, nesterov=True)
adagrad
rmsprop(centered=True, momentum=slow)
adadelta(rate)
adam(rate, amsgrad=True)
clip_norm(slow), adamw(rate * slow, decay=rate)
nadam
lion(slow)
adafactor
weight_decay(slow), clip_value(rate), sgd(step(rate, every=2)), average(slow)
END
}

@test "arguments are numbers, expressions in the graph's variables, and schedules in each other" {
    gload --new -i 'rate: float64' --shared 'k: int64 = 2' --shared 'w: float64 = 1' -e 'loss = w' --outputs loss -o m.tlg
    # the gradient is 1, so w moves by the rate
    rate() { # RULES STEPS ARGUMENTS W
        ok "ggrad m.tlg --wrt w --optimizer '$1' | gload --outputs w | grewrite | grun $3 --steps $2" "w = $4"
    }
    rate 'sgd(0.25)' 2 '' 0.75
    rate 'sgd(rate)' 2 rate=0.5 0.5
    rate 'sgd(rate * k)' 2 rate=0.25 0.5
    rate 'sgd(rate=where(t < 1, rate, 0.0))' 9 rate=0.25 0.75
    rate 'sgd(0.25 * (t + 1))' 3 '' 0.25
    rate 'sgd(constant(0.25))' 2 '' 0.75
    rate 'sgd(linear(1, steps=4))' 3 '' -0.75
    rate 'sgd(linear(1, steps=0))' 3 '' 0.0
    rate 'sgd(polynomial(1, steps=0))' 3 '' 0.0
    rate 'sgd(cosine(0.5, steps=1, warmup=1))' 3 '' 0.0
    rate 'sgd(inverse_sqrt(0.5, warmup=0))' 2 '' 0.5
    rate 'sgd(linear(1.0, 2, final=rate))' 4 rate=0.25 -0.875
    rate 'sgd(step(linear(0.5, steps=4), every=1, factor=0.5))' 3 '' 0.3125
    rate 'sgd(warmup(0.5, steps=k))' 2 '' 0.75
    rate 'sgd(maximum(exponential(0.5, 0.5), 0.25))' 4 '' 0.0
    rate 'sgd(cosine(0.5, steps=2, warmup=1))' 2 '' 0.5
    rate 'sgd(polynomial(1, steps=4, power=2))' 3 '' -0.5625
    rate 'sgd(inverse_sqrt(0.5, warmup=2))' 3 '' 0.25
}

@test "wrappers: the norm over all parameters, values, decay, the other direction, averages behind an optimizer" {
    gload --new --shared 'a: float64 = 3' --shared 'b: float32[2] = [0, 4]' -e 'loss = sum(a * a + sum(b * b)) / 2' --outputs loss -o m.tlg
    one() { ok "ggrad m.tlg --optimizer '$1' | gload --outputs a,b | grun --steps 2" "$2"; }
    one 'clip_norm(1.0), sgd(1.0)' $'a = 2.400000119999976\nb = [0.0, 3.2000003]' # by 1 / (5 + 1e-6)
    one 'clip_norm(7.0), sgd(0.5)' $'a = 1.5\nb = [0.0, 2.0]'
    one 'clip_value(2.0), sgd(0.5)' $'a = 2.0\nb = [0.0, 3.0]'
    one 'weight_decay(1.0), sgd(0.25)' $'a = 1.5\nb = [0.0, 2.0]'
    one 'maximize, sgd(0.5)' $'a = 4.5\nb = [0.0, 6.0]'
    one 'clip_value(2.0), maximize, sgd(0.5)' $'a = 4.0\nb = [0.0, 5.0]'
    ok "ggrad m.tlg --optimizer 'sgd(0.5), average(0.5)' | gload --outputs a_average,b_average | grun --steps 2" $'a_average = 2.25\nb_average = [0.0, 3.0]'
}

@test "two costs have optimizers of their own, and one counter of steps" {
    gload --new --shared 'a: float64 = 1' --shared 'b: float64 = 1' -e 'f = a * a * b' -e 'h = -a * b * b' --outputs f,h -o m.tlg
    ok "ggrad m.tlg --cost f --wrt a --optimizer 'sgd(0.5 ** t)' | ggrad --cost h --wrt b --optimizer 'adam(0.1 * (t + 1))' -o two.tlg; gload two.tlg -O yaml | grep -c step:" 1
    ok 'gload two.tlg --outputs step | grun --steps 3' 'step = 2'
    bad 3 E_DUPLICATE 'a has an update already' 'ggrad two.tlg --cost f --wrt a --optimizer sgd'
}

@test "an optimizer of one's own, and a schedule" {
    cat >own.yaml <<'END'
thunkline: 1
optimizers:
  heavy:
    props:
      rate:
      keep: 0.5
      flat: False
    state: |
      last = 0 * w when ~flat
      n = 0
    common: {all: 0.0}
    sums: {size: sum(abs(g))}
    let: |
      move = -rate * g when flat
      move = keep * last - rate * g
      total = all + size
    updates:
      last: move
      n: n + 1
      all: total
      w: w + move
schedules:
  twice: {props: {rate: }, value: 2 * halved(rate)}
  halved:
    props: {rate: , every: 2}
    let: |
      part = t // every
    value: rate * 0.5 ** part
END
    gload --new --shared 'a: float64[2] = [1, 2]' --shared 'b: float64 = 4' -e 'loss = sum(a) + b' --outputs loss -o m.tlg
    ok "ggrad m.tlg --ops own.yaml --optimizer 'heavy(0.5)' | grewrite | gload --outputs a,a_last,b,b_n,heavy_all | grun --steps 3" \
        $'a = [-0.25, 0.75]\na_last = [-0.75, -0.75]\nb = 2.75\nb_n = 2\nheavy_all = 6.0'
    ok "ggrad m.tlg --ops own.yaml --optimizer 'heavy(twice(0.25), flat=True)' | gload --outputs b,heavy_all | grun --steps 4" $'b = 2.75\nheavy_all = 9.0'
    like 'gload --ops own.yaml --op heavy' '^heavy\(rate, keep = 0.5, flat = False\)' '^kind +optimizer' '^sums +size = sum' 'last = 0 \* w when ~flat' '^from +own.yaml'
    like 'gload --ops own.yaml --list-optimizers' '^adam ' '^heavy ' '^halved '
    like 'gload --list-optimizers -O json' '"name": "adam", "kind": "optimizer"' '"name": "clip_norm", "kind": "wrapper"' '"name": "step", "kind": "schedule"'
    # a rule and a schedule of one name are both shown as text; JSON has the rule
    printf 'thunkline: 1\noptimizers:\n  step: {updates: {w: w - g}}\n' >same.yaml
    like 'gload --ops same.yaml --op step' '^step\(\)$' '^kind +optimizer$' '^step\(rate, every, factor = 0.1\)$' '^kind +schedule$'
    ok 'gload --ops same.yaml --op step -O json | jq -r .kind' optimizer
    ok 'gload --op step -O json | jq -r .kind,.value' $'schedule\nrate * (factor + 0.0) ** (t // every)'
    # rows is the row r of an op file
    local what
    row() { printf 'thunkline: 1\noptimizers:\n  r:\n%s\n' "$1" >bad.yaml; }
    while IFS=';' read -r code what text; do
        row "$(printf '%b' "$text")"
        bad 3 "$code" "$what" 'gload --ops bad.yaml --list-optimizers'
    done <<'END'
E_FORMAT;has no updates;    props: {rate: 1}
E_NAME;`rte` is not defined above;    props: {rate: 1}\n    updates: |\n      w = w - rte * g
E_NAME;`b` is not defined above;    let: |\n      a = b\n      b = g\n    updates: |\n      w = w - a
E_NAME;the state `m` has no update;    state: {m: zeros_like(w)}\n    updates: |\n      w = w - g
E_NAME;`x` can.t be updated;    updates: |\n      x = w - g
E_NAME;`g` is not defined above;    state: {m: g}\n    updates: |\n      m = g
E_NAME;can.t depend on one;    common: {c: 0}\n    updates: |\n      c = c + sum(g)
E_DUPLICATE;`w` has a meaning;    props: {w: 1}\n    updates: |\n      w = w - g
E_DUPLICATE;`a` has a meaning;    props: {a: 1}\n    let: |\n      a = 2\n    updates: |\n      w = w - g
E_FORMAT;has no key .states.;    states: {m: 1}\n    updates: |\n      w = g
E_FORMAT;a list;    updates: [w]
E_SYNTAX;end of the line;    updates: |\n      w = w - g g
E_FORMAT;joins these lines;    updates: >\n      w = w - g\n      g = g
E_DUPLICATE;already a rule adam;    updates: |\n      w = w - g\n  adam:\n    updates: |\n      w = g
E_FORMAT;must be a mapping from names to defaults;    props: [a]\n    updates: |\n      w = g
END
    printf 'thunkline: 1\nschedules:\n  a: {value: b()}\n  b: {value: a()}\noptimizers: {}\n' >loop.yaml
    bad 6 E_LIMIT 'call each other more than' "ggrad m.tlg --ops loop.yaml --optimizer 'sgd(a())'"
    while IFS=';' read -r code what text; do
        printf 'thunkline: 1\n%b\n' "$text" >bad.yaml
        bad 3 "$code" "$what" 'gload --ops bad.yaml --list-optimizers'
    done <<'END'
E_NAME;"a-b" can.t be the name of a schedule;schedules: {a-b: {value: 1}}
E_NAME;"a-b" can.t be the name of an optimizer;optimizers: {a-b: {updates: {w: g}}}
E_DUPLICATE;already a schedule step in;schedules: {step: {value: 1}}
E_NAME;a: `b` is not defined above;schedules: {a: {let: {c: b}, value: c}}
E_SYNTAX;ends where;schedules: {a: {value: 1 +}}
E_FORMAT;"optimizers" must be a mapping from names to rows;optimizers: [a]
E_FORMAT;"schedules" must be a mapping from names to rows;schedules: [a]
E_FORMAT;expected an expression;schedules: {a: {value: [1]}}
E_FORMAT;joins these lines;schedules:\n  a:\n    value: 1\n      + 2
E_FORMAT;has no key "valu";schedules: {a: {valu: 1}}
E_FORMAT;expected a text;schedules: {a: {doc: [a], value: 1}}
E_FORMAT;expected a text;optimizers: {a: {example: [a], updates: {w: g}}}
E_FORMAT;a list;optimizers: {a: {let: [a], updates: {w: g}}}
E_FORMAT;a list;optimizers: {a: {state: [a], updates: {w: g}}}
E_FORMAT;a list;optimizers: {a: {common: [a], updates: {w: g}}}
E_FORMAT;a list;optimizers: {a: {sums: [a], updates: {w: g}}}
E_FORMAT;expected an expression;optimizers: {a: {updates: {w: [g]}}}
E_FORMAT;joins these lines;optimizers:\n  a:\n    updates:\n      w: g\n        + w
E_FORMAT;expected a default;optimizers: {a: {props: {r: [1]}, updates: {w: g}}}
E_NAME;^gload: bad.yaml:5:15: ;optimizers:\n  a:\n    updates:\n      w:      nope * g
E_NAME;^gload: bad.yaml:6:9: ;optimizers:\n  a:\n    updates:\n      w:\n        nope * g
END
    gload --new --shared 'a: float64[2] = [1, 2]' --shared 'b: float64[3] = [1, 2, 4]' -e 'loss = sum(a) + sum(b)' --outputs loss -o two.tlg
    printf 'thunkline: 1\noptimizers:\n  r: {sums: {n: g}, updates: {w: w - g * sum(n)}}\n' >sums.yaml
    bad 3 E_SHAPE 'axis -1 has 2 and 3' 'ggrad two.tlg --ops sums.yaml --optimizer r'
    printf 'thunkline: 1\nschedules:\n  a: {doc: no value}\n' >loop.yaml
    bad 3 E_FORMAT 'has no value' "gload --ops loop.yaml --list-optimizers"
    printf 'thunkline: 1\noptimizers:\n  r: {updates: {w: "w[0] - g"}}\n' >shape.yaml
    bad 3 E_ '' "ggrad m.tlg --ops shape.yaml --optimizer r"
}

@test "lines of a row hold by their conditions, name functions and sums, and read all of the language" {
    gload --new --shared 'W: float64[2] = [1, 2]' --shared 'L: list(float64) = [0.5]' -e 'loss = sum(W * W)' --outputs loss,W -o m.tlg
    # the gradient is [2, 4]
    local want rule text
    while IFS=';' read -r want rule text; do
        printf 'thunkline: 1\noptimizers:\n  r:\n%b\n' "$text" >row.yaml
        ok "ggrad m.tlg --ops row.yaml --cost loss --optimizer '$rule' | gload --outputs W | grun --steps 2" "W = $want"
    done <<'END'
[-1.0, -2.0];r;    updates: |\n      w = w - g when w.dtype == float64\n      w = w - 2 * g
[-3.0, -6.0];r;    updates: |\n      w = w - g when w.dtype == float32\n      w = w - 2 * g
[-1.0, -2.0];r;    updates: |\n      w = w - g when w.ndim == 1\n      w = w - 2 * g
[-3.0, -6.0];r;    updates: |\n      w = w - g when w.ndim == 2\n      w = w - 2 * g
[-3.0, -6.0];r;    props: {a: False, b: True}\n    updates: |\n      w = w - g when a & b\n      w = w - 2 * g when a | b\n      w = w - 3 * g
[-1.0, -2.0];r(True);    props: {a: False, b: True}\n    updates: |\n      w = w - g when a & b\n      w = w - 2 * g when a | b\n      w = w - 3 * g
[-3.0, -6.0];r(True, False);    props: {a: False, b: True}\n    updates: |\n      w = w - g when a & b\n      w = w - 2 * g when a | b\n      w = w - 3 * g
[-5.0, -10.0];r(b=False);    props: {a: False, b: True}\n    updates: |\n      w = w - g when a & b\n      w = w - 2 * g when a | b\n      w = w - 3 * g
[-3.0, -6.0];r;    let: |\n      f = lambda a: a * 2\n    updates: {w: w - f(g)}
[-3.0, -6.0];r;    updates: {w: "w - map(lambda a: a * 2, g)"}
[-7.0, -6.0];r;    updates: {w: "w - concatenate([w[:1] + 3, g[1:]]) * cast(2, floatX)"}
[-5.0, -4.0];r;    sums: {n: sum(g)}\n    updates: {w: w - n}
[-1.0, -2.0];r;    sums: |\n      n = sum(g) when w.ndim == 2\n    updates: {w: w - g}
[-1.0, -2.0];r;    sums: {n: g}\n    updates: {w: w - n}
[-1.0, -2.0];r;    state: |\n      m = None when w.ndim == 1\n    updates: {w: w - g, m: m}
[-1.0, -2.0];r;    common: {m: None}\n    updates: {w: w - g, m: m}
[-1.0, -2.0];r;    state: {m: "[w]"}\n    updates: {w: w - g, m: "[g]"}
[-1.0, -2.0];r;    updates: |\n      g = 2 * g when w.ndim == 2\n      w = w - g
[-3.0, -6.0];r;    props: {a: 1}\n    updates: |\n      w = w - g when a == 2\n      w = w - 2 * g when -a\n      w = w - 3 * g
[-3.0, -6.0];r(0.5);    props: {a: 1}\n    updates: |\n      w = w - g when a - 0.5\n      w = w - 2 * g when a
[0.0, 0.0];r(L[0]);    props: {rate: }\n    updates: {w: w - rate * g}
END
    # an expression that fails stops the tool with one error, wherever it stands
    local code
    while IFS=';' read -r code want rule text; do
        printf 'thunkline: 1\noptimizers:\n  r:\n%b\nschedules:\n  flat: {value: "ones((2,))"}\n  odd: {let: {a: "ones((2,)) + ones((3,))"}, value: 1}\n' "$text" >row.yaml
        bad 3 "$code" "$want" "ggrad m.tlg --ops row.yaml --cost loss --wrt W --optimizer '$rule'"
    done <<'END'
E_NAME;r: `a` is not defined above;r;    props: {b: a}\n    updates: {w: g}
E_NAME;r: `c` can.t be used here;r;    common: {c: 0}\n    state: {m: c}\n    updates: {w: g}
E_NAME;r: `t` can.t be used here;r;    state: {m: t}\n    updates: {w: g}
E_NAME;r: `foo` is not defined above;r;    let: |\n      a = 1 when foo\n    updates: {w: g}
E_NAME;the state `c` has no update;r;    common: {c: 0}\n    updates: {w: g}
E_DUPLICATE;`w` has a meaning already;r;    common: {w: 0}\n    updates: {w: g}
E_DUPLICATE;`g` has a meaning already;r;    state: {g: 0}\n    updates: {w: g}
E_NAME;`d` is not defined above;r;    common: {c: d}\n    updates: {w: g}
E_NAME;`d` is not defined above;r;    sums: {s: d}\n    updates: {w: g}
E_SYNTAX;expected `name = expression`;r;    updates: |\n      w, v = g, g
E_NAME;no attribute `.dtyp`;r;    updates: |\n      w = w - g when w.dtyp == float32\n      w = w - 2 * g
E_NAME;no attribute `.dtyp`;r;    updates: |\n      w = w - g when w.dtype == w.dtyp\n      w = w - 2 * g
E_TYPE;a dtype where a tensor is expected;r;    updates: |\n      w = w - g when w.dtype == 2\n      w = w - 2 * g
E_NAME;no attribute `.foo`;r;    updates: |\n      w = w - g when w.foo & True\n      w = w - 2 * g
E_NAME;no attribute `.foo`;r;    updates: |\n      w = w - g when True & w.foo\n      w = w - 2 * g
E_NAME;no attribute `.foo`;r;    updates: |\n      w = w - g when ~w.foo\n      w = w - 2 * g
E_SHAPE;axis -1 has 2 and 3;r;    props: {a: "sum(ones((2,)) + ones((3,)))"}\n    updates: {w: w - a * g}
E_NAME;no attribute `.foo`;r;    state: |\n      m = 0 when w.foo\n    updates: {w: w - g, m: m}
E_SHAPE;axis -1 has 2 and 3;r;    state: {m: "w + ones((3,))"}\n    updates: {w: w - g, m: m}
E_SHAPE;axis -1 has 2 and 3;r;    common: {m: "ones((2,)) + ones((3,))"}\n    updates: {w: w - g, m: m}
E_TYPE;function;r;    state: {m: "lambda a: a"}\n    updates: {w: w - g, m: m}
E_SHAPE;m is float64\[1, 2\], but the value is float64\[1\];r;    state: {m: "[w]"}\n    updates: {w: w - g, m: "[1]"}
E_DTYPE;the value is complex128\[2\]: cast it;r;    updates: {w: "w - g * 1j"}
E_NAME;no attribute `.foo`;r;    sums: |\n      n = sum(g) when w.foo\n    updates: {w: w - g}
E_SHAPE;axis -1 has 2 and 3;r;    sums: {n: "w + ones((3,))"}\n    updates: {w: w - g}
E_SHAPE;axis -1 has 2 and 3;r;    let: {n: "w + ones((3,))"}\n    updates: {w: w - g}
E_NAME;no attribute `.foo`;r;    let: |\n      n = w when w.foo\n    updates: {w: w - g}
E_NAME;no attribute `.foo`;r;    updates: |\n      w = w - g when w.foo
E_TYPE;the value is none;r;    let: {d: g}\n    updates: {w: None when d.ndim}
E_SHAPE;the value is float64\[1, 2\];r;    updates: {w: "[g]"}
E_SYNTAX;ends where;r;    props: {a: 1 +}\n    updates: {w: w - g}
E_ARG;not a list;r([L, L]);    props: {a: 1}\n    updates: {w: w - a * g}
E_ARG;not list\(float64\);r(L);    props: {a: 1}\n    updates: {w: w - a * g}
E_ARG;not float64\[1\];r(W[:1]);    props: {a: 1}\n    updates: {w: w - a * g}
E_ARG;not a function;r(lambda x: x);    props: {a: 1}\n    updates: {w: w - a * g}
E_TYPE;the schedule flat must be a number;r(flat());    props: {a: 1}\n    updates: {w: w - a * g}
E_SHAPE;axis -1 has 2 and 3;r(odd());    props: {a: 1}\n    updates: {w: w - a * g}
END
}

@test "what can't be an optimizer, an argument or a parameter" {
    gload --new -i 'x: float64' --shared 'W: float64[2] = [1, 2]' --shared 'i: int64 = 1' --shared 'z: complex128 = 1j' --shared 'r: float64 = 1' --shared 'v: float64[2] = [1, 2]' \
        -e 'h = W * x' -e 'loss = sum(h * v) * r + i + real(z * conj(z))' --outputs loss -o m.tlg
    no() { bad "$1" "$2" "$3" "ggrad m.tlg --cost loss --wrt W --optimizer \"$4\""; }
    no 2 E_UNKNOWN 'no optimizer `adamv`: did you mean `adam`' 'adamv(1)'
    no 2 E_UNKNOWN 'no optimizer `SGD`: here it is `sgd`' 'SGD'
    no 2 E_UNKNOWN 'cosine is a schedule: give it to an optimizer' 'cosine(0.1, 10)'
    no 3 E_ARG 'adam has no argument lr: here it is `rate`' 'adam(lr=1)'
    no 3 E_ARG 'did you mean `beta1`' 'adam(beta=1)'
    no 3 E_ARG 'its signature is step\(rate, every, factor = 0.1\)' 'sgd(step(0.1))'
    no 3 E_ARG 'too many arguments' 'sgd(1, 2, 3)'
    no 3 E_ARG 'second value for rate' 'sgd(1, rate=2)'
    no 3 E_ARG 'rate must be a number, such as 0.1, or a variable that is one, not a bool' 'sgd(True)'
    no 3 E_ARG 'not float64\[2\]' 'sgd(v)'
    no 3 E_ARG 'not complex128' 'sgd(z)'
    no 3 E_ARG 'not a complex number' 'sgd(1j)'
    no 3 E_ARG 'not None' 'sgd(None)'
    no 3 E_ARG 'nesterov must be True or False' 'momentum(nesterov=1)'
    no 3 E_ARG 'no optimizer: average alone' 'clip_norm, average'
    no 3 E_SYNTAX 'expected an optimizer' '[sgd]'
    no 3 E_SYNTAX 'expected an optimizer' '1 + 2'
    no 3 E_SYNTAX 'ends where' 'sgd('
    no 3 E_SYNTAX 'ends where' 'sgd,,sgd'
    no 3 E_NAME '`foo` is not defined' 'sgd(foo)'
    no 3 E_NAME '`adam` is not defined' 'sgd(adam)'
    no 3 E_DUPLICATE 'the state m of momentum, for W, would be called W_m' 'adam, momentum'
    no 3 E_VALUE 'initial value of W_v depends on an input' 'adagrad(start=x)'
    bad 2 E_USAGE 'x can.t be updated: it is an input' 'ggrad m.tlg --wrt x --optimizer sgd'
    bad 2 E_USAGE 'h can.t be updated: it is computed' 'ggrad m.tlg --wrt h --optimizer sgd'
    bad 3 E_DTYPE 'i is int64' 'ggrad m.tlg --wrt i --optimizer sgd'
    bad 3 E_DTYPE 'z is complex128' 'ggrad m.tlg --wrt z --optimizer sgd'
    bad 3 E_DTYPE 'L is list\(float64\)' 'gload m.tlg --shared "L: list(float64) = [1.0]" | ggrad --cost loss --wrt L --optimizer sgd'
    bad 3 E_DUPLICATE 'W has an update already' 'gload m.tlg --update "W = W + 1" | ggrad --wrt W --optimizer sgd'
    bad 3 E_DUPLICATE 'the number of steps would be called step, but the graph has a step' 'gload m.tlg -e "step = W + 1" | ggrad --wrt W --optimizer adam'
    bad 3 E_NAME '`t` is the number of steps here, but the graph has a variable t' 'gload m.tlg -e "t = r * 2" | ggrad --cost loss --wrt W --optimizer "sgd(0.1 / t)"'
    # only `step = step + 1` of an int64 counts steps
    local step
    for step in 'int64 = 0;step + 2' 'int64 = 0;step * 1' 'int32 = 0;step + 1' 'int64[1] = [0];step + 1' 'int64 = 0;1 + step' 'int64 = 0;step + cast(r, int64)'; do
        bad 3 E_DUPLICATE 'the number of steps would be called step' "gload m.tlg --shared 'step: ${step%;*}' --update 'step = ${step#*;}' | ggrad --cost loss --wrt W --optimizer adam"
    done
    bad 3 E_DUPLICATE 'the number of steps would be called step' "gload m.tlg --shared 'step: int64 = 0' | ggrad --cost loss --wrt W --optimizer adam"
    ok 'gload m.tlg -e "t = r * 2" | ggrad --cost loss --wrt W --optimizer adam >/dev/null'
    bad 3 E_SHAPE 'scalar' 'ggrad m.tlg --cost h --wrt W --optimizer sgd'
    bad 2 E_USAGE '' 'gload --new -i "x: float64" -e "y = x * x" --outputs y | ggrad --optimizer sgd'
    bad 3 E_NAME 'can.t be called W-m' "ggrad m.tlg --wrt W --optimizer momentum --name '{wrt}-{state}'"
    bad 2 E_USAGE 'optimizer is for --cost' 'ggrad m.tlg --jvp loss --optimizer sgd'
    bad 2 E_USAGE 'excludes --check' 'ggrad m.tlg --optimizer sgd --check'
    bad 2 E_USAGE 'excludes --only' 'ggrad m.tlg --wrt W --optimizer sgd --only'
    # a parameter that the cost does not depend on stays as it is, or counts as one with a gradient of 0
    bad 3 E_DISCONNECTED '' 'gload m.tlg --shared "far: float64 = 1" | ggrad --wrt W,far --optimizer sgd'
    ok 'gload m.tlg --shared "far: float64 = 1" | ggrad --wrt W,far --optimizer sgd --disconnected ignore --return-disconnected none | gload -O yaml | grep -c "^  far"' 1
    # a cost that only counts
    run --separate-stderr ggrad "$ROOT/examples/mlp/model.yaml" --cost accuracy --optimizer sgd -o still.tlg
    [ "$status" = 0 ]
    output=$stderr assert_output --partial 'the gradient of W1, b1, W2, b2 is zero: accuracy depends on it only through integers or bools'
}

@test "the update of a parameter is one kernel that works in place, and the cost is linear in the parameters" {
    for n in 4 16; do
        awk -v n=$n 'BEGIN {
            print "thunkline: 1\nshared:"; for (i = 0; i < n; i++) print "  w" i ": float32[20] = ones(20)"
            print "let: |\n  l0 = sum(w0 * w0)"; for (i = 1; i < n; i++) print "  l" i " = l" i - 1 " + sum(w" i " * w" i ")"
            print "outputs: [l" n - 1 "]" }' >m.yaml
        ggrad m.yaml --optimizer 'clip_norm(1.0), adamw(cosine(1e-3, steps=100, warmup=5))' | grewrite -o r.tlg
        ok "gload r.tlg -O yaml | grep -cE '^  _[0-9]+, _[0-9]+, _[0-9]+ = fused_[0-9]+\(.*w[0-9]+_m'" $n
        [ $n = 16 ] || ok "gprof r.tlg --memory | grep -acE ' iii  _.*w[0-9]+_m'" $n # m, v and w in their old places
        gprof r.tlg --static -O json | jq '.total.flops' >flops.$n
    done
    [ "$(awk '{ print $1 < 4.2 * last; last = $1 }' flops.4 flops.16 | tail -n 1)" = 1 ]
}
