//===- StageMemory.h - what transfers of a stage have in flight *- C++ -*-===//
#ifndef ZERO_LIB_CONVERSION_STAGEMEMORY_H
#define ZERO_LIB_CONVERSION_STAGEMEMORY_H

#include "program/Program.h"

#include <map>
#include <string>
#include <utility>

namespace zrt {

/// Memory of a stage that transfers have from their start to their wait: what
/// is received is nothing before, and what is sent stays as it is.
class TransferMemory {
public:
  /// A slot and a ticket.
  using Key = std::pair<uint32_t, uint32_t>;

  void start(const Program &program, Key key, const Command &command,
             uint32_t micro);
  void finish(Key key) { ranges.erase(key); }
  /// What `command` of the micro-batch does to such memory; "" where it may.
  std::string findMisuse(const Program &program, const Command &command,
                         uint32_t micro) const;

private:
  struct Range {
    int space = 0;
    uint64_t begin = 0, end = 0;
    bool isReceived = false;
    const Command *command = nullptr;
  };
  static Range rangeOf(const Program &program, const BufferRef &buffer,
                       uint32_t micro);
  std::string findMisuse(const Range &used, bool isWritten) const;

  std::map<Key, Range> ranges;
};

} // namespace zrt

#endif // ZERO_LIB_CONVERSION_STAGEMEMORY_H
