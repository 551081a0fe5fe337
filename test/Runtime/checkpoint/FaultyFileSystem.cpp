#include "FaultyFileSystem.h"

#include "checkpoint/Folder.h"

#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>

using namespace zrt;
using namespace zrt::testing;

//===----------------------------------------------------------------------===//
// Watched
//===----------------------------------------------------------------------===//

namespace {

class WatchedFile final : public OutputFile {
public:
  WatchedFile(WatchedFileSystem &files, const std::string &path)
      : files(files), path(path), file(FileSystem::disk().create(path)) {}
  void append(const void *data, uint64_t bytes) override {
    files.step("append " + path, [&] { file->append(data, bytes / 2); });
    file->append(data, bytes);
  }
  void sync() override { files.step("sync " + path); }

private:
  WatchedFileSystem &files;
  std::string path;
  std::unique_ptr<OutputFile> file;
};

} // namespace

void WatchedFileSystem::step(const std::string &what,
                             const std::function<void()> &half) {
  int operation = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    operation = ++count;
  }
  // Not under the lock: a rank may be made to wait for another.
  if (before)
    before(operation, what, half);
}

bool WatchedFileSystem::makeFolder(const std::string &path) {
  step("make " + path);
  return disk().makeFolder(path);
}
std::unique_ptr<OutputFile> WatchedFileSystem::create(const std::string &path) {
  step("create " + path);
  return std::make_unique<WatchedFile>(*this, path);
}
void WatchedFileSystem::rename(const std::string &from, const std::string &to) {
  step("rename " + from);
  disk().rename(from, to);
}
void WatchedFileSystem::removeFile(const std::string &path) {
  step("remove " + path);
  disk().removeFile(path);
}
void WatchedFileSystem::removeFolder(const std::string &path) {
  step("remove " + path);
  disk().removeFolder(path);
}
void WatchedFileSystem::syncFolder(const std::string &path) {
  step("sync " + path);
}
std::vector<std::string> WatchedFileSystem::list(const std::string &path) {
  return disk().list(path);
}

//===----------------------------------------------------------------------===//
// Losing
//===----------------------------------------------------------------------===//

/// A file or folder as it is, and as it is on the disk.
struct LosingFileSystem::Node {
  bool isFolder = false;
  std::string content, syncedContent;
  std::map<std::string, std::shared_ptr<Node>> names, syncedNames;
};

class LosingFileSystem::File final : public OutputFile {
public:
  File(LosingFileSystem &files, std::shared_ptr<Node> node,
       const std::string &path, bool syncs)
      : files(files), node(std::move(node)), file(disk().create(path)),
        syncs(syncs) {}
  void append(const void *data, uint64_t bytes) override {
    const std::lock_guard<std::recursive_mutex> lock(files.mutex);
    files.step();
    node->content.append(static_cast<const char *>(data), bytes);
    file->append(data, bytes);
  }
  void sync() override {
    const std::lock_guard<std::recursive_mutex> lock(files.mutex);
    files.step();
    if (syncs)
      node->syncedContent = node->content;
  }

private:
  LosingFileSystem &files;
  std::shared_ptr<Node> node;
  std::unique_ptr<OutputFile> file;
  bool syncs;
};

static std::shared_ptr<LosingFileSystem::Node>
readNode(const std::filesystem::path &path) {
  auto node = std::make_shared<LosingFileSystem::Node>();
  node->isFolder = std::filesystem::is_directory(path);
  if (!node->isFolder) {
    node->content = node->syncedContent = readText(path.string());
    return node;
  }
  for (const auto &entry : std::filesystem::directory_iterator(path))
    node->names[entry.path().filename().string()] = readNode(entry.path());
  node->syncedNames = node->names;
  return node;
}

LosingFileSystem::LosingFileSystem(const std::string &root, int stopAt,
                                   std::string neverSynced)
    : root(root), stopAt(stopAt), neverSynced(std::move(neverSynced)),
      top(readNode(root)) {}

LosingFileSystem::~LosingFileSystem() = default;

void LosingFileSystem::step() {
  ++count;
  stopped = stopped || count == stopAt;
  if (stopped)
    throw std::runtime_error("the power is lost");
}

