// Faults that the command line asks for.
#ifndef ZERO_RUNTIME_TRAINER_INJECTION_H
#define ZERO_RUNTIME_TRAINER_INJECTION_H

#include "trainer/Options.h"

namespace zrt {

/// Reads what --inject was given, each KIND@RANK:STEP:OP. Throws UsageError
/// where that means nothing, or not to the program.
std::vector<FaultSpec> readFaults(const std::vector<std::string> &texts,
                                  const Program &program);

/// Changes the states that a fault is due for, between two updates.
void injectIntoStates(Faults &faults, const Program &program,
                      const Arenas &arenas, int rank);

} // namespace zrt

#endif // ZERO_RUNTIME_TRAINER_INJECTION_H
