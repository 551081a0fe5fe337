#include "selfcheck/Blame.h"

#include "io/Together.h"
#include "state/Pieces.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <numeric>
#include <sstream>

using namespace zrt;

namespace {

/// The ranks with the smallest key, and a text of one; nothing where none has a
/// key.
std::optional<Blamed> findFirst(int64_t key, const std::string &text,
                                Communicator &communicator) {
  const std::vector<int64_t> keys = gatherAll(communicator, key);
  const auto first = std::min_element(keys.begin(), keys.end());
  if (*first == std::numeric_limits<int64_t>::max())
    return std::nullopt;
  Blamed blamed;
  for (size_t rank = 0; rank < keys.size(); ++rank)
    if (keys[rank] == *first)
      blamed.ranks.push_back(int(rank));
  blamed.what = broadcastText(communicator, text, blamed.ranks.front());
  return blamed;
}

/// What a rank has received comes after what any rank has computed.
int64_t keyOf(const TracedOperation &operation, size_t place) {
  const int64_t received = int64_t(1) << 40;
  return int64_t(place) +
         (operation.command->opcode == Opcode::Wait ? received : 0);
}

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

} // namespace

Blamed zrt::findDifference(const OperationTrace &trace, const Attempt &first,
                           const Attempt &second, Communicator &communicator) {
  const size_t count =
      std::min(first.operations.size(), second.operations.size());
  size_t at = 0;
  while (at < count && first.operations[at].hash == second.operations[at].hash)
    ++at;
  int64_t key = kNone;
  std::string text;
  if (at < count) {
    const TracedOperation &operation = second.operations[at];
    key = keyOf(operation, at);
    text = operation.command->opcode == Opcode::Wait
               ? "received something else in "
               : "computed something else in ";
    text += trace.describe(operation);
  }
  if (const std::optional<Blamed> found = findFirst(key, text, communicator))
    return *found;
  // Without a trace, what a rank has to itself may tell.
  for (size_t rank = 0; rank < first.measures.size(); ++rank)
    if (first.measures[rank].loss != second.measures[rank].loss) {
      std::ostringstream losses;
      losses << std::setprecision(9) << "had losses that add up to "
             << first.measures[rank].loss << ", and then to "
             << second.measures[rank].loss;
      return {{int(rank)}, losses.str()};
    }
  std::vector<int> all(first.measures.size());
  std::iota(all.begin(), all.end(), 0);
  return {all, "had other gradients before"};
}

/// "sample 3 of micro-batch 0, 'corpus.bin', token 1,024": where the row of a
/// result is one of the samples.
static std::string describeSample(const TensorType &type,
                                  const NonFiniteValue &value,
                                  const UpdateSamples &samples) {
  std::string text = " in micro-batch " + std::to_string(value.micro);
  const uint64_t rows = samples.rows;
  if (type.shape.empty() || rows == 0 || uint64_t(type.shape[0]) % rows != 0)
    return text;
  const uint64_t row = value.element / (uint64_t(type.elements()) / rows);
  return text + ", of " + samples.placeOf(value.micro, row);
}

std::optional<Blamed> zrt::findNonFinite(const OperationTrace &trace,
                                         const Attempt &attempt,
                                         const UpdateSamples &samples,
                                         Communicator &communicator) {
  const TracedOperation *found = trace.findNonFinite(attempt.operations);
  int64_t key = kNone;
  std::string text;
  if (found) {
    const NonFiniteValue &value = *found->nonFinite;
    const TensorType type = trace.typeOf(*found, value.result);
    key = keyOf(*found, size_t(found - attempt.operations.data()));
    text = "the first is " + std::string(value.isNan ? "nan" : "inf") +
           ", element " + indexText(type.shape, value.element) + " of what " +
           (found->command->opcode == Opcode::Wait ? "it received from "
                                                   : "it computed in ") +
           trace.describe(*found);
    // What ranks exchange has no samples.
    if (found->command->opcode == Opcode::Kernel)
      text += describeSample(type, value, samples);
  }
  return findFirst(key, text, communicator);
}
