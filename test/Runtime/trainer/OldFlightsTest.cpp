// Which records of earlier runs stay.
#include "trainer/OldFlights.h"

#include "flight/FlightReader.h"
#include "flight/FlightRecorder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

using namespace zrt;

namespace fs = std::filesystem;

namespace {

TEST(OldFlights, TheNewestAndThoseInUseStay) {
  std::string place = (fs::temp_directory_path() / "zero-test-XXXXXX").string();
  ASSERT_NE(::mkdtemp(place.data()), nullptr);
  const auto folderOf = [&](int run) {
    return place + "/" + kFlightFolder + std::to_string(run);
  };
  for (int run = 0; run < 5; ++run) {
    fs::create_directory(folderOf(run));
    FlightRecorder(flightPath(folderOf(run), 0), {});
    fs::last_write_time(folderOf(run),
                        fs::file_time_type() + std::chrono::hours(run));
  }
  // The oldest is in use, one is being made, and one is something else.
  const FlightRecorder used(flightPath(folderOf(0), 1), {});
  fs::create_directory(folderOf(5));
  fs::create_directory(place + "/other");
  removeOldFlights(place, 2);
  for (const int run : {0, 3, 4, 5})
    EXPECT_TRUE(fs::exists(folderOf(run))) << run;
  for (const int run : {1, 2})
    EXPECT_FALSE(fs::exists(folderOf(run))) << run;
  EXPECT_TRUE(fs::exists(place + "/other"));
  removeOldFlights(place + "/missing", 2);
  fs::remove_all(place);
}

} // namespace
