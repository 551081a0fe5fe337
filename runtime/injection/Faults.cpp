#include "injection/Faults.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <new>
#include <thread>
#include <unistd.h>
#include <utility>

using namespace zrt;

Faults::Faults(const std::vector<FaultSpec> &all, int rank, bool isProcess,
               Say say)
    : isProcess(isProcess), say(std::move(say)) {
  for (const FaultSpec &spec : all)
    if (spec.rank == rank)
      faults.push_back({spec, 0, false});
}

void Faults::setStep(uint64_t now) {
  const std::lock_guard<std::mutex> lock(mutex);
  step = now;
}

std::optional<InjectedFault> Faults::next(OperationClass which,
                                          const std::string &name,
                                          std::optional<uint64_t> ofStep) {
  FaultSpec fault;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    Due *found = nullptr;
    // Each counts what it is of, also where another one happens.
    for (Due &due : faults) {
      const FaultSpec &spec = due.spec;
      if (due.done || spec.step != ofStep.value_or(step) ||
          !(classesOf(spec.kind) & which) ||
          (spec.operation != name && classNamed(spec.operation) != which))
        continue;
      if (++due.seen >= spec.index && !found)
        found = &due;
    }
    if (!found)
      return std::nullopt;
    found->done = true;
    fault = found->spec;
  }
  say("rank " + std::to_string(fault.rank) + ": " + fault.text +
      " happens, at " + name);
  perform(fault);
  return InjectedFault{fault.kind, uint64_t(fault.value)};
}

void Faults::perform(const FaultSpec &fault) const {
  switch (fault.kind) {
  case FaultKind::Kill:
    ::kill(::getpid(), SIGKILL);
    break;
  case FaultKind::Stop:
    // A process as a debugger or a job's suspension stops it. It stays here
    // when a launcher wakes it up to end it, as a thread does.
    if (isProcess)
      ::kill(::getpid(), SIGSTOP);
    for (;;)
      std::this_thread::sleep_for(std::chrono::hours(1));
  case FaultKind::Delay:
    std::this_thread::sleep_for(std::chrono::duration<double>(fault.value));
    break;
  case FaultKind::Alloc:
    throw std::bad_alloc();
  default:
    break;
  }
}

std::vector<std::string> Faults::missing() const {
  const std::lock_guard<std::mutex> lock(mutex);
  std::vector<std::string> texts;
  for (const Due &due : faults)
    if (!due.done)
      texts.push_back(due.spec.text);
  return texts;
}

void zrt::flipBit(void *data, size_t bytes, uint64_t bit) {
  if (bytes == 0)
    return;
  if (bit > 0) {
    const uint64_t at = (bit - 1) % (uint64_t(bytes) * 8);
    static_cast<unsigned char *>(data)[at / 8] ^= 1U << at % 8;
    return;
  }
  // The last byte of a word: there is the exponent.
  const size_t word = bytes / 2 / 4 * 4;
  static_cast<unsigned char *>(data)[std::min(word + 3, bytes - 1)] ^= 0x40;
}
