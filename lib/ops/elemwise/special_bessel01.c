/* Bessel functions of the orders 0 and 1, in double: polynomials that interpolate at
 * Chebyshev nodes. Near 0 in x^2, after logarithms and zeros are taken out
 * (DLMF 10.8.1, 10.31.1); elsewhere J and Y by their modulus and phase (10.18.4), e^-x
 * sqrt(x) I and e^x sqrt(x) K (10.40). */
#include "ops/elemwise/special_bessel01.h"

#include "ops/elemwise/special_poly.h"

#define TL_LEVEL 0
#include "ops/elemwise/vmath.h"

#include <math.h>

#define TWO_OVER_PI 0x1.45f306dc9c883p-1

/* ---- J and Y ---- */
/* Zeros, in two parts. */
#define J0_ZERO 0x1.33d152e971b40p+1
#define J0_REST -0x1.0f539d7da258ep-53
#define J1_ZERO 0x1.ea75575af6f09p+1
#define J1_REST -0x1.60155a9d1b256p-53
#define Y0_ZERO 0x1.c982eb8d417eap-1
#define Y0_REST 0x1.ea9d270347f83p-56
#define Y1_ZERO 0x1.193bed4dff243p+1
#define Y1_REST -0x1.bd1e50d219bfdp-55

/* (J_0 - 1) / x^2 and (J_1 / x - 1 / 2) / x^2 for x < 1.5. */
static const double j_near[2][8] = {
    {-0x1p-2, 0x1.fffffffffffedp-7, -0x1.c71c71c71b162p-12, 0x1.c71c71c5e747ep-18,
     -0x1.234567029eb50p-24, 0x1.02e81bee8d5adp-31, -0x1.520886292fa21p-39,
     0x1.48e5635dabb06p-47},
    {-0x1p-4, 0x1.5555555555552p-9, -0x1.c71c71c71be67p-15, 0x1.6c16c16b9ad83p-21,
     -0x1.845c89a0a587ep-28, 0x1.27e4c817c50aep-35, -0x1.520f3a9337e33p-43,
     0x1.252abec456b0dp-51}};

/* J_0 / (z^2 - x^2) and J_1 / (x (z^2 - x^2)), with the zero z, for 1.5 <= x < 3. */
static const double j_next[2][10] = {
    {0x1.c031b14801c08p-4, -0x1.04a1dc1bfef55p-5, 0x1.c0a4c4428ef90p-9,
     -0x1.9929350a55dcdp-13, 0x1.d0aed3afc5263p-18, -0x1.690695315fb38p-23,
     0x1.98683d1f794e6p-29, -0x1.5f9e2aee2882bp-35, 0x1.dc7b4e86dc9cfp-42,
     -0x1.04acc887aeedcp-48},
    {0x1.9148ab0c6f986p-6, -0x1.475e083786c49p-8, 0x1.b037f3fada094p-12,
     -0x1.3f1902dad335ep-16, 0x1.301e208e4ee1ep-21, -0x1.96dcd861af821p-27,
     0x1.93f2ec11a6ba5p-33, -0x1.35cd1b420317ap-39, 0x1.7a6b71bc247b0p-46,
     -0x1.78dd1c8bb68a3p-53}};

/* (Y_0 - log(x / z) 2 J_0 / pi) / (z^2 - x^2), where z is its zero, and
 * ((Y_1 - log(x / z) 2 J_1 / pi) / (z^2 - x^2) + 2 / (pi z^2 x)) / x, for x < 3. */
static const double y_near[2][11] = {
    {-0x1.e0812c72a76a9p-4, 0x1.c3a7c81926668p-5, -0x1.245e12e0a7f60p-7,
     0x1.8364add06170bp-11, -0x1.394053885a0c2p-15, 0x1.561b585254bfcp-20,
     -0x1.0d93703d30f30p-25, 0x1.413a4098d2030p-31, -0x1.2bb4485c6e0adp-37,
     0x1.c1fe0bd00b9c2p-44, -0x1.15a20d8308b2fp-50},
    {-0x1.510f59a476262p-7, 0x1.48460b406d10cp-8, -0x1.65c3cbbadaaadp-11,
     0x1.91986f7fbdf99p-15, -0x1.187a6da047096p-19, 0x1.0d41c94b5e46ep-24,
     -0x1.7a71095edabd5p-30, 0x1.96f2134f10217p-36, -0x1.59f79d9c7a152p-42,
     0x1.dd27ed8fc97dap-49, -0x1.1047887d89034p-55}};

