//===- NNSignature.td - operations that say their shapes once -------------===//
//
// A signature lists an operation's tensors and attributes in the language of the
// kernels' table (`program/KernelSchema.h`). From it follow ODS operands and
// results, the verifier, which statistics stay f32, the row of the kernel, its
// factors, and the signature on the page.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_DIALECT_NN_NNSIGNATURE_TD
#define ZERO_DIALECT_NN_NNSIGNATURE_TD

include "zero/Dialect/NN/NNBase.td"

/// One tensor: its name, the letter of its element type, its dimensions, the
/// marks in front of the colon, such as `+` of an addend, and those at the end,
/// such as `&` of one that may have strides.
class NN_Tensor<string theName, string theElement, string theDimensions,
                string marks, string tail, TypeConstraint theConstraint> {
  string name = theName;
  TypeConstraint constraint = theConstraint;
  bit isOptional = !ne(!find(marks, "?"), -1);
  string text =
      theName # marks # ":" # theElement # "[" # theDimensions # "]" # tail;
}
class Floats<string name, string dimensions, string marks = "",
             string tail = "">
    : NN_Tensor<name, "T", dimensions, marks, tail, NN_FloatTensor>;
class OptionalFloats<string name, string dimensions, string marks = "",
                     string tail = "">
    : NN_Tensor<name, "T", dimensions, marks # "?", tail,
                Optional<NN_FloatTensor>>;
class Statistics<string name, string dimensions, string marks = "",
                 string tail = "">
    : NN_Tensor<name, "S", dimensions, marks, tail, NN_StatisticTensor>;
class OptionalStatistics<string name, string dimensions, string marks = "",
                         string tail = "">
    : NN_Tensor<name, "S", dimensions, marks # "?", tail,
                Optional<NN_StatisticTensor>>;
class Indices<string name, string dimensions, string marks = "",
              string tail = "">
    : NN_Tensor<name, "i32", dimensions, marks, tail, NN_IndexTensor>;
class OptionalIndices<string name, string dimensions, string marks = "",
                      string tail = "">
    : NN_Tensor<name, "i32", dimensions, marks # "?", tail,
                Optional<NN_IndexTensor>>;
class Elements<string name, string dimensions, string marks = "",
               string tail = "">
    : NN_Tensor<name, "E", dimensions, marks, tail, NN_AnyTensor>;

/// One attribute: its name, its kind, with bounds, and whether the operation has
/// it, or only the kernel.
class NN_Attribute<string theName, string kind, Attr theConstraint,
                   bit theIsOwn = true> {
  string name = theName;
  Attr constraint = theConstraint;
  bit isOwn = theIsOwn;
  string text = theName # ":" # kind;
}
/// A case of an enumeration that the kernel knows, by its number.
class Kind<string name, Attr attribute, Zero_RuntimeEnumBase cases>
    : NN_Attribute<name, "int>=0<" # !size(cases.runtimeCases), attribute>;
class Flag<string name> : NN_Attribute<name, "flag", UnitAttr>;
class Int<string name, string bounds = "">
    : NN_Attribute<name, "int" # bounds, I64Attr>;
class OptionalInt<string name, string bounds = "">
    : NN_Attribute<name, "int" # bounds # "?", OptionalAttr<I64Attr>>;
/// A number of 32 bits that tells the random numbers of one operation from
/// those of another.
class DrawId<string name> : Int<name, ">=0<4294967296">;
class OptionalDrawId<string name> : OptionalInt<name, ">=0<4294967296">;
class Ints<string name, string bounds = "">
    : NN_Attribute<name, "ints" # bounds, DenseI64ArrayAttr>;
class Range<string name>
    : NN_Attribute<name, "range?", OptionalAttr<DenseI64ArrayAttr>>;
/// A real number that kernels compute with in f32.
def NN_Real : ConfinedAttr<F64Attr, [AttrConstraint<
    CPred<"std::abs(::llvm::cast<::mlir::FloatAttr>($_self).getValueAsDouble()) <= "
          "std::numeric_limits<float>::max()">,
    "that f32 can hold">]>;
class Real<string name, string bounds = "">
    : NN_Attribute<name, "real" # bounds, NN_Real>;
class OptionalReal<string name, string bounds = "">
    : NN_Attribute<name, "real" # bounds # "?", OptionalAttr<NN_Real>>;
/// Which class of targets does not count, if any does not: as in PyTorch, -100 where
/// none is given.
def IgnoreIndex
    : NN_Attribute<"ignore_index", "int?", DefaultValuedAttr<I64Attr, "-100">>;
/// Whether an optional operand is there. Each has one, behind all other attributes.
class Present<string tensor>
    : NN_Attribute<tensor, "flag", UnitAttr, /*isOwn=*/false>;

/// An operation with the kernel of its name, and of its attributes unless `kernel`
/// is NN_DescribesKernel. `kinds` are those of its factors.
class NN_SignedOp<string mnemonic, list<NN_Tensor> theOperands,
                  list<NN_Attribute> theAttributes,
                  list<NN_Tensor> theResults, string kinds,
                  list<Trait> traits = [], Trait kernel = KernelOpInterface>
    : NN_Op<mnemonic, !listconcat([kernel], traits)> {
  /// The description in front of the signature, and the one behind it.
  string text = "";
  string details = "";
  /// The work: fields of zrt::KernelSchema behind `attributes`, as the file says
  /// that includes the rows.
  string work = "";
  /// The bound of program/Workspaces.h for a GPU's kernel; none: it takes nothing.
  string workspace = "";

  string tensorText = !interleave(
      !listconcat(!foreach(tensor, theOperands, tensor.text), ["->"],
                  !foreach(tensor, theResults, tensor.text)), " ");
  list<NN_Attribute> attributes = !listconcat(theAttributes,
      !foreach(tensor, !filter(each, theOperands, each.isOptional), Present<tensor.name>));
  string attributeText =
      !interleave(!foreach(attribute, attributes, attribute.text), " ");
  string kindText = kinds;
  list<NN_Attribute> own = !filter(attribute, attributes, attribute.isOwn);

  let arguments = !con(
      !dag(ins, !foreach(tensor, theOperands, tensor.constraint),
           !foreach(tensor, theOperands, tensor.name)),
      !dag(ins, !foreach(attribute, own, attribute.constraint),
           !foreach(attribute, own, attribute.name)));
  let results = !dag(outs, !foreach(tensor, theResults, tensor.constraint),
                     !foreach(tensor, theResults, tensor.name));
  let description = text # "\n    Signature: `" # tensorText # "`" #
      !if(!empty(attributes), "", ", `" # attributeText # "`") # "\n" #
      details;
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() {
      return ::mlir::zero::verifySignature(*this);
    }
  }];
}

#endif // ZERO_DIALECT_NN_NNSIGNATURE_TD
