#include "program/Trace.h"

#include <cstdio>

using namespace zrt;

/// How often a part's count is in its whole buffer.
static uint64_t countsOf(const Command &command, int ranks) {
  const Collective kind = command.collective;
  return sendsToEach(kind) || receivesFromEach(kind) ? uint64_t(ranks) : 1;
}

uint64_t zrt::spannedBytes(const Command &command, int ranks) {
  uint64_t bytes = 0;
  for (const CollectivePart &part : command.parts)
    bytes += part.count * sizeOf(part.type) * countsOf(command, ranks);
  return bytes;
}

uint64_t zrt::spannedElements(const Command &command, int ranks) {
  uint64_t elements = 0;
  for (const CollectivePart &part : command.parts)
    elements += part.count * countsOf(command, ranks);
  return elements;
}

std::string zrt::titleOf(const Program &program, const Command &command) {
  const bool isOverAxes =
      command.opcode == Opcode::Start && !program.mesh.axes.empty();
  return isOverAxes
             ? command.label + " over " + program.mesh.nameOf(command.group)
             : command.label;
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

TraceWriter::TraceWriter(const Program &program, std::string &out)
    : program(program), out(out) {
  addRoles(program.micro);
  addRoles(program.microLast);
}

void TraceWriter::addRoles(const Region &region) {
  bool isBackward = false;
  size_t next = 0; // what runs on compute after the commands before
  std::unordered_map<uint32_t, std::pair<const Command *, size_t>> started;
  for (const Command &command : region.commands) {
    const bool isKernel = command.opcode == Opcode::Kernel;
    // The gradient of the loss itself is where the backward begins.
    if (isKernel && program.kernels[command.kernel].name == "zero.loss_seed")
      isBackward = true;
    Role &role = roles[&command];
    role.isBackward = isBackward;
    if (command.opcode == Opcode::Start &&
        command.collective == Collective::AllGather) {
      role.isGather = true;
      started[command.ticket] = {&command, next};
    } else if (command.opcode == Opcode::Wait) {
      if (auto start = started.find(command.ticket); start != started.end())
        roles[start->second.first].isEarly = start->second.second != next;
    }
    if (isKernel || command.opcode == Opcode::Wait)
      ++next;
  }
}

const TraceWriter::Role *TraceWriter::roleOf(const Command &command) const {
  const auto found = roles.find(&command);
  return found == roles.end() ? nullptr : &found->second;
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

/// `text` with what JSON does not allow in a string escaped, in quotes.
static std::string jsonString(const std::string &text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof(code), "\\u%04x", static_cast<unsigned>(c));
      result += code;
    } else {
      result += c;
    }
  }
  return result + "\"";
}

/// Microseconds, as the format has them, to the nanosecond.
static std::string microseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", seconds * 1e6);
  return text;
}

void TraceWriter::addName(int rank, int thread, const char *what,
                          const std::string &name) {
  out += (out.empty() ? "" : ",\n");
  out += std::string("{\"ph\":\"M\",\"name\":\"") + what +
         "\",\"pid\":" + std::to_string(rank) +
         ",\"tid\":" + std::to_string(thread) +
         ",\"args\":{\"name\":" + jsonString(name) + "}}";
}

void TraceWriter::addRank(int rank, const std::string &name) {
  addName(rank, 0, "process_name", name);
  for (Stream stream : kCasesOf<Stream>)
    addName(rank, static_cast<int>(stream), "thread_name", nameOf(stream));
  addName(rank, kCountOf<Stream>, "thread_name", "regions");
}

void TraceWriter::addSlice(int rank, int thread, const std::string &name,
                           const char *category, const TraceTime &time,
                           const std::string &arguments) {
  out += (out.empty() ? "" : ",\n");
  out += "{\"ph\":\"X\",\"name\":" + jsonString(name) + ",\"cat\":\"" +
         category + "\",\"pid\":" + std::to_string(rank) +
         ",\"tid\":" + std::to_string(thread) +
         ",\"ts\":" + microseconds(time.begin) +
         ",\"dur\":" + microseconds(time.end - time.begin) +
         ",\"args\":{\"update\":" + std::to_string(time.update) +
         ",\"micro\":" + std::to_string(time.micro) + arguments + "}}";
}

std::string TraceWriter::amountsOf(const Command &command) const {
  std::string arguments;
  const auto add = [&](const char *key, uint64_t value) {
    arguments += std::string(",\"") + key + "\":" + std::to_string(value);
  };
  if (command.opcode == Opcode::Kernel) {
    const KernelSpec &spec = program.kernels[command.kernel];
    add("bytes", spec.bytes);
    add("flops", spec.flops);
  } else {
    const int ranks = int(program.ranksOf(command.group));
    add("bytes", spannedBytes(command, ranks));
    add("elements", spannedElements(command, ranks));
  }
  return arguments;
}

std::string TraceWriter::placeOf(const Command &command) const {
  std::string arguments;
  if (const Role *role = roleOf(command))
    arguments += std::string(",\"phase\":\"") +
                 (role->isBackward ? "backward" : "forward") + "\"";
  if (!command.location.empty())
    arguments += ",\"location\":" + jsonString(command.location);
  return arguments;
}

void TraceWriter::addCommand(int rank, Stream stream, const Command &command,
                             const TraceTime &time) {
  const Role *role = roleOf(command);
  const char *category = command.opcode == Opcode::Kernel ? "kernel"
                         : role && role->isGather         ? "gather"
                                                          : nameOf(command);
  addSlice(rank, static_cast<int>(stream), titleOf(program, command), category,
           time, amountsOf(command) + placeOf(command));
}

void TraceWriter::addSubmit(int rank, const Command &command,
                            const TraceTime &time) {
  const Role *role = roleOf(command);
  if (!role || !role->isGather)
    return;
  const char *what = role->isEarly ? "prefetch submit" : "fetch submit";
  addSlice(rank, static_cast<int>(Stream::Compute),
           std::string(what) + " " + titleOf(program, command), what, time,
           amountsOf(command) + placeOf(command));
}

void TraceWriter::addWait(int rank, const Command &wait, const Command &started,
                          const TraceTime &time) {
  const Role *role = roleOf(started);
  addSlice(rank, static_cast<int>(Stream::Compute),
           "wait for " + titleOf(program, started),
           role && role->isGather ? "fetch wait" : "wait", time,
           amountsOf(started) + placeOf(wait));
}

void TraceWriter::addRegion(int rank, const std::string &name,
                            const TraceTime &time) {
  addSlice(rank, kCountOf<Stream>, name, "region", time, "");
}

std::string zrt::traceFile(const std::vector<std::string> &events) {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  bool first = true;
  for (const std::string &part : events) {
    if (part.empty())
      continue;
    text += (first ? "" : ",\n") + part;
    first = false;
  }
  return text + "\n]}\n";
}
