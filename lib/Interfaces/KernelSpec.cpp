//===- KernelSpec.cpp - an operation in the terms of the kernels' table ---===//

#include "zero/Interfaces/KernelSpec.h"

#include "program/KernelSchema.h"

using namespace mlir;
using namespace mlir::zero;

std::optional<zrt::DataType> mlir::zero::toDataType(Type type) {
  if (type.isF32())
    return zrt::DataType::F32;
  if (type.isF16())
    return zrt::DataType::F16;
  if (type.isBF16())
    return zrt::DataType::BF16;
  if (type.isF64())
    return zrt::DataType::F64;
  if (type.isInteger(1))
    return zrt::DataType::I1;
  if (type.isInteger(8))
    return zrt::DataType::I8;
  if (type.isUnsignedInteger(16))
    return zrt::DataType::U16;
  if (type.isInteger(32))
    return zrt::DataType::I32;
  if (type.isInteger(64))
    return zrt::DataType::I64;
  return std::nullopt;
}

zrt::TensorType mlir::zero::toTensorType(RankedTensorType type) {
  zrt::TensorType result;
  result.type = *toDataType(type.getElementType());
  result.shape.assign(type.getShape().begin(), type.getShape().end());
  return result;
}

zrt::KernelSpec mlir::zero::toKernelSpec(Operation *op,
                                         const KernelDescription &kernel) {
  zrt::KernelSpec spec;
  spec.name = kernel.name;
  spec.symbol = kernel.symbol;
  for (auto &[key, values] : kernel.ints)
    spec.ints[key].assign(values.begin(), values.end());
  for (auto &[key, value] : kernel.floats)
    spec.floats[key] = value;
  auto add = [](TypeRange types, std::vector<zrt::TensorType> &tensors) {
    for (Type type : types)
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        if (toDataType(tensor.getElementType()))
          tensors.push_back(toTensorType(tensor));
  };
  add(op->getOperandTypes(), spec.operands);
  add(op->getResultTypes(), spec.results);
  zrt::fillFlags(spec);
  return spec;
}

LogicalResult mlir::zero::verifySignature(KernelOpInterface op) {
  zrt::KernelSpec spec = toKernelSpec(op, op.describeKernel());
  zrt::KernelShapes shapes(spec);
  std::string wrong = zrt::checkOperation(spec, shapes);
  return wrong.empty() ? success() : op->emitOpError(wrong);
}

bool mlir::zero::isStatistic(Operation *op, unsigned index) {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  return kernel &&
         zrt::isStatistic(toKernelSpec(op, kernel.describeKernel()), index);
}
