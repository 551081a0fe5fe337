// One safetensors file that all ranks write.
#ifndef ZERO_RUNTIME_IO_TOGETHERFILE_H
#define ZERO_RUNTIME_IO_TOGETHERFILE_H

#include "communicator/Communicator.h"
#include "io/SafeTensors.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace zrt {

/// A safetensors file in the making, called by all ranks. Each sees the folder.
/// Where one rank fails all do: std::runtime_error there, PeerError on the
/// others.
class TogetherFile {
public:
  /// Makes a file of what `list` returns, the same on all ranks, under another
  /// name beside `path`.
  TogetherFile(std::string path, Communicator &communicator,
               const std::function<std::vector<TensorEntry>()> &list);
  /// Removes what was not published.
  ~TogetherFile();
  TogetherFile(const TogetherFile &) = delete;
  TogetherFile &operator=(const TogetherFile &) = delete;

  const std::vector<TensorEntry> &tensors() const { return entries; }

  /// Writes `bytes` of tensor `tensor` from byte `offset` of it on. By this
  /// rank alone: throws std::runtime_error.
  void write(size_t tensor, uint64_t offset, const void *from,
             uint64_t bytes) const;

  /// Puts the file in the place of what is at `path`, where no rank has an
  /// `error`.
  void publish(const std::string &error = "");

private:
  std::string path;
  Communicator &communicator;
  std::string partial; ///< empty: nothing to remove
  FileHandle file;
  std::vector<TensorEntry> entries;
  uint64_t dataBegin = 0;
};

} // namespace zrt

#endif // ZERO_RUNTIME_IO_TOGETHERFILE_H
