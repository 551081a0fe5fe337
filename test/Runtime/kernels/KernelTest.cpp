#include "KernelTest.h"
#include "KernelUnderTest.h"

#include "program/Float16.h"

#include <dlfcn.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

namespace zrt::test {

namespace {

std::atomic<int64_t> ownAllocations{0}, libraryAllocations{0};
std::atomic<bool> counting{false};

/// Where `address` lies; a marker for this program itself.
bool isOwn(const void *address) {
  static const char *program = [] {
    Dl_info info;
    return dladdr(reinterpret_cast<void *>(&countAllocations), &info)
               ? info.dli_fname
               : "";
  }();
  Dl_info info;
  return dladdr(address, &info) && !std::strcmp(info.dli_fname, program);
}

void count(const void *caller) {
  if (!counting)
    return;
  (isOwn(caller) ? ownAllocations : libraryAllocations) += 1;
}

constexpr size_t kAlignment = 64;
constexpr unsigned char kGuard = 0xa5;
constexpr size_t kGuardBytes = 256;

/// Bytes with a guard behind them.
class Guarded {
public:
  Guarded(size_t bytes, unsigned char fill) : bytes(bytes) {
    storage.resize(bytes + kGuardBytes + kAlignment, kGuard);
    auto address = reinterpret_cast<uintptr_t>(storage.data());
    shift = (kAlignment - address % kAlignment) % kAlignment;
    std::memset(data(), fill, bytes);
  }
  void *data() { return storage.data() + shift; }
  bool intact() {
    auto *guard = static_cast<unsigned char *>(data()) + bytes;
    for (size_t i = 0; i < kGuardBytes; ++i)
      if (guard[i] != kGuard)
        return false;
    return true;
  }

private:
  size_t bytes, shift;
  std::vector<unsigned char> storage;
};

uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

} // namespace

Allocations countAllocations(const std::function<void()> &body) {
  Allocations before{ownAllocations, libraryAllocations};
  counting = true;
  body();
  counting = false;
  return {ownAllocations - before.own, libraryAllocations - before.libraries};
}

void Array::allocate() {
  storage.assign(type.bytes() + kAlignment, 0);
  auto address = reinterpret_cast<uintptr_t>(storage.data());
  shift = (kAlignment - address % kAlignment) % kAlignment;
}

Array::Array(DataType element, std::vector<int64_t> shape)
    : type{element, std::move(shape)} {
  allocate();
}

Array::Array(const Array &other) : type(other.type) {
  allocate();
  std::memcpy(data(), other.data(), bytes());
}

Array &Array::operator=(const Array &other) {
  type = other.type;
  allocate();
  std::memcpy(data(), other.data(), bytes());
  return *this;
}

double Array::operator[](int64_t i) const {
  switch (type.type) {
  case DataType::F32:
    return static_cast<const float *>(data())[i];
  case DataType::BF16:
    return toFloat(static_cast<const BFloat16 *>(data())[i]);
  case DataType::F16:
    return toFloat(static_cast<const Float16 *>(data())[i]);
  case DataType::I32:
    return static_cast<const int32_t *>(data())[i];
  case DataType::I8:
    return static_cast<const int8_t *>(data())[i];
  default:
    ADD_FAILURE() << "no element access for " << nameOf(type.type);
    return 0;
  }
}

void Array::set(int64_t i, double value) {
  switch (type.type) {
  case DataType::F32:
    static_cast<float *>(data())[i] = static_cast<float>(value);
    break;
  case DataType::BF16:
    static_cast<BFloat16 *>(data())[i] = fromFloat<BFloat16>(value);
    break;
  case DataType::F16:
    static_cast<Float16 *>(data())[i] = fromFloat<Float16>(value);
    break;
  case DataType::I32:
    static_cast<int32_t *>(data())[i] = static_cast<int32_t>(value);
    break;
  case DataType::I8:
    static_cast<int8_t *>(data())[i] = static_cast<int8_t>(value);
    break;
  default:
    ADD_FAILURE() << "no element access for " << nameOf(type.type);
  }
}

bool Array::operator==(const Array &other) const {
  return type == other.type && !std::memcmp(data(), other.data(), bytes());
}

Array randomArray(DataType type, std::vector<int64_t> shape, uint64_t seed,
                  double scale) {
  Array array(type, std::move(shape));
  for (int64_t i = 0; i < array.size(); ++i)
    array.set(i, scale * (mix(seed << 32 | i) / 9223372036854775808.0 - 1));
  return array;
}

Array randomIds(std::vector<int64_t> shape, int64_t bound, uint64_t seed) {
  Array array(DataType::I32, std::move(shape));
  for (int64_t i = 0; i < array.size(); ++i)
    array.set(i, static_cast<double>(mix(seed << 32 | i) % bound));
  return array;
}

KernelSpec makeSpec(const std::string &name, const std::vector<Array> &inputs,
                    const std::vector<TensorType> &results) {
  KernelSpec spec;
  spec.name = name;
  for (const Array &input : inputs)
    spec.operands.push_back(input.type);
  spec.results = results;
  return spec;
}

static KernelContext contextOf(const Setting &setting, ThreadPool &pool) {
  KernelContext context;
  context.rank = setting.rank;
  context.sampleIndex = setting.rank;
  context.sampleRanks = setting.ranks;
  context.pool = &pool;
  context.control = setting.control;
  context.generated = setting.generated;
  context.generatedCount = setting.generatedCount;
  return context;
}

std::vector<Array> runKernelInPlace(const KernelSpec &spec,
                                    const std::vector<Array> &inputs,
                                    size_t result, size_t operand,
                                    const Setting &setting) {
  ThreadPool pool(setting.threads);
  std::unique_ptr<Kernel> kernel =
      makeKernelUnderTest(spec, contextOf(setting, pool));
  std::vector<Array> operands = inputs, results;
  std::vector<void *> buffers;
  for (Array &each : operands)
    buffers.push_back(each.data());
  for (const TensorType &type : spec.results)
    results.emplace_back(type.type, type.shape);
  for (Array &each : results)
    buffers.push_back(each.data());
  buffers[inputs.size() + result] = operands[operand].data();
  Guarded workspace(kernel->workspaceBytes(), 0xff);
  kernel->run(buffers.data(), workspace.data());
  std::memcpy(results[result].data(), operands[operand].data(),
              results[result].bytes());
  return results;
}

std::vector<Array> runKernel(const KernelSpec &spec,
                             const std::vector<Array> &inputs,
                             const Setting &setting) {
  ThreadPool pool(setting.threads);
  std::unique_ptr<Kernel> kernel =
      makeKernelUnderTest(spec, contextOf(setting, pool));

  std::vector<Array> operands = inputs;
  std::vector<Guarded> results;
  std::vector<void *> buffers;
  for (Array &operand : operands)
    buffers.push_back(operand.data());
  results.reserve(spec.results.size());
  for (const TensorType &type : spec.results) {
    results.emplace_back(type.bytes(), 0xff);
    buffers.push_back(results.back().data());
  }
  Guarded workspace(kernel->workspaceBytes(), 0xff);
  kernel->run(buffers.data(), workspace.data());
  // Twice: what the first run leaves in the workspace must not matter, and
  // only the first may start threads.
  Allocations made =
      countAllocations([&] { kernel->run(buffers.data(), workspace.data()); });
  if (countsKernelAllocations())
    EXPECT_EQ(made.own, 0) << spec.name << " allocates";
  EXPECT_TRUE(workspace.intact()) << spec.name << " overran its workspace";
  for (size_t i = 0; i < inputs.size(); ++i)
    EXPECT_TRUE(operands[i] == inputs[i])
        << spec.name << " wrote operand " << i;

  std::vector<Array> arrays;
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_TRUE(results[i].intact()) << spec.name << " overran result " << i;
    Array array(spec.results[i].type, spec.results[i].shape);
    std::memcpy(array.data(), results[i].data(), array.bytes());
    arrays.push_back(array);
  }
  return arrays;
}

