#include "SimulatedDevice.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <utility>

using namespace zrt;
using namespace zrt::test;

struct Device::QueueTag {
  int clock;         ///< of this queue
  int captured = -1; ///< inside the graph that is being captured; -1: not yet
};
struct Device::EventTag {
  std::vector<int64_t> clock; ///< as last recorded
  int64_t capture = 0;        ///< recorded in this capture; 0: in none
  int number = -1;            ///< in that capture's list
  bool isTimer = false, isRecorded = false;
  std::chrono::steady_clock::time_point time; ///< a timer's
};

struct SimulatedDevice::Operation {
  enum Kind { Work, Record, Wait } kind = Work;
  int queue = 0; ///< of the graph
  int event = 0; ///< of the graph
  std::string what;
  std::vector<Access> accesses;
  std::function<void()> body;
};

struct Device::GraphTag {
  Device::Queue origin = nullptr;
  int64_t number = 0;
  int queues = 0, events = 0;
  std::vector<Device::Queue> forked;
  std::vector<SimulatedDevice::Operation> operations;
};

struct SimulatedDevice::Memory {
  /// Who touched the bytes up to the next entry.
  struct Touch {
    int writer = -1;
    int64_t written = 0;
    std::string what;
    std::map<int, int64_t> reads; ///< by queue
  };
  std::map<uintptr_t, Touch> touches;
  std::map<uintptr_t, size_t> allocations;
  std::map<void *, Mapping> mappings;
  std::set<Queue> queues;
  std::set<Event> events;
  std::set<Graph> graphs;
  int64_t captures = 0;

  void split(uintptr_t at) {
    auto next = touches.upper_bound(at);
    if (next != touches.begin() && std::prev(next)->first != at)
      touches.emplace(at, std::prev(next)->second);
  }
};

SimulatedDevice::SimulatedDevice(bool executes)
    : executes(executes), memory(std::make_unique<Memory>()) {
  memory->touches[0];
}

SimulatedDevice::~SimulatedDevice() {
  for (Graph graph : memory->graphs)
    delete graph;
  for (Queue queue : memory->queues)
    delete queue;
  for (Event event : memory->events)
    delete event;
}

void *SimulatedDevice::allocate(uint64_t bytes, const char *what) {
  Mapping mapping(bytes, /*hugePages=*/false, what);
  void *address = mapping.data();
  memory->mappings[address] = std::move(mapping);
  memory->allocations[reinterpret_cast<uintptr_t>(address)] = bytes;
  return address;
}

/// As a device does, it first waits for all that it was given.
void SimulatedDevice::release(void *address) {
  if (capturing)
    throw Misuse("releases memory while a graph is captured");
  if (!memory->allocations.erase(reinterpret_cast<uintptr_t>(address)))
    throw Misuse("releases what is not allocated");
  memory->mappings.erase(address);
}

void *SimulatedDevice::allocatePinned(size_t bytes) {
  if (bytes > pinnedLimit)
    throw std::runtime_error("out of memory");
  return allocate(bytes ? bytes : 1, "pinned");
}
void SimulatedDevice::releasePinned(void *address) { release(address); }

/// The host waits for everything, as its copies do.
void SimulatedDevice::write(void *to, const void *from, size_t bytes) {
  requireInside(to, bytes, "write");
  for (const Clock &clock : clocks)
    join(host, clock);
  std::memcpy(to, from, bytes);
}
void SimulatedDevice::read(void *to, const void *from, size_t bytes) {
  requireInside(from, bytes, "read");
  for (const Clock &clock : clocks)
    join(host, clock);
  std::memcpy(to, from, bytes);
}

int SimulatedDevice::newClock() {
  clocks.emplace_back();
  return int(clocks.size()) - 1;
}

void SimulatedDevice::join(Clock &to, const Clock &from) {
  to.resize(std::max(to.size(), from.size()));
  for (size_t i = 0; i < from.size(); ++i)
    to[i] = std::max(to[i], from[i]);
}

