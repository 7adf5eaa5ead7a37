/* Array files: what others wrote, what is broken, and our own back again. */
#include "format/json.h"
#include "test.h"
#include "value/class.h"
#include "value/file/file.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* Files made by NumPy 1.24.2 and by hand. */
static const char npy_f8[160] =
    "\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': Fals"
    "e, 'shape': (2, 2), }                           "
    "                               "
    "\x0a\x00\x00\x00\x00\x00\x00\xf8\x3f\x00\x00\x00\x00\x00\x00\x00\x80"
    "\x00\x00\x00\x00\x00\x00\xf8\x7f\x00\x00\x00\x00\x00\x00\xf0\x7f";
static const char npy_big[152] =
    "\x93NUMPY\x01\x00v\x00{'descr': '>i4', 'fortran_order': Fals"
    "e, 'shape': (2, 3), }                           "
    "                               "
    "\x0a\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x03"
    "\x00\x00\x00\x04\x00\x00\x00\x05";
static const char npy_fortran[140] =
    "\x93NUMPY\x01\x00v\x00{'descr': '<i2', 'fortran_order': True"
    ", 'shape': (2, 3), }                            "
    "                               "
    "\x0a\x00\x00\x03\x00\x01\x00\x04\x00\x02\x00\x05\x00";
static const char npy_v3[144] =
    "\x93NUMPY\x03\x00t\x00\x00\x00{'descr': '<c8', 'fortran_order': Fa"
    "lse, 'shape': (2,), }                           "
    "                               "
    "\x0a\x00\x00\x80\x3f\x00\x00\x00@\x00\x00\x00\x80\x00\x00\x80\xbf";
static const char npy_zero[128] =
    "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': Fals"
    "e, 'shape': (0, 3), }                           "
    "                               \x0a";
static const char npy_scalar[136] =
    "\x93NUMPY\x01\x00v\x00{'descr': '<i8', 'fortran_order': Fals"
    "e, 'shape': (), }                               "
    "                               \x0a\xf9\xff\xff\xff\xff\xff\xff\xff";
static const char npy_order[66] =
    "\x93NUMPY\x01\x00\x35\x00{'shape':(3,),\"fortran_order\":False , "
    "'descr':'|u1'}\x0a\x01\x02\x03";
static const char npy_long[75] =
    "\x93NUMPY\x01\x00=\x00{'descr': '>u2', 'fortran_order': Fals"
    "e, 'shape': (2L, 1L), }\x00\x01\x02\x00";
static const char npy_bool[70] =
    "\x93NUMPY\x01\x00\x39\x00{'descr': '|b1', 'fortran_order': Fals"
    "e, 'shape': (3,), }\x00\x01\x02";
static const char npy_half[134] =
    "\x93NUMPY\x01\x00v\x00{'descr': '>f2', 'fortran_order': Fals"
    "e, 'shape': (3,), }                             "
    "                               \x0a.f{\xff\x00\x01";
static const char npz_stored[538] =
    "PK\x03\x04\x14\x00\x00\x00\x00\x00\x00\x00!"
    "\x00\xc3\xc3\xda\xd1\xa0\x00\x00\x00\xa0\x00\x00\x00\x05\x00\x14\x00\x61."
    "npy\x01\x00\x10\x00\xa0\x00\x00\x00\x00\x00\x00\x00\xa0"
    "\x00\x00\x00\x00\x00\x00\x00\x93NUMPY\x01\x00v\x00{'descr': '<i8', 'fortran_order"
    "': False, 'shape': (4,), }                      "
    "                                      \x0a\x00\x00\x00\x00\x00\x00\x00\x00\x01"
    "\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00"
    "\x00\x00\x00PK\x03\x04\x14\x00\x00\x00\x00\x00\x00\x00!"
    "\x00\xa1\x1b\xde\x80\x90\x00\x00\x00\x90\x00\x00"
    "\x00\x05\x00\x14\x00\x62."
    "npy\x01\x00\x10\x00\x90\x00\x00\x00\x00\x00\x00\x00\x90\x00\x00\x00\x00\x00\x00"
    "\x00\x93NUMPY\x01\x00v\x00{'descr'"
    ": '<f8', 'fortran_order': False, 'shape': (1, 2)"
    ", }                                             "
    "             "
    "\x0a\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x00@"
    "PK\x01\x02\x14\x03\x14\x00\x00\x00\x00\x00\x00\x00!\x00\xc3\xc3"
    "\xda\xd1\xa0\x00\x00\x00\xa0\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x80\x01\x00\x00\x00\x00\x61."
    "npyPK\x01\x02\x14\x03\x14\x00\x00\x00\x00\x00\x00\x00!"
    "\x00\xa1\x1b\xde\x80\x90\x00\x00\x00\x90\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x80\x01\xd7\x00\x00\x00\x62."
    "npyPK\x05\x06\x00\x00\x00\x00\x02\x00\x02\x00"
    "f\x00\x00\x00\x9e\x01\x00\x00\x00\x00";
