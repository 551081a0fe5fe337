// The graphs that an update launches, which ranks make together or not at all.
#include "device/DeviceBackend.h"

#include "io/Together.h"

#include <exception>
#include <string>
#include <utility>

using namespace zrt;

void DeviceBackend::destroyGraphs() {
  for (const auto &each : std::exchange(graphs, {}))
    parts.device->destroy(each.second.graph);
}

/// What an update launches. A graph of all micro-batches grows with their
/// number, and so do the memory that it takes and the time until it is made.
std::vector<DeviceBackend::Begun> DeviceBackend::pieces() const {
  const auto micros = size_t(program.training.accumulation);
  std::vector<Begun> all(1, {Piece::Update, false});
  if (!program.pipeline.isCut() && micros > 2 && endsMicros) {
    all.assign(micros, {Piece::Micro, false});
    all.back().first = Piece::Last;
  }
  all.front().second = executor.hasPostponed();
  return all;
}

void DeviceBackend::runPiece(Piece piece) {
  if (piece == Piece::Update)
    return runStep();
  executor.startPostponed();
  executor.runMicro(piece == Piece::Micro ? 0
                                          : program.training.accumulation - 1);
  if (piece == Piece::Last)
    executor.runApply();
}

DeviceBackend::Captured DeviceBackend::capture(Piece piece) {
  const Traffic before = executor.traffic();
  parts.device->beginCapture(compute());
  try {
    runPiece(piece);
    executor.waitForStarted();
    const Device::Graph graph = parts.device->endCapture(compute());
    return {graph, executor.traffic() - before};
  } catch (...) {
    parts.device->abandonCapture(compute());
    executor.forget();
    throw;
  }
}

/// Also what an update launches whose parameters are complete, or are not: no
/// later update has to make a graph, which could fail.
void DeviceBackend::captureAll() {
  std::vector<Begun> all = pieces();
  if (executor.willPostpone())
    all.push_back({all.front().first, !all.front().second});
  for (const Begun &piece : all) {
    if (graphs.count(piece))
      continue;
    executor.setPostponed(piece.second);
    graphs[piece] = capture(piece.first);
  }
}

/// All ranks have the graphs, or none has: where one cannot make them, all go
/// on command by command.
bool DeviceBackend::tryCapture() {
  const bool begins = executor.hasPostponed();
  const Traffic before = executor.traffic();
  try {
    together(*parts.host, [this] { captureAll(); });
    executor.setTraffic(before);
    executor.setPostponed(begins);
    return true;
  } catch (const CommunicationError &) {
    throw;
  } catch (const std::exception &error) {
    if (parts.graph)
      throw;
    if (parts.tell && !dynamic_cast<const PeerError *>(&error))
      parts.tell(std::string("the step does not become a graph: ") +
                 error.what() +
                 "; all ranks queue its commands one by one (--eager), which "
                 "costs time on the host");
  }
  destroyGraphs();
  executor.setTraffic(before);
  executor.setPostponed(begins);
  parts.eager = true;
  return false;
}

void DeviceBackend::launchGraphs() {
  int micro = 0;
  for (const Begun &piece : pieces()) {
    if (piece.first != Piece::Update) {
      unpackControl(micro);
      unpackInputs(micro++);
    }
    const Captured &captured = graphs.at(piece);
    parts.device->launch(captured.graph, compute());
    sent += captured.sent;
  }
  executor.setPostponed(executor.willPostpone());
}

/// The first launch is not timed: those that are find the device at work, so
/// that the host's part of a launch is hidden by the one before.
double DeviceBackend::repeatGraph(int64_t times) {
  if (graphs.empty())
    throw std::runtime_error(
        "--repeat-graph: no update was a graph: train for two updates at "
        "least, without --eager and with collectives that a graph can hold");
  const Traffic before = sent;
  executor.waitForStarted();
  launchGraphs();
  parts.device->record(begun, compute());
  for (int64_t i = 0; i < times; ++i)
    launchGraphs();
  finish();
  sent = before;
  return parts.device->elapsed(begun, finished) / double(times);
}