/* sqrt(x) times the modulus, and x^3 times the phase less its terms of order 1 / x and
 * above, for 3 <= x < 8, in 1 / x; and in 1 / x^2 for x >= 8. */
static const double mid_size[2][15] = {
    {0x1.97454dba434f9p-1, -0x1.0fa444b197286p-9, -0x1.7c270c22b1cd7p-12,
     0x1.2ddeae881cc51p-15, -0x1.ffac972ee4cbdp-21, -0x1.a6666a0db0ca8p-22,
     0x1.b373e843d0164p-24, -0x1.e585b93a69dcdp-27, 0x1.71461067c5c5ap-31,
     0x1.5195bb0c9a7d0p-32, -0x1.170fb7b98dae6p-33, 0x1.10930b0385559p-35,
     -0x1.70d0003ec4a60p-38, 0x1.1e0292bfc9ee5p-44, 0x1.f2befc8eae2a4p-43},
    {0x1.9c5afe70b591ap-1, 0x1.ac29274eaeb84p-8, 0x1.4a1f675227b5cp-10,
     -0x1.4f642354b449fp-14, -0x1.ddd3b7ae0cd66p-24, 0x1.e317625f857a8p-21,
     -0x1.629e6705b12e0p-23, 0x1.2c49a3f8ec081p-26, -0x1.1394f64f88daep-36,
     -0x1.38032b1996ec7p-31, 0x1.8e9e1e4b20be6p-33, -0x1.5595d0e76fa0bp-35,
     0x1.8f7480a954c34p-38, 0x1.0aeaffe2d3135p-42, -0x1.79e58cce3bdbep-42}};

static const double mid_phase[2][16] = {
    {0x1.d214d54c7e402p-5, -0x1.7b291f3479e78p-8, -0x1.0cdc7c7e7fa30p-12,
     0x1.c149c7a012587p-13, -0x1.77c62bb426a03p-15, 0x1.1e4b8bbbf2ad2p-18,
     0x1.63cdd666422e6p-21, -0x1.d8793c09d8d05p-22, 0x1.0fc736f26bb58p-23,
     -0x1.9c932b27b9e94p-26, 0x1.20731c004f654p-29, 0x1.62a267101814ap-31,
     -0x1.d5dc5d8bb2e06p-32, 0x1.4f4a9da4983cep-33, -0x1.59bda0a952250p-35,
     0x1.8c1c1121c4eedp-38},
    {-0x1.30be695f61a02p-3, 0x1.7068cb318343cp-7, 0x1.b42f19253f048p-11,
     -0x1.9801ebdb1034ap-12, 0x1.0fb7498affe0fp-14, -0x1.0e52796f883f7p-18,
     -0x1.732acc47eda63p-20, 0x1.5aedcedff8553p-21, -0x1.5e93124d95168p-23,
     0x1.d33111aec13e6p-26, -0x1.8170522b6eab1p-30, -0x1.2d8183d5c7b3cp-30,
     0x1.3ce29d1f91bbcp-31, -0x1.9e3dcd5a22821p-33, 0x1.7ea5220f7fce7p-35,
     -0x1.6cda7bff845aep-38}};

static const double far_size[2][13] = {
    {0x1.9851e56f2953bp-1, -0x1.8e883c79ce5c1p-12, 0x1.2e71cc5732501p-18,
     -0x1.4c1305cc75ab1p-23, 0x1.504f2b4b88130p-27, -0x1.00e9367826ae5p-30,
     0x1.0843662d6a19bp-33, -0x1.55004b3c21227p-36, 0x1.0697304c8bea1p-38,
     -0x1.bf02d3eee3b2cp-41, 0x1.b63ebdf122b99p-43, -0x1.69bb67288015ep-44,
     0x1.c87b440bacb67p-46},
    {0x1.991c527e7f063p-1, 0x1.2dabbdc47f22bp-10, -0x1.20f37abf57a23p-17,
     0x1.fbf50c3697f80p-23, -0x1.cca8252ea65b4p-27, 0x1.4b0e88d43befep-30,
     -0x1.47de33ee2b038p-33, 0x1.9c4ec95958115p-36, -0x1.37a23870ace9ep-38,
     0x1.05f26e1c567b8p-40, -0x1.fc1c64ed6fb16p-43, 0x1.9ccda0a6bd931p-44,
     -0x1.02899acd13512p-45}};

