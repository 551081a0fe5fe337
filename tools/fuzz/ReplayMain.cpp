// Fixed counts of nearly right inputs, the same in every run:
//
//   zero-fuzz-runtime --runs 100000               all targets
//   zero-fuzz-runtime --target program --seed 7   other inputs
//   zero-fuzz-runtime --target program FILE...    these inputs, in this process
//   zero-fuzz-runtime --target program --write-seeds FOLDER
//
// A run that ends by a signal, or that is still running after a generous time,
// is a finding (--guard SECONDS); its input is kept. Exits with 1 where there
// are findings.
#include "Target.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fuzz;

namespace {

/// A guard and no measurement: what takes a second here takes minutes nowhere.
constexpr uint64_t kGuardSeconds = 600;
/// Findings of a target after which it ends: one fault has many inputs.
constexpr int kMostFindings = 10;

struct Options {
  std::string target; ///< empty: all
  uint64_t runs = 1000, first = 0, seed = 1, guard = kGuardSeconds;
  std::string writeSeeds;
  std::vector<std::string> files;
};

/// What a child says of itself, in memory that survives it.
struct Progress {
  uint64_t at;       ///< the run that is going on
  uint64_t accepted; ///< runs
};

uint64_t numberOf(const char *text) {
  char *end = nullptr;
  const uint64_t value = std::strtoull(text, &end, 10);
  if (*text == '\0' || *end != '\0')
    throw std::runtime_error("found '" + std::string(text) +
                             "', wanted a whole number");
  return value;
}

Options parseOptions(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0) {
      options.files.push_back(word);
      continue;
    }
    if (++i == argc)
      throw std::runtime_error(word + " needs a value");
    if (word == "--target")
      options.target = argv[i];
    else if (word == "--runs")
      options.runs = numberOf(argv[i]);
    else if (word == "--first")
      options.first = numberOf(argv[i]);
    else if (word == "--seed")
      options.seed = numberOf(argv[i]);
    else if (word == "--guard")
      options.guard = numberOf(argv[i]);
    else if (word == "--write-seeds")
      options.writeSeeds = argv[i];
    else
      throw std::runtime_error("unknown option '" + word + "'");
  }
  if (options.target.empty() &&
      !(options.files.empty() && options.writeSeeds.empty()))
    throw std::runtime_error("give the target of these files: --target NAME");
  return options;
}

/// Input `index`: first the seeds as they are, then nearly right ones.
std::string inputOf(const Target &target, const std::vector<std::string> &seeds,
                    uint64_t seed, uint64_t index) {
  if (index < seeds.size())
    return seeds[index];
  Random random(seed * 0x2545f4914f6cdd1dull + index);
  const std::string &from = random.pick(seeds), &other = random.pick(seeds);
  return target.make(from, other, random);
}

/// Runs [progress.at, end) in a child; the status that wait(2) gives.
int runInChild(const Target &target, const std::vector<std::string> &seeds,
               const Options &options, uint64_t end, Progress &progress) {
  const pid_t child = ::fork();
  if (child < 0)
    throw std::runtime_error("cannot start a process");
  if (child == 0) {
    for (; progress.at < end; ++progress.at) {
      ::alarm(unsigned(options.guard));
      progress.accepted +=
          target.run(inputOf(target, seeds, options.seed, progress.at));
    }
    std::_Exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  return status;
}

std::string describe(int status) {
  if (WIFSIGNALED(status))
    return WTERMSIG(status) == SIGALRM ? "does not end"
                                       : std::string("ended by a signal: ") +
                                             ::strsignal(WTERMSIG(status));
  return "ended with " + std::to_string(WEXITSTATUS(status));
}

/// Runs one target; returns how many findings there are.
int runTarget(const Target &target, const Options &options) {
  const std::vector<std::string> seeds = allSeeds(target);
  auto *progress = static_cast<Progress *>(
      ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (progress == MAP_FAILED)
    throw std::runtime_error("cannot take a page of memory");
  *progress = {options.first, 0};
  const uint64_t end = options.first + options.runs;
  int findings = 0;
  while (progress->at < end && findings < kMostFindings) {
    const int status = runInChild(target, seeds, options, end, *progress);
    if (status == 0)
      continue;
    ++findings;
    const std::string kept = std::string("finding-") + target.name + "-" +
                             std::to_string(options.seed) + "-" +
                             std::to_string(progress->at);
    std::ofstream(kept, std::ios::binary)
        << inputOf(target, seeds, options.seed, progress->at);
    std::cout << target.name << ": run " << progress->at << " "
              << describe(status) << "; its input is in " << kept << std::endl;
    ++progress->at;
  }
  std::cout << target.name << ": " << progress->at - options.first << " runs, "
            << progress->accepted << " accepted, " << findings << " findings"
            << std::endl;
  ::munmap(progress, sizeof(Progress));
  return findings;
}

void writeSeeds(const Target &target, const std::string &folder) {
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const std::string &seed : allSeeds(target))
    std::ofstream(folder + "/seed-" + std::to_string(number++),
                  std::ios::binary)
        << seed;
}

void runFile(const Target &target, const std::string &path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  std::cout << path << ": "
            << (target.run(content.str()) ? "accepted" : "refused")
            << std::endl;
}

int run(const Options &options) {
  int findings = 0, found = 0;
  for (const Target &target : targets()) {
    if (!options.target.empty() && options.target != target.name)
      continue;
    ++found;
    if (!options.writeSeeds.empty()) {
      writeSeeds(target, options.writeSeeds);
    } else if (!options.files.empty()) {
      for (const std::string &file : options.files)
        runFile(target, file);
    } else {
      findings += runTarget(target, options);
    }
  }
  if (!found)
    throw std::runtime_error("there is no target '" + options.target + "'");
  return findings ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  try {
    return run(parseOptions(argc, argv));
  } catch (const std::exception &error) {
    std::cerr << "error: " << error.what() << std::endl;
    return 2;
  }
}
