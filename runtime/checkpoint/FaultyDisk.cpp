#include "checkpoint/FaultyDisk.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

using namespace zrt;

namespace {

/// The update that a checkpoint's file is of: it may be written later.
std::optional<uint64_t> stepOf(const std::string &path) {
  constexpr char kName[] = "/update-";
  const size_t at = path.rfind(kName);
  if (at == std::string::npos)
    return std::nullopt;
  return std::strtoull(path.c_str() + at + sizeof(kName) - 1, nullptr, 10);
}

class FaultyFile final : public OutputFile {
public:
  FaultyFile(std::unique_ptr<OutputFile> file, const std::string &path,
             Faults &faults)
      : file(std::move(file)), path(path), faults(faults) {}

  void append(const void *data, uint64_t bytes) override {
    const auto fault =
        faults.next(kCheckpointOperation, "checkpoint-write", stepOf(path));
    if (!fault)
      return file->append(data, bytes);
    std::vector<char> written(static_cast<const char *>(data),
                              static_cast<const char *>(data) + bytes);
    if (fault == FaultKind::Eio || fault == FaultKind::Enospc)
      fail(fault == FaultKind::Eio ? EIO : ENOSPC);
    if (fault == FaultKind::Torn)
      std::fill(written.begin() + std::ptrdiff_t(bytes / 2), written.end(), 0);
    else if (fault == FaultKind::Flip)
      flipBit(written.data(), written.size(), fault->bit);
    file->append(written.data(), bytes);
  }
  void sync() override { file->sync(); }

private:
  [[noreturn]] void fail(int reason) const {
    throw std::runtime_error(path +
                             ": cannot be written: " + std::strerror(reason));
  }

  std::unique_ptr<OutputFile> file;
  const std::string path;
  Faults &faults;
};

} // namespace

std::unique_ptr<OutputFile> FaultyDisk::create(const std::string &path) {
  return std::make_unique<FaultyFile>(files.create(path), path, faults);
}
