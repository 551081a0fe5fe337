// A file of PTX: what stands outside of kernels, and where these are.
#include "Lexer.h"
#include "Reader.h"

using namespace zrt::ptx;

/// Skips the body that was opened, and gives its text.
static std::string_view takeBody(Lexer &lexer, std::string_view text) {
  const size_t begin = lexer.position();
  lexer.skipTo('{', '}');
  return text.substr(begin, lexer.position() - 1 - begin);
}

Module::Module(std::string name, std::string content)
    : file(std::move(name)), text(std::move(content)) {
  Lexer lexer(file, text, 1);
  while (!lexer.isDone()) {
    const std::string word(lexer.next());
    if (word == ".version" || word == ".address_size" || word == ".target") {
      lexer.next();
    } else if (word == ".entry") {
      Pending kernel;
      const std::string own(lexer.next());
      const size_t begin = lexer.position();
      kernel.headLine = lexer.lineNumber();
      while (!lexer.take("{"))
        lexer.next();
      kernel.head =
          std::string_view(text).substr(begin, lexer.position() - 1 - begin);
      kernel.bodyLine = lexer.lineNumber();
      kernel.body = takeBody(lexer, text);
      pending[own] = kernel;
    } else if (word == ".visible" || word == ".weak" || word == ".extern") {
      continue;
    } else if (!readVariable(lexer, word, variables)) {
      lexer.fail("'" + word + "' is not understood");
    }
  }
}

Entry *Module::find(const std::string &name) {
  const auto known = read.find(name);
  if (known != read.end())
    return known->second.get();
  const auto found = pending.find(name);
  if (found == pending.end())
    return nullptr;
  auto entry = std::make_unique<Entry>();
  entry->file = file;
  entry->name = name;
  readKernel(*entry, found->second, variables);
  return (read[name] = std::move(entry)).get();
}

std::vector<std::string> Module::names() const {
  std::vector<std::string> names;
  for (const auto &each : pending)
    names.push_back(each.first);
  return names;
}

bool Module::wasRun(const std::string &name) const {
  const auto known = read.find(name);
  return known != read.end() && known->second->wasRun;
}

std::vector<Entry *> Module::entriesRead() const {
  std::vector<Entry *> entries;
  for (const auto &each : read)
    entries.push_back(each.second.get());
  return entries;
}
