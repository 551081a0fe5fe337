// What the ranks of a group must agree on, whatever the backend.
#ifndef ZERO_RUNTIME_COMMUNICATOR_OPERATION_H
#define ZERO_RUNTIME_COMMUNICATOR_OPERATION_H

#include "communicator/Communicator.h"

namespace zrt {

/// Everything that ranks do together: the collectives, then what concerns the
/// group itself.
class Meeting {
public:
  constexpr Meeting(Collective kind) : what(What::Collective), kind(kind) {}
  static constexpr Meeting barrier() { return Meeting(What::Barrier); }
  static constexpr Meeting split() { return Meeting(What::Split); }

  constexpr bool isCollective() const { return what == What::Collective; }
  /// The kind of a collective.
  constexpr Collective collective() const { return kind; }
  constexpr bool operator==(const Meeting &other) const {
    return what == other.what && kind == other.kind;
  }
  constexpr bool operator!=(const Meeting &other) const {
    return !(*this == other);
  }
  const char *name() const;

private:
  enum class What : uint8_t { Collective, Barrier, Split };
  constexpr explicit Meeting(What what)
      : what(what), kind(Collective::AllReduce) {}

  What what;
  Collective kind;
};

/// A rank's operation without its addresses: fixed size, so that it can be
/// sent. Ranks do the same operation when all their signatures are equal.
struct OperationSignature {
  uint64_t index = 0; ///< how many operations the group started before
  uint64_t hash = 0;  ///< of every part's count, type and root
  uint64_t parts = 0;
  uint64_t elements = 0; ///< the sum of all counts
  uint64_t firstCount = 0;
  Meeting meeting = Meeting::barrier();
  Reduction reduction = Reduction::Sum; ///< Sum where nothing is reduced
  DataType firstType = DataType::F32;
  int32_t firstRoot = 0;

  bool operator==(const OperationSignature &other) const;
  bool operator!=(const OperationSignature &other) const {
    return !(*this == other);
  }
};

OperationSignature signatureOf(uint64_t index, Meeting meeting,
                               Reduction reduction,
                               const std::vector<Transfer> &parts);

/// For people: "all-reduce prescaled sum of 3 parts, 1024 elements (first: 512
/// x f16)".
std::string describe(const OperationSignature &signature);

/// "0.5 s"
std::string formatSeconds(double seconds);

/// The sentence for two ranks that started different operations.
std::string describeMismatch(const OperationSignature &left, int leftRank,
                             const OperationSignature &right, int rightRank);

/// Why this rank can not start the operation, or an empty string.
std::string findInvalid(Meeting meeting, Reduction reduction,
                        const std::vector<Transfer> &parts, int rank,
                        int ranks);

} // namespace zrt

#endif // ZERO_RUNTIME_COMMUNICATOR_OPERATION_H
