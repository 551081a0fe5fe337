//===- ElementwiseGroups.cpp - which operations one kernel can compute ----===//

#include "zero/Kernels/ElementwiseGroups.h"

#include "zero/Analysis/Views.h"
#include "zero/Interfaces/Interfaces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::zero;

namespace {

/// Members of one group at most, so that the analysis is linear in the block.
constexpr size_t kMaxMembers = 256;

bool isKernelElement(Type type) {
  return type.isF32() || type.isBF16() || type.isF16() || type.isF64() ||
         type.isInteger(1) || type.isInteger(8) || type.isInteger(32) ||
         type.isInteger(64);
}

bool isKernelTensor(Type type, ArrayRef<int64_t> shape) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getShape() == shape &&
         isKernelElement(tensor.getElementType());
}

/// Whether `op` means something else once 16-bit floats are computed in f32.
bool dependsOnWidth(Operation *op) {
  auto is16Bit = [](Type type) {
    Type element = getElementTypeOrSelf(type);
    return element.isBF16() || element.isF16();
  };
  if (isa<arith::BitcastOp>(op))
    return llvm::any_of(op->getOperandTypes(), is16Bit) ||
           llvm::any_of(op->getResultTypes(), is16Bit);
  if (auto truncation = dyn_cast<arith::TruncFOp>(op))
    return truncation.getRoundingmode().value_or(
               arith::RoundingMode::to_nearest_even) !=
           arith::RoundingMode::to_nearest_even;
  return false;
}

/// Finds the groups of one block in one pass over it.
class Grouping {
public:
  explicit Grouping(Block &block) : block(block) {}
  SmallVector<ElementwiseGroup> run();

private:
  struct Group {
    SmallVector<Operation *> members;
    unsigned last = 0;    ///< position of the last member
    unsigned kernels = 0; ///< kernels of the block up to there
    bool open = true;     ///< no value is used outside so far
  };

  void number();
  void visit(Operation *op);
  unsigned merge(ArrayRef<unsigned> joined);
  bool mayJoin(const Group &group, Operation *op);
  bool savesMemory(const Group &group, unsigned position);
  bool sharesInput(const Group &group, Operation *op);
  Group *groupOf(Value value) {
    auto it = groups.find(value.getDefiningOp());
    return it == groups.end() ? nullptr : &storage[it->second];
  }

  Block &block;
  DenseMap<Operation *, unsigned> position;
  DenseMap<Value, unsigned> lastUse; ///< views count as uses of their source
  std::vector<Group> storage;
  DenseMap<Operation *, unsigned> groups;
  unsigned kernels = 0;
  unsigned recent = 0; ///< the group that grew last
};

void Grouping::number() {
  unsigned next = 0;
  for (Operation &op : block)
    position[&op] = next++;
  for (Operation &op : llvm::reverse(block)) {
    unsigned last = position[&op];
    if (getView(&op))
      last = std::max(last, lastUse.lookup(op.getResult(0)));
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        unsigned &use = lastUse[operand];
        use = std::max(use, last);
      }
    });
  }
}

/// Whether moving `group` down to `place` keeps no more bytes alive than its
/// results would have taken in between.
bool Grouping::savesMemory(const Group &group, unsigned place) {
  llvm::SmallPtrSet<Operation *, 16> inside(group.members.begin(),
                                            group.members.end());
  llvm::SmallPtrSet<Value, 16> seen;
  int64_t kept = 0, delayed = 0;
  for (Operation *member : group.members) {
    for (Value operand : member->getOperands()) {
      Value source = findElementwiseSource(operand).value;
      Operation *def = source.getDefiningOp();
      bool lives = !def || def->getBlock() != &block ||
                   def->hasTrait<OpTrait::ConstantLike>() ||
                   lastUse.lookup(source) >= place;
      if (!lives && !inside.contains(def) && seen.insert(source).second)
        kept += tensorBytes(source.getType());
    }
    if (lastUse.lookup(member->getResult(0)) >= place)
      delayed += tensorBytes(member->getResult(0).getType());
  }
  return kept <= delayed;
}

bool Grouping::mayJoin(const Group &group, Operation *op) {
  auto shapeOf = [](Operation *op) {
    return cast<RankedTensorType>(op->getResult(0).getType()).getShape();
  };
  return group.open && group.members.size() < kMaxMembers &&
         shapeOf(group.members.front()) == shapeOf(op) &&
         (group.kernels == kernels || savesMemory(group, position[op]));
}

