// A file that lives as long as a test.
#ifndef ZERO_TEST_RUNTIME_TEMPORARYFILE_H
#define ZERO_TEST_RUNTIME_TEMPORARYFILE_H

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace zrt::test {

class TemporaryFile {
public:
  /// A new file whose name ends in `suffix`, holding `content`.
  explicit TemporaryFile(const std::string &suffix,
                         const std::string &content = "") {
    const char *folder = std::getenv("TMPDIR");
    name = std::string(folder ? folder : "/tmp") + "/zero-test-XXXXXX" + suffix;
    const int file = ::mkstemps(name.data(), int(suffix.size()));
    if (file < 0)
      throw std::runtime_error("cannot make a temporary file");
    ::close(file);
    std::ofstream(name, std::ios::binary) << content;
  }
  ~TemporaryFile() { ::unlink(name.c_str()); }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  const std::string &path() const { return name; }
  std::string content() const {
    std::ifstream file(name, std::ios::binary);
    std::ostringstream stream;
    stream << file.rdbuf();
    return stream.str();
  }

private:
  std::string name;
};

} // namespace zrt::test

#endif // ZERO_TEST_RUNTIME_TEMPORARYFILE_H
