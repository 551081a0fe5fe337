#ifndef ZERO_RUNTIME_PROGRAM_STOREDPARAMETERS_H
#define ZERO_RUNTIME_PROGRAM_STOREDPARAMETERS_H

#include "program/Program.h"

namespace zrt {

/// Describes a parameter of the program as files know it. States that begin as
/// the parameter, or as a part of it, are none of their own.
StoredParameter describeStored(const Program &program,
                               const Parameter &parameter);

/// The parameters that files have, in the order of declarations: those of all
/// stages if the model is cut into several.
std::vector<StoredParameter> storedParametersOf(const Program &program);

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_STOREDPARAMETERS_H
