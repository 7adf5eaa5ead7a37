#!/usr/bin/env bats
# Scattering, gathering, ordering, selecting: what is refused, what sizes are known, and what golden values are too small to show.
load common
load values

@test "values and gradients are those of NumPy and PyTorch" {
    families "$ROOT/tests/bats/selection.tsv"
}

@test "scattering and gathering: shapes that don't fit, indices out of range" {
    local g="gload -i 'x: float64[4, 3]' -i 'i: int64[2, 3]' -i 'k: int64[n, 2]' -i 'u: float64[2, 3]'"
    bad 3 E_ARG "scatter_elements: reduction must be 'none', 'add', 'mul', 'max' or 'min', not 'sum'" "$g -e \"y = scatter_elements(x, i, u, reduction='sum')\""
    bad 3 E_ARG "scatter_nd: reduction must be .* not 'amax'" "$g -e \"y = scatter_nd(x, k, 0., reduction='amax')\""
    bad 3 E_SHAPE 'scatter_elements: x has 2 dims, indices 1; axis is 0. The ranks must be equal' "$g -e 'y = scatter_elements(x, i[0], u)'"
    bad 3 E_SHAPE 'scatter_elements: x has 2 dims, indices 2; axis is 2' "$g -e 'y = scatter_elements(x, i, u, axis=2)'"
    bad 3 E_SHAPE 'take_along_axis: dim 1 of indices has size 3, but x has only 2 there' "$g -e 'y = take_along_axis(x[:, :2], i, axis=0)'"
    bad 3 E_SHAPE 'scatter_elements: dim 0 of updates has size 4, but the part that is written to has size 2' "$g -e 'y = scatter_elements(x, i, x)'"
    bad 3 E_SHAPE 'scatter_nd: updates has 2 dims, but there are only 1 to write to' "$g -e 'y = scatter_nd(x, k, u)'"
    bad 3 E_SHAPE 'scatter_nd: the last dim of indices has size 3, but x has 2 dims to index' "$g -e 'y = scatter_nd(x, i, 0.)'"
    bad 3 E_SHAPE 'gather_nd: the last dim of indices must have a known size' "$g -i 'j: int64[2, m]' -e 'y = gather_nd(x, j)'"
    bad 3 E_ARG 'gather_nd: batch_dims is 2, but x has 2 dims and indices 2' "$g -e 'y = gather_nd(x, i, batch_dims=2)'"
    bad 3 E_SHAPE 'gather_nd: dim 0 is shared, but x has size 4 there and indices 2' "$g -e 'y = gather_nd(x, i[:, :1], batch_dims=1)'"
    bad 3 E_DTYPE 'complex' "gload -i 'x: complex64[3]' -e \"y = scatter_elements(x, [1], [1j], reduction='max')\""
    bad 3 E_DTYPE 'float64 can.t be stored in a tensor of int64' "gload -i 'x: int64[3]' -i 'u: float64[1]' -e \"y = scatter_elements(x, [1], u, reduction='mul')\""
    bad 5 E_INDEX 'index 3 is out of range|index 3 .*size 3' "gload -i 'x: float64[3]' -i 'j: int64[1]' -e \"y = scatter_elements(x, j, 1., reduction='mul')\" | grun x=[1,2,3] j=[3]"
    bad 5 E_INDEX 'index -5 .*size 4' "$g -e 'y = gather_nd(x, k)' | grun x='ones((4, 3))' k=[[-5,0]]"
}

@test "scattering: sizes that only the run knows, second derivatives, unknown ranks of y" {
    ok "gload -i 'x: float64[n]' -i 'i: int64[m]' -i 'u: float64[m]' -e \"y = scatter_elements(x, i, u, reduction='max')\" | grun x=[1,2,3] i=[0,0,-1] u=[5,4,0]" 'y = [5.0, 2.0, 3.0]'
    for how in none add mul max min; do
        cat >g.yaml <<Y
thunkline: 1
inputs: {x: 'float64[4]', u: 'float64[6]'}
let: |
  y = sum(scatter_elements(x, [0, 0, 1, 3, -1, 3], u, reduction='$how') ** 3 * [1, 2, 3, 4])
  z = sum(grad(y, x) ** 2) + sum(grad(y, u) * u)
outputs: [y, z]
Y
        ok 'ggrad g.yaml --cost y --wrt x,u --check'
        ok 'ggrad g.yaml --cost z --wrt x,u --check'
    done
}

