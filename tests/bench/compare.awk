# The ratios of two runs of the benchmarks that differ by more than a tenth. usage: awk -f compare.awk OLD.json NEW.json
# The status is 1 if one is worse.
function field(name,    s) {
    if (!match($0, "\"" name "\": (\"([^\"\\\\]|\\\\.)*\"|[^,}]*)")) return ""
    s = substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4)
    gsub(/^"|"$/, "", s)
    return s
}
!/^{/ { next }
{ key = field("table") ": " field("name"); ratio = field("ratio") }
ratio == "null" { next }
FNR == NR { old[key] = ratio; next }
key in old {
    rows++
    log_sum += log(ratio / old[key])
    if (ratio > old[key] * 1.1 || ratio < old[key] / 1.1) {
        if (!moved++) printf "\n%-60s %8s %8s\n", "ratios that moved by more than a tenth", "before", "now"
        printf "%-60s %8.2f %8.2f%s\n", key, old[key], ratio, (ratio > old[key] ? "  worse" : "")
        worse += (ratio > old[key])
    }
}
END {
    if (!rows) { print "compare: no row of one run is in the other" > "/dev/stderr"; exit 2 }
    printf "%d of %d ratios moved by more than a tenth, %d are worse; in the mean the ratio is %.3f of the earlier one\n", moved, rows, worse, exp(log_sum / rows)
    exit worse > 0
}
