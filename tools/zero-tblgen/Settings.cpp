//===- Settings.cpp - C++ of the records of configuration keys --*- C++ -*-===//
//
// The records are those of include/zero/Config/Settings.td.
//
//===----------------------------------------------------------------------===//
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TableGen/Error.h"
#include "llvm/TableGen/Record.h"
#include "llvm/TableGen/TableGenBackend.h"

using namespace llvm;
using llvm::formatv;

/// All records of a class, in the order in which they are written.
static std::vector<const Record *> getInOrder(const RecordKeeper &records,
                                              StringRef name) {
  std::vector<const Record *> all = records.getAllDerivedDefinitions(name);
  llvm::sort(all, LessRecordByID());
  return all;
}

static StringRef getText(const Record *record, StringRef name) {
  return record->getValueAsString(name).trim();
}

/// All keys of files, in their order.
static std::vector<const Record *> getKeys(const RecordKeeper &records) {
  std::vector<const Record *> keys = getInOrder(records, "Key");
  llvm::erase_if(keys, [](const Record *key) {
    return key->isSubClassOf("CompoundOption");
  });
  return keys;
}

/// No two records have the same `name`, which is a `what`.
static void checkUnique(ArrayRef<const Record *> keys, StringRef name,
                        StringRef what) {
  StringMap<const Record *> seen;
  for (const Record *key : keys) {
    const StringRef text = getText(key, name);
    if (!text.empty() && !seen.try_emplace(text, key).second)
      PrintFatalError(key,
                      "the " + what + " '" + text + "' is that of two keys");
  }
}

/// The record that the key has under that name; null where it has none.
static const Record *getOptional(const Record *key, StringRef name) {
  return key->isValueUnset(name) ? nullptr : key->getValueAsDef(name);
}

/// A literal of C++.
static std::string quote(StringRef text) {
  std::string quoted = "\"";
  raw_string_ostream os(quoted);
  os.write_escaped(text);
  return quoted + "\"";
}

/// The words in one literal, separated by `|`.
static std::string quoteWords(const Record *record, StringRef name) {
  return quote(llvm::join(record->getValueAsListOfStrings(name), "|"));
}

/// The words with the enumerators that they stand for: those of an enumeration
/// that only configurations have are "micro_batches" as "MicroBatches".
static std::vector<std::pair<StringRef, std::string>>
getEnumerators(const Record *list) {
  std::vector<std::pair<StringRef, std::string>> enumerators;
  for (StringRef word : list->getValueAsListOfStrings("words"))
    enumerators.emplace_back(
        word, convertToCamelFromSnakeCase(word, /*capitalizeFirst=*/true));
  if (list->isSubClassOf("SharedWords"))
    for (auto [pair, symbol] :
         zip_equal(enumerators, list->getValueAsListOfStrings("cases")))
      pair.second = symbol.str();
  return enumerators;
}

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

/// What a field is initialized with. Where no value is meant, it is the least
/// one.
static std::string getInitial(const Record *key) {
  const StringRef text = getText(key, "initial"),
                  type = getText(key, "memberType");
  if (type == "int64_t" && text == "null")
    return std::to_string(key->getValueAsDef("type")->getValueAsInt("least"));
  if (type == "bool" && text == "null")
    return "false";
  if (const Record *list = getOptional(key, "words"))
    for (const auto &[word, enumerator] : getEnumerators(list))
      if (type == getText(list, "name") && text == quote(word))
        return (type + "::" + enumerator).str();
  const bool isLiteral =
      type == "int64_t" || type == "double" || type == "bool" ||
      (type == "std::string" && text != "null" && text != "\"\"");
  return isLiteral ? text.str() : "{}";
}

/// An enumeration that only configurations have.
static void emitEnumeration(const Record *words, raw_ostream &os) {
  os << "enum class " << getText(words, "name") << " {";
  for (const auto &[word, enumerator] : getEnumerators(words))
    os << " " << enumerator << ",";
  os << " };\n";
}

