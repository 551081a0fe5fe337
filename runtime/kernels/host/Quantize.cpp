// zero.quantize, zero.quantize_feedback, zero.dequantize and
// zero.sum_quantized. CUDA's twins are bitwise equal: a block's scale is max
// |x| / most, elements are x / scale rounded to even, and come back as integer
// * scale rounded to their type. Sums are in f32 and in the order of ranks.
#include "kernels/Vector.h"
#include "kernels/host/Host.h"
#include "program/BlockScale.h"
#include "program/Control.h"
#include "program/QuantizedKernels.h"

#include <algorithm>

namespace zrt::host {

namespace {

typedef signed char ByteVector __attribute__((vector_size(16)));

/// As `magnitudeOf`. `values` gives lanes, those past the end as zeros.
template <typename Values>
uint32_t largestMagnitude(const Values &values, int64_t count) {
  WordVector largest = {};
  forEachVector(count, [&](Lanes at) {
    const Vector x = values(at);
    const WordVector bits =
        reinterpret_cast<const WordVector &>(x) & 0x7fffffff;
    largest = bits > largest ? bits : largest;
  });
  uint32_t most = 0;
  for (int lane = 0; lane < kLanes; ++lane)
    most = std::max(most, largest[lane]);
  return most;
}

/// x / scale as the nearest integer, for |x| <= most * scale.
ZERO_INLINE Vector toInteger(Vector x, float scale) {
  constexpr float kShift = 12582912.0f; // 1.5 * 2^23: what is added rounds
  const Vector scaled = x / splat(scale);
  const Vector rounded = (scaled + splat(kShift)) - splat(kShift);
  // Of a NaN scale: any integer will do.
  return rounded == rounded ? rounded : Vector{};
}

/// Integer i of 4 bits, its sign extended.
int halfAt(const char *from, int64_t i) {
  const int byte = static_cast<uint8_t>(from[i / 2]);
  return ((i % 2 ? byte >> 4 : byte & 15) ^ 8) - 8;
}

/// Packs what a subclass's functor gives for the elements from one on.
class Packer : public Kernel {
protected:
  Packer(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), elements(spec.operands[0].elements()),
        how(quantizationOf(spec)), cut(piecesOf(spec)) {}

  /// `from(first)` gives what `pack` takes.
  template <typename From> void packAll(const From &from, char *to) {
    const int64_t blocks = how.blocks(cut.piece);
    pool.parallelFor(cut.all() * blocks, 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        packBlock(from, i / blocks, i % blocks,
                  to + i / blocks * how.packedBytes(cut.piece));
    });
    for (int64_t piece = 0; piece < cut.all(); ++piece)
      clearPadding(to + piece * how.packedBytes(cut.piece));
  }

private:
  /// Block `block` of a piece, of which all or some is there to read.
  template <typename From>
  void packBlock(const From &from, int64_t piece, int64_t block,
                 char *to) const {
    const int64_t first = block * how.block;
    const int64_t count = std::min(how.block, cut.piece - first);
    const int64_t source = cut.sourceOf(piece) + first;
    const int64_t there = std::clamp(elements - source, int64_t(0), count);
    const auto values = from(source);
    const float scale = scaleFor(largestMagnitude(values, there), how.most());
    std::memcpy(to + how.scalesAt(cut.piece) + 4 * block, &scale,
                sizeof(scale));
    char *integers = to + first * how.bits / 8;
    pack(values, there, scale, integers);
    const int64_t done = (there * how.bits + 7) / 8;
    std::memset(integers + done, 0, (count * how.bits + 7) / 8 - done);
  }

  /// It travels, and is the same on every run.
  void clearPadding(char *to) const {
    const int64_t integers = (cut.piece * how.bits + 7) / 8;
    const int64_t scales = how.scalesAt(cut.piece);
    const int64_t used = scales + 4 * how.blocks(cut.piece);
    std::memset(to + integers, 0, scales - integers);
    std::memset(to + used, 0, how.packedBytes(cut.piece) - used);
  }

