# Files that comments name must be in the tree. Reads the names of all files, then sources; exits with the number of those
# that are nowhere.
FNR == NR { is[$0] = 1; next }
FNR == 1 { comment = FILENAME ~ /md$/ }
{
    s = $0
    if (!comment && (at = index(s, "/*"))) { comment = 1; s = substr(s, at) }
    if (!comment) next
    if (FILENAME !~ /md$/ && index(s, "*/")) comment = 0
    gsub(/"[^"]*"/, "", s)
    while (match(s, /[A-Za-z0-9_.*\/]*[a-z0-9_][a-z0-9_]+\.(c|h|def|rules|bats|cddl|ebnf|awk)[^a-zA-Z0-9_(]/)) {
        name = substr(s, RSTART, RLENGTH - 1); s = substr(s, RSTART + RLENGTH - 1)
        sub(/.*\//, "", name)
        if (!(name in is) && name !~ /^[.*]|^_|simd\.c$/) { print FILENAME ":" FNR ": there is no " name; bad++ }
    }
}
END { exit bad > 125 ? 125 : bad }