Device::Queue SimulatedDevice::makeQueue(bool) {
  Queue queue = new QueueTag{newClock()};
  memory->queues.insert(queue);
  return queue;
}
void SimulatedDevice::destroy(Queue queue) {
  memory->queues.erase(queue);
  delete queue;
}
Device::Event SimulatedDevice::makeEvent() {
  Event event = new EventTag;
  memory->events.insert(event);
  return event;
}
Device::Event SimulatedDevice::makeTimer() {
  ++counts.timers;
  const Event event = makeEvent();
  event->isTimer = true;
  return event;
}

double SimulatedDevice::elapsed(Event from, Event to) {
  for (Event event : {from, to}) {
    if (!event->isTimer || !event->isRecorded)
      throw Misuse("asks the time of an event that has none");
    for (size_t i = 0; i < event->clock.size(); ++i)
      if (i >= host.size() || host[i] < event->clock[i])
        throw Misuse("asks the time of an event that may not be done");
  }
  return std::chrono::duration<double>(to->time - from->time).count();
}

uint64_t SimulatedDevice::bytesInUse() {
  uint64_t bytes = 0;
  for (const auto &[address, size] : memory->allocations)
    bytes += size;
  return bytes;
}

void SimulatedDevice::destroy(Event event) {
  memory->events.erase(event);
  delete event;
}

void SimulatedDevice::requireInside(const void *address, size_t bytes,
                                    const std::string &what) const {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  auto after = memory->allocations.upper_bound(begin);
  if (after != memory->allocations.begin()) {
    const auto &[start, size] = *std::prev(after);
    if (begin - start <= size && bytes <= size - (begin - start))
      return;
  }
  throw Misuse(what + ": " + std::to_string(bytes) +
               " bytes leave their allocation");
}

void SimulatedDevice::touch(const Access &access, int queue,
                            const std::string &what) {
  if (!access.bytes)
    return;
  const Clock &now = clocks[queue];
  auto knows = [&](int other, int64_t tick) {
    return other < 0 || (size_t(other) < now.size() && now[other] >= tick);
  };
  const auto begin = reinterpret_cast<uintptr_t>(access.address);
  memory->split(begin);
  memory->split(begin + access.bytes);
  auto it = memory->touches.lower_bound(begin);
  for (; it != memory->touches.end() && it->first < begin + access.bytes;
       ++it) {
    Memory::Touch &touch = it->second;
    if (!knows(touch.writer, touch.written))
      throw Misuse(what + " " + (access.writes ? "writes" : "reads") +
                   " bytes that " + touch.what + " may still write");
    if (!access.writes) {
      touch.reads[queue] = now[queue];
      continue;
    }
    for (const auto &[reader, tick] : touch.reads)
      if (!knows(reader, tick))
        throw Misuse(what + " writes bytes that may still be read");
    touch = {queue, now[queue], what, {}};
  }
}

void SimulatedDevice::perform(const Operation &operation, int queue) {
  Clock &clock = clocks[queue];
  join(clock, host);
  clock.resize(std::max(clock.size(), size_t(queue) + 1));
  ++clock[queue];
  for (const Access &access : operation.accesses)
    touch(access, queue, operation.what);
  if (executes)
    operation.body();
}

void SimulatedDevice::add(Operation operation, Queue queue) {
  if (!capturing)
    return perform(operation, queue->clock);
  if (queue->captured < 0)
    throw Misuse(operation.what + " is not part of the graph being captured");
  if (captureLimit >= 0 &&
      int64_t(capturing->operations.size()) >= captureLimit)
    throw std::runtime_error(operation.what + " cannot be captured");
  operation.queue = queue->captured;
  capturing->operations.push_back(std::move(operation));
}

void SimulatedDevice::run(Queue queue, const std::string &what,
                          std::vector<Access> accesses,
                          std::function<void()> body) {
  for (const Access &access : accesses)
    requireInside(access.address, access.bytes, what);
  Operation operation;
  operation.what = what;
  operation.accesses = std::move(accesses);
  operation.body = std::move(body);
  add(std::move(operation), queue);
}

void SimulatedDevice::copy(void *to, const void *from, size_t bytes,
                           Queue queue) {
  ++counts.copies;
  run(queue, "copy", {{from, bytes, false}, {to, bytes, true}},
      [=] { std::memmove(to, from, bytes); });
}

