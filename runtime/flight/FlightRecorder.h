// Writes down what a rank does, for whoever asks when it does nothing more.
#ifndef ZERO_RUNTIME_FLIGHT_FLIGHTRECORDER_H
#define ZERO_RUNTIME_FLIGHT_FLIGHTRECORDER_H

#include "flight/FlightFile.h"

#include <string>

namespace zrt {

/// The rank that a record is of.
struct FlightOwner {
  int rank = 0, ranks = 1;
  int stage = 0; ///< of a pipeline
  std::string program;
};

/// The number of a meeting in its group, and its signature.
struct FlightMeeting {
  uint32_t group = kNoFlightGroup;
  uint64_t number = 0;
  uint64_t signature = 0;
};

/// The record of one rank, in a file. Any thread may add an operation; the
/// rest is for the thread of the rank.
class FlightRecorder {
public:
  /// Makes the file and takes its memory, so that no write can fail later.
  /// Throws std::runtime_error with the path and the reason.
  FlightRecorder(const std::string &path, const FlightOwner &owner);
  /// The file stays, unless `remove` was called.
  ~FlightRecorder();
  FlightRecorder(const FlightRecorder &) = delete;
  FlightRecorder &operator=(const FlightRecorder &) = delete;

  const std::string &path() const { return where; }
  /// The index of a group; kNoFlightGroup where there are too many.
  uint32_t addGroup(uint64_t id, int ranks, int rank);
  void setUpdate(uint64_t update) { file->header.update = update; }
  /// A region of the program begins; `pass` says of which micro-batch, and may
  /// be empty.
  void beginRegion(const std::string &pass);
  void setState(FlightState state) { file->header.state = state; }
  /// Removes the file. What is written afterwards is lost.
  void remove();

  /// Adds an operation that begins now.
  FlightEntry *begin(FlightKind kind, const std::string &text,
                     uint32_t command);

private:
  void writeText(char *to, const std::string &text, bool isCommand) const;

  const std::string where;
  int descriptor = -1;
  FlightFile *file = nullptr;
  bool removed = false;
  uint32_t region = 0;
  std::string pass;
};

/// An operation of this thread, from its begin until `finish`. One that a
/// failure leaves is never finished. Without a recorder it is nothing.
class FlightOperation {
public:
  FlightOperation(FlightRecorder *recorder, FlightKind kind,
                  const std::string &text, uint32_t command = kNoCommand);
  ~FlightOperation();
  FlightOperation(const FlightOperation &) = delete;
  FlightOperation &operator=(const FlightOperation &) = delete;

  void finish();
  /// Says which meeting it is, or waits for.
  void meet(const FlightMeeting &meeting);

  /// The one that this thread is in; null: none.
  static FlightOperation *current();
  bool isCommand() const { return entry && entry->command != kNoCommand; }
  /// Whether it was told which meeting it is.
  bool hasMet() const { return entry && entry->meeting != 0; }
  std::string text() const { return entry ? entry->text : ""; }
  uint32_t command() const { return entry ? entry->command : kNoCommand; }

private:
  FlightEntry *entry;
  FlightOperation *outer;
};

} // namespace zrt

#endif // ZERO_RUNTIME_FLIGHT_FLIGHTRECORDER_H
