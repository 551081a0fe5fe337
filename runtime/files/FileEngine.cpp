#include "files/FileEngine.h"

#include "files/ThreadEngine.h"
#include "files/UringEngine.h"

#include <stdexcept>

using namespace zrt;

FileEngine::~FileEngine() = default;

std::unique_ptr<FileEngine> zrt::makeFileEngine(uint32_t depth,
                                                FileEngineKind kind) {
  if (kind == FileEngineKind::Threads)
    return std::make_unique<ThreadEngine>(depth, "");
  std::string reason;
  if (auto engine = UringEngine::make(depth, reason))
    return engine;
  if (kind == FileEngineKind::Uring)
    throw std::runtime_error("io_uring: " + reason +
                             ": use threads for reads and writes of files");
  return std::make_unique<ThreadEngine>(depth, "io_uring: " + reason);
}
