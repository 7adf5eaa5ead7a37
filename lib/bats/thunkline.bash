# Assertions on tensor graphs for bats tests. In a test file:
#
#     load /usr/local/share/thunkline/bats/thunkline.bash
#     @test "the model gives what it gave" {
#         assert_result model.yaml loss=2.302585 x='zeros((2, 64))' y='[1, 2]'
#     }
#
# Each runs one of the tools and fails the test with the tool's own message. They need nothing but bats.

# assert_graph FILE: it reads, and its types are right.
assert_graph() { gload --check -- "$1"; }

# assert_result FILE NAME=EXPECTED [grun's operands and options...]: running gives approximately that output.
assert_result() {
    local file=$1 expected=$2
    shift 2
    grun --expect "$expected" "$@" -- "$file" >/dev/null
}

# assert_same_graph A B: equal up to names and the order of independent definitions in the file.
assert_same_graph() { grewrite --diff "$2" -- "$1"; }

# assert_gradient FILE COST WRT [NAME=VALUE...]: the gradient agrees with finite differences.
assert_gradient() {
    local file=$1 cost=$2 wrt=$3
    shift 3
    ggrad --check --cost "$cost" --wrt "$wrt" "$@" -- "$file"
}

# assert_rewrite FILE [NAME=VALUE...]: rewriting changes no result, in three random runs.
assert_rewrite() {
    local file=$1
    shift
    grewrite --verify 3 "$@" -o /dev/null -- "$file"
}

# assert_cost FILE ASSERTION [gprof's options and operands...]: for example 'peak_bytes < 1e6' --dim n=100.
assert_cost() {
    local file=$1 claim=$2
    shift 2
    gprof --static --assert "$claim" "$@" -- "$file" >/dev/null
}
