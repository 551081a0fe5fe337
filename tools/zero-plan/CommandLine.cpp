//===- CommandLine.cpp - the commands of zero-plan and what several take --===//

#include "CommandLine.h"

#include "../Version.h"
#include "HuggingFace.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::zero;
namespace cl = llvm::cl;

cl::OptionCategory &mlir::zero::category() {
  static cl::OptionCategory category("zero-plan options");
  return category;
}

cl::SubCommand &commands::search() {
  static cl::SubCommand command(
      "search",
      "Choose stage, bucket sizes, what stage 3 gathers ahead and keeps, and "
      "which activations are recomputed: the fastest plan in --memory-budget; "
      "what the configuration or an option gives stays. Exit with 1 and the "
      "smallest plan where none fits");
  return command;
}
cl::SubCommand &commands::estimate() {
  static cl::SubCommand command(
      "estimate", "Print DeepSpeed's estimates of memory for model states");
  return command;
}
cl::SubCommand &commands::calibrate() {
  static cl::SubCommand command(
      "calibrate", "Measure this machine with the model's kernels and "
                   "collectives, with 1, 2 and 4 ranks or those of --ranks, "
                   "and write a file for --machine to -o");
  return command;
}
cl::SubCommand &commands::compare() {
  static cl::SubCommand command("compare",
                                "Compare two planned schedules, or one model "
                                "with two --pipeline");
  return command;
}
cl::SubCommand &commands::layout() {
  static cl::SubCommand command("layout", "Draw intervals, owners and padding");
  return command;
}
cl::SubCommand &commands::explain() {
  static cl::SubCommand command(
      "explain", "Print a parameter's whole life: explain model.mlir @name");
  return command;
}
cl::SubCommand &commands::compareRuns() {
  static cl::SubCommand command(
      "compare-runs",
      "Predict the stage 3 runs of a CSV file for --machine, and print what "
      "was published beside it; columns: gpu, model, d, layers, heads, vocab, "
      "seq, gpus, micro, accum, ac, published_tok_s_gpu");
  return command;
}

namespace {

using Group = cl::SubCommandGroup;

/// What plans, once or more, for --stage and --ranks.
Group planned{&commands::report(),  &commands::search(),
              &commands::compare(), &commands::layout(),
              &commands::explain(), &commands::calibrate()};
/// The estimates are of stages 2 and 3, and of as many ranks as GPUs.
Group modelled{&commands::report(),  &commands::search(),
               &commands::compare(), &commands::layout(),
               &commands::explain(), &commands::calibrate(),
               &commands::estimate()};
Group piped{&commands::report(),   &commands::search(),
            &commands::compare(),  &commands::layout(),
            &commands::explain(),  &commands::calibrate(),
            &commands::estimate(), &commands::compareRuns()};
Group timed{&commands::report(),     &commands::search(),
            &commands::compare(),    &commands::layout(),
            &commands::explain(),    &commands::estimate(),
            &commands::compareRuns()};
Group figures{&commands::report(), &commands::search(),
              &commands::compareRuns()};
Group reports{&commands::report(), &commands::search()};

cl::opt<std::string> config("config", cl::cat(category()), cl::sub(modelled),
                            cl::value_desc("ds_config.json"),
                            cl::desc("DeepSpeed configuration"));
cl::list<std::string>
    keys("set", cl::cat(category()), cl::sub(modelled),
         cl::value_desc("key=value"),
         cl::desc("A key of the configuration and its value, such as "
                  "zero_optimization.reduce_bucket_size=5e7; may be repeated"));
cl::opt<std::string> stage("stage", cl::cat(category()), cl::sub(planned),
                           cl::value_desc("0..3"),
                           cl::desc("ZeRO stage; overrides the configuration"));
cl::opt<std::string>
    mesh("mesh", cl::cat(category()), cl::sub(planned),
         cl::value_desc("axis=n,..."),
         cl::desc("Axes of the ranks instead of --ranks, such as "
                  "replica=2,shard=4: states are partitioned over 'shard'; "
                  "search takes auto as well, which chooses it"));
cl::opt<std::string> memoryBudget(
    "memory-budget", cl::cat(category()), cl::sub(modelled),
    cl::value_desc("bytes"),
    cl::desc("Most bytes that a rank may need on its device, such as 80GiB; "
             "any if not given"));
cl::opt<std::string> hostMemoryBudget(
    "host-memory-budget", cl::cat(category()), cl::sub(modelled),
    cl::value_desc("bytes"),
    cl::desc("Most bytes that a rank may need in host memory for what is "
             "offloaded; search offloads only where this is given"));
cl::opt<std::string> target("target", cl::cat(category()), cl::sub(modelled),
                            cl::value_desc("host|cuda"),
                            cl::desc("Whose kernels the plan is for; host if "
                                     "not given"));
cl::opt<std::string>
    traceFile("trace", cl::cat(category()), cl::sub(reports),
              cl::value_desc("file.json"),
              cl::desc("Write the predicted timeline of two updates, for "
                       "ui.perfetto.dev"));
cl::opt<std::string>
    pictureFile("picture", cl::cat(category()), cl::sub(reports),
                cl::value_desc("file.svg"),
                cl::desc("Draw streams and arenas over the predicted time"));
cl::opt<std::string>
    pageFile("report", cl::cat(category()), cl::sub(reports),
             cl::value_desc("file.html"),
             cl::desc("Write a page to look into: streams, memory, parameters, "
                      "traffic and what a search found"));

} // namespace

