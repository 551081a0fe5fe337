// The model finds what is wrong with a kernel: in small ones that are wrong,
// and in those of the runtime, each barrier, shuffle, atomic operation and
// bound of which is broken once.
#include "../BrokenKernels.h"
#include "Block.h"
#include "WrongKernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

using namespace zrt;
using namespace zrt::test;

namespace {

class Bench : public ::testing::Test {
protected:
  Bench() : memory(static_cast<float *>(bench::allocate(kBytes))) {}
  ~Bench() override { bench::release(memory); }

  /// The text of the fault that `body` is.
  static std::string faultOf(const std::function<void()> &body) {
    try {
      body();
    } catch (const bench::Fault &fault) {
      return fault.what();
    }
    return "no fault";
  }
  static void expectFault(const std::function<void()> &body,
                          const std::vector<std::string> &parts) {
    const std::string text = faultOf(body);
    for (const std::string &part : parts)
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }

  static constexpr size_t kBytes = 128 * sizeof(float);
  float *memory;
};

TEST_F(Bench, RunsWhatIsRight) {
  EXPECT_EQ(faultOf([&] { wrong::reverse(memory, 128, false); }), "no fault");
  for (int i = 0; i < 128; ++i)
    EXPECT_EQ(memory[i], float(127 - i));
}

TEST_F(Bench, SeesAMissingBarrier) {
  expectFault([&] { wrong::reverse(memory, 128, true); },
              {"kernel 'reverseKernel', block (0, 0, 0), thread ",
               "of shared memory", "with nothing to order them"});
}

TEST_F(Bench, SeesABarrierThatSomeDoNotReach) {
  expectFault([&] { wrong::diverge(memory); },
              {"kernel 'divergeKernel'",
               "waits at the barrier of "
               "WrongKernels.cu:",
               "thread 7 has left the kernel"});
}

TEST_F(Bench, SeesBytesOutside) {
  expectFault([&] { wrong::reverse(memory, 129, false); },
              {"writes 4 bytes at ", "outside of every allocation"});
  expectFault([&] { wrong::overrunShared(memory); },
              {"outside of every allocation"});
}

TEST_F(Bench, SeesSharedMemoryThatNobodyWrote) {
  expectFault([&] { wrong::readUnwritten(memory); },
              {"which nobody has written in this block"});
}

TEST_F(Bench, SeesBlocksThatWriteTheSameBytes) {
  expectFault([&] { wrong::count(memory, false); },
              {"which a thread of another block writes"});
  EXPECT_EQ(faultOf([&] { wrong::count(memory, true); }), "no fault");
}

TEST_F(Bench, SeesAShuffleFromALaneThatIsNotThere) {
  expectFault([&] { wrong::shuffleBeyond(memory); },
              {"takes the value of lane 24, which gives none"});
}

TEST_F(Bench, SeesAShuffleThatSomeLanesDoNotReach) {
  expectFault([&] { wrong::shuffleDivergent(memory); },
              {"waits for lanes of its warp"});
}

/// A shuffle moves values and orders no memory: that takes __syncwarp.
TEST_F(Bench, KnowsWhatOrdersAWarp) {
  expectFault([&] { wrong::exchange(memory, false); },
              {"with nothing to order them"});
  EXPECT_EQ(faultOf([&] { wrong::exchange(memory, true); }), "no fault");
}

TEST_F(Bench, SeesMoreThreadsThanBounds) {
  expectFault([&] { wrong::manyThreads(memory, 512); },
              {"is one of 512; a kernel of more than 256 threads declares its "
               "bounds"});
  EXPECT_EQ(faultOf([&] { wrong::manyThreads(memory, 128); }), "no fault");
}

TEST_F(Bench, SeesAnAddressThatIsNotAligned) {
  expectFault([&] { wrong::loadVector(memory, 4); },
              {"reads 16 bytes at ", "which is no multiple of 16"});
}

TEST_F(Bench, CopiesArriveWhenTheyAreWaitedFor) {
  for (int i = 0; i < 64; ++i)
    memory[i] = float(i);
  const auto reversed = [&](bool waits, bool meets) {
    return faultOf([&] { wrong::copy(memory, memory + 64, waits, meets); });
  };
  EXPECT_EQ(reversed(true, true), "no fault");
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(memory[64 + i], float(63 - i));
  EXPECT_EQ(reversed(false, true), "no fault");
  for (int i = 0; i < 64; ++i)
    EXPECT_TRUE(std::isnan(memory[64 + i])) << i;
  expectFault([&] { wrong::copy(memory, memory + 64, true, false); },
              {"of shared memory, which nobody has written in this block"});
}

TEST_F(Bench, MultipliesMatricesByWarps) {
  auto *square = static_cast<float *>(bench::allocate(256 * sizeof(float)));
  EXPECT_EQ(faultOf([&] { wrong::square(square, 0); }), "no fault");
  for (int i = 0; i < 256; ++i)
    EXPECT_EQ(square[i], float(std::max(0, i / 16 - i % 16 + 1))) << i;
  expectFault([&] { wrong::square(square, 8); },
              {"whose address is no multiple of 32 bytes"});
  bench::release(square);
}

//===----------------------------------------------------------------------===//
// The runtime's kernels, broken
//===----------------------------------------------------------------------===//

TEST_F(Broken, EveryBarrierShuffleAndAtomicIsNeeded) {
  const std::vector<BrokenCase> cases = brokenCases();
  for (const BrokenCase &each : cases)
    ASSERT_EQ(verdict(each), "") << each.spec.name;
  // Others, of this file's own kernels, may have been reached before.
  int count = 0;
  for (const bench::Site &site : bench::sites()) {
    if (site.place.find("WrongKernels") == 0)
      continue;
    ++count;
    const bench::Planted planted(site);
    bool isSeen = false;
    for (const BrokenCase &each : cases)
      isSeen = isSeen || !verdict(each).empty();
    EXPECT_TRUE(isSeen) << "without what is at " << site.place
                        << ", nothing changes";
  }
  EXPECT_GE(count, 20);
}

/// A buffer that ends an element early is seen, whichever it is.
TEST_F(Broken, EveryBoundIsChecked) {
  for (const BrokenCase &each : brokenCases()) {
    const std::vector<Array> buffers = buffersOf(each);
    for (size_t cut = 0; cut < buffers.size(); ++cut) {
      KernelContext kernels;
      kernels.cuda = context.get();
      kernels.program = &program;
      const Control start = control();
      kernels.control =
          static_cast<Control *>(device->allocate(sizeof(Control), "control"));
      device->write(kernels.control, &start, sizeof(Control));
      std::vector<void *> addresses;
      for (size_t i = 0; i < buffers.size(); ++i) {
        const size_t bytes =
            buffers[i].bytes() - (i == cut ? sizeOf(buffers[i].type.type) : 0);
        addresses.push_back(device->allocate(bytes, "buffer"));
        device->write(addresses.back(), buffers[i].data(), bytes);
      }
      const auto kernel = makeCudaKernel(each.spec, kernels);
      void *workspace = device->allocate(
          std::max<size_t>(kernel->workspaceBytes(), 1), "workspace");
      bool isSeen = false;
      try {
        kernel->run(addresses.data(), workspace);
      } catch (const std::exception &) { // a fault, or CUDA's invalid argument
        isSeen = true;
      }
      EXPECT_TRUE(isSeen) << each.spec.name << ", buffer " << cut;
      cudaGetLastError();
      addresses.push_back(workspace);
      addresses.push_back(kernels.control);
      for (void *address : addresses)
        device->release(address);
    }
  }
}

} // namespace
