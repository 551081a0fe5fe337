//===- Random.cpp - nn.dropout --------------------------------------------===//

#include "Rules.h"

#include "zero/Dialect/NN/NN.h"

#include <array>
#include <cmath>

using namespace mlir;
using namespace mlir::zero;

namespace {
using Counter = std::array<uint32_t, 4>;
using Key = std::array<uint32_t, 2>;
} // namespace

/// Philox4x32-10 of Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as
/// easy as 1, 2, 3" (2011).
static Counter philox(Counter counter, Key key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t first = uint64_t(0xD2511F53) * counter[0];
    uint64_t second = uint64_t(0xCD9E8D57) * counter[2];
    counter = {static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(second),
               static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(first)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

/// Element i of global sample n is kept where word i mod 4 of
/// philox(counter = {i / 4, id, n low, n high}, key = seed) is at least
/// p * 2^32.
static LogicalResult dropout(nn::DropoutOp op, Evaluation &e) {
  const Array &x = *e.in[0];
  double p = op.getP().convertToDouble();
  Key key{static_cast<uint32_t>(e.context.seed),
          static_cast<uint32_t>(e.context.seed >> 32)};
  int64_t elements = x.innerSize(1);
  for (int64_t i = 0; i < x.size(); ++i) {
    uint64_t sample = e.context.firstSample + i / elements;
    auto element = static_cast<uint64_t>(i % elements);
    Counter words = philox(
        {static_cast<uint32_t>(element / 4), static_cast<uint32_t>(op.getId()),
         static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32)},
        key);
    bool kept = e.context.evaluating || words[element % 4] >= std::ldexp(p, 32);
    double factor = e.context.evaluating ? 1.0 : 1.0 / (1.0 - p);
    e.out[0].reals[i] = kept ? x.reals[i] * factor : 0.0;
  }
  return success();
}

void rules::addRandom(EvaluationRules &rules) {
  rules.add<nn::DropoutOp>(dropout);
}
