// The text of a kernel's schema, taken apart once.
#ifndef ZERO_RUNTIME_PROGRAM_KERNELPATTERN_H
#define ZERO_RUNTIME_PROGRAM_KERNELPATTERN_H

#include "program/KernelSchema.h"

#include <optional>

namespace zrt {

struct KernelPattern {
  /// Ends the process where `schema` cannot be read.
  explicit KernelPattern(const KernelSchema &schema);

  /// Describes why `spec` does not fit; if it fits, returns "" and fills
  /// `shapes`. An operation may compute in f64, which no kernel does.
  std::string match(const KernelSpec &spec, KernelShapes &shapes,
                    bool isOperation = false) const;

  /// The factors of an operation; nothing where `spec` does not fit.
  std::optional<Factors> findFactors(const KernelSpec &spec) const;

  /// The marks that zrt::factorMarks returns.
  std::vector<std::string> factorMarks() const;

  /// Sets the flags that `spec` lacks.
  void fillFlags(KernelSpec &spec) const;

  /// Whether the operand, or past those the result, may have strides.
  bool takesStrides(const KernelSpec &spec, size_t index) const;

  /// Whether the operand, or past those the result, is a statistic.
  bool isStatistic(const KernelSpec &spec, size_t index) const;

private:
  enum class AttributeKind { Flag, Int, Ints, Range, Real };
  struct Attribute {
    std::string key;
    AttributeKind kind;
    bool optional; ///< flags are
    /// The letter whose size or range the attribute is, or the group for each
    /// of whose dimensions it has a number.
    std::string letter;
    std::optional<double> least, above, below; ///< bounds of one number
  };
  /// One dimension: a number, a product of letters, or a group of dimensions.
  struct Dimension {
    std::string name; ///< empty: a number, or a group with no name
    std::vector<std::string> letters; ///< of a product, outer to inner
    int64_t number = -1;
    bool group = false;
    bool mayLack = false; ///< a group that need not be there
    /// The number of dimensions in a group: as many as an attribute says, or
    /// another group has; or from `least` to `most`, if that is not negative.
    std::string rank;
    int64_t least = 0, most = -1;
    std::string range; ///< attribute that may give a range of it
  };
  struct Tensor {
    std::string name, element, swap;
    bool optional = false, variadic = false, strided = false,
         isBroadcast = false, isAddend = false, isLinear = false;
    std::vector<Dimension> dimensions;
  };
  /// Whether an attribute is set: a flag, or another one that is there.
  struct Condition {
    std::string attribute;
    bool isSet;
  };
  /// The kind of a letter, or of a group, if all conditions hold.
  struct Kind {
    FactorKind kind;
    std::string letter;
    std::vector<Condition> conditions;
  };

  const Tensor *tensorAt(const KernelSpec &spec, size_t index) const;

  std::vector<Tensor> parseTensors(const char *schema, const std::string &text);
  Tensor parseTensor(const char *schema, const std::string &text);
  static Dimension parseDimension(std::string text);
  void parseAttributes(const char *schema, const std::string &text);
  void parseKinds(const char *schema, const std::string &text);
  void parseKind(const char *schema, const std::string &word,
                 std::string letter);
  bool hasLetter(const std::string &letter) const;
  void checkRanks(const char *schema) const;

