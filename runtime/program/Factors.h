// Which dimensions of an operation's tensors go together, and what becomes of
// its results where one of them is cut among ranks.
//
// A dimension is a product of parts, outer to inner. A part is a factor, or
// dimensions one behind the other. Cutting a factor in n takes an n-th of it
// everywhere that it stands.
#ifndef ZERO_RUNTIME_PROGRAM_FACTORS_H
#define ZERO_RUNTIME_PROGRAM_FACTORS_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace zrt {

/// The results that a rank gets from its part of a factor, with the same
/// kernel.
enum class FactorKind : uint8_t {
  Whole,    ///< nothing: the operation needs all of the factor
  Parallel, ///< its part of results that have the factor, and all of others
  Sum,      ///< its part of results that have the factor, a term of others
  Combined, ///< something of which one more step makes the results
  OwnOrder, ///< rows, whose order is each rank's own
};

/// The kind as rows spell it: `parallel`.
const char *nameOf(FactorKind kind);

struct Factor {
  std::string name;
  FactorKind kind = FactorKind::Whole;
  int64_t size = 0;
  /// The attribute that holds the factor's size: an integer, or, if `index` is
  /// given, one of a list; empty if there is none.
  std::string attribute;
  int64_t index = -1;
  /// The attribute that gives a range of the factor, if it is the first
  /// dimension of a result; empty if there is none.
  std::string range;
};

struct FactoredDim;

/// A factor by its index, or, where there are any, segments.
struct DimPart {
  size_t factor = 0;
  std::vector<FactoredDim> segments;
};

struct FactoredDim {
  std::vector<DimPart> parts; ///< none: one element
};

struct FactoredTensor {
  std::vector<FactoredDim> dimensions;
  /// Of an operand: it is a term of the sum that the results are, so that only
  /// one of the ranks that give terms of a sum may count it.
  bool isAddend = false;
  /// Of an operand: if it is the term of a sum, so are the results, provided
  /// that addends are counted once and other operands are no terms.
  bool isLinear = false;
  /// Of an operand: a dimension of one index is repeated.
  bool isBroadcast = false;
};

struct Factors {
  std::vector<Factor> factors;
  std::vector<FactoredTensor> operands, results;
};

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_FACTORS_H
