# Lists the changes that could be made to C files: FILE:LINE:COLUMN:LENGTH:NEW TEXT, one operator, comparison, constant or
# truth value each. Comments, texts, the preprocessor, asserts, declarations of sizes, and what ends in a bug's message or
# an abort are left out: a change there is none, or can't be tested.
FNR == 1 { comment = 0 }
/^[ \t]*#/ || continued { continued = /\\$/; next }
/_Static_assert|abort\(\)|bug\(|^[ \t]*(static )?const .*\[[^]]*\] *(=|;)|^[ \t]*enum/ { next }
function change(at, length_, with) { printf "%s:%d:%d:%d:%s\n", FILENAME, FNR, at, length_, with }
# Blanks out texts and comments, so that columns stay.
function code(s,    out, i, c, in_text) {
    out = ""
    for (i = 1; i <= length(s); i++) {
        c = substr(s, i, 1)
        if (comment) {
            if (substr(s, i, 2) == "*/") { comment = 0; out = out " "; i++ }
            out = out " "
        } else if (in_text != "") {
            if (c == "\\") { out = out " "; i++ }
            else if (c == in_text) in_text = ""
            out = out " "
        } else if (substr(s, i, 2) == "/*") { comment = 1; out = out "  "; i++ }
        else if (substr(s, i, 2) == "//") return out
        else if (c == "\"" || c == "'") { in_text = c; out = out " " }
        else out = out c
    }
    return out
}
function tokens(s, token, with,    from, at) {
    for (from = 1; (at = index(substr(s, from), token)) > 0; from += at - 1 + length(token))
        change(from + at - 1, length(token), with)
}
function words(s, word, with,    from, at, before, after) {
    for (from = 1; (at = index(substr(s, from), word)) > 0; from += at - 1 + length(word)) {
        before = substr(s, from + at - 2, 1)
        after = substr(s, from + at - 1 + length(word), 1)
        if ((from + at - 1 == 1 || before !~ /[A-Za-z0-9_."]/) && after !~ /[A-Za-z0-9_.]/) change(from + at - 1, length(word), with)
    }
}
{
    s = code($0)
    tokens(s, " == ", " != "); tokens(s, " != ", " == ")
    tokens(s, " < ", " <= "); tokens(s, " <= ", " < ")
    tokens(s, " > ", " >= "); tokens(s, " >= ", " > ")
    tokens(s, " && ", " || "); tokens(s, " || ", " && ")
    tokens(s, " + ", " - "); tokens(s, " - ", " + ")
    tokens(s, " * ", " + "); tokens(s, " / ", " * "); tokens(s, " % ", " / ")
    tokens(s, " += ", " -= "); tokens(s, " -= ", " += "); tokens(s, " |= ", " = ")
    tokens(s, " << ", " >> "); tokens(s, " >> ", " << ")
    words(s, "true", "false"); words(s, "false", "true")
    words(s, "0", "1"); words(s, "1", "2"); words(s, "2", "3")
    for (at = 1; at <= length(s); at++)
        if (substr(s, at, 1) == "!" && substr(s, at + 1, 1) ~ /[A-Za-z_(]/ && substr(s, at - 1, 1) ~ /[ (]/) change(at, 1, "")
    if (match(s, /return [a-z_][A-Za-z0-9_]*(\[[^]]*\]|->[a-z_]+|\.[a-z_]+)*;/) && s !~ /return (true|false);/)
        change(RSTART, RLENGTH, "return 0;")
}
