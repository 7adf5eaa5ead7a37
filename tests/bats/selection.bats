#!/usr/bin/env bats
# Scattering, gathering, selecting: what is refused, and what sizes are known.
load common

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