  template <typename Values>
  void pack(const Values &values, int64_t count, float scale, char *to) const {
    forEachVector(count, [&](Lanes at) {
      const Vector x = values(at), rounded = toInteger(x, scale);
      values.keep(at, x, rounded * splat(scale));
      const IntVector integers = __builtin_convertvector(rounded, IntVector);
      const ByteVector bytes = __builtin_convertvector(integers, ByteVector);
      if (how.bits == 8)
        std::memcpy(to + at.at, &bytes, at.count);
      else // Lanes past the end are 0.
        for (int64_t i = 0; i < at.count; i += 2)
          to[(at.at + i) / 2] =
              static_cast<char>((bytes[i] & 15) | (bytes[i + 1] & 15) << 4);
    });
  }

  ThreadPool &pool;
  int64_t elements;
  Quantization how;
  QuantizedPieces cut;
};

template <typename T> class Quantize final : public Packer {
public:
  Quantize(const KernelSpec &spec, const KernelContext &context)
      : Packer(spec, context) {}

  void run(void *const *buffers, void *) override {
    packAll([from = at<T>(buffers, 0)](
                int64_t first) { return Values{from + first}; },
            at<char>(buffers, 1));
  }

private:
  struct Values {
    const T *from;
    ZERO_INLINE Vector operator()(Lanes at) const { return at.load(from); }
    ZERO_INLINE void keep(Lanes, Vector, Vector) const {}
  };
};

/// Adds the errors of earlier calls to what it packs, and keeps what is lost.
template <typename T> class QuantizeFeedback final : public Packer {
public:
  QuantizeFeedback(const KernelSpec &spec, const KernelContext &context)
      : Packer(spec, context), control(context.control),
        feedback(feedbackOf(spec)) {}

  void run(void *const *buffers, void *) override {
    const Values all{
        at<T>(buffers, 0),         at<BFloat16>(buffers, 1),
        at<BFloat16>(buffers, 3),  splat(isFresh() ? 0 : control->scale),
        splat(1 / control->scale), splat(feedback.beta),
        splat(feedback.rest)};
    packAll([&](int64_t first) { return all.from(first); },
            at<char>(buffers, 2));
  }

private:
  /// Whether errors begin anew: nothing of an update that was skipped is fed
  /// back.
  bool isFresh() const {
    const int64_t update = int64_t(control->batch) / feedback.accumulation;
    return control->microIndex == 0 &&
           (update % feedback.reset == 0 || !control->finite);
  }

  struct Values {
    const T *gradients;
    const BFloat16 *errors;
    BFloat16 *left;
    /// The loss scale, or 0 without errors; and its inverse.
    Vector scale, inverse;
    Vector beta, rest;

    Values from(int64_t first) const {
      Values values = *this;
      values.gradients += first;
      values.errors += first;
      values.left += first;
      return values;
    }
    ZERO_INLINE Vector errorsAt(Lanes at) const {
      return at.load(errors) * scale;
    }
    ZERO_INLINE Vector operator()(Lanes at) const {
      return at.load(gradients) + errorsAt(at);
    }
    /// Keeps the error of elements that were quantized: from `x`, and back to
    /// `back`.
    ZERO_INLINE void keep(Lanes at, Vector x, Vector back) const {
      const Vector error = beta * errorsAt(at) + rest * (x - back);
      const WordVector bits = bfloat16Bits(error * inverse) << 16;
      const WordVector kept =
          (bits & 0x7f800000u) == 0x7f800000u ? WordVector{} : bits;
      at.store(left, reinterpret_cast<const Vector &>(kept));
    }
  };

  const Control *control;
  Feedback feedback;
};

/// Brings the packed slices of all ranks back: piece j of rank r is elements
/// r * pieces[j] to (r + 1) * pieces[j] of segment j.
template <typename T> class Dequantize final : public Kernel {
public:
  Dequantize(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), how(quantizationOf(spec)),
        ranks(spec.integer("ranks")), pieces(spec.ints.at("pieces")) {
    for (const int64_t piece : pieces)
      slice += piece;
  }

  void run(void *const *buffers, void *) override {
    const char *from = at<char>(buffers, 0);
    T *to = at<T>(buffers, 1);
    const int64_t blocks = how.blocks(slice);
    pool.parallelFor(ranks * blocks, 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        unpack(from + i / blocks * how.packedBytes(slice), i / blocks,
               i % blocks, to);
    });
  }

private:
  /// Block `block` of the slice of `rank`, whose pieces lie apart.
  void unpack(const char *from, int64_t rank, int64_t block, T *to) const {
    float scale;
    std::memcpy(&scale, from + how.scalesAt(slice) + 4 * block, sizeof(scale));
    const int64_t end = std::min((block + 1) * how.block, slice);
    int64_t first = 0, segment = 0; // of the slice, and of the whole
    for (const int64_t piece : pieces) {
      const int64_t low = std::max(first, block * how.block);
      const int64_t high = std::min(first + piece, end);
      T *target = to + segment + rank * piece - first;
      if (how.bits == 8)
        for (int64_t i = low; i < high; ++i)
          target[i] = fromFloat<T>(float(static_cast<int8_t>(from[i])) * scale);
      else
        for (int64_t i = low; i < high; ++i)
          target[i] = fromFloat<T>(float(halfAt(from, i)) * scale);
      first += piece;
      segment += piece * ranks;
    }
  }

