#include "trainer/Options.h"

#include "data/Nearest.h"
#include "program/ByteCount.h"
#include "trainer/Dump.h"
#include "trainer/Injection.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>
#include <thread>
#include <vector>

using namespace zrt;

namespace {

/// Flags whose values the program decides; they are checked, not used.
struct Claims {
  int64_t ranks = 0; ///< 0: not given
  bool deterministic = false;
};

/// Accepts the decimal whole numbers of [low, high]; CLI11 itself would take
/// what is too large as the largest.
template <typename T>
CLI::Validator wholeNumber(T low, T high = std::numeric_limits<T>::max()) {
  const auto check = [=](std::string &text) -> std::string {
    T value = 0;
    const char *end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && stop == end && value >= low && value <= high)
      return "";
    return "found '" + text + "', wanted a whole number from " +
           std::to_string(low) + " to " + std::to_string(high);
  };
  return CLI::Validator(check, "");
}

/// Accepts the numbers of [low, high], no NaN; an infinite `high` is no bound.
CLI::Validator number(double low, double high) {
  const auto check = [=](std::string &text) -> std::string {
    double value;
    if (CLI::detail::lexical_cast(text, value) && std::isfinite(value) &&
        value >= low && value <= high)
      return "";
    std::ostringstream wanted;
    wanted << "found '" << text << "', wanted a number of at least " << low;
    if (std::isfinite(high))
      wanted << " and at most " << high;
    return wanted.str();
  };
  return CLI::Validator(check, "");
}

/// Turns a number of bytes with a unit into one without.
CLI::Validator byteCount() {
  const auto read = [](std::string &text) -> std::string {
    uint64_t bytes = 0;
    const std::string problem = readByteCount(text, bytes);
    if (problem.empty())
      text = std::to_string(bytes);
    return problem;
  };
  return CLI::Validator(read, "");
}

/// ": did you mean '--steps'?" where a flag is near, else "".
std::string nearestFlag(const CLI::App &app, const std::string &flag) {
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options())
    names.push_back("--" + option->get_single_name());
  const std::string best = nearestOf(flag, names);
  return best.empty() ? "; --help lists all flags"
                      : "; did you mean '" + best + "'?";
}

