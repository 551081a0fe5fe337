//===- PublishedRuns.cpp - how fast training runs of others were ----------===//

#include "PublishedRuns.h"

#include "Csv.h"
#include "Model.h"

#include "zero/Config/InputFile.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::zero;

namespace {

enum Column {
  Gpu,
  Name,
  Width,
  Layers,
  Heads,
  Vocabulary,
  Sequence,
  Gpus,
  Micro,
  Accumulation,
  Recomputes,
  Published
};
constexpr StringLiteral kNames[] = {
    "gpu", "model", "d",     "layers", "heads", "vocab",
    "seq", "gpus",  "micro", "accum",  "ac",    "published_tok_s_gpu"};

} // namespace

static LogicalResult readRow(const CsvReader &csv, PublishedRun &run) {
  run.gpu = csv.cell(Gpu).str();
  run.model = csv.cell(Name).str();
  GptShape &shape = run.shape;
  int64_t recomputes = 0;
  if (failed(csv.readCount(Width, shape.width, 1)) ||
      failed(csv.readCount(Layers, shape.layers, 1)) ||
      failed(csv.readCount(Heads, shape.heads, 1)) ||
      failed(csv.readCount(Vocabulary, shape.vocabulary, 1)) ||
      failed(csv.readCount(Sequence, shape.sequence, 1)) ||
      failed(csv.readCount(Gpus, run.gpus, 1)) ||
      failed(csv.readCount(Micro, shape.microBatch, 1)) ||
      failed(csv.readCount(Accumulation, run.accumulation, 1)) ||
      failed(csv.readCount(Recomputes, recomputes)) ||
      failed(csv.readPositive(Published, run.tokensASecondAndGpu)))
    return failure();
  if (recomputes > 1)
    return csv.failAtRow("column 'ac': found '" + csv.cell(Recomputes) +
                         "', wanted 0 or 1");
  if (shape.width % shape.heads != 0)
    return csv.failAtRow("column 'heads': found '" + csv.cell(Heads) +
                         "', wanted a divisor of the width, " +
                         Twine(shape.width));
  run.recomputes = recomputes == 1;
  return success();
}

FailureOr<std::vector<PublishedRun>>
mlir::zero::readPublishedRuns(StringRef path, StringRef machine) {
  if (std::string why = findWhyNotFile(path); !why.empty())
    return fail("cannot read '" + path + "': " + why);
  auto text = llvm::MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  if (!text)
    return fail("cannot read '" + path + "': " + text.getError().message());
  const StringRef base = machine.split('-').first;
  std::vector<PublishedRun> runs;
  CsvReader csv(path, kNames);
  auto visit = [&]() -> LogicalResult {
    PublishedRun run;
    if (failed(readRow(csv, run)))
      return failure();
    if (StringRef(run.gpu).split('_').first == base)
      runs.push_back(std::move(run));
    return success();
  };
  if (failed(csv.read((*text)->getBuffer(), visit)))
    return failure();
  if (runs.empty())
    return fail(path + ": no row has the GPU of the machine '" + machine +
                "'; wanted '" + base + "' or '" + base +
                "_...' in the column gpu");
  return runs;
}