  ThreadPool &pool;
  Quantization how;
  int64_t ranks, slice = 0;
  std::vector<int64_t> pieces;
};

/// Piece j of the sum is that of piece j of every rank.
template <typename T> class SumQuantized final : public Kernel {
public:
  SumQuantized(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), how(quantizationOf(spec)), cut(piecesOf(spec)),
        factor(static_cast<float>(spec.real("factor", 1))) {}

  void run(void *const *buffers, void *) override {
    const char *from = at<char>(buffers, 0);
    T *to = at<T>(buffers, 1);
    const int64_t blocks = how.blocks(cut.piece);
    pool.parallelFor(cut.pieces * blocks, 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        sumBlock(from, i / blocks, i % blocks, to + i / blocks * cut.piece);
    });
  }

private:
  /// Elements at a time: as many sums stay in the cache.
  static constexpr int64_t kSums = 128;

  void sumBlock(const char *from, int64_t piece, int64_t block, T *to) const {
    const int64_t end = std::min((block + 1) * how.block, cut.piece);
    for (int64_t first = block * how.block; first < end; first += kSums) {
      const int64_t count = std::min(kSums, end - first);
      float sums[kSums] = {};
      for (int64_t rank = 0; rank < cut.ranks; ++rank)
        add(from + (rank * cut.pieces + piece) * how.packedBytes(cut.piece),
            block, first, count, sums);
      for (int64_t i = 0; i < count; ++i)
        to[first + i] = fromFloat<T>(sums[i] * factor);
    }
  }

  void add(const char *packed, int64_t block, int64_t first, int64_t count,
           float *sums) const {
    float scale;
    std::memcpy(&scale, packed + how.scalesAt(cut.piece) + 4 * block,
                sizeof(scale));
    if (how.bits == 8)
      for (int64_t i = 0; i < count; ++i)
        sums[i] += float(static_cast<int8_t>(packed[first + i])) * scale;
    else
      for (int64_t i = 0; i < count; ++i)
        sums[i] += float(halfAt(packed, first + i)) * scale;
  }

  ThreadPool &pool;
  Quantization how;
  QuantizedPieces cut;
  float factor;
};

template <template <typename> class K>
std::unique_ptr<Kernel> makeByResult(const KernelSpec &spec,
                                     const KernelContext &context) {
  return makeForType<K>(spec.results[0].type, spec, context);
}

} // namespace

void registerQuantize(Registry &registry) {
  registry.add("zero.quantize", makeByOperand<Quantize>);
  registry.add("zero.quantize_feedback", makeByOperand<QuantizeFeedback>);
  registry.add("zero.dequantize", makeByResult<Dequantize>);
  registry.add("zero.sum_quantized", makeByResult<SumQuantized>);
}

} // namespace zrt::host
