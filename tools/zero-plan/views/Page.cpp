//===- Page.cpp - a plan as a page that can be looked into ----------------===//
//
// The data of page.html, which draws it.
//
//===----------------------------------------------------------------------===//

#include "Page.h"

#include "PlanTimes.h"
#include "Verdict.h"

#include "zero/Plan/PlanSummary.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::zero;

static constexpr char kPage[] =
#include "Page.inc"
    ;
static constexpr StringLiteral kData = "@DATA@";

namespace {

class PageData {
public:
  PageData(ModuleOp planned, const Machine &machine, const TimedPlan &timed)
      : summary(summarizePlan(planned)), timeline(timed.timeline),
        verdict(judge(summary, timeline, machine)),
        times(planned, timeline, timed.firstCommands) {}

  std::string write(StringRef title, ArrayRef<FrontPlan> front) const;

private:
  using Json = llvm::json::OStream;

  void writeTimes(Json &json) const;
  void writeStream(Json &json, zrt::Stream stream) const;
  void writeArena(Json &json, MemorySpace space) const;
  void writeParameters(Json &json) const;
  void writeTraffic(Json &json) const;
  double fromBegin(double seconds) const { return seconds - times.begin; }

  PlanSummary summary;
  const Timeline &timeline;
  Verdict verdict;
  PlanTimes times;
};

} // namespace

void PageData::writeTimes(Json &json) const {
  json.attribute("begin", 0.0);
  json.attribute("end", fromBegin(times.end));
  json.attributeArray("regions", [&] {
    for (const RegionTime &region : times.regions)
      json.object([&] {
        json.attribute("name", times.nameOf(region));
        json.attribute("begin", fromBegin(region.begin));
        json.attribute("end", fromBegin(region.end));
      });
  });
}

void PageData::writeStream(Json &json, zrt::Stream stream) const {
  json.object([&] {
    json.attribute("name", zrt::nameOf(stream));
    json.attributeArray("events", [&] {
      for (const TimelineEvent &event : timeline.events) {
        const double begin = std::max(event.begin, times.begin);
        const double end = std::min(event.end, times.end);
        if (event.stream != stream || end <= begin)
          continue;
        json.array([&] {
          json.value(fromBegin(begin));
          json.value(fromBegin(end));
          json.value(describeEvent(timeline, event));
          json.value(event.isWait() ? "wait"
                     : event.command->opcode == zrt::Opcode::Kernel &&
                             stream == zrt::Stream::Compute
                         ? "kernel"
                         : zrt::nameOf(stream));
          json.value(static_cast<int64_t>(event.bytes));
          json.value(event.getLocation());
        });
      }
    });
  });
}

void PageData::writeArena(Json &json, MemorySpace space) const {
  const uint64_t bytes = timeline.program->arenaBytes[space.index()];
  if (bytes == 0)
    return;
  SmallVector<TimedBuffer> buffers = times.listBuffers(space);
  const bool changes = !buffers.empty();
  if (!changes)
    buffers = times.listStates(space);
  json.object([&] {
    json.attribute("name", space.describe());
    json.attribute("bytes", static_cast<int64_t>(bytes));
    json.attribute("changes", changes);
    json.attribute("small", times.isSmall(space));
    json.attributeArray("buffers", [&] {
      for (const TimedBuffer &buffer : buffers)
        json.array([&] {
          json.value(fromBegin(buffer.begin));
          json.value(fromBegin(buffer.end));
          json.value(buffer.place.getOffset());
          json.value(buffer.place.getBytes());
          json.value(buffer.name);
        });
    });
  });
}

/// Each with its bytes in the model, and how it is kept.
void PageData::writeParameters(Json &json) const {
  const zrt::Program &program = *timeline.program;
  for (const zrt::Parameter &parameter : program.parameters)
    json.array([&] {
      json.value(parameter.name);
      json.value(static_cast<int64_t>(program.elementsOf(parameter) *
                                      zrt::sizeOf(parameter.computeType)));
      std::string text = llvm::join(
          llvm::map_range(parameter.shape,
                          [](int64_t size) { return std::to_string(size); }),
          " x ");
      text += parameter.trainable ? ", trained" : ", not trained";
      if (parameter.partition >= 0 &&
          program.partitions[parameter.partition].shardedParameters)
        text += ", a slice on each rank";
      json.value(text);
    });
}

/// By class, which group it is in, and by kind of collective.
void PageData::writeTraffic(Json &json) const {
  auto add = [&](const std::string &name, int64_t bytes, int64_t ranks,
                 const std::string &text) {
    json.array([&] {
      json.value(name + ", in groups of " +
                 std::to_string(ranks ? ranks : summary.slices));
      json.value(summary.sent(bytes, ranks));
      json.value(text);
    });
  };
  for (const TrafficSummary &traffic : summary.traffic)
    if (traffic.planned.bytes > 0)
      add(traffic.name, traffic.planned.bytes, traffic.ranks, traffic.form);
  for (const CollectiveSummary &each : summary.collectives)
    add(each.name, each.volume.bytes, each.ranks,
        std::to_string(each.count) + " in an update");
}

static void writeFront(llvm::json::OStream &json, ArrayRef<FrontPlan> front) {
  for (const FrontPlan &plan : front)
    json.object([&] {
      json.attribute("settings", plan.settings);
      json.attribute("bytes", plan.bytes);
      json.attribute("seconds", plan.seconds);
      json.attribute("pick", plan.isPick);
      json.attribute("fits", plan.fits);
    });
}

std::string PageData::write(StringRef title, ArrayRef<FrontPlan> front) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  Json json(os);
  json.object([&] {
    json.attribute("title", title);
    json.attribute("verdict", describeVerdict(verdict));
    writeTimes(json);
    json.attributeArray("streams", [&] {
      for (zrt::Stream stream : zrt::kCasesOf<zrt::Stream>)
        if (stream == zrt::Stream::Compute ||
            timeline.busy[static_cast<int>(stream)] > 0)
          writeStream(json, stream);
    });
    json.attributeArray("arenas", [&] {
      for (int index = 0; index < MemorySpace::kCount; ++index)
        writeArena(json, MemorySpace::at(index));
    });
    json.attributeArray("parameters", [&] { writeParameters(json); });
    json.attributeArray("traffic", [&] { writeTraffic(json); });
    json.attributeArray("front", [&] { writeFront(json, front); });
  });
  return text;
}

/// As the text of an element `script`, which ends at the first "</script".
static std::string escape(StringRef json) {
  std::string text;
  for (char c : json)
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  return text;
}

FailureOr<std::string> mlir::zero::writePage(ModuleOp planned,
                                             const Machine &machine,
                                             StringRef title,
                                             ArrayRef<FrontPlan> front) {
  FailureOr<TimedPlan> timed = timePlan(planned, machine);
  if (failed(timed))
    return failure();
  auto [before, after] = StringRef(kPage).split(kData);
  return (before +
          escape(PageData(planned, machine, *timed).write(title, front)) +
          after)
      .str();
}
