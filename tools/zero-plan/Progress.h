//===- Progress.h - what a person sees who waits --------------------------===//
#ifndef ZERO_PLAN_PROGRESS_H
#define ZERO_PLAN_PROGRESS_H

#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <string>

namespace mlir::zero {

/// A line on standard error that counts plans, where that is a terminal; it is
/// gone at the end.
class Progress {
public:
  explicit Progress(std::string what)
      : what(std::move(what)),
        isShown(llvm::sys::Process::StandardErrIsDisplayed()) {}
  ~Progress() {
    if (isShown)
      llvm::errs() << "\r\x1b[K";
  }
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  void show(int64_t plans) const {
    if (isShown)
      llvm::errs() << "\r" << what << ": " << plans << " plans made\x1b[K";
  }

private:
  std::string what;
  bool isShown;
};

} // namespace mlir::zero

#endif // ZERO_PLAN_PROGRESS_H
