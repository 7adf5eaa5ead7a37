/* Conversion: every pair of dtypes against NumPy, every layout against the contiguous
 * one. */
#include "test.h"
#include "value/value_impl.h"

#include <stdlib.h>

/* Written with NumPy 1.24: bytes to convert, and the CRC-32 of what astype makes of
 * them. Floats to integers: by way of int64 (uint64 to the end), as value.h says.
 * Elements are little-endian. */
static const struct {
    size_t n;
    const char *bytes;
    uint32_t crc[DT_N];
} golden[DT_N] = {
    {4,
     "\x00\x01\x01\x00",
     {0x399D846A, 0x399D846A, 0x16C26BA9, 0xBBB407A4, 0x3647A11B, 0x399D846A,
      0x16C26BA9, 0xBBB407A4, 0x3647A11B, 0x2C82961A, 0xC6F776D8, 0x60BD3CAC,
      0x65A47B80, 0x1BD9598C}},
    {12,
     "\x00\x01\x02\x07\x64\x7f\x80\x7e\x81\x3f\x2a\x40",
     {0x09619B68, 0xAF791EE5, 0x9B832789, 0xC143F3F3, 0x51307545, 0xAF791EE5,
      0x9B832789, 0xC143F3F3, 0x51307545, 0x111B8885, 0x404C628B, 0xCCDEA86D,
      0xEA634CE8, 0xEAE0226A}},
    {13,
     "\x00\x00\x01\x00\x02\x00\x07\x00\x64\x00\xff\x7f\x00\x80\xfe\x7f\x01\x80\xff\x3f"
     "\xaa\x2a\x00\x40"
     "\x03\x08",
     {0xE66557EA, 0x88BEA03F, 0xA57ADEAE, 0x1E304DFF, 0x83360BB0, 0x88BEA03F,
      0xA57ADEAE, 0x1E304DFF, 0x83360BB0, 0x4A1166A6, 0xFB006353, 0x69689C4B,
      0xBE1AEF56, 0xB8C520F0}},
    {18,
     "\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x07\x00\x00\x00\x64\x00\x00\x00"
     "\xff\xff\xff\x7f"
     "\x00\x00\x00\x80\xfe\xff\xff\x7f\x01\x00\x00\x80\xff\xff\xff\x3f\xaa\xaa\xaa\x2a"
     "\x00\x00\x00\x40"
     "\x01\x08\x00\x00\x01\x10\x00\x00\xef\xff\x00\x00\x01\x00\x00\x01\x03\x00\x00\x01"
     "\x03\x08\x00\x00",
     {0x5EA667EC, 0xD9F0B18D, 0x21E15D95, 0xE23BDAE9, 0xDA6C92C2, 0xD9F0B18D,
      0x21E15D95, 0xE23BDAE9, 0xDA6C92C2, 0x446C91FA, 0x8C32FC0D, 0x850F39E7,
      0x22AE76A1, 0xE69A9A54}},
    {20,
     "\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00"
     "\x00\x00\x00\x00"
     "\x07\x00\x00\x00\x00\x00\x00\x00\x64\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff"
     "\xff\xff\xff\x7f"
     "\x00\x00\x00\x00\x00\x00\x00\x80\xfe\xff\xff\xff\xff\xff\xff\x7f\x01\x00\x00\x00"
     "\x00\x00\x00\x80"
     "\xff\xff\xff\xff\xff\xff\xff\x3f\xaa\xaa\xaa\xaa\xaa\xaa\xaa\x2a\x00\x00\x00\x00"
     "\x00\x00\x00\x40"
     "\x01\x08\x00\x00\x00\x00\x00\x00\x01\x10\x00\x00\x00\x00\x00\x00\xef\xff\x00\x00"
     "\x00\x00\x00\x00"
     "\x01\x00\x00\x01\x00\x00\x00\x00\x03\x00\x00\x01\x00\x00\x00\x00\x03\x08\x00\x00"
     "\x00\x00\x00\x00"
     "\x01\x00\x00\x00\x00\x00\x20\x00\x03\x00\x00\x00\x00\x00\x20\x00",
     {0x0ED80595, 0xF380CEE8, 0x5723953C, 0x5939AB39, 0x6FE5142E, 0xF380CEE8,
      0x5723953C, 0x5939AB39, 0x6FE5142E, 0x88EFF619, 0x08A62B91, 0xDE3782B7,
      0x86E0B694, 0x149BDDE7}},
    {12,
     "\x00\x01\x02\x07\x64\xff\x00\xfe\x01\x7f\x55\x80",
     {0xC23D48CD, 0x2639CC2F, 0xB2FA9F22, 0x1990C2F8, 0x3A8EBC31, 0x2639CC2F,
      0xB2FA9F22, 0x1990C2F8, 0x3A8EBC31, 0x9AC2A5DE, 0x400093FF, 0x421A7CC3,
      0x2E88D7C0, 0xD57188CC}},
    {13,
     "\x00\x00\x01\x00\x02\x00\x07\x00\x64\x00\xff\xff\x00\x00\xfe\xff\x01\x00\xff\x7f"
     "\x55\x55\x00\x80"
     "\x03\x08",
     {0x40125C5E, 0x362694D2, 0x10C10139, 0xF947EBF9, 0x81470A6C, 0x362694D2,
      0x10C10139, 0xF947EBF9, 0x81470A6C, 0xEE389D2D, 0x02E2F423, 0x96A490D5,
      0x0EC08005, 0xFFAC7DF5}},
    {18,
     "\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x07\x00\x00\x00\x64\x00\x00\x00"
     "\xff\xff\xff\xff"
     "\x00\x00\x00\x00\xfe\xff\xff\xff\x01\x00\x00\x00\xff\xff\xff\x7f\x55\x55\x55\x55"
     "\x00\x00\x00\x80"
     "\x01\x08\x00\x00\x01\x10\x00\x00\xef\xff\x00\x00\x01\x00\x00\x01\x03\x00\x00\x01"
     "\x03\x08\x00\x00",
     {0xC5032B83, 0xFFBBB76B, 0x30C38DC8, 0x38B36C23, 0x0E1E5281, 0xFFBBB76B,
      0x30C38DC8, 0x38B36C23, 0x0E1E5281, 0x9E59E6B3, 0x74AF299A, 0x73B0DFBB,
      0x71F5E822, 0xB009E60C}},
    {20,
     "\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00"
     "\x00\x00\x00\x00"
     "\x07\x00\x00\x00\x00\x00\x00\x00\x64\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff"
     "\xff\xff\xff\xff"
     "\x00\x00\x00\x00\x00\x00\x00\x00\xfe\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00\x00"
     "\x00\x00\x00\x00"
     "\xff\xff\xff\xff\xff\xff\xff\x7f\x55\x55\x55\x55\x55\x55\x55\x55\x00\x00\x00\x00"
     "\x00\x00\x00\x80"
     "\x01\x08\x00\x00\x00\x00\x00\x00\x01\x10\x00\x00\x00\x00\x00\x00\xef\xff\x00\x00"
     "\x00\x00\x00\x00"
     "\x01\x00\x00\x01\x00\x00\x00\x00\x03\x00\x00\x01\x00\x00\x00\x00\x03\x08\x00\x00"
     "\x00\x00\x00\x00"
     "\x01\x00\x00\x00\x00\x00\x20\x00\x03\x00\x00\x00\x00\x00\x20\x00",
     {0x93D7E4E3, 0x12C719FC, 0x2ECF11A1, 0x4F2A6977, 0x6F67A5B5, 0x12C719FC,
      0x2ECF11A1, 0x4F2A6977, 0x6F67A5B5, 0xFB7A6607, 0xB4271AC0, 0x36173F8E,
      0x355AAEA0, 0x24931865}},
    {44,
     "\x00\x00\x00\x80\x00\x3c\x00\xbc\x00\x38\x80\xc1\x46\x56\x05\xd8\xff\x5b\x00\x5c"
     "\xb1\xdc\xe2\x70"
     "\xe2\x78\xff\x7b\xff\x7b\x00\x7c\x00\x7c\x00\xfc\x00\x7c\x00\x7c\x00\x7c\x00\x7c"
     "\x00\x7c\x00\xfc"
     "\x00\x7c\x00\x7c\x00\xfc\x00\x7c\x01\x00\x00\x00\x01\x00\x01\x00\xff\x03\x01\x3c"
     "\x00\x3c\x02\x3c"
     "\x01\x3c\x01\x00\x01\x00\x00\x00\x00\x7c\x00\x7c\x00\xfc\x00\x7e",
     {0x91813BE1, 0x81A8E8A5, 0xE625D700, 0x28E527F2, 0xB458D29D, 0x81A8E8A5,
      0xE625D700, 0x28E527F2, 0xB458D29D, 0x474709E5, 0x256405B9, 0xFAC87981,
      0x503E9FC0, 0x9B384751}},
    {44,
     "\x00\x00\x00\x00\x00\x00\x00\x80\x00\x00\x80\x3f\x00\x00\x80\xbf\x00\x00\x00\x3f"
     "\x00\x00\x30\xc0"
     "\xcd\xcc\xc8\x42\x9a\x99\x00\xc3\x66\xe6\x7f\x43\x00\x00\x80\x43\x9a\x19\x96\xc3"
     "\x00\x40\x1c\x46"
     "\x80\x40\x1c\x47\x00\xe0\x7f\x47\x00\xef\x7f\x47\x00\xf0\x7f\x47\x00\x50\xc3\x47"
     "\x00\x00\x00\xcf"
     "\x00\x00\x00\x4f\x00\x00\x80\x4f\x5e\xd0\x32\x4f\x6b\x0b\x5e\x5d\x3d\x10\x01\x5f"
     "\x3d\x10\x01\xdf"
     "\xd9\xcc\x79\x5f\x23\xc7\x8a\x5f\x23\xc7\x8a\xdf\xca\xf2\x49\x71\x59\xd9\x80\x33"
     "\xad\x1b\xf9\x32"
     "\x59\xd9\x00\x33\xe5\xfa\x7f\x33\x40\xda\x7f\x38\x00\x20\x80\x3f\x00\x10\x80\x3f"
     "\x00\x30\x80\x3f"
     "\x00\x10\x80\x3f\x5a\xd9\x00\x33\x00\x00\x00\x33\x01\x00\x00\x00\xff\xff\x7f\x7f"
     "\x00\x00\x80\x7f"
     "\x00\x00\x80\xff\x00\x00\xc0\x7f",
     {0x151AC9B9, 0x2B46A08B, 0xA2500116, 0xD5DF79D6, 0xC73C3C30, 0x2B46A08B,
      0xA2500116, 0xD5DF79D6, 0x5FBC7D7A, 0x728AD41B, 0x3778AD9A, 0x4065737C,
      0x2D40209D, 0x9B6D1455}},
    {47,
     "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x00\x00\x00\x00"
     "\x00\x00\xf0\x3f"
     "\x00\x00\x00\x00\x00\x00\xf0\xbf\x00\x00\x00\x00\x00\x00\xe0\x3f\x00\x00\x00\x00"
     "\x00\x00\x06\xc0"
     "\x9a\x99\x99\x99\x99\x19\x59\x40\x33\x33\x33\x33\x33\x13\x60\xc0\xcd\xcc\xcc\xcc"
     "\xcc\xfc\x6f\x40"
     "\x00\x00\x00\x00\x00\x00\x70\x40\x33\x33\x33\x33\x33\xc3\x72\xc0\x00\x00\x00\x00"
     "\x00\x88\xc3\x40"
     "\x00\x00\x00\x00\x10\x88\xe3\x40\x00\x00\x00\x00\x00\xfc\xef\x40\x00\x00\x00\x00"
     "\xe0\xfd\xef\x40"
     "\x00\x00\x00\x00\x00\xfe\xef\x40\x00\x00\x00\x00\x00\x6a\xf8\x40\xcd\xcc\x1c\x00"
     "\x00\x00\xe0\xc1"
     "\x00\x00\x00\x00\x00\x00\xe0\x41\x00\x00\x08\x00\x00\x00\xf0\x41\x00\x00\x00\xc0"
     "\x0b\x5a\xe6\x41"
     "\x00\xc8\x4e\x67\x6d\xc1\xab\x43\x40\x64\x3f\x97\x07\x22\xe0\x43\x40\x64\x3f\x97"
     "\x07\x22\xe0\xc3"
     "\x00\xa1\x38\x14\x9b\x39\xef\x43\x00\x3d\x91\x60\xe4\x58\xf1\x43\x00\x3d\x91\x60"
     "\xe4\x58\xf1\xc3"
     "\xea\x8c\xa0\x39\x59\x3e\x29\x46\x2b\x69\xa4\x29\x2b\x1b\x70\x3e\xee\x64\xc6\x94"
     "\x75\x23\x5f\x3e"
     "\x2b\x69\xa4\x29\x2b\x1b\x60\x3e\xdb\x22\x95\x93\x5c\xff\x6f\x3e\xd5\xcc\x5a\x0a"
     "\x48\xfb\x0f\x3f"
     "\x00\x00\x00\x00\x00\x04\xf0\x3f\x00\x00\x00\x00\x00\x02\xf0\x3f\x00\x00\x00\x00"
     "\x00\x06\xf0\x3f"
     "\x05\x00\x00\x00\x00\x02\xf0\x3f\xfb\x40\xa6\x32\x2b\x1b\x60\x3e\x68\x5f\x1c\x00"
     "\x00\x00\x60\x3e"
     "\xb9\x6a\x37\xad\x01\xd6\x96\x36\xf8\xaf\x4d\xe5\xff\xff\xef\x47\x00\x00\x00\x00"
     "\x00\x00\xf0\x7f"
     "\x00\x00\x00\x00\x00\x00\xf0\xff\x00\x00\x00\x00\x00\x00\xf8\x7f\x00\x00\x00\xf0"
     "\xff\xff\xef\x47"
     "\x9c\x75\x00\x88\x3c\xe4\x37\x7e\xe8\x07\x00\x00\x00\x00\x00\x80",
     {0xBD4AE205, 0x23997514, 0x48DCEF39, 0x13048CFA, 0x5CA6C810, 0x23997514,
      0x48DCEF39, 0x13048CFA, 0xCCD31628, 0x053CADF8, 0x298FD6C9, 0x3AAC0338,
      0xD8AB4180, 0xC1999CF8}},
    {44,
     "\x00\x00\x00\x00\x00\x00\xc0\x7f\x00\x00\x00\x80\x00\x00\x80\xff\x00\x00\x80\x3f"
     "\x00\x00\x80\x7f"
     "\x00\x00\x80\xbf\xff\xff\x7f\x7f\x00\x00\x00\x3f\x01\x00\x00\x00\x00\x00\x30\xc0"
     "\x00\x00\x00\x33"
     "\xcd\xcc\xc8\x42\x5a\xd9\x00\x33\x9a\x99\x00\xc3\x00\x10\x80\x3f\x66\xe6\x7f\x43"
     "\x00\x30\x80\x3f"
     "\x00\x00\x80\x43\x00\x10\x80\x3f\x9a\x19\x96\xc3\x00\x20\x80\x3f\x00\x40\x1c\x46"
     "\x40\xda\x7f\x38"
     "\x80\x40\x1c\x47\xe5\xfa\x7f\x33\x00\xe0\x7f\x47\x59\xd9\x00\x33\x00\xef\x7f\x47"
     "\xad\x1b\xf9\x32"
     "\x00\xf0\x7f\x47\x59\xd9\x80\x33\x00\x50\xc3\x47\xca\xf2\x49\x71\x00\x00\x00\xcf"
     "\x23\xc7\x8a\xdf"
     "\x00\x00\x00\x4f\x23\xc7\x8a\x5f\x00\x00\x80\x4f\xd9\xcc\x79\x5f\x5e\xd0\x32\x4f"
     "\x3d\x10\x01\xdf"
     "\x6b\x0b\x5e\x5d\x3d\x10\x01\x5f\x3d\x10\x01\x5f\x6b\x0b\x5e\x5d\x3d\x10\x01\xdf"
     "\x5e\xd0\x32\x4f"
     "\xd9\xcc\x79\x5f\x00\x00\x80\x4f\x23\xc7\x8a\x5f\x00\x00\x00\x4f\x23\xc7\x8a\xdf"
     "\x00\x00\x00\xcf"
     "\xca\xf2\x49\x71\x00\x50\xc3\x47\x59\xd9\x80\x33\x00\xf0\x7f\x47\xad\x1b\xf9\x32"
     "\x00\xef\x7f\x47"
     "\x59\xd9\x00\x33\x00\xe0\x7f\x47\xe5\xfa\x7f\x33\x80\x40\x1c\x47\x40\xda\x7f\x38"
     "\x00\x40\x1c\x46"
     "\x00\x20\x80\x3f\x9a\x19\x96\xc3\x00\x10\x80\x3f\x00\x00\x80\x43\x00\x30\x80\x3f"
     "\x66\xe6\x7f\x43"
     "\x00\x10\x80\x3f\x9a\x99\x00\xc3\x5a\xd9\x00\x33\xcd\xcc\xc8\x42\x00\x00\x00\x33"
     "\x00\x00\x30\xc0"
     "\x01\x00\x00\x00\x00\x00\x00\x3f\xff\xff\x7f\x7f\x00\x00\x80\xbf\x00\x00\x80\x7f"
     "\x00\x00\x80\x3f"
     "\x00\x00\x80\xff\x00\x00\x00\x80\x00\x00\xc0\x7f\x00\x00\x00\x00",
     {0x78210720, 0x2B46A08B, 0xA2500116, 0xD5DF79D6, 0xC73C3C30, 0x2B46A08B,
      0xA2500116, 0xD5DF79D6, 0x5FBC7D7A, 0x728AD41B, 0x3778AD9A, 0x4065737C,
      0x890A8C6F, 0x3F793045}},
    {44,
     "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xf8\x7f\x00\x00\x00\x00"
     "\x00\x00\x00\x80"
     "\x00\x00\x00\x00\x00\x00\xf0\xff\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00"
     "\x00\x00\xf0\x7f"
     "\x00\x00\x00\x00\x00\x00\xf0\xbf\xf8\xaf\x4d\xe5\xff\xff\xef\x47\x00\x00\x00\x00"
     "\x00\x00\xe0\x3f"
     "\xb9\x6a\x37\xad\x01\xd6\x96\x36\x00\x00\x00\x00\x00\x00\x06\xc0\x68\x5f\x1c\x00"
     "\x00\x00\x60\x3e"
     "\x9a\x99\x99\x99\x99\x19\x59\x40\xfb\x40\xa6\x32\x2b\x1b\x60\x3e\x33\x33\x33\x33"
     "\x33\x13\x60\xc0"
     "\x05\x00\x00\x00\x00\x02\xf0\x3f\xcd\xcc\xcc\xcc\xcc\xfc\x6f\x40\x00\x00\x00\x00"
     "\x00\x06\xf0\x3f"
     "\x00\x00\x00\x00\x00\x00\x70\x40\x00\x00\x00\x00\x00\x02\xf0\x3f\x33\x33\x33\x33"
     "\x33\xc3\x72\xc0"
     "\x00\x00\x00\x00\x00\x04\xf0\x3f\x00\x00\x00\x00\x00\x88\xc3\x40\xd5\xcc\x5a\x0a"
     "\x48\xfb\x0f\x3f"
     "\x00\x00\x00\x00\x10\x88\xe3\x40\xdb\x22\x95\x93\x5c\xff\x6f\x3e\x00\x00\x00\x00"
     "\x00\xfc\xef\x40"
     "\x2b\x69\xa4\x29\x2b\x1b\x60\x3e\x00\x00\x00\x00\xe0\xfd\xef\x40\xee\x64\xc6\x94"
     "\x75\x23\x5f\x3e"
     "\x00\x00\x00\x00\x00\xfe\xef\x40\x2b\x69\xa4\x29\x2b\x1b\x70\x3e\x00\x00\x00\x00"
     "\x00\x6a\xf8\x40"
     "\xea\x8c\xa0\x39\x59\x3e\x29\x46\xcd\xcc\x1c\x00\x00\x00\xe0\xc1\x00\x3d\x91\x60"
     "\xe4\x58\xf1\xc3"
     "\x00\x00\x00\x00\x00\x00\xe0\x41\x00\x3d\x91\x60\xe4\x58\xf1\x43\x00\x00\x08\x00"
     "\x00\x00\xf0\x41"
     "\x00\xa1\x38\x14\x9b\x39\xef\x43\x00\x00\x00\xc0\x0b\x5a\xe6\x41\x40\x64\x3f\x97"
     "\x07\x22\xe0\xc3"
     "\x00\xc8\x4e\x67\x6d\xc1\xab\x43\x40\x64\x3f\x97\x07\x22\xe0\x43\x40\x64\x3f\x97"
     "\x07\x22\xe0\x43"
     "\x00\xc8\x4e\x67\x6d\xc1\xab\x43\x40\x64\x3f\x97\x07\x22\xe0\xc3\x00\x00\x00\xc0"
     "\x0b\x5a\xe6\x41"
     "\x00\xa1\x38\x14\x9b\x39\xef\x43\x00\x00\x08\x00\x00\x00\xf0\x41\x00\x3d\x91\x60"
     "\xe4\x58\xf1\x43"
     "\x00\x00\x00\x00\x00\x00\xe0\x41\x00\x3d\x91\x60\xe4\x58\xf1\xc3\xcd\xcc\x1c\x00"
     "\x00\x00\xe0\xc1"
     "\xea\x8c\xa0\x39\x59\x3e\x29\x46\x00\x00\x00\x00\x00\x6a\xf8\x40\x2b\x69\xa4\x29"
     "\x2b\x1b\x70\x3e"
     "\x00\x00\x00\x00\x00\xfe\xef\x40\xee\x64\xc6\x94\x75\x23\x5f\x3e\x00\x00\x00\x00"
     "\xe0\xfd\xef\x40"
     "\x2b\x69\xa4\x29\x2b\x1b\x60\x3e\x00\x00\x00\x00\x00\xfc\xef\x40\xdb\x22\x95\x93"
     "\x5c\xff\x6f\x3e"
     "\x00\x00\x00\x00\x10\x88\xe3\x40\xd5\xcc\x5a\x0a\x48\xfb\x0f\x3f\x00\x00\x00\x00"
     "\x00\x88\xc3\x40"
     "\x00\x00\x00\x00\x00\x04\xf0\x3f\x33\x33\x33\x33\x33\xc3\x72\xc0\x00\x00\x00\x00"
     "\x00\x02\xf0\x3f"
     "\x00\x00\x00\x00\x00\x00\x70\x40\x00\x00\x00\x00\x00\x06\xf0\x3f\xcd\xcc\xcc\xcc"
     "\xcc\xfc\x6f\x40"
     "\x05\x00\x00\x00\x00\x02\xf0\x3f\x33\x33\x33\x33\x33\x13\x60\xc0\xfb\x40\xa6\x32"
     "\x2b\x1b\x60\x3e"
     "\x9a\x99\x99\x99\x99\x19\x59\x40\x68\x5f\x1c\x00\x00\x00\x60\x3e\x00\x00\x00\x00"
     "\x00\x00\x06\xc0"
     "\xb9\x6a\x37\xad\x01\xd6\x96\x36\x00\x00\x00\x00\x00\x00\xe0\x3f\xf8\xaf\x4d\xe5"
     "\xff\xff\xef\x47"
     "\x00\x00\x00\x00\x00\x00\xf0\xbf\x00\x00\x00\x00\x00\x00\xf0\x7f\x00\x00\x00\x00"
     "\x00\x00\xf0\x3f"
     "\x00\x00\x00\x00\x00\x00\xf0\xff\x00\x00\x00\x00\x00\x00\x00\x80\x00\x00\x00\x00"
     "\x00\x00\xf8\x7f"
     "\x00\x00\x00\x00\x00\x00\x00\x00",
     {0x78210720, 0x2B46A08B, 0xA2500116, 0xEAA19665, 0x9820F5A8, 0x2B46A08B,
      0xA2500116, 0xEAA19665, 0xB888F71B, 0x474709E5, 0x3778AD9A, 0x3C9C1B9A,
      0x890A8C6F, 0x65B459EB}},
};

