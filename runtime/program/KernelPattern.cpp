#include "program/KernelPattern.h"

#include <algorithm>
#include <sstream>

using namespace zrt;

namespace {

constexpr const char *kLanes = "f32, bf16 or f16";

/// Element types that stand for one of f32, bf16 and f16.
bool isLaneName(const std::string &element) {
  return element == "T" || element == "U";
}

bool isLane(DataType type) {
  return type == DataType::F32 || type == DataType::BF16 ||
         type == DataType::F16;
}

std::optional<DataType> typeOfName(const std::string &name) {
  for (int i = 0; i < kDataTypeCount; ++i)
    if (name == nameOf(static_cast<DataType>(i)))
      return static_cast<DataType>(i);
  return std::nullopt;
}

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    if (!part.empty())
      parts.push_back(part);
  return parts;
}

bool takeSuffix(std::string &text, const std::string &suffix) {
  if (text.size() < suffix.size() ||
      text.compare(text.size() - suffix.size(), suffix.size(), suffix))
    return false;
  text.resize(text.size() - suffix.size());
  return true;
}

} // namespace

//===----------------------------------------------------------------------===//
// Reading a schema
//===----------------------------------------------------------------------===//

KernelPattern::KernelPattern(const KernelSchema &schema) {
  const std::string text = schema.tensors;
  const size_t arrow = text.find("->");
  if (arrow == std::string::npos)
    refuseSchema(schema.name, "has no '->' between operands and results");
  operands = parseTensors(schema.name, text.substr(0, arrow));
  results = parseTensors(schema.name, text.substr(arrow + 2));
  parseAttributes(schema.name, schema.attributes);
}

std::vector<KernelPattern::Tensor>
KernelPattern::parseTensors(const char *schema, const std::string &text) {
  std::vector<Tensor> tensors;
  for (const std::string &part : split(text, ' ')) {
    tensors.push_back(parseTensor(schema, part));
    if (tensors.size() > 1 && tensors[tensors.size() - 2].variadic)
      refuseSchema(schema, "has '" + part + "' behind any number of tensors");
    if (tensors.size() > 1 && tensors[tensors.size() - 2].optional &&
        !tensors.back().optional)
      refuseSchema(schema, "has '" + part + "' behind one that may be absent");
  }
  return tensors;
}

KernelPattern::Tensor KernelPattern::parseTensor(const char *schema,
                                                 const std::string &text) {
  const size_t colon = text.find(':'), open = text.find('['),
               close = text.find(']');
  if (colon == std::string::npos || open == std::string::npos ||
      close == std::string::npos || colon > open || open > close)
    refuseSchema(schema, "has '" + text + "', wanted name:type[dimensions]");
  Tensor tensor;
  tensor.name = text.substr(0, colon);
  tensor.optional = takeSuffix(tensor.name, "?");
  tensor.variadic = takeSuffix(tensor.name, "*");
  tensor.element = text.substr(colon + 1, open - colon - 1);
  if (!isLaneName(tensor.element) && tensor.element != "E" &&
      tensor.element != "any" && !typeOfName(tensor.element))
    refuseSchema(schema, "has the element type '" + tensor.element +
                             "', wanted T, U, E, any or a type's name");
  std::string suffix = text.substr(close + 1);
  tensor.strided = takeSuffix(suffix, "&");
  if (!suffix.empty() && suffix[0] == '~')
    tensor.swap = suffix.substr(1);
  for (std::string part : split(text.substr(open + 1, close - open - 1), ',')) {
    Dimension dimension;
    if (size_t at = part.find('@'); at != std::string::npos) {
      dimension.range = part.substr(at + 1);
      part.resize(at);
    }
    dimension.group = takeSuffix(part, "..");
    if (!part.empty() && part[0] >= '0' && part[0] <= '9')
      dimension.number = std::stoll(part);
    else
      dimension.name = part;
    tensor.dimensions.push_back(dimension);
  }
  if (!tensor.swap.empty() && tensor.dimensions.size() < 2)
    refuseSchema(schema, "swaps two dimensions of '" + text + "'");
  return tensor;
}

