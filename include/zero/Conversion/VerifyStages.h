//===- VerifyStages.h - the programs of a pipeline, proven together -------===//
#ifndef ZERO_CONVERSION_VERIFYSTAGES_H
#define ZERO_CONVERSION_VERIFYSTAGES_H

#include "program/Program.h"

#include <string>
#include <vector>

namespace zrt {

/// Finds a fault in a run of the stages: a message that its receiver does not
/// expect or that nobody receives, a slot of the stash that is written before
/// it was read, memory that is used while something is received or written
/// while it is sent, gradients that are overwritten late, stages that wait for
/// each other. "" if there is none.
std::string findStageFault(const std::vector<Program> &stages);

} // namespace zrt

#endif // ZERO_CONVERSION_VERIFYSTAGES_H
