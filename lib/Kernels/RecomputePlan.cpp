//===- RecomputePlan.cpp - what to keep of a span of the forward ----------===//

#include "zero/Kernels/RecomputePlan.h"

#include "zero/Analysis/Views.h"
#include "zero/Interfaces/Interfaces.h"
#include "zero/Kernels/KernelSpecs.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "program/KernelSchema.h"

#include <limits>

using namespace mlir;
using namespace mlir::zero;

//===----------------------------------------------------------------------===//
// Minimum cut
//===----------------------------------------------------------------------===//

namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

/// Nodes 0 and 1 are the source and the sink.
class FlowNetwork {
public:
  static constexpr size_t kSource = 0, kSink = 1;

  size_t addNode() {
    edgesOf.emplace_back();
    return edgesOf.size() - 1;
  }
  void addEdge(size_t from, size_t to, int64_t capacity) {
    edgesOf[from].push_back(edges.size());
    edges.push_back({to, capacity});
    edgesOf[to].push_back(edges.size());
    edges.push_back({from, 0});
  }
  /// Sends as much as fits, on shortest paths.
  void saturate() {
    SmallVector<size_t> path = findPath();
    for (; !path.empty(); path = findPath())
      augment(path);
  }
  /// The nodes from which more could flow to the sink.
  SmallVector<bool> findSinkSide() const;

private:
  struct Edge {
    size_t to;
    int64_t capacity;
  };

  SmallVector<size_t> findPath() const;
  void augment(ArrayRef<size_t> path);

  SmallVector<SmallVector<size_t>> edgesOf{2};
  /// An edge at an even place, and its reverse beside it.
  SmallVector<Edge> edges;
};

} // namespace

/// Edges from the sink back to the source; none if nothing more fits.
SmallVector<size_t> FlowNetwork::findPath() const {
  SmallVector<std::optional<size_t>> enteredBy(edgesOf.size());
  SmallVector<size_t> queue = {kSource};
  for (size_t next = 0; next < queue.size() && !enteredBy[kSink]; ++next)
    for (size_t edge : edgesOf[queue[next]]) {
      auto [to, capacity] = edges[edge];
      if (capacity == 0 || to == kSource || enteredBy[to])
        continue;
      enteredBy[to] = edge;
      queue.push_back(to);
    }
  SmallVector<size_t> path;
  for (size_t at = kSink; at != kSource && enteredBy[at];) {
    path.push_back(*enteredBy[at]);
    at = edges[*enteredBy[at] ^ 1].to;
  }
  return path;
}

void FlowNetwork::augment(ArrayRef<size_t> path) {
  int64_t flow = kUnlimited;
  for (size_t edge : path)
    flow = std::min(flow, edges[edge].capacity);
  for (size_t edge : path) {
    if (edges[edge].capacity != kUnlimited)
      edges[edge].capacity -= flow;
    if (edges[edge ^ 1].capacity != kUnlimited)
      edges[edge ^ 1].capacity += flow;
  }
}

SmallVector<bool> FlowNetwork::findSinkSide() const {
  SmallVector<bool> side(edgesOf.size(), false);
  side[kSink] = true;
  SmallVector<size_t> queue = {kSink};
  while (!queue.empty())
    for (size_t edge : edgesOf[queue.pop_back_val()]) {
      size_t from = edges[edge].to;
      if (side[from] || edges[edge ^ 1].capacity == 0)
        continue;
      side[from] = true;
      queue.push_back(from);
    }
  return side;
}

//===----------------------------------------------------------------------===//
// RecomputePlan
//===----------------------------------------------------------------------===//

/// Whether nothing has to be kept of `root`: it is made at any place at no
/// cost.
static bool isFree(Value root) {
  Operation *op = root.getDefiningOp();
  return !op || isa<LoadOp>(op) || op->hasTrait<OpTrait::ConstantLike>();
}

RecomputePlan::Readers RecomputePlan::findReaders(Value root) const {
  Readers readers;
  SmallVector<Value> values = {root};
  while (!values.empty())
    for (Operation *user : values.pop_back_val().getUsers()) {
      user = seed->getBlock()->findAncestorOpInBlock(*user);
      if (getView(user))
        values.push_back(user->getResult(0));
      else if (!user->isBeforeInBlock(seed))
        readers.backward = true;
      else if (!inside.contains(user))
        readers.forward = true;
    }
  return readers;
}

bool RecomputePlan::mayRecompute(Operation *op) const {
  // Without an operand to read through zero.recompute, CSE would merge it.
  bool readsTensors = false;
  for (Value operand : op->getOperands()) {
    Operation *def = operand.getDefiningOp();
    if (def && def->hasTrait<OpTrait::ConstantLike>())
      continue;
    if (!isa<RankedTensorType>(operand.getType()))
      return false;
    readsTensors = true;
  }
  if (!readsTensors || !isMemoryEffectFree(op) ||
      op->hasTrait<ExchangesValue>() ||
      (op->getNumRegions() != 0 && !isa<StridedOp>(op)))
    return false;
  if (policy != RecomputePolicy::Cheap)
    return true;
  std::optional<zrt::KernelSpec> kernel = describeKernel(op);
  return !kernel || static_cast<double>(kernel->flops) <=
                        kCheapFlopsPerByte * static_cast<double>(kernel->bytes);
}