void addTrainingFlags(CLI::App &app, Options &options, Claims &claims) {
  app.add_option(
         "--data", options.data,
         "training data: text, .bin of token ids, .npy or .safetensors arrays, "
         "or a folder of arrays")
      ->type_name("PATH");
  app.add_option("--data-format", options.dataFormat,
                 "read the data as tokens of this form, whatever its name: "
                 "text, uint16, uint32 or llm.c")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "uint16", "uint32", "llm.c"}));
  app.add_option("--steps", options.steps,
                 "number of updates (optimizer steps)")
      ->type_name("N")
      ->check(wholeNumber<int64_t>(0));
  app.add_option("--seed", options.seed,
                 "seed of initial values, data order and dropout (default 0)")
      ->type_name("N")
      ->check(wholeNumber<uint64_t>(0));
  app.add_option("--ranks", claims.ranks,
                 "checked against the rank count that was compiled in")
      ->type_name("N")
      ->check(wholeNumber<int64_t>(1));
  app.add_option("--ranks-as", options.ranksAs,
                 "threads of this process, or processes that it starts "
                 "(default: processes on GPUs, else threads); a launcher "
                 "starts processes by itself")
      ->type_name("NAME")
      ->check(CLI::IsMember({"auto", "threads", "processes"}));
  app.add_flag("--deterministic", claims.deterministic,
               "checked against the mode that was compiled in");
  app.add_option("--threads", options.threads,
                 "threads per rank (default: cores / local ranks)")
      ->type_name("N")
      ->check(wholeNumber<int>(1, mostThreads()));
  app.add_option("--device-memory", options.deviceMemory,
                 "refuse to run where a rank needs more than so many bytes of "
                 "the device tier, as a device of that size would; units are "
                 "KiB, MiB, GiB")
      ->type_name("BYTES")
      ->transform(byteCount());
  app.add_option("--nvme-path", options.nvmePath,
                 "existing folder for files of optimizer states, instead of "
                 "the one that was compiled in")
      ->type_name("FOLDER")
      ->check([](const std::string &folder) {
        return std::string(folder.empty() ? "is empty, wanted a folder" : "");
      });
  app.add_flag("--overcommit", options.overcommit,
               "start although the ranks would need more memory than this "
               "machine has left");
  app.add_option("--timeout", options.timeout,
                 "end the run when a rank has waited for others for so long "
                 "without any progress; 0 waits for ever (default 600)")
      ->type_name("SECONDS")
      ->check(number(0, 1e8));
  app.add_option("--notice-after", options.noticeAfter,
                 "say which rank the others wait for when it has been so long, "
                 "and go on waiting; 0 never does (default 10)")
      ->type_name("SECONDS")
      ->check(number(0, 1e8));
  app.add_option("--flight", options.flight,
                 "existing folder for the records of what each rank did last, "
                 "which a run that ends well takes away (default: /dev/shm); "
                 "zero-flight reads them")
      ->type_name("FOLDER");
  app.add_option("--loss-scale", options.lossScale,
                 "multiply the loss by X in every update, instead of by the "
                 "compiled scale; gradients are divided by it again")
      ->type_name("X")
      ->check(number(kSmallestLossScale, kLargestLossScale));
  app.add_option("--weights", options.weights,
                 "load the initial weights: a safetensors file, an index of "
                 "shards, or a folder with either")
      ->type_name("PATH");
  app.add_flag("--from-scratch", options.fromScratch,
               "start from new values, although the model was imported with "
               "weights")
      ->excludes("--weights");
  app.add_option("--save-weights", options.saveWeights,
                 "save the weights after the last update")
      ->type_name("FILE.safetensors");
  app.add_option("--metrics", options.metrics,
                 "write one JSON object per update")
      ->type_name("FILE.jsonl");
  app.add_option("--tensorboard", options.tensorboard,
                 "write the scalars of each update for TensorBoard")
      ->type_name("DIR");
}

void addFaultFlags(CLI::App &app, std::vector<std::string> &faults) {
  app.add_option(
         "--inject", faults,
         "for testing: have a fault happen on a rank, in an update, at "
         "an operation; docs/Reliability.md has the kinds. May be given "
         "several times")
      ->type_name("KIND@RANK:STEP:OP");
}

void addCheckpointFlags(CLI::App &app, Options &options) {
  auto *folder =
      app.add_option(
             "--checkpoint", options.checkpoint,
             "save the state of the run to a folder in DIR after the "
             "last update, and when SIGTERM, SIGINT or SIGHUP stops the run")
          ->type_name("DIR")
          ->check([](const std::string &name) {
            return name.empty() ? "found no name, wanted a folder's" : "";
          });
  app.add_option("--checkpoint-every", options.checkpointEvery,
                 "save it after every N updates, too")
      ->type_name("N")
      ->check(wholeNumber<int64_t>(1))
      ->needs(folder);
  app.add_option("--keep", options.keep,
                 "remove all but the newest K checkpoints (default: keep all)")
      ->type_name("K")
      ->check(wholeNumber<int64_t>(1))
      ->needs(folder);
  app.add_flag("--resume", options.resume,
               "go on from the newest complete checkpoint in DIR, or start "
               "where there is none; --steps counts the updates of all runs")
      ->needs(folder);
  app.add_option("--restarts", options.restarts,
                 "run ranks as processes, and where one of them fails, start "
                 "all again from the last checkpoint, up to N times")
      ->type_name("N")
      ->check(wholeNumber<int64_t>(0))
      ->needs(folder);
}

