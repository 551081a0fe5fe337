#include "BigramProgram.h"

#include "program/Control.h"

#include <cstddef>

using namespace zrt;
using namespace zrt::test;

namespace {

constexpr int64_t kSamples = 2, kLength = 16, kBytes = 256;
const TensorType kIds{DataType::I32, {kSamples, kLength}};
const TensorType kTable{DataType::F32, {kBytes, kBytes}};
const TensorType kFlat{DataType::F32, {kBytes * kBytes}};
const TensorType kLogits{DataType::F32, {kSamples, kLength, kBytes}};
const TensorType kRows{DataType::F32, {kSamples, kLength}};
const TensorType kScalar{DataType::F32, {}};

/// Buffers of one arena, one after the other at cache lines.
class Space {
public:
  Space(Program &program, Arena arena) : program(program), arena(arena) {}
  BufferRef take(const TensorType &type) {
    uint64_t &size = program.arenaBytes[int(arena)];
    BufferRef buffer;
    buffer.arena = arena;
    buffer.offset = size;
    buffer.bytes = type.bytes();
    size += (buffer.bytes + 63) / 64 * 64;
    return buffer;
  }

private:
  Program &program;
  Arena arena;
};

struct Value {
  TensorType type;
  BufferRef buffer;
};

class Builder {
public:
  Builder(Program &program, Region &region)
      : program(program), region(region) {}

  /// Adds a kernel and its command; returns the spec for attributes.
  KernelSpec &kernel(const char *name, const std::vector<Value> &operands,
                     const std::vector<Value> &results = {}) {
    KernelSpec spec;
    spec.name = name;
    Command command;
    command.kernel = uint32_t(program.kernels.size());
    command.label = name;
    command.location = "bigram.mlir:1:1";
    for (const Value &value : operands) {
      spec.operands.push_back(value.type);
      command.buffers.push_back(value.buffer);
    }
    for (const Value &value : results) {
      spec.results.push_back(value.type);
      command.buffers.push_back(value.buffer);
    }
    program.kernels.push_back(spec);
    region.commands.push_back(command);
    return program.kernels.back();
  }

  void allReduce(uint32_t ticket, const BufferRef &buffer, uint64_t count,
                 DataType type, TrafficClass traffic) {
    const uint64_t ranks = uint64_t(program.training.ranks);
    if (ranks == 1)
      return;
    CollectivePart part;
    part.send = part.receive = buffer;
    part.count = count;
    part.type = type;
    Command start;
    start.opcode = Opcode::Start;
    start.collective = Collective::AllReduce;
    start.ticket = ticket;
    start.parts = {part};
    start.traffic = traffic;
    region.commands.push_back(start);
    Command wait;
    wait.opcode = Opcode::Wait;
    wait.ticket = ticket;
    region.commands.push_back(wait);
    program.expectedTraffic[int(traffic)] += 2 * (ranks - 1) * count;
  }

private:
  Program &program;
  Region &region;
};

BufferRef controlField(size_t offset, uint64_t bytes) {
  BufferRef buffer;
  buffer.arena = Arena::Control;
  buffer.offset = offset;
  buffer.bytes = bytes;
  return buffer;
}

void addApply(Program &program, const Value &table, const Value &gradient,
              const Value &average, const Value &square) {
  Builder build(program, program.apply);
  build.allReduce(0, gradient.buffer, uint64_t(kFlat.elements()), DataType::F32,
                  TrafficClass::Gradient);
  KernelSpec &statistics = build.kernel("zero.grad_stats", {gradient});
  statistics.ints = {{"partition", {0}}, {"first", {1}}, {"exact", {1}}};
  // Every rank has seen the whole sum: only the loss is left to be reduced.
  build.allReduce(1, controlField(offsetof(Control, lossSum), 8), 1,
                  DataType::F64, TrafficClass::Control);
  KernelSpec &scale = build.kernel("zero.grad_scale", {});
  scale.ints = {{"exact", {1}}, {"skip", {1}}};
  scale.floats = {{"clip", 1.0}, {"divisor", double(program.training.ranks)}};
  KernelSpec &update = build.kernel(
      "zero.adamw", {gradient, {kFlat, table.buffer}, average, square});
  update.ints = {{"partition", {0}}, {"bias_correction", {1}}};
  update.floats = {{"beta1", 0.9},
                   {"beta2", 0.999},
                   {"epsilon", 1e-8},
                   {"weight_decay", 0.0}};
  build.kernel("zero.update_scale", {});
}

} // namespace

