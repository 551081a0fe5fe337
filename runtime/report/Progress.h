// What a person sees while a run goes on.
#ifndef ZERO_RUNTIME_REPORT_PROGRESS_H
#define ZERO_RUNTIME_REPORT_PROGRESS_H

#include "engine/Trainer.h"

#include <chrono>
#include <iosfwd>

namespace zrt {

/// On a terminal a bar in one line that is drawn over; otherwise a line every
/// few seconds, and one for the first and the last update.
class Progress {
public:
  /// `tokensPerUpdate` over all ranks.
  Progress(std::ostream &os, bool terminal, int64_t updates,
           uint64_t tokensPerUpdate);

  void update(const UpdateReport &report);
  /// A whole line, above the bar.
  void message(const std::string &line);
  /// Ends the bar's line.
  void finish();

  /// Tokens a second over the whole run so far, without the first update.
  double tokensPerSecond() const;

private:
  using Clock = std::chrono::steady_clock;
  std::string line(const UpdateReport &report) const;
  void draw(const UpdateReport &report);

  std::ostream &os;
  bool terminal;
  int64_t updates;
  uint64_t tokensPerUpdate;
  double smoothed = 0; ///< seconds of an update
  double total = 0, first = 0;
  int64_t count = 0;
  bool drawn = false;
  Clock::time_point lastLine;
};

} // namespace zrt

#endif // ZERO_RUNTIME_REPORT_PROGRESS_H
