//===- PlanningDefaults.h - what plans a schedule unless told ---*- C++ -*-===//
#ifndef ZERO_CONFIG_PLANNINGDEFAULTS_H
#define ZERO_CONFIG_PLANNINGDEFAULTS_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <limits>

namespace mlir::zero {

/// What holds where neither a configuration file nor an option says otherwise:
/// small buckets and nothing kept whole, which is what a reader of a schedule
/// wants to see. A file that leaves a key out means DeepSpeed's default, which
/// stands in the table of keys (lib/Config/ConfigTable.cpp) and nowhere else.
/// Numbers are elements unless they say what they count.
struct PlanningDefaults {
  static constexpr int64_t reduceBucketSize = 4 << 20;
  static constexpr int64_t allgatherBucketSize = 4 << 20;
  static constexpr int64_t alignment = 128;
  /// On devices.
  static constexpr int64_t vocabularyMultiple = 64;
  static constexpr int64_t maxReuseDistance = 0;
  static constexpr int64_t parameterPersistenceThreshold = 0;
  static constexpr int64_t modelPersistenceThreshold =
      std::numeric_limits<int64_t>::max();
  static constexpr int64_t prefetchBucketSize = 50000000;
  static constexpr int64_t maxLiveParameters = 1000000000;
  /// Gathers; 0: as many as the cost model says.
  static constexpr int64_t gathersInFlight = 0;
  static constexpr llvm::StringLiteral machine = "h100";
};

} // namespace mlir::zero

#endif // ZERO_CONFIG_PLANNINGDEFAULTS_H