  static std::string checkInts(const Attribute &attribute,
                               const std::vector<int64_t> &values);
  static bool isWithin(const Attribute &attribute, double value);
  static std::string boundsText(const Attribute &attribute);
  static std::string checkBounds(const Attribute &attribute, double value,
                                 const std::string &found);
  static std::string checkList(const Attribute &attribute,
                               const std::vector<int64_t> &values,
                               size_t count);
  std::string bindLetters(const KernelSpec &spec, KernelShapes &shapes) const;
  std::string checkLetters(KernelShapes &shapes) const;
  std::string checkProducts(KernelShapes &shapes) const;
  void bindWide(const KernelSpec &spec, KernelShapes &shapes) const;
  static DataType statisticOf(const KernelShapes &shapes);
  static std::vector<Dimension> orderOf(const Tensor &pattern,
                                        const KernelSpec &spec);
  static std::vector<int64_t>
  groupSizes(const std::vector<Dimension> &dimensions, size_t rank,
             const KernelShapes &shapes);
  std::string matchAttributes(const KernelSpec &spec) const;
  std::string matchList(const std::vector<Tensor> &patterns,
                        const std::vector<TensorType> &types,
                        KernelShapes &shapes) const;
  std::string matchTensor(const Tensor &pattern, const TensorType &type,
                          KernelShapes &shapes) const;
  static std::string checkStrides(const Tensor &pattern,
                                  const TensorType &type);
  bool matchElement(const Tensor &pattern, DataType type,
                    KernelShapes &shapes) const;
  bool matchShape(const Tensor &pattern, const TensorType &type,
                  KernelShapes &shapes) const;
  bool matchBroadcast(const std::vector<Dimension> &dimensions,
                      const TensorType &type, KernelShapes &shapes) const;
  static bool matchDimension(const Dimension &dimension, int64_t size,
                             KernelShapes &shapes, std::string &wrong);
  static bool divide(const Dimension &dimension, int64_t size,
                     KernelShapes &shapes);
  static bool matchProduct(const Dimension &dimension, int64_t size,
                           KernelShapes &shapes);
  std::string checkRank(const Tensor &pattern, const TensorType &type,
                        const KernelShapes &shapes) const;
  std::string checkRange(const Tensor &pattern, const TensorType &type,
                         KernelShapes &shapes) const;
  std::string wanted(const Tensor &pattern, const TensorType &type,
                     const KernelShapes &shapes) const;
  static bool addGroup(const Dimension &dimension, const KernelShapes &shapes,
                       std::vector<std::string> &sizes);
  static std::string sizeText(const Dimension &dimension,
                              const KernelShapes &shapes, bool &known);
  std::string elementText(const Tensor &pattern, const TensorType &type,
                          const KernelShapes &shapes, bool &known) const;
  std::string countText(const KernelSpec &spec) const;

  friend class FactorReader;
  FactorKind kindOf(const std::string &letter, const KernelSpec &spec) const;

  std::vector<Tensor> operands, results;
  std::vector<Attribute> attributes;
  std::vector<Kind> kinds;
};

/// Whether `element` stands for one of f32, bf16 and f16.
bool isLaneName(const std::string &element);

/// "[4, 16]".
std::string listText(const std::vector<int64_t> &values);

[[noreturn]] void refuseSchema(const std::string &name, const std::string &why);

/// The rows of KernelSchemas.cpp.
const std::vector<KernelSchema> &builtInKernelSchemas();

/// The rows of ExpertKernelSchemas.cpp.
const std::vector<KernelSchema> &expertKernelSchemas();
/// The rows of IndexKernelSchemas.cpp.
const std::vector<KernelSchema> &indexKernelSchemas();
/// The rows of ProductKernelSchemas.cpp.
const std::vector<KernelSchema> &productKernelSchemas();

/// What is wrong with `attribute` where it is given and not from `least` to
/// `most`; empty where nothing is.
std::string checkCount(const KernelShapes &shapes, const char *attribute,
                       int64_t least, int64_t most);

/// The rows of ShapeKernelSchemas.cpp.
const std::vector<KernelSchema> &shapeKernelSchemas();

/// The rows of WindowKernelSchemas.cpp.
const std::vector<KernelSchema> &windowKernelSchemas();

/// The rows of StepKernelSchemas.cpp.
const std::vector<KernelSchema> &stepKernelSchemas();

/// The rows of UpdateKernelSchemas.cpp.
const std::vector<KernelSchema> &updateKernelSchemas();

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_KERNELPATTERN_H
