# Sow, reap, plant, harvest, nest in the language and by the tools.
load common

# The contract's worked function: f(x) = sow(x + 1) + 1.
contract() { # definition...
    cat >f.yaml <<'Y'
thunkline: 1
functions:
  f:
    inputs: {x: float64}
    let: |
      y = sow(x + 1., tag='intermediate', name='y')
    outputs: {out: y + 1.}
inputs:
  x: float64
let: |
Y
    printf '  %s\n' "$@" >>f.yaml
    printf 'outputs: {r: r}\n' >>f.yaml
}

@test "sow is the identity outside of a harvest" {
    contract 'r = f(x)'
    ok 'grun f.yaml x=1' 'r = 3.0'
    ok 'gload -e "sow(x, tag=\"t\", name=\"y\")" | ggrad | grun x=3' \
        $'out = 3.0\nd_out_d_x = 1.0'
}

# The contract's examples, with the language's functions and with the tools' options: x, then what is printed.
@test "the worked examples of the contract give the same in the language and from the shell" {
    local x planted reaped out
    contract 'r = f(x)'
    gload f.yaml -o plain.yaml
    while read -r x planted reaped out; do
        contract "r = harvest(f, tag='intermediate')({'y': 0.}, x)"
        ok "grun f.yaml x=$x" "r/0 = $planted"$'\n''r/1 = {}'
        contract "r = plant(f, tag='intermediate')({'y': 0.}, x)"
        ok "grun f.yaml x=$x" "r = $planted"
        for line in "grun plain.yaml --plant intermediate/y=0." "grewrite plain.yaml --plant intermediate/y=0. | grun" \
            "grewrite plain.yaml --harvest intermediate --plant y | grun y=0."; do
            ok "$line x=$x" "r = $planted"
        done
        contract "r = harvest(f, tag='intermediate')({}, x)"
        ok "grun f.yaml x=$x" "r/0 = $out"$'\n'"r/1/y = $reaped"
        contract "r = reap(f, tag='intermediate')(x)"
        ok "grun f.yaml x=$x" "r/y = $reaped"
        for line in "grun plain.yaml --reap intermediate" "grewrite plain.yaml --harvest intermediate | grun" \
            "grewrite plain.yaml --reap intermediate/y | grun"; do
            ok "$line x=$x" "r = $out"$'\n'"intermediate/y = $reaped"
        done
    done <<'T'
1 1.0 2.0 3.0
5 1.0 6.0 7.0
T
    bad 2 E_UNKNOWN 'no sow' 'grewrite plain.yaml --harvest intermediate | grewrite --harvest intermediate'
}

@test "harvest: planted values replace sown ones, the rest is reaped" {
    contract "r = harvest(f, tag='intermediate')({'y': 0.}, x)"
    ok 'grun f.yaml x=1' $'r/0 = 1.0\nr/1 = {}'
    ok 'grun f.yaml x=5' $'r/0 = 1.0\nr/1 = {}'
    contract "r = harvest(f, tag='intermediate')({}, x)"
    ok 'grun f.yaml x=1' $'r/0 = 3.0\nr/1/y = 2.0'
    ok 'grun f.yaml x=5' $'r/0 = 7.0\nr/1/y = 6.0'
}

@test "plant and reap are harvest with one half left out" {
    contract "r = plant(f, tag='intermediate')({'y': 0.}, x)"
    ok 'grun f.yaml x=5' 'r = 1.0'
    contract "r = reap(f, tag='intermediate')(x)"
    ok 'grun f.yaml x=1' 'r/y = 2.0'
    contract "r = call_and_reap(f, tag='intermediate')(x)"
    ok 'grun f.yaml x=1' $'r/0 = 3.0\nr/1/y = 2.0'
    contract "r = plant(f, tag='intermediate')({'unknown': 0.}, x)" # names that nothing sows are ignored
    ok 'grun f.yaml x=5' 'r = 7.0'
}

@test "a harvested function has nothing left to harvest; other tags stay" {
    contract "r = harvest(harvest(f, tag='intermediate'), tag='intermediate')({}, {}, x)"
    ok 'grun f.yaml x=1' $'r/0/0 = 3.0\nr/0/1/y = 2.0\nr/1 = {}'
    contract "r = reap((lambda v: reap(f, tag='other')(v)), tag='intermediate')(x)"
    ok 'grun f.yaml x=1' 'r/y = 2.0'
    contract "q = call_and_reap(f, tag='other')(x)" 'r = q[0]'
    like 'gload f.yaml' "sow\(|f\(x\)"
    contract "r = reap((lambda v: call_and_reap(f, tag='other', exclusive=True)(v)), tag='intermediate')(x)"
    ok 'grun f.yaml x=1' 'r = {}'
}

@test "modes: strict refuses twice, clobber keeps the last, append grows an array" {
    local two="sow(v, tag='t', name='k', mode='M') + sow(v * v, tag='t', name='k', mode='M')"
    contract "r = reap((lambda v: ${two//M/clobber}), tag='t')(x)"
    ok 'grun f.yaml x=3' 'r/k = 9.0'
    contract "r = reap((lambda v: ${two//M/append}), tag='t')(x)"
    ok 'grun f.yaml x=3' 'r/k = [3.0, 9.0]'
    contract "r = plant((lambda v: ${two//M/append}), tag='t')({'k': [10., 5.]}, x)"
    ok 'grun f.yaml x=3' 'r = 15.0'
    contract "r = plant((lambda v: ${two//M/clobber}), tag='t')({'k': 10.}, x)"
    ok 'grun f.yaml x=3' 'r = 20.0'
    contract "r = reap((lambda v: ${two//M/strict}), tag='t')(x)"
    bad 3 E_DUPLICATE 'k has already been reaped' 'gload f.yaml'
    contract "r = plant((lambda v: ${two//M/strict}), tag='t')({'k': 10.}, x)"
    bad 3 E_DUPLICATE 'k has already been planted' 'gload f.yaml'
    contract "r = sow(x, tag='t', name='k', mode='often')"
    bad 3 E_ARG "no mode 'often'" 'gload f.yaml'
    contract "r = sow(x, tag='t', name='k', mode='appnd')"
    bad 3 E_ARG "did you mean 'append'" 'gload f.yaml'
    contract "r = sow(x, tagg='t', name='k')"
    bad 3 E_ARG 'no argument tagg' 'gload f.yaml'
    contract "r = sow(x, name='k')"
    bad 3 E_ARITY 'needs the argument tag' 'gload f.yaml'
    contract "r = sow(x, tag='a/b', name='k')"
    bad 3 E_ARG "tag can't have a .?/" 'gload f.yaml'
    contract "r = sow(x, tag='a', name='k//l')"
    bad 3 E_ARG "parts of a name can't be empty" 'gload f.yaml'
    contract "r = sow(x, tag='t', name='k', mode='cond_clobber')"
    bad 3 E_ARG 'sow_cond' 'gload f.yaml'
    contract "r = sow_cond(x, x > 0, tag='t', name='k', mode='append')"
    bad 3 E_ARG 'cond_clobber' 'gload f.yaml'
}

@test "planted values must have the kind, rows and types of sown ones; appended rows must agree" {
    local name="tag='t', name='k'" append="tag='t', name='k', mode='append'"
    contract "r = plant(f, tag='intermediate')({'y': {'a': 1.}}, x)"
    bad 3 E_TYPE 'y is sown as a value, but a dict is planted' 'gload f.yaml'
    contract "g = lambda v: nest(f, scope='s')(v)" "r = plant(g, tag='intermediate')({'s': 1.}, x)"
    bad 3 E_TYPE 's is sown as a scope: a dict of values is planted' 'gload f.yaml'
    grep -q 'f.yaml:12:.*error' .err
    contract "r = plant((lambda v: sow(v, $append) + sow(v, $append)), tag='t')({'k': [1., 2., 3.]}, x)"
    bad 3 E_SHAPE 'k is sown 2 times, but 3 rows are planted' 'gload f.yaml'
    contract "r = plant((lambda v: sow(v, $append) + sow(v, $append)), tag='t')({'k': [1.]}, x)"
    bad 3 E_SHAPE 'k is sown more often than the number of rows planted for it, 1' 'gload f.yaml'
    contract "r = plant((lambda v: sow(v, $append) + sow(v, $append)), tag='t')({'k': 1.}, x)"
    bad 3 E_SHAPE 'a row for each sow: expected float64.\?., not float64' 'gload f.yaml'
    contract "h = lambda v: nest((lambda u: sow(u, $append) + sow(u, $append)), scope='s')(v)" "r = plant(h, tag='t')({'s': {'k': [1., 2., 3.]}}, x)"
    bad 3 E_SHAPE 's/k is sown 2 times, but 3 rows are planted' 'gload f.yaml'
    contract "r = sow(x, $append) + sum(sow(stack([x, x]), $append))"
    bad 3 E_SHAPE 'k is sown as float64.2. here: appended rows form one array' 'grun f.yaml x=1 --reap t'
    contract "r = sow(x, $append) + sow(float32(x), $append)"
    bad 3 E_DTYPE 'k is sown as float32 here' 'grun f.yaml x=1 --reap t'
    contract "r = sow(x, $append) + sow(x, $append)"
    bad 3 E_SHAPE 'k is sown 2 times, but 3 rows are planted' 'grun f.yaml x=1 --plant k=[1,2,3]'
    contract "r = plant(f, tag='intermediate')({'y': float32(1)}, x)"
    bad 3 E_TYPE 'the planted value of y is float32, but the sown value is float64' 'gload f.yaml'
}

@test "rows are planted for one loop, or for sows beside loops" {
    local append="tag='t', name='k', mode='append'"
    contract "s = scan((lambda a: sow(a * x, $append)), sequences=[array([1., 2.])])" "r = s[-1] + sow(x, $append)"
    ok 'grun f.yaml x=2 --reap t' $'r = 6.0\nt/k = [2.0, 4.0, 2.0]'
    bad 3 E_DUPLICATE 'k is appended by a loop and elsewhere' 'grun f.yaml x=2 --plant k=[1,2,3]'
    contract "l = lambda v: scan((lambda a: sow(a * x, $append)), sequences=[v])" "r = sum(l(array([1., 2.]))) + sum(l(array([3., 4.])))"
    bad 3 E_DUPLICATE 'k is appended by a loop and elsewhere' 'grun f.yaml x=2 --plant k=[1,2,3,4]'
    contract "s = scan((lambda a: sow(a * x, $append)), sequences=[array([1., 2.])])" "r = s[-1] + ifelse(x > 0, sow(x, $append), sow(-x, $append))"
    bad 3 E_DUPLICATE 'k is appended by a loop and elsewhere' 'grun f.yaml x=2 --plant k=[1,2,3]'
    contract "l = lambda v: scan((lambda a: sow(a * x, $append)), sequences=[v])" "r = sum(nest(l, scope='a')(array([1., 2.]))) + sum(l(array([3., 4.])))"
    ok 'grun f.yaml x=2 --plant k=[1,2] --plant a/k=[3,4]' 'r = 10.0'
    contract "l = lambda v: sum(scan((lambda a: sow(a * x, $append)), sequences=[v]))" "r = ifelse(x > 0, l(array([1., 2.])), -l(array([3., 4.])))"
    ok 'grun f.yaml x=2 --plant k=[1,2]' 'r = 3.0'
    ok 'grun f.yaml x=-2 --plant k=[1,2]' 'r = -3.0'
}

