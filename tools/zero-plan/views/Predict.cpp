//===- Predict.cpp - how long an update takes -----------------------------===//

#include "Predict.h"

#include "Table.h"

#include "program/KernelKey.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;
using namespace mlir::zero;

std::string mlir::zero::formatSeconds(double seconds) {
  if (seconds < 1e-3)
    return llvm::formatv("{0:f1} us", seconds * 1e6);
  if (seconds < 1)
    return llvm::formatv("{0:f2} ms", seconds * 1e3);
  return llvm::formatv("{0:f2} s", seconds);
}

std::string mlir::zero::formatShare(double part, double whole) {
  return llvm::formatv("{0:f1} %", whole > 0 ? 100 * part / whole : 0.0);
}

static SmallVector<KernelLine> costliestKernels(const Timeline &timeline) {
  std::vector<KernelLine> byKernel(timeline.program->kernels.size());
  for (const TimelineEvent &event : timeline.events)
    if (event.update == 1 && event.command->opcode == zrt::Opcode::Kernel) {
      KernelLine &line = byKernel[event.command->kernel];
      ++line.count;
      line.seconds += event.end - event.begin;
    }
  // Kernels that differ in which they are, not in what they do, are one line.
  std::map<std::string, KernelLine> byKey;
  for (auto [spec, part] : llvm::zip_equal(timeline.program->kernels, byKernel))
    if (part.count > 0) {
      KernelLine &line = byKey[zrt::kernelKeyOf(spec)];
      line.count += part.count;
      line.seconds += part.seconds;
    }
  SmallVector<KernelLine> lines;
  for (auto &[key, line] : byKey) {
    line.key = key;
    lines.push_back(line);
  }
  llvm::sort(lines, [](const KernelLine &left, const KernelLine &right) {
    return std::tie(right.seconds, left.key) <
           std::tie(left.seconds, right.key);
  });
  return lines;
}

Prediction mlir::zero::summarizeTimeline(const Timeline &timeline,
                                         const Machine &machine) {
  Prediction prediction;
  prediction.machine = machine.name;
  prediction.source = machine.source;
  prediction.seconds = timeline.stepSeconds();
  prediction.exposed = timeline.exposed;
  prediction.busy = timeline.busy;
  prediction.kernels = costliestKernels(timeline);
  return prediction;
}

void mlir::zero::printPrediction(const Prediction &prediction, unsigned lines) {
  llvm::outs() << "\npredicted for " << prediction.machine
               << (prediction.source.empty() ? "" : ", " + prediction.source)
               << "\n";
  Table table;
  table.add({"  an update", formatSeconds(prediction.seconds), ""});
  auto add = [&](const std::string &name, double seconds) {
    table.add({"  " + name, formatSeconds(seconds),
               formatShare(seconds, prediction.seconds)});
  };
  add("exposed communication", prediction.exposed);
  for (zrt::Stream stream : zrt::kCasesOf<zrt::Stream>)
    if (double seconds = prediction.busy[int(stream)]; seconds > 0)
      add(std::string("busy: ") + zrt::nameOf(stream), seconds);
  table.print(llvm::outs());
  llvm::outs() << "costliest kernels of an update:\n";
  Table kernels;
  for (const KernelLine &line : ArrayRef(prediction.kernels).take_front(lines))
    kernels.add({"  " + line.key, formatCount(line.count) + " x",
                 formatSeconds(line.seconds / line.count),
                 formatSeconds(line.seconds),
                 formatShare(line.seconds, prediction.seconds)});
  kernels.print(llvm::outs());
}

void mlir::zero::writePrediction(llvm::json::OStream &json,
                                 const Prediction &prediction) {
  json.attributeObject("prediction", [&] {
    json.attribute("machine", prediction.machine);
    json.attribute("seconds", prediction.seconds);
    json.attribute("exposed_seconds", prediction.exposed);
    json.attributeObject("busy_seconds", [&] {
      for (zrt::Stream stream : zrt::kCasesOf<zrt::Stream>)
        json.attribute(zrt::nameOf(stream), prediction.busy[int(stream)]);
    });
    json.attributeArray("kernels", [&] {
      for (const KernelLine &line : prediction.kernels)
        json.object([&] {
          json.attribute("kernel", line.key);
          json.attribute("count", line.count);
          json.attribute("seconds", line.seconds);
        });
    });
  });
}
