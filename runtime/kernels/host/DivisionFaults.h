// Quotients of integers that do not exist, in code that the compiler generated.
#ifndef ZERO_RUNTIME_KERNELS_HOST_DIVISIONFAULTS_H
#define ZERO_RUNTIME_KERNELS_HOST_DIVISIONFAULTS_H

#include <csetjmp>

namespace zrt::host {

/// Lets this thread go on where a division of integers has no quotient (by 0,
/// or of the least integer by -1), which the CPU answers with a signal:
///
///     DivisionFaults faults;
///     if (sigsetjmp(faults.place(), /*savemask=*/0) == 0)
///       ... // constructs nothing that has a destructor
///     else
///       ... // a division has failed
///
/// The process's handler of SIGFPE is replaced, and called for what is not
/// divided there.
class DivisionFaults {
public:
  DivisionFaults();
  ~DivisionFaults();
  DivisionFaults(const DivisionFaults &) = delete;
  DivisionFaults &operator=(const DivisionFaults &) = delete;

  sigjmp_buf &place() { return buffer; }

private:
  sigjmp_buf buffer;
  sigjmp_buf *outer;
};

} // namespace zrt::host

#endif // ZERO_RUNTIME_KERNELS_HOST_DIVISIONFAULTS_H
