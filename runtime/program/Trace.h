// Timelines as files of Chrome's trace format, which ui.perfetto.dev and
// chrome://tracing open: predicted ones of the compiler and measured ones of
// the runtime look alike.
//
// A rank is a process, a stream a thread; one more thread has the regions. A
// slice's arguments are what its command computes and moves, its update and
// micro-batch, whether that is in its forward or backward, and its place in
// the model. What stage 3 does to bring parameters together has the categories
// of DeepSpeed's counters: "fetch submit", "prefetch submit", "gather" and
// "fetch wait".
#ifndef ZERO_RUNTIME_PROGRAM_TRACE_H
#define ZERO_RUNTIME_PROGRAM_TRACE_H

#include "program/Program.h"

#include <unordered_map>

namespace zrt {

/// Bytes of the buffers of a collective over `ranks` ranks, each where it is
/// whole.
uint64_t spannedBytes(const Command &command, int ranks);

/// Elements of those buffers.
uint64_t spannedElements(const Command &command, int ranks);

/// The title of `command` in pictures and traces: its label, and for a
/// collective on a mesh the axes over which it runs.
std::string titleOf(const Program &program, const Command &command);

/// When something happened, in seconds from the trace's begin.
struct TraceTime {
  double begin = 0, end = 0;
  int64_t update = 0, micro = 0;
};

/// Writes the events of a trace, one a line, as text that `traceFile` joins.
class TraceWriter {
public:
  TraceWriter(const Program &program, std::string &out);

  /// Names a rank's process and its threads.
  void addRank(int rank, const std::string &name);
  /// A kernel, or a collective on its stream.
  void addCommand(int rank, Stream stream, const Command &command,
                  const TraceTime &time);
  /// When compute starts `command`; writes only the gathers of a micro-batch.
  void addSubmit(int rank, const Command &command, const TraceTime &time);
  /// The time in which compute waits for `started`.
  void addWait(int rank, const Command &wait, const Command &started,
               const TraceTime &time);
  /// An update, or a region in one: `name` such as "update 3".
  void addRegion(int rank, const std::string &name, const TraceTime &time);

private:
  /// The role of a command in a micro-batch.
  struct Role {
    bool isBackward = false;
    bool isGather = false; ///< brings parameters together
    bool isEarly = false;  ///< before something else that runs on compute
  };

  void addRoles(const Region &region);
  /// The role of a command of a micro-batch, or null.
  const Role *roleOf(const Command &command) const;
  /// The operations and bytes of `command`, as text.
  std::string amountsOf(const Command &command) const;
  /// The phase in which compute runs or starts `command`, and its place.
  std::string placeOf(const Command &command) const;
  void addSlice(int rank, int thread, const std::string &name,
                const char *category, const TraceTime &time,
                const std::string &arguments);
  void addName(int rank, int thread, const char *what, const std::string &name);

  const Program &program;
  std::string &out;
  std::unordered_map<const Command *, Role> roles;
};

/// The text of a file with these events, those of each rank in one entry.
std::string traceFile(const std::vector<std::string> &events);

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_TRACE_H
