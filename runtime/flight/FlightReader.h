// Reads flight records, of ranks that run or that do no more.
#ifndef ZERO_RUNTIME_FLIGHT_FLIGHTREADER_H
#define ZERO_RUNTIME_FLIGHT_FLIGHTREADER_H

#include "flight/FlightFile.h"

#include <string>
#include <vector>

namespace zrt {

/// One operation of a record, as `FlightEntry`.
struct FlightStep {
  uint64_t number = 0;
  int64_t began = 0;
  bool hasEnded = false;
  uint64_t meeting = 0, signature = 0, update = 0;
  FlightKind kind = FlightKind::Kernel;
  uint32_t group = kNoFlightGroup, region = 0, command = kNoCommand;
  std::string text;
};

/// A record as it was when it was read.
struct FlightRecord {
  std::string path;
  int rank = 0, ranks = 1, stage = 0;
  int64_t process = 0;
  std::string machine, program;
  uint64_t count = 0, update = 0;
  FlightState state = FlightState::Running;
  bool isHeld = false; ///< the process that writes it is there
  std::vector<FlightGroup> groups;
  std::vector<FlightStep> steps; ///< the oldest first

  /// Whether the process has ended without a word.
  bool isLost() const { return !isHeld && state == FlightState::Running; }
};

/// Throws std::runtime_error, naming the path, where there is no record, or one
/// of another version.
FlightRecord readFlight(const std::string &path);

/// The paths of the records in a folder.
std::vector<std::string> listFlights(const std::string &folder);

/// All of a folder, by rank; what cannot be read is not among them.
std::vector<FlightRecord> readFlights(const std::string &folder);

/// The path of a rank's record in a folder.
std::string flightPath(const std::string &folder, int rank);

/// Whether a process writes `path`.
bool isHeldFlight(const std::string &path);

/// Whether the process that writes `path` has ended without a word; reads no
/// more than that takes.
bool isLostFlight(const std::string &path);

} // namespace zrt

#endif // ZERO_RUNTIME_FLIGHT_FLIGHTREADER_H
