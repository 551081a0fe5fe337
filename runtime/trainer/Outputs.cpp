#include "trainer/Outputs.h"

#include "checkpoint/Folder.h"
#include "data/StoredArrays.h"
#include "io/FileIdentity.h"
#include "io/TensorFiles.h"

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

/// The checkpoints in the folder of --checkpoint; none of "".
std::vector<std::string> ownCheckpoints(const std::string &folder) {
  return folder.empty() ? std::vector<std::string>()
                        : checkpointFolders(folder);
}

/// Throws where an output is a file of a checkpoint, or would be beside some:
/// a checkpoint's folder goes with all that is in it. `folder` is that of
/// --checkpoint, or "".
void checkBesideCheckpoints(const Named &output, const std::string &folder) {
  const std::string place =
      replacedCheckpoint(output.path, ownCheckpoints(folder));
  const std::string begin =
      std::string(output.name) + " '" + output.path + "' would replace ";
  if (!place.empty())
    throw UsageError(begin + "a part of the checkpoint " + place +
                     ": name another file");
  if (!folder.empty() &&
      identityOf(output.path) == identityOf(inFolder(folder, kPointerName)))
    throw UsageError(begin + "the file '" + kPointerName +
                     "' of --checkpoint: name another file");
}

/// Throws where a folder that is written to is that of a checkpoint.
void checkNoCheckpoint(const Named &output, const std::string &folder) {
  const std::string place = replacedCheckpoint(
      inFolder(output.path, "of a rank"), ownCheckpoints(folder));
  if (!place.empty())
    throw UsageError(std::string(output.name) + " '" + output.path +
                     "' is the folder of the checkpoint " + place +
                     ", which is written once: name another folder");
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
  std::vector<Named> inputs = {{"this executable", "/proc/self/exe"}};
  if (!options.weights.empty())
    for (const std::string &file : tensorFilesOf(options.weights))
      inputs.push_back({"--weights", file});
  for (const Named &data :
       given({{"--data", options.data},
              {"--validation-data", options.validationData}}))
    for (const std::string &file : dataFiles(data.path))
      inputs.push_back({data.name, file});
  for (size_t i = 0; i < outputs.size(); ++i) {
    const FileIdentity identity = identityOf(outputs[i].path);
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
  for (const Named &output : outputs)
    checkBesideCheckpoints(output, options.checkpoint);
  for (const Named &folder : given({{"--tensorboard", options.tensorboard},
                                    {"--flight", options.flight}}))
    checkNoCheckpoint(folder, options.checkpoint);
  for (const Named &output : replaced)
    checkReplaced(output);
}
