// Token files, the order of samples, and their errors.
#include "../TemporaryFile.h"
#include "../engine/FakeProgram.h"
#include "DataTesting.h"

#include "data/Batches.h"
#include "data/Permutation.h"
#include "data/TokenFile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

using namespace zrt;
using namespace zrt::test;

namespace {

constexpr int64_t kLength = 4;

std::vector<Input> tokenInputs(int64_t samples) {
  std::vector<Input> inputs;
  for (const char *name : {"tokens", "targets"}) {
    Input input;
    input.name = name;
    input.type = {DataType::I32, {samples, kLength}};
    inputs.push_back(input);
  }
  return inputs;
}

DataOptions dataOptions(const std::string &path, double fraction = 0) {
  DataOptions options;
  options.path = path;
  options.validationFraction = fraction;
  return options;
}

TEST(Permutation, IsABijection) {
  for (uint64_t count : {1, 2, 3, 4, 5, 16, 17, 1000, 4097})
    for (uint64_t key : {0, 1, 12345}) {
      std::vector<bool> seen(count);
      for (uint64_t i = 0; i < count; ++i) {
        const uint64_t to = permute(i, count, key);
        ASSERT_LT(to, count);
        ASSERT_FALSE(seen[to]);
        seen[to] = true;
      }
    }
  EXPECT_LT(permute(7, uint64_t(1) << 63, 5), uint64_t(1) << 63);
}

TEST(Permutation, DependsOnTheKey) {
  int equal = 0;
  for (uint64_t i = 0; i < 1000; ++i)
    equal += permute(i, 1000, 1) == permute(i, 1000, 2);
  EXPECT_LT(equal, 20);
}

TEST(TokenData, TargetsAreTheNextTokens) {
  std::string text;
  for (int i = 0; i < 100; ++i)
    text += char(i);
  const TemporaryFile file(".txt", text);
  const std::vector<Input> inputs = tokenInputs(2);
  const Data data = openData(dataOptions(file.path()), inputs);
  EXPECT_EQ(data.training->tokensPerSample(), uint64_t(kLength));
  std::vector<int32_t> tokens(8), targets(8);
  void *addresses[] = {tokens.data(), targets.data()};
  std::set<int32_t> starts;
  for (uint64_t epoch = 0; epoch < 8; ++epoch) {
    data.training->read(epoch, 3, 1, addresses);
    for (int64_t i = 0; i < kLength; ++i) {
      EXPECT_EQ(tokens[4 + i], tokens[4] + i);
      EXPECT_EQ(targets[4 + i], tokens[4 + i] + 1);
    }
    starts.insert(tokens[4]);
  }
  // Epochs cut at different places.
  EXPECT_GT(starts.size(), 1u);
}

TEST(TokenData, KeepsOneWindowForCuttingElsewhere) {
  const TemporaryFile file(".txt", std::string(4 * kLength + 1, 'x'));
  const Data data = openData(dataOptions(file.path()), tokenInputs(1));
  EXPECT_EQ(data.training->samples(), 3u);
  const TemporaryFile least(".txt", std::string(kLength + 1, 'x'));
  EXPECT_EQ(
      openData(dataOptions(least.path()), tokenInputs(1)).training->samples(),
      1u);
}

TEST(TokenData, ReadsBothKindsOfBin) {
  std::vector<uint16_t> ids;
  for (int i = 0; i < 20; ++i)
    ids.push_back(uint16_t(50000 + i));
  std::vector<uint32_t> header(256);
  header[0] = 20240520;
  header[1] = 1;
  header[2] = 20;
  const TemporaryFile raw(".bin", bytesOf(ids));
  const TemporaryFile withHeader(".bin", bytesOf(header) + bytesOf(ids));
  for (const TemporaryFile *file : {&raw, &withHeader}) {
    const TokenFile tokens(file->path());
    EXPECT_EQ(tokens.size(), 20u);
    std::vector<int32_t> found(3);
    tokens.read(17, 3, found.data());
    EXPECT_EQ(found, (std::vector<int32_t>{50017, 50018, 50019}));
    EXPECT_FALSE(tokens.isText());
  }
}

/// A header of llm.c for `count` ids.
std::vector<uint32_t> headerOf(uint32_t magic, uint32_t version,
                               uint32_t count) {
  std::vector<uint32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = count;
  return header;
}

/// What opening a file of these bytes as `format` throws, without its name.
std::string problemOf(const std::string &suffix, const std::string &bytes,
                      TokenFormat format = TokenFormat::ByName) {
  const TemporaryFile file(suffix, bytes);
  std::string text = messageOf([&] { TokenFile tokens(file.path(), format); });
  const size_t at = text.find(file.path());
  return at == std::string::npos ? text
                                 : text.substr(at + file.path().size() + 2);
}

TEST(TokenData, ReadsWideIds) {
  const std::vector<uint32_t> ids = {1, 100000, 128255};
  const TemporaryFile withHeader(".bin", bytesOf(headerOf(20240801, 7, 3)) +
                                             bytesOf(ids));
  const TemporaryFile raw(".data", bytesOf(ids));
  for (const TokenFile &tokens : {TokenFile(withHeader.path()),
                                  TokenFile(raw.path(), TokenFormat::U32)}) {
    EXPECT_EQ(tokens.size(), 3u);
    std::vector<int32_t> found(2);
    tokens.read(1, 2, found.data());
    EXPECT_EQ(found, (std::vector<int32_t>{100000, 128255}));
    EXPECT_EQ(tokens.remark(), "");
  }
  const TemporaryFile large(".data", bytesOf<uint32_t>({0, 0x80000000}));
  const TokenFile tokens(large.path(), TokenFormat::U32);
  std::vector<int32_t> found(2);
  EXPECT_EQ(messageOf([&] { tokens.read(0, 2, found.data()); }),
            "'" + large.path() +
                "': token 1 has id 2147483648, wanted at most 2147483647");
}

TEST(TokenData, NothingIsGuessedSilently) {
  const TemporaryFile raw(".bin", bytesOf<uint16_t>({1, 2, 3}));
  EXPECT_EQ(TokenFile(raw.path()).remark(),
            "'" + raw.path() +
                "' has no header and is read as 16-bit token ids; "
                "--data-format says what it holds");
  EXPECT_EQ(TokenFile(raw.path(), TokenFormat::U16).remark(), "");
  EXPECT_TRUE(TokenFile(raw.path(), TokenFormat::Text).isText());
  EXPECT_EQ(TokenFile(raw.path(), TokenFormat::Text).size(), 6u);
  EXPECT_EQ(tokenFormatOf("llm.c"), TokenFormat::LlmC);
  EXPECT_EQ(messageOf([] { tokenFormatOf("uint8"); }),
            "the data format 'uint8' is none of text, uint16, uint32, llm.c");
}

TEST(TokenData, RefusesHeadersThatDoNotFit) {
  const std::string ids = bytesOf<uint16_t>({1, 2, 3});
  const std::string header = bytesOf(headerOf(20240520, 1, 3));
  EXPECT_EQ(problemOf(".bin", (header + ids).substr(0, 700)),
            "ends within its llm.c header: it has 700 of 1024 bytes");
  EXPECT_EQ(problemOf(".bin", header + ids + "x"),
            "announces 3 tokens, 6 bytes, but holds 7 bytes after its header");
  EXPECT_EQ(problemOf(".bin", ids, TokenFormat::LlmC),
            "has no header of llm.c: it begins with 131073, wanted 20240520 or "
            "20240801");
  EXPECT_EQ(problemOf(".bin", header + ids, TokenFormat::U16),
            "has a header of llm.c: read it with --data-format llm.c");
  EXPECT_EQ(problemOf(".bin", bytesOf(headerOf(__builtin_bswap32(20240520),
                                               1 << 24, 3 << 24)) +
                                  ids),
            "has a header of llm.c in big-endian order, wanted little-endian");
  EXPECT_EQ(problemOf(".bin", bytesOf(headerOf(20240520, 7, 3)) + ids),
            "has an llm.c header of version 7, wanted 1 (16-bit ids)");
  EXPECT_EQ(problemOf(".txt", ids, TokenFormat::U32),
            "has 6 bytes, no multiple of 4: it does not hold 32-bit token ids "
            "only; name a text file .txt");
}

TEST(TokenData, RefusesFilesOfForeignFormats) {
  const TemporaryFile file(".npz", std::string(100, 'x'));
  DataOptions options = dataOptions(file.path());
  EXPECT_EQ(messageOf([&] { openData(options, tokenInputs(1)); }),
            "'" + file.path() +
                "' cannot be read: wanted text, .bin, .npy, .safetensors or a "
                "folder of arrays; --data-format text reads its bytes as they "
                "are");
  options.format = "text";
  EXPECT_EQ(messageOf([&] { openData(options, tokenInputs(1)); }),
            "(no error)");
  const TemporaryFolder folder;
  options.path = folder.path();
  EXPECT_NE(messageOf([&] {
              openData(options, tokenInputs(1));
            }).find("is a folder: --data-format is for files of tokens"),
            std::string::npos);
}

TEST(TokenData, FillsInputsNamedAsInTransformers) {
  const TemporaryFile file(".txt", "abcdefgh");
  const Data data = openData(dataOptions(file.path()),
                             {input("input_ids", DataType::I64, {1, 4}),
                              input("labels", DataType::I64, {1, 4})});
  std::vector<int64_t> ids(4), labels(4);
  void *addresses[] = {ids.data(), labels.data()};
  data.training->read(0, 0, 0, addresses);
  // The model shifts them.
  EXPECT_EQ(labels, ids);
  EXPECT_EQ(ids[1], ids[0] + 1);
}

TEST(TokenData, SplitsValidationOffTheEnd) {
  const TemporaryFile file(".txt",
                           std::string(160, 'a') + std::string(40, 'b'));
  const std::vector<Input> inputs = tokenInputs(1);
  const Data data = openData(dataOptions(file.path(), 0.2), inputs);
  ASSERT_TRUE(data.validation);
  EXPECT_EQ(data.validation->samples(), 9u);
  std::vector<int32_t> tokens(4), targets(4);
  void *addresses[] = {tokens.data(), targets.data()};
  for (uint64_t i = 0; i < data.validation->samples(); ++i) {
    data.validation->read(0, i, 0, addresses);
    EXPECT_EQ(tokens, std::vector<int32_t>(4, 'b'));
  }
  for (uint64_t epoch = 0; epoch < 4; ++epoch)
    for (uint64_t i = 0; i < data.training->samples(); ++i) {
      data.training->read(epoch, i, 0, addresses);
      EXPECT_EQ(targets, std::vector<int32_t>(4, 'a'));
    }
}

TEST(TokenData, ErrorsSayWhatIsWrong) {
  const std::vector<Input> inputs = tokenInputs(1);
  EXPECT_EQ(messageOf([&] { openData(dataOptions("/no/such.txt"), inputs); }),
            "/no/such.txt: cannot be opened: No such file or directory");
  const TemporaryFile tiny(".txt", "abcd");
  EXPECT_EQ(messageOf([&] { openData(dataOptions(tiny.path()), inputs); }),
            "'" + tiny.path() +
                "' is too short: this part of the data has 4 of the file's 4 "
                "tokens, and one sequence needs 5");
  const TemporaryFile empty(".txt", "");
  EXPECT_NE(messageOf([&] {
              openData(dataOptions(empty.path()), inputs);
            }).find("has 0 of the file's 0 tokens"),
            std::string::npos);
  const TemporaryFile odd(".bin", "abc");
  EXPECT_NE(messageOf([&] {
              openData(dataOptions(odd.path()), inputs);
            }).find("has 3 bytes, no multiple of 2"),
            std::string::npos);
  std::vector<uint32_t> header(256);
  header[0] = 20240520;
  header[1] = 1;
  header[2] = 7;
  const TemporaryFile cut(".bin",
                          bytesOf(header) + bytesOf<uint16_t>({1, 2, 3}));
  EXPECT_EQ(messageOf([&] { openData(dataOptions(cut.path()), inputs); }),
            "'" + cut.path() +
                "' announces 7 tokens, 14 bytes, but holds 6 bytes after its "
                "header");
  header[1] = 7;
  const TemporaryFile newer(".bin", bytesOf(header));
  EXPECT_NE(messageOf([&] {
              openData(dataOptions(newer.path()), inputs);
            }).find("header of version 7, wanted 1 (16-bit ids)"),
            std::string::npos);
}

/// A mapping would end the process by a signal.
TEST(TokenData, AFileThatIsCutShortInUseIsAnError) {
  for (const char *suffix : {".txt", ".bin"}) {
    const TemporaryFile file(suffix, std::string(65536, 'x'));
    const Data data = openData(dataOptions(file.path()), tokenInputs(1));
    std::vector<int32_t> tokens(4), targets(4);
    void *addresses[] = {tokens.data(), targets.data()};
    const uint64_t last = data.training->samples() - 1;
    data.training->read(0, last, 0, addresses);
    ASSERT_EQ(::truncate(file.path().c_str(), 100), 0);
    EXPECT_EQ(
        messageOf([&] { data.training->read(0, last, 0, addresses); }),
        "'" + file.path() +
            "' was cut short during the run: it had 65536 bytes at the start "
            "and has 100 now; leave data alone while it is used");
    data.training->read(0, 0, 0, addresses);
  }
}

/// Nor does a pipe that nobody writes to hang the run.
TEST(TokenData, OnlyRegularFilesAreData) {
  const TemporaryFile name(".txt");
  ::unlink(name.path().c_str());
  ASSERT_EQ(::mkfifo(name.path().c_str(), 0600), 0);
  EXPECT_EQ(
      messageOf([&] { openData(dataOptions(name.path()), tokenInputs(1)); }),
      name.path() + ": found a pipe, wanted a regular file");
}

TEST(TokenData, RefusesStepsThatAreNotOfTokens) {
  std::vector<Input> inputs = tokenInputs(1);
  inputs[1].name = "image";
  const TemporaryFile file(".txt", std::string(100, 'x'));
  EXPECT_NE(messageOf([&] {
              openData(dataOptions(file.path()), inputs);
            }).find("the step has an input 'image'"),
            std::string::npos);
}

/// Such a model compiles: where nothing is a mean, nothing is divided by zero.
TEST(TokenData, RefusesStepsWithoutTokens) {
  std::vector<Input> inputs = tokenInputs(1);
  for (Input &input : inputs)
    input.type.shape[1] = 0;
  const TemporaryFile file(".txt", std::string(100, 'x'));
  EXPECT_EQ(messageOf([&] { openData(dataOptions(file.path()), inputs); }),
            "the step's input 'tokens' has sequences of no tokens: there is "
            "nothing to read data for");
  EXPECT_EQ(
      messageOf([&] { openData(dataOptions(file.path()), tokenInputs(0)); }),
      "the step's inputs have a micro-batch of no samples: there is nothing to "
      "read data for");
}

TEST(TokenData, NoValidationSaysWhy) {
  const TemporaryFile file(".txt", std::string(40, 'x'));
  const Data data = openData(dataOptions(file.path(), 0.05), tokenInputs(1));
  EXPECT_FALSE(data.validation);
  EXPECT_NE(data.noValidation.find("has 2 of the file's 40 tokens"),
            std::string::npos);
}

/// The samples of update `update`, in order of their number.
std::vector<std::vector<int32_t>> globalBatch(const std::string &path,
                                              int ranks, int accumulation,
                                              uint64_t update, uint64_t seed) {
  const Program program = makeFakeProgram(ranks, accumulation);
  DataOptions options = dataOptions(path, 0.05);
  options.seed = seed;
  const Data data = openData(options, program.inputs);
  std::vector<std::vector<int32_t>> samples;
  for (int micro = 0; micro < accumulation; ++micro)
    for (int rank = 0; rank < ranks; ++rank) {
      const Batches batches(program, data, seed, rank);
      std::vector<int32_t> tokens(8), targets(8);
      void *addresses[] = {tokens.data(), targets.data()};
      batches.fillTraining(update, micro, addresses);
      samples.emplace_back(tokens.begin(), tokens.begin() + 4);
      samples.emplace_back(tokens.begin() + 4, tokens.end());
    }
  return samples;
}

TEST(Batches, AnUpdateSeesTheSameSamplesWhateverTheRanks) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += char(mixBits(1, uint64_t(i)) & 127);
  const TemporaryFile file(".txt", text);
  for (uint64_t update : {0, 1, 17}) {
    const auto one = globalBatch(file.path(), 1, 12, update, 5);
    EXPECT_EQ(one.size(), 24u);
    EXPECT_EQ(globalBatch(file.path(), 2, 6, update, 5), one);
    EXPECT_EQ(globalBatch(file.path(), 3, 4, update, 5), one);
    EXPECT_EQ(globalBatch(file.path(), 4, 3, update, 5), one);
    EXPECT_NE(globalBatch(file.path(), 4, 3, update, 6), one);
    EXPECT_NE(globalBatch(file.path(), 4, 3, update + 1, 5), one);
  }
}

