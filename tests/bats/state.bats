#!/usr/bin/env bats
# State that is no array: lists, sparse matrices, slices and random states as shared variables, in outputs, updates, functions, loops and branches.
load common

LIST="--shared 'l: list(float64) = [1.]' --update 'l = list_append(l, 2.)'"
MODES='FAST_RUN FAST_COMPILE DEBUG NAN_GUARD'

# each_mode GRAPH ARGS STDOUT: what grun ARGS prints in every mode.
each_mode() {
    local m
    for m in $MODES; do
        ok "grun $1 --mode $m $2" "$3"
    done
}

@test "an output that is a shared list is the old value, though an update replaces it" {
    eval "gload --new $LIST -e 'o = l' -e 'p = l' -e 'q = l[-1]' --outputs o,p,q" >g.tlg
    each_mode g.tlg '--steps 1' $'o = [1.0]\np = [1.0]\nq = 1.0'
    each_mode g.tlg '--steps 3' $'o = [1.0, 2.0, 2.0]\np = [1.0, 2.0, 2.0]\nq = 2.0'
    ok 'grun g.tlg --steps 2 --every 1 | grep ^o' $'o = [1.0]\no = [1.0, 2.0]'
    ok "grun g.tlg --steps 2 --expect 'o=[1, 2]' >/dev/null"
    ok 'grun g.tlg --steps 2 --save s.yaml >/dev/null; grep "  l:" s.yaml' '  l: list(float64) = [1.0, 2.0, 2.0]'
    ok 'grun s.yaml | head -n 1' 'o = [1.0, 2.0, 2.0]'
}

@test "an output that is a shared sparse matrix, slice or random state is the old value" {
    gload --new --shared "s: sparse('csr', float64[2, 2]) = eye(2)" --update 's = sparse_add(s, s)' -e 'o = s' --outputs o >g.tlg
    each_mode g.tlg '--steps 3' 'o = csr([4.0, 4.0], [0, 1], [0, 1, 2], (2, 2))'
    gload --new --shared 's: slice = slice(1, 2)' --shared 't: slice = slice(3, 4)' --update 's = t' --update 't = s' -e 'o = s' --outputs o >g.tlg
    each_mode g.tlg '--steps 2' 'o = slice(3, 4, None)'
    gload --new --shared 's: random = rng(1)' --shared 't: random = rng(2)' --update 's = t' --update 't = s' -e 'o = s' --outputs o >g.tlg
    each_mode g.tlg '--steps 2' 'o = rng_state([2, 0, 0, 0])'
}

@test "updates of lists and sparse matrices happen at the same time" {
    gload --new --shared 'a: list(float64) = [1.]' --shared 'b: list(float64) = [2.]' --update 'a = b' --update 'b = a' -e 'o = a[0]' -e 'p = b[0]' --outputs o,p >g.tlg
    each_mode g.tlg '--steps 2' $'o = 2.0\np = 1.0'
    ok 'grun g.tlg --save s.yaml >/dev/null; grep "^  .: list" s.yaml' $'  a: list(float64) = [2.0]\n  b: list(float64) = [1.0]'
    gload --new --shared 'a: list(int64) = [1]' --shared 'b: list(int64) = []' --update 'a = list_append(a, 2)' --update 'b = a' -e 'o = b' --outputs o >g.tlg
    each_mode g.tlg '--steps 3' 'o = [1, 2]'
    gload --new --shared "a: sparse('csr', float64[1, 2]) = [[1., 0.]]" --shared "b: sparse('csr', float64[1, 2]) = [[0., 2.]]" --update 'a = b' --update 'b = a' \
        -e 'o = a' -e 'p = b' --outputs o,p >g.tlg
    each_mode g.tlg '--steps 2' $'o = csr([2.0], [1], [0, 1], (1, 2))\np = csr([1.0], [0], [0, 1], (1, 2))'
}

@test "a sow of a shared list reaps the old value" {
    eval "gload --new $LIST -e \"o = sow(l, tag='t', name='r')\" -e 'n = list_length(l)' --outputs n" >g.tlg
    each_mode g.tlg '--steps 3 --reap t' $'n = 3\nt/r = [1.0, 2.0, 2.0]'
}

