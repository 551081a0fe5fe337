// The text of a kernel's schema, taken apart once.
#ifndef ZERO_RUNTIME_PROGRAM_KERNELPATTERN_H
#define ZERO_RUNTIME_PROGRAM_KERNELPATTERN_H

#include "program/KernelSchema.h"

#include <optional>

namespace zrt {

struct KernelPattern {
  /// Ends the process where `schema` cannot be read.
  explicit KernelPattern(const KernelSchema &schema);

  /// What of `spec` does not fit, or nothing; then `shapes` is filled.
  std::string match(const KernelSpec &spec, KernelShapes &shapes) const;

  /// Sets the flags that `spec` lacks.
  void fillFlags(KernelSpec &spec) const;

  /// Whether the operand, or past those the result, may have strides.
  bool takesStrides(const KernelSpec &spec, size_t index) const;

private:
  enum class AttributeKind { Flag, Int, Ints, Range, Real };
  struct Attribute {
    std::string key;
    AttributeKind kind;
    bool optional; ///< flags are
  };
  /// One dimension: a number, a name, or a group of any number of dimensions.
  struct Dimension {
    std::string name; ///< empty: a number, or a group with no name
    int64_t number = -1;
    bool group = false;
    std::string range; ///< attribute that may give a range of it
  };
  struct Tensor {
    std::string name, element, swap;
    bool optional = false, variadic = false, strided = false;
    std::vector<Dimension> dimensions;
  };

  std::vector<Tensor> parseTensors(const char *schema, const std::string &text);
  Tensor parseTensor(const char *schema, const std::string &text);
  void parseAttributes(const char *schema, const std::string &text);

  static std::string checkInts(const Attribute &attribute,
                               const std::vector<int64_t> &values);
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
  bool matchDimension(const Dimension &dimension, int64_t size,
                      KernelShapes &shapes, std::string &wrong) const;
  std::string wanted(const Tensor &pattern, const TensorType &type,
                     const KernelShapes &shapes) const;
  std::string countText(const KernelSpec &spec) const;

  std::vector<Tensor> operands, results;
  std::vector<Attribute> attributes;
};

[[noreturn]] void refuseSchema(const std::string &name, const std::string &why);

/// The rows of KernelSchemas.cpp.
const std::vector<KernelSchema> &builtInKernelSchemas();

/// The rows of IndexKernelSchemas.cpp.
const std::vector<KernelSchema> &indexKernelSchemas();
/// The rows of ProductKernelSchemas.cpp.
const std::vector<KernelSchema> &productKernelSchemas();

/// What is wrong with `attribute` where it is given and not from `least` to
/// `most`; empty where nothing is.
std::string checkCount(const KernelShapes &shapes, const char *attribute,
                       int64_t least, int64_t most);

/// The rows of StepKernelSchemas.cpp.
const std::vector<KernelSchema> &stepKernelSchemas();

/// The rows of UpdateKernelSchemas.cpp.
const std::vector<KernelSchema> &updateKernelSchemas();

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_KERNELPATTERN_H
