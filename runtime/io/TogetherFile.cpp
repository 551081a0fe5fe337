#include "io/TogetherFile.h"

#include "io/Digest.h"
#include "io/Together.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <unistd.h>
#include <utility>

using namespace zrt;

/// Bytes of a file's name that leave room for an ending in the 255 that file
/// systems take.
static constexpr size_t kMostOfName = 220;

/// A name beside `path` that no other run writes to; the same on all ranks.
static std::string partialName(const std::string &path,
                               Communicator &communicator) {
  const uint64_t tag = sharedTag(communicator);
  const size_t name = path.rfind('/') + 1; // 0 without a slash
  return path.substr(0, name + kMostOfName) + ".partial-" + hexadecimal(tag);
}

/// Puts the finished file in its place.
static void replace(const std::string &partial, const std::string &path) {
  if (std::rename(partial.c_str(), path.c_str()) != 0)
    throw std::runtime_error(path + ": cannot be replaced by " + partial +
                             ": " + std::strerror(errno));
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "."
                       : slash == 0               ? "/"
                                                  : path.substr(0, slash);
  FileHandle(folder, O_RDONLY | O_DIRECTORY).sync();
}

TogetherFile::TogetherFile(
    std::string at, Communicator &ranks,
    const std::function<std::vector<TensorEntry>()> &list)
    : path(std::move(at)), communicator(ranks),
      partial(partialName(path, communicator)) {
  const bool first = communicator.rank() == 0;
  try {
    together(communicator, [&] {
      entries = list();
      const std::string header =
          makeSafeTensorsHeader(entries, {{"format", "pt"}});
      dataBegin = header.size();
      if (!first)
        return;
      file = FileHandle(partial, O_WRONLY | O_CREAT | O_EXCL, 0666);
      file.resize(dataBegin + (entries.empty() ? 0 : entries.back().end));
      file.write(0, header.data(), header.size());
    });
    together(communicator, [&] {
      if (!first)
        file = FileHandle(partial, O_WRONLY);
    });
  } catch (...) {
    if (first)
      unlink(partial.c_str());
    throw;
  }
}

TogetherFile::~TogetherFile() {
  if (communicator.rank() == 0 && !partial.empty())
    unlink(partial.c_str());
}

void TogetherFile::write(size_t tensor, uint64_t offset, const void *from,
                         uint64_t bytes) const {
  file.write(dataBegin + entries[tensor].begin + offset, from, bytes);
}

void TogetherFile::publish(const std::string &error) {
  together(communicator, [&] {
    if (!error.empty())
      throw std::runtime_error(error);
    file.sync();
  });
  together(communicator, [&] {
    if (communicator.rank() == 0)
      replace(partial, path);
  });
  partial.clear();
}