Program zrt::test::makeBigramProgram(int ranks, int accumulation) {
  Program program;
  program.name = "bigram";
  program.training.ranks = ranks;
  program.training.accumulation = accumulation;
  program.training.deterministic = true;
  program.arenaBytes[int(Arena::Control)] = sizeof(Control);
  Space parameters(program, Arena::Parameters);
  Space gradients(program, Arena::Gradients);
  Space optimizer(program, Arena::Optimizer);
  Space activations(program, Arena::Activations);
  Space inputs(program, Arena::Inputs);
  const auto value = [](Space &space, const TensorType &type) {
    return Value{type, space.take(type)};
  };
  const Value table = value(parameters, kTable);
  const Value gradient = value(gradients, kFlat);
  const Value average = value(optimizer, kFlat);
  const Value square = value(optimizer, kFlat);
  const Value tokens = value(inputs, kIds), targets = value(inputs, kIds);
  const Value logits = value(activations, kLogits);
  const Value dlogits = value(activations, kLogits);
  const Value contribution = value(activations, kTable);
  const Value lse = value(activations, kRows);
  const Value loss = value(activations, kScalar);
  const Value seed = value(activations, kScalar);
  program.inputs = {{"tokens", kIds, tokens.buffer},
                    {"targets", kIds, targets.buffer}};

  const auto addForward = [&](Builder &build) {
    build.kernel("nn.embedding", {tokens, table}, {logits});
    build.kernel("nn.cross_entropy", {logits, targets}, {loss, lse}).ints = {
        {"ignore_index", {-100}}};
  };
  Builder micro(program, program.micro);
  addForward(micro);
  micro.kernel("zero.record_loss", {loss});
  micro.kernel("zero.loss_seed", {}, {seed});
  micro.kernel("nn.cross_entropy_grad", {seed, logits, targets, lse}, {dlogits})
      .ints = {{"ignore_index", {-100}}};
  micro.kernel("nn.embedding_grad", {dlogits, tokens}, {contribution});
  micro.kernel("zero.accumulate", {{kFlat, contribution.buffer}, gradient});
  addApply(program, table, gradient, average, square);
  Builder evaluate(program, program.evaluate);
  addForward(evaluate);
  program.evaluate.outputs = {{"loss", kScalar, loss.buffer},
                              {"logits", kLogits, logits.buffer}};

  Parameter parameter;
  parameter.name = "table";
  parameter.shape = {kBytes, kBytes};
  parameter.init = {InitKind::Normal, 0.0, 0.02};
  parameter.partition = 0;
  program.parameters.push_back(parameter);
  Partition partition;
  partition.name = "all";
  partition.segments = {{0, uint64_t(kFlat.elements())}};
  partition.optimizer.name = "AdamW";
  partition.optimizer.learningRate = 0.05;
  partition.parameters = table.buffer;
  partition.gradients = gradient.buffer;
  const uint64_t elements = uint64_t(kFlat.elements());
  partition.states = {{"exp_avg",
                       DataType::F32,
                       StateStart::Constant,
                       0,
                       {{0, elements, average.buffer}}},
                      {"exp_avg_sq",
                       DataType::F32,
                       StateStart::Constant,
                       0,
                       {{0, elements, square.buffer}}}};
  program.partitions.push_back(partition);
  return program;
}
