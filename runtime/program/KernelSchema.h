// What a kernel takes and gives, as one row of a table.
//
// The row of a kernel says its tensors, its attributes, and its work. Whoever
// makes a kernel, on whatever processor, gets a spec that fits the row: it is
// checked in one place and nowhere else. The compiler takes the kernel's cost
// from the same row.
#ifndef ZERO_RUNTIME_PROGRAM_KERNELSCHEMA_H
#define ZERO_RUNTIME_PROGRAM_KERNELSCHEMA_H

#include "program/Factors.h"
#include "program/Program.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace zrt {

struct KernelPattern;

/// A spec that fits its schema, by the names that the schema uses.
class KernelShapes {
public:
  explicit KernelShapes(const KernelSpec &spec) : spec(&spec) {}

  /// The size of a named dimension; 0 where there is none.
  int64_t size(const std::string &dimension) const;
  /// The sizes of a named group of dimensions.
  const std::vector<int64_t> &sizes(const std::string &group) const;
  /// The product of the sizes of a named group.
  int64_t product(const std::string &group) const;
  /// The tensor of that name; null where it is optional and absent.
  const TensorType *tensor(const std::string &name) const;
  /// The number of elements of the tensor of that name; 0 if it is absent.
  int64_t elements(const std::string &name) const;
  /// Whether the attribute `key` is there and not 0.
  bool flag(const std::string &key) const { return spec->integer(key) != 0; }

  const KernelSpec *spec;

private:
  friend struct KernelPattern;
  friend class FactorReader;
  bool isOperation = false;
  std::map<std::string, int64_t> dimensions;
  std::map<std::string, std::vector<int64_t>> groups;
  std::map<std::string, DataType> types;
  std::map<std::string, const TensorType *> tensors;
};

/// The kind and sizes of a kernel's arithmetic, which decide how much of a
/// processor's rate it reaches.
struct KernelArithmetic {
  enum Kind {
    Elementwise, ///< as fast as memory, or nearly so
    Product,     ///< `count` matrix products of rows x depth by depth x columns
    Attention,   ///< products over pairs of a query and a key, and a softmax
  };
  Kind kind = Elementwise;
  int64_t count = 0, rows = 0, columns = 0, depth = 0;
};

/// A row of the kernels' table. Strings are literals.
///
/// `tensors` lists operands, an arrow and results: a name, a colon, an element
/// type and dimensions; then, behind a bar, kinds of factors:
/// "x:T[r..,k] w:T[k,n] bias+?:T[n] -> y:T[r..,n] | parallel r n, sum k, linear
/// x w".
/// - The element type is one of MLIR's names; `T`, f32, bf16 or f16, the same
///   wherever it stands, and `U`, another such; `S`, the statistic of `T`, f32;
///   `E`, the same of any kind; or `any`. Where an operation is checked, `T`
///   and `S` may be f64 as well.
/// - A dimension is a letter, which has one size wherever it stands, or a
///   number. `g.r` is a product, outer to inner. `m@rows` is `m`, or the length
///   of the range of it in the attribute `rows`, where that is given: `m` is
///   then the first dimension.
/// - `r..` is a group of any number of dimensions; `..` is one that need not be
///   the same elsewhere. `o..dim` is a group of as many as the attribute `dim`
///   says, `k..s` one of as many as the group `s` has; a tensor has at most one
///   other. `s..1-3` has one to three. `i..?` may be missing altogether.
/// - `?` after a tensor's name says that it may be absent, from the last such
///   tensor on; `*` that there is any number of them; `+` that it is an addend,
///   a term of the results. `~transposed` behind a tensor swaps its last two
///   dimensions where the attribute is set; `^` says that it is broadcast: it
///   may lack leading dimensions, and any may be 1.
/// - `&` behind a tensor says that it may have strides: that of the last
///   dimension is 1, others are multiples of `kStrideBytes`, and no two
///   elements share memory. Without it a tensor is dense.
/// - Behind the bar, letters and groups under their kind (`parallel`, `sum`,
///   `combined`, `own`; FactorKind says what these are), and operands that are
///   `linear`. `t!causal` is whole where the attribute is set, `r?sum` where it
///   is not, and so is one of which a range is given. A letter may have several
///   kinds, of which the first one counts whose attributes are so. A letter
///   that is not named is whole.
///
/// `attributes` lists keys and kinds, such as "eps:real rows:range?":
/// - `flag` is 0 or 1 and 0 where it is absent; a flag with an optional
///   tensor's name says whether the tensor is there. `int` and `real` are one
///   number, `ints` a list, `range` two increasing numbers from 0 on.
/// - `eps:real>=0`, `theta:real>0` and `p:real>=0<1` have bounds.
/// - `groups:int[u]` is the size of the letter `u`, 1 or more;
///   `heads:range[h]` is a range of the letter `h`; `strides:ints[s]>=1` has a
///   number for each dimension of the group `s`, within the bound.
/// - `?` says that the key may be absent.
struct KernelSchema {
  const char *name;
  const char *tensors;
  const char *attributes = "";
  /// Operations on elements that a run does; null: it computes nothing.
  uint64_t (*flops)(const KernelShapes &shapes) = nullptr;
  /// Bytes read and written; null: every tensor once.
  uint64_t (*bytes)(const KernelShapes &shapes) = nullptr;
  /// Says what is wrong where names and kinds cannot; empty where nothing is.
  std::string (*check)(const KernelShapes &shapes) = nullptr;
  /// The kind of the operations that `flops` counts; null: elementwise.
  KernelArithmetic (*arithmetic)(const KernelShapes &shapes) = nullptr;
  /// Bytes of scratch memory that a GPU's kernel takes at most, in a program
  /// that is `deterministic` or not; null: none.
  uint64_t (*workspace)(const KernelShapes &shapes,
                        bool deterministic) = nullptr;
};

