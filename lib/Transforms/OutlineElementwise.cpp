//===- OutlineElementwise.cpp - elementwise groups become kernels ---------===//

#include "zero/Transforms/Passes.h"

#include "zero/Analysis/Views.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Interfaces/Interfaces.h"
#include "zero/Kernels/ElementwiseGroups.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::zero {
#define GEN_PASS_DEF_OUTLINEELEMENTWISE
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

/// The type in which a kernel computes with elements of type `element`.
Type computeType(Type element) {
  return element.isBF16() || element.isF16()
             ? Type(Float32Type::get(element.getContext()))
             : element;
}

/// A float conversion between any two compute types.
Value convertFloat(OpBuilder &b, Location loc, Value value, Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (from == to)
    return value;
  if (from < to)
    return arith::ExtFOp::create(b, loc, type, value);
  return arith::TruncFOp::create(b, loc, type, value);
}

/// A group with its borders.
class Outline {
public:
  /// Where it `rounds`, each member gives what its type can hold, and otherwise
  /// only what the group stores.
  Outline(const ElementwiseGroup &group, bool rounds);

  /// Equal for two groups exactly if one kernel serves both.
  std::string key() const;
  /// Up to three of the members' names.
  std::string stem() const;
  func::FuncOp buildKernel(OpBuilder &b, StringRef name) const;
  /// Puts the launch in the group's place.
  void replace(func::FuncOp kernel);
  bool isDead() const { return results.empty(); }

private:
  /// What a member's operand is inside the kernel.
  struct Operand {
    enum Kind { Member, Input, Constant } kind;
    unsigned index = 0; ///< of the member or the input
    TypedAttr constant;
  };
  struct InputBuffer {
    Value value;
    SmallVector<int64_t> dims;
  };
  struct Computation {
    Operation *op;
    SmallVector<Operand> operands;
  };

  Operand resolve(Value operand);
  RankedTensorType type() const {
    return cast<RankedTensorType>(members.front().op->getResult(0).getType());
  }
  AffineMap mapOf(const InputBuffer &input) const;
  Value buildMember(OpBuilder &b, const Computation &member,
                    ValueRange scalars) const;
  void buildBody(OpBuilder &b, Location loc, ValueRange arguments) const;

  bool rounds;
  SmallVector<Computation> members;
  DenseMap<Operation *, unsigned> memberIndex;
  SmallVector<InputBuffer> inputs;
  DenseMap<Value, SmallVector<unsigned, 1>> inputsOf;
  SmallVector<unsigned> results; ///< members used outside
};

Outline::Outline(const ElementwiseGroup &group, bool rounds) : rounds(rounds) {
  for (auto [index, op] : llvm::enumerate(group.members))
    memberIndex[op] = index;
  for (auto [index, op] : llvm::enumerate(group.members)) {
    Computation member{op, {}};
    for (Value operand : op->getOperands())
      member.operands.push_back(resolve(operand));
    members.push_back(std::move(member));
    if (llvm::any_of(op->getUsers(), [&](Operation *user) {
          return !memberIndex.contains(user);
        }))
      results.push_back(index);
  }
}

Outline::Operand Outline::resolve(Value operand) {
  if (Operation *def = operand.getDefiningOp())
    if (auto it = memberIndex.find(def); it != memberIndex.end())
      return {Operand::Member, it->second, {}};
  ElementwiseSource source = findElementwiseSource(operand);
  if (TypedAttr constant = getSplatConstant(source.value))
    return {Operand::Constant, 0, constant};
  SmallVector<unsigned, 1> &known = inputsOf[source.value];
  for (unsigned index : known)
    if (inputs[index].dims == source.dims)
      return {Operand::Input, index, {}};
  known.push_back(inputs.size());
  inputs.push_back({source.value, source.dims});
  return {Operand::Input, known.back(), {}};
}

AffineMap Outline::mapOf(const InputBuffer &input) const {
  MLIRContext *context = type().getContext();
  SmallVector<AffineExpr> dims;
  for (int64_t dim : input.dims)
    dims.push_back(getAffineDimExpr(dim, context));
  return AffineMap::get(type().getRank(), 0, dims, context);
}

