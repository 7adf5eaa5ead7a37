/* Words of lib/vm/arm64.h, on any machine: those that GNU as makes of the same text for
 * aarch64. */
#include "vm/arm64.h"

#include "test.h"

int main(void) {
    const struct {
        const char *text;
        uint32_t word, ours;
    } row[] = {
        {"fadd v0.4s, v1.4s, v2.4s", 0x4E22D420, a64_pair(A64_FADD, false, 0, 1, 2)},
        {"fadd v31.2d, v30.2d, v29.2d", 0x4E7DD7DF,
         a64_pair(A64_FADD, true, 31, 30, 29)},
        {"fsub v7.4s, v16.4s, v23.4s", 0x4EB7D607,
         a64_pair(A64_FSUB, false, 7, 16, 23)},
        {"fsub v7.2d, v16.2d, v23.2d", 0x4EF7D607, a64_pair(A64_FSUB, true, 7, 16, 23)},
        {"fmul v1.4s, v2.4s, v4.4s", 0x6E24DC41, a64_pair(A64_FMUL, false, 1, 2, 4)},
        {"fmul v16.2d, v8.2d, v31.2d", 0x6E7FDD10, a64_pair(A64_FMUL, true, 16, 8, 31)},
        {"fdiv v3.4s, v31.4s, v0.4s", 0x6E20FFE3, a64_pair(A64_FDIV, false, 3, 31, 0)},
        {"fdiv v3.2d, v31.2d, v0.2d", 0x6E60FFE3, a64_pair(A64_FDIV, true, 3, 31, 0)},
        {"fcmeq v5.4s, v6.4s, v6.4s", 0x4E26E4C5, a64_pair(A64_FCMEQ, false, 5, 6, 6)},
        {"fcmeq v5.2d, v6.2d, v6.2d", 0x4E66E4C5, a64_pair(A64_FCMEQ, true, 5, 6, 6)},
        {"fcmge v31.4s, v20.4s, v21.4s", 0x6E35E69F,
         a64_pair(A64_FCMGE, false, 31, 20, 21)},
        {"fcmge v31.2d, v20.2d, v21.2d", 0x6E75E69F,
         a64_pair(A64_FCMGE, true, 31, 20, 21)},
        {"orn v3.16b, v31.16b, v17.16b", 0x4EF11FE3, a64_bits(A64_ORN, 3, 31, 17)},
        {"bsl v3.16b, v2.16b, v17.16b", 0x6E711C43, a64_bits(A64_BSL, 3, 2, 17)},
        {"fsqrt v1.4s, v30.4s", 0x6EA1FBC1, a64_unary(A64_FSQRT, false, 1, 30)},
        {"fsqrt v1.2d, v30.2d", 0x6EE1FBC1, a64_unary(A64_FSQRT, true, 1, 30)},
        {"fneg v16.4s, v2.4s", 0x6EA0F850, a64_unary(A64_FNEG, false, 16, 2)},
        {"fneg v16.2d, v2.2d", 0x6EE0F850, a64_unary(A64_FNEG, true, 16, 2)},
        {"fabs v4.4s, v4.4s", 0x4EA0F884, a64_unary(A64_FABS, false, 4, 4)},
        {"fabs v4.2d, v4.2d", 0x4EE0F884, a64_unary(A64_FABS, true, 4, 4)},
        {"frintn v0.4s, v31.4s", 0x4E218BE0, a64_unary(A64_FRINTN, false, 0, 31)},
        {"frintn v0.2d, v31.2d", 0x4E618BE0, a64_unary(A64_FRINTN, true, 0, 31)},
        {"frintm v5.4s, v6.4s", 0x4E2198C5, a64_unary(A64_FRINTM, false, 5, 6)},
        {"frintm v5.2d, v6.2d", 0x4E6198C5, a64_unary(A64_FRINTM, true, 5, 6)},
        {"frintp v5.4s, v6.4s", 0x4EA188C5, a64_unary(A64_FRINTP, false, 5, 6)},
        {"frintp v5.2d, v6.2d", 0x4EE188C5, a64_unary(A64_FRINTP, true, 5, 6)},
        {"frintz v5.4s, v6.4s", 0x4EA198C5, a64_unary(A64_FRINTZ, false, 5, 6)},
        {"frintz v5.2d, v6.2d", 0x4EE198C5, a64_unary(A64_FRINTZ, true, 5, 6)},
        {"fcvtl v3.2d, v16.2s", 0x0E617A03, a64_widen(3, 16, false)},
        {"fcvtl2 v3.2d, v16.4s", 0x4E617A03, a64_widen(3, 16, true)},
        {"ldr s31, [x4, x3]", 0xBC63689F, a64_load(A64_S, 31, 4, 3)},
        {"ldr d0, [x16, x3]", 0xFC636A00, a64_load(A64_D, 0, 16, 3)},
        {"ldr q16, [x5, x17]", 0x3CF168B0, a64_load(A64_Q, 16, 5, 17)},
        {"str s31, [x4, x3]", 0xBC23689F, a64_store(A64_S, 31, 4, 3)},
        {"str d0, [x16, x3]", 0xFC236A00, a64_store(A64_D, 0, 16, 3)},
        {"str q16, [x5, x17]", 0x3CB168B0, a64_store(A64_Q, 16, 5, 17)},
        {"ldr q17, [x2]", 0x3DC00051, a64_load_nth(17, 2, 0)},
        {"ldr q31, [x2, #240]", 0x3DC03C5F, a64_load_nth(31, 2, 15)},
        {"str q17, [x2]", 0x3D800051, a64_store_nth(17, 2, 0)},
        {"str q31, [x2, #240]", 0x3D803C5F, a64_store_nth(31, 2, 15)},
        {"ld1r {v30.4s}, [x17]", 0x4D40CA3E, a64_load_all(false, 30, 17)},
        {"ld1r {v2.2d}, [x4]", 0x4D40CC82, a64_load_all(true, 2, 4)},
        {"ldr x4, [x1]", 0xF9400024, a64_load_word(4, 1, 0)},
        {"ldr x2, [x2, #96]", 0xF9403042, a64_load_word(2, 2, 12)},
        {"mov x3, #0", 0xD2800003, a64_zero(3)},
        {"lsl x0, x0, #3", 0xD37DF000, a64_shift_left(0, 0, 3)},
        {"lsl x9, x1, #63", 0xD3410029, a64_shift_left(9, 1, 63)},
        {"and x1, x0, #-16", 0x927CEC01, a64_clear_low(1, 0, 4)},
        {"and x30, x2, #-2", 0x927FF85E, a64_clear_low(30, 2, 1)},
        {"and x7, x8, #0x8000000000000000", 0x92410107, a64_clear_low(7, 8, 63)},
        {"add x3, x3, #16", 0x91004063, a64_add(3, 3, 16)},
        {"add x3, x17, #4095", 0x913FFE23, a64_add(3, 17, 4095)},
        {"cmp x3, x1", 0xEB01007F, a64_compare(3, 1)},
        {"cmp x30, x16", 0xEB1003DF, a64_compare(30, 16)},
        {"adr x17, .-8", 0x10FFFFD1, a64_address(17, -8)},
        {"adr x1, .+6", 0x50000021, a64_address(1, 6)},
        {"adr x17, .+1048575", 0x707FFFF1, a64_address(17, 1048575)},
        {"adr x17, .-1048576", 0x10800011, a64_address(17, -1048576)},
        {"b.lo .-4", 0x54FFFFE3, a64_jump_if(A64_BELOW, -4)},
        {"b.hs .+60", 0x540001E2, a64_jump_if(A64_NOT_BELOW, 60)},
        {"b.lo .-1048576", 0x54800003, a64_jump_if(A64_BELOW, -1048576)},
        {"b.hs .+1048572", 0x547FFFE2, a64_jump_if(A64_NOT_BELOW, 1048572)},
        {"ret", 0xD65F03C0, a64_return()},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        CHECK(row[i].ours == row[i].word, "%s: %08X, not %08X", row[i].text,
              row[i].ours, row[i].word);
    return TEST_END("arm64");
}
