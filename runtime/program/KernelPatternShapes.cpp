// Element types and dimensions of one tensor against those of its pattern.
#include "program/KernelPattern.h"

#include <algorithm>

using namespace zrt;

namespace {

bool isLane(DataType type) {
  return type == DataType::F32 || type == DataType::BF16 ||
         type == DataType::F16;
}

std::string rangeText(const std::string &key, const std::vector<int64_t> &range,
                      int64_t size) {
  return key + " are [" + std::to_string(range[0]) + ", " +
         std::to_string(range[1]) + "], no range of the " +
         std::to_string(size) + " there are";
}

} // namespace

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// The type of statistics.
DataType KernelPattern::statisticOf(const KernelShapes &shapes) {
  auto bound = shapes.types.find("T");
  return bound != shapes.types.end() && bound->second == DataType::F64
             ? DataType::F64
             : DataType::F32;
}

bool KernelPattern::matchElement(const Tensor &pattern, DataType type,
                                 KernelShapes &shapes) const {
  if (pattern.element == "any")
    return true;
  if (pattern.element == "S")
    return type == statisticOf(shapes);
  if (!isLaneName(pattern.element) && pattern.element != "E")
    return type == *findByName<DataType>(pattern.element);
  if (isLaneName(pattern.element) && !isLane(type) &&
      !(shapes.isOperation && type == DataType::F64))
    return false;
  return shapes.types.emplace(pattern.element, type).first->second == type;
}

//===----------------------------------------------------------------------===//
// Letters
//===----------------------------------------------------------------------===//

/// A product is divided by the letters that are known; one that is not gets
/// what is left. Where more are unknown, they may be known later.
bool KernelPattern::divide(const Dimension &dimension, int64_t size,
                           KernelShapes &shapes) {
  int64_t known = 1;
  const std::string *unknown = nullptr;
  for (const std::string &letter : dimension.letters) {
    auto bound = shapes.dimensions.find(letter);
    if (bound != shapes.dimensions.end())
      known *= bound->second;
    else if (unknown)
      return true;
    else
      unknown = &letter;
  }
  if (!unknown)
    return known == size;
  if (known == 0 || size % known)
    return false;
  shapes.dimensions[*unknown] = size / known;
  return true;
}

/// A product has one size under its own name as well.
bool KernelPattern::matchProduct(const Dimension &dimension, int64_t size,
                                 KernelShapes &shapes) {
  auto bound = shapes.dimensions.find(dimension.name);
  if (bound != shapes.dimensions.end())
    return bound->second == size;
  if (!divide(dimension, size, shapes))
    return false;
  shapes.dimensions[dimension.name] = size;
  return true;
}

bool KernelPattern::matchDimension(const Dimension &dimension, int64_t size,
                                   KernelShapes &shapes, std::string &wrong) {
  if (dimension.name.empty())
    return dimension.number == size;
  const std::string &name = dimension.name;
  auto range = shapes.spec->ints.find(dimension.range);
  if (range == shapes.spec->ints.end()) {
    if (dimension.letters.size() > 1)
      return matchProduct(dimension, size, shapes);
    return shapes.dimensions.emplace(name, size).first->second == size;
  }
  auto whole = shapes.dimensions.find(name);
  if (whole != shapes.dimensions.end() && range->second[1] > whole->second)
    wrong = rangeText(dimension.range, range->second, whole->second);
  return size == range->second[1] - range->second[0];
}

/// What the attributes say of letters.
std::string KernelPattern::bindLetters(const KernelSpec &spec,
                                       KernelShapes &shapes) const {
  for (const Attribute &attribute : attributes) {
    if (attribute.letter.empty() || attribute.kind != AttributeKind::Int)
      continue;
    const int64_t size = spec.integer(attribute.key);
    if (size < 1)
      return "attribute '" + attribute.key + "' is " + std::to_string(size) +
             ", wanted 1 or more";
    shapes.dimensions[attribute.letter] = size;
  }
  return {};
}

/// What shows once all tensors are known: ranges of letters, numbers for the
/// dimensions of groups, and products of which a letter stands behind them.
std::string KernelPattern::checkLetters(KernelShapes &shapes) const {
  for (const Attribute &attribute : attributes) {
    auto found = shapes.spec->ints.find(attribute.key);
    if (attribute.letter.empty() || found == shapes.spec->ints.end())
      continue;
    const std::vector<int64_t> &values = found->second;
    if (attribute.kind == AttributeKind::Range &&
        values[1] > shapes.size(attribute.letter))
      return rangeText(attribute.key, values, shapes.size(attribute.letter));
    if (attribute.kind == AttributeKind::Ints)
      if (std::string wrong = checkList(attribute, values,
                                        shapes.sizes(attribute.letter).size());
          !wrong.empty())
        return wrong;
  }
  return checkProducts(shapes);
}

