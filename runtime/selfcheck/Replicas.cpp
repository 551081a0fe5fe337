#include "selfcheck/Replicas.h"

#include "data/Permutation.h"
#include "io/StoredElements.h"
#include "io/Together.h"
#include "program/ByteCount.h"

#include <algorithm>
#include <iomanip>
#include <map>
#include <sstream>

using namespace zrt;

namespace {

/// One number for all blocks of a state.
int64_t combine(const std::vector<uint64_t> &hashes) {
  uint64_t all = 0;
  for (const uint64_t hash : hashes)
    all = mixBits(all, hash);
  return int64_t(all);
}

/// The element at `offset` of a block, for people.
std::string valueAt(const KeptState &state, const char *block, size_t offset) {
  std::ostringstream text;
  const size_t width = state.isPacked ? 1 : sizeOf(state.type);
  const size_t begin = offset / width * width;
  if (!state.isPacked && isFloat(state.type) && state.type != DataType::F64) {
    float value = 0;
    loadElements(state.type, block + begin, &value, 1);
    text << std::setprecision(9) << value;
    return text.str();
  }
  text << "0x" << std::hex;
  for (size_t i = width; i-- > 0;)
    text << (int(static_cast<unsigned char>(block[begin + i])) >> 4)
         << (int(static_cast<unsigned char>(block[begin + i])) & 15);
  return text.str();
}

class Comparison {
public:
  Comparison(const Program &program, const std::vector<KeptState> &states,
             const StateHashes &hashes, const Arenas &arenas,
             Communicator &communicator, const std::string &advice)
      : program(program), states(states), hashes(hashes), arenas(arenas),
        communicator(communicator), advice(advice) {}

  void run() {
    std::vector<int64_t> mine;
    for (const std::vector<uint64_t> &blocks : hashes)
      mine.push_back(combine(blocks));
    const auto most = size_t(agreeOnMost(communicator, int64_t(mine.size())));
    const std::vector<int64_t> all =
        gatherAll(communicator, std::move(mine), most);
    Finding finding;
    for (size_t i = 0; i < states.size() && finding.ranks.empty(); ++i)
      finding = find(i, all, most);
    // Ranks of other stages have other states, and help with what is found.
    const int ranks = communicator.ranks();
    const int64_t teller = agreeOnMost(
        communicator,
        finding.ranks.empty() ? -1 : ranks - 1 - communicator.rank());
    if (teller >= 0)
      tell(finding, ranks - 1 - int(teller));
  }

private:
  struct Finding {
    size_t state = 0;
    std::vector<int> ranks; ///< of one place; none: nothing was found
  };

  /// Ranks of the place of `rank`.
  std::vector<int> peersOf(const KeptState &state, int rank) const {
    const std::vector<int64_t> place = placeOf(program, state, rank);
    std::vector<int> peers;
    for (int other = 0; other < communicator.ranks(); ++other)
      if (placeOf(program, state, other) == place)
        peers.push_back(other);
    return peers;
  }

  /// Each rank looks at those of its own place.
  Finding find(size_t state, const std::vector<int64_t> &all,
               size_t most) const {
    const std::vector<int> peers = peersOf(states[state], communicator.rank());
    for (const int peer : peers)
      if (all[size_t(peer) * most + state] !=
          all[size_t(peers.front()) * most + state])
        return {state, peers};
    return {};
  }

  /// All ranks bring what they have of the state that `teller` has found.
  void tell(const Finding &finding, int teller) {
    const bool isTeller = communicator.rank() == teller;
    const auto state =
        size_t(gatherAll(communicator, int64_t(finding.state))[size_t(teller)]);
    const bool hasIt = state < states.size();
    std::vector<uint64_t> mine;
    if (hasIt)
      mine = hashes[state];
    const auto blocks = size_t(agreeOnMost(communicator, int64_t(mine.size())));
    const std::vector<uint64_t> all =
        gatherAll(communicator, std::move(mine), blocks);
    size_t block = 0;
    if (isTeller)
      block = firstDifference(finding.ranks, all, blocks);
    block = size_t(agreeOnMost(communicator, int64_t(block)));

    std::string bytes;
    if (hasIt && block < hashes[state].size())
      bytes =
          readBlock(states[state].buffer, arenas, communicator.rank(), block);
    const std::vector<char> every =
        gatherAll(communicator, std::vector<char>(bytes.begin(), bytes.end()),
                  kStateBlock);
    Verdict verdict;
    if (isTeller)
      verdict = judge(states[finding.state], finding.ranks, block, every);
    fail(verdict, teller);
  }

