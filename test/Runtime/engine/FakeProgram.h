// A hand-made program with kernels of the test's own: y = w * mean(x), trained
// by plain gradient descent, on any number of ranks.
#ifndef ZERO_TEST_RUNTIME_ENGINE_FAKEPROGRAM_H
#define ZERO_TEST_RUNTIME_ENGINE_FAKEPROGRAM_H

#include "communicator/InProcess.h"
#include "engine/Executor.h"
#include "program/Control.h"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace zrt::test {

/// A buffer of `bytes` at `offset` of `arena`.
inline BufferRef ref(Arena arena, uint64_t offset, uint64_t bytes,
                     uint64_t stride = 0, uint32_t group = kAllRanks) {
  BufferRef buffer;
  buffer.arena = arena;
  buffer.offset = offset;
  buffer.bytes = bytes;
  buffer.stride = stride;
  buffer.group = group;
  return buffer;
}

/// A kernel that is a function.
class FakeKernel : public Kernel {
public:
  using Function = std::function<void(void *const *buffers)>;
  explicit FakeKernel(Function function) : function(std::move(function)) {}
  void run(void *const *buffers, void *) override { function(buffers); }

private:
  Function function;
};

/// Makes the named kernels, which get the rank's context and their buffers.
class FakeKernels {
public:
  using Function =
      std::function<void(const KernelContext &context, void *const *buffers)>;
  std::map<std::string, Function> functions;

  KernelMaker maker() const {
    return [this](const KernelSpec &spec, const KernelContext &context) {
      const Function function = functions.at(spec.name);
      return std::make_unique<FakeKernel>(
          [function, context](void *const *buffers) {
            function(context, buffers);
          });
    };
  }
};

/// Adds a kernel of `name` and a command that runs it on `buffers`, all taken
/// as operands of one f32.
inline void addKernel(Program &program, Region &region, const std::string &name,
                      const std::vector<BufferRef> &buffers) {
  KernelSpec spec;
  spec.name = name;
  for (size_t i = 0; i < buffers.size(); ++i)
    spec.operands.push_back({DataType::F32, {1}});
  Command command;
  command.kernel = uint32_t(program.kernels.size());
  command.buffers = buffers;
  command.label = name + " of the test";
  command.location = "model.mlir:7:3";
  program.kernels.push_back(spec);
  region.commands.push_back(command);
}

/// Adds a start of `kind` with one part, and its wait.
inline void addCollective(Region &region, Collective kind, uint32_t ticket,
                          const CollectivePart &part, TrafficClass traffic) {
  Command start;
  start.opcode = Opcode::Start;
  start.collective = kind;
  start.ticket = ticket;
  start.parts = {part};
  start.traffic = traffic;
  start.label = "@w";
  region.commands.push_back(start);
  Command wait;
  wait.opcode = Opcode::Wait;
  wait.ticket = ticket;
  wait.label = "@w";
  region.commands.push_back(wait);
}

/// tokens and targets of [2, 4]; one parameter w of one element, whose
/// gradient is the mean token of the batch; loss = w * mean token.
Program makeFakeProgram(int ranks, int accumulation);
/// Makes the evaluation of `program` leave `logits` [2, 4, 256], and `kernels`
/// fill them so that the byte after a token is the next one.
void addLogits(Program &program, FakeKernels &kernels);
/// The kernels of `makeFakeProgram`.
FakeKernels makeFakeKernels();

} // namespace zrt::test

#endif // ZERO_TEST_RUNTIME_ENGINE_FAKEPROGRAM_H
