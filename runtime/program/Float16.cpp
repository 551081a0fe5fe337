#include "program/Float16.h"
#include "program/Avx2.h"

namespace zrt {
namespace {

struct WidenBf16 {
  static ZERO_INLINE float convert(BFloat16 value) {
    return bf16ToF32(value.bits);
  }
};
struct NarrowBf16 {
  static ZERO_INLINE BFloat16 convert(float value) {
    return BFloat16{f32ToBf16(value)};
  }
};
struct WidenF16 {
  static ZERO_INLINE float convert(Float16 value) {
    return f16ToF32Portable(value.bits);
  }
};
struct NarrowF16 {
  static ZERO_INLINE Float16 convert(float value) {
    return Float16{f32ToF16Portable(value)};
  }
};

template <class Conversion, class From, class To>
ZERO_INLINE void convertAll(const From *__restrict from, To *__restrict to,
                            size_t count) {
  for (size_t i = 0; i < count; ++i)
    to[i] = Conversion::convert(from[i]);
}

#ifdef ZERO_HAVE_AVX2_PATH
struct WidenF16Native {
  static ZERO_INLINE float convert(Float16 value) {
    return f16ToF32Native(value.bits);
  }
};
struct NarrowF16Native {
  static ZERO_INLINE Float16 convert(float value) {
    return Float16{f32ToF16Native(value)};
  }
};

template <class Conversion, class From, class To>
ZERO_AVX2 void convertAllAvx2(const From *from, To *to, size_t count) {
  convertAll<Conversion>(from, to, count);
}

template <class Portable, class Native, class From, class To>
void convertWidest(const From *from, To *to, size_t count) {
  if (hasAvx2())
    convertAllAvx2<Native>(from, to, count);
  else
    convertAll<Portable>(from, to, count);
}
#else
using WidenF16Native = WidenF16;
using NarrowF16Native = NarrowF16;

template <class Portable, class Native, class From, class To>
void convertWidest(const From *from, To *to, size_t count) {
  convertAll<Portable>(from, to, count);
}
#endif

} // namespace

void convertToFloat(const float *from, float *to, size_t count) {
  std::memcpy(to, from, count * sizeof(float));
}
void convertToFloat(const BFloat16 *from, float *to, size_t count) {
  convertWidest<WidenBf16, WidenBf16>(from, to, count);
}
void convertToFloat(const Float16 *from, float *to, size_t count) {
  convertWidest<WidenF16, WidenF16Native>(from, to, count);
}

void convertFromFloat(const float *from, float *to, size_t count) {
  std::memcpy(to, from, count * sizeof(float));
}
void convertFromFloat(const float *from, BFloat16 *to, size_t count) {
  convertWidest<NarrowBf16, NarrowBf16>(from, to, count);
}
void convertFromFloat(const float *from, Float16 *to, size_t count) {
  convertWidest<NarrowF16, NarrowF16Native>(from, to, count);
}

} // namespace zrt
