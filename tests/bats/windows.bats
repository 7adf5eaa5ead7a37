#!/usr/bin/env bats
# Pooling, resampling and what belongs to them: values beside PyTorch's and ONNX's, and what is refused.
load common
load values

@test "values and gradients of windows are those of PyTorch and ONNX, in DEBUG, too" {
    families "$ROOT/tests/bats/windows.tsv"
    families "$ROOT/tests/bats/windows.tsv" --mode DEBUG --allow-nonfinite
}

@test "what windows can't be is said where it is known" {
    local call code text
    while IFS='|' read -r call code text; do
        bad 3 "$code" "$text" "gload --new -i 'x: float64[n, 2, 5, h]' -i 'z: float64[4]' -e '$call'"
    done <<'END'
max_pool(z, 2)|E_SHAPE|max_pool: x must have 3 to 5 dims, not 1
max_pool(x, [1, 2, 3])|E_ARG|size must be one integer, or one for each of 2 spatial axes, not 3
max_pool(x, 0)|E_VALUE|size must be from 1 to 2\^31 - 1, not 0
max_pool(x, 2, strides=-1)|E_VALUE|strides must be from 1 to 2\^31 - 1, not -1
max_pool(x, 2, dilations=[1, 1, 1])|E_ARG|dilations must be one integer, or one for each of 2 spatial axes, not 3
max_pool(x, 2, padding=[1, 2, 3])|E_ARG|padding must be one integer, or an integer or a pair for each of 2 spatial axes, not 3 integers
max_pool(x, 2, padding=-1)|E_VALUE|padding must be from 0 to 2\^31 - 1, not -1
max_pool(x, 2, padding="same")|E_ARG|padding must be 'valid', 'same_upper' or 'same_lower', or integers, not 'same'
avg_pool(x, 3, dilations=3)|E_SHAPE|the window covers 7 elements of spatial axis 0, which has 5 and padding of 0 and 0
max_pool(x > 1j, 2)|E_DTYPE|takes bool, integers or float, not complex
avg_pool(x * 1j, 2)|E_DTYPE|avg_pool takes float, not complex128
max_pool(x)|E_ARITY|max_pool needs the argument size
END
    bad 5 E_RUN_SHAPE 'the window covers 2 elements of spatial axis 1, which has 1 and padding of 0 and 0' \
        "gload --new -i 'x: float64[1, 1, 5, h]' -e 'max_pool(x, 2)' | grun 'x=ones((1, 1, 5, 1))'"
    bad 5 E_INDEX 'out of range' "gload -e 'max_unpool([[[1.]]], [[[4]]], [4])' | grun"
}

@test "the sizes of windows' results are known where they can be" {
    local call type
    while IFS='|' read -r call type; do
        ok "gload --new -i 'x: float32[n, c, h, 7]' -e 'out = $call' -O tree | sed -n 2p | grep -o 'float32.*\]'" "$type"
    done <<'END'
max_pool(x, 2)|float32[n, c, ?, 3]
max_pool(x, 2, ceil=True)|float32[n, c, ?, 4]
max_pool(x, 3, strides=1, padding=1)|float32[n, c, h, 7]
avg_pool(x, 2, strides=[1, 2], padding="same_upper")|float32[n, c, h, 4]
lp_pool(x, [1, 3], strides=2)|float32[n, c, ?, 3]
END
    ok "gload --new -i 'x: float32[n, c, h, 7]' -e 'max_pool(x, 3, strides=2, padding=[0, 1], ceil=True).shape[2]' | grewrite -O math | tail -n 1" 'out = minimum((h + -2) // 2, (h + -1) // 2) + 1'
    ok "gload --new -i 'x: float32[n, 2, h, 7]' -e 'out = max_pool(x, 3, 2)' | gprof --static --dim n=5 --dim h=9 -O json | jq .total.flops" 1080
    # rows of their own, and none
    ok "gload --new -i 'x: float64[b, 1, 2, 4]' -e 'vectorize(lambda v: max_pool(v, 2))(x)[0, 0]' | grun 'x=[[[[1, 2, 3, 4], [5, 6, 7, 1]]]]'" 'out = [[2.0, 4.0],
       [6.0, 7.0]]'
    ok "gload --new -i 'x: float64[b, 1, 2, 4]' -e 'sum(vectorize(lambda v: avg_pool(v, 2))(x))' | grun 'x=zeros((0, 1, 2, 4))'" 'out = 0.0'
}
