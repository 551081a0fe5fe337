#include "engine/Trainer.h"

#include "engine/LearningRate.h"
#include "io/Together.h"
#include "state/Elements.h"
#include "state/Pieces.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>

using namespace zrt;

namespace {

using Clock = std::chrono::steady_clock;

/// " at model.mlir:3:1" for the parameter that holds element `stored` of what
/// `rank` stores of a partition; "" in padding or where it is not known.
std::string declarationOf(const Program &program, size_t partition, int rank,
                          uint64_t stored) {
  std::string found;
  for (const Parameter &parameter : program.parameters) {
    if (parameter.partition != int32_t(partition) || parameter.location.empty())
      continue;
    forEachPiece(
        program, parameter, program.partitions[partition].shardedOptimizer,
        rank, [&](const Piece &piece) {
          if (stored >= piece.stored && stored - piece.stored < piece.count)
            found = " at " + parameter.location;
        });
  }
  return found;
}

/// The output of that name that this rank has; null where another stage of a
/// pipeline has it.
const Output *findOutput(const Program &program, const std::string &name) {
  for (const Output &output : program.evaluate.outputs)
    if (output.name == name)
      return &output;
  return nullptr;
}

/// The names of outputs of an evaluation that have a mean, the loss first.
std::vector<std::string> scalarsOf(const Program &program) {
  std::vector<std::string> found;
  for (const Output &output : program.outputs())
    if (output.type.elements() == 1 && isFloat(output.type.type))
      found.insert(output.name == "loss" ? found.begin() : found.end(),
                   output.name);
  if (found.empty() || found.front() != "loss")
    throw std::runtime_error(
        "the program's evaluation leaves no output 'loss'");
  return found;
}

double readScalar(Backend &backend, const Output &output) {
  char bytes[sizeof(double)];
  backend.read(output.buffer, 0, bytes, sizeOf(output.type.type));
  if (output.type.type == DataType::F64) {
    double value;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
  }
  float value;
  loadElements(output.type.type, bytes, &value, 1);
  return value;
}

} // namespace

Trainer::Trainer(const Program &program, Backend &backend,
                 Communicator &communicator, const Batches *batches)
    : program(program), backend(backend), communicator(communicator),
      batches(batches), learningRates(program.partitions.size()),
      fixedRates(program.partitions.size()) {
  if (program.partitions.size() > kMaxGroups)
    throw std::runtime_error(
        "the program has " + std::to_string(program.partitions.size()) +
        " partitions, " + std::to_string(kMaxGroups) + " are possible");
}

void Trainer::fixLearningRate(std::optional<double> rate,
                              const std::string *group) {
  for (size_t i = 0; i < fixedRates.size(); ++i)
    if (!group || program.partitions[i].optimizer.group == *group)
      fixedRates[i] = rate;
}

std::set<std::string> Trainer::groups() const {
  std::set<std::string> groups;
  for (const Partition &partition : program.partitions)
    if (!partition.optimizer.group.empty())
      groups.insert(partition.optimizer.group);
  return groups;
}

void Trainer::setLearningRates() {
  for (size_t i = 0; i < learningRates.size(); ++i)
    learningRates[i] =
        float(fixedRates[i]
                  ? *fixedRates[i]
                  : learningRate(program.training.schedule,
                                 program.partitions[i].optimizer.learningRate,
                                 backend.control().steps));
}

UpdateReport Trainer::update() {
  return update([this](int64_t micro, void *const *inputs) {
    batches->fillTraining(uint64_t(done), int(micro), inputs);
  });
}

UpdateReport Trainer::update(const FillInputs &fill) {
  const Clock::time_point begin = Clock::now();
  const Traffic before = backend.traffic();
  const double scale = backend.control().scale;
  setLearningRates();
  backend.update([&](int micro, Control &control, void *const *inputs) {
    std::copy(learningRates.begin(), learningRates.end(), control.learningRate);
    control.evaluating = 0;
    control.microIndex = micro;
    control.batch = uint64_t(done) * program.training.accumulation + micro;
    if (inputs)
      fill(micro, inputs);
  });
  ++done;
  UpdateReport result = report(before, scale);
  result.deviceSeconds = backend.deviceSeconds();
  result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  checkIds();
  if (backend.control().fatal)
    throw std::runtime_error(
        "the gradients overflow at the smallest loss scale, " +
        std::to_string(program.training.lossScale.minimum) + ", in update " +
        std::to_string(done) +
        (result.blame.empty() ? "" : ": " + result.blame) +
        "; lower the learning rate or train in bf16");
  return result;
}

