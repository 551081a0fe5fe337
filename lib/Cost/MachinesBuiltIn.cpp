//===- MachinesBuiltIn.cpp - machines that are known by name --------------===//
//
// GPU nodes: peaks from NVIDIA's data sheets (dense, SXM), links from the
// tables of NCCL's tuner (src/graph/tuning.cc and topo.h of 2.30): latency of
// the protocols LL, LL128 and Simple, a step over NVLink and over the network,
// 20.0 GB/s a link on Ampere, 20.6 on Hopper and 40.1 on Blackwell, 12 GB/s for
// every 100 Gb of network, and the parts of the bandwidth that LL (0.5, at most
// 141 GB/s on Hopper and 282 on Blackwell) and LL128 (0.92) reach. Kernels
// beside a collective are 1.19 times slower (arXiv 2507.03114, mean of its
// measurements). What products reach of the peak (0.7), streams of the memory's
// rate (0.85) and a launch (4 us) are round figures; a calibrated file has
// better ones. Attention reaches 0.6: of the A100's peak 0.5 to 0.73 is
// published (arXiv 2307.08691), of the H100's up to 0.75 forward and less
// backward (arXiv 2407.08608). The bus is PCIe of 16 lanes, generation 4 beside
// the A100 and 5 beside the others, at 0.85 of its raw rate, and half of a
// GB200's 450 GB/s between its processor and two GPUs; a rank's share of the
// host's memory is an eighth of 16 channels of DDR4-3200, of DDR5-4800 or,
// beside the B200, of DDR5-5600, and half of a Grace's 512 GB/s. Files are on
// one drive a rank, PCIe 4 of 4 lanes at 0.75 of its raw rate. Memory is what
// the driver gives a process of the 80 GB of an A100 and an H100, the 141 GB of
// an H200, the 180 GB of a B200 and the 186 GB of a GB200; 3 GiB of it are for
// what a process has beside its plan, the most that tests on devices accept
// (docs/DeviceTesting.md).
//
// The machines with `-eager` are the same nodes with what frameworks reach that
// run one kernel after the other: fitted to docs/published-runs.csv by
// `zero-plan-bench fit`, see docs/Planning.md.
//
//===----------------------------------------------------------------------===//

#include "zero/Cost/Machine.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::zero;