static uint32_t crc32(const unsigned char *p, size_t n) {
    uint32_t v = UINT32_MAX;
    while (n-- > 0) {
        v ^= *p++;
        for (int k = 0; k < 8; k++)
            v = v >> 1 ^ (v & 1 ? 0xEDB88320U : 0);
    }
    return ~v;
}

enum { N_MAX = 64 };

static void test_golden(void) {
    _Alignas(16) unsigned char in[N_MAX * 16], out[N_MAX * 16];
#ifdef __x86_64__
    CastPick *const picks[] = {cast_pick_0, cast_pick_1, cast_pick_2};
#else
    CastPick *const picks[] = {cast_pick_0};
#endif
    int levels = value_simd_level() + 1;
    for (int from = 0; from < DT_N; from++) {
        size_t n = golden[from].n;
        memcpy(in, golden[from].bytes, n * dtype_size((DType)from));
        for (int to = 0; to < DT_N; to++) {
            size_t size = dtype_size((DType)to);
            tensor_cast_elements((DType)to, out, (DType)from, in, n, (ptrdiff_t)size,
                                 (ptrdiff_t)dtype_size((DType)from));
            CHECK(crc32(out, n * size) == golden[from].crc[to], "%s to %s",
                  dtype_name((DType)from), dtype_name((DType)to));
            for (int level = 0; level < levels; level++) {
                memset(out, 0xAA, sizeof out);
                picks[level]((DType)to, (DType)from)(out, in, n);
                CHECK(crc32(out, n * size) == golden[from].crc[to],
                      "%s to %s, level %d", dtype_name((DType)from),
                      dtype_name((DType)to), level);
            }
        }
    }
}

