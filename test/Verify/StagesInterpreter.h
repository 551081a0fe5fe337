//===- StagesInterpreter.h - what the programs of a pipeline do -----------===//
//
// Runs the programs of all stages at once, on bytes that are marks instead of
// numbers: what a kernel writes is marked by its spec and by the marks of what
// it reads. Stages go on in an order that a seed decides, and what is sent is
// read and written at any time at which both sides have started it. Memory that
// was never written, is being received or is another micro-batch's slot has
// marks of its own, so that whatever depends on it is different. It shares
// nothing with the proof that it judges: not even where a slot is.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_VERIFY_STAGESINTERPRETER_H
#define ZERO_TEST_VERIFY_STAGESINTERPRETER_H

#include "program/Program.h"

#include <deque>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace zrt::test {

/// Marks of bytes, one a byte.
using Marks = std::vector<uint64_t>;
uint64_t hashOf(const Marks &marks);
/// `bytes` marks that all depend on `seed`.
Marks makeMarks(uint64_t seed, uint64_t bytes);

/// What a run leaves.
struct StagesResult {
  std::string failure; ///< empty: it ran to its end
  /// Of each update, stage and parameter, in this order: the marks of its
  /// gradient and of itself; and what the evaluation gives.
  std::vector<std::pair<std::string, Marks>> states;
};

/// One micro-batch after the other through all stages, each in slots of its
/// own: what every order of passes has to do.
StagesResult runInTurn(const std::vector<Program> &stages);

/// In the order of each stage's table, interleaved as `seed` decides.
StagesResult runStages(const std::vector<Program> &stages, unsigned seed);

/// Where and what the results first differ; "" where they do not.
std::string compare(const StagesResult &found, const StagesResult &wanted);

/// When both sides have started to send, whether a byte moves as soon, as late
/// or as randomly as may be.
enum class Moving { Early, Late, Random };

class StagesInterpreter {
public:
  StagesInterpreter(const std::vector<Program> &stages, Moving moving,
                    unsigned seed);
  StagesResult run(int updates);
  /// The same with one pass at a time, in the order in which a micro-batch
  /// needs them.
  StagesResult runInTurn(int updates);

private:
  /// A range of a stage's memory.
  struct Place {
    int space = 0;
    uint64_t begin = 0, bytes = 0;
  };
  struct Transfer {
    Place place;
    uint64_t count = 0;
    DataType type = DataType::F32;
    bool isDone = false;
  };
  /// What two stages send on one lane: the first send is for the first receive.
  struct Channel {
    std::vector<Transfer> sends, receives;
    size_t moved = 0;
  };
  using ChannelKey = std::tuple<size_t, size_t, uint32_t>;
  /// What a stage has started and not waited for.
  struct Flight {
    const Command *command = nullptr;
    ChannelKey channel;
    size_t number = 0;
    bool isSend = false, isOfAll = false;
    /// What a collective among the ranks of a stage gives, beside what it
    /// leaves in place.
    std::vector<std::pair<Place, Marks>> received;
  };
  struct Pass {
    const Region *region = nullptr;
    uint32_t micro = 0, slot = 0;
    uint64_t batch = 0;
    bool fillsInputs = false, isApply = false, isEvaluation = false;
  };
  struct Stage {
    const Program *program = nullptr;
    std::vector<Marks> memory; ///< by space
    std::vector<Pass> passes;
    size_t pass = 0, command = 0;
    std::map<std::pair<uint32_t, uint32_t>, Flight> flights;
    /// What it gives to each collective of all stages.
    std::vector<std::pair<const Command *, Marks>> ofAll;
    bool isDone() const { return pass == passes.size(); }
  };

  // Memory.
  uint64_t fresh() { return random64(); }
  uint64_t random64();
  void fillMemory(Stage &stage);
  void fillParameters(Stage &stage);
  void fillInputs(Stage &stage, const Pass &pass);
  bool locate(const Stage &stage, const BufferRef &buffer, uint32_t micro,
              Place &place);
  Marks read(size_t stage, const Place &place) const;
  void write(size_t stage, const Place &place, const Marks &marks);
  void poison(size_t stage, const Place &place);

  // Commands.
  void listPasses(size_t stage, int updates);
  bool advance(size_t stage);
  bool execute(size_t stage, const Pass &pass, const Command &command);
  bool runKernel(size_t stage, const Pass &pass, const Command &command);
  void accumulate(size_t stage, const KernelSpec &spec, const Place &from,
                  const Place &sum, bool overwrites);
  bool start(size_t stage, const Pass &pass, const Command &command);
  bool startTransfer(size_t stage, const Pass &pass, const Command &command);
  bool startCollective(size_t stage, const Pass &pass, const Command &command);
  bool wait(size_t stage, const Pass &pass, const Command &command,
            bool &isOver);
  bool waitForAll(size_t stage, const Flight &flight, bool &isOver);
  bool fail(size_t stage, const std::string &why);
  void recordUpdate(size_t stage);
  void recordOutputs(size_t stage);

  // Transfers.
  bool canMove(const Channel &channel) const {
    return channel.moved < channel.sends.size() &&
           channel.moved < channel.receives.size();
  }
  bool move(const ChannelKey &key, Channel &channel);
  bool moveSome();
  StagesResult finish();

  std::vector<Stage> stages;
  std::map<ChannelKey, Channel> channels;
  Moving moving;
  std::mt19937_64 random;
  std::string failure;
  std::map<std::tuple<size_t, size_t, std::string>, Marks> recorded;
  std::vector<size_t> updatesDone;
};

} // namespace zrt::test

#endif // ZERO_TEST_VERIFY_STAGESINTERPRETER_H
