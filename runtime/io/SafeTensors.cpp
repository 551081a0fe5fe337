#include "io/SafeTensors.h"

#include "io/StoredElements.h"
#include "program/Nesting.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fcntl.h>
#include <stdexcept>
#include <unordered_set>

using namespace zrt;
using nlohmann::json;

static constexpr uint64_t kMostHeaderBytes = 100'000'000;

namespace {
struct TypeRow {
  TensorDataType type;
  const char *name;
  uint64_t bytes;
};
} // namespace

static constexpr TypeRow kTypes[] = {{TensorDataType::Bool, "BOOL", 1},
                                     {TensorDataType::U8, "U8", 1},
                                     {TensorDataType::I8, "I8", 1},
                                     {TensorDataType::F8E5M2, "F8_E5M2", 1},
                                     {TensorDataType::F8E4M3, "F8_E4M3", 1},
                                     {TensorDataType::I16, "I16", 2},
                                     {TensorDataType::U16, "U16", 2},
                                     {TensorDataType::F16, "F16", 2},
                                     {TensorDataType::BF16, "BF16", 2},
                                     {TensorDataType::I32, "I32", 4},
                                     {TensorDataType::U32, "U32", 4},
                                     {TensorDataType::F32, "F32", 4},
                                     {TensorDataType::F64, "F64", 8},
                                     {TensorDataType::I64, "I64", 8},
                                     {TensorDataType::U64, "U64", 8}};

static const TypeRow &rowOf(TensorDataType type) {
  for (const TypeRow &row : kTypes)
    if (row.type == type)
      return row;
  throw std::logic_error("an element type without a row");
}

const char *zrt::nameOf(TensorDataType type) { return rowOf(type).name; }

uint64_t zrt::sizeOf(TensorDataType type) { return rowOf(type).bytes; }

bool zrt::findType(const std::string &name, TensorDataType &type) {
  for (const TypeRow &row : kTypes)
    if (name == row.name) {
      type = row.type;
      return true;
    }
  return false;
}

bool zrt::isFloatType(TensorDataType type) {
  return type == TensorDataType::F32 || type == TensorDataType::F16 ||
         type == TensorDataType::BF16;
}

DataType zrt::floatTypeOf(TensorDataType type) {
  return type == TensorDataType::F16    ? DataType::F16
         : type == TensorDataType::BF16 ? DataType::BF16
                                        : DataType::F32;
}

TensorDataType zrt::typeInFile(DataType type) {
  constexpr TensorDataType types[kCountOf<DataType>] = {
      TensorDataType::F32, TensorDataType::F16,  TensorDataType::BF16,
      TensorDataType::F64, TensorDataType::Bool, TensorDataType::I8,
      TensorDataType::I32, TensorDataType::I64,  TensorDataType::U16};
  return types[int(type)];
}

TensorDataType zrt::storedTypeOf(DataType type, const std::string &what) {
  const TensorDataType stored = typeInFile(type);
  if (!isFloatType(stored))
    throw std::runtime_error(what + " of type " + nameOf(type) +
                             " cannot be kept in a file; wanted f32, f16 or "
                             "bf16");
  return stored;
}

std::string zrt::shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

namespace {

/// Finds a key that an object has twice: the format forbids it, and the parser
/// keeps the last one. Its callbacks would look at all keys after each object.
class DuplicateKey : public json::json_sax_t {
public:
  std::string found; ///< "": none

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(size_t) override {
    keys.emplace_back();
    return true;
  }
  bool key(string_t &name) override {
    if (!keys.back().insert(name).second)
      found = name;
    return found.empty();
  }
  bool end_object() override {
    keys.pop_back();
    return true;
  }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t, const std::string &,
                   const json::exception &) override {
    return false;
  }

private:
  std::vector<std::unordered_set<std::string>> keys; ///< of open objects
};

} // namespace

std::string zrt::duplicateKeyOf(const std::string &text) {
  DuplicateKey keys;
  json::sax_parse(text, &keys);
  return keys.found;
}

