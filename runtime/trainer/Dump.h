// What one update did to some parameters, as a file.
#ifndef ZERO_RUNTIME_TRAINER_DUMP_H
#define ZERO_RUNTIME_TRAINER_DUMP_H

#include "engine/Backend.h"
#include "io/TogetherFile.h"
#include "trainer/Options.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace zrt {

/// Throws UsageError where --dump and its flags do not fit the program or the
/// run, and takes the '@' off names.
void checkDump(Options &options, const Program &program);

/// Writes --dump-file: of each parameter `w` of --dump its value after update
/// --dump-update, "w", what the optimizer keeps of it then, "w/exp_avg", and
/// the gradient that the update used, "w/gradient": averaged, without the loss
/// scale and before clipping. All whole and f32.
class Dump {
public:
  /// All borrowed. Throws std::runtime_error where the run goes on after
  /// `updates` updates and the one that is asked for is among them.
  Dump(const Program &program, const Options &options,
       Communicator &communicator, int64_t updates);

  bool isDue(int64_t update) const { return update == options.dumpUpdate; }
  /// Runs `update`, the one that is due, and keeps its gradients.
  void watch(Backend &backend, const std::function<void()> &update);
  /// Called by all ranks after that; where one fails, all throw.
  void write(Backend &backend);

private:
  /// This rank's share of a gradient: first element and values.
  using Shares = std::vector<std::pair<uint64_t, std::vector<float>>>;

  void writeShares(const TogetherFile &file, const Arenas &arenas) const;

  const Program &program;
  const Options &options;
  Communicator &communicator;
  std::vector<const Parameter *> parameters;
  std::vector<TensorEntry> entries;
  std::map<const Parameter *, Shares> gradients;
};

} // namespace zrt

#endif // ZERO_RUNTIME_TRAINER_DUMP_H
