//===- StageFaults.h - what is wrong with stages before they run *- C++ -*-===//
#ifndef ZERO_LIB_CONVERSION_STAGEFAULTS_H
#define ZERO_LIB_CONVERSION_STAGEFAULTS_H

#include "program/Program.h"

#include <optional>
#include <string>
#include <vector>

namespace zrt {

/// The ring of the stash that a buffer is in; none where it is elsewhere.
std::optional<size_t> ringOf(const Program &program, const BufferRef &buffer);

/// Calls `visit` with each buffer of a command.
template <typename Visit>
void forEachBuffer(const Command &command, Visit visit) {
  for (const BufferRef &buffer : command.buffers)
    visit(buffer);
  for (const CollectivePart &part : command.parts) {
    visit(part.send);
    visit(part.receive);
  }
}

/// "receive value 0" and "send value 0" are about one value.
std::string valueOf(const Command &command);

/// What is wrong with each stage by itself, and with parameters that several of
/// them have, which are one parameter; "" where nothing is.
std::string findStaticFault(const std::vector<Program> &stages);

} // namespace zrt

#endif // ZERO_LIB_CONVERSION_STAGEFAULTS_H
