// What a rank measures of a few updates, for the trace.
#ifndef ZERO_RUNTIME_REPORT_TRACELOG_H
#define ZERO_RUNTIME_REPORT_TRACELOG_H

#include "engine/Executor.h"

namespace zrt {

/// Begin and end of each command of some updates. The memory is taken when it
/// is made; recording allocates nothing.
class TraceLog {
public:
  /// Has room for `updates` updates of `program`, which it borrows.
  /// `timesOperations` is the backend's.
  TraceLog(const Program &program, int64_t updates, bool timesOperations);

  /// The hook for the executor; it borrows the log.
  Executor::CommandHook hook();

  /// From here commands are of the update with this number, from 1. Times
  /// count from the first.
  void beginUpdate(int64_t number);
  void endUpdate();

  /// The events of a trace (see program/Trace.h) with `rank` as process.
  std::string events(int rank) const;

private:
  struct Row {
    const Command *command;
    int64_t begin, end;
  };
  struct Update {
    int64_t number = 0, begin = 0, end = 0;
    size_t firstRow = 0, lastRow = 0;
  };
  class Lanes;

  const Program &program;
  bool timesOperations;
  std::vector<Row> rows;
  std::vector<Update> updates;
  size_t rowCount = 0, updateCount = 0;
};

} // namespace zrt

#endif // ZERO_RUNTIME_REPORT_TRACELOG_H