  static size_t firstDifference(const std::vector<int> &ranks,
                                const std::vector<uint64_t> &all,
                                size_t blocks) {
    for (size_t block = 0; block < blocks; ++block)
      for (const int rank : ranks)
        if (all[size_t(rank) * blocks + block] !=
            all[size_t(ranks.front()) * blocks + block])
          return block;
    return 0;
  }

  struct Verdict {
    int rank = 0; ///< that is told to be wrong, or one of those that differ
    std::string text;
  };

  /// `all` has the block of each rank.
  Verdict judge(const KeptState &state, const std::vector<int> &ranks,
                size_t block, const std::vector<char> &all) const {
    const auto bytesOf = [&](int rank) {
      return all.data() + size_t(rank) * kStateBlock;
    };
    const char *first = bytesOf(ranks.front());
    size_t offset = kStateBlock;
    for (const int rank : ranks)
      offset = std::min(
          offset,
          size_t(
              std::mismatch(first, first + kStateBlock, bytesOf(rank)).first -
              first));
    const bool isGone = offset == kStateBlock;
    std::vector<std::string> blocks;
    for (const int rank : ranks)
      blocks.emplace_back(bytesOf(rank), kStateBlock);
    const std::vector<std::vector<int>> groups = groupByValue(ranks, blocks);
    const int odd = groups.back().front();
    std::string text = describeByte(
        program, state, odd, block * kStateBlock + (isGone ? 0 : offset));
    if (isGone)
      return {odd, text + " changed while it was compared" + advice};
    for (size_t i = groups.size(); i-- > 0;)
      text += (i + 1 == groups.size() ? " is " : ", and ") +
              valueAt(state, bytesOf(groups[i].front()), offset) + " on " +
              listRanks(groups[i]);
    return {odd, text + ", which ought to have the same" + advice};
  }

  /// The rank that is wrong says so.
  void fail(const Verdict &verdict, int teller) {
    const auto wrong =
        size_t(gatherAll(communicator, verdict.rank)[size_t(teller)]);
    const std::string text = broadcastText(communicator, verdict.text, teller);
    failTogether(communicator,
                 size_t(communicator.rank()) == wrong ? text : "");
  }

  const Program &program;
  const std::vector<KeptState> &states;
  const StateHashes &hashes;
  const Arenas &arenas;
  Communicator &communicator;
  const std::string &advice;
};

} // namespace

std::vector<std::vector<int>>
zrt::groupByValue(const std::vector<int> &ranks,
                  const std::vector<std::string> &values) {
  std::map<std::string, std::vector<int>> byValue;
  for (size_t i = 0; i < ranks.size(); ++i)
    byValue[values[i]].push_back(ranks[i]);
  std::vector<std::vector<int>> groups;
  for (const auto &[value, group] : byValue)
    groups.push_back(group);
  std::sort(groups.begin(), groups.end(), [](const auto &a, const auto &b) {
    return a.size() != b.size() ? a.size() > b.size() : a.front() < b.front();
  });
  return groups;
}

void zrt::compareReplicas(const Program &program,
                          const std::vector<KeptState> &states,
                          const StateHashes &hashes, const Arenas &arenas,
                          Communicator &communicator,
                          const std::string &advice) {
  if (communicator.ranks() > 1)
    Comparison(program, states, hashes, arenas, communicator, advice).run();
}

std::string zrt::findChanged(const Program &program,
                             const std::vector<KeptState> &states,
                             const StateHashes &earlier, const StateHashes &now,
                             int rank) {
  for (size_t i = 0; i < states.size(); ++i)
    for (size_t block = 0; block < now[i].size(); ++block)
      if (now[i][block] != earlier[i][block])
        return describeByte(program, states[i], rank, block * kStateBlock) +
               ", or something in the " +
               formatBytes(int64_t(sizeOfBlock(states[i].buffer, block))) +
               " from there on,";
  return "";
}
