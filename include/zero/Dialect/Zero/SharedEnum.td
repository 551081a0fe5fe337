//===- SharedEnum.td - records of enumerations of programs -*- tablegen -*-===//
//
// Each record is the only list of its cases. zero-tblgen makes the runtime's
// enumeration of it (program/Enums.h). Of those that a dialect has as well,
// mlir-tblgen makes the dialect's, and zero-tblgen the conversions between the
// two.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_DIALECT_ZERO_SHAREDENUM_TD
#define ZERO_DIALECT_ZERO_SHAREDENUM_TD

include "mlir/IR/EnumAttr.td"

/// `name` is the spelling in text, `comment` what the case is.
class Zero_SharedCase<string symbol, int value, string name, string comment = "">
    : I32EnumAttrCase<symbol, value, name> {
  string documentation = comment;
}

/// What the runtime's header says of an enumeration, and its cases.
class Zero_RuntimeEnumBase<string name, list<Zero_SharedCase> cases> {
  string runtimeClass = name;
  list<Zero_SharedCase> runtimeCases = cases;
  string documentation;
}

/// An enumeration of the runtime, which the dialect spells in other ways.
class Zero_RuntimeEnum<string name, string text, list<Zero_SharedCase> cases>
    : Zero_RuntimeEnumBase<name, cases> {
  let documentation = text;
}

/// An enumeration of both: `name` is the dialect's class, `runtime` that in the
/// namespace zrt.
class Zero_SharedEnum<string name, string runtime, string summary,
                      list<Zero_SharedCase> cases>
    : I32EnumAttr<name, summary, cases>, Zero_RuntimeEnumBase<runtime, cases> {
  let cppNamespace = "::mlir::zero";
  let documentation = summary;
}

#endif // ZERO_DIALECT_ZERO_SHAREDENUM_TD