namespace {

void compare(const Array &found, const std::vector<double> &wanted,
             double tolerance, const std::string &what) {
  ASSERT_EQ(found.size(), static_cast<int64_t>(wanted.size())) << what;
  double largest = 0;
  for (double value : wanted)
    if (std::isfinite(value))
      largest = std::max(largest, std::fabs(value));
  for (int64_t i = 0; i < found.size(); ++i) {
    if (!std::isfinite(wanted[i])) {
      ASSERT_EQ(found[i], wanted[i]) << what << ", element " << i;
      continue;
    }
    double allowed =
        tolerance * (std::fabs(wanted[i]) + 0.05 * largest) + 1e-30;
    ASSERT_NEAR(found[i], wanted[i], allowed) << what << ", element " << i;
  }
}

} // namespace

std::vector<Array> checkKernel(const KernelSpec &spec,
                               const std::vector<Array> &inputs,
                               const Reference &reference, double tolerance,
                               Setting setting) {
  setting.threads = 1;
  std::vector<Array> first = runKernel(spec, inputs, setting);
  std::vector<std::vector<double>> wanted = reference(inputs);
  EXPECT_EQ(first.size(), wanted.size());
  for (size_t i = 0; i < first.size(); ++i)
    compare(first[i], wanted[i],
            first[i].type.type == DataType::F32
                ? std::min(tolerance, toleranceOf(spec.operands[0].type))
                : tolerance,
            spec.name + " result " + std::to_string(i));
  if (!usesKernelThreads())
    return first;
  for (int threads : {2, 3}) {
    setting.threads = threads;
    std::vector<Array> other = runKernel(spec, inputs, setting);
    for (size_t i = 0; i < first.size(); ++i)
      EXPECT_TRUE(first[i] == other[i])
          << spec.name << " result " << i << " has other bits with " << threads
          << " threads than with one";
  }
  return first;
}

double toleranceOf(DataType type) {
  switch (type) {
  case DataType::BF16:
    return 1e-2;
  case DataType::F16:
    return 2e-3;
  default:
    return 2e-5;
  }
}

} // namespace zrt::test

// The compiler may pair new and delete in any way, so all forms are replaced.
void *operator new(size_t bytes) {
  zrt::test::count(__builtin_return_address(0));
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}
void *operator new[](size_t bytes) {
  zrt::test::count(__builtin_return_address(0));
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}
void *operator new(size_t bytes, const std::nothrow_t &) noexcept {
  zrt::test::count(__builtin_return_address(0));
  return std::malloc(bytes ? bytes : 1);
}
void *operator new[](size_t bytes, const std::nothrow_t &) noexcept {
  zrt::test::count(__builtin_return_address(0));
  return std::malloc(bytes ? bytes : 1);
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, size_t) noexcept { std::free(memory); }
