#include "trainer/RankRun.h"

#include "data/Permutation.h"
#include "data/StoredArrays.h"
#include "io/SharedFile.h"
#include "io/TensorFiles.h"
#include "io/Together.h"
#include "program/ByteCount.h"
#include "program/KernelSchema.h"
#include "program/Trace.h"
#include "report/Report.h"
#include "report/SaveOutputs.h"
#include "report/Texts.h"
#include "state/Arenas.h"
#include "state/Initialize.h"
#include "state/Weights.h"
#include "trainer/Injection.h"
#include "trainer/Signals.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ostream>
#include <stdexcept>

using namespace zrt;

namespace {

int64_t hashOf(const std::string &text) {
  uint64_t hash = text.size();
  for (const char c : text)
    hash = mixBits(hash, static_cast<unsigned char>(c));
  return int64_t(hash);
}

/// Of the names of the files of weights.
int64_t hashOfWeights(const std::string &path) {
  std::string names;
  for (const std::string &file : tensorFilesOf(path))
    names += file.substr(file.find_last_of('/') + 1) + "\n";
  return hashOf(names);
}

/// Of the names of a folder's files of data, without the folder's own.
int64_t hashOfFiles(const std::string &path) {
  std::string names;
  for (const std::string &file : dataFiles(path))
    if (file != path)
      names += file.substr(path.size()) + "\n";
  return hashOf(names);
}

/// A byte of generated text. A terminal would obey control characters.
char shown(char byte, bool terminal) {
  const auto code = static_cast<unsigned char>(byte);
  const bool control =
      (code < ' ' && byte != '\n' && byte != '\t') || code == 127;
  return terminal && control ? '?' : byte;
}

int64_t hashOfNames(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += name + "\n";
  return hashOf(text);
}

/// Something that all ranks must be started with alike.
struct Claim {
  const char *name;
  int64_t value;
};

/// Of the programs of all stages.
int64_t hashOfPrograms(const Run &run) {
  return hashOf(run.stages ? serializeStages(*run.stages)
                           : serialize(run.program));
}

int64_t hashOfCollectives(const Run &run) {
  if (!run.stages)
    return int64_t(collectiveHash(run.program));
  uint64_t hash = 0;
  for (const Program &stage : *run.stages)
    hash = mixBits(hash, collectiveHash(stage));
  return int64_t(hash);
}

std::vector<Claim> claimsOf(const Run &run, const Data &data) {
  const Options &options = run.options;
  int64_t temperature, lossScale;
  std::memcpy(&temperature, &options.temperature, sizeof(temperature));
  std::memcpy(&lossScale, &options.lossScale, sizeof(lossScale));
  return {
      // It is part of the program that runs.
      {"--loss-scale", lossScale},
      {"the compiled program", hashOfPrograms(run)},
      {"the order of collectives", hashOfCollectives(run)},
      {"--seed", int64_t(options.seed)},
      {"--steps", options.steps},
      {"--eval-every", options.evalEvery},
      {"--eval-batches", options.evalBatches},
      {"--sample", options.sample},
      {"--prompt", hashOf(options.prompt)},
      {"--temperature", temperature},
      {"--save-weights", int64_t(!options.saveWeights.empty())},
      {"--save-outputs", int64_t(!options.saveOutputs.empty())},
      {"--checkpoint", int64_t(!options.checkpoint.empty())},
      {"--checkpoint-every", options.checkpointEvery},
      {"--keep", options.keep},
      {"--resume", int64_t(options.resume)},
      {"--self-check", options.selfCheck},
      {"--from-scratch", int64_t(options.fromScratch)},
      {"--trace", int64_t(!options.trace.empty())},
      {"--dump", hashOfNames(options.dump)},
      {"--dump-update", options.dumpUpdate},
      {"--collectives", hashOf(options.collectives)},
      {"--eager", int64_t(options.eager)},
      {"--graph", int64_t(options.graph)},
      {"--repeat-graph", options.repeatGraph},
      {"--share-gpu", int64_t(options.shareGpu)},
      {"--tune-products", int64_t(!options.tuneProducts.empty())},
      {"--collectives-memory", hashOf(options.collectivesMemory)},
      {"the first update of --trace-steps", options.traceFirst},
      {"the last update of --trace-steps", options.traceLast},
      {"the number of training samples",
       data.training ? int64_t(data.training->samples()) : 0},
      {"--data-format", hashOf(options.dataFormat)},
      {"the list of files of --data", hashOfFiles(options.data)},
      {"the list of files of --validation-data",
       hashOfFiles(options.validationData)},
      {"the list of files of --weights", hashOfWeights(options.weights)},
  };
}

} // namespace

