// Arrays as data: conversion, splits, errors.
#include "../TemporaryFile.h"
#include "DataTesting.h"

#include "data/ArrayDataset.h"
#include "data/Batches.h"

#include <gtest/gtest.h>

#include <limits>
#include <sys/stat.h>
#include <unistd.h>

using namespace zrt;
using namespace zrt::test;

namespace {

DataOptions optionsFor(const TemporaryFile &file, double fraction = 0) {
  DataOptions options;
  options.path = file.path();
  options.validationFraction = fraction;
  return options;
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

/// What opening `path` for `inputs` throws.
std::string problemOf(const std::string &path,
                      const std::vector<Input> &inputs) {
  DataOptions options;
  options.path = path;
  options.validationFraction = 0;
  return messageOf([&] { openData(options, inputs); });
}

TEST(ArrayData, ErrorsNameTheArray) {
  const TemporaryFile file(".safetensors", fileOf(someArrays()));
  const std::string where = "'" + file.path() + "'";
  const auto message = [&](const std::vector<Input> &inputs) {
    return problemOf(file.path(), inputs);
  };
  EXPECT_EQ(message({input("pixels", DataType::F32, {3, 2})}),
            where + " has no array 'pixels', which the step has as input; it "
                    "has 'image', 'label'");
  EXPECT_EQ(message({input("images", DataType::F32, {3, 2})}),
            where + " has no array 'images', which the step has as input; it "
                    "has 'image', 'label'; name 'image' as the input");
  EXPECT_EQ(message({input("image", DataType::F32, {3, 5})}),
            where + ": the array 'image' has shape [4, 2], wanted samples of "
                    "shape [5]");
  EXPECT_EQ(message({input("label", DataType::F32, {3})}),
            where + ": the array 'label' holds I64, which cannot be read as "
                    "f32: convert it, so that what its values mean is your "
                    "choice");
  EXPECT_EQ(message({input("image", DataType::F32, {3, 2}),
                     input("label", DataType::I32, {2})}),
            where + ": the array 'label' has shape [4], wanted [2], shared by "
                    "all samples as the first dimension is not the "
                    "micro-batch, 3, or micro-batches of this shape");
  EXPECT_EQ(message({input("label", DataType::I32, {}),
                     input("image", DataType::F32, {3, 2})}),
            "the step's first input 'label' is a scalar: wanted one whose "
            "first dimension is the micro-batch");
}

TEST(ArrayData, RefusesValuesThatDoNotFit) {
  const auto message = [](const Array &array, DataType type) {
    const TemporaryFile file(".safetensors", fileOf({array}));
    const Data data = openData(optionsFor(file), {input("x", type, {1})});
    char value[8];
    void *addresses[] = {value};
    std::string text =
        messageOf([&] { data.training->read(0, 1, 0, addresses); });
    const std::string begin =
        "'" + file.path() + "': sample 1 of the array 'x' has ";
    EXPECT_EQ(text.rfind(begin, 0), 0u) << text;
    return text.substr(begin.size());
  };
  const int64_t large = int64_t(1) << 40;
  EXPECT_EQ(message(array<int64_t>("x", TensorDataType::I64, {2}, {0, large}),
                    DataType::I32),
            "1099511627776 at its element 0, which does not fit i32, the type "
            "of the step's input");
  EXPECT_NE(message(array<uint8_t>("x", TensorDataType::U8, {2}, {1, 2}),
                    DataType::I1)
                .find("2 at its element 0, which does not fit i1"),
            std::string::npos);
  EXPECT_NE(message(array<uint64_t>("x", TensorDataType::U64, {2},
                                    {0, std::numeric_limits<uint64_t>::max()}),
                    DataType::I64)
                .find("18446744073709551615 at its element 0"),
            std::string::npos);
  EXPECT_NE(message(array<double>("x", TensorDataType::F64, {2}, {0, 1e300}),
                    DataType::F32)
                .find("1e+300 at its element 0, which does not fit f32"),
            std::string::npos);
}

TEST(ArrayData, RefusesArraysOfUnlikeLength) {
  const TemporaryFile file(
      ".safetensors",
      fileOf({array<float>("image", TensorDataType::F32, {1, 2}, {0, 1}),
              array<int64_t>("label", TensorDataType::I64, {2}, {5, 6})}));
  EXPECT_EQ(problemOf(file.path(), someInputs()),
            "'" + file.path() +
                "': the array 'label' has 2 samples, 'image' has 1");
}

const std::string kImages = npyOf(
    npyHeader("<f4", "(4, 2)"), bytesOf<float>({0, 1, 10, 11, 20, 21, 30, 31}));
const std::string kLabels =
    npyOf(npyHeader("<i8", "(4,)"), bytesOf<int64_t>({5, 6, 7, 8}));

/// All samples that `path` holds for `someInputs`, in order.
std::vector<float> samplesOf(const std::string &path) {
  DataOptions options;
  options.path = path;
  options.validationFraction = 0;
  const Data data = openData(options, someInputs());
  std::vector<float> all;
  for (uint64_t i = 0; i < data.training->samples(); ++i) {
    std::vector<float> images(6);
    std::vector<int32_t> labels(3);
    void *addresses[] = {images.data(), labels.data()};
    data.training->read(0, i, 2, addresses);
    all.insert(all.end(), {images[4], images[5], float(labels[2])});
  }
  return all;
}

TEST(ArrayData, AllFormsOfAFolderGiveTheSameSamples) {
  const std::vector<float> wanted = {0, 1, 5, 10, 11, 6, 20, 21, 7, 30, 31, 8};
  TemporaryFolder numpy, each, shards, mixed;
  numpy.write("image.npy", kImages);
  numpy.write("label.npy", kLabels);
  numpy.write(".hidden", "");
  EXPECT_EQ(samplesOf(numpy.path()), wanted);
  EXPECT_EQ(samplesOf(numpy.path() + "/"), wanted);
  each.write("image.safetensors", fileOf({someArrays()[0]}));
  each.write("label.safetensors", fileOf({someArrays()[1]}));
  EXPECT_EQ(samplesOf(each.path()), wanted);
  shards.write(
      "data-1.safetensors",
      fileOf({array<float>("image", TensorDataType::F32, {1, 2}, {0, 1}),
              array<int64_t>("label", TensorDataType::I64, {1}, {5})}));
  shards.write(
      "data-2.safetensors",
      fileOf({array<float>("image", TensorDataType::F32, {3, 2},
                           {10, 11, 20, 21, 30, 31}),
              array<int64_t>("label", TensorDataType::I64, {3}, {6, 7, 8})}));
  EXPECT_EQ(samplesOf(shards.path()), wanted);
  mixed.write("image.npy", kImages);
  mixed.write("x.safetensors", fileOf({someArrays()[1]}));
  EXPECT_EQ(samplesOf(mixed.path()), wanted);
  const TemporaryFile one(".safetensors", fileOf(someArrays()));
  EXPECT_EQ(samplesOf(one.path()), wanted);
}

TEST(ArrayData, AnArrayInAFileNeedsNoName) {
  const TemporaryFile file(".npy", kLabels);
  const Data data =
      openData(optionsFor(file), {input("y", DataType::I32, {2})});
  EXPECT_EQ(data.training->samples(), 4u);
  EXPECT_EQ(problemOf(file.path(), someInputs()),
            "'" + file.path() +
                "' is one array, but the step has 2 inputs: give a folder that "
                "holds 'image.npy', 'label.npy', or one .safetensors file with "
                "an array for each");
}

TEST(ArrayData, FoldersSayWhatDoesNotFit) {
  TemporaryFolder empty;
  empty.write("readme.txt", "x");
  EXPECT_EQ(problemOf(empty.path(), someInputs()),
            "the folder '" + empty.path() +
                "' has no .npy or .safetensors file: wanted an array for each "
                "input of the step");
  TemporaryFolder twice;
  twice.write("label.npy", kLabels);
  twice.write("more.safetensors", fileOf({someArrays()[1]}));
  EXPECT_EQ(problemOf(twice.path(), someInputs()),
            "the array 'label' is both in '" + twice / "label.npy" +
                "' and in '" + twice / "more.safetensors" + "': remove one");
  TemporaryFolder unlike;
  unlike.write(
      "1.safetensors",
      fileOf({array<int64_t>("label", TensorDataType::I64, {1}, {5})}));
  unlike.write(
      "2.safetensors",
      fileOf({array<int32_t>("label", TensorDataType::I32, {1}, {5})}));
  EXPECT_EQ(problemOf(unlike.path(), someInputs()),
            "'" + unlike / "2.safetensors" +
                "' has the array 'label' with I32 of shape [1], and '" +
                unlike / "1.safetensors" +
                "' has it with I64 of shape [1]: parts of an array must agree "
                "in all but their first dimension");
}

TEST(ArrayData, ShardsHoldTheSameSamplesOfAllArrays) {
  TemporaryFolder folder;
  folder.write(
      "1.safetensors",
      fileOf({array<float>("image", TensorDataType::F32, {1, 2}, {0, 1}),
              array<int64_t>("label", TensorDataType::I64, {2}, {5, 6})}));
  folder.write(
      "2.safetensors",
      fileOf({array<float>("image", TensorDataType::F32, {2, 2}, {0, 1, 2, 3}),
              array<int64_t>("label", TensorDataType::I64, {1}, {7})}));
  EXPECT_EQ(problemOf(folder.path(), someInputs()),
            "'" + folder / "1.safetensors" +
                "' has 2 samples of 'label' from number 0 on, but 1 of 'image' "
                "from number 0 on: they would not be of the same samples");
}

/// Nor does a pipe that nobody writes to hang the run.
TEST(ArrayData, OnlyRegularFilesAreArrays) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/image.npy";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(problemOf(path, {input("image", DataType::F32, {3, 2})}),
            path + ": found a pipe, wanted a regular file");
}

