//===- Estimate.cpp - DeepSpeed's estimates, and the plan beside them -----===//

#include "CommandLine.h"
#include "Estimators.h"

#include "Table.h"

#include "zero/Plan/PlanSummary.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace mlir::zero;

namespace {
struct EstimateRequest {
  EstimateVersion version = EstimateVersion::Current;
  /// Parameter counts of 0 are taken from the model.
  EstimateSetup setup;
  /// All 0 where no activations are asked for.
  TransformerShape transformer;
  /// A model's file, or empty.
  std::string model;
  PlanOptions plan;
};
} // namespace

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

/// Counts what the estimators ask of a model. A layer is a module's own
/// parameters: those whose names agree up to the last dot.
static void countParameters(ModuleOp module, EstimateSetup &setup) {
  llvm::StringMap<int64_t> layers;
  int64_t all = 0, largest = 0;
  for (ParameterOp parameter : module.getOps<ParameterOp>()) {
    StringRef name = parameter.getSymName();
    StringRef layer = name.contains('.') ? name.rsplit('.').first : "";
    int64_t &elements = layers[layer];
    elements += parameter.getElements();
    all += parameter.getElements();
    largest = std::max(largest, elements);
  }
  setup.parameters = all;
  setup.largestLayer = largest;
}

//===----------------------------------------------------------------------===//
// The tables
//===----------------------------------------------------------------------===//

static int64_t millions(double count) { return count / 1e6; }

static void printHeader(const EstimateSetup &setup, bool withLayer) {
  llvm::outs()
      << "Estimated memory needed for params, optim states and gradients for "
         "a:\n"
      << "HW: Setup with " << setup.nodes
      << (setup.nodes > 1 ? " nodes, " : " node, ") << setup.gpusPerNode
      << (setup.gpusPerNode > 1 ? " GPUs" : " GPU") << " per node.\n"
      << "SW: Model with " << millions(setup.parameters) << "M total params";
  if (withLayer)
    llvm::outs() << ", " << millions(setup.largestLayer)
                 << "M largest layer params";
  llvm::outs() << ".\n  per CPU  |  per GPU |   Options\n";
}

static void printRows(ArrayRef<EstimateRow> rows, bool isZero3) {
  constexpr double kGiB = 1 << 30;
  auto device = [](bool isOffloaded) { return isOffloaded ? "cpu " : "none"; };
  for (const EstimateRow &row : rows) {
    llvm::outs() << llvm::format(" %7.2fGB | %6.2fGB | ", row.cpuBytes / kGiB,
                                 row.gpuBytes / kGiB);
    if (isZero3)
      llvm::outs() << "offload_param=" << device(row.offloadParameters) << ", ";
    llvm::outs() << "offload_optimizer=" << device(row.offloadOptimizer);
    if (isZero3)
      llvm::outs() << ", zero_init=" << row.partitionedInit;
    llvm::outs() << "\n";
  }
}

/// The documentation's example in its own form.
static void printCases(const EstimateSetup &setup) {
  Zero3Cases cases = estimateZero3Cases(setup);
  auto megabytes = [](StringRef name, int64_t bytes) {
    llvm::outs() << name << ": "
                 << llvm::format("%6lld", static_cast<long long>(bytes >> 20))
                 << "MB\n";
  };
  llvm::outs() << llvm::format("total params: %6.2fM\n", setup.parameters / 1e6)
               << llvm::format("largest layer params: %6.2fM\n",
                               setup.largestLayer / 1e6);
  megabytes("largest layer memory", cases.largestLayer);
  megabytes("case1 gpu memory", cases.none);
  megabytes("case2 gpu memory", cases.all);
  megabytes("case3 gpu memory", cases.optimizer);
}

/// What of the table's CPU bytes is pinned.
static void printPinned(const EstimateSetup &setup) {
  PinnedBytes pinned = estimatePinned(setup);
  constexpr double kGiB = 1 << 30;
  auto row = [&](StringRef options, int64_t bytes) {
    llvm::outs() << llvm::format(" %7.2fGB | ", bytes / kGiB) << options
                 << "\n";
  };
  llvm::outs()
      << "\nOf these, pinned with pin_memory:\n  per CPU  |   Options\n";
  row("offload_param=cpu , offload_optimizer=cpu", pinned.all);
  row("offload_param=cpu , offload_optimizer=cpu, "
      "gradient_accumulation_steps > 1",
      pinned.allAccumulating);
  row("offload_param=none, offload_optimizer=cpu", pinned.optimizer);
}

