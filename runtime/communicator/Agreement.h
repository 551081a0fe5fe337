// How the processes of a group find out that all of them started the same.
#ifndef ZERO_RUNTIME_COMMUNICATOR_AGREEMENT_H
#define ZERO_RUNTIME_COMMUNICATOR_AGREEMENT_H

#include "communicator/Operation.h"
#include "communicator/Wire.h"

#include <string>
#include <vector>

namespace zrt::processes {

/// Tells all ranks of a group what each has started, before data move.
///
/// Up to `kEachOther` ranks tell each other, so that each knows at once who is
/// late. More ranks need as many rounds as 2 must be doubled to have them all:
/// in round k a rank tells the one 2^k after it what it knows. Of 1,024 ranks
/// each sends 10 messages an operation, and not 1,023.
///
/// Operations of a group agree in the order of their starts: messages of one
/// round must not overtake each other.
class Agreement {
public:
  static constexpr int kEachOther = 32;

  explicit Agreement(Wire &wire);

  /// Tells what this rank has started. \pre isDone(), or the first.
  void begin(const OperationSignature &mine);
  /// Moves messages; beyond the first round where all operations before have
  /// agreed. Returns whether anything moved.
  bool progress(bool haveAgreedBefore);
  /// Whether it is known what all ranks have started.
  bool isKnown() const { return round == rounds.size(); }
  /// Whether nothing is on its way any more.
  bool isDone() const { return isKnown() && sends->active() == 0; }
  /// Describes how the first rank that did not start what rank 0 did differs
  /// from it; "" if all started the same. \pre isKnown()
  std::string describeDifference() const;
  /// Calls `visit` with each rank that is waited for now. \pre !isKnown()
  template <typename Visit> void visitAwaited(Visit visit) const {
    for (size_t i = 0; i < rounds[round].size(); ++i)
      if (!receives->isComplete(firstReceive + i))
        visit(peerBefore(rounds[round][i]));
  }
  /// The ranks that are waited for now, sorted.
  std::vector<int> awaited() const;
  /// Whether the ranks that are waited for have not started the operation. A
  /// rank that tells what others told it may itself wait for one that has not.
  /// \pre !isKnown()
  bool awaitsStarts() const { return round == 0; }
  /// Whether this rank is the one to tell people of those that it waits for:
  /// the first that is there, or the one that hears of them. \pre !isKnown()
  bool speaks() const;
  void cancel();

private:
  struct Started {
    int32_t rank = -1; ///< none
    OperationSignature what;
  };
  /// Facts about some ranks: the first one, and the first that started
  /// something else.
  struct Knowledge {
    Started first, other;
    void add(const Started &started);
  };

  void tell();
  int peerAfter(int distance) const { return (rank + distance) % ranks; }
  int peerBefore(int distance) const {
    return (rank + ranks - distance) % ranks;
  }

  const int rank, ranks;
  std::vector<std::vector<int>> rounds; ///< distances to whom is told
  std::vector<Knowledge> told;          ///< by round
  std::vector<Knowledge> heard;         ///< by receive
  Knowledge known;
  size_t round = 0;
  size_t firstReceive = 0; ///< of the round
  std::unique_ptr<Requests> sends, receives;
};

} // namespace zrt::processes

#endif // ZERO_RUNTIME_COMMUNICATOR_AGREEMENT_H
