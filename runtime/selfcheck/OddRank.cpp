#include "io/Together.h"
#include "selfcheck/Blame.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace zrt;

namespace {

/// Whether two computations of one thing mean the same, rounded differently or
/// with other elements dropped.
bool isAlike(double a, double b) {
  if (!std::isfinite(a) || !std::isfinite(b))
    return std::isfinite(a) == std::isfinite(b);
  const double small = std::min(a, b), large = std::max(a, b);
  return large <= 16 * small || large < 1e-30;
}

/// What two ranks have computed of the same samples.
class Pairs {
public:
  Pairs(const Program &program, const Attempt &own, const Attempt &other,
        Communicator &communicator)
      : program(program), ranks(size_t(communicator.ranks())) {
    count = size_t(agreeOnMost(communicator, int64_t(own.operations.size())));
    mine = gather(own, communicator);
    others = gather(other, communicator);
  }

  /// The first operation that two ranks have computed differently, and the one
  /// of them that is odd.
  struct Found {
    size_t operation, rank;
  };
  std::optional<Found> find() const {
    for (size_t operation = 0; operation < count; ++operation) {
      std::vector<size_t> votes(ranks, 0);
      std::vector<double> largest(ranks, 0);
      for (size_t rank = 0; rank < ranks; ++rank)
        vote(operation, rank, votes, largest);
      const auto most = std::max_element(votes.begin(), votes.end());
      if (*most == 0)
        continue;
      // Of as many votes, who has computed the most.
      size_t odd = size_t(most - votes.begin());
      for (size_t rank = 0; rank < ranks; ++rank)
        if (votes[rank] == *most && largest[rank] > largest[odd])
          odd = rank;
      return Found{operation, odd};
    }
    return std::nullopt;
  }

private:
  /// Sums of squares of each operation; -1 where a rank has none, or it is not
  /// what the rank alone has computed.
  std::vector<double> gather(const Attempt &attempt,
                             Communicator &communicator) const {
    std::vector<double> sent(count, -1);
    for (size_t i = 0; i < std::min(count, attempt.operations.size()); ++i)
      if (attempt.operations[i].command->opcode == Opcode::Kernel)
        sent[i] = attempt.operations[i].squares;
    return gatherAll(communicator, std::move(sent), count);
  }

  /// Who has had the samples of `rank` in the other attempt.
  size_t partnerOf(size_t rank) const {
    const Mesh &mesh = program.mesh;
    const int64_t places = program.sampleRanks();
    const int64_t place =
        (program.sampleIndex(int64_t(rank)) + places - 1) % places;
    for (size_t other = 0; other < ranks; ++other)
      if (program.sampleIndex(int64_t(other)) == place &&
          mesh.numberOf(mesh.samples, int64_t(other)) ==
              mesh.numberOf(mesh.samples, int64_t(rank)))
        return other;
    return rank;
  }

  void vote(size_t operation, size_t rank, std::vector<size_t> &votes,
            std::vector<double> &largest) const {
    const size_t partner = partnerOf(rank);
    const double a = mine[rank * count + operation],
                 b = others[partner * count + operation];
    if (isAlike(a, b))
      return;
    const auto add = [&](size_t of, double value) {
      ++votes[of];
      largest[of] =
          std::max(largest[of], std::isfinite(value)
                                    ? value
                                    : std::numeric_limits<double>::infinity());
    };
    add(rank, a);
    add(partner, b);
  }

  const Program &program;
  const size_t ranks;
  size_t count = 0;
  std::vector<double> mine, others; ///< by rank and operation
};

/// Whether ranks with other samples have other parameters as well, so that each
/// computes what no other does.
bool haveOwnParameters(const Program &program) {
  for (const Parameter &parameter : program.parameters)
    for (const ParameterCut &cut : parameter.cuts)
      if (program.mesh.meet(cut.group, program.mesh.samples))
        return true;
  return false;
}

} // namespace

std::optional<Blamed> zrt::findOddRank(const Program &program,
                                       const OperationTrace &trace,
                                       const Attempt &own, const Attempt &other,
                                       Communicator &communicator) {
  if (haveOwnParameters(program))
    return std::nullopt;
  const auto found = Pairs(program, own, other, communicator).find();
  if (!found)
    return std::nullopt;
  std::string text;
  if (size_t(communicator.rank()) == found->rank)
    text = trace.describe(own.operations[found->operation]);
  return Blamed{{int(found->rank)},
                broadcastText(communicator, text, int(found->rank))};
}
