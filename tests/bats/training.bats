#!/usr/bin/env bats
# Training loops of grun: what a call computes, rows that appear when they are made, curves, signals, progress, the end.
load common

# A straight line through points: pred, loss and a tree r of both.
line_model() {
    cat >line.yaml <<'END'
thunkline: 1
inputs: {X: 'float64[n, 2]', t: 'float64[n]'}
shared: {w: 'float64[2] = zeros(2)'}
let: |
  pred = X @ w
  loss = mean((pred - t) ** 2)
  r = {'p': pred, 'l': loss}
outputs: [loss]
updates: {w: 'w - 0.01 * grad(loss, w)'}
END
    data='X=[[1,2],[3,4],[5,7]] t=[1,2,3]'
}

@test "--outputs: variables, trees and shared variables, instead of the graph's outputs" {
    line_model
    like "grun line.yaml $data --outputs pred" '^pred = \[0.0, 0.0, 0.0\]$'
    ok "grun line.yaml $data --outputs r,X" $'r/p = [0.0, 0.0, 0.0]\nr/l = 4.666666666666667\nX = [[1.0, 2.0],\n     [3.0, 4.0],\n     [5.0, 7.0]]'
    ok "grun line.yaml $data --outputs r/l" 'r/l = 4.666666666666667'
    grun line.yaml $data --steps 3 --outputs loss,pred >both
    grep -q '^loss = ' both && grep -q '^pred = ' both
    # a shared variable has its value after the call, the one that is saved; an output of that name keeps its meaning
    ok "grun line.yaml $data --steps 3 --outputs w --save t.tlg >w; grun t.tlg --no-updates --outputs w | cmp - w"
    gload line.yaml --outputs w -o old.tlg
    ok "grun old.tlg $data" 'w = [0.0, 0.0]'
    ok "grun old.tlg $data --outputs w" 'w = [0.0, 0.0]'
    bad 2 E_UNKNOWN 'did you mean pred' "grun line.yaml $data --outputs prd"
    bad 3 E_DUPLICATE 'pred is listed twice' "grun line.yaml $data --outputs pred,loss,pred"
    bad 2 E_UNKNOWN 'was rewritten, which keeps outputs' "gload line.yaml | grewrite | grun $data --outputs predd"
    # what is chosen for a run is not what is saved
    ok "grun line.yaml $data --outputs pred --no-updates --save s.yaml >/dev/null; grep -c -e '^outputs: \[loss\]' -e '^  w = ' s.yaml" 2
    gload -i 'x: float64' -e "y = sow(x + 1, tag='t', name='a')" -e 'z = y * 2' -o sown.tlg
    ok 'grun sown.tlg x=1 --reap t --outputs z' $'z = 4.0\nt/a = 2.0'
}

@test "--no-updates: neither done nor asked for" {
    line_model
    grun line.yaml $data --steps 3 --save t.tlg >/dev/null
    ok 'grun t.tlg X=[[1,2]] w=[2,3] --outputs pred --no-updates' 'pred = [8.0]'
    ok 'grewrite t.tlg | grun --no-updates X=[[1,2]] t=[8] w=[2,3]' 'loss = 0.0'
    ok "grun t.tlg $data --no-updates --steps 5 --save u.tlg >/dev/null; cmp <(grun t.tlg --no-updates --outputs w) <(grun u.tlg --no-updates --outputs w)"
    ok 'grun t.tlg --no-updates --outputs w w=[1,2] --save v.tlg; grun v.tlg --no-updates --outputs w' $'w = [1.0, 2.0]\nw = [1.0, 2.0]'
    bad 2 E_MISSING 'only the updates need t: --no-updates' 'grun t.tlg --outputs pred'
    grep -q 'missing inputs X: float64\[n, 2\], t: float64\[n\]' .err
    bad 2 E_MISSING 'only the updates need them: --no-updates' 'gload t.tlg --outputs w | grun'
    shell 'grun t.tlg --no-updates'
    [ "$status" = 2 ] && grep -q 'missing inputs X' .err && ! grep -q 'only the updates' .err
    # effects run with or without updates
    gload -i 'x: float64' -i 'k: float64' -e "y = sow(x, tag='t', name='a')" -e 'z = k' --outputs z -o sown.tlg
    bad 2 E_MISSING 'missing input x' 'grun sown.tlg k=1 --no-updates'
}

@test "-r and --expect take variables that are no outputs, and don't print them" {
    line_model
    ok "grun line.yaml $data --steps 2 -r w=w.npy -r pred=p.npz -r loss=p.npz --save t.tlg" ''
    ok "gload --new -e 'load(\"w.npy\")' --outputs out | grun -r out=a.npy; grun t.tlg --no-updates --outputs w -O npy | cmp - a.npy"
    ok "gload --new -e \"load('p.npz', 'pred')\" | grun | wc -l" 1
    ok "grun line.yaml $data -r w=w.npy" 'loss = 4.666666666666667'
    ok "grun line.yaml $data --outputs pred -r loss=l.npy" 'pred = [0.0, 0.0, 0.0]'
    ok "grun line.yaml $data --expect pred=[0,0,0]" 'loss = 4.666666666666667'
    bad 1 E_VERDICT 'pred is not as expected' "grun line.yaml $data --expect pred=[0,0,1]"
    bad 2 E_UNKNOWN 'did you mean pred' "grun line.yaml $data -r prd=p.npy"
    bad 2 E_UNKNOWN 'r is a tree: name one of its values, such as r/p' "grun line.yaml $data -r r=p.npz"
    ok "grun line.yaml $data -O npy --outputs pred --expect loss=4.666666666666667 | grun <(gload -i 'x: float64[3]' -e x) x=@-" 'out = [0.0, 0.0, 0.0]'
}

@test "gprof --outputs, --no-updates: only that is profiled" {
    line_model
    like "gprof line.yaml X=[[1,2]] --outputs pred --no-updates -O tsv --by op" '^(.*	)?matmul(	|$)'
    ok "gprof line.yaml --static --dim n=3 --outputs pred --no-updates --assert 'applies == 1' >/dev/null"
    ok "gprof line.yaml --static --dim n=3 --outputs pred --assert 'applies > 1' >/dev/null"
    bad 2 E_MISSING 'only the updates need it: --no-updates' 'gprof line.yaml X=[[1,2]] --outputs pred'
    bad 2 E_UNKNOWN 'did you mean pred' 'gprof line.yaml --static --outputs prd'
}
