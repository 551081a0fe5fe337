#include "state/Arenas.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <utility>

using namespace zrt;

static constexpr uint64_t kHugePage = uint64_t(2) << 20;

/// Maps `bytes` so that the address is a multiple of `alignment`, a power of
/// two of at least a page.
static void *mapAligned(uint64_t bytes, uint64_t alignment) {
  uint64_t slack = alignment > 4096 ? alignment : 0;
  void *raw = mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED || slack == 0)
    return raw;
  uintptr_t begin = reinterpret_cast<uintptr_t>(raw);
  uintptr_t aligned = (begin + alignment - 1) & ~(alignment - 1);
  uintptr_t end = begin + bytes + slack;
  uintptr_t used = (aligned + bytes + 4095) & ~uintptr_t(4095);
  if (aligned > begin)
    munmap(raw, aligned - begin);
  if (end > used)
    munmap(reinterpret_cast<void *>(used), end - used);
  return reinterpret_cast<void *>(aligned);
}

Mapping::Mapping(uint64_t bytes, bool hugePages, const char *what)
    : bytes(bytes) {
  if (bytes == 0)
    return;
  bool huge = hugePages && bytes >= kHugePage;
  // Beyond the address space the kernel's rounding would wrap around.
  void *mapped = MAP_FAILED;
  errno = ENOMEM;
  if (bytes < uint64_t(1) << 62)
    mapped = mapAligned(bytes, huge ? kHugePage : 4096);
  if (mapped == MAP_FAILED)
    throw std::runtime_error(std::string(what) + ": cannot have " +
                             std::to_string(bytes) +
                             " bytes of memory: " + std::strerror(errno));
  address = mapped;
  if (huge) // A wish: where the system has none, small pages do.
    madvise(address, bytes, MADV_HUGEPAGE);
}

Mapping::Mapping(Mapping &&other) noexcept
    : address(std::exchange(other.address, nullptr)),
      bytes(std::exchange(other.bytes, 0)) {}

Mapping &Mapping::operator=(Mapping &&other) noexcept {
  std::swap(address, other.address);
  std::swap(bytes, other.bytes);
  return *this;
}

Mapping::~Mapping() {
  if (address)
    munmap(address, bytes);
}

Memory::~Memory() = default;

static uint64_t bytesOf(const Program &program, int space) {
  uint64_t bytes = program.arenaBytes[space];
  return space == spaceOf(Arena::Control, Tier::Device)
             ? std::max<uint64_t>(bytes, sizeof(Control))
             : bytes;
}

static std::string titleOf(int space) {
  return "arena '" + nameOfSpace(space) + "'";
}

[[noreturn]] static void refuseTier(int space, uint64_t bytes) {
  throw std::runtime_error(titleOf(space) + ": wants " + std::to_string(bytes) +
                           " bytes, and this runtime has no memory of the "
                           "tier '" +
                           nameOf(tierOf(space)) +
                           "'; compile the model for another one");
}

Arenas::Arenas(const Program &program, bool hugePages, Memory *files)
    : mesh(program.mesh) {
  for (int i = 0; i < kSpaceCount; ++i) {
    sizes[i] = bytesOf(program, i);
    const std::string title = titleOf(i);
    if (tierOf(i) != Tier::File) {
      mappings[i] = Mapping(sizes[i], hugePages, title.c_str());
      begins[i] = mappings[i].data();
    } else if (sizes[i] && !files) {
      refuseTier(i, sizes[i]);
    } else if (sizes[i]) {
      owners[i] = files;
      begins[i] = files->allocate(sizes[i], title.c_str());
    }
  }
}

/// The arenas that collectives read or write.
static std::array<bool, kSpaceCount>
arenasOfCollectives(const Program &program) {
  std::array<bool, kSpaceCount> found = {};
  for (const auto &[name, region] : program.regions())
    for (const Command &command : region->commands)
      for (const CollectivePart &part : command.parts)
        found[part.send.space()] = found[part.receive.space()] = true;
  return found;
}