static const char npz_deflated[222] =
    "PK\x03\x04\x14\x00\x00\x00\x08\x00\x00\x00!\x00\xdb\xc2\xabL^"
    "\x00\x00\x00\x30\x05\x00\x00\x05\x00\x14\x00x."
    "npy\x01\x00\x10\x00\x30\x05\x00\x00\x00\x00\x00\x00^"
    "\x00\x00\x00\x00\x00\x00\x00\x9b\xec\x17\xea\x1b\x10\xc9\xc8P\xc6P\xad\x9e\x92Z"
    "\x9c\\\xa4n\xa5\xa0n\x93i\xa2\xae\xa3\xa0\x9e\x96_TR\x94\x98\x17\x9f_\x94\x92\x0a"
    "\x12wK\xcc)N\x05\x8a\x17g$\x16\xa4\x02\xf9\x1a\xc6\x06\x06:\x9a:"
    "\x0a\xb5\x0a\x64\x03.\x06 `\x04\x62& "
    "f\x06\x62\x16\x06\x08\x18\x15\x1b\x15\x1b\x15\x1b"
    "\x15\x1blb\x00PK\x01\x02\x14\x03\x14\x00\x00\x00\x08\x00\x00\x00!"
    "\x00\xdb\xc2\xabL^"
    "\x00\x00\x00\x30\x05\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80"
    "\x01\x00"
    "\x00\x00\x00x."
    "npyPK\x05\x06\x00\x00\x00\x00\x01\x00\x01\x00\x33\x00\x00\x00\x95\x00\x00\x00\x00"
    "\x00";
static const char st_two[166] =
    "\x94\x00\x00\x00\x00\x00\x00\x00{\"__metadata__\":{\"format\":\"pt\"},\"b\":{\"dt"
    "ype\":\"F32\",\"shape\":[2],\"data_offsets\":[2,10]},\"a"
    "\\u00e9\":{\"dtype\":\"U8\",\"shape\":[2,1],\"data_offset"
    "s\":[0,2]}}  \x05\x06\x00\x00\xc0\x3f\x00\x00\x00\xc0";