@test "sow_cond keeps the last value whose predicate held, else zeros" {
    contract "r = reap((lambda v: sow_cond(v, v > 2, tag='t', name='k') + sow_cond(v * v, v > 3, tag='t', name='k')), tag='t')(x)"
    ok 'grun f.yaml x=1' 'r/k = 0.0'
    ok 'grun f.yaml x=3' 'r/k = 3.0'
    ok 'grun f.yaml x=4' 'r/k = 16.0'
}

@test "a key makes an order" {
    contract "a = lambda v: sow(v, tag='t', name='k', mode='append', key=sow(v + 1., tag='t', name='k', mode='append'))" \
        "r = reap(a, tag='t')(x)"
    ok 'grun f.yaml x=3' 'r/k = [4.0, 3.0]'
}

@test "nest: names get a scope, which stands once at a level" {
    contract "r = call_and_reap((lambda v: nest(f, scope='one')(v) * nest(f, scope='two')(v + 1.)), tag='intermediate')(x)"
    ok 'grun f.yaml x=1' $'r/0 = 12.0\nr/1/one/y = 2.0\nr/1/two/y = 3.0'
    ok 'gload f.yaml | gload -O yaml | grun x=1' $'r/0 = 12.0\nr/1/one/y = 2.0\nr/1/two/y = 3.0'
    contract "r = plant((lambda v: nest(f, scope='one')(v) * nest(f, scope='two')(v)), tag='intermediate')({'one': {'y': 4.}}, x)"
    ok 'grun f.yaml x=1' 'r = 15.0'
    contract "g = lambda v: nest(f, scope='a')(v)" "r = reap((lambda v: nest(g, scope='b')(v)), tag='intermediate')(x)"
    ok 'grun f.yaml x=1' 'r/b/a/y = 2.0'
    contract "r = reap((lambda v: nest(f, scope='s')(v) + nest(f, scope='s')(v)), tag='intermediate')(x)"
    bad 3 E_DUPLICATE 'the scope s has already been reaped' 'gload f.yaml'
    contract "r = reap((lambda v: nest(f, scope='one')(v) + nest(f, scope='two')(v)), tag='intermediate', blocklist=['one'])(x)"
    ok 'grun f.yaml x=1' 'r/two/y = 2.0'
    contract "r = reap((lambda v: nest(f, scope='one')(v) + nest(f, scope='two')(v)), tag='intermediate', allowlist=['one'])(x)"
    ok 'grun f.yaml x=1' 'r/one/y = 2.0'
}

@test "a dict is sown leaf by leaf, and is a dict when it is reaped or planted" {
    contract "g = lambda v: sow({'a': v, 'b': {'c': [v, 2. * v]}}, tag='t', name='k')['a'] * 3." \
        "r = call_and_reap(g, tag='t')(x)"
    ok 'grun f.yaml x=2' $'r/0 = 6.0\nr/1/k/a = 2.0\nr/1/k/b/c = [2.0, 4.0]'
    contract "d = {'a': x, 'b': 2. * x}" "r = plant((lambda v: sow(d, tag='t', name='k', key=v)['b'] * 3.), tag='t')({'k': {'b': 5.}}, x)"
    ok 'grun f.yaml x=2' 'r = 15.0'
    contract "d = {'a': x, 'b': 2. * x}" "r = sow_cond(d, x > 1, tag='t', name='k')"
    ok 'grun f.yaml x=1 --reap t' $'r/a = 1.0\nr/b = 2.0\nt/k/a = 0.0\nt/k/b = 0.0'
    ok 'gload f.yaml | grun x=3 --reap k/a --plant k/b=9' $'r/a = 3.0\nr/b = 9.0\nt/k/a = 3.0'
    contract "g = lambda v: sow({'a': v}, tag='t', name='k')['a'] + sow({'a': v}, tag='t', name='k')['a']" "r = reap(g, tag='t')(x)"
    bad 3 E_DUPLICATE 'k/a has already been reaped' 'gload f.yaml'
    contract "g = lambda v: sow(v, tag='t', name='k/a') + sow(v, tag='t', name='k')" "r = reap(g, tag='t')(x)"
    bad 3 E_DUPLICATE 'k is sown as a value and as a scope' 'gload f.yaml'
}

@test "modes of one name mix only where both clobber" {
    local a b
    for a in strict append clobber; do
        for b in strict append clobber; do
            contract "r = reap((lambda v: sow(v, tag='t', name='k', mode='$a') + sow(v * v, tag='t', name='k', mode='$b')), tag='t')(x)"
            case $a-$b in
            clobber-clobber) ok 'grun f.yaml x=3' 'r/k = 9.0' ;;
            append-append) ok 'grun f.yaml x=3' 'r/k = [3.0, 9.0]' ;;
            *) bad 3 E_DUPLICATE "in mode $a; this one is in mode $b" 'gload f.yaml' ;;
            esac
        done
    done
    local mixed="sow_cond(v, v > 4., tag='t', name='k') + sow(v * v, tag='t', name='k', mode='clobber') + sow_cond(-v, v > 5., tag='t', name='k')"
    contract "r = reap((lambda v: $mixed), tag='t')(x)"
    ok 'grun f.yaml x=5' 'r/k = 25.0'
    ok 'grun f.yaml x=6' 'r/k = -6.0'
    contract "r = plant((lambda v: $mixed), tag='t')({'k': 1.}, x)"
    ok 'grun f.yaml x=6' 'r = 3.0'
}

@test "lists of names: who is left out is consumed, in scopes too" {
    contract "r = reap((lambda v: reap(f, tag='intermediate', blocklist=['y'])(v)), tag='intermediate')(x)"
    ok 'grun f.yaml x=1' 'r = {}' # an outer harvest finds nothing
    contract "r = reap((lambda v: nest(f, scope='one')(v)), tag='intermediate', blocklist=['y'])(x)"
    ok 'grun f.yaml x=1' 'r = {}'
    contract "r = plant(f, tag='intermediate', blocklist=['y'])({'y': 0.}, x)"
    ok 'grun f.yaml x=1' 'r = 3.0'
    contract 'r = nest(f, scope="one")(x) + nest(f, scope="two")(x)'
    ok 'grun f.yaml x=1 --reap one' $'r = 6.0\nintermediate/one/y = 2.0'
    ok 'grun f.yaml x=1 --reap intermediate/one/y' $'r = 6.0\nintermediate/one/y = 2.0'
    ok 'grewrite f.yaml --reap intermediate --block one | grun x=1' $'r = 6.0\nintermediate/two/y = 2.0'
    ok 'grewrite f.yaml --reap intermediate --allow one,two --block two/y | grun x=1' $'r = 6.0\nintermediate/one/y = 2.0'
    ok 'grewrite f.yaml --reap intermediate --block intermediate/y | grun x=1' 'r = 6.0'
    ok 'grun f.yaml x=1 --plant one/y=0 --reap two' $'r = 4.0\nintermediate/two/y = 2.0'
    ok 'grewrite f.yaml --plant two/y --plant one/y | grun two_y=5 one_y=1' 'r = 8.0'
    bad 2 E_UNKNOWN 'did you mean one/y' 'grun f.yaml x=1 --reap y'
    bad 2 E_UNKNOWN 'one is a scope: did you mean one/y' 'grun f.yaml x=1 --plant one=1'
    bad 2 E_USAGE 'left out by --allow or --block' 'grewrite f.yaml --plant one/y=1 --block y'
    bad 2 E_UNKNOWN 'did you mean two' 'grewrite f.yaml --reap intermediate --allow tow'
    bad 2 E_UNKNOWN 'sown as three' 'grewrite f.yaml --reap intermediate --allow one --block three'
}

@test "derivatives keep the sows of the primal, once" {
    local c
    contract "h = lambda v: sow(v * f(v), tag='t', name='z')" 'r = h(x) + h(x * 0.) * 0.'
    sed -i "s/name='z'/name='z', mode='append'/" f.yaml
    sed -i "s/y = sow(x + 1., /y = sow(x * x * x, mode='append', /" f.yaml
    gload f.yaml -o f.tlg # r = x (x^3 + 1)
    for c in '--cost r --wrt x' '--jvp r --wrt x' '--jvp r --wrt x --by-pullback' '--hessian r --wrt x' '--cost r --wrt x --checkpoint sqrt'; do
        like "ggrad f.tlg $c | grun x=2 \$([ '${c#*jvp}' = '$c' ] || echo t_x=1) --reap intermediate,t" \
            '^intermediate/y = \[8\.0, 0\.0\]$' '^t/z = \[18\.0, 0\.0\]$' '= (33|48)\.0$'
    done
    contract "r = call_and_reap((lambda v: grad(f(v) * v, v)), tag='intermediate')(x)"
    ok 'grun f.yaml x=1' $'r/0 = 4.0\nr/1/y = 2.0'
    contract "step = lambda a, c: [sin(sow(c * a, tag='t', name='k', mode='append'))]" \
        "s = scan(step, sequences=[array([1., 2.]) * x], outputs_info=[1.])" "r = s[-1]"
    for c in '--cost r --wrt x' '--jvp r --wrt x' '--hessian r --wrt x'; do
        for rewrite in cat grewrite; do
            like "ggrad f.yaml $c | $rewrite | grun x=2 \$([ '${c#*jvp}' = '$c' ] || echo t_x=1) --reap t" '^t/k = \[2\.0, 3\.6371897[0-9]*\]$'
        done
    done
}

probe() {
    cat >p.yaml <<'Y'
thunkline: 1
inputs:
  x: float64[n]
shared:
  w: float64 = 2.0
let: |
  h = sow(w * x, tag='probe', name='hidden')
  k = sow(h + 1.0, tag='probe', name='act')
  z = sow(sum(k), tag='log', name='z')
  c = sum(k * k)
outputs: [c]
updates: |
  w = w + 1.0
Y
}

