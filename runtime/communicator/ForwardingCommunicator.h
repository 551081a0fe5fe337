// A communicator that forwards all calls to another one, unless a derived class
// overrides them.
#ifndef ZERO_RUNTIME_COMMUNICATOR_FORWARDINGCOMMUNICATOR_H
#define ZERO_RUNTIME_COMMUNICATOR_FORWARDINGCOMMUNICATOR_H

#include "communicator/Communicator.h"

#include <utility>

namespace zrt {

/// Derived classes override the starts and ends of operations.
class ForwardingCommunicator : public Communicator {
public:
  int rank() const override { return inner.rank(); }
  int ranks() const override { return inner.ranks(); }
  Ticket start(Collective kind, Reduction reduction,
               const std::vector<Transfer> &parts) final {
    return startOn(Stream::Compute, kind, reduction, parts);
  }
  void admit(Collective kind, Reduction reduction,
             const std::vector<Transfer> &parts) const override {
    inner.admit(kind, reduction, parts);
  }
  void checkPeers() override { inner.checkPeers(); }
  void noteLost() override { inner.noteLost(); }
  void abort(const std::string &reason) override { inner.abort(reason); }

protected:
  /// Borrows `inner`.
  explicit ForwardingCommunicator(Communicator &inner) : inner(inner) {}
  explicit ForwardingCommunicator(std::unique_ptr<Communicator> part)
      : owned(std::move(part)), inner(*owned) {}

private:
  std::unique_ptr<Communicator> owned; ///< null: `inner` is borrowed

protected:
  Communicator &inner;
};

} // namespace zrt

#endif // ZERO_RUNTIME_COMMUNICATOR_FORWARDINGCOMMUNICATOR_H
