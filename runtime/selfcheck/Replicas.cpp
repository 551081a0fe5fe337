#include "selfcheck/Replicas.h"

#include "data/Permutation.h"
#include "io/StoredElements.h"
#include "io/Together.h"
#include "program/ByteCount.h"

#include <algorithm>
#include <cstring>
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

/// `count` numbers of each rank, one rank behind the other, on all.
std::vector<int64_t> gather(Communicator &communicator,
                            std::vector<int64_t> mine, size_t count) {
  mine.resize(count);
  std::vector<int64_t> all(count * size_t(communicator.ranks()));
  if (count > 0)
    communicator.run(Collective::AllGather, Reduction::Sum,
                     {{mine.data(), all.data(), count, DataType::I64}});
  return all;
}

int64_t agreeOnMost(Communicator &communicator, int64_t mine) {
  communicator.run(Collective::AllReduce, Reduction::Max,
                   {{&mine, &mine, 1, DataType::I64}});
  return mine;
}

/// The element at `offset` of a block, for people.
std::string valueAt(const KeptState &state, const std::string &block,
                    size_t offset) {
  std::ostringstream text;
  const size_t width = state.isPacked ? 1 : sizeOf(state.type);
  const size_t begin = offset / width * width;
  if (!state.isPacked && isFloat(state.type) && state.type != DataType::F64) {
    float value = 0;
    loadElements(state.type, block.data() + begin, &value, 1);
    text << value;
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
    const std::vector<int64_t> all = gather(communicator, mine, most);
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
      if (stageOf(other) == stageOf(rank) &&
          placeOf(program, state, other) == place)
        peers.push_back(other);
    return peers;
  }

  int64_t stageOf(int rank) const {
    return program.pipeline.isCut()
               ? program.mesh.indexIn(program.pipeline.group, rank)
               : 0;
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
    std::vector<int64_t> what = {int64_t(finding.state)};
    if (isTeller)
      what.insert(what.end(), {int64_t(hashes[finding.state].size())});
    what = gather(communicator, what, 2);
    const auto state = size_t(what[2 * size_t(teller)]);
    const auto blocks = size_t(what[2 * size_t(teller) + 1]);
    const bool hasIt = state < states.size();

    std::vector<int64_t> mine;
    if (hasIt)
      mine.assign(hashes[state].begin(), hashes[state].end());
    const std::vector<int64_t> all = gather(communicator, mine, blocks);
    size_t block = 0;
    if (isTeller)
      block = firstDifference(finding.ranks, all, blocks);
    block = size_t(agreeOnMost(communicator, int64_t(block)));

    std::string bytes;
    if (hasIt && block < hashes[state].size())
      bytes = readBlock(states[state], arenas, communicator.rank(), block);
    const std::string every = gatherBlocks(bytes);
    Verdict verdict;
    if (isTeller)
      verdict = judge(states[finding.state], finding.ranks, block, every);
    fail(verdict, teller);
  }

  static size_t firstDifference(const std::vector<int> &ranks,
                                const std::vector<int64_t> &all,
                                size_t blocks) {
    for (size_t block = 0; block < blocks; ++block)
      for (const int rank : ranks)
        if (all[size_t(rank) * blocks + block] !=
            all[size_t(ranks.front()) * blocks + block])
          return block;
    return 0;
  }

  std::string gatherBlocks(std::string bytes) {
    bytes.resize(kStateBlock);
    std::string all(kStateBlock * size_t(communicator.ranks()), '\0');
    communicator.run(Collective::AllGather, Reduction::Sum,
                     {{bytes.data(), all.data(), kStateBlock, DataType::I8}});
    return all;
  }

  struct Verdict {
    int rank = 0; ///< that is told to be wrong, or one of those that differ
    std::string text;
  };

  Verdict judge(const KeptState &state, const std::vector<int> &ranks,
                size_t block, const std::string &all) const {
    const auto blockOf = [&](int rank) {
      return all.substr(size_t(rank) * kStateBlock, kStateBlock);
    };
    const std::string first = blockOf(ranks.front());
    size_t offset = kStateBlock;
    for (const int rank : ranks) {
      const std::string other = blockOf(rank);
      const auto at =
          std::mismatch(first.begin(), first.end(), other.begin()).first;
      offset = std::min(offset, size_t(at - first.begin()));
    }
    if (offset == kStateBlock)
      return {ranks.front(),
              describeByte(program, state, ranks.front(), block * kStateBlock) +
                  " changed while it was compared" + advice};
    std::vector<int64_t> values;
    std::map<int64_t, std::string> texts;
    for (const int rank : ranks) {
      const std::string bytes = blockOf(rank);
      const std::string text = valueAt(state, bytes, offset);
      values.push_back(int64_t(std::hash<std::string>()(bytes)));
      texts[values.back()] = text;
    }
    const std::vector<std::vector<int>> groups = groupByValue(ranks, values);
    const auto textOf = [&](const std::vector<int> &group) {
      for (size_t i = 0; i < ranks.size(); ++i)
        if (ranks[i] == group.front())
          return texts[values[i]] + " on " + listRanks(group);
      return std::string();
    };
    const std::vector<int> &odd = groups.back();
    std::string text = describeByte(program, state, odd.front(),
                                    block * kStateBlock + offset) +
                       " is ";
    for (size_t i = groups.size(); i-- > 0;)
      text += textOf(groups[i]) + (i > 0 ? ", and " : "");
    return {odd.front(), text + ", which ought to have the same" + advice};
  }

  /// The rank that is wrong says so.
  void fail(const Verdict &verdict, int teller) {
    const auto wrong =
        size_t(gather(communicator, {verdict.rank}, 1)[size_t(teller)]);
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
                  const std::vector<int64_t> &values) {
  std::map<int64_t, std::vector<int>> byValue;
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

std::string zrt::listRanks(const std::vector<int> &ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0)
      text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
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
               formatBytes(int64_t(sizeOfBlock(states[i], block))) +
               " from there on,";
  return "";
}