@test "topk: as argsort has it, of long lines too, however they are ordered" {
    local k d x
    for d in float32 float64 int16 uint8 bool; do
        for x in 'rint(normal(0, 50, (30000,), seed=1))' 'arange(30000)' '-arange(30000)' 'zeros(30000)' 'where(arange(30000) % 7 == 0, nan, normal(0, 1, (30000,), seed=2))'; do
            case $d,$x in bool,* | *nan*) [[ $d == float* ]] || continue ;; esac
            for k in 5 32 33 700 3000 20000 30000; do
                echo "    all(topk(cast($x, $d), $k)[1] == argsort(cast($x, $d), descending=True)[:$k]) &"
                echo "    all(topk(cast($x, $d), $k, largest=False, sorted=False)[1] == sort(argsort(cast($x, $d))[:$k])) &"
            done
            echo "    all(argpartition(cast($x, $d), 9000)[:9000] == sort(argsort(cast($x, $d))[:9000])) &"
        done
    done >terms
    { printf 'thunkline: 1\nlet: |\n  same = (\n'; cat terms; printf '    True)\noutputs: [same]\n'; } >g.yaml
    ok 'grun g.yaml' 'same = True'
    ok 'grun g.yaml --threads 2' 'same = True'
    # as many lines as threads share
    ok 'gload -i "x: float32[n, 40]" -e "y = all(topk(x, 7)[1] == argsort(x, descending=True)[:, :7]) & all(topk(x, 35)[1] == argsort(x, descending=True)[:, :35])" |
        grun --threads 2 x="normal(0,1,(3000,40),seed=3)"' 'y = True'
}

@test "topk: k as a number, a name or known by the run; what is refused" {
    local g="gload -i 'x: float64[n, 4]' -i 'k: int64'"
    like "$g -e 'y = topk(x, 3)' --info" 'y/0 +float64\[n, 3\]' 'y/1 +int64\[n, 3\]'
    like "$g -e 'y = topk(x, k, axis=0)[0]' --info" 'y +float64\[\?, 4\]'
    like "$g -e 'y = topk(x, n, axis=0)[0]' --info" 'y +float64\[n, 4\]'
    ok "$g -e 'y = topk(x, k)[1]' | grun x=[[1,2,9,4],[8,0,7,1]] k=2" 'y = [[2, 3],
     [0, 2]]'
    ok "$g -e 'y = shape(topk(x, k)[1])' | grewrite | grun x=[[1,2,9,4]] k=2" 'y = [1, 2]'
    ok "$g -e 'y = sum(topk(x, k)[0] ** 2)' | ggrad --wrt x | grun --mode DEBUG x=[[1,2,9,4],[8,0,7,1]] k=2" 'y = 210.0
d_y_d_x = [[0.0, 0.0, 18.0, 8.0],
           [16.0, 0.0, 14.0, 0.0]]'
    ok "$g -e 'y = topk(x[:0], 0, axis=0)[1]' -e 'z = topk(x, 0)[0]' | grun x=[[1,2,9,4]] k=2" $'y = zeros((0, 4), dtype=\'int64\')
z = [[]]'
    bad 3 E_SHAPE 'topk: k is 5, but dim 1 of x has size 4' "$g -e 'y = topk(x, 5)'"
    bad 3 E_VALUE 'topk: k can.t be negative, got -1' "$g -e 'y = topk(x, -1)'"
    bad 3 E_DTYPE 'topk.*complex' "gload -i 'x: complex64[3]' -e 'y = topk(x, 1)'"
    bad 3 E_SHAPE 'topk.*0 dims|scalar|at least 1' "gload -i 'x: float64' -e 'y = topk(x, 1)'"
    bad 5 E_RUN_SHAPE 'k is 3, but dim 0 of x has size 2' "$g -e 'y = topk(x, k, axis=0)' | grun x=[[1,2,9,4],[8,0,7,1]] k=3"
    bad 5 E_RUN_SHAPE 'k is -3, but dim 0 of x has size 2' "$g -e 'y = topk(x, k, axis=0)' | grun x=[[1,2,9,4],[8,0,7,1]] k=-3"
    bad 3 E_VALUE 'partition: kth is 4, but dim 1 of x has size 4' "$g -e 'y = partition(x, 4)'"
    bad 5 E_RUN_SHAPE 'kth is -3, but dim 0 of x has size 2' "$g -e 'y = argpartition(x, k, axis=0)' | grun x=[[1,2,9,4],[8,0,7,1]] k=-3"
}