/// Whether `op` reads what a member of `group` reads.
bool Grouping::sharesInput(const Group &group, Operation *op) {
  llvm::SmallPtrSet<Value, 4> sources;
  for (Value operand : op->getOperands())
    if (!getSplatConstant(operand))
      sources.insert(findElementwiseSource(operand).value);
  return llvm::any_of(group.members, [&](Operation *member) {
    return llvm::any_of(member->getOperands(), [&](Value operand) {
      return sources.contains(findElementwiseSource(operand).value);
    });
  });
}

void Grouping::visit(Operation *op) {
  bool elementwise = isElementwise(op);
  SmallVector<unsigned> joined;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      Group *group = groupOf(operand);
      if (!group)
        continue;
      unsigned index = group - storage.data();
      if (llvm::is_contained(joined, index))
        continue;
      if (elementwise && mayJoin(*group, op))
        joined.push_back(index);
      else
        group->open = false;
    }
  });
  if (!elementwise) {
    if (!getView(op) && !op->hasTrait<OpTrait::ConstantLike>())
      ++kernels;
    return;
  }
  // A neighbour that reads the same tensor saves reading it twice.
  if (!storage.empty() && !llvm::is_contained(joined, recent) &&
      storage[recent].kernels == kernels && mayJoin(storage[recent], op) &&
      sharesInput(storage[recent], op))
    joined.push_back(recent);
  unsigned target = merge(joined);
  Group &group = storage[target];
  group.members.push_back(op);
  group.last = position[op];
  group.kernels = kernels;
  groups[op] = target;
  recent = target;
}

/// One group of all of `joined`; a new one if there are none. The largest
/// takes the others in, so that no operation moves often.
unsigned Grouping::merge(ArrayRef<unsigned> joined) {
  if (joined.empty()) {
    storage.emplace_back();
    return storage.size() - 1;
  }
  unsigned target = *std::max_element(
      joined.begin(), joined.end(), [&](unsigned a, unsigned b) {
        return storage[a].members.size() < storage[b].members.size();
      });
  for (unsigned index : joined) {
    if (index == target)
      continue;
    for (Operation *member : storage[index].members) {
      groups[member] = target;
      storage[target].members.push_back(member);
    }
    storage[index].members.clear();
  }
  return target;
}

SmallVector<ElementwiseGroup> Grouping::run() {
  number();
  for (Operation &op : block)
    visit(&op);
  llvm::sort(storage,
             [](const Group &a, const Group &b) { return a.last < b.last; });
  SmallVector<ElementwiseGroup> result;
  for (Group &group : storage) {
    if (group.members.empty())
      continue;
    llvm::sort(group.members, [&](Operation *a, Operation *b) {
      return position[a] < position[b];
    });
    result.push_back({std::move(group.members)});
  }
  return result;
}

} // namespace

ElementwiseSource mlir::zero::findElementwiseSource(Value operand) {
  int64_t rank = cast<RankedTensorType>(operand.getType()).getRank();
  ElementwiseSource source{operand,
                           llvm::to_vector(llvm::seq<int64_t>(0, rank))};
  while (auto broadcast =
             source.value.getDefiningOp<BroadcastingOpInterface>()) {
    SmallVector<int64_t> dims;
    for (int64_t dim : broadcast.getDims())
      dims.push_back(source.dims[dim]);
    source.value = broadcast->getOperand(0);
    source.dims = dims;
  }
  return source;
}

TypedAttr mlir::zero::getSplatConstant(Value value) {
  if (auto splat = value.getDefiningOp<tensor::SplatOp>()) {
    Attribute scalar;
    if (matchPattern(splat.getInput(), m_Constant(&scalar)))
      return dyn_cast<TypedAttr>(scalar);
    return {};
  }
  SplatElementsAttr elements;
  if (matchPattern(value, m_Constant(&elements)))
    return dyn_cast<TypedAttr>(elements.getSplatValue<Attribute>());
  return {};
}

bool mlir::zero::isElementwise(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumOperands() == 0 ||
      op->getNumRegions() != 0 || dependsOnWidth(op))
    return false;
  if (!op->hasTrait<OpTrait::Elementwise>() && !isa<ElementwiseOpInterface>(op))
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return type && isKernelTensor(type, type.getShape()) &&
         llvm::all_of(op->getOperandTypes(), [&](Type operand) {
           return isKernelTensor(operand, type.getShape());
         });
}

SmallVector<ElementwiseGroup> mlir::zero::findElementwiseGroups(Block &block) {
  return Grouping(block).run();
}
