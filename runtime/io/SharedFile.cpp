#include "io/SharedFile.h"

#include "io/Digest.h"
#include "io/Together.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <sys/stat.h>
#include <vector>

using namespace zrt;

namespace {

/// What a rank knows of its file without reading it.
struct Identity {
  int64_t given = 0;
  int64_t bytes = 0;
  int64_t file = 0; ///< equal where it is one file of one running machine

  bool operator==(const Identity &other) const {
    return given == other.given && bytes == other.bytes && file == other.file;
  }
};
static_assert(sizeof(Identity) == 3 * sizeof(int64_t));

/// A number for this machine since it was started; `rank` where it does not
/// tell.
uint64_t machineNumber(int rank) {
  std::string id;
  if (!(std::ifstream("/proc/sys/kernel/random/boot_id") >> id))
    id = "rank " + std::to_string(rank);
  return std::hash<std::string>()(id);
}

Identity identityOf(const std::string &path, int rank) {
  Identity identity;
  if (path.empty())
    return identity;
  struct stat status;
  if (::stat(path.c_str(), &status) != 0)
    throw std::runtime_error(path +
                             ": cannot be opened: " + std::strerror(errno));
  identity.given = 1;
  identity.bytes = status.st_size;
  const uint64_t parts[] = {
      machineNumber(rank), uint64_t(status.st_dev), uint64_t(status.st_ino),
      uint64_t(status.st_mtim.tv_sec), uint64_t(status.st_mtim.tv_nsec)};
  identity.file = int64_t(digestBytes(parts, sizeof(parts)));
  return identity;
}

[[noreturn]] void refuse(const std::string &what, size_t rank) {
  throw std::runtime_error(what + " of rank " + std::to_string(rank) +
                           " differs from that of rank 0: start all ranks with "
                           "the same file");
}

/// `rank`'s place among the ranks that see its file, and their number.
struct Share {
  uint64_t part = 0, parts = 0;
};

Share shareOf(const std::vector<Identity> &all, size_t rank) {
  Share share;
  for (size_t i = 0; i < all.size(); ++i) {
    share.part += i < rank && all[i] == all[rank];
    share.parts += all[i] == all[rank];
  }
  return share;
}

/// The digest of the file that `rank` sees, from the parts of all who see it.
uint64_t digestOf(const std::vector<Identity> &all,
                  const std::vector<int64_t> &digests, size_t rank) {
  uint64_t sum = 0;
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i] == all[rank])
      sum += uint64_t(digests[i]);
  return sum;
}

} // namespace

uint64_t zrt::agreeOnFile(Communicator &communicator, const std::string &flag,
                          const std::string &path) {
  const size_t me = size_t(communicator.rank());
  Identity mine;
  together(communicator, [&] { mine = identityOf(path, communicator.rank()); });
  const std::vector<Identity> all = gatherAll(communicator, mine);
  bool same = true;
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank].given != all[0].given)
      throw std::runtime_error(flag + " is given on rank " +
                               std::to_string(all[0].given ? 0 : rank) +
                               " and not on rank " +
                               std::to_string(all[0].given ? rank : 0) +
                               ": start all ranks with the same file");
    if (all[rank].bytes != all[0].bytes)
      refuse("the size of " + flag, rank);
    same = same && all[rank] == all[0];
  }
  if (same)
    return 0;
  const Share share = shareOf(all, me);
  PartialDigest digest;
  together(communicator,
           [&] { digest = digestPart(path, share.part, share.parts); });
  const std::vector<int64_t> digests =
      gatherAll(communicator, int64_t(digest.value));
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (digestOf(all, digests, rank) != digestOf(all, digests, 0))
      refuse("the content of " + flag, rank);
  return digest.bytesRead;
}
