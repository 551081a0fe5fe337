// What every library of a device's collectives must do: the operations of the
// communicators' suite, on memory of the device.
#ifndef ZERO_TEST_DEVICE_DEVICECOLLECTIVES_H
#define ZERO_TEST_DEVICE_DEVICECOLLECTIVES_H

#include "device/StreamCommunicator.h"

namespace zrt::test {

/// A rank's device, and its library over the ranks of `host`.
struct DeviceMaker {
  std::function<std::unique_ptr<Device>(int rank)> device;
  std::function<std::unique_ptr<CollectiveQueue>(Device &device,
                                                 Communicator &host)>
      collectives;
};

/// Starts of messages from and to `peer`, as `checkCollectives` has them: those
/// of a library that asks a program.
std::vector<Command> messagesWith(int peer);

/// Every kind, reduction and type of whole programs on `ranks` threads, in
/// place and not, grouped, on two streams at once, in memory that the library
/// gives where it gives any. Sums of two ranks have one order, so all bits
/// count: 1 or 2 ranks. Two of them also send each other messages, which
/// neither receives in the order in which they are sent.
void checkCollectives(int ranks, const DeviceMaker &make);

} // namespace zrt::test

#endif // ZERO_TEST_DEVICE_DEVICECOLLECTIVES_H
