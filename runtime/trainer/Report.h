// What a program says of itself, for people.
#ifndef ZERO_RUNTIME_TRAINER_REPORT_H
#define ZERO_RUNTIME_TRAINER_REPORT_H

#include "program/Program.h"
#include "trainer/Executor.h"

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
/// "tensor<4x256xi32>".
std::string readable(const TensorType &type);

} // namespace zrt

#endif // ZERO_RUNTIME_TRAINER_REPORT_H
