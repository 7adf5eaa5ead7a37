# Includes only point down. Reads layers.tsv, then the files' #include lines as "path:#include "module/file.h"".
# `ops` is included by nobody but itself; siblings never see each other.
BEGIN { FS = "\t" }
FNR == NR { n = split($2, m, " "); for (i = 1; i <= n; i++) row[m[i]] = $1; next }
{
    split($0, part, ":#include \"")
    path = part[1]; inc = part[2]; sub(/".*/, "", inc)
    split(path, p, "/"); from = p[1] == "cmd" ? "cmd" : p[2]
    split(inc, q, "/"); to = q[1]
    if (to == "thunkline" || !(to in row) || from == to) next
    checked++
    if (to == "ops" || row[to] >= row[from]) {
        print path ": includes " inc ", which is not below " from; bad++
    }
}
END { printf "lint layers: %d passed, %d failed\n", checked - bad, bad; exit bad > 0 }
