//===- MachineFile.cpp - a machine from a JSON file -----------------------===//

#include "zero/Config/Integers.h"
#include "zero/Config/Nesting.h"
#include "zero/Cost/Machine.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::zero;

namespace {

/// What no machine exceeds, in whatever unit. Sums of products of a few such
/// numbers and counts are finite.
constexpr double kLeastNumber = 1e-24, kMostNumber = 1e24;

/// The fields of one JSON object. The first thing that is wrong is kept; a
/// field that nobody asked for is wrong too.
class Fields {
public:
  Fields(const llvm::json::Object &object, std::string where,
         std::string &error)
      : object(object), where(std::move(where)), error(error) {}

  void read(StringRef key, std::string &value, bool wanted = true) {
    const llvm::json::Value *found = find(key, "text", wanted);
    if (!found)
      return;
    if (auto text = found->getAsString())
      value = text->str();
    else
      complain(key, "text");
  }
  void read(StringRef key, double &value, bool wanted = true) {
    const llvm::json::Value *found = find(key, "a number", wanted);
    if (!found)
      return;
    auto number = found->getAsNumber();
    if (number &&
        (*number == 0 || (*number >= kLeastNumber && *number <= kMostNumber)))
      value = *number + 0.0; // -0 is 0, and is written as such
    else
      complain(key, "0, or a number from 1e-24 to 1e+24");
  }
  void read(StringRef key, int64_t &value, bool wanted = true) {
    const llvm::json::Value *found = find(key, "a whole number", wanted);
    if (!found)
      return;
    auto number = integerOf(*found);
    if (number && *number >= 0)
      value = *number;
    else
      complain(key, "a whole number of at least 0");
  }
  void read(StringRef key, bool &value) {
    const llvm::json::Value *found = find(key, "true or false", false);
    if (!found)
      return;
    if (auto flag = found->getAsBoolean())
      value = *flag;
    else
      complain(key, "true or false");
  }
  /// An element type by its name in MLIR.
  void read(StringRef key, zrt::DataType &value) {
    std::string name;
    read(key, name);
    if (!isGood())
      return;
    if (std::optional<zrt::DataType> type =
            zrt::findByName<zrt::DataType>(name)) {
      value = *type;
      return;
    }
    complain(key, "an element type, such as f32");
  }
  /// A collective by its name in a program.
  void read(StringRef key, zrt::Collective &value) {
    std::string name;
    read(key, name);
    if (!isGood())
      return;
    if (std::optional<zrt::Collective> kind =
            zrt::findByName<zrt::Collective>(name)) {
      value = *kind;
      return;
    }
    complain(key, "a collective, such as all-gather");
  }

  void forEach(StringRef key, bool wanted,
               llvm::function_ref<void(Fields &)> visit) {
    const llvm::json::Value *found = find(key, "a list", wanted);
    if (!found)
      return;
    const llvm::json::Array *list = found->getAsArray();
    if (!list)
      return complain(key, "a list");
    for (auto [index, entry] : llvm::enumerate(*list)) {
      std::string name = (where + key + "[" + Twine(index) + "]").str();
      const llvm::json::Object *fields = entry.getAsObject();
      if (!fields)
        return complain(key, "a list of objects");
      Fields nested(*fields, name + ".", error);
      visit(nested);
      nested.finish();
      if (!isGood())
        return;
    }
  }
  void inObject(StringRef key, llvm::function_ref<void(Fields &)> visit) {
    const llvm::json::Value *found = find(key, "an object", true);
    if (!found)
      return;
    const llvm::json::Object *fields = found->getAsObject();
    if (!fields)
      return complain(key, "an object");
    Fields nested(*fields, where + key.str() + ".", error);
    visit(nested);
    nested.finish();
  }

  /// After all that is known was read: refuses the rest.
  void finish() {
    for (const auto &entry : object)
      if (isGood() && !llvm::is_contained(known, StringRef(entry.first)))
        error = (where + StringRef(entry.first) + " is not known; wanted " +
                 llvm::join(known, ", "))
                    .str();
  }
  bool isGood() const { return error.empty(); }

private:
  const llvm::json::Value *find(StringRef key, StringRef what, bool wanted) {
    known.push_back(key);
    const llvm::json::Value *found = object.get(key);
    if (!found && wanted && isGood())
      error = (where + key + " is missing; wanted " + what).str();
    return isGood() ? found : nullptr;
  }
  void complain(StringRef key, StringRef what) {
    if (!isGood())
      return;
    std::string text;
    llvm::raw_string_ostream os(text);
    os << *object.get(key);
    error = (where + key + ": found " + text + ", wanted " + what).str();
  }

  const llvm::json::Object &object;
  std::string where;
  std::string &error;
  SmallVector<StringRef> known;
};

} // namespace

static void readFlops(Fields &fields, Machine &machine) {
  fields.inObject("flops", [&](Fields &flops) {
    auto read = [&](zrt::DataType type, bool wanted) {
      double &rate = machine.flops[static_cast<int>(type)];
      flops.read(zrt::nameOf(type), rate, wanted);
    };
    read(zrt::DataType::F32, true);
    // What has no figure of its own goes at the rate of f32.
    machine.flops.fill(machine.flops[static_cast<int>(zrt::DataType::F32)]);
    for (auto type :
         {zrt::DataType::F16, zrt::DataType::BF16, zrt::DataType::F64})
      read(type, false);
  });
}

