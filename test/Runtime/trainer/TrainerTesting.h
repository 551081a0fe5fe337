// Whole runs of hand-made programs, through the flags.
#ifndef ZERO_TEST_RUNTIME_TRAINER_TRAINERTESTING_H
#define ZERO_TEST_RUNTIME_TRAINER_TRAINERTESTING_H

#include "../TemporaryFile.h"
#include "../engine/BackendUnderTest.h"
#include "../engine/FakeProgram.h"

#include "trainer/TrainerMain.h"

#include <nlohmann/json.hpp>

#include <sstream>
#include <string>
#include <vector>

namespace zrt::test {

using Json = nlohmann::json;

struct Outcome {
  int code;
  std::string out, errors;
};

inline Outcome runWith(const Program &program, const FakeKernels &kernels,
                       std::vector<std::string> arguments,
                       const EmbeddedProgram &embedded = {}) {
  arguments.insert(arguments.begin(), "train");
  std::vector<char *> argv;
  for (std::string &argument : arguments)
    argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::ostringstream out, errors;
  const int code =
      runTrainer(int(arguments.size()), argv.data(), program, embedded,
                 backendsUnderTest(kernels.maker()), out, errors);
  return {code, out.str(), errors.str()};
}

inline Outcome runWith(const Program &program,
                       std::vector<std::string> arguments) {
  return runWith(program, makeFakeKernels(), std::move(arguments));
}

inline std::string someText() {
  std::string text;
  for (int i = 0; i < 2000; ++i)
    text += char('a' + i * i % 26);
  return text;
}

inline std::vector<Json> linesOf(const TemporaryFile &file) {
  std::vector<Json> lines;
  std::istringstream stream(file.content());
  for (std::string line; std::getline(stream, line);)
    lines.push_back(Json::parse(line));
  return lines;
}

inline bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace zrt::test

#endif // ZERO_TEST_RUNTIME_TRAINER_TRAINERTESTING_H
