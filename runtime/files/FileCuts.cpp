#include "files/FileCuts.h"

#include <algorithm>

using namespace zrt;

FileCut zrt::firstCut(uint64_t offset, uintptr_t address, uint64_t bytes,
                      const FileAlignment &alignment, uint64_t most) {
  const uint64_t block = alignment.offset;
  const uint64_t lead = offset % block;
  FileCut cut;
  cut.begin = offset - lead;
  if (lead || bytes < block) {
    cut.bytes = std::min(bytes, block - lead);
    cut.length = block;
    return cut;
  }
  cut.bytes = cut.length = std::min(bytes - bytes % block, most);
  cut.isDirect = address % alignment.memory == 0;
  return cut;
}

AlignedBuffer zrt::makeAlignedBuffer(uint64_t bytes,
                                     const FileAlignment &alignment) {
  // malloc's own alignment is the least that this call takes.
  const uint64_t wanted = std::max<uint64_t>(alignment.memory, 64);
  void *address = nullptr;
  if (::posix_memalign(&address, wanted, bytes) != 0)
    address = nullptr;
  return AlignedBuffer(static_cast<char *>(address));
}
