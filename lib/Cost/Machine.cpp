//===- Machine.cpp - what a plan is to run on -----------------------------===//

#include "zero/Cost/Machine.h"

#include "program/KernelKey.h"
#include "program/KernelSchema.h"
#include "zero/Config/InputFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::zero;

double Machine::coresOfRank(int64_t localRanks) const {
  // What the runtime does: whole threads, at least one, and time slices where
  // they are more than the cores.
  int64_t threads = std::max<int64_t>(1, cores / localRanks);
  return std::min<double>(threads, static_cast<double>(cores) / localRanks);
}

double Machine::peakOf(zrt::DataType type, int64_t localRanks) const {
  return flops[static_cast<int>(type)] *
         (cores > 0 ? coresOfRank(localRanks) : 1.0);
}

RooflineSides Machine::sidesOf(double operations, double bytes,
                               zrt::DataType type, int64_t localRanks) const {
  double rate = peakOf(type, localRanks) * flopsEfficiency;
  double fastest = bandwidth;
  if (cores > 0)
    fastest = std::min(bandwidth / localRanks,
                       coreBandwidth * coresOfRank(localRanks));
  return {operations / rate, bytes / (fastest * bandwidthEfficiency)};
}

/// Operations of `spec`, and those that its padded dimensions make of them.
static double countPadded(double flops, const zrt::KernelArithmetic &product,
                          double padding) {
  double work = 1;
  for (int64_t size : {product.rows, product.columns, product.depth})
    if (size > 0)
      work *= 1 + padding / static_cast<double>(size);
  return flops * work;
}

RooflineSides Machine::sidesOf(const zrt::KernelSpec &spec,
                               int64_t localRanks) const {
  const zrt::KernelArithmetic arithmetic = zrt::arithmeticOf(spec);
  auto flops = static_cast<double>(spec.flops);
  double efficiency = 0;
  if (arithmetic.kind == zrt::KernelArithmetic::Product) {
    flops = countPadded(flops, arithmetic, productPadding);
    efficiency = productEfficiency;
  } else if (arithmetic.kind == zrt::KernelArithmetic::Attention) {
    efficiency = attentionEfficiency;
  }
  if (efficiency > 0)
    flops *= flopsEfficiency / efficiency;
  return sidesOf(flops, static_cast<double>(spec.bytes),
                 zrt::computeTypeOf(spec), localRanks);
}

FailureOr<Machine> mlir::zero::readMachine(StringRef nameOrPath,
                                           std::string &error) {
  if (std::optional<Machine> machine = detail::findBuiltInMachine(nameOrPath))
    return std::move(*machine);
  if (std::string why = findWhyNotFile(nameOrPath); !why.empty()) {
    error = ("cannot read the machine '" + nameOrPath + "': " + why).str();
    return failure();
  }
  auto file = llvm::MemoryBuffer::getFile(nameOrPath);
  if (!file) {
    error = ("cannot read the machine '" + nameOrPath +
             "': " + file.getError().message() + "; wanted a file or one of " +
             llvm::join(builtInMachineNames(), ", "))
                .str();
    return failure();
  }
  FailureOr<Machine> machine =
      detail::parseMachine((*file)->getBuffer(), error);
  if (failed(machine))
    error = ("'" + nameOrPath + "': " + error).str();
  return machine;
}

Machine mlir::zero::mergeMachines(ArrayRef<Machine> machines) {
  Machine merged = machines.back();
  for (const Machine &machine : machines.drop_back()) {
    for (auto [most, rate] : llvm::zip_equal(merged.flops, machine.flops))
      most = std::max(most, rate);
    merged.bandwidth = std::max(merged.bandwidth, machine.bandwidth);
    merged.coreBandwidth =
        std::max(merged.coreBandwidth, machine.coreBandwidth);
    merged.kernelOverhead =
        std::min(merged.kernelOverhead, machine.kernelOverhead);
    llvm::append_range(merged.kernels, machine.kernels);
    llvm::append_range(merged.collectives, machine.collectives);
  }
  return merged;
}
