#include "state/Initialize.h"

#include "kernels/Kernel.h"
#include "state/Elements.h"
#include "state/Philox.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

using namespace zrt;

/// FNV-1a.
static uint64_t hashOf(const std::string &name) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (unsigned char c : name)
    hash = (hash ^ c) * 0x100000001b3ull;
  return hash;
}

namespace {

/// Two numbers in [0, 1), of 53 bits each.
struct Pair {
  double first, second;
};

/// Elements 2 * block and 2 * block + 1 of a parameter's stream.
Pair uniformPair(uint64_t seed, uint64_t name, uint64_t block) {
  Philox::Words words = Philox::block(seed, block, name);
  auto number = [](uint32_t low, uint32_t high) {
    uint64_t bits = (uint64_t(high) << 32) | low;
    return static_cast<double>(bits >> 11) * 0x1p-53;
  };
  return {number(words[0], words[1]), number(words[2], words[3])};
}

Pair normalPair(Pair uniform) {
  constexpr double kTwoPi = 6.283185307179586;
  double radius = std::sqrt(-2 * std::log(1 - uniform.first)); // of (0, 1]
  return {radius * std::cos(kTwoPi * uniform.second),
          radius * std::sin(kTwoPi * uniform.second)};
}

} // namespace

void zrt::initialValues(const Parameter &parameter, uint64_t seed,
                        uint64_t begin, uint64_t count, float *out) {
  const Initializer &init = parameter.init;
  if (init.kind != InitKind::Normal && init.kind != InitKind::Uniform) {
    double value = init.kind == InitKind::Ones       ? 1
                   : init.kind == InitKind::Constant ? init.a
                                                     : 0;
    std::fill_n(out, count, static_cast<float>(value));
    return;
  }
  uint64_t name = hashOf(parameter.name);
  bool normal = init.kind == InitKind::Normal;
  double offset = init.a, scale = normal ? init.b : init.b - init.a;
  uint64_t end = begin + count;
  for (uint64_t block = begin / 2; 2 * block < end; ++block) {
    Pair pair = uniformPair(seed, name, block);
    if (normal)
      pair = normalPair(pair);
    if (2 * block >= begin)
      out[2 * block - begin] = static_cast<float>(offset + scale * pair.first);
    if (2 * block + 1 < end)
      out[2 * block + 1 - begin] =
          static_cast<float>(offset + scale * pair.second);
  }
}

void zrt::initializeParameters(const Program &program, const Arenas &arenas,
                               int rank, uint64_t seed, ThreadPool *pool) {
  setConstantStates(program, arenas, rank);
  for (const Parameter &parameter : program.parameters)
    setParameter(program, arenas, rank, parameter,
                 [&](uint64_t element, uint64_t count, float *out) {
                   auto make = [&](int64_t begin, int64_t end) {
                     initialValues(parameter, seed, element + begin,
                                   end - begin, out + begin);
                   };
                   if (pool)
                     pool->parallelFor(static_cast<int64_t>(count), 4096, make);
                   else
                     make(0, static_cast<int64_t>(count));
                 });
}

void zrt::initializeConstants(const Program &program, const Arenas &arenas,
                              int rank) {
  for (const Constant &constant : program.constants) {
    if (constant.bytes.size() != constant.buffer.bytes)
      throw std::runtime_error("program: found " +
                               std::to_string(constant.bytes.size()) +
                               " bytes of a constant, wanted " +
                               std::to_string(constant.buffer.bytes));
    arenas.write(arenas.resolve(constant.buffer, rank), constant.bytes.data(),
                 constant.bytes.size());
  }
}

void zrt::initializeControl(const Program &program, const Arenas &arenas,
                            uint64_t seed) {
  const Training &training = program.training;
  Control control = {};
  control.seed = seed;
  bool scaled = training.lossScale.kind != LossScaleKind::None;
  control.scale = scaled ? static_cast<float>(training.lossScale.initial) : 1;
  control.lossSeed = control.scale / static_cast<float>(training.accumulation);
  control.factor = control.unscale = control.meanWeight = 1;
  control.finite = 1;
  control.lastOverflow = -1;
  control.hysteresis = static_cast<int32_t>(training.lossScale.hysteresis);
  std::fill_n(control.firstNonFinite, kMaxGroups, -1);
  arenas.write(&arenas.control(), &control, sizeof(control));
}
