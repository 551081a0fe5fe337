#include "Reader.h"

#include <algorithm>
#include <array>

using namespace zrt::ptx;

namespace {

constexpr size_t roundUp(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

const std::map<std::string_view, int32_t> &specials() {
  static const std::map<std::string_view, int32_t> all = {
      {"%tid.x", kThread},          {"%tid.y", kThread + 1},
      {"%tid.z", kThread + 2},      {"%ntid.x", kBlockSize},
      {"%ntid.y", kBlockSize + 1},  {"%ntid.z", kBlockSize + 2},
      {"%ctaid.x", kBlock},         {"%ctaid.y", kBlock + 1},
      {"%ctaid.z", kBlock + 2},     {"%nctaid.x", kGridSize},
      {"%nctaid.y", kGridSize + 1}, {"%nctaid.z", kGridSize + 2},
      {"%laneid", kLaneNumber},     {"%warpid", kWarpNumber},
      {"%lanemask_lt", kLanesBelow}};
  return all;
}

/// The code of one kernel while it is read.
class Reader {
public:
  Reader(Entry &entry, const Pending &text, Variables variables)
      : entry(entry), variables(std::move(variables)),
        lexer(entry.file, text.body, text.bodyLine) {
    readHead(text);
    while (!lexer.isDone())
      readStatement();
    finish();
  }

private:
  /// Of operand `index` a value that is known only at the end.
  struct Fixup {
    size_t index;
    std::string label; ///< empty: the launch's shared memory
    uint32_t line;
  };

  void readHead(const Pending &text);
  void readStatement();
  void readRegisters();
  void readInstruction(std::string_view word);
  size_t readOperand();
  void readAddress();
  void addOperand(std::string_view word);
  void addName(std::string_view name);
  void finish();

  Entry &entry;
  Variables variables;
  Lexer lexer;
  std::map<std::string, uint64_t, std::less<>> parameters; ///< offsets
  /// Of registers that are declared by number, "%r<5>": the first place.
  std::map<std::string, int32_t, std::less<>> registers, families;
  std::map<std::string, uint32_t, std::less<>> labels;
  std::vector<Fixup> fixups;
  std::vector<size_t> firsts; ///< of each instruction's operands
};

void Reader::readHead(const Pending &text) {
  Lexer head(entry.file, text.head, text.headLine);
  while (!head.isDone()) {
    const std::string_view word = head.next();
    if (word == ".param") {
      size_t alignment = 1;
      if (head.take(".align"))
        alignment = size_t(zrt::ptx::bitsOf(head, head.next()));
      size_t bytes = bytesOfType(head, head.next());
      alignment = std::max(alignment, bytes);
      if (head.take(".ptr") && head.take(".align")) // of what it points to
        head.next();
      const std::string name(head.next());
      if (head.peek() == "[") {
        head.next();
        bytes *= size_t(zrt::ptx::bitsOf(head, head.next()));
        head.want("]");
      }
      const size_t offset = roundUp(entry.parameterBytes, alignment);
      parameters[name] = offset;
      entry.parameters.push_back({offset, bytes});
      entry.parameterBytes = offset + bytes;
    } else if (word == ".maxntid") {
      entry.mostThreads = unsigned(zrt::ptx::bitsOf(head, head.next()));
      for (int i = 0; i < 2 && !head.isDone() && head.peek() == ","; ++i) {
        head.next();
        entry.mostThreads *= unsigned(zrt::ptx::bitsOf(head, head.next()));
      }
    } else if (word == ".minnctapersm") {
      head.next();
    } else if (word != "(" && word != ")" && word != ",") {
      head.fail("'" + std::string(word) + "' is not understood");
    }
  }
}

void Reader::readStatement() {
  const std::string_view word = lexer.next();
  if (word == ";" || word == "{" || word == "}")
    return; // what a block declares keeps its place behind it
  if (word == ".reg")
    return readRegisters();
  if (word == ".pragma")
    return lexer.skipStatement();
  if (readVariable(lexer, word, variables))
    return;
  if (lexer.peek() == ":") {
    lexer.next();
    labels[std::string(word)] = uint32_t(entry.code.size());
    return;
  }
  readInstruction(word);
}

void Reader::readRegisters() {
  lexer.next(); // of any type they have 64 bits
  do {
    const std::string name(lexer.next());
    if (!lexer.take("<")) {
      registers[name] = entry.places++;
      continue;
    }
    families[name] = entry.places;
    entry.places += int32_t(zrt::ptx::bitsOf(lexer, lexer.next()));
    lexer.want(">");
  } while (lexer.take(","));
  lexer.want(";");
}

/// Operands one after another, those of vectors, too.
void Reader::readInstruction(std::string_view word) {
  Instruction made;
  made.line = lexer.lineNumber();
  firsts.push_back(entry.operands.size());
  if (word == "@") {
    made.unless = lexer.take("!");
    addOperand(lexer.next());
    made.guard = entry.operands.back().place;
    entry.operands.pop_back();
    word = lexer.next();
  }
  std::string opcode(word);
  std::vector<size_t> sizes; // of each operand, in registers
  while (!lexer.take(";")) {
    sizes.push_back(readOperand());
    lexer.take(",");
  }
  if (sizes.size() == 2 && opcode.compare(0, 4, "mov.") == 0) {
    if (sizes[0] > 1)
      opcode = "unpack." + opcode.substr(4) + "." + std::to_string(sizes[0]);
    else if (sizes[1] > 1)
      opcode = "pack." + opcode.substr(4) + "." + std::to_string(sizes[1]);
  }
  const auto found = opcodes().find(opcode);
  if (found == opcodes().end())
    lexer.fail("the instruction '" + opcode +
               "' is unknown; it belongs into test/Device/Ptx");
  if (found->second.meeting == Meeting::Barrier &&
      (sizes.size() != 1 || entry.operands.back().place >= 0))
    lexer.fail("a barrier of some threads of a block is not modelled");
  made.run = found->second.run;
  made.meeting = found->second.meeting;
  made.text = found->first.c_str();
  entry.code.push_back(made);
}

size_t Reader::readOperand() {
  const std::string_view word = lexer.next();
  if (word == "[") {
    readAddress();
    return 1;
  }
  if (word == "{") {
    size_t count = 0;
    for (; !lexer.take("}"); ++count) {
      addOperand(lexer.next());
      lexer.take(",");
    }
    return count;
  }
  addOperand(word);
  if (!lexer.take("|"))
    return 1;
  addOperand(lexer.next());
  return 2;
}

void Reader::readAddress() {
  addOperand(lexer.next());
  const size_t own = entry.operands.size() - 1;
  if (lexer.take("+")) {
    addOperand(lexer.next());
    const Operand by = entry.operands.back();
    entry.operands.pop_back();
    entry.operands[own].value += by.value;
  }
  lexer.want("]");
}

void Reader::addOperand(std::string_view word) {
  if (word == "-") {
    entry.operands.push_back({-1, 0 - zrt::ptx::bitsOf(lexer, lexer.next())});
    return;
  }
  if (word[0] == '%' || registers.count(word)) {
    const auto special = specials().find(word);
    if (special != specials().end())
      return entry.operands.push_back({special->second, 0});
    const auto own = registers.find(word);
    if (own != registers.end())
      return entry.operands.push_back({own->second, 0});
    const size_t digits = word.find_last_not_of("0123456789") + 1;
    const auto family = families.find(word.substr(0, digits));
    if (family == families.end() || digits == word.size())
      lexer.fail("the register '" + std::string(word) + "' is unknown");
    const uint64_t number = zrt::ptx::bitsOf(lexer, word.substr(digits));
    return entry.operands.push_back({family->second + int32_t(number), 0});
  }
  if (word[0] >= '0' && word[0] <= '9')
    return entry.operands.push_back({-1, zrt::ptx::bitsOf(lexer, word)});
  addName(word);
}

/// A parameter, memory, or a label. Memory of the file gets its place in the
/// kernels that name it.
void Reader::addName(std::string_view name) {
  const size_t index = entry.operands.size();
  entry.operands.emplace_back();
  const auto parameter = parameters.find(name);
  if (parameter != parameters.end()) {
    entry.operands[index].value = parameter->second;
    return;
  }
  const auto found = variables.find(name);
  if (found == variables.end()) {
    if (name != "_")
      fixups.push_back({index, std::string(name), lexer.lineNumber()});
    return;
  }
  Variable &variable = found->second;
  if (variable.isOfLaunch) {
    fixups.push_back({index, "", lexer.lineNumber()});
    return;
  }
  if (!variable.isPlaced) {
    size_t &whole = variable.space == Variable::Shared ? entry.sharedBytes
                                                       : entry.localBytes;
    variable.place = roundUp(whole, variable.alignment);
    whole = size_t(variable.place) + variable.bytes;
    variable.isPlaced = true;
  }
  entry.operands[index].value = variable.place;
}

void Reader::finish() {
  entry.sharedBytes = roundUp(entry.sharedBytes, 16);
  entry.localBytes = roundUp(entry.localBytes, 16);
  for (const Fixup &each : fixups) {
    const auto label = labels.find(each.label);
    if (label == labels.end() && !each.label.empty())
      throw Unreadable(entry.file + ":" + std::to_string(each.line) + ": '" +
                       each.label + "' is declared nowhere");
    entry.operands[each.index].value +=
        each.label.empty() ? entry.sharedBytes : label->second;
  }
  for (size_t i = 0; i < firsts.size(); ++i)
    entry.code[i].operands = entry.operands.data() + firsts[i];
}

} // namespace

void zrt::ptx::readKernel(Entry &entry, const Pending &text,
                          Variables variables) {
  Reader(entry, text, std::move(variables));
}
