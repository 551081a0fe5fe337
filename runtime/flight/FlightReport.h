// What the records of ranks say together.
#ifndef ZERO_RUNTIME_FLIGHT_FLIGHTREPORT_H
#define ZERO_RUNTIME_FLIGHT_FLIGHTREPORT_H

#include "flight/FlightReader.h"

#include <string>
#include <vector>

namespace zrt {

/// Lines for people, with a newline behind each: what each rank does, or did
/// last; of each group in which ranks wait, who arrived and who did not; and
/// where ranks parted, with the operation, its parameter and its line. Ranks
/// that no record is of are named. `records` are those of one run, by rank.
/// Throws std::invalid_argument where they are not.
std::string describeFlights(const std::vector<FlightRecord> &records);

/// "in update 3, in wait for all-gather '@w' at model.mlir:1:1", or what it did
/// last.
std::string describeLast(const FlightRecord &record);

/// The last `count` operations of a rank, one a line, with the seconds from the
/// begin of the first to that of each.
std::string listFlight(const FlightRecord &record, size_t count);

} // namespace zrt

#endif // ZERO_RUNTIME_FLIGHT_FLIGHTREPORT_H
