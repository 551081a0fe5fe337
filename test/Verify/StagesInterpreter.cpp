//===- StagesInterpreter.cpp - what the programs of a pipeline do ---------===//

#include "Verify/StagesInterpreter.h"

#include <algorithm>

using namespace zrt;
using namespace zrt::test;

/// Spreads the bits of `word`, by splitmix64.
static uint64_t mix(uint64_t word) {
  word += 0x9e3779b97f4a7c15ull;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ull;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebull;
  return word ^ (word >> 31);
}

static uint64_t join(uint64_t a, uint64_t b) { return mix(mix(a) ^ b); }

static uint64_t hash(const std::string &text) {
  uint64_t state = text.size();
  for (char c : text)
    state = join(state, uint8_t(c));
  return state;
}

static uint64_t hash(const Marks &marks) {
  uint64_t state = marks.size();
  for (uint64_t mark : marks)
    state = join(state, mark);
  return state;
}

uint64_t zrt::test::hashOf(const Marks &marks) { return hash(marks); }

Marks zrt::test::makeMarks(uint64_t seed, uint64_t bytes) {
  Marks marks(bytes);
  for (uint64_t i = 0; i < bytes; ++i)
    marks[i] = join(seed, i);
  return marks;
}

/// What zeros are marked by.
static const char *const kZeros = "zeros";

