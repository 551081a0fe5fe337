//===- VerifyRanks.cpp - one program for each rank, of one schedule -------===//
//
// zero-specialize-rank writes a module for each rank, and they differ in
// nothing but places. A program that differs in more may be right by itself,
// and the ranks still train different models.
//
//===----------------------------------------------------------------------===//

#include "zero/Verify/Verify.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

static int64_t rankOf(StepOp step) {
  return step->getAttrOfType<IntegerAttr>(kRank).getInt();
}

static bool isZero(Operation *op) {
  return isa_and_nonnull<ZeroDialect>(op->getDialect());
}

DictionaryAttr verify::getCommonFacts(Operation *op) {
  NamedAttrList attributes(op->getAttrDictionary());
  // A handle's name means something within one program only.
  for (StringRef own :
       std::initializer_list<StringRef>{kPlaces, "at", kRank, "handle"})
    attributes.erase(own);
  return attributes.getDictionary(op->getContext());
}

static constexpr const char kSame[] =
    "; wanted the same on all ranks: change the schedule and run "
    "zero-specialize-rank again";

/// Names the first attribute in which `found`, of `rank`, and rank 0's `wanted`
/// differ.
static LogicalResult reportDifference(Operation *found, Operation *wanted,
                                      int64_t rank) {
  InFlightDiagnostic error = found->emitOpError();
  DictionaryAttr here = getCommonFacts(found), there = getCommonFacts(wanted);
  auto print = [&](StringAttr name, Attribute value) {
    value ? error << name << " = " << value : error << "no " << name;
  };
  if (found->getName() != wanted->getName()) {
    error << "of rank " << rank << " stands where rank 0 has '"
          << wanted->getName() << "'";
  } else {
    auto entries = llvm::concat<const NamedAttribute>(here, there);
    StringAttr name =
        (*llvm::find_if(entries, [&](const NamedAttribute &entry) {
          return here.get(entry.getName()) != there.get(entry.getName());
        })).getName();
    error << "has ";
    print(name, here.get(name));
    error << " on rank " << rank << " and ";
    print(name, there.get(name));
    error << " on rank 0";
  }
  error << kSame;
  error.attachNote(wanted->getLoc()) << "on rank 0";
  return error;
}

static LogicalResult reportExtra(Operation *op, int64_t rank, int64_t other) {
  return op->emitOpError("is in the program of rank ")
         << rank << " and not in that of rank " << other << kSame;
}

//===----------------------------------------------------------------------===//
// Which ranks there are
//===----------------------------------------------------------------------===//

/// Each module is that of the rank that it is named after.
static LogicalResult verifyIdentity(ArrayRef<StepOp> steps) {
  for (size_t i = 0; i < steps.size(); ++i) {
    auto program = steps[i]->getParentOfType<ModuleOp>();
    int64_t rank = rankOf(steps[i]);
    if (i > 0 && rankOf(steps[i - 1]) == rank) {
      InFlightDiagnostic error = program.emitOpError("is a second program of ")
                                 << "rank " << rank
                                 << ", wanted one; run zero-specialize-rank "
                                    "again";
      error.attachNote(steps[i - 1]->getLoc()) << "the first one";
      return error;
    }
    std::string wanted = "rank" + std::to_string(rank);
    if (program.getSymName().value_or("") != wanted)
      return program.emitOpError("holds the program of rank ")
             << rank << " and has the name '"
             << program.getSymName().value_or("") << "', wanted '" << wanted
             << "'";
  }
  return success();
}

/// `steps` are sorted by rank, and none is there twice.
static LogicalResult verifyComplete(ModuleOp module, ArrayRef<StepOp> steps) {
  StepOp first = steps.front();
  int64_t ranks = first.getTraining()->getRanks(), missing = 0;
  for (StepOp step : steps)
    missing += rankOf(step) == missing;
  if (missing == ranks)
    return success();
  return module.emitOpError("holds the programs of ")
         << steps.size() << " of " << ranks << " ranks, and that of rank "
         << missing
         << " is missing; wanted a module for each rank: run "
            "zero-specialize-rank again";
}

