#include "communicator/Operation.h"

#include "communicator/Reduce.h"

#include <cstdio>

namespace zrt {

Communicator::~Communicator() = default;

void Communicator::admit(Collective, Reduction,
                         const std::vector<Transfer> &) const {}

void Communicator::checkPeers() {}

void Communicator::noteLost() {}

void Communicator::forget(Ticket) {
  throw std::logic_error("this communicator queues nothing that could be "
                         "forgotten");
}

std::unique_ptr<Communicator> Communicator::makeGroup(const Mesh &mesh,
                                                      uint32_t group) {
  return split(static_cast<int>(mesh.numberOf(group, rank())),
               static_cast<int>(mesh.indexIn(group, rank())));
}

Communicator::Ticket Communicator::startOn(Stream, Collective kind,
                                           Reduction reduction,
                                           const std::vector<Transfer> &parts) {
  return start(kind, reduction, parts);
}

const char *Meeting::name() const {
  switch (what) {
  case What::Collective:
    return nameOf(kind);
  case What::Barrier:
    return "barrier";
  case What::Split:
    return "split";
  }
  return "unknown operation";
}

bool OperationSignature::operator==(const OperationSignature &other) const {
  return index == other.index && hash == other.hash && parts == other.parts &&
         elements == other.elements && firstCount == other.firstCount &&
         meeting == other.meeting && reduction == other.reduction &&
         firstType == other.firstType && firstRoot == other.firstRoot;
}

/// One step of FNV-1a, a word at a time.
static void mix(uint64_t &hash, uint64_t value) {
  hash = (hash ^ value) * 0x100000001b3ull;
  hash ^= hash >> 29;
}

OperationSignature signatureOf(uint64_t index, Meeting meeting,
                               Reduction reduction,
                               const std::vector<Transfer> &parts) {
  OperationSignature signature;
  signature.index = index;
  signature.meeting = meeting;
  const bool isCollective = meeting.isCollective();
  if (isCollective && isReducing(meeting.collective()))
    signature.reduction = reduction;
  signature.parts = parts.size();
  signature.hash = 0xcbf29ce484222325ull;
  const bool rooted = isCollective && isRooted(meeting.collective());
  for (const Transfer &part : parts) {
    signature.elements += part.count;
    mix(signature.hash, part.count);
    mix(signature.hash, static_cast<uint64_t>(part.type));
    mix(signature.hash, rooted ? part.root : 0);
  }
  if (!parts.empty()) {
    signature.firstCount = parts[0].count;
    signature.firstType = parts[0].type;
    signature.firstRoot = rooted ? parts[0].root : 0;
  }
  return signature;
}

std::string describe(const OperationSignature &signature) {
  std::string text = signature.meeting.name();
  if (!signature.meeting.isCollective())
    return text;
  const Collective kind = signature.meeting.collective();
  if (isReducing(kind))
    text += std::string(" ") + nameOf(signature.reduction);
  text += " of " + std::to_string(signature.parts) +
          (signature.parts == 1 ? " part" : " parts");
  if (signature.parts == 0)
    return text;
  text += ", " + std::to_string(signature.elements) +
          " elements (first part: " + std::to_string(signature.firstCount) +
          " x " + nameOf(signature.firstType);
  if (isRooted(kind))
    text += ", root " + std::to_string(signature.firstRoot);
  return text + ")";
}

std::string formatSeconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g s", seconds);
  return text;
}

std::string describeMismatch(const OperationSignature &left, int leftRank,
                             const OperationSignature &right, int rightRank) {
  std::string text = "operation " + std::to_string(left.index) + ": rank " +
                     std::to_string(leftRank) + " started " + describe(left) +
                     ", but rank " + std::to_string(rightRank) + " started ";
  std::string other = describe(right);
  text += other != describe(left) ? other : "one that differs in a later part";
  return text + "; all ranks must start the same operations in the same order";
}

/// Whether this rank's part needs the buffer.
static bool needsSend(Collective kind, const Transfer &part, int rank) {
  return kind != Collective::Broadcast || part.root == rank;
}
static bool needsReceive(Collective kind, const Transfer &part, int rank) {
  return kind != Collective::Reduce || part.root == rank;
}

/// Why the part means nothing, or an empty string. Allocates only then.
static std::string findInvalid(Collective kind, Reduction reduction,
                               const Transfer &part, int rank, int ranks) {
  if (isReducing(kind) && !isReducible(reduction, part.type))
    return std::string("there is no ") + nameOf(reduction) + " of " +
           nameOf(part.type) + "; convert the elements or use max";
  if (part.root < 0 || part.root >= ranks)
    return "found root " + std::to_string(part.root) + ", wanted one of the " +
           std::to_string(ranks) + " ranks";
  if (part.count > UINT64_MAX / 16 / static_cast<uint64_t>(ranks))
    return "a count of " + std::to_string(part.count) +
           " elements has no size in bytes";
  if (part.count && !worksInPlace(kind) && part.send == part.receive)
    return "sends and receives in one buffer; wanted two";
  if (part.count && needsSend(kind, part, rank) && !part.send)
    return "the send buffer is null on rank " + std::to_string(rank);
  if (part.count && needsReceive(kind, part, rank) && !part.receive)
    return "the receive buffer is null on rank " + std::to_string(rank);
  return "";
}

std::string findInvalid(Meeting meeting, Reduction reduction,
                        const std::vector<Transfer> &parts, int rank,
                        int ranks) {
  if (!meeting.isCollective())
    return "";
  const Collective kind = meeting.collective();
  for (size_t i = 0; i < parts.size(); ++i) {
    std::string why = findInvalid(kind, reduction, parts[i], rank, ranks);
    if (!why.empty())
      return std::string(nameOf(kind)) + ", part " + std::to_string(i) + ": " +
             why;
  }
  return "";
}

} // namespace zrt
