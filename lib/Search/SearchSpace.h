//===- SearchSpace.h - what a search may choose from ------------*- C++ -*-===//
#ifndef ZERO_LIB_SEARCH_SEARCHSPACE_H
#define ZERO_LIB_SEARCH_SEARCHSPACE_H

#include "zero/Config/Config.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <optional>
#include <vector>

namespace mlir::zero {

/// What of a model bounds the settings that are worth trying.
struct ModelFacts {
  /// Elements of trained parameters, and of each one, in increasing order.
  int64_t trained = 0;
  std::vector<int64_t> sizes;
  /// Layers whose activations can be recomputed: of the stage that has most of
  /// them, and of all stages.
  int64_t layers = 0, allLayers = 0;
  /// Bytes an element of the optimizer states: all, and the largest.
  int64_t optimizerBytes = 0, largestStateBytes = 0;
};

/// A setting and the values to choose from.
struct Dimension {
  std::vector<std::function<void(TrainConfig &)>> values;
  /// The value that is the base's.
  unsigned base = 0;
  /// The value that takes least memory, as far as one can say beforehand.
  unsigned lean = 0;
  /// Whether it trades time for memory inside the computation; all others do in
  /// communication, and take more the later the value.
  bool isRecomputation = false;
  unsigned size() const { return values.size(); }
  /// Whether a search begins with a value that takes much, not with the base's.
  bool beginsRich = false;
};

/// Where a search may put what is not on the device.
struct OffloadSpace {
  /// Bytes of a rank's optimizer states that host memory may take; 0: none of
  /// them.
  int64_t stateBytes = 0;
  /// Whether activations, and parameters of stage 3 beside all states, may be
  /// in host memory.
  bool usesHost = false;
  /// Files for optimizer states; none: they are in no file.
  std::optional<FilesConfig> files;
  /// Elements of a sub-group, where the search may not choose them.
  int64_t subGroupSize = OffloadConfig().subGroupSize;

  bool takesStates() const { return stateBytes > 0 || files; }
};

/// Why no states of a rank can be in `files`; empty where some can.
std::string describeNoFiles(const FilesConfig &files, const TrainConfig &base,
                            const ModelFacts &facts);

/// The open settings of the base's stage.
std::vector<Dimension> makeDimensions(const TrainConfig &base,
                                      const ModelFacts &facts,
                                      const OffloadSpace &offload);

} // namespace mlir::zero

#endif // ZERO_LIB_SEARCH_SEARCHSPACE_H
