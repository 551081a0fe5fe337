// A file for readers that take a path.
#ifndef ZERO_TOOLS_FUZZ_SCRATCHFILE_H
#define ZERO_TOOLS_FUZZ_SCRATCHFILE_H

#include <string>

namespace fuzz {

/// A file in memory whose name ends in `suffix` and which holds `content`, for
/// as long as this lives.
class ScratchFile {
public:
  ScratchFile(const std::string &content, const std::string &suffix);
  ~ScratchFile();
  ScratchFile(const ScratchFile &) = delete;
  ScratchFile &operator=(const ScratchFile &) = delete;

  const std::string &path() const { return name; }

private:
  std::string name;
};

} // namespace fuzz

#endif // ZERO_TOOLS_FUZZ_SCRATCHFILE_H
