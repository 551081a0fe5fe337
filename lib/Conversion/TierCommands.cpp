//===- TierCommands.cpp - copies and updates beside the device ------------===//

#include "CommandBuilder.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::zero;

/// Runs on the queue of `start` until its wait.
static void runBeside(zrt::Command &command, AsyncOpInterface start,
                      uint32_t ticket) {
  command.stream = toRuntime(start.getStream());
  command.ticket = ticket;
  command.label = start.getLabel();
}

LogicalResult CommandBuilder::startTierOp(AsyncOpInterface start,
                                          ArrayRef<AsyncBuffer> buffers) {
  SmallVector<AtAttr> at = state.getPlaces(start, buffers);
  for (auto [buffer, place] : llvm::zip_equal(buffers, at))
    if (buffer.memory == AsyncBuffer::Memory::Operand)
      place = placeOf(start->getOperand(buffer.index));
  return llvm::TypeSwitch<Operation *, LogicalResult>(start)
      .Case<CopyToHostOp, OffloadOp, FetchOp>([&](auto) {
        return copyPieces(start, buffers.drop_back(),
                          ArrayRef<AtAttr>(at).drop_back(), at.back(),
                          /*toStaging=*/true),
               success();
      })
      .Case([&](CopyToDeviceOp) {
        return copyPieces(start, buffers.drop_front(),
                          ArrayRef<AtAttr>(at).drop_front(), at.front(),
                          /*toStaging=*/false),
               success();
      })
      .Case<UploadOp, ReadParametersOp, ReadStatesOp, WriteStatesOp>([&](auto) {
        for (size_t i = 0; i < buffers.size(); i += 2)
          copyPieces(start, buffers.slice(i, 1), ArrayRef<AtAttr>(at[i]),
                     at[i + 1], /*toStaging=*/true);
        return success();
      })
      .Case([&](UpdateOnHostOp update) {
        return updateOnHost(update, buffers, at), success();
      })
      .Default([](Operation *op) {
        return op->emitOpError(
            "starts what no command is for; wanted a "
            "collective, a copy between tiers, a file's read "
            "or write, or an update on the host");
      });
}

void CommandBuilder::copyPieces(AsyncOpInterface start,
                                ArrayRef<AsyncBuffer> pieces,
                                ArrayRef<AtAttr> places, AtAttr staging,
                                bool toStaging) {
  int64_t done = 0;
  for (auto [piece, place] : llvm::zip_equal(pieces, places)) {
    AtAttr staged = getPart(staging, piece.type, done, piece.elements);
    done += piece.elements;
    zrt::KernelSpec spec;
    if (!toStaging)
      spec.ints["updated"] = {1};
    AtAttr ends[] = {toStaging ? place : staged, toStaging ? staged : place};
    runBeside(addFlatKernel(start, "zero.copy", ends, {piece.type, piece.type},
                            std::move(spec)),
              start, tickets.number(start));
  }
}

void CommandBuilder::updateOnHost(UpdateOnHostOp update,
                                  ArrayRef<AsyncBuffer> buffers,
                                  ArrayRef<AtAttr> places) {
  PartitionOp partition = state.find(update.getPartitionAttr());
  auto [name, spec] = describeUpdate(partition);
  spec.ints["partition"] = {partitionNumbers.lookup(update.getPartition())};
  SmallVector<Type> types;
  for (const AsyncBuffer &buffer : buffers)
    types.push_back(buffer.type);
  auto start = cast<AsyncOpInterface>(update.getOperation());
  runBeside(addFlatKernel(update, name, places, types, spec), start,
            tickets.number(update));
}
