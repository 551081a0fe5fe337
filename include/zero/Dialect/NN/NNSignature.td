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

/// One tensor: its name, the letter of its element type, its dimensions, and
/// marks such as `+` of an addend, in front of the colon.
class NN_Tensor<string theName, string theElement, string theDimensions,
                string marks, TypeConstraint theConstraint> {
  string name = theName;
  TypeConstraint constraint = theConstraint;
  string text = theName # marks # ":" # theElement # "[" # theDimensions # "]";
}
class Floats<string name, string dimensions, string marks = "">
    : NN_Tensor<name, "T", dimensions, marks, NN_FloatTensor>;
class Statistics<string name, string dimensions, string marks = "">
    : NN_Tensor<name, "S", dimensions, marks, NN_StatisticTensor>;

/// One attribute: its name and its kind, with bounds.
class NN_Attribute<string theName, string kind, Attr theConstraint> {
  string name = theName;
  Attr constraint = theConstraint;
  string text = theName # ":" # kind;
}
class Int<string name, string bounds = "">
    : NN_Attribute<name, "int" # bounds, I64Attr>;
class Real<string name, string bounds = "">
    : NN_Attribute<name, "real" # bounds, F64Attr>;

/// An operation with the kernel of its name. `kinds` are those of its factors.
class NN_SignedOp<string mnemonic, list<NN_Tensor> theOperands,
                  list<NN_Attribute> theAttributes,
                  list<NN_Tensor> theResults, string kinds,
                  list<Trait> traits = []> : NN_KernelOp<mnemonic, traits> {
  /// What the page says in front of the signature, and behind it.
  string text = "";
  string example = "";
  /// The work: fields of zrt::KernelSchema behind `attributes`, as the file says
  /// that includes the rows.
  string work = "";

  string tensorText = !interleave(
      !listconcat(!foreach(tensor, theOperands, tensor.text), ["->"],
                  !foreach(tensor, theResults, tensor.text)), " ");
  string attributeText =
      !interleave(!foreach(attribute, theAttributes, attribute.text), " ");
  string kindText = kinds;

  let arguments = !con(
      !dag(ins, !foreach(tensor, theOperands, tensor.constraint),
           !foreach(tensor, theOperands, tensor.name)),
      !dag(ins, !foreach(attribute, theAttributes, attribute.constraint),
           !foreach(attribute, theAttributes, attribute.name)));
  let results = !dag(outs, !foreach(tensor, theResults, tensor.constraint),
                     !foreach(tensor, theResults, tensor.name));
  let description = text # "\n    Signature: `" # tensorText # "`" #
      !if(!empty(theAttributes), "", ", `" # attributeText # "`") # "\n" #
      example;
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() {
      return ::mlir::zero::verifySignature(*this);
    }
  }];
}

#endif // ZERO_DIALECT_NN_NNSIGNATURE_TD
