// What is in flight, with an engine that the test holds in its hands.
#include "FileTesting.h"

#include <thread>

using namespace zrt;
using namespace zrt::testing;

namespace {

struct Held {
  explicit Held(uint32_t depth) {
    auto owned = std::make_unique<HeldEngine>();
    engine = owned.get();
    memory = std::make_unique<FileMemory>(settingsFor(folder, 4096, depth), 0,
                                          std::move(owned));
    place = static_cast<char *>(memory->allocate(100 * 4096, "states"));
    void *aligned = nullptr;
    if (::posix_memalign(&aligned, 4096, 100 * 4096) == 0)
      buffer.reset(static_cast<char *>(aligned));
    std::memset(buffer.get(), 1, 100 * 4096);
  }

  TestFolder folder;
  HeldEngine *engine;
  std::unique_ptr<FileMemory> memory;
  char *place;
  AlignedBuffer buffer;
};

TEST(FileQueue, KeepsItsDepthInFlightAndMovesOnByItself) {
  Held held(3);
  held.memory->startWrite(0, held.place, held.buffer.get(), 5 * 4096);
  held.memory->startWrite(1, held.place + 5 * 4096,
                          held.buffer.get() + 5 * 4096, 2 * 4096);
  for (size_t inFlight : {3, 3, 3, 3, 3, 2, 1}) {
    EXPECT_EQ(held.engine->transfers().size(), inFlight);
    held.engine->finish(0); // Nobody waits, and the next one starts.
  }
  EXPECT_TRUE(held.engine->transfers().empty());
  held.memory->wait(0);
  held.memory->wait(1);
}

TEST(FileQueue, TicketsAreOverInAnyOrder) {
  Held held(4);
  for (uint32_t i = 0; i < 4; ++i)
    held.memory->startWrite(i, held.place + i * 4096,
                            held.buffer.get() + i * 4096, 4096);
  for (uint32_t i = 4; i-- > 0;) {
    held.engine->finish(i);
    held.memory->wait(i); // The others are in flight still.
    EXPECT_EQ(held.engine->transfers().size(), i);
  }
}

TEST(FileQueue, ABlockHasOneWriterAtATime) {
  Held held(8);
  for (int i = 0; i < 3; ++i)
    held.memory->startWrite(0, held.place + i * 1000, held.buffer.get(), 1000);
  // Not a neighbour.
  held.memory->startWrite(0, held.place + 8192, held.buffer.get(), 1000);
  EXPECT_EQ(held.engine->transfers().size(), 2u);
  for (int i = 0; i < 3; ++i) {
    size_t mine = held.engine->transfers()[0].offset == 0 ? 0 : 1;
    EXPECT_FALSE(held.engine->transfers()[mine].isWrite);
    held.engine->finish(mine);
    mine = held.engine->transfers()[0].offset == 0 ? 0 : 1;
    EXPECT_TRUE(held.engine->transfers()[mine].isWrite);
    EXPECT_EQ(held.engine->transfers().size(), 2u);
    held.engine->finish(mine);
  }
  held.engine->finishAll();
  held.memory->wait(0);
}

TEST(FileQueue, APartOfABlockIsNotReadWhileAnotherIsWritten) {
  Held held(8);
  Bytes back(1000, 'x');
  held.memory->startWrite(0, held.place, held.buffer.get(), 1000);
  held.memory->startRead(1, back.data(), held.place + 2000, 1000);
  held.memory->startRead(2, held.buffer.get() + 8192, held.place + 8192, 4096);
  ASSERT_EQ(held.engine->transfers().size(), 2u);
  held.engine->finish(0); // The block is read, and written back.
  ASSERT_EQ(held.engine->transfers().size(), 2u);
  held.engine->finish(1);
  ASSERT_EQ(held.engine->transfers().size(), 2u);
  EXPECT_FALSE(held.engine->transfers()[1].isWrite);
  held.engine->finishAll();
  for (uint32_t ticket = 0; ticket < 3; ++ticket)
    held.memory->wait(ticket);
  EXPECT_EQ(back, Bytes(1000));
}

TEST(FileQueue, AFailureDropsWhatItsTicketHasNotBegun) {
  Held held(2);
  held.memory->startWrite(0, held.place, held.buffer.get(), 50 * 4096);
  held.memory->startWrite(1, held.place + 50 * 4096, held.buffer.get(), 4096);
  held.engine->report(0, -EIO);
  ASSERT_EQ(held.engine->transfers().size(), 2u);
  EXPECT_EQ(held.engine->transfers()[1].offset, 50u * 4096);
  held.engine->finishAll();
  held.memory->wait(1);
  EXPECT_NE(errorOf([&] { held.memory->wait(0); }), "");
}

TEST(FileQueue, AbandonsWhatIsNotInFlight) {
  Held held(2);
  held.memory->startWrite(0, held.place, held.buffer.get(), 4096);
  held.memory->startWrite(1, held.place + 4096, held.buffer.get(), 50 * 4096);
  held.engine->finish(0);
  std::thread other([&] { held.memory->abandon(); });
  // It drops what waits before it waits itself; both orders are right here.
  while (!held.engine->transfers().empty())
    held.engine->finish(0);
  other.join();
  while (!held.engine->transfers().empty())
    held.engine->finish(0);
  held.memory->wait(0);
  errorOf([&] { held.memory->wait(1); });
  // The memory is of use afterwards.
  held.memory->startRead(1, held.buffer.get(), held.place, 4096);
  held.engine->finishAll();
  held.memory->wait(1);
}

} // namespace
