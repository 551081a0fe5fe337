#include "trainer/Outputs.h"

#include "data/StoredArrays.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace zrt;

namespace {

struct Named {
  const char *name; ///< the flag, or what it is
  std::string path;
};

struct Location {
  std::string folder, file;
};

Location locationOf(const std::string &path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

/// What tells a file from all others, whatever it is called: its own number,
/// or its folder's and its name where it does not exist yet.
struct Identity {
  dev_t device = 0;
  ino_t number = 0; ///< 0: it cannot be a file
  std::string name;

  bool operator==(const Identity &other) const {
    return number != 0 && number == other.number && device == other.device &&
           name == other.name;
  }
};

Identity identityOf(const std::string &path) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0)
    return S_ISREG(status.st_mode)
               ? Identity{status.st_dev, status.st_ino, ""}
               : Identity(); // what several may write to: /dev/null
  const Location at = locationOf(path);
  if (errno == ENOENT && ::stat(at.folder.c_str(), &status) == 0)
    return {status.st_dev, status.st_ino, at.file};
  return {};
}

/// A file takes the place of what is at its path, which must be nothing or a
/// regular file: a device or a pipe would be lost.
void checkReplaced(const Named &output) {
  const std::string begin = "cannot write '" + output.path + "': ";
  const std::string folder = locationOf(output.path).folder;
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    throw std::runtime_error(begin + "the folder '" + folder +
                             "' does not exist or is not writable");
  struct stat status;
  if (::stat(output.path.c_str(), &status) != 0) {
    if (errno != ENOENT)
      throw std::runtime_error(begin + std::strerror(errno));
  } else if (!S_ISREG(status.st_mode)) {
    throw std::runtime_error(
        begin + "it is " +
        (S_ISDIR(status.st_mode) ? "a folder" : "no regular file") +
        "; name a file for " + output.name);
  }
}

std::vector<Named> given(std::vector<Named> all) {
  std::vector<Named> some;
  for (Named &file : all)
    if (!file.path.empty())
      some.push_back(std::move(file));
  return some;
}

} // namespace

void zrt::checkOutputs(const Options &options) {
  const std::vector<Named> replaced =
      given({{"--save-weights", options.saveWeights},
             {"--save-outputs", options.saveOutputs},
             {"--trace", options.trace},
             {"--dump-file", options.dumpFile},
             {"--calibrate", options.calibrate}});
  std::vector<Named> outputs = given({{"--metrics", options.metrics}});
  outputs.insert(outputs.begin(), replaced.begin(), replaced.end());
  std::vector<Named> inputs = given({{"--weights", options.weights},
                                     {"--tokenizer", options.tokenizer},
                                     {"this executable", "/proc/self/exe"}});
  for (const Named &data :
       given({{"--data", options.data},
              {"--validation-data", options.validationData}}))
    for (const std::string &file : dataFiles(data.path))
      inputs.push_back({data.name, file});
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Identity identity = identityOf(outputs[i].path);
    for (const Named &input : inputs)
      if (identity == identityOf(input.path))
        throw UsageError(std::string(outputs[i].name) + " '" + outputs[i].path +
                         "' would replace " + input.name +
                         ": name another file");
    for (size_t j = 0; j < i; ++j)
      if (identity == identityOf(outputs[j].path))
        throw UsageError(std::string(outputs[j].name) + " and " +
                         outputs[i].name + " are one file, '" +
                         outputs[i].path + "': name two");
  }
  for (const Named &output : replaced)
    checkReplaced(output);
}
