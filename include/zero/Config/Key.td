//===- Key.td - what the record of a configuration key says ---*- tablegen -*-===//
//
// A key is one record. From it follow the field of `TrainConfig` with its initial
// value, the reader, the writer, the check of its range, the option of
// `zero-pipeline`, the remark where the key changes nothing, its row of
// docs/Configuration.md, the parameter of `#zero.planning` and whether a search may
// vary it. What relates keys to each other is code in lib/Config.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_CONFIG_KEY_TD
#define ZERO_CONFIG_KEY_TD

include "zero/Dialect/Zero/SharedEnums.td"

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// The type of a key's value: an enumerator of `KeyType`, which has the name of the
/// record. `cpp` is the type of the field.
class KeyType<string cppType = "", int leastValue = 0> {
  string cpp = cppType;
  int least = leastValue;
}
def Object : KeyType;                         // a block whose keys are records, too
def Block : KeyType;                          // a block whose keys are not looked at
def Bool : KeyType<"bool">;                   // true or false
def Size : KeyType<"int64_t", 0>;             // integer, 0 or more
def Count : KeyType<"int64_t", 1>;            // integer, 1 or more
def Integer : KeyType<"int64_t">;             // any integer
def NonNegative : KeyType<"double">;          // number, 0 or more
def Positive : KeyType<"double", 1>;          // number above 0
def Fraction : KeyType<"double">;             // number in [0, 1)
def Betas : KeyType;                          // two numbers in [0, 1)
def Sizes : KeyType<"std::vector<int64_t>">;  // array of integers, 0 or more
def Texts : KeyType;                           // array of strings
def Text : KeyType<"std::string">;            // any string
def Choice : KeyType<"std::string">;          // one of `choices`
def Any : KeyType;                            // anything

/// The words that a file writes for values of the enumeration `name` of C++.
class WordList<string enumName, list<string> enumWords> {
  string name = enumName;
  list<string> words = enumWords;
}
/// An enumeration that only configurations have.
class Words<string enumName, list<string> enumWords> : WordList<enumName, enumWords>;

/// The names of cases, found by their symbols.
class CaseNames<Zero_RuntimeEnumBase shared, list<string> symbols> {
  list<string> names = !foreach(symbol, symbols, !head(!foreach(
      one, !filter(one, shared.runtimeCases, !eq(one.symbol, symbol)), one.str)));
}
/// Cases of an enumeration of programs, which `parse<function>` reads and
/// `stringify<function>` writes.
class SharedWords<string functionName, Zero_RuntimeEnumBase shared,
                  list<string> symbols,
                  list<string> enumWords = CaseNames<shared, symbols>.names>
    : WordList<"zrt::" # shared.runtimeClass, enumWords> {
  string function = functionName;
  list<string> cases = symbols;
}

/// A structure of a configuration, and where it is in `TrainConfig &config`: a
/// pointer, null where the configuration has no such part.
class Part<string structure, code place> {
  string name = structure;
  code pointer = place;
}

/// A condition on `const TrainConfig &config`, and why a key changes nothing where it
/// holds. With advice, an option that changes nothing is an error which gives it.
class Reason<code condition, string text, string whatToDo = ""> {
  code when = condition;
  string why = text;
  string advice = whatToDo;
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

/// A key: its path, in which `*` stands for a name that the user chooses; the JSON
/// text of the value that an absent key has; and what it says, a sentence without a
/// full stop. The classes below add to a record what differs from this.
class Key<string keyPath, KeyType keyType, string keyDefault, string keyMeaning> {
  string path = keyPath;
  KeyType type = keyType;
  string default = keyDefault;
  string meaning = keyMeaning;

  string state = "Supported";
  string note = "";
  list<string> choices = [];
  list<string> only = [];
  int most = 9223372036854775807;
  string withoutFile = default;
  string initial = withoutFile;

  Part part = ?;
  string member = "";
  string memberType = keyType.cpp;
  WordList words = ?;
  code written = "";

  string option = "";
  string planned = "";
  bit isSearched = false;
  list<Reason> idle = [];
}

/// Accepted; nothing depends on it, for this reason, or the first of `reasons` that
/// holds: what is true of one stage need not be of another.
class NoEffect<string why, list<Reason> reasons = []> {
  string state = "NoEffect";
  string note = why;
  list<Reason> idle = reasons;
}
/// Only the default is accepted: the reason, and what to do instead.
class Refused<string whyAndAdvice> {
  string state = "Refused";
  string note = whyAndAdvice;
}
/// The values of a `Choice`.
class OneOf<list<string> values> { list<string> choices = values; }
/// The types of optimizers or schedules that have the key; otherwise all have it.
class Of<list<string> types> { list<string> only = types; }
/// The largest value.
class AtMost<int value> { int most = value; }
/// The value, as JSON, that is meant where there is no file: small buckets and nothing
/// kept whole, which is what a reader of a schedule wants to see.
class WithoutFile<string value> { string withoutFile = value; }

/// The initial value of the field, if it is not that of an absent key: for a key
/// without a default, the value that its absence implies.
class Initially<string value> { string initial = value; }

/// The field that holds the value. It is written where its part is there, unless the
/// key changes nothing and the value is a default.
class Field<Part owner, string name> {
  Part part = owner;
  string member = name;
}
/// The field that holds the value of a `Choice`, as an enumeration. In an optional
/// field: nothing if the key is absent.
class WordField<Part owner, string name, WordList wordsOfKey> : Field<owner, name> {
  WordList words = wordsOfKey;
  list<string> choices = wordsOfKey.words;
  string memberType = wordsOfKey.name;
}
class OptionalWordField<Part owner, string name, WordList wordsOfKey>
    : WordField<owner, name, wordsOfKey> {
  string memberType = "std::optional<" # wordsOfKey.name # ">";
}
/// The expression on `const TrainConfig &config` that is written for a key
/// without a field: a `json::Value`, null for nothing.
class Written<code value> { code written = value; }

/// The option of `zero-pipeline` that stands for the key.
class Option<string name> { string option = name; }
/// The parameter of `#zero.planning` that has the field's value: passes of a schedule
/// read it.
class Planned<string parameter> { string planned = parameter; }
/// A key that a search of plans may vary, if a file or an option does not give
/// it.
class Searched { bit isSearched = true; }
/// The conditions under which the key changes nothing; the first one that holds
/// is reported.
class Idle<list<Reason> reasons> { list<Reason> idle = reasons; }

/// An option of `zero-pipeline` that stands for several keys, or for a key in another
/// form. A function of lib/Config/Options.cpp sets those keys; without one, whoever
/// reads the keys asks for the option.
class CompoundOption<string optionName, KeyType optionType, string optionMeaning,
                     list<string> values = []>
    : Key<optionName, optionType, "null", optionMeaning> {
  string option = optionName;
  list<string> choices = values;
  string setter = "";
  list<string> setterKeys = [];
}
/// The function that sets the keys, and those that it is told.
class Sets<string function, list<string> keys = []> {
  string setter = function;
  list<string> setterKeys = keys;
}

#endif // ZERO_CONFIG_KEY_TD
