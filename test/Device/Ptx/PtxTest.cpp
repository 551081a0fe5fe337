// The interpreter by itself: what small kernels compute, and what it finds
// wrong in kernels that are.
#include "Machine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

using namespace zrt;
using namespace zrt::ptx;

namespace {

constexpr size_t kElements = 128;

/// The text of a kernel of one parameter, the address of `kElements` elements
/// of 32 bits, which is in %rd1; %r1 is the thread's number, %rd2 its element.
std::string kernelOf(const std::string &body) {
  return ".version 9.0\n.target sm_80\n.address_size 64\n"
         ".visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n"
         ".reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<99>;\n"
         ".reg .f32 %f<9>; .reg .b64 %rd<99>; .reg .f64 %fd<9>;\n"
         ".shared .align 16 .b8 tile[512];\n"
         "ld.param.u64 %rd1, [k_param_0]; mov.u32 %r1, %tid.x;\n"
         "mul.wide.s32 %rd3, %r1, 4; add.s64 %rd2, %rd1, %rd3;\n"
         "mov.u32 %r2, tile; shl.b32 %r3, %r1, 2; add.s32 %r4, %r2, %r3;\n" +
         body + "\nret;\n}\n"; // the body begins at line 14
}

class Ptx : public ::testing::Test {
protected:
  Ptx() : memory(static_cast<uint32_t *>(bench::allocate(4 * kElements))) {
    for (size_t i = 0; i < kElements; ++i)
      memory[i] = uint32_t(i);
  }
  ~Ptx() override { bench::release(memory); }

  void run(const std::string &body, unsigned threads = kElements,
           unsigned blocks = 1,
           const std::function<void(Entry &)> &change = {}) {
    Module module("k.ptx", kernelOf(body));
    Entry &entry = *module.find("k");
    if (change)
      change(entry);
    std::vector<char> parameters(sizeof(memory));
    std::memcpy(parameters.data(), &memory, sizeof(memory));
    runGrid(entry, {blocks, 1, 1}, {threads, 1, 1}, 0, parameters);
  }

  /// Expects an error whose text has all of `parts`.
  void expectError(const std::string &body,
                   const std::vector<std::string> &parts,
                   unsigned threads = kElements, unsigned blocks = 1) {
    try {
      run(body, threads, blocks);
      ADD_FAILURE() << "no error, wanted: " << parts.front();
    } catch (const std::exception &error) {
      for (const std::string &part : parts)
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
            << error.what();
    }
  }

  /// What `body` leaves in the first element, as one thread.
  uint32_t resultOf(const std::string &body) {
    run(body + "\nst.global.u32 [%rd1], %r9;", 1);
    return memory[0];
  }
  float floatOf(const std::string &body) {
    return fromBits<float>(resultOf(body + "\nmov.b32 %r9, %f9;"));
  }

