#include "program/KernelPattern.h"

#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <limits>
#include <sstream>

using namespace zrt;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

std::string zrt::listText(const std::vector<int64_t> &values) {
  std::string text;
  for (const int64_t value : values)
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

std::string KernelPattern::checkInts(const Attribute &attribute,
                                     const std::vector<int64_t> &values) {
  const std::string &key = attribute.key;
  switch (attribute.kind) {
  case AttributeKind::Ints:
    return {};
  case AttributeKind::Range:
    if (values.size() == 2 && values[0] >= 0 && values[0] < values[1])
      return {};
    return "attribute '" + key + "' is " + listText(values) +
           ", wanted [begin, end] with 0 <= begin < end";
  case AttributeKind::Flag:
    if (values.size() == 1 && (values[0] == 0 || values[0] == 1))
      return {};
    return "attribute '" + key + "' is neither 0 nor 1";
  default:
    if (values.size() == 1)
      return checkBounds(attribute, double(values[0]),
                         std::to_string(values[0]));
    return "attribute '" + key + "' has " + std::to_string(values.size()) +
           " values, wanted one";
  }
}

/// What is no number is in no range.
bool KernelPattern::isWithin(const Attribute &attribute, double value) {
  return (!attribute.least || value >= *attribute.least) &&
         (!attribute.above || value > *attribute.above) &&
         (!attribute.below || value < *attribute.below);
}

std::string KernelPattern::boundsText(const Attribute &attribute) {
  auto text = [](double bound) {
    std::ostringstream stream;
    stream << std::setprecision(std::numeric_limits<double>::digits10) << bound;
    return stream.str();
  };
  std::string wanted;
  if (attribute.least)
    wanted = text(*attribute.least) + " or more";
  if (attribute.above)
    wanted = "more than " + text(*attribute.above);
  if (attribute.below)
    wanted += (wanted.empty() ? "less than " : " and less than ") +
              text(*attribute.below);
  return wanted;
}

/// `found` is the value as text.
std::string KernelPattern::checkBounds(const Attribute &attribute, double value,
                                       const std::string &found) {
  return isWithin(attribute, value)
             ? ""
             : "attribute '" + attribute.key + "' is " + found + ", wanted " +
                   boundsText(attribute);
}

/// A list has a number for each of `count` dimensions.
std::string KernelPattern::checkList(const Attribute &attribute,
                                     const std::vector<int64_t> &values,
                                     size_t count) {
  bool fits = values.size() == count;
  for (const int64_t value : values)
    fits &= isWithin(attribute, double(value));
  const std::string bounds = boundsText(attribute);
  return fits ? ""
              : "attribute '" + attribute.key + "' is " + listText(values) +
                    ", wanted " + std::to_string(count) +
                    (count == 1 ? " number" : " numbers") +
                    " for the dimensions " + attribute.letter +
                    (bounds.empty() ? "" : ", each " + bounds);
}

std::string KernelPattern::matchAttributes(const KernelSpec &spec) const {
  auto find = [&](const std::string &key, bool isReal) {
    return std::find_if(
        attributes.begin(), attributes.end(), [&](const Attribute &attribute) {
          return attribute.key == key &&
                 (attribute.kind == AttributeKind::Real) == isReal;
        });
  };
  for (const auto &[key, values] : spec.ints) {
    auto found = find(key, false);
    if (found == attributes.end())
      return "attribute '" + key + "' is unknown to it as an integer";
    if (std::string wrong = checkInts(*found, values); !wrong.empty())
      return wrong;
  }
  for (const auto &[key, value] : spec.floats) {
    auto found = find(key, true);
    if (found == attributes.end())
      return "attribute '" + key + "' is unknown to it as a real number";
    if (std::string wrong = checkBounds(*found, value, std::to_string(value));
        !wrong.empty())
      return wrong;
  }
  for (const Attribute &attribute : attributes) {
    const bool isThere = attribute.kind == AttributeKind::Real
                             ? spec.floats.count(attribute.key) != 0
                             : spec.has(attribute.key);
    if (!isThere && !attribute.optional)
      return "attribute '" + attribute.key + "' is missing";
  }
  return {};
}

void KernelPattern::fillFlags(KernelSpec &spec) const {
  auto isThere = [](const std::vector<Tensor> &patterns, size_t count,
                    const std::string &name) {
    for (size_t i = 0; i < patterns.size() && i < count; ++i)
      if (patterns[i].optional && patterns[i].name == name)
        return true;
    return false;
  };
  for (const Attribute &attribute : attributes)
    if (attribute.kind == AttributeKind::Flag && !spec.has(attribute.key))
      spec.ints[attribute.key] = {
          isThere(operands, spec.operands.size(), attribute.key) ||
          isThere(results, spec.results.size(), attribute.key)};
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

std::string KernelPattern::countText(const KernelSpec &spec) const {
  auto list = [](const std::vector<Tensor> &patterns) {
    std::string text;
    for (const Tensor &pattern : patterns)
      text += (text.empty() ? "" : ", ") + pattern.name +
              (pattern.optional   ? " (optional)"
               : pattern.variadic ? " (any number)"
                                  : "");
    return text.empty() ? "none" : text;
  };
  return "found " + std::to_string(spec.operands.size()) + " operands and " +
         std::to_string(spec.results.size()) +
         " results, wanted operands: " + list(operands) +
         "; results: " + list(results);
}

/// Whether as many tensors as `count` can be those of `patterns`.
template <typename Tensors>
static bool fitsCount(const Tensors &patterns, size_t count) {
  size_t least = 0, most = patterns.size();
  for (const auto &pattern : patterns) {
    least += !pattern.optional && !pattern.variadic;
    if (pattern.variadic)
      most = SIZE_MAX;
  }
  return count >= least && count <= most;
}

std::string KernelPattern::match(const KernelSpec &spec, KernelShapes &shapes,
                                 bool isOperation) const {
  shapes.spec = &spec;
  shapes.isOperation = isOperation;
  if (std::string wrong = matchAttributes(spec); !wrong.empty())
    return wrong;
  if (std::string wrong = bindLetters(spec, shapes); !wrong.empty())
    return wrong;
  if (!fitsCount(operands, spec.operands.size()) ||
      !fitsCount(results, spec.results.size()))
    return countText(spec);
  bindWide(spec, shapes);
  std::string wrong = matchList(operands, spec.operands, shapes);
  if (wrong.empty())
    wrong = matchList(results, spec.results, shapes);
  if (wrong.empty())
    wrong = checkLetters(shapes);
  if (!wrong.empty())
    return wrong;
  for (const Attribute &attribute : attributes)
    if (attribute.kind == AttributeKind::Flag)
      for (const auto *patterns : {&operands, &results})
        for (const Tensor &pattern : *patterns)
          if (pattern.optional && pattern.name == attribute.key &&
              (shapes.tensor(pattern.name) != nullptr) !=
                  shapes.flag(attribute.key))
            return countText(spec) + ", '" + attribute.key + "' as its " +
                   "attribute says";
  return {};
}

/// Statistics of f64 are f64, also in front of what they are statistics of: the
/// first tensor of floats tells.
void KernelPattern::bindWide(const KernelSpec &spec,
                             KernelShapes &shapes) const {
  const size_t count = spec.operands.size() + spec.results.size();
  for (size_t i = 0; shapes.isOperation && i < count; ++i) {
    const Tensor *pattern = tensorAt(spec, i);
    if (!pattern || pattern->element != "T")
      continue;
    const DataType type = i < spec.operands.size()
                              ? spec.operands[i].type
                              : spec.results[i - spec.operands.size()].type;
    if (type == DataType::F64)
      shapes.types.emplace("T", type);
    return;
  }
}

std::string KernelPattern::matchList(const std::vector<Tensor> &patterns,
                                     const std::vector<TensorType> &types,
                                     KernelShapes &shapes) const {
  for (size_t i = 0; i < types.size(); ++i) {
    const Tensor &pattern = patterns[std::min(i, patterns.size() - 1)];
    shapes.tensors.emplace(pattern.name, &types[i]);
    if (std::string wrong = matchTensor(pattern, types[i], shapes);
        !wrong.empty())
      return wrong;
  }
  return {};
}

const KernelPattern::Tensor *KernelPattern::tensorAt(const KernelSpec &spec,
                                                     size_t index) const {
  const bool isResult = index >= spec.operands.size();
  const std::vector<Tensor> &patterns = isResult ? results : operands;
  if (isResult)
    index -= spec.operands.size();
  return patterns.empty() ? nullptr
                          : &patterns[std::min(index, patterns.size() - 1)];
}

bool KernelPattern::takesStrides(const KernelSpec &spec, size_t index) const {
  const Tensor *tensor = tensorAt(spec, index);
  return tensor && tensor->strided;
}

bool KernelPattern::isStatistic(const KernelSpec &spec, size_t index) const {
  const Tensor *tensor = tensorAt(spec, index);
  return tensor && tensor->element == "S";
}

/// What is wrong with the strides of `type`; empty where nothing is.
std::string KernelPattern::checkStrides(const Tensor &pattern,
                                        const TensorType &type) {
  if (type.strides.empty())
    return {};
  const std::string found = pattern.name + " is " + describe(type);
  if (!pattern.strided)
    return found + ", wanted it dense";
  const size_t rank = type.shape.size();
  bool fits = type.strides.size() == rank && rank > 0;
  // By increasing stride, each dimension begins past the ones before.
  std::vector<std::pair<int64_t, int64_t>> byStride;
  for (size_t i = 0; fits && i < rank; ++i) {
    if (type.shape[i] == 1)
      continue;
    const int64_t stride = type.strides[i];
    fits = i + 1 == rank
               ? stride == 1
               : stride * int64_t(sizeOf(type.type)) % kStrideBytes == 0;
    byStride.push_back({stride, type.shape[i]});
  }
  std::sort(byStride.begin(), byStride.end());
  int64_t covered = 1;
  for (const auto &[stride, size] : byStride) {
    fits &= stride >= covered;
    covered = (size - 1) * stride + covered;
  }
  return fits ? ""
              : found +
                    ", wanted strides that do not overlap: 1 of the last "
                    "dimension, others multiples of " +
                    std::to_string(kStrideBytes) + " bytes";
}
