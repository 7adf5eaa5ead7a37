#!/usr/bin/env bats
# Lists in loops, concatenate and stack.
load common

L="gload --new -i 'l: list(float64)'"

# both GRAPH ARGS STDOUT: the graph as it was made, and read back from text, in two modes.
both() {
    gload "$1" -O yaml >again.yaml
    for m in FAST_RUN DEBUG; do
        ok "grun $1 --mode $m $2" "$3"
        ok "grun again.yaml --mode $m $2" "$3"
    done
}

@test "a list is a sequence of map, foldl, foldr, reduce and scan" {
    eval "$L -e 'a = map(lambda x: x * x, l)' -e 'b = foldl(lambda x, h: 10 * h + x, l, 0.)' -e 'c = foldr(lambda x, h: 10 * h + x, l, 0.)' \
        -e 'd = reduce(lambda x, h: h + x, [l], 0.)' -e 'e = map(lambda x: -x, l, go_backwards=True)'" >g.tlg
    both g.tlg 'l=[1,2,4]' $'a = [1.0, 4.0, 16.0]\nb = 124.0\nc = 421.0\nd = 7.0\ne = [-4.0, -2.0, -1.0]'
    both g.tlg 'l=[]' $'a = []\nb = 0.0\nc = 0.0\nd = 0.0\ne = []'
}

@test "a list beside tensors and other lists, with taps, captured values, effects and until" {
    eval "$L -i 'w: float64' -e 'a = scan(lambda p, q, i, h: h + p * q * i * w, sequences=[taps(l, [-1, 0]), arange(9.)], outputs_info=[0.])'" >g.tlg
    both g.tlg 'l=[1,2,4] w=10' 'a = [0.0, 80.0]'
    eval "$L -i 'k: list(list(int64))' -e 'a = scan(lambda x, y, h: (h + x * y[0], until(h > 2)), sequences=[l, k], outputs_info=[0.])'" >g.tlg
    both g.tlg 'l=[1,2,4,8] k=[[3],[4],[5],[6]]' 'a = [3.0, 11.0]'
    ok "$L -e \"a = map(lambda x: sow(x * 2, tag='t', name='r', mode='append'), l)\" | grun --reap t l=[1,2]" $'a = [2.0, 4.0]\nt/r = [2.0, 4.0]'
    bad 5 E_RUN_SHAPE '2 rows, but 3 steps' "$L -e 'a = scan(lambda x: x, l, n_steps=3)' | grun l=[1,2]"
}

@test "a named function over a list, with inputs declared more widely" {
    cat >m.yaml <<'END'
thunkline: 1
functions:
  f:
    inputs: {x: 'float64[n]', h: float64}
    let: 'y = h + sum(x) * n'
    outputs: [y]
inputs: {l: 'list(float64[2])'}
let: 'y = foldl(f, l, 0.)'
outputs: [y]
END
    gload m.yaml >g.tlg
    both g.tlg 'l=[[1,2],[3,4]]' 'y = 20.0'
}

@test "derivatives of a loop over a list: by tensors, and a clear no by the list" {
    eval "$L -i 'w: float64' -e 'c = foldl(lambda x, h: h * w + x, l, 0.)'" >g.tlg
    ok 'ggrad g.tlg --wrt w --only | grun l=[1,2,3] w=2' 'd_c_d_w = 6.0'
    ok 'ggrad g.tlg --jvp c --wrt w --only | grun l=[1,2,3] w=2 t_w=1' 'jvp_c = 6.0'
    ok 'ggrad g.tlg --check --wrt w l=[1,2,3] w=2'
    bad 3 E_NULL 'derivatives by tensors only' 'ggrad g.tlg --wrt l'
}

@test "what of a loop can't be a list says so, and how to go on" {
    bad 3 E_TYPE 'the state out is list\(float64\): what a loop feeds back is a tensor' \
        "gload --new -i 'x: float64[?]' -e 'foldl(lambda x, h: list_append(h, x), x, make_list(type=\"float64\"))'"
    bad 3 E_TYPE 'let each step give an item as a tensor' "gload --new -i 'x: float64[?]' -e 'map(lambda x: make_list(x, x), x)'"
    bad 3 E_TYPE 'stack\(x\) makes a tensor of a list' "$L -e 'filter(lambda x: x > 1, l)'"
}

@test "concatenate and stack join the items of a list" {
    gload --new -i 'l: list(float64[?])' -i 'k: list(float64)' -e 'a = concatenate(l)' -e 'b = stack(k)' -e 'c = stack(l, axis=1)' -e 'd = concatenate(list_append(l, [9.]))' >g.tlg
    both g.tlg 'l=[[1,2],[3,4]] k=[1,2]' $'a = [1.0, 2.0, 3.0, 4.0]\nb = [1.0, 2.0]\nc = [[1.0, 3.0],\n     [2.0, 4.0]]\nd = [1.0, 2.0, 3.0, 4.0, 9.0]'
    ok "gload --new -i 'l: list(float64[2, 3])' -e 'concatenate(l, axis=-1)' --info | grep out" 'outputs    out              float64[2, ?]'
    ok "gload --new -i 'x: float64[2]' -i 'y: float64[?, 2]' -e 'vectorize(concatenate(make_list(x, x * 2)), x, y)' | grun x=[0,0] 'y=[[1,2],[3,4]]'" $'out = [[1.0, 2.0, 2.0, 4.0],\n       [3.0, 4.0, 6.0, 8.0]]'
    bad 5 E_RUN_SHAPE 'the list is empty' "grun g.tlg l=[] k=[]"
    bad 5 E_RUN_SHAPE 'tensor 1 has another shape' "$L -i 'm: list(float64[?])' -e 'stack(m)' --outputs out | grun 'm=[[1],[2,3]]'"
    bad 3 E_SHAPE 'stack makes one' "$L -e 'concatenate(l)'"
    bad 3 E_TYPE 'must be tensors' "gload --new -i 'l: list(list(float64))' -e 'stack(l)'"
    bad 3 E_NULL 'do not pass through lists' "$L -e 'c = sum(stack(l))' | ggrad --wrt l"
}
