#include "checkpoint/Folder.h"

#include "io/Digest.h"
#include "io/FileIdentity.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace zrt;

static constexpr const char *kPrefix = "update-";
/// Of what is being written, of what is being removed, and of what had the name
/// of a checkpoint and was none.
static constexpr const char *kPartial = ".partial", *kRemoved = ".removed",
                            *kDamaged = ".damaged";
/// Of the file by which ranks find out whether they see one folder.
static constexpr const char *kProbe = "probe-";

std::string zrt::checkpointName(int64_t update) {
  char text[40];
  std::snprintf(text, sizeof(text), "%s%010lld", kPrefix,
                static_cast<long long>(update));
  return text;
}

std::string zrt::inFolder(const std::string &path, const std::string &name) {
  return path.empty() || path.back() == '/' ? path + name : path + "/" + name;
}

/// The update that a name stands for; -1 where it is no checkpoint's.
static int64_t updateOf(const std::string &name) {
  const std::string prefix = kPrefix;
  int64_t update = -1;
  if (name.rfind(prefix, 0) != 0)
    return -1;
  const char *end = name.data() + name.size();
  const auto [stop, error] =
      std::from_chars(name.data() + prefix.size(), end, update);
  const bool isOurs = error == std::errc() && stop == end && update >= 0 &&
                      checkpointName(update) == name;
  return isOurs ? update : -1;
}

/// Whether a crash has left it.
static bool isLeft(const std::string &name) {
  for (const std::string ending : {kPartial, kRemoved}) {
    if (name.size() <= ending.size() ||
        name.compare(name.size() - ending.size(), ending.size(), ending) != 0)
      continue;
    const std::string stem = name.substr(0, name.size() - ending.size());
    if (updateOf(stem) >= 0 || stem == kPointerName ||
        stem.rfind(kProbe, 0) == 0)
      return true;
  }
  return false;
}

/// Whether it is what could not be read when its update was saved again.
static bool isSetAside(const std::string &name) {
  const size_t ending = name.find(kDamaged);
  return ending != std::string::npos && updateOf(name.substr(0, ending)) >= 0;
}

/// Adds the folder of a checkpoint to what it is.
static void addCheckpoint(const std::string &path, int64_t update,
                          Checkpoints &found) {
  const std::string file = inFolder(path, kManifestName);
  std::string text;
  try {
    text = readText(file);
  } catch (const std::exception &error) {
    // Where a link leads nowhere, its target may be on another machine.
    struct stat status;
    const bool isMissing = ::lstat(file.c_str(), &status) != 0 &&
                           (errno == ENOENT || errno == ENOTDIR) &&
                           ::stat(path.c_str(), &status) == 0;
    found.broken.push_back({path, error.what(), !isMissing});
    return;
  }
  try {
    const Manifest manifest = parseManifest(text, file);
    if (manifest.update != update)
      throw std::runtime_error(file + ": is of update " +
                               std::to_string(manifest.update) +
                               ", wanted that of its folder's name");
    found.complete.push_back({path, manifest});
  } catch (const OtherVersion &error) {
    found.broken.push_back({path, error.what(), true});
  } catch (const std::exception &error) {
    found.broken.push_back({path, error.what(), false});
  }
}

Checkpoints zrt::findCheckpoints(const std::string &folder) {
  Checkpoints found;
  for (const std::string &name : FileSystem::disk().list(folder)) {
    const std::string path = inFolder(folder, name);
    if (const int64_t update = updateOf(name); update >= 0)
      addCheckpoint(path, update, found);
    else if (isSetAside(name))
      found.damaged.push_back(path);
  }
  // Their names are in this order while numbers have as many digits.
  std::sort(found.complete.begin(), found.complete.end(),
            [](const FoundCheckpoint &a, const FoundCheckpoint &b) {
              return a.manifest.update < b.manifest.update;
            });
  return found;
}

std::vector<std::string> zrt::checkpointFolders(const std::string &folder) {
  std::vector<std::string> paths;
  for (const std::string &name : FileSystem::disk().list(folder))
    if (updateOf(name.substr(0, name.find('.'))) >= 0)
      paths.push_back(inFolder(folder, name));
  return paths;
}

/// Whether a folder is a checkpoint's, of whatever run. Others have files of
/// that name, too.
static bool hasManifest(const std::string &folder) {
  try {
    return readText(inFolder(folder, kManifestName)).find(kManifestFormat) !=
           std::string::npos;
  } catch (const std::exception &) {
    return false;
  }
}

