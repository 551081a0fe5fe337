// What reading a program says of numbers and shapes that none has.
#include "program/Program.h"

#include <gtest/gtest.h>

#include <initializer_list>

using namespace zrt;

namespace {

/// With an input, and a command of a kernel.
Program small() {
  Program program;
  Input input;
  input.name = "x";
  input.type = {DataType::F32, {2, 3}};
  program.inputs.push_back(input);
  program.kernels.emplace_back();
  program.micro.commands.emplace_back();
  return program;
}

/// The tables, and where what is wrong was read.
TEST(DamagedProgram, NumbersThatNoTableHasAreRefused) {
  const std::string whole = serialize(small());
  std::string said;
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole, error;
    damaged[at] = '\x7f';
    Program back;
    if (!parse(damaged.data(), damaged.size(), back, error))
      said += error + "\n";
  }
  const std::string size = " of " + std::to_string(whole.size()) + ": ";
  for (const std::string &wanted : std::initializer_list<std::string>{
           "program: at byte ", size,
           "found a list of 127 entries, more than "
           "the bytes left",
           "found enumeration value 127, which this version does not have"})
    EXPECT_NE(said.find(wanted), std::string::npos) << wanted;
}

TEST(DamagedProgram, ShapesAreChecked) {
  const auto refusal = [](std::vector<int64_t> shape) {
    Program program = small(), back;
    program.inputs.at(0).type.shape = std::move(shape);
    std::string bytes = serialize(program), error;
    EXPECT_FALSE(parse(bytes.data(), bytes.size(), back, error));
    return error;
  };
  const int64_t much = int64_t(1) << 32;
  const std::string wrong =
      "program: input x has a negative size or overflows 64 bits";
  EXPECT_EQ(refusal({2, -1}), wrong);
  EXPECT_EQ(refusal({much, much}), wrong);
  EXPECT_EQ(refusal({much, much / 4}),
            "program: input x has more bytes than 64 bits count");
}

} // namespace