static const struct {
    const char *name, *data;
    size_t n;
    DiagCode code;
    const char *part;
} bad[] = {
    {"x.npy",
     "\x93NUMPY\x01\x00\x38\x00{'descr': '|O', 'fortran_order': False"
     ", 'shape': (1,), }\x00\x00\x00\x00\x00\x00\x00\x00",
     74, E_DTYPE, "Python objects"},
    {"x.npy",
     "\x93NUMPY\x01\x00\x42\x00{'descr': [('a', '<i4')], 'fortran_ord"
     "er': False, 'shape': (1,), }\x00\x00\x00\x00\x00\x00\x00\x00",
     84, E_DTYPE, "records"},
    {"x.npy",
     "\x93NUMPY\x01\x00\x39\x00{'descr': '<V2', 'fortran_order': Fals"
     "e, 'shape': (1,), }\x00\x00\x00\x00\x00\x00\x00\x00",
     75, E_DTYPE, "bfloat16"},
    {"x.npy",
     "\x93NUMPY\x01\x00_\x00{'descr': '<f8', 'fortran_order': Fals"
     "e, 'shape': (4611686018427387904, 46116860184273"
     "87904), }\x00\x00\x00\x00\x00\x00\x00\x00",
     113, E_FORMAT, "needs more"},
    {"x.npy",
     "\x93NUMPY\x01\x00\x42\x00{'descr': '<f8', 'fortran_order': Fals"
     "e, 'shape': (1000000000,), }\x00\x00\x00\x00\x00\x00\x00\x00",
     84, E_TRUNCATED, "1000000000"},
    {"x.npy",
     "\x93NUMPY\x01\x00L\x00{'descr': '<f8', 'fortran_order': Fals"
     "e, 'shape': (99999999999999999999,), }\x00\x00\x00\x00\x00\x00\x00\x00",
     94, E_FORMAT, "too large"},
    {"x.npy",
     "\x93NUMPY\x01\x00:\x00{'descr': '<f8', 'fortran_order': Fals"
     "e, 'shape': (-1,), }\x00\x00\x00\x00\x00\x00\x00\x00",
     76, E_FORMAT, "header"},
    {"x.npy",
     "\x93NUMPY\x01\x00*\x00{'descr': '<f8', 'fortran_order': Fals"
     "e, }\x00\x00\x00\x00\x00\x00\x00\x00",
     60, E_FORMAT, "header"},
    {"x.npy",
     "\x93NUMPY\x01\x00\x45\x00{'descr': '<f8', 'descr': '<f8', 'fort"
     "ran_order': False, 'shape': ()}\x00\x00\x00\x00\x00\x00\x00\x00",
     87, E_FORMAT, "header"},
    {"x.npy",
     "\x93NUMPY\x01\x00=\x00{'descr': '<f8', 'fortran_order': Fals"
     "e, 'shape': (), 'x': 1}\x00\x00\x00\x00\x00\x00\x00\x00",
     79, E_FORMAT, "header"},
    {"x.npy",
     "\x93NUMPY\x01\x00w\x00{'descr': '<f8', 'fortran_order': Fals"
     "e, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"
     ",1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,)}\x00\x00\x00\x00\x00\x00\x00\x00",
     137, E_LIMIT, "32 dims"},
    {"x.npy", "\x93NUMPY\x04\x00\x00\x00", 10, E_VERSION, "4.0"},
    {"x.npy", "\x93NUMPY\x02\x00\xff\xff\xff\xff{", 13, E_FORMAT, "65536"},
    {"x.npy", "\x93NUMPY\x01\x00p", 9, E_TRUNCATED, "cut off"},
    {"x.npy", "", 0, E_TRUNCATED, "empty"},
    {"x.bin", "hello, world", 12, E_FORMAT, "not a file of arrays"},
    {"x.npz",
     "PK\x03\x04\x14\x00\x00\x00\x00\x00\x00\x00!"
     "\x00\xc3\xc3\xda\xd1\xa0\x00\x00\x00\xa0\x00\x00\x00\x05\x00\x14\x00\x61."
     "npy\x01\x00\x10\x00\xa0\x00\x00\x00\x00\x00\x00\x00\xa0"
     "\x00\x00\x00\x00\x00\x00\x00\x93NUMPY\x01\x00v\x00{'descr': '<i8', 'fortran_order"
     "': False, 'shape': (4,), }                      "
     "                                      \x0a\x00\x00\x01\x00\x00\x00\x00\x00\x01"
     "\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00"
     "\x00\x00\x00PK\x03\x04\x14\x00\x00\x00\x00\x00\x00\x00!"
     "\x00\xa1\x1b\xde\x80\x90\x00\x00\x00\x90\x00\x00"
     "\x00\x05\x00\x14\x00\x62."
     "npy\x01\x00\x10\x00\x90\x00\x00\x00\x00\x00\x00\x00\x90\x00\x00\x00\x00\x00\x00"
     "\x00\x93NUMPY\x01\x00v\x00{'descr'"
     ": '<f8', 'fortran_order': False, 'shape': (1, 2)"
     ", }                                             "
     "             "
     "\x0a\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x00@"
     "PK\x01\x02\x14\x03\x14\x00\x00\x00\x00\x00\x00\x00!\x00\xc3\xc3"
     "\xda\xd1\xa0\x00\x00\x00\xa0\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00"
     "\x00\x00\x80\x01\x00\x00\x00\x00\x61."
     "npyPK\x01\x02\x14\x03\x14\x00\x00\x00\x00\x00\x00\x00!"
     "\x00\xa1\x1b\xde\x80\x90\x00\x00\x00\x90\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00"
     "\x00\x00\x00\x00\x00\x80\x01\xd7\x00\x00\x00\x62."
     "npyPK\x05\x06\x00\x00\x00\x00\x02\x00\x02\x00"
     "f\x00\x00\x00\x9e\x01\x00\x00\x00\x00",
     538, E_CHECKSUM, "checksum"},
    {"x.npz",
     "PK\x03\x04\x14\x00\x00\x00\x00\x00\x00\x00!"
     "\x00\xc3\xc3\xda\xd1\xa0\x00\x00\x00\xa0\x00\x00\x00\x05\x00\x14\x00\x61."
     "npy\x01\x00\x10\x00\xa0\x00\x00\x00\x00\x00\x00\x00\xa0"
     "\x00\x00\x00\x00\x00\x00\x00\x93NUMPY\x01\x00v\x00{'descr': '<i8', 'fortran_order"
     "': False, 'shape': (4,), }                      "
     "                                      \x0a\x00\x00\x00\x00\x00\x00\x00\x00\x01"
     "\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00"
     "\x00\x00\x00PK\x03\x04\x14\x00\x00\x00\x00\x00\x00\x00!"
     "\x00\xa1\x1b\xde\x80\x90\x00\x00\x00\x90\x00\x00"
     "\x00\x05\x00\x14\x00\x62."
     "npy\x01\x00\x10\x00\x90\x00\x00\x00\x00\x00\x00\x00\x90\x00\x00\x00\x00\x00\x00"
     "\x00\x93NUMPY\x01\x00v\x00{'descr'"
     ": '<f8', 'fortran_order': False, 'shape': (1, 2)"
     ", }                                             "
     "             "
     "\x0a\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x00@"
     "PK\x01\x02\x14\x03\x14\x00\x00\x00\x00\x00\x00\x00!\x00\xc3\xc3"
     "\xda\xd1\xa0\x00\x00\x00\xa0\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00"
     "\x00\x00\x80\x01\x00\x00\x00\x00\x61."
     "npyPK\x01\x02\x14\x03\x14\x00\x00\x00\x00\x00\x00\x00!"
     "\x00\xa1\x1b\xde\x80\x90\x00\x00\x00\x90\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00"
     "\x00\x00\x00\x00\x00\x80\x01\xd7",
     508, E_TRUNCATED, "cut off"},
    {"x.safetensors",
     "j\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_of"
     "fsets\":[0,4]},\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"dat"
     "a_offsets\":[4,4]}}\x00\x00\x00\x00",
     118, E_DUPLICATE, "twice"},
    {"x.safetensors",
     "j\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_of"
     "fsets\":[0,4]},\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"dat"
     "a_offsets\":[3,5]}}\x00\x00\x00\x00\x30",
     119, E_FORMAT, "overlaps"},
    {"x.safetensors",
     "j\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_of"
     "fsets\":[0,4]},\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"dat"
     "a_offsets\":[5,6]}}\x00\x00\x00\x00\x30\x30",
     120, E_FORMAT, "hole"},
    {"x.safetensors",
     "6\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_of"
     "fsets\":[0,4]}}\x00\x00\x00\x00\x30",
     67, E_FORMAT, "no tensor"},
    {"x.safetensors",
     "6\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_of"
     "fsets\":[0,4]}}\x00\x00\x00",
     65, E_TRUNCATED, "wanted"},
    {"x.safetensors",
     "6\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_of"
     "fsets\":[0,4]}}\x00\x00\x00\x00",
     66, E_FORMAT, "offsets"},
    {"x.safetensors",
     "J\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"F32\",\"shape\":[46116860184"
     "27387904,4],\"data_offsets\":[0,0]}}",
     82, E_FORMAT, "offsets"},
    {"x.safetensors",
     "5\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"Q4\",\"shape\":[1],\"data_off"
     "sets\":[0,4]}}\x00\x00\x00\x00",
     65, E_DTYPE, "Q4"},
    {"x.safetensors",
     ":\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"F8_E8M0\",\"shape\":[4],\"dat"
     "a_offsets\":[0,4]}}\x00\x00\x00\x00",
     70, E_DTYPE, "F8_E8M0"},
    {"x.safetensors",
     "!\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}"
     "\x00\x00\x00\x00",
     45, E_FORMAT, "lacks"},
    {"x.safetensors",
     "<\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_of"
     "fsets\":[0,4],\"x\":1}}\x00\x00\x00\x00",
     72, E_FORMAT, "not known"},
    {"x.safetensors",
     "7\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"F32\",\"shape\":[01],\"data_o"
     "ffsets\":[0,4]}}\x00\x00\x00\x00",
     67, E_FORMAT, "expected a value"},
    {"x.safetensors",
     "8\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_of"
     "fsets\":[0,4]}} x\x00\x00\x00\x00",
     68, E_FORMAT, "after"},
    {"x.safetensors",
     "\x00\x00\x00\x00\x00\x00\x00\x80{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_of"
     "fsets\":[0,4]}}\x00\x00\x00\x00",
     66, E_FORMAT, "100 MB"},
    {"x.csv", "1,2\x0a\x33\x0a", 6, E_FORMAT, "line 2 has 1 column, not 2"},
    {"x.csv", "a,b\x0a\x31,2\x0a\x0a\x33,x y\x0a", 15, E_FORMAT,
     "line 4, column 2 (b): 'x y'"},
    {"x.csv", "\x0a\x0a", 2, E_FORMAT, "no numbers"},
};