/* dst_step and src_step in elements; the sources repeat the golden ones. */
static void check_layout(DType to, DType from, size_t n, int dst_step, int src_step,
                         size_t shift) {
    ptrdiff_t ts = (ptrdiff_t)dtype_size(to), fs = (ptrdiff_t)dtype_size(from);
    size_t span = n * 3;
    char *src = calloc(span, 16), *dst = calloc(span, 16), *want = calloc(n, 16);
    char *s0 = src + shift + (src_step < 0 ? (ptrdiff_t)(n - 1) * fs * -src_step : 0);
    char *d0 = dst + shift + (dst_step < 0 ? (ptrdiff_t)(n - 1) * ts * -dst_step : 0);
    char *line = calloc(n, 16);
    bool same = true;
    for (size_t i = 0; i < n; i++) {
        const char *v = golden[from].bytes + (i % golden[from].n) * (size_t)fs;
        if (src_step == 0) v = golden[from].bytes + fs;
        memcpy(s0 + (ptrdiff_t)i * src_step * fs, v, (size_t)fs);
        memcpy(line + (ptrdiff_t)i * fs, v, (size_t)fs);
    }
    tensor_cast_elements(to, want, from, line, n, ts, fs);
    tensor_cast_elements(to, d0, from, s0, n, dst_step * ts, src_step * fs);
    for (size_t i = 0; i < n; i++)
        same = same && memcmp(d0 + (ptrdiff_t)i * dst_step * ts,
                              want + (ptrdiff_t)i * ts, (size_t)ts) == 0;
    CHECK(same, "%s to %s, n %zu, steps %d %d, shift %zu", dtype_name(from),
          dtype_name(to), n, dst_step, src_step, shift);
    free(src);
    free(dst);
    free(want);
    free(line);
}