namespace mlir::zero::options {

cl::list<std::string> inputs(cl::Positional, cl::cat(category()),
                             cl::sub(piped), cl::desc("<model.mlir>"));
cl::opt<std::string> ranks("ranks", cl::cat(category()), cl::sub(planned),
                           cl::value_desc("n,..."),
                           cl::desc("Data-parallel ranks, 1 if not given; of "
                                    "several counts, a line each is printed"));
cl::list<std::string> pipelines(
    "pipeline", cl::cat(category()), cl::sub(piped), cl::value_desc("options"),
    cl::desc("Further options of zero-pipeline, such as 'precision=bf16 "
             "accumulation=4'; they override the configuration"));
cl::opt<std::string> machine(
    "machine", cl::cat(category()), cl::sub(timed),
    cl::value_desc("name or file"),
    cl::desc("Machine that is planned and predicted for: a name, such as h100, "
             "h100-eager or b200, or a file that calibrate wrote; the "
             "configuration's if not given, and if that names none, host "
             "for --target host, else h100"));
cl::opt<std::string> json("json", cl::cat(category()), cl::sub(figures),
                          cl::value_desc("file"),
                          cl::desc("Write the figures as JSON as well; '-' "
                                   "writes nothing else"));
cl::opt<std::string>
    workJson("work-json", cl::cat(category()), cl::sub(reports), cl::Hidden,
             cl::value_desc("file"),
             cl::desc("Write what planning did, counted by kind: for tests"));
cl::opt<unsigned> lines("lines", cl::cat(category()),
                        cl::sub(commands::report()), cl::init(5),
                        cl::value_desc("n"),
                        cl::desc("Largest parts of an arena to list"));
cl::opt<std::string> output("o", cl::cat(category()),
                            cl::sub(commands::calibrate()),
                            cl::value_desc("file.json"),
                            cl::desc("The machine that was measured"));

} // namespace mlir::zero::options

static cl::alias gpus("gpus", cl::cat(category()), cl::aliasopt(options::ranks),
                      cl::desc("The same as --ranks"));

PlanOptions mlir::zero::planOptions(StringRef count) {
  PlanOptions options = {config,
                         llvm::join(options::pipelines, " "),
                         stage,
                         count.str(),
                         mesh,
                         memoryBudget,
                         hostMemoryBudget,
                         target,
                         options::machine,
                         llvm::join(keys, ";")};
  fillDefaults(options, /*choosesStage=*/bool(commands::search()));
  return options;
}

DrawingFiles mlir::zero::drawingFiles() {
  return {traceFile, pictureFile, pageFile};
}

LogicalResult mlir::zero::expectInputs(size_t count, StringRef wanted) {
  // The first word would be the model.
  if (isHuggingFace())
    --count;
  if (options::inputs.size() == count)
    return success();
  return fail("wanted " + Twine(count) + " " + wanted +
              (isHuggingFace() ? " beside --hf, found " : ", found ") +
              Twine(options::inputs.size()));
}

