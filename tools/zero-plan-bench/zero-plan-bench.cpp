//===- zero-plan-bench.cpp - the planner on figures and buffers of others -===//
//
//   zero-plan-bench fit docs/published-runs.csv --machine h100 -o fitted.json
//   zero-plan-bench allocate buffers.csv --capacity 1048576
//
//===----------------------------------------------------------------------===//

#include "../Output.h"
#include "Allocate.h"
#include "Fit.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;
using namespace mlir::zero;
namespace cl = llvm::cl;

namespace {

cl::SubCommand fit("fit",
                   "Fit what kernels and links of --machine reach to the runs "
                   "of a CSV file, and write the machine to -o; columns as "
                   "for zero-plan compare-runs");
cl::SubCommand
    allocate("allocate",
             "Print offsets for the buffers of a CSV file with the columns "
             "id, lower, upper (exclusive) and size, '-' for standard "
             "input; exit with 1 and the best height where they exceed "
             "--capacity");
cl::SubCommandGroup both{&fit, &allocate};

cl::opt<std::string> input(cl::Positional, cl::Required, cl::sub(both),
                           cl::desc("<file.csv>"));
cl::opt<std::string> machine("machine", cl::sub(fit), cl::Required,
                             cl::value_desc("name or file"),
                             cl::desc("Machine that the fit starts from"));
cl::opt<std::string> pipeline("pipeline", cl::sub(fit),
                              cl::value_desc("options"),
                              cl::desc("Further options of zero-pipeline"));
cl::opt<std::string> output("o", cl::sub(fit), cl::Required,
                            cl::value_desc("file.json"),
                            cl::desc("The machine that was fitted"));
cl::opt<std::string> json("json", cl::sub(fit), cl::value_desc("file"),
                          cl::desc("Write the figures as JSON as well; '-' "
                                   "writes nothing else"));
cl::opt<int64_t> capacity("capacity", cl::sub(allocate), cl::Required,
                          cl::value_desc("bytes"),
                          cl::desc("What the buffers have to fit into"));
cl::opt<double> seconds("seconds", cl::sub(allocate), cl::init(60),
                        cl::value_desc("seconds"),
                        cl::desc("How long to search, in time on a core; 60 "
                                 "if not given"));

LogicalResult run() {
  std::string error =
      findReplaced({{"-o", output}, {"--json", json}},
                   {{"the runs", input}, {"the machine", machine}});
  if (!error.empty())
    return fail(error);
  if (fit)
    return fitRuns({input, machine, pipeline, output, json});
  if (!allocate)
    return fail("wanted a command: fit or allocate");
  if (capacity < 0)
    return fail("--capacity must be at least 0");
  if (!(seconds > 0))
    return fail("--seconds must be above 0");
  return success(runAllocate(input, capacity, seconds) == 0);
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv, /*InstallPipeSignalExitHandler=*/false);
  checkStandardOutput("zero-plan-bench");
  cl::ParseCommandLineOptions(
      argc, argv, "zero graph compiler: the planner on figures of others\n");
  return succeeded(run()) ? 0 : 1;
}
