// Arrays as data: conversion, splits, errors.
#include "TemporaryFile.h"

#include "data/ArrayFile.h"

#include <gtest/gtest.h>

#include <functional>

using namespace zrt;
using namespace zrt::test;

namespace {

/// One array and its bytes.
struct Array {
  TensorEntry entry;
  std::string bytes;
};

template <typename T>
Array array(const std::string &name, TensorDataType type,
            std::vector<int64_t> shape, const std::vector<T> &values) {
  Array result;
  result.entry.name = name;
  result.entry.type = type;
  result.entry.shape = std::move(shape);
  result.bytes.assign(reinterpret_cast<const char *>(values.data()),
                      values.size() * sizeof(T));
  return result;
}

std::string fileOf(const std::vector<Array> &arrays) {
  std::vector<TensorEntry> entries;
  std::string bytes;
  for (const Array &array : arrays) {
    entries.push_back(array.entry);
    bytes += array.bytes;
  }
  return makeSafeTensorsHeader(entries) + bytes;
}

Input input(const std::string &name, DataType type,
            std::vector<int64_t> shape) {
  Input result;
  result.name = name;
  result.type = {type, std::move(shape)};
  return result;
}

DataOptions optionsFor(const TemporaryFile &file, double fraction = 0) {
  DataOptions options;
  options.path = file.path();
  options.validationFraction = fraction;
  return options;
}

std::string messageOf(const std::function<void()> &function) {
  try {
    function();
  } catch (const std::exception &error) {
    return error.what();
  }
  return "(no error)";
}

/// Four samples of two f32 and a label.
std::vector<Array> someArrays() {
  return {array<float>("image", TensorDataType::F32, {4, 2},
                       {0, 1, 10, 11, 20, 21, 30, 31}),
          array<int64_t>("label", TensorDataType::I64, {4}, {5, 6, 7, 8})};
}

std::vector<Input> someInputs(DataType type = DataType::F32) {
  return {input("image", type, {3, 2}), input("label", DataType::I32, {3})};
}

TEST(ArrayData, ReadsAndConvertsRows) {
  const TemporaryFile file(".safetensors", fileOf(someArrays()));
  const Data data = openData(optionsFor(file), someInputs());
  EXPECT_EQ(data.training->samples(), 4u);
  EXPECT_EQ(data.training->tokensPerSample(), 1u);
  std::vector<float> images(6);
  std::vector<int32_t> labels(3);
  void *addresses[] = {images.data(), labels.data()};
  data.training->read(0, 2, 1, addresses);
  EXPECT_EQ(images, (std::vector<float>{0, 0, 20, 21, 0, 0}));
  EXPECT_EQ(labels, (std::vector<int32_t>{0, 7, 0}));
}

TEST(ArrayData, RoundsToSixteenBits) {
  const TemporaryFile file(".safetensors", fileOf(someArrays()));
  const Data data = openData(optionsFor(file), someInputs(DataType::BF16));
  std::vector<uint16_t> images(6);
  std::vector<int32_t> labels(3);
  void *addresses[] = {images.data(), labels.data()};
  data.training->read(0, 1, 0, addresses);
  EXPECT_EQ(images[0], 0x4120); // 10
  EXPECT_EQ(images[1], 0x4130); // 11
}

TEST(ArrayData, SplitsValidationOffTheEnd) {
  const TemporaryFile file(".safetensors", fileOf(someArrays()));
  const Data data = openData(optionsFor(file, 0.25), someInputs());
  EXPECT_EQ(data.training->samples(), 3u);
  ASSERT_TRUE(data.validation);
  std::vector<float> images(6);
  std::vector<int32_t> labels(3);
  void *addresses[] = {images.data(), labels.data()};
  data.validation->read(0, 0, 0, addresses);
  EXPECT_EQ(labels[0], 8);
}

TEST(ArrayData, ARemarkNamesArraysThatAreNotRead) {
  const TemporaryFile file(".safetensors", fileOf(someArrays()));
  EXPECT_EQ(openData(optionsFor(file), someInputs()).remark, "");
  EXPECT_EQ(openData(optionsFor(file), {input("image", DataType::F32, {3, 2})})
                .remark,
            "'" + file.path() +
                "' has arrays that the step has no input for, and "
                "that are not read: 'label'");
}

TEST(ArrayData, ErrorsNameTheArray) {
  const TemporaryFile file(".safetensors", fileOf(someArrays()));
  const std::string where = "'" + file.path() + "'";
  const auto message = [&](const std::vector<Input> &inputs) {
    return messageOf([&] { openData(optionsFor(file), inputs); });
  };
  EXPECT_EQ(message({input("pixels", DataType::F32, {3, 2})}),
            where + " has no array 'pixels', which the step has as input");
  EXPECT_EQ(message({input("image", DataType::F32, {3, 5})}),
            where + ": the array 'image' has shape [4, 2], wanted samples of "
                    "shape [5]");
  EXPECT_EQ(message({input("label", DataType::F32, {3})}),
            where +
                ": the array 'label' holds I64, which cannot be read as f32");
  EXPECT_EQ(message({input("image", DataType::F32, {3, 2}),
                     input("label", DataType::I32, {2})}),
            "the first dimension of the step's input 'label' is 2 and that of "
            "'image' is 3: both must be the micro-batch");
  const std::string scalar = "the step's input 'label' is a scalar: data is "
                             "read for inputs whose first dimension is the "
                             "micro-batch";
  EXPECT_EQ(message({input("image", DataType::F32, {3, 2}),
                     input("label", DataType::I32, {})}),
            scalar);
  EXPECT_EQ(message({input("label", DataType::I32, {}),
                     input("image", DataType::F32, {3, 2})}),
            scalar);
}

TEST(ArrayData, RefusesIntegersThatDoNotFit) {
  const TemporaryFile file(".safetensors",
                           fileOf({array<int64_t>("label", TensorDataType::I64,
                                                  {1}, {int64_t(1) << 40})}));
  const std::vector<Input> inputs = {input("label", DataType::I32, {1})};
  const Data data = openData(optionsFor(file), inputs);
  int32_t label = 0;
  void *addresses[] = {&label};
  EXPECT_EQ(messageOf([&] { data.training->read(0, 0, 0, addresses); }),
            "'" + file.path() +
                "': the array 'label': value 1099511627776 does not fit the "
                "input's type");
}

TEST(ArrayData, RefusesArraysOfUnlikeLength) {
  const TemporaryFile file(
      ".safetensors",
      fileOf({array<float>("image", TensorDataType::F32, {1, 2}, {0, 1}),
              array<int64_t>("label", TensorDataType::I64, {2}, {5, 6})}));
  EXPECT_EQ(messageOf([&] { openData(optionsFor(file), someInputs()); }),
            "'" + file.path() +
                "': the array 'label' has 2 samples, 'image' has 1");
}

} // namespace
