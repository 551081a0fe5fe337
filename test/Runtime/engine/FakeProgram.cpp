#include "FakeProgram.h"

#include <cstring>

using namespace zrt;
using namespace zrt::test;

namespace {

constexpr int64_t kSamples = 2, kLength = 4;
constexpr uint64_t kInputBytes = kSamples * kLength * 4;

float &floatAt(void *const *buffers, int index) {
  return *static_cast<float *>(buffers[index]);
}

float meanToken(const void *tokens) {
  const auto *ids = static_cast<const int32_t *>(tokens);
  float sum = 0;
  for (int64_t i = 0; i < kSamples * kLength; ++i)
    sum += float(ids[i]);
  return sum / float(kSamples * kLength);
}

void addInputs(Program &program) {
  for (const char *name : {"tokens", "targets"}) {
    Input input;
    input.name = name;
    input.type = {DataType::I32, {kSamples, kLength}};
    input.buffer =
        ref(Arena::Inputs, program.inputs.size() * kInputBytes, kInputBytes);
    program.inputs.push_back(input);
  }
}

void addParameter(Program &program) {
  Parameter parameter;
  parameter.name = "w";
  parameter.shape = {1};
  parameter.init = {InitKind::Constant, 3.0, 0.0};
  parameter.partition = 0;
  parameter.location = "model.mlir:3:1";
  program.parameters.push_back(parameter);
  Partition partition;
  partition.name = "all";
  partition.segments = {{0, 1}};
  partition.optimizer.name = "SGD";
  partition.optimizer.learningRate = 0.01;
  partition.parameters = ref(Arena::Parameters, 0, 4);
  partition.gradients = ref(Arena::Gradients, 0, 4);
  program.partitions.push_back(partition);
}

CollectivePart part(const BufferRef &buffer, DataType type) {
  CollectivePart result;
  result.send = result.receive = buffer;
  result.count = 1;
  result.type = type;
  return result;
}

} // namespace

Program zrt::test::makeFakeProgram(int ranks, int accumulation) {
  Program program;
  program.name = "fake";
  program.training.ranks = ranks;
  program.training.accumulation = accumulation;
  program.arenaBytes[int(Arena::Parameters)] = 64;
  program.arenaBytes[int(Arena::Gradients)] = 64;
  program.arenaBytes[int(Arena::Activations)] = 64;
  program.arenaBytes[int(Arena::Inputs)] = 2 * kInputBytes;
  program.arenaBytes[int(Arena::Control)] = sizeof(Control);
  addInputs(program);
  addParameter(program);

  const BufferRef w = ref(Arena::Parameters, 0, 4);
  const BufferRef g = ref(Arena::Gradients, 0, 4);
  const BufferRef loss = ref(Arena::Activations, 0, 4);
  const BufferRef tokens = program.inputs[0].buffer;
  addKernel(program, program.micro, "test.forward", {tokens, w, loss});
  addKernel(program, program.micro, "test.backward", {tokens, g});
  if (ranks > 1) {
    addCollective(program.apply, Collective::AllReduce, 0,
                  part(g, DataType::F32), TrafficClass::Gradient);
    addCollective(
        program.apply, Collective::AllReduce, 1,
        part(ref(Arena::Control, offsetof(Control, lossSum), 8), DataType::F64),
        TrafficClass::Control);
    program.expectedTraffic[0] = program.expectedTraffic[2] =
        2 * uint64_t(ranks - 1);
  }
  addKernel(program, program.apply, "test.update", {w, g});
  addKernel(program, program.evaluate, "test.evaluate", {tokens, w, loss});
  Output output;
  output.name = "loss";
  output.buffer = loss;
  program.evaluate.outputs.push_back(output);
  return program;
}

FakeKernels zrt::test::makeFakeKernels() {
  FakeKernels kernels;
  kernels.functions["test.forward"] = [](const KernelContext &context,
                                         void *const *buffers) {
    floatAt(buffers, 2) = floatAt(buffers, 1) * meanToken(buffers[0]);
    if (context.control->microIndex == 0)
      context.control->lossSum = 0;
    context.control->lossSum += floatAt(buffers, 2);
  };
  kernels.functions["test.backward"] = [](const KernelContext &context,
                                          void *const *buffers) {
    const float gradient = meanToken(buffers[0]) * context.control->lossSeed;
    floatAt(buffers, 1) =
        (context.control->microIndex ? floatAt(buffers, 1) : 0.0f) + gradient;
  };
  kernels.functions["test.update"] = [](const KernelContext &context,
                                        void *const *buffers) {
    floatAt(buffers, 0) -= context.control->learningRate[0] *
                           floatAt(buffers, 1) / float(context.sampleRanks);
    context.control->finite = 1;
    ++context.control->steps;
  };
  kernels.functions["test.evaluate"] = [](const KernelContext &,
                                          void *const *buffers) {
    floatAt(buffers, 2) = floatAt(buffers, 1) * meanToken(buffers[0]);
  };
  return kernels;
}

void zrt::test::addLogits(Program &program, FakeKernels &kernels) {
  constexpr int64_t kBytes = 256;
  Output output;
  output.name = "logits";
  output.type = {DataType::F32, {kSamples, kLength, kBytes}};
  output.buffer = ref(Arena::Activations, 64, output.type.bytes());
  program.arenaBytes[int(Arena::Activations)] = 64 + output.type.bytes();
  program.evaluate.outputs.push_back(output);
  addKernel(program, program.evaluate, "nn.embedding",
            {program.inputs[0].buffer, output.buffer});
  program.kernels.back().operands = {program.inputs[0].type,
                                     {DataType::F32, {kBytes, kBytes}}};
  kernels.functions["nn.embedding"] = [](const KernelContext &,
                                         void *const *buffers) {
    const auto *tokens = static_cast<const int32_t *>(buffers[0]);
    auto *logits = static_cast<float *>(buffers[1]);
    std::memset(logits, 0, size_t(kSamples * kLength * kBytes) * 4);
    for (int64_t i = 0; i < kSamples * kLength; ++i)
      logits[i * kBytes + (tokens[i] + 1) % kBytes] = 1;
  };
}
