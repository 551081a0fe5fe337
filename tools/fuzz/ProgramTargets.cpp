// Targets: the serialised program, and the command line that it is run with.
#include "RuntimeTargets.h"

#include "../../test/Runtime/engine/FakeProgram.h"
#include "../../test/Runtime/trainer/BigramProgram.h"

#include "report/Report.h"
#include "trainer/Options.h"

#include <cmath>
#include <sstream>

using namespace fuzz;
using namespace zrt;

namespace {

/// Four ranks of a mesh, a group of two of them, and what no other seed has:
/// offloaded states, a persisted copy, constants.
Program makeMeshProgram() {
  Program program = test::makeFakeProgram(4, 3);
  program.mesh.axes = {{"replica", 2}, {"shard", 2}};
  program.mesh.groups = {{{0, 1}}, {{1}}};
  program.expectedByGroup.resize(2);
  Partition &partition = program.partitions.front();
  partition.group = 1;
  partition.shardedParameters = partition.shardedOptimizer = true;
  State master{"master", DataType::F32, StateStart::Parameter, 0, {}};
  BufferRef half = test::ref(Arena::Optimizer, 0, 64, 64, 1);
  master.ranges.push_back({0, 1, half});
  half.tier = Tier::Host;
  master.ranges.push_back({1, 32, half});
  partition.states = {master};
  program.residents.push_back({0, test::ref(Arena::Communication, 0, 4)});
  program.constants.push_back({test::ref(Arena::Constants, 0, 4), "abcd"});
  program.memory.push_back({"gathered parameters", 4});
  program.training.lossScale.kind = LossScaleKind::Dynamic;
  program.training.schedule.kind = ScheduleKind::WarmupDecayLR;
  return program;
}

/// Two stages of two ranks each.
std::vector<Program> makeStages() {
  std::vector<Program> stages;
  for (uint32_t stage = 0; stage < 2; ++stage) {
    Program program = test::makeFakeProgram(4, 2);
    program.mesh.axes = {{"pipe", 2}, {"data", 2}};
    program.mesh.groups = {{{0, 1}}, {{0}}, {{1}}};
    program.mesh.samples = 2;
    program.expectedByGroup.resize(3);
    Pipeline &pipeline = program.pipeline;
    pipeline.stage = stage;
    pipeline.stages = 2;
    pipeline.group = 1;
    pipeline.rings = {{0, 2}};
    pipeline.order = {{false, 0, 0}, {false, 0, 1}, {true, 0, 0}, {true, 0, 1}};
    pipeline.stored = {{"a",
                        {3},
                        1,
                        DataType::F32,
                        DataType::BF16,
                        true,
                        {{"m", DataType::F32}}}};
    pipeline.outputs = program.evaluate.outputs;
    program.forward.resize(1);
    std::swap(program.forward.front(), program.micro);
    program.backward.resize(1);
    stages.push_back(program);
  }
  return stages;
}

std::vector<std::string> programSeeds() {
  return {serialize(test::makeFakeProgram(1, 1)),
          serialize(test::makeFakeProgram(3, 2)),
          serialize(test::makeBigramProgram(2, 2)),
          serialize(makeMeshProgram()), serializeStages(makeStages())};
}

/// What an executable does with a program before it trains: it follows every
/// index and adds up every shape.
void use(const Program &program) {
  std::ostringstream text;
  printSchedule(program, text);
  printMemory(program, text);
  printInfo(program, text);
  collectiveHash(program);
  for (const Partition &partition : program.partitions)
    partition.master();
  for (int64_t rank : {int64_t(0), program.training.ranks - int64_t(1)})
    for (uint32_t group = 0; group < program.mesh.groups.size(); ++group) {
      const int64_t index = program.mesh.indexIn(group, rank);
      require(index >= 0 && index < program.ranksOf(group),
              "a rank's index is outside of its group");
    }
}

bool runProgram(const std::string &input) {
  std::vector<Program> stages, again;
  std::string error;
  if (!parseStages(input.data(), input.size(), stages, error)) {
    require(!error.empty(), "a program is refused without a word");
    return false;
  }
  for (const Program &stage : stages)
    use(stage);
  for (int64_t rank : {int64_t(0), stages[0].training.ranks - int64_t(1)})
    require(stageOf(stages, rank) < stages.size(),
            "a rank is of a stage that there is not");
  const std::string written = serializeStages(stages);
  require(parseStages(written.data(), written.size(), again, error),
          "what was read cannot be written and read again: " + error);
  require(serializeStages(again) == written,
          "a program changes when it is written");
  return true;
}

std::vector<std::string> optionsSeeds() {
  return {"--data\na.txt\n--steps\n10\n--seed\n7\n--threads\n2",
          "--data=a.safetensors\n--steps=3\n--eval-every\n2\n--eval-batches\n4"
          "\n--validation-fraction\n0.1\n--save-weights\nw.safetensors",
          "--data\na.bin\n--steps\n9\n--trace\nt.json\n--trace-steps\n2:4"
          "\n--metrics\nm.jsonl\n--overcommit\n--deterministic\n--ranks\n3",
          "--steps\n0\n--weights\nw.safetensors\n--sample\n20\n--prompt\nab cd"
          "\n--temperature\n0.7\n--device-memory\n8GiB\n--timeout\n60",
          "device\n--data\na.txt\n--steps\n5\n--eager\n--share-gpu"
          "\n--collectives\nhost\n--repeat-graph\n3\n--unregistered\n--tune-"
          "products\nt.json",
          "--schedule",
          "--memory",
          "--info",
          "--help",
          "--calibrate\nm.json\n--notice-after\n1\n--loss-scale\n1024"};
}

/// What the rest of the executable takes for granted.
void check(const zrt::Options &options) {
  require(options.threads >= 0 && options.evalEvery >= 0 &&
              options.evalBatches >= 1 && options.sample >= 0 &&
              options.repeatGraph >= 0,
          "a count is negative");
  for (double value :
       {options.validationFraction, options.lossScale, options.timeout,
        options.noticeAfter, options.temperature})
    require(std::isfinite(value) && value >= 0, "a number is out of range");
  require(options.validationFraction < 1, "all data is held out");
  if (options.action != zrt::Options::Action::Train)
    return;
  require(options.steps >= 0, "the steps are negative");
  require(options.steps == 0 || !options.data.empty(), "there is no data");
  require(options.trace.empty() || options.traceLast == 0 ||
              (1 <= options.traceFirst &&
               options.traceFirst <= options.traceLast &&
               options.traceLast <= options.steps),
          "the trace is outside of the run");
}

bool runOptions(const std::string &input) {
  static const Program program = [] {
    Program three = test::makeFakeProgram(3, 1);
    three.training.deterministic = true;
    return three;
  }();
  std::vector<std::string> words;
  std::istringstream lines(input);
  bool isForDevice = false;
  for (std::string line; std::getline(lines, line);) {
    // An argument ends at its first zero.
    line.resize(line.find('\0') == std::string::npos ? line.size()
                                                     : line.find('\0'));
    if (words.empty() && line == "device")
      isForDevice = true;
    else
      words.push_back(line);
  }
  std::string name = "train";
  std::vector<char *> arguments = {name.data()};
  for (std::string &word : words)
    arguments.push_back(word.data());
  const int count = int(arguments.size());
  arguments.push_back(nullptr);
  try {
    check(parseOptions(count, arguments.data(), program, isForDevice));
    return true;
  } catch (const UsageError &error) {
    require(*error.what() != '\0', "options are refused without a word");
    return false;
  }
}

} // namespace

Target fuzz::programTarget() {
  return {"program", programSeeds, makeBytes, runProgram};
}

Target fuzz::optionsTarget() {
  return {"options", optionsSeeds, makeText, runOptions};
}