@test "shared lists go through functions, branches and loops" {
    cat >m.yaml <<'END'
thunkline: 1
functions:
  f:
    inputs: {k: 'list(float64)', x: float64}
    let: |
      a = list_append(k, x)
      b = list_reverse(k)
    outputs: [a, b, k]
shared:
  l: 'list(float64) = [1.]'
  m: 'list(float64) = [5.]'
inputs: {c: bool}
let: |
  a, b, c1 = f(l, 2.)
  d, e, f1 = f(a, 3.)
  g = ifelse(c, m, d)
  h = scan(lambda i, k: k[0] + i, arange(2.), None, non_sequences=[m])
outputs: [a, b, c1, f1, m, g, h]
updates: |
  l = g
  m = l
END
    gload m.yaml >g.tlg
    each_mode g.tlg '--steps 2 c=False' $'a = [1.0, 2.0, 3.0, 2.0]\nb = [3.0, 2.0, 1.0]\nc1 = [1.0, 2.0, 3.0]\nf1 = [1.0, 2.0, 3.0, 2.0]
m = [1.0]\ng = [1.0, 2.0, 3.0, 2.0, 3.0]\nh = [1.0, 2.0]'
    each_mode g.tlg '--steps 2 c=True' $'a = [5.0, 2.0]\nb = [5.0]\nc1 = [5.0]\nf1 = [5.0, 2.0]\nm = [1.0]\ng = [1.0]\nh = [1.0, 2.0]'
}

@test "a call that fails leaves lists as they were" {
    eval "gload --new $LIST --shared 'k: list(float64) = []' --update 'k = l' -e 'o = assert_op(l, list_length(l) < 3)' --outputs o" >g.tlg
    for m in $MODES; do bad 5 E_ASSERT 'step 3 of 4' "grun g.tlg --mode $m --steps 4"; done
}

@test "print, errors and MONITOR show values that are no arrays" {
    gload --new -i 'l: list(float64)' -i "s: sparse('csr', float64[1, 2])" -i 'r: random' -i 'i: slice' -i 'n: none' \
        -e "a = print(l, 'l')" -e "b = print(s, 's')" -e "c = print(r, 'r')" -e "d = print(i, 'i')" -e "e = print(n, 'n')" -e 'f = list_length(a)' --outputs f >g.tlg
    for m in FAST_RUN FAST_COMPILE DEBUG NAN_GUARD; do
        shell "grun g.tlg --mode $m l=[1,2] 's=[[0, 3]]' 'r=rng(4)' 'i=slice(1, 2)' n=None"
        [ "$(cat .out .err)" = $'f = 2\nl = [1.0, 2.0]\ns = csr([3.0], [1], [0, 1], (1, 2))\nr = rng_state([4, 0, 0, 0])\ni = slice(1, 2, None)\nn = None' ]
    done
    shell "grun g.tlg --mode MONITOR l=[1,2] 's=[[0, 3]]' 'r=rng(4)' 'i=slice(1, 2)' n=None"
    grep -Eq $'print\\(msg=\'l\'\\)\t.*\tlist\\(float64\\) \\[1.0, 2.0\\]$' .err
    grep -Eq $'\trandom rng_state\\(\\[4, 0, 0, 0\\]\\)$' .err
    bad 5 E_INDEX 'input 0: a list of 2 items: \[1.0, 2.0\]$' "gload --new -i 'l: list(float64)' -e 'l[7]' | grun l=[1,2]"
    bad 5 E_INDEX 'input 0: a list of 1000 items$' "gload --new -i 'l: list(float64)' -e 'l[7000]' | grun 'l=$(seq -s, 1000 | sed 's/.*/[&]/')'"
}