TEST(ArrayData, ARemarkNamesFilesThatAreNotRead) {
  TemporaryFolder folder;
  folder.write("image.npy", kImages);
  folder.write("label.npy", kLabels);
  folder.write("weight.npy", kLabels);
  folder.write("readme.txt", "x");
  DataOptions options;
  options.path = folder.path();
  EXPECT_EQ(openData(options, someInputs()).remark,
            "'" + folder.path() +
                "' has arrays that the step has no input for, and that are not "
                "read: 'weight'; it has files that are not read: 'readme.txt'");
}

/// A mapping would end the process by a signal.
TEST(ArrayData, AFileThatIsCutShortInUseIsAnError) {
  TemporaryFolder folder;
  folder.write("image.npy", kImages);
  folder.write("label.safetensors", fileOf({someArrays()[1]}));
  DataOptions options;
  options.path = folder.path();
  options.validationFraction = 0;
  for (const char *name : {"image.npy", "label.safetensors"}) {
    const Data data = openData(options, someInputs());
    const auto bytes = std::filesystem::file_size(folder / name);
    ASSERT_EQ(::truncate((folder / name).c_str(), off_t(bytes - 1)), 0);
    std::vector<float> images(6);
    std::vector<int32_t> labels(3);
    void *addresses[] = {images.data(), labels.data()};
    data.training->read(0, 0, 0, addresses);
    EXPECT_EQ(messageOf([&] { data.training->read(0, 3, 0, addresses); }),
              "'" + folder / name + "' was cut short during the run: it had " +
                  std::to_string(bytes) + " bytes at the start and has " +
                  std::to_string(bytes - 1) +
                  " now; leave data alone while it is used");
    std::filesystem::resize_file(folder / name, bytes);
  }
}

