#include "files/BlockDigests.h"

#include "io/Digest.h"

using namespace zrt;

BlockDigests::BlockDigests(uint64_t blockBytes)
    : block(blockBytes), ofZeros(digest(std::vector<char>(blockBytes).data())) {
}

/// Without the block's number: the table tells blocks apart.
uint64_t BlockDigests::digest(const char *data) const {
  return digestBlock(0, data, block);
}

void BlockDigests::resize(uint64_t bytes) {
  digests.resize(bytes / block, ofZeros);
}

void BlockDigests::record(uint64_t offset, const char *data, uint64_t bytes) {
  for (uint64_t done = 0; done < bytes; done += block)
    digests[(offset + done) / block] = digest(data + done);
}

uint64_t BlockDigests::findChange(uint64_t offset, const char *data,
                                  uint64_t bytes) const {
  for (uint64_t done = 0; done < bytes; done += block)
    if (digests[(offset + done) / block] != digest(data + done))
      return offset + done;
  return offset + bytes;
}