void SimulatedDevice::callHost(HostCall &call, Queue queue) {
  ++counts.hostCalls;
  run(queue, "call of the host", {{call.memory, call.bytes, call.writes}},
      [&call] { call.run(); });
}

void SimulatedDevice::record(Event event, Queue queue) {
  ++counts.records;
  if (event->isTimer && capturing && queue->captured >= 0)
    throw Misuse("a graph's events have no times");
  event->isRecorded = true;
  event->time = std::chrono::steady_clock::now();
  if (!capturing || queue->captured < 0) {
    event->capture = 0;
    event->clock = clocks[queue->clock];
    return;
  }
  event->capture = capturing->number;
  event->number = capturing->events++;
  Operation operation;
  operation.kind = Operation::Record;
  operation.event = event->number;
  add(std::move(operation), queue);
}

void SimulatedDevice::wait(Queue queue, Event event) {
  ++counts.waits;
  if (!capturing || (queue->captured < 0 && event->capture == 0)) {
    if (event->capture)
      throw Misuse("waits for an event of a graph outside of it");
    return join(clocks[queue->clock], event->clock);
  }
  if (event->capture != capturing->number)
    throw Misuse("a graph waits for an event from outside");
  if (queue->captured < 0) { // it joins the capture
    queue->captured = capturing->queues++;
    capturing->forked.push_back(queue);
  }
  Operation operation;
  operation.kind = Operation::Wait;
  operation.event = event->number;
  add(std::move(operation), queue);
}

void SimulatedDevice::synchronize(Queue queue) {
  if (capturing)
    throw Misuse("the host waits while a graph is captured");
  ++counts.hostWaits;
  join(host, clocks[queue->clock]);
}

void SimulatedDevice::synchronize(Event event) {
  if (capturing)
    throw Misuse("the host waits while a graph is captured");
  ++counts.hostWaits;
  join(host, event->clock);
}

/// What was called is done: the host then knows it, as if it had waited.
bool SimulatedDevice::isDone(Event event) {
  synchronize(event);
  return true;
}

void SimulatedDevice::beginCapture(Queue queue) {
  if (capturing)
    throw Misuse("captures two graphs at once");
  ++counts.captures;
  capturing = new GraphTag;
  memory->graphs.insert(capturing);
  capturing->origin = queue;
  capturing->number = ++memory->captures;
  queue->captured = capturing->queues++;
  capturing->forked.push_back(queue);
}

Device::Graph SimulatedDevice::endCapture(Queue queue) {
  Graph graph = std::exchange(capturing, nullptr);
  if (!graph || graph->origin != queue)
    throw Misuse("ends a capture that it did not begin");
  for (Queue forked : graph->forked)
    forked->captured = -1;
  return graph;
}

void SimulatedDevice::abandonCapture(Queue) noexcept {
  if (!capturing)
    return;
  for (Queue forked : capturing->forked)
    forked->captured = -1;
  memory->graphs.erase(capturing);
  delete std::exchange(capturing, nullptr);
}

void SimulatedDevice::launch(Graph graph, Queue queue) {
  ++counts.launches;
  std::vector<int> own;
  for (int i = 0; i < graph->queues; ++i) {
    own.push_back(newClock());
    clocks[own.back()] = clocks[queue->clock];
  }
  std::vector<Clock> events(graph->events);
  for (const Operation &operation : graph->operations) {
    const int clock = own[operation.queue];
    if (operation.kind == Operation::Work)
      perform(operation, clock);
    else if (operation.kind == Operation::Record)
      events[operation.event] = clocks[clock];
    else
      join(clocks[clock], events[operation.event]);
  }
  const Clock &end = clocks[own.front()];
  for (int clock : own)
    if (size_t(clock) < clocks[clock].size() &&
        (size_t(clock) >= end.size() || end[clock] < clocks[clock][clock]))
      throw Misuse("a graph ends before work that it began on another queue");
  join(clocks[queue->clock], end);
}

void SimulatedDevice::destroy(Graph graph) {
  memory->graphs.erase(graph);
  delete graph;
}

void SimulatedDevice::beginRange(const char *) {
  ++counts.ranges;
  ++depth;
}

void SimulatedDevice::endRange() {
  if (--depth < 0)
    throw Misuse("ends a range that it did not begin");
}
