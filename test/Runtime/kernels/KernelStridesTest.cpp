// Kernels on parts of tensors: those whose rows let tensors have strides.
#include "KernelTest.h"
#include "KernelUnderTest.h"

#include "program/KernelSchema.h"

#include <cmath>
#include <cstring>

namespace zrt::test {
namespace {

constexpr unsigned char kGap = 0x5a;

/// `type` with `gap` elements behind each index of dimension `dim`, as a part
/// of a tensor that is wider there has them. A row lies in one piece.
TensorType spread(TensorType type, size_t dim, int64_t gap) {
  type.strides.assign(type.shape.size(), 1);
  for (size_t i = type.shape.size() - 1; i-- > 0;)
    type.strides[i] =
        type.strides[i + 1] * type.shape[i + 1] + (i == dim ? gap : 0);
  return type;
}

/// Memory of a part: gaps between what `dense` has, and behind it.
class Part {
public:
  explicit Part(const TensorType &type)
      : type(type), all(DataType::I8, {int64_t(type.span()) + 64}) {
    std::memset(all.data(), kGap, all.bytes());
  }
  void *data() { return all.data(); }

  void fill(const Array &dense) {
    forEach([&](size_t from, size_t to, size_t bytes) {
      std::memcpy(at(to), static_cast<const char *>(dense.data()) + from,
                  bytes);
    });
  }
  /// The elements; what lies between them then counts as a gap.
  Array take() {
    Array dense(type.type, type.shape);
    forEach([&](size_t to, size_t from, size_t bytes) {
      std::memcpy(static_cast<char *>(dense.data()) + to, at(from), bytes);
      std::memset(at(from), kGap, bytes);
    });
    return dense;
  }
  bool hasGaps() {
    for (size_t i = 0; i < all.bytes(); ++i)
      if (static_cast<unsigned char>(*at(i)) != kGap)
        return false;
    return true;
  }

private:
  char *at(size_t byte) { return static_cast<char *>(all.data()) + byte; }

  /// Calls `body` with the bytes of each element in dense memory and here.
  template <typename Body> void forEach(Body body) {
    const size_t bytes = sizeOf(type.type);
    for (int64_t i = 0; i < type.elements(); ++i) {
      int64_t rest = i, place = 0;
      for (size_t dim = type.shape.size(); dim-- > 0;) {
        place += rest % type.shape[dim] *
                 (type.strides.empty() ? 0 : type.strides[dim]);
        rest /= type.shape[dim];
      }
      body(i * bytes, (type.strides.empty() ? i : place) * bytes, bytes);
    }
  }

