#ifndef ZERO_RUNTIME_PROGRAM_STOREDPARAMETERS_H
#define ZERO_RUNTIME_PROGRAM_STOREDPARAMETERS_H

#include "program/Program.h"

namespace zrt {

/// What files know of a parameter that the program has. States that begin as
/// the parameter, or as a part of it, are none of their own.
StoredParameter describeStored(const Program &program,
                               const Parameter &parameter);

/// What files have of the model, in the order of declarations: of all stages
/// where it is cut into several.
std::vector<StoredParameter> storedParametersOf(const Program &program);

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_STOREDPARAMETERS_H