TEST(Batches, ChecksIdsAgainstTheTable) {
  Program program = makeFakeProgram(1, 1);
  KernelSpec embedding;
  embedding.name = "nn.embedding";
  embedding.operands = {program.inputs[0].type, {DataType::F32, {100, 8}}};
  Command command;
  command.kernel = uint32_t(program.kernels.size());
  command.location = "gpt.mlir:4:5";
  command.buffers = {program.inputs[0].buffer, ref(Arena::Parameters, 0, 3200),
                     ref(Arena::Activations, 0, 256)};
  program.kernels.push_back(embedding);
  program.micro.commands.push_back(command);

  std::string text(100, 'a');
  text[37] = 'z';
  const TemporaryFile file(".txt", text);
  const Data data = openData(dataOptions(file.path()), program.inputs);
  const Batches batches(program, data, 0, 0);
  std::vector<int32_t> tokens(8), targets(8);
  void *addresses[] = {tokens.data(), targets.data()};
  const auto epoch = [&] {
    for (uint64_t update = 0; update < 12; ++update)
      batches.fillTraining(update, 0, addresses);
  };
  EXPECT_EQ(messageOf(epoch),
            "'" + file.path() +
                "': token 37 has id 122 for the input 'tokens', but the "
                "embedding table "
                "at gpt.mlir:4:5 has 100 rows: use other data or compile the "
                "model with more");
}