  TensorType type;
  Array all;
};

/// The kernel on parts of wider tensors, each tensor that may be one in turn
/// and all of them, is bitwise equal to it on tensors by themselves, and leaves
/// what lies between as it was.
void expectOnParts(const KernelSpec &dense, const std::vector<Array> &inputs) {
  SCOPED_TRACE(dense.name + " " + nameOf(dense.operands[0].type));
  const std::vector<Array> wanted = runKernel(dense, inputs);
  std::vector<size_t> strided;
  const size_t tensors = dense.operands.size() + dense.results.size();
  for (size_t i = 0; i < tensors; ++i)
    if (takesStrides(dense, i))
      strided.push_back(i);
  ASSERT_FALSE(strided.empty());
  for (size_t turn = 0; turn <= strided.size(); ++turn)
    for (size_t dim : {0, 1, 2}) {
      KernelSpec spec = dense;
      for (size_t i : strided) {
        if (turn < strided.size() && i != strided[turn])
          continue;
        TensorType &type = i < spec.operands.size()
                               ? spec.operands[i]
                               : spec.results[i - spec.operands.size()];
        // What a row lacks to a multiple of 16 bytes, and other tensors.
        if (type.shape.back() * sizeOf(type.type) % kStrideBytes == 0)
          type = spread(type, dim, 16 * int64_t(turn + 1));
      }
      std::vector<Part> parts;
      std::vector<void *> buffers;
      for (const TensorType &type : spec.operands)
        parts.emplace_back(type);
      for (const TensorType &type : spec.results)
        parts.emplace_back(type);
      for (size_t i = 0; i < inputs.size(); ++i)
        parts[i].fill(inputs[i]);
      for (Part &part : parts)
        buffers.push_back(part.data());
      ThreadPool pool(2);
      KernelContext context;
      context.pool = &pool;
      std::unique_ptr<Kernel> kernel = makeKernelUnderTest(spec, context);
      std::vector<char> workspace(kernel->workspaceBytes() + 64);
      const size_t shift =
          64 - reinterpret_cast<uintptr_t>(workspace.data()) % 64;
      kernel->run(buffers.data(), workspace.data() + shift);
      for (size_t i = 0; i < tensors; ++i) {
        const bool isResult = i >= inputs.size();
        EXPECT_TRUE(parts[i].take() ==
                    (isResult ? wanted[i - inputs.size()] : inputs[i]))
            << "tensor " << i << " with gaps in dimension " << dim;
        EXPECT_TRUE(parts[i].hasGaps())
            << "writes beside tensor " << i << ", gaps in dimension " << dim;
      }
    }
}

struct Shape {
  int64_t b, t, h, d, s, g;
  bool causal = false, mask = false;
};

void checkAttention(DataType type, const Shape &z) {
  std::vector<Array> inputs = {randomArray(type, {z.b, z.t, z.h, z.d}, 1, 2),
                               randomArray(type, {z.b, z.s, z.g, z.d}, 2, 2),
                               randomArray(type, {z.b, z.s, z.g, z.d}, 3)};
  if (z.mask)
    inputs.push_back(randomArray(DataType::F32, {z.t, z.s}, 4, 3));
  const TensorType query = inputs[0].type, key = inputs[1].type;
  KernelSpec forward = makeSpec("nn.attention", inputs,
                                {query, {DataType::F32, {z.b, z.h, z.t}}});
  forward.ints = {{"causal", {z.causal}}, {"mask", {z.mask}}};
  forward.floats["scale"] = 1 / std::sqrt(double(z.d));
  expectOnParts(forward, inputs);

  const std::vector<Array> results = runKernel(forward, inputs);
  std::vector<Array> all = {randomArray(type, query.shape, 5),
                            inputs[0],
                            inputs[1],
                            inputs[2],
                            results[0],
                            results[1]};
  if (z.mask)
    all.push_back(inputs[3]);
  KernelSpec backward = makeSpec("nn.attention_grad", all, {query, key, key});
  backward.ints = forward.ints;
  backward.floats = forward.floats;
  expectOnParts(backward, all);
}

TEST(KernelStrides, Attention) {
  for (DataType type : kFloats) {
    checkAttention(type, {2, 7, 3, 16, 7, 3, true});
    checkAttention(type, {2, 13, 4, 24, 13, 2, false});
    checkAttention(type, {1, 5, 2, 8, 9, 1, false, true});
  }
}

TEST(KernelStrides, Rotary) {
  for (DataType type : kFloats)
    for (int64_t interleaved : {0, 1})
      for (int64_t width : {16, 24, 64}) {
        const std::vector<Array> x = {randomArray(type, {2, 7, 3, width}, 1)};
        KernelSpec spec = makeSpec("nn.rotary", x, {x[0].type});
        spec.ints = {{"interleaved", {interleaved}}, {"inverse", {0}}};
        spec.floats["theta"] = 10000;
        expectOnParts(spec, x);
        spec.ints["heads"] = {1, 2};
        expectOnParts(spec, x);
      }
}

TEST(KernelStrides, AttentionOverBlocksAndPanels) {
  checkAttention(DataType::BF16, {1, 130, 2, 64, 130, 1, true});
}

} // namespace
} // namespace zrt::test