//===----------------------------------------------------------------------===//
// What all have in common
//===----------------------------------------------------------------------===//

/// Parameters, optimizers and partitions.
static SmallVector<Operation *> collectDeclarations(StepOp step) {
  SmallVector<Operation *> declarations;
  for (Operation &op : step->getParentOfType<ModuleOp>().getOps())
    if (isZero(&op) && !isa<StepOp>(op))
      declarations.push_back(&op);
  return declarations;
}

static LogicalResult verifyDeclarations(ArrayRef<StepOp> steps) {
  SmallVector<Operation *> first = collectDeclarations(steps.front());
  for (auto [rank, step] : llvm::enumerate(steps)) {
    SmallVector<Operation *> own = collectDeclarations(step);
    for (auto [a, b] : llvm::zip(own, first))
      if (a->getName() != b->getName() ||
          getCommonFacts(a) != getCommonFacts(b))
        return reportDifference(a, b, rank);
    if (own.size() != first.size())
      return own.size() > first.size()
                 ? reportExtra(own[first.size()], rank, 0)
                 : reportExtra(first[own.size()], 0, rank);
  }
  return success();
}

LogicalResult verify::verifyRanks(ModuleOp module,
                                  SmallVectorImpl<StepOp> &steps) {
  // One program for all ranks, or one rank's by itself.
  if (steps.size() == 1 && steps.front()->getParentOp() == module)
    return success();
  for (StepOp step : steps)
    if (!step->hasAttr(kRank))
      return step.emitOpError("is one of several modules' and has no "
                              "'zero.rank'; run zero-specialize-rank");
  llvm::stable_sort(steps,
                    [](StepOp a, StepOp b) { return rankOf(a) < rankOf(b); });
  for (StepOp step : steps)
    if (getCommonFacts(step) != getCommonFacts(steps.front()))
      return reportDifference(step, steps.front(), rankOf(step));
  return success(succeeded(verifyIdentity(steps)) &&
                 succeeded(verifyComplete(module, steps)) &&
                 succeeded(verifyDeclarations(steps)));
}

//===----------------------------------------------------------------------===//
// What the programs do
//===----------------------------------------------------------------------===//

namespace {
/// An operation by name and attributes, in a region by name and attributes.
using Fact = std::tuple<OperationName, Attribute, OperationName, Attribute>;
using Facts = llvm::MapVector<Fact, Operation *>;
} // namespace

/// Collects the facts of all operations of ZeRO, without collectives, whose
/// order is compared instead, and kernels, which are the model's. Their places
/// in their regions may differ between programs.
static Facts collectFacts(StepOp step) {
  Facts facts;
  for (Operation &region : step.getBody().front()) {
    DictionaryAttr where = getCommonFacts(&region);
    facts.insert({{step->getName(), {}, region.getName(), where}, &region});
    region.walk([&](Operation *op) {
      if (op != &region && isZero(op) && !isCollective(op) &&
          !isa<LaunchOp, StridedOp, StridedYieldOp>(op))
        facts.insert(
            {{op->getName(), getCommonFacts(op), region.getName(), where}, op});
    });
  }
  return facts;
}

static Operation *findFirstMissing(const Facts &from, const Facts &in,
                                   Operation *like) {
  for (const auto &[fact, op] : from)
    if (!in.count(fact) && (!like || op->getName() == like->getName()))
      return op;
  return nullptr;
}

LogicalResult verify::verifyOperations(ArrayRef<StepOp> ranks) {
  if (ranks.size() < 2)
    return success();
  Facts first = collectFacts(ranks.front());
  for (auto [rank, step] : llvm::enumerate(ranks)) {
    Facts own = collectFacts(step);
    Operation *extra = findFirstMissing(own, first, /*like=*/nullptr);
    Operation *lacking = findFirstMissing(first, own, extra);
    if (extra && lacking && getCommonFacts(extra) != getCommonFacts(lacking))
      return reportDifference(extra, lacking, rank);
    if (extra)
      return reportExtra(extra, rank, 0);
    if (lacking)
      return reportExtra(lacking, 0, rank);
  }
  return success();
}
