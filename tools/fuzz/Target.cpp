#include "Target.h"

#include "Mutate.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace fuzz;

void fuzz::violation(const std::string &what) {
  std::fprintf(stderr, "violation: %s\n", what.c_str());
  std::abort();
}

std::vector<std::string> fuzz::allSeeds(const Target &target) {
  std::vector<std::string> seeds = target.seeds();
  const std::filesystem::path folder =
      std::filesystem::path(ZERO_FUZZ_CORPUS) / target.name;
  std::vector<std::filesystem::path> paths;
  if (std::filesystem::exists(folder))
    for (const auto &entry : std::filesystem::directory_iterator(folder))
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const std::filesystem::path &path : paths) {
    std::ostringstream content;
    content << std::ifstream(path, std::ios::binary).rdbuf();
    seeds.push_back(content.str());
  }
  return seeds;
}

std::string fuzz::makeBytes(const std::string &seed, const std::string &other,
                            Random &random) {
  return mutateBytes(seed, other, 6, random);
}

std::string fuzz::makeText(const std::string &seed, const std::string &other,
                           Random &random) {
  return mutateText(seed, other, 4, random);
}
