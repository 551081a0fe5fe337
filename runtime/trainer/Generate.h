// Text from a trained model.
#ifndef ZERO_RUNTIME_TRAINER_GENERATE_H
#define ZERO_RUNTIME_TRAINER_GENERATE_H

#include "engine/Trainer.h"

#include <functional>

namespace zrt {

/// Generates tokens by running the evaluation region on a window of the last
/// tokens and sampling from its output `logits` at the last position.
class Generator {
public:
  /// All references are borrowed. Throws std::runtime_error where the step has
  /// other inputs than `tokens` and `targets` or leaves no `logits` of shape
  /// [samples, length, vocabulary] and a float type.
  Generator(const Program &program, Backend &backend, Trainer &trainer,
            Communicator &communicator, uint64_t seed, double temperature);

  /// Continues `prompt` by `count` tokens, calling `emit` on each until it
  /// returns false. Every rank calls it with the same arguments, gets the
  /// tokens that the first rank with logits chose, and must stop at the same
  /// one.
  void run(std::vector<int32_t> prompt, int64_t count,
           const std::function<bool(int32_t token)> &emit);

private:
  void fillInputs(const std::vector<int32_t> &tokens, int64_t begin,
                  void *const *inputs) const;
  int32_t choose(int64_t position, int64_t step) const;
  int32_t chooseHere(int64_t position, int64_t step) const;

  const Program &program;
  Backend &backend;
  Trainer &trainer;
  Communicator &communicator;
  uint64_t seed;
  double temperature;
  const Output *logits = nullptr;
  int64_t length = 0, vocabulary = 0;
};

/// The index whose share of the cumulative softmax of `logits` / `temperature`
/// holds `uniform` in [0, 1); the first maximum at temperature 0.
int64_t sampleIndex(const std::vector<float> &logits, double temperature,
                    double uniform);

/// True where tokens are bytes: the table of `tokens` has 256 rows or fewer.
bool hasByteVocabulary(const Program &program);

/// The tokens of `prompt`: its bytes, or where `bytes` is false the ids that it
/// lists. An empty one starts at a newline, or at id 0. Throws
/// std::runtime_error where an id is no number or outside the vocabulary.
std::vector<int32_t> promptTokens(const std::string &prompt, bool bytes,
                                  const Program &program);

} // namespace zrt

#endif // ZERO_RUNTIME_TRAINER_GENERATE_H
