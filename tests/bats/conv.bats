#!/usr/bin/env bats
# Convolutions: values and gradients of PyTorch, how padding is written, sizes that are known only in a run.
load common

# A graph of the rows of conv.tsv: for each, checksums y1, gx1 and gw1 of the result and of the gradients; `want` has grun's
# arguments, one a line.
rows() { # DTYPE GRADIENTS(0 or 1)
    awk -F '\t' -v want=want -v dtype="$1" -v grads="$2" '
        function size(shape, n, k, d) {
            gsub(/[^0-9,]/, "", shape)
            n = 1
            for (k = split(shape, d, ","); k > 0; k--) n *= d[k]
            return n
        }
        function pattern(shape, a, b, m) {
            return "cast(reshape((arange(" size(shape) ") * " a " + " b ") % " m " - " int(m / 2) ", " shape "), \"" dtype "\")"
        }
        function checksum(name, value, shape, sum) {
            outputs = outputs (outputs ? ", " : "") name NR
            print "--expect\n" name NR "=" sum > want
            return "  " name NR " = sum(cast(reshape(" value ", [" size(shape) "]), \"int64\") * ((arange(" size(shape) ") * 101 + 7) % 1009))\n"
        }
        {
            let = let "  x" NR " = " pattern($2, 37, 11, 19) "\n  w" NR " = " pattern($3, 23, 5, 13) "\n"
            let = let "  r" NR ": " dtype $5 " = " $1 "(x" NR ", w" NR $4 ")\n" checksum("y", "r" NR, $5, $6)
            if (!grads) next
            let = let "  g" NR " = grad(sum(r" NR " * " pattern($5, 29, 3, 17) "), [x" NR ", w" NR "])\n"
            let = let checksum("gx", "g" NR "[0]", $2, $7) checksum("gw", "g" NR "[1]", $3, $8)
        }
        END { print "thunkline: 1\nlet: |\n" let "outputs: [" outputs "]" }' "$ROOT/tests/bats/conv.tsv"
}

check_rows() { # DTYPE GRADIENTS TOOL-OPTIONS...
    rows "$1" "$2" >g.yaml
    mapfile -t want <want
    grun g.yaml "${want[@]}" "${@:3}" >out 2>err || { head -n 20 err; false; }
}

@test "values and gradients are those of PyTorch" {
    check_rows float32 1
    check_rows float64 1 --threads 2
    check_rows int32 0
    check_rows int64 0
}

@test "padding is a number, numbers, pairs or a word, and is read back from every form" {
    local form
    cat >g.yaml <<'Y'
thunkline: 1
inputs: {x: 'float64[n, 2, h, 5]', w: 'float64[4, 2, 3, 3]'}
let: |
  a: float64[n, 4, h, 5] = conv(x, w, padding=1)
  b: float64[n, 4, ?, 9] = conv(x, w, padding=[2, 3])
  c: float64[n, 4, ?, 4] = conv(x, w, padding=[[2, 0], [0, 1]])
  d: float64[n, 4, ?, 6] = conv(x, w, padding=[1, 2, 1, 2])
  e: float64[n, 4, h, 3] = conv(x, w, padding='same', strides=(1, 2))
  f: float64[n, 4, ?, 3] = conv(x, w, padding='valid')
  g: float64[n, 4, ?, 3] = conv(x, w, padding='same_lower', strides=2)
  i: float64[n, 4, ?, 1] = conv(x, w, padding=[[0, 0], [-1, -1]], dilations=[2, 1])
outputs: [a, b, c, d, e, f, g, i]
Y
    for form in yaml json tlg; do
        gload g.yaml -O json | gload -O $form | gload -O yaml >out.$form
        sed -n 's/.* = conv(x, w\(, \)*\(.*\))$/\2/p' out.$form >calls
        diff calls - <<'X'
padding=[1]
padding=[2, 2, 3, 3]
padding=[2, 0, 0, 1]
padding=[1, 2, 1, 2]
strides=[1, 2], padding='same_upper'

strides=[2], padding='same_lower'
padding=[0, 0, -1, -1], dilations=[2, 1]
X
    done
    # the odd one is added at the end, or at the start
    ok 'gload -e "y = conv([[[1, 2, 3, 4]]], [[[10, 1]]], padding=\"same\")" | grun' 'y = [[[12, 23, 34, 40]]]'
    ok 'gload -i "x: int64[1, 1, n]" -e "y = conv(x, [[[10, 1]]], padding=\"same_lower\")" | grun "x=[[[1, 2, 3, 4]]]"' 'y = [[[1, 12, 23, 34]]]'
    ok 'gload -i "x: int64[1, 1, n]" -e "y = conv(x, [[[10, 1, 2]]], padding=[1, -1], strides=2)" | grun "x=[[[1, 2, 3, 4]]]"' 'y = [[[5]]]'
}

