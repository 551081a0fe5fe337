//===- Machine.h - what a plan is to run on -------------------------------===//
//
// The figures that the cost model needs of a machine: built in for some, or
// read from a file, which `zero-plan calibrate` writes from measurement.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_COST_MACHINE_H
#define ZERO_COST_MACHINE_H

#include "mlir/Support/LLVM.h"

#include "program/Program.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace llvm::json {
class OStream;
} // namespace llvm::json

namespace mlir::zero {

/// A protocol by which a library sends around a ring. Times in seconds, rates
/// in bytes a second that a rank sends.
struct LinkProtocol {
  /// The latency of any operation.
  double latency = 0;
  /// The latency of a step to a neighbour inside the node, and in another node.
  double step = 0, farStep = 0;
  double bandwidth = 0, farBandwidth = 0;
};

/// A kernel that was timed while `ranks` ranks of a node ran it at once.
struct MeasuredKernel {
  std::string key, family;
  int64_t ranks = 1;
  double flops = 0, bytes = 0;
  zrt::DataType type = zrt::DataType::F32;
  double seconds = 0;
};

/// A collective of `ranks` ranks that spans `bytes` bytes: of the buffer that
/// is whole before or after it.
struct MeasuredCollective {
  zrt::Collective kind = zrt::Collective::AllReduce;
  zrt::DataType type = zrt::DataType::F32;
  int64_t ranks = 1;
  double bytes = 0, seconds = 0;
};

/// How far times predicted for a machine were from runs that others have
/// published.
struct PublishedError {
  int64_t runs = 0; ///< 0: there are none
  double mean = 0, worst = 0;
};

/// The seconds of a kernel by either side of the roofline.
struct RooflineSides {
  double arithmetic = 0, memory = 0;
  double seconds() const { return std::max(arithmetic, memory); }
};

struct Machine {
  std::string name;
  /// Where the figures come from.
  std::string source;
  /// Whether the figures are what kernels reach alone, which runs come near to
  /// and do not exceed.
  bool isCeiling = false;
  PublishedError published;
  /// Bytes of a device's memory that a process may have, 0: not known; and
  /// those of them that it needs beside its plan and the kernels' workspace:
  /// for the driver's context and the buffers of communicators.
  int64_t memory = 0, reservedMemory = 0;
  /// Bytes that a plan and its kernels' workspace may take of it, as the user
  /// says; 0: all. In no file.
  int64_t budget = 0;
  /// Ranks of a node; 0 for a machine of one node.
  int64_t ranksPerNode = 0;
  /// Cores that the ranks of a node share; 0 where each has its own device.
  int64_t cores = 0;
  /// Operations a second of a device or a core, by element type.
  std::array<double, zrt::kCountOf<zrt::DataType>> flops = {};
  /// Bytes a second of a device, or of all cores of a node together.
  double bandwidth = 0;
  /// Bytes a second of one core, where cores are shared.
  double coreBandwidth = 0;
  /// Bytes a second between a device and the host's memory, each way; 0 where
  /// kernels run in that memory.
  double busBandwidth = 0;
  /// Bytes a second of the host's memory that a rank's share of it has; 0 where
  /// `bandwidth` says so.
  double hostBandwidth = 0;
  /// Bytes a second that a rank reads from files, or writes to them; 0 where it
  /// is not known, and files count as the host's memory.
  double fileBandwidth = 0;
  /// Parts of `flops` and `bandwidth` that kernels reach.
  double flopsEfficiency = 1, bandwidthEfficiency = 1;
  /// The part of `flops` that attention reaches, and matrix products of large
  /// dimensions; 0: that of `flopsEfficiency`.
  double attentionEfficiency = 0, productEfficiency = 0;
  /// By how many elements each dimension of a product counts as longer: what
  /// parts of tiles and the ends of pipelines cost.
  double productPadding = 0;
  /// Seconds that a kernel costs however little it does.
  double kernelOverhead = 0;
  /// Collectives do nothing until they are waited for, and then keep all cores
  /// of their ranks busy.
  bool worksAtWait = false;
  /// How much longer a kernel takes beside a collective.
  double overlapSlowdown = 1;
  /// The part of the protocols' bandwidths that collectives reach.
  double linkEfficiency = 1;
  /// The protocols of the library, which takes the fastest one for each
  /// operation.
  SmallVector<LinkProtocol> protocols;

  std::vector<MeasuredKernel> kernels;
  std::vector<MeasuredCollective> collectives;

  /// Whether ranks have GPUs, whose kernels want a workspace that a plan knows.
  bool hasDevices() const { return cores == 0; }
  /// Ranks of a run of `ranks` that share a node.
  int64_t localRanks(int64_t ranks) const {
    return ranksPerNode > 0 ? std::min(ranks, ranksPerNode) : ranks;
  }
  /// Cores that a rank has while `localRanks` ranks of its node are busy.
  double coresOfRank(int64_t localRanks) const;
  /// Operations a second that a rank's device, or its cores, have at most.
  double peakOf(zrt::DataType type, int64_t localRanks) const;
  /// Seconds of work that computes `flops` operations on elements of `type`
  /// and moves `bytes`, by the roofline, without overhead.
  RooflineSides sidesOf(double flops, double bytes, zrt::DataType type,
                        int64_t localRanks) const;
  /// Seconds of a kernel, by the part of the roofline that kernels of its class
  /// reach.
  RooflineSides sidesOf(const zrt::KernelSpec &spec, int64_t localRanks) const;
  double roofline(double flops, double bytes, zrt::DataType type,
                  int64_t localRanks) const {
    return sidesOf(flops, bytes, type, localRanks).seconds();
  }
  double roofline(const zrt::KernelSpec &spec, int64_t localRanks) const {
    return sidesOf(spec, localRanks).seconds();
  }
};

/// The machine with a built-in name (see `builtInMachineNames`), or of the
/// file `nameOrPath`. Where there is none, `error` says what was found and what
/// is wanted.
FailureOr<Machine> readMachine(StringRef nameOrPath, std::string &error);

/// The machine whose figures are what frameworks reach on the nodes of
/// `machine`; nothing where none is known, or it is that itself.
std::optional<Machine> findFrameworksOn(const Machine &machine);

/// Merges measurements of a machine with several rank counts, in ascending
/// order of these: everything that was measured, and the best rates.
Machine mergeMachines(ArrayRef<Machine> machines);

/// Writes what `readMachine` reads.
void writeMachine(llvm::json::OStream &json, const Machine &machine);

/// Names that `readMachine` knows, one after the other.
SmallVector<StringRef> builtInMachineNames();

namespace detail {
/// The parts of `readMachine`: nothing for an unknown name; a file's text.
std::optional<Machine> findBuiltInMachine(StringRef name);
FailureOr<Machine> parseMachine(StringRef text, std::string &error);
} // namespace detail

} // namespace mlir::zero

#endif // ZERO_COST_MACHINE_H
