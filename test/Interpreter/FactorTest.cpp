//===- FactorTest.cpp - what operations say of factors is true ------------===//
//
// Takes every operation of test/Gradients and test/Dialect/NN, cuts it in two
// along each factor that it calls parallel or a sum, and compares both parts,
// interpreted, with the whole; likewise operands that are linear or addends.
// A row of the kernels' table whose factors are nowhere cut is a failure.
//
//===----------------------------------------------------------------------===//

#include "zero/Dialect/NN/NN.h"
#include "zero/Interfaces/Factors.h"
#include "zero/Interpreter/Interpreter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"

#include "program/KernelSchema.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>
#include <set>

using namespace mlir;
using namespace mlir::zero;
using zrt::FactorKind;
using zrt::Factors;

namespace {

using Arrays = std::vector<Array>;

//===----------------------------------------------------------------------===//
// A part of an operation
//===----------------------------------------------------------------------===//

/// The indices [begin, end) of a factor.
struct Cut {
  size_t factor;
  int64_t begin, end;
};

int64_t sizeOf(const Factors &factors, const zrt::FactoredDim &dim) {
  int64_t size = 1;
  for (const zrt::DimPart &part : dim.parts) {
    int64_t segments = 0;
    for (const zrt::FactoredDim &segment : part.segments)
      segments += sizeOf(factors, segment);
    size *=
        part.segments.empty() ? factors.factors[part.factor].size : segments;
  }
  return size;
}

bool keeps(const Factors &factors, const zrt::FactoredDim &dim, int64_t index,
           Cut cut);

/// Whether `index` of a part is in the cut.
bool keeps(const Factors &factors, const zrt::DimPart &part, int64_t index,
           Cut cut) {
  if (part.segments.empty())
    return part.factor != cut.factor || (index >= cut.begin && index < cut.end);
  for (const zrt::FactoredDim &segment : part.segments) {
    int64_t size = sizeOf(factors, segment);
    if (index < size)
      return keeps(factors, segment, index, cut);
    index -= size;
  }
  return false;
}

bool keeps(const Factors &factors, const zrt::FactoredDim &dim, int64_t index,
           Cut cut) {
  for (const zrt::DimPart &part : llvm::reverse(dim.parts)) {
    int64_t size = sizeOf(factors, {{part}});
    if (!keeps(factors, part, index % size, cut))
      return false;
    index /= size;
  }
  return true;
}

/// The indices of each dimension of a tensor that are in the cut.
SmallVector<SmallVector<int64_t>> keptIndices(const Factors &factors,
                                              const zrt::FactoredTensor &tensor,
                                              ArrayRef<int64_t> shape,
                                              Cut cut) {
  SmallVector<SmallVector<int64_t>> kept(shape.size());
  for (auto [dim, size] : llvm::enumerate(shape))
    for (int64_t index = 0; index < size; ++index)
      if (keeps(factors, tensor.dimensions[dim], index, cut))
        kept[dim].push_back(index);
  return kept;
}

Array take(const Factors &factors, const zrt::FactoredTensor &tensor,
           const Array &whole, Cut cut) {
  auto kept = keptIndices(factors, tensor, whole.shape, cut);
  Array part;
  part.isFloat = whole.isFloat;
  int64_t size = 1;
  for (const auto &indices : kept) {
    part.shape.push_back(static_cast<int64_t>(indices.size()));
    size *= part.shape.back();
  }
  (part.isFloat ? part.reals.resize(size) : part.integers.resize(size));
  forEachIndex(part.shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> from;
    for (auto [dim, at] : llvm::enumerate(index))
      from.push_back(kept[dim][at]);
    part.copyElement(part.offset(index), whole, whole.offset(from));
  });
  return part;
}

bool has(const zrt::FactoredDim &dim, size_t factor) {
  return llvm::any_of(dim.parts, [&](const zrt::DimPart &part) {
    return part.segments.empty()
               ? part.factor == factor
               : llvm::any_of(part.segments, [&](const auto &segment) {
                   return has(segment, factor);
                 });
  });
}

bool has(const zrt::FactoredTensor &tensor, size_t factor) {
  return llvm::any_of(tensor.dimensions,
                      [&](const auto &dim) { return has(dim, factor); });
}

