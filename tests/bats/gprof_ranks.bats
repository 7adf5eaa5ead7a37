#!/usr/bin/env bats
# gprof --ranks: what ranks would exchange in a call of a graph, and take for it.
load common

# total GRAPH 'OPTIONS' FIELD: from the JSON report.
# shellcheck disable=SC2086 # several options
total() { gprof "$1" --static $2 -O json | jq -r ".total.$3"; }

# costs GRAPH 'OPTIONS' BYTES MESSAGES
costs() {
    local got
    got="$(total "$1" "$2" comm_bytes) $(total "$1" "$2" comm_messages)"
    [ "$got" = "$3 $4" ] || fail "$1 $2: $got, not $3 $4"
}

@test "a long sum: heads, halves, quarters, and the way back" {
    gload --new -i 'x: float64[n, 16]' -e 'y = all_sum(x)' --outputs y -o g.yaml
    # 524288 bytes: of 4 ranks, each sends 2 heads of 80 bytes, a half and a quarter, and the same back
    costs g.yaml '--dim n=4096 --ranks 4' $((2 * 80 + 2 * (524288 / 2 + 524288 / 4))) 6
    costs g.yaml '--dim n=4096 --ranks 1' 0 0
    costs g.yaml '--dim n=4096 --ranks 64' $((6 * 80 + 2 * 524288 * 63 / 64)) 18
    # 6 messages of 10 us, 786592 bytes at 1e9 a second
    [ "$(total g.yaml '--dim n=4096 --ranks 4 --link 1e9,10us' 'comm_time_s * 1e9 | round')" = $((60000 + 786592)) ]
    [ "$(total g.yaml '--dim n=4096 --ranks 4 --link 1GB' 'comm_time_s * 1e9 | round')" = $((30000 + 786592)) ]
}

@test "a short sum, several arrays in one exchange, and the other collectives" {
    gload --new -i 'x: float32[8]' -i 'z: float64[4]' -e 'a, b = all_sum(x, z)' --outputs a,b -o g.yaml
    costs g.yaml '--ranks 8' $((3 * (80 + 64))) 3
    gload --new -i 'x: float32[8]' -e 'y = all_max(x)' --outputs y -o g.yaml
    costs g.yaml '--ranks 8' $((3 * (80 + 32))) 3
    gload --new -i 'x: float32[8]' -e 'y = broadcast(x)' --outputs y -o g.yaml
    costs g.yaml '--ranks 4' $((2 * (80 + 32))) 2
    gload --new -i 'x: float64[n]' -e 'y = all_gather(x)' --outputs y -o g.yaml
    # shapes of 256 bytes each, then the rows, of which a rank has a fourth; what is long has heads of its own
    costs g.yaml '--dim n=64 --ranks 4' $((2 * 80 + 256 * 3 + 2 * 80 + 128 * 3)) 4
    costs g.yaml '--dim n=4096 --ranks 4' $((2 * 80 + 256 * 3 + 2 * 80 + 8192 * 3)) 6
    gload --new -i 'x: float64[n]' -e 'y = reduce_scatter(x)' --outputs y -o g.yaml
    costs g.yaml '--dim n=64 --ranks 4' $((2 * (80 + 512))) 2
    gload --new -i 'x: float64[n]' -e 'y = x + 1' --outputs y -o g.yaml
    costs g.yaml '--dim n=64 --ranks 4' 0 0
}

@test "exchanges in loops and functions count as often as they run; unknown sizes are unknown" {
    gload --new -i 'x: float64[n, 8]' -e 'h = scan(lambda r, s: s + all_sum(r), sequences=[x], outputs_info=[zeros(8)])' --outputs h -o g.yaml
    costs g.yaml '--dim n=10 --ranks 2' $((10 * (80 + 64))) 10
    gload --new -i 'x: float64[n, 8]' -e 'y = all_sum(x)' --outputs y -o g.yaml
    [ "$(total g.yaml '--ranks 2' comm_bytes)" = null ]
    like 'gprof g.yaml --static --ranks 2' '^ *2 +\? +\?'
    bad 2 E_MISSING 'comm_bytes is unknown' "gprof g.yaml --static --ranks 2 --assert 'comm_bytes < 1e9'"
}

