//===- zero-flight.cpp - what the ranks of a run did last -----------------===//
//
//   zero-flight /dev/shm/zero-flight-3f0c/rank-*
//
// Joins the records that a run has left, or that it is writing. Exit codes: 0;
// 1 where something cannot be read; 2 for wrong options.
//
//===----------------------------------------------------------------------===//

#include "../Version.h"

#include "flight/FlightReport.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <algorithm>
#include <exception>
#include <iostream>

using namespace zrt;

int main(int argc, char **argv) {
  std::vector<std::string> files;
  uint32_t last = 0;
  CLI::App app("Joins the records of the ranks of a run: what each did last, "
               "who arrived where others wait, and where ranks parted.");
  app.add_option("record", files, "the records, rank-N of a run's folder")
      ->type_name("FILE")
      ->required();
  app.add_option("--last", last,
                 "list the last N operations of each rank, too; a record has "
                 "1024 (default 0)")
      ->type_name("N");
  app.set_version_flag("--version", zero_tools::versionText("zero-flight"));
  try {
    app.parse(argc, argv);
    std::vector<FlightRecord> records;
    for (const std::string &file : files)
      records.push_back(readFlight(file));
    std::sort(records.begin(), records.end(),
              [](const FlightRecord &a, const FlightRecord &b) {
                return a.rank < b.rank;
              });
    std::cout << describeFlights(records);
    for (const FlightRecord &record : records)
      if (last > 0)
        std::cout << "\nrank " << record.rank << ":\n"
                  << listFlight(record, last);
    std::cout << std::flush;
    if (std::cout)
      return 0;
    std::cerr << "error: standard output cannot be written" << std::endl;
  } catch (const CLI::Success &help) {
    return app.exit(help);
  } catch (const CLI::ParseError &error) {
    std::cerr << "error: " << error.what() << std::endl;
    return 2;
  } catch (const std::exception &error) {
    std::cerr << "error: " << error.what() << std::endl;
  }
  return 1;
}
