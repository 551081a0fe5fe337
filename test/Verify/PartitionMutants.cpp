//===- PartitionMutants.cpp - every small change of a partition -----------===//

#include "Mutants.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::zero;

namespace {

class Generator {
public:
  explicit Generator(PartitionOp partition, unsigned index)
      : partition(partition), index(index) {}
  std::vector<Mutant> run();

private:
  using Change = std::function<void(PartitionOp)>;
  void add(StringRef kind, Change change, const Twine &detail);
  void changeStage();
  void changeGroup();
  void changeSegments();
  void changeMembers();
  void changeTypes();
  void changeQuantization();

  PartitionOp partition;
  unsigned index;
  std::vector<Mutant> mutants;
};

} // namespace

void Generator::add(StringRef kind, Change change, const Twine &detail) {
  mutants.push_back(
      {kind.str(),
       (kind + " of @" + partition.getSymName() + " " + detail).str(), index,
       [change](Operation *op) { change(cast<PartitionOp>(op)); }});
}

/// Every other stage, and every other layout.
void Generator::changeStage() {
  for (int64_t stage = 0; stage <= 3; ++stage)
    if (stage != static_cast<int64_t>(partition.getStage()))
      add(
          "stage", [stage](PartitionOp op) { op.setStage(stage); },
          Twine(stage));
  for (zrt::Layout each : zrt::kCasesOf<zrt::Layout>)
    if (LayoutKind layout = fromRuntime(each); layout != partition.getLayout())
      add(
          "layout", [layout](PartitionOp op) { op.setLayout(layout); },
          stringifyLayoutKind(layout));
}

/// One rank more, and one less, in the group; or states cut over another one.
void Generator::changeGroup() {
  int64_t ranks = partition.getOver().getSize();
  for (int64_t other : {ranks - 1, ranks + 1}) {
    if (other < 1)
      continue;
    auto axes = AxesAttr::getLine(partition.getContext(), other);
    add(
        "group",
        [axes](PartitionOp op) {
          op.setOverAttr(axes);
          op.setCutAttr(axes);
        },
        "of " + Twine(other) + " ranks");
    add(
        "group", [axes](PartitionOp op) { op.setCutAttr(axes); },
        "cut over " + Twine(other) + " ranks");
  }
}

/// Without a boundary, with one more, and with one elsewhere.
void Generator::changeSegments() {
  ArrayRef<int64_t> segments = partition.getSegments();
  auto set = [&](SmallVector<int64_t> other, const Twine &detail) {
    add(
        "segments",
        [other](PartitionOp op) {
          op.setSegmentsAttr(DenseI64ArrayAttr::get(op.getContext(), other));
        },
        detail);
  };
  for (size_t i = 0; i < segments.size(); ++i) {
    SmallVector<int64_t> other(segments);
    other.erase(other.begin() + i);
    set(other, "without " + Twine(segments[i]));
    int64_t ranks = partition.getSlices();
    for (int64_t by : {-ranks, -int64_t(1), int64_t(1), ranks}) {
      other.assign(segments.begin(), segments.end());
      other[i] += by;
      set(other, Twine(segments[i]) + " by " + Twine(by));
    }
    if (i == 0)
      continue;
    other.assign(segments.begin(), segments.end());
    int64_t middle = (segments[i - 1] + segments[i]) / 2;
    other.insert(other.begin() + i, middle);
    set(other, "with " + Twine(middle));
  }
}

/// Without a member, with one elsewhere or of another size, with two swapped.
void Generator::changeMembers() {
  SmallVector<Attribute> members(partition.getMembers().getValue());
  auto set = [&](SmallVector<Attribute> other, const Twine &detail) {
    add(
        "members",
        [other](PartitionOp op) {
          op.setMembersAttr(ArrayAttr::get(op.getContext(), other));
        },
        detail);
  };
  auto make = [&](MemberAttr member, FlatSymbolRefAttr name, int64_t offset) {
    return MemberAttr::get(partition.getContext(), name, offset,
                           member.getSize());
  };
  for (size_t i = 0; i < members.size(); ++i) {
    auto member = cast<MemberAttr>(members[i]);
    SmallVector<Attribute> other = members;
    other.erase(other.begin() + i);
    set(other, "without " + member.getParameter().getValue());
    for (int64_t by : {-1, 1, 2}) {
      if (member.getOffset() + by < 0)
        continue;
      other = members;
      other[i] = make(member, member.getParameter(), member.getOffset() + by);
      set(other, member.getParameter().getValue() + " by " + Twine(by));
    }
    for (size_t j = 0; j < i; ++j) {
      auto before = cast<MemberAttr>(members[j]);
      other = members;
      other[i] = make(member, before.getParameter(), member.getOffset());
      other[j] = make(before, member.getParameter(), before.getOffset());
      set(other, "two swapped");
    }
  }
}

/// Stored as it is, or quantized in other blocks.
void Generator::changeQuantization() {
  MLIRContext *context = partition.getContext();
  for (QuantizationAttr other :
       {QuantizationAttr(), QuantizationAttr::get(context, 8, 2),
        QuantizationAttr::get(context, 4, 2),
        QuantizationAttr::get(context, 8, 4)})
    if (other != partition.getQuantizedAttr())
      add(
          "storage",
          [other](PartitionOp op) {
            if (other)
              op.setQuantizedAttr(other);
            else
              op.removeQuantizedAttr();
          },
          other ? "quantized" : "as it is");
}

/// Another type of parameters, and of gradients; another optimizer.
void Generator::changeTypes() {
  Builder builder(partition.getContext());
  for (Type type : {Type(builder.getF32Type()), Type(builder.getBF16Type()),
                    Type(builder.getF16Type())}) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    if (type != partition.getComputeType())
      add("type", [type](PartitionOp op) { op.setComputeType(type); }, text);
    if (type != partition.getGradientType())
      add(
          "gradient type", [type](PartitionOp op) { op.setGradientType(type); },
          text);
  }
  add(
      "split", [](PartitionOp op) { op.setSplitMaster(!op.getSplitMaster()); },
      "");
  if (partition.isTrainable())
    add(
        "optimizer",
        [](PartitionOp op) {
          op.removeOptimizerAttr();
          op.removeStatesAttr();
        },
        "removed");
}

std::vector<Mutant> Generator::run() {
  changeStage();
  changeGroup();
  changeSegments();
  changeMembers();
  changeTypes();
  changeQuantization();
  return std::move(mutants);
}

std::vector<PartitionOp> mlir::zero::listPartitions(ModuleOp module) {
  auto partitions = module.getOps<PartitionOp>();
  return {partitions.begin(), partitions.end()};
}

std::vector<Mutant> mlir::zero::generatePartitionMutants(ModuleOp module) {
  std::vector<Mutant> mutants;
  for (auto [index, partition] : llvm::enumerate(listPartitions(module)))
    for (Mutant &mutant : Generator(partition, index).run())
      mutants.push_back(std::move(mutant));
  return mutants;
}