namespace {

constexpr double kGiga = 1e9, kTera = 1e12, kMicro = 1e-6;

/// A node's figures, in bytes and operations a second.
struct GpuNode {
  const char *name;
  int64_t ranks;              ///< that NVLink connects
  double half, single, twice; ///< f16 and bf16; f32; f64
  double memory;
  int64_t bytes;  ///< of memory, for a process
  double nvlink;  ///< of a ring, all links of a GPU
  double network; ///< of a ring, all adapters of a node
  double mostLL;  ///< of the protocol LL
  double bus;     ///< to the host's memory and from it
  double host;    ///< a rank's share of the host's memory
};

constexpr int64_t mebibytes(int64_t count) { return count << 20; }

constexpr GpuNode kNodes[] = {
    // 12 links, 8 adapters of 200 Gb.
    {"a100", 8, 312 * kTera, 19.5 * kTera, 19.5 * kTera, 2039 * kGiga,
     mebibytes(81'050), 240 * kGiga, 192 * kGiga, 120 * kGiga, 26.8 * kGiga,
     51.2 * kGiga},
    // 18 links, 8 adapters of 400 Gb.
    {"h100", 8, 989 * kTera, 67 * kTera, 67 * kTera, 3350 * kGiga,
     mebibytes(81'000), 370.8 * kGiga, 384 * kGiga, 141 * kGiga, 53.5 * kGiga,
     76.8 * kGiga},
    {"h200", 8, 989 * kTera, 67 * kTera, 67 * kTera, 4800 * kGiga,
     mebibytes(143'100), 370.8 * kGiga, 384 * kGiga, 141 * kGiga, 53.5 * kGiga,
     76.8 * kGiga},
    // The same in number; of a GB200, 72 GPUs with an adapter of 400 Gb each.
    {"b200", 8, 2250 * kTera, 75 * kTera, 37 * kTera, 8000 * kGiga,
     mebibytes(182'600), 721.8 * kGiga, 384 * kGiga, 282 * kGiga, 53.5 * kGiga,
     89.6 * kGiga},
    {"gb200", 72, 2500 * kTera, 80 * kTera, 40 * kTera, 8000 * kGiga,
     mebibytes(188'700), 721.8 * kGiga, 3456 * kGiga, 282 * kGiga, 225 * kGiga,
     256 * kGiga},
};

/// What `zero-plan-bench fit` finds of a node under a framework.
struct EagerNode {
  const char *name, *base;
  double products, padding, attention, memory, links, slowdown, overhead;
  /// Of its times, and of those of the node without a framework.
  PublishedError error, errorOfBase;
};

constexpr EagerNode kEagerNodes[] = {
    {"a100-eager",
     "a100",
     0.920,
     365,
     0.325,
     0.514,
     0.678,
     2.74,
     9.1 * kMicro,
     {57, 0.039, 0.218},
     {57, 0.198, 0.453}},
    {"h100-eager",
     "h100",
     0.782,
     673,
     0.182,
     0.997,
     0.574,
     1.48,
     3.5 * kMicro,
     {32, 0.023, 0.169},
     {32, 0.311, 0.628}},
};

} // namespace

static void setFlops(Machine &machine, double half, double single,
                     double twice) {
  machine.flops.fill(single);
  machine.flops[static_cast<int>(zrt::DataType::F16)] = half;
  machine.flops[static_cast<int>(zrt::DataType::BF16)] = half;
  machine.flops[static_cast<int>(zrt::DataType::F64)] = twice;
}

static Machine makeGpuMachine(const GpuNode &node) {
  Machine machine;
  machine.name = node.name;
  machine.source = "data sheet and the tables of NCCL's tuner";
  machine.isCeiling = true;
  machine.memory = node.bytes;
  machine.reservedMemory = mebibytes(3 << 10);
  machine.ranksPerNode = node.ranks;
  setFlops(machine, node.half, node.single, node.twice);
  machine.bandwidth = node.memory;
  machine.busBandwidth = node.bus;
  machine.hostBandwidth = node.host;
  machine.fileBandwidth = 6 * kGiga;
  machine.flopsEfficiency = 0.7;
  machine.bandwidthEfficiency = 0.85;
  machine.attentionEfficiency = 0.6;
  machine.kernelOverhead = 4 * kMicro;
  machine.overlapSlowdown = 1.19;
  double near = node.nvlink, far = std::min(node.nvlink, node.network);
  machine.protocols = {
      {6.6 * kMicro, 0.6 * kMicro, 2.7 * kMicro,
       std::min(near / 2, node.mostLL), std::min(far / 2, node.mostLL)},
      {14 * kMicro, 1.9 * kMicro, 4.0 * kMicro, near * 0.92, far * 0.92},
      {8.4 * kMicro, 3.4 * kMicro, 14 * kMicro, near, far},
  };
  return machine;
}

static Machine makeEagerMachine(const EagerNode &eager, Machine machine) {
  machine.name = eager.name;
  machine.isCeiling = false;
  machine.published = eager.error;
  machine.source += "; efficiencies fitted to published runs";
  machine.productEfficiency = eager.products;
  machine.productPadding = eager.padding;
  machine.attentionEfficiency = eager.attention;
  machine.bandwidthEfficiency = eager.memory;
  machine.linkEfficiency = eager.links;
  machine.overlapSlowdown = eager.slowdown;
  machine.kernelOverhead = eager.overhead;
  return machine;
}

/// Rough figures for a processor that nobody has measured.
static Machine makeHostMachine() {
  Machine machine;
  machine.name = "host";
  machine.source = "round figures for 8 cores with AVX2; calibrate for yours";
  machine.cores = 8;
  setFlops(machine, 60 * kGiga, 60 * kGiga, 30 * kGiga);
  machine.bandwidth = 40 * kGiga;
  machine.coreBandwidth = 12 * kGiga;
  machine.kernelOverhead = 2 * kMicro;
  machine.worksAtWait = true;
  machine.fileBandwidth = 1 * kGiga;
  machine.protocols = {
      {20 * kMicro, 2 * kMicro, 2 * kMicro, 40 * kGiga, 40 * kGiga}};
  return machine;
}

std::optional<Machine> mlir::zero::detail::findBuiltInMachine(StringRef name) {
  if (name == "host")
    return makeHostMachine();
  for (const GpuNode &node : kNodes)
    if (name == node.name) {
      Machine machine = makeGpuMachine(node);
      for (const EagerNode &eager : kEagerNodes)
        if (name == eager.base)
          machine.published = eager.errorOfBase;
      return machine;
    }
  for (const EagerNode &eager : kEagerNodes)
    if (name == eager.name)
      return makeEagerMachine(eager, *findBuiltInMachine(eager.base));
  return std::nullopt;
}

std::optional<Machine> mlir::zero::findFrameworksOn(const Machine &machine) {
  for (const EagerNode &eager : kEagerNodes)
    if (machine.name == eager.base)
      return detail::findBuiltInMachine(eager.name);
  return std::nullopt;
}

SmallVector<StringRef> mlir::zero::builtInMachineNames() {
  SmallVector<StringRef> names = {"host"};
  for (const GpuNode &node : kNodes)
    names.push_back(node.name);
  for (const EagerNode &eager : kEagerNodes)
    names.push_back(eager.name);
  return names;
}