/// Evaluates one operation, whole or a part of it.
class Evaluator {
public:
  explicit Evaluator(Operation *op) : op(op) {}

  std::optional<Arrays> run(ArrayRef<Array> operands) {
    return run(op->getResultTypes(), operands, [](Operation *) {});
  }

  /// The part of `op` in the cut, of operands that have been cut.
  std::optional<Arrays> run(const Factors &factors, ArrayRef<Array> operands,
                            Cut cut) {
    SmallVector<Type> types;
    for (auto [type, tensor] :
         llvm::zip_equal(op->getResultTypes(), factors.results)) {
      auto ranked = cast<RankedTensorType>(type);
      SmallVector<int64_t> shape;
      for (const auto &kept :
           keptIndices(factors, tensor, ranked.getShape(), cut))
        shape.push_back(static_cast<int64_t>(kept.size()));
      types.push_back(ranked.clone(shape));
    }
    const zrt::Factor &factor = factors.factors[cut.factor];
    return run(types, operands, [&](Operation *part) {
      if (factor.attribute.empty())
        return;
      Builder builder(op->getContext());
      int64_t size = cut.end - cut.begin;
      Attribute local = builder.getI64IntegerAttr(size);
      if (factor.index >= 0) {
        auto list = op->getAttrOfType<DenseI64ArrayAttr>(factor.attribute);
        SmallVector<int64_t> sizes(list.asArrayRef());
        sizes[factor.index] = size;
        local = builder.getDenseI64ArrayAttr(sizes);
      }
      part->setAttr(factor.attribute, local);
    });
  }

private:
  std::optional<Arrays> run(TypeRange resultTypes, ArrayRef<Array> operands,
                            llvm::function_ref<void(Operation *)> change) {
    OpBuilder builder(op->getContext());
    auto module = OwningOpRef<ModuleOp>(ModuleOp::create(op->getLoc()));
    builder.setInsertionPointToEnd(module->getBody());
    SmallVector<Type> types;
    for (auto [type, array] :
         llvm::zip_equal(op->getOperandTypes(), operands)) {
      auto ranked = dyn_cast<RankedTensorType>(type);
      types.push_back(ranked ? Type(ranked.clone(array.shape)) : type);
    }
    auto function =
        func::FuncOp::create(builder, op->getLoc(), "part",
                             builder.getFunctionType(types, resultTypes));
    builder.setInsertionPointToStart(function.addEntryBlock());
    Operation *part = builder.clone(*op);
    part->setOperands(function.getArguments());
    for (auto [result, type] : llvm::zip_equal(part->getResults(), resultTypes))
      result.setType(type);
    change(part);
    func::ReturnOp::create(builder, op->getLoc(), part->getResults());
    if (failed(part->getName().verifyInvariants(part)))
      return std::nullopt;
    InterpreterContext context;
    FailureOr<Arrays> results = interpreter.run(function, operands, context);
    return failed(results) ? std::nullopt : std::optional<Arrays>(*results);
  }

  Operation *op;
  Interpreter interpreter;
};

//===----------------------------------------------------------------------===//
// The checks
//===----------------------------------------------------------------------===//

bool equal(const Array &a, const Array &b) {
  if (a.shape != b.shape || a.integers != b.integers ||
      a.reals.size() != b.reals.size())
    return false;
  for (size_t i = 0; i < a.reals.size(); ++i) {
    double x = a.reals[i], y = b.reals[i];
    // Functions are not defined everywhere.
    if (std::isnan(x) != std::isnan(y) ||
        std::abs(x - y) > 1e-9 * (1 + std::abs(x)))
      return false;
  }
  return true;
}

Array add(Array a, const Array &b) {
  for (size_t i = 0; i < a.reals.size(); ++i)
    a.reals[i] += b.reals[i];
  return a;
}

Array zero(Array a) {
  std::fill(a.reals.begin(), a.reals.end(), 0.0);
  return a;
}

/// Floats from 0.25 to 1.25, which may be variances; integers that increase
/// below the smallest size, which may be positions and offsets.
Array randomArray(Type type, int64_t bound, std::mt19937 &numbers) {
  Array array = Array::zeros(type);
  std::uniform_real_distribution<double> reals(0.25, 1.25);
  for (double &real : array.reals)
    real = reals(numbers);
  for (size_t i = 0; i < array.integers.size(); ++i)
    array.integers[i] = static_cast<int64_t>(i) * bound /
                        static_cast<int64_t>(array.integers.size());
  return array;
}