TEST(ArrayData, InputsOfAnotherFirstDimensionAreShared) {
  const TemporaryFile file(
      ".safetensors",
      fileOf(
          {array<float>("x", TensorDataType::F32, {3, 1}, {1, 2, 3}),
           array<int32_t>("edges", TensorDataType::I32, {5}, {4, 3, 2, 1, 0}),
           array<float>("scale", TensorDataType::F32, {}, {7})}));
  const Data data =
      openData(optionsFor(file), {input("x", DataType::F32, {2, 1}),
                                  input("edges", DataType::I32, {5}),
                                  input("scale", DataType::F32, {})});
  EXPECT_EQ(data.training->samples(), 3u);
  std::vector<float> x(2), scale(1);
  std::vector<int32_t> edges(5);
  void *addresses[] = {x.data(), edges.data(), scale.data()};
  data.training->read(0, 2, 0, addresses);
  data.training->read(0, 0, 1, addresses);
  EXPECT_EQ(x, (std::vector<float>{3, 1}));
  EXPECT_EQ(edges, (std::vector<int32_t>{4, 3, 2, 1, 0}));
  EXPECT_EQ(scale[0], 7);
}

TEST(ArrayData, WhatIsSharedIsInOneFile) {
  const TemporaryFolder folder;
  for (const char *name : {"a.safetensors", "b.safetensors"})
    folder.write(
        name,
        fileOf({array<float>("x", TensorDataType::F32, {2, 1}, {1, 2}),
                array<float>("scale", TensorDataType::F32, {3}, {7, 8, 9})}));
  EXPECT_EQ(problemOf(folder.path(), {input("x", DataType::F32, {2, 1}),
                                      input("scale", DataType::F32, {6})}),
            "'" + folder.path() +
                "': the array 'scale', which all samples share, is in 2 files: "
                "put it into one, since it has no samples to divide");
}