@test "sows survive every tool; nothing that reads them is needed" {
    probe
    ok 'gload p.yaml | grewrite | grun x=[1.,2.] --reap probe,log' \
        $'c = 34.0\nprobe/hidden = [2.0, 4.0]\nprobe/act = [3.0, 5.0]\nlog/z = 8.0'
    ok 'gload p.yaml | ggrad --cost c --wrt x | grewrite | grun x=[1.,2.] --reap hidden' \
        $'c = 34.0\nd_c_d_x = [12.0, 20.0]\nprobe/hidden = [2.0, 4.0]'
    like 'gload p.yaml | grewrite -O math' "sow\(.*name='z'\)"
}

@test "grewrite: reaped names become outputs, planted ones inputs or constants" {
    probe
    ok 'grewrite p.yaml --mode NONE --reap probe | grewrite --reap log | grun x=[1.,2.]' \
        $'c = 34.0\nprobe/hidden = [2.0, 4.0]\nprobe/act = [3.0, 5.0]\nlog/z = 8.0'
    ok 'grewrite p.yaml --plant probe/hidden --reap act | grun hidden=[0.,3.]' $'c = 17.0\nprobe/act = [1.0, 4.0]'
    ok 'grewrite p.yaml --plant hidden="zeros(2)" --harvest probe | grun' $'c = 2.0\nprobe/act = [1.0, 1.0]'
    ok 'grewrite p.yaml --harvest probe --allow act | grun x=[1.]' $'c = 9.0\nprobe/act = [3.0]'
    ok 'grewrite p.yaml --harvest probe --block act | grun x=[1.]' $'c = 9.0\nprobe/hidden = [2.0]'
    ok 'grewrite p.yaml --plant act="[2.]" -O math | grep -c "w \*"; true' 0 # what only it needed is gone
}

@test "grun: the same on the way; a saved graph keeps its sows" {
    probe
    ok 'grun p.yaml --reap probe --plant act="[5.,6.]" x=[1.,2.] --save s.yaml' $'c = 61.0\nprobe/hidden = [2.0, 4.0]'
    ok 'grun s.yaml x=[1.,2.] --reap probe' $'c = 65.0\nprobe/hidden = [3.0, 6.0]\nprobe/act = [4.0, 7.0]'
}

@test "names that are not there, values that do not fit" {
    probe
    bad 2 E_UNKNOWN 'did you mean probe' 'grewrite p.yaml --reap prob -O math'
    bad 2 E_UNKNOWN 'did you mean hidden' 'grewrite p.yaml --plant probe/hiden=1 -O math'
    bad 2 E_USAGE 'TAG/NAME' 'grewrite p.yaml --plant probe -O math'
    bad 2 E_USAGE 'allow' 'grewrite p.yaml --allow x -O math'
    bad 3 E_SHAPE 'number of dims' 'grewrite p.yaml --plant probe/act="[[1.]]" -O math'
    bad 2 E_UNKNOWN 'no sow' 'gload -e "x + 1" | grewrite --reap t -O math'
    contract "r = plant(f, tag='intermediate')(x)"
    bad 3 E_ARG 'dict of planted values' 'gload f.yaml'
    contract "r = plant(f, tag='intermediate')({'y': [1., 2.]}, x)"
    bad 3 E_TYPE 'but the sown value is float64' 'gload f.yaml'
    contract "r = reap(x, tag='t')(x)"
    bad 3 E_TYPE 'expected a function' 'gload f.yaml'
}

# Loops over [1, 2, 3] that sow c + a in a mode.
loop() { # mode
    contract "w = array([1., 2., 3.]) + 0. * x" \
        "step = lambda a, c: [sow(c + a, tag='t', name='k', mode='$1') * 1.]" \
        "run = lambda v: scan(step, sequences=[v], outputs_info=[0.])" \
        "${@:2}"
}

@test "through scan: appended values become rows, of clobbered ones the last is kept" {
    loop append "r = call_and_reap(run, tag='t')(w)"
    ok 'grun f.yaml x=0' $'r/0 = [1.0, 3.0, 6.0]\nr/1/k = [1.0, 3.0, 6.0]'
    ok 'gload f.yaml | gload -O yaml | grewrite | grun x=0' $'r/0 = [1.0, 3.0, 6.0]\nr/1/k = [1.0, 3.0, 6.0]'
    loop clobber "r = call_and_reap(run, tag='t')(w)"
    ok 'grun f.yaml x=0' $'r/0 = [1.0, 3.0, 6.0]\nr/1/k = 6.0'
    loop clobber "r = reap((lambda v: scan(step, sequences=[v], outputs_info=[0.])), tag='t')(w[:0])"
    ok 'grun f.yaml x=0' 'r/k = 0.0' # no step: zeros
    contract "step = lambda a, c: [sow_cond(c + a, c < 3, tag='t', name='k') * 1.]" \
        "r = reap((lambda v: scan(step, sequences=[v], outputs_info=[0.])), tag='t')([1., 2., 3.])"
    ok 'grun f.yaml x=0' 'r/k = 3.0'
}

@test "through scan: planted rows go in a row a step, a planted value in every step" {
    loop append "r = plant(run, tag='t')({'k': [10., 20., 30.]}, w)"
    ok 'grun f.yaml x=0' 'r = [10.0, 20.0, 30.0]'
    loop clobber "r = plant(run, tag='t')({'k': 5.}, w)"
    ok 'grun f.yaml x=0' 'r = [5.0, 5.0, 5.0]'
}

@test "through scans in scans, loops that end early and the tools" {
    contract "inner = lambda b, a: [sow(a * b, tag='t', name='k', mode='append')]" \
        "outer = lambda a: [sum(scan(inner, sequences=[array([1., 2., 3.])], non_sequences=[a]))]" \
        "r = call_and_reap((lambda v: scan(outer, sequences=[v])), tag='t')([1., 10.])"
    ok 'grun f.yaml x=0' $'r/0 = [6.0, 60.0]\nr/1/k = [[1.0, 2.0, 3.0],\n         [10.0, 20.0, 30.0]]'
    contract "step = lambda p: [sow(2. * p, tag='t', name='k', mode='append'), until(2. * p > 45.)]" \
        "r = reap((lambda v: scan(step, outputs_info=[v], n_steps=1024)), tag='t')(x)"
    ok 'grun f.yaml x=1' 'r/k = [2.0, 4.0, 8.0, 16.0, 32.0, 64.0]'
    loop append 'r = run(w)'
    ok 'gload f.yaml | grun x=0 --reap t' $'r = [1.0, 3.0, 6.0]\nt/k = [1.0, 3.0, 6.0]'
    ok 'gload f.yaml | grewrite --plant t/k | grun x=0 k=[1.,1.,1.]' 'r = [1.0, 1.0, 1.0]'
}

@test "the loop of five steps of the known system" {
    contract "step = lambda i, a, s: [i + 1., sow(s, tag='t', name='v', mode='clobber') + 1., s + a]" \
        "run = lambda v: scan(step, outputs_info=[0., 0., 0.], n_steps=5)" \
        "r = plant(run, tag='t')({'v': 5.}, x)" \
        "q = [r[0][-1], r[1][-1]]"
    sed -i 's/^outputs: .*/outputs: {q: q}/' f.yaml
    ok 'grun f.yaml x=0' $'q/0 = 5.0\nq/1 = 6.0'
}

@test "in a scan: mode strict and scopes are refused" {
    loop strict "r = reap(run, tag='t')(w)"
    bad 3 E_DUPLICATE "mode strict for k inside a scan" 'gload f.yaml'
    loop strict "r = plant(run, tag='t')({'k': 1.}, w)"
    bad 3 E_DUPLICATE "mode strict for k inside a scan" 'gload f.yaml'
    loop append 'g = lambda a: [nest((lambda v: sow(v, tag="t", name="k")), scope="s")(a)]' \
        "r = reap((lambda v: scan(g, sequences=[v])), tag='t')(w)"
    bad 3 E_DUPLICATE "scope s inside a scan" 'gload f.yaml'
}

@test "through ifelse: sows of the taken branch are reaped; both branches must agree" {
    contract "f2 = lambda v: ifelse(v > 0, sow(v * 2., tag='t', name='k') + 1., sow(v * 3., tag='t', name='k') - 1.)" \
        "r = call_and_reap(f2, tag='t')(x)"
    ok 'grun f.yaml x=1' $'r/0 = 3.0\nr/1/k = 2.0'
    ok 'grun f.yaml x=-1' $'r/0 = -4.0\nr/1/k = -3.0'
    contract "f2 = lambda v: ifelse(v > 0, sow(v * 2., tag='t', name='k') + 1., sow(v * 3., tag='t', name='k') - 1.)" \
        "r = plant(f2, tag='t')({'k': 5.}, x)"
    ok 'grun f.yaml x=1' 'r = 6.0'
    ok 'grun f.yaml x=-1' 'r = 4.0'
    contract "f2 = lambda v: ifelse(v > 0, sow(v * 2., tag='t', name='k') + 1., v)" "r = reap(f2, tag='t')(x)"
    bad 3 E_NAME 'k is missing in the else branch' 'gload f.yaml'
    contract "f2 = lambda v: ifelse(v > 0, sow(v * 2., tag='t', name='k'), v)" "r = plant(f2, tag='t')({'k': 1.}, x)"
    bad 3 E_NAME 'k is missing in the else branch' 'gload f.yaml'
    contract "f2 = lambda v: ifelse(v > 0, sum(sow(array([v, v]), tag='t', name='k')), sow(v, tag='t', name='k'))" "r = reap(f2, tag='t')(x)"
    bad 3 E_SHAPE 'must sow k with the same type' 'gload f.yaml'
    # a value that both sides use is sown whatever is taken
    contract "f2 = lambda v: ifelse(v > 0, sow(v, tag='t', name='k') * 2., sow(v, tag='t', name='k') * 3.)" \
        "f3 = lambda w: f4(sow(w + 1., tag='t', name='a'))" \
        "f4 = lambda u: ifelse(u > 0, u * 2., u * 3.)" \
        "r = reap(f3, tag='t')(x)"
    ok 'grun f.yaml x=-5' 'r/a = -4.0'
}

