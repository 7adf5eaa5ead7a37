# Reads ctags' functions ("T\t" before each) and the lines of all files ("L\tFILE\tLINE").
BEGIN { FS = "\t" }
function folder(f) { sub(/\/[^\/]*$/, "", f); return f }
function stem(f) { sub(/.*\//, "", f); sub(/\..*/, "", f); return f }
function show(what, name) { if (list) print "  " what ": " name | "sort" }
function shown() { if (list) close("sort") }
# A macro that defines a function is no function: its name stands for several.
$1 == "T" && $2 ~ /^[A-Z][A-Z0-9_]*$/ { next }
$1 == "T" {
    n++; name[n] = $2; file[n] = $3; static[n] = 0
    for (i = 5; i <= NF; i++) {
        if ($i ~ /^line:/) from[n] = substr($i, 6)
        if ($i ~ /^end:/) len[n] = substr($i, 5) - from[n] + 1
        if ($i == "file:" || $i ~ /^file:/) static[n] = 1
        if ($i ~ /^signature:/) params[n] = parameters(substr($i, 11))
    }
    at[$2, $3] = n
    of_name[$2]++
    next
}
# The commas of a parameter list that stand in no inner parentheses.
function parameters(s,    i, c, depth, count) {
    if (s ~ /^\( *(void)? *\)$/) return 0
    count = 1
    for (i = 2; i < length(s); i++) {
        c = substr(s, i, 1)
        if (c == "(") depth++
        else if (c == ")") depth--
        else if (c == "," && !depth) count++
    }
    return count
}
# Names in the code of a line: what follows // and what texts hold is left out.
{
    lines++; inside[folder($2)] += 0
    if (!($2 in seen)) { seen[$2] = 1; files++; inside[folder($2)]++ }
    s = substr($0, length($2) + 4)
    # A type's name is a prefix, too: Var and var_type, InferDims and infer_dims.
    if (match(s, /^(typedef struct|struct|typedef enum) [A-Z][A-Za-z]*|^}? ?[A-Z][A-Za-z]*;|^typedef .* [A-Z][A-Za-z]*;/)) {
        word = substr(s, RSTART, RLENGTH); gsub(/;/, "", word); sub(/.* /, "", word)
        sub(/^}/, "", word); gsub(/[A-Z]/, "_&", word); word = tolower(substr(word, 2)); sub(/_.*/, "", word); type[word] = 1
    }
    sub(/\/\/.*/, "", s)
    if (s ~ /^ \*|^\/\*.*\*\/$/) next
    gsub(/"([^"\\]|\\.)*"/, "\"\"", s)
    while (match(s, /[A-Za-z_][A-Za-z0-9_]*/)) {
        word = substr(s, RSTART, RLENGTH); s = substr(s, RSTART + RLENGTH)
        if (s ~ /^\(/) call[word, $2]++; else other[word, $2]++
    }
}
END {
    for (i = 1; i <= n; i++) {
        if (len[i] > 0) length_of[++m] = len[i]
        if (params[i] > 6) { many++; show("parameters", name[i] " " params[i] " " file[i]) }
        if (of_name[name[i]] > 1) { namesakes++; if (!(name[i] in told)) show("namesakes", name[i] " " of_name[name[i]]); told[name[i]] = 1 }
        if (name[i] ~ /^[a-z][a-z0-9]*$/) words++
        if (static[i]) {
            statics++
            calls = call[name[i], file[i]] - 1
            if (calls == 1 && !other[name[i], file[i]]) { once++; show("once", name[i] " " file[i]) }
        } else if (name[i] != "main") {
            globals++
            f = folder(file[i]); sub(/.*\//, "", f)
            word = name[i]; sub(/_.*/, "", word)
            if (word != f && index(name[i], stem(file[i])) != 1 && !(word in type) && word != "tl") { bare++; show("no prefix", name[i] " " file[i]) }
        }
    }
    shown()
    for (i = 2; i <= m; i++) { v = length_of[i]; for (j = i - 1; j > 0 && length_of[j] > v; j--) length_of[j + 1] = length_of[j]; length_of[j + 1] = v }
    for (d in inside) if (inside[d] > largest) { largest = inside[d]; where = d }
    printf "files / lines                              %d / %d\n", files, lines
    printf "function lines, median / p95 / max         %d / %d / %d\n", length_of[int((m + 1) / 2)], length_of[int(m * .95)], length_of[m]
    printf "statics used once, by a call               %.0f %% of %d\n", 100 * once / statics, statics
    printf "functions that have a namesake             %.0f %% of %d\n", 100 * namesakes / n, n
    printf "names of one word                          %d\n", words
    printf "functions with more than 6 parameters      %d\n", many
    printf "global functions without a prefix          %d of %d\n", bare, globals
    printf "files of the largest folder                %d (%s)\n", largest, where
}
