//===- Commands.cpp - the commands of an update, counted by kind ----------===//

#include "Commands.h"

#include "Table.h"

#include "program/KernelSchema.h"

#include <map>

using namespace mlir;
using namespace mlir::zero;

static StringRef stringify(CommandKind kind) {
  switch (kind) {
  case CommandKind::Product:
    return "products";
  case CommandKind::Attention:
    return "attention";
  case CommandKind::Generated:
    return "generated";
  case CommandKind::Move:
    return "moves";
  case CommandKind::Other:
    return "others";
  case CommandKind::Beside:
    return "beside compute";
  case CommandKind::Collective:
    return "collectives";
  }
  llvm_unreachable("a kind without a name");
}

/// Whether the command launches a kernel where the compute stream is.
static bool isLaunch(CommandKind kind) { return kind < CommandKind::Beside; }

static CommandKind kindOf(const zrt::Command &command,
                          const zrt::KernelSpec &spec) {
  if (zrt::runsBeside(command))
    return CommandKind::Beside;
  if (!spec.symbol.empty())
    return CommandKind::Generated;
  switch (zrt::arithmeticOf(spec).kind) {
  case zrt::KernelArithmetic::Product:
    return CommandKind::Product;
  case zrt::KernelArithmetic::Attention:
    return CommandKind::Attention;
  case zrt::KernelArithmetic::Elementwise:
    break;
  }
  // What has no tensors moves nothing either.
  return spec.flops == 0 && spec.bytes > 0 ? CommandKind::Move
                                           : CommandKind::Other;
}

SmallVector<CommandLine> mlir::zero::countCommands(const Timeline &timeline) {
  std::map<std::pair<CommandKind, std::string>, CommandLine> byName;
  for (const TimelineEvent &event : timeline.events) {
    if (event.update != 1 || event.isWait())
      continue;
    const zrt::Command &command = *event.command;
    CommandKind kind = CommandKind::Collective;
    std::string name = zrt::nameOf(command);
    if (command.opcode == zrt::Opcode::Kernel) {
      const zrt::KernelSpec &spec = timeline.program->kernels[command.kernel];
      kind = kindOf(command, spec);
      name = spec.name;
      if (kind == CommandKind::Beside)
        name += std::string(" on ") + zrt::nameOf(command.stream);
    }
    CommandLine &line = byName[{kind, name}];
    line.kind = kind;
    line.name = name;
    ++line.count;
    line.bytes += event.bytes;
    line.flops += event.flops;
  }
  SmallVector<CommandLine> lines;
  for (auto &[key, line] : byName)
    lines.push_back(line);
  llvm::stable_sort(lines, [](const CommandLine &left,
                              const CommandLine &right) {
    return std::tie(left.kind, right.bytes) < std::tie(right.kind, left.bytes);
  });
  return lines;
}

static void addLine(Table &table, const std::string &name,
                    const CommandLine &line) {
  table.add({name, formatCount(line.count), formatBytes(line.bytes),
             formatCount(line.flops)});
}

/// The sum of those lines that `isCounted` picks.
template <typename Predicate>
static CommandLine sumOf(ArrayRef<CommandLine> lines, Predicate isCounted) {
  CommandLine sum;
  for (const CommandLine &line : lines)
    if (isCounted(line.kind)) {
      sum.count += line.count;
      sum.bytes += line.bytes;
      sum.flops += line.flops;
    }
  return sum;
}

void mlir::zero::printCommands(ArrayRef<CommandLine> lines) {
  llvm::outs() << "\ncommands of an update\n";
  Table table;
  table.add({"", "commands", "bytes", "operations"});
  addLine(table, "  launches", sumOf(lines, isLaunch));
  std::optional<CommandKind> last;
  for (const CommandLine &line : lines) {
    if (last != line.kind)
      addLine(
          table, "  " + stringify(line.kind).str(),
          sumOf(lines, [&](CommandKind kind) { return kind == line.kind; }));
    last = line.kind;
    addLine(table, "    " + line.name, line);
  }
  table.print(llvm::outs());
}

void mlir::zero::writeCommands(llvm::json::OStream &json,
                               ArrayRef<CommandLine> lines) {
  json.attributeArray("commands", [&] {
    for (const CommandLine &line : lines)
      json.object([&] {
        json.attribute("kind", stringify(line.kind));
        json.attribute("name", line.name);
        json.attribute("count", line.count);
        json.attribute("bytes", line.bytes);
        json.attribute("flops", line.flops);
      });
  });
}
