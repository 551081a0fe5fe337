#include "state/Gradients.h"

#include "state/Pieces.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

using namespace zrt;

static constexpr const char *kJudge = "zero.grad_scale";

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

void zrt::readGradient(const Program &program, const Arenas &arenas, int rank,
                       const Parameter &parameter, const ValueSink &sink) {
  const Partition &partition = partitionOf(program, parameter);
  const bool owned = partition.shardedOptimizer;
  // Where every rank has the whole gradient, one is enough.
  if (!owned && rank != 0)
    return;
  const DataType type = partition.gradientType;
  const char *base =
      static_cast<const char *>(arenas.resolve(partition.gradients, rank));
  const double scale = arenas.control().scale * divisorOf(program);
  std::vector<char> bytes;
  std::vector<float> values;
  forEachPiece(program, parameter, owned, rank, [&](const Piece &piece) {
    // Gradients that are stored whole are reduced to their owners in place.
    const uint64_t stored = owned && !partition.shardedGradients
                                ? parameter.memberOffset + piece.element
                                : piece.stored;
    for (uint64_t done = 0; done < piece.count; done += kPortion) {
      const uint64_t count = std::min(kPortion, piece.count - done);
      bytes.resize(count * sizeOf(type));
      values.resize(count);
      arenas.read(bytes.data(), base + (stored + done) * sizeOf(type),
                  bytes.size());
      loadElements(type, bytes.data(), values.data(), count);
      for (float &value : values)
        value = float(value / scale);
      sink(piece.element + done, count, values.data());
    }
  });
}
