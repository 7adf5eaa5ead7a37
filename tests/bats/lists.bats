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
    bad 3 E_NULL 'derivatives with respect to tensors only' 'ggrad g.tlg --wrt l'
}

E='make_list(type="float64")'
X="gload --new -i 'x: float64[?]' -i 'w: float64'"

@test "items of a list for a function of declared inputs: of other sizes, of one size, with until" {
    cat >f.yaml <<'END'
thunkline: 1
inputs: {l: 'list(float64[?])', m: 'list(float64[2])'}
functions:
  every: {inputs: {a: 'float64[k]'}, outputs: {o: sum(a)}}
  pair: {inputs: {a: 'float64[2]'}, outputs: {o: sum(a)}}
  ends: {inputs: {a: 'float64[k]'}, outputs: {o: sum(a)}, until: 'a[0] > 3'}
END
    ok 'gload f.yaml -e "y = map(every, l)" -e "z = map(pair, m)" --outputs y,z | grun "l=[[1,2],[3]]" "m=[[1,2],[3,4]]"' $'y = [3.0, 3.0]\nz = [3.0, 7.0]'
    bad 3 E_SHAPE 'argument 1 of pair is float64\[\?\], but its input a is float64\[2\]' 'gload f.yaml -e "y = map(pair, l)"'
    bad 3 E_TYPE '1:5: .*ends ends its loop with `until`, so an input that takes items of a list must be declared with their type' 'gload f.yaml -e "y = scan(ends, sequences=[l])"'
}

@test "a list is a state of scan, foldl and reduce, with until and without a step" {
    eval "$X -e 'a = scan(lambda x, l: list_append(l, x), sequences=[x], outputs_info=[$E])' -e 'b = reduce(lambda x, l: list_append(l, x), x, make_list(5.))' \
        -e 'c = scan(lambda x, l, h: (list_append(l, h), h + x, until(h > 2)), sequences=[x], outputs_info=[make_list(0.), 0.])[0]'" >g.tlg
    both g.tlg 'x=[1,2,3,4] w=0' $'a = [1.0, 2.0, 3.0, 4.0]\nb = [5.0, 1.0, 2.0, 3.0, 4.0]\nc = [0.0, 0.0, 1.0, 3.0]'
    both g.tlg 'x=[] w=0' $'a = []\nb = [5.0]\nc = [0.0]'
    # items of all shapes
    gload --new -i 'k: int64[?]' -e 'a = foldl(lambda n, l: list_append(l, arange(n)), k, make_list(type="int64[?]"))' >s.tlg
    both s.tlg k=[3,1,2] 'a = [[0, 1, 2], [0], [0, 1]]'
    # the new states are taken at once
    gload --new -i 'l: list(int64)' -i 'm: list(int64)' -i 'n: int64' -e 'a = scan(lambda a, b: (b, a), outputs_info=[l, m], n_steps=n)' >s.tlg
    both s.tlg 'l=[1] m=[2,3] n=3' $'a/0 = [2, 3]\na/1 = [1]'
}

@test "states of several steps and results that are lists make a list of lists" {
    eval "$X -e 'a = scan(lambda x, l: list_append(l, x), sequences=[x], outputs_info=[$E], keep=\"all\")' -e 'b = scan(lambda x, l: list_append(l, x), sequences=[x], outputs_info=[$E], keep=2)' \
        -e 'c = map(lambda x: make_list(x, 2 * x), x)'" >g.tlg
    like 'gload g.tlg --info' 'outputs    a                list\(list\(float64\)\)'
    both g.tlg 'x=[1,2,3] w=0' $'a = [[1.0], [1.0, 2.0], [1.0, 2.0, 3.0]]\nb = [[1.0, 2.0], [1.0, 2.0, 3.0]]\nc = [[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]'
    both g.tlg 'x=[] w=0' $'a = []\nb = []\nc = []'
    bad 5 E_INDEX 'there is no last value of out: no step was run' "$X -e 'scan(lambda x: make_list(x), sequences=[x], keep=\"last\")' | grun x=[] w=0"
    # nor does another loop fail with it
    bad 5 E_INDEX 'there is no last value' "$X -e 'a = scan(lambda x: make_list(x), sequences=[x], keep=\"last\")' -e 'b = foldl(lambda x, h: h + x, x, 0.)' | grun --mode DEBUG x=[] w=0"
}