/// From words to values, and back.
static void emitWords(const Record *list, StringRef stringify, StringRef parse,
                      raw_ostream &os) {
  const StringRef name = getText(list, "name");
  std::string toWord, fromWord;
  for (const auto &[word, enumerator] : getEnumerators(list)) {
    toWord += formatv("  if (value == {0}::{1})\n    return \"{2}\";\n", name,
                      enumerator, word);
    fromWord += formatv("  if (word == \"{2}\")\n    return {0}::{1};\n", name,
                        enumerator, word);
  }
  os << formatv("inline llvm::StringRef {3}({0} value) {{\n{1}"
                "  llvm_unreachable(\"a value without a word\");\n}\n"
                "inline std::optional<{0}> {4}(llvm::StringRef word) {{\n"
                "{2}  return std::nullopt;\n}\n",
                name, toWord, fromWord, stringify, parse);
}

/// A line of `SEARCHED(path, member)` for each size of a run that a search may
/// vary.
static void emitSearched(const RecordKeeper &records, raw_ostream &os) {
  os << "#ifdef GEN_SEARCHED_SIZES\n#undef GEN_SEARCHED_SIZES\n";
  for (const Record *key : getKeys(records))
    if (const Record *part = getOptional(key, "part"))
      if (key->getValueAsBit("isSearched") && part->getName() == "Run" &&
          getText(key, "memberType") == "int64_t")
        os << formatv("SEARCHED(\"{0}\", {1})\n", getText(key, "path"),
                      getText(key, "member"));
  os << "#endif\n";
}

