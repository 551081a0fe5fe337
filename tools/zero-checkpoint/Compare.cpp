//===- Compare.cpp - where two checkpoints differ -------------------------===//

#include "Modes.h"

#include "checkpoint/Shard.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <ostream>

using namespace zrt;

namespace {

/// What is different between two states of one name.
struct Difference {
  uint64_t elements = 0; ///< whose bits differ, as f32
  uint64_t first = 0;    ///< of them
  double largest = 0;    ///< absolute; NaN where one is NaN
};

class Comparison {
public:
  Comparison(FoundCheckpoint a, FoundCheckpoint b, std::ostream &out)
      : first(std::move(a)), second(std::move(b)),
        firstReader(first.path, first.manifest),
        secondReader(second.path, second.manifest), out(out) {}

  bool run() {
    compareRuns();
    std::map<std::string, const StoredTensor *> others;
    for (const StoredTensor &tensor : second.manifest.tensors)
      others[tensor.name] = &tensor;
    for (const StoredTensor &tensor : first.manifest.tensors) {
      const auto other = others.find(tensor.name);
      if (other == others.end()) {
        tell("'" + tensor.name + "' is in the first only");
        continue;
      }
      compareTensors(tensor, *other->second);
      others.erase(other);
    }
    for (const auto &[name, tensor] : others)
      tell("'" + name + "' is in the second only");
    if (equal)
      out << "equal: " << compared << " elements of "
          << first.manifest.tensors.size()
          << " parameters and their states, bit by bit\n";
    return equal;
  }

private:
  void tell(const std::string &what) {
    equal = false;
    out << what << "\n";
  }
  template <typename T>
  void compareNumber(const char *what, const T &a, const T &b) {
    if (a == b)
      return;
    equal = false;
    out << what << ": " << a << " and " << b << "\n";
  }

  void compareRuns() {
    const Manifest &a = first.manifest, &b = second.manifest;
    compareNumber("update", a.update, b.update);
    compareNumber("updates done", a.steps, b.steps);
    compareNumber("updates skipped", a.skipped, b.skipped);
    compareNumber("loss scale", a.scaler.scale, b.scaler.scale);
    compareNumber("iteration of the loss scaler", a.scaler.iteration,
                  b.scaler.iteration);
    compareNumber("last overflow", a.scaler.lastOverflow,
                  b.scaler.lastOverflow);
    compareNumber("hysteresis", a.scaler.hysteresis, b.scaler.hysteresis);
    compareNumber("seed", a.data.seed, b.data.seed);
    compareNumber("samples consumed", a.data.consumed, b.data.consumed);
  }

  void compareTensors(const StoredTensor &a, const StoredTensor &b) {
    if (a.shape != b.shape)
      return tell("'" + a.name + "' has two shapes");
    for (const StoredState &state : a.states)
      if (b.find(state.name))
        compareStates(a, state.name);
      else
        tell(state.name + " of '" + a.name + "' is in the first only");
    for (const StoredState &state : b.states)
      if (!a.find(state.name))
        tell(state.name + " of '" + a.name + "' is in the second only");
  }

  void compareStates(const StoredTensor &tensor, const std::string &state) {
    const uint64_t elements = uint64_t(tensor.elements());
    compared += elements;
    Difference difference;
    std::vector<float> a, b;
    for (uint64_t at = 0; at < elements; at += kPortion) {
      const uint64_t count = std::min(kPortion, elements - at);
      a.resize(count);
      b.resize(count);
      firstReader.read(tensor.name, state, at, count, a.data());
      secondReader.read(tensor.name, state, at, count, b.data());
      if (std::memcmp(a.data(), b.data(), count * sizeof(float)) != 0)
        add(difference, at, a, b);
    }
    if (difference.elements == 0)
      return;
    equal = false;
    out << state << " of '" << tensor.name << "': " << difference.elements
        << " of " << elements << " elements differ, by at most "
        << difference.largest << "; the first is element " << difference.first
        << "\n";
  }

  static void add(Difference &difference, uint64_t at,
                  const std::vector<float> &a, const std::vector<float> &b) {
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::memcmp(&a[i], &b[i], sizeof(float)) == 0)
        continue;
      if (difference.elements++ == 0)
        difference.first = at + i;
      const double distance = std::abs(double(a[i]) - double(b[i]));
      if (!(distance <= difference.largest))
        difference.largest = distance;
    }
  }

  FoundCheckpoint first, second;
  ShardReader firstReader, secondReader;
  std::ostream &out;
  uint64_t compared = 0;
  bool equal = true;
};

} // namespace

bool zrt::compareCheckpoints(const std::string &first,
                             const std::string &second, std::ostream &out) {
  return Comparison(openCheckpoint(first), openCheckpoint(second), out).run();
}
