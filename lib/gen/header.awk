# The manual of a C header in the small Markdown of mdoc.awk: a heading for each `/* ---- NAME ---- */`, below it what the
# header declares, each followed by the comment before it. What stands above the first heading is for the reader of the header.
/^\/\* ---- .* ---- \*\/$/ {
    print_entry()
    sub(/^\/\* ---- /, ""); sub(/ ---- \*\/$/, "")
    print "\n## " $0
    open = 1
    next
}
NR == 1 { print "## Description\n"; in_comment = 1 }
!open && !in_comment || /^#/ || /^}$/ && !in_struct { next }
# A comment begins an entry.
/^\/\* / { print_entry(); in_comment = 1 }
in_comment {
    line = $0
    last = sub(/ *\*\/$/, "", line)
    sub(/^(\/\*| \*) ?/, "", line)
    comment = comment line "\n"
    if (last) in_comment = 0
    if (last && !open) print_entry()
    next
}
/^$/ { if (!in_struct) print_entry(); next }
{
    sub(/^TL_API /, "")
    code = code "    " $0 "\n"
    if (/^typedef .*\{$/) in_struct = 1
    if (/^}/) in_struct = 0
}
function print_entry() {
    if (code != "") printf "\n%s", code
    if (comment != "") printf "\n%s", comment
    code = comment = ""
}
