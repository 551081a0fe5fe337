// Executes the PTX of generated kernels, and compares what they leave with the
// same kernels of the host, bit by bit: zero-ptx-generated PTX LIBRARY TYPE
//
// PTX and LIBRARY are what zero-compile writes with --emit=ptx --target=cuda
// and with --emit=program of one model; TYPE is the type of its 16-bit
// elements, bf16 or f16.
#include "Machine.h"

#include "kernels/Kernel.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

using namespace zrt;
using namespace zrt::ptx;

namespace {

/// Two launches that cut the elements in different ways.
struct Grid {
  unsigned blocks, threads;
};
constexpr Grid kGrids[] = {{2, 32}, {5, 7}};
constexpr size_t kGuard = 256; ///< bytes behind the host's buffers
constexpr unsigned char kGuardByte = 0xa5;
/// Where a buffer begins behind what is aligned to vectors: all of them, and
/// each alone, as far as their elements are aligned then.
constexpr size_t kStarts[] = {0, 2, 4, 8};
/// No element is larger.
constexpr size_t kMostWidth = 8;

using Bytes = std::vector<unsigned char>;

[[noreturn]] void fail(const std::string &what) {
  throw std::runtime_error(what);
}

/// A buffer of a kernel, as the kernel uses it.
struct Buffer {
  size_t bytes, width; ///< of an element
  bool isWritten;
};

/// A buffer in the device's memory, `start` bytes into it.
class Memory {
public:
  Memory(size_t start, Bytes content)
      : start(start), bytes(content.size()),
        memory(static_cast<char *>(bench::allocate(start + bytes))) {
    std::copy(content.begin(), content.end(), memory + start);
  }
  Memory(Memory &&other) noexcept
      : start(other.start), bytes(other.bytes),
        memory(std::exchange(other.memory, nullptr)) {}
  ~Memory() {
    if (memory)
      bench::release(memory);
  }
  const char *begin() const { return memory + start; }
  bench::Touched touched() const { return bench::touchedOf(memory); }
  size_t offset() const { return start; }

private:
  size_t start, bytes;
  char *memory;
};

void launch(Entry &entry, Grid grid, const std::vector<Memory> &buffers) {
  std::vector<char> parameters(entry.parameterBytes);
  for (size_t i = 0; i < buffers.size(); ++i) {
    const char *address = buffers[i].begin();
    std::memcpy(parameters.data() + entry.parameters[i].offset, &address,
                sizeof(address));
  }
  runGrid(entry, {grid.blocks, 1, 1}, {grid.threads, 1, 1}, 0, parameters);
}

//===----------------------------------------------------------------------===//
// What a kernel accesses
//===----------------------------------------------------------------------===//

/// The bytes that a load or a store takes at once: 8 of "ld.global.v4.b16".
/// `ofElement`: those of one of its elements.
size_t bytesOf(const std::string &opcode, bool ofElement) {
  const size_t type = opcode.find_last_not_of("0123456789");
  const size_t bits = std::stoul(opcode.substr(type + 1));
  const size_t vector = opcode.find(".v");
  const size_t count =
      vector == opcode.npos || ofElement ? 1 : opcode[vector + 2] - '0';
  return bits / 8 * count;
}

bool isGlobalAccess(const std::string &opcode) {
  return opcode.rfind("ld.global", 0) == 0 || opcode.rfind("st.global", 0) == 0;
}

size_t widthAt(const Entry &entry, const std::set<uint32_t> &lines) {
  std::set<size_t> widths;
  for (const Instruction &each : entry.code)
    if (lines.count(each.line) && isGlobalAccess(each.text))
      widths.insert(bytesOf(each.text, /*ofElement=*/true));
  if (widths.size() != 1)
    fail(entry.name + ": a buffer is accessed in " +
         std::to_string(widths.size()) + " sizes, wanted one");
  return *widths.begin();
}

/// Where vectors are not aligned, accesses have the sizes of elements.
std::vector<Buffer> findBuffers(Entry &entry, int64_t extent) {
  std::vector<Memory> memory;
  for (size_t i = 0; i < entry.parameters.size(); ++i)
    memory.emplace_back(kMostWidth, Bytes(size_t(extent) * kMostWidth));
  launch(entry, kGrids[0], memory);
  std::vector<Buffer> buffers;
  for (const Memory &each : memory) {
    const bench::Touched touched = each.touched();
    buffers.push_back({touched.end - each.offset(),
                       widthAt(entry, touched.lines), touched.isWritten});
  }
  return buffers;
}

size_t widestAccess(const Entry &entry) {
  size_t widest = 0;
  for (const Instruction &each : entry.code)
    if (each.wasRun && isGlobalAccess(each.text))
      widest = std::max(widest, bytesOf(each.text, /*ofElement=*/false));
  return widest;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

template <typename T> void store(unsigned char *to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

/// Values of a few units, zeros and large ones.
Bytes makeValues(const Buffer &buffer, bool isBF16, std::mt19937 &numbers) {
  Bytes made(buffer.bytes);
  const float rare[] = {0.0f, -0.0f, 90.0f, -90.0f};
  for (size_t at = 0; at < made.size(); at += buffer.width) {
    const uint32_t drawn = numbers();
    const float value =
        drawn % 24 < 4 ? rare[drawn % 24] : float(drawn >> 8) / 0x1p21f - 4;
    if (buffer.width == 4)
      store(&made[at], value);
    else if (buffer.width == 2 && isBF16)
      store(&made[at], uint16_t(toBits(value) >> 16));
    else if (buffer.width == 2)
      store(&made[at], _Float16(value));
    else
      fail("elements of " + std::to_string(buffer.width) +
           " bytes, wanted 2 or 4");
  }
  return made;
}

/// What the kernel of the host leaves, which stays inside of its buffers.
std::vector<Bytes> runHost(const GeneratedKernel &kernel,
                           std::vector<Bytes> values) {
  std::vector<void *> buffers;
  for (Bytes &each : values) {
    each.insert(each.end(), kGuard, kGuardByte);
    buffers.push_back(each.data());
  }
  kernel.run(buffers.data(), 0, kernel.extent);
  for (Bytes &each : values) {
    const auto guard = each.end() - kGuard;
    if (std::any_of(guard, each.end(), [](auto c) { return c != kGuardByte; }))
      fail(std::string(kernel.name) +
           ": a buffer of the host goes on behind the device's");
    each.erase(guard, each.end());
  }
  return values;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Lists of where the buffers begin.
std::set<std::vector<size_t>> listStarts(const std::vector<Buffer> &buffers) {
  std::set<std::vector<size_t>> all;
  for (const size_t start : kStarts) {
    std::vector<size_t> together;
    for (const Buffer &each : buffers)
      together.push_back(start % each.width ? 0 : start);
    all.insert(together);
    for (size_t i = 0; i < buffers.size(); ++i) {
      std::vector<size_t> alone(buffers.size());
      alone[i] = together[i];
      all.insert(alone);
    }
  }
  return all;
}

void compare(Entry &entry, Grid grid, const std::vector<size_t> &starts,
             const std::vector<Bytes> &values,
             const std::vector<Bytes> &wanted) {
  std::vector<Memory> memory;
  for (size_t i = 0; i < values.size(); ++i)
    memory.emplace_back(starts[i], values[i]);
  launch(entry, grid, memory);
  for (size_t i = 0; i < wanted.size(); ++i)
    for (size_t at = 0; at < wanted[i].size(); ++at)
      if (static_cast<unsigned char>(memory[i].begin()[at]) != wanted[i][at]) {
        std::ostringstream text;
        text << entry.name << ": buffer " << i << ", " << starts[i]
             << " bytes into a line, differs from byte " << at << " on, as "
             << grid.blocks << " blocks of " << grid.threads << " threads";
        fail(text.str());
      }
}

/// The number of bytes that the kernel writes.
size_t check(Entry &entry, const GeneratedKernel &host, bool isBF16) {
  const std::vector<Buffer> buffers = findBuffers(entry, host.extent);
  std::mt19937 numbers(7);
  std::vector<Bytes> values;
  size_t written = 0;
  for (const Buffer &each : buffers) {
    values.push_back(makeValues(each, isBF16, numbers));
    written += each.isWritten ? each.bytes : 0;
  }
  const std::vector<Bytes> wanted = runHost(host, values);
  for (const Grid grid : kGrids)
    for (const std::vector<size_t> &starts : listStarts(buffers))
      compare(entry, grid, starts, values, wanted);
  return written;
}

std::map<std::string, const GeneratedKernel *>
kernelsOf(const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_NOW);
  if (!library)
    fail(dlerror());
  const auto *count = static_cast<const int64_t *>(
      dlsym(library, "zero_generated_kernel_count"));
  const auto *kernels = static_cast<const GeneratedKernel *>(
      dlsym(library, "zero_generated_kernels"));
  if (!count || !kernels)
    fail(path + ": has no generated kernels");
  std::map<std::string, const GeneratedKernel *> all;
  for (int64_t i = 0; i < *count; ++i)
    all[kernels[i].name] = &kernels[i];
  return all;
}

void run(const std::string &path, const std::string &library, bool isBF16) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file)
    fail(path + ": cannot be read");
  Module module(path.substr(path.rfind('/') + 1), text.str());
  const auto hosts = kernelsOf(library);
  const std::vector<std::string> names = module.names();
  size_t widest = 0;
  for (const std::string &name : names) {
    const auto host = hosts.find(name);
    if (host == hosts.end())
      fail(name + ": the host has no such kernel");
    Entry &entry = *module.find(name);
    const size_t bytes = check(entry, *host->second, isBF16);
    std::printf("%s: %zu bytes equal\n", name.c_str(), bytes);
    widest = std::max(widest, widestAccess(entry));
  }
  if (names.empty() || names.size() != hosts.size())
    fail(std::to_string(names.size()) + " kernels, the host has " +
         std::to_string(hosts.size()));
  std::printf(
      "%zu kernels: equal bit by bit; the widest access has %zu bytes\n",
      names.size(), widest);
}

} // namespace

int main(int argc, char **argv) {
  const std::string type = argc == 4 ? argv[3] : "";
  if (type != "bf16" && type != "f16") {
    std::fprintf(stderr, "wanted: zero-ptx-generated PTX LIBRARY bf16|f16\n");
    return 2;
  }
  try {
    run(argv[1], argv[2], type == "bf16");
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