@test "through ifelse: the taken branch sows, read or not" {
    local name="tag='t', name='k'"
    contract "g = lambda v: v * 0 + x" "d = lambda v: g(ifelse(v > 0, sow(v, $name), sow(-v, $name) * 2.))" "r = call_and_reap((lambda v: h(d(v), v)), tag='t')(x)" 'h = lambda a, b: b'
    ok 'grun f.yaml x=3' $'r/0 = 3.0\nr/1/k = 3.0'
    ok 'grun f.yaml x=-4' $'r/0 = -4.0\nr/1/k = 4.0'
    contract "r = plant((lambda v: h(ifelse(v > 0, sow(v, $name), sow(-v, $name)), v)), tag='t')({'k': 1.}, x)" 'h = lambda a, b: b'
    ok 'grun f.yaml x=3' 'r = 3.0'
}

@test "through ifelse in ifelse and in scan" {
    contract "deep = lambda v: ifelse(v > 5, sow(v, tag='t', name='k') + 1., sow(v * 10., tag='t', name='k') + 2.)" \
        "f2 = lambda v: ifelse(v > 0, deep(v), sow(v * 3., tag='t', name='k') - 1.)" \
        "r = call_and_reap(f2, tag='t')(x)"
    ok 'grun f.yaml x=7' $'r/0 = 8.0\nr/1/k = 7.0'
    ok 'grun f.yaml x=1' $'r/0 = 12.0\nr/1/k = 10.0'
    ok 'grun f.yaml x=-1' $'r/0 = -4.0\nr/1/k = -3.0'
    contract "step = lambda a: [ifelse(a > 1.5, sow(a, tag='t', name='k', mode='clobber') * 2., sow(-a, tag='t', name='k', mode='clobber'))]" \
        "r = call_and_reap((lambda v: scan(step, sequences=[v])), tag='t')([1., 2., 3.])"
    ok 'grun f.yaml x=0' $'r/0 = [-1.0, 4.0, 6.0]\nr/1/k = 3.0'
}

@test "through an ifelse in an ifelse in an ifelse ...: as many as there are" {
    awk 'BEGIN {
        sow = ", tag=\"t\", name=\"k\")"
        print "thunkline: 1\ninputs: {x: float64, c: float64}\nlet: |\n  y0 = sow(x" sow
        for (k = 0; k < 50000; k++) print "  y" k + 1 " = ifelse(c > " k ", sow(x * " k ".5" sow ", y" k ")"
        print "outputs: [y50000]" }' >f.yaml
    grewrite --mode NONE --reap t f.yaml -o r.tlg
    ok 'grun r.tlg x=2 c=7' $'y50000 = 13.0\nt/k = 13.0'
    ok 'grun r.tlg x=2 c=-1' $'y50000 = 2.0\nt/k = 2.0'
}

@test "through ifelse: names that both branches sow stand in their place among the others" {
    local append="tag='t', name='k', mode='append'" clobber="tag='t', name='k', mode='clobber'" name="tag='t', name='k'"
    contract "a = sow(x, $append)" "b = ifelse(x > 1, sow(x * 10., $append), sow(x * 20., $append))" "r = a + b + sow(b * 100., $append)"
    ok 'grun f.yaml x=2 --reap t' $'r = 2022.0\nt/k = [2.0, 20.0, 2000.0]'
    ok 'grun f.yaml x=1 --reap t' $'r = 2021.0\nt/k = [1.0, 20.0, 2000.0]'
    ok 'grun f.yaml x=1 --plant k=[1.,2.,4.]' 'r = 7.0'
    contract "a = sow(x, $clobber)" "b = ifelse(x > 1, sow(x * 10., $clobber), sow(x * 20., $clobber))" "r = a + b + sow(b * 100., $clobber)"
    ok 'grun f.yaml x=2 --reap t' $'r = 2022.0\nt/k = 2000.0'
    contract "a = sow(x, $clobber)" "r = a + ifelse(x > 1, sow_cond(x * 10., x > 3, $name), sow_cond(x * 20., x > 0, $name))"
    ok 'for x in 2 4 1 -1; do grun f.yaml x=$x --reap k | tail -n 1; done' $'t/k = 2.0\nt/k = 40.0\nt/k = 20.0\nt/k = -1.0'
    contract "r = ifelse(x > 1, sow(x, $append) + sow(x, $append), sow(x * 20., $append))"
    bad 3 E_DUPLICATE 'equally often, not 2 and 1 time' 'grun f.yaml x=2 --reap t'
    contract "r = ifelse(x > 1, sow(x, $clobber), sow(x, $append))"
    bad 3 E_DUPLICATE 'in the same mode' 'grun f.yaml x=2 --reap t'
    contract "r = ifelse(x > 1, nest(f, scope='s')(x), nest(f, scope='s')(2 * x) * 10.)"
    ok 'grun f.yaml x=2 --reap intermediate' $'r = 4.0\nintermediate/s/y = 3.0'
    ok 'grun f.yaml x=0 --reap intermediate' $'r = 20.0\nintermediate/s/y = 1.0'
    ok 'grun f.yaml x=0 --plant s/y=5' 'r = 60.0'
    contract "deep = lambda v: ifelse(v > 5, sow(v, $append), sow(-v, $append))" \
        "r = ifelse(x > 0, deep(x) + sow(x * 2., $append), sow(x * 3., $append) + sow(x * 4., $append)) + sow(x * 100, $append)"
    ok 'for x in 7 1 -1; do grun f.yaml x=$x --reap k | tail -n 1; done' $'t/k = [7.0, 14.0, 700.0]\nt/k = [-1.0, 2.0, 100.0]\nt/k = [-3.0, -4.0, -100.0]'
    # in a loop the two branches are one row
    contract "step = lambda a: ifelse(a > 1.5, sow(a, $append), sow(-a, $append))" "r = scan(step, sequences=[array([1., 2., 3.])])"
    ok 'grun f.yaml x=0 --reap t' $'r = [-1.0, 2.0, 3.0]\nt/k = [-1.0, 2.0, 3.0]'
    ok 'grun f.yaml x=0 --plant k=[5.,6.,7.]' 'r = [5.0, 6.0, 7.0]'
    contract "step = lambda a: ifelse(a > 1.5, sow(a, $append), sow(-a, $append)) + sow(a * 2., $append)" "r = scan(step, sequences=[array([1., 2.])])"
    ok 'grun f.yaml x=0 --reap t' $'r = [1.0, 6.0]\nt/k = [[-1.0, 2.0],\n       [2.0, 4.0]]'
    ok 'grun f.yaml x=0 --plant k=[[5.,6.],[7.,8.]]' 'r = [11.0, 15.0]'
}

# reaps X=VALUE...: what --reap k gives of f.yaml for each x, in every mode.
reaps() {
    local pair mode
    for pair in "$@"; do
        for mode in FAST_RUN FAST_COMPILE DEBUG; do
            run --separate-stderr grun f.yaml --mode $mode x="${pair%%=*}" --reap k
            [ "${lines[-1]}" = "t/k = ${pair#*=}" ] || { echo "$mode x=$pair: $output$stderr" && return 1; }
        done
    done
}

@test "sow_cond after an ifelse falls back on the ifelse's value" {
    local clobber="tag='t', name='k', mode='clobber'" name="tag='t', name='k'"
    contract "r = sow_cond(ifelse(x > 1, sow(x, $clobber), sow(-x, $clobber)) * 10, x > 2, $name)"
    reaps 0=-0.0 2=2.0 3=30.0
    ok 'grun f.yaml x=2 --plant k=7' 'r = 7.0'
    # one ifelse after the other, and one in the other
    contract "a = ifelse(x > 1, sow(x, $clobber), sow(-x, $clobber))" \
        "b = ifelse(x > 2, sow_cond(a * 10, x > 3, $name), sow_cond(a * 20, x < 0, $name))" "r = b + sow_cond(b, x > 9, $name)"
    reaps -1=20.0 0.5=-0.5 1.5=1.5 2.5=2.5 4=40.0 10=100.0
    contract "a = ifelse(x > 1, ifelse(x > 2, sow(x, $clobber), sow(-x, $clobber)), sow(x * x, $clobber))" "r = sow_cond(a * 10, x > 3, $name)"
    reaps 0.5=0.25 1.5=-1.5 2.5=2.5 4=40.0
    contract "a = ifelse(x > 1, ifelse(x > 2, sow_cond(x, x < 3, $name), sow_cond(-x, x < 1.5, $name)), sow(x * x, $clobber))" "r = sow_cond(a * 10, x > 3, $name)"
    reaps 0.5=0.25 1.25=-1.25 1.75=0.0 2.5=2.5 3=0.0 4=40.0
    # something else came in between, in a branch
    contract "a = ifelse(x > 1, sow(x, $clobber), sow(-x, $clobber))" \
        "r = ifelse(x > 2, sow_cond(sow(a * 10, $clobber) * 2, x > 3, $name), sow_cond(a * 3, x > 0, $name))"
    reaps -1=1.0 0.5=-1.5 2=6.0 3=30.0 4=80.0
    # a branch sows twice, after a value outside: the fallback is what the ifelse before gave
    contract "a = sow(x * 5, $clobber)" "b = ifelse(x > 1, sow(a * 2, $clobber), sow(sow(a * 3, $clobber), $clobber))" \
        "r = ifelse(x > 1, sow(sow(b, $clobber), $clobber), sow_cond(b, x > 9, $name))"
    reaps -1=-15.0 0.5=7.5 2=20.0
    # of a called function, whose body has its own
    contract "g = lambda v: ifelse(v > 1, sow(v, $clobber), sow(-v, $clobber))" "r = sow_cond(g(x) + sow_cond(ifelse(x > 0, sow(g(x * 2), $clobber), sow(x, $clobber)), x > 5, $name), x > 7, $name)"
    reaps 0.25=-0.5 1=2.0 6=12.0 8=24.0
    # in each step of a loop
    contract "step = lambda i, h: sow_cond(ifelse(i > h, sow(i, $clobber), sow(-i, $clobber)) * 10, i == x, $name) + h" "r = scan(step, sequences=[arange(4.)], outputs_info=[0.])[-1]"
    reaps 3=30.0 1=3.0
    # derivatives of what is reaped
    contract "f2 = lambda v: sow_cond(ifelse(v > 1, sow(v * v, $clobber), sow(-v, $clobber)) * 10, v > 2, $name)" "k = reap(f2, tag='t')(x)['k']" "r = grad(k, x)"
    ok 'for x in 0 1.5 3; do grun f.yaml x=$x | tail -n 1; done' $'r = -1.0\nr = 3.0\nr = 60.0'
    # amid the branches it has no place; a key gives it one
    contract "a = sow(x, $clobber)" "c = sow_cond(x * 2, x > 2, $name)" "r = ifelse(x > 1, a, sow(-x, $clobber)) + c"
    bad 3 E_DUPLICATE 'amid the branches' 'grun f.yaml x=2 --reap t'
    contract "both = [ifelse(x > 1, sow(x, $clobber), sow(-x, $clobber))]" "r = sow_cond(x * 2, x > 2, key=both[0], $name) + both[0]"
    reaps 0=-0.0 2=2.0 3=6.0
}