static void readProtocols(Fields &fields, Machine &machine) {
  fields.forEach("protocols", true, [&](Fields &entry) {
    LinkProtocol protocol;
    entry.read("latency", protocol.latency);
    entry.read("step", protocol.step);
    entry.read("bandwidth", protocol.bandwidth);
    protocol.farStep = protocol.step;
    protocol.farBandwidth = protocol.bandwidth;
    entry.read("far_step", protocol.farStep, false);
    entry.read("far_bandwidth", protocol.farBandwidth, false);
    machine.protocols.push_back(protocol);
  });
}

static void readMeasurements(Fields &fields, Machine &machine) {
  fields.forEach("kernels", false, [&](Fields &entry) {
    MeasuredKernel kernel;
    entry.read("kernel", kernel.key);
    entry.read("family", kernel.family);
    entry.read("type", kernel.type);
    entry.read("ranks", kernel.ranks);
    entry.read("flops", kernel.flops);
    entry.read("bytes", kernel.bytes);
    entry.read("seconds", kernel.seconds);
    machine.kernels.push_back(std::move(kernel));
  });
  fields.forEach("collectives", false, [&](Fields &entry) {
    MeasuredCollective collective;
    entry.read("kind", collective.kind);
    entry.read("type", collective.type);
    entry.read("ranks", collective.ranks);
    entry.read("bytes", collective.bytes);
    entry.read("seconds", collective.seconds);
    machine.collectives.push_back(collective);
  });
}

/// What the model divides by, and shares of a peak.
static std::string findOutOfRange(const Machine &machine) {
  auto zero = [](StringRef key) {
    return (key + ": found 0, wanted more").str();
  };
  if (llvm::is_contained(machine.flops, 0.0))
    return zero("flops");
  if (machine.bandwidth == 0)
    return zero("bandwidth");
  if (machine.memory > 0 && machine.reservedMemory >= machine.memory)
    return "reserved_memory: found as much as memory, wanted less";
  if (machine.cores > 0 && machine.coreBandwidth == 0)
    return zero("core_bandwidth");
  if (machine.flopsEfficiency == 0)
    return zero("flops_efficiency");
  if (machine.bandwidthEfficiency == 0)
    return zero("bandwidth_efficiency");
  if (machine.flopsEfficiency > 1)
    return "flops_efficiency: found more than 1, wanted at most 1";
  if (machine.bandwidthEfficiency > 1)
    return "bandwidth_efficiency: found more than 1, wanted at most 1";
  if (machine.productEfficiency > 1)
    return "product_efficiency: found more than 1, wanted at most 1";
  if (machine.attentionEfficiency > 1)
    return "attention_efficiency: found more than 1, wanted at most 1";
  if (machine.linkEfficiency == 0)
    return zero("link_efficiency");
  if (machine.linkEfficiency > 1)
    return "link_efficiency: found more than 1, wanted at most 1";
  if (machine.overlapSlowdown < 1)
    return "overlap_slowdown: found less than 1, wanted 1 or more";
  if (machine.protocols.empty())
    return "protocols: found none, wanted at least one";
  for (const LinkProtocol &protocol : machine.protocols)
    if (protocol.bandwidth == 0 || protocol.farBandwidth == 0)
      return zero("protocols: bandwidth");
  for (const MeasuredKernel &kernel : machine.kernels)
    if (kernel.ranks == 0)
      return zero("kernels: ranks");
  for (const MeasuredCollective &collective : machine.collectives)
    if (collective.ranks < 2)
      return "collectives: ranks: found less than 2, wanted 2 or more";
  return "";
}

FailureOr<Machine> mlir::zero::detail::parseMachine(StringRef text,
                                                    std::string &error) {
  error.clear();
  if (hasByteOrderMark(text)) {
    error = kByteOrderMark;
    return failure();
  }
  if (unsigned line = findDeepNesting(text, kMostJsonNesting)) {
    error =
        ("line " + Twine(line) + ": objects and lists are nested more than " +
         Twine(kMostJsonNesting) + " deep; remove the inner ones")
            .str();
    return failure();
  }
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value) {
    error = llvm::toString(value.takeError());
    return failure();
  }
  const llvm::json::Object *object = value->getAsObject();
  if (!object) {
    error = "found no JSON object, wanted the fields of a machine";
    return failure();
  }
  Machine machine;
  Fields fields(*object, "", error);
  fields.read("name", machine.name);
  fields.read("source", machine.source, false);
  fields.read("memory", machine.memory, false);
  fields.read("reserved_memory", machine.reservedMemory, false);
  fields.read("ranks_per_node", machine.ranksPerNode, false);
  fields.read("cores", machine.cores, false);
  readFlops(fields, machine);
  fields.read("bandwidth", machine.bandwidth);
  fields.read("core_bandwidth", machine.coreBandwidth, machine.cores > 0);
  fields.read("bus_bandwidth", machine.busBandwidth, false);
  fields.read("host_bandwidth", machine.hostBandwidth, false);
  fields.read("file_bandwidth", machine.fileBandwidth, false);
  fields.read("flops_efficiency", machine.flopsEfficiency, false);
  fields.read("bandwidth_efficiency", machine.bandwidthEfficiency, false);
  fields.read("product_efficiency", machine.productEfficiency, false);
  fields.read("product_padding", machine.productPadding, false);
  fields.read("attention_efficiency", machine.attentionEfficiency, false);
  fields.read("kernel_overhead", machine.kernelOverhead, false);
  fields.read("overlap_slowdown", machine.overlapSlowdown, false);
  fields.read("link_efficiency", machine.linkEfficiency, false);
  fields.read("works_at_wait", machine.worksAtWait);
  readProtocols(fields, machine);
  readMeasurements(fields, machine);
  fields.finish();
  if (error.empty())
    error = findOutOfRange(machine);
  if (!error.empty())
    return failure();
  return machine;
}