std::shared_ptr<LosingFileSystem::Node>
LosingFileSystem::find(const std::string &path) {
  std::shared_ptr<Node> node = top;
  for (const auto &part : std::filesystem::relative(path, root))
    if (part != ".")
      node = node->names.at(part.string());
  return node;
}

std::shared_ptr<LosingFileSystem::Node> &
LosingFileSystem::parentOf(const std::string &path, std::string &name) {
  static thread_local std::shared_ptr<Node> parent;
  const std::filesystem::path whole(path);
  name = whole.filename().string();
  parent = find(whole.parent_path().string());
  return parent;
}

bool LosingFileSystem::makeFolder(const std::string &path) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  step();
  if (!disk().makeFolder(path))
    return false;
  std::string name;
  auto &parent = parentOf(path, name);
  parent->names[name] = std::make_shared<Node>();
  parent->names[name]->isFolder = true;
  return true;
}

std::unique_ptr<OutputFile> LosingFileSystem::create(const std::string &path) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  step();
  const auto node = std::make_shared<Node>();
  const bool syncs =
      neverSynced.empty() || path.find(neverSynced) == std::string::npos;
  auto file = std::make_unique<File>(*this, node, path, syncs);
  std::string name;
  parentOf(path, name)->names[name] = node;
  return file;
}

void LosingFileSystem::rename(const std::string &from, const std::string &to) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  step();
  disk().rename(from, to);
  std::string name;
  const auto source = parentOf(from, name);
  const std::shared_ptr<Node> node = source->names.at(name);
  source->names.erase(name);
  parentOf(to, name)->names[name] = node;
}

void LosingFileSystem::removeFile(const std::string &path) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  step();
  disk().removeFile(path);
  std::string name;
  parentOf(path, name)->names.erase(name);
}

void LosingFileSystem::removeFolder(const std::string &path) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  step();
  disk().removeFolder(path);
  std::string name;
  parentOf(path, name)->names.erase(name);
}

void LosingFileSystem::syncFolder(const std::string &path) {
  const std::lock_guard<std::recursive_mutex> lock(mutex);
  step();
  const std::shared_ptr<Node> node = find(path);
  if (neverSynced != "/")
    node->syncedNames = node->names;
}

std::vector<std::string> LosingFileSystem::list(const std::string &path) {
  return disk().list(path);
}

namespace {

/// Numbers that a loss decides by.
class Choices {
public:
  Choices(Loss loss, uint64_t seed) : loss(loss), numbers(seed) {}

  bool keepsName() {
    return loss == Loss::Arbitrary ? next() % 2 : loss != Loss::Everything;
  }
  /// What is left of a file's content.
  std::string content(const LosingFileSystem::Node &node) {
    if (loss == Loss::Nothing)
      return node.content;
    if (loss != Loss::Arbitrary || node.content == node.syncedContent)
      return node.syncedContent;
    // The size may be there before the data: sectors of zeros.
    constexpr size_t kSector = 512;
    std::string torn =
        node.content.substr(0, next() % (node.content.size() + 1));
    for (size_t at = node.syncedContent.size(); at < torn.size(); at += kSector)
      if (next() % 3 == 0)
        torn.replace(at, std::min(kSector, torn.size() - at),
                     std::string(std::min(kSector, torn.size() - at), '\0'));
    return torn;
  }

private:
  uint64_t next() { return numbers(); }

  Loss loss;
  std::mt19937_64 numbers;
};

void write(const LosingFileSystem::Node &node, const std::string &path,
           Choices &choices) {
  if (!node.isFolder) {
    std::ofstream(path, std::ios::binary) << choices.content(node);
    return;
  }
  std::filesystem::create_directory(path);
  auto left = node.syncedNames;
  for (const auto &[name, entry] : node.names)
    if (const auto synced = node.syncedNames.find(name);
        (synced == node.syncedNames.end() || synced->second != entry) &&
        choices.keepsName())
      left[name] = entry;
  for (const auto &[name, entry] : node.syncedNames)
    if (!node.names.count(name) && choices.keepsName())
      left.erase(name);
  for (const auto &[name, entry] : left)
    write(*entry, path + "/" + name, choices);
}

} // namespace

void LosingFileSystem::survive(const std::string &folder, Loss loss,
                               uint64_t seed) const {
  std::filesystem::remove_all(folder);
  Choices choices(loss, seed);
  write(*top, folder, choices);
}