/// An input of fewer elements than a micro-batch has samples.
TEST(Batches, ChecksIdsThatAllSamplesShare) {
  Program program;
  program.inputs = {input("x", DataType::F32, {4, 1}),
                    input("position", DataType::I32, {2})};
  KernelSpec embedding;
  embedding.name = "nn.embedding";
  embedding.operands = {program.inputs[1].type, {DataType::F32, {10, 8}}};
  program.inputs[1].buffer = ref(Arena::Inputs, 64, 8);
  Command command;
  command.buffers = {program.inputs[1].buffer, ref(Arena::Parameters, 0, 320),
                     ref(Arena::Activations, 0, 64)};
  program.kernels = {embedding};
  program.micro.commands.push_back(command);
  const TemporaryFolder folder;
  folder.write("x.npy",
               npyOf(npyHeader("<f4", "(4, 1)"), bytesOf<float>({1, 2, 3, 4})));
  folder.write("position.npy",
               npyOf(npyHeader("<i4", "(2,)"), bytesOf<int32_t>({3, 12})));
  const Data data = openData(dataOptions(folder.path()), program.inputs);
  const Batches batches(program, data, 0, 0);
  std::vector<float> x(4);
  std::vector<int32_t> position(2);
  void *addresses[] = {x.data(), position.data()};
  const std::string message =
      messageOf([&] { batches.fillTraining(0, 0, addresses); });
  EXPECT_NE(message.find("position.npy': the array 'position', element 1 has "
                         "id 12 for the input 'position'"),
            std::string::npos)
      << message;
}

