//===- Picture.cpp - streams and arenas over time -------------------------===//

#include "Picture.h"

#include "PlanTimes.h"
#include "Predict.h"
#include "Svg.h"
#include "Table.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace mlir::zero;

namespace {

constexpr double kLeft = 130, kWidth = 1000, kRight = 20, kTop = 50;
constexpr double kStreamHeight = 18, kGap = 8;
/// Of an arena that changes within an update, of one that does not, and of a
/// small one.
constexpr double kArenaHeight = 170, kStateHeight = 46, kSmallHeight = 28;

constexpr llvm::StringLiteral kStyles =
    "text{font:11px sans-serif;fill:#222}"
    ".lane{fill:#f4f4f4}"
    "path{fill:none}"
    ".k0{fill:#4c78a8}.k1{fill:#5d8cc0}"
    ".gather{fill:#54a24b}.reduce{fill:#f58518}"
    ".exchange{fill:#eeca3b}.copy,.upload{fill:#b279a2}"
    ".host{fill:#9d755d}.read,.write{fill:#72b7b2}"
    ".wait{fill:#f4c7c3}"
    ".b0{fill:#9ecae9}.b1{fill:#c6dbef}.state{fill:#d9d9d9}"
    "rect.b0,rect.b1{stroke:#4c78a8}rect.state{stroke:#8c8c8c}"
    "rect.b0,rect.b1,rect.state{stroke-width:.3}"
    ".grid{stroke:#ddd}.edge{stroke:#888;stroke-dasharray:4 3}"
    ".peak{stroke:#c44;stroke-dasharray:2 2}";

/// Draws from the top down.
class Picture {
public:
  explicit Picture(const PlanTimes &times)
      : times(times), timeline(times.timeline), begin(times.begin),
        end(times.end) {}

  std::string draw(StringRef title);

private:
  void drawTitle(StringRef title);
  bool isDrawn(zrt::Stream stream) const {
    return stream == zrt::Stream::Compute || timeline.busy[int(stream)] > 0;
  }
  void drawLegend();
  void drawStreams();
  void drawStream(zrt::Stream stream);
  void drawArenas();
  void drawArena(MemorySpace space);
  void drawAxis();
  void drawPeak(ArrayRef<TimedBuffer> buffers, double top, double height);
  double toX(double seconds) const {
    return kLeft + (seconds - begin) / (end - begin) * kWidth;
  }

  const PlanTimes &times;
  const Timeline &timeline;
  Svg svg;
  double begin = 0, end = 0; ///< of what is drawn, in seconds
  double y = kTop;
};

} // namespace

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

void Picture::drawTitle(StringRef title) {
  svg.text(kLeft, 18, title);
  for (const RegionTime &region : times.regions) {
    double x = toX(region.begin);
    bool atEnd = x > kLeft + kWidth - 40;
    svg.line(x, kTop - 18, x, kTop, "edge");
    svg.text(x + (atEnd ? -3 : 3), kTop - 8, times.nameOf(region),
             atEnd ? "end" : "start");
  }
}

/// What the colours of streams mean, at the right end of the title.
void Picture::drawLegend() {
  std::vector<std::pair<std::string, std::string>> entries = {
      {"k0", "kernels"}, {"wait", "waits"}};
  for (zrt::Stream stream : zrt::kCasesOf<zrt::Stream>)
    if (stream != zrt::Stream::Compute && isDrawn(stream))
      entries.push_back({zrt::nameOf(stream), zrt::nameOf(stream)});
  constexpr double kEntry = 78, kSwatch = 10;
  double x = kLeft + kWidth - kEntry * double(entries.size());
  for (const auto &[style, name] : entries) {
    svg.rectangle({x, 9, kSwatch, kSwatch}, style);
    svg.text(x + kSwatch + 4, 18, name);
    x += kEntry;
  }
}

void Picture::drawStream(zrt::Stream stream) {
  svg.text(kLeft - 6, y + kStreamHeight - 5, zrt::nameOf(stream), "end");
  svg.rectangle({kLeft, y, kWidth, kStreamHeight}, "lane");
  int64_t kernels = 0;
  for (const TimelineEvent &event : timeline.events) {
    if (event.stream != stream || event.end <= begin || event.begin >= end ||
        event.end <= event.begin)
      continue;
    double from = toX(std::max(event.begin, begin));
    double to = toX(std::min(event.end, end));
    std::string what = describeEvent(timeline, event);
    std::string style = event.isWait() ? "wait"
                        : event.command->opcode == zrt::Opcode::Kernel
                            ? (kernels++ % 2 ? "k1" : "k0")
                        : event.stream == zrt::Stream::Compute
                            ? "reduce"
                            : zrt::nameOf(event.stream);
    svg.rectangle({from, y, to - from, kStreamHeight}, style,
                  what + ", " + formatSeconds(event.end - event.begin) + ", " +
                      formatBytes(event.bytes));
  }
  y += kStreamHeight + 2;
}

