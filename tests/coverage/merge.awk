# Merges the listings of `gcov -b -c -t` by line of source: what several objects compile (headers, kernels for each level of
# CPU, functions that one macro makes) is reached when one of them reaches it. Prints a table of the folders and writes what
# was never reached to the file OUT, as file:line: line|branch N never taken: source.
# Files outside of lib and cmd don't count.
function place(n) { return source SUBSEP n }
/^ *-: *0:Source:/ {
    source = $0
    sub(/^ *-: *0:Source:/, "", source)
    wanted = source ~ /^(lib|cmd)\//
    next
}
!wanted { next }
/^-+$/ { next }
/^branch / {
    key = place(line) SUBSEP $2
    if (!(key in branch)) branch[key] = 0
    if ($3 == "taken" && $4 + 0 > 0) branch[key] = 1
    if ($2 + 1 > branches[place(line)]) branches[place(line)] = $2 + 1
    next
}
/^(call|unconditional|function) / { next }
{
    if (split($0, part, ":") < 3) next
    count = part[1]
    gsub(/[ *]/, "", count)
    line = part[2] + 0
    if (line == 0 || count == "-") next
    key = place(line)
    if (!(key in reached)) {
        reached[key] = 0
        text[key] = $0
        sub(/^[^:]*:[^:]*:[ \t]*/, "", text[key])
        if (line > last[source]) last[source] = line
    }
    if (count + 0 > 0) reached[key] = 1
}
function folder(file) {
    sub(/\/[^\/]*$/, "", file)
    return file
}
function row(name, l, lt, b, bt) {
    return sprintf("%-20s %6d lines %6.2f %%  %6d branches %6.2f %%", name, lt, lt ? 100 * l / lt : 100, bt, bt ? 100 * b / bt : 100)
}
END {
    printf "" > OUT
    for (source in last) {
        d = folder(source)
        for (line = 1; line <= last[source]; line++) {
            key = place(line)
            if (!(key in reached)) continue
            lines[d]++
            all_lines++
            if (reached[key]) {
                hit[d]++
                all_hit++
            } else
                print source ":" line ": line never taken: " text[key] > OUT
            for (n = 0; n < branches[key]; n++) {
                if (!((key SUBSEP n) in branch)) continue
                forks[d]++
                all_forks++
                if (branch[key SUBSEP n]) {
                    took[d]++
                    all_took++
                } else if (reached[key])
                    print source ":" line ": branch " n " never taken: " text[key] > OUT
            }
        }
    }
    close(OUT)
    for (d in lines) print row(d, hit[d], lines[d], took[d], forks[d]) | "sort"
    close("sort")
    print row("total", all_hit, all_lines, all_took, all_forks)
}