std::string KernelPattern::checkProducts(KernelShapes &shapes) const {
  for (const auto *patterns : {&operands, &results})
    for (const Tensor &pattern : *patterns)
      for (const Dimension &dimension : pattern.dimensions) {
        auto bound = shapes.dimensions.find(dimension.name);
        if (dimension.letters.size() < 2 || bound == shapes.dimensions.end() ||
            divide(dimension, bound->second, shapes))
          continue;
        const TensorType &type = *shapes.tensor(pattern.name);
        shapes.dimensions.erase(bound);
        return pattern.name + " is " + describe(type) + ", wanted " +
               wanted(pattern, type, shapes);
      }
  return {};
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

/// The dimensions in the order of the tensor that `spec` has.
std::vector<KernelPattern::Dimension>
KernelPattern::orderOf(const Tensor &pattern, const KernelSpec &spec) {
  std::vector<Dimension> dimensions = pattern.dimensions;
  if (!pattern.swap.empty() && spec.integer(pattern.swap))
    std::swap(dimensions[dimensions.size() - 2], dimensions.back());
  return dimensions;
}

bool KernelPattern::matchBroadcast(const std::vector<Dimension> &dimensions,
                                   const TensorType &type,
                                   KernelShapes &shapes) const {
  if (type.shape.size() > dimensions.size())
    return false;
  const size_t lacking = dimensions.size() - type.shape.size();
  bool fits = true;
  std::string wrong;
  for (size_t i = 0; i < type.shape.size(); ++i)
    fits &= type.shape[i] == 1 || matchDimension(dimensions[lacking + i],
                                                 type.shape[i], shapes, wrong);
  return fits;
}

/// How many dimensions are in each group: as an attribute says, as another
/// group has, or the others.
std::vector<int64_t>
KernelPattern::groupSizes(const std::vector<Dimension> &dimensions, size_t rank,
                          const KernelShapes &shapes) {
  std::vector<int64_t> sizes;
  int64_t others = int64_t(rank);
  for (const Dimension &dimension : dimensions) {
    const bool isOpen = dimension.group && dimension.rank.empty();
    sizes.push_back(isOpen             ? -1
                    : !dimension.group ? 1
                    : shapes.spec->has(dimension.rank)
                        ? shapes.spec->integer(dimension.rank)
                        : int64_t(shapes.sizes(dimension.rank).size()));
    others -= isOpen ? 0 : sizes.back();
  }
  std::replace(sizes.begin(), sizes.end(), int64_t(-1), others);
  return sizes;
}

bool KernelPattern::matchShape(const Tensor &pattern, const TensorType &type,
                               KernelShapes &shapes) const {
  const auto dimensions = orderOf(pattern, *shapes.spec);
  if (pattern.isBroadcast)
    return matchBroadcast(dimensions, type, shapes);
  const auto sizes = groupSizes(dimensions, type.shape.size(), shapes);
  int64_t rank = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Dimension &dimension = dimensions[i];
    if (sizes[i] < 0 || (dimension.most >= 0 && (sizes[i] < dimension.least ||
                                                 sizes[i] > dimension.most)))
      return false;
    rank += sizes[i];
  }
  if (rank != int64_t(type.shape.size()))
    return false;
  bool fits = true;
  std::string wrong;
  auto size = type.shape.begin();
  for (size_t i = 0; i < dimensions.size(); ++i) {
    const Dimension &dimension = dimensions[i];
    if (!dimension.group) {
      fits &= matchDimension(dimension, *size++, shapes, wrong);
      continue;
    }
    const std::vector<int64_t> group(size, size + sizes[i]);
    size += sizes[i];
    if (!dimension.name.empty() && !(dimension.mayLack && group.empty()))
      fits &=
          shapes.groups.emplace(dimension.name, group).first->second == group;
  }
  return fits;
}

/// What is wrong with an attribute that says how many dimensions a group has.
std::string KernelPattern::checkRank(const Tensor &pattern,
                                     const TensorType &type,
                                     const KernelShapes &shapes) const {
  const int64_t rank = int64_t(type.shape.size());
  for (const Dimension &dimension : pattern.dimensions) {
    if (!shapes.spec->has(dimension.rank))
      continue;
    const int64_t found = shapes.spec->integer(dimension.rank);
    if (found < 0 || found >= rank)
      return "attribute '" + dimension.rank + "' is " + std::to_string(found) +
             ", wanted a dimension of " + pattern.name + ", " + describe(type);
  }
  return {};
}

/// What is wrong with the attribute that gives a range of a letter: it is one
/// of the first dimension, within the letter's size where that is known.
std::string KernelPattern::checkRange(const Tensor &pattern,
                                      const TensorType &type,
                                      KernelShapes &shapes) const {
  const auto dimensions = orderOf(pattern, *shapes.spec);
  const auto sizes = groupSizes(dimensions, type.shape.size(), shapes);
  int64_t before = 0;
  for (size_t i = 0; i < dimensions.size(); before += sizes[i++]) {
    const Dimension &dimension = dimensions[i];
    if (dimension.range.empty() || !shapes.spec->has(dimension.range))
      continue;
    if (before > 0)
      return dimension.range + " are given along dimension " +
             std::to_string(before) + " of " + pattern.name + ", " +
             describe(type) + ", wanted along dimension 0";
    std::string wrong;
    if (auto whole = shapes.dimensions.find(dimension.name);
        whole != shapes.dimensions.end())
      matchDimension(dimension, whole->second, shapes, wrong);
    if (!wrong.empty())
      return wrong;
  }
  return {};
}

