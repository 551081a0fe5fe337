#include "report/Metrics.h"

#include "report/Report.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>

using namespace zrt;
using Json = nlohmann::ordered_json;

/// Whether a path is that of a file, and not of standard output, which may be a
/// log of other things.
static bool isNamedFile(const std::string &path) {
  std::error_code none;
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const auto status = std::filesystem::status(path, none);
  return folder != "/dev" && folder != "/dev/fd" &&
         folder.rfind("/proc/", 0) != 0 &&
         (!std::filesystem::exists(status) ||
          std::filesystem::is_regular_file(status));
}

/// Cuts off the lines of updates after `updates`, and what is no such line. A
/// pipe has nothing to cut, and reading from it would wait for ever.
static void cutAfter(const std::string &path, int64_t updates) {
  if (!isNamedFile(path))
    return;
  std::ifstream lines(path);
  uint64_t kept = 0;
  for (std::string line; std::getline(lines, line) && !lines.eof();) {
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("step") ||
        !json["step"].is_number_integer() || json["step"] > updates)
      break;
    kept += line.size() + 1;
  }
  std::error_code error; // what cannot be cut cannot be opened, too
  std::filesystem::resize_file(path, kept, error);
}

/// Two runs that write lines would tear them.
static FileHandle lockFile(const std::string &path) {
  if (!isNamedFile(path))
    return {};
  FileHandle handle;
  try {
    handle = FileHandle(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  } catch (const std::runtime_error &) {
    return {}; // what cannot be opened cannot be written, too
  }
  if (!handle.lock())
    throw std::runtime_error("'" + path +
                             "': another run writes its metrics there: wait "
                             "for its end, or name another file");
  return handle;
}

namespace {
/// A pipe whose reader is there: to open one that nobody reads would wait for
/// ever. As long as it is open, the reader sees no end. Nothing of other files.
class ReadPipe {
public:
  explicit ReadPipe(const std::string &path) {
    struct stat status;
    if (::stat(path.c_str(), &status) != 0 || !S_ISFIFO(status.st_mode))
      return;
    descriptor = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
      throw std::runtime_error("cannot write '" + path +
                               "': it is a pipe that nobody reads: start its "
                               "reader before, or name a file");
  }
  ReadPipe(const ReadPipe &) = delete;
  ReadPipe &operator=(const ReadPipe &) = delete;
  ~ReadPipe() {
    if (descriptor >= 0)
      ::close(descriptor);
  }

private:
  int descriptor = -1;
};
} // namespace

Metrics::Metrics(const std::string &path, const Program &program,
                 uint64_t tokensPerUpdate, int64_t updates)
    : path(path), lock(lockFile(path)), program(program),
      tokensPerUpdate(tokensPerUpdate) {
  if (updates > 0)
    cutAfter(path, updates);
  const ReadPipe pipe(path);
  file.open(path, updates > 0 ? std::ios::app : std::ios::trunc);
  if (!file)
    throw std::runtime_error("cannot write '" + path +
                             "': " + describeError(errno));
}

void Metrics::writeLine(const std::string &line) {
  file << line << '\n' << std::flush;
  if (!file)
    throw std::runtime_error("cannot write '" + path +
                             "': " + describeError(errno));
}

void Metrics::update(const UpdateReport &report) {
  Json memory, traffic;
  for (int i = 0; i < kSpaceCount; ++i)
    if (tierOf(i) == Tier::Device || program.arenaBytes[i])
      memory[nameOfSpace(i)] = program.arenaBytes[i];
  const double ranks = program.training.ranks;
  const auto describe = [&](const SentCounts &sent) {
    Json described;
    for (TrafficClass kind : kCasesOf<TrafficClass>) {
      const auto i = static_cast<size_t>(kind);
      if (kind == TrafficClass::Activation && sent.elements[i] == 0)
        continue;
      described[nameOf(kind)] = {{"elements", double(sent.elements[i]) / ranks},
                                 {"bytes", double(sent.bytes[i]) / ranks}};
    }
    return described;
  };
  traffic = describe(report.traffic);
  for (size_t group = 0; group < report.traffic.groups.size(); ++group)
    traffic["groups"][program.mesh.nameOf(uint32_t(group))] =
        describe(report.traffic.groups[group]);
  Json line;
  line["step"] = report.update;
  line["loss"] = report.loss;
  line["grad_norm"] = report.gradientNorm;
  line["lr"] = report.learningRate;
  line["loss_scale"] = report.lossScale;
  line["skipped"] = report.skipped;
  line["tokens_per_s"] =
      report.seconds > 0 ? double(tokensPerUpdate) / report.seconds : 0.0;
  line["step_s"] = report.seconds;
  if (report.deviceSeconds > 0)
    line["device_s"] = report.deviceSeconds;
  line["memory"] = std::move(memory);
  line["traffic"] = std::move(traffic);
  writeLine(line.dump());
}

void Metrics::evaluation(int64_t update, const EvaluationReport &report) {
  Json line;
  line["step"] = update;
  line["validation_loss"] = report.loss;
  for (const auto &[name, value] : report.outputs)
    line["validation_" + name] = value;
  writeLine(line.dump());
}
