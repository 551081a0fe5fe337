//===- List.cpp - which checkpoints there are, and whether they are whole -===//

#include "Modes.h"

#include "checkpoint/Checkpoint.h"
#include "checkpoint/Shard.h"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <stdexcept>

using namespace zrt;

static bool isCheckpoint(const std::string &path) {
  const std::vector<std::string> names = FileSystem::disk().list(path);
  return std::binary_search(names.begin(), names.end(),
                            std::string(kManifestName));
}

[[noreturn]] static void refuseEmpty(const std::string &path) {
  throw std::runtime_error("'" + path +
                           "' has no checkpoint: name a folder that was given "
                           "to --checkpoint, or one of the folders in it");
}

static FoundCheckpoint readCheckpoint(const std::string &path) {
  const std::string manifest = inFolder(path, kManifestName);
  return {path, parseManifest(readText(manifest), manifest)};
}

/// What there is at `path`; throws where there is nothing.
static Checkpoints checkpointsAt(const std::string &path) {
  if (isCheckpoint(path))
    return {{readCheckpoint(path)}, {}, {}};
  Checkpoints found = findCheckpoints(path);
  if (found.complete.empty() && found.broken.empty())
    refuseEmpty(path);
  return found;
}

FoundCheckpoint zrt::openCheckpoint(const std::string &path) {
  if (isCheckpoint(path))
    return readCheckpoint(path);
  std::vector<std::string> remarks;
  const auto newest = takeNewest(path, remarks);
  for (const std::string &remark : remarks)
    std::cerr << "remark: " << remark << std::endl;
  if (!newest)
    refuseEmpty(path);
  return *newest;
}

void zrt::listCheckpoints(const std::string &folder, std::ostream &out) {
  const Checkpoints found = checkpointsAt(folder);
  const auto row = [&](const auto &update, const auto &skipped,
                       const auto &stage, const auto &ranks,
                       const std::string &mesh, const auto &bytes,
                       const std::string &path) {
    out << std::setw(10) << update << std::setw(9) << skipped << std::setw(7)
        << stage << std::setw(7) << ranks << "  " << std::left << std::setw(20)
        << mesh << std::right << std::setw(16) << bytes << "  " << path << "\n";
  };
  row("update", "skipped", "stage", "ranks", "mesh", "bytes", "path");
  for (const FoundCheckpoint &one : found.complete) {
    const Manifest &manifest = one.manifest;
    row(manifest.update, manifest.skipped, manifest.stage, manifest.ranks,
        manifest.mesh.empty() ? "-" : manifest.mesh, manifest.bytes(),
        one.path);
  }
  for (const BrokenCheckpoint &broken : found.broken)
    out << "not complete: " << broken.path << " (" << broken.reason << ")\n";
}

bool zrt::verifyCheckpoints(const std::string &path, std::ostream &out) {
  const Checkpoints found = checkpointsAt(path);
  bool valid = found.broken.empty();
  for (const FoundCheckpoint &one : found.complete) {
    try {
      for (const StoredFile &file : one.manifest.files)
        verifyFile(one.path, file);
      ShardReader reader(one.path, one.manifest);
      out << one.path << ": " << one.manifest.files.size() << " files, "
          << one.manifest.bytes() << " bytes, as they were written\n";
    } catch (const std::exception &error) {
      valid = false;
      out << error.what() << "\n";
    }
  }
  for (const BrokenCheckpoint &broken : found.broken)
    out << "not complete: " << broken.path << " (" << broken.reason << ")\n";
  return valid;
}
