//===- SharedEnums.cpp - Enumerations of the runtime ------------*- C++ -*-===//
//
// -gen-runtime-enums writes enumerations without a word of LLVM, each with the
// list of its cases and their names; -gen-runtime-enum-conversions the
// functions from the dialect's to the runtime's and back.
//
//===----------------------------------------------------------------------===//
#include "llvm/TableGen/Error.h"
#include "llvm/TableGen/Record.h"
#include "llvm/TableGen/TableGenBackend.h"

using namespace llvm;

namespace {

/// The cases of `shared`, which must be numbered from 0 on: names are found by
/// number.
std::vector<const Record *> casesOf(const Record &shared) {
  std::vector<const Record *> cases =
      shared.getValueAsListOfDefs("runtimeCases");
  for (auto [index, one] : enumerate(cases))
    if (one->getValueAsInt("value") != static_cast<int64_t>(index))
      PrintFatalError(&shared, "case '" + one->getValueAsString("symbol") +
                                   "' has the number " +
                                   Twine(one->getValueAsInt("value")) +
                                   ", wanted " + Twine(index) +
                                   ": cases are numbered from 0 on");
  return cases;
}

void writeComment(StringRef text, raw_ostream &os) {
  for (StringRef line : split(text.trim(), '\n'))
    os << "/// " << line.trim() << "\n";
}

void writeRuntimeEnum(const Record &shared, raw_ostream &os) {
  StringRef name = shared.getValueAsString("runtimeClass");
  std::vector<const Record *> cases = casesOf(shared);
  writeComment(shared.getValueAsString("documentation"), os);
  os << "enum class " << name << " : uint8_t {\n";
  for (const Record *one : cases) {
    os << "  " << one->getValueAsString("symbol") << " = "
       << one->getValueAsInt("value") << ",";
    if (StringRef text = one->getValueAsString("documentation"); !text.empty())
      os << " ///< " << text;
    os << "\n";
  }
  os << "};\n";
  os << "template <> inline constexpr std::array<" << name << ", "
     << cases.size() << "> kCasesOf<" << name << "> = {";
  for (const Record *one : cases)
    os << name << "::" << one->getValueAsString("symbol") << ", ";
  os << "};\n";
  os << "constexpr const char *nameOf(" << name << " value) {\n"
     << "  constexpr const char *names[] = {";
  for (const Record *one : cases)
    os << "\"" << one->getValueAsString("str") << "\", ";
  os << "};\n  return names[static_cast<int>(value)];\n}\n\n";
}

void writeConversions(const Record &shared, raw_ostream &os) {
  StringRef own = shared.getValueAsString("className");
  StringRef runtime = shared.getValueAsString("runtimeClass");
  os << "constexpr ::zrt::" << runtime << " toRuntime(" << own
     << " value) {\n  return static_cast<::zrt::" << runtime
     << ">(value);\n}\n";
  os << "constexpr " << own << " fromRuntime(::zrt::" << runtime
     << " value) {\n  return static_cast<" << own << ">(value);\n}\n\n";
}

void writeRuntimeEnums(const RecordKeeper &records, raw_ostream &os) {
  emitSourceFileHeader("Enumerations of the program format", os, records);
  for (const Record *one :
       records.getAllDerivedDefinitions("Zero_RuntimeEnumBase"))
    writeRuntimeEnum(*one, os);
}

void writeAllConversions(const RecordKeeper &records, raw_ostream &os) {
  emitSourceFileHeader("Between dialect and runtime", os, records);
  for (const Record *shared :
       records.getAllDerivedDefinitions("Zero_SharedEnum"))
    writeConversions(*shared, os);
}

TableGen::Emitter::Opt runtimeEnums("gen-runtime-enums", writeRuntimeEnums,
                                    "Enumerations of the runtime");
TableGen::Emitter::Opt conversions("gen-runtime-enum-conversions",
                                   writeAllConversions,
                                   "Conversions to them and back");

} // namespace
