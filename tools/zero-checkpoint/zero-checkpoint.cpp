//===- zero-checkpoint.cpp - checkpoints of runs, from outside ------------===//
//
//   zero-checkpoint list run
//   zero-checkpoint export run -o model.safetensors --type bf16
//
// One file a mode; this one reads the options and chooses. Exit codes: 0; 1
// where something is wrong or differs; 2 for wrong options.
//
//===----------------------------------------------------------------------===//

#include "../Version.h"
#include "Modes.h"

#include "program/ByteCount.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <csignal>
#include <exception>
#include <iostream>

using namespace zrt;

namespace {

struct Options {
  std::string path, second, type = "f32";
  ExportOptions exported;
};

CLI::App *addMode(CLI::App &app, const char *name, const char *what,
                  Options &options) {
  CLI::App *mode = app.add_subcommand(name, what);
  mode->add_option("checkpoint", options.path,
                   "a folder that was given to --checkpoint, or one of the "
                   "checkpoints in it; compare and export take the newest "
                   "complete one of several")
      ->required();
  return mode;
}

void addExport(CLI::App &app, Options &options) {
  CLI::App *mode =
      addMode(app, "export",
              "write the parameters as whole safetensors tensors", options);
  mode->add_option("-o", options.exported.output, "the file to write")
      ->type_name("FILE.safetensors")
      ->required();
  mode->add_option("--type", options.type,
                   "f32, bf16 or f16; values are rounded to nearest (default "
                   "f32)")
      ->type_name("TYPE")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}));
  mode->add_option("--max-shard-bytes", options.exported.mostBytes,
                   "write several files of at most so many bytes of tensors, "
                   "and an index, as Hugging Face's libraries read them; units "
                   "are KiB, MiB, GiB")
      ->type_name("BYTES")
      ->transform(CLI::Validator(
          [](std::string &text) {
            uint64_t bytes = 0;
            const std::string problem = readByteCount(text, bytes);
            if (problem.empty())
              text = std::to_string(bytes);
            return problem;
          },
          ""));
}

int act(const CLI::App &app, Options &options) {
  if (app.got_subcommand("list")) {
    listCheckpoints(options.path, std::cout);
    return 0;
  }
  if (app.got_subcommand("verify"))
    return verifyCheckpoints(options.path, std::cout) ? 0 : 1;
  if (app.got_subcommand("compare"))
    return compareCheckpoints(options.path, options.second, std::cout) ? 0 : 1;
  options.exported.checkpoint = options.path;
  options.exported.type = options.type == "bf16"  ? TensorDataType::BF16
                          : options.type == "f16" ? TensorDataType::F16
                                                  : TensorDataType::F32;
  exportWeights(options.exported, std::cout);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  // The limit on the size of files is an error of the export.
  std::signal(SIGXFSZ, SIG_IGN);
  Options options;
  CLI::App app("Lists, verifies, compares and exports checkpoints of runs.");
  addMode(app, "list", "print a line for each checkpoint of a run", options);
  addMode(app, "verify", "read all files and check them against the manifests",
          options);
  addMode(app, "compare",
          "print where two checkpoints differ, whatever ranks have written "
          "them",
          options)
      ->add_option("second", options.second, "the other one")
      ->required();
  addExport(app, options);
  app.set_version_flag("--version", zero_tools::versionText("zero-checkpoint"));
  app.require_subcommand(1);
  try {
    app.parse(argc, argv);
    const int code = act(app, options);
    std::cout << std::flush;
    if (std::cout)
      return code;
    std::cerr << "error: standard output cannot be written" << std::endl;
  } catch (const CLI::Success &help) {
    return app.exit(help);
  } catch (const CLI::ParseError &error) {
    std::cerr << "error: " << error.what() << std::endl;
    return 2;
  } catch (const std::exception &error) {
    std::cerr << "error: " << error.what() << std::endl;
  }
  return 1;
}
