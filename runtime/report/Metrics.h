// One JSON object an update, one a line.
#ifndef ZERO_RUNTIME_REPORT_METRICS_H
#define ZERO_RUNTIME_REPORT_METRICS_H

#include "engine/Trainer.h"
#include "io/FileHandle.h"

#include <fstream>

namespace zrt {

class Metrics {
public:
  /// Begins a new file; where the run goes on after `updates` updates of an
  /// earlier one, keeps the lines of these. Throws std::runtime_error where
  /// `path` cannot be written, or another run writes there.
  Metrics(const std::string &path, const Program &program,
          uint64_t tokensPerUpdate, int64_t updates = 0);

  /// Keys: step, loss, grad_norm, lr, loss_scale, skipped, tokens_per_s,
  /// step_s, memory (bytes of a rank by arena), traffic (sent by the first
  /// rank, elements and bytes by class; of an all-reduce that the ranks do not
  /// divide, the mean over ranks). A value that is not finite is null.
  void update(const UpdateReport &report);
  /// Keys: step, validation_loss, and validation_NAME of every further output.
  void evaluation(int64_t update, const EvaluationReport &report);

private:
  void writeLine(const std::string &line);

  std::string path;
  FileHandle lock; ///< of a file; nothing else has one
  std::ofstream file;
  const Program &program;
  uint64_t tokensPerUpdate;
};

} // namespace zrt

#endif // ZERO_RUNTIME_REPORT_METRICS_H