@test "loops over lists that are unrolled, merged and stripped give the same" {
    local n
    for n in 1 2; do
        gload --new -i 'x: float64' -e "a = scan(lambda l: list_append(l, x), outputs_info=[$E], n_steps=$n)" -e "b = scan(lambda l, m: (list_append(l, x), list_append(m, x)), outputs_info=[$E, $E], n_steps=$n, keep='all')[1]" >g.tlg
        [ $n = 1 ] && both g.tlg x=3 $'a = [3.0]\nb = [[3.0]]'
        [ $n = 2 ] && both g.tlg x=3 $'a = [3.0, 3.0]\nb = [[3.0], [3.0, 3.0]]'
    done
    gload --new -i 'x: float64' -e "a = scan(lambda l: list_append(l, x), outputs_info=[$E], n_steps=1)" | grewrite | gload -O yaml --no-provenance >g.yaml
    ! grep -q 'scan(' g.yaml
}

@test "a shared list is the state of a loop, and its new value the loop's result" {
    gload --new -i 'x: float64[?]' --shared 'h: list(float64) = [0.]' -e 'y = scan(lambda x, l: list_append(l, x), sequences=[x], outputs_info=[h])' -e 'o = h' --update 'h = y' --outputs y,o >g.tlg
    local m
    for m in FAST_RUN DEBUG NAN_GUARD; do
        ok "grun g.tlg --mode $m --steps 2 x=[1,2]" $'y = [0.0, 1.0, 2.0, 1.0, 2.0]\no = [0.0, 1.0, 2.0]'
    done
    ok 'grun g.tlg x=[1] --save h.yaml >/dev/null && grun h.yaml x=[5] --mode MONITOR 2>/dev/null | tail -2' $'y = [0.0, 1.0, 5.0]\no = [0.0, 1.0]'
}

@test "sparse matrices, slices and dims with names in states" {
    gload --new -i "s: sparse('csr', float64[n, n])" -i 'x: float64[?]' -e 'y = foldl(lambda x, s: sparse_add(s, s), x, s)' -e 'z = map(lambda x: csr(x * [1., 2.], [0, 1], [0, 1, 2], [2, 2]), x)' >g.tlg
    both g.tlg 's=[[1,0],[0,2]] x=[1,2]' $'y = csr([4.0, 8.0], [0, 1], [0, 1, 2], (2, 2))\nz = [csr([1.0, 2.0], [0, 1], [0, 1, 2], (2, 2)), csr([2.0, 4.0], [0, 1], [0, 1, 2], (2, 2))]'
    gload --new -i 'x: float64[?]' -e 'y = x[scan(lambda s: slice(0, 2), outputs_info=[slice(1, 3)], n_steps=2)]' >g.tlg
    both g.tlg x=[1,2,5,6] 'y = [1.0, 2.0]'
    gload --new -i 'x: float64[m, k]' -i 'l: list(float64[k])' -e 'y = foldl(lambda x, l: list_append(l, x), x, l)' >g.tlg
    both g.tlg 'x=[[1,2],[3,4]] l=[[0,0]]' 'y = [[0.0, 0.0], [1.0, 2.0], [3.0, 4.0]]'
    gload --new -i 'k: int64[?]' -i 'l: list(int64[2])' -i 'm: list(int64[?])' -e 'a = foldl(lambda n, l, m: m, k, l, m)' >g.tlg
    ok 'grun g.tlg k=[1,1] l=[[1,2]] m=[[3,4]]' 'a = [[3, 4]]'
    for m in FAST_RUN DEBUG; do
        bad 5 E_RUN_SHAPE 'out starts as list\(int64\[2\]\), but has another type in step 0: write \? for the dims that change' "grun g.tlg --mode $m k=[1,1] l=[[1,2]] m=[[3]]"
    done
}

@test "an error in a step of a loop with a list names the step" {
    gload --new -i 'x: int64[?]' -i 'l: list(float64)' -e 'y = scan(lambda x, m, l: list_append(m, list_get(l, x)), sequences=[x], outputs_info=[make_list(1.)], non_sequences=[l], keep="all")' >g.tlg
    both g.tlg 'x=[1,0] l=[1,2]' 'y = [[1.0, 2.0], [1.0, 2.0, 1.0]]'
    bad 5 E_INDEX 'index 7 is out of range for a list of length 2' 'grun g.tlg x=[0,7,1] l=[1,2]'
    grep -q 'in step 1 of 3 of the loop here' .err
}