class OperationCheck {
public:
  OperationCheck(Operation *op, Factors factors)
      : factors(std::move(factors)), evaluator(op) {
    std::mt19937 numbers(7);
    int64_t bound = 8;
    for (Type type : op->getOperandTypes())
      if (auto ranked = dyn_cast<RankedTensorType>(type))
        for (int64_t size : ranked.getShape())
          bound = std::max<int64_t>(std::min(bound, size), 1);
    for (Type type : op->getOperandTypes())
      operands.push_back(randomArray(type, bound, numbers));
    for (Type type : op->getOperandTypes())
      others.push_back(randomArray(type, bound, numbers));
  }

  /// What is wrong with the factor; empty where nothing is.
  std::string checkFactor(size_t factor) {
    const zrt::Factor &cut = factors.factors[factor];
    if (!whole)
      whole = evaluator.run(operands);
    int64_t middle = cut.size / 2;
    auto first = runPart({factor, 0, middle}, /*isFirst=*/true);
    auto second = runPart({factor, middle, cut.size}, /*isFirst=*/false);
    if (!whole || !first || !second)
      return "it cannot be evaluated";
    for (size_t i = 0; i < whole->size(); ++i)
      if (!fits(factor, i, (*first)[i], (*second)[i]))
        return "result " + std::to_string(i) + " is another";
    return {};
  }

  /// What is wrong with the mark of an operand: a linear one, without addends,
  /// is a linear map; an addend is one more term.
  std::string checkOperand(size_t operand) {
    Arrays terms = operands;
    for (size_t i = 0; i < operands.size(); ++i)
      if (factors.operands[i].isAddend && factors.operands[operand].isLinear)
        terms[i] = zero(terms[i]);
    auto with = [&](const Array &value) {
      terms[operand] = value;
      return evaluator.run(terms);
    };
    const Array &a = operands[operand], &b = others[operand];
    auto first = with(a), second = with(b), both = with(add(a, b)),
         none = with(zero(a));
    if (!first || !second || !both || !none)
      return "it cannot be evaluated";
    for (size_t i = 0; i < both->size(); ++i) {
      const Array left = factors.operands[operand].isAddend
                             ? add((*both)[i], (*none)[i])
                             : (*both)[i];
      if (!equal(left, add((*first)[i], (*second)[i])))
        return "result " + std::to_string(i) + " is another";
    }
    return {};
  }

private:
  /// Of both parts the first counts the addends that both would have.
  std::optional<Arrays> runPart(Cut cut, bool isFirst) {
    Arrays parts;
    for (auto [operand, tensor] : llvm::zip_equal(operands, factors.operands)) {
      parts.push_back(take(factors, tensor, operand, cut));
      bool isCounted = isFirst || has(tensor, cut.factor) ||
                       factors.factors[cut.factor].kind != FactorKind::Sum;
      if (tensor.isAddend && !isCounted)
        parts.back() = zero(parts.back());
    }
    return evaluator.run(factors, parts, cut);
  }

  bool fits(size_t factor, size_t result, const Array &first,
            const Array &second) {
    const Array &all = (*whole)[result];
    const zrt::FactoredTensor &tensor = factors.results[result];
    int64_t size = factors.factors[factor].size, middle = size / 2;
    if (has(tensor, factor))
      return equal(first, take(factors, tensor, all, {factor, 0, middle})) &&
             equal(second, take(factors, tensor, all, {factor, middle, size}));
    if (factors.factors[factor].kind == FactorKind::Parallel)
      return equal(first, all) && equal(second, all);
    return equal(add(first, second), all);
  }

  Factors factors;
  Evaluator evaluator;
  Arrays operands, others;
  std::optional<Arrays> whole;
};

/// The operations of all samples.
struct Samples {
  MLIRContext context;
  std::vector<OwningOpRef<ModuleOp>> modules;
  std::vector<Operation *> operations;

