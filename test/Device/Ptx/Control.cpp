// Branches, barriers, fences, shuffles and votes.
#include "Machine.h"

namespace zrt::ptx {

namespace {

void leave(Lane &lane, const Instruction &) {
  lane.waits = bench::Thread::Exited;
}

void branch(Lane &lane, const Instruction &each) {
  lane.next = uint32_t(each.operands[0].value);
}

/// Waits for all threads of the block. The barrier's number must be known, and
/// no number of threads given: order among some of a block is not modelled.
void barrier(Lane &lane, const Instruction &) {
  lane.waits = bench::Thread::Block;
}

void warpBarrier(Lane &lane, const Instruction &each) {
  meet(lane, valueOf<uint32_t>(lane, each.operands[0]), /*orders=*/true,
       [](const Warp &) {});
}

/// A fence orders what this thread does; that others do not see it earlier than
/// a barrier or an atomic operation lets them is checked at each access.
void fence(Lane &, const Instruction &) {}

//===----------------------------------------------------------------------===//
// Shuffles and votes
//===----------------------------------------------------------------------===//

enum class Way { Down, Up, Xor, Index };

/// The lane that `own` takes its value of, and whether that is in its segment.
template <Way way>
unsigned sourceOf(unsigned own, uint32_t by, uint32_t clamp, bool &inside) {
  const uint32_t segment = clamp >> 8 & 31, last = clamp & 31;
  const uint32_t most = (own & segment) | (last & ~segment),
                 least = own & segment;
  by &= 31;
  const int source = way == Way::Down  ? int(own + by)
                     : way == Way::Up  ? int(own) - int(by)
                     : way == Way::Xor ? int(own ^ by)
                                       : int(least | (by & ~segment));
  inside = way == Way::Up ? source >= int(most) : source <= int(most);
  return inside ? unsigned(source) : own;
}

template <Way way> void exchange(const Warp &warp) {
  uint32_t given[kWarp], taken[kWarp];
  bool inside[kWarp];
  for (unsigned i = 0; i < warp.lanes; ++i)
    if (warp.has(i))
      given[i] =
          valueOf<uint32_t>(warp.first[i], warp.first[i].at->operands[2]);
  for (unsigned i = 0; i < warp.lanes; ++i) {
    if (!warp.has(i))
      continue;
    const Operand *o = warp.first[i].at->operands;
    const unsigned source =
        sourceOf<way>(i, valueOf<uint32_t>(warp.first[i], o[3]),
                      valueOf<uint32_t>(warp.first[i], o[4]), inside[i]);
    if (!warp.has(source))
      fault("takes the value of lane " + std::to_string(source) +
            ", which gives none");
    taken[i] = given[source];
  }
  for (unsigned i = 0; i < warp.lanes; ++i)
    if (warp.has(i)) {
      const Operand *o = warp.first[i].at->operands;
      set(warp.first[i], o[0], taken[i]);
      set(warp.first[i], o[1], inside[i]);
    }
}

template <Way way> void shuffle(Lane &lane, const Instruction &each) {
  if (!each.isLeftOut)
    return meet(lane, valueOf<uint32_t>(lane, each.operands[5]),
                /*orders=*/false, exchange<way>);
  set(lane, each.operands[0], valueOf<uint32_t>(lane, each.operands[2]));
  set(lane, each.operands[1], true);
}

uint32_t ballotOf(const Warp &warp) {
  uint32_t votes = 0;
  for (unsigned i = 0; i < warp.lanes; ++i)
    if (warp.has(i) &&
        valueOf<bool>(warp.first[i], warp.first[i].at->operands[1]))
      votes |= 1u << i;
  return votes;
}

struct Ballot {
  static uint32_t of(uint32_t votes, uint32_t) { return votes; }
};
struct Any {
  static bool of(uint32_t votes, uint32_t) { return votes != 0; }
};
struct All {
  static bool of(uint32_t votes, uint32_t present) { return votes == present; }
};

template <typename Result> void vote(Lane &lane, const Instruction &each) {
  meet(lane, valueOf<uint32_t>(lane, each.operands[2]), /*orders=*/false,
       [](const Warp &warp) {
         const auto result = Result::of(ballotOf(warp), warp.mask);
         for (unsigned i = 0; i < warp.lanes; ++i)
           if (warp.has(i))
             set(warp.first[i], warp.first[i].at->operands[0], result);
       });
}

/// The lanes that have the same value.
void match(Lane &lane, const Instruction &each) {
  meet(lane, valueOf<uint32_t>(lane, each.operands[2]), /*orders=*/false,
       [](const Warp &warp) {
         uint32_t value[kWarp] = {}, equal[kWarp] = {};
         for (unsigned i = 0; i < warp.lanes; ++i)
           value[i] = valueOf<uint32_t>(
               warp.first[i],
               warp.has(i) ? warp.first[i].at->operands[1] : Operand());
         for (unsigned i = 0; i < warp.lanes; ++i)
           for (unsigned j = 0; j < warp.lanes; ++j)
             if (warp.has(j) && value[i] == value[j])
               equal[i] |= 1u << j;
         for (unsigned i = 0; i < warp.lanes; ++i)
           if (warp.has(i))
             set(warp.first[i], warp.first[i].at->operands[0], equal[i]);
       });
}

/// The lanes that run: those of a warp go one after another here, so that it is
/// this one alone, which the instruction allows.
void activeMask(Lane &lane, const Instruction &each) {
  set(lane, each.operands[0], uint32_t(1) << lane.number % kWarp);
}

void addVotes(Opcodes &to) {
  for (const char *name : {"vote.ballot.sync.b32", "vote.sync.ballot.b32"})
    to[name].run = vote<Ballot>;
  for (const char *name : {"vote.any.sync.pred", "vote.sync.any.pred"})
    to[name].run = vote<Any>;
  for (const char *name : {"vote.all.sync.pred", "vote.sync.all.pred"})
    to[name].run = vote<All>;
  to["match.any.sync.b32"].run = match;
  to["activemask.b32"].run = activeMask;
}

} // namespace

void addControl(Opcodes &to) {
  for (const char *name : {"ret", "exit"})
    to[name].run = leave;
  for (const char *name : {"bra", "bra.uni"})
    to[name].run = branch;
  for (const char *name : {"bar.sync", "barrier.sync", "barrier.sync.aligned"})
    to[name] = {barrier, Meeting::Barrier};
  to["bar.warp.sync"] = {warpBarrier, Meeting::WarpBarrier};
  for (const char *kind : {"membar.", "fence.acq_rel.", "fence.sc."})
    for (const char *scope : {"cta", "gl", "gpu", "sys"})
      to[kind + std::string(scope)] = {fence, Meeting::Fence};
  to["shfl.sync.down.b32"] = {shuffle<Way::Down>, Meeting::Shuffle};
  to["shfl.sync.up.b32"] = {shuffle<Way::Up>, Meeting::Shuffle};
  to["shfl.sync.bfly.b32"] = {shuffle<Way::Xor>, Meeting::Shuffle};
  to["shfl.sync.idx.b32"] = {shuffle<Way::Index>, Meeting::Shuffle};
  addVotes(to);
}

const Opcodes &opcodes() {
  static const Opcodes all = [] {
    Opcodes made;
    addArithmetic(made);
    addConversions(made);
    addComparisons(made);
    addAccesses(made);
    addControl(made);
    addMatrices(made);
    return made;
  }();
  return all;
}

} // namespace zrt::ptx