static const double far_phase[2][15] = {
    {0x1.0454a623d8807p-4, -0x1.7ffabb1457b0dp-10, 0x1.3a30854781c2cp-14,
     -0x1.a73c1f4ceba4ep-18, 0x1.93a99d9d165cep-21, -0x1.f1ec607bd7c48p-24,
     0x1.763e0c857144ep-26, -0x1.48c9e7aac7d14p-28, 0x1.4803b3b279eb6p-30,
     -0x1.726cd7cec600ep-32, 0x1.c44f02d78cca3p-34, -0x1.c2400e4773f9cp-36,
     0x1.21e4317bdd996p-37, -0x1.2464f3e3130f8p-37, 0x1.e35be786b15d4p-39},
    {-0x1.4a56021df0249p-3, 0x1.5aa28c592a2b6p-9, -0x1.d33e6c61e2922p-14,
     0x1.1cee872f527bap-17, -0x1.00ffaee77fca1p-20, 0x1.321c591bf90fcp-23,
     -0x1.c14803de2dd06p-26, 0x1.83eb23a0024e8p-28, -0x1.7de82d5b67678p-30,
     0x1.aa76d9bf25309p-32, -0x1.021a61eddfdd9p-33, 0x1.010c0c19e4c7dp-35,
     -0x1.49852604c0e28p-37, 0x1.45f7b9832f66dp-37, -0x1.0c435fd35d03ep-38}};

/* z^2 - x^2 */
static double from_zero(double zero, double rest, double x) {
    return ((zero - x) + rest) * (zero + x);
}

/* log(x / z) */
static double log_ratio(double x, double zero, double rest, double log_zero) {
    double miss = (x - zero) - rest;
    return fabs(miss) < 0.5 * zero ? log1p(miss / zero) : log(x) - log_zero;
}

static double j_small(int order, double x) {
    double u = x * x;
    if (x < 1.5) {
        double r = u * POLY(j_near[order], u);
        return order ? 0.5 * x + x * r : 1 + r;
    }
    double r = POLY(j_next[order], (u - 5.625) * (1 / 3.375));
    return order ? r * x * from_zero(J1_ZERO, J1_REST, x)
                 : r * from_zero(J0_ZERO, J0_REST, x);
}

static double y_small(int order, double x) {
    double r = POLY(y_near[order], x * x * (1 / 4.5) - 1),
           j = TWO_OVER_PI * j_small(order, x);
    if (order == 0)
        return log_ratio(x, Y0_ZERO, Y0_REST, -0x1.cce4b73e6f025p-4) * j +
               r * from_zero(Y0_ZERO, Y0_REST, x);
    return log_ratio(x, Y1_ZERO, Y1_REST, 0x1.930641fe98869p-1) * j +
           (r * x - 0x1.0e14beba09e96p-3 / x) * from_zero(Y1_ZERO, Y1_REST, x);
}

/* x - pi / 4 - k pi / 2 for x in [3, BESSEL01_MOST], where k, from near and in the low
 * bits of *turns, makes near - pi / 4 - k pi / 2 small. In long double, which leaves
 * enough digits near a zero; pi / 4 in three parts, the first two of 38 bits. */
static long double reduce(double x, double near, uint64_t *turns) {
    double m = (near * TWO_OVER_PI - 0.5) + ROUND64;
    long double odd = 2 * (long double)(m - ROUND64) + 1;
    *turns = f64_bits(m);
    return (((long double)x - odd * 0x3243f6a888p-38L) - odd * 0x2d18469898p-77L) -
           odd * 0xcc51701b839a2520p-141L;
}

/* Modulus times the cosine of the phase, or its sine: x - (2 v + 1) pi / 4 + (4 v^2 -
 * 1) / (8 x) + ... */
static double turning(int order, double x, bool second) {
    double w = 1 / x, size, phase;
    if (x < 8) {
        double t = (w - 11.0 / 48) * 9.6;
        size = POLY(mid_size[order], t);
        phase = POLY(mid_phase[order], t);
    } else {
        double t = w * w * 128 - 1;
        size = POLY(far_size[order], t);
        phase = POLY(far_phase[order], t);
    }
    uint64_t turns;
    double first = order ? 0.375 : -0.125;
    long double angle =
        reduce(x, x + first * w, &turns) +
        ((long double)first / (long double)x + (long double)(phase * (w * w * w)));
    double r = (double)angle, rest = (double)(angle - (long double)r);
    return sin_turned(sin_poly64(r, rest), cos_poly64(r, rest),
                      turns - (uint64_t)order + !second) *
           (size * sqrt(w));
}

