// What a program says of itself, for people.
#ifndef ZERO_RUNTIME_REPORT_REPORT_H
#define ZERO_RUNTIME_REPORT_REPORT_H

#include "engine/Executor.h"
#include "program/Program.h"

#include <iosfwd>

namespace zrt {

/// The commands of every region: number, operation, label, shapes, buffers,
/// place in the source.
void printSchedule(const Program &program, std::ostream &os);

/// A rank's bytes by arena, then the plan's own lines.
void printMemory(const Program &program, std::ostream &os);

/// What was compiled: stage, ranks, parameters, inputs, optimizer.
void printInfo(const Program &program, std::ostream &os);

/// Elements that a rank sent in one update, beside what the rules expect of
/// gradients and parameters.
void printTraffic(const Program &program, const Traffic &sent,
                  std::ostream &os);

/// `value`, and NaN without its sign, which says nothing and would be printed.
double withoutSignOfNan(double value);

} // namespace zrt

#endif // ZERO_RUNTIME_REPORT_REPORT_H