namespace {

/// One header, and how to say what is wrong with it.
class HeaderReader {
public:
  HeaderReader(const std::string &path, const std::string &text,
               uint64_t dataBytes)
      : path(path), text(text), dataBytes(dataBytes) {}

  void read(std::vector<TensorEntry> &entries,
            std::map<std::string, std::string> &metadata) const {
    json header = parse();
    for (const auto &[name, value] : header.items()) {
      if (name == "__metadata__")
        readMetadata(value, metadata);
      else
        entries.push_back(readEntry(name, value));
    }
    std::sort(entries.begin(), entries.end(),
              [](const TensorEntry &a, const TensorEntry &b) {
                return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
              });
    checkCover(entries);
  }

private:
  [[noreturn]] void fail(const std::string &why) const {
    throw std::runtime_error(path + ": not a valid safetensors file: " + why);
  }

  json parse() const {
    if (text.empty() || text[0] != '{')
      fail("the header does not begin with '{'");
    json header;
    try {
      checkNesting(text);
      header = json::parse(text);
    } catch (const json::exception &failure) {
      fail(std::string("the header is no JSON: ") + failure.what());
    } catch (const std::runtime_error &failure) {
      fail(std::string("the header, ") + failure.what());
    }
    const std::string twice = duplicateKeyOf(text);
    if (!twice.empty())
      fail("the header has the key '" + twice + "' twice");
    return header;
  }

  void readMetadata(const json &value,
                    std::map<std::string, std::string> &metadata) const {
    if (!value.is_object())
      fail("__metadata__ is no object");
    for (const auto &[key, entry] : value.items()) {
      if (!entry.is_string())
        fail("__metadata__ has a value that is no string: '" + key + "'");
      metadata[key] = entry.get<std::string>();
    }
  }

  static bool isUnsigned(const json &value) {
    return value.is_number_unsigned() &&
           value.get<uint64_t>() <= uint64_t(INT64_MAX);
  }

  TensorEntry readEntry(const std::string &name, const json &value) const {
    std::string what = "tensor '" + name + "'";
    if (!value.is_object() || value.size() != 3 || !value.contains("dtype") ||
        !value.contains("shape") || !value.contains("data_offsets"))
      fail(what + " has other keys than dtype, shape and data_offsets");
    TensorEntry entry;
    entry.name = name;
    entry.type = readType(value["dtype"], what);
    uint64_t bytes = sizeOf(entry.type);
    const json &shape = value["shape"];
    if (!shape.is_array())
      fail(what + " has a shape that is no list");
    for (const json &size : shape) {
      if (!isUnsigned(size))
        fail(what + " has a shape with an entry that is no size");
      entry.shape.push_back(size.get<int64_t>());
      if (__builtin_mul_overflow(bytes, size.get<uint64_t>(), &bytes))
        fail(what + " has more bytes than 64 bits count");
    }
    const json &offsets = value["data_offsets"];
    if (!offsets.is_array() || offsets.size() != 2 || !isUnsigned(offsets[0]) ||
        !isUnsigned(offsets[1]) || offsets[0] > offsets[1])
      fail(what + " has data_offsets that are no [begin, end]");
    entry.begin = offsets[0];
    entry.end = offsets[1];
    if (entry.end - entry.begin != bytes)
      fail(what + " has " + std::to_string(entry.end - entry.begin) +
           " bytes of data, but its shape and type need " +
           std::to_string(bytes));
    return entry;
  }

  TensorDataType readType(const json &value, const std::string &what) const {
    if (!value.is_string())
      fail(what + " has a dtype that is no string");
    TensorDataType type;
    if (findType(value.get<std::string>(), type))
      return type;
    fail(what + " has the unknown dtype " + value.dump());
  }

