#include "kernels/shapes/Movement.h"

#include "kernels/Registry.h"
#include "kernels/shapes/TensorShapes.h"
#include "program/Float16.h"

#include <algorithm>
#include <cstring>

namespace zrt {

namespace {

/// The list attribute `key`, which must have `count` entries.
const std::vector<int64_t> &listOf(const KernelSpec &spec,
                                   const std::string &key, size_t count) {
  auto it = spec.ints.find(key);
  size_t found = it == spec.ints.end() ? 0 : it->second.size();
  if (it == spec.ints.end() || found != count)
    refuse(spec, "attribute '" + key + "' has " + std::to_string(found) +
                     " entries, wanted " + std::to_string(count));
  return it->second;
}

/// The dimension in attribute "dim" of a tensor of `rank`.
size_t dimOf(const KernelSpec &spec, size_t rank) {
  int64_t dim = spec.integer("dim", -1);
  if (dim < 0 || dim >= static_cast<int64_t>(rank))
    refuse(spec, "attribute 'dim' is " + std::to_string(dim) +
                     ", wanted a dimension of a tensor of rank " +
                     std::to_string(rank));
  return dim;
}

/// Refuses `spec` unless `type` is of `element` type and has `shape`.
void wantType(const KernelSpec &spec, const char *what, const TensorType &type,
              DataType element, const std::vector<int64_t> &shape) {
  const TensorType wanted{element, shape};
  if (!(type == wanted))
    refuse(spec, std::string(what) + " is " + describe(type) + ", wanted " +
                     describe(wanted));
}

/// Operands and results have one element type.
size_t elementBytesOf(const KernelSpec &spec) {
  return sizeOf(spec.results[0].type);
}

Movement planBroadcast(const KernelSpec &spec) {
  const TensorType &x = spec.operands[0], &y = spec.results[0];
  const auto &dims = listOf(spec, "dims", x.shape.size());
  std::vector<int64_t> dense = stridesOf(x.shape), from(y.shape.size(), 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0 || dims[i] >= static_cast<int64_t>(y.shape.size()) ||
        y.shape[dims[i]] != x.shape[i])
      refuse(spec, "dimension " + std::to_string(i) + " of " + describe(x) +
                       " cannot become dimension " + std::to_string(dims[i]) +
                       " of " + describe(y));
    from[dims[i]] = dense[i];
  }
  Movement movement;
  movement.parts.push_back(
      {y.shape, from, stridesOf(y.shape), elementBytesOf(spec), 0, 1});
  return movement;
}

Movement planTranspose(const KernelSpec &spec) {
  const TensorType &x = spec.operands[0], &y = spec.results[0];
  const auto &permutation = listOf(spec, "permutation", x.shape.size());
  std::vector<int64_t> dense = stridesOf(x.shape), from, shape;
  for (int64_t dim : permutation) {
    if (dim < 0 || dim >= static_cast<int64_t>(x.shape.size()))
      refuse(spec, "attribute 'permutation' holds " + std::to_string(dim) +
                       ", wanted a dimension of " + describe(x));
    from.push_back(dense[dim]);
    shape.push_back(x.shape[dim]);
  }
  wantType(spec, "the result", y, x.type, shape);
  Movement movement;
  movement.parts.push_back(
      {shape, from, stridesOf(shape), sizeOf(x.type), 0, 1});
  return movement;
}

/// Refuses `spec` unless `pieces` along `dim` make up `whole`.
void wantPieces(const KernelSpec &spec, const TensorType &whole, size_t dim,
                const std::vector<TensorType> &pieces) {
  int64_t total = 0;
  for (const TensorType &piece : pieces) {
    std::vector<int64_t> shape = whole.shape;
    shape[dim] = piece.shape.size() > dim ? piece.shape[dim] : -1;
    wantType(spec, "a piece", piece, whole.type, shape);
    total += shape[dim];
  }
  if (total != whole.shape[dim])
    refuse(spec, "the pieces have " + std::to_string(total) +
                     " elements along dimension " + std::to_string(dim) +
                     ", wanted those of " + describe(whole));
}

Movement planSplit(const KernelSpec &spec) {
  const TensorType &whole = spec.operands[0];
  size_t dim = dimOf(spec, whole.shape.size());
  wantPieces(spec, whole, dim, spec.results);
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
  size_t dim = dimOf(spec, whole.shape.size());
  wantPieces(spec, whole, dim, spec.operands);
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

/// Reads the slice of `whole`; `part` is it, perhaps without dimensions of 1.
Slice sliceOf(const KernelSpec &spec, const TensorType &whole,
              const TensorType &part) {
  size_t rank = whole.shape.size();
  const auto &offsets = listOf(spec, "offsets", rank);
  const auto &steps = listOf(spec, "strides", rank);
  Slice slice{listOf(spec, "sizes", rank), stridesOf(whole.shape), 0};
  int64_t elements = 1;
  for (size_t i = 0; i < rank; ++i) {
    int64_t last = offsets[i] + (slice.sizes[i] - 1) * steps[i];
    if (slice.sizes[i] > 0 && (offsets[i] < 0 || offsets[i] >= whole.shape[i] ||
                               last < 0 || last >= whole.shape[i]))
      refuse(spec, "the slice leaves dimension " + std::to_string(i) + " of " +
                       describe(whole) + ": it reaches from " +
                       std::to_string(offsets[i]) + " to " +
                       std::to_string(last));
    slice.offset += offsets[i] * slice.strides[i];
    slice.strides[i] *= steps[i];
    elements *= slice.sizes[i];
  }
  if (elements != part.elements())
    refuse(spec, "the slice has " + std::to_string(elements) +
                     " elements, wanted those of " + describe(part));
  return slice;
}

Movement planExtractSlice(const KernelSpec &spec) {
  Slice slice = sliceOf(spec, spec.operands[0], spec.results[0]);
  int64_t bytes = elementBytesOf(spec);
  Movement movement;
  movement.parts.push_back({slice.sizes, slice.strides, stridesOf(slice.sizes),
                            size_t(bytes), 0, 1, slice.offset * bytes, 0});
  return movement;
}

Movement planInsertSlice(const KernelSpec &spec) {
  const TensorType &whole = spec.operands[1];
  Slice slice = sliceOf(spec, whole, spec.operands[0]);
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
  const auto &low = listOf(spec, "low", x.shape.size());
  const auto &high = listOf(spec, "high", x.shape.size());
  std::vector<int64_t> shape = x.shape, strides = stridesOf(y.shape);
  int64_t bytes = elementBytesOf(spec), offset = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (low[i] < 0 || high[i] < 0)
      refuse(spec, "the padding of dimension " + std::to_string(i) +
                       " is negative; cut with tensor.extract_slice");
    shape[i] += low[i] + high[i];
  }
  wantType(spec, "the result", y, x.type, shape);
  for (size_t i = 0; i < shape.size(); ++i)
    offset += low[i] * strides[i];
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