void KernelPattern::parseAttributes(const char *schema,
                                    const std::string &text) {
  const std::map<std::string, AttributeKind> kinds = {
      {"flag", AttributeKind::Flag},
      {"int", AttributeKind::Int},
      {"ints", AttributeKind::Ints},
      {"range", AttributeKind::Range},
      {"real", AttributeKind::Real}};
  for (const std::string &part : split(text, ' ')) {
    const size_t colon = part.find(':');
    std::string kind = colon == std::string::npos ? "" : part.substr(colon + 1);
    const bool optional = takeSuffix(kind, "?");
    auto found = kinds.find(kind);
    if (found == kinds.end())
      refuseSchema(schema, "has the attribute '" + part +
                               "', wanted key:kind with kind flag, int, ints, "
                               "range or real");
    attributes.push_back({part.substr(0, colon), found->second,
                          optional || found->second == AttributeKind::Flag});
  }
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

std::string KernelPattern::checkInts(const Attribute &attribute,
                                     const std::vector<int64_t> &values) {
  const std::string &key = attribute.key;
  switch (attribute.kind) {
  case AttributeKind::Ints:
    return {};
  case AttributeKind::Range:
    if (values.size() == 2 && values[0] >= 0 && values[0] < values[1])
      return {};
    return "attribute '" + key + "' is no range [first, last) of indices";
  case AttributeKind::Flag:
    if (values.size() == 1 && (values[0] == 0 || values[0] == 1))
      return {};
    return "attribute '" + key + "' is neither 0 nor 1";
  default:
    if (values.size() == 1)
      return {};
    return "attribute '" + key + "' has " + std::to_string(values.size()) +
           " values, wanted one";
  }
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
  for (const auto &[key, value] : spec.floats)
    if (find(key, true) == attributes.end())
      return "attribute '" + key + "' is unknown to it as a real number";
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

std::string KernelPattern::match(const KernelSpec &spec,
                                 KernelShapes &shapes) const {
  shapes.spec = &spec;
  if (std::string wrong = matchAttributes(spec); !wrong.empty())
    return wrong;
  if (!fitsCount(operands, spec.operands.size()) ||
      !fitsCount(results, spec.results.size()))
    return countText(spec);
  std::string wrong = matchList(operands, spec.operands, shapes);
  if (wrong.empty())
    wrong = matchList(results, spec.results, shapes);
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

bool KernelPattern::takesStrides(const KernelSpec &spec, size_t index) const {
  const bool isResult = index >= spec.operands.size();
  const std::vector<Tensor> &patterns = isResult ? results : operands;
  if (isResult)
    index -= spec.operands.size();
  return !patterns.empty() &&
         patterns[std::min(index, patterns.size() - 1)].strided;
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

bool KernelPattern::matchElement(const Tensor &pattern, DataType type,
                                 KernelShapes &shapes) const {
  if (pattern.element == "any")
    return true;
  if (!isLaneName(pattern.element) && pattern.element != "E")
    return type == *typeOfName(pattern.element);
  if (isLaneName(pattern.element) && !isLane(type))
    return false;
  return shapes.types.emplace(pattern.element, type).first->second == type;
}

bool KernelPattern::matchDimension(const Dimension &dimension, int64_t size,
                                   KernelShapes &shapes,
                                   std::string &wrong) const {
  if (dimension.name.empty())
    return dimension.number == size;
  auto range = shapes.spec->ints.find(dimension.range);
  if (range == shapes.spec->ints.end())
    return shapes.dimensions.emplace(dimension.name, size).first->second ==
           size;
  auto whole = shapes.dimensions.find(dimension.name);
  if (whole != shapes.dimensions.end() && range->second[1] > whole->second)
    wrong = dimension.range + " are no range of the " +
            std::to_string(whole->second) + " there are";
  return size == range->second[1] - range->second[0];
}

/// The dimensions in the order of the tensor that `spec` has.
template <typename Tensor>
static auto orderOf(const Tensor &pattern, const KernelSpec &spec) {
  auto dimensions = pattern.dimensions;
  if (!pattern.swap.empty() && spec.integer(pattern.swap))
    std::swap(dimensions[dimensions.size() - 2], dimensions.back());
  return dimensions;
}

bool KernelPattern::matchShape(const Tensor &pattern, const TensorType &type,
                               KernelShapes &shapes) const {
  const auto dimensions = orderOf(pattern, *shapes.spec);
  const auto group =
      std::find_if(dimensions.begin(), dimensions.end(),
                   [](const Dimension &dimension) { return dimension.group; });
  const bool hasGroup = group != dimensions.end();
  const size_t fixed = dimensions.size() - (hasGroup ? 1 : 0);
  if (type.shape.size() < fixed || (!hasGroup && type.shape.size() > fixed))
    return false;
  bool fits = true;
  std::string wrong;
  auto size = type.shape.begin();
  for (const Dimension &dimension : dimensions) {
    if (!dimension.group) {
      fits &= matchDimension(dimension, *size++, shapes, wrong);
      continue;
    }
    const std::vector<int64_t> sizes(size, size + (type.shape.size() - fixed));
    size += sizes.size();
    if (!dimension.name.empty())
      fits &=
          shapes.groups.emplace(dimension.name, sizes).first->second == sizes;
  }
  return fits;
}

std::string KernelPattern::matchTensor(const Tensor &pattern,
                                       const TensorType &type,
                                       KernelShapes &shapes) const {
  // A range that does not fit is told before the sizes that follow from it.
  for (const Dimension &dimension : pattern.dimensions) {
    std::string wrong;
    if (!dimension.range.empty() && !dimension.group)
      if (auto whole = shapes.dimensions.find(dimension.name);
          whole != shapes.dimensions.end())
        matchDimension(dimension, whole->second, shapes, wrong);
    if (!wrong.empty())
      return wrong;
  }
  const bool element = matchElement(pattern, type.type, shapes);
  const bool shape = matchShape(pattern, type, shapes);
  if (element && shape)
    return checkStrides(pattern, type);
  return pattern.name + " is " + describe(type) + ", wanted " +
         wanted(pattern, type, shapes);
}

std::string KernelPattern::wanted(const Tensor &pattern, const TensorType &type,
                                  const KernelShapes &shapes) const {
  std::vector<std::string> sizes;
  bool known = true;
  for (const Dimension &dimension : orderOf(pattern, *shapes.spec)) {
    auto range = shapes.spec->ints.find(dimension.range);
    auto group = shapes.groups.find(dimension.name);
    if (dimension.group && group != shapes.groups.end()) {
      for (int64_t size : group->second)
        sizes.push_back(std::to_string(size));
    } else if (!dimension.group && dimension.number >= 0) {
      sizes.push_back(std::to_string(dimension.number));
    } else if (!dimension.group && range != shapes.spec->ints.end()) {
      sizes.push_back(std::to_string(range->second[1] - range->second[0]));
    } else if (shapes.dimensions.count(dimension.name)) {
      sizes.push_back(std::to_string(shapes.size(dimension.name)));
    } else {
      sizes.push_back(dimension.name + (dimension.group ? ".." : ""));
      known = false;
    }
  }
  std::string element = pattern.element;
  if (element == "any")
    element = nameOf(type.type);
  else if (auto bound = shapes.types.find(element); bound != shapes.types.end())
    element = nameOf(bound->second);
  else if (isLaneName(element))
    element = kLanes, known = false;
  std::string text;
  for (const std::string &size : sizes)
    text += known ? size + "x" : (text.empty() ? "" : ", ") + size;
  return known ? text + element : "[" + text + "] of " + element;
}
