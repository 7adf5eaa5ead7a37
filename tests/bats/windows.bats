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

@test "resizing: sizes that are known, sizes that a run knows, what is refused" {
    local call code text
    while IFS='|' read -r call text; do
        ok "gload --new -i 'x: float32[n, c, h, 6]' -i 's: int64[2]' -e 'out = $call' -O tree | sed -n 2p | grep -o 'float32.*\]'" "$text"
    done <<'END'
resize(x, (4, 8), "linear")|float32[n, c, 4, 8]
resize(x, (h, 8), "cubic")|float32[n, c, h, 8]
resize(x, s)|float32[n, c, ?, ?]
rescale(x, [2.0, 1.5], "linear")|float32[n, c, ?, 9]
rescale(x, [1.4], "linear", axes=[3])|float32[n, c, h, 8]
resize(x, [3, 5], "linear", axes=[-1, 1])|float32[n, 5, h, 3]
END
    ok "gload --new -i 'x: float64[n]' -i 's: int64[1]' -i 'f: float64[1]' -e 'a = resize(x, s, \"linear\")' -e 'b = rescale(x, f)' | grun x=[1,3] s=[3] f=[2.5]" 'a = [1.0, 2.0, 3.0]
b = [1.0, 1.0, 1.0, 3.0, 3.0]'
    ok "gload --new -i 'x: float64[n]' -e 'resize(x, [1], \"linear\", coordinates=\"align_corners\")[0]' | grun x=[5,7]" 'out = 5.0'
    # a single result has a place of its own in these, whenever its size is known
    while IFS='|' read -r call code text; do
        for s in s "[$code]"; do
            gload --new -i 'x: float64[n]' -i 's: int64[1]' -e "out = resize(x, $s, $call)" -o s.tlg
            ok "grun s.tlg --on-unused-input ignore x=[1,2,4] s=[$code]" "out = $text" || fail "resize(x, $s, $call)"
        done
    done <<'END'
'linear', coordinates='align_corners'|1|[1.0]
'linear', coordinates='align_corners'|2|[1.0, 4.0]
'linear', coordinates='align_corners'|5|[1.0, 1.5, 2.0, 3.0, 4.0]
'nearest', coordinates='pytorch_half_pixel'|1|[1.0]
'linear', coordinates='pytorch_half_pixel'|2|[1.25, 3.5]
'nearest', nearest='ceil'|5|[1.0, 2.0, 2.0, 4.0, 4.0]
'nearest', nearest='floor'|5|[1.0, 1.0, 2.0, 2.0, 4.0]
END
    ok "gload --new -i 'x: float64[2, n]' -i 's: int64[1]' -e 'sum(resize(x, s, \"cubic\") ** 3)' | tee s.tlg | ggrad --check x=[[1,2,5],[3,4,1]] s=[7] && ggrad --check --jvp x s.tlg x=[[1,2,5],[3,4,1]] s=[2]"
    while IFS='|' read -r call code text; do
        bad 3 "$code" "$text" "gload --new -i 'x: float64[3, 4]' -i 'e: float64[0, 2]' -i 's: int64[?]' -e '$call'"
    done <<'END'
resize(x, [2], "area")|E_ARG|resize: mode must be 'nearest', 'linear' or 'cubic', not 'area'
resize(x, [2], nearest="up")|E_ARG|nearest must be 'round_prefer_floor', 'round_prefer_ceil', 'floor' or 'ceil', not 'up'
resize(x, [2], coordinates="corners")|E_ARG|coordinates must be 'half_pixel', 'pytorch_half_pixel', .* or 'tf_crop_and_resize', not 'corners'
resize(x, [2, 2, 2])|E_ARG|there are 3 sizes for 2 axes
rescale(x, [2.0], axes=[0, 1])|E_ARG|there are 1 scales for 2 axes
resize(x, [2, 2], axes=[0, 0])|E_VALUE|axis 0 is out of range for 2 dims, or there twice
resize(x, s)|E_SHAPE|sizes must be a vector of known length, not int64\[\?\]
resize(x, [-1])|E_SHAPE|a size can't be negative
resize(e, [3, 3])|E_SHAPE|no elements to make 3 of
resize(x, [2], coordinates="tf_crop_and_resize")|E_ARG|needs region=, the starts of all axes, then their ends
resize(x, [2], [0.5, 1.0])|E_ARG|region= needs coordinates='tf_crop_and_resize'
resize(x, [2], [0.5], coordinates="tf_crop_and_resize")|E_SHAPE|region must have 2 numbers, not 1
resize(x * 1j, [2])|E_DTYPE|takes bool, integers or float, not complex128
END
    bad 5 E_ARITHMETIC 'the scale of axis 0 is 0, not finite or too extreme' "gload --new -i 'x: float64[2]' -i 'f: float64[1]' -e 'resample(x, [3], [[0.5, 1, f[0], 0]])' | grun x=[1,2] f=[0]"
    bad 5 E_RUN_SHAPE 'size 0 of the requested shape is negative: -1' "gload --new -i 'x: float64[2]' -i 's: int64[1]' -e 'resize(x, s)' | grun x=[1,2] s=[-1]"
    bad 5 E_RUN_SHAPE 'axis 0 has no elements to make 3 of' "gload --new -i 'x: float64[n]' -e 'resize(x, [3])' | grun 'x=zeros(0)'"
}

@test "non_max_suppression: ties, nan, no boxes, and what is refused" {
    local boxes='[[[0., 0., 1., 1.], [0., 0., 1., 1.], [5., 5., 6., 6.]]]'
    # the first of equal ones; nan is no score; touching boxes don't overlap
    ok "gload -e 'non_max_suppression($boxes, [[[0.5, 0.5, nan]]], 9)' | grun" 'out = [[0, 0, 0]]'
    ok "gload -e 'non_max_suppression([[[0., 0., 1., 1.], [1., 1., 0., 2.]]], [[[1., 2.]]], 9)' | grun" 'out = [[0, 0, 1],
       [0, 0, 0]]'
    ok "gload -e 'non_max_suppression($boxes, [[[1., 2., 3.]]], 0).shape[0]' -e 'b = non_max_suppression(zeros((2, 0, 4)), zeros((2, 3, 0)), 5).shape' -e 'c = non_max_suppression($boxes, [[[1, 2, 3]]], 1)' | grun" 'out = 0
b/0 = 0
b/1 = 3
c = [[0, 0, 2]]'
    ok "gload --new -i 'b: float32[n, m, 4]' -i 's: float32[n, k, m]' -e 'out = non_max_suppression(b, s, 3)' -O tree | sed -n 2p | grep -o 'int64.*\]'" 'int64[?, 3]'
    bad 3 E_SHAPE 'a box has 4 numbers, not 3' "gload -e 'non_max_suppression(zeros((1, 2, 3)), zeros((1, 1, 2)), 1)'"
    bad 3 E_SHAPE 'axis 1 has 2, axis 2 has 3, and they must be equal' "gload -e 'non_max_suppression(zeros((1, 2, 4)), zeros((1, 1, 3)), 1)'"
    bad 5 E_RUN_SHAPE 'boxes must be \[rows, boxes, 4\]' "gload --new -i 'b: float32[n, m, ?]' -e 'non_max_suppression(b, zeros((1, 1, 2)), 1)' | grun 'b=zeros((1, 3, 4))'"
}
