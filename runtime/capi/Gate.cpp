#include "capi/Gate.h"

using namespace zrt;

bool Gate::arrive() {
  std::unique_lock<std::mutex> lock(mutex);
  ++arrived;
  changed.notify_all();
  changed.wait(lock, [this] { return isOpen; });
  return goesOn;
}

bool Gate::awaitAll() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [this] { return isOpen || arrived == ranks; });
  return !isOpen;
}

void Gate::open(bool goOn) {
  std::lock_guard<std::mutex> lock(mutex);
  if (isOpen)
    return;
  isOpen = true;
  goesOn = goOn;
  changed.notify_all();
}