std::string Outline::key() const {
  // Types, attributes and names are unique objects: their addresses will do.
  SmallVector<uint64_t> words;
  auto add = [&](const void *pointer) {
    words.push_back(reinterpret_cast<uintptr_t>(pointer));
  };
  words.push_back(inputs.size());
  for (const InputBuffer &input : inputs) {
    add(input.value.getType().getAsOpaquePointer());
    words.push_back(input.dims.size());
    words.append(input.dims.begin(), input.dims.end());
  }
  for (const Computation &member : members) {
    add(member.op->getName().getAsOpaquePointer());
    add(member.op->getResult(0).getType().getAsOpaquePointer());
    add(member.op->getPropertiesAsAttribute().getAsOpaquePointer());
    for (const Operand &operand : member.operands) {
      words.push_back(operand.kind);
      words.push_back(operand.index);
      add(operand.constant.getAsOpaquePointer());
    }
  }
  words.append(results.begin(), results.end());
  return std::string(reinterpret_cast<const char *>(words.data()),
                     words.size() * sizeof(uint64_t));
}

std::string Outline::stem() const {
  std::string stem;
  for (const Computation &member : ArrayRef(members).take_front(3))
    stem += member.op->getName().stripDialect().str() + "_";
  for (char &c : stem)
    if (!llvm::isAlnum(c))
      c = '_';
  return stem;
}

Value Outline::buildMember(OpBuilder &b, const Computation &member,
                           ValueRange scalars) const {
  Operation *op = member.op;
  Type result = computeType(getElementTypeOrSelf(op->getResult(0)));
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return convertFloat(b, op->getLoc(), scalars.front(), result);
  if (auto elementwise = dyn_cast<ElementwiseOpInterface>(op))
    return elementwise.buildScalar(b, op->getLoc(), scalars);
  IRMapping mapping;
  mapping.map(op->getOperands(), scalars);
  Operation *clone = b.clone(*op, mapping);
  clone->setDiscardableAttrs(ArrayRef<NamedAttribute>{});
  clone->getResult(0).setType(result);
  return clone->getResult(0);
}

void Outline::buildBody(OpBuilder &b, Location loc,
                        ValueRange arguments) const {
  SmallVector<Value> loaded, computed;
  for (Value argument : arguments.take_front(inputs.size())) {
    Type type = argument.getType();
    loaded.push_back(computeType(type) == type
                         ? argument
                         : convertFloat(b, loc, argument, computeType(type)));
  }
  DenseMap<Attribute, Value> constants;
  auto constantOf = [&](TypedAttr attr) -> Value {
    Value &value = constants[attr];
    if (value)
      return value;
    if (auto number = dyn_cast<FloatAttr>(attr);
        number && computeType(attr.getType()) != attr.getType())
      attr = b.getFloatAttr(computeType(attr.getType()),
                            number.getValueAsDouble());
    return value = arith::ConstantOp::create(b, loc, attr);
  };
  for (const Computation &member : members) {
    SmallVector<Value> scalars;
    for (const Operand &operand : member.operands)
      scalars.push_back(
          operand.kind == Operand::Member  ? computed[operand.index]
          : operand.kind == Operand::Input ? loaded[operand.index]
                                           : constantOf(operand.constant));
    Value value = buildMember(b, member, scalars);
    Type stored = getElementTypeOrSelf(member.op->getResult(0));
    if (rounds && value.getType() != stored && isa<FloatType>(stored))
      value = convertFloat(b, loc, convertFloat(b, loc, value, stored),
                           value.getType());
    computed.push_back(value);
  }
  SmallVector<Value> stored;
  for (unsigned index : results) {
    Type type = getElementTypeOrSelf(members[index].op->getResult(0));
    Value value = computed[index];
    stored.push_back(isa<FloatType>(type) ? convertFloat(b, loc, value, type)
                                          : value);
  }
  linalg::YieldOp::create(b, loc, stored);
}