@test "gradients of a loop with a list: by tensors that pass it by, and a clear no through it" {
    # h: 1, w, 3 w^2, 9 w^3: the list is worked out again from what the loop kept of it
    eval "$X -e 'c = scan(lambda x, l, h: (list_append(l, 3.), h * w * list_get(list_append(l, 1.), 0)), sequences=[x], outputs_info=[$E, 1.])[1][-1]'" >g.tlg
    for m in FAST_RUN DEBUG; do
        ok "ggrad g.tlg --wrt w --only | grun x=[1,2,3] w=2 --mode $m" 'd_c_d_w = 108.0'
        ok "ggrad g.tlg --jvp c --wrt w --only | grun x=[1,2,3] w=2 t_w=1 --mode $m" 'jvp_c = 108.0'
    done
    ok 'ggrad g.tlg --check --wrt w x=[1,2,3] w=2'
    eval "$X -e 'c = scan(lambda x, l, h: (list_append(l, x * w), h * w + list_length(l) * x), sequences=[x], outputs_info=[$E, 0.])[1][-1]'" >g.tlg
    ok 'ggrad g.tlg --check --wrt w,x x=[1,2,3] w=2'
    eval "$X -e 'c = scan(lambda x, l, h: (list_append(l, x * w), h + list_get(list_append(l, 1.), 0)), sequences=[x], outputs_info=[$E, 0.])[1][-1]'" >g.tlg
    for n in w x; do
        bad 3 E_NULL "gradient of $n is undefined: in a loop it passes through a list .* carry tensors" "ggrad g.tlg --wrt $n"
        bad 3 E_NULL 'tangent of c is undefined: in a loop it passes through a list' "ggrad g.tlg --jvp c --wrt $n"
    done
    eval "$X -e 'c = sum(dense_from_sparse(foldl(lambda x, s: sparse_add(s, csr_from_dense(w * eye(2))), x, csr_from_dense(eye(2)))))'" >g.tlg
    bad 3 E_NULL 'in a loop it passes through' 'ggrad g.tlg --wrt w'
    bad 3 E_NULL 'in a loop it passes through' 'ggrad g.tlg --jvp c --wrt w'
    eval "$X -e 'c = stack(foldl(lambda x, l: list_append(l, x * w), x, $E))[0]'" >g.tlg
    bad 3 E_NULL 'do not pass through lists' 'ggrad g.tlg --wrt w'
}

@test "loops over lists in loops over lists, and the gradient of one that ends early" {
    gload --new -i 'x: float64[?, ?]' -e "a = map(lambda r: foldl(lambda v, l: list_append(l, v), r, $E), x)" -e "b = foldl(lambda m, h: h + list_length(m), a, 0)" \
        -e "c = foldl(lambda r, l: list_append(l, foldl(lambda v, k: list_append(k, v), r, $E)), x, make_list(type='list(float64)'))" >g.tlg
    both g.tlg 'x=[[1,2],[3,4]]' $'a = [[1.0, 2.0], [3.0, 4.0]]\nb = 4\nc = [[1.0, 2.0], [3.0, 4.0]]'
    eval "$X -e 'c = scan(lambda x, l, h: (list_append(l, x), h + x * list_length(l), until(h > 1)), sequences=[x], outputs_info=[$E, 0.])[1][-1]'" >g.tlg
    ok 'ggrad g.tlg --wrt x --only | grun --mode DEBUG x=[1,2,3,4,5] w=0' 'd_c_d_x = [0.0, 1.0, 2.0, 0.0, 0.0]'
}

@test "what of a loop can't be a list says so, and how to go on" {
    bad 3 E_TYPE 'only the tap -1: carry the value of an earlier step as a state of its own' "$X -e 'scan(lambda x, l: list_append(l, x), sequences=[x], outputs_info=[taps($E, [-2])])'"
    bad 3 E_TYPE 'for an empty list write make_list\(type=' "$X -e 'scan(lambda x, l: list_append(l, x), sequences=[x], outputs_info=[[]])'"
    bad 3 E_TYPE 'starts as list\(float64\), but lambda_1 turns it into list\(list\(float64\)\): its type must not change' "$X -e 'scan(lambda x, l: make_list(l), sequences=[x], outputs_info=[$E])'"
    bad 3 E_ARG 'this scan can.t have a checkpoint: a result is not a tensor' "$X -e 'scan(lambda x, l: list_append(l, x), sequences=[x], outputs_info=[$E], checkpoint=2)'"
    bad 3 E_TYPE 'only tensors have rows, not list\(float64\): use its items' "$X -i 'y: float64[?, ?]' -e 'vectorize(foldl(lambda x, l: list_append(l, x), x, $E), x, y)'"
    ok "$X -i 'y: float64[?, ?]' -e 'vectorize(stack(foldl(lambda x, l: list_append(l, 2 * x), x, $E)), x, y)' | grun x=[1] w=1 'y=[[1,2],[3,4]]'" $'out = [[2.0, 4.0],\n       [6.0, 8.0]]'
    cat >m.yaml <<'END'
thunkline: 1
functions:
  f:
    inputs: {x: 'float64[n]', l: 'list(float64[n])'}
    let: 'y = list_append(l, x)'
    outputs: [y]
inputs: {x: 'float64[m, k]', l: 'list(float64[k])'}
let: 'y = foldl(f, x, l)'
outputs: [y]
END
    bad 3 E_TYPE 'declared list\(float64\[n\]\), but the dims of a state that is not a tensor have no names: write \?' 'gload m.yaml'
    bad 3 E_TYPE 'stack\(x\) turns a list' "$L -e 'filter(lambda x: x > 1, l)'"
}

