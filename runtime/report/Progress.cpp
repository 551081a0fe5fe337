#include "report/Progress.h"

#include "report/Report.h"

#include <algorithm>
#include <cstdio>
#include <ostream>

using namespace zrt;

namespace {

constexpr int kBarWidth = 24;
constexpr double kSmoothing = 0.95;
constexpr std::chrono::milliseconds kRedraw(100);
constexpr std::chrono::seconds kPlainInterval(3);

/// "1:02:03" or "2:03".
std::string clockTime(double seconds) {
  const auto whole = int64_t(std::max(0.0, seconds) + 0.5);
  char text[48];
  if (whole >= 3600)
    std::snprintf(text, sizeof(text), "%lld:%02d:%02d",
                  static_cast<long long>(whole / 3600), int(whole / 60 % 60),
                  int(whole % 60));
  else
    std::snprintf(text, sizeof(text), "%d:%02d", int(whole / 60),
                  int(whole % 60));
  return text;
}

} // namespace

Progress::Progress(std::ostream &os, bool terminal, int64_t updates,
                   uint64_t tokensPerUpdate)
    : os(os), terminal(terminal), updates(updates),
      tokensPerUpdate(tokensPerUpdate) {}

double Progress::tokensPerSecond() const {
  // The first update touches every page for the first time.
  const double seconds = count > 1 ? total - first : total;
  const int64_t counted = count > 1 ? count - 1 : count;
  return seconds > 0 ? double(tokensPerUpdate) * double(counted) / seconds : 0;
}

std::string Progress::line(const UpdateReport &report) const {
  const double left = smoothed * double(updates - report.update);
  char text[256];
  std::snprintf(text, sizeof(text),
                "step %lld/%lld loss %.4f norm %.3f lr %.3g %.0f tokens/s "
                "%s left",
                static_cast<long long>(report.update),
                static_cast<long long>(updates), withoutSignOfNan(report.loss),
                withoutSignOfNan(report.gradientNorm), report.learningRate,
                smoothed > 0 ? double(tokensPerUpdate) / smoothed : 0.0,
                clockTime(left).c_str());
  return text;
}

void Progress::draw(const UpdateReport &report) {
  const int filled =
      updates > 0 ? int(kBarWidth * report.update / updates) : kBarWidth;
  os << "\r\x1b[K[" << std::string(size_t(filled), '=')
     << std::string(size_t(kBarWidth - filled), ' ') << "] " << line(report)
     << std::flush;
  drawn = true;
}

void Progress::update(const UpdateReport &report) {
  if (count == 0)
    first = report.seconds;
  // The first update is no measure of the others.
  smoothed = count < 2
                 ? report.seconds
                 : kSmoothing * smoothed + (1 - kSmoothing) * report.seconds;
  total += report.seconds;
  ++count;
  const Clock::time_point now = Clock::now();
  const bool edge = count == 1 || report.update == updates;
  const auto since = now - lastLine;
  if (!edge && since < (terminal ? Clock::duration(kRedraw)
                                 : Clock::duration(kPlainInterval)))
    return;
  lastLine = now;
  if (terminal)
    draw(report);
  else
    os << line(report) << std::endl;
}

void Progress::message(const std::string &text) {
  if (drawn)
    os << "\r\x1b[K";
  drawn = false;
  os << text << std::endl;
}

void Progress::finish() {
  if (drawn)
    os << std::endl;
  drawn = false;
}
