#include "data/TokenFile.h"

#include "data/Permutation.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>

using namespace zrt;

namespace {

/// llm.c's header: 256 little-endian 32-bit words, then the ids.
constexpr uint64_t kHeaderBytes = 1024;
constexpr uint32_t kMagic = 20240520;
constexpr uint32_t kVersion = 1;

bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

} // namespace

TokenFile::TokenFile(const std::string &path)
    : name(path), file(path, O_RDONLY | O_NONBLOCK) { // a pipe may never open
  if (!file.isRegular())
    throw std::runtime_error("cannot read '" + path +
                             "': it is not a regular file");
  bytes = count = file.size();
  if (!endsWith(path, ".bin"))
    return;
  bytesPerToken = 2;
  uint32_t magic = 0;
  if (bytes >= kHeaderBytes)
    readBytes(0, &magic, sizeof(magic));
  if (magic == kMagic)
    readHeader();
  else if (bytes % 2 == 0)
    count = bytes / 2;
  else
    throw std::runtime_error("'" + path + "' has " + std::to_string(bytes) +
                             " bytes, an odd count: a .bin file holds 16-bit "
                             "token ids; name a text file .txt");
}

void TokenFile::readHeader() {
  uint32_t words[3]; // magic number, version, count
  readBytes(0, words, sizeof(words));
  if (words[1] != kVersion)
    throw std::runtime_error("'" + name + "' has an llm.c header of version " +
                             std::to_string(words[1]) +
                             ", only version 1 (16-bit ids) is supported");
  count = words[2];
  begin = kHeaderBytes;
  const uint64_t found = bytes - kHeaderBytes;
  if (found != 2 * count)
    throw std::runtime_error("'" + name + "' announces " +
                             std::to_string(count) + " tokens, " +
                             std::to_string(2 * count) + " bytes, but holds " +
                             std::to_string(found) + " bytes after its header");
}

void TokenFile::readBytes(uint64_t offset, void *out, uint64_t number) const {
  try {
    file.read(offset, out, number);
  } catch (const std::runtime_error &) {
    const uint64_t now = file.size();
    if (now >= bytes)
      throw;
    throw std::runtime_error(
        "'" + name + "' was cut short during the run: it had " +
        std::to_string(bytes) + " bytes at the start and has " +
        std::to_string(now) + " now; leave data alone while it is used");
  }
}

void TokenFile::read(uint64_t first, uint64_t number, int32_t *out) const {
  // At the end of `out`, so that widening overwrites only what it has read.
  const auto width = uint64_t(bytesPerToken);
  auto *raw =
      reinterpret_cast<unsigned char *>(out) + number * (sizeof(*out) - width);
  readBytes(begin + first * width, raw, number * width);
  for (uint64_t i = 0; i < number; ++i) {
    uint16_t id = raw[i];
    if (width == 2)
      std::memcpy(&id, raw + 2 * i, 2);
    out[i] = id;
  }
}

int64_t zrt::sequenceLength(const std::vector<Input> &inputs) {
  const Input *tokens = nullptr;
  for (const Input &input : inputs) {
    if (input.name != "tokens" && input.name != "targets")
      throw std::runtime_error(
          "the step has an input '" + input.name +
          "', but a token file fills 'tokens' and 'targets' only: give the "
          "data as .safetensors with one array an input");
    const DataType type = input.type.type;
    if (input.type.shape.size() != 2 ||
        (type != DataType::I32 && type != DataType::I64))
      throw std::runtime_error("the step's input '" + input.name +
                               "' is no integer tensor of shape [samples, "
                               "length]: a token file cannot fill it");
    if (input.name == "tokens")
      tokens = &input;
  }
  if (!tokens)
    throw std::runtime_error("the step has no input 'tokens': give the data "
                             "as .safetensors with one array an input");
  for (const Input &input : inputs)
    if (input.type.shape != tokens->type.shape)
      throw std::runtime_error("the step's inputs 'tokens' and 'targets' have "
                               "different shapes: a token file cannot fill "
                               "both");
  return tokens->type.shape[1];
}

namespace {

class TokenDataset : public Dataset {
public:
  TokenDataset(std::shared_ptr<TokenFile> file, uint64_t begin, uint64_t end,
               const std::vector<Input> &inputs, bool shift, uint64_t seed)
      : file(std::move(file)), begin(begin), seed(seed), shift(shift),
        inputs(inputs), length(sequenceLength(inputs)) {
    const uint64_t tokens = end - begin;
    if (tokens < length + 1)
      throw std::runtime_error("'" + this->file->path() +
                               "' is too short: this part of the data has " +
                               std::to_string(tokens) + " of the file's " +
                               std::to_string(this->file->size()) +
                               " tokens, and one sequence needs " +
                               std::to_string(length + 1));
    windows = (tokens - 1) / length;
    // One window less leaves room to cut anywhere.
    if (shift && windows > 1)
      --windows;
    slack = tokens - 1 - windows * length;
  }

  const std::string &path() const override { return file->path(); }
  uint64_t samples() const override { return windows; }
  uint64_t tokensPerSample() const override { return length; }

  void read(uint64_t epoch, uint64_t index, int64_t row,
            void *const *destinations) const override {
    const uint64_t offset =
        shift ? mixBits(~seed, epoch) % (slack + 1) : uint64_t(0);
    const uint64_t first = begin + offset + index * length;
    // One a rank's thread, so that a step allocates nothing.
    static thread_local std::vector<int32_t> tokens;
    tokens.resize(length + 1); // the last one is a target only
    file->read(first, length + 1, tokens.data());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int32_t *from = tokens.data() + (inputs[i].name == "targets");
      const uint64_t at = uint64_t(row) * length;
      if (inputs[i].type.type == DataType::I32)
        std::copy_n(from, length, static_cast<int32_t *>(destinations[i]) + at);
      else
        std::copy_n(from, length, static_cast<int64_t *>(destinations[i]) + at);
    }
  }

private:
  std::shared_ptr<TokenFile> file;
  uint64_t begin, seed;
  bool shift;
  std::vector<Input> inputs;
  uint64_t length, windows = 0, slack = 0;
};

} // namespace

std::unique_ptr<Dataset> zrt::makeTokenDataset(std::shared_ptr<TokenFile> file,
                                               uint64_t begin, uint64_t end,
                                               const std::vector<Input> &inputs,
                                               bool shift, uint64_t seed) {
  return std::make_unique<TokenDataset>(std::move(file), begin, end, inputs,
                                        shift, seed);
}
