#include "data/DataDigest.h"

#include "io/Digest.h"

using namespace zrt;

std::vector<uint64_t> zrt::telling(uint64_t samples) {
  return {0, (samples - 1) / 2, samples - 1};
}

uint64_t zrt::digestOfSamples(
    const std::vector<Input> &inputs, uint64_t rows,
    const std::function<void(size_t place, void *const *inputs)> &read) {
  std::vector<std::vector<char>> batch;
  std::vector<void *> addresses;
  for (const Input &input : inputs) {
    batch.emplace_back(input.type.bytes());
    addresses.push_back(batch.back().data());
  }
  uint64_t digest = 0, number = 0;
  for (size_t place = 0; place < telling(1).size(); ++place) {
    read(place, addresses.data());
    for (const std::vector<char> &input : batch)
      digest += digestBlock(number++, input.data(), input.size() / rows);
  }
  return digest;
}

uint64_t zrt::digestOfData(const std::vector<Input> &inputs,
                           const Dataset &data) {
  const uint64_t rows =
      data.wholeBatches() ? 1 : uint64_t(microBatchOf(inputs));
  const std::vector<uint64_t> samples = telling(data.samples());
  return digestOfSamples(inputs, rows, [&](size_t place, void *const *to) {
    data.read(0, samples[place], 0, to);
  });
}
