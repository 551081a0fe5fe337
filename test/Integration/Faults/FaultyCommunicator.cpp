// The linker gives this file all calls of `makeInProcess` (--wrap).
#include "Faults.h"

#include "communicator/InProcess.h"

#include <algorithm>
#include <vector>

using namespace zrt;
using namespace zrt::test;

using Communicators = std::vector<std::unique_ptr<Communicator>>;

Communicators realInProcess(int ranks, const CommunicatorOptions &options) asm(
    "__real__ZN3zrt13makeInProcessEiRKNS_19CommunicatorOptionsE");
Communicators wrapInProcess(int ranks, const CommunicatorOptions &options) asm(
    "__wrap__ZN3zrt13makeInProcessEiRKNS_19CommunicatorOptionsE");

namespace {

constexpr Communicator::Ticket kDone = ~Communicator::Ticket(0);

/// Sums of f32 begin at the rank after the one that a ring would end at, so
/// their order follows from where an element lies in its operation.
class RingOrder : public Communicator {
public:
  explicit RingOrder(std::unique_ptr<Communicator> inner)
      : inner(std::move(inner)) {}
  int rank() const override { return inner->rank(); }
  int ranks() const override { return inner->ranks(); }
  Ticket start(Collective kind, Reduction reduction,
               const std::vector<Transfer> &parts) override {
    const bool moves =
        kind == Collective::AllGather || kind == Collective::Broadcast;
    const bool floats =
        std::all_of(parts.begin(), parts.end(), [](const Transfer &part) {
          return part.type == DataType::F32;
        });
    if (moves || reduction != Reduction::Sum || !floats)
      return inner->start(kind, reduction, parts);
    for (const Transfer &part : parts)
      reduce(kind, part);
    return kDone;
  }
  void wait(Ticket ticket) override {
    if (ticket != kDone)
      inner->wait(ticket);
  }
  void barrier() override { inner->barrier(); }
  std::unique_ptr<Communicator> split(int color, int key) override {
    return std::make_unique<RingOrder>(inner->split(color, key));
  }
  void abort(const std::string &reason) override { inner->abort(reason); }

private:
  void reduce(Collective kind, const Transfer &part) {
    const bool scatters = kind == Collective::ReduceScatter;
    const size_t count = ranks();
    const size_t size = part.count * (scatters ? count : 1);
    const size_t chunk = std::max<size_t>((size + count - 1) / count, 1);
    std::vector<float> all(size * count);
    Transfer gather = part;
    gather.receive = all.data();
    gather.count = size;
    inner->run(Collective::AllGather, Reduction::Sum, {gather});
    if (kind == Collective::Reduce && part.root != rank())
      return;
    auto *result = static_cast<float *>(part.receive);
    const size_t begin = scatters ? rank() * part.count : 0;
    for (size_t i = begin; i < begin + part.count; ++i) {
      const size_t from = i / chunk + 1;
      float sum = all[from % count * size + i];
      for (size_t other = 1; other < count; ++other)
        sum += all[(from + other) % count * size + i];
      result[i - begin] = sum;
    }
  }

  std::unique_ptr<Communicator> inner;
};

} // namespace

Communicators wrapInProcess(int ranks, const CommunicatorOptions &options) {
  Communicators result = realInProcess(ranks, options);
  if (activeFault() == Fault::RankOrder)
    for (std::unique_ptr<Communicator> &one : result)
      one = std::make_unique<RingOrder>(std::move(one));
  return result;
}