static void test_layouts(void) {
    static const size_t sizes[] = {1, 2, 255, 256, 257, 600};
    static const int steps[][2] = {{1, 1},  {2, 1},  {1, 2}, {-1, 1},
                                   {1, -1}, {-2, 2}, {1, 0}};
    for (int from = 0; from < DT_N; from++)
        for (int to = 0; to < DT_N; to++)
            for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
                size_t n = sizes[(size_t)(from + to) % 6];
                check_layout((DType)to, (DType)from, n, steps[k][0], steps[k][1], 0);
                check_layout((DType)to, (DType)from, 300, steps[k][0], steps[k][1],
                             1); /* unaligned */
            }
}

/* Every half to double and back, and to float and back; ties and neighbours between. */
static void test_halves(void) {
    int bad = 0;
    for (uint32_t i = 0; i < 65536; i++) {
        uint16_t h = (uint16_t)i, back = 0;
        double d;
        float f;
        tensor_cast_elements(DT_FLOAT64, &d, DT_FLOAT16, &h, 1, 8, 2);
        tensor_cast_elements(DT_FLOAT32, &f, DT_FLOAT16, &h, 1, 4, 2);
        double want = half_to_double(h);
        bool nan = (h & 0x7FFF) > 0x7C00;
        bad += !nan && (d != want || (double)f != want);
        tensor_cast_elements(DT_FLOAT16, &back, DT_FLOAT32, &f, 1, 2, 4);
        bad += nan ? (back & 0x7FFF) <= 0x7C00 : back != h;
        if (nan) continue;
        float near[3] = {f * 1.000244140625F, f * 1.00048828125F, f * 1.0004884F};
        for (int k = 0; k < 3; k++) {
            tensor_cast_elements(DT_FLOAT16, &back, DT_FLOAT32, &near[k], 1, 2, 4);
            bad += back != half_from_double((double)near[k]);
        }
    }
    CHECK(bad == 0, "%d halves are wrong", bad);
}