TEST(Batches, TargetsAreClassesOrIgnored) {
  Program program;
  program.inputs = {input("label", DataType::I32, {1})};
  KernelSpec loss;
  loss.name = "nn.cross_entropy";
  loss.operands = {{DataType::F32, {1, 10}}, program.inputs[0].type};
  Command command;
  command.buffers = {ref(Arena::Activations, 0, 40), program.inputs[0].buffer};
  program.micro.commands.push_back(command);
  const TemporaryFolder folder;
  // Of one sample, which is all that an update sees.
  const auto message = [&](int32_t label, int64_t ignored) {
    loss.ints["ignore_index"] = {ignored};
    program.kernels = {loss};
    folder.write("label.npy",
                 npyOf(npyHeader("<i4", "(1,)"), bytesOf<int32_t>({label})));
    const Data data = openData(dataOptions(folder.path()), program.inputs);
    int32_t row = 0;
    void *addresses[] = {&row};
    return messageOf(
        [&] { Batches(program, data, 0, 0).fillTraining(0, 0, addresses); });
  };
  EXPECT_EQ(message(9, -100), "(no error)");
  EXPECT_EQ(message(-100, -100), "(no error)");
  EXPECT_EQ(message(255, 255), "(no error)");
  EXPECT_EQ(message(-1, -100),
            "'" + folder / "label.npy" +
                "': the array 'label', sample 0, element 0 has id -1 for the "
                "input 'label', but the loss has 10 classes and ignores -100: "
                "use other data or compile the model with more");
  EXPECT_NE(message(10, -100).find("has id 10"), std::string::npos);
  loss.ints["classes"] = {9};
  EXPECT_NE(message(9, -100).find("the loss has 9 classes"), std::string::npos);
  EXPECT_NE(message(-100, 255).find("has id -100"), std::string::npos);
  // In one operation with the product that makes the logits.
  loss.name = "nn.linear_cross_entropy_grad";
  loss.ints = {{"transposed", {1}}};
  loss.operands = {{DataType::F32, {}},
                   {DataType::F32, {1, 4}},
                   {DataType::F32, {8, 4}},
                   program.inputs[0].type};
  program.micro.commands[0].buffers.insert(
      program.micro.commands[0].buffers.begin(), 2, command.buffers[0]);
  EXPECT_EQ(message(7, -100), "(no error)");
  EXPECT_NE(message(8, -100).find("the loss has 8 classes"), std::string::npos);
  // Of a range of the classes, all of them are known.
  loss.name = "nn.linear_partial_cross_entropy";
  loss.operands.erase(loss.operands.begin());
  loss.operands.push_back({DataType::I32, {}});
  loss.ints["classes"] = {16};
  program.micro.commands[0].buffers.erase(
      program.micro.commands[0].buffers.begin());
  EXPECT_EQ(message(15, -100), "(no error)");
  EXPECT_NE(message(16, -100).find("the loss has 16 classes"),
            std::string::npos);
}

TEST(TokenFile, FillsTokensAndWhatFollowsThem) {
  const auto messageFor = [](const std::vector<Input> &inputs) {
    return messageOf([&] { sequenceLength(inputs); });
  };
  std::vector<Input> inputs = tokenInputs(2);
  inputs[1].type.type = DataType::F32;
  EXPECT_EQ(messageFor(inputs),
            "the step's input 'targets' is no integer tensor of shape "
            "[samples, length]: a token file cannot fill it");
  inputs[1].type = {DataType::I32, {2, kLength + 1}};
  EXPECT_EQ(messageFor(inputs),
            "the step's inputs 'tokens' and 'targets' have different shapes: a "
            "token file cannot fill both");
  inputs.erase(inputs.begin());
  EXPECT_EQ(messageFor(inputs), "the step has no input 'tokens' or "
                                "'input_ids': give the data as arrays, one an "
                                "input");
  EXPECT_EQ(messageOf([] { microBatchOf({}); }),
            "the step has no inputs: there is nothing to read data for");
}

} // namespace
