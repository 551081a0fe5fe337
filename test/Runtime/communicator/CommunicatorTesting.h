// What the communicator tests share: the backend under test, operations with
// made-up data, and a plain loop that says what they must give.
#ifndef ZERO_TEST_RUNTIME_COMMUNICATOR_COMMUNICATORTESTING_H
#define ZERO_TEST_RUNTIME_COMMUNICATOR_COMMUNICATORTESTING_H

#include "communicator/Communicator.h"

#include <functional>
#include <random>

namespace zrt::testing {

/// Whether this process is a rank of an MPI job; else ranks are threads.
bool onProcesses();

/// Group sizes to test: that of the job under MPI.
std::vector<int> groupSizes();

/// Runs `body` on every rank of a group of that size. Under MPI this process
/// is one of them. An exception fails the test and aborts the group.
void onRanks(int ranks, const std::function<void(Communicator &)> &body);

/// Calls of operator new by this thread, where they are counted.
bool countsAllocations();
uint64_t allocations();

struct PartSpec {
  DataType type = DataType::F32;
  uint64_t count = 0;
  int root = 0;
};

struct OperationSpec {
  Collective kind = Collective::AllReduce;
  Reduction reduction = Reduction::Sum;
  std::vector<PartSpec> parts;
  bool inPlace = false;
  uint64_t seed = 0; ///< of the data
};

/// For messages.
std::string describe(const OperationSpec &spec, int rank, int ranks);

/// `count` elements as every rank can make them for any other.
std::vector<char> makeElements(DataType type, uint64_t seed, int rank,
                               uint64_t count);

/// ((s0 + s1) + s2) + ... one element at a time.
std::vector<char> reduceByLoop(Reduction reduction, DataType type,
                               const std::vector<std::vector<char>> &sources);

/// One rank's buffers for an operation, and what must be in them afterwards.
class Buffers {
public:
  Buffers(const OperationSpec &spec, int rank, int ranks);
  const std::vector<Transfer> &transfers() const { return transfers_; }
  /// Fails the test where a byte is wrong, also outside of what is received.
  void expectCorrect() const;

private:
  struct Part {
    std::vector<char> send, receive;
    std::vector<char> expectedSend, expectedReceive;
  };
  void build(Part &part, const PartSpec &spec, uint64_t seed);
  std::vector<char> expectedResult(const PartSpec &spec, uint64_t seed) const;

  OperationSpec spec_;
  int rank_, ranks_;
  std::vector<Part> parts_;
  std::vector<Transfer> transfers_;
};

/// Runs one operation and checks it.
void runAndCheck(Communicator &communicator, const OperationSpec &spec);

inline constexpr DataType kAllTypes[] = {
    DataType::F32, DataType::F16, DataType::BF16, DataType::F64, DataType::I1,
    DataType::I8,  DataType::I32, DataType::I64,  DataType::U16};
inline constexpr Collective kAllKinds[] = {
    Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather,
    Collective::Broadcast, Collective::Reduce,        Collective::AllToAll};
inline constexpr Reduction kAllReductions[] = {
    Reduction::Sum, Reduction::PrescaledSum, Reduction::Max};

} // namespace zrt::testing

#endif // ZERO_TEST_RUNTIME_COMMUNICATOR_COMMUNICATORTESTING_H