std::string KernelPattern::matchTensor(const Tensor &pattern,
                                       const TensorType &type,
                                       KernelShapes &shapes) const {
  if (std::string wrong = checkRank(pattern, type, shapes); !wrong.empty())
    return wrong;
  // A range that does not fit is told before the sizes that follow from it.
  if (std::string wrong = checkRange(pattern, type, shapes); !wrong.empty())
    return wrong;
  const bool element = matchElement(pattern, type.type, shapes);
  const bool shape = matchShape(pattern, type, shapes);
  if (element && shape)
    return checkStrides(pattern, type);
  return pattern.name + " is " + describe(type) + ", wanted " +
         wanted(pattern, type, shapes);
}

//===----------------------------------------------------------------------===//
// What a tensor should have been
//===----------------------------------------------------------------------===//

std::string KernelPattern::sizeText(const Dimension &dimension,
                                    const KernelShapes &shapes, bool &known) {
  if (dimension.number >= 0)
    return std::to_string(dimension.number);
  auto range = shapes.spec->ints.find(dimension.range);
  if (range != shapes.spec->ints.end())
    return std::to_string(range->second[1] - range->second[0]);
  const std::string &name = dimension.name;
  if (shapes.dimensions.count(name))
    return std::to_string(shapes.size(name));
  std::string text;
  int64_t product = 1;
  bool isKnown = true;
  for (const std::string &letter : dimension.letters) {
    const bool isBound = shapes.dimensions.count(letter) != 0;
    text += (text.empty() ? "" : "*") +
            (isBound ? std::to_string(shapes.size(letter)) : letter);
    product *= shapes.size(letter);
    isKnown &= isBound;
  }
  known &= isKnown;
  return isKnown ? std::to_string(product) : text;
}

std::string KernelPattern::elementText(const Tensor &pattern,
                                       const TensorType &type,
                                       const KernelShapes &shapes,
                                       bool &known) const {
  if (pattern.element == "any")
    return nameOf(type.type);
  if (pattern.element == "S")
    return nameOf(statisticOf(shapes));
  auto bound = shapes.types.find(pattern.element);
  if (bound != shapes.types.end())
    return nameOf(bound->second);
  if (!isLaneName(pattern.element))
    return pattern.element;
  known = false;
  return shapes.isOperation ? "f64, f32, bf16 or f16" : "f32, bf16 or f16";
}

/// Adds the sizes of a group, or, where only their number is known, names.
/// Returns whether sizes are known.
bool KernelPattern::addGroup(const Dimension &dimension,
                             const KernelShapes &shapes,
                             std::vector<std::string> &sizes) {
  const auto group = shapes.groups.find(dimension.name);
  const auto model = shapes.groups.find(dimension.rank);
  if (group != shapes.groups.end())
    for (const int64_t size : group->second)
      sizes.push_back(std::to_string(size));
  else if (model != shapes.groups.end())
    for (size_t i = 0; i < model->second.size(); ++i)
      sizes.push_back(dimension.name + std::to_string(i));
  else
    sizes.push_back(dimension.name + "..");
  return group != shapes.groups.end();
}

std::string KernelPattern::wanted(const Tensor &pattern, const TensorType &type,
                                  const KernelShapes &shapes) const {
  std::vector<std::string> sizes;
  bool known = true, mayLack = false;
  for (const Dimension &dimension : orderOf(pattern, *shapes.spec)) {
    if (!dimension.group) {
      sizes.push_back(sizeText(dimension, shapes, known));
      continue;
    }
    known &= addGroup(dimension, shapes, sizes);
    mayLack |= dimension.mayLack && !shapes.sizes(dimension.name).empty();
  }
  const std::string element = elementText(pattern, type, shapes, known);
  std::string text;
  for (const std::string &size : sizes)
    text += known ? size + "x" : (text.empty() ? "" : ", ") + size;
  text = known ? text + element : "[" + text + "] of " + element;
  if (mayLack)
    text += ", or without its last dimensions";
  if (pattern.isBroadcast)
    text += ", with any size replaced by 1";
  for (const Dimension &dimension : pattern.dimensions)
    if (dimension.most >= 0 && !shapes.groups.count(dimension.name))
      text += ", with " + std::to_string(dimension.least) + " to " +
              std::to_string(dimension.most) + " dimensions " + dimension.name;
  for (const Attribute &attribute : attributes)
    for (const Dimension &dimension : pattern.dimensions)
      if (attribute.kind == AttributeKind::Int &&
          dimension.letters.size() > 1 &&
          dimension.letters.front() == attribute.letter)
        text += ", with " + attribute.key + " " +
                std::to_string(shapes.size(attribute.letter));
  return text;
}
