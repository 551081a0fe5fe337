#include "trainer/Trainer.h"

#include "trainer/LearningRate.h"

#include <chrono>
#include <stdexcept>

using namespace zrt;

namespace {

using Clock = std::chrono::steady_clock;

Control &controlOf(const Executor &executor) {
  BufferRef buffer;
  buffer.arena = Arena::Control;
  buffer.bytes = sizeof(Control);
  return *static_cast<Control *>(executor.address(buffer));
}

const Output &evaluationLoss(const Program &program) {
  for (const Output &output : program.evaluate.outputs)
    if (output.name == "loss")
      return output;
  throw std::runtime_error("the program's evaluation leaves no output 'loss'");
}

} // namespace

void zrt::initializeControl(const Program &program, uint64_t seed,
                            Control &control) {
  const LossScale &lossScale = program.training.lossScale;
  control = Control{};
  control.seed = seed;
  control.scale =
      float(lossScale.kind == LossScaleKind::None ? 1.0 : lossScale.initial);
  control.lossSeed = control.scale / float(program.training.accumulation);
  control.factor = 1;
  control.lastOverflow = -1;
  control.hysteresis = int32_t(lossScale.hysteresis);
  for (int64_t &first : control.firstNonFinite)
    first = -1;
}

const Parameter *zrt::parameterAt(const Program &program, size_t partition,
                                  int rank, uint64_t stored) {
  const Partition &layout = program.partitions[partition];
  const uint64_t ranks = program.training.ranks;
  uint64_t flat = stored;
  if (layout.shardedOptimizer)
    for (const Segment &segment : layout.segments) {
      const uint64_t slice = segment.size / ranks;
      const uint64_t begin = segment.offset / ranks;
      if (stored >= begin && stored < begin + slice)
        flat = segment.offset + uint64_t(rank) * slice + (stored - begin);
    }
  for (const Parameter &parameter : program.parameters)
    if (parameter.partition == int32_t(partition) &&
        flat >= parameter.memberOffset &&
        flat - parameter.memberOffset < uint64_t(parameter.elements()))
      return &parameter;
  return nullptr;
}

Trainer::Trainer(const Program &program, Executor &executor,
                 Communicator &communicator, const Batches *batches,
                 uint64_t seed)
    : program(program), executor(executor), communicator(communicator),
      batches(batches), control(controlOf(executor)) {
  if (program.partitions.size() > kMaxGroups)
    throw std::runtime_error(
        "the program has " + std::to_string(program.partitions.size()) +
        " partitions, " + std::to_string(kMaxGroups) + " are possible");
  initializeControl(program, seed, control);
  for (const Input &input : program.inputs)
    inputAddresses.push_back(executor.address(input.buffer));
  Transfer transfer;
  transfer.send = transfer.receive = &evaluationSum;
  transfer.count = 1;
  transfer.type = DataType::F64;
  lossTransfer.push_back(transfer);
}

void Trainer::setLearningRates() {
  for (size_t i = 0; i < program.partitions.size(); ++i)
    control.learningRate[i] = float(learningRate(
        program.training.schedule, program.partitions[i].optimizer.learningRate,
        first, control.steps));
}

UpdateReport Trainer::update() {
  const Clock::time_point begin = Clock::now();
  const Traffic before = executor.traffic();
  const int accumulation = program.training.accumulation;
  const double scale = control.scale;
  setLearningRates();
  control.evaluating = 0;
  control.lossSum = 0;
  for (int micro = 0; micro < accumulation; ++micro) {
    control.microIndex = micro;
    control.batch = uint64_t(done) * accumulation + micro;
    batches->fillTraining(done, micro, inputAddresses.data());
    executor.runMicro();
  }
  executor.runApply();
  ++done;
  UpdateReport result = report(before, scale);
  result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  if (control.fatal)
    throw std::runtime_error(
        "the gradients overflow at the smallest loss scale, " +
        std::to_string(program.training.lossScale.minimum) + ", in update " +
        std::to_string(done) +
        (result.blame.empty() ? "" : ": " + result.blame) +
        "; lower the learning rate or train in bf16");
  return result;
}

UpdateReport Trainer::report(const Traffic &before, double scale) {
  UpdateReport result;
  result.update = done;
  result.loss = control.lossSum / (double(program.training.ranks) *
                                   program.training.accumulation);
  result.gradientNorm = control.norm;
  for (size_t i = program.partitions.size(); i-- > 0;)
    if (program.partitions[i].trainable)
      result.learningRate = control.learningRate[i];
  result.lossScale = scale;
  result.nextLossScale = control.scale;
  result.skipped = !control.finite;
  result.traffic = executor.traffic() - before;
  if (control.nonFinite != 0)
    result.blame = blame();
  return result;
}

std::string Trainer::blame() {
  // Every rank knows its own slices only. The count of non-finite elements is
  // reduced, so all ranks come here together.
  const int ranks = communicator.ranks();
  std::vector<int64_t> first(size_t(ranks) * kMaxGroups);
  Transfer transfer;
  transfer.send = control.firstNonFinite;
  transfer.receive = first.data();
  transfer.count = kMaxGroups;
  transfer.type = DataType::I64;
  communicator.run(Collective::AllGather, Reduction::Sum, {transfer});
  for (int rank = 0; rank < ranks; ++rank)
    for (size_t i = 0; i < program.partitions.size(); ++i) {
      const int64_t stored = first[size_t(rank) * kMaxGroups + i];
      if (stored < 0)
        continue;
      const Parameter *parameter =
          parameterAt(program, i, rank, uint64_t(stored));
      return "the gradient of " +
             (parameter ? "@" + parameter->name
                        : "the padding of " + program.partitions[i].name) +
             " is not finite on rank " + std::to_string(rank);
    }
  return "";
}

void Trainer::evaluateInputs() {
  control.evaluating = 1;
  control.microIndex = 0;
  executor.runEvaluate();
  control.evaluating = 0;
}

double Trainer::evaluate(int64_t count) {
  const Output &loss = evaluationLoss(program);
  const auto *value = static_cast<const float *>(executor.address(loss.buffer));
  evaluationSum = 0;
  for (int64_t batch = 0; batch < count; ++batch) {
    batches->fillValidation(uint64_t(batch), inputAddresses.data());
    evaluateInputs();
    evaluationSum += *value;
  }
  if (communicator.ranks() > 1)
    communicator.run(Collective::AllReduce, Reduction::Sum, lossTransfer);
  return evaluationSum / (double(count) * communicator.ranks());
}