func::FuncOp Outline::buildKernel(OpBuilder &b, StringRef name) const {
  SmallVector<Type> arguments, outputs;
  SmallVector<AffineMap> maps;
  for (const InputBuffer &input : inputs) {
    arguments.push_back(input.value.getType());
    maps.push_back(mapOf(input));
  }
  for (unsigned index : results) {
    outputs.push_back(members[index].op->getResult(0).getType());
    maps.push_back(b.getMultiDimIdentityMap(type().getRank()));
  }
  Location loc = members.back().op->getLoc();
  auto kernel =
      func::FuncOp::create(b, loc, name, b.getFunctionType(arguments, outputs));
  kernel.setPrivate();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(kernel.addEntryBlock());
  SmallVector<Value> destinations;
  for (Type output : outputs)
    destinations.push_back(tensor::EmptyOp::create(
        b, loc, type().getShape(), getElementTypeOrSelf(output)));
  SmallVector<utils::IteratorType> iterators(type().getRank(),
                                             utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      b, loc, outputs, kernel.getArguments(), destinations, maps, iterators,
      [&](OpBuilder &inner, Location loc, ValueRange values) {
        buildBody(inner, loc, values);
      });
  func::ReturnOp::create(b, loc, generic.getResults());
  return kernel;
}

void Outline::replace(func::FuncOp kernel) {
  SmallVector<Value> operands;
  for (const InputBuffer &input : inputs)
    operands.push_back(input.value);
  Operation *last = members.back().op;
  if (!isDead()) {
    OpBuilder b(last);
    auto launch = LaunchOp::create(
        b, last->getLoc(), kernel.getFunctionType().getResults(),
        FlatSymbolRefAttr::get(kernel.getSymNameAttr()), operands);
    for (auto [index, result] : llvm::zip(results, launch.getResults()))
      members[index].op->getResult(0).replaceAllUsesWith(result);
  }
  // Broadcasts and constants that only the group used are in the kernel now.
  llvm::SetVector<Operation *> sources;
  for (const Computation &member : llvm::reverse(members)) {
    for (Value operand : member.op->getOperands())
      if (Operation *def = operand.getDefiningOp())
        if (!memberIndex.contains(def))
          sources.insert(def);
    member.op->erase();
  }
  while (!sources.empty()) {
    Operation *source = sources.pop_back_val();
    bool known = isa<BroadcastingOpInterface, tensor::SplatOp>(source) ||
                 source->hasTrait<OpTrait::ConstantLike>();
    if (!known || !isOpTriviallyDead(source))
      continue;
    for (Value operand : source->getOperands())
      if (Operation *def = operand.getDefiningOp())
        sources.insert(def);
    source->erase();
  }
}

/// Whether the runtime or the planner knows what to do with `op`.
bool isLowerable(Operation *op) {
  if (isa_and_present<ZeroDialect>(op->getDialect()) || getView(op) ||
      op->hasTrait<OpTrait::ConstantLike>())
    return true;
  auto kernel = dyn_cast<KernelOpInterface>(op);
  return kernel && !kernel.describeKernel().name.empty();
}

struct OutlineElementwise
    : mlir::zero::impl::OutlineElementwiseBase<OutlineElementwise> {
  using OutlineElementwiseBase::OutlineElementwiseBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    llvm::StringMap<func::FuncOp> kernels;
    SmallVector<Block *> blocks;
    for (auto step : getOperation().getOps<StepOp>())
      step->walk([&](Block *block) {
        if (isa_and_present<ZeroDialect>(block->getParentOp()->getDialect()))
          blocks.push_back(block);
      });
    for (Block *block : blocks) {
      for (const ElementwiseGroup &group : findElementwiseGroups(*block))
        outline(group, symbols, kernels);
      if (failed(checkLeft(*block)))
        return signalPassFailure();
    }
  }

private:
  void outline(const ElementwiseGroup &group, SymbolTable &symbols,
               llvm::StringMap<func::FuncOp> &kernels) {
    Outline outline(group, roundMembers);
    if (outline.isDead())
      return outline.replace(nullptr);
    func::FuncOp &kernel = kernels[outline.key()];
    if (!kernel) {
      OpBuilder b(&getContext());
      std::string name = outline.stem() + std::to_string(kernels.size() - 1);
      kernel = outline.buildKernel(b, name);
      symbols.insert(kernel);
    }
    outline.replace(kernel);
  }

  LogicalResult checkLeft(Block &block) {
    for (Operation &op : block)
      if (!isLowerable(&op))
        return op.emitOpError(
            "has no kernel; wanted an elementwise operation "
            "on tensors of one static shape, a reshape, or "
            "an operation with KernelOpInterface: implement "
            "that, or rewrite the model with such operations");
    return success();
  }
};

} // namespace
