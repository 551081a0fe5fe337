// Two ranks of the runtime, without a compiled program.
#include "communicator/InProcess.h"

#include <cstdio>
#include <thread>

int main() {
  auto ranks = zrt::makeInProcess(2);
  int32_t sums[2] = {1, 2};
  auto add = [&](int rank) {
    ranks[rank]->run(zrt::Collective::AllReduce, zrt::Reduction::Sum,
                     {{&sums[rank], &sums[rank], 1, zrt::DataType::I32, 0}});
  };
  std::thread other(add, 1);
  add(0);
  other.join();
  std::printf("2 ranks add 1 and 2: %d\n", sums[0]);
}
