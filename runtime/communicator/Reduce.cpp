#include "communicator/Reduce.h"

#include "program/Avx2.h"
#include "program/Float16.h"

#include <algorithm>
#include <type_traits>

// Elements depend on their own place only, also where the output is a source:
// without this, loops fall back to scalar code when it is.
#if defined(__clang__)
#define ZERO_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define ZERO_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace zrt {
namespace {

/// An element type: how it lies in memory and what it is added up in.
template <class T> struct Plain {
  using Stored = T;
  using Sum = T;
  static ZERO_INLINE Sum load(Stored value) { return value; }
  static ZERO_INLINE Stored store(Sum value) { return value; }
};
struct Bf16 {
  using Stored = uint16_t;
  using Sum = float;
  static ZERO_INLINE Sum load(Stored value) { return bf16ToF32(value); }
  static ZERO_INLINE Stored store(Sum value) { return f32ToBf16(value); }
};
struct F16Portable {
  using Stored = uint16_t;
  using Sum = float;
  static ZERO_INLINE Sum load(Stored value) { return f16ToF32Portable(value); }
  static ZERO_INLINE Stored store(Sum value) { return f32ToF16Portable(value); }
};
#ifdef ZERO_HAVE_AVX2_PATH
struct F16Native {
  using Stored = uint16_t;
  using Sum = float;
  static ZERO_INLINE Sum load(Stored value) { return f16ToF32Native(value); }
  static ZERO_INLINE Stored store(Sum value) { return f32ToF16Native(value); }
};
#endif

struct Add {
  template <class S> static ZERO_INLINE S combine(S left, S right) {
    if constexpr (std::is_integral_v<S>)
      return static_cast<S>(static_cast<std::make_unsigned_t<S>>(left) +
                            static_cast<std::make_unsigned_t<S>>(right));
    else
      return left + right;
  }
};
struct Maximum {
  template <class S> static ZERO_INLINE S combine(S left, S right) {
    return left > right || left != left ? left : right;
  }
};

/// Elements whose partial sums stay in the first-level cache.
constexpr size_t kBlock = 2048;

template <class Type, bool scaled>
ZERO_INLINE typename Type::Stored finish(typename Type::Sum value,
                                         typename Type::Sum factor) {
  if constexpr (scaled)
    value *= factor;
  return Type::store(value);
}

/// One block: the first two sources and the last are fused with loading and
/// storing, so that two ranks need no partial sums at all. Every element is
/// read before it is written, at the same place: `out` may be a source.
template <class Type, class Op, bool scaled>
ZERO_INLINE void reduceBlock(const typename Type::Stored *const *sources,
                             int ranks, typename Type::Stored *out,
                             size_t begin, size_t count,
                             typename Type::Sum factor) {
  using Sum = typename Type::Sum;
  const auto *first = sources[0] + begin;
  if (ranks == 1) {
    ZERO_INDEPENDENT
    for (size_t i = 0; i < count; ++i)
      out[begin + i] = finish<Type, scaled>(Type::load(first[i]), factor);
    return;
  }
  const auto *last = sources[ranks - 1] + begin;
  if (ranks == 2) {
    ZERO_INDEPENDENT
    for (size_t i = 0; i < count; ++i)
      out[begin + i] = finish<Type, scaled>(
          Op::combine(Type::load(first[i]), Type::load(last[i])), factor);
    return;
  }
  alignas(64) Sum partial[kBlock];
  const auto *second = sources[1] + begin;
  ZERO_INDEPENDENT
  for (size_t i = 0; i < count; ++i)
    partial[i] = Op::combine(Type::load(first[i]), Type::load(second[i]));
  for (int rank = 2; rank < ranks - 1; ++rank) {
    const auto *source = sources[rank] + begin;
    ZERO_INDEPENDENT
    for (size_t i = 0; i < count; ++i)
      partial[i] = Op::combine(partial[i], Type::load(source[i]));
  }
  ZERO_INDEPENDENT
  for (size_t i = 0; i < count; ++i)
    out[begin + i] = finish<Type, scaled>(
        Op::combine(partial[i], Type::load(last[i])), factor);
}

template <class Type, class Op, bool scaled>
ZERO_INLINE void reduceBlocks(const void *const *sources, int ranks,
                              void *destination, size_t count) {
  using Stored = typename Type::Stored;
  using Sum = typename Type::Sum;
  auto *const *typed = reinterpret_cast<const Stored *const *>(sources);
  auto *out = static_cast<Stored *>(destination);
  Sum factor = scaled ? Sum(prescaleOf(ranks)) : Sum(1);
  for (size_t begin = 0; begin < count; begin += kBlock)
    reduceBlock<Type, Op, scaled>(typed, ranks, out, begin,
                                  std::min(kBlock, count - begin), factor);
}

template <class Type, class Op, bool scaled>
void reducePortable(const void *const *sources, int ranks, void *destination,
                    size_t count) {
  reduceBlocks<Type, Op, scaled>(sources, ranks, destination, count);
}

#ifdef ZERO_HAVE_AVX2_PATH
template <class Type, class Op, bool scaled>
ZERO_AVX2 void reduceAvx2(const void *const *sources, int ranks,
                          void *destination, size_t count) {
  reduceBlocks<Type, Op, scaled>(sources, ranks, destination, count);
}
#endif

using Reducer = void (*)(const void *const *, int, void *, size_t);

template <class Portable, class Native, class Op, bool scaled>
Reducer choose() {
#ifdef ZERO_HAVE_AVX2_PATH
  if (hasAvx2())
    return reduceAvx2<Native, Op, scaled>;
#endif
  return reducePortable<Portable, Op, scaled>;
}

template <class Portable, class Native = Portable>
Reducer chooseFor(Reduction reduction) {
  if (reduction == Reduction::Max)
    return choose<Portable, Native, Maximum, false>();
  if constexpr (std::is_floating_point_v<typename Portable::Sum>)
    if (reduction == Reduction::PrescaledSum)
      return choose<Portable, Native, Add, true>();
  return choose<Portable, Native, Add, false>();
}

Reducer reducerFor(Reduction reduction, DataType type) {
  switch (type) {
  case DataType::F32:
    return chooseFor<Plain<float>>(reduction);
  case DataType::F16:
#ifdef ZERO_HAVE_AVX2_PATH
    return chooseFor<F16Portable, F16Native>(reduction);
#else
    return chooseFor<F16Portable>(reduction);
#endif
  case DataType::BF16:
    return chooseFor<Bf16>(reduction);
  case DataType::F64:
    return chooseFor<Plain<double>>(reduction);
  case DataType::I1:
    return chooseFor<Plain<uint8_t>>(reduction);
  case DataType::I8:
    return chooseFor<Plain<int8_t>>(reduction);
  case DataType::I32:
    return chooseFor<Plain<int32_t>>(reduction);
  case DataType::I64:
    return chooseFor<Plain<int64_t>>(reduction);
  case DataType::U16:
    return chooseFor<Plain<uint16_t>>(reduction);
  }
  return nullptr;
}

} // namespace

void reduceInOrder(Reduction reduction, DataType type,
                   const void *const *sources, int ranks, void *destination,
                   size_t count) {
  reducerFor(reduction, type)(sources, ranks, destination, count);
}

bool isReducible(Reduction reduction, DataType type) {
  switch (reduction) {
  case Reduction::Sum:
    return type != DataType::I1;
  case Reduction::PrescaledSum:
    return isFloat(type);
  case Reduction::Max:
    return true;
  }
  return false;
}

} // namespace zrt
