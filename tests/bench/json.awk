# Rows of the table, "name, value, ratio, goal" by tabs, as JSON, one on each line; a row without a value is a title.
BEGIN { FS = "\t"; print "["; between = "" }
function quoted(s) { gsub(/[\\"]/, "\\\\&", s); return "\"" s "\"" }
$2 == "" { title = $1; next }
{
    sub(/^ +/, "", $1)
    printf "%s{\"table\": %s, \"name\": %s, \"value\": %s, \"ratio\": %s, \"goal\": %s}", between, quoted(title), quoted($1), quoted($2), ($3 > 0 ? $3 : "null"), ($4 > 0 ? $4 : "null")
    between = ",\n"
}
END { print "\n]" }
