#include "trainer/Injection.h"

#include "data/Nearest.h"
#include "program/ByteCount.h"
#include "selfcheck/KeptStates.h"

#include <algorithm>
#include <stdexcept>

using namespace zrt;

namespace {

/// Names of operations that a fault may be of.
std::vector<std::string> operationNames(const Program &program) {
  std::vector<std::string> names = namesOfClasses();
  for (const Collective kind : kCasesOf<Collective>)
    names.emplace_back(nameOf(kind));
  for (const KernelSpec &kernel : program.kernels)
    names.push_back(kernel.name);
  for (const KeptState &state : keptStates(program))
    names.push_back(state.name);
  return names;
}

/// A stage of a pipeline has kernels that others have not: there, a fault that
/// finds no operation is told when the run ends.
void checkOperation(const FaultSpec &fault, const Program &program) {
  const std::vector<std::string> names = operationNames(program);
  if (program.pipeline.isCut() ||
      std::find(names.begin(), names.end(), fault.operation) != names.end())
    return;
  const std::string near = nearestOf(fault.operation, names);
  throw UsageError("--inject " + fault.text + ": no operation is named '" +
                   fault.operation + "'" +
                   (near.empty() ? "; --schedule lists those of the program"
                                 : "; did you mean '" + near + "'?"));
}

} // namespace

std::vector<FaultSpec> zrt::readFaults(const std::vector<std::string> &texts,
                                       const Program &program) {
  std::vector<FaultSpec> faults;
  for (const std::string &text : texts) {
    try {
      faults.push_back(parseFault(text));
    } catch (const std::invalid_argument &error) {
      throw UsageError(std::string("--inject: ") + error.what());
    }
    const FaultSpec &fault = faults.back();
    if (fault.rank >= program.training.ranks)
      throw UsageError("--inject " + text + ": there is no rank " +
                       std::to_string(fault.rank) + " of " +
                       plural(program.training.ranks, "rank"));
    checkOperation(fault, program);
  }
  return faults;
}

void zrt::injectIntoStates(Faults &faults, const Program &program,
                           const Arenas &arenas, int rank) {
  for (const KeptState &state : keptStates(program)) {
    if (state.buffer.bytes == 0)
      continue;
    const std::optional<InjectedFault> fault =
        faults.next(kStateOperation, state.name);
    if (fault != FaultKind::Flip)
      continue;
    std::vector<char> bytes(state.buffer.bytes);
    void *const inside = arenas.resolve(state.buffer, rank);
    arenas.read(bytes.data(), inside, bytes.size());
    flipBit(bytes.data(), bytes.size(), fault->bit);
    arenas.write(inside, bytes.data(), bytes.size());
  }
}