double bessel_j01(int order, double x) {
    double a = fabs(x), r = a < 3 ? j_small(order, a) : turning(order, a, false);
    return order && x < 0 ? -r : r;
}

double bessel_y01(int order, double x) {
    return x < 3 ? y_small(order, x) : turning(order, x, true);
}

/* ---- I and K ---- */
/* I_0 and I_1 / x for x < 8. */
static const double i_near[2][16] = {
    {0x1p+0, 0x1.0000000000004p-2, 0x1.fffffffffff45p-7, 0x1.c71c71c71d358p-12,
     0x1.c71c71c70ef94p-18, 0x1.2345678a3b363p-24, 0x1.02e85c00c634fp-31,
     0x1.522a448d1c138p-39, 0x1.522a3bdea4416p-47, 0x1.0b318351a4203p-55,
     0x1.55fceae2f697ap-64, 0x1.69fbf8016c6a9p-73, 0x1.401b06c070f1fp-82,
     0x1.f72e4735e2d2fp-92, 0x1.05433b1b32441p-101, 0x1.294193ed78270p-110},
    {0x1p-1, 0x1.0000000000001p-4, 0x1.5555555555540p-9, 0x1.c71c71c71c9ecp-15,
     0x1.6c16c16c13a93p-21, 0x1.845c8a0d26f80p-28, 0x1.27e4fb73f1ad7p-35,
     0x1.522a443ba2a26p-43, 0x1.2c97552280795p-51, 0x1.ab8234c2c46fbp-60,
     0x1.f17258b099a34p-69, 0x1.e290ec0d14f98p-78, 0x1.8a6faa072cdf9p-87,
     0x1.1dc3a22d140b2p-96, 0x1.1ec8e2d9b0ddbp-106, 0x1.20de50ee937a2p-115}};

/* e^-x sqrt(x) I for x >= 8, in 1 / x. */
static const double i_far[2][25] = {
    {0x1.9bd428ad249a5p-2,   0x1.b87969bb93b75p-9,   0x1.1daa72b5e650cp-13,
     0x1.75e5ee71edd14p-17,  0x1.8e513a1d5e52bp-20,  0x1.3f49a6bcfc2d9p-22,
     0x1.7d0f75812d9bcp-24,  0x1.51ced7b713adcp-25,  0x1.7224b1828e507p-26,
     0x1.03896efb09a41p-27,  -0x1.ce768f00b5374p-28, -0x1.cc90f59ec1228p-27,
     -0x1.77cc956faaa2fp-28, 0x1.0317d4c7b215ap-27,  0x1.047454ffcb608p-27,
     -0x1.df1549cddfaf8p-29, -0x1.a9411c5b0ad08p-28, 0x1.9bbbfe31d81e9p-30,
     0x1.0ab5ef575d285p-28,  -0x1.31c908a5dd531p-31, -0x1.e8fd992032bedp-30,
     0x1.42a55974d41b8p-33,  0x1.1ce14787c5bdep-31,  -0x1.52109c25bd9ecp-36,
     -0x1.36e52c10032d7p-34},
    {0x1.8ebe783a84030p-2,   -0x1.3f796198ee628p-7,  -0x1.cbc54df1ece76p-13,
     -0x1.f89c23066d278p-17, -0x1.ec8e101744487p-20, -0x1.76137e6905189p-22,
     -0x1.ad8db6e1fecbbp-24, -0x1.727a73a8063a8p-25, -0x1.9180f82a1d429p-26,
     -0x1.21895bb7ba33fp-27, 0x1.cd81846fb3ff1p-28,  0x1.e20e7d69649cap-27,
     0x1.9f203cf2783b7p-28,  -0x1.0630cddd4e099p-27, -0x1.1465ce7d29637p-27,
     0x1.d4345a69bfc30p-29,  0x1.bdc8daed57db9p-28,  -0x1.858c7591014bdp-30,
     -0x1.162964d5f91dbp-28, 0x1.1aee882806184p-31,  0x1.fce6b32270b52p-30,
     -0x1.272ae05110368p-33, -0x1.2839623e2341cp-31, 0x1.33e83e12ca3b4p-36,
     0x1.432b0a4121172p-34}};

