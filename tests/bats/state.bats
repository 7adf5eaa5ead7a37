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
