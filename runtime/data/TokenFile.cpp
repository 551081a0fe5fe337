#include "data/TokenFile.h"

#include "data/DataFile.h"
#include "data/Permutation.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>

using namespace zrt;

namespace {

/// llm.c's header: 256 little-endian 32-bit words, then the ids.
constexpr uint64_t kHeaderBytes = 1024;

/// A kind of header: its magic number and version, and the width of its ids.
struct HeaderKind {
  uint32_t magic, version;
  int width;
};
constexpr HeaderKind kHeaders[] = {{20240520, 1, 2}, {20240801, 7, 4}};

const HeaderKind *findHeader(uint32_t magic) {
  for (const HeaderKind &kind : kHeaders)
    if (kind.magic == magic)
      return &kind;
  return nullptr;
}

struct FormatName {
  const char *name;
  TokenFormat format;
};
constexpr FormatName kFormats[] = {{"", TokenFormat::ByName},
                                   {"text", TokenFormat::Text},
                                   {"uint16", TokenFormat::U16},
                                   {"uint32", TokenFormat::U32},
                                   {"llm.c", TokenFormat::LlmC}};

/// Which inputs a file of tokens fills, and from how many tokens later on.
struct TokenInput {
  const char *name;
  int later;
};
constexpr TokenInput kInputs[] = {
    {"tokens", 0}, {"targets", 1}, {"input_ids", 0}, {"labels", 0}};

const TokenInput *findInput(const std::string &name) {
  for (const TokenInput &input : kInputs)
    if (name == input.name)
      return &input;
  return nullptr;
}

} // namespace

TokenFormat zrt::tokenFormatOf(const std::string &name) {
  for (const FormatName &each : kFormats)
    if (name == each.name)
      return each.format;
  throw std::runtime_error("the data format '" + name +
                           "' is none of text, uint16, uint32, llm.c");
}

void zrt::refuseForeignFile(const std::string &path) {
  for (const char *end : {".npz", ".pt", ".pth", ".pkl", ".parquet", ".arrow",
                          ".h5", ".zip", ".gz", ".zst", ".xz"})
    if (endsWith(path, end))
      throw std::runtime_error(
          "'" + path +
          "' cannot be read: wanted text, .bin, .npy, "
          ".safetensors or a folder of arrays; --data-format text reads its "
          "bytes as they are");
}

TokenFile::TokenFile(const std::string &path, TokenFormat format)
    : name(path), file(path, O_RDONLY) {
  bytes = file.size();
  const bool isBinary = endsWith(path, ".bin");
  const bool byName = format == TokenFormat::ByName;
  if (format == TokenFormat::Text || (byName && !isBinary)) {
    count = bytes;
    return;
  }
  uint32_t magic = 0;
  readBytes(0, &magic, std::min<uint64_t>(bytes, sizeof(magic)));
  if (format == TokenFormat::LlmC || (byName && findHeader(magic))) {
    readHeader(magic);
    return;
  }
  if (findHeader(magic) || findHeader(__builtin_bswap32(magic)))
    throw std::runtime_error(
        "'" + path + "' has a header of llm.c" +
        (findHeader(magic) ? ": read it with --data-format llm.c"
                           : " in big-endian order, wanted little-endian"));
  bytesPerToken = format == TokenFormat::U32 ? 4 : 2;
  if (bytes % uint64_t(bytesPerToken) != 0)
    throw std::runtime_error("'" + path + "' has " + std::to_string(bytes) +
                             " bytes, no multiple "
                             "of " +
                             std::to_string(bytesPerToken) +
                             ": it does not hold " +
                             std::to_string(8 * bytesPerToken) +
                             "-bit token ids only; name a text file .txt");
  count = bytes / uint64_t(bytesPerToken);
  if (byName)
    assumption = "'" + path +
                 "' has no header and is read as 16-bit token "
                 "ids; --data-format says what it holds";
}