@test "more loops: map, reduce, scopes around a scan, until, no step" {
    contract "r = map((lambda v: sow(v * x, tag='t', name='k', mode='append')), array([1., 2., 3.]))"
    ok 'grun f.yaml x=2 --reap t' $'r = [2.0, 4.0, 6.0]\nt/k = [2.0, 4.0, 6.0]'
    contract "r = reduce((lambda v, a: sow(v + a, tag='t', name='k', mode='clobber')), array([1., 2., 3.]), x)"
    ok 'grun f.yaml x=2 --reap t' $'r = 8.0\nt/k = 8.0'
    contract "g = lambda v: scan((lambda q: sow(q * x, tag='t', name='k', mode='append')), sequences=[v])" "r = nest(g, scope='s')(array([1., 2.]))"
    ok 'grun f.yaml x=2 --reap t' $'r = [2.0, 4.0]\nt/s/k = [2.0, 4.0]'
    ok 'grewrite f.yaml --plant s/k | grun k=[7.,8.]' 'r = [7.0, 8.0]'
    contract "step = lambda p: [2. * p, until(sow_cond(2. * p, p < 10., tag='t', name='c') > 45.)]" "r = scan(step, outputs_info=[x], n_steps=99)[-1]"
    ok 'grun f.yaml x=1 --reap t' $'r = 64.0\nt/c = 16.0'
    for i in 0 1 2 3 4 5; do # the known system's example: the value of step i, never of step 5
        contract "step = lambda i, v: [i + 1., sow_cond(v, i == $i., tag='t', name='v') + i + 1.]" \
            "r = reap((lambda v: scan(step, outputs_info=[0., 1.], n_steps=5)), tag='t')(x)"
        ok 'grun f.yaml x=0' "r/v = $(awk -v i=$i 'BEGIN { print i == 5 ? "0.0" : 1 + i * (i + 1) / 2 ".0" }')"
    done
    contract "step = lambda a: sow(a * x, tag='t', name='k', mode='append')" "r = scan(step, sequences=[arange(0.)])"
    ok 'grun f.yaml x=1 --reap t' $'r = []\nt/k = []'
    contract "step = lambda a: sow([a * x, a], tag='t', name='k', mode='clobber')" "r = shape(scan(step, sequences=[arange(x)]))"
    ok 'grun f.yaml x=0 --reap t' $'r = [0, 2]\nt/k = [0.0, 0.0]'
    contract "step = lambda v: sow(v * v, tag='t', name='k', mode='strict')" "r = scan(step, sequences=[arange(3.)])"
    bad 3 E_DUPLICATE 'f.yaml:12:' 'grun f.yaml x=0 --reap t' # at the line of the graph
}

@test "sows are kept where nothing reads the function or loop that they are in" {
    contract 'a = f(x)' "s = scan((lambda v: [sow(v * x, tag='t', name='k', mode='append'), v]), sequences=[array([1., 2.])])" 'r = x * 2.'
    for keep in '' '--keep r'; do
        ok "grewrite f.yaml $keep | grun x=3 --reap intermediate,t" $'r = 6.0\nintermediate/y = 4.0\nt/k = [3.0, 6.0]'
    done
}

@test "functions that double all the way down are an error, not the machine" {
    {
        printf "thunkline: 1\nfunctions:\n  f0:\n    inputs: {x: float64}\n    let: |\n      y = sow(x, tag='t', name='y', mode='append')\n    outputs: {out: y}\n"
        for i in {1..40}; do
            printf '  f%d:\n    inputs: {x: float64}\n    let: |\n      a = f%d(x)\n      b = f%d(a)\n    outputs: {out: b}\n' "$i" $((i - 1)) $((i - 1))
        done
        printf 'inputs: {x: float64}\nlet: |\n  r = f40(x)\noutputs: [r]\n'
    } >bomb.yaml
    bad 6 E_LIMIT 'calls would be expanded' 'ulimit -t 60; grun bomb.yaml x=1 --reap t'
}

@test "more rows of one name than an Apply has inputs" {
    {
        printf 'thunkline: 1\ninputs: {x: float64}\nlet: |\n  a0 = x\n'
        awk 'BEGIN { for (i = 0; i < 70000; i++) printf "  a%d = sow(a%d + 1, tag=\"t\", name=\"k\", mode=\"append\")\n", i + 1, i }'
        printf 'outputs: {r: a70000}\n'
    } >many.yaml
    ok "grewrite many.yaml --mode NONE --reap t | grun x=0 --expect 't/k=arange(1., 70001.)' -O tsv >/dev/null"
    ok "grun many.yaml x=0 --plant k='arange(70000.)'" 'r = 69999.0'
}

@test "values can't be planted after a derivative was made from them" {
    local why='can.t be planted any more: f_pullback is a derivative of f, which sows it'
    contract 'r = f(x) * x'
    bad 3 E_ARG "y $why" 'ggrad f.yaml | grun x=3 --plant y=5'
    grep -q 'plant first, then differentiate' .err
    bad 3 E_ARG 'is a derivative of f' 'ggrad f.yaml --jvp r --wrt x --tangents x | grun x=3 --plant y=5'
    ok 'grewrite f.yaml --plant y=5 | ggrad | grun x=3' $'r = 18.0\nd_r_d_x = 6.0'
    ok 'ggrad f.yaml | grewrite --keep r | grun x=3 --plant y=5' 'r = 18.0'
    ok 'ggrad f.yaml | grun x=3 --reap intermediate' $'r = 15.0\nd_r_d_x = 8.0\nintermediate/y = 4.0'
    contract "r = sum(scan((lambda h: sow(h * x, tag='t', name='k', mode='append') * x), outputs_info=[1.], n_steps=2))"
    bad 3 E_ARG 'k can.t be planted any more: lambda_1_backward is a derivative' 'ggrad f.yaml | grun x=3 --plant k=[5,6]'
    contract "g = lambda v: nest(f, scope='s')(v)" 'r = g(x) * x'
    bad 3 E_ARG 's/y can.t be planted any more' 'ggrad f.yaml | grun x=3 --plant s/y=5'
}

@test "sows in the branches of an ifelse that nothing reads stay in their branches" {
    cat >f.yaml <<'END'
thunkline: 1
inputs: {c: bool, k: int64, x: float64}
functions:
  f:
    inputs: {c: bool, u: float64}
    let: |
      w = ifelse(c, sow(u*2, tag='t', name='fa'), sow(u*3, tag='t', name='fa'))
      r = u + 1
    outputs: [r]
let: |
  y = k * 0 * ifelse(c, sow(k*2, tag='t', name='a'), ifelse(x > 1, sow(k*3, tag='t', name='a'), sow(k*5, tag='t', name='a')))
  q = f(c, x)
  s = scan(lambda h: h + 0*ifelse(h > 2, sow(h, tag='t', name='sc', mode='append'), sow(-h, tag='t', name='sc', mode='append')), outputs_info=[x], n_steps=3)
outputs: [y, q, s]
END
    local c x want with
    while IFS='|' read -r c x want; do
        with="c=$c x=$x k=7"
        for line in "grun f.yaml $with --reap t" "grun f.yaml --mode FAST_COMPILE $with --reap t" \
            "grewrite f.yaml | grun $with --reap t" "grewrite f.yaml | gload - | grewrite --mode NONE | grun $with --reap t" \
            "grewrite f.yaml -O yaml | grun - $with --reap t" "grewrite f.yaml --reap t | grun $with" \
            "gload f.yaml --outputs q | grewrite --exclude fusion | gload - -O json | grun - $with --reap t"; do
            shell "$line"
            [ "$status" = 0 ] && [ "$(grep -E '^t/f?a ' .out | tr '\n' ';')" = "$want" ] || complain "should have $want" "$line"
        done
    done <<'END'
True|0.5|t/a = 14;t/fa = 1.0;
True|2.5|t/a = 14;t/fa = 5.0;
False|0.5|t/a = 35;t/fa = 1.5;
False|2.5|t/a = 21;t/fa = 7.5;
END
    # a branch that is known takes its sows, the other one's go
    ok 'gload --new -i "x: float64" -e "y = x + 1" -e "w = ifelse(True, sow(x, tag=\"t\", name=\"a\"), sow(-x, tag=\"t\", name=\"a\"))" --outputs y | grewrite | grun x=3 --reap t' $'y = 4.0\nt/a = 3.0'
    # a result that nothing reads, beside one that is read
    cat >g.yaml <<'END'
thunkline: 1
inputs: {c: bool, x: float64}
let: |
  p, q = ifelse(c, [x*2, sow(x*3, tag='t', name='a')], [x*5, sow(x*7, tag='t', name='a')])
outputs: [p]
END
    ok 'grewrite g.yaml | grun c=True x=1 --reap t' $'p = 2.0\nt/a = 3.0'
    ok 'grewrite g.yaml | grun c=False x=1 --reap t' $'p = 5.0\nt/a = 7.0'
}

@test "a name bound to a tree is an output on the command line as in a file" {
    contract "o, r = call_and_reap(f, tag='intermediate')(x)" 's = [x, {"a": x * 2., "b": x * 3.}]' 'k = o * 10.'
    sed -i 's/^outputs:.*/outputs: [k]/' f.yaml
    ok 'gload f.yaml --outputs o,r | grun x=1' $'o = 3.0\nr/y = 2.0'
    ok 'gload f.yaml --outputs r/y,s/1 | grun x=1' $'r/y = 2.0\ns/1/a = 2.0\ns/1/b = 3.0'
    ok 'gload f.yaml | gload -O yaml --no-provenance | grep -c =' '6'
    ok 'grewrite f.yaml --keep s,k | grun x=1' $'s/0 = 1.0\ns/1/a = 2.0\ns/1/b = 3.0\nk = 30.0'
    ok 'gload f.yaml --outputs s | gload --outputs s/1 | grewrite --keep s/1/b | grun x=1 --expect s/1/b=3 -r s/1/b=b.npy' ''
    ok 'gload f.yaml --rename r/y=ry --outputs ry | grun x=1' 'ry = 2.0'
    ok 'gload f.yaml --prefix p_ --outputs p_r | grun p_x=1' 'p_r/y = 2.0'
    ok 'ggrad f.yaml --cost r/y --wrt x --only | grun x=1' 'd_r_y_d_x = 1.0'
    ok 'ggrad f.yaml --cost k --wrt r --only | grun x=1' 'd_k_d_r_y = 10.0'
    ok 'ggrad f.yaml --vjp s --wrt x --only | grun x=1 g_x=1 g_s_1_a=1 g_s_1_b=1' 'd_x_d_x = 6.0'
    bad 2 E_UNKNOWN 's is a tree: name one of its values, such as s/0' 'ggrad f.yaml --cost s'
    bad 2 E_UNKNOWN 'no variable or output called s/2' 'gload f.yaml --outputs s/2'
    bad 3 E_DUPLICATE 'output s/0 is listed twice' 'gload f.yaml --outputs s,s/0'
}

