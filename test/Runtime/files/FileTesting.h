// Folders and engines for tests of memory in files.
#ifndef ZERO_TEST_RUNTIME_FILES_FILETESTING_H
#define ZERO_TEST_RUNTIME_FILES_FILETESTING_H

#include "files/FileMemory.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <initializer_list>
#include <mutex>
#include <random>
#include <stdexcept>
#include <unistd.h>
#include <vector>

namespace zrt::testing {

using Bytes = std::vector<char>;

inline Bytes randomBytes(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(count);
  for (char &byte : bytes)
    byte = static_cast<char>(random());
  return bytes;
}

/// An empty folder, which goes with all that is in it.
class TestFolder {
public:
  explicit TestFolder(std::string parent = "") {
    if (parent.empty()) {
      const char *folder = std::getenv("TMPDIR");
      parent = folder ? folder : "/tmp";
    }
    name = parent + "/zero-files-XXXXXX";
    if (!::mkdtemp(name.data()))
      throw std::runtime_error("cannot make a folder in " + parent);
  }
  ~TestFolder() { std::filesystem::remove_all(name); }
  TestFolder(const TestFolder &) = delete;
  TestFolder &operator=(const TestFolder &) = delete;

  const std::string &path() const { return name; }
  bool isEmpty() const { return std::filesystem::is_empty(name); }

private:
  std::string name;
};

/// Does nothing until the test says so, on the test's own thread.
class HeldEngine final : public FileEngine {
public:
  void begin(Finished callback) override { finished = std::move(callback); }
  void start(const FileTransfer &transfer) override {
    std::lock_guard<std::mutex> lock(mutex);
    held.push_back(transfer);
  }
  std::string describe() const override { return "the test's engine"; }

  std::vector<FileTransfer> transfers() const {
    std::lock_guard<std::mutex> lock(mutex);
    return held;
  }
  /// Carries out transfer `index` of those that are held.
  void finish(size_t index) {
    const FileTransfer transfer = take(index);
    const auto offset = static_cast<off_t>(transfer.offset);
    const ssize_t done = transfer.isWrite
                             ? ::pwrite(transfer.descriptor, transfer.memory,
                                        transfer.bytes, offset)
                             : ::pread(transfer.descriptor, transfer.memory,
                                       transfer.bytes, offset);
    finished(transfer.slot, done < 0 ? -errno : done);
  }
  /// Reports `result` for it, and moves nothing.
  void report(size_t index, int64_t result) {
    finished(take(index).slot, result);
  }
  void finishAll() {
    while (!transfers().empty())
      finish(0);
  }

private:
  FileTransfer take(size_t index) {
    std::lock_guard<std::mutex> lock(mutex);
    const FileTransfer transfer = held.at(index);
    held.erase(held.begin() + std::ptrdiff_t(index));
    return transfer;
  }

  Finished finished;
  mutable std::mutex mutex;
  std::vector<FileTransfer> held;
};

/// Another engine, whose transfers `fault` may change before they start: it
/// shortens them, or returns a result to report instead of what would happen.
/// `operation` counts from 1.
class FaultyEngine final : public FileEngine {
public:
  static constexpr int64_t kNoFault = INT64_MAX;
  using Fault = std::function<int64_t(int operation, FileTransfer &transfer)>;

  FaultyEngine(std::unique_ptr<FileEngine> inner, Fault fault)
      : fault(std::move(fault)), inner(std::move(inner)) {}

  void begin(Finished finished) override {
    inner->begin([this, finished](uint32_t slot, int64_t result) {
      int64_t instead;
      {
        std::lock_guard<std::mutex> lock(mutex);
        instead = results[slot];
      }
      finished(slot, instead == kNoFault ? result : instead);
    });
  }
  void start(const FileTransfer &transfer) override {
    FileTransfer changed = transfer;
    {
      std::lock_guard<std::mutex> lock(mutex);
      results[changed.slot] = fault(++operations, changed);
      if (results[changed.slot] != kNoFault) {
        changed.bytes = 0;
        changed.isWrite = false;
      }
    }
    inner->start(changed);
  }
  std::string describe() const override { return inner->describe(); }

private:
  std::mutex mutex;
  Fault fault;
  int operations = 0;
  std::map<uint32_t, int64_t> results;
  std::unique_ptr<FileEngine> inner; ///< last: its threads use the others
};

inline FileSettings settingsFor(const TestFolder &folder, uint64_t block = 8192,
                                uint32_t depth = 4) {
  FileSettings settings;
  settings.folder = folder.path();
  settings.blockBytes = block;
  settings.queueDepth = depth;
  return settings;
}

/// What `run` throws, or nothing.
template <typename Error = std::runtime_error, typename Function>
std::string errorOf(Function run) {
  try {
    run();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

/// Checks that `text` has `all` in it.
inline void expectIn(const std::string &text,
                     std::initializer_list<const char *> all) {
  for (const char *part : all)
    EXPECT_NE(text.find(part), std::string::npos)
        << "no '" << part << "' in: " << text;
}

} // namespace zrt::testing

#endif // ZERO_TEST_RUNTIME_FILES_FILETESTING_H
