// Reads the text of a kernel's row. What cannot be read ends the process: rows
// are literals, so that it is found the first time that anybody looks.
#include "program/KernelPattern.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

using namespace zrt;

namespace {

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    if (!part.empty())
      parts.push_back(part);
  return parts;
}

bool takeSuffix(std::string &text, const std::string &suffix) {
  if (text.size() < suffix.size() ||
      text.compare(text.size() - suffix.size(), suffix.size(), suffix))
    return false;
  text.resize(text.size() - suffix.size());
  return true;
}

/// Takes a mark and the number behind it from the end.
std::optional<double> takeBound(std::string &text, const std::string &mark) {
  const size_t at = text.find(mark);
  if (at == std::string::npos)
    return std::nullopt;
  const double bound = std::atof(text.c_str() + at + mark.size());
  text.resize(at);
  return bound;
}

} // namespace

bool zrt::isLaneName(const std::string &element) {
  return element == "T" || element == "U";
}

KernelPattern::KernelPattern(const KernelSchema &schema) {
  std::string text = schema.tensors;
  std::string kinds;
  if (const size_t bar = text.find('|'); bar != std::string::npos) {
    kinds = text.substr(bar + 1);
    text.resize(bar);
  }
  const size_t arrow = text.find("->");
  if (arrow == std::string::npos)
    refuseSchema(schema.name, "has no '->' between operands and results");
  operands = parseTensors(schema.name, text.substr(0, arrow));
  results = parseTensors(schema.name, text.substr(arrow + 2));
  parseAttributes(schema.name, schema.attributes);
  checkRanks(schema.name);
  parseKinds(schema.name, kinds);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

std::vector<KernelPattern::Tensor>
KernelPattern::parseTensors(const char *schema, const std::string &text) {
  std::vector<Tensor> tensors;
  for (const std::string &part : split(text, ' ')) {
    tensors.push_back(parseTensor(schema, part));
    if (tensors.size() > 1 && tensors[tensors.size() - 2].variadic)
      refuseSchema(schema, "has '" + part + "' behind any number of tensors");
    if (tensors.size() > 1 && tensors[tensors.size() - 2].optional &&
        !tensors.back().optional)
      refuseSchema(schema, "has '" + part + "' behind one that may be absent");
  }
  return tensors;
}

KernelPattern::Tensor KernelPattern::parseTensor(const char *schema,
                                                 const std::string &text) {
  const size_t colon = text.find(':'), open = text.find('['),
               close = text.find(']');
  if (colon == std::string::npos || open == std::string::npos ||
      close == std::string::npos || colon > open || open > close)
    refuseSchema(schema, "has '" + text + "', wanted name:type[dimensions]");
  Tensor tensor;
  tensor.name = text.substr(0, colon);
  tensor.optional = takeSuffix(tensor.name, "?");
  tensor.variadic = takeSuffix(tensor.name, "*");
  tensor.isAddend = takeSuffix(tensor.name, "+");
  tensor.element = text.substr(colon + 1, open - colon - 1);
  if (!isLaneName(tensor.element) && tensor.element != "S" &&
      tensor.element != "E" && tensor.element != "any" &&
      !findByName<DataType>(tensor.element))
    refuseSchema(schema, "has the element type '" + tensor.element +
                             "', wanted T, U, S, E, any or a type's name");
  std::string suffix = text.substr(close + 1);
  tensor.strided = takeSuffix(suffix, "&");
  tensor.isBroadcast = takeSuffix(suffix, "^");
  if (!suffix.empty() && suffix[0] == '~')
    tensor.swap = suffix.substr(1);
  for (const std::string &part :
       split(text.substr(open + 1, close - open - 1), ','))
    tensor.dimensions.push_back(parseDimension(part));
  if (!tensor.swap.empty() && tensor.dimensions.size() < 2)
    refuseSchema(schema, "swaps two dimensions of '" + text + "'");
  return tensor;
}

KernelPattern::Dimension KernelPattern::parseDimension(std::string text) {
  Dimension dimension;
  if (size_t at = text.find('@'); at != std::string::npos) {
    dimension.range = text.substr(at + 1);
    text.resize(at);
  }
  if (size_t dots = text.find(".."); dots != std::string::npos) {
    dimension.group = true;
    dimension.rank = text.substr(dots + 2);
    dimension.mayLack = takeSuffix(dimension.rank, "?");
    if (const size_t dash = dimension.rank.find('-');
        dash != std::string::npos) {
      dimension.least = std::atoll(dimension.rank.c_str());
      dimension.most = std::atoll(dimension.rank.c_str() + dash + 1);
      dimension.rank.clear();
    }
    text.resize(dots);
  }
  if (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    dimension.number = std::stoll(text);
    return dimension;
  }
  dimension.name = text;
  if (!dimension.group)
    dimension.letters = split(text, '.');
  return dimension;
}

//===----------------------------------------------------------------------===//
// Attributes and kinds
//===----------------------------------------------------------------------===//

void KernelPattern::parseAttributes(const char *schema,
                                    const std::string &text) {
  const std::map<std::string, AttributeKind> kinds = {
      {"flag", AttributeKind::Flag},
      {"int", AttributeKind::Int},
      {"ints", AttributeKind::Ints},
      {"range", AttributeKind::Range},
      {"real", AttributeKind::Real}};
  for (const std::string &part : split(text, ' ')) {
    const size_t colon = part.find(':');
    std::string kind = colon == std::string::npos ? "" : part.substr(colon + 1);
    const bool optional = takeSuffix(kind, "?");
    const std::optional<double> below = takeBound(kind, "<"),
                                least = takeBound(kind, ">="),
                                above = takeBound(kind, ">");
    std::string letter;
    if (const size_t open = kind.find('['); open != std::string::npos) {
      takeSuffix(kind, "]");
      letter = kind.substr(open + 1);
      kind.resize(open);
    }
    auto found = kinds.find(kind);
    if (found == kinds.end())
      refuseSchema(schema, "has the attribute '" + part +
                               "', wanted key:kind with kind flag, int, ints, "
                               "range or real");
    if (!letter.empty() && !hasLetter(letter))
      refuseSchema(schema, "has the attribute '" + part + "' of no letter");
    attributes.push_back({part.substr(0, colon), found->second,
                          optional || found->second == AttributeKind::Flag,
                          letter, least, above, below});
  }
}

void KernelPattern::checkRanks(const char *schema) const {
  for (const auto *patterns : {&operands, &results})
    for (const Tensor &pattern : *patterns)
      for (const Dimension &group : pattern.dimensions)
        if (!group.rank.empty() && !hasLetter(group.rank) &&
            std::none_of(attributes.begin(), attributes.end(),
                         [&](auto &one) { return one.key == group.rank; }))
          refuseSchema(schema, "has the group '" + group.name + ".." +
                                   group.rank +
                                   "', wanted an attribute or a group's name "
                                   "behind the dots");
}

bool KernelPattern::hasLetter(const std::string &letter) const {
  for (const auto *patterns : {&operands, &results})
    for (const Tensor &pattern : *patterns)
      for (const Dimension &dimension : pattern.dimensions)
        if ((dimension.group && dimension.name == letter) ||
            std::count(dimension.letters.begin(), dimension.letters.end(),
                       letter))
          return true;
  return false;
}

void KernelPattern::parseKinds(const char *schema, const std::string &text) {
  for (const std::string &clause : split(text, ',')) {
    const std::vector<std::string> words = split(clause, ' ');
    for (size_t i = 1; i < words.size(); ++i)
      parseKind(schema, words[0], words[i]);
  }
}

/// `letter` is of the kind `word`, or an operand is linear.
void KernelPattern::parseKind(const char *schema, const std::string &word,
                              std::string letter) {
  if (word == "linear") {
    for (Tensor &operand : operands)
      if (operand.name == letter) {
        operand.isLinear = true;
        return;
      }
    refuseSchema(schema, "has no operand '" + letter + "' to be linear");
  }
  std::vector<Condition> conditions;
  for (size_t mark; (mark = letter.find_last_of("!?")) != std::string::npos;) {
    conditions.push_back({letter.substr(mark + 1), letter[mark] == '?'});
    letter.resize(mark);
  }
  for (const FactorKind kind : {FactorKind::Parallel, FactorKind::Sum,
                                FactorKind::Combined, FactorKind::OwnOrder})
    if (word == nameOf(kind) && hasLetter(letter)) {
      kinds.push_back({kind, letter, conditions});
      return;
    }
  refuseSchema(schema, "has '" + word + " " + letter +
                           "', wanted parallel, sum, combined or own and a "
                           "letter");
}