/// Two graphs of three nodes and two edges, a micro-batch each.
TEST(ArrayData, ArraysOfWholeMicroBatches) {
  const std::vector<Input> inputs = {input("x", DataType::F32, {3, 1}),
                                     input("edges", DataType::I32, {2, 2})};
  const TemporaryFile file(
      ".safetensors",
      fileOf({array<float>("x", TensorDataType::F32, {2, 3, 1},
                           {1, 2, 3, 4, 5, 6}),
              array<int32_t>("edges", TensorDataType::I32, {2, 2, 2},
                             {0, 1, 1, 2, 2, 1, 1, 0})}));
  Program program;
  program.inputs = inputs;
  const Data data = openData(optionsFor(file), inputs);
  EXPECT_TRUE(data.training->wholeBatches());
  EXPECT_EQ(data.training->samples(), 2u);
  const Batches batches(program, data, 0, 0);
  EXPECT_EQ(batches.tokensPerUpdate(), 3u);
  std::vector<float> seen;
  for (uint64_t update : {0, 1}) {
    std::vector<float> x(3);
    std::vector<int32_t> edges(4);
    void *addresses[] = {x.data(), edges.data()};
    batches.fillTraining(update, 0, addresses);
    seen.push_back(x[0]);
    EXPECT_EQ(x[2], x[0] + 2);
    EXPECT_EQ(edges[0], x[0] == 1 ? 0 : 2);
  }
  EXPECT_NE(seen[0], seen[1]);
  const TemporaryFile mixed(
      ".safetensors",
      fileOf(
          {array<float>("x", TensorDataType::F32, {6, 1}, {1, 2, 3, 4, 5, 6}),
           array<int32_t>("edges", TensorDataType::I32, {2, 2, 2},
                          {0, 1, 1, 2, 2, 1, 1, 0})}));
  EXPECT_EQ(problemOf(mixed.path(), inputs),
            "'" + mixed.path() +
                "': the array 'edges' holds whole micro-batches, 'x' holds "
                "samples: give all in one of the two forms");
}

TEST(ArrayData, EveryRankHasAMicroBatch) {
  const TemporaryFile file(".safetensors", fileOf(someArrays()));
  DataOptions options = optionsFor(file);
  options.ranks = 2;
  EXPECT_EQ(messageOf([&] { openData(options, someInputs()); }),
            "'" + file.path() +
                "' has 4 samples to train on, but 2 ranks take 6 at a time, a "
                "micro-batch each: give more data, hold out less of it, or "
                "compile for fewer ranks or a smaller micro-batch");
  options.ranks = 1;
  EXPECT_EQ(messageOf([&] { openData(options, someInputs()); }), "(no error)");
}

TEST(ArrayData, ValidationIsOfTheSameKind) {
  const TemporaryFile file(".safetensors", fileOf(someArrays()));
  const TemporaryFile text(".txt", "x");
  DataOptions options = optionsFor(file);
  options.validationPath = text.path();
  EXPECT_EQ(messageOf([&] { openData(options, someInputs()); }),
            "'" + file.path() + "' and '" + text.path() +
                "' must both be tokens or both be arrays");
}

/// The labels that update `update` sees, in order.
std::vector<int32_t> globalLabels(const std::string &path, int ranks,
                                  int accumulation, uint64_t update) {
  Program program;
  program.inputs = {input("image", DataType::F32, {2, 2}),
                    input("label", DataType::I32, {2})};
  program.training.ranks = ranks;
  program.training.accumulation = accumulation;
  DataOptions options;
  options.path = path;
  options.validationFraction = 0;
  const Data data = openData(options, program.inputs);
  std::vector<int32_t> all;
  for (int micro = 0; micro < accumulation; ++micro)
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<float> images(4);
      std::vector<int32_t> labels(2);
      void *addresses[] = {images.data(), labels.data()};
      Batches(program, data, 3, rank).fillTraining(update, micro, addresses);
      all.insert(all.end(), labels.begin(), labels.end());
    }
  return all;
}

TEST(ArrayData, TheOrderIsTheSameForAllRanksAndFormats) {
  std::vector<float> images(2 * 36);
  std::vector<int64_t> labels(36);
  for (int i = 0; i < 36; ++i)
    labels[size_t(i)] = i;
  const std::string image = npyOf(npyHeader("<f4", "(36, 2)"), bytesOf(images));
  TemporaryFolder numpy, shards;
  numpy.write("image.npy", image);
  numpy.write("label.npy", npyOf(npyHeader("<i8", "(36,)"), bytesOf(labels)));
  shards.write("image.npy", image);
  for (int shard = 0; shard < 3; ++shard)
    shards.write("part" + std::to_string(shard) + ".safetensors",
                 fileOf({array<int64_t>("label", TensorDataType::I64, {12},
                                        {labels.begin() + 12 * shard,
                                         labels.begin() + 12 * (shard + 1)})}));
  for (uint64_t update : {0, 1, 7}) {
    const auto one = globalLabels(numpy.path(), 1, 6, update);
    EXPECT_EQ(one.size(), 12u);
    for (const std::string &path : {numpy.path(), shards.path()}) {
      EXPECT_EQ(globalLabels(path, 1, 6, update), one);
      EXPECT_EQ(globalLabels(path, 2, 3, update), one);
      EXPECT_EQ(globalLabels(path, 3, 2, update), one);
      EXPECT_EQ(globalLabels(path, 6, 1, update), one);
    }
  }
}

} // namespace
