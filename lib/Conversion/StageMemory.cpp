//===- StageMemory.cpp - what transfers of a stage have in flight ---------===//

#include "StageMemory.h"

#include "StageContents.h"

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
  ranges[key] = range;
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
  if (ranges.empty())
    return "";
  std::string fault;
  const auto use = [&](const BufferRef &buffer, bool writes) {
    if (fault.empty() && buffer.bytes > 0)
      fault = findMisuse(rangeOf(program, buffer, micro), writes);
  };
  if (command.opcode == Opcode::Kernel)
    for (size_t i = 0; i < command.buffers.size(); ++i)
      use(command.buffers[i], writesBuffer(program, command, i));
  for (const CollectivePart &part : command.parts) {
    use(part.send, false);
    use(part.receive, true);
  }
  return fault;
}
