//===- StageQueues.h - stages whose ranks are devices ---------*- C++ -*-===//
#ifndef ZERO_LIB_CONVERSION_STAGEQUEUES_H
#define ZERO_LIB_CONVERSION_STAGEQUEUES_H

#include "program/Program.h"

#include <string>
#include <vector>

namespace zrt {

/// Which stages would wait for each other for ever where their ranks are
/// devices, whose operations also wait for those before them; "" where none
/// would. In host memory the stages have no fault.
std::string findQueueFault(const std::vector<Program> &stages);

} // namespace zrt

#endif // ZERO_LIB_CONVERSION_STAGEQUEUES_H
