#include "program/Workspaces.h"

#include <algorithm>

using namespace zrt;

namespace {

using workspace::Shapes;

/// Buffers of a workspace begin at multiples of so many bytes.
uint64_t padded(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

uint64_t floats(int64_t count) { return uint64_t(count) * sizeof(float); }

/// Partial sums of `terms` terms for each of `results` results: as many parts
/// as keep a device busy.
uint64_t partialSums(int64_t terms, int64_t results) {
  constexpr int64_t threads = int64_t(1) << 19, mostParts = 512,
                    fewestTerms = 32;
  if (results == 0)
    return 0;
  const int64_t parts = std::min(
      {(threads + results - 1) / results, mostParts, terms / fewestTerms + 1});
  return floats(parts * results);
}

/// A stable sort of `count` integers by CUB: the integers, their numbers and
/// their order, a second buffer for the first two, and counts of each block.
uint64_t stableOrder(int64_t count) {
  constexpr uint64_t fixed = uint64_t(256) << 10;
  const uint64_t list = padded(count * sizeof(int32_t));
  return 3 * list + 2 * list + list / 2 + fixed;
}

/// The same, with a key made for each.
uint64_t keyedOrder(int64_t count) {
  return padded(count * sizeof(int32_t)) + stableOrder(count);
}

/// What a kernel of cuDNN's takes whatever its shape.
constexpr uint64_t kCudnn = uint64_t(1) << 20;

uint64_t wholeTiles(int64_t size) { return (size + 127) / 128 * 128; }

/// Rows of queries of all heads.
int64_t queryRows(Shapes s) {
  return s.size("b") * s.size("g.r") * s.size("t");
}

} // namespace

uint64_t workspace::product(Shapes, bool) { return kProduct; }

uint64_t workspace::productAndSums(Shapes s, bool) {
  return std::max(kProduct, partialSums(s.product("r"), s.size("n")));
}

/// A chunk's logits and losses, and with a gradient f32 sums over the chunks,
/// where the program is narrower, beside the products of a chunk.
uint64_t workspace::linearLoss(Shapes s, bool) {
  const TensorType &x = *s.tensor("x");
  const int64_t rows = s.product("r"), columns = s.size("n");
  const int64_t chunk = std::min(rows, s.spec->integer("chunk"));
  uint64_t bytes = kProduct + padded(chunk * columns * sizeOf(x.type)) +
                   padded(floats(chunk)) + padded(floats(rows)) +
                   padded(sizeof(float));
  if (s.tensor("dw") && x.type != DataType::F32)
    bytes += padded(floats(s.elements("w")));
  if (s.tensor("db"))
    bytes += padded(floats(columns)) + padded(chunk * sizeOf(x.type));
  return bytes;
}

/// Of 16-bit types; others are computed in place.
uint64_t workspace::convolution(Shapes s, bool) {
  return sizeOf(s.tensor("w") ? s.tensor("w")->type : s.tensor("x")->type) == 2
             ? kConvolution
             : 0;
}

/// cuDNN's; own kernels need none.
uint64_t workspace::attention(Shapes s, bool) {
  return floats(queryRows(s)) + kCudnn;
}

/// The most of own kernels, which keep three numbers of each row, and of
/// cuDNN's: f32 sums of the gradients, those of keys and values for each query
/// head, and where it is reproducible two bytes of each score, in whole tiles.
uint64_t workspace::attentionGrad(Shapes s, bool deterministic) {
  const int64_t rows = queryRows(s), keys = s.size("s");
  const int64_t sums =
      (rows + 2 * s.size("b") * s.size("g.r") * keys) * s.size("d");
  const uint64_t scores = uint64_t(s.size("b")) * s.size("g.r") *
                          wholeTiles(s.size("t")) * wholeTiles(keys);
  const uint64_t cudnn =
      floats(sums + 2 * rows) + (deterministic ? 2 * scores : 0) + kCudnn;
  return std::max<uint64_t>(floats(3 * rows) + sizeof(int32_t), cudnn);
}

/// Sums of blocks of rows for the gradients of the weight and of the bias.
uint64_t workspace::normGrad(Shapes s, bool) {
  constexpr int64_t mostBlocks = 256, fewestRows = 16;
  const int64_t blocks =
      std::min(mostBlocks, (s.product("r") + fewestRows - 1) / fewestRows);
  return floats(blocks * s.size("n") * (s.tensor("db") ? 2 : 1));
}

uint64_t workspace::loss(Shapes s, bool) {
  return floats(std::max<int64_t>(s.product("r"), 1));
}

uint64_t workspace::reduction(Shapes s, bool) {
  const int64_t results = s.elements("y");
  return results ? partialSums(s.elements("x") / results, results) : 0;
}

/// Tokens in the order of their rows, and two sums of each chunk of them.
uint64_t workspace::embeddingGrad(Shapes s, bool) {
  constexpr int64_t chunk = 32, lanes = 8;
  const int64_t tokens = s.product("t");
  const int64_t width = (s.size("w") + lanes - 1) / lanes * lanes;
  return stableOrder(tokens) +
         floats(2 * ((tokens + chunk - 1) / chunk) * width);
}

uint64_t workspace::scatter(Shapes s, bool) {
  return keyedOrder(s.elements("ids"));
}

/// Rows that are not short are sorted by element, and then by row.
uint64_t workspace::argsort(Shapes s, bool) {
  constexpr int64_t shortRow = 1024;
  const int64_t elements = s.elements("x");
  return s.size("n") <= shortRow ? 0
                                 : keyedOrder(elements) + stableOrder(elements);
}

uint64_t workspace::dispatch(Shapes s, bool) {
  return keyedOrder(s.elements("ids"));
}

/// A sum, a count and an index of each 65,536 elements.
uint64_t workspace::statistics(Shapes s, bool) {
  constexpr int64_t term = int64_t(1) << 16;
  return uint64_t((s.size("n") + term - 1) / term) * 24;
}
