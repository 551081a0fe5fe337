// What the factories of the optimizer kernels ask of a KernelSpec.
#ifndef ZERO_RUNTIME_KERNELS_OPTIMIZER_SPECS_H
#define ZERO_RUNTIME_KERNELS_OPTIMIZER_SPECS_H

#include "kernels/Registry.h"
#include "kernels/optimizer/Loops.h"
#include "kernels/optimizer/Rules.h"

#include <stdexcept>
#include <string>
#include <vector>

namespace zrt {

/// Fewest elements worth a thread.
inline constexpr int64_t kElementsPerThread = int64_t(1) << 15;

/// The types of all buffers: operands, then results.
inline std::vector<TensorType> bufferTypes(const KernelSpec &spec) {
  std::vector<TensorType> types = spec.operands;
  types.insert(types.end(), spec.results.begin(), spec.results.end());
  return types;
}

/// The attribute `partition`, an index that the control block has room for.
inline int partitionOf(const KernelSpec &spec) {
  int64_t partition = spec.integer("partition", -1);
  if (partition < 0 || partition >= kMaxGroups)
    refuse(spec, "found partition " + std::to_string(partition) +
                     ", wanted 0 to " + std::to_string(kMaxGroups - 1));
  return static_cast<int>(partition);
}

/// The place of this rank in the group that the attribute `key` names, an index
/// of the program's mesh; of all ranks where there is none.
inline int64_t indexInGroup(const KernelSpec &spec, const char *key,
                            const KernelContext &context) {
  const auto group = static_cast<uint32_t>(spec.integer(key, kAllRanks));
  return group == kAllRanks
             ? context.rank
             : context.program->mesh.indexIn(group, context.rank);
}

/// Whether this rank is the attribute `owner`, an index in the group `group`;
/// every rank where there is none.
inline bool isOwner(const KernelSpec &spec, const KernelContext &context) {
  return !spec.has("owner") ||
         spec.integer("owner") == indexInGroup(spec, "group", context);
}

/// Refuses a zero.accumulate whose sum loses bits with each of several addends.
inline void checkSum(const KernelSpec &spec, const KernelContext &context) {
  const int micros = context.program->training.accumulation;
  const DataType to = spec.operands[1].type;
  if (to == DataType::F32 || (micros == 1 && !spec.has("add")))
    return;
  const std::string what =
      spec.has("add") ? "stages" : std::to_string(micros) + " micro-batches";
  refuse(spec, "found a sum of " + what + " in " + nameOf(to) + ", wanted f32");
}

/// Whether this rank's elements count in what all ranks add up: of those ranks
/// that hold the same elements, which are the group `copies`, one counts.
inline bool countsElements(const KernelSpec &spec,
                           const KernelContext &context) {
  return !spec.has("copies") || indexInGroup(spec, "copies", context) == 0;
}

/// The rule of a zero.grad_scale.
JudgeRule judgeRuleOf(const KernelSpec &spec);

/// The rule of a zero.update_scale in this training.
ScaleRule scaleRuleOf(const KernelSpec &spec, const Training &training);

/// The buffers of an update: gradient, f32 parameter or what of it is kept,
/// states, 16-bit parameter.
struct UpdateShape {
  DataType gradientType, computeType;
  int64_t elements;
  int states;
  int partition;   ///< whose learning rate
  bool isSplit;    ///< the master is the bf16 parameter and its lower bits
  bool hasCompute; ///< there is a 16-bit parameter

  UpdateBuffers bind(void *const *buffers) const;
};

/// The shape of an update with that many states, which fits its schema.
UpdateShape updateShapeOf(const KernelSpec &spec, int states);

/// The settings and the shape of an update by `Rule`, read from `spec`.
template <typename Rule> struct UpdateSpec {
  explicit UpdateSpec(const KernelSpec &spec)
      : hyper(Rule::read(spec)),
        shape(updateShapeOf(spec, Rule::states(hyper))) {}
  typename Rule::Hyper hyper;
  UpdateShape shape;
};

void registerCopyKernels(Registry &registry);
void registerLossKernels(Registry &registry);
void registerStatisticsKernels(Registry &registry);
void registerUpdateKernels(Registry &registry);
void registerScalerKernel(Registry &registry);

} // namespace zrt

#endif // ZERO_RUNTIME_KERNELS_OPTIMIZER_SPECS_H