@test "a tree that an option defines is an output; so are the dims of a shape" {
    local line="gload --new -i 'x: float64[3]' -e \"o, r = call_and_reap(lambda v: sow(v * v, tag='t', name='y') + 1, tag='t')(x)\""
    ok "$line -e 's = x.shape' --outputs o,r,s | grun x=[1,2,3]" $'o = [2.0, 5.0, 10.0]\nr/y = [1.0, 4.0, 9.0]\ns/0 = 3'
    ok "$line --outputs r/y | grun x=[1,2,3] --expect r/y=[1,4,9]" 'r/y = [1.0, 4.0, 9.0]'
    ok "$line | grewrite --keep r | grun x=[1,2,3] -O json | head -c 14" '{"name": "r/y"'
}

@test "a sow under vectorize reaps once, with the rows, in every mode" {
    local mode new="gload --new -i 'x: float64' -i 'xs: float64[n]'" nested
    for mode in strict clobber; do
        local y="sow(v * v, tag='t', name='y', mode='$mode')"
        ok "$new -e \"y = ${y//v/x}\" -e 'c = vectorize(y + 1, x, xs)' --outputs c | grun xs=[1,2,3] --reap t" \
            $'c = [2.0, 5.0, 10.0]\nt/y = [1.0, 4.0, 9.0]'
        ok "$new -e \"c = vectorize(lambda v: $y + 1)(xs)\" | grun xs=[1,2,3] --reap t" $'c = [2.0, 5.0, 10.0]\nt/y = [1.0, 4.0, 9.0]'
        ok "$new -e \"c = vectorize(lambda v: $y + 1)(xs)\" | grun xs=[1,2,3] --plant t/y=[5,6,7]" 'c = [6.0, 7.0, 8.0]'
        ok "$new -e \"c = reap(lambda r: vectorize(lambda v: $y + 1)(r), tag='t')(xs)\" | grun xs=[1,2,3]" 'c/y = [1.0, 4.0, 9.0]'
        ok "$new -e \"c = vectorize(lambda v: reap(lambda v: $y + 1, tag='t')(v))(xs)\" | grun xs=[1,2,3]" 'c/y = [1.0, 4.0, 9.0]'
        nested="vectorize(lambda r: vectorize(lambda v: $y + 1)(r))(q)"
        ok "gload --new -i 'q: float64[n, m]' -e \"c = $nested\" | grun 'q=[[1,2],[3,4]]' --reap t -r c=c.npy" \
            $'t/y = [[1.0, 4.0],\n       [9.0, 16.0]]'
        ok "$new -e \"c = jacobian(vectorize(lambda v: $y)(xs), xs)[0]\" | grun xs=[1,2] --reap t" $'c = [2.0, 0.0]\nt/y = [1.0, 4.0]'
        ok "$new -e \"c = hessian(sum(vectorize(lambda v: $y)(xs)), xs)[0]\" | grun xs=[1,2] --reap t" $'c = [2.0, 0.0]\nt/y = [1.0, 4.0]'
    done
    ok "$new -e \"c = vectorize(lambda v: sow(v * v, tag='t', name='y', mode='append'))(xs)\" -o a.tlg" ''
    ok 'grun a.tlg xs=[1,2] --reap t' $'c = [1.0, 4.0]\nt/y = [[1.0, 4.0]]'
    ok 'grun a.tlg xs=[1,2] --plant t/y=[[5,6]]' 'c = [5.0, 6.0]'
    ok "$new -e \"c = vectorize(lambda v: sow_cond(v * v, v > 1, tag='t', name='y') + sow_cond(v, v > 2, tag='t', name='y'))(xs)\" |
        grun xs=[1,2,3] --reap t" $'c = [2.0, 6.0, 12.0]\nt/y = [0.0, 4.0, 3.0]'
    ok "gload --new -i 'xs: float64[n, 2]' -e \"c = vectorize(lambda v: sow_cond(v, v[0] > 1, tag='t', name='y'))(xs)[0]\" |
        grun 'xs=[[1,2],[3,4]]' --reap t" $'c = [1.0, 2.0]\nt/y = [[0.0, 0.0],\n       [3.0, 4.0]]'
    bad 3 E_SHAPE 'pred must be a scalar, or have an element for each row' "$new -e \"sow_cond(x, xs > 1, tag='t', name='y')\""
}

@test "vectorize and loops: sown values have a row for each row" {
    local mode line
    for mode in append clobber; do
        line="gload --new -i 'xs: float64[n, 3]' -e \"c = vectorize(lambda v: scan(lambda a, h: sow(h * a, tag='t', name='y', mode='$mode') + 1, sequences=[v], outputs_info=[1.])[-1])(xs)\" | gload -O yaml | grun 'xs=[[1,2,3],[3,4,5]]'"
        case $mode in
        append)
            ok "$line --reap t" $'c = [16.0, 86.0]\nt/y = [[1.0, 3.0],\n       [4.0, 16.0],\n       [15.0, 85.0]]'
            ok "$line --plant 't/y=[[1,3],[4,16],[15,7]]'" 'c = [16.0, 8.0]'
            ;;
        clobber)
            ok "$line --reap t" $'c = [16.0, 86.0]\nt/y = [15.0, 85.0]'
            ok "$line --plant 't/y=[5,6]'" 'c = [6.0, 7.0]'
            ;;
        esac
    done
    # row by row, since the rows differ in shape on the way
    line="gload --new -i 'xs: int64[n]' -e \"c = vectorize(lambda v: sum(arange(sow(v * 2, tag='t', name='y'))))(xs)\" | grun xs=[1,2,3]"
    ok "$line --reap t" $'c = [1, 6, 15]\nt/y = [2, 4, 6]'
    ok "$line --plant t/y=[5,5,7]" 'c = [10, 10, 21]'
    bad 3 E_DUPLICATE "can't use mode strict for y inside a scan" \
        "gload --new -i 'q: int64[m, n]' -e \"c = map(lambda xs: vectorize(lambda v: sum(arange(sow(v * 2, tag='t', name='y'))))(xs), q)\" | grun 'q=[[1,2,3]]' --reap t"
}

@test "an effect that vectorize made for all rows isn't one of a single row, unless something reads that" {
    local new="gload --new -i 'x: float64' -i 'xs: float64[n]'"
    ok "$new -e \"y = print(x * x, 'm')\" -e 'c = vectorize(y, x, xs)' --outputs c | grun xs=[1,2]" $'c = [1.0, 4.0]' || [ "$(cat .err)" = 'm = [1.0, 4.0]' ]
    ok "$new -e 'y = assert_op(x, x > 0)' -e 'z = y + 1' -e 'c = vectorize(z, x, xs)' --outputs c | gload --outputs c,z | grun x=-1 xs=[1,2]" \
        $'c = [2.0, 3.0]\nz = 0.0'
    bad 5 E_ASSERT 'does not hold' "$new -e 'y = assert_op(x, x > 0)' -e 'c = vectorize(y, x, xs)' | grun x=-1 xs=[1,2]"
    cat >f.yaml <<'Y'
thunkline: 1
functions:
  f:
    inputs: {x: float64}
    let: |
      y = sow(x * x, tag='t', name='y')
    outputs: {out: y + 1.}
  g:
    inputs: {x: float64, 'xs': 'float64[n]'}
    let: |
      y = f(x)
      c = vectorize(y, x, xs)
    outputs: [c]
inputs: {x: float64, 'xs': 'float64[n]'}
let: |
  y = f(x)
  c = vectorize(y, x, xs)
  d = vectorize(f)(xs)
  e = g(x, xs)
outputs: [c, y]
Y
    bad 3 E_DUPLICATE 'y has already been reaped' 'grun f.yaml x=1 xs=[1,2] --reap t'
    for out in c d e; do
        sed -i "s/^outputs:.*/outputs: [$out]/; /^  [cde] = /d; /^  y = f/d; /^let/a \ \ $out = $(
            case $out in c) echo 'vectorize(f(x), x, xs)' ;; d) echo 'vectorize(f)(xs)' ;; e) echo 'g(x, xs)' ;; esac
        )" f.yaml
        ok 'gload f.yaml | grun x=3 xs=[1,2] --reap t' "$out = [2.0, 5.0]"$'\nt/y = [1.0, 4.0]'
    done
}

@test "vectorize takes a function, as vmap does" {
    local new="gload --new -i 'A: float64[n, 3]' -i 'b: float64[3]' -i 'C: float64[3, n]'"
    ok "$new -e 'vectorize(lambda r: sum(r) * r)(A)' | grun 'A=[[1,2,3],[0,1,0]]'" $'out = [[6.0, 12.0, 18.0],\n       [0.0, 1.0, 0.0]]'
    ok "$new -e 'vectorize(lambda r, s: dot(r, s), in_axes=[0, None])(A, b)' | grun 'A=[[1,2,3],[0,1,0]]' b=[1,1,2]" 'out = [9.0, 1.0]'
    ok "$new -e 'vectorize(lambda r, s: dot(r, s), in_axes=[0, 1])(A, C)' | grun 'A=[[1,2,3],[0,1,0]]' 'C=[[1,2],[1,2],[2,2]]'" 'out = [9.0, 2.0]'
    ok "$new -e 'vectorize(lambda r: sum(r), in_axes=-1)(C)' | grun 'C=[[1,2],[1,2],[2,2]]'" 'out = [4.0, 6.0]'
    ok "$new -e 'o = vectorize(lambda r: {\"a\": sum(r), \"b\": [r[0], 7.]})(A)' | grun 'A=[[1,2,3],[0,1,0]]'" $'o/a = [6.0, 1.0]\no/b/0 = [1.0, 0.0]\no/b/1 = [7.0, 7.0]'
    ok "gload --new -i 'xs: float64[0]' -e 'vectorize(lambda v: v * 2)(xs)' | grun xs=[]" 'out = []'
    ok "gload --new -i 'xs: float64[n]' -e 'g = vectorize(lambda v: grad(v ** 3, v))(xs)' | grun xs=[1,2]" 'g = [3.0, 12.0]'
    ok "gload --new -i 'x: float64[n]' -e 'y = sum(vectorize(lambda v: v ** 3)(x))' --outputs y | ggrad | grun x=[1,2]" $'y = 9.0\nd_y_d_x = [3.0, 12.0]'
    bad 3 E_SHAPE 'argument 1 is float64: it has no axis 0' "gload --new -i 'x: float64' -e 'vectorize(lambda v: v)(x)'"
    bad 3 E_ARITY 'in_axes has 1 entry for 2 arguments' "$new -e 'vectorize(lambda r, s: r, in_axes=[0])(A, b)'"
    bad 3 E_ARG 'no argument has rows' "$new -e 'vectorize(lambda r: r, in_axes=None)(A)'"
    bad 3 E_ARITY 'apply vectorize of a function to the rows' "$new -e 'vectorize(lambda r: r, A, A)'"
    bad 3 E_ARITY 'vectorize takes a function, vectorize.f..rows., or an expression' "$new -e 'vectorize(A, b)'"
}

