#include "capi/Given.h"

#include "data/Nearest.h"
#include "program/ByteCount.h"

#include <algorithm>
#include <array>

using namespace zrt;

Given::Given(const Program &program,
             const std::vector<NamedGradient> &gradients)
    : program(program) {
  if (program.given.empty() && !gradients.empty())
    throw ArgumentError("'" + program.name +
                        "' computes its gradients and takes none: compile it "
                        "with zero.given_gradients");
  if (program.replacesGradients && gradients.empty())
    throw ArgumentError("there is no gradient of any micro-batch, and '" +
                        program.name +
                        "' takes them instead of computing some");
  for (const NamedGradient &gradient : gradients) {
    const size_t index = indexOf(gradient.name);
    check(program.parameters[program.given[index].parameter], gradient);
    const auto key = std::make_pair(index, gradient.micro);
    if (!values.emplace(key, gradient.data).second)
      throw ArgumentError("the gradient of '" + gradient.name +
                          "' for micro-batch " +
                          std::to_string(gradient.micro) + " is given twice");
  }
}

size_t Given::indexOf(const std::string &name) const {
  std::vector<std::string> names;
  for (const GivenGradient &given : program.given)
    names.push_back(program.parameters[given.parameter].name);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end())
    return size_t(found - names.begin());
  for (const Parameter &parameter : program.parameters)
    if (parameter.name == name)
      throw ArgumentError("the parameter '" + name +
                          "' has no gradient: it is not trained, or the "
                          "model's loss does not depend on it");
  const std::string nearest = nearestOf(name, names);
  throw ArgumentError(
      "there is no parameter '" + name + "'" +
      (nearest.empty() ? "" : "; the nearest is '" + nearest + "'"));
}

void Given::check(const Parameter &parameter,
                  const NamedGradient &gradient) const {
  const std::string who = "the gradient of '" + gradient.name + "' ";
  const int64_t micros = program.sampleRanks() * program.training.accumulation;
  if (gradient.micro < 0 || gradient.micro >= micros)
    throw ArgumentError(
        who + "is for micro-batch " + std::to_string(gradient.micro) +
        ", wanted 0 to " + std::to_string(micros - 1) + ": " +
        plural(program.training.accumulation, "micro-batch", "es") +
        " for each of " + plural(program.sampleRanks(), "rank"));
  if (gradient.type != DataType::F32)
    throw ArgumentError(who + "has elements of type " + nameOf(gradient.type) +
                        ", wanted f32");
  if (gradient.shape != parameter.shape)
    throw ArgumentError(who + "has shape " + shapeText(gradient.shape) +
                        ", wanted " + shapeText(parameter.shape));
  if (!gradient.data)
    throw ArgumentError(who + "has no data: the pointer is null");
}

/// Writes zeros to [`to`, `to` + `bytes`).
static void clear(const Arenas &arenas, char *to, uint64_t bytes) {
  static const std::array<char, 1 << 16> zeros = {};
  for (uint64_t done = 0; done < bytes; done += zeros.size())
    arenas.write(to + done, zeros.data(),
                 std::min<uint64_t>(zeros.size(), bytes - done));
}

void Given::fill(int64_t micro, const Arenas &arenas, int rank) const {
  for (size_t i = 0; i < program.given.size(); ++i) {
    const GivenGradient &given = program.given[i];
    auto *to = static_cast<char *>(arenas.resolve(given.buffer, rank));
    const auto found = values.find({i, micro});
    uint64_t bytes = 0;
    if (found != values.end()) {
      bytes = uint64_t(program.parameters[given.parameter].elements()) *
              sizeOf(DataType::F32);
      arenas.write(to, found->second, bytes);
    }
    clear(arenas, to + bytes, given.buffer.bytes - bytes);
  }
}