FailureOr<std::vector<std::string>> mlir::zero::readRankCounts() {
  if (options::ranks.getNumOccurrences() == 0)
    return std::vector<std::string>{""};
  StringRef text = options::ranks.getValue();
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
  return counts;
}

FailureOr<std::string> mlir::zero::readRankCount() {
  FailureOr<std::vector<std::string>> counts = readRankCounts();
  if (failed(counts))
    return failure();
  if (counts->size() > 1)
    return fail("--ranks: found '" + options::ranks + "', wanted one count");
  return counts->front();
}

LogicalResult mlir::zero::checkOutputs(ArrayRef<NamedFile> further) {
  SmallVector<NamedFile> read = {{"the configuration", config},
                                 {"the machine", options::machine}};
  for (const std::string &path : options::inputs)
    read.push_back({"the model", path});
  SmallVector<NamedFile> written = {
      {"--json", options::json}, {"--work-json", options::workJson},
      {"--trace", traceFile},    {"--picture", pictureFile},
      {"--report", pageFile},    {"-o", options::output}};
  llvm::append_range(written, further);
  std::string error = findReplaced(written, read);
  return error.empty() ? success() : fail(error);
}

//===----------------------------------------------------------------------===//
// Words that are not understood
//===----------------------------------------------------------------------===//

/// An option of earlier versions, and what to write now.
struct OldOption {
  StringLiteral name, instead;
};

static constexpr OldOption kOldOptions[] = {
    {"search", "zero-plan search MODEL"},
    {"estimate", "zero-plan estimate [MODEL] [--classic]"},
    {"calibrate", "zero-plan calibrate MODEL -o FILE"},
    {"compare", "zero-plan compare"},
    {"compare-runs", "zero-plan compare-runs FILE"},
    {"layout", "zero-plan layout MODEL"},
    {"explain", "zero-plan explain MODEL @PARAMETER"},
    {"fit", "zero-plan-bench fit FILE"},
    {"allocate", "zero-plan-bench allocate FILE"},
    {"capacity", "zero-plan-bench allocate FILE --capacity BYTES"},
    {"allocate-seconds", "zero-plan-bench allocate FILE --seconds SECONDS"},
};

static std::string nameOf(const cl::SubCommand &command) {
  return command.getName().empty() ? "zero-plan"
                                   : ("zero-plan " + command.getName()).str();
}

/// Fails where `option` is none of `chosen`, and another command has it or
/// earlier versions had it.
static LogicalResult checkOption(StringRef option, cl::SubCommand &chosen) {
  if (cl::getRegisteredOptions(chosen).contains(option))
    return success();
  for (const OldOption &old : kOldOptions)
    if (old.name == option)
      return fail("--" + option + " is a command now: " + old.instead);
  SmallVector<std::string> owners;
  for (cl::SubCommand *command : cl::getRegisteredSubcommands())
    if (command != &cl::SubCommand::getAll() &&
        cl::getRegisteredOptions(*command).contains(option))
      owners.push_back(nameOf(*command));
  if (owners.empty())
    return success(); // LLVM's parser says what is near
  llvm::sort(owners);
  return fail((option.size() == 1 ? "-" : "--") + option + " is not for '" +
              nameOf(chosen) + "'; it is for '" + llvm::join(owners, "', '") +
              "'");
}

LogicalResult mlir::zero::readCommandLine(int argc, char **argv) {
  ArrayRef<char *> words = ArrayRef(argv, argc).drop_front();
  cl::SubCommand *chosen = &cl::SubCommand::getTopLevel();
  for (cl::SubCommand *command : cl::getRegisteredSubcommands())
    if (!words.empty() && !command->getName().empty() &&
        command->getName() == words.front())
      chosen = command;
  for (StringRef word : words) {
    if (word == "--")
      break;
    if (!word.consume_front("-"))
      continue;
    word.consume_front("-");
    if (failed(checkOption(word.split('=').first, *chosen)))
      return failure();
  }
  cl::HideUnrelatedOptions(category());
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &out) {
    out << zero_tools::versionText("zero-plan") << "\n";
  });
  cl::ParseCommandLineOptions(
      argc, argv, "zero graph compiler: what a plan needs, before it runs\n");
  return checkRepeated(*chosen);
}
