#include "device/cuda/NcclChannels.h"

#include "program/Collective.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>

using namespace zrt;
using namespace zrt::nccl;

bool zrt::nccl::ordersCommunicators(const Program &program) {
  static std::once_flag once;
  const bool isCut = program.pipeline.isCut();
  std::call_once(once, [&] {
    ::setenv("NCCL_LAUNCH_ORDER_IMPLICIT", isCut ? "0" : "1",
             /*overwrite=*/isCut);
  });
  return !isCut && versionCode() >= NCCL_VERSION(2, 26, 0);
}

Uses::Uses(const Program &program, Communicator &host)
    : groups(std::max<size_t>(program.mesh.groups.size(), 1)),
      counts(groups * kCountOf<Stream>) {
  for (const auto &[name, region] : program.regions())
    for (const Command &command : region->commands)
      if (command.opcode == Opcode::Start && !isBetweenTwo(command.collective))
        counts[placeOf(command.group, command.stream)] = 1;
  host.run(Collective::AllReduce, Reduction::Sum,
           {{counts.data(), counts.data(), counts.size(), DataType::I32}});
}

void Channels::listOpen(std::vector<Channel *> &to) {
  for (Channel &channel : all)
    if (channel.isOpen())
      to.push_back(&channel);
}