UpdateReport Trainer::report(const Traffic &before, double scale) {
  const Control &control = backend.control();
  UpdateReport result;
  result.update = done;
  const double weights =
      control.weightSum != 0
          ? control.weightSum
          : double(program.lossRanks()) * program.training.accumulation;
  result.loss = control.lossSum / weights;
  result.gradientNorm = control.norm;
  for (size_t i = program.partitions.size(); i-- > 0;)
    if (program.partitions[i].trainable && control.learningRate[i] != 0)
      result.learningRate = control.learningRate[i];
  result.lossScale = scale;
  result.nextLossScale = control.scale;
  result.skipped = !control.finite;
  result.traffic = backend.traffic() - before;
  if (control.nonFinite != 0)
    result.blame = blame();
  return result;
}

void Trainer::checkIds() const {
  if (backend.control().outOfRange)
    throw std::runtime_error("an id or target of the data is outside its table "
                             "or classes, after " +
                             std::to_string(done) +
                             " updates; check the data against the vocabulary");
}

std::string Trainer::blame() {
  // Every rank knows its own slices only, and of a pipeline its own stage. The
  // count of non-finite elements is reduced, so all ranks come here together.
  const int rank = communicator.rank();
  std::string mine;
  for (size_t i = 0; i < program.partitions.size() && mine.empty(); ++i) {
    const int64_t stored = backend.control().firstNonFinite[i];
    if (stored >= 0)
      mine = "the gradient of " +
             describeElement(program, int(i),
                             program.partitions[i].shardedOptimizer, rank,
                             uint64_t(stored)) +
             declarationOf(program, i, rank, uint64_t(stored)) +
             " is not finite on rank " + std::to_string(rank);
  }
  const std::vector<char> haveTexts =
      gatherAll(communicator, char(!mine.empty()));
  const auto first = std::find(haveTexts.begin(), haveTexts.end(), true);
  if (first == haveTexts.end())
    return "";
  return broadcastText(communicator, mine, int(first - haveTexts.begin()));
}

void Trainer::evaluateInputs(
    uint64_t batch, const std::function<void(void *const *inputs)> &fill) {
  backend.evaluate([&](int, Control &control, void *const *inputs) {
    control.evaluating = 1;
    control.microIndex = 0;
    control.batch = batch;
    fill(inputs);
  });
  checkIds();
}

EvaluationReport Trainer::evaluate(int64_t count,
                                   const std::function<bool()> &goesOn) {
  return evaluate(
      count,
      [this](int64_t micro, void *const *inputs) {
        batches->fillValidation(uint64_t(micro), inputs);
      },
      /*visit=*/{}, goesOn);
}

EvaluationReport
Trainer::evaluate(int64_t count, const FillInputs &fill,
                  const std::function<void(int64_t micro)> &visit,
                  const std::function<bool()> &goesOn) {
  const std::vector<std::string> names = scalarsOf(program);
  std::vector<const Output *> scalars;
  for (const std::string &name : names)
    scalars.push_back(findOutput(program, name));
  const bool hasLoss = scalars.front() != nullptr;
  const Output &weight = program.evaluate.weight;
  EvaluationReport result;
  // Behind the sums of the outputs, the loss first, that of the weights.
  std::vector<double> sums(scalars.size() + 1);
  for (int64_t batch = 0; batch < count && result.isWhole; ++batch) {
    evaluateInputs(uint64_t(batch),
                   [&](void *const *inputs) { fill(batch, inputs); });
    if (hasLoss)
      addScalars(scalars, weight, sums);
    if (visit)
      visit(batch);
    result.isWhole = !goesOn || batch + 1 == count || goesOn();
  }
  if (communicator.ranks() > 1)
    communicator.run(Collective::AllReduce, Reduction::Sum,
                     {{sums.data(), sums.data(), sums.size(), DataType::F64}});
  const double all = double(count) * double(program.lossRanks());
  result.loss = sums.back() != 0 ? sums[0] / sums.back() : 0;
  for (size_t i = 1; i < scalars.size(); ++i)
    result.outputs.emplace_back(names[i], sums[i] / all);
  return result;
}

void Trainer::addScalars(const std::vector<const Output *> &scalars,
                         const Output &weight, std::vector<double> &sums) {
  const double share = weight.name.empty() ? 1 : readScalar(backend, weight);
  // What weighs nothing has counted nothing, and its mean may be no number.
  if (share != 0)
    sums[0] += share * readScalar(backend, *scalars[0]);
  sums.back() += share;
  for (size_t i = 1; i < scalars.size(); ++i)
    sums[i] += readScalar(backend, *scalars[i]);
}