  uint32_t *memory;
};

//===----------------------------------------------------------------------===//
// What kernels compute
//===----------------------------------------------------------------------===//

TEST_F(Ptx, ComputesIntegers) {
  EXPECT_EQ(resultOf("mov.u32 %r8, -7; shr.s32 %r9, %r8, 1;"), uint32_t(-4));
  EXPECT_EQ(resultOf("mov.u32 %r8, -7; shr.u32 %r9, %r8, 40;"), 0u);
  EXPECT_EQ(resultOf("mov.u32 %r8, -7; rem.s32 %r9, %r8, 4;"), uint32_t(-3));
  EXPECT_EQ(resultOf("mov.u32 %r8, -1; mul.hi.u32 %r9, %r8, %r8;"), ~1u);
  EXPECT_EQ(resultOf("mov.u32 %r8, 0xff0; clz.b32 %r9, %r8;"), 20u);
  EXPECT_EQ(resultOf("mov.u32 %r8, 0x11223344; mov.u32 %r7, 0x55667788;"
                     "prmt.b32 %r9, %r8, %r7, 0x7531;"),
            0x55771133u);
  EXPECT_EQ(resultOf("mov.u32 %r8, 5; mov.u32 %r7, -1;"
                     "bfi.b32 %r9, %r8, %r7, 4, 8;"),
            0xfffff05fu);
  expectError("mov.u32 %r8, 0; div.u32 %r9, %r1, %r8;", {"divides by zero"});
}

TEST_F(Ptx, KeepsTheSignsOfNarrowValues) {
  EXPECT_EQ(resultOf("mov.u32 %r8, 0x80; st.shared.u8 [tile], %r8;"
                     "ld.shared.s8 %rs1, [tile]; cvt.s32.s16 %r9, %rs1;"),
            0xffffff80u);
  EXPECT_EQ(resultOf("mov.u32 %r8, 0x1fedc; cvt.u16.u32 %rs1, %r8;"
                     "cvt.u32.u16 %r9, %rs1;"),
            0xfedcu);
  EXPECT_EQ(resultOf("mov.u32 %r8, 0x1fedc; cvt.s32.s16 %r9, %r8;"),
            0xfffffedcu);
}

TEST_F(Ptx, RoundsAsInstructionsSay) {
  // 1 + 2^-24, half way between two numbers.
  const std::string sum = "mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f33800000;";
  EXPECT_EQ(floatOf(sum + "add.rn.f32 %f9, %f1, %f2;"), 1.0f);
  EXPECT_EQ(floatOf(sum + "fma.rp.f32 %f9, %f1, %f1, %f2;"),
            std::nextafter(1.0f, 2.0f));
  EXPECT_EQ(floatOf(sum + "fma.rm.f32 %f9, %f1, %f1, %f2;"), 1.0f);
  EXPECT_EQ(floatOf("mov.f32 %f1, 0f40200000; cvt.rni.f32.f32 %f9, %f1;"), 2);
  EXPECT_EQ(resultOf("mov.f32 %f1, 0fC0200000; cvt.rzi.s32.f32 %r9, %f1;"),
            uint32_t(-2));
  EXPECT_EQ(resultOf("mov.f32 %f1, 0f7F800000; cvt.rzi.s32.f32 %r9, %f1;"),
            0x7fffffffu);
  EXPECT_EQ(resultOf("mov.f32 %f1, 0f7FC00000; cvt.rzi.s32.f32 %r9, %f1;"), 0u);
  EXPECT_EQ(resultOf("mov.f32 %f1, 0f3F801000; {cvt.rn.f16.f32 %rs1, %f1;}"
                     "cvt.u32.u16 %r9, %rs1;"),
            0x3c00u); // a tie, to the even one
  EXPECT_EQ(resultOf("mov.f32 %f1, 0f3F818000; cvt.rn.bf16.f32 %rs1, %f1;"
                     "cvt.u32.u16 %r9, %rs1;"),
            0x3f82u);
}

TEST_F(Ptx, ComparesWithNaNs) {
  const auto compared = [&](const std::string &how) {
    return resultOf("mov.f32 %f1, 0f7FC00000; mov.f32 %f2, 0f3F800000;"
                    "setp." +
                    how + ".f32 %p1, %f1, %f2; selp.b32 %r9, 1, 0, %p1;");
  };
  for (const char *how : {"eq", "ne", "lt", "le", "gt", "ge", "num"})
    EXPECT_EQ(compared(how), 0u) << how;
  for (const char *how : {"equ", "neu", "ltu", "leu", "gtu", "geu", "nan"})
    EXPECT_EQ(compared(how), 1u) << how;
}

TEST_F(Ptx, FlushesWhereAnApproximationDoes) {
  EXPECT_EQ(floatOf("mov.f32 %f1, 0f40400000; ex2.approx.ftz.f32 %f9, %f1;"),
            8);
  EXPECT_EQ(floatOf("mov.f32 %f1, 0fC3020000; ex2.approx.ftz.f32 %f9, %f1;"),
            0);
  EXPECT_GT(floatOf("mov.f32 %f1, 0fC3020000; ex2.approx.f32 %f9, %f1;"), 0);
}

TEST_F(Ptx, TakesBitsAndHalvesApart) {
  EXPECT_EQ(resultOf("mov.u32 %r5, 0xabcd; bfe.u32 %r9, %r5, 4, 8;"), 0xbcu);
  EXPECT_EQ(resultOf("mov.u32 %r5, 0xabcd; bfe.u32 %r9, %r5, 8, 32;"), 0xabu);
  EXPECT_EQ(resultOf("mov.u32 %r5, 0x3c004000; mov.u32 %r6, 0x3c004200;"
                     "add.rn.f16x2 %r9, %r5, %r6;"),
            0x40004500u);
  EXPECT_EQ(resultOf("mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f40000000;"
                     "cvt.rn.f16x2.f32 %r9, %f1, %f2;"),
            0x3c004000u);
}

/// Whom a lane takes its value of, and whether it is told that there is one.
TEST_F(Ptx, ShufflesWithinSegments) {
  const auto taken = [&](const std::string &way, const std::string &rest) {
    run("shfl.sync." + way + ".b32 %r9|%p1, %r1, " + rest +
            ", -1; @!%p1 mov.u32 %r9, 99; st.global.u32 [%rd2], %r9;",
        32);
    return std::vector<uint32_t>(memory, memory + 32);
  };
  EXPECT_EQ(taken("down", "16, 31")[3], 19u);
  EXPECT_EQ(taken("down", "16, 31")[20], 99u);
  EXPECT_EQ(taken("up", "4, 0")[3], 99u);
  EXPECT_EQ(taken("up", "4, 0")[31], 27u);
  EXPECT_EQ(taken("bfly", "1, 31")[6], 7u);
  EXPECT_EQ(taken("idx", "5, 31")[30], 5u);
  EXPECT_EQ(taken("idx", "5, 0x181f")[30], 29u); // segments of 8 lanes
}

TEST_F(Ptx, CountsVotes) {
  run("and.b32 %r8, %r1, 1; setp.eq.s32 %p1, %r8, 1;"
      "vote.ballot.sync.b32 %r9, %p1, -1; st.global.u32 [%rd2], %r9;",
      32);
  EXPECT_EQ(memory[7], 0xaaaaaaaau);
}

TEST_F(Ptx, BranchesAndMeetsAgain) {
  run("setp.gt.u32 %p1, %r1, 63; @%p1 bra $high; mov.u32 %r9, 1; bra.uni $end;"
      "$high: mov.u32 %r9, 2; $end: bar.sync 0; st.global.u32 [%rd2], %r9;");
  EXPECT_EQ(memory[63], 1u);
  EXPECT_EQ(memory[64], 2u);
}

//===----------------------------------------------------------------------===//
// What it finds
//===----------------------------------------------------------------------===//

const char kReverse[] = "st.shared.u32 [%r4], %r1;\n"
                        "bar.sync 0;\n"
                        "xor.b32 %r5, %r3, 508; add.s32 %r6, %r2, %r5;\n"
                        "ld.shared.u32 %r7, [%r6];\n"
                        "st.global.u32 [%rd2], %r7;";

TEST_F(Ptx, NamesBothLinesOfARace) {
  run(kReverse);
  for (size_t i = 0; i < kElements; ++i)
    EXPECT_EQ(memory[i], kElements - 1 - i);
  std::string without = kReverse;
  without.replace(without.find("bar.sync 0;"), 11, "");
  // A thread that comes first finds nothing, another one what is not its own.
  expectError(without, {"k.ptx:17 (ld.shared.u32)",
                        "which nobody has written in this block"});
  expectError("st.shared.u32 [%r4], %r1;\nbar.sync 0;\n" + without,
              {"kernel 'k', block (0, 0, 0), thread ", "k.ptx:16",
               "of shared memory", "at line 19", "with nothing to order them"});
}

TEST_F(Ptx, LeavesOutWhatATestSays) {
  try {
    run(kReverse, kElements, 1, [](Entry &entry) {
      for (Instruction &each : entry.code)
        each.isLeftOut = each.meeting == Meeting::Barrier;
    });
    ADD_FAILURE() << "nothing is found";
  } catch (const bench::Fault &) {
  }
}

/// A shuffle orders no memory: that takes a barrier of the warp.
TEST_F(Ptx, KnowsWhatOrdersAWarp) {
  const std::string ask = "xor.b32 %r5, %r3, 4; add.s32 %r6, %r2, %r5;"
                          "ld.shared.u32 %r7, [%r6];";
  const std::string give = "st.shared.u32 [%r4], %r1;";
  run(give + "bar.warp.sync -1;" + ask, 32);
  expectError(give + "shfl.sync.idx.b32 %r9|%p1, %r1, 0, 31, -1;" + ask,
              {"with nothing to order them"}, 32);
}

TEST_F(Ptx, SeesBlocksThatWriteTheSameBytes) {
  expectError("st.global.u32 [%rd2], %r1;",
              {"which a thread of another block", "writes"}, 32, 2);
  run("mov.u32 %r8, 1; atom.global.add.u32 %r9, [%rd1], %r8;", 32, 2);
  EXPECT_EQ(memory[0], 64u);
}

TEST_F(Ptx, SeesBytesOutside) {
  expectError("st.global.u32 [%rd2+4], %r1;", {"outside of every allocation"});
  expectError("st.shared.u32 [%r4+4], %r1;",
              {"accesses 4 bytes at 512 of shared memory"});
  expectError("ld.param.u64 %rd9, [k_param_0+8];", {"8 of parameters"});
  expectError("ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd1+8];",
              {"reads 16 bytes", "no multiple of 16"});
}

TEST_F(Ptx, SeesBarriersThatSomeDoNotReach) {
  expectError("setp.eq.s32 %p1, %r1, 7; @%p1 ret;\nbar.sync 0;",
              {"waits at k.ptx:15 (bar.sync)", "thread 7 has left the kernel",
               "not all threads get to the same place"});
  expectError("setp.eq.s32 %p1, %r1, 7; @%p1 ret;\nbar.warp.sync -1;",
              {"not all threads get to the same place"});
}

TEST_F(Ptx, CopiesArriveWhenTheyAreWaitedFor) {
  const std::string start =
      "mul.wide.s32 %rd3, %r1, 16; add.s64 %rd2, %rd1, %rd3;"
      "shl.b32 %r3, %r1, 4; add.s32 %r4, %r2, %r3;"
      "cp.async.cg.shared.global [%r4], [%rd2], 16, 16;"
      "cp.async.commit_group;";
  const std::string look = "ld.shared.u32 %r9, [%r4]; bar.sync 0;"
                           "st.global.u32 [%rd2], %r9;";
  run(start + "cp.async.wait_group 0;" + look, 32);
  EXPECT_EQ(memory[4], 4u);
  run(start + "cp.async.wait_group 1;" + look, 32); // all but the last one
  EXPECT_EQ(memory[4], ~0u);
}

TEST_F(Ptx, SaysWhatItDoesNotKnow) {
  expectError("\nfrobnicate.b32 %r9, %r1;",
              {"k.ptx:15: the instruction 'frobnicate.b32' is unknown"});
  expectError("bar.sync 1, 64;", {"k.ptx:14: a barrier of some threads"});
  expectError("mov.u32 %r100x, 1;", {"the register '%r100x' is unknown"});
  expectError("bra $nowhere;", {"'$nowhere' is declared nowhere"});
  EXPECT_THROW(Module("k.ptx", ".const .u32 x;"), Unreadable);
}

} // namespace