void TokenFile::readHeader(uint32_t magic) {
  const HeaderKind *kind = findHeader(magic);
  if (!kind)
    throw std::runtime_error("'" + name +
                             "' has no header of llm.c: it begins "
                             "with " +
                             std::to_string(magic) +
                             ", wanted 20240520 or 20240801");
  if (bytes < kHeaderBytes)
    throw std::runtime_error("'" + name +
                             "' ends within its llm.c header: it "
                             "has " +
                             std::to_string(bytes) + " of " +
                             std::to_string(kHeaderBytes) + " bytes");
  uint32_t words[3]; // magic number, version, count
  readBytes(0, words, sizeof(words));
  if (words[1] != kind->version)
    throw std::runtime_error("'" + name + "' has an llm.c header of version " +
                             std::to_string(words[1]) + ", wanted " +
                             std::to_string(kind->version) + " (" +
                             std::to_string(8 * kind->width) + "-bit ids)");
  bytesPerToken = kind->width;
  count = words[2];
  begin = kHeaderBytes;
  const uint64_t found = bytes - kHeaderBytes;
  const uint64_t wanted = count * uint64_t(bytesPerToken);
  if (found != wanted)
    throw std::runtime_error("'" + name + "' announces " +
                             std::to_string(count) + " tokens, " +
                             std::to_string(wanted) + " bytes, but holds " +
                             std::to_string(found) + " bytes after its header");
}

void TokenFile::readBytes(uint64_t offset, void *out, uint64_t number) const {
  readUncut(name, bytes, [&] { file.read(offset, out, number); });
}

void TokenFile::read(uint64_t first, uint64_t number, int32_t *out) const {
  // At the end of `out`, so that widening overwrites only what it has read.
  const auto width = uint64_t(bytesPerToken);
  auto *raw =
      reinterpret_cast<unsigned char *>(out) + number * (sizeof(*out) - width);
  readBytes(begin + first * width, raw, number * width);
  if (width == 4)
    return checkWide(first, number, out);
  for (uint64_t i = 0; i < number; ++i) {
    uint16_t id = raw[i];
    if (width == 2)
      std::memcpy(&id, raw + 2 * i, 2);
    out[i] = id;
  }
}

void TokenFile::checkWide(uint64_t first, uint64_t number,
                          const int32_t *ids) const {
  for (uint64_t i = 0; i < number; ++i)
    if (ids[i] < 0)
      throw std::runtime_error("'" + name + "': token " +
                               std::to_string(first + i) + " has id " +
                               std::to_string(uint32_t(ids[i])) +
                               ", wanted at most " + std::to_string(INT32_MAX));
}

int64_t zrt::sequenceLength(const std::vector<Input> &inputs) {
  const Input *tokens = nullptr;
  for (const Input &input : inputs) {
    if (!findInput(input.name))
      throw std::runtime_error(
          "the step has an input '" + input.name +
          "', but a token file fills 'tokens' and 'targets', or 'input_ids' "
          "and 'labels', only: give the data as arrays, one an input");
    const DataType type = input.type.type;
    if (input.type.shape.size() != 2 ||
        (type != DataType::I32 && type != DataType::I64))
      throw std::runtime_error("the step's input '" + input.name +
                               "' is no integer tensor of shape [samples, "
                               "length]: a token file cannot fill it");
    if (!tokens && isTokenInput(input.name))
      tokens = &input;
  }
  if (!tokens)
    throw std::runtime_error("the step has no input 'tokens' or 'input_ids': "
                             "give the data as arrays, one an input");
  for (const Input &input : inputs)
    if (input.type.shape != tokens->type.shape)
      throw std::runtime_error("the step's inputs '" + tokens->name +
                               "' and '" + input.name +
                               "' have different shapes: a token file cannot "
                               "fill both");
  const int64_t length = tokens->type.shape[1];
  if (length < 1)
    throw std::runtime_error("the step's input '" + tokens->name +
                             "' has sequences of no tokens: there is nothing "
                             "to read data for");
  return length;
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
    const uint64_t first = firstOf(epoch, index);
    // One a rank's thread, so that a step allocates nothing.
    static thread_local std::vector<int32_t> tokens;
    tokens.resize(length + 1); // the last one is a target only
    file->read(first, length + 1, tokens.data());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int32_t *from = tokens.data() + findInput(inputs[i].name)->later;
      const uint64_t at = uint64_t(row) * length;
      if (inputs[i].type.type == DataType::I32)
        std::copy_n(from, length, static_cast<int32_t *>(destinations[i]) + at);
      else
        std::copy_n(from, length, static_cast<int64_t *>(destinations[i]) + at);
    }
  }

  std::string placeOf(size_t input, uint64_t epoch, uint64_t index,
                      uint64_t element) const override {
    const uint64_t token = firstOf(epoch, index) + element +
                           uint64_t(findInput(inputs[input].name)->later);
    return "'" + file->path() + "': token " + std::to_string(token);
  }

private:
  /// The first token of sample `index` of `epoch`.
  uint64_t firstOf(uint64_t epoch, uint64_t index) const {
    const uint64_t offset =
        shift ? mixBits(~seed, epoch) % (slack + 1) : uint64_t(0);
    return begin + offset + index * length;
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
