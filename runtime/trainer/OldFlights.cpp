#include "trainer/OldFlights.h"

#include "flight/FlightReader.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

using namespace zrt;

namespace fs = std::filesystem;

/// Whether it has records, and no process writes any.
static bool isLeft(const std::string &folder) {
  const std::vector<std::string> paths = listFlights(folder);
  return !paths.empty() &&
         std::none_of(paths.begin(), paths.end(), isHeldFlight);
}

void zrt::removeOldFlights(const std::string &place, size_t keep) {
  std::error_code ignored;
  std::vector<std::pair<fs::file_time_type, fs::path>> left;
  for (const auto &entry : fs::directory_iterator(place, ignored))
    if (entry.path().filename().string().rfind(kFlightFolder, 0) == 0 &&
        isLeft(entry.path().string()))
      left.emplace_back(fs::last_write_time(entry.path(), ignored),
                        entry.path());
  std::sort(left.rbegin(), left.rend());
  for (size_t i = keep; i < left.size(); ++i)
    fs::remove_all(left[i].second, ignored);
}
