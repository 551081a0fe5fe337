//===- Output.cpp - what the tools write ----------------------------------===//

#include "Output.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstdlib>
#include <unistd.h>

using namespace mlir;

static const char *toolName;

/// With advice, where it helps.
static std::string describe(std::error_code code) {
  return code == std::errc::file_too_large
             ? code.message() +
                   ": raise the limit on the size of files (ulimit -f)"
             : code.message();
}

/// Runs before the stream's destructor, which would end the process without
/// saying what could not be written.
static void finishStandardOutput() {
  llvm::raw_fd_ostream &out = llvm::outs();
  out.flush();
  if (!out.has_error())
    return;
  std::error_code error = out.error();
  out.clear_error();
  if (error == std::errc::broken_pipe)
    return;
  llvm::WithColor::error(llvm::errs(), toolName)
      << "cannot write to standard output: " << describe(error) << "\n";
  _exit(1);
}

void zero::checkStandardOutput(const char *tool) {
  toolName = tool;
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  llvm::outs(); // before the handler, so that it is destroyed after it
  std::atexit(finishStandardOutput);
}

LogicalResult zero::fail(const llvm::Twine &message) {
  // What was printed stands before the error, whole.
  llvm::outs().flush();
  llvm::WithColor::error(llvm::errs(), toolName) << message << "\n";
  return failure();
}

std::string zero::writeBytes(StringRef path, StringRef bytes) {
  if (path == "-") { // see finishStandardOutput
    llvm::outs() << bytes;
    return "";
  }
  std::error_code code;
  llvm::ToolOutputFile file(path, code, llvm::sys::fs::OF_None);
  if (!code) {
    file.os() << bytes;
    file.os().flush();
    code = file.os().error();
    file.os().clear_error();
  }
  if (code)
    return ("cannot write '" + path + "': " + describe(code)).str();
  file.keep();
  return "";
}

LogicalResult zero::checkRepeated(llvm::cl::SubCommand &command) {
  for (const auto &[name, option] : llvm::cl::getRegisteredOptions(command))
    if (option->getNumOccurrences() > 1 &&
        option->getNumOccurrencesFlag() == llvm::cl::Optional)
      return fail("--" + name + " is given more than once; give it once");
  return success();
}

LogicalResult zero::checkWritable(StringRef path) {
  namespace fs = llvm::sys::fs;
  bool isThere = fs::exists(path);
  int file = -1;
  if (std::error_code code =
          fs::openFileForWrite(path, file, fs::CD_OpenAlways, fs::OF_Append))
    return zero::fail("cannot write '" + path + "': " + code.message());
  fs::closeFile(file);
  if (!isThere)
    fs::remove(path);
  return success();
}

LogicalResult zero::writeTextFile(StringRef path, StringRef text) {
  std::string error = writeBytes(path, text);
  return error.empty() ? success() : zero::fail(error);
}

LogicalResult
zero::writeJsonFile(StringRef path,
                    llvm::function_ref<void(llvm::json::OStream &)> write,
                    unsigned indent) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os, indent);
  write(json);
  os << "\n";
  return writeTextFile(path, text);
}

static bool isFile(const zero::NamedFile &file) {
  return !file.path.empty() && file.path != "-";
}

/// Of files that are there; of others, whether they have one name.
static bool areOne(StringRef a, StringRef b) {
  return a == b ||
         (llvm::sys::fs::is_regular_file(a) && llvm::sys::fs::equivalent(a, b));
}

std::string zero::findReplaced(ArrayRef<NamedFile> outputs,
                               ArrayRef<NamedFile> inputs) {
  for (const NamedFile *output = outputs.begin(); output != outputs.end();
       ++output) {
    if (!isFile(*output))
      continue;
    std::string path = " '" + output->path.str() + "'";
    for (const NamedFile &input : inputs)
      if (isFile(input) && areOne(output->path, input.path))
        return output->name + path + " would replace " + input.name +
               ": name another file";
    for (const NamedFile &other : ArrayRef(outputs.begin(), output))
      if (isFile(other) && areOne(output->path, other.path))
        return std::string(other.name) + " and " + output->name +
               " are one file," + path + ": name two";
  }
  return "";
}
