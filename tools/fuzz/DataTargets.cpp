// Targets: files of weights and of training data.
#include "Mutate.h"
#include "RuntimeTargets.h"
#include "ScratchFile.h"

#include "communicator/InProcess.h"
#include "data/Batches.h"
#include "io/SafeTensors.h"
#include "state/Weights.h"

#include <cstdio>
#include <cstring>
#include <functional>
#include <stdexcept>

using namespace fuzz;
using namespace zrt;

namespace {

/// Whether `read` ends without an error, which must name `path`, or the step
/// that no file fits.
bool accepts(const std::string &path, const std::function<void()> &read) {
  try {
    read();
    return true;
  } catch (const std::runtime_error &error) {
    const std::string what = error.what();
    require(what.find(path) != std::string::npos ||
                what.rfind("the step's input", 0) == 0,
            "an error does not name the file: '" + what + "'");
    return false;
  }
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

std::string tensorsOf(std::vector<TensorEntry> entries,
                      const std::map<std::string, std::string> &metadata = {}) {
  const std::string header = makeSafeTensorsHeader(entries, metadata);
  std::string data;
  while (data.size() < entries.back().end)
    data.push_back(char(data.size() % 4 == 3 ? 0x3f : data.size()));
  return header + data;
}

TensorEntry entry(const char *name, TensorDataType type,
                  std::vector<int64_t> shape) {
  TensorEntry result;
  result.name = name;
  result.type = type;
  result.shape = std::move(shape);
  return result;
}

std::vector<std::string> weightsSeeds() {
  return {tensorsOf({entry("w", TensorDataType::F32, {2, 3}),
                     entry("b", TensorDataType::F16, {3})}),
          tensorsOf({entry("w", TensorDataType::BF16, {2, 3}),
                     entry("b", TensorDataType::F32, {3})},
                    {{"format", "pt"}}),
          tensorsOf({entry("a", TensorDataType::I64, {}),
                     entry("empty", TensorDataType::U8, {4, 0, 2}),
                     entry("e", TensorDataType::F8E4M3, {1, 1, 1, 1, 1})})};
}

/// Two parameters of one partition.
Program makeModel() {
  Program program;
  uint64_t end = 0;
  for (const auto &[name, shape] : {std::pair("w", std::vector<int64_t>{2, 3}),
                                    std::pair("b", std::vector<int64_t>{3})}) {
    Parameter parameter;
    parameter.name = name;
    parameter.shape = shape;
    parameter.partition = 0;
    parameter.memberOffset = end;
    end += uint64_t(parameter.elements());
    program.parameters.push_back(parameter);
  }
  Partition partition;
  partition.segments = {{0, end}};
  partition.parameters.arena = Arena::Parameters;
  partition.parameters.bytes = end * sizeof(float);
  program.arenaBytes[int(Arena::Parameters)] = partition.parameters.bytes;
  program.partitions.push_back(partition);
  return program;
}

/// Reads all tensors, and their description back from what it is written as.
void readAll(const SafeTensorsFile &file) {
  std::vector<char> bytes;
  std::vector<float> values;
  for (const TensorEntry &tensor : file.tensors()) {
    require(file.find(tensor.name) == &tensor, "a tensor is not found");
    const uint64_t count = tensor.elements();
    bytes.resize(count * zrt::sizeOf(tensor.type));
    file.read(tensor, 0, count, bytes.data());
    values.resize(count);
    if (tensor.type == TensorDataType::F32 ||
        tensor.type == TensorDataType::F16 ||
        tensor.type == TensorDataType::BF16)
      file.readFloats(tensor, 0, count, values.data());
  }
  std::vector<TensorEntry> entries = file.tensors();
  std::string written = makeSafeTensorsHeader(entries, file.metadata());
  if (!entries.empty())
    written.resize(written.size() + entries.back().end);
  const ScratchFile again(written, ".safetensors");
  const SafeTensorsFile other(again.path());
  require(other.tensors().size() == entries.size() &&
              other.metadata() == file.metadata(),
          "a file changes when it is written");
}

bool runWeights(const std::string &input) {
  static const Program program = makeModel();
  static const Arenas arenas(program);
  static const auto communicators = makeInProcess(1);
  {
    const ScratchFile file(input, ".safetensors");
    accepts(file.path(), [&] {
      loadWeights(file.path(), program, arenas, *communicators.front());
    });
  }
  const ScratchFile file(input, ".safetensors");
  return accepts(file.path(), [&] { readAll(SafeTensorsFile(file.path())); });
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

Input inputOf(const char *name, DataType type, std::vector<int64_t> shape) {
  Input input;
  input.name = name;
  input.type = {type, std::move(shape)};
  return input;
}

/// Reads some samples of both parts, the first and the last among them.
void readSamples(const Data &data, const std::vector<Input> &inputs) {
  std::vector<std::vector<char>> memory;
  std::vector<void *> addresses;
  for (const Input &input : inputs)
    memory.emplace_back(input.type.bytes());
  for (std::vector<char> &input : memory)
    addresses.push_back(input.data());
  const int64_t last = microBatchOf(inputs) - 1;
  for (const Dataset *part : {data.training.get(), data.validation.get()}) {
    if (!part)
      continue;
    require(part->samples() > 0, "a part of the data has no sample");
    for (uint64_t epoch : {0, 1, 1000})
      for (uint64_t sample :
           {uint64_t(0), part->samples() / 2, part->samples() - 1})
        part->read(epoch, sample, sample % 2 ? last : 0, addresses.data());
  }
}

bool readData(const std::string &bytes, const std::string &suffix,
              const std::vector<Input> &inputs) {
  const ScratchFile file(bytes, suffix);
  DataOptions options;
  options.path = file.path();
  options.validationFraction = 0.25;
  return accepts(file.path(),
                 [&] { readSamples(openData(options, inputs), inputs); });
}

std::vector<std::string> arraysSeeds() {
  return {"22\n" + tensorsOf({entry("x", TensorDataType::F32, {8, 3}),
                              entry("y", TensorDataType::I64, {8})}),
          "14\n" + tensorsOf({entry("x", TensorDataType::F16, {5, 3}),
                              entry("y", TensorDataType::U8, {5}),
                              entry("other", TensorDataType::Bool, {2})}),
          "06\n" + tensorsOf({entry("x", TensorDataType::F64, {4, 3}),
                              entry("y", TensorDataType::I16, {4})})};
}

DataType typeOf(char digit) {
  return kCasesOf<DataType>[uint8_t(digit - '0') % kCountOf<DataType>];
}

bool runArrays(const std::string &input) {
  if (input.size() < 3 || input[2] != '\n')
    return false;
  return readData(input.substr(3), ".safetensors",
                  {inputOf("x", typeOf(input[0]), {2, 3}),
                   inputOf("y", typeOf(input[1]), {2})});
}

std::string tokensOf(size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i)
    bytes += {char(i * 7), char(i % 3)};
  return bytes;
}

/// Magic number, version, count, and the rest of llm.c's header.
std::string headerOf(uint32_t count) {
  std::string header(1024, '\0');
  const uint32_t words[] = {20240520, 1, count};
  std::memcpy(header.data(), words, sizeof(words));
  return header;
}

std::vector<std::string> tokensSeeds() {
  return {"t\5A text of some words, which are its tokens.\n",
          "b\3" + tokensOf(40), "b\7" + headerOf(40) + tokensOf(40), "t\1ab"};
}

bool runTokens(const std::string &input) {
  if (input.size() < 2)
    return false;
  const int64_t length = static_cast<unsigned char>(input[1]);
  const DataType type = input[0] & 4 ? DataType::I64 : DataType::I32;
  return readData(input.substr(2), input[0] & 2 ? ".bin" : ".txt",
                  {inputOf("tokens", type, {2, length}),
                   inputOf("targets", type, {2, length})});
}

/// Of version 1, with the length of `header`.
std::string npyOf(const std::string &header, const std::string &data) {
  return std::string("\x93NUMPY\1\0", 8) + char(header.size()) +
         char(header.size() >> 8) + header + data;
}

std::vector<std::string> npySeeds() {
  const std::string end = ", 'fortran_order': False, 'shape': ";
  return {"0\n" + npyOf("{'descr': '<f4'" + end + "(8, 3), }\n",
                        std::string(96, '\1')),
          "6\n" + npyOf("{'descr': '<i8'" + end + "(2, 2, 3)}",
                        std::string(96, '\0')),
          "4\n" + npyOf("{\"descr\": '|b1'" + end + "(4,3)}",
                        std::string(12, '\1'))};
}

bool runNpy(const std::string &input) {
  if (input.size() < 2 || input[1] != '\n')
    return false;
  return readData(input.substr(2), ".npy",
                  {inputOf("x", typeOf(input[0]), {2, 3})});
}

/// Changes bytes, or the header, whose length is then right.
std::string makeNpy(const std::string &seed, const std::string &other,
                    Random &random) {
  const size_t begin = 2 + 10;
  const size_t end = seed.find('}');
  if (seed.size() < begin || end == std::string::npos || end < begin ||
      random.oneIn(3))
    return makeBytes(seed, other, random);
  const std::string header =
      mutateText(seed.substr(begin, end + 1 - begin), other, 3, random);
  return seed.substr(0, 2) + npyOf(header, seed.substr(end + 1));
}

/// Changes bytes, or the header's text, whose length is then right. There are
/// `skipped` bytes before the file.
std::string makeTensors(const std::string &seed, const std::string &other,
                        size_t skipped, Random &random) {
  uint64_t length = 0;
  if (seed.size() >= skipped + 8)
    std::memcpy(&length, seed.data() + skipped, 8);
  if (length == 0 || length > seed.size() - skipped - 8 || random.oneIn(2))
    return makeBytes(seed, other, random);
  const std::string text =
      mutateText(seed.substr(skipped + 8, length), other, 3, random);
  const uint64_t changed = text.size();
  std::string file = seed.substr(0, skipped + 8) + text;
  std::memcpy(file.data() + skipped, &changed, 8);
  return file + seed.substr(skipped + 8 + length);
}

std::string makeWeights(const std::string &seed, const std::string &other,
                        Random &random) {
  return makeTensors(seed, other, 0, random);
}

std::string makeArrays(const std::string &seed, const std::string &other,
                       Random &random) {
  return makeTensors(seed, other, 3, random);
}

} // namespace

Target fuzz::weightsTarget() {
  return {"weights", weightsSeeds, makeWeights, runWeights};
}

Target fuzz::arraysTarget() {
  return {"arrays", arraysSeeds, makeArrays, runArrays};
}

Target fuzz::npyTarget() { return {"npy", npySeeds, makeNpy, runNpy}; }

Target fuzz::tokensTarget() {
  return {"tokens", tokensSeeds, makeBytes, runTokens};
}
