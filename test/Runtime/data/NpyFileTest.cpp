// .npy files, well formed and not.
#include "../TemporaryFile.h"
#include "DataTesting.h"

#include "data/NpyFile.h"

#include <gtest/gtest.h>

using namespace zrt;
using namespace zrt::test;

namespace {

/// What is wrong with a file of these bytes, without its name.
std::string problemOf(const std::string &bytes) {
  const TemporaryFile file(".npy", bytes);
  std::string text = messageOf([&] { NpyFile npy(file.path()); });
  const std::string name = "'" + file.path() + "' ";
  EXPECT_EQ(text.rfind(name, 0), 0u) << text;
  return text.substr(std::min(text.size(), name.size()));
}

const std::string kFloats = bytesOf<float>({0, 1, 2, 3, 4, 5});

TEST(NpyFile, ReadsAllThreeVersions) {
  for (int version : {1, 2, 3}) {
    const TemporaryFile file(
        ".npy", npyOf(npyHeader("<f4", "(3, 2)"), kFloats, version));
    const NpyFile npy(file.path());
    EXPECT_EQ(npy.type(), TensorDataType::F32);
    EXPECT_EQ(npy.shape(), (std::vector<int64_t>{3, 2}));
    float row[2];
    npy.read(2, 2, row);
    EXPECT_EQ(row[0], 2);
    EXPECT_EQ(row[1], 3);
  }
}

TEST(NpyFile, ReadsTheTypesOfNumPy) {
  const std::pair<const char *, TensorDataType> types[] = {
      {"|b1", TensorDataType::Bool}, {"|u1", TensorDataType::U8},
      {"|i1", TensorDataType::I8},   {"<u2", TensorDataType::U16},
      {"<i2", TensorDataType::I16},  {"<f2", TensorDataType::F16},
      {"<u4", TensorDataType::U32},  {"<i4", TensorDataType::I32},
      {"<i8", TensorDataType::I64},  {"<u8", TensorDataType::U64},
      {"<f8", TensorDataType::F64}};
  for (const auto &[descr, type] : types) {
    const TemporaryFile file(
        ".npy",
        npyOf(npyHeader(descr, "(3,)"), std::string(3 * sizeOf(type), '\0')));
    EXPECT_EQ(NpyFile(file.path()).type(), type) << descr;
  }
}

TEST(NpyFile, KeysComeInAnyOrderAndShapesMayBeEmpty) {
  const TemporaryFile file(
      ".npy", npyOf("{\"shape\":(),'fortran_order':False,'descr':\"<i4\"}",
                    bytesOf<int32_t>({7})));
  const NpyFile npy(file.path());
  EXPECT_TRUE(npy.shape().empty());
  int32_t value = 0;
  npy.read(0, 1, &value);
  EXPECT_EQ(value, 7);
}

TEST(NpyFile, RefusesWhatIsCutShort) {
  EXPECT_EQ(problemOf(""), "is no valid .npy file: it has 0 bytes");
  EXPECT_EQ(problemOf("\x93NUM"), "is no valid .npy file: it has 4 bytes");
  EXPECT_EQ(problemOf("some other text"),
            "is no valid .npy file: it does not begin with \\x93NUMPY");
  const std::string whole = npyOf(npyHeader("<f4", "(3, 2)"), kFloats);
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(problemOf(whole.substr(0, size)), "") << size;
  EXPECT_EQ(problemOf(whole + "x"),
            "is no valid .npy file: its shape and type need 24 bytes after "
            "the header, found 25");
}

TEST(NpyFile, RefusesHeadersLargerThanTheFile) {
  const std::string header = npyHeader("<f4", "(3, 2)");
  EXPECT_EQ(problemOf(npyOf(header, kFloats, 1, 60000)),
            "is no valid .npy file: it announces a header of 60000 bytes; the "
            "file has " +
                std::to_string(10 + header.size() + 24));
  EXPECT_NE(problemOf(npyOf(header, kFloats, 2, 0xffffffff))
                .find("announces a header of 4294967295 bytes"),
            std::string::npos);
  // In the file, and still no header.
  EXPECT_NE(problemOf(npyOf(std::string(2 << 20, ' '), "", 3))
                .find("announces a header of 2097152 bytes"),
            std::string::npos);
}

TEST(NpyFile, SaysWhatToDoAboutOtherLayouts) {
  EXPECT_EQ(problemOf(npyOf(npyHeader("<f4", "(3, 2)", "True"), kFloats)),
            "is in Fortran order, wanted C order: save "
            "numpy.ascontiguousarray(array)");
  EXPECT_EQ(problemOf(npyOf(npyHeader(">f4", "(3, 2)"), kFloats)),
            "has elements of type '>f4': big-endian; save it as "
            "little-endian, array.astype(array.dtype.newbyteorder('<'))");
  for (const char *descr : {"<c8", "|O", "<U3", "|V2", "f4", "", "<f4x"})
    EXPECT_EQ(problemOf(npyOf(npyHeader(descr, "(3, 2)"), kFloats)),
              std::string("has elements of type '") + descr +
                  "': wanted bool, integers, float16, float32 or float64; "
                  "bfloat16 can be given as .safetensors");
  EXPECT_NE(problemOf(npyOf("{'descr': [('a', '<f4')], 'fortran_order': "
                            "False, 'shape': (6,)}",
                            kFloats))
                .find("the elements have fields"),
            std::string::npos);
  EXPECT_EQ(problemOf(npyOf(npyHeader("<f4", "(3, 2)"), kFloats, 4)),
            "is no valid .npy file: it has version 4.0, wanted 1 to 3");
}

TEST(NpyFile, RefusesShapesThatAreNone) {
  for (const char *shape :
       {"(-3, 2)", "(3, 9223372036854775808)", "(3 2)", "(3, 2", "3, 2",
        "(3.0,)", "(3, None)", "[3, 2]", "(3L, 2L)"})
    EXPECT_EQ(problemOf(npyOf(npyHeader("<f4", shape), kFloats))
                  .rfind("is no valid .npy file: at byte ", 0),
              0u)
        << shape;
  EXPECT_EQ(
      problemOf(npyOf(npyHeader("<f4", "(4611686018427387904, 16)"), kFloats)),
      "is no valid .npy file: its shape has more bytes than 64 bits "
      "count");
}

TEST(NpyFile, RefusesHeadersThatAreNoDictionary) {
  const std::string type = "'descr': '<f4', ", order = "'fortran_order': False";
  const std::string shape = ", 'shape': (3, 2)";
  const std::pair<std::string, const char *> cases[] = {
      {"", "wanted '{'"},
      {"{", "wanted a string"},
      {"{}", "wanted the keys 'descr', 'fortran_order' and 'shape'"},
      {"{'descr': '<f4'}",
       "wanted the keys 'descr', 'fortran_order' and 'shape'"},
      {"{'descr': '<f4}", "a string does not end"},
      {"descr", "wanted '{'"},
      {"{descr: '<f4'}", "wanted a string"},
      {"{" + type + type + order + shape + "}", "found the key 'descr' twice"},
      {"{" + type + "'fortran_order': 0" + shape + "}", "wanted True or False"},
      {"{" + type + order + shape + ", 'more': 1}",
       "found the unknown key 'more'"},
      {"{" + type + order + shape + "} import os",
       "there is more after the dictionary"},
      {"{'descr': '<f4' " + order + shape + "}",
       "wanted ',' or '}' after the value of 'descr'"},
      {"{" + type + order + ", 'shape': (3 2)}",
       "wanted ',' or ')' in the shape"}};
  for (const auto &[header, wanted] : cases) {
    const std::string found = problemOf(npyOf(header, kFloats));
    EXPECT_EQ(found.rfind("is no valid .npy file: at byte ", 0), 0u) << header;
    EXPECT_NE(found.find(std::string(" of its header, ") + wanted),
              std::string::npos)
        << header << " gives " << found;
  }
}

} // namespace
