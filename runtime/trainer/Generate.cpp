#include "trainer/Generate.h"

#include "data/Permutation.h"
#include "data/TokenFile.h"
#include "program/Float16.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>
#include <stdexcept>

using namespace zrt;

namespace {

bool hasElements(DataType type) {
  return type == DataType::F32 || type == DataType::F16 ||
         type == DataType::BF16;
}

float element(const void *data, DataType type, int64_t index) {
  switch (type) {
  case DataType::F16:
    return f16ToF32(static_cast<const uint16_t *>(data)[index]);
  case DataType::BF16:
    return bf16ToF32(static_cast<const uint16_t *>(data)[index]);
  default:
    return static_cast<const float *>(data)[index];
  }
}

} // namespace

bool zrt::hasByteVocabulary(const Program &program) {
  return isOfBytes(tokenVocabularyOf(program));
}

std::vector<int32_t> zrt::promptTokens(const std::string &prompt, bool bytes,
                                       const Program &program) {
  const int64_t limit = tokenVocabularyOf(program).size;
  std::vector<int32_t> tokens;
  if (bytes) {
    for (const char byte : prompt.empty() ? std::string("\n") : prompt)
      tokens.push_back(static_cast<unsigned char>(byte));
  } else {
    std::istringstream stream(prompt);
    for (std::string word; stream >> word;) {
      size_t used = 0;
      long value = -1;
      try {
        value = std::stol(word, &used);
      } catch (const std::logic_error &) {
      }
      if (used != word.size() || value < 0 || value > INT32_MAX)
        throw std::runtime_error(
            "--prompt has '" + word +
            "', which is no token id: tokens are not "
            "bytes here, list ids, as zero-tokenize --encode "
            "prints them");
      tokens.push_back(int32_t(value));
    }
    if (tokens.empty())
      tokens.push_back(0);
  }
  for (const int32_t token : tokens)
    if (limit >= 0 && token >= limit)
      throw std::runtime_error("--prompt has token " + std::to_string(token) +
                               ", the vocabulary has " + std::to_string(limit));
  return tokens;
}

int64_t zrt::sampleIndex(const std::vector<float> &logits, double temperature,
                         double uniform) {
  const auto most = std::max_element(logits.begin(), logits.end());
  if (temperature == 0)
    return most - logits.begin();
  double sum = 0;
  for (const float value : logits)
    sum += std::exp((double(value) - *most) / temperature);
  double left = uniform * sum;
  for (size_t i = 0; i < logits.size(); ++i) {
    left -= std::exp((double(logits[i]) - *most) / temperature);
    if (left < 0)
      return int64_t(i);
  }
  return int64_t(logits.size()) - 1;
}

/// The length of the sequences that the step takes.
static int64_t lengthOfSamples(const Program &program) {
  for (const Input &input : program.inputs)
    if (isTokenInput(input.name))
      return sequenceLength(program.inputs);
  throw std::runtime_error("--sample generates tokens, and the step has no "
                           "input 'tokens' or 'input_ids': leave it out");
}

Generator::Generator(const Program &program, Backend &backend, Trainer &trainer,
                     Communicator &communicator, uint64_t seed,
                     double temperature)
    : program(program), backend(backend), trainer(trainer),
      communicator(communicator), seed(seed), temperature(temperature),
      length(lengthOfSamples(program)) {
  for (const Output &output : program.outputs())
    if (output.name == "logits")
      logits = &output;
  if (!logits)
    throw std::runtime_error("the step leaves no output 'logits' to sample "
                             "from: yield it and name it in the step's "
                             "outputs");
  const int64_t positions = program.inputs.front().type.elements();
  vocabulary = logits->type.shape.empty() ? 0 : logits->type.shape.back();
  if (logits->type.elements() != positions * vocabulary || vocabulary == 0)
    throw std::runtime_error("the step's output 'logits' has not one row for "
                             "each token: it cannot be sampled from");
  if (!hasElements(logits->type.type))
    throw std::runtime_error(std::string("cannot sample from logits of type ") +
                             nameOf(logits->type.type));
}

void Generator::fillInputs(const std::vector<int32_t> &tokens, int64_t begin,
                           void *const *inputs) const {
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const Input &input = program.inputs[i];
    const int64_t rows = input.type.shape[0];
    std::memset(inputs[i], 0, input.type.bytes());
    if (!isTokenInput(input.name))
      continue;
    const int64_t count = int64_t(tokens.size()) - begin;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t j = 0; j < count; ++j)
        if (input.type.type == DataType::I32)
          static_cast<int32_t *>(inputs[i])[row * length + j] =
              tokens[size_t(begin + j)];
        else
          static_cast<int64_t *>(inputs[i])[row * length + j] =
              tokens[size_t(begin + j)];
  }
}

int32_t Generator::choose(int64_t position, int64_t step) const {
  int32_t token = program.pipeline.isLast() ? chooseHere(position, step) : 0;
  // Ranks on unlike processors may round unlike, and not all have logits.
  Transfer transfer;
  transfer.send = transfer.receive = &token;
  transfer.count = 1;
  transfer.type = DataType::I32;
  transfer.root = program.firstLossRank();
  communicator.run(Collective::Broadcast, Reduction::Sum, {transfer});
  return token;
}

int32_t Generator::chooseHere(int64_t position, int64_t step) const {
  std::vector<float> row(static_cast<size_t>(vocabulary));
  const size_t width = sizeOf(logits->type.type);
  std::vector<char> data(row.size() * width);
  backend.read(logits->buffer, uint64_t(position) * data.size(), data.data(),
               data.size());
  for (int64_t i = 0; i < vocabulary; ++i)
    row[size_t(i)] = element(data.data(), logits->type.type, i);
  const double uniform = double(mixBits(seed, uint64_t(step)) >> 11) * 0x1p-53;
  return int32_t(sampleIndex(row, temperature, uniform));
}

void Generator::run(std::vector<int32_t> prompt, int64_t count,
                    const std::function<bool(int32_t token)> &emit) {
  for (int64_t step = 0; step < count; ++step) {
    const int64_t begin = std::max<int64_t>(0, int64_t(prompt.size()) - length);
    trainer.evaluateInputs(uint64_t(step), [&](void *const *inputs) {
      fillInputs(prompt, begin, inputs);
    });
    const int64_t last = int64_t(prompt.size()) - begin - 1;
    prompt.push_back(choose(last, step));
    if (!emit(prompt.back()))
      return;
  }
}
