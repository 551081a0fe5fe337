//===- UpstreamKernels.cpp - kernels of upstream tensor operations --------===//

#include "zero/Dialect/NN/NN.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::nn;
using zero::KernelDescription;
using zero::KernelOpInterface;

namespace {

KernelDescription describeMove(Operation *op) {
  KernelDescription kernel;
  kernel.name = op->getName().getStringRef().str();
  return kernel;
}

void addInts(KernelDescription &kernel, StringRef key,
             ArrayRef<int64_t> values) {
  kernel.ints.emplace_back(key.str(), SmallVector<int64_t>(values));
}

/// Writes the constant `value` as the float "value"; false if it is none.
bool addConstant(KernelDescription &kernel, Value value) {
  APFloat number(0.0);
  APInt integer;
  if (!value)
    return false;
  if (matchPattern(value, m_ConstantFloat(&number))) {
    bool losesInfo;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
    kernel.floats.emplace_back("value", number.convertToDouble());
    return true;
  }
  if (matchPattern(value, m_ConstantInt(&integer))) {
    // An i1 is 0 or 1, not -1; other integers have a sign.
    bool isBool = integer.getBitWidth() == 1;
    double number = isBool ? static_cast<double>(integer.getZExtValue())
                           : static_cast<double>(integer.getSExtValue());
    kernel.floats.emplace_back("value", number);
    return true;
  }
  return false;
}

/// "offsets", "sizes" and "strides" of a static slice; false if dynamic.
bool addSlice(KernelDescription &kernel, OffsetSizeAndStrideOpInterface op) {
  auto isDynamic = [](int64_t value) { return ShapedType::isDynamic(value); };
  if (llvm::any_of(op.getStaticOffsets(), isDynamic) ||
      llvm::any_of(op.getStaticSizes(), isDynamic) ||
      llvm::any_of(op.getStaticStrides(), isDynamic))
    return false;
  addInts(kernel, "offsets", op.getStaticOffsets());
  addInts(kernel, "sizes", op.getStaticSizes());
  addInts(kernel, "strides", op.getStaticStrides());
  return true;
}

struct ConcatModel
    : KernelOpInterface::ExternalModel<ConcatModel, tensor::ConcatOp> {
  KernelDescription describeKernel(Operation *op) const {
    KernelDescription kernel = describeMove(op);
    addInts(kernel, "dim",
            {static_cast<int64_t>(cast<tensor::ConcatOp>(op).getDim())});
    return kernel;
  }
};

struct ExtractSliceModel
    : KernelOpInterface::ExternalModel<ExtractSliceModel,
                                       tensor::ExtractSliceOp> {
  KernelDescription describeKernel(Operation *op) const {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    KernelDescription kernel = describeMove(op);
    if (!addSlice(kernel, slice))
      return KernelDescription();
    return kernel;
  }
};

struct InsertSliceModel
    : KernelOpInterface::ExternalModel<InsertSliceModel,
                                       tensor::InsertSliceOp> {
  KernelDescription describeKernel(Operation *op) const {
    KernelDescription kernel = describeMove(op);
    if (!addSlice(kernel, cast<tensor::InsertSliceOp>(op)))
      return KernelDescription();
    return kernel;
  }
};

struct PadModel : KernelOpInterface::ExternalModel<PadModel, tensor::PadOp> {
  KernelDescription describeKernel(Operation *op) const {
    auto pad = cast<tensor::PadOp>(op);
    KernelDescription kernel = describeMove(op);
    addInts(kernel, "low", pad.getStaticLow());
    addInts(kernel, "high", pad.getStaticHigh());
    // Dynamic amounts are further operands.
    if (pad->getNumOperands() != 1 ||
        !addConstant(kernel, pad.getConstantPaddingValue()))
      return KernelDescription();
    return kernel;
  }
};

struct SplatModel
    : KernelOpInterface::ExternalModel<SplatModel, tensor::SplatOp> {
  KernelDescription describeKernel(Operation *op) const {
    auto splat = cast<tensor::SplatOp>(op);
    KernelDescription kernel = describeMove(op);
    if (!addConstant(kernel, splat.getInput()))
      return KernelDescription();
    return kernel;
  }
};

} // namespace

void mlir::nn::registerUpstreamKernelModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::ConcatOp::attachInterface<ConcatModel>(*context);
    tensor::ExtractSliceOp::attachInterface<ExtractSliceModel>(*context);
    tensor::InsertSliceOp::attachInterface<InsertSliceModel>(*context);
    tensor::PadOp::attachInterface<PadModel>(*context);
    tensor::SplatOp::attachInterface<SplatModel>(*context);
  });
}