static void printActivations(const TransformerShape &shape) {
  llvm::outs() << "\nActivations of a transformer, (2 * sequence * heads + 16 "
                  "* hidden) * sequence * batch: "
               << formatBytes(estimateActivations(shape)) << " per GPU\n";
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

namespace {
/// What the estimates have rows for.
struct PlannedRow {
  StringRef stage;
  bool offloadsParameters, offloadsOptimizer;
};
} // namespace

static constexpr PlannedRow kPlannedRows[] = {{"2", false, true},
                                              {"2", false, false},
                                              {"3", true, true},
                                              {"3", false, true},
                                              {"3", false, false}};

/// Adds a row over as many ranks as the estimate has GPUs.
static LogicalResult addPlan(ModelFile &model, const EstimateRequest &request,
                             const PlannedRow &row, Table &table) {
  PlanOptions options = request.plan;
  // The estimates assume 16-bit training; a configuration says otherwise.
  if (options.config.empty() && options.pipeline.empty())
    options.pipeline = "precision=bf16";
  if (row.offloadsOptimizer)
    options.pipeline += " offload-optimizer=cpu";
  if (row.offloadsParameters)
    options.pipeline += " offload-param=cpu";
  options.stage = row.stage.str();
  options.ranks = std::to_string(request.setup.gpus());
  FailureOr<OwningOpRef<ModuleOp>> planned = model.plan(options);
  if (failed(planned))
    return failure();
  PlanSummary summary = summarizePlan(planned->get());
  auto device = [](bool offloads) { return offloads ? "cpu" : "none"; };
  table.add({("  ZeRO-" + row.stage).str(), device(row.offloadsParameters),
             device(row.offloadsOptimizer),
             formatBytes(summary.arena(ArenaKind::Parameters).bytes),
             formatBytes(summary.arena(ArenaKind::Gradients).bytes),
             formatBytes(summary.arena(ArenaKind::Optimizer).bytes),
             formatBytes(summary.arena(ArenaKind::Activations).bytes),
             formatBytes(summary.arena(ArenaKind::Communication).bytes),
             formatBytes(summary.totalBytes()),
             formatBytes(summary.totalBytes(MemoryTier::Host))});
  return success();
}

static LogicalResult printPlans(ModelFile &model,
                                const EstimateRequest &request) {
  llvm::outs() << "\nWhat this compiler plans for a rank, "
               << plural(request.setup.gpus(), "rank") << ":\n";
  Table table;
  table.add({"", "offload_param", "offload_optimizer", "parameters",
             "gradients", "optimizer", "activations", "communication", "all",
             "all on host"});
  for (const PlannedRow &row : kPlannedRows)
    if (failed(addPlan(model, request, row, table)))
      return failure();
  table.print(llvm::outs());
  llvm::outs()
      << "In bf16 with Adam, of what ranks divide there are 14 bytes a "
         "parameter at ZeRO-2 and 16 at ZeRO-3, which\ndivides parameters as "
         "well, and 2 more where micro-batches are accumulated in f32. The "
         "estimates always count\na gradient in f32; the 18 bytes of ZeRO-2 "
         "count one in 16 bits, too. They leave out activations, buckets and\n"
         "gathered parameters, which the plan has, and multiply CPU bytes by a "
         "buffer factor; what is offloaded here\nis on the host to the byte, "
         "with copies of the gradients and parameters of a sub-group.\n";
  return success();
}

/// Prints the tables of ZeRO-2 and ZeRO-3 and the documentation's example; with
/// a model, what this compiler plans for as many ranks.
static LogicalResult runEstimate(EstimateRequest request) {
  EstimateSetup &setup = request.setup;
  if (setup.gpusPerNode < 1 || setup.nodes < 1)
    return fail("--gpus-per-node and --nodes must be at least 1");
  if (!request.transformer.isAbsent() && !request.transformer.isComplete())
    return fail("activations take all of --sequence, --heads, --hidden and "
                "--batch, each at least 1");
  ModelFile model;
  if (!request.model.empty()) {
    if (setup.parameters != 0 || setup.largestLayer != 0)
      return fail("--params and --largest-layer are counted from '" +
                  request.model + "'; leave one or the other out");
    if (failed(model.read(request.model)))
      return failure();
    countParameters(model.get(), setup);
  } else if (!(setup.parameters > 0 && setup.largestLayer >= 0)) {
    return fail("wanted a model, or --params above 0 and, for ZeRO-3, "
                "--largest-layer");
  } else if (setup.parameters != std::floor(setup.parameters) ||
             setup.largestLayer != std::floor(setup.largestLayer)) {
    return fail("--params and --largest-layer must be whole numbers");
  } else if (setup.parameters > 1e15) {
    return fail("--params must be at most 1e15");
  } else if (setup.largestLayer > setup.parameters) {
    return fail("--largest-layer must be at most --params");
  }
  llvm::outs() << "ZeRO-2\n";
  printHeader(setup, /*withLayer=*/false);
  printRows(estimateZero2(setup, request.version), /*isZero3=*/false);
  if (setup.largestLayer == 0)
    return success();
  llvm::outs() << "\nZeRO-3\n";
  printHeader(setup, /*withLayer=*/true);
  printRows(estimateZero3(setup), /*isZero3=*/true);
  printPinned(setup);
  llvm::outs() << "\n";
  printCases(setup);
  if (!request.transformer.isAbsent())
    printActivations(request.transformer);
  return request.model.empty() ? success() : printPlans(model, request);
}

//===----------------------------------------------------------------------===//
// The command
//===----------------------------------------------------------------------===//

namespace cl = llvm::cl;
using commands::estimate;

static cl::opt<bool> classic(
    "classic", cl::cat(category()), cl::sub(estimate()),
    cl::desc("As DeepSpeed's documentation has them, not its present code"));
static cl::opt<double> parameterCount("params", cl::cat(category()),
                                      cl::sub(estimate()),
                                      cl::value_desc("count"),
                                      cl::desc("Parameters in all, without a "
                                               "model"));
static cl::opt<double> largestLayer("largest-layer", cl::cat(category()),
                                    cl::sub(estimate()),
                                    cl::value_desc("count"),
                                    cl::desc("Parameters of the largest "
                                             "layer"));
static cl::opt<int64_t> gpusPerNode("gpus-per-node", cl::cat(category()),
                                    cl::sub(estimate()), cl::init(1),
                                    cl::value_desc("n"),
                                    cl::desc("GPUs of a node"));
static cl::opt<int64_t> nodes("nodes", cl::cat(category()), cl::sub(estimate()),
                              cl::init(1), cl::value_desc("n"),
                              cl::desc("Nodes"));
static cl::opt<int64_t> sequence("sequence", cl::cat(category()),
                                 cl::sub(estimate()), cl::value_desc("n"),
                                 cl::desc("Tokens of a sample, for the "
                                          "estimate of activations"));
static cl::opt<int64_t> heads("heads", cl::cat(category()), cl::sub(estimate()),
                              cl::value_desc("n"),
                              cl::desc("Attention heads, for the same"));
static cl::opt<int64_t> hidden("hidden", cl::cat(category()),
                               cl::sub(estimate()), cl::value_desc("n"),
                               cl::desc("Width, for the same"));
static cl::opt<int64_t> batch("batch", cl::cat(category()), cl::sub(estimate()),
                              cl::value_desc("n"),
                              cl::desc("Samples on a GPU, for the same"));
static cl::opt<double> bufferFactor("buffer-factor", cl::cat(category()),
                                    cl::sub(estimate()), cl::init(1.5),
                                    cl::value_desc("factor"),
                                    cl::desc("DeepSpeed's "
                                             "additional_buffer_factor, for "
                                             "CPU memory"));

LogicalResult mlir::zero::runEstimateCommand() {
  if (options::inputs.size() > 1)
    return expectInputs(1);
  EstimateRequest request;
  if (classic)
    request.version = EstimateVersion::Classic;
  request.setup = {parameterCount, largestLayer, gpusPerNode, nodes,
                   bufferFactor};
  request.transformer = {sequence, heads, hidden, batch};
  request.plan = planOptions("");
  if (!options::inputs.empty())
    request.model = options::inputs.front();
  else if (!request.plan.empty() || !request.plan.machine.empty())
    return fail("an estimate of --params plans nothing: give a model, or leave "
                "the options of a plan out");
  return runEstimate(std::move(request));
}
