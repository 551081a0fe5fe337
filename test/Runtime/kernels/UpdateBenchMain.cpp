// How fast the host updates: bytes a second of AdamW with 16-bit gradients and
// parameters, beside a triad (a[i] = b[i] + s * c[i]) by the same threads on as
// many bytes.
//   zero-update-bench [ELEMENTS [THREADS [PASSES]]]
// prints both for each pass, one after the other, and the median of the ratios.
// 28 bytes an element count for the update, 12 for the triad: what is read and
// written, without what a cache fetches before it is overwritten.
#include "OptimizerTesting.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace zrt;
using namespace zrt::testing;

namespace {

constexpr int64_t kUpdateBytes = 28, kTriadBytes = 12;

template <typename Body> double rateOf(int64_t bytes, Body &&body) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  body();
  const std::chrono::duration<double> took = Clock::now() - begin;
  return double(bytes) / took.count() * 1e-9;
}

KernelSpec makeSpec(int64_t elements) {
  KernelSpec spec;
  spec.name = "zero.adamw";
  spec.ints = {{"partition", {0}}, {"bias_correction", {1}}};
  spec.floats = {{"beta1", 0.9},
                 {"beta2", 0.95},
                 {"epsilon", 1e-8},
                 {"weight_decay", 0.1}};
  spec.operands = flat(elements, {DataType::BF16, DataType::F32, DataType::F32,
                                  DataType::F32, DataType::BF16});
  return spec;
}

void triad(ThreadPool &pool, std::vector<float> &a, const std::vector<float> &b,
           const std::vector<float> &c) {
  pool.parallelFor(int64_t(a.size()), 1 << 16, [&](int64_t from, int64_t to) {
    float *__restrict sum = a.data();
    const float *left = b.data(), *right = c.data();
    for (int64_t i = from; i < to; ++i)
      sum[i] = left[i] + 3.0f * right[i];
  });
}

void run(int64_t elements, int threads, int passes) {
  zrt::testing::Bench bench(threads);
  bench.control.learningRate[0] = 1e-3f;
  const KernelSpec spec = makeSpec(elements);
  std::unique_ptr<Kernel> kernel = bench.make(spec);
  std::vector<Values> values;
  std::vector<void *> buffers;
  for (const TensorType &operand : spec.operands)
    values.emplace_back(operand.type, elements);
  for (Values &value : values)
    buffers.push_back(value.data());
  std::vector<char> workspace(kernel->workspaceBytes());
  const auto size = size_t(elements * kUpdateBytes / kTriadBytes);
  std::vector<float> a(size), b(size, 1), c(size, 2);
  std::vector<double> ratios;
  for (int pass = 0; pass <= passes; ++pass) {
    const double update = rateOf(elements * kUpdateBytes, [&] {
      kernel->run(buffers.data(), workspace.data());
    });
    const double copied = rateOf(int64_t(size) * kTriadBytes,
                                 [&] { triad(bench.pool, a, b, c); });
    bench.control.steps++;
    if (pass == 0) // touches the memory
      continue;
    std::printf("update %.2f GB/s, triad %.2f GB/s\n", update, copied);
    ratios.push_back(update / copied);
  }
  std::sort(ratios.begin(), ratios.end());
  std::printf("median of the ratios: %.2f\n", ratios[ratios.size() / 2]);
}

} // namespace

int main(int count, char **words) {
  const int64_t elements = count > 1 ? std::atoll(words[1]) : 32 << 20;
  const int threads = count > 2 ? std::atoi(words[2]) : 1;
  const int passes = count > 3 ? std::atoi(words[3]) : 9;
  if (elements < 1 || threads < 1 || passes < 1) {
    std::fprintf(stderr, "usage: zero-update-bench [ELEMENTS [THREADS "
                         "[PASSES]]], each above 0\n");
    return 2;
  }
  run(elements, threads, passes);
  return 0;
}