static void check_read(Session *s, const char *name, const char *data, size_t n,
                       const char *key, const char *want) {
    Tensor t;
    Str b = STR(s);
    bool ok = array_read_mem(s, name, data, n, key, NOWHERE, &t);
    CHECK(ok, "%s: %s", name, ok ? "" : diag_first_error(s)->text);
    diag_clear(s);
    if (!ok) return;
    str_printf(&b, "%s ", dtype_name(t.dtype));
    tensor_text(s, &t, -1, &b);
    CHECK_STR(str_text(&b), want);
    str_free(&b);
    tensor_unref(&t);
}
#define READ(data, key, want) check_read(s, #data, data, sizeof data, key, want)

static void test_others(Session *s) {
    READ(npy_f8, NULL, "float64 [[1.5, -0.0], [nan, inf]]");
    READ(npy_big, NULL, "int32 [[0, 1, 2], [3, 4, 5]]");
    READ(npy_fortran, NULL, "int16 [[0, 1, 2], [3, 4, 5]]");
    READ(npy_v3, NULL, "complex64 [(1.0+2.0j), (-0.0-1.0j)]");
    READ(npy_zero, NULL, "float32 zeros((0, 3), dtype='float32')");
    READ(npy_scalar, NULL, "int64 -7");
    READ(npy_order, NULL, "uint8 [1, 2, 3]");
    READ(npy_long, NULL, "uint16 [[1], [512]]");
    READ(npy_bool, NULL, "bool [False, True, True]");
    READ(npy_half, NULL, "float16 [0.1, 65500.0, 6e-08]");
    READ(npz_stored, "a", "int64 [0, 1, 2, 3]");
    READ(npz_stored, "b.npy", "float64 [[1.0, 2.0]]");
    READ(st_two, "b", "float32 [1.5, -2.0]");
    READ(st_two, "a\xc3\xa9", "uint8 [[5], [6]]");
    static const char half[] =
        "7\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"BF16\",\"shape\":[2],"
        "\"data_offsets\":[0,4]}}\x80\x3f\x00\xc0";
    check_read(s, "half", half, sizeof half - 1, NULL, "float32 [1.0, -2.0]");
    static const char csv[] = "a, b\r\n1, -2e3\r\n\n nan,\"4\"";
    check_read(s, "t.csv", csv, sizeof csv - 1, NULL,
               "float64 [[1.0, -2000.0], [nan, 4.0]]");
    check_read(s, "t.tsv", "1\n2\n", 4, NULL, "float64 [1.0, 2.0]");
    check_read(s, "t.tsv", "1\t2\n", 4, NULL, "float64 [[1.0, 2.0]]");
    Tensor t;
    bool ok =
        array_read_mem(s, "z", npz_deflated, sizeof npz_deflated, NULL, NOWHERE, &t);
    CHECK(ok && t.dtype == DT_INT32 && t.shape[0] == 300);
    for (int i = 0; ok && i < 300; i++)
        CHECK(tensor_i64(&t, i) == i % 5);
    if (ok) tensor_unref(&t);
}

