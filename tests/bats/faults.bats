#!/usr/bin/env bats
# What the tools do when memory, address space, stack or time runs short: one clear error and its status, never a crash or a wait.
load common

# The sanitizers' own memory is more than what these tests leave.
plain_build() {
    ! grep -q __asan_init "$(command -v grun)" || skip 'a build with sanitizers needs more'
}

@test "products and inverses in any address space: a result or status 6, in bounded time" {
    plain_build
    gload --new -i 'a: float64[n, m]' -e 'b = a @ a' --outputs b -o mm.tlg
    gload --new -i 'a: float64[n, m]' -e 'b = inv(a)' --outputs b -o inv.tlg
    for kb in 20000 50000 100000 150000 180000 250000 400000; do
        ok "(ulimit -v $kb; timeout 20 grun mm.tlg 'a=ones((64,64))')"
        ok "(ulimit -v $kb; timeout 20 grun mm.tlg 'a=ones((150,150))' --threads 3)"
        shell "(ulimit -v $kb; timeout 20 grun inv.tlg 'a=eye(64)')"
        [ "$status" = 0 ] || bad 6 E_MEM 'inv: there is no room for OpenBLAS' "(ulimit -v $kb; timeout 20 grun inv.tlg 'a=eye(64)')"
    done
    ok "(ulimit -v 1000000; timeout 20 grun inv.tlg 'a=eye(2)')"
}
