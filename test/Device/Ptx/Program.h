// What a file of PTX says, in the form that is executed: instructions whose
// operands are places of a thread's registers or values.
#ifndef ZERO_TEST_DEVICE_PTX_PROGRAM_H
#define ZERO_TEST_DEVICE_PTX_PROGRAM_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace zrt::ptx {

struct Lane;
struct Instruction;
/// Executes an instruction for one thread.
using Handler = void (*)(Lane &, const Instruction &);

/// Text that is not understood: the file, the line, what is there.
class Unreadable : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// What threads depend on each other by, and what a test may take out.
enum class Meeting : uint8_t {
  None,
  Barrier,     ///< of a block
  WarpBarrier, ///< of lanes
  Fence,
  Arrival, ///< a wait for copies
  Shuffle,
  Atomic
};

/// How an opcode is executed.
struct Opcode {
  Handler run = nullptr;
  Meeting meeting = Meeting::None;
};
/// All that are known, by their text: "add.rn.f32". `mov` of several registers
/// to one is "pack.", of one to several "unpack.".
using Opcodes = std::unordered_map<std::string, Opcode>;
const Opcodes &opcodes();

/// A register, where `place` is not negative; else a value. Of an address,
/// `value` is added to the register.
struct Operand {
  int32_t place = -1;
  uint64_t value = 0;
};

struct Instruction {
  Handler run = nullptr;
  const Operand *operands = nullptr;
  int32_t guard = -1; ///< the place of a predicate
  bool unless = false;
  Meeting meeting = Meeting::None;
  bool isLeftOut = false; ///< by a test
  uint32_t line = 0;
  mutable bool wasRun = false;
  const char *text = ""; ///< the opcode
};

/// The places of what PTX has by name, first in every thread's registers.
enum Special : int32_t {
  kThread,        ///< x, y, z
  kBlockSize = 3, ///< likewise
  kBlock = 6,     ///< likewise
  kGridSize = 9,  ///< likewise
  kLaneNumber = 12,
  kWarpNumber,
  kLanesBelow, ///< a mask
  kSpecials
};

struct Parameter {
  size_t offset, bytes;
};

/// A kernel.
struct Entry {
  std::string file; ///< of the PTX
  std::string name; ///< without what differs from one compilation to another
  std::vector<Parameter> parameters;
  size_t parameterBytes = 0;
  size_t sharedBytes = 0; ///< of static shared memory; what the launch asks
                          ///< for comes behind, at a multiple of 16
  size_t localBytes = 0;
  unsigned mostThreads = 0; ///< 0: it says none
  int32_t places = kSpecials;
  std::vector<Instruction> code;
  std::vector<Operand> operands;
  bool wasRun = false;
};

/// Memory that is declared outside of kernels, or in one.
struct Variable {
  enum Space { Shared, Local, Global } space = Shared;
  size_t alignment = 1, bytes = 0;
  bool isOfLaunch = false; ///< its size is the launch's
  uint64_t place = 0;      ///< an address, of a global one; of others an offset
  bool isPlaced = false;
};

/// A kernel whose text has not been read yet.
struct Pending {
  std::string_view head, body;
  uint32_t headLine = 0, bodyLine = 0;
};

/// A file. Kernels are read when they are first asked for.
class Module {
public:
  /// Throws Unreadable.
  Module(std::string file, std::string text);
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  /// Null where it has no kernel of that name. Throws Unreadable.
  Entry *find(const std::string &name);
  std::vector<std::string> names() const;
  /// Those that were asked for.
  std::vector<Entry *> entriesRead() const;
  bool wasRun(const std::string &name) const;
  const std::string &name() const { return file; }

private:
  std::string file, text;
  std::map<std::string, Pending> pending;
  std::map<std::string, std::unique_ptr<Entry>> read;
  std::map<std::string, Variable, std::less<>> variables;
};

} // namespace zrt::ptx

#endif // ZERO_TEST_DEVICE_PTX_PROGRAM_H