void addTraceFlags(CLI::App &app, Options &options, std::string &steps) {
  auto *trace =
      app.add_option("--trace", options.trace,
                     "write a timeline of all commands, for ui.perfetto.dev")
          ->type_name("FILE.json");
  app.add_option("--trace-steps", steps,
                 "first and last update to trace (default: the second to the "
                 "fourth of the run, after those that it resumes)")
      ->type_name("A:B")
      ->needs(trace);
}

/// What looks at each command, of which one can.
void addSelfCheckFlag(CLI::App &app, Options &options, bool isForDevice) {
  auto *flag =
      app.add_option("--self-check", options.selfCheck,
                     "check every N-th update: the states of ranks by hashes, "
                     "gradients by computing them twice; and compute again "
                     "what is not finite or far off, before it is used")
          ->type_name("N")
          ->check(wholeNumber<int64_t>(1))
          ->excludes("--trace");
  if (!isForDevice)
    flag->excludes("--dump");
}

void addDumpFlags(CLI::App &app, Options &options) {
  auto *dump =
      app.add_option("--dump", options.dump,
                     "write the parameter, its optimizer state and its "
                     "gradient, whole and as f32; may be given several times")
          ->type_name("@NAME")
          ->excludes("--trace");
  app.add_option("--dump-file", options.dumpFile, "where --dump writes to")
      ->type_name("FILE.safetensors")
      ->needs(dump);
  app.add_option("--dump-update", options.dumpUpdate,
                 "the update that --dump is about (default: the last)")
      ->type_name("N")
      ->check(wholeNumber<int64_t>(1))
      ->needs(dump);
}

/// Reads "a:b".
void readTraceSteps(const std::string &text, Options &options) {
  if (!options.trace.empty() && options.steps == 0)
    throw UsageError("--trace with --steps 0 traces nothing");
  if (text.empty())
    return;
  const char *end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, options.traceFirst);
  const bool colon =
      first.ec == std::errc() && first.ptr != end && *first.ptr == ':';
  const auto last =
      std::from_chars(colon ? first.ptr + 1 : end, end, options.traceLast);
  if (!colon || last.ec != std::errc() || last.ptr != end)
    throw UsageError("--trace-steps: found '" + text +
                     "', wanted two numbers of updates such as 2:4");
  if (options.traceFirst < 1 || options.traceLast < options.traceFirst ||
      options.traceLast > options.steps)
    throw UsageError("--trace-steps " + std::to_string(options.traceFirst) +
                     ":" + std::to_string(options.traceLast) +
                     ": wanted a first and a last update within 1 to " +
                     std::to_string(options.steps));
}

void addOutputFlags(CLI::App &app, Options &options) {
  app.add_option("--save-outputs", options.saveOutputs,
                 "after training, run the model on all validation samples, in "
                 "their order, and write what it names as outputs")
      ->type_name("FILE.safetensors");
}

void refuseTokenizer(const std::string &file) {
  const std::string command = "'zero-tokenize --tokenizer " + file;
  throw UsageError(
      "--tokenizer is not read by executables: where tokens are bytes, leave "
      "it out; elsewhere give --prompt the ids that " +
      command + " --encode TEXT' prints, and make text of the sample by " +
      command + " --decode IDS'");
}

