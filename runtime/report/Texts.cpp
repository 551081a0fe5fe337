#include "report/Texts.h"

#include "io/FileHandle.h"
#include "io/Together.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>

using namespace zrt;

std::vector<std::string> zrt::gatherTexts(Communicator &communicator,
                                          const std::string &text) {
  const int ranks = communicator.ranks();
  const std::vector<uint64_t> sizes =
      gatherAll(communicator, uint64_t(text.size()));
  std::vector<std::string> texts;
  for (int rank = 0; rank < ranks; ++rank) {
    std::string received = rank == communicator.rank()
                               ? text
                               : std::string(size_t(sizes[rank]), '\0');
    Transfer transfer;
    transfer.send = transfer.receive = received.data();
    transfer.count = received.size();
    transfer.type = DataType::I8;
    transfer.root = rank;
    if (ranks > 1 && !received.empty())
      communicator.run(Collective::Broadcast, Reduction::Sum, {transfer});
    if (communicator.rank() == 0)
      texts.push_back(std::move(received));
  }
  return texts;
}

void zrt::writeText(const std::string &path, const std::string &text) {
  const std::string partial = path + ".partial";
  try {
    const FileHandle file(partial, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    file.write(0, text.data(), text.size());
    if (std::rename(partial.c_str(), path.c_str()) != 0)
      throw std::runtime_error(std::strerror(errno));
  } catch (const std::exception &error) {
    std::remove(partial.c_str());
    throw std::runtime_error("cannot write '" + path + "': " + error.what());
  }
}
