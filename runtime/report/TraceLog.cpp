#include "report/TraceLog.h"

#include "program/Trace.h"

#include <algorithm>
#include <chrono>
#include <map>

using namespace zrt;

namespace {

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool contains(const Region &region, const Command *command) {
  return !region.commands.empty() && command >= region.commands.data() &&
         command < region.commands.data() + region.commands.size();
}

} // namespace

TraceLog::TraceLog(const Program &program, int64_t count, bool timesOperations)
    : program(program), timesOperations(timesOperations) {
  size_t perUpdate = program.apply.commands.size();
  for (size_t pass = 0; pass < program.countPasses(); ++pass)
    perUpdate += program.regionOfPass(pass).commands.size();
  rows.resize(perUpdate * size_t(count));
  updates.resize(size_t(count));
}

Executor::CommandHook TraceLog::hook() {
  return [this](const Command &command, int64_t begin, int64_t end) {
    if (rowCount < rows.size())
      rows[rowCount++] = {&command, begin, end};
  };
}

void TraceLog::beginUpdate(int64_t number) {
  Update &update = updates.at(updateCount);
  update.number = number;
  update.begin = now();
  update.firstRow = rowCount;
}

void TraceLog::endUpdate() {
  Update &update = updates.at(updateCount++);
  update.end = now();
  update.lastRow = rowCount;
}

/// Puts rows on the threads of the trace.
class TraceLog::Lanes {
public:
  Lanes(const TraceLog &log, int rank, std::string &out)
      : program(log.program), timesOperations(log.timesOperations), rank(rank),
        writer(log.program, out), origin(log.updates.front().begin) {
    writer.addRank(rank, "rank " + std::to_string(rank) + ", measured");
  }

  void add(const Update &update, const Row *begin, const Row *end) {
    current.update = update.number;
    current.micro = 0;
    writer.addRegion(rank, "update " + std::to_string(update.number),
                     timeOf(update.begin, update.end));
    size_t passes = 0;
    for (const Row *row = begin; row != end;) {
      // A region's commands come in its order; then it or another begins.
      const Region &region = regionOf(row->command, passes);
      const Row *last = row + 1;
      while (last != end && last->command > last[-1].command &&
             contains(region, last->command))
        ++last;
      if (&region != &program.apply)
        current.micro = microOf(passes);
      writer.addRegion(rank,
                       &region == &program.apply ? "apply" : nameOf(passes),
                       spanOf(row, last));
      passes += &region != &program.apply;
      for (; row != last; ++row)
        addRow(*row);
    }
  }

private:
  /// The region of a command that comes after `passes` passes of an update.
  const Region &regionOf(const Command *command, size_t passes) const {
    if (passes >= program.countPasses())
      return program.apply;
    const Region &next = program.regionOfPass(passes);
    return contains(next, command) ? next : program.apply;
  }

  int64_t microOf(size_t pass) const {
    return program.pipeline.isCut() ? program.pipeline.order[pass].micro
                                    : int64_t(pass);
  }
  /// "micro-batch 3", or "micro-batch 3 backward of chunk 1".
  std::string nameOf(size_t pass) const {
    return "micro-batch " + std::to_string(microOf(pass)) +
           (program.pipeline.isCut()
                ? " " + program.nameOf(program.pipeline.order[pass])
                : "");
  }

  /// From the first to the last of what runs on compute; on the host, that is
  /// everything.
  TraceTime spanOf(const Row *begin, const Row *end) const {
    if (!timesOperations)
      return timeOf(begin->begin, end[-1].end);
    const auto isOnCompute = [](const Row &row) {
      return row.command->stream == Stream::Compute ||
             row.command->opcode == Opcode::Wait;
    };
    while (begin + 1 != end && !isOnCompute(*begin))
      ++begin;
    while (begin + 1 != end && !isOnCompute(end[-1]))
      --end;
    return timeOf(begin->begin, end[-1].end);
  }

  TraceTime timeOf(int64_t begin, int64_t end) const {
    TraceTime time = current;
    time.begin = double(begin - origin) * 1e-9;
    time.end = double(end - origin) * 1e-9;
    return time;
  }

  void addRow(const Row &row) {
    const Command &command = *row.command;
    if (!timesOperations && isFileCopy(program, command)) {
      files[command.ticket].push_back(&row);
    } else if (command.opcode == Opcode::Kernel) {
      writer.addCommand(rank, command.stream, command,
                        timeOf(row.begin, row.end));
    } else if (command.opcode != Opcode::Wait) {
      started[command.ticket] = &row;
    } else if (auto start = started.find(command.ticket);
               start != started.end()) {
      addCollective(*start->second, row);
      started.erase(start);
    } else if (auto copies = files.find(command.ticket);
               copies != files.end()) {
      addFileCopies(copies->second, row);
      files.erase(copies);
    }
  }

  /// What was read or written under one ticket is over with its wait; each has
  /// the part of the time that it has of the bytes.
  void addFileCopies(const std::vector<const Row *> &copies, const Row &wait) {
    const auto bytesOf = [&](const Row *row) {
      return double(bytesCopiedBeside(program, *row->command));
    };
    double all = 0, done = 0;
    for (const Row *row : copies)
      all += bytesOf(row);
    const Command &first = *copies.front()->command;
    int64_t &busy = busyUntil[static_cast<size_t>(first.stream)];
    const int64_t begin = std::max(copies.front()->begin, busy);
    const double span = double(std::max(begin, wait.end) - begin);
    for (const Row *row : copies) {
      const int64_t from = begin + int64_t(span * done / all);
      done += bytesOf(row);
      writer.addCommand(rank, first.stream, *row->command,
                        timeOf(from, begin + int64_t(span * done / all)));
    }
    busy = std::max(busy, wait.end);
    writer.addWait(rank, *wait.command, first, timeOf(wait.begin, wait.end));
  }

  /// Where only the host's times are known: from its start, or the end of the
  /// one before it on its stream, to the end of its wait.
  void addCollective(const Row &start, const Row &wait) {
    const Command &command = *start.command;
    if (timesOperations) {
      writer.addSubmit(rank, command, timeOf(start.begin, start.begin));
      writer.addCommand(rank, command.stream, command,
                        timeOf(start.begin, start.end));
      return writer.addWait(rank, *wait.command, command,
                            timeOf(wait.begin, wait.end));
    }
    writer.addSubmit(rank, command, timeOf(start.begin, start.end));
    const auto stream = static_cast<size_t>(command.stream);
    const int64_t begin = std::max(start.begin, busyUntil[stream]);
    if (command.stream != Stream::Compute) {
      if (begin < wait.end)
        writer.addCommand(rank, command.stream, command,
                          timeOf(begin, wait.end));
      busyUntil[stream] = std::max(busyUntil[stream], wait.end);
    }
    writer.addWait(rank, *wait.command, command, timeOf(wait.begin, wait.end));
  }

  const Program &program;
  bool timesOperations;
  int rank;
  TraceWriter writer;
  int64_t origin;
  TraceTime current;
  std::map<uint32_t, const Row *> started;            ///< by ticket
  std::map<uint32_t, std::vector<const Row *>> files; ///< the same
  int64_t busyUntil[kCountOf<Stream>] = {};
};

std::string TraceLog::events(int rank) const {
  std::string out;
  if (updateCount == 0)
    return out;
  Lanes lanes(*this, rank, out);
  for (size_t i = 0; i < updateCount; ++i)
    lanes.add(updates[i], rows.data() + updates[i].firstRow,
              rows.data() + updates[i].lastRow);
  return out;
}
