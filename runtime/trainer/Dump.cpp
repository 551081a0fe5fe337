#include "trainer/Dump.h"

#include "io/Together.h"
#include "state/Elements.h"
#include "state/Gradients.h"
#include "state/Pieces.h"

#include <algorithm>
#include <stdexcept>

using namespace zrt;

namespace {

const Parameter *findParameter(const Program &program,
                               const std::string &name) {
  for (const Parameter &parameter : program.parameters)
    if (parameter.name == name)
      return &parameter;
  return nullptr;
}

/// The states that are no other form of the parameter.
template <typename Body>
void forEachState(const Program &program, const Parameter &parameter,
                  Body body) {
  if (parameter.trainable)
    for (const State &state : partitionOf(program, parameter).states)
      if (state.start == StateStart::Constant)
        body(state);
}

/// `name` of all of `parameter`'s elements, as f32.
TensorEntry entryOf(const Parameter &parameter, const std::string &name) {
  TensorEntry entry;
  entry.name = name;
  entry.type = TensorDataType::F32;
  entry.shape = parameter.shape;
  return entry;
}

} // namespace

void zrt::checkDump(Options &options, const Program &program) {
  if (options.dump.empty())
    return;
  if (options.dumpFile.empty())
    throw UsageError("--dump needs a file to write to: give --dump-file "
                     "FILE.safetensors");
  for (std::string &name : options.dump) {
    if (!name.empty() && name[0] == '@')
      name.erase(0, 1);
    if (!findParameter(program, name))
      throw UsageError("--dump: the program has no parameter '" + name + "'");
  }
  std::sort(options.dump.begin(), options.dump.end());
  options.dump.erase(std::unique(options.dump.begin(), options.dump.end()),
                     options.dump.end());
  for (const std::string &name : options.dump)
    for (const std::string &other : options.dump)
      if (name.rfind(other + "/", 0) == 0)
        throw UsageError("--dump: '" + name + "' may be a state of '" + other +
                         "' as well: write the two in two files");
  if (options.dumpUpdate == 0)
    options.dumpUpdate = options.steps;
  if (options.dumpUpdate < 1 || options.dumpUpdate > options.steps)
    throw UsageError("--dump-update " + std::to_string(options.dumpUpdate) +
                     ": wanted an update within 1 to " +
                     std::to_string(options.steps) + ", those of --steps");
}

Dump::Dump(const Program &program, const Options &options,
           Communicator &communicator, int64_t updates)
    : program(program), options(options), communicator(communicator) {
  if (options.dumpUpdate <= updates)
    throw std::runtime_error("--dump-update " +
                             std::to_string(options.dumpUpdate) +
                             ": the run resumes after update " +
                             std::to_string(updates) + "; name a later one");
  for (const std::string &name : options.dump) {
    const Parameter &parameter = *findParameter(program, name);
    parameters.push_back(&parameter);
    entries.push_back(entryOf(parameter, name));
    forEachState(program, parameter, [&](const State &state) {
      entries.push_back(entryOf(parameter, name + "/" + state.name));
    });
    if (partitionOf(program, parameter).trainable)
      entries.push_back(entryOf(parameter, name + "/gradient"));
  }
}

void Dump::watch(Backend &backend, const std::function<void()> &update) {
  backend.setCommandHook([&](const Command &command, int64_t, int64_t) {
    if (!judgesGradients(program, command))
      return;
    for (const Parameter *parameter : parameters)
      if (partitionOf(program, *parameter).trainable)
        readGradient(
            program, backend.arenas(), communicator.rank(), *parameter,
            [&](uint64_t element, uint64_t count, const float *values) {
              gradients[parameter].emplace_back(
                  element, std::vector<float>(values, values + count));
            });
  });
  update();
  backend.setCommandHook({});
}

void Dump::writeShares(const TogetherFile &file, const Arenas &arenas) const {
  size_t tensor = 0;
  const auto sink = [&](uint64_t element, uint64_t count, const float *values) {
    file.write(tensor, element * sizeof(float), values, count * sizeof(float));
  };
  const int rank = communicator.rank();
  for (const Parameter *parameter : parameters) {
    readParameter(program, arenas, rank, *parameter, sink);
    ++tensor;
    forEachState(program, *parameter, [&](const State &state) {
      readState(program, arenas, rank, *parameter, state, sink);
      ++tensor;
    });
    if (!partitionOf(program, *parameter).trainable)
      continue;
    if (const auto kept = gradients.find(parameter); kept != gradients.end())
      for (const auto &[element, values] : kept->second)
        sink(element, values.size(), values.data());
    ++tensor;
  }
}

void Dump::write(Backend &backend) {
  backend.drain();
  TogetherFile file(options.dumpFile, communicator, [&] { return entries; });
  together(communicator, [&] { writeShares(file, backend.arenas()); });
  file.publish();
  gradients.clear();
}
