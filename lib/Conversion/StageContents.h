//===- StageContents.h - what is in the slots of a stash --------*- C++ -*-===//
#ifndef ZERO_LIB_CONVERSION_STAGECONTENTS_H
#define ZERO_LIB_CONVERSION_STAGECONTENTS_H

#include "program/Program.h"

#include <map>
#include <string>

namespace zrt {

/// Whether a kernel writes a buffer: its results, and of those without any what
/// they have as operands behind the first one.
bool writesBuffer(const Program &program, const Command &command,
                  size_t buffer);

/// The bytes of a stage's stash that passes of the micro-batch have written
/// which each slot is of.
class StashContents {
public:
  /// A slot of a ring gets another micro-batch, of which it has nothing but
  /// inputs.
  void fill(const Program &program, size_t ring, uint32_t micro);
  /// What `command` of the micro-batch reads that nothing has written; "" where
  /// there is nothing such. What it writes is there from now on.
  std::string visit(const Program &program, const Command &command,
                    uint32_t micro);

private:
  void add(uint64_t begin, uint64_t end);
  void remove(uint64_t begin, uint64_t end);
  bool has(uint64_t begin, uint64_t end) const;

  /// From the first byte to the one behind the last, none next to another.
  std::map<uint64_t, uint64_t> written;
};

} // namespace zrt

#endif // ZERO_LIB_CONVERSION_STAGECONTENTS_H