static void refuse(Session *s, const char *name, const char *data, size_t n,
                   const char *key, DiagCode code, const char *part) {
    Tensor t;
    bool ok = array_read_mem(s, name, data, n, key, NOWHERE, &t);
    const Diag *d = diag_first_error(s);
    CHECK(!ok && diag_count(s) == 1, "%s, %s", name, part);
    CHECK(d && d->code == code && strstr(d->text, part), "%s: %s %s", part,
          d ? diag_name(d->code) : "", d ? d->text : "");
    CHECK(d && strncmp(d->text, name, strlen(name)) == 0);
    if (ok) tensor_unref(&t);
    diag_clear(s);
}

static void test_bad(Session *s) {
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse(s, bad[i].name, bad[i].data, bad[i].n,
               bad[i].code == E_CHECKSUM ? "a" : NULL, bad[i].code, bad[i].part);
    refuse(s, "x", npz_stored, sizeof npz_stored, NULL, E_ARG, "it holds a, b");
    refuse(s, "x", npz_stored, sizeof npz_stored, "c", E_NAME, "it holds a, b");
    refuse(s, "x", st_two, sizeof st_two, "c", E_NAME, "b");
    refuse(s, "x", npy_f8, sizeof npy_f8, "c", E_ARG, "'c'");
}