void Picture::drawStreams() {
  for (zrt::Stream stream : zrt::kCasesOf<zrt::Stream>)
    if (isDrawn(stream))
      drawStream(stream);
  y += kGap;
}

//===----------------------------------------------------------------------===//
// Arenas
//===----------------------------------------------------------------------===//

void Picture::drawPeak(ArrayRef<TimedBuffer> buffers, double top,
                       double height) {
  std::map<double, int64_t> changes;
  for (const TimedBuffer &buffer : buffers) {
    changes[buffer.begin] += buffer.place.getBytes();
    changes[buffer.end] -= buffer.place.getBytes();
  }
  int64_t alive = 0, most = 0;
  double when = begin;
  for (auto [time, change] : changes)
    if ((alive += change) > most) {
      most = alive;
      when = time;
    }
  svg.line(toX(when), top, toX(when), top + height, "peak");
  bool atRight = toX(when) > kLeft + kWidth / 2;
  svg.text(toX(when) + (atRight ? -4 : 4), top + 11,
           "most alive: " + formatBytes(most), atRight ? "end" : "start");
}

void Picture::drawArena(MemorySpace space) {
  int64_t bytes = timeline.program->arenaBytes[space.index()];
  if (bytes == 0)
    return;
  SmallVector<TimedBuffer> buffers = times.listBuffers(space);
  bool isState = buffers.empty();
  if (isState)
    buffers = times.listStates(space);
  bool isSmall = times.isSmall(space);
  double height = isSmall   ? kSmallHeight
                  : isState ? kStateHeight
                            : kArenaHeight;
  svg.text(kLeft - 6, y + 11, space.describe(), "end");
  svg.text(kLeft - 6, y + 25, formatBytes(bytes), "end");
  svg.rectangle({kLeft, y, kWidth, height}, "lane");
  for (auto [index, buffer] : llvm::enumerate(buffers)) {
    double scale = height / bytes, size = buffer.place.getBytes() * scale;
    Box box{toX(buffer.begin),
            y + height - buffer.place.getOffset() * scale - size,
            toX(buffer.end) - toX(buffer.begin), size};
    svg.rectangle(box,
                  isState     ? "state"
                  : index % 2 ? "b1"
                              : "b0",
                  buffer.name + ", " + formatBytes(buffer.place.getBytes()) +
                      " at " + formatCount(buffer.place.getOffset()));
  }
  svg.line(kLeft, y, kLeft + kWidth, y, "edge");
  if (!isState && !isSmall)
    drawPeak(buffers, y, height);
  y += height + kGap;
}

void Picture::drawArenas() {
  for (int i = 0; i < MemorySpace::kCount; ++i)
    drawArena(MemorySpace::at(i));
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

void Picture::drawAxis() {
  // About eight steps of 1, 2 or 5 times a power of ten.
  double rough = (end - begin) / 8;
  double power = std::pow(10, std::floor(std::log10(rough)));
  double unit = rough <= 2 * power   ? 2 * power
                : rough <= 5 * power ? 5 * power
                                     : 10 * power;
  for (int tick = 0; tick * unit <= end - begin; ++tick) {
    double x = toX(begin + tick * unit);
    svg.line(x, y, x, y + 4, "edge");
    svg.text(x, y + 16, tick == 0 ? "0" : formatSeconds(tick * unit), "middle");
  }
  y += 26;
}

std::string Picture::draw(StringRef title) {
  drawTitle(title);
  drawLegend();
  drawStreams();
  drawAxis();
  drawArenas();
  return svg.finish(kLeft + kWidth + kRight, y, kStyles);
}

FailureOr<std::string> mlir::zero::drawPlan(ModuleOp planned,
                                            const Machine &machine,
                                            StringRef title) {
  FailureOr<TimedPlan> timed = timePlan(planned, machine);
  if (failed(timed))
    return failure();
  return Picture(PlanTimes(planned, timed->timeline, timed->firstCommands))
      .draw(title);
}
