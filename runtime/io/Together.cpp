#include "io/Together.h"

#include <array>
#include <cstdint>
#include <random>

using namespace zrt;

void zrt::failTogether(Communicator &communicator, const std::string &error) {
  int ranks = communicator.ranks(), rank = communicator.rank();
  int32_t worst = error.empty() ? 0 : ranks - rank;
  communicator.run(Collective::AllReduce, Reduction::Max,
                   {{&worst, &worst, 1, DataType::I32, 0}});
  if (worst == 0)
    return;
  int failed = ranks - worst;
  std::array<char, 4096> message = {};
  if (rank == failed)
    error.copy(message.data(), message.size() - 1);
  communicator.run(
      Collective::Broadcast, Reduction::Sum,
      {{message.data(), message.data(), message.size(), DataType::I8, failed}});
  // A rank that aborts as soon as it knows would end the send to the others,
  // whose text is then what comes to lie there.
  communicator.barrier();
  if (!error.empty())
    throw std::runtime_error(error);
  throw PeerError("rank " + std::to_string(failed) + ": " + message.data());
}

int64_t zrt::agreeOnMost(Communicator &communicator, int64_t mine) {
  communicator.run(Collective::AllReduce, Reduction::Max,
                   {{&mine, &mine, 1, DataType::I64, 0}});
  return mine;
}

uint64_t zrt::randomTag() {
  std::random_device random;
  return uint64_t(random()) << 32 | random();
}

uint64_t zrt::sharedTag(Communicator &communicator) {
  uint64_t tag = randomTag();
  communicator.run(Collective::Broadcast, Reduction::Sum,
                   {{&tag, &tag, 1, DataType::I64, 0}});
  return tag;
}

std::string zrt::broadcastText(Communicator &communicator, std::string text,
                               int root) {
  uint64_t size = text.size();
  communicator.run(Collective::Broadcast, Reduction::Sum,
                   {{&size, &size, 1, DataType::I64, root}});
  text.resize(size);
  if (size)
    communicator.run(Collective::Broadcast, Reduction::Sum,
                     {{text.data(), text.data(), size, DataType::I8, root}});
  return text;
}