/* Whatever is cut off or changed: an error or an array, and never more than one error.
 */
static void torture(Session *s, const char *data, size_t n, const char *key) {
    char *copy = malloc(n);
    int wrong = 0;
    for (size_t i = 0; i < 3 * n; i++) {
        Tensor t;
        size_t len = i < n ? i : n, at = i % n;
        memcpy(copy, data, n);
        if (i >= n) copy[at] = (char)(i < 2 * n ? copy[at] ^ 1 << at % 8 : '\xff');
        char *exact = malloc(len ? len : 1); /* so that reads beyond it are seen */
        memcpy(exact, copy, len);
        bool ok = array_read_mem(s, "x", exact, len, key, NOWHERE, &t);
        wrong += diag_count(s) != !ok || (ok && i < n && key);
        if (ok) tensor_unref(&t);
        diag_clear(s);
        free(exact);
    }
    CHECK(wrong == 0, "%d wrong", wrong);
    free(copy);
}

static void test_torture(Session *s) {
    torture(s, npy_big, sizeof npy_big, NULL);
    torture(s, npy_long, sizeof npy_long, NULL);
    torture(s, npz_stored, sizeof npz_stored, "a");
    torture(s, npz_deflated, sizeof npz_deflated, "x");
    torture(s, st_two, sizeof st_two, "b");
    CHECK(buffer_bytes_used(s) == 0);
}

/* ---- our own ---- */

static Tensor numbers(Session *s, DType d) {
    Tensor t, as;
    const int64_t shape[2] = {3, 5};
    CHECK(tensor_new(s, DT_COMPLEX128, 2, shape, &t));
    for (int i = 0; i < 30; i++)
        ((double *)t.data)[i] = i * 0.75 - 3;
    CHECK(tensor_cast(s, &t, d, &as));
    tensor_unref(&t);
    return as;
}

static Tensor transposed(const Tensor *t) {
    Tensor v = *t;
    for (int i = 0; i < 2; i++) {
        v.shape[i] = t->shape[1 - i];
        v.stride[i] = t->stride[1 - i];
    }
    return v;
}

