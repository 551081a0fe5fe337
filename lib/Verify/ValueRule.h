//===- ValueRule.h - one operation's operands and results -------*- C++ -*-===//
#ifndef ZERO_VERIFY_VALUERULE_H
#define ZERO_VERIFY_VALUERULE_H

#include "ValueRules.h"

namespace mlir::zero::verify {

/// Whether a dimension of `tensor` has any of the factor.
bool hasFactorOf(const zrt::FactoredTensor &tensor, size_t factor);

/// One way to read the operands that are cut: the dimension in which each of
/// them is, and the factors that this cuts.
struct Way {
  SmallVector<std::optional<unsigned>> dims;
  CutFactors cut;
};

/// The factor that contains the samples of all ranks, and the distance, in its
/// indices, between the samples of one rank and those of the next.
struct SampleFactor {
  size_t factor;
  int64_t indices;
  bool operator==(const SampleFactor &other) const {
    return factor == other.factor && indices == other.indices;
  }
};

/// Derives the states of an operation's results from the states of its operands
/// and its factors.
class Rule {
public:
  Rule(Operation *op, const zrt::Factors &factors, ArrayRef<State> operands,
       AxesAttr over)
      : op(op), factors(factors), operands(operands), over(over) {}

  /// The states of the results; nothing if there is a `problem`.
  std::optional<States> run();
  std::string problem;
  /// Whether a factor may be cut that way, where its kind allows it.
  std::function<bool(size_t factor, const Blocks &)> mayCut;

private:
  bool has(State::Kind kind) const {
    return llvm::any_of(operands,
                        [&](const State &state) { return state.kind == kind; });
  }
  bool isOwn() const {
    return llvm::all_of(operands, [](const State &state) {
      return state.kind != State::Cut || state.isOwn;
    });
  }
  std::nullopt_t fail(const Twine &text) {
    if (problem.empty())
      problem = text.str();
    return std::nullopt;
  }
  static std::string nameOf(unsigned operand) {
    return "operand " + std::to_string(operand);
  }

  std::optional<States> computeResults();
  void markOfAll(States &results) const;
  bool followSamples(States &results);
  void reshapeSamples(const State &operand, State &result) const;
  SmallVector<Layout, 1> layoutsOf(unsigned operand) const;
  std::optional<SampleFactor> readSamples();
  std::optional<SampleFactor> findSamples(unsigned operand) const;
  bool fitsSamples(unsigned operand, const SampleFactor &samples);
  States sameResults() const;
  bool isUniform(size_t factor) const;
  uint64_t uniformOf(const zrt::FactoredTensor &tensor) const;
  Repeats repeatsOf(size_t factor) const;
  Repeats repeatsOf(const zrt::FactoredDim &dim) const;
  void setUniform(State &state, const zrt::FactoredTensor &tensor) const;
  bool isSumOfUniform(const zrt::FactoredTensor &result) const;
  bool repeatsAlong(const Way &way, unsigned operand, unsigned dim) const;
  std::optional<States> cutResults();
  void addWays(unsigned operand, Way way);
  void finish(const Way &way);
  bool fitsOperands(const Way &way, bool isSoFar = false);
  bool fitsOperand(const Way &way, unsigned operand, unsigned dim);
  bool fitsKinds(const Way &way);
  std::optional<State> cutResult(const Way &way, unsigned result);
  bool countsAddendsOnce(const CutFactors &cut);
  std::optional<State> findFirstsOfSum() const;
  std::optional<size_t> findRanged() const;
  bool isOfRanges(unsigned operand) const;
  bool fitsRanged(size_t ranged, const Blocks &blocks);
  std::optional<int64_t> sizeOfRanges(size_t ranged);
  std::optional<States> rangeResults(size_t ranged);
  std::optional<States> termResults();
  std::optional<States> ownResults();
  std::optional<States> addedResults();
  const void *findOrder() const;
  bool fitsOrder();
  bool agreesOnOrder();
  bool isPlaced(size_t factor) const;
  std::optional<size_t> findRows() const;
  bool givesZeroRows(size_t rows) const;
  bool readsExperts() const;
  std::optional<States> sortedResults();
  bool fitsSorted(unsigned operand, size_t rows, CutFactors &experts);

  Operation *op;
  const zrt::Factors &factors;
  ArrayRef<State> operands;
  AxesAttr over;
  std::optional<States> found;
};

} // namespace mlir::zero::verify

#endif // ZERO_VERIFY_VALUERULE_H
