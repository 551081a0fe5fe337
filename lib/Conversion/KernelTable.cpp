//===- KernelTable.cpp - equal kernels are one ----------------------------===//

#include "KernelTable.h"

#include "llvm/ADT/Hashing.h"

using namespace mlir::zero;

static llvm::hash_code hashOf(const zrt::KernelSpec &spec) {
  llvm::hash_code hash = llvm::hash_combine(spec.name, spec.symbol);
  for (const auto *types : {&spec.operands, &spec.results})
    for (const zrt::TensorType &type : *types)
      hash = llvm::hash_combine(
          hash, static_cast<int>(type.type),
          llvm::hash_combine_range(type.shape.begin(), type.shape.end()));
  for (const auto &[key, values] : spec.ints)
    hash = llvm::hash_combine(
        hash, key, llvm::hash_combine_range(values.begin(), values.end()));
  return hash;
}

uint32_t KernelTable::number(zrt::Program &program, zrt::KernelSpec spec) {
  size_t hash = hashOf(spec);
  auto [first, last] = byHash.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (program.kernels[it->second] == spec)
      return it->second;
  uint32_t number = program.kernels.size();
  program.kernels.push_back(std::move(spec));
  byHash.insert({hash, number});
  return number;
}
