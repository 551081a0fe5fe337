#include "program/NcclParts.h"

using namespace zrt;

std::string zrt::refusedByNccl(uint64_t bytes, bool aligned) {
  if (bytes % kNcclPayload == 0 && aligned)
    return "";
  return "a rank's part has " + std::to_string(bytes) + " bytes" +
         (aligned ? "" : ", not aligned") + "; NCCL wants multiples of " +
         std::to_string(kNcclPayload) + ": compile with a larger alignment";
}

namespace {

bool isAligned(const BufferRef &buffer) {
  return buffer.offset % kNcclPayload == 0 && buffer.stride % kNcclPayload == 0;
}

/// Of one command; collectives whose ranks own no parts take any size.
std::string refusalOf(const Command &command) {
  if (command.opcode != Opcode::Start || !slicesForNccl(command.collective))
    return "";
  for (const CollectivePart &part : command.parts) {
    const std::string refusal =
        refusedByNccl(part.count * sizeOf(part.type),
                      isAligned(part.send) && isAligned(part.receive));
    if (!refusal.empty())
      return refusal;
  }
  return "";
}

} // namespace

std::string zrt::refusedByNccl(const Program &program) {
  for (const auto &[name, region] : program.regions())
    for (const Command &command : region->commands) {
      const std::string refusal = refusalOf(command);
      if (!refusal.empty())
        return (command.location.empty() ? "" : command.location + ": ") +
               nameOf(command) + " '" + command.label + "' in " + name + ": " +
               refusal;
    }
  return "";
}