static void test_tensors(Session *s) {
    Tensor a, b, t;
    int64_t shape[2] = {3, 4};
    CHECK(tensor_new(s, DT_INT32, 2, shape, &a));
    for (int i = 0; i < 12; i++)
        ((int32_t *)a.data)[i] = i - 5;
    t = a; /* transposed, borrowed */
    t.shape[0] = 4;
    t.shape[1] = 3;
    t.stride[0] = a.stride[1];
    t.stride[1] = a.stride[0];
    CHECK(tensor_cast(s, &t, DT_FLOAT32, &b));
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++)
            CHECK(((float *)b.data)[i * 3 + k] == (float)(k * 4 + i - 5));
    Tensor row = a;
    row.ndim = 1;
    row.shape[0] = 4;
    row.stride[0] = 4;
    tensor_unref(&b);
    CHECK(tensor_zeros(s, DT_UINT8, 2, shape, &b));
    tensor_assign(&b, &row);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 4; k++)
            CHECK(((uint8_t *)b.data)[i * 4 + k] == (uint8_t)(k - 5));
    tensor_unref(&b);
    tensor_unref(&a);
    CHECK(tensor_scalar(s, DT_COMPLEX64, 1.5, -2, &a));
    CHECK(((float *)a.data)[0] == 1.5F && ((float *)a.data)[1] == -2);
    CHECK(tensor_f64(&a, 0) == 1.5 && tensor_i64(&a, 0) == 1);
    tensor_unref(&a);
    CHECK(tensor_scalar_int(s, DT_UINT64, -1, &a));
    CHECK(*(uint64_t *)a.data == UINT64_MAX && tensor_i64(&a, 0) == -1);
    tensor_unref(&a);
    CHECK(buffer_bytes_used(s) == 0);
}