@test "grewrite that reaps, plants, keeps or replaces does no more, unless asked" {
    gload --new -i 'x: float64[n]' -e "y = sow(exp(log(x * 1.)) + 0., tag='t', name='y')" -e 'z = sin(y) + cos(y)' -e 'w = z * 1.' --outputs w -o g.tlg
    local how
    for how in '--reap t' '--harvest t' '--plant t/y' '--keep w' '--replace "z = sin(y)"'; do
        ok "grewrite g.tlg $how | gload -O yaml --no-provenance | grep -c 'fused\|^modes'; true" 0
        ok "grewrite g.tlg $how | gload -O math | grep -c ' \* 1'" "$([ "$how" = '--plant t/y' ] && echo 1 || echo 2)"
        ok "grewrite g.tlg $how --mode FAST_RUN | gload -O yaml --no-provenance | grep -c '^modes'" 1
        ok "grewrite g.tlg $how --include fast | gload -O yaml --no-provenance | grep -c '^modes'" 1
        ok "grewrite g.tlg $how --verify 2 | gload -O yaml --no-provenance | grep -c '^modes'" 1
    done
    ok 'grewrite g.tlg --plant y --keep z | gload -O yaml --no-provenance' \
        $'thunkline: 1\ninputs:\n  x: float64[n]\n  "y": float64[n]\nlet: |\n  _1 = sin(y)\n  _2 = cos(y)\n  z = _1 + _2\noutputs: [z]'
    ok 'grewrite g.tlg | gload -O yaml --no-provenance | grep -c "^modes"' 1
}

@test "names of --reap, --plant, --allow and --block must be sown, under one tag" {
    gload -i 'x: float64' -e 'h = sow(x * 2, tag="t", name="h")' -e 'k = sow(h + 1, tag="u", name="k")' -e 'y = k * 3' -o s.tlg
    gload -i 'x: float64' -e 'a = sow(x, tag="t", name="h")' -e 'b = sow(a + 1, tag="u", name="h")' -o two.tlg
    local o
    for o in '--reap q' '--reap t/q' '--plant u/q' '--reap t --allow q' '--reap t --allow u/q' '--reap t --block q'; do
        bad 2 E_UNKNOWN 'nothing is sown as q' "grewrite s.tlg $o"
    done
    bad 2 E_USAGE '--plant takes TAG/NAME or TAG/NAME=VALUE' 'grewrite s.tlg --plant t'
    bad 2 E_USAGE 'h is left out by --allow or --block' 'grewrite s.tlg --plant t/h --block h'
    bad 2 E_USAGE 't/h is planted twice' 'grewrite s.tlg --plant t/h=1 --plant t/h'
    for o in allow block; do
        bad 2 E_USAGE 't is a tag: --allow and --block take names and scopes, alone or as t/NAME' "grewrite s.tlg --reap t --$o t"
    done
    bad 2 E_USAGE '--allow and --block need' 'grewrite s.tlg --allow h'
    bad 2 E_USAGE '--allow and --block need' 'grewrite s.tlg --block h'
    bad 3 E_SHAPE 'h: expected float64' 'grewrite s.tlg --plant "t/h=[1,2]"'
    for o in --reap --plant; do
        bad 2 E_UNKNOWN 'h is sown under t and under u: write t/h' "grewrite two.tlg $o h"
    done
    # a name alone, spaces, an input of the name, or of one that is taken
    ok 'grewrite s.tlg --reap h | grun x=2' $'h = 4.0\nk = 5.0\ny = 15.0\nt/h = 4.0'
    ok 'grewrite s.tlg --reap " t , u " | grun x=2' $'h = 4.0\nk = 5.0\ny = 15.0\nt/h = 4.0\nu/k = 5.0'
    ok 'grewrite s.tlg --reap t --block " h " | grun x=2' $'h = 4.0\nk = 5.0\ny = 15.0'
    ok 'grewrite s.tlg --plant t/h --plant u/k=1 | grun h=7 x=0 --on-unused-input ignore' $'h = 7.0\nk = 1.0\ny = 3.0'
    ok 'grewrite two.tlg --plant t/h --plant u/h | grun h=7 u_h=8 x=0 --on-unused-input ignore' $'a = 7.0\nb = 8.0'
    ok 'gload -i "x: float64" -i "h: float64" -e "y = sow(x * h, tag=\"t\", name=\"h\")" | grewrite --plant t/h | grun t_h=9 x=0 h=0 --on-unused-input ignore' \
        'y = 9.0'
}

@test "scopes of sown values: named in full, allowed as a whole, planted by their names" {
    contract 'a = nest(f, scope="a")(x)' 'r = nest(f, scope="b")(a)'
    ok 'grewrite f.yaml --reap intermediate | grun x=1' $'r = 5.0\nintermediate/a/y = 2.0\nintermediate/b/y = 4.0'
    local o
    for o in '--allow a' '--allow intermediate/a' '--block b' '--block intermediate/b'; do
        ok "grewrite f.yaml --reap intermediate $o | grun x=1" $'r = 5.0\nintermediate/a/y = 2.0'
    done
    ok 'grewrite f.yaml --reap intermediate/a/y --plant intermediate/b/y=1 | grun x=1' $'r = 2.0\nintermediate/a/y = 2.0'
    ok 'grewrite f.yaml --plant a/y=1 --block b | grun x=1 --on-unused-input ignore' 'r = 4.0'
    ok 'grewrite f.yaml --plant intermediate/a/y --plant intermediate/b/y | grun b_y=3 a_y=0 x=1 --on-unused-input ignore' 'r = 4.0'
    for o in a intermediate/a; do
        bad 2 E_UNKNOWN 'a is a scope: did you mean a/y\?' "grewrite f.yaml --plant $o"
    done
    bad 2 E_UNKNOWN 'nothing is sown as y: did you mean a/y\?' 'grewrite f.yaml --plant intermediate/y'
}

@test "a result that is an empty dict is shown" {
    gload --new -i 'x: float64' -e "b, c = harvest(lambda x: sow(x + 1, tag='t', name='y') * 2, tag='t')({'y': 0.}, x)" -o g.tlg
    ok 'grun g.tlg x=1' $'b = 0.0\nc = {}'
    ok 'grun g.tlg x=1 -O tsv' $'b\tc\n0.0\t{}'
    ok 'grun g.tlg x=1 -O json' $'{"name": "b", "dtype": "float64", "shape": [], "data": 0.0}\n{"name": "c", "type": "empty", "value": {}}'
    ok 'gload g.tlg -O yaml | tee c.yaml | gload -O json | gload --outputs c -O yaml --no-provenance | grep -A1 outputs' $'outputs:\n  c: "{}"'
    ok 'grewrite c.yaml | grun x=1 --mode DEBUG --expect "c={}"' $'b = 0.0\nc = {}'
    ok 'gload --new -e "c = {}" -e "b = 1.5" --outputs c,b | grun' $'c = {}\nb = 1.5'
    bad 2 E_USAGE 'c is .., which a .npy file' 'grun g.tlg x=1 -r c=c.npy'
    like 'gload --list-types' '^empty +[{][}]'
}

