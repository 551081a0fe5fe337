//===- KernelSpecs.cpp - operations as the runtime's kernels --------------===//

#include "zero/Kernels/KernelSpecs.h"
#include "zero/Interfaces/Interfaces.h"

#include "mlir/IR/SymbolTable.h"

#include "program/KernelKey.h"
#include "program/KernelSchema.h"

using namespace mlir;
using namespace mlir::zero;

//===----------------------------------------------------------------------===//
// Kernels on tensors
//===----------------------------------------------------------------------===//

/// Elements of the first tensor that `op` makes, or 1.
static int64_t resultElements(Operation *op) {
  for (Type type : op->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      if (tensor.hasStaticShape())
        return tensor.getNumElements();
  return 1;
}

int64_t mlir::zero::countElementOperations(Operation *op) {
  int64_t count = 0;
  op->walk([&](Operation *nested) {
    if (nested->getNumRegions() > 0 || nested->getNumResults() == 0 ||
        nested->hasTrait<OpTrait::ConstantLike>() ||
        nested->getNumOperands() == 0)
      return;
    // Scalars inside an operation on tensors stand for its elements.
    Operation *loop = nested;
    if (nested != op && !isa<ShapedType>(nested->getResult(0).getType()))
      loop = nested->getParentOp();
    count += resultElements(loop);
  });
  return count;
}

static KernelDescription describeLaunch(LaunchOp launch,
                                        SymbolTableCollection &symbols) {
  KernelDescription kernel;
  kernel.name = "launch";
  kernel.symbol = launch.getKernel().str();
  if (Operation *function =
          symbols.lookupNearestSymbolFrom(launch, launch.getKernelAttr()))
    kernel.flops = countElementOperations(function);
  return kernel;
}

/// `type` with that layout, dense where it is.
static zrt::TensorType withLayout(zrt::TensorType type,
                                  const TensorLayout &layout) {
  if (!isDense(layout, type.shape))
    type.strides.assign(layout.strides.begin(), layout.strides.end());
  return type;
}

/// The kernel in the body, with the strides of its parts.
static std::optional<zrt::KernelSpec>
describeStrided(StridedOp strided, SymbolTableCollection *symbols) {
  std::optional<zrt::KernelSpec> spec =
      describeKernel(strided.getKernel(), symbols);
  if (!spec)
    return spec;
  StridedParts parts = strided.getParts();
  for (auto [type, part] : llvm::zip(spec->operands, parts.operands))
    type = withLayout(std::move(type), part.layout);
  for (auto [type, part] : llvm::zip(spec->results, parts.results))
    type = withLayout(std::move(type), part.layout);
  return spec;
}

static std::optional<KernelDescription>
describe(Operation *op, SymbolTableCollection *symbols) {
  SymbolTableCollection own;
  if (auto kernel = dyn_cast<KernelOpInterface>(op))
    return kernel.describeKernel();
  if (auto launch = dyn_cast<LaunchOp>(op))
    return describeLaunch(launch, symbols ? *symbols : own);
  if (!isa<LossSeedOp>(op))
    return std::nullopt;
  KernelDescription kernel;
  kernel.name = "zero.loss_seed";
  return kernel;
}

std::optional<zrt::KernelSpec>
mlir::zero::describeKernel(Operation *op, SymbolTableCollection *symbols) {
  if (auto strided = dyn_cast<StridedOp>(op))
    return describeStrided(strided, symbols);
  std::optional<KernelDescription> kernel = describe(op, symbols);
  if (!kernel)
    return std::nullopt;
  zrt::KernelSpec spec = toKernelSpec(op, *kernel);
  zrt::countWork(spec);
  if (kernel->flops)
    spec.flops = *kernel->flops;
  if (kernel->bytes)
    spec.bytes = *kernel->bytes;
  return spec;
}

//===----------------------------------------------------------------------===//
// Kernels on flat ranges
//===----------------------------------------------------------------------===//

zrt::KernelSpec mlir::zero::describeFlatKernel(StringRef name,
                                               ArrayRef<FlatRange> ranges,
                                               zrt::KernelSpec spec) {
  spec.name = name.str();
  for (const FlatRange &range : ranges) {
    zrt::TensorType tensor;
    tensor.type = *toDataType(range.type);
    tensor.shape = {range.elements};
    spec.operands.push_back(tensor);
  }
  zrt::countWork(spec);
  return spec;
}

std::pair<StringRef, zrt::KernelSpec>
mlir::zero::describeUpdate(PartitionOp partition) {
  OptimizerAttrInterface optimizer = partition.getOptimizerInterface();
  zrt::KernelSpec spec;
  spec.ints["partition"] = {0}; // the translation says which
  for (const OptimizerSetting &setting : optimizer.getSettings())
    if (setting.isFlag)
      spec.ints[setting.name.str()] = {static_cast<int64_t>(setting.value)};
    else
      spec.floats[setting.name.str()] = setting.value;
  spec.ints[zrt::kOperationsKey] = {optimizer.getOperations()};
  for (const UpdateOperand &operand : partition.getUpdateOperands())
    spec.ints[zrt::kTimesKey].push_back(operand.isRead + operand.isWritten);
  return {optimizer.getKernel(), spec};
}