@test "positions, sets, counts: sizes that the data decide, and what is refused" {
    local g="gload -i 'x: int64[n]' -i 'f: float64[2, m]'"
    like "$g -e 'y = nonzero(f)' -e 'u = unique(x, return_inverse=True, return_counts=True)' --info" 'y +int64\[2, \?\]' 'u/0 +int64\[\?\]' 'u/1 +int64\[n\]' 'u/2 +int64\[\?\]'
    ok "$g -e 'y = x[nonzero(x > 1)[0]] * 2' -e 'z = sum(extract(f > 1, f) ** 2)' | ggrad --cost z --wrt f | grun --mode DEBUG x=[1,2,3] f=[[1,2],[3,0]]" 'y = [4, 6]
z = 13.0
d_z_d_f = [[0.0, 4.0],
           [6.0, 0.0]]'
    ok "$g -e 'y = vectorize(lambda r: unique(r))(f)' | grun f=[[1,2],[3,0]]" 'y = [[1.0, 2.0],
     [0.0, 3.0]]'
    bad 5 E_RUN_SHAPE 'all rows must have the same shape' "$g -e 'y = vectorize(lambda r: nonzero(r)[0])(f)' | grun f=[[1,2],[3,0]]"
    bad 3 E_DTYPE 'unique.*complex' "gload -i 'x: complex64[3]' -e 'y = unique(x)'"
    bad 3 E_VALUE 'unique: axis 2 is out of range for 2 dims' "$g -e 'y = unique(f, axis=2)'"
    bad 5 E_ARITHMETIC 'x must not be negative' "$g -e 'y = bincount(x)' | grun x=[1,-1]"
    bad 5 E_ARITHMETIC 'minlength must not be negative' "$g -e 'y = bincount(x, minlength=-2)' | grun x=[1,1]"
    bad 5 E_ARITHMETIC 'x must not be negative, nor 2\*\*63 or more' "gload --new -i 'x: uint64[n]' -e 'y = bincount(x)' --outputs y | grun x=[1,9223372036854775808]"
    bad 3 E_TYPE 'not float64' "$g -e 'y = bincount(f[0])'"
    ok "$g -e 'y = bincount(x, minlength=m)' -e 'z = bincount(x, f[0], m + 1)' -e 'w = bincount(x, None, 1)' -e 'd = grad(sum(z ** 2), f)' | grun x=[1,1,0] f=[[1,2,4],[0,0,0]]" 'y = [1, 2, 0]
z = [4.0, 3.0, 0.0, 0.0]
w = [1, 2]
d = [[6.0, 6.0, 8.0],
     [0.0, 0.0, 0.0]]'
    ok "$g -e 'y = select([x < 0, x > 2, True], [0, 9, 10 * x])' | grun x=[-1,3,2]" 'y = [0, 9, 20]'
    bad 5 E_ARITHMETIC 'an index is out of range' "$g -e 'y = ravel_multi_index([x, x], (2, 3))' | grun x=[1,2]"
    bad 5 E_ARITHMETIC 'a position is out of range' "$g -e 'y = unravel_index(x, (2, 3))' | grun x=[1,6]"
    bad 5 E_ARITHMETIC 'there is no choice of that number' "$g -e 'y = choose(x, [x, 5 * x])' | grun x=[1,2]"
    bad 3 E_ARG "choose: mode must be 'raise', 'wrap' or 'clip', not 'none'" "$g -e 'y = choose(x, [x, x], mode=\"none\")'"
    bad 3 E_DTYPE 'choose: a must be integers, not float64' "$g -e 'y = choose(f, [1, 2])'"
    bad 3 E_ARITY 'select has 2 values for conditions but 1 for choices' "$g -e 'y = select([x > 1, x > 2], [x])'"
    bad 3 E_ARITY 'lexsort: there are no keys' "$g -e 'y = lexsort([])'"
    bad 3 E_SHAPE 'the number of keys must be known' "$g -e 'y = lexsort(f.T)'"
    bad 3 E_SHAPE 'fill_diagonal: x must have at least 2 dims, not 1' "$g -e 'y = fill_diagonal(x, 0)'"
    bad 3 E_SHAPE 'fill_diagonal: all dims must be equal' "gload -i 'x: float64[2, 3, 2]' -e 'y = fill_diagonal(x, 0)'"
}