# What is said, and the expression. l is a list, x a number, v a vector.
@test "wrong arguments of sow, reap, plant and nest are reported, each at its place" {
    local code says e
    export e f='lambda a: sow(a * 2, tag="t", name="y")' append='lambda a: sow(sow(a, tag="t", name="y", mode="append") * 2, tag="t", name="y", mode="append")'
    export each='lambda b: scan((lambda a: sow(a * 2, tag="t", name="y", mode="append")), sequences=[b])'
    while IFS='|' read -r code says e; do
        e=${e//APPEND/$append} e=${e//EACH/$each} e=${e//F/$f}
        bad 3 "$code" "^gload: --expr:1:[0-9]+: error.*$says" \
            'gload --new -i "x: float64" -i "v: float64[3]" -i "m: float64[n, k]" -i "l: list(float64)" -e "$e"'
    done <<'END'
E_ARG|tag must be a word in quotes, such as 'probe'|reap(F, tag=3)(x)
E_ARG|tag must be a word in quotes|reap(F, tag='')(x)
E_ARG|tag must be a word in quotes|reap(F, tag='a/b')(x)
E_ARG|scope must be a word in quotes, such as 'layer1'|nest(F, scope='a/b')(x)
E_ARG|scope must be a word in quotes|nest(F, scope=1)(x)
E_ARG|allowlist must be a list of names|reap(F, tag='t', allowlist='y')(x)
E_ARG|allowlist must be a list of names|reap(F, tag='t', allowlist=[3])(x)
E_ARG|blocklist must be a list of names|reap(F, tag='t', blocklist={})(x)
E_ARG|exclusive must be True or False|reap(F, tag='t', exclusive=1)(x)
E_ARG|allowlist must be a list of names|reap(F, tag='t', allowlist=['y', x])(x)
E_ARG|sow takes a string for tag|sow({'a': x}, tag=x, name='y')
E_TYPE|a string where a tensor is expected|sow({'a': x}, tag='t', name='y', key='k')
E_TYPE|a string where a tensor is expected|nest(F, scope='s')('text')
E_DUPLICATE|y has already been reaped|reap(lambda a: sow_cond(sow(a, tag='t', name='y'), a > 0, tag='t', name='y'), tag='t')(x)
E_DUPLICATE|the scope s/y has already been reaped|reap(nest(lambda a: nest(lambda b: sow(b, tag='t', name='z'), scope='y')(sow(a, tag='t', name='y')), scope='s'), tag='t')(x)
E_TYPE|the planted value of y is list.float64., but the sown value is float64$|plant(F, tag='t')({'y': l}, x)
E_TYPE|the planted value of y is float64.k., but the sown value is float64$|plant(EACH, tag='t')({'y': m}, v)
E_TYPE|expected a function|reap(3, tag='t')(x)
E_ARG|first argument must be a dict of planted values|plant(F, tag='t')(x)
E_ARG|first argument must be a dict of planted values|plant(F, tag='t')()
E_ARG|first argument must be a dict of planted values|plant(F, tag='t')(a={'y': 1.})
E_TYPE|y is sown as a value, but a dict is planted|plant(F, tag='t')({'y': {'z': 1.}}, x)
E_TYPE|s is sown as a scope: a dict of values|plant(nest(F, scope='s'), tag='t')({'s': 1.}, x)
E_ARG|sow takes a string for tag|sow({'a': x}, tag=3, name='y')
E_ARG|sow takes a string for name|sow({'a': x}, tag='t', name=5)
E_ARG|sow takes a string for mode|sow({'a': x}, tag='t', name='y', mode=2)
E_ARG|no mode 'boo' of sow|sow({'a': x}, tag='t', name='y', mode='boo')
E_ARG|sow_cond takes a string for mode|sow_cond({'a': x}, x > 0, tag='t', name='y', mode=1)
E_TYPE|sow_cond takes tensors, not list|reap(lambda a: sow_cond(a, x > 0, tag='t', name='y'), tag='t')(l)
E_TYPE|y is sown as list.float64. here: appended rows|reap(lambda a: sow(a, tag='t', name='y', mode='append'), tag='t')(l)
E_TYPE|list.float64. can't be planted row by row|plant(lambda a: sow(a, tag='t', name='y', mode='append'), tag='t')({'y': l}, l)
E_DTYPE|y is sown as float32.3. here|reap(lambda a: sow(cast(sow(a, tag='t', name='y', mode='append'), 'float32'), tag='t', name='y', mode='append'), tag='t')(v)
E_SHAPE|y is sown as float64 here|reap(lambda a: sow(sum(sow(a, tag='t', name='y', mode='append')), tag='t', name='y', mode='append'), tag='t')(v)
E_SHAPE|a row for each sow: expected float64.*, not float64$|plant(APPEND, tag='t')({'y': 1.}, x)
E_SHAPE|y is sown more often than the number of rows planted for it, 1|plant(APPEND, tag='t')({'y': [1.]}, x)
E_SHAPE|y is sown 2 times, but 3 rows are planted|plant(APPEND, tag='t')({'y': [1., 2., 3.]}, x)
E_TYPE|must have a row for each step, not float64$|plant(EACH, tag='t')({'y': 1.}, v)
E_TYPE|must have a row for each step, not list.float64.$|plant(EACH, tag='t')({'y': l}, v)
E_SHAPE|y is float64...: its shape must be known before the loop|reap(lambda b: scan((lambda a: sow_cond(a[a > 0], sum(a) > 0, tag='t', name='y')), sequences=[b]), tag='t')(m)
END
    e="reap($f, tag='t', allowlist=('y',), blocklist=None, exclusive=True)(x)"
    ok 'gload --new -i "x: float64" -e "$e" | grun x=3' 'out/y = 6.0'
}

@test "names that begin like others, no names at all, keys, and planted values whose shapes only a run tells" {
    local want f='lambda a: sow(a * 2, tag="t", name="y")'
    export expr
    while IFS='|' read -r expr want; do
        expr=${expr//F/$f}
        ok 'gload --new -i "x: float64" -i "v: float64[3]" -i "m: float64[n, k]" -i "u: float64[?]" -i "q: float64[?, ?]" -e "out = $expr" |
            grun x=3 v=[1,2,3] m=[[1,2],[3,4]] u=[5,6,7] q=[[1,2],[3,4],[5,6]] --on-unused-input ignore | tr -s "\n " "  "' "$want "
    done <<'END'
reap(F, tag='t', allowlist=[])(x)|out = {}
reap(lambda a: sow(sow(a, tag='t', name='yes') * 2, tag='t', name='y'), tag='t', allowlist=['y'])(x)|out/y = 6.0
reap(lambda a: sow(sow(a, tag='t', name='yes') * 2, tag='t', name='y'), tag='t', blocklist=['y'])(x)|out/yes = 3.0
harvest(lambda a: sow(sow(a, tag='t', name='yes') * 2, tag='t', name='y'), tag='t')({'y': 7.}, x)|out/0 = 7.0 out/1/yes = 3.0
harvest(lambda a: sow(sow(a, tag='t', name='y') * 2, tag='t', name='yes'), tag='t')({'yes': 7.}, x)|out/0 = 7.0 out/1/y = 3.0
sow({'a': x}, tag='t', name='y', key=None)|out/a = 3.0
sow({'a': x}, tag='t', name='y', key=v)|out/a = 3.0
plant(lambda a: sow(a, tag='t', name='a', mode='append') + sow(a * 2, tag='t', name='b', mode='append'), tag='t')({'a': [1.], 'b': [2.]}, x)|out = 3.0
plant(F, tag='t')({'y': 1.}, a=x)|out = 1.0
plant(F, tag='t')({'y': u}, v)|out = [5.0, 6.0, 7.0]
plant(F, tag='t')({'y': q}, m)|out = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
plant(lambda a: sow(outer(v, sum(a, axis=0)), tag='t', name='y'), tag='t')({'y': q}, m)|out = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
plant(lambda a: sow(stack([a, a, a]), tag='t', name='y'), tag='t')({'y': q}, u[1:])|out = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
END
    expr="plant($f, tag='t')({'y': u}, v)"
    bad 5 E_RUN_SHAPE 'got shape .2,., expected .3,.' 'gload --new -i "v: float64[3]" -i "u: float64[?]" -e "$expr" | grun v=[1,2,3] u=[1,2] --on-unused-input ignore'
}

@test "a dim that a function names is the size of its argument, in a call and around a loop" {
    cat >d.yaml <<'Y'
thunkline: 1
functions:
  f:
    inputs: {v: 'float64[n]'}
    let: |
      y = sow(v * n, tag='t', name='y')
    outputs: {out: sum(y)}
  step:
    inputs: {a: float64, v: 'float64[n]'}
    let: |
      z = sow_cond(v * a, a > 1.5, tag='u', name='z')
    outputs: {out: sum(z)}
inputs: {x: 'float64[m]'}
let: |
  r = f(x)
  s = scan(step, sequences=[[1., 2., 3.]], non_sequences=[x])
outputs: {r: r, s: s}
Y
    ok 'grun d.yaml x=[1.,2.] --reap t' $'r = 6.0\ns = [3.0, 6.0, 9.0]\nt/y = [2.0, 4.0]'
    ok 'grun d.yaml x=[1.,2.] --reap u' $'r = 6.0\ns = [3.0, 6.0, 9.0]\nu/z = [3.0, 6.0]'
    sed -i 's/\[1., 2., 3.\]/[1., 1.5]/' d.yaml # where it never held: zeros of the size that is known outside
    ok 'grun d.yaml x=[1.,2.] --reap u' $'r = 6.0\ns = [3.0, 4.5]\nu/z = [0.0, 0.0]'
    sed -i 's/outputs: {r: r, s: s}/outputs: {r: r, t\/y: r}/' d.yaml
    bad 3 E_DUPLICATE 'there is already an output t/y' 'grun d.yaml x=[1.,2.] --reap t'
}

@test "tags, names, modes and predicates of sow that can't be" {
    local line code want
    while IFS='|' read -r line code want; do
        bad 3 "$code" "$want" "gload --new -i 'x: float64[3]' -i 'p: bool' -i 'q: bool[2]' -i 'r: bool[3, 2]' -e '$line'"
    done <<'END1'
sow(x, tag="a/b", name="n")|E_ARG|tag can't have a `/`: got 'a/b'
sow(x, tag="a", name="n//b")|E_ARG|the parts of a name can't be empty: got 'n//b'
sow(x, tag="a", name="n/")|E_ARG|the parts of a name can't be empty: got 'n/'
sow(x, tag="a", name="/n")|E_ARG|the parts of a name can't be empty: got '/n'
sow(x, tag="a", name="")|E_ARG|name can't be empty
sow(x, tag="", name="n")|E_ARG|tag can't be empty
sow(x, tag="a", name="n", mode="appendd")|E_ARG|did you mean 'append'
sow(x, tag="a", name="n", mode="zzzzz")|E_ARG|no mode 'zzzzz' of sow$
sow(x, tag="a", name="n", mode="cond_clobber")|E_ARG|needs a predicate: use sow_cond
sow_cond(x, q, tag="a", name="n")|E_SHAPE|float64\[3\] has no such rows for bool\[2\]
sow_cond(x, r, tag="a", name="n")|E_SHAPE|float64\[3\] has no such rows for bool\[3, 2\]
sow_cond(x, p, tag="a", name="n", mode="strict")|E_ARG|the only mode of sow_cond is 'cond_clobber', not 'strict'
sow_cond(x, p, tag="", name="n")|E_ARG|tag can't be empty
END1
}

@test "calls are harvested as deep as they may be run" {
    local n i
    for n in 100 300; do
        {
            printf 'thunkline: 1\nfunctions:\n  f0: {inputs: {x: float64}, outputs: {out: "sow(x * 2, tag='"'t'"', name='"'y'"')"}}\n'
            for ((i = 1; i <= n; i++)); do printf '  f%d: {inputs: {x: float64}, outputs: {out: f%d(x) + 1}}\n' $i $((i - 1)); done
            printf 'inputs: {x: float64}\noutputs: {r: f%d(x)}\n' "$n"
        } >"deep$n.yaml"
    done
    ok 'grun deep100.yaml x=1 --reap t' $'r = 102.0\nt/y = 2.0'
    bad 6 E_LIMIT '^grun: deep300.yaml:104:47: error.*functions call each other more than 200 deep' 'grun deep300.yaml x=1 --reap t'
    grep -q 'deep300.yaml:105:47: note: called here' .err
    bad 6 E_LIMIT '^grun: deep300.yaml:104:47: error.*functions call each other more than 200 deep' 'grun deep300.yaml x=1'
}
