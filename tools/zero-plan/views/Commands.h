//===- Commands.h - the commands of an update, counted by kind ------------===//
#ifndef ZERO_PLAN_COMMANDS_H
#define ZERO_PLAN_COMMANDS_H

#include "zero/Timeline/Timeline.h"

#include "llvm/Support/JSON.h"

namespace mlir::zero {

/// What commands do, as the table of kernels and the command itself say.
enum class CommandKind {
  Product,    ///< matrix products
  Attention,  ///< products over pairs of a query and a key
  Generated,  ///< outlined arithmetic on elements
  Move,       ///< computes nothing: splits, joins, transposes, copies
  Other,      ///< all other kernels
  Beside,     ///< kernels and copies on another stream than compute
  Collective, ///< what ranks start together
};

/// Commands of one kind and name in an update.
struct CommandLine {
  CommandKind kind = CommandKind::Other;
  std::string name;
  int64_t count = 0;
  /// What kernels read and write, or what collectives span, in bytes; and
  /// operations on elements.
  uint64_t bytes = 0, flops = 0;
};

/// The commands of one update by kind, and of a kind with the most bytes first.
/// Waits are none.
SmallVector<CommandLine> countCommands(const Timeline &timeline);

/// Prints a line for each kind, and below it one for each name.
void printCommands(ArrayRef<CommandLine> lines);

/// The same as an attribute `commands` of the object that is being written.
void writeCommands(llvm::json::OStream &json, ArrayRef<CommandLine> lines);

} // namespace mlir::zero

#endif // ZERO_PLAN_COMMANDS_H
