// Data that only moves, and reductions over dimensions, on a device.
#include "kernels/cuda/Kernels.h"
#include "kernels/shapes/Movement.h"
#include "kernels/shapes/TensorShapes.h"

#include <cstring>
#include <optional>

namespace zrt::cuda {

namespace {

/// Neighbours that both sides walk through evenly become one dimension.
StridedMove moveOf(const KernelSpec &spec, const Movement::Part &part) {
  StridedMove move;
  for (size_t i = 0; i < part.sizes.size(); ++i) {
    const int64_t size = part.sizes[i], from = part.fromStrides[i],
                  to = part.toStrides[i];
    move.elements *= size;
    if (size == 1)
      continue;
    const int last = move.dims - 1;
    if (last >= 0 && move.from[last] == from * size &&
        move.to[last] == to * size) {
      move.size[last] *= size;
      move.from[last] = from;
      move.to[last] = to;
      continue;
    }
    if (move.dims == kMostDims)
      refuse(spec, "has more than " + std::to_string(kMostDims) +
                       " dimensions that cannot be merged");
    move.size[move.dims] = size;
    move.from[move.dims] = from;
    move.to[move.dims++] = to;
  }
  return move;
}

class MovementKernel final : public Kernel {
public:
  MovementKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), plan(movementOf(spec)),
        result(spec.operands.size()), type(spec.results.at(0)) {
    for (const Movement::Part &part : plan.parts)
      moves.push_back(moveOf(spec, part));
    std::memcpy(&bits, plan.fill.data(), plan.fill.size());
  }

  void run(void *const *buffers, void *) override {
    if (plan.copiesWhole && buffers[1] != buffers[2])
      check(cudaMemcpyAsync(buffers[2], buffers[1], type.bytes(),
                            cudaMemcpyDeviceToDevice, stream),
            "cudaMemcpyAsync");
    if (!plan.fill.empty())
      fill(bits, plan.fill.size(), buffers[result], type.elements(), stream);
    for (size_t i = 0; i < moves.size(); ++i) {
      const Movement::Part &part = plan.parts[i];
      move(moves[i], part.elementBytes,
           static_cast<char *>(buffers[part.from]) + part.fromOffset,
           static_cast<char *>(buffers[part.to]) + part.toOffset, stream);
    }
  }

private:
  cudaStream_t stream;
  Movement plan;
  size_t result;
  TensorType type;
  std::vector<StridedMove> moves;
  uint64_t bits = 0;
};

class ReduceKernel final : public Kernel {
public:
  ReduceKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream) {
    const TensorType &x = spec.operands[0];
    shape.type = x.type;
    const auto kind = spec.kind<ReduceKind>();
    group(spec, x);
    shape.maximum = kind == ReduceKind::Max;
    shape.factor = kind == ReduceKind::Mean ? 1.0f / float(shape.terms) : 1.0f;
  }

  size_t workspaceBytes() const override { return reduceWorkspace(shape); }

  void run(void *const *buffers, void *workspace) override {
    reduce(shape, buffers[0], buffers[1], workspace, stream);
  }

private:
  /// Sorts dimensions into kept and reduced, neighbours merged.
  void group(const KernelSpec &spec, const TensorType &x) {
    const size_t rank = x.shape.size();
    std::vector<bool> reduced(rank, false);
    for (int64_t dim : spec.ints.at("dims"))
      reduced[dim] = true;
    const std::vector<int64_t> strides = stridesOf(x.shape);
    std::optional<bool> inner; // the neighbour's; dimensions of 1 are none
    for (size_t i = 0; i < rank; ++i) {
      if (x.shape[i] == 1)
        continue;
      const bool merges = inner == reduced[i];
      inner = reduced[i];
      if (reduced[i])
        add(spec, shape.reducedDims, shape.reducedSize, shape.reducedStride,
            merges, x.shape[i], strides[i]);
      else
        add(spec, shape.keptDims, shape.keptSize, shape.keptStride, merges,
            x.shape[i], strides[i]);
      (reduced[i] ? shape.terms : shape.results) *= x.shape[i];
    }
    shape.innerKept = !inner.value_or(false);
  }

  static void add(const KernelSpec &spec, int &dims, int64_t *sizes,
                  int64_t *strides, bool merges, int64_t size, int64_t stride) {
    if (!merges && dims == kMostDims)
      refuse(spec, "has more than " + std::to_string(kMostDims) +
                       " dimensions that cannot be merged");
    if (merges)
      size *= sizes[--dims];
    sizes[dims] = size;
    strides[dims++] = stride;
  }

  cudaStream_t stream;
  ReduceShape shape;
};

} // namespace

void registerMovementKernels(Registry &registry) {
  for (const std::string &name : movementNames())
    registry.add(name, makeKernel<MovementKernel>);
  registry.add("nn.reduce", makeKernel<ReduceKernel>);
}

} // namespace zrt::cuda