@test "a list that is sown in a loop: the last one, or a clear no" {
    ok "$X -e 'a = foldl(lambda x, l: list_append(sow(l, tag=\"t\", name=\"r\", mode=\"clobber\"), x), x, $E)' | grun --reap t x=[1,2] w=1" $'a = [1.0, 2.0]\nt/r = [1.0]'
    bad 3 E_TYPE 'appended rows form one array' "$X -e 'a = foldl(lambda x, l: list_append(sow(l, tag=\"t\", name=\"r\", mode=\"append\"), x), x, $E)' | grun --reap t x=[1,2] w=1"
}

@test "concatenate and stack join the items of a list" {
    gload --new -i 'l: list(float64[?])' -i 'k: list(float64)' -e 'a = concatenate(l)' -e 'b = stack(k)' -e 'c = stack(l, axis=1)' -e 'd = concatenate(list_append(l, [9.]))' >g.tlg
    both g.tlg 'l=[[1,2],[3,4]] k=[1,2]' $'a = [1.0, 2.0, 3.0, 4.0]\nb = [1.0, 2.0]\nc = [[1.0, 3.0],\n     [2.0, 4.0]]\nd = [1.0, 2.0, 3.0, 4.0, 9.0]'
    ok "gload --new -i 'l: list(float64[2, 3])' -e 'concatenate(l, axis=-1)' --info | grep out" 'outputs    out              float64[2, ?]'
    ok "gload --new -i 'x: float64[2]' -i 'y: float64[?, 2]' -e 'vectorize(concatenate(make_list(x, x * 2)), x, y)' | grun x=[0,0] 'y=[[1,2],[3,4]]'" $'out = [[1.0, 2.0, 2.0, 4.0],\n       [3.0, 4.0, 6.0, 8.0]]'
    bad 5 E_RUN_SHAPE 'the list is empty' "grun g.tlg l=[] k=[]"
    bad 5 E_RUN_SHAPE 'tensor 1 has a different shape' "$L -i 'm: list(float64[?])' -e 'stack(m)' --outputs out | grun 'm=[[1],[2,3]]'"
    bad 3 E_SHAPE 'use stack' "$L -e 'concatenate(l)'"
    bad 3 E_TYPE 'must be tensors' "gload --new -i 'l: list(list(float64))' -e 'stack(l)'"
    bad 3 E_NULL 'do not pass through lists' "$L -e 'c = sum(stack(l))' | ggrad --wrt l"
}

@test "an item without a dim's name takes it from the list: its items may differ there" {
    local expr
    for expr in 'list_append(make_list(b), a)' 'list_extend(make_list(b), make_list(b, a))' 'list_insert(make_list(b), 1, a)'; do
        like "gload --new -i 'a: float64[1,1]' -i 'b: float64[?,k]' -e 'r = $expr' --outputs r --info" 'r +list\(float64\[\?, \?\]\)$'
        ok "gload --new -i 'a: float64[1,1]' -i 'b: float64[?,k]' -e 'r = list_get($expr, -1)' --outputs r | grun --mode DEBUG 'a=[[5]]' 'b=[[1,2]]' >/dev/null"
    done
    like "gload --new -i 'a: float64[3,k]' -i 'b: float64[?,k]' -e 'r = list_append(make_list(b), a)' --outputs r --info" 'r +list\(float64\[\?, k\]\)$'
}

