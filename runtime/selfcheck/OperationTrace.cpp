#include "selfcheck/OperationTrace.h"

#include "data/Permutation.h"
#include "io/Digest.h"
#include "io/StoredElements.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

using namespace zrt;

/// Bytes that are read at once.
static constexpr uint64_t kChunk = uint64_t(1) << 16;

OperationTrace::OperationTrace(const Program &program, Backend &backend)
    : program(program), backend(backend) {
  for (const auto &[name, region] : program.regions())
    for (const Command &command : region->commands)
      if (command.opcode == Opcode::Start)
        starts[command.ticket] = &command;
}

void OperationTrace::begin(bool looksAtValues) {
  looks = looksAtValues;
  operations.clear();
  backend.setCommandHook(
      [this](const Command &command, int64_t, int64_t) { add(command); });
}

std::vector<TracedOperation> OperationTrace::end() {
  backend.setCommandHook({});
  return std::exchange(operations, {});
}

/// The command that says what it is about: for a wait, what it waits for.
const Command &OperationTrace::named(const Command &command) const {
  return command.opcode == Opcode::Wait ? *starts.at(command.ticket) : command;
}

TensorType OperationTrace::typeOf(const TracedOperation &operation,
                                  size_t result) const {
  const Command &command = named(*operation.command);
  if (command.opcode == Opcode::Kernel)
    return program.kernels[command.kernel].results[result];
  const CollectivePart &part = command.parts[result];
  return {part.type, {int64_t(part.receive.bytes / sizeOf(part.type))}};
}

void OperationTrace::add(const Command &command) {
  TracedOperation operation;
  operation.command = &command;
  if (command.opcode == Opcode::Kernel && !runsBeside(command)) {
    const KernelSpec &spec = program.kernels[command.kernel];
    for (size_t i = 0; i < spec.results.size(); ++i)
      // Between the elements of a strided result are others' bytes.
      if (spec.results[i].strides.empty())
        read(command.buffers[spec.operands.size() + i], spec.results[i].type, i,
             operation);
  } else if (command.opcode == Opcode::Wait && starts.count(command.ticket)) {
    const Command &start = *starts.at(command.ticket);
    for (size_t i = 0; i < start.parts.size(); ++i)
      read(start.parts[i].receive, start.parts[i].type, i, operation);
  } else {
    return;
  }
  operations.push_back(operation);
}

/// The elements of a chunk, as doubles.
static std::vector<double> valuesOf(DataType type, const char *bytes,
                                    uint64_t count) {
  std::vector<double> values(count);
  if (type == DataType::F64) {
    std::memcpy(values.data(), bytes, count * sizeof(double));
    return values;
  }
  std::vector<float> narrow(count);
  loadElements(type, bytes, narrow.data(), count);
  std::copy(narrow.begin(), narrow.end(), values.begin());
  return values;
}

void OperationTrace::look(const std::vector<double> &values, size_t result,
                          uint64_t first, TracedOperation &operation) const {
  for (uint64_t i = 0; i < values.size(); ++i) {
    operation.squares += values[i] * values[i];
    const bool isNan = std::isnan(values[i]);
    if (std::isfinite(values[i]) ||
        (operation.nonFinite && (operation.nonFinite->isNan || !isNan)))
      continue;
    operation.nonFinite = {backend.control().microIndex, result, first + i,
                           isNan};
  }
}

void OperationTrace::read(const BufferRef &buffer, DataType type, size_t result,
                          TracedOperation &operation) {
  std::vector<char> bytes(std::min(kChunk, buffer.bytes));
  for (uint64_t begin = 0; begin < buffer.bytes; begin += kChunk) {
    const uint64_t size = std::min(kChunk, buffer.bytes - begin);
    backend.read(buffer, begin, bytes.data(), size);
    operation.hash =
        mixBits(operation.hash, digestBlock(result, bytes.data(), size));
    if (looks && isFloat(type))
      look(valuesOf(type, bytes.data(), size / sizeOf(type)), result,
           begin / sizeOf(type), operation);
  }
}

void OperationTrace::setUsual(const std::vector<TracedOperation> &operations) {
  for (const TracedOperation &operation : operations)
    if (operation.nonFinite)
      usual.insert(operation.command);
}

const TracedOperation *OperationTrace::findNonFinite(
    const std::vector<TracedOperation> &operations) const {
  for (const bool wantsNan : {true, false})
    for (const TracedOperation &operation : operations)
      if (operation.nonFinite && operation.nonFinite->isNan == wantsNan &&
          !usual.count(operation.command))
        return &operation;
  return nullptr;
}

std::string OperationTrace::describe(const TracedOperation &operation) const {
  return program.describe(named(*operation.command));
}
