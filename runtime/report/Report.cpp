#include "report/Report.h"

#include "program/ByteCount.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <ostream>

using namespace zrt;

double zrt::withoutSignOfNan(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

namespace {

std::string readable(const BufferRef &buffer) {
  std::string text =
      nameOfSpace(buffer.space()) + "+" + std::to_string(buffer.offset);
  if (buffer.stride)
    text += "+rank*" + std::to_string(buffer.stride);
  return text + ":" + std::to_string(buffer.bytes);
}

void printKernel(const Program &program, const Command &command,
                 std::ostream &os) {
  const KernelSpec &spec = program.kernels[command.kernel];
  const auto print = [&](const TensorType &type, size_t index) {
    os << (index ? ", " : "") << readable(type);
    if (index < command.buffers.size())
      os << " @" << readable(command.buffers[index]);
  };
  if (runsBeside(command))
    os << " ticket " << command.ticket << " on " << nameOf(command.stream);
  size_t index = 0;
  os << " (";
  for (const TensorType &type : spec.operands)
    print(type, index++);
  os << ") -> (";
  for (size_t i = 0; i < spec.results.size(); ++i) {
    os << (i ? ", " : "") << readable(spec.results[i]);
    if (index < command.buffers.size())
      os << " @" << readable(command.buffers[index++]);
  }
  os << ")";
}

void printCollective(const Command &command, std::ostream &os) {
  os << " ticket " << command.ticket;
  if (command.opcode == Opcode::Wait)
    return;
  os << " on " << nameOf(command.stream);
  os << " " << nameOf(command.traffic)
     << (command.prescaled ? " prescaled" : "");
  for (const CollectivePart &part : command.parts) {
    os << " [" << part.count << " x " << nameOf(part.type) << " "
       << readable(part.send) << " -> " << readable(part.receive);
    if (isRooted(command.collective))
      os << " root " << part.root;
    os << "]";
  }
}

void printRegion(const Program &program, const Region &region,
                 const std::string &name, std::ostream &os) {
  os << name << ": " << region.commands.size() << " commands\n";
  int index = 0;
  for (const Command &command : region.commands) {
    const bool kernel = command.opcode == Opcode::Kernel;
    const KernelSpec *spec =
        kernel ? &program.kernels[command.kernel] : nullptr;
    std::string op = spec ? spec->name : nameOf(command);
    if (spec && !spec->symbol.empty())
      op += " @" + spec->symbol;
    os << std::setw(6) << std::right << index++ << "  " << std::setw(24)
       << std::left << op << " " << std::setw(24) << command.label;
    if (kernel)
      printKernel(program, command, os);
    else
      printCollective(command, os);
    if (!command.location.empty())
      os << "  " << command.location;
    os << "\n";
  }
  for (const Output &output : region.outputs)
    os << "        leaves " << output.name << ": " << zrt::readable(output.type)
       << " @" << readable(output.buffer) << "\n";
}

void printRow(std::ostream &os, const std::string &name, uint64_t bytes) {
  os << "  " << std::setw(40) << std::left << name << std::setw(20)
     << std::right << formatCount(bytes) << "  " << formatBytes(bytes) << "\n";
}

} // namespace

void zrt::printSchedule(const Program &program, std::ostream &os) {
  for (const auto &[name, region] : program.regions())
    if (!region->commands.empty() ||
        (region != &program.microLast &&
         (region != &program.micro || !program.pipeline.isCut())))
      printRegion(program, *region, name, os);
}

void zrt::printMemory(const Program &program, std::ostream &os) {
  os << "memory of a rank, bytes\n";
  for (Tier tier : {Tier::Device, Tier::Host, Tier::File}) {
    uint64_t total = 0;
    const bool isDevice = tier == Tier::Device;
    for (int i = 0; i < kSpaceCount; ++i) {
      if (tierOf(i) != tier || (!isDevice && !program.arenaBytes[i]))
        continue;
      printRow(os, nameOfSpace(i), program.arenaBytes[i]);
      total += program.arenaBytes[i];
    }
    if (isDevice || total)
      printRow(os, isDevice ? "total" : std::string("total on ") + nameOf(tier),
               total);
  }
  if (program.memory.empty())
    return;
  os << "the plan\n";
  for (const MemoryLine &line : program.memory)
    printRow(os, line.name, line.bytes);
}

void zrt::printInfo(const Program &program, std::ostream &os) {
  const Training &training = program.training;
  uint64_t trained = 0, frozen = 0;
  for (const Parameter &parameter : program.parameters)
    (parameter.trainable ? trained : frozen) += uint64_t(parameter.elements());
  os << "program        " << program.name << "\n"
     << "stage          " << training.stage << "\n"
     << "ranks          " << training.ranks
     << (program.mesh.axes.empty() ? "" : ", " + program.mesh.text()) << "\n"
     << "micro-batches  " << training.accumulation << " an update\n"
     << "deterministic  " << (training.deterministic ? "yes" : "no") << "\n"
     << "parameters     " << program.parameters.size() << ", "
     << formatCount(trained) << " elements trained, " << formatCount(frozen)
     << " frozen\n";
  for (const Input &input : program.inputs)
    os << "input          " << input.name << ": " << readable(input.type)
       << "\n";
  for (const Output &output : program.evaluate.outputs)
    os << "output         " << output.name << ": " << readable(output.type)
       << "\n";
  for (const Partition &partition : program.partitions)
    os << "group          " << partition.name << ": "
       << formatCount(partition.flatElements()) << " elements, "
       << nameOf(partition.computeType) << ", "
       << (partition.trainable ? partition.optimizer.name : "none")
       << ", learning rate " << partition.optimizer.learningRate
       << ", weight decay " << partition.optimizer.weightDecay << "\n";
}

/// Elements between the ranks of one group; nothing where nothing is sent.
static void printGroup(const Program &program, uint32_t group,
                       const SentCounts &sent, std::ostream &os) {
  const double ranks = program.training.ranks;
  const std::ios::fmtflags flags = os.flags();
  os << std::fixed << std::setprecision(0);
  for (TrafficClass kind : kCasesOf<TrafficClass>) {
    const auto i = static_cast<size_t>(kind);
    if (sent.elements[i] == 0)
      continue;
    const std::string name =
        std::string(nameOf(kind)) + " over " + program.mesh.nameOf(group);
    os << "  " << std::setw(20) << std::left << name << " " << std::setw(19)
       << std::right << double(sent.elements[i]) / ranks;
    if (kind != TrafficClass::Control)
      os << std::setw(20)
         << double(program.expectedByGroup[group].elements[i]) / ranks;
    os << "\n";
  }
  os.flags(flags);
}

/// Whether parameters or gradients are quantized where they travel.
static bool sendsPacked(const Program &program) {
  for (const auto &[name, region] : program.regions())
    for (const Command &command : region->commands)
      if (command.opcode == Opcode::Start &&
          command.traffic != TrafficClass::Activation)
        for (const CollectivePart &part : command.parts)
          if (part.type == DataType::I8)
            return true;
  return false;
}

void zrt::printTraffic(const Program &program, const Traffic &sent,
                       std::ostream &os) {
  const double ranks = program.training.ranks;
  os << "traffic of an update, elements"
     << (sendsPacked(program) ? ", or bytes of what is packed," : "")
     << " that a rank sends\n"
     << "  " << std::setw(20) << std::left << "" << std::setw(20) << std::right
     << "sent" << std::setw(20) << "expected" << "\n";
  const std::ios::fmtflags flags = os.flags();
  os << std::fixed << std::setprecision(0);
  for (TrafficClass kind : kCasesOf<TrafficClass>) {
    const auto i = static_cast<size_t>(kind);
    if (kind == TrafficClass::Activation && sent.elements[i] == 0)
      continue; // few models send any
    os << "  " << std::setw(20) << std::left << nameOf(kind) << std::setw(20)
       << std::right << double(sent.elements[i]) / ranks;
    if (kind != TrafficClass::Control)
      os << std::setw(20) << double(program.expectedTraffic[i]) / ranks;
    os << "\n";
  }
  os.flags(flags);
  for (size_t group = 0; group < sent.groups.size(); ++group)
    printGroup(program, uint32_t(group), sent.groups[group], os);
}
