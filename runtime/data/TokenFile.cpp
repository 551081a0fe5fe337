#include "data/TokenFile.h"

#include "data/Permutation.h"

#include <cstring>
#include <stdexcept>

using namespace zrt;

namespace {

/// llm.c's header: 256 little-endian 32-bit words, then the ids.
constexpr uint64_t kHeaderBytes = 1024;
constexpr uint32_t kMagic = 20240520;
constexpr uint32_t kVersion = 1;

uint32_t word(const unsigned char *data, int index) {
  uint32_t value;
  std::memcpy(&value, data + 4 * index, 4);
  return value;
}

bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

} // namespace

TokenFile::TokenFile(const std::string &path) : file(path) {
  tokens = file.data();
  count = file.size();
  if (!endsWith(path, ".bin"))
    return;
  bytesPerToken = 2;
  if (file.size() >= kHeaderBytes && word(file.data(), 0) == kMagic)
    readHeader();
  else if (file.size() % 2 == 0)
    count = file.size() / 2;
  else
    throw std::runtime_error("'" + path + "' has " +
                             std::to_string(file.size()) +
                             " bytes, an odd count: a .bin file holds 16-bit "
                             "token ids; name a text file .txt");
}

void TokenFile::readHeader() {
  const uint32_t version = word(file.data(), 1);
  if (version != kVersion)
    throw std::runtime_error(
        "'" + path() + "' has an llm.c header of version " +
        std::to_string(version) + ", only version 1 (16-bit ids) is supported");
  count = word(file.data(), 2);
  tokens = file.data() + kHeaderBytes;
  const uint64_t found = file.size() - kHeaderBytes;
  if (found != 2 * count)
    throw std::runtime_error("'" + path() + "' announces " +
                             std::to_string(count) + " tokens, " +
                             std::to_string(2 * count) + " bytes, but holds " +
                             std::to_string(found) + " bytes after its header");
}

int32_t TokenFile::operator[](uint64_t position) const {
  if (bytesPerToken == 1)
    return tokens[position];
  uint16_t value;
  std::memcpy(&value, tokens + 2 * position, 2);
  return value;
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
      throw std::runtime_error(
          "'" + this->file->path() +
          "' is too short: " + std::to_string(tokens) + " of its " +
          std::to_string(this->file->size()) +
          " tokens are for this part, one sequence needs " +
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
    for (size_t i = 0; i < inputs.size(); ++i) {
      const uint64_t start = first + (inputs[i].name == "targets" ? 1 : 0);
      const uint64_t at = uint64_t(row) * length;
      if (inputs[i].type.type == DataType::I32)
        copy(start, static_cast<int32_t *>(destinations[i]) + at);
      else
        copy(start, static_cast<int64_t *>(destinations[i]) + at);
    }
  }

private:
  template <typename T> void copy(uint64_t start, T *destination) const {
    for (uint64_t i = 0; i < length; ++i)
      destination[i] = (*file)[start + i];
  }

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
