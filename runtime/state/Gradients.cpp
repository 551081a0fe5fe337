#include "state/Gradients.h"

#include "state/Pieces.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

using namespace zrt;

static constexpr const char *kMeasure = "zero.grad_stats",
                            *kJudge = "zero.grad_scale";

bool zrt::judgesGradients(const Program &program, const Command &command) {
  return command.opcode == Opcode::Kernel &&
         program.kernels[command.kernel].name == kJudge;
}

/// What is left of the mean over ranks after the reductions.
static double divisorOf(const Program &program) {
  for (const KernelSpec &kernel : program.kernels)
    if (kernel.name == kJudge)
      return kernel.real("divisor", 1);
  throw std::runtime_error("the program judges no gradients");
}

bool zrt::measuresGradients(const Program &program, const Command &command) {
  if (command.opcode == Opcode::Kernel)
    return program.kernels[command.kernel].name == kMeasure ||
           judgesGradients(program, command);
  return !command.parts.empty() &&
         std::all_of(command.parts.begin(), command.parts.end(),
                     [](const CollectivePart &part) {
                       return part.receive.arena == Arena::Control;
                     });
}

bool zrt::copiesGradients(const Program &program, const Command &command) {
  if (bytesCopiedBeside(program, command) == 0)
    return false;
  const BufferRef &from = command.buffers.front();
  return std::any_of(program.partitions.begin(), program.partitions.end(),
                     [&](const Partition &partition) {
                       const BufferRef &all = partition.gradients;
                       return partition.trainable && from.arena == all.arena &&
                              from.offset >= all.offset &&
                              from.offset < all.offset + all.bytes;
                     });
}

void zrt::forEachGradientShare(const Program &program,
                               const Parameter &parameter, int rank,
                               const std::function<void(const Piece &)> &body) {
  forEachShare(program, parameter,
               partitionOf(program, parameter).shardedOptimizer, rank, body);
}

namespace {

/// What a rank stores of the gradient of a parameter.
struct StoredGradient {
  StoredGradient(const Program &program, const Arenas &arenas, int rank,
                 const Parameter &parameter)
      : partition(partitionOf(program, parameter)), parameter(parameter),
        type(partition.gradientType),
        scale(arenas.control().scale * divisorOf(program) *
              arenas.control().meanWeight),
        base(static_cast<char *>(arenas.resolve(partition.gradients, rank))) {}

  /// The address of the first element of `piece`, which is of what a rank owns.
  char *at(const Piece &piece) const {
    // Gradients that are stored whole are reduced to their owners in place.
    const bool isWhole =
        partition.shardedOptimizer && !partition.shardedGradients;
    return base +
           (isWhole ? parameter.memberOffset + piece.local : piece.stored) *
               sizeOf(type);
  }

  const Partition &partition;
  const Parameter &parameter;
  const DataType type;
  const double scale; ///< what the mean is multiplied by
  char *const base;
};

/// Calls `body` with parts of `piece` that are few elements each.
template <typename Body> void forEachPart(const Piece &piece, Body body) {
  for (uint64_t done = 0; done < piece.count; done += kPortion)
    body(piece.from(done, std::min(kPortion, piece.count - done)));
}

/// The part of `piece` in [element, element + count); empty where there is
/// none.
Piece within(const Piece &piece, uint64_t element, uint64_t count) {
  const uint64_t first = std::max(piece.element, element);
  const uint64_t last = std::min(piece.element + piece.count, element + count);
  if (first >= last)
    return {};
  return piece.from(first - piece.element, last - first);
}

} // namespace

void zrt::readGradient(const Program &program, const Arenas &arenas, int rank,
                       const Parameter &parameter, const ValueSink &sink) {
  const StoredGradient gradient(program, arenas, rank, parameter);
  std::vector<char> bytes;
  std::vector<float> values;
  const auto read = [&](const Piece &piece) {
    bytes.resize(piece.count * sizeOf(gradient.type));
    values.resize(piece.count);
    arenas.read(bytes.data(), gradient.at(piece), bytes.size());
    loadElements(gradient.type, bytes.data(), values.data(), piece.count);
    for (float &value : values)
      value = float(value / gradient.scale);
    sink(piece.element, piece.count, values.data());
  };
  forEachGradientShare(program, parameter, rank,
                       [&](const Piece &piece) { forEachPart(piece, read); });
}

void zrt::setGradient(const Program &program, const Arenas &arenas, int rank,
                      const Parameter &parameter, uint64_t element,
                      uint64_t count, const ValueSource &source) {
  const StoredGradient gradient(program, arenas, rank, parameter);
  std::vector<char> bytes;
  std::vector<float> values;
  const auto write = [&](const Piece &piece) {
    bytes.resize(piece.count * sizeOf(gradient.type));
    values.resize(piece.count);
    source(piece.element, piece.count, values.data());
    for (float &value : values)
      value = float(value * gradient.scale);
    storeElements(gradient.type, false, values.data(), bytes.data(),
                  piece.count);
    arenas.write(gradient.at(piece), bytes.data(), bytes.size());
  };
  forEachPiece(program, parameter,
               partitionOf(program, parameter).shardedOptimizer, rank,
               [&](const Piece &piece) {
                 forEachPart(within(piece, element, count), write);
               });
}