/* K_0 + log(x) I_0 and (K_1 - log(x) I_1 - 1 / x) / x, for x < 1. */
static const double k_near[2][8] = {
    {0x1.dadb014541eb2p-4, 0x1.1dadb014541edp-2, 0x1.9dadb01453f6ep-6,
     0x1.bb90e85e13c13p-11, 0x1.f474766fbdbeap-17, 0x1.5d6b288377c9fp-23,
     0x1.4c1f24650b301p-30, 0x1.d18d85e88bbc1p-38},
    {-0x1.3b5b6028a83d6p-2, -0x1.5dadb014541ecp-4, -0x1.303ae729ff27ep-8,
     -0x1.d802af7a6fbf5p-14, -0x1.a2918212c5226p-20, -0x1.e212b2db4be01p-27,
     -0x1.86258b6d14c27p-34, -0x1.db688ccb14ac9p-42}};

/* e^x sqrt(x) K for x >= 1, in (x - 3) / (x + 1). */
static const double k_far[2][23] = {
    {0x1.356417a9f2ee9p+0,   0x1.a932e00d70339p-5,   -0x1.287ae72aabd63p-7,
     0x1.334777d999167p-9,   -0x1.2d4432422cf96p-11, 0x1.55615cf60282bp-13,
     -0x1.6d1e88ce3b329p-15, 0x1.b49009dc3d31cp-17,  -0x1.e1ff18888a986p-19,
     0x1.2dfa95fdc58dcp-20,  -0x1.4ced252759cb9p-22, 0x1.bab9e7356cef9p-24,
     -0x1.d3363aa800047p-26, 0x1.5b2933529acfcp-27,  -0x1.37a85ea4bd4cep-29,
     0x1.03aa84b7541d3p-30,  -0x1.fae32e38d95a4p-33, 0x1.12e951206e6fbp-32,
     0x1.1b99ff1686fa9p-34,  -0x1.ca7f709ae49eep-35, -0x1.3d000172a5a25p-35,
     0x1.b992b2f481d40p-36,  0x1.c4ef98cfe1a4dp-37},
    {0x1.65a260862b35ep+0,   -0x1.6b98e74488343p-3,  0x1.6595f9d3a06d1p-5,
     -0x1.9e097c3c5f9fdp-7,  0x1.e4076193ab533p-9,   -0x1.276b51f311d52p-10,
     0x1.68d7d916976f3p-12,  -0x1.c3cd0ad7829fep-14, 0x1.197da2e8d154dp-15,
     -0x1.66221ade6c68dp-17, 0x1.c2c0beb423462p-19,  -0x1.2272b2f94add9p-20,
     0x1.6ebc53409226dp-22,  -0x1.dfc3c71f3c257p-24, 0x1.2cb14c69d9473p-25,
     -0x1.8c125e4ce8cb7p-27, 0x1.f5ff7d2b3c7dfp-29,  -0x1.88d1b9a5e51a8p-30,
     0x1.51d4bddd8521cp-32,  -0x1.0aa2e4e3a2c6ap-35, 0x1.2584cadc4896bp-34,
     -0x1.bf59ac058387dp-35, -0x1.ad376b4510adfp-38}};

static double i_small(int order, double x) {
    double r = POLY(i_near[order], x * x);
    return order ? r * x : r;
}

double bessel_i01(int order, double x, bool scaled) {
    double a = fabs(x), r;
    if (a < 8) {
        r = i_small(order, a);
        if (scaled) r *= exp(-a);
    } else {
        r = POLY(i_far[order], 16 / a - 1) / sqrt(a);
        if (!scaled && a < 700)
            r *= exp(a);
        else if (!scaled) { /* exp(a) may be too large */
            double half = exp(a / 2);
            r = r * half * half;
        }
    }
    return order && x < 0 ? -r : r;
}

double bessel_k01(int order, double x, bool scaled) {
    if (x >= 1) {
        double r = POLY(k_far[order], (x - 3) / (x + 1)) / sqrt(x);
        return scaled ? r : r * exp(-x);
    }
    double r = POLY(k_near[order], x * x), l = log(x) * i_small(order, x);
    r = order ? 1 / x + (l + x * r) : r - l;
    return scaled ? r * exp(x) : r;
}
