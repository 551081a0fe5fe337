//===- Lockstep.cpp - the ranks of a mesh side by side --------------------===//

#include "zero/Interpreter/Lockstep.h"

using namespace mlir;
using namespace mlir::zero;

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// The indices of a whole dimension that rank `index` of the group has, in its
/// order: of each piece the index-th of as many equal parts as there are ranks.
static SmallVector<int64_t> indicesOf(CutAttr cut, int64_t index) {
  SmallVector<int64_t> indices;
  int64_t begin = 0, ranks = cut.getOver().getSize();
  for (int64_t repeat = 0; repeat < cut.getRepeats(); ++repeat)
    for (int64_t piece : cut.getPieces()) {
      for (int64_t at = 0; at < piece; ++at)
        if (at * ranks / piece == index)
          indices.push_back(begin + at);
      begin += piece;
    }
  return indices;
}

/// Copies between the part of rank `index` and `whole`, element by element.
static void
forEachElement(CutAttr cut, int64_t index, const Array &part,
               const Array &whole,
               llvm::function_ref<void(int64_t part, int64_t whole)> body) {
  SmallVector<int64_t> indices = indicesOf(cut, index);
  forEachIndex(part.shape, [&](ArrayRef<int64_t> at) {
    SmallVector<int64_t> from(at);
    from[cut.getDim()] = indices[at[cut.getDim()]];
    body(part.offset(at), whole.offset(from));
  });
}

static Array makeArray(const Array &like, int64_t dim, int64_t size) {
  Array array;
  array.shape = like.shape;
  array.shape[dim] = size;
  array.isFloat = like.isFloat;
  int64_t elements = 1;
  for (int64_t extent : array.shape)
    elements *= extent;
  (array.isFloat ? array.reals.resize(elements)
                 : array.integers.resize(elements));
  return array;
}

Array mlir::zero::takePart(const Array &whole, CutAttr cut, int64_t index) {
  int64_t size = whole.shape[cut.getDim()] / cut.getOver().getSize();
  Array part = makeArray(whole, cut.getDim(), size);
  forEachElement(cut, index, part, whole, [&](int64_t to, int64_t from) {
    part.copyElement(to, whole, from);
  });
  return part;
}

Array mlir::zero::joinParts(ArrayRef<const Array *> parts, CutAttr cut) {
  int64_t size =
      parts.front()->shape[cut.getDim()] * static_cast<int64_t>(parts.size());
  Array whole = makeArray(*parts.front(), cut.getDim(), size);
  for (size_t index = 0; index < parts.size(); ++index)
    forEachElement(cut, static_cast<int64_t>(index), *parts[index], whole,
                   [&](int64_t from, int64_t to) {
                     whole.copyElement(to, *parts[index], from);
                   });
  return whole;
}

//===----------------------------------------------------------------------===//
// Operations between ranks
//===----------------------------------------------------------------------===//

SmallVector<int64_t> Lockstep::membersOf(AxesAttr group, int64_t rank) const {
  AxesAttr others = mesh.without(group);
  SmallVector<int64_t> members;
  for (int64_t other = 0; other < mesh.getSize(); ++other)
    if (!others ||
        mesh.getIndexIn(others, other) == mesh.getIndexIn(others, rank))
      members.push_back(other);
  return members;
}

static AxesAttr groupOf(Operation &op) {
  if (auto replicate = dyn_cast<ReplicateOp>(op))
    return replicate.getOver();
  if (auto once = dyn_cast<CountOnceOp>(op))
    return once.getOver();
  if (auto term = dyn_cast<TermValueOp>(op))
    return term.getOver();
  if (auto reduce = dyn_cast<AllReduceValueOp>(op))
    return reduce.getOver();
  if (auto slice = dyn_cast<SliceValueOp>(op))
    return slice.getCut().getOver();
  if (auto gather = dyn_cast<GatherValueOp>(op))
    return gather.getCut().getOver();
  if (auto scatter = dyn_cast<ScatterValueOp>(op))
    return scatter.getCut().getOver();
  if (auto exchange = dyn_cast<ExchangeValueOp>(op))
    return exchange.getFrom().getOver();
  return {};
}

static Array addUp(ArrayRef<const Array *> terms) {
  Array sum = *terms.front();
  for (const Array *term : terms.drop_front()) {
    for (auto [element, other] : llvm::zip_equal(sum.reals, term->reals))
      element += other;
    for (auto [element, other] : llvm::zip_equal(sum.integers, term->integers))
      element += other;
  }
  return sum;
}

