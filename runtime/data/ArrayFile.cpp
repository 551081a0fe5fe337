#include "data/ArrayFile.h"

#include "program/Float16.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

using namespace zrt;

namespace {

enum class Family { Float, Integer, Other };

Family familyOf(TensorDataType type) {
  switch (type) {
  case TensorDataType::F16:
  case TensorDataType::BF16:
  case TensorDataType::F32:
  case TensorDataType::F64:
    return Family::Float;
  case TensorDataType::U8:
  case TensorDataType::I8:
  case TensorDataType::I16:
  case TensorDataType::U16:
  case TensorDataType::I32:
  case TensorDataType::U32:
  case TensorDataType::I64:
  case TensorDataType::Bool:
    return Family::Integer;
  case TensorDataType::U64:
  case TensorDataType::F8E5M2:
  case TensorDataType::F8E4M3:
    break;
  }
  return Family::Other;
}

template <typename T> T at(const void *data, uint64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + index * sizeof(T),
              sizeof(T));
  return value;
}

template <typename T> void put(void *data, uint64_t index, T value) {
  std::memcpy(static_cast<char *>(data) + index * sizeof(T), &value, sizeof(T));
}

double readFloat(TensorDataType type, const void *data, uint64_t index) {
  switch (type) {
  case TensorDataType::F16:
    return f16ToF32(at<uint16_t>(data, index));
  case TensorDataType::BF16:
    return bf16ToF32(at<uint16_t>(data, index));
  case TensorDataType::F32:
    return at<float>(data, index);
  default:
    return at<double>(data, index);
  }
}

int64_t readInteger(TensorDataType type, const void *data, uint64_t index) {
  switch (type) {
  case TensorDataType::I8:
    return at<int8_t>(data, index);
  case TensorDataType::I16:
    return at<int16_t>(data, index);
  case TensorDataType::U16:
    return at<uint16_t>(data, index);
  case TensorDataType::I32:
    return at<int32_t>(data, index);
  case TensorDataType::U32:
    return at<uint32_t>(data, index);
  case TensorDataType::I64:
    return at<int64_t>(data, index);
  default: // U8, Bool
    return at<uint8_t>(data, index);
  }
}

void writeFloat(DataType type, void *data, uint64_t index, double value) {
  switch (type) {
  case DataType::F16:
    return put(data, index, f32ToF16(float(value)));
  case DataType::BF16:
    return put(data, index, f32ToBf16(float(value)));
  case DataType::F32:
    return put(data, index, float(value));
  default:
    return put(data, index, value);
  }
}

template <typename T>
void putChecked(void *data, uint64_t index, int64_t value) {
  if (value < int64_t(std::numeric_limits<T>::min()) ||
      value > int64_t(std::numeric_limits<T>::max()))
    throw std::runtime_error("value " + std::to_string(value) +
                             " does not fit the input's type");
  put(data, index, T(value));
}

