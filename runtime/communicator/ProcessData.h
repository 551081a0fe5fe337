// How one collective's bytes move between processes.
#ifndef ZERO_RUNTIME_COMMUNICATOR_PROCESSDATA_H
#define ZERO_RUNTIME_COMMUNICATOR_PROCESSDATA_H

#include "communicator/Operation.h"
#include "communicator/Wire.h"

#include <set>

namespace zrt::processes {

/// Moves the data of one operation at a time, in steps that never block.
///
/// All-gather and broadcast send from and receive into the user's buffers.
/// Reductions cut what each owner reduces into chunks: every peer's chunk c is
/// received while chunk c - 1 is added up in rank order and, for all-reduce,
/// sent on. Grouped parts share chunks, so that many small ones cost one.
class DataMover {
public:
  explicit DataMover(Wire &wire);

  /// Starts; `parts` stays alive until `done()`. \pre done().
  void begin(Collective kind, Reduction reduction,
             const std::vector<Transfer> &parts);
  /// Returns whether anything moved.
  bool progress();
  bool done() const { return parts_ == nullptr; }
  /// The ranks with which something is still on its way.
  std::vector<int> awaited() const;
  /// Stops receiving into buffers that will go away.
  void cancel();

private:
  /// Elements [begin, begin + count) of every owner's slice of a part. An
  /// owner with a shorter slice has fewer, or none.
  struct Segment {
    size_t part;
    uint64_t begin;
    uint64_t count;
    size_t offset; ///< in a peer's chunk of the buffer
  };
  struct Slice {
    uint64_t begin;
    uint64_t count;
  };

  void send(const void *from, uint64_t bytes, int peer, int tag);
  void receive(void *to, uint64_t bytes, int peer, int tag);
  void beginGather();
  void beginBroadcast();
  void step();
  Slice sliceOf(const Transfer &part, int owner) const;
  Slice clip(const Segment &segment, int owner) const;
  bool nextChunk(std::vector<Segment> &segments);
  void exchange(const std::vector<Segment> &segments, int slot);
  void reduce(const std::vector<Segment> &segments, int slot);
  void publish(const std::vector<Segment> &segments);
  char *chunk(int slot, int peer) {
    return aligned_ + (static_cast<size_t>(slot) * ranks_ + peer) * chunkBytes_;
  }

  const int rank_, ranks_;
  const size_t chunkBytes_;
  std::vector<char> buffer_; ///< two slots of one chunk a rank
  char *aligned_ = nullptr;
  std::unique_ptr<Requests> sends, receives;
  std::vector<int> sendPeers, receivePeers; ///< by request

  Collective kind_ = Collective::AllReduce;
  Reduction reduction_ = Reduction::Sum;
  const std::vector<Transfer> *parts_ = nullptr;
  size_t nextPart_ = 0;
  uint64_t nextElement_ = 0;
  int slot_ = 0;
  std::vector<Segment> segments_[2]; ///< the chunk in each slot
  std::vector<const void *> sources_;
};

} // namespace zrt::processes

#endif // ZERO_RUNTIME_COMMUNICATOR_PROCESSDATA_H