RankRun::RankRun(const Run &run, const Data &data, Communicator &communicator,
                 int localRanks)
    : run(run), program(run.program), options(run.options), data(data),
      communicator(communicator), localRanks(localRanks),
      pool(threadsPerRank(run.options.threads, localRanks)) {
  Transfer transfer;
  transfer.send = transfer.receive = agreed.data();
  transfer.count = agreed.size();
  transfer.type = DataType::I32;
  agreedTransfer.push_back(transfer);
}

void RankRun::checkAgreement() {
  const size_t ranks = size_t(communicator.ranks());
  if (ranks == 1)
    return;
  const std::vector<Claim> claims = claimsOf(run, data);
  std::vector<int64_t> mine;
  for (const Claim &claim : claims)
    mine.push_back(claim.value);
  const std::vector<int64_t> all = gatherAll(communicator, mine, mine.size());
  for (size_t rank = 1; rank < ranks; ++rank)
    for (size_t i = 0; i < mine.size(); ++i)
      if (all[rank * mine.size() + i] != all[i])
        throw std::runtime_error(
            std::string(claims[i].name) + " of rank " + std::to_string(rank) +
            " differs from that of rank 0: start all ranks alike");
  for (const std::string &file : dataFiles(options.data))
    agreeOnFile(communicator, "--data", file);
  for (const std::string &file : dataFiles(options.validationData))
    agreeOnFile(communicator, "--validation-data", file);
  for (const std::string &file : tensorFilesOf(options.weights))
    agreeOnFile(communicator, "--weights", file);
}

/// From a checkpoint, else from weights, else from the seed.
void RankRun::setState() {
  const Arenas &arenas = backend->arenas();
  initializeControl(program, arenas, options.seed);
  initializeConstants(program, arenas, communicator.rank());
  if (!options.checkpoint.empty()) {
    checkpoints = std::make_unique<RunCheckpoints>(run, data, communicator,
                                                   batches.get());
    if (checkpoints->resume(arenas)) {
      start = checkpoints->start();
      trainer->startAfter(checkpoints->update());
      skipped = checkpoints->skipped();
      return;
    }
  }
  if (const std::string why = refuseNewValues(options, program); !why.empty())
    throw std::runtime_error("there is no checkpoint yet, and " + why);
  if (options.weights.empty()) {
    initializeParameters(program, arenas, communicator.rank(), options.seed,
                         &pool);
    start = initialValuesOf(options.seed);
  } else {
    start = loadWeights(options.weights, program, arenas, communicator);
  }
}

