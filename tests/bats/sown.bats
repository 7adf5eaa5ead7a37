# Sows, reaps and plants of every kind of value, in loops, rows and branches: tables of what they give.
load common

inputs="-i 'x: float64[3]' -i 'm: float64[2, 3]' -i 'k: int64' -i 'z: float64[q, n]'"

@test "what harvests give, by mode, scope, loop and branch" {
    local line E
    while IFS= read -r line; do
        E=${line% => *}
        export E
        ok "gload --new $inputs -e \"out = \$E\" --outputs out -o o.tlg"
        ok 'grun o.tlg x=[1,2,3] m=[[1,2,3],[4,5,6]] k=2 z=[[1,2,3],[4,5,6]] --on-unused-input ignore | tr -s "\n " " "' "${line##* => } "
    done <<'END'
plant(lambda v: list_get(sow(make_list(v), tag='t', name='k'), 0), tag='t')({'k': make_list(m[0])}, x) => out = [1.0, 2.0, 3.0]
reap(lambda v: list_get(sow(make_list(v), tag='t', name='k', mode='clobber'), 0), tag='t')(x) => out/k = [[1.0, 2.0, 3.0]]
reap(lambda v: map(lambda w: list_get(sow(make_list(w), tag='t', name='k', mode='clobber'), 0), v), tag='t')(x) => out/k = [3.0]
plant(lambda v: map(lambda w: sow(w, tag='t', name='k', mode='clobber'), v), tag='t')({'k': m[0]}, z) => out = [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
plant(lambda v: map(lambda w: sow(w, tag='t', name='k', mode='append'), v), tag='t')({'k': m}, z) => out = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
plant(lambda v: vectorize(lambda w: sow(w, tag='t', name='k', mode='append'))(v), tag='t')({'k': [[1.0, 2, 3]]}, x) => out = [1.0, 2.0, 3.0]
plant(lambda v: vectorize(lambda w: sow(w, tag='t', name='k', mode='append') * sow(w, tag='t', name='k', mode='append'))(v), tag='t')({'k': [[1.0, 2, 3], [4, 5, 6]]}, x) => out = [4.0, 10.0, 18.0]
plant(lambda v: vectorize(lambda w: sow(w, tag='t', name='k'))(v), tag='t')({'k': [5.0, 6, 7]}, x) => out = [5.0, 6.0, 7.0]
reap(lambda v: vectorize(lambda w: sow(w, tag='t', name='k', mode='append') * sow(w * 2, tag='t', name='k', mode='append'))(v), tag='t')(x) => out/k = [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]
reap(lambda v: vectorize(lambda w: sow_cond(w, w > 1.5, tag='t', name='k'))(v), tag='t')(x) => out/k = [0.0, 2.0, 3.0]
reap(lambda v: map(lambda w: sow_cond(w, w > 1.5, tag='t', name='k'), v), tag='t')(x) => out/k = 3.0
reap(lambda v: map(lambda w: sow_cond(w, w[0] > 1.5, tag='t', name='k'), v), tag='t')(z) => out/k = [4.0, 5.0, 6.0]
reap(lambda v: map(lambda w: sow(w[w > 0], tag='t', name='k', mode='clobber'), v), tag='t')(z) => out/k = [4.0, 5.0, 6.0]
reap(lambda v: map(lambda w: sow_cond(concatenate([w, w]), w[0] > 1.5, tag='t', name='k'), v), tag='t')(m) => out/k = [4.0, 5.0, 6.0, 4.0, 5.0, 6.0]
reap(lambda v: map(lambda w: sow_cond(m * w, w > 1.5, tag='t', name='k'), v), tag='t')(x) => out/k = [[3.0, 6.0, 9.0], [12.0, 15.0, 18.0]]
reap(lambda v: sow_cond(m, v[:2] > 1.5, tag='t', name='k'), tag='t')(x) => out/k = [[0.0, 0.0, 0.0], [4.0, 5.0, 6.0]]
reap(lambda v: ifelse(k > 0, sow(v, tag='t', name='a'), sow(v * 2, tag='t', name='a')), tag='t')(x) => out/a = [1.0, 2.0, 3.0]
reap(lambda v: ifelse(k > 0, ifelse(k > 1, sow(v, tag='t', name='a'), sow(v * 3, tag='t', name='a')), sow(v * 2, tag='t', name='a')), tag='t')(x) => out/a = [1.0, 2.0, 3.0]
reap(lambda v: ifelse(k > 3, sow_cond(v, v > 1, tag='t', name='a'), sow(v * 2, tag='t', name='a', mode='clobber')), tag='t')(x) => out/a = [2.0, 4.0, 6.0]
reap(lambda v: [sow(v * 9, tag='t', name='a', mode='clobber'), ifelse(k > 3, sow_cond(v, v > 2, tag='t', name='a'), sow_cond(v * 2, v > 1, tag='t', name='a'))], tag='t')(x) => out/a = [9.0, 4.0, 6.0]
reap(nest(lambda v: sow(v, tag='t', name='a'), scope='s'), tag='t')(x) => out/s/a = [1.0, 2.0, 3.0]
plant(lambda v: vectorize(lambda w: nest(lambda u: sow(u, tag='t', name='k') * 2, scope='s')(w) + sum(array([w, -w])[array([w, -w]) > 0]))(v), tag='t')({'s': {'k': m[0] * 10}}, x) => out = [21.0, 42.0, 63.0]
reap(lambda v: vectorize(lambda w: nest(lambda u: sow(u, tag='t', name='k') * 2, scope='s')(w) + sum(array([w, -w])[array([w, -w]) > 0]))(v), tag='t')(x) => out/s/k = [1.0, 2.0, 3.0]
plant(lambda v: vectorize(lambda w: nest(lambda u: sow(u, tag='t', name='k', mode='append') * sow(u, tag='t', name='k', mode='append') * 2, scope='s')(w) + sum(array([w, -w])[array([w, -w]) > 0]))(v), tag='t')({'s': {'k': m * 10}}, x) => out = [801.0, 2002.0, 3603.0]
reap(lambda v: vectorize(lambda w: nest(lambda u: sow_cond(u, u > 1.5, tag='t', name='k') * 2, scope='s')(w) + sum(array([w, -w])[array([w, -w]) > 0]))(v), tag='t')(x) => out/s/k = [0.0, 2.0, 3.0]
reap(lambda v: [nest(lambda w: sow(w, tag='t', name='a', mode='append'), scope='s')(v), sow(v, tag='t', name='s/a', mode='append')], tag='t')(x) => out/s/a = [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
plant(lambda v: sow(v, tag='t', name='a/b') * sow(v, tag='t', name='a/c'), tag='t')({'a': {'b': m[0], 'c': m[1]}}, x) => out = [4.0, 10.0, 18.0]
harvest(lambda v: sow(v, tag='t', name='a'), tag='t')({'a': [1.0, 2, 3]}, x) => out/0 = [1.0, 2.0, 3.0] out/1 = {}
harvest(lambda v: sow(v, tag='t', name='a'), tag='t')({'a': {}}, x) => out/0 = [1.0, 2.0, 3.0] out/1/a = [1.0, 2.0, 3.0]
reap(lambda v: v, tag='t', exclusive=False)(x) => out = {}
reap(lambda v: sow(v, tag='t', name='a') + sow(v, tag='t', name='b'), tag='t', allowlist=['a'])(x) => out/a = [1.0, 2.0, 3.0]
reap(lambda v: sow(v, tag='t', name='a') + sow(v, tag='t', name='b'), tag='t', blocklist=('a',))(x) => out/b = [1.0, 2.0, 3.0]
reap(lambda v: sow(v, tag='t', name='a') + sow(v, tag='t', name='b'), tag='t', blocklist=None)(x) => out/a = [1.0, 2.0, 3.0] out/b = [1.0, 2.0, 3.0]
nest(lambda v: sow(v, tag='t', name='a'), scope='s')(x) => out = [1.0, 2.0, 3.0]
sow(x, tag='t', name='n', key=k) => out = [1.0, 2.0, 3.0]
END
}

@test "what can't be sown, planted or reaped: the one error, at its place" {
    local line E want
    while IFS= read -r line; do
        E=${line% => *}
        want=${line##* => }
        export E
        bad 3 E_ '' "gload --new $inputs -e \"out = \$E\" --outputs out -o o.tlg"
        sed -n 's/^gload: --expr:1:\([0-9]*\): error\[\([A-Z_]*\)\]: /\1 \2 /p' .err | grep -qxF -- "$want" || complain "should say: $want" "$E"
    done <<'END'
plant(lambda v: sow(make_list(v), tag='t', name='k', mode='append')[0], tag='t')({'k': x}, x) => 23 E_TYPE list(float64[3]) can't be planted row by row
plant(lambda v: map(lambda w: list_get(sow(make_list(w), tag='t', name='k', mode='append'), 0), v), tag='t')({'k': x}, x) => 46 E_TYPE list(float64) can't be planted row by row
plant(lambda v: list_get(sow(make_list(v), tag='t', name='k'), 0), tag='t')({'k': x}, x) => 32 E_TYPE the planted value of k is float64[3], but the sown value is list(float64[3])
plant(lambda v: list_get(sow(make_list(v), tag='t', name='k', mode='append'), 0), tag='t')({'k': x}, x) => 32 E_TYPE list(float64[3]) can't be planted row by row
reap(lambda v: list_get(sow_cond(make_list(v), k > 0, tag='t', name='k', mode='cond_clobber'), 0), tag='t')(x) => 31 E_TYPE sow_cond takes tensors, not list(float64[3])
reap(lambda v: [sow(v, tag='t', name='k', mode='append'), sow(make_list(v), tag='t', name='k', mode='append')], tag='t')(x) => 65 E_TYPE k is sown as list(float64[3]) here: appended rows form one array and must have the same dtype and shape
reap(lambda v: [sow(make_list(v), tag='t', name='k', mode='append'), sow(make_list(v), tag='t', name='k', mode='append')], tag='t')(x) => 23 E_TYPE k is sown as list(float64[3]) here: appended rows form one array and must have the same dtype and shape
reap(lambda v: list_get(sow(make_list(v), tag='t', name='k', mode='append'), 0), tag='t')(x) => 31 E_TYPE k is sown as list(float64[3]) here: appended rows form one array and must have the same dtype and shape
reap(lambda v: map(lambda w: list_get(sow(make_list(w), tag='t', name='k', mode='append'), 0), v), tag='t')(x) => 45 E_TYPE k is sown as list(list(float64)) here: appended rows form one array and must have the same dtype and shape
plant(lambda v: map(lambda w: sow(w, tag='t', name='k', mode='append'), v), tag='t')({'k': x}, z) => 37 E_TYPE the planted value of k is float64, but the sown value is float64[n]
plant(lambda v: map(lambda w: sow(w, tag='t', name='k', mode='append'), v), tag='t')({'k': 1.0}, z) => 37 E_TYPE the value planted for an appended name in a loop must have a row for each step, not float64
plant(lambda v: map(lambda w: sow(w, tag='t', name='k', mode='append'), v), tag='t')({'k': make_list(x)}, z) => 37 E_TYPE the value planted for an appended name in a loop must have a row for each step, not list(float64[3])
plant(lambda v: vectorize(lambda w: sow(w, tag='t', name='k', mode='append'))(v), tag='t')({'k': x}, x) => 43 E_SHAPE the value planted for the appended name k must have a row for each sow: expected float64[?, 3], not float64[3]
plant(lambda v: vectorize(lambda w: sow(w, tag='t', name='k'))(v), tag='t')({'k': 5.0}, x) => 43 E_TYPE the planted value of k is float64, but the sown value is float64[3]
reap(lambda v: map(lambda w: sow_cond(w[w > 0], w[0] > 1.5, tag='t', name='k'), v), tag='t')(z) => 36 E_SHAPE k is float64[?]: its shape must be known before the loop, which starts with zeros
reap(lambda v: map(lambda w: sow_cond(concatenate([w, w]), w[0] > 1.5, tag='t', name='k'), v), tag='t')(z) => 36 E_SHAPE k is float64[?]: its shape must be known before the loop, which starts with zeros
reap(lambda v: sow_cond(m * v, v > 1.5, tag='t', name='k'), tag='t')(x) => 22 E_SHAPE sow_cond: pred must be a scalar, or have an element for each row of the value: float64[2, 3] has no such rows for bool[3]
reap(lambda v: ifelse(k > 0, sow(v, tag='t', name='a', mode='clobber'), v * 2), tag='t')(x) => 22 E_NAME both branches of an ifelse must sow the same names: a is missing in the else branch
reap(lambda v: ifelse(k > 0, v * 2, sow(v, tag='t', name='a', mode='clobber')), tag='t')(x) => 22 E_NAME both branches of an ifelse must sow the same names: a is missing in the then branch
reap(lambda v: ifelse(k > 0, sow(v, tag='t', name='a'), sow(v[0], tag='t', name='a') * v), tag='t')(x) => 22 E_SHAPE ifelse: value 0 is float64[3] if the condition holds but float64 if not: they must have the same number of dims
reap(lambda v: ifelse(k > 0, sow(v, tag='t', name='a'), sow(k, tag='t', name='a') * v), tag='t')(x) => 22 E_DTYPE ifelse: value 0 is float64[3] if the condition holds but int64 if not: cast one of them: ifelse casts nothing by itself
reap(lambda v: ifelse(k > 0, print(sow(v, tag='t', name='a'), 'p'), sow(v * 2, tag='t', name='a')), tag='t')(x) => 75 E_DUPLICATE a has already been reaped
reap(lambda v: map(nest(lambda w: sow(w, tag='t', name='a'), scope='s'), v), tag='t')(x) => 31 E_DUPLICATE can't nest the scope s inside a scan: a scope can be used only once (mode strict)
reap(lambda v: sow({'a': v, 'b': [v, {'c': v}]}, tag='t', name='d'), tag='t')(x) => 44 E_TYPE a dict where a tensor is expected
plant(lambda v: sow({'a': v, 'b': [v, {'c': v}]}, tag='t', name='d')['b'][1]['c'], tag='t')({'d': {'b': {'1': {'c': m[1]}}}}, x) => 45 E_TYPE a dict where a tensor is expected
plant(lambda v: sow(v, tag='t', name='a'), tag='t')({'a': {'b': m[0]}}, x) => 71 E_TYPE a is sown as a value, but a dict is planted for it
plant(lambda v: sow(v, tag='t', name='a/b'), tag='t')({'a': m[0]}, x) => 67 E_TYPE a is sown as a scope: a dict of values is planted for it
plant(lambda v: v, tag='t')(x, x) => 35 E_ARG the first argument must be a dict of planted values: {'y': 0.}, or {} for none
plant(lambda v: v, tag='t')() => 7 E_ARG the first argument must be a dict of planted values: {'y': 0.}, or {} for none
plant(lambda v: v, tag='t')(v={}, x=x) => 37 E_ARG the first argument must be a dict of planted values: {'y': 0.}, or {} for none
harvest(lambda v: sow(v, tag='t', name='a'), tag='t')({'a': 'text'}, x) => 67 E_TYPE a string where a tensor is expected
harvest(lambda v: v, tag=3)({}, x) => 32 E_ARG tag must be a word in quotes, such as 'probe'
reap(lambda v: v, tag='t', exclusive=3)(x) => 44 E_ARG exclusive must be True or False
reap(lambda v: v, tag='t', allowlist=[3])(x) => 45 E_ARG allowlist must be a list of names: ['y', 'z']
reap(lambda v: v, tag='t', allowlist='a')(x) => 44 E_ARG allowlist must be a list of names: ['y', 'z']
nest(lambda v: v, scope='')(x) => 31 E_ARG scope must be a word in quotes, such as 'layer1'
nest(lambda v: v, scope=3)(x) => 31 E_ARG scope must be a word in quotes, such as 'layer1'
nest(3, scope='s')(x) => 12 E_TYPE expected a function: the name of one, or (lambda x: ...)
nest(lambda v, w: v, scope='s')(x) => 12 E_ARITY the function takes 2 arguments, but gets 1
sow(x, 't', 'n', 'append') => 14 E_TYPE a string can't be a value
sow(x, tag='t', name='n', mode=3) => 33 E_ARG sow: mode must be a string such as 'text', known when the graph is built, not a number
sow_cond(x, m > 0, tag='t', name='n') => 7 E_SHAPE sow_cond: pred must be a scalar, or have an element for each row of the value: float64[3] has no such rows for bool[2, 3]
sow(lambda v: v, tag='t', name='n') => 11 E_TYPE a function where a tensor is expected
END
}