@test "an op file has padding as a prop, too" {
    printf 'thunkline: 1\nops:\n  twice:\n    inputs: x, w\n    props: "around: sides = 0"\n    def: conv(conv(x, w, padding=around), w, padding=around)\n' >own.yaml
    ok 'gload --ops own.yaml -e "y = twice([[[1, 2]]], [[[1, 1]]], around=[1, 0])" | grun --ops own.yaml' 'y = [[[1, 4]]]'
    ok 'gload --ops own.yaml -e "y = twice([[[1, 2]]], [[[1, 1]]], around=1)" | grun --ops own.yaml' 'y = [[[1, 4, 5, 2]]]'
}

@test "sizes that don't fit are errors, when the graph is built or when it runs" {
    bad 3 E_SHAPE 'x has 3 channels, but w takes 2' 'gload -e "y = conv(zeros([1, 3, 8]), zeros([4, 2, 3]))"'
    bad 3 E_SHAPE '4 channels of x can.t be divided into 3 groups' 'gload -e "y = conv(zeros([1, 4, 8]), zeros([4, 2, 3]), groups=3)"'
    bad 3 E_SHAPE '3 and 4 dims' 'gload -e "y = conv(zeros([1, 3, 8]), zeros([4, 3, 3, 3]))"'
    bad 3 E_SHAPE 'the kernel covers 5 elements along axis 2, but x has 4 with its padding' 'gload -e "y = conv(zeros([1, 3, 2]), zeros([4, 3, 3]), padding=1, dilations=2)"'
    bad 3 E_SHAPE 'x must have 3 to 5 dims, not 1' 'gload -e "y = conv([1., 2.], [3., 4.])"'
    bad 3 E_ARG 'padding must be a number, or a number or a pair .before, after. for each of 1 axis' 'gload -e "y = conv(zeros([1, 3, 8]), zeros([4, 3, 3]), padding=(1, 2, 3))"'
    bad 3 E_ARG "padding must be numbers, .valid., .same., .same_upper. or .same_lower., not .smae." 'gload -e "y = conv(zeros([1, 3, 8]), zeros([4, 3, 3]), padding=\"smae\")"'
    bad 3 E_ARG 'pairs' 'gload -e "y = conv(zeros([1, 3, 8]), zeros([4, 3, 3]), padding=[[1, 2, 3]])"'
    bad 3 E_ARG 'strides has 2 numbers for 1 axis' 'gload -e "y = conv(zeros([1, 3, 8]), zeros([4, 3, 3]), strides=(1, 2))"'
    bad 3 E_ARG 'dilations is 0: it must be 1 to' 'gload -e "y = conv(zeros([1, 3, 8]), zeros([4, 3, 3]), dilations=0)"'
    bad 3 E_ARG 'groups is 0' 'gload -e "y = conv(zeros([1, 3, 8]), zeros([4, 3, 3]), groups=0)"'
    bad 3 E_ARG 'groups is 4611686018427387904: it must be 1 to 2147483647' 'gload -e "y = conv(zeros([1, 3, 8]), zeros([4, 3, 3]), groups=4611686018427387904)"'
    gload -i 'y: float64[?, ?, ?]' -i 'w: float64[?, ?, ?]' -i 'n: int64[?]' -e 'x = conv_input_grad(y, w, n)' -o s.tlg
    bad 5 E_RUN_SHAPE 'size has 3 numbers for 1 spatial axes' 'grun s.tlg "y=[[[1]]]" "w=[[[1]]]" n=[1,2,3]'
    bad 3 E_SHAPE 'with these sizes dy has 8 along axis 2, not 9' 'gload -e "y = conv_input_grad(zeros([1, 3, 9]), zeros([3, 3, 2]), [9])"'
    bad 3 E_SHAPE 'size has 2 numbers for 1 spatial axis' 'gload -e "y = conv_weights_grad(zeros([1, 3, 9]), zeros([1, 3, 8]), [2, 2])"'
    bad 3 E_SHAPE 'the padding takes more along axis 2 than the result has .13.' 'gload -e "y = conv_transpose(zeros([1, 3, 9]), zeros([3, 3, 5]), padding=7)"'
    bad 3 E_ARG 'output_padding needs padding in numbers' 'gload -e "y = conv_transpose(zeros([1, 3, 9]), zeros([3, 3, 5]), padding=\"same\", output_padding=1)"'
    gload -i 'x: float64[?, ?, ?]' -i 'w: float64[?, ?, ?]' -i 'n: int64[1]' -e 'y = conv(x, w, groups=2)' -e 'z = conv_weights_grad(x, w, n)' -o g.tlg
    bad 5 E_RUN_SHAPE 'x has 2 channels for each group, but w takes 1' 'grun g.tlg --outputs y "x=[[[1],[1],[1],[1]]]" "w=[[[1]],[[1]]]" n=[1]'
    bad 5 E_RUN_SHAPE '3 channels can.t be divided into 2 groups' 'grun g.tlg --outputs y "x=[[[1],[1],[1]]]" "w=[[[1]],[[1]]]" n=[1]'
    bad 5 E_RUN_SHAPE 'the kernel covers 2 elements along axis 2, but x has 1' 'grun g.tlg --outputs y "x=[[[1],[1]]]" "w=[[[1, 1]],[[1, 1]]]" n=[1]'
    bad 5 E_RUN_SHAPE 'with these sizes dy has 1 along axis 2, not 2' 'grun g.tlg --outputs z "x=[[[1, 2]]]" "w=[[[1, 1]]]" n=[2]'
}