/* Planes turned on their side, larger than a tile and not, also with one dim or both
 * backwards: byte by byte as by hand. */
static void test_turned(Session *s) {
    static const DType dtypes[] = {DT_INT8, DT_INT16, DT_FLOAT32, DT_FLOAT64,
                                   DT_COMPLEX128};
    static const int64_t sizes[] = {1, 31, 64, 65, 130};
    for (size_t q = 0; q < 5 * 5 * 5 * 4; q++) {
        int64_t r = sizes[q % 5], c = sizes[q / 5 % 5];
        DType d = dtypes[q / 25 % 5];
        bool back = q / 125 & 1, up = q / 125 & 2;
        size_t item = dtype_size(d), wrong = 0;
        Tensor a, t, out;
        CHECK(tensor_new(s, d, 3, (int64_t[]){2, r, c}, &a));
        for (size_t i = 0; i < tensor_bytes(&a); i++)
            ((uint8_t *)a.data)[i] = (uint8_t)(31 * i + i / 251);
        t = a;
        t.shape[1] = c, t.shape[2] = r;
        t.stride[1] = back ? -a.stride[2] : a.stride[2];
        t.stride[2] = up ? -a.stride[1] : a.stride[1];
        t.data = (char *)a.data + (back ? (c - 1) * a.stride[2] : 0) +
                 (up ? (r - 1) * a.stride[1] : 0);
        CHECK(tensor_new(s, d, 3, t.shape, &out));
        tensor_assign(&out, &t);
        for (int64_t k = 0; k < 2; k++)
            for (int64_t i = 0; i < c; i++)
                for (int64_t j = 0; j < r; j++) {
                    int64_t column = back ? c - 1 - i : i, row = up ? r - 1 - j : j;
                    size_t at = (size_t)((k * r + row) * c + column);
                    wrong +=
                        memcmp((char *)out.data + (size_t)((k * c + i) * r + j) * item,
                               (char *)a.data + at * item, item) != 0;
                }
        CHECK(wrong == 0, "%zu of a %lldx%lld %s%s%s", wrong, (long long)r,
              (long long)c, dtype_name(d), back ? ", backwards" : "",
              up ? ", upwards" : "");
        tensor_unref(&out);
        tensor_unref(&a);
    }
}