void addEvaluationFlags(CLI::App &app, Options &options) {
  auto *every = app.add_option("--eval-every", options.evalEvery,
                               "evaluate after every K updates")
                    ->type_name("K")
                    ->check(wholeNumber<int64_t>(1));
  app.add_option("--eval-batches", options.evalBatches,
                 "micro-batches per rank and evaluation (default 10)")
      ->type_name("M")
      ->check(wholeNumber<int64_t>(1))
      ->needs(every);
  auto *fraction =
      app.add_option("--validation-fraction", options.validationFraction,
                     "fraction at the end of the data that is held out "
                     "(default 0.05)")
          ->type_name("X")
          ->check(number(0, 0.99));
  app.add_option("--validation-data", options.validationData,
                 "evaluate on this, train on all of --data")
      ->type_name("PATH")
      ->excludes(fraction);
  auto *sample = app.add_option("--sample", options.sample,
                                "generate N tokens after training")
                     ->type_name("N")
                     ->check(wholeNumber<int64_t>(1));
  app.add_option("--prompt", options.prompt,
                 "prompt: text, or token ids where tokens are not bytes")
      ->type_name("TEXT")
      ->needs(sample);
  // An option of earlier executables; --help does not list it.
  app.add_option_function<std::string>("--tokenizer", refuseTokenizer)
      ->group("");
  app.add_option("--temperature", options.temperature,
                 "sampling temperature; 0 is greedy (default 1)")
      ->type_name("X")
      ->check(number(0, std::numeric_limits<double>::infinity()))
      ->needs(sample);
}