@test "what is no item, no slice or nested too deep is refused; steps of 0 where they run" {
    local deep=float64 one _
    for _ in $(seq 64); do deep="list($deep)"; done
    one=$(printf '1, %.0s' $(seq 31))1
    bad 6 E_LIMIT 'make_list: lists nest at most 64 deep' "gload --new -i 'l: $deep' -e 'make_list(l)'"
    bad 6 E_LIMIT "lists nest at most 64 deep: keep its last value \(keep='last'\)" "gload --new -i 'l: $deep' -e 'scan(lambda i: l, sequences=[arange(3)])'"
    ok "gload --new -i 'l: $deep' -e 'scan(lambda i: l, sequences=[arange(3)], keep=\"last\")' -o l.tlg"
    bad 6 E_LIMIT 'list_stack: a tensor has at most 32 dims' "gload --new -i 'l: list(float64[$one])' -e 'list_stack(l)'"
    bad 3 E_SHAPE "0-d items can't be joined" "gload --new -i 'l: list(float64)' -e 'list_concatenate(l)'"
    bad 3 E_TYPE "make_list: null\('why'\) has no values" "gload --new -i \"l: null('why')\" -e 'make_list(l)'"
    bad 3 E_TYPE 'the items of the list are float32, not float64' "gload --new -i 'x: float64' -e 'make_list(x, type=\"float32\")'"
    bad 3 E_SYNTAX 'expected a dim' "gload --new -e 'make_list(type=\"float64[\")'"
    bad 3 E_TYPE 'expected a slice, not int64' "gload --new -e 'slice_indices(3, 5)'"
    bad 5 E_INDEX "the step of a slice can't be 0" "gload --new -i 'l: list(float64)' -i 'n: int64' -e 'l[::n]' | grun l='[1,2]' n=0"
    bad 5 E_INDEX 'index 7 is out of range for a list of length 2' "gload --new -i 'l: list(float64)' -i 'n: int64' -e 'list_get(l, n)' | grun l='[1,2]' n=7"
    bad 3 E_NULL 'derivatives do not pass through lists' "gload --new -i 'x: float64' -e 'sum(list_stack(make_list(x, x)))' | ggrad --jvp out --wrt x"
}

@test "vectorize: a list of what each row has is stacked for each row" {
    ok 'gload --new -i "x: float64[2, 2]" -e "vectorize(lambda r: list_stack(make_list(r[0], r[1] * 2)))(x)" | grun x=[[1,2],[3,4]]' \
        $'out = [[1.0, 4.0],\n       [3.0, 8.0]]'
}

@test "for many rows at once: lists joined along any axis" {
    local e want
    while IFS='|' read -r e want; do
        ok "gload --new -i 'x: float64[3, 2]' -i 'l: list(float64[2])' -e 'y = vectorize(lambda v: $e)(x)' --outputs y | grun --on-unused-input ignore 'x=[[1,2],[3,4],[5,6]]' l=[[8,9]] | tr -d ' \n'" "y=$want"
    done <<'END'
concatenate(make_list(v, v * 2))|[[1.0,2.0,2.0,4.0],[3.0,4.0,6.0,8.0],[5.0,6.0,10.0,12.0]]
concatenate(make_list(v, v * 2), axis=-1)|[[1.0,2.0,2.0,4.0],[3.0,4.0,6.0,8.0],[5.0,6.0,10.0,12.0]]
stack(make_list(v, v * 2), axis=1)|[[[1.0,2.0],[2.0,4.0]],[[3.0,6.0],[4.0,8.0]],[[5.0,10.0],[6.0,12.0]]]
stack(list_append(make_list(v), v * 2))[1]|[[2.0,4.0],[6.0,8.0],[10.0,12.0]]
concatenate(list_append(l, v))|[[8.0,9.0,1.0,2.0],[8.0,9.0,3.0,4.0],[8.0,9.0,5.0,6.0]]
stack(list_append(l, v), axis=-1)|[[[8.0,1.0],[9.0,2.0]],[[8.0,3.0],[9.0,4.0]],[[8.0,5.0],[9.0,6.0]]]
END
    gload --new -i 'x: float64[2]' -e 'l = make_list(x, x * 2)' -e 'z = concatenate(l)' -e 'w = stack(l)' --outputs z,w -o joined.tlg
    bad 3 E_NULL 'the tangent of z is undefined: derivatives do not pass through lists' 'ggrad joined.tlg --jvp z --wrt x'
    bad 3 E_NULL 'the gradient of x is undefined: derivatives do not pass through lists' 'ggrad joined.tlg --vjp w --wrt x'
}