  void checkCover(const std::vector<TensorEntry> &entries) const {
    uint64_t at = 0;
    for (const TensorEntry &entry : entries) {
      if (entry.begin != at)
        fail("tensor '" + entry.name + "' begins at byte " +
             std::to_string(entry.begin) + " of the data, wanted " +
             std::to_string(at) +
             (entry.begin > at ? ": there is a hole" : ": tensors overlap"));
      at = entry.end;
    }
    if (at != dataBytes)
      fail("the tensors end at byte " + std::to_string(at) +
           " of the data, but the file has " + std::to_string(dataBytes));
  }

  const std::string &path;
  const std::string &text;
  uint64_t dataBytes;
};

} // namespace

SafeTensorsFile::SafeTensorsFile(const std::string &path)
    : file(path, O_RDONLY), path(path) {
  uint64_t bytes = file.size();
  auto refuse = [&](const std::string &why) {
    throw std::runtime_error(path + ": not a valid safetensors file: " + why);
  };
  if (bytes < 8)
    refuse("found " + std::to_string(bytes) + " bytes, wanted 8 or more");
  unsigned char prefix[8];
  file.read(0, prefix, 8);
  uint64_t length = 0;
  for (int i = 0; i < 8; ++i)
    length |= uint64_t(prefix[i]) << (8 * i);
  if (length > kMostHeaderBytes)
    refuse("found a header of " + std::to_string(length) +
           " bytes, wanted at most " + std::to_string(kMostHeaderBytes));
  if (length > bytes - 8)
    refuse("found a header of " + std::to_string(length) +
           " bytes in a file of " + std::to_string(bytes));
  std::string text(length, '\0');
  file.read(8, text.data(), length);
  dataBegin = 8 + length;
  HeaderReader(path, text, bytes - dataBegin).read(entries, strings);
  for (size_t i = 0; i < entries.size(); ++i)
    byName[entries[i].name] = i;
}

const TensorEntry *SafeTensorsFile::find(const std::string &name) const {
  auto found = byName.find(name);
  return found == byName.end() ? nullptr : &entries[found->second];
}

void SafeTensorsFile::read(const TensorEntry &entry, uint64_t first,
                           uint64_t count, void *out) const {
  if (first > entry.elements() || count > entry.elements() - first)
    throw std::out_of_range(path + ": tensor '" + entry.name + "' has " +
                            std::to_string(entry.elements()) +
                            " elements, wanted " + std::to_string(count) +
                            " from " + std::to_string(first) + " on");
  uint64_t width = sizeOf(entry.type);
  file.read(dataBegin + entry.begin + first * width, out, count * width);
}

void SafeTensorsFile::readFloats(const TensorEntry &entry, uint64_t first,
                                 uint64_t count, float *out) const {
  if (entry.type == TensorDataType::F32)
    return read(entry, first, count, out);
  if (!isFloatType(entry.type))
    throw std::runtime_error(path + ": tensor '" + entry.name + "' is " +
                             nameOf(entry.type) + ", wanted F32, F16 or BF16");
  const DataType type = floatTypeOf(entry.type);
  std::vector<uint16_t> halves(std::min(count, kPortion));
  for (uint64_t done = 0; done < count; done += kPortion) {
    uint64_t portion = std::min(kPortion, count - done);
    read(entry, first + done, portion, halves.data());
    loadElements(type, halves.data(), out + done, portion);
  }
}

std::string
zrt::makeSafeTensorsHeader(std::vector<TensorEntry> &entries,
                           const std::map<std::string, std::string> &metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  uint64_t at = 0;
  for (TensorEntry &entry : entries) {
    uint64_t bytes = sizeOf(entry.type);
    for (int64_t size : entry.shape)
      bytes *= static_cast<uint64_t>(size);
    entry.begin = at;
    entry.end = at += bytes;
    header[entry.name] = {{"dtype", nameOf(entry.type)},
                          {"shape", entry.shape},
                          {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text = header.dump();
  // Spaces, so that the data is aligned.
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string bytes;
  for (int i = 0; i < 8; ++i)
    bytes.push_back(static_cast<char>(uint64_t(text.size()) >> (8 * i)));
  return bytes + text;
}