Arenas::Arenas(const Program &program, Memory &memory, Memory *links,
               Memory *pinned, Memory *files)
    : mesh(program.mesh) {
  const auto linked = arenasOfCollectives(program);
  for (int i = 0; i < kSpaceCount; ++i) {
    const Tier tier = tierOf(i);
    sizes[i] = bytesOf(program, i);
    owners[i] = tier == Tier::Host   ? pinned
                : tier == Tier::File ? files
                : links && linked[i] ? links
                                     : &memory;
    if (!sizes[i])
      continue;
    try {
      if (!owners[i])
        refuseTier(i, sizes[i]);
      const std::string title = titleOf(i);
      begins[i] = arenaOf(i) == Arena::Activations
                      ? owners[i]->allocateScratch(sizes[i], title.c_str())
                      : owners[i]->allocate(sizes[i], title.c_str());
    } catch (...) {
      release();
      throw;
    }
  }
}

Arenas::~Arenas() { release(); }

void Arenas::release() {
  for (int i = kSpaceCount; i-- > 0;)
    if (owners[i] && begins[i])
      owners[i]->release(begins[i]);
}

Memory *Arenas::ownerOf(const void *inside) const {
  for (int i = 0; i < kSpaceCount; ++i)
    // One may begin where another ends.
    if (inside >= begins[i] &&
        inside < static_cast<char *>(begins[i]) + sizes[i])
      return owners[i];
  return owners.front();
}

void Arenas::write(void *inside, const void *from, size_t bytes) const {
  if (Memory *memory = ownerOf(inside))
    memory->write(inside, from, bytes);
  else
    std::memcpy(inside, from, bytes);
}

void Arenas::read(void *to, const void *inside, size_t bytes) const {
  if (Memory *memory = ownerOf(inside))
    memory->read(to, inside, bytes);
  else
    std::memcpy(to, inside, bytes);
}

void *Arenas::resolve(const BufferRef &buffer, int rank) const {
  const uint64_t size = sizes[buffer.space()];
  uint64_t begin = 0, end = 0;
  bool overflows =
      rank < 0 ||
      __builtin_mul_overflow(
          buffer.stride,
          static_cast<uint64_t>(mesh.indexIn(buffer.group, rank)), &begin) ||
      __builtin_add_overflow(begin, buffer.offset, &begin) ||
      __builtin_add_overflow(begin, buffer.bytes, &end);
  if (overflows || end > size)
    throw std::out_of_range(
        titleOf(buffer.space()) + " of " + std::to_string(size) +
        " bytes: found a buffer of " + std::to_string(buffer.bytes) +
        " bytes at " + std::to_string(buffer.offset) + " + rank " +
        std::to_string(rank) + " * " + std::to_string(buffer.stride) +
        ", which leaves it");
  return static_cast<char *>(begins[buffer.space()]) + begin;
}

std::array<void *, kSpaceCount> Arenas::addresses() const { return begins; }

Control &Arenas::control() const {
  return *static_cast<Control *>(begins[static_cast<int>(Arena::Control)]);
}

void zrt::checkDeviceMemory(const Program &program, uint64_t workspace,
                            uint64_t limit) {
  uint64_t needed = workspace;
  std::string arenas;
  for (int i = 0; i < kSpaceCount; ++i)
    if (const uint64_t bytes = bytesOf(program, i);
        bytes && tierOf(i) == Tier::Device) {
      needed += bytes;
      arenas += nameOfSpace(i) + " " + std::to_string(bytes) + ", ";
    }
  if (limit == 0 || needed <= limit)
    return;
  throw std::runtime_error(
      "a rank needs " + std::to_string(needed) + " bytes of the device tier (" +
      arenas + "workspace " + std::to_string(workspace) +
      "), and --device-memory is " + std::to_string(limit) +
      ": offload more, or compile for more ranks, a higher stage, smaller "
      "micro-batches or recomputed activations");
}