namespace {

/// The dataflow of a span as a network: a value is an edge of its bytes.
class SpanNetwork {
public:
  /// An edge for `root`, of no capacity if it is held anyway.
  void addValue(Value root, bool isHeld) {
    int64_t bytes = 0;
    if (auto type = dyn_cast<RankedTensorType>(root.getType()); type && !isHeld)
      bytes = tensorBytes(type);
    size_t in = network.addNode();
    network.addEdge(in, network.addNode(), bytes);
    nodes[root] = in;
  }
  bool contains(Value root) const { return nodes.contains(root); }
  /// `root` is there without being recomputed.
  void addSource(Value root) {
    network.addEdge(FlowNetwork::kSource, nodes.lookup(root), kUnlimited);
  }
  void addSink(Value root) {
    network.addEdge(nodes.lookup(root) + 1, FlowNetwork::kSink, kUnlimited);
  }
  void addDependence(Value result, Value operand) {
    network.addEdge(nodes.lookup(operand) + 1, nodes.lookup(result),
                    kUnlimited);
  }
  DenseSet<Value> cut() {
    network.saturate();
    SmallVector<bool> sinkSide = network.findSinkSide();
    DenseSet<Value> kept;
    for (auto [root, in] : nodes)
      if (!sinkSide[in] && sinkSide[in + 1])
        kept.insert(root);
    return kept;
  }

private:
  FlowNetwork network;
  /// Where the value's edge begins; it ends at the next node.
  DenseMap<Value, size_t> nodes;
};

} // namespace

RecomputePlan::RecomputePlan(ArrayRef<Operation *> span, Operation *seed,
                             RecomputePolicy policy)
    : seed(seed), policy(policy), inside(span.begin(), span.end()) {
  SpanNetwork network;
  SmallVector<Value> needed;
  for (Operation *op : span) {
    if (getView(op) || llvm::any_of(op->getResults(), isFree))
      continue;
    bool isRepeatable = mayRecompute(op);
    for (Value result : op->getResults()) {
      Readers readers = findReaders(result);
      bool isHeld = readers.forward && readers.backward;
      network.addValue(result, isHeld);
      if (readers.backward && !isHeld) {
        needed.push_back(result);
        network.addSink(result);
      }
      if (isHeld || !isRepeatable) {
        network.addSource(result);
        continue;
      }
      for (Value operand : op->getOperands()) {
        Value root = getRoot(operand);
        if (isFree(root))
          continue;
        if (!network.contains(root)) {
          network.addValue(root, findReaders(root).backward);
          network.addSource(root);
        }
        network.addDependence(result, root);
      }
    }
  }
  collectRecomputed(needed, network.cut());
}

void RecomputePlan::collectRecomputed(ArrayRef<Value> needed,
                                      const DenseSet<Value> &kept) {
  SmallVector<Value> values(needed);
  while (!values.empty()) {
    Value root = values.pop_back_val();
    if (isFree(root) || kept.contains(root) || !recomputed.insert(root).second)
      continue;
    for (Value operand : root.getDefiningOp()->getOperands())
      values.push_back(getRoot(operand));
  }
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

static void addKernel(KernelWork &work, Operation *op,
                      SymbolTableCollection &symbols) {
  std::optional<zrt::KernelSpec> kernel;
  if (!getView(op))
    kernel = describeKernel(op, &symbols);
  if (!kernel)
    return;
  ++work.kernels;
  work.flops += static_cast<int64_t>(kernel->flops);
  work.bytes += static_cast<int64_t>(kernel->bytes);
  if (zrt::arithmeticOf(*kernel).kind != zrt::KernelArithmetic::Elementwise)
    work.products += static_cast<int64_t>(kernel->flops);
}

KernelWork mlir::zero::measureWork(Block &micro) {
  KernelWork work;
  SymbolTableCollection symbols;
  for (Operation &op : micro)
    addKernel(work, &op, symbols);
  return work;
}

KernelWork mlir::zero::measureRecomputation(Block &micro) {
  KernelWork work;
  SymbolTableCollection symbols;
  DenseSet<Value> again, gradients;
  for (Operation &op : micro) {
    bool isGradient = isa<LossSeedOp, StartReceiveOp>(op) ||
                      llvm::any_of(op.getOperands(), [&](Value value) {
                        return gradients.contains(value);
                      });
    bool isAgain = isa<RecomputeOp>(op) ||
                   llvm::any_of(op.getOperands(), [&](Value value) {
                     return again.contains(value);
                   });
    if (isGradient)
      gradients.insert(op.result_begin(), op.result_end());
    else if (isAgain)
      again.insert(op.result_begin(), op.result_end());
    if (isAgain && !isGradient)
      addKernel(work, &op, symbols);
  }
  return work;
}