@test "one index for each row writes what a vector of indices writes" {
    gload --new -i 'x: float64[n, m, k]' -i 'i: int64[n, m]' -i 'y: float64[n, m]' -e 'rows = arange(n)[:, None]' -e 'columns = arange(m)' \
        -e 'a = put_along_axis(x, i[..., None], y[..., None], axis=2)' -e 'b = set_subtensor(x[rows, columns, i], y)' \
        -e 'c = scatter_elements(x, i[..., None], y[..., None], axis=2, reduction="add")' -e 'd = inc_subtensor(x[rows, columns, i], y)' \
        -e 'e = inc_subtensor(x[i[:, 0][:, None, None] % n], x[:, None, None])' -e 'f = inc_subtensor(x[i[:, 0] % n], x)' \
        -e 'same = [all(a == b), all(c == d), all(e == f)]' --outputs same -o s.tlg
    for n in 1 2 700; do
        ok "grun s.tlg 'x=normal(0, 1, ($n, 3, 5), seed=1)' 'i=integers(-5, 5, ($n, 3), seed=2)' 'y=normal(0, 1, ($n, 3), seed=3)' --threads 2" $'same/0 = True\nsame/1 = True\nsame/2 = True'
    done
    bad 5 E_INDEX 'out of range' "grun s.tlg 'x=ones((2, 3, 5))' 'i=[[0, 1, 2], [0, 1, 5]]' 'y=ones((2, 3))'"
}

@test "as an index alone, what gives positions is of these elements, as NumPy's tuples are" {
    local g="gload -i 'x: float64[n, m]' -i 'k: int64[p]'" v='x=[[1,2],[3,4]] k=[0,3]' e want
    while IFS='|' read -r e want; do
        ok "$g -e 'y = $e' --outputs y | grun $v --expect 'y=$want' -o o"
        ok "$g -e 'y = $e' --outputs y | grun $v --mode DEBUG --expect 'y=$want' -o o"
    done <<'END'
x[nonzero(x > 1)]|[2, 3, 4]
x[(x > 1).nonzero()]|[2, 3, 4]
x[nonzero([[0, 1], [1, 1]])]|[2, 3, 4]
x[0][nonzero(x[0] > 1)]|[2]
x[unravel_index(argmax(x), x.shape)]|4
x[unravel_index(k, (2, 2))]|[1, 4]
x[triu_indices(2)]|[1, 2, 4]
x[tril_indices(2, k=-1)]|[3]
x[diag_indices(2)]|[1, 4]
set_subtensor(x[triu_indices(2)], 0)|[[0, 0], [3, 0]]
inc_subtensor(x[nonzero(x > 2)], x[nonzero(x > 2)] * 2)|[[1, 2], [9, 12]]
grad(sum(x[nonzero(x > 1)] ** 2), x)|[[0, 4], [6, 8]]
vectorize(lambda r: r[unravel_index(argmax(r), r.shape)])(x)|[2, 4]
x[nonzero(x[0] > 1)[0]]|[[3, 4]]
x[0, nonzero(x[0] > 1)]|[[2]]
END
    # a name is a matrix
    shell "$g -e 'i = nonzero(x > 2)' -e 'y = x[i]' --outputs y -o g.tlg"
    [ "$status" = 0 ] && grep -q 'warning\[E_ARG\]: `i` is the matrix that nonzero gives' .err && grep -q 'write x\[nonzero(\.\.\.)\], or x\[i\[0\], \.\.\.\]' .err
    ok "grun g.tlg $v --expect 'y=[[[3, 4], [3, 4]], [[1, 2], [3, 4]]]' -o o"
    ok "$g -e 'i = nonzero(x > 2)' -e 'y = x[i[0], i[1]]' --outputs y | grun $v" 'y = [3.0, 4.0]'
    bad 3 E_ARITY 'topk has 2 outputs' "$g -e 'y = x[topk(x, 1)]'"
}