/// Enumerations, and the fields of each structure.
static void emitFields(const RecordKeeper &records, raw_ostream &os) {
  emitSourceFileHeader("Fields of a configuration", os, records);
  os << "#ifdef GEN_SETTING_WORDS\n#undef GEN_SETTING_WORDS\n";
  for (const Record *words : getInOrder(records, "Words")) {
    emitEnumeration(words, os);
    emitWords(words, "stringify", ("parse" + getText(words, "name")).str(), os);
  }
  for (const Record *words : getInOrder(records, "SharedWords")) {
    const std::string function = getText(words, "function").str();
    emitWords(words, "stringify" + function, "parse" + function, os);
  }
  os << "#endif\n#ifdef GEN_KEY_TYPES\n#undef GEN_KEY_TYPES\n"
     << "enum class KeyType {";
  for (const Record *type : getInOrder(records, "KeyType"))
    os << " " << type->getName() << ",";
  os << " };\n#endif\n";
  MapVector<StringRef, std::string> structures;
  for (const Record *key : getKeys(records))
    if (const Record *part = getOptional(key, "part"))
      structures[getText(part, "name")] += formatv(
          "/// {0}\n{1} {2} = {3};\n", getText(key, "path"),
          getText(key, "memberType"), getText(key, "member"), getInitial(key));
  for (const auto &[name, fields] : structures)
    os << formatv("#ifdef GEN_FIELDS_OF_{0}\n#undef GEN_FIELDS_OF_{0}\n{1}"
                  "#endif\n",
                  name, fields);
  emitSearched(records, os);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// How the value of a key is put into a configuration; null: by other code.
static std::string makeReader(const Record *key) {
  const Record *part = getOptional(key, "part");
  if (!part)
    return "nullptr";
  return formatv(
      "[](const json::Value &value, TrainConfig &config) {{ if (auto "
      "*part = find{0}(config)) fromJson(value, part->{1}); }",
      part->getName(), getText(key, "member"));
}

/// How the value of a key is taken from a configuration; null: by other code.
static std::string makeWriter(const Record *key) {
  constexpr StringLiteral form =
      "[](const TrainConfig &config) -> json::Value {{ {0} }";
  if (const Record *part = getOptional(key, "part"))
    return formatv(form.data(),
                   formatv("if (auto *part = find{0}(config)) return "
                           "toJson(part->{1}); return nullptr;",
                           part->getName(), getText(key, "member"))
                       .str());
  const StringRef written = getText(key, "written");
  if (written.empty())
    return "nullptr";
  return formatv(form.data(), formatv("return {0};", written).str());
}

/// Why a key changes nothing; null: it always may.
static std::string makeIdle(const Record *key) {
  std::string body;
  for (const Record *reason : key->getValueAsListOfDefs("idle"))
    body += formatv("if ({0}) return {{{1}, {2}}; ", getText(reason, "when"),
                    quote(getText(reason, "why")),
                    quote(getText(reason, "advice")));
  if (body.empty())
    return "nullptr";
  return formatv(
      "[](const TrainConfig &config) -> IdleReason {{ {0}return {{}; }", body);
}

/// `if (name == "mesh") return setMesh(value);`
static void emitSetter(const Record *option, raw_ostream &os) {
  const StringRef setter = getText(option, "setter");
  if (setter.empty())
    return;
  os << "if (name == " << quote(getText(option, "option")) << ")\n  return "
     << setter << "(value";
  for (StringRef key : option->getValueAsListOfStrings("setterKeys"))
    os << ", " << quote(key);
  os << ");\n";
}

static void emitRow(const Record *key, raw_ostream &os) {
  os << "{" << quote(getText(key, "path"))
     << ", KeyType::" << key->getValueAsDef("type")->getName() << ", "
     << quote(getText(key, "default")) << ", "
     << quote(getText(key, "withoutFile"))
     << ", KeyState::" << getText(key, "state") << ",\n "
     << quote(getText(key, "meaning")) << ",\n " << quote(getText(key, "note"))
     << ", " << quoteWords(key, "choices") << ", " << quoteWords(key, "only")
     << ", " << key->getValueAsInt("most") << ", "
     << quote(getText(key, "option")) << ", "
     << (key->getValueAsBit("isSearched") ? "true" : "false") << ",\n "
     << makeReader(key) << ",\n " << makeWriter(key) << ",\n " << makeIdle(key)
     << "},\n";
}

/// Where each part of a configuration is, and the rows of the tables.
static void emitRows(const RecordKeeper &records, raw_ostream &os) {
  emitSourceFileHeader("Rows of the table of configuration keys", os, records);
  checkUnique(getKeys(records), "path", "path");
  checkUnique(getInOrder(records, "Key"), "option", "option");
  os << "#ifdef GEN_SETTING_PARTS\n#undef GEN_SETTING_PARTS\n";
  for (const Record *part : getInOrder(records, "Part"))
    os << formatv("template <typename Config> static auto find{0}(Config "
                  "&config) {{\n  return {1};\n}\n",
                  part->getName(), getText(part, "pointer"));
  os << "#endif\n#ifdef GEN_SETTING_ROWS\n#undef GEN_SETTING_ROWS\n";
  for (const Record *key : getKeys(records))
    emitRow(key, os);
  os << "#endif\n#ifdef GEN_COMPOUND_OPTIONS\n#undef GEN_COMPOUND_OPTIONS\n";
  for (const Record *option : getInOrder(records, "CompoundOption"))
    emitRow(option, os);
  os << "#endif\n#ifdef GEN_OPTION_SETTERS\n#undef GEN_OPTION_SETTERS\n";
  for (const Record *option : getInOrder(records, "CompoundOption"))
    emitSetter(option, os);
  os << "#endif\n";
}

/// A line of `PLANNED(type, name, parameter, initial, least, most, field)` for
/// each parameter of `#zero.planning` that a key has.
static void emitPlanned(const RecordKeeper &records, raw_ostream &os) {
  emitSourceFileHeader("Settings that a schedule is planned with", os, records);
  for (const Record *key : getKeys(records)) {
    const StringRef parameter = getText(key, "planned");
    if (parameter.empty())
      continue;
    if (!getOptional(key, "part"))
      PrintFatalError(key, "'" + getText(key, "path") +
                               "' is planned with and has no field, wanted "
                               "one that holds its value");
    const StringRef type = getText(key, "memberType");
    os << formatv("PLANNED({0}, {1}, \"{2}\", {3}, {4}, {5}, {6})\n",
                  type == "std::string" ? "::llvm::StringRef" : type,
                  convertToCamelFromSnakeCase(parameter), parameter,
                  getInitial(key),
                  key->getValueAsDef("type")->getValueAsInt("least"),
                  key->getValueAsInt("most"), getText(key, "member"));
  }
  os << "#undef PLANNED\n";
}

static TableGen::Emitter::Opt fields("gen-setting-fields", emitFields,
                                     "Generate the fields of configurations");
static TableGen::Emitter::Opt rows("gen-setting-rows", emitRows,
                                   "Generate the table of configuration keys");
static TableGen::Emitter::Opt planned("gen-planned-settings", emitPlanned,
                                      "Generate what #zero.planning has");
