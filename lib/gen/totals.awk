# The totals of a gprof report, as a list in mdoc, from the FIELD rows of lib/prof/fields.def.
BEGIN { print ".Bl -tag -width Ds -compact" }
/^FIELD\(/ {
    name = $0; sub(/^FIELD\(/, "", name); sub(/,.*/, "", name)
    text = $0; sub(/^[^"]*"/, "", text); sub(/"\)$/, "", text)
    print ".It Li " name "\n" toupper(substr(text, 1, 1)) substr(text, 2) "."
}
END { print ".El" }