std::string
zrt::replacedCheckpoint(const std::string &path,
                        const std::vector<std::string> &checkpoints) {
  const FileIdentity identity = identityOf(path);
  const std::string folder = locationOf(path).folder;
  if (hasManifest(folder))
    return folder;
  for (const std::string &checkpoint : checkpoints) {
    if (areOneFolder(folder, checkpoint))
      return checkpoint;
    if (!areOneFolder(checkpoint, checkpoint)) // a file of that name
      continue;
    for (const std::string &name : FileSystem::disk().list(checkpoint))
      if (identity == identityOf(inFolder(checkpoint, name)))
        return checkpoint;
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

static int64_t updateOfPath(const std::string &path) {
  return updateOf(path.substr(path.rfind('/') + 1));
}

/// What the pointer of a folder holds; nothing where there is none.
static std::optional<std::string> readPointer(const std::string &folder) {
  const std::string path = inFolder(folder, kPointerName);
  struct stat status;
  if (::lstat(path.c_str(), &status) != 0 && errno == ENOENT)
    return std::nullopt;
  std::string name = readText(path);
  name.erase(name.find_last_not_of('\n') + 1);
  return name;
}

/// Throws where a folder is a checkpoint, and not one of some.
static void refuseCheckpoint(const std::string &folder) {
  struct stat status;
  if (::lstat(inFolder(folder, kManifestName).c_str(), &status) == 0)
    throw std::runtime_error(folder + " is a checkpoint itself: name the "
                                      "folder that holds it");
}

/// A name that may be the content of any file.
static std::string shortened(const std::string &name) {
  constexpr size_t kMost = 80;
  return name.size() <= kMost ? name : name.substr(0, kMost) + "...";
}

/// Throws where a folder has something, and no complete checkpoint.
static void refuseNone(const std::string &folder, const Checkpoints &found) {
  const std::string advice =
      ": restore it, or name another folder for a new run";
  refuseCheckpoint(folder);
  if (!found.broken.empty())
    throw std::runtime_error(
        found.broken.back().path + " is not complete (" +
        found.broken.back().reason +
        "), and there is no other checkpoint: restore it, remove it to start "
        "again, or name another folder");
  if (!found.damaged.empty())
    throw std::runtime_error(found.damaged.back() +
                             " could not be read when its update was saved "
                             "again, and there is no other checkpoint" +
                             advice);
  if (const auto name = readPointer(folder))
    throw std::runtime_error(inFolder(folder, kPointerName) + " names '" +
                             shortened(*name) +
                             "', and there is no checkpoint" + advice);
}

std::optional<FoundCheckpoint>
zrt::takeNewest(const std::string &folder, std::vector<std::string> &remarks) {
  const Checkpoints found = findCheckpoints(folder);
  if (found.complete.empty()) {
    refuseNone(folder, found);
    return std::nullopt;
  }
  const FoundCheckpoint &newest = found.complete.back();
  const int64_t update = newest.manifest.update;
  for (const BrokenCheckpoint &broken : found.broken) {
    if (updateOfPath(broken.path) < update)
      continue;
    if (broken.mayBeWhole)
      throw std::runtime_error(
          broken.path + " cannot be read here (" + broken.reason +
          "), and is newer than " + newest.path +
          ": make it readable, or move it away to go on from the older one");
    remarks.push_back(broken.path + " is not complete and is passed over (" +
                      broken.reason + ")");
  }
  const auto name = readPointer(folder);
  if (name && (updateOf(*name) < 0 || updateOf(*name) > update))
    remarks.push_back(inFolder(folder, kPointerName) + " names " +
                      (name->empty() ? "nothing" : shortened(*name)) +
                      ", which is not there or not complete; the newest "
                      "complete checkpoint is taken");
  return newest;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static std::string folderAbove(const std::string &path) {
  const size_t end = path.find_last_not_of('/');
  const size_t slash = path.rfind('/', end);
  if (end == std::string::npos || slash == 0)
    return "/";
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

void CheckpointFolder::make() {
  refuseCheckpoint(path);
  if (files.makeFolder(path))
    files.syncFolder(folderAbove(path));
  if (::access(path.c_str(), W_OK | X_OK) != 0)
    throw std::runtime_error(
        path + ": the folder is not writable: " + std::strerror(errno));
}

std::string CheckpointFolder::partialPath(const std::string &folder,
                                          int64_t update) {
  return inFolder(folder, checkpointName(update) + kPartial);
}

std::string CheckpointFolder::probePath(const std::string &folder,
                                        uint64_t tag) {
  return inFolder(folder, kProbe + hexadecimal(tag) + kPartial);
}

bool CheckpointFolder::begin(int64_t update) {
  make();
  clean();
  const std::string name = checkpointName(update);
  const Checkpoints found = findCheckpoints(path);
  for (const FoundCheckpoint &old : found.complete)
    if (old.manifest.update >= update)
      throw std::runtime_error(
          old.path +
          (old.manifest.update == update
               ? ": this checkpoint exists"
               : ": this checkpoint is newer than update " +
                     std::to_string(update) + ", which is to be saved") +
          ": name another folder, or remove it");
  for (const BrokenCheckpoint &broken : found.broken)
    if (broken.path == inFolder(path, name))
      setAside(broken);
  files.makeFolder(partialPath(path, update));
  return true;
}

void CheckpointFolder::write(const std::string &folder, const std::string &name,
                             const std::string &text) {
  const std::string final = inFolder(folder, name), partial = final + kPartial;
  {
    const auto file = files.create(partial);
    file->append(text.data(), text.size());
    file->sync();
  }
  files.rename(partial, final);
  files.syncFolder(folder);
}

bool CheckpointFolder::isPointedBeyond(int64_t update) const {
  std::string name;
  try {
    name = readPointer(path).value_or("");
  } catch (const std::exception &) {
    return false; // and it is replaced by one that can be read
  }
  struct stat status;
  return updateOf(name) > update &&
         ::lstat(inFolder(path, name).c_str(), &status) == 0;
}

void CheckpointFolder::commit(const Manifest &manifest) {
  const std::string name = checkpointName(manifest.update);
  const std::string partial = partialPath(path, manifest.update);
  // The files' names first: a manifest promises them.
  files.syncFolder(partial);
  write(partial, kManifestName, writeManifest(manifest));
  files.rename(partial, inFolder(path, name));
  files.syncFolder(path);
  if (!isPointedBeyond(manifest.update))
    write(path, kPointerName, name + "\n");
}

/// Removes a folder, whatever name it has: all of it that can be removed.
void CheckpointFolder::remove(const std::string &name) {
  std::string left = name;
  if (!isLeft(name)) {
    // Without its name before it is without its files.
    left = name + kRemoved;
    files.rename(inFolder(path, name), inFolder(path, left));
    files.syncFolder(path);
  }
  const std::string folder = inFolder(path, left);
  std::string reason;
  for (const std::string &file : files.list(folder)) {
    try {
      files.removeFile(inFolder(folder, file));
    } catch (const std::exception &error) {
      if (reason.empty())
        reason = error.what();
    }
  }
  if (!reason.empty())
    throw std::runtime_error(reason);
  files.removeFolder(folder);
}

/// What cannot be removed costs room, and no run.
void CheckpointFolder::tryToRemove(const std::string &name) {
  try {
    remove(name);
  } catch (const std::exception &error) {
    remarks.push_back("an old checkpoint stays: " + std::string(error.what()) +
                      "; remove it by hand");
  }
}

/// It may be all that is left of a run: it is kept, under a name that nobody
/// reads.
void CheckpointFolder::setAside(const BrokenCheckpoint &broken) {
  const std::vector<std::string> names = files.list(path);
  const std::string first =
      broken.path.substr(broken.path.rfind('/') + 1) + kDamaged;
  std::string name = first;
  for (int number = 2; std::binary_search(names.begin(), names.end(), name);
       ++number)
    name = first + "-" + std::to_string(number);
  files.rename(broken.path, inFolder(path, name));
  files.syncFolder(path);
  remarks.push_back(broken.path + " cannot be read (" + broken.reason +
                    ") and is kept as " + inFolder(path, name));
}

void CheckpointFolder::clean() {
  for (const std::string &name : files.list(path)) {
    if (!isLeft(name))
      continue;
    if (updateOf(name.substr(0, name.rfind('.'))) < 0)
      files.removeFile(inFolder(path, name));
    else
      tryToRemove(name);
  }
}

std::vector<std::string> CheckpointFolder::takeRemarks() {
  return std::exchange(remarks, {});
}

void CheckpointFolder::abandon(int64_t update) noexcept {
  try {
    remove(checkpointName(update) + kPartial);
  } catch (const std::exception &) {
    // The next checkpoint removes it.
  }
}

void CheckpointFolder::prune(int64_t keep) {
  const std::vector<FoundCheckpoint> complete = findCheckpoints(path).complete;
  for (size_t i = 0; i + size_t(keep) < complete.size(); ++i)
    tryToRemove(checkpointName(complete[i].manifest.update));
}

//===----------------------------------------------------------------------===//
// Locking
//===----------------------------------------------------------------------===//

FolderLock::FolderLock(const std::string &path)
    : folder(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) {
  if (!folder.lock())
    throw std::runtime_error(path +
                             ": another run writes its checkpoints there: "
                             "wait for its end, or name another folder");
}
