// Copies to shared memory that arrive later.
#include "State.h"

#include <algorithm>
#include <cstring>

using namespace zrt::bench;

void zrt::bench::startCopy(void *to, const void *from, size_t bytes) {
  if (bytes != 4 && bytes != 8 && bytes != 16)
    fault("starts a copy of " + std::to_string(bytes) +
          " bytes; a device copies 4, 8 or 16");
  noteRead(from, bytes, bytes);
  noteWrite(to, bytes, bytes);
  std::memset(to, 0xff, bytes);
  Thread &thread = *running.thread;
  thread.copies.push_back({to, from, bytes, thread.groups});
}

void zrt::bench::commitCopies() { ++running.thread->groups; }

void zrt::bench::awaitCopies(size_t prior, const char *file, int line) {
  if (isPlanted(Site::Arrival, file, line))
    return;
  Thread &thread = *running.thread;
  const auto arrives = [&](const Copy &copy) {
    return copy.group + prior < thread.groups;
  };
  for (const Copy &copy : thread.copies)
    if (arrives(copy)) {
      noteRead(copy.from, copy.bytes, copy.bytes);
      noteWrite(copy.to, copy.bytes, copy.bytes);
      std::memcpy(copy.to, copy.from, copy.bytes);
    }
  thread.copies.erase(
      std::remove_if(thread.copies.begin(), thread.copies.end(), arrives),
      thread.copies.end());
}
