# Are two listings of results the same but for numbers that are nearly the same? -v t=TOLERANCE, relative above 1, else absolute.
function tokens(s, into) {
    gsub(/[][{}:,"]+/, " ", s)
    return split(s, into, " ")
}
function size(v) { return v < 0 ? -v : v + 0 }
FNR == NR { first[FNR] = $0; next }
{
    n = tokens(first[FNR], x)
    if (tokens($0, y) != n) {
        print "line " FNR " has other parts"
        exit bad = 1
    }
    for (i = 1; i <= n; i++) {
        if (x[i] == y[i]) continue
        scale = size(x[i]) < 1 ? 1 : size(x[i])
        if (x[i] !~ /[0-9]/ || y[i] !~ /[0-9]/ || size(x[i] - y[i]) > t * scale) {
            print "line " FNR ": " x[i] " and " y[i]
            exit bad = 1
        }
    }
}
END { exit bad }