void addDeviceFlags(CLI::App &app, Options &options) {
  app.add_flag("--eager", options.eager,
               "queue every command of a step instead of launching a graph");
  app.add_flag("--graph", options.graph,
               "end the run where a step cannot be one graph, instead of "
               "queueing its commands one by one")
      ->excludes("--eager");
  app.add_flag("--near,!--anywhere", options.near,
               "run each rank on cores near its GPU, with memory there, or "
               "wherever the machine and the launcher have it (default: near)");
  app.add_flag("--share-gpu", options.shareGpu,
               "let ranks on one machine share a GPU; for tests");
  app.add_option("--collectives", options.collectives,
                 "nccl, or host: through host memory, in rank order "
                 "(default: nccl if there are several ranks)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"auto", "nccl", "host"}));
  app.add_option("--collectives-memory", options.collectivesMemory,
                 "what NCCL knows of the memory of collectives: windows, which "
                 "ranks share; registered buffers; or plain, nothing. An error "
                 "where it cannot be had (default: the first of them that can)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"auto", "windows", "registered", "plain"}));
  app.add_option("--tune-products", options.tuneProducts,
                 "time several algorithms of each matrix product that FILE "
                 "has no choice for, use the fastest, and add it to FILE")
      ->type_name("FILE.json");
  app.add_option("--repeat-graph", options.repeatGraph,
                 "for benchmarking: after training, launch a step's graph N "
                 "times and report the device time of one launch; this "
                 "changes the parameters, so they are not used afterwards")
      ->type_name("N")
      ->check(wholeNumber<int64_t>(1))
      ->excludes("--save-weights")
      ->excludes("--save-outputs")
      ->excludes("--checkpoint")
      ->excludes("--sample")
      ->excludes("--eager");
}

void checkClaims(const Claims &claims, const Options &options,
                 const Program &program) {
  const Training &training = program.training;
  if (claims.ranks != 0 && claims.ranks != training.ranks)
    throw UsageError("--ranks " + std::to_string(claims.ranks) +
                     ", but this program was compiled for " +
                     plural(training.ranks, "rank") +
                     ": compile it again with zero-compile --ranks " +
                     std::to_string(claims.ranks));
  if (!options.nvmePath.empty() && bytesOfTier(program, Tier::File) == 0)
    throw UsageError("--nvme-path, but this program keeps no states in files: "
                     "compile it with offload_optimizer's device nvme, and "
                     "zero.offload_nvme_min_bytes below the size of its "
                     "states");
  if (claims.deterministic && !training.deterministic)
    throw UsageError("--deterministic, but this program was compiled without "
                     "it: compile it again with zero-compile --deterministic");
}

void checkTraining(const Options &options, const Program &program) {
  // Whether there is a checkpoint is known when it is looked for.
  if (!options.resume)
    if (const std::string why = refuseNewValues(options, program); !why.empty())
      throw UsageError(why);
  if (options.data.empty() && options.steps != 0)
    throw UsageError("--data FILE is missing; --help lists all flags");
  if (options.steps < 0)
    throw UsageError("--steps N is missing; --help lists all flags");
  if (options.evalEvery > 0 && options.steps == 0)
    throw UsageError("--eval-every with --steps 0 never evaluates");
  if (!options.validationData.empty() && options.evalEvery == 0 &&
      options.saveOutputs.empty())
    throw UsageError("--validation-data is not read: evaluate with "
                     "--eval-every K, or write outputs with --save-outputs");
  if (!options.saveOutputs.empty() && options.data.empty())
    throw UsageError("--save-outputs needs --data, of which it reads the part "
                     "for validation");
}

std::string sentence(const CLI::App &app, const CLI::ParseError &error) {
  if (dynamic_cast<const CLI::ExtrasError *>(&error))
    for (const std::string &extra : app.remaining())
      return "unknown argument '" + extra + "'" + nearestFlag(app, extra);
  const std::string text = error.what();
  if (const size_t more = text.find(": At Most 1 required");
      more != std::string::npos)
    return text.substr(0, more) + " is given more than once; give it once";
  return text;
}

} // namespace

int zrt::mostThreads() {
  return std::max(16, 4 * int(std::thread::hardware_concurrency()));
}

std::string zrt::refuseNewValues(const Options &options,
                                 const Program &program) {
  if (!program.pretrained || options.fromScratch || !options.weights.empty())
    return "";
  return "the model of '" + program.name +
         "' was imported with weights, and none are given: start from them "
         "with --weights FILE, or from new random values with --from-scratch";
}

Options zrt::parseOptions(int argc, char **argv, const Program &program,
                          bool isForDevice) {
  Options options;
  Claims claims;
  bool schedule = false, memory = false, info = false;
  CLI::App app("Trains '" + program.name + "', compiled for " +
               plural(program.training.ranks, "rank") + " at ZeRO stage " +
               std::to_string(program.training.stage) + ".");
  addTrainingFlags(app, options, claims);
  std::vector<std::string> faults;
  addFaultFlags(app, faults);
  addCheckpointFlags(app, options);
  addEvaluationFlags(app, options);
  addOutputFlags(app, options);
  std::string traceSteps;
  addTraceFlags(app, options, traceSteps);
  if (isForDevice)
    addDeviceFlags(app, options);
  else
    addDumpFlags(app, options);
  addSelfCheckFlag(app, options, isForDevice);
  auto *scheduleFlag = app.add_flag("--schedule", schedule,
                                    "print the commands of a step and exit");
  auto *memoryFlag =
      app.add_flag("--memory", memory, "print the memory of one rank and exit");
  auto *infoFlag = app.add_flag("--info", info,
                                "print how the program was compiled and exit");
  auto *calibrateFlag =
      app.add_option("--calibrate", options.calibrate,
                     "measure this machine and exit; zero-plan --machine "
                     "reads the file")
          ->type_name("FILE.json");
  for (auto *flag : {scheduleFlag, memoryFlag, infoFlag})
    flag->excludes(calibrateFlag);
  scheduleFlag->excludes(memoryFlag)->excludes(infoFlag);
  memoryFlag->excludes(infoFlag);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    options.action = Options::Action::Help;
    options.help = app.help();
    return options;
  } catch (const CLI::ParseError &error) {
    throw UsageError(sentence(app, error));
  }
  checkClaims(claims, options, program);
  options.action = schedule                     ? Options::Action::Schedule
                   : memory                     ? Options::Action::Memory
                   : info                       ? Options::Action::Info
                   : !options.calibrate.empty() ? Options::Action::Calibrate
                                                : Options::Action::Train;
  if (options.action == Options::Action::Train) {
    checkTraining(options, program);
    readTraceSteps(traceSteps, options);
    options.faults = readFaults(faults, program);
    checkDump(options, program);
  }
  return options;
}