/* Any order of dims, some reversed or broadcast, narrow and wide, and long rows that
 * begin anywhere: element by element as by hand. */
static void test_permuted(Session *s) {
    static const DType dtypes[] = {DT_INT8, DT_INT16, DT_FLOAT32, DT_FLOAT64,
                                   DT_COMPLEX128};
    static const int64_t sizes[] = {1, 2, 3, 7, 8, 9, 17};
    uint32_t seed = 1;
#define DRAW(n) ((seed = seed * 1664525 + 1013904223) >> 8) % (n)
    for (int q = 0; q < 1500; q++) {
        DType d = dtypes[q % 5];
        size_t item = dtype_size(d), wrong = 0;
        Tensor a, t, out;
        int64_t shape[4];
        for (int k = 0; k < 4; k++)
            shape[k] = sizes[DRAW(7)];
        if (q % 50 == 0) shape[3] = 2100;
        CHECK(tensor_new(s, d, 4, shape, &a));
        for (size_t i = 0; i < tensor_bytes(&a); i++)
            ((uint8_t *)a.data)[i] = (uint8_t)(31 * i + i / 251);
        t = a;
        for (int k = 3; k > 0 && q % 50; k--) {
            uint32_t j = DRAW((uint32_t)k + 1);
            int64_t n = t.shape[k], step = t.stride[k];
            t.shape[k] = t.shape[j], t.stride[k] = t.stride[j];
            t.shape[j] = n, t.stride[j] = step;
        }
        for (int k = 0; k < 4; k++) {
            if (DRAW(8) == 0) t.stride[k] = 0;
            if (DRAW(8)) continue;
            t.data = (char *)t.data + (t.shape[k] - 1) * t.stride[k];
            t.stride[k] = -t.stride[k];
        }
        if (t.shape[3] > 2000) t.shape[3] -= 13;
        CHECK(tensor_new(s, d, 4, t.shape, &out));
        tensor_assign(&out, &t);
        for (int64_t i = 0; i < tensor_size(&t); i++) {
            const char *from = t.data;
            int64_t rest = i;
            for (int k = 3; k >= 0; k--) {
                from += rest % t.shape[k] * t.stride[k];
                rest /= t.shape[k];
            }
            wrong += memcmp((char *)out.data + (size_t)i * item, from, item) != 0;
        }
        CHECK(wrong == 0, "%zu of case %d of %s", wrong, q, dtype_name(d));
        tensor_unref(&out);
        tensor_unref(&a);
    }
#undef DRAW
}

/* ---- copies ---- */
enum { COPIED = 150, SPREAD = 3 };
static void check_copy(size_t size, size_t n, ptrdiff_t to, ptrdiff_t from) {
    static char src[SPREAD * COPIED * 16 + 1], dst[sizeof src], want[sizeof src];
    for (size_t i = 0; i < sizeof src; i++)
        src[i] = (char)(i * 7 + i / 251);
    memset(dst, 0x55, sizeof dst);
    memset(want, 0x55, sizeof want);
    /* one byte off: nothing is aligned */
    ptrdiff_t last = n ? (ptrdiff_t)n - 1 : 0, d = 1 + (to < 0 ? -to * last : 0),
              x = 1 + (from < 0 ? -from * last : 0);
    for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++)
        memcpy(want + d + i * to, src + x + i * from, size);
    tensor_copy_elements(dst + d, to, src + x, from, n, size);
    CHECK(memcmp(dst, want, sizeof dst) == 0, "%zu elements of %zu bytes, %td to %td",
          n, size, from, to);
}

static void test_copies(void) {
    static const ptrdiff_t steps[] = {1, -1, SPREAD, -SPREAD, 2, 0};
    for (ptrdiff_t size = 1; size <= 16; size *= 2)
        for (size_t n = 0; n <= COPIED; n += n < 70 ? 1 : 19)
            for (size_t i = 0; i < 5; i++)
                for (size_t k = 0; k < 6; k++)
                    check_copy((size_t)size, n, steps[i] * size, steps[k] * size);
}

/* One element many times; equal: all its bytes are the same. */
static void test_repeats(void) {
    static char dst[16 * 1500 + 1];
    for (int equal = 0; equal < 2; equal++)
        for (size_t size = 1; size <= 16; size *= 2)
            for (size_t n = 1; n <= 1500; n += n / 3 + 1) {
                char element[16];
                for (size_t i = 0; i < size; i++)
                    element[i] = (char)(equal ? 3 : i + 1);
                memset(dst, 0x55, sizeof dst);
                tensor_copy_elements(dst, (ptrdiff_t)size, element, 0, n, size);
                bool same = dst[n * size] == 0x55;
                for (size_t i = 0; i < n; i++)
                    same &= memcmp(dst + i * size, element, size) == 0;
                CHECK(same, "%zu times %zu bytes", n, size);
            }
}

/* The loops of each level that this CPU can run. */
static void test_backwards(void) {
#ifdef __x86_64__
    CopyFn *(*const fn[])(size_t) = {copy_backwards_0, copy_backwards_1,
                                     copy_backwards_2};
#else
    CopyFn *(*const fn[])(size_t) = {copy_backwards_0};
#endif
    enum { N = 93 };
    char src[N * 8], dst[N * 8];
    for (size_t i = 0; i < sizeof src; i++)
        src[i] = (char)(i * 11 + i / 200);
    for (int level = 0; level <= value_simd_level(); level++)
        for (size_t size = 1; size <= 8; size *= 2)
            for (size_t n = 1; n <= N; n++) {
                memset(dst, 0, sizeof dst);
                fn[level](size)(dst, src, n);
                bool same = n == N || dst[n * size] == 0;
                for (size_t i = 0; i < n; i++)
                    same &= memcmp(dst + i * size, src + (n - 1 - i) * size, size) == 0;
                CHECK(same, "level %d, %zu elements of %zu bytes", level, n, size);
            }
}

