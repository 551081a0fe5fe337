#include "kernels/shapes/Movement.h"

#include "kernels/Registry.h"
#include "kernels/shapes/TensorShapes.h"
#include "program/Float16.h"

#include <algorithm>
#include <cstring>

namespace zrt {

namespace {

/// Operands and results have one element type.
size_t elementBytesOf(const KernelSpec &spec) {
  return sizeOf(spec.results[0].type);
}

Movement planBroadcast(const KernelSpec &spec) {
  const TensorType &x = spec.operands[0], &y = spec.results[0];
  const auto &dims = spec.ints.at("dims");
  std::vector<int64_t> dense = stridesOf(x.shape), from(y.shape.size(), 0);
  for (size_t i = 0; i < dims.size(); ++i)
    from[dims[i]] = dense[i];
  Movement movement;
  movement.parts.push_back(
      {y.shape, from, stridesOf(y.shape), elementBytesOf(spec), 0, 1});
  return movement;
}

Movement planTranspose(const KernelSpec &spec) {
  const TensorType &x = spec.operands[0], &y = spec.results[0];
  std::vector<int64_t> dense = stridesOf(x.shape), from;
  for (int64_t dim : spec.ints.at("permutation"))
    from.push_back(dense[dim]);
  Movement movement;
  movement.parts.push_back(
      {y.shape, from, stridesOf(y.shape), sizeOf(x.type), 0, 1});
  return movement;
}

Movement planSplit(const KernelSpec &spec) {
  const TensorType &whole = spec.operands[0];
  const size_t dim = spec.integer("dim");
  std::vector<int64_t> strides = stridesOf(whole.shape);
  int64_t bytes = sizeOf(whole.type), offset = 0;
  Movement movement;
  for (size_t i = 0; i < spec.results.size(); ++i) {
    const auto &shape = spec.results[i].shape;
    movement.parts.push_back({shape, strides, stridesOf(shape), size_t(bytes),
                              0, i + 1, offset * strides[dim] * bytes, 0});
    offset += shape[dim];
  }
  return movement;
}

Movement planConcat(const KernelSpec &spec) {
  const TensorType &whole = spec.results[0];
  const size_t dim = spec.integer("dim");
  std::vector<int64_t> strides = stridesOf(whole.shape);
  int64_t bytes = sizeOf(whole.type), offset = 0;
  Movement movement;
  for (size_t i = 0; i < spec.operands.size(); ++i) {
    const auto &shape = spec.operands[i].shape;
    movement.parts.push_back({shape, stridesOf(shape), strides, size_t(bytes),
                              i, spec.operands.size(), 0,
                              offset * strides[dim] * bytes});
    offset += shape[dim];
  }
  return movement;
}

/// A slice of a tensor: where it begins, in elements, and its strides there.
struct Slice {
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
};

Slice sliceOf(const KernelSpec &spec, const TensorType &whole) {
  Slice slice{spec.ints.at("sizes"), stridesOf(whole.shape), 0};
  for (size_t i = 0; i < whole.shape.size(); ++i) {
    slice.offset += spec.ints.at("offsets")[i] * slice.strides[i];
    slice.strides[i] *= spec.ints.at("strides")[i];
  }
  return slice;
}

Movement planExtractSlice(const KernelSpec &spec) {
  Slice slice = sliceOf(spec, spec.operands[0]);
  int64_t bytes = elementBytesOf(spec);
  Movement movement;
  movement.parts.push_back({slice.sizes, slice.strides, stridesOf(slice.sizes),
                            size_t(bytes), 0, 1, slice.offset * bytes, 0});
  return movement;
}

Movement planInsertSlice(const KernelSpec &spec) {
  const TensorType &whole = spec.operands[1];
  Slice slice = sliceOf(spec, whole);
  int64_t bytes = elementBytesOf(spec);
  Movement movement;
  movement.copiesWhole = true;
  movement.parts.push_back({slice.sizes, stridesOf(slice.sizes), slice.strides,
                            size_t(bytes), 0, 2, 0, slice.offset * bytes});
  return movement;
}

/// Writes `value` as an element of `type`; returns its bytes.
std::string elementOf(const KernelSpec &spec, DataType type, double value) {
  std::string bytes(sizeOf(type), '\0');
  auto put = [&](auto element) {
    std::memcpy(bytes.data(), &element, sizeof(element));
    return bytes;
  };
  switch (type) {
  case DataType::F32:
    return put(static_cast<float>(value));
  case DataType::F16:
    return put(fromFloat<Float16>(static_cast<float>(value)));
  case DataType::BF16:
    return put(fromFloat<BFloat16>(static_cast<float>(value)));
  case DataType::F64:
    return put(value);
  case DataType::I1:
  case DataType::I8:
    return put(static_cast<int8_t>(value));
  case DataType::U16:
    return put(static_cast<uint16_t>(value));
  case DataType::I32:
    return put(static_cast<int32_t>(value));
  case DataType::I64:
    return put(static_cast<int64_t>(value));
  }
  refuse(spec,
         "unknown element type " + std::to_string(static_cast<int>(type)));
}

std::string fillOf(const KernelSpec &spec) {
  return elementOf(spec, spec.results[0].type, spec.real("value"));
}

Movement planPad(const KernelSpec &spec) {
  const TensorType &x = spec.operands[0], &y = spec.results[0];
  const std::vector<int64_t> strides = stridesOf(y.shape);
  int64_t bytes = elementBytesOf(spec), offset = 0;
  for (size_t i = 0; i < strides.size(); ++i)
    offset += spec.ints.at("low")[i] * strides[i];
  Movement movement;
  movement.fill = fillOf(spec);
  movement.parts.push_back({x.shape, stridesOf(x.shape), strides, size_t(bytes),
                            0, 1, 0, offset * bytes});
  return movement;
}

/// The scalar operand may be listed; its value is in the attribute.
Movement planSplat(const KernelSpec &spec) {
  Movement movement;
  movement.fill = fillOf(spec);
  return movement;
}

using Planner = Movement (*)(const KernelSpec &spec);

struct Row {
  const char *name;
  Planner plan;
};

constexpr Row kPlanners[] = {{"nn.broadcast", planBroadcast},
                             {"nn.transpose", planTranspose},
                             {"nn.split", planSplit},
                             {"tensor.concat", planConcat},
                             {"tensor.extract_slice", planExtractSlice},
                             {"tensor.insert_slice", planInsertSlice},
                             {"tensor.pad", planPad},
                             {"tensor.splat", planSplat}};

} // namespace

Movement movementOf(const KernelSpec &spec) {
  for (const Row &row : kPlanners)
    if (spec.name == row.name)
      return row.plan(spec);
  refuse(spec, "does not only move data");
}

std::vector<std::string> movementNames() {
  std::vector<std::string> names;
  for (const Row &row : kPlanners)
    names.push_back(row.name);
  return names;
}

} // namespace zrt