  Samples() {
    DialectRegistry registry;
    registry.insert<arith::ArithDialect, func::FuncDialect, math::MathDialect,
                    nn::NNDialect, tensor::TensorDialect>();
    nn::registerUpstreamKernelModels(registry);
    nn::registerUpstreamFactorModels(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.allowUnregisteredDialects();
    for (const char *folder : {ZERO_GRADIENTS, ZERO_NN}) {
      std::error_code error;
      for (llvm::sys::fs::directory_iterator file(folder, error), end;
           file != end && !error; file.increment(error)) {
        StringRef name = llvm::sys::path::filename(file->path());
        if (name.ends_with(".mlir") && !name.contains("invalid"))
          add(file->path());
      }
    }
  }

  void add(const std::string &path) {
    auto module = parseSourceFile<ModuleOp>(path, &context);
    if (!module) {
      ADD_FAILURE() << path << " does not parse";
      return;
    }
    module->walk([&](Operation *op) {
      if (isa_and_nonnull<func::FuncOp>(op->getParentOp()) &&
          op->getNumResults() > 0)
        operations.push_back(op);
    });
    modules.push_back(std::move(module));
  }
};

std::string toString(Operation *op) {
  std::string text;
  llvm::raw_string_ostream(text) << *op;
  return text;
}

/// Checks the factors and marks of an operation; writes the names of those that
/// its row gives to `checked`.
void check(Operation *op, std::set<std::string> &checked) {
  // Which elements a constant has is known without computing it.
  if (op->hasTrait<OpTrait::ConstantLike>())
    return;
  Factors factors = getFactors(op);
  OperationCheck cuts(op, factors);
  const std::string name = op->getName().getStringRef().str() + " ";
  for (auto [index, factor] : llvm::enumerate(factors.factors)) {
    if ((factor.kind != FactorKind::Parallel &&
         factor.kind != FactorKind::Sum) ||
        factor.size < 2)
      continue;
    EXPECT_EQ(cuts.checkFactor(index), "")
        << zrt::nameOf(factor.kind) << " '" << factor.name << "' of "
        << toString(op);
    // The dimensions of a group have its name and a number.
    checked.insert(name + StringRef(factor.name).rtrim("0123456789").str());
  }
  for (auto [index, operand] : llvm::enumerate(factors.operands)) {
    auto type = dyn_cast<ShapedType>(op->getOperand(index).getType());
    if ((!operand.isLinear && !operand.isAddend) || !type ||
        !isa<FloatType>(type.getElementType()))
      continue;
    EXPECT_EQ(cuts.checkOperand(index), "")
        << "the mark of operand " << index << " of " << toString(op);
    checked.insert(name + "operand " + std::to_string(index));
  }
}

TEST(FactorTest, AreTrue) {
  Samples samples;
  std::set<std::string> checked;
  for (Operation *op : samples.operations)
    check(op, checked);
  for (const std::string &kernel : zrt::kernelSchemaNames())
    for (const std::string &mark : zrt::factorMarks(kernel))
      EXPECT_TRUE(checked.count(kernel + " " + mark))
          << "nothing in test/Gradients or test/Dialect/NN shows '" << mark
          << "' of the row of " << kernel;
}

/// The check sees factors that are none.
TEST(FactorTest, WrongOnesAreFound) {
  Samples samples;
  size_t tried = 0;
  for (Operation *op : samples.operations) {
    if (!isa<nn::SoftmaxOp, nn::LayerNormOp>(op))
      continue;
    Factors factors = getFactors(op);
    for (auto [index, factor] : llvm::enumerate(factors.factors)) {
      if (factor.kind == FactorKind::Parallel || factor.size < 2)
        continue;
      for (FactorKind kind : {FactorKind::Parallel, FactorKind::Sum}) {
        Factors wrong = factors;
        wrong.factors[index].kind = kind;
        EXPECT_NE(OperationCheck(op, wrong).checkFactor(index), "")
            << zrt::nameOf(kind) << " '" << factor.name << "' of "
            << toString(op);
        ++tried;
      }
    }
    Factors wrong = factors;
    wrong.operands[0].isLinear = true;
    EXPECT_NE(OperationCheck(op, wrong).checkOperand(0), "") << toString(op);
  }
  EXPECT_GT(tried, 4u);
}

} // namespace