static void test_every_other(void) {
#ifdef __x86_64__
    EveryOtherFn *(*const fn[])(size_t) = {copy_every_other_0, copy_every_other_1,
                                           copy_every_other_2};
#else
    EveryOtherFn *(*const fn[])(size_t) = {copy_every_other_0};
#endif
    enum { N = 93, SPARE = 4 };
    CHECK(!fn[0](1) && !fn[0](16));
    for (int level = 0; level <= value_simd_level(); level++)
        for (size_t size = 4; size <= 8; size *= 2)
            for (size_t n = 0; n <= N; n++) {
                size_t all = n ? (2 * n - 1) * size : 0, done;
                char dst[N * 8] = {0}, *src = malloc(all + 1); /* no byte behind them */
                if (!src) exit(1);
                for (size_t i = 0; i < all; i++)
                    src[i] = (char)(i * 11 + i / 200 + 1);
                done = fn[level](size)(dst, src, n);
                bool same = done <= n && done + SPARE >= n;
                for (size_t i = 0; i < n * size; i++)
                    same &= dst[i] ==
                            (i < done * size ? src[i / size * 2 * size + i % size] : 0);
                CHECK(same, "level %d, %zu elements of %zu bytes", level, n, size);
                free(src);
            }
}

/* ---- transpositions ---- */
/* Room for dst at the end of which `spare` bytes of each row stay as they are. */
static void check_transposition(size_t size, size_t rows, size_t columns, size_t spare,
                                int how) {
    size_t dst_row = columns * size + spare, src_column = rows * size + 3;
    size_t all = rows * dst_row + 64, wrong = 0;
    char *src = malloc(columns * src_column + 1),
         *dst = aligned_alloc(64, all / 64 * 64 + 64);
    CHECK(src && dst);
    if (!src || !dst) exit(1);
    for (size_t i = 0; i < columns * src_column; i++)
        src[i] = (char)(i * 7 + i / 251);
    memset(dst, 0x55, all);
    Transposition t = {.dst = dst,
                       .dst_row = (ptrdiff_t)dst_row,
                       .src = src,
                       .src_column = (ptrdiff_t)src_column,
                       .rows = rows,
                       .columns = columns,
                       .size = size};
    if (how == 2)
        transpose_in_cache(&t);
    else
        transpose_by_tiles(&t, how == 1);
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < columns; c++)
            wrong += memcmp(dst + r * dst_row + c * size,
                            src + c * src_column + r * size, size) != 0;
        for (size_t k = columns * size; k < dst_row; k++)
            wrong += dst[r * dst_row + k] != 0x55;
    }
    for (size_t k = rows * dst_row; k < all; k++)
        wrong += dst[k] != 0x55;
    CHECK(wrong == 0, "%zu of %zu x %zu of %zu bytes, way %d", wrong, rows, columns,
          size, how);
    free(src);
    free(dst);
}

static void test_transpositions(void) {
    static const size_t sides[] = {0, 1, 3, 7, 8, 9, 15, 16, 31, 40, 130, 257};
    enum { N = sizeof sides / sizeof *sides };
    for (size_t size = 1; size <= 16; size *= 2)
        for (int how = 0; how < 3; how++) {
            for (int i = 0; i < N * N; i++)
                check_transposition(size, sides[i / N], sides[i % N], i % 3 ? 5 : 0,
                                    how);
            check_transposition(size, 1100, 64 / size * 3 + 1, 64 - size,
                                how);                           /* lines */
            check_transposition(size, 24, 4096 / size, 0, how); /* pages */
        }
}

/* Whole blocks by the loops of each level that this CPU can run. */
static void test_blocks(void) {
#ifdef __x86_64__
    BlocksFn *const fn[] = {transpose_blocks_0, transpose_blocks_1, transpose_blocks_2};
    SideFn *const side[] = {transpose_side_0, transpose_side_1, transpose_side_2};
#else
    BlocksFn *const fn[] = {transpose_blocks_0};
    SideFn *const side[] = {transpose_side_0};
#endif
    enum { N = 37 };
    static char src[N * N * 8], dst[N * N * 8];
    for (size_t i = 0; i < sizeof src; i++)
        src[i] = (char)(i * 11 + i / 200);
    for (int level = 0; level <= value_simd_level(); level++)
        for (size_t size = 1; size <= 16; size *= 2) {
            size_t n = side[level](size), whole = n ? N / n * n : 0, wrong = 0;
            CHECK(n == 0 || size <= 8);
            if (n == 0) continue;
            memset(dst, 0, sizeof dst);
            fn[level](&(Transposition){dst, N * (ptrdiff_t)size, src,
                                       N * (ptrdiff_t)size, N, N, size},
                      (Ahead)(level % 3));
            for (size_t i = 0; i < N * N; i++) {
                size_t r = i / N, c = i % N;
                static const char none[8];
                bool in = r < whole && c < whole;
                wrong += memcmp(dst + i * size, in ? src + (c * N + r) * size : none,
                                size) != 0;
            }
            CHECK(wrong == 0, "level %d, %zu of %zu bytes", level, wrong, size);
        }
}

int main(void) {
    Session *s = session_new(NULL, NULL);
    test_golden();
    test_layouts();
    test_halves();
    test_tensors(s);
    test_turned(s);
    test_permuted(s);
    test_copies();
    test_repeats();
    test_transpositions();
    test_blocks();
    test_backwards();
    test_every_other();
    session_free(s);
    return TEST_END("cast");
}
