#include "program/Trace.h"

#include <cstdio>

using namespace zrt;

uint64_t zrt::spannedBytes(const Command &command, int ranks) {
  const bool sliced = command.opcode == Opcode::ReduceScatter ||
                      command.opcode == Opcode::AllGather;
  uint64_t bytes = 0;
  for (const CollectivePart &part : command.parts)
    bytes += part.count * sizeOf(part.type) * (sliced ? uint64_t(ranks) : 1);
  return bytes;
}

std::string zrt::quoted(const std::string &text) {
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
         ",\"args\":{\"name\":" + quoted(name) + "}}";
}

void TraceWriter::addRank(int rank, const std::string &name) {
  addName(rank, 0, "process_name", name);
  for (int stream = 0; stream < kStreamCount; ++stream)
    addName(rank, stream, "thread_name", nameOf(static_cast<Stream>(stream)));
  addName(rank, kStreamCount, "thread_name", "regions");
}

void TraceWriter::addSlice(int rank, int thread, const std::string &name,
                           const char *category, const TraceTime &time,
                           const std::string &arguments) {
  out += (out.empty() ? "" : ",\n");
  out += "{\"ph\":\"X\",\"name\":" + quoted(name) + ",\"cat\":\"" + category +
         "\",\"pid\":" + std::to_string(rank) +
         ",\"tid\":" + std::to_string(thread) +
         ",\"ts\":" + microseconds(time.begin) +
         ",\"dur\":" + microseconds(time.end - time.begin) +
         ",\"args\":{\"update\":" + std::to_string(time.update) +
         ",\"micro\":" + std::to_string(time.micro) + arguments + "}}";
}

static std::string placeOf(const Command &command) {
  return command.location.empty() ? std::string()
                                  : ",\"location\":" + quoted(command.location);
}

void TraceWriter::addCommand(int rank, Stream stream, const Command &command,
                             const TraceTime &time) {
  std::string arguments;
  const auto add = [&](const char *key, uint64_t value) {
    arguments += std::string(",\"") + key + "\":" + std::to_string(value);
  };
  const bool isKernel = command.opcode == Opcode::Kernel;
  if (isKernel) {
    const KernelSpec &spec = program.kernels[command.kernel];
    add("bytes", spec.bytes);
    add("flops", spec.flops);
  } else {
    add("bytes", spannedBytes(command, program.training.ranks));
  }
  addSlice(rank, static_cast<int>(stream), command.label,
           isKernel ? "kernel" : nameOf(command.opcode), time,
           arguments + placeOf(command));
}

void TraceWriter::addWait(int rank, const Command &started,
                          const TraceTime &time) {
  addSlice(rank, static_cast<int>(Stream::Compute), "wait for " + started.label,
           "wait", time, placeOf(started));
}

void TraceWriter::addRegion(int rank, const std::string &name,
                            const TraceTime &time) {
  addSlice(rank, kStreamCount, name, "region", time, "");
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