/// What a kernel computes, but for the operands' values.
static uint64_t hash(const KernelSpec &spec) {
  uint64_t state = join(hash(spec.name), hash(spec.symbol));
  for (const auto *tensors : {&spec.operands, &spec.results})
    for (const TensorType &tensor : *tensors)
      state = join(state, join(uint64_t(tensor.type), tensor.span()));
  for (const auto &[key, values] : spec.ints)
    for (int64_t value : values)
      state = join(state, join(hash(key), uint64_t(value)));
  for (const auto &[key, value] : spec.floats)
    state = join(state, join(hash(key), hash(std::to_string(value))));
  return state;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

uint64_t StagesInterpreter::random64() { return random(); }

bool StagesInterpreter::fail(size_t stage, const std::string &why) {
  if (failure.empty())
    failure = "stage " + std::to_string(stage) + ": " + why;
  return false;
}

/// A slot of a ring has the micro-batch's number modulo the ring's slots; rings
/// are one behind the other.
bool StagesInterpreter::locate(const Stage &stage, const BufferRef &buffer,
                               uint32_t micro, Place &place) {
  place.space = buffer.space();
  place.bytes = buffer.bytes;
  place.begin = buffer.offset;
  if (buffer.arena == Arena::Stash && buffer.bytes > 0) {
    uint64_t single = 0, before = 0;
    bool isFound = false;
    for (const StashRing &ring : stage.program->pipeline.rings) {
      if (buffer.offset >= single && buffer.offset < single + ring.bytes) {
        place.begin = before + (micro % ring.slots) * ring.bytes +
                      (buffer.offset - single);
        isFound = true;
        break;
      }
      single += ring.bytes;
      before += ring.bytes * ring.slots;
    }
    if (!isFound)
      return fail(stage.program->pipeline.stage, "a buffer in no ring");
  }
  if (place.begin + place.bytes <= stage.memory[place.space].size())
    return true;
  return fail(stage.program->pipeline.stage, "a buffer outside of its arena");
}

Marks StagesInterpreter::read(size_t stage, const Place &place) const {
  const Marks &memory = stages[stage].memory[place.space];
  return {memory.begin() + long(place.begin),
          memory.begin() + long(place.begin + place.bytes)};
}

void StagesInterpreter::write(size_t stage, const Place &place,
                              const Marks &marks) {
  std::copy(marks.begin(), marks.end(),
            stages[stage].memory[place.space].begin() + long(place.begin));
}

void StagesInterpreter::poison(size_t stage, const Place &place) {
  write(stage, place, makeMarks(fresh(), place.bytes));
}

/// Everything is of nobody but parameters, what optimizers keep of them, and
/// constants.
void StagesInterpreter::fillMemory(Stage &stage) {
  const Program &program = *stage.program;
  for (uint64_t bytes : program.arenaBytes)
    stage.memory.push_back(makeMarks(fresh(), bytes));
  const size_t number = size_t(&stage - stages.data());
  for (const Constant &constant : program.constants) {
    Place place;
    if (locate(stage, constant.buffer, 0, place))
      write(number, place, makeMarks(hash(constant.bytes), place.bytes));
  }
  fillParameters(stage);
}

void StagesInterpreter::fillParameters(Stage &stage) {
  const Program &program = *stage.program;
  const size_t number = size_t(&stage - stages.data());
  const auto fill = [&](const BufferRef &buffer, const std::string &name) {
    Place place;
    if (locate(stage, buffer, 0, place))
      write(number, place, makeMarks(hash(name), place.bytes));
  };
  for (const Partition &partition : program.partitions) {
    for (const State &state : partition.states)
      for (const StateRange &range : state.ranges)
        fill(range.buffer, partition.name + state.name);
    // Padding is zero from the start on.
    fill(partition.parameters, kZeros);
    if (partition.trainable)
      fill(partition.gradients, kZeros);
  }
  for (const Parameter &parameter : program.parameters) {
    BufferRef own = program.partitions[size_t(parameter.partition)].parameters;
    own.offset += parameter.memberOffset * sizeOf(parameter.computeType);
    own.bytes = program.elementsOf(parameter) * sizeOf(parameter.computeType);
    fill(own, parameter.name);
  }
}

void StagesInterpreter::fillInputs(Stage &stage, const Pass &pass) {
  const size_t number = size_t(&stage - stages.data());
  for (const Input &input : stage.program->inputs) {
    Place place;
    if (locate(stage, input.buffer, pass.micro, place))
      write(number, place,
            makeMarks(join(hash(input.name), pass.batch), place.bytes));
  }
}

/// Gradients as the update finds them, and parameters as it leaves them.
void StagesInterpreter::recordUpdate(size_t number) {
  Stage &stage = stages[number];
  const Program &program = *stage.program;
  const size_t update = updatesDone[number]++;
  for (const Parameter &parameter : program.parameters) {
    const Partition &partition =
        program.partitions[size_t(parameter.partition)];
    const uint64_t elements = program.elementsOf(parameter);
    const auto add = [&](BufferRef buffer, DataType type,
                         const std::string &what) {
      buffer.offset += parameter.memberOffset * sizeOf(type);
      buffer.bytes = elements * sizeOf(type);
      Place place;
      if (locate(stage, buffer, 0, place))
        recorded[{update, number, parameter.name + what}] = read(number, place);
    };
    add(partition.parameters, partition.computeType, "");
    if (partition.trainable)
      add(partition.gradients, partition.gradientType, "'s gradient");
  }
}

void StagesInterpreter::recordOutputs(size_t number) {
  for (const Output &output : stages[number].program->evaluate.outputs) {
    Place place;
    if (locate(stages[number], output.buffer, 0, place))
      recorded[{updatesDone[number], number, "output " + output.name}] =
          read(number, place);
  }
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Each element of the sum gets a term of the element that is added; the order
/// of terms does not count.
void StagesInterpreter::accumulate(size_t stage, const KernelSpec &spec,
                                   const Place &from, const Place &sum,
                                   bool overwrites) {
  const Marks terms = read(stage, from);
  Marks marks = read(stage, sum);
  const auto elements = uint64_t(spec.operands[0].elements());
  const uint64_t fromBytes = terms.size() / elements,
                 sumBytes = marks.size() / elements;
  for (uint64_t i = 0; i < elements; ++i) {
    const uint64_t term =
        hash(Marks(terms.begin() + long(i * fromBytes),
                   terms.begin() + long((i + 1) * fromBytes)));
    for (uint64_t byte = 0; byte < sumBytes; ++byte) {
      uint64_t &mark = marks[i * sumBytes + byte];
      mark = (overwrites ? 0 : mark) + join(term, byte);
    }
  }
  write(stage, sum, marks);
}

/// What a kernel writes is an operand as well where it has no result.
bool StagesInterpreter::runKernel(size_t stage, const Pass &pass,
                                  const Command &command) {
  const KernelSpec &spec = stages[stage].program->kernels[command.kernel];
  std::vector<Place> places(command.buffers.size());
  for (size_t i = 0; i < places.size(); ++i)
    if (!locate(stages[stage], command.buffers[i], pass.micro, places[i]))
      return false;
  if (spec.name == "zero.accumulate") {
    accumulate(stage, spec, places[0], places[1],
               pass.micro == 0 && spec.integer("add") == 0);
    return true;
  }
  if (spec.name == "zero.copy" && places[0].bytes == places[1].bytes) {
    write(stage, places[1], read(stage, places[0]));
    return true;
  }
  if (spec.name == "zero.clear") {
    write(stage, places[0],
          makeMarks(hash(std::string(kZeros)), places[0].bytes));
    return true;
  }
  // Those look at values and write to the control block.
  if (spec.name == "zero.grad_stats" || spec.name == "zero.record_loss")
    return true;
  uint64_t state = hash(spec);
  for (size_t i = 0; i < spec.operands.size(); ++i)
    state = join(state, hash(read(stage, places[i])));
  const size_t first = spec.results.empty() ? 0 : spec.operands.size();
  for (size_t i = first; i < places.size(); ++i)
    write(stage, places[i], makeMarks(join(state, i), places[i].bytes));
  return true;
}
