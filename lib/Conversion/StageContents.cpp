//===- StageContents.cpp - what is in the slots of a stash ----------------===//

#include "StageContents.h"

#include <algorithm>

using zrt::BufferRef;
using zrt::Command;
using zrt::Program;
using zrt::StashContents;

bool zrt::writesBuffer(const Program &program, const Command &command,
                       size_t buffer) {
  const KernelSpec &spec = program.kernels[command.kernel];
  if (!spec.results.empty())
    return buffer >= spec.operands.size();
  return buffer > 0 || spec.operands.size() == 1;
}

void StashContents::remove(uint64_t begin, uint64_t end) {
  auto first = written.upper_bound(begin);
  if (first != written.begin() && std::prev(first)->second > begin)
    --first;
  while (first != written.end() && first->first < end) {
    const auto [from, to] = *first;
    first = written.erase(first);
    if (from < begin)
      written[from] = begin;
    if (to > end)
      written[end] = to;
  }
}

/// Joins what it touches.
void StashContents::add(uint64_t begin, uint64_t end) {
  auto next = written.upper_bound(begin);
  if (next != written.begin() && std::prev(next)->second >= begin)
    --next;
  while (next != written.end() && next->first <= end) {
    begin = std::min(begin, next->first);
    end = std::max(end, next->second);
    next = written.erase(next);
  }
  written[begin] = end;
}

bool StashContents::has(uint64_t begin, uint64_t end) const {
  const auto behind = written.upper_bound(begin);
  return behind != written.begin() && std::prev(behind)->second >= end;
}

void StashContents::fill(const Program &program, size_t ring, uint32_t micro) {
  uint64_t single = 0;
  for (size_t before = 0; before < ring; ++before)
    single += program.pipeline.rings[before].bytes;
  const uint64_t begin = program.pipeline.stashOffset(single, micro);
  remove(begin, begin + program.pipeline.rings[ring].bytes);
  for (const Input &input : program.inputs)
    if (input.buffer.arena == Arena::Stash && ring == 0 &&
        input.buffer.bytes > 0) {
      const uint64_t at =
          program.pipeline.stashOffset(input.buffer.offset, micro);
      add(at, at + input.buffer.bytes);
    }
}

std::string StashContents::visit(const Program &program, const Command &command,
                                 uint32_t micro) {
  std::string fault;
  const auto use = [&](const BufferRef &buffer, bool writes) {
    if (buffer.arena != Arena::Stash || buffer.bytes == 0)
      return;
    const uint64_t at = program.pipeline.stashOffset(buffer.offset, micro);
    if (writes)
      add(at, at + buffer.bytes);
    else if (!has(at, at + buffer.bytes))
      fault = "reads bytes of the stash from " + std::to_string(buffer.offset) +
              " on, which no pass of the micro-batch has written";
  };
  // What is read comes before what is written, which may be in one place.
  for (const bool writes : {false, true}) {
    for (size_t i = 0; i < command.buffers.size(); ++i)
      if (writesBuffer(program, command, i) == writes)
        use(command.buffers[i], writes);
    for (const CollectivePart &part : command.parts)
      use(writes ? part.receive : part.send, writes);
  }
  return fault;
}