static void round_trip(Session *s, const char *folder, const char *suffix, DType d) {
    char path[256];
    Tensor t = numbers(s, d), v = transposed(&t), back;
    const NamedTensor arrays[3] = {{"pad", &t}, {"out/x", &v}, {"z", &t}};
    bool one = strcmp(suffix, "npy") == 0;
    snprintf(path, sizeof path, "%s/t.%s", folder, suffix);
    CHECK(array_write(s, path, one ? 1 : 3, one ? arrays + 1 : arrays), "%s %s",
          dtype_name(d), suffix);
    bool ok = array_read(s, path, one ? NULL : "out/x", NOWHERE, &back);
    CHECK(ok && tensor_identical(&v, &back), "%s %s", dtype_name(d), suffix);
    if (ok) {
        CHECK(buffer_bytes_used(s) == tensor_bytes(&t), "a mapped file is not copied");
        memset(back.data, 1, tensor_bytes(&back)); /* nor changed */
        tensor_unref(&back);
        CHECK(array_read(s, path, one ? NULL : "out/x", NOWHERE, &back));
        CHECK(tensor_identical(&v, &back));
        tensor_unref(&back);
    }
    tensor_unref(&t);
    unlink(path);
}

static void test_tables(Session *s, const char *folder) {
    char path[256];
    Tensor t = numbers(s, DT_FLOAT32), back;
    snprintf(path, sizeof path, "%s/t.tsv", folder);
    CHECK(array_write(s, path, 1, &(NamedTensor){"t", &t}));
    bool ok = array_read(s, path, NULL, NOWHERE, &back);
    CHECK(ok && tensor_same_shape(&t, &back));
    for (int i = 0; ok && i < 15; i++)
        CHECK(tensor_f64(&t, i) == tensor_f64(&back, i));
    if (ok) tensor_unref(&back);
    tensor_unref(&t);
    unlink(path);
    t = numbers(s, DT_COMPLEX64);
    CHECK(!array_write(s, path, 1, &(NamedTensor){"t", &t}) && access(path, F_OK) != 0);
    CHECK(diag_count(s) == 1 && diag_first_error(s)->code == E_DTYPE);
    diag_clear(s);
    tensor_unref(&t);
}

static void test_own(Session *s) {
    char folder[] = "/tmp/thunkline-array-XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    for (int d = 0; d < DT_N; d++) {
        round_trip(s, folder, "npy", (DType)d);
        round_trip(s, folder, "npz", (DType)d);
        if (d != DT_COMPLEX128) round_trip(s, folder, "safetensors", (DType)d);
    }
    test_tables(s, folder);
    Tensor none;
    CHECK(!array_read(s, folder, NULL, NOWHERE, &none) && diag_count(s) == 1);
    diag_clear(s);
    CHECK(!array_write(s, "t.xyz", 0, NULL) && diag_count(s) == 1);
    diag_clear(s);
    rmdir(folder);
}

static void check_json(Session *s, const char *name, const Tensor *t,
                       const char *want) {
    Str b = STR(s);
    JsonWriter w = {.out = &b};
    const Value v = {.kind = TYPE_TENSOR, .t = *t};
    value_json(s, name, &v, &w);
    CHECK_STR(str_text(&b), want);
    str_free(&b);
}

static void test_json(Session *s) {
    Tensor t, u;
    double v[4] = {1, (double)NAN, -HUGE_VAL, 0.5};
    const int64_t shape[2] = {2, 2}, empty[2] = {0, 2};
    CHECK(tensor_new(s, DT_FLOAT64, 2, shape, &t));
    memcpy(t.data, v, sizeof v);
    check_json(s, "a\"b", &t,
               "{\"name\": \"a\\\"b\", \"dtype\": \"float64\", \"shape\": [2, 2], "
               "\"data\": [[1.0, \"NaN\"], [\"-Infinity\", 0.5]]}");
    CHECK(tensor_cast(s, &t, DT_COMPLEX64, &u));
    u.ndim = 0;
    check_json(s, "z", &u,
               "{\"name\": \"z\", \"dtype\": \"complex64\", \"shape\": [], "
               "\"data\": [1.0, 0.0]}");
    tensor_unref(&u);
    CHECK(tensor_new(s, DT_BOOL, 2, empty, &u));
    check_json(
        s, "e", &u,
        "{\"name\": \"e\", \"dtype\": \"bool\", \"shape\": [0, 2], \"data\": []}");
    tensor_unref(&u);
    tensor_unref(&t);
}

int main(void) {
    Session *s = session_new(NULL, NULL);
    test_others(s);
    test_bad(s);
    test_torture(s);
    test_own(s);
    test_json(s);
    CHECK(buffer_bytes_used(s) == 0 && diag_count(s) == 0);
    session_free(s);
    return TEST_END("array");
}