/// Strides of what is not dense, and where it begins in memory, are multiples
/// of so many bytes: what kernels read and write at once.
inline constexpr int64_t kStrideBytes = 16;

/// Whether the schema of `spec` lets a tensor have strides: the operand, or
/// where `index` is past those the result.
bool takesStrides(const KernelSpec &spec, size_t index);

/// Whether the schema of `spec` calls a tensor a statistic, which stays f32
/// where others are narrower: the operand, or where `index` is past those the
/// result.
bool isStatistic(const KernelSpec &spec, size_t index);

/// The schema of the kernel `name`, or null where there is none.
const KernelSchema *findKernelSchema(const std::string &name);

/// The names of all kernels that have a schema, sorted.
std::vector<std::string> kernelSchemaNames();

/// Compares `spec` with the schema of its name. Returns what does not fit, as
/// "dy is 4x5xf32, wanted 4x6xf32", or nothing, and then fills `shapes`.
std::string checkKernel(const KernelSpec &spec, KernelShapes &shapes);

/// As `checkKernel`, for the spec of an operation, which may compute in f64.
std::string checkOperation(const KernelSpec &spec, KernelShapes &shapes);

/// The factors of an operation as its row says them; nothing where there is no
/// row, or the spec does not fit.
std::optional<Factors> findFactors(const KernelSpec &spec);

/// The claims of a kernel's row that a test can try: letters and groups that
/// are parallel or sums, and "operand 2" for those that are linear or addends.
std::vector<std::string> factorMarks(const std::string &kernel);

/// Sets the flags of its schema that `spec` does not have: to whether the
/// optional tensor of that name is there, or to 0.
void fillFlags(KernelSpec &spec);

/// Sets `flops` and `bytes` as the schema says; where there is none, or the
/// spec does not fit, to none and every tensor once.
void countWork(KernelSpec &spec);

/// The arithmetic of `spec`, as its schema says; elementwise if there is no
/// schema, or the spec does not fit.
KernelArithmetic arithmeticOf(const KernelSpec &spec);

/// Bytes of scratch memory that the kernel of a GPU takes at most, as its
/// schema says, in a program that is `deterministic` or not; 0 where there is
/// no schema, or the spec does not fit. Kernels of one rank share the most of
/// any.
uint64_t workspaceOf(const KernelSpec &spec, bool deterministic);
/// The scratch memory of a rank that runs `program` on a GPU.
uint64_t workspaceOf(const Program &program);

/// Adds kernels to the table: a static object of a file that is linked into a
/// tool or an executable, for dialects that are not ours. Ends the process
/// where a name is there already or a row cannot be read.
class KernelSchemas {
public:
  explicit KernelSchemas(std::vector<KernelSchema> rows);
};

/// "4x256xf32", with strides "4x256xf32 strides 512x1".
std::string describe(const TensorType &type);

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_KERNELSCHEMA_H