LogicalResult Lockstep::exchange(Operation &op,
                                 MutableArrayRef<Values> ranks) const {
  Value operand = op.getOperand(0), result = op.getResult(0);
  AxesAttr group = groupOf(op);
  if (!mesh.contains(group))
    return op.emitOpError() << "exchanges over " << group
                            << ", and the ranks have the axes " << mesh;
  std::vector<Array> results;
  for (auto [rank, values] : llvm::enumerate(ranks)) {
    SmallVector<const Array *> sent;
    for (int64_t member : membersOf(group, static_cast<int64_t>(rank)))
      sent.push_back(&ranks[member].find(operand)->second);
    int64_t index = mesh.getIndexIn(group, static_cast<int64_t>(rank));
    if (isa<ReplicateOp, CountOnceOp>(op))
      results.push_back(*sent[index]);
    else if (isa<TermValueOp>(op))
      results.push_back(index == 0 ? *sent[0] : Array::zeros(result.getType()));
    else if (isa<AllReduceValueOp>(op))
      results.push_back(addUp(sent));
    else if (auto slice = dyn_cast<SliceValueOp>(op))
      results.push_back(takePart(*sent[index], slice.getCut(), index));
    else if (auto scatter = dyn_cast<ScatterValueOp>(op))
      results.push_back(takePart(addUp(sent), scatter.getCut(), index));
    else if (auto swap = dyn_cast<ExchangeValueOp>(op))
      results.push_back(
          takePart(joinParts(sent, swap.getFrom()), swap.getTo(), index));
    else
      results.push_back(joinParts(sent, cast<GatherValueOp>(op).getCut()));
  }
  for (auto [values, array] : llvm::zip_equal(ranks, results))
    values[result] = std::move(array);
  return success();
}

//===----------------------------------------------------------------------===//
// A block
//===----------------------------------------------------------------------===//

LogicalResult
Lockstep::evaluate(Operation &op, MutableArrayRef<Values> ranks,
                   MutableArrayRef<InterpreterContext> contexts) const {
  if (groupOf(op))
    return exchange(op, ranks);
  for (auto [values, context] : llvm::zip_equal(ranks, contexts))
    if (failed(interpreter.evaluate(op, values, context)))
      return failure();
  return success();
}

/// How far a stage has come.
struct Lockstep::Stage {
  Stage(const RankBlock &given, int64_t count)
      : given(given), next(given.block->begin()), ranks(count), results(count) {
    for (auto [values, arrays] : llvm::zip_equal(ranks, given.arguments))
      for (auto [value, array] : llvm::zip_equal(given.argumentValues, arrays))
        values[value] = array;
  }
  bool isDone() const { return next == given.block->end(); }

  RankBlock given;
  Block::iterator next;
  std::vector<Values> ranks;
  std::vector<std::vector<Array>> results;
};

/// Evaluates operations until one wants a message that is not there; whether
/// there was any.
FailureOr<bool> Lockstep::advance(Stage &stage, Messages &messages) const {
  bool moved = false;
  for (; !stage.isDone(); ++stage.next, moved = true) {
    Operation &op = *stage.next;
    if (auto send = dyn_cast<SendValueOp>(op)) {
      std::vector<Array> &message =
          messages[{send.getBack(), send.getName().str()}];
      if (!message.empty())
        return send.emitOpError("is sent a second time"), failure();
      for (const Values &values : stage.ranks)
        message.push_back(values.find(send.getValue())->second);
    } else if (auto receive = dyn_cast<ReceiveValueOp>(op)) {
      auto message =
          messages.find({receive.getBack(), receive.getName().str()});
      if (message == messages.end())
        return moved;
      for (auto [values, array] : llvm::zip_equal(stage.ranks, message->second))
        values[receive.getResult()] = std::move(array);
      messages.erase(message);
    } else if (op.hasTrait<OpTrait::IsTerminator>()) {
      for (auto [values, given] : llvm::zip_equal(stage.ranks, stage.results))
        for (Value operand : op.getOperands())
          given.push_back(values.find(operand)->second);
    } else if (!isa<StageBoundaryOp>(op) &&
               failed(evaluate(op, stage.ranks, stage.given.contexts))) {
      return failure();
    }
  }
  return moved;
}

FailureOr<std::vector<std::vector<Array>>>
Lockstep::run(Block &block, ValueRange argumentValues,
              ArrayRef<std::vector<Array>> arguments,
              MutableArrayRef<InterpreterContext> contexts) const {
  auto results =
      runStages(RankBlock{&block, argumentValues, arguments, contexts});
  if (failed(results))
    return failure();
  return std::move(results->front());
}

FailureOr<std::vector<std::vector<std::vector<Array>>>>
Lockstep::runStages(ArrayRef<RankBlock> given) const {
  std::vector<Stage> stages;
  for (const RankBlock &each : given)
    stages.emplace_back(each, mesh.getSize());
  Messages messages;
  for (bool moved = true; moved;) {
    moved = false;
    for (Stage &stage : stages) {
      FailureOr<bool> went = advance(stage, messages);
      if (failed(went))
        return failure();
      moved |= *went;
    }
  }
  std::vector<std::vector<std::vector<Array>>> results;
  for (Stage &stage : stages) {
    if (!stage.isDone())
      return stage.next->emitOpError("is sent by no stage"), failure();
    results.push_back(std::move(stage.results));
  }
  if (!messages.empty())
    return given.front().block->getParentOp()->emitOpError("sends '")
               << messages.begin()->first.second
               << "' among others, which no stage receives",
           failure();
  return results;
}