@test "listings show constants and state that are no arrays, as -O math does" {
    gload --new --shared 'l: list(float64) = [1.]' --shared 'x: float64 = 2.' --shared 'e: slice' -e 'o = list_extend(l, make_list(2., 4.))' -e 'q = list_get(make_list(1, 2), slice(None, 1))' >g.tlg
    like 'gload g.tlg -O math' 'q = list_get\(make_list\(1, 2\), slice\(None, 1, None\)\)'
    like 'gload g.tlg -O tree' '─ make_list\(float64\(2.0\), float64\(4.0\)\) \[.\] list\(float64\)$' '─ make_list\(1, 2\) \[.\] list\(int64\)$' '─ slice\(None, 1, None\) \[.\] slice$'
    like 'gload g.tlg -O dot' 'label="make_list\(1, 2\)\\nlist\(int64\)"' 'label="slice\(None, 1, None\)\\nslice"' 'label="constant\\nlist\(float64\)"'
    like 'gload g.tlg --info' 'l  *list\(float64\), value make_list\(float64\(1.0\)\)$' 'x  *float64, value$' 'e  *slice, no value$' 'value bytes  *48 *$'
    like 'gload g.tlg --info -O json' '"name": "l", "text": "list\(float64\), value make_list\(float64\(1.0\)\)"'
    # long ones are named only
    gload --new -e "o = list_length(make_list($(seq -s. 30 | sed 's/\./., /g').))" >g.tlg
    like 'gload g.tlg -O tree' '─ constant \[.\] list\(float64\)$'
}

@test "a shared variable may follow others: in type and initial value" {
    cat >m.yaml <<'END'
thunkline: 1
inputs: {x: 'float64[n]'}
shared:
  W: float64[n] = [1, 2, 3]
  m: = zeros_like(W)
  a: = W
  last: = second + 1
  h: float64[n] = twice
  second: float64[n] = h * 2
let: |
  twice = W * 2
  y = sum(x * W)
outputs: [y]
updates: |
  W = W + 1
END
    like 'gload m.yaml | gload -O yaml | tee one.yaml' '^  m: float64\[n\] = _' '^  a: float64\[n\] = W'
    ok 'gload one.yaml -O yaml --no-provenance >two.yaml; gload two.yaml -O yaml --no-provenance | cmp - two.yaml'
    ok 'gload m.yaml -O json | gload | gload --outputs m,a,h,second,last | grun' $'m = [0.0, 0.0, 0.0]\na = [1.0, 2.0, 3.0]\nh = [2.0, 4.0, 6.0]\nsecond = [4.0, 8.0, 12.0]\nlast = [5.0, 9.0, 13.0]'
    # what nothing reads begins all the same as the values of the first call
    local mode
    for mode in $MODES; do
        ok "gload m.yaml | grun x=[1,1,1] --steps 3 --mode $mode --save s.yaml" 'y = 12.0'
        ok "grep '^  [a-zW]*: float64\\[n\\] =' s.yaml" $'  W: float64[n] = [4.0, 5.0, 6.0]\n  h: float64[n] = [2.0, 4.0, 6.0]\n  second: float64[n] = [4.0, 8.0, 12.0]\n  m: float64[n] = [0.0, 0.0, 0.0]\n  a: float64[n] = [1.0, 2.0, 3.0]\n  last: float64[n] = [5.0, 9.0, 13.0]'
    done
    ok 'gload m.yaml | grewrite | grun x=[1,1,1] --steps 3 --save t.yaml >/dev/null; diff <(grep "^  [a-z]*: float64.n. =" s.yaml) <(grep "^  [a-z]*: float64.n. =" t.yaml)'
    ok 'gload m.yaml --set "W=[5, 6]" | gload --outputs a,m | grun' $'a = [5.0, 6.0]\nm = [0.0, 0.0]'
    ok "gload --new --shared 'W: float32[2] = [1, 2]' --shared 'm: = ones_like(W)' --shared 't: = 0' --outputs m,t | grun -O json | cut -d' ' -f 2-5" $'"m", "dtype": "float32", "shape":\n"t", "dtype": "int64", "shape":'
    ok "gload --new --shared 'W: float32[2] = [1, 2]' --shared 'm: = ones_like(W)' --outputs m -O yaml | grep ' m:'" '  m: float32[2] = _1'
    ok "gload --new --shared 'W = ones(2)' --shared 'r = rng(1)' --outputs W,r -O yaml | grep ' [rW]:'" $'  W: float64[2] = full([2], float64(1.0))\n  r: random = rng_state([1, 0, 0, 0])'
}