void writeInteger(DataType type, void *data, uint64_t index, int64_t value) {
  switch (type) {
  case DataType::I1:
    return put(data, index, uint8_t(value != 0));
  case DataType::I8:
    return putChecked<int8_t>(data, index, value);
  case DataType::U16:
    return putChecked<uint16_t>(data, index, value);
  case DataType::I32:
    return putChecked<int32_t>(data, index, value);
  default:
    return put(data, index, value);
  }
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// The array for `input`, checked.
const TensorEntry &entryFor(const SafeTensorsFile &file,
                            const std::string &path, const Input &input) {
  const std::string where = "'" + path + "'";
  const TensorEntry *entry = file.find(input.name);
  if (!entry)
    throw std::runtime_error(where + " has no array '" + input.name +
                             "', which the step has as input");
  std::vector<int64_t> wanted = input.type.shape;
  if (!entry->shape.empty())
    wanted[0] = entry->shape[0];
  if (entry->shape != wanted) {
    const std::vector<int64_t> rest(wanted.begin() + 1, wanted.end());
    throw std::runtime_error(where + ": the array '" + input.name +
                             "' has shape " + shapeText(entry->shape) +
                             ", wanted samples of shape " + shapeText(rest));
  }
  const Family family = familyOf(entry->type);
  if (family != (isFloat(input.type.type) ? Family::Float : Family::Integer))
    throw std::runtime_error(where + ": the array '" + input.name + "' holds " +
                             zrt::nameOf(entry->type) +
                             ", which cannot be read as " +
                             zrt::nameOf(input.type.type));
  return *entry;
}

class ArrayDataset : public Dataset {
public:
  ArrayDataset(std::shared_ptr<SafeTensorsFile> file, const std::string &path,
               uint64_t begin, uint64_t end, const std::vector<Input> &inputs)
      : file(std::move(file)), name(path), begin(begin), count(end - begin),
        inputs(inputs) {
    if (end <= begin)
      throw std::runtime_error("'" + path +
                               "' has no sample for this part of the data");
    for (const Input &input : inputs)
      entries.push_back(&entryFor(*this->file, path, input));
  }

  const std::string &path() const override { return name; }
  uint64_t samples() const override { return count; }

  uint64_t tokensPerSample() const override {
    for (const Input &input : inputs)
      if (input.name == "tokens" && input.type.shape.size() == 2)
        return uint64_t(input.type.shape[1]);
    return 1;
  }

  void read(uint64_t, uint64_t index, int64_t row,
            void *const *destinations) const override {
    // One a rank's thread, so that a step allocates nothing.
    static thread_local std::vector<char> raw;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const TensorEntry &entry = *entries[i];
      const TensorType &type = inputs[i].type;
      const uint64_t elements = uint64_t(type.elements() / type.shape.front());
      raw.resize(elements * zrt::sizeOf(entry.type));
      file->read(entry, (begin + index) * elements, elements, raw.data());
      convert(entry, type.type, raw.data(), elements,
              static_cast<char *>(destinations[i]) +
                  uint64_t(row) * elements * zrt::sizeOf(type.type));
    }
  }

private:
  void convert(const TensorEntry &entry, DataType type, const void *from,
               uint64_t elements, void *to) const {
    try {
      for (uint64_t i = 0; i < elements; ++i)
        if (isFloat(type))
          writeFloat(type, to, i, readFloat(entry.type, from, i));
        else
          writeInteger(type, to, i, readInteger(entry.type, from, i));
    } catch (const std::runtime_error &error) {
      throw std::runtime_error("'" + name + "': the array '" + entry.name +
                               "': " + error.what());
    }
  }

  std::shared_ptr<SafeTensorsFile> file;
  std::string name;
  uint64_t begin, count;
  std::vector<Input> inputs;
  std::vector<const TensorEntry *> entries; ///< by input
};

} // namespace

uint64_t zrt::samplesOf(const SafeTensorsFile &file, const std::string &path,
                        const std::vector<Input> &inputs) {
  int64_t samples = -1;
  for (const Input &input : inputs) {
    const int64_t found = entryFor(file, path, input).shape[0];
    if (samples >= 0 && found != samples)
      throw std::runtime_error("'" + path + "': the array '" + input.name +
                               "' has " + std::to_string(found) +
                               " samples, '" + inputs[0].name + "' has " +
                               std::to_string(samples));
    samples = found;
  }
  return uint64_t(samples);
}

std::string zrt::remarkOnOthers(const SafeTensorsFile &file,
                                const std::string &path,
                                const std::vector<Input> &inputs) {
  std::string names;
  for (const TensorEntry &entry : file.tensors())
    if (std::none_of(inputs.begin(), inputs.end(), [&](const Input &input) {
          return input.name == entry.name;
        }))
      names += (names.empty() ? "'" : ", '") + entry.name + "'";
  if (names.empty())
    return "";
  return "'" + path + "' has arrays that the step has no input for, and that " +
         "are not read: " + names;
}

std::unique_ptr<Dataset>
zrt::makeArrayDataset(std::shared_ptr<SafeTensorsFile> file,
                      const std::string &path, uint64_t begin, uint64_t end,
                      const std::vector<Input> &inputs) {
  return std::make_unique<ArrayDataset>(std::move(file), path, begin, end,
                                        inputs);
}