void RankRun::prepare() {
  // Before anything that ranks of different programs would wait for.
  checkAgreement();
  backend = run.makeBackend(run.setup(), communicator, localRanks);
  backend->plan();
  checkDeviceMemory(program, backend->workspaceBytes(), options.deviceMemory);
  if (data.training)
    batches = std::make_unique<Batches>(program, data, options.seed,
                                        communicator.rank());
  trainer =
      std::make_unique<Trainer>(program, *backend, communicator, batches.get());
  // What it refuses is known before the first update.
  if (options.sample > 0) {
    generator =
        std::make_unique<Generator>(program, *backend, *trainer, communicator,
                                    options.seed, options.temperature);
    prompt =
        promptTokens(options.prompt, hasByteVocabulary(ofTokens()), ofTokens());
  }
  if (!options.saveOutputs.empty())
    namedOutputs(program);
  setState();
  backend->initialize();
  chooseTraced();
  if (options.selfCheck > 0 && batches)
    selfCheck = std::make_unique<SelfCheck>(
        program, *backend, *trainer, communicator, options.selfCheck,
        [this](const std::string &what) { run.remark(what); });
  if (!options.dump.empty())
    dump = std::make_unique<Dump>(program, options, communicator,
                                  trainer->updates());
  if (traceFirst > 0)
    trace = std::make_unique<TraceLog>(program, traceLast - traceFirst + 1,
                                       backend->timesOperations());
  if (!speaks() || !batches)
    return;
  if (!data.remark.empty())
    run.errors << "remark: " << data.remark << std::endl;
  if (options.evalEvery > 0 &&
      batches->repeatsUnevenly(uint64_t(options.evalBatches)))
    run.errors << "remark: an evaluation takes " << options.evalBatches
               << " micro-batches of each rank, which is more than all "
                  "validation samples and no multiple of them: some count more "
                  "often than others; give fewer --eval-batches"
               << std::endl;
  progress = std::make_unique<Progress>(run.out, run.terminal, options.steps,
                                        batches->tokensPerUpdate());
  for (const std::string &choice : backend->choices())
    progress->message(choice);
  if (!options.metrics.empty())
    metrics = std::make_unique<Metrics>(options.metrics, program,
                                        batches->tokensPerUpdate(),
                                        trainer->updates());
  if (!options.tensorboard.empty())
    tensorBoard = std::make_unique<TensorBoard>(
        options.tensorboard, batches->tokensPerUpdate(), trainer->updates());
}

/// Without --trace-steps, the second to the fourth update that this run makes,
/// as far as there are: the first one is slower.
void RankRun::chooseTraced() {
  if (options.trace.empty())
    return;
  const int64_t done = trainer->updates();
  traceFirst = options.traceFirst;
  traceLast = options.traceLast;
  if (traceFirst == 0 && done < options.steps) {
    traceFirst = std::min(done + 2, options.steps);
    traceLast = std::min(done + 4, options.steps);
  } else if (traceFirst == 0 && speaks()) {
    run.errors << "remark: there is no update to trace: '" << options.trace
               << "' is not written" << std::endl;
  } else if (traceFirst > 0 && traceLast <= done) {
    throw std::runtime_error("--trace-steps " + std::to_string(traceFirst) +
                             ":" + std::to_string(traceLast) +
                             ": the run resumes after update " +
                             std::to_string(done) + "; name later ones");
  }
}

/// Where all ranks stand between two updates: whether to stop, and what has
/// become of a checkpoint.
bool RankRun::agreeToStop() {
  agreed[0] = StopSignals::received();
  agreed[1] = checkpoints ? int32_t(checkpoints->progress()) : 0;
  if (communicator.ranks() > 1)
    communicator.run(Collective::AllReduce, Reduction::Max, agreedTransfer);
  if (checkpoints) {
    checkpoints->advance(BackgroundSave::Progress(agreed[1]));
    tellSaved();
  }
  stopSignal = agreed[0];
  return stopSignal != 0;
}

void RankRun::report(const UpdateReport &update) {
  if (first.update == 0)
    first = update;
  last = update;
  skipped += update.skipped;
  if (!speaks())
    return;
  std::string event;
  if (update.skipped)
    event = "step " + std::to_string(update.update) + " skipped";
  else if (!update.blame.empty())
    event = "step " + std::to_string(update.update);
  if (!update.blame.empty())
    event += ": " + update.blame;
  if (update.nextLossScale != update.lossScale && update.skipped)
    event += "; loss scale " + std::to_string(update.lossScale) + " -> " +
             std::to_string(update.nextLossScale);
  if (!event.empty())
    progress->message(event);
  progress->update(update);
  if (metrics)
    metrics->update(update);
  if (tensorBoard)
    tensorBoard->update(update);
}

