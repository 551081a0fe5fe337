// The kernels of updates: a row for each rule of UpdateRules.h, made from it.
#include "program/KernelPattern.h"

#include "program/KernelKey.h"
#include "program/UpdateRules.h"

using namespace zrt;

namespace {

using Shapes = const KernelShapes &;

/// Stands for a kernel's attributes while a rule reads them: keeps the keys.
/// None may be absent: what an optimizer's settings are, the compiler decides.
class KeyReader {
public:
  double real(const std::string &key) const {
    attributes += " " + key + ":real";
    return 0;
  }
  int64_t integer(const std::string &key) const {
    attributes += " " + key + ":int";
    return 0;
  }

  mutable std::string attributes = "partition:int operations:int? times:ints?";
};

bool isHalf(DataType type) {
  return type == DataType::BF16 || type == DataType::F16;
}

/// Gradient, f32 parameter or the lower 16 bits of it, `states`, and the 16-bit
/// parameter where there is one.
std::string checkBuffers(const std::vector<TensorType> &buffers,
                         size_t states) {
  const size_t least = 2 + states;
  if (buffers.size() != least && buffers.size() != least + 1)
    return "found " + std::to_string(buffers.size()) + " buffers, wanted " +
           std::to_string(least) + " or " + std::to_string(least + 1) +
           ": gradient, f32 parameter (or the lower 16 bits of it), " +
           std::to_string(states) +
           " states, and the 16-bit parameter where there is one";
  const bool isSplit = buffers[1].type == DataType::U16;
  if (!isSplit && buffers[1].type != DataType::F32)
    return "the parameter is " + describe(buffers[1]) +
           ", wanted f32, or ui16: the lower 16 bits of it";
  for (size_t i = 2; i < least; ++i)
    if (buffers[i].type != DataType::F32)
      return "a state is " + describe(buffers[i]) + ", wanted f32";
  if (isSplit &&
      (buffers.size() == least || buffers.back().type != DataType::BF16))
    return "found the lower 16 bits of a master, wanted its bf16 parameter as "
           "the last buffer";
  if (buffers.size() > least && !isHalf(buffers.back().type))
    return "the 16-bit parameter is " + describe(buffers.back()) +
           ", wanted bf16 or f16";
  return {};
}

template <typename Rule> std::string checkUpdate(Shapes s) {
  return checkBuffers(s.spec->operands, Rule::states(Rule::read(*s.spec)));
}

/// The optimizer says how many operations an element takes.
uint64_t updateFlops(Shapes s) {
  return s.spec->integer(kOperationsKey) * s.size("n");
}

/// It says of each operand whether it is read, written or both.
uint64_t updateBytes(Shapes s) {
  auto times = s.spec->ints.find(kTimesKey);
  uint64_t bytes = 0;
  for (size_t i = 0; i < s.spec->operands.size(); ++i)
    bytes += s.spec->operands[i].bytes() *
             (times != s.spec->ints.end() && i < times->second.size()
                  ? times->second[i]
                  : 1);
  return bytes;
}

template <typename Rule> KernelSchema updateSchema() {
  static const std::string attributes = [] {
    KeyReader reader;
    Rule::read(reader);
    return reader.attributes;
  }();
  return {Rule::kName,        "gradient:T[n] parameter:any[n] other*:any[n] ->",
          attributes.c_str(), updateFlops,
          updateBytes,        checkUpdate<Rule>};
}

} // namespace

const std::vector<KernelSchema> &zrt::updateKernelSchemas() {
  static const std::vector<KernelSchema> schemas = {
#define ROW(Rule) updateSchema<rules::Rule>(),
      ZRT_FOR_EACH_UPDATE_RULE(ROW)
#undef ROW
  };
  return schemas;
}
