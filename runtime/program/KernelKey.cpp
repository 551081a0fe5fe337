#include "program/KernelKey.h"

#include "program/KernelSchema.h"

#include <algorithm>

using namespace zrt;

namespace {

/// Attributes that say which one a kernel is, or that follow from the rest.
bool isIdentity(const std::string &key) {
  constexpr const char *keys[] = {"partition", "first",        "base",
                                  "owner",     "group",        "copies",
                                  "id",        kOperationsKey, kTimesKey};
  return std::find(std::begin(keys), std::end(keys), key) != std::end(keys);
}

void addTypes(std::string &text, const std::vector<TensorType> &types,
              bool shapes) {
  text += "(";
  for (size_t i = 0; i < types.size(); ++i) {
    text += (i ? "," : "") + std::string(nameOf(types[i].type));
    if (!shapes)
      continue;
    text += "[";
    for (size_t dim = 0; dim < types[i].shape.size(); ++dim)
      text += (dim ? "x" : "") + std::to_string(types[i].shape[dim]);
    for (size_t dim = 0; dim < types[i].strides.size(); ++dim)
      text += (dim ? "x" : " by ") + std::to_string(types[i].strides[dim]);
    text += "]";
  }
  text += ")";
}

/// Operations of a generated kernel on an element of its largest result.
int64_t operationsAnElement(const KernelSpec &spec) {
  int64_t elements = 1;
  for (const TensorType &type : spec.results)
    elements = std::max(elements, type.elements());
  return spec.flops / elements;
}

std::string textOf(const KernelSpec &spec, bool shapes) {
  std::string text = spec.name;
  addTypes(text, spec.operands, shapes);
  text += "->";
  addTypes(text, spec.results, shapes);
  if (!spec.symbol.empty())
    text += " operations=" + std::to_string(operationsAnElement(spec));
  for (const auto &[key, values] : spec.ints) {
    if (isIdentity(key) || (!shapes && values.size() > 1))
      continue;
    text += " " + key + "=";
    for (size_t i = 0; i < values.size(); ++i)
      text += (i ? "," : "") + std::to_string(values[i]);
  }
  return text;
}

} // namespace

std::string zrt::kernelKeyOf(const KernelSpec &spec) {
  return textOf(spec, true);
}

std::string zrt::familyOf(const KernelSpec &spec) {
  return textOf(spec, false);
}

DataType zrt::computeTypeOf(const KernelSpec &spec) {
  const size_t operands = spec.operands.size();
  const auto typeAt = [&](size_t index) -> const TensorType & {
    return index < operands ? spec.operands[index]
                            : spec.results[index - operands];
  };
  // Statistics stay f32 beside what is narrower, and a scalar, such as the
  // gradient of a loss, says little.
  enum { kElements, kTensors, kAny };
  for (int wanted : {kElements, kTensors, kAny})
    for (size_t i = 0; i < operands + spec.results.size(); ++i) {
      const TensorType &type = typeAt(i);
      if (isFloat(type.type) && (wanted == kAny || !type.shape.empty()) &&
          (wanted != kElements || !isStatistic(spec, i)))
        return type.type;
    }
  return DataType::F32;
}
