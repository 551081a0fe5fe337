//===- PipelineCommands.cpp - sends, receives and the stash as commands ---===//

#include "CommandBuilder.h"

#include "program/Collective.h"

using namespace mlir;
using namespace mlir::zero;

void CommandBuilder::visitStash(StashOp stash) {
  AtAttr source = placeOf(stash.getValue());
  record(*stash);
  AtAttr target = placeOf(stash.getResult());
  if (source.beginsWith(target) && source.getStride() == target.getStride())
    return;
  Type type = getElementTypeOrSelf(stash.getValue());
  addFlatKernel(stash, "zero.copy", {source, target}, {type, type}).label =
      stash.getName().str();
}

/// A command that starts to send `buffer` to another stage, or to receive it.
zrt::Command &CommandBuilder::newTransfer(Operation *op, int64_t stage,
                                          bool isSend,
                                          const zrt::BufferRef &buffer,
                                          int64_t elements, zrt::DataType type,
                                          std::string label) {
  zrt::CollectivePart part;
  (isSend ? part.send : part.receive) = buffer;
  part.count = static_cast<uint64_t>(elements);
  part.type = type;
  part.root = static_cast<int32_t>(stage);
  zrt::Command &command = newCommand(op, std::move(label));
  command.opcode = zrt::Opcode::Start;
  command.collective =
      isSend ? zrt::Collective::Send : zrt::Collective::Receive;
  command.group = numberOf(mesh.pipe, mesh, program.mesh);
  command.parts = {part};
  return command;
}

LogicalResult CommandBuilder::startTransfer(AsyncOpInterface start,
                                            ArrayRef<AsyncBuffer> buffers) {
  auto send = dyn_cast<StartSendOp>(start.getOperation());
  auto receive = dyn_cast<StartReceiveOp>(start.getOperation());
  const bool isBack = send ? send.getBack() : receive.getBack();
  const AsyncBuffer &buffer = buffers.front();
  AtAttr at =
      send ? placeOf(send.getValue()) : state.getPlaces(start, buffers).front();
  std::optional<zrt::DataType> type = toDataType(buffer.type);
  if (!type)
    return start->emitOpError("moves elements of ")
           << buffer.type << ", which no communicator takes";
  // A value comes from the stage before, and its gradient from the one behind.
  const int64_t step = (send != nullptr) == isBack ? mesh.stages() - 1 : 1;
  const int64_t stage = (mesh.stage + step) % mesh.stages();
  zrt::Command &command =
      newTransfer(start, stage, send != nullptr,
                  refer(start, buffer, at, {0, 0, buffer.elements}),
                  buffer.elements, *type, start.getLabel());
  command.traffic = zrt::TrafficClass::Activation;
  command.stream = toRuntime(start.getStream());
  command.ticket = tickets.number(start);
  command.parts.front().lane = isBack ? 1 : 0;
  return success();
}

//===----------------------------------------------------------------------===//
// Gradients of what several stages have
//===----------------------------------------------------------------------===//

/// Starts to exchange a gradient with another stage; the ticket.
uint32_t CommandBuilder::exchangeWith(Operation *op, int64_t stage, bool isSend,
                                      const zrt::BufferRef &buffer,
                                      int64_t elements,
                                      const std::string &value) {
  zrt::Command &command =
      newTransfer(op, stage, isSend, buffer, elements, zrt::DataType::F32,
                  (isSend ? "send " : "receive ") + value);
  command.traffic = zrt::TrafficClass::Gradient;
  command.stream = zrt::Stream::Reduce;
  return command.ticket = tickets.take();
}

/// Neighbouring elements that this rank owns become ((g0 + g1) + g2) + ... of
/// all stages, in each of them.
void CommandBuilder::tieRun(TieGradientsOp tie, ArrayRef<int64_t> stages,
                            const zrt::BufferRef &own,
                            ArrayRef<zrt::BufferRef> received,
                            int64_t elements) {
  // The partition has one member, which has the same name in all stages.
  auto member = *state.find(tie.getPartitionAttr()).getMemberRange().begin();
  const std::string value =
      "tied gradient of " + member.getParameter().getValue().str();
  SmallVector<uint32_t> waits, sends;
  size_t next = 0;
  for (int64_t stage : stages) {
    if (stage == mesh.stage)
      continue;
    sends.push_back(
        exchangeWith(tie, stage, /*isSend=*/true, own, elements, value));
    waits.push_back(exchangeWith(tie, stage, /*isSend=*/false, received[next++],
                                 elements, value));
  }
  // What others send is taken by the waits for it: those come first.
  llvm::append_range(waits, sends);
  for (uint32_t ticket : waits) {
    zrt::Command &command = newCommand(tie, "wait");
    command.opcode = zrt::Opcode::Wait;
    command.ticket = ticket;
  }
  auto add = [&](const zrt::BufferRef &from, const zrt::BufferRef &to) {
    Type f32 = Float32Type::get(tie.getContext());
    zrt::KernelSpec spec;
    spec.ints["add"] = {1};
    addKernel(tie,
              describeFlatKernel("zero.accumulate",
                                 {{elements, f32}, {elements, f32}}, spec),
              {from, to}, value);
  };
  size_t before = llvm::find(stages, mesh.stage) - stages.begin();
  for (size_t i = 1; i < before; ++i)
    add(received[i], received[0]);
  if (before > 0)
    add(received[0], own);
  for (size_t i = before; i < received.size(); ++i)
    add(received[i], own);
}

void CommandBuilder::tieGradients(TieGradientsOp tie,
                                  ArrayRef<AsyncBuffer> buffers) {
  PartitionOp partition = state.find(tie.getPartitionAttr());
  ArrayRef<int64_t> stages = *partition.getStages();
  SmallVector<AtAttr> at = state.getPlaces(tie, buffers);
  size_t runs = buffers.size() - (stages.size() - 1);
  int64_t done = 0;
  for (size_t run = 0; run < runs; ++run) {
    int64_t elements = buffers[run].elements;
    SmallVector<zrt::BufferRef> received;
    for (size_t i = runs; i < buffers.size(); ++i)
      received.push_back(
          referTo(getPart(at[i], buffers[i].type, done, elements)));
    tieRun(tie, stages, referTo(at[run]), received, elements);
    done += elements;
  }
}