@test "rewriting keeps initial values apart from what inputs decide" {
    gload --new -i 'x: float64[3]' --shared 'W: float64[3] = [1, 2, 3]' --shared 'h: float64[3] = exp(W * 2)' --shared 'k: = scan((lambda a: [a * 2]), sequences=[W], outputs_info=[None])' \
        -e 'y = sum(exp(W * 2) * x)' -e 'z = scan((lambda a: [a * 3]), sequences=[W + x], outputs_info=[None])' --update 'W = W + x * exp(W * 2)' --update 'h = h + x' --outputs y,z >m.tlg
    ok 'grewrite m.tlg | gload --check'
    ok '{ grewrite m.tlg | grun x=[1,0,1] --steps 2 --save a.tlg >a; grun m.tlg x=[1,0,1] --steps 2 --mode FAST_COMPILE --save b.tlg >b; } 2>/dev/null; diff a b'
    ok 'diff <(gload a.tlg --outputs h,k | grun --no-updates) <(gload b.tlg --outputs h,k | grun --no-updates)'
}

@test "initial values that follow each other in a circle, inputs or too many" {
    bad 3 E_VALUE 'initial value of "m" depends on itself' "gload --new --shared 'm: float64 = 1.0' -e 'o = m' --outputs o -O yaml | sed 's/m: float64 = 1.0/m: float64 = m/' | gload"
    printf 'thunkline: 1\nshared:\n  a: float64 = b\n  b: float64 = a + 1\noutputs: [a]\n' >m.yaml
    bad 3 E_VALUE 'm.yaml:3:.*depends on itself' 'gload m.yaml'
    bad 3 E_VALUE 'depends on an input or a dim' "gload --new -i 'x: float64' --shared 'm: = x * 2' -e 'o = m' --outputs o"
    bad 3 E_NAME 'm2' "echo 'thunkline: 1
shared:
  m: = m2 + 1
  m2: = 3
outputs: [m]' | gload"
    bad 3 E_DUPLICATE 'm' "gload --new --shared 'm: = 1.0' --shared 'm: = 2.0' --outputs m"
    bad 3 E_SYNTAX 'no type here: write `y = expression`' "gload --new -i 'x: float64' -e 'y: = x'"
    awk 'BEGIN { print "thunkline: 1\nshared:\n  a0: float64 = 1.0"; for (i = 1; i < 60; i++) print "  a" i ": float64 = a" i - 1 " + 1"; print "outputs: [a59]" }' >chain.yaml
    ok 'grun chain.yaml' 'a59 = 60.0'
    sed 's/a59 = /a59 = 1 + /; s/^outputs/  a60: float64 = a59\n  a61: float64 = a60\n  a62: float64 = a61\n  a63: float64 = a62 + 1\n  a64: float64 = a63 + 1\n  a65: float64 = a64 + 1\noutputs/' chain.yaml >long.yaml
    bad 3 E_VALUE 'follows more than 62' 'gload long.yaml'
}

@test "an error in one of several initial values names it" {
    bad 5 E_INDEX 'for the initial value of w' 'gload --new --shared "v: float64[3] = zeros(4)[:3]" --shared "w: float64[3] = zeros(4)[[0, 1, 7]]" --shared "u: = w" -e "y = u + v" --outputs y | grun'
}

@test "a dim that only a shared variable has which nothing reads" {
    local w
    for w in "W: 'float64[n, 4] = normal(0, 1, (3, 4), seed=4)'" "W: 'float64[n] = [1, 2, 3]'" "W: \"sparse('csr', float64[n, 2]) = zeros((3, 2))\""; do
        gload - -e 'k = n * 2' --outputs k -o g.tlg <<<$'thunkline: 1\nshared:\n  '"$w"
        each_mode g.tlg '' 'k = 6'
        ok 'grun g.tlg --steps 2' 'k = 6'
    done
    gload --new --shared 'W: float64[n, 2] = normal(0, 1, (3, 2), seed=4)' -e 'cost = sum(sqrt(float64(W < W)))' --outputs cost | ggrad --cost cost --wrt W -o g.tlg
    each_mode g.tlg '' $'cost = 0.0\nd_cost_d_W = [[0.0, 0.0],\n              [0.0, 0.0],\n              [0.0, 0.0]]'
    bad 2 E_MISSING 'the dim n is not known' 'gload --new --shared "W: float64[n]" -e "k = n * 2" --outputs k | grun -'
}
