#include "capi/Batch.h"

#include "state/Elements.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace zrt;

namespace {

bool fits(int64_t value) {
  return value >= std::numeric_limits<int32_t>::min() &&
         value <= std::numeric_limits<int32_t>::max();
}

/// Whether an array of `from` may stand for an input of `to`.
bool converts(DataType from, DataType to) {
  if (to == DataType::I32)
    return from == DataType::I64;
  return from == DataType::F32 && (to == DataType::F16 || to == DataType::BF16);
}

/// The first of `count` ids that `limit` does not have, or the end.
template <typename T>
const T *findOutside(const T *ids, int64_t count, const Vocabulary &limit) {
  return std::find_if(ids, ids + count, [&](T id) {
    return (id < 0 || id >= limit.size) && limit.ignored != id;
  });
}

/// Throws where an id of `array` has no row or class.
void checkIds(const Program &program, const Input &input,
              const NamedArray &array, int64_t count) {
  const Vocabulary limit = vocabularyOf(program, input);
  if (limit.size < 0)
    return;
  const auto refuseOutside = [&](const auto *ids) {
    const auto *found = findOutside(ids, count, limit);
    if (found != ids + count)
      throw ArgumentError("the batch has id " + std::to_string(*found) +
                          " for the input '" + input.name + "', but " +
                          limit.where + " has " + std::to_string(limit.size) +
                          " " + limit.unit +
                          ": use other data or compile the model with more");
  };
  if (array.type == DataType::I32)
    refuseOutside(static_cast<const int32_t *>(array.data));
  else if (array.type == DataType::I64)
    refuseOutside(static_cast<const int64_t *>(array.data));
}

/// Throws where a finite value would become infinite in `type`.
void checkFloats(const std::string &who, DataType type, const float *values,
                 int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    uint16_t half;
    float rounded;
    storeElements(type, false, values + i, &half, 1);
    loadElements(type, &half, &rounded, 1);
    if (std::isfinite(values[i]) && !std::isfinite(rounded))
      throw ArgumentError(who + "has the value " + std::to_string(values[i]) +
                          ", which is too large for " + nameOf(type) +
                          ", the input's type");
  }
}

std::string nameList(const std::vector<Input> &inputs) {
  std::string text;
  for (const Input &input : inputs)
    text += (text.empty() ? "'" : ", '") + input.name + "'";
  return text;
}

std::string samplesOf(const Input &input, int64_t count) {
  return "'" + input.name + "' has " + std::to_string(count) + " samples";
}

} // namespace

Batch::Batch(const Program &program, const std::vector<NamedArray> &arrays)
    : program(program), microBatch(microBatchOf(program.inputs)),
      parts(program.inputs.size()) {
  for (const NamedArray &array : arrays) {
    const auto found = std::find_if(
        program.inputs.begin(), program.inputs.end(),
        [&](const Input &input) { return input.name == array.name; });
    if (found == program.inputs.end())
      throw ArgumentError("the batch has an array '" + array.name +
                          "', and the step has no such input; its inputs are " +
                          nameList(program.inputs));
    add(size_t(found - program.inputs.begin()), array);
  }
  std::string first;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Input &input = program.inputs[i];
    if (parts[i].empty())
      throw ArgumentError("the batch has no array '" + input.name +
                          "', which the step has as input");
    if (isShared(input))
      continue;
    const int64_t found = parts[i].back().first + parts[i].back().count;
    if (micros < 0) {
      micros = found;
      first = samplesOf(input, samples());
    }
    if (found != micros)
      throw ArgumentError("the batch's inputs disagree: " + first + ", " +
                          samplesOf(input, found * microBatch));
  }
}

bool Batch::isShared(const Input &input) const {
  return input.type.shape.empty() || input.type.shape[0] != microBatch;
}

void Batch::add(size_t index, const NamedArray &array) {
  check(index, array);
  const Input &input = program.inputs[index];
  std::vector<Part> &list = parts[index];
  const auto *data = static_cast<const char *>(array.data);
  if (isShared(input)) {
    if (!list.empty())
      throw ArgumentError("the batch has the array '" + input.name +
                          "' twice, and it is shared by all samples: give it "
                          "once");
    list.push_back({data, array.type, 0, 1});
    return;
  }
  const int64_t first =
      list.empty() ? 0 : list.back().first + list.back().count;
  list.push_back({data, array.type, first, array.shape[0] / microBatch});
}

void Batch::check(size_t index, const NamedArray &array) const {
  const Input &input = program.inputs[index];
  const std::string who = "the batch's array '" + array.name + "' ";
  std::vector<int64_t> wanted = input.type.shape;
  if (!array.shape.empty() && !isShared(input))
    wanted[0] = array.shape[0];
  if (array.shape != wanted) {
    const std::vector<int64_t> rest(wanted.begin() + (isShared(input) ? 0 : 1),
                                    wanted.end());
    throw ArgumentError(
        who + "has shape " + shapeText(array.shape) + ", wanted " +
        (isShared(input) ? "" : "samples of shape ") + shapeText(rest));
  }
  if (!isShared(input) && (wanted[0] <= 0 || wanted[0] % microBatch != 0))
    throw ArgumentError(who + "has " + std::to_string(wanted[0]) +
                        " samples, wanted whole micro-batches of " +
                        std::to_string(microBatch));
  const DataType type = input.type.type;
  if (array.type != type && !converts(array.type, type))
    throw ArgumentError(who + "has elements of type " + nameOf(array.type) +
                        ", wanted " + nameOf(type));
  if (!array.data)
    throw ArgumentError(who + "has no data: the pointer is null");
  const int64_t count = TensorType{type, wanted}.elements();
  checkIds(program, input, array, count);
  if (array.type == DataType::F32 && type != DataType::F32)
    checkFloats(who, type, static_cast<const float *>(array.data), count);
  if (array.type != DataType::I64 || type == DataType::I64)
    return;
  const auto *values = static_cast<const int64_t *>(array.data);
  const auto *found = std::find_if_not(values, values + count, fits);
  if (found != values + count)
    throw ArgumentError(who + "has the value " + std::to_string(*found) +
                        ", which does not fit i32, the input's type");
}

void Batch::fill(int64_t micro, void *const *inputs) const {
  for (size_t i = 0; i < parts.size(); ++i) {
    const Input &input = program.inputs[i];
    const int64_t wanted = isShared(input) ? 0 : micro;
    const Part &part = *std::find_if(
        parts[i].begin(), parts[i].end(), [&](const Part &candidate) {
          return wanted < candidate.first + candidate.count;
        });
    const TensorType &type = input.type;
    const int64_t elements = type.elements();
    const char *from =
        part.data + size_t(wanted - part.first) * elements * sizeOf(part.type);
    if (part.type == type.type) {
      std::memcpy(inputs[i], from, type.bytes());
      continue;
    }
    if (part.type == DataType::F32) {
      storeElements(type.type, false, reinterpret_cast<const float *>(from),
                    inputs[i], uint64_t(elements));
      continue;
    }
    const auto *wide = reinterpret_cast<const int64_t *>(from);
    std::transform(wide, wide + elements, static_cast<int32_t *>(inputs[i]),
                   [](int64_t value) { return int32_t(value); });
  }
}