@test "the table has each power of two, in text and in JSON" {
    gload --new -i 'x: float64[1000]' -e 'y = all_sum(x)' --outputs y -o g.yaml
    ok "gprof g.yaml --static --ranks 8 --link 1GB,10us | sed -n '/^ranks/,/^ *8/p'" $'ranks  messages     sent  their time\n    1         0      0 B  0.00 s\n    2         1  8.08 kB  18.1 us\n    4         2  16.2 kB  36.2 us\n    8         3  24.2 kB  54.2 us'
    gprof g.yaml --static --ranks 8 -O json >p.json
    [ "$(jq -c '[.scaling[].ranks]' p.json)" = '[1,2,4,8]' ]
    [ "$(jq '.scaling[3].comm_bytes == .total.comm_bytes' p.json)" = true ]
    gprof g.yaml x='ones(1000)' --ranks 4 -O json >m.json
    [ "$(jq '.scaling | map(.weak_time_s >= .comm_time_s and .ranks_time_s >= .comm_time_s) | all' m.json)" = true ]
    [ "$(jq '.total.time_s == .scaling[0].weak_time_s' m.json)" = true ]
    for f in p m; do
        python_with jsonschema -c 'import json, sys, jsonschema
jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))' $f.json "$ROOT/schemas/profile.schema.json"
    done
}

@test "assertions on what is exchanged" {
    gload --new -i 'x: float64[1000]' -e 'y = all_sum(x)' --outputs y -o g.yaml
    ok "gprof g.yaml --static --ranks 2 --assert 'comm_bytes == 8080' --assert 'comm_messages == 1' --assert 'comm_time_s < 10us' >/dev/null"
    bad 1 E_VERDICT 'comm_bytes' "gprof g.yaml --static --ranks 2 --assert 'comm_bytes < 8kB' >/dev/null"
    bad 2 E_MISSING 'comm_bytes was not measured' "gprof g.yaml --static --assert 'comm_bytes < 8kB' >/dev/null"
}

@test "a graph that was split costs what it cost before, and only its shards are shared" {
    ggrad "$DIGITS/model.yaml" --cost loss --wrt W,b --optimizer 'sgd(0.5)' -o plain.tlg
    grewrite plain.tlg --parallel x,y --shards 8 -o step.tlg
    plain=$(total plain.tlg '--dim n=1600' flops) split=$(total step.tlg '--dim n=1600' flops)
    [ "$(total step.tlg '--dim n=1600' unknown_flops)" = 0 ]
    awk -v a="$plain" -v b="$split" 'BEGIN { exit !(b > 0.9 * a && b < 1.2 * a) }' || fail "$split flops, not about $plain"
    gprof step.tlg --dim n=1600 --ranks 4 --threads 1 -O json >m.json
    # shards take most of the time, so that 4 ranks without an exchange would take less than 0.9 of it
    [ "$(jq '.total | .ranks_time_s - .comm_time_s < 0.9 * .time_s and .comm_messages > 0' m.json)" = true ]
}

@test "numbers of ranks and links that make no sense" {
    gload --new -i 'x: float64[1000]' -e 'y = all_sum(x)' --outputs y -o g.yaml
    for r in 3 -2 6 131072; do bad 2 E_USAGE 'ranks must be a power of two' "gprof g.yaml --static --ranks $r"; done
    bad 2 E_USAGE 'link needs --ranks' 'gprof g.yaml --static --link 10e9'
    for l in 0 -1 x '1e9,' 1e9,x 1e9,-1us 1e9,1us,2 1e9us 1e9,1GB 1GFLOP inf 1XB; do bad 2 E_USAGE 'a link has a speed' "gprof g.yaml --static --ranks 2 --link=$l"; done
    ok 'gprof g.yaml --static --ranks 2 --link 1.25GB,20us >/dev/null'
}
