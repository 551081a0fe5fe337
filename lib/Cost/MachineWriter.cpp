//===- MachineWriter.cpp - a machine as a JSON file -----------------------===//

#include "zero/Cost/Machine.h"

#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::zero;

static void writeScalars(llvm::json::OStream &json, const Machine &machine) {
  json.attribute("name", machine.name);
  json.attribute("source", machine.source);
  json.attribute("memory", machine.memory);
  json.attribute("reserved_memory", machine.reservedMemory);
  json.attribute("ranks_per_node", machine.ranksPerNode);
  json.attribute("cores", machine.cores);
  json.attributeObject("flops", [&] {
    for (auto type : {zrt::DataType::F32, zrt::DataType::F16,
                      zrt::DataType::BF16, zrt::DataType::F64})
      json.attribute(zrt::nameOf(type), machine.flops[static_cast<int>(type)]);
  });
  json.attribute("bandwidth", machine.bandwidth);
  json.attribute("core_bandwidth", machine.coreBandwidth);
  json.attribute("bus_bandwidth", machine.busBandwidth);
  json.attribute("host_bandwidth", machine.hostBandwidth);
  json.attribute("file_bandwidth", machine.fileBandwidth);
  json.attribute("flops_efficiency", machine.flopsEfficiency);
  json.attribute("bandwidth_efficiency", machine.bandwidthEfficiency);
  json.attribute("product_efficiency", machine.productEfficiency);
  json.attribute("product_padding", machine.productPadding);
  json.attribute("attention_efficiency", machine.attentionEfficiency);
  json.attribute("kernel_overhead", machine.kernelOverhead);
  json.attribute("overlap_slowdown", machine.overlapSlowdown);
  json.attribute("link_efficiency", machine.linkEfficiency);
  json.attribute("works_at_wait", machine.worksAtWait);
}

static void writeMeasurements(llvm::json::OStream &json,
                              const Machine &machine) {
  json.attributeArray("kernels", [&] {
    for (const MeasuredKernel &kernel : machine.kernels)
      json.object([&] {
        json.attribute("kernel", kernel.key);
        json.attribute("family", kernel.family);
        json.attribute("type", zrt::nameOf(kernel.type));
        json.attribute("ranks", kernel.ranks);
        json.attribute("flops", kernel.flops);
        json.attribute("bytes", kernel.bytes);
        json.attribute("seconds", kernel.seconds);
      });
  });
  json.attributeArray("collectives", [&] {
    for (const MeasuredCollective &collective : machine.collectives)
      json.object([&] {
        json.attribute("kind", zrt::nameOf(collective.kind));
        json.attribute("type", zrt::nameOf(collective.type));
        json.attribute("ranks", collective.ranks);
        json.attribute("bytes", collective.bytes);
        json.attribute("seconds", collective.seconds);
      });
  });
}

void mlir::zero::writeMachine(llvm::json::OStream &json,
                              const Machine &machine) {
  json.object([&] {
    writeScalars(json, machine);
    json.attributeArray("protocols", [&] {
      for (const LinkProtocol &protocol : machine.protocols)
        json.object([&] {
          json.attribute("latency", protocol.latency);
          json.attribute("step", protocol.step);
          json.attribute("far_step", protocol.farStep);
          json.attribute("bandwidth", protocol.bandwidth);
          json.attribute("far_bandwidth", protocol.farBandwidth);
        });
    });
    writeMeasurements(json, machine);
  });
}
