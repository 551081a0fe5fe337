// An event file for TensorBoard: the scalars of a run over its updates.
#ifndef ZERO_RUNTIME_REPORT_TENSORBOARD_H
#define ZERO_RUNTIME_REPORT_TENSORBOARD_H

#include "engine/Trainer.h"

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace zrt {

class TensorBoard {
public:
  /// Makes the folder where it is missing, and a new file in it. Where the run
  /// goes on after `updates` updates of an earlier one, what that one has
  /// written of later updates is no longer shown. Throws std::runtime_error
  /// where that cannot be written.
  TensorBoard(const std::string &folder, uint64_t tokensPerUpdate,
              int64_t updates);

  /// loss, grad_norm, lr, loss_scale, skipped, tokens_per_s.
  void update(const UpdateReport &report);
  /// validation_loss, and validation_NAME of every further output.
  void evaluation(int64_t update, const EvaluationReport &report);

private:
  using Scalars = std::vector<std::pair<std::string, double>>;
  void write(const std::string &event);
  void writeScalars(int64_t step, const Scalars &scalars);

  std::string path;
  std::ofstream file;
  uint64_t tokensPerUpdate;
};

/// The checksum of the format's records: CRC-32C, rotated and shifted.
uint32_t maskedCrc32c(const void *data, size_t bytes);

} // namespace zrt

#endif // ZERO_RUNTIME_REPORT_TENSORBOARD_H
