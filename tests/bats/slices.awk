# Every slice start:stop:step of a small range as a graph (what=graph) or as what Python makes of it (what=values).
function part(v) { return v == "None" ? "" : v }
function bound(v, n, low, high) { v += v < 0 ? n : 0; return v < low ? low : v > high ? high : v }
function slice(a, b, c, n,    low, high) {
    c = c == "None" ? 1 : c
    low = c > 0 ? 0 : -1
    high = c > 0 ? n : n - 1
    a = a == "None" ? (c > 0 ? low : high) : bound(a, n, low, high)
    b = b == "None" ? (c > 0 ? high : low) : bound(b, n, low, high)
    for (count = 0; c > 0 ? a < b : a > b; a += c)
        at[count++] = a
}
function joined(v, count,    i, s) {
    for (i = 0; i < count; i++)
        s = s (i ? ", " : "") sprintf("%.1f", v[i])
    return "[" s "]"
}
function row(name, a, b, c,    i, s) {
    s = part(a) ":" part(b) (c == "" ? "" : ":" part(c))
    if (what == "graph") {
        printf "  s%d = x[%s]\n  j%d = concatenate([x[%s], [9.]])\n  k%d = x[%s].shape[0]\n", name, s, name, s, name, s
        printf "  w%d = set_subtensor(x[%s], 9.)\n  i%d = inc_subtensor(x[%s], x[%s])\n  d%d = grad(sum(x[%s] ** 2), x)\n", name, s, name, s, s, name, s
        return
    }
    slice(a, b, c, n)
    for (i = 0; i < n; i++)
        x[i] = w[i] = t[i] = i + 1
    for (i = 0; i < n; i++) d[i] = 0
    for (i = 0; i < count; i++) {
        v[i] = x[at[i]]
        w[at[i]] = 9
        t[at[i]] = d[at[i]] = 2 * x[at[i]]
    }
    v[count] = 9
    printf "s%d = %s\nj%d = %s\nk%d = %d\n", name, joined(v, count), name, joined(v, count + 1), name, count
    printf "w%d = %s\ni%d = %s\nd%d = %s\n", name, joined(w, n), name, joined(t, n), name, joined(d, n)
}
BEGIN {
    nbound = split("None -9 -5 -4 -1 0 1 3 4 9", bounds, " ")
    nstep = split("None -3 -2 -1 1 2 3", steps, " ")
    if (what == "graph") print "thunkline: 1\ninputs:\n  x: float64[" dim "]\nlet: |"
    for (a = 1; a <= nbound; a++)
        for (b = 1; b <= nbound; b++)
            for (c = 1; c <= nstep; c++)
                row(++rows, bounds[a], bounds[b], steps[c])
    if (what != "graph") exit
    printf "outputs: ["
    for (i = 1; i <= rows; i++)
        printf("%ss%d, j%d, k%d, w%d, i%d, d%d", (i > 1 ? ", " : ""), i, i, i, i, i, i)
    print "]"
}