@test "derivatives of any order, rows and groups agree with finite differences and loops" {
    cat >g.yaml <<'Y'
thunkline: 1
inputs: {x: 'float64[2, 4, n, 6]', w: 'float64[4, 2, 3, 2]', v: 'float64[3, 4, 2, 3, 2]', u: 'complex128[1, 2, n]'}
let: |
  y = conv(x, w, padding='same', strides=2, groups=2)
  z = conv_transpose(y, w, padding=1, strides=(3, 2), dilations=(1, 2), output_padding=2, groups=2)
  first = grad(sum(y ** 3) + sum(sin(z)), [x, w])
  each = vectorize(lambda k: grad(sum(conv(x, k, padding=1, groups=2) ** 2), k))(v)
  looped = scan(lambda k: grad(sum(conv(x, k, padding=1, groups=2) ** 2), k), v)
  far = max(abs(each - looped))
  f = conv(u, u[:, :, ::-1], padding=2)
  cost = sum(y * y) + sum(z) + sum(first[0] ** 2) + sum(cos(first[1])) + sum(each) + sum(abs(f) ** 2)
outputs: [cost, far]
Y
    ok 'ggrad g.yaml --cost cost --wrt x,w,v,u --check'
    ok 'gload g.yaml --outputs far -e "same = far < 1e-9" | grun --outputs same "x=zeros([2, 4, 5, 6]) + sin(arange(6))" "v=reshape(cos(arange(144)), [3, 4, 2, 3, 2])"' 'same = True'
}
