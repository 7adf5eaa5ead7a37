#!/usr/bin/env bats
# The derivatives of ops that reduce, rearrange and index: against finite differences, and prod where division fails.
load common

check() { # dtype[shape] expression
    printf 'thunkline: 1\nname: t\ninputs: |\n  x: %s\nlet: |\n  out = %s\noutputs: [out]\n' "$1" "$2" > "$BATS_TEST_TMPDIR/t.yaml"
    ggrad --cost out --wrt x --check "$BATS_TEST_TMPDIR/t.yaml" > "$BATS_TEST_TMPDIR/out" || { echo "$2"; return 1; }
}

@test "gradients: reductions" {
    while read -r expression; do
        check "float64[2, 3]" "$expression"
    done << EXPRESSIONS
sum(x)**2
sum(sum(x,axis=0)**2)
sum(sum(x,axis=1,keepdims=True)*x)
sum(mean(x,axis=1)**3)
sum(prod(x,axis=0)*2)
prod(x)
sum(prod(x,axis=(0,1),keepdims=True)**2)
sum(max(x,axis=1)**2)
sum(min(x)**2)
sum(var(x,axis=0)**2)
sum(std(x,axis=1,ddof=1)**2)
sum(logsumexp(x,axis=1)**2)
sum(cumsum(x,axis=1)**2)
sum(cumprod(x,axis=1)**2)
sum(cumprod(x,axis=0,exclusive=True,reverse=True)**2)
sum(cumsum(x,exclusive=True)**2)
sum(recurrence(x,x*2,axis=1)**2)
EXPRESSIONS
}

@test "gradients: shapes" {
    while read -r expression; do
        check "float64[2, 3]" "$expression"
    done << EXPRESSIONS
sum(transpose(x)[1:,0]**2)
sum(reshape(x,(3,2))[1]**2)
sum(expand_dims(x,1)**3)
sum(squeeze(expand_dims(x,1),axis=1)**3)
sum(broadcast_to(x,(4,2,3))**2)
sum(concatenate([x,x*2],axis=1)**2)
sum(stack([x,x**2],axis=-1)**2)
sum(flip(x,axis=1)*x)
sum(roll(x,1,axis=1)*x)
sum(roll(x,2)*x)
sum(shift(x,1,axis=1)*x)
sum(repeat(x,2,axis=1)**2)
sum(repeat(x,[1,2],axis=0)**2)
sum(tile(x,(2,2))**2)
sum(pad(x,1)**2)
sum(diagonal(x,offset=1)**2)
trace(x)**2
sum(tril(x)**2)+sum(triu(x,k=1)**3)
sum(outer(x,x))
sum(full((2,2),sum(x))**2)
sum(swapaxes(x,0,1)**2)
sum(moveaxis(x,0,1)[0]**2)
sum(specify_shape(x,(2,3))**2)
sum(x.T.ravel()**2)
sum(x*one_hot(argmax(x,axis=1),3))
sum(where(x>eye(2,3),x,0)**2)
EXPRESSIONS
}

@test "gradients: indices" {
    while read -r expression; do
        check "float64[2, 3]" "$expression"
    done << EXPRESSIONS
sum(diag(x[0])**2)
sum(x[:,[0,2,2]]**2)
sum(x[x>1]**2)
sum(x[::-1,None,1:]**2)
sum(set_subtensor(x[0],x[1]**2)**2)
sum(inc_subtensor(x[:,[0,0]],x[:,1:])**2)
sum(take(x,[1,1],axis=1)**2)
sum(take_along_axis(x,argsort(x,axis=1),axis=1)**2*2)
sum(sort(x,axis=1)**3)
sum(linspace(x[0,0],x[1,1],5)**2)
EXPRESSIONS
}

@test "gradients: a wrong one is found" {
    ! check "float64[2, 3]" "sum(max(stack([x, x * 1.0]), axis=0))"
}

@test "gradients: prod with zeros, twice and three times" {
    printf 'thunkline: 1\nname: t\ninputs:\n  x: float64[3]\nlet: |\n  g = grad(prod(x), x)\n  h = grad(g[0], x)\n  t = grad(h[1], x)\noutputs: [g, h, t]\n' > "$BATS_TEST_TMPDIR/p.yaml"
    run grun "$BATS_TEST_TMPDIR/p.yaml" 'x=[0, 2, 3]'
    [ "$output" = "g = [6.0, 0.0, 0.0]
h = [0.0, 3.0, 2.0]
t = [0.0, 0.0, 1.0]" ]
    run grun "$BATS_TEST_TMPDIR/p.yaml" 'x=[0, 0, 3]'
    [ "${lines[0]}" = "g = [0.0, 0.0, 0.0]" ]
    [ "${lines[1]}" = "h = [0.0, 3.0, 0.0]" ]
}

@test "the gradient of a concatenate of more parts than a split gives" {
    for size in n 2; do
        awk -v size=$size 'BEGIN {
            printf "thunkline: 1\ninputs:\n  x: float64[%s]\n  w: float64[?]\nlet: |\n", size
            for (i = 0; i < 2500; i++) printf "  h%d = x * %d.0\n", i, i
            printf "  out = sum(concatenate(["
            for (i = 0; i < 2500; i++) printf "%sh%d", i ? ", " : "", i
            print "]) * w)\noutputs: [out]"
        }' >c.yaml
        ok "ggrad --wrt x c.yaml | grewrite | grun x='[1.0, 2.0]' w='arange(5000) * 1.0' --outputs d_out_d_x" \
            'd_out_d_x = [10410417500.0, 10413541250.0]'
    done
}