void RankRun::evaluate(int64_t update) {
  const EvaluationReport found =
      trainer->evaluate(options.evalBatches, [this] { return !agreeToStop(); });
  if (!found.isWhole) {
    if (speaks())
      progress->message("step " + std::to_string(update) +
                        ": the validation is not finished");
    return;
  }
  validation = found;
  evaluated = true;
  if (!speaks())
    return;
  std::string text = "step " + std::to_string(update) + " validation loss " +
                     std::to_string(withoutSignOfNan(validation.loss));
  for (const auto &[name, value] : validation.outputs)
    text += ", " + name + " " + std::to_string(withoutSignOfNan(value));
  progress->message(text);
  if (metrics)
    metrics->evaluation(update, validation);
  if (tensorBoard)
    tensorBoard->evaluation(update, validation);
}

/// Those of update `update`, which counts from 0.
static UpdateSamples samplesOf(const Batches &batches, uint64_t update) {
  UpdateSamples samples;
  samples.fill = [&batches, update](int64_t micro, void *const *inputs,
                                    uint64_t moved) {
    batches.fillTraining(update, int(micro), inputs, moved);
  };
  samples.placeOf = [&batches, update](int64_t micro, uint64_t row) {
    return batches.placeOf(update, int(micro), row);
  };
  samples.rows = batches.rows();
  return samples;
}

UpdateReport RankRun::update(int64_t number) {
  if (run.flight)
    run.flight->setUpdate(uint64_t(number));
  if (run.faults) {
    run.faults->setStep(uint64_t(number));
    injectIntoStates(*run.faults, program, backend->arenas(),
                     communicator.rank());
  }
  if (dump && dump->isDue(number)) {
    UpdateReport result;
    dump->watch(*backend, [&] { result = trainer->update(); });
    dump->write(*backend);
    return result;
  }
  if (selfCheck)
    return selfCheck->update(samplesOf(*batches, uint64_t(trainer->updates())));
  if (!trace || number < traceFirst || number > traceLast)
    return trainer->update();
  if (!isTracing) {
    isTracing = true;
    if (speaks() && backend->timesOperations())
      progress->message("updates " + std::to_string(traceFirst) + " to " +
                        std::to_string(traceLast) +
                        " are traced: their commands are queued one by one, "
                        "with events around each, and are no graph");
    // The clocks of the ranks count from here.
    communicator.barrier();
    backend->setCommandHook(trace->hook());
  }
  trace->beginUpdate(number);
  UpdateReport result = trainer->update();
  trace->endUpdate();
  if (number == traceLast)
    backend->setCommandHook({});
  return result;
}

void RankRun::saveCheckpoint() {
  backend->drain();
  if (selfCheck)
    selfCheck->checkState();
  checkpoints->save(trainer->updates(), backend->arenas(), start);
  tellSaved();
}

void RankRun::tellSaved() {
  for (const std::string &path : checkpoints->takeSaved())
    if (speaks())
      progress->message("saved " + path);
}

void RankRun::writeTrace() {
  const std::vector<std::string> events =
      gatherTexts(communicator, trace->events(communicator.rank()));
  if (speaks())
    writeText(options.trace, traceFile(events));
}

void RankRun::writeOutputs() {
  const uint64_t rows =
      saveOutputs(options.saveOutputs, program, *backend, *trainer, *batches,
                  communicator, [this] { return !agreeToStop(); });
  if (speaks() && rows == 0)
    run.out << "the outputs are not written: the run is stopped" << std::endl;
  else if (speaks())
    run.out << "wrote the outputs of " << rows << " validation samples to "
            << options.saveOutputs << std::endl;
}

