//===- StageMemory.cpp - what transfers of a stage have in flight ---------===//

#include "StageMemory.h"

#include "StageContents.h"

#include "program/Collective.h"

#include <algorithm>
#include <set>

using zrt::Command;
using zrt::Program;
using zrt::TransferMemory;

TransferMemory::Range TransferMemory::rangeOf(const Program &program,
                                              const BufferRef &buffer,
                                              uint32_t micro) {
  Range range;
  range.space = buffer.space();
  range.begin = buffer.arena == Arena::Stash
                    ? program.pipeline.stashOffset(buffer.offset, micro)
                    : buffer.offset;
  range.end = range.begin + buffer.bytes;
  return range;
}

void TransferMemory::start(const Program &program, Key key,
                           const Command &command, uint32_t micro) {
  const CollectivePart &part = command.parts.front();
  const bool isReceived = command.collective == Collective::Receive;
  Range range = rangeOf(program, isReceived ? part.receive : part.send, micro);
  range.isReceived = isReceived;
  range.command = &command;
  finish(key);
  ranges[key] = range;
  ++counts[size_t(range.space)];
}

void TransferMemory::finish(Key key) {
  const auto found = ranges.find(key);
  if (found == ranges.end())
    return;
  --counts[size_t(found->second.space)];
  ranges.erase(found);
}

std::string TransferMemory::findMisuse(const Range &used,
                                       bool isWritten) const {
  for (const auto &[key, range] : ranges) {
    const bool overlaps = range.space == used.space && range.begin < used.end &&
                          used.begin < range.end;
    if (overlaps && range.isReceived)
      return "uses memory of '" + range.command->label +
             "', which was not waited for";
    if (overlaps && isWritten)
      return "writes over what '" + range.command->label + "' still sends";
  }
  return "";
}

std::string TransferMemory::findMisuse(const Program &program,
                                       const Command &command,
                                       uint32_t micro) const {
  std::string fault;
  const auto isMet = [&](const BufferRef &buffer) {
    return buffer.bytes > 0 && counts[size_t(buffer.space())] > 0;
  };
  const auto use = [&](const BufferRef &buffer, bool writes) {
    if (fault.empty() && isMet(buffer))
      fault = findMisuse(rangeOf(program, buffer, micro), writes);
  };
  if (command.opcode == Opcode::Kernel)
    for (size_t i = 0; i < command.buffers.size(); ++i)
      if (isMet(command.buffers[i]))
        use(command.buffers[i], writesBuffer(program, command, i));
  for (const CollectivePart &part : command.parts) {
    use(part.send, false);
    use(part.receive, true);
  }
  return fault;
}

/// Adds the spaces of a region's transfers to `spaces`: of all, or of those
/// that go on after the region.
static void addSpaces(const zrt::Region &region, bool all,
                      std::set<int> &spaces) {
  std::set<uint32_t> waited;
  for (const Command &command : region.commands)
    if (command.opcode == zrt::Opcode::Wait)
      waited.insert(command.ticket);
  for (const Command &command : region.commands) {
    if (command.opcode != zrt::Opcode::Start ||
        !isBetweenTwo(command.collective) ||
        (!all && waited.count(command.ticket)))
      continue;
    const zrt::CollectivePart &part = command.parts.front();
    spaces.insert(command.collective == zrt::Collective::Receive
                      ? part.receive.space()
                      : part.send.space());
  }
}

std::vector<const Command *> zrt::listWatched(const Program &program,
                                              const Region &region) {
  std::set<int> spaces = {spaceOf(Arena::Stash, Tier::Device)};
  addSpaces(region, /*all=*/true, spaces);
  for (const auto &[name, other] : program.regions())
    addSpaces(*other, /*all=*/false, spaces);
  std::vector<const Command *> watched;
  for (const Command &command : region.commands)
    if (command.opcode != Opcode::Kernel ||
        std::any_of(command.buffers.begin(), command.buffers.end(),
                    [&](const BufferRef &buffer) {
                      return spaces.count(buffer.space()) > 0;
                    }))
      watched.push_back(&command);
  return watched;
}
