#include "communicator/Operation.h"

#include "communicator/Reduce.h"

#include <cstdio>

namespace zrt {

Communicator::~Communicator() = default;

void Communicator::admit(Collective, Reduction,
                         const std::vector<Transfer> &) const {}

void Communicator::checkPeers() {}

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

const char *nameOf(Collective kind) {
  switch (kind) {
  case Collective::AllReduce:
    return "all-reduce";
  case Collective::ReduceScatter:
    return "reduce-scatter";
  case Collective::AllGather:
    return "all-gather";
  case Collective::Broadcast:
    return "broadcast";
  case Collective::Reduce:
    return "reduce";
  }
  return "unknown collective";
}

const char *nameOf(Reduction reduction) {
  switch (reduction) {
  case Reduction::Sum:
    return "sum";
  case Reduction::Mean:
    return "mean";
  case Reduction::Max:
    return "max";
  }
  return "unknown reduction";
}

static const char *nameOf(OperationKind kind) {
  if (kind == OperationKind::Barrier)
    return "barrier";
  if (kind == OperationKind::Split)
    return "split";
  return nameOf(static_cast<Collective>(kind));
}

bool OperationSignature::operator==(const OperationSignature &other) const {
  return index == other.index && hash == other.hash && parts == other.parts &&
         elements == other.elements && firstCount == other.firstCount &&
         kind == other.kind && reduction == other.reduction &&
         firstType == other.firstType && firstRoot == other.firstRoot;
}

/// One step of FNV-1a, a word at a time.
static void mix(uint64_t &hash, uint64_t value) {
  hash = (hash ^ value) * 0x100000001b3ull;
  hash ^= hash >> 29;
}

OperationSignature signatureOf(uint64_t index, OperationKind kind,
                               Reduction reduction,
                               const std::vector<Transfer> &parts) {
  OperationSignature signature;
  signature.index = index;
  signature.kind = kind;
  signature.reduction = isReducing(kind) ? reduction : Reduction::Sum;
  signature.parts = parts.size();
  signature.hash = 0xcbf29ce484222325ull;
  const bool rooted =
      kind == OperationKind::Broadcast || kind == OperationKind::Reduce;
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
  std::string text = nameOf(signature.kind);
  if (signature.kind == OperationKind::Barrier ||
      signature.kind == OperationKind::Split)
    return text;
  if (isReducing(signature.kind))
    text += std::string(" ") + nameOf(signature.reduction);
  text += " of " + std::to_string(signature.parts) +
          (signature.parts == 1 ? " part" : " parts");
  if (signature.parts == 0)
    return text;
  text += ", " + std::to_string(signature.elements) +
          " elements (first part: " + std::to_string(signature.firstCount) +
          " x " + nameOf(signature.firstType);
  if (signature.kind == OperationKind::Broadcast ||
      signature.kind == OperationKind::Reduce)
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
static bool needsSend(OperationKind kind, const Transfer &part, int rank) {
  return kind != OperationKind::Broadcast || part.root == rank;
}
static bool needsReceive(OperationKind kind, const Transfer &part, int rank) {
  return kind != OperationKind::Reduce || part.root == rank;
}

/// Why the part means nothing, or an empty string. Allocates only then.
static std::string findInvalid(OperationKind kind, Reduction reduction,
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
  if (part.count && needsSend(kind, part, rank) && !part.send)
    return "the send buffer is null on rank " + std::to_string(rank);
  if (part.count && needsReceive(kind, part, rank) && !part.receive)
    return "the receive buffer is null on rank " + std::to_string(rank);
  return "";
}

std::string findInvalid(OperationKind kind, Reduction reduction,
                        const std::vector<Transfer> &parts, int rank,
                        int ranks) {
  for (size_t i = 0; i < parts.size(); ++i) {
    std::string why = findInvalid(kind, reduction, parts[i], rank, ranks);
    if (!why.empty())
      return std::string(nameOf(kind)) + ", part " + std::to_string(i) + ": " +
             why;
  }
  return "";
}

} // namespace zrt