void RankRun::train() {
  for (int64_t update = trainer->updates() + 1; update <= options.steps;
       ++update) {
    if (agreeToStop())
      break;
    report(this->update(update));
    if (options.evalEvery > 0 && update % options.evalEvery == 0)
      evaluate(update);
    if (checkpoints && checkpoints->isDue(update))
      saveCheckpoint();
  }
  backend->drain();
  if (selfCheck)
    selfCheck->checkState();
  if (checkpoints) {
    checkpoints->finish(trainer->updates(), backend->arenas(), start);
    tellSaved();
  }
  if (progress)
    progress->finish();
}

void RankRun::sample() {
  const bool text = hasByteVocabulary(ofTokens());
  if (speaks())
    run.out << options.prompt << (text ? "" : " ");
  generator->run(prompt, options.sample, [&](int32_t token) {
    std::string next =
        text ? std::string(1, char(token)) : std::to_string(token) + " ";
    for (char &byte : next)
      byte = shown(byte, run.terminal);
    if (speaks())
      run.out << next << std::flush;
    return !agreeToStop();
  });
  if (speaks())
    run.out << std::endl;
}

/// Of a device's kernels that want more than plans count; those of the host are
/// in no plan.
static std::string describeExcess(const Program &program,
                                  const Backend &backend) {
  const uint64_t counted = workspaceOf(program);
  if (backend.describe().empty() || backend.workspaceBytes() <= counted)
    return "";
  return ", more than the " + formatBytes(counted) + " that plans count";
}

static const char *nameOfSignal(int number) {
  return number == SIGTERM ? "SIGTERM" : number == SIGHUP ? "SIGHUP" : "SIGINT";
}

void RankRun::summarize() {
  std::ostream &out = run.out;
  if (stopSignal != 0)
    out << "stopped by " << nameOfSignal(stopSignal) << " after update "
        << trainer->updates() << " of " << options.steps << "\n";
  if (last.update > 0) {
    out << trainer->updates() << " updates, " << skipped << " skipped; loss "
        << withoutSignOfNan(first.loss) << " -> "
        << withoutSignOfNan(last.loss);
    if (evaluated)
      out << ", validation " << withoutSignOfNan(validation.loss);
    out << "; " << formatCount(int64_t(progress->tokensPerSecond()))
        << " tokens/s\n";
  }
  if (run.stages)
    out << "of rank " << communicator.rank() << ", which runs pipeline stage "
        << program.pipeline.stage << " of " << run.stages->size() << ":\n";
  printMemory(program, out);
  out << "the kernels' workspace: " << formatBytes(backend->workspaceBytes())
      << describeExcess(program, *backend) << "\n";
  if (checkpoints && checkpoints->usesCopies())
    out << "the copy of the state for checkpoints: "
        << formatBytes(ShardCopy::bytesOf(program)) << " of host memory\n";
  if (const std::string device = backend->describe(); !device.empty())
    out << "the device: " << device << "\n";
  if (graphSeconds > 0)
    out << "the step's graph alone: " << graphSeconds * 1e3 << " ms\n";
  if (last.update > 0)
    printTraffic(program, last.traffic, out);
  out << std::flush;
}

void RankRun::giveUp() {
  if (backend)
    backend->giveUp();
}

void RankRun::execute() {
  prepare();
  train();
  if (trace)
    writeTrace();
  if (options.repeatGraph > 0 && stopSignal == 0)
    graphSeconds = backend->repeatGraph(options.repeatGraph);
  if (!options.saveWeights.empty())
    saveWeights(options.saveWeights, program, backend->arenas(), communicator,
                start);
  if (!options.saveOutputs.empty() && stopSignal == 0)
    writeOutputs();
  if (options.sample > 0 && stopSignal == 0)
    sample();
  if (speaks() && options.steps > 0)
    summarize();
}
