//===- Modes.cpp - what zero-plan does, and the options that it then takes ===//

#include "Modes.h"

#include "Model.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"

using namespace mlir;
using namespace mlir::zero;

namespace {

/// A mode's name in messages.
struct ModeRow {
  Mode mode;
  const char *name;
};

constexpr ModeRow kModes[] = {
    {Mode::Report, "a report"},
    {Mode::Search, "--search"},
    {Mode::Estimate, "--estimate of a model"},
    {Mode::Counts, "--estimate of --params"},
    {Mode::Allocate, "--allocate"},
    {Mode::Calibrate, "--calibrate"},
    {Mode::Compare, "--compare"},
    {Mode::Picture, "--layout and --explain"},
    {Mode::Runs, "--compare-runs"},
    {Mode::Fit, "--fit"},
};

constexpr unsigned bit(Mode mode) { return 1u << static_cast<unsigned>(mode); }

constexpr unsigned kReport = bit(Mode::Report), kSearch = bit(Mode::Search),
                   kModelEstimate = bit(Mode::Estimate),
                   kEstimate = kModelEstimate | bit(Mode::Counts),
                   kAllocate = bit(Mode::Allocate),
                   kCalibrate = bit(Mode::Calibrate),
                   kCompare = bit(Mode::Compare), kPicture = bit(Mode::Picture),
                   kFit = bit(Mode::Fit), kRuns = bit(Mode::Runs) | kFit,
                   /// One plan or more, of --stage and --ranks.
    kPlans = kReport | kSearch | kCompare | kPicture;

/// An option and the modes that read it.
struct OptionRow {
  const char *name;
  unsigned modes;
};

constexpr OptionRow kOptions[] = {
    // These are modes.
    {"search", kSearch},
    {"estimate", kEstimate},
    {"allocate", kAllocate},
    {"calibrate", kCalibrate},
    {"compare", kCompare},
    {"compare-runs", bit(Mode::Runs)},
    {"fit", kFit},
    {"o", kFit},
    {"layout", kPicture},
    {"explain", kPicture},
    // The estimates are of stages 2 and 3, and of as many ranks as GPUs.
    {"stage", kPlans | kCalibrate},
    {"ranks", kPlans | kCalibrate},
    {"mesh", kPlans | kCalibrate},
    {"config", kPlans | kCalibrate | kModelEstimate},
    {"pipeline", kPlans | kCalibrate | kModelEstimate | kRuns},
    {"memory-budget", kPlans | kCalibrate | kModelEstimate},
    {"host-memory-budget", kPlans | kCalibrate | kModelEstimate},
    {"target", kPlans | kCalibrate | kModelEstimate},
    {"machine", kPlans | kModelEstimate | kRuns},
    {"json", kReport | kSearch | kRuns},
    {"work-json", kReport | kSearch},
    {"lines", kReport | kSearch},
    {"commands", kReport},
    {"trace", kReport | kSearch},
    {"picture", kReport | kSearch},
    {"write-config", kSearch},
    {"nvme-path", kSearch},
    // Estimate.cpp says what it wants of the counts.
    {"params", kEstimate},
    {"largest-layer", kEstimate},
    {"gpus-per-node", kEstimate},
    {"nodes", kEstimate},
    {"buffer-factor", kEstimate},
    {"sequence", kEstimate},
    {"heads", kEstimate},
    {"hidden", kEstimate},
    {"batch", kEstimate},
    {"capacity", kAllocate},
    {"allocate-seconds", kAllocate},
};

} // namespace

static bool isGiven(StringRef option) {
  return llvm::cl::getRegisteredOptions().lookup(option)->getNumOccurrences() >
         0;
}

static std::string nameModes(unsigned modes) {
  SmallVector<StringRef> names;
  for (const ModeRow &row : kModes)
    if (modes & bit(row.mode))
      names.push_back(row.name);
  return llvm::join(names, ", ");
}

FailureOr<Mode> mlir::zero::readMode(bool hasFile) {
  std::optional<Mode> mode;
  const char *asked = nullptr;
  auto ask = [&](const char *option, Mode wanted) -> LogicalResult {
    if (!isGiven(option))
      return success();
    if (mode && *mode != wanted)
      return fail("--" + llvm::Twine(asked) + " and --" + option +
                  " are two modes; give one");
    mode = wanted;
    asked = option;
    return success();
  };
  if (failed(ask("search", Mode::Search)) ||
      failed(ask("estimate", hasFile ? Mode::Estimate : Mode::Counts)) ||
      failed(ask("allocate", Mode::Allocate)) ||
      failed(ask("calibrate", Mode::Calibrate)) ||
      failed(ask("compare", Mode::Compare)) ||
      failed(ask("compare-runs", Mode::Runs)) ||
      failed(ask("fit", Mode::Fit)) || failed(ask("layout", Mode::Picture)) ||
      failed(ask("explain", Mode::Picture)))
    return failure();
  Mode chosen = mode.value_or(Mode::Report);
  for (const OptionRow &row : kOptions)
    if (isGiven(row.name) && !(row.modes & bit(chosen)))
      return fail("--" + llvm::Twine(row.name) + " is not for " +
                  nameModes(bit(chosen)) + "; it is for " +
                  nameModes(row.modes));
  return chosen;
}

FailureOr<std::vector<std::string>> mlir::zero::readRankCounts(StringRef text,
                                                               Mode mode) {
  if (!isGiven("ranks"))
    return std::vector<std::string>{""};
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  std::vector<std::string> counts;
  for (StringRef part : parts) {
    int64_t count = 0;
    if (part.getAsInteger(10, count))
      return fail("--ranks: found '" + text +
                  "', wanted numbers with commas between them");
    counts.push_back(part.str());
  }
  if (counts.size() > 1 && !(bit(mode) & (kReport | kCalibrate)))
    return fail("--ranks: found '" + text + "', wanted one count for " +
                nameModes(bit(mode)));
  return counts;
}
