#include "program/Factors.h"

#include "program/KernelPattern.h"

#include <algorithm>

using namespace zrt;

const char *zrt::nameOf(FactorKind kind) {
  constexpr const char *names[] = {"whole", "parallel", "sum", "combined",
                                   "own"};
  return names[static_cast<int>(kind)];
}

FactorKind KernelPattern::kindOf(const std::string &letter,
                                 const KernelSpec &spec) const {
  for (const Attribute &attribute : attributes)
    if (attribute.letter == letter && attribute.kind == AttributeKind::Range &&
        spec.has(attribute.key))
      return FactorKind::Whole;
  for (const auto *patterns : {&operands, &results})
    for (const Tensor &pattern : *patterns)
      for (const Dimension &dimension : pattern.dimensions)
        if (!dimension.range.empty() && spec.has(dimension.range) &&
            std::count(dimension.letters.begin(), dimension.letters.end(),
                       letter))
          return FactorKind::Whole;
  auto holds = [&](const Condition &condition) {
    const bool isFlag =
        std::any_of(attributes.begin(), attributes.end(), [&](auto &one) {
          return one.key == condition.attribute &&
                 one.kind == AttributeKind::Flag;
        });
    return condition.isSet == (isFlag ? spec.integer(condition.attribute) != 0
                                      : spec.has(condition.attribute));
  };
  for (const Kind &kind : kinds)
    if (kind.letter == letter &&
        std::all_of(kind.conditions.begin(), kind.conditions.end(), holds))
      return kind.kind;
  return FactorKind::Whole;
}

namespace zrt {

/// Makes the factors of a spec that fits its pattern.
class FactorReader {
public:
  FactorReader(const KernelPattern &pattern, const KernelShapes &shapes)
      : pattern(pattern), shapes(shapes) {}

  Factors read() {
    const KernelSpec &spec = *shapes.spec;
    factors.operands = readAll(pattern.operands, spec.operands);
    factors.results = readAll(pattern.results, spec.results);
    return factors;
  }

private:
  /// The factor of that name; one without a name is of its own.
  DimPart part(const std::string &name, const std::string &letter,
               int64_t size) {
    for (size_t i = 0; !name.empty() && i < factors.factors.size(); ++i)
      if (factors.factors[i].name == name)
        return {i, {}};
    Factor factor;
    factor.name = name;
    factor.size = size;
    factor.kind = pattern.kindOf(letter, *shapes.spec);
    for (const auto &attribute : pattern.attributes)
      if (!letter.empty() && attribute.letter == letter &&
          attribute.kind == KernelPattern::AttributeKind::Int)
        factor.attribute = attribute.key;
    factors.factors.push_back(factor);
    return {factors.factors.size() - 1, {}};
  }

  FactoredDim one(const KernelPattern::Dimension &dimension, int64_t size) {
    const bool isRange =
        !dimension.range.empty() && shapes.spec->has(dimension.range);
    if (dimension.letters.empty())
      return {{part("", "", size)}};
    FactoredDim result;
    if (isRange)
      result.parts = {part(dimension.name + "@" + dimension.range, "", size)};
    else
      for (const std::string &letter : dimension.letters)
        result.parts.push_back(part(letter, letter, shapes.size(letter)));
    if (!dimension.range.empty())
      factors.factors[result.parts.back().factor].range = dimension.range;
    return result;
  }

  std::vector<FactoredTensor>
  readAll(const std::vector<KernelPattern::Tensor> &patterns,
          const std::vector<TensorType> &types) {
    std::vector<FactoredTensor> tensors;
    for (size_t i = 0; i < types.size(); ++i)
      tensors.push_back(
          readTensor(patterns[std::min(i, patterns.size() - 1)], types[i]));
    return tensors;
  }

  int64_t sizeOf(const std::vector<std::string> &letters) const {
    int64_t size = 1;
    for (const std::string &letter : letters)
      size *= shapes.size(letter);
    return size;
  }

  FactoredTensor readTensor(const KernelPattern::Tensor &tensor,
                            const TensorType &type) {
    FactoredTensor result;
    result.isAddend = tensor.isAddend;
    result.isLinear = tensor.isLinear;
    result.isBroadcast = tensor.isBroadcast;
    const auto dimensions = KernelPattern::orderOf(tensor, *shapes.spec);
    const size_t lacking =
        tensor.isBroadcast ? dimensions.size() - type.shape.size() : 0;
    const auto counts =
        KernelPattern::groupSizes(dimensions, type.shape.size(), shapes);
    size_t at = 0;
    for (size_t i = lacking; i < dimensions.size(); ++i) {
      const auto &dimension = dimensions[i];
      for (int64_t k = 0; dimension.group && k < counts[i]; ++k, ++at)
        result.dimensions.push_back({{part(
            dimension.name.empty() ? "" : dimension.name + std::to_string(k),
            dimension.name, type.shape[at])}});
      if (dimension.group)
        continue;
      const int64_t size = type.shape[at++];
      // Where a rank has one index of what the letters are, it is that.
      const bool repeats =
          tensor.isBroadcast && size == 1 && sizeOf(dimension.letters) != 1;
      result.dimensions.push_back(repeats ? FactoredDim{}
                                          : one(dimension, size));
    }
    return result;
  }

  const KernelPattern &pattern;
  const KernelShapes &shapes;
  Factors factors;
};

} // namespace zrt

std::optional<Factors>
KernelPattern::findFactors(const KernelSpec &spec) const {
  KernelShapes shapes(spec);
  if (!match(spec, shapes, /*isOperation=*/true).empty())
    return std::nullopt;
  return FactorReader(*this, shapes).read();
}

std::vector<std::string> KernelPattern::factorMarks() const {
  std::vector<std::string> marks;
  for (const Kind &kind : kinds)
    if (kind.kind == FactorKind::Parallel || kind.kind == FactorKind::Sum)
      marks.push_back(kind.letter);
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i].isLinear || operands[i].isAddend)
      marks.push_back("operand " + std::to_string(i));
  return marks;
}
