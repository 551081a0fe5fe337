#include "selfcheck/Attempt.h"

#include "data/Permutation.h"
#include "io/Digest.h"
#include "io/StoredElements.h"
#include "io/Together.h"
#include "selfcheck/KeptStates.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

using namespace zrt;

/// In eight sums, which a processor adds to at once.
static double sumOfSquares(const std::vector<float> &values) {
  double sums[8] = {};
  size_t i = 0;
  for (; i + 8 <= values.size(); i += 8)
    for (size_t lane = 0; lane < 8; ++lane)
      sums[lane] += double(values[i + lane]) * values[i + lane];
  for (; i < values.size(); ++i)
    sums[0] += double(values[i]) * values[i];
  return std::accumulate(std::begin(sums), std::end(sums), 0.0);
}

static void addGradients(const Partition &partition, const Backend &backend,
                         int rank, Measure &mine) {
  const double scale = backend.control().scale;
  const DataType type = partition.gradientType;
  const BufferRef &gradients = partition.gradients;
  std::vector<float> values;
  for (size_t block = 0; block * kStateBlock < gradients.bytes; ++block) {
    const std::string bytes =
        readBlock(gradients, backend.arenas(), rank, block);
    mine.digest = int64_t(mixBits(uint64_t(mine.digest),
                                  digestBlock(0, bytes.data(), bytes.size())));
    values.resize(bytes.size() / sizeOf(type));
    loadElements(type, bytes.data(), values.data(), values.size());
    mine.squares += sumOfSquares(values) / (scale * scale);
  }
}

std::vector<Measure> zrt::measureGradients(const Program &program,
                                           const Backend &backend,
                                           Communicator &communicator) {
  Measure mine;
  mine.loss = backend.control().lossSum;
  mine.weight = backend.control().weightSum;
  for (const Partition &partition : program.partitions)
    if (partition.trainable)
      addGradients(partition, backend, communicator.rank(), mine);
  mine.digest = int64_t(mixBits(uint64_t(mine.digest),
                                digestBlock(0, &mine, 2 * sizeof(double))));
  return gatherAll(communicator, mine);
}

double zrt::lossOf(const Program &program,
                   const std::vector<Measure> &measures) {
  double sum = 0, weight = 0;
  for (const Measure &measure : measures) {
    sum += measure.loss;
    weight += measure.weight;
  }
  const double count =
      double(program.lossRanks()) * program.training.accumulation;
  return sum / (weight != 0 ? weight : count);
}

double zrt::normOf(const std::vector<Measure> &measures) {
  double squares = 0;
  for (const Measure &measure : measures)
    squares += measure.squares;
  return std::sqrt(squares);
}

bool zrt::areFinite(const std::vector<Measure> &measures) {
  return std::all_of(measures.begin(), measures.end(), [](const Measure &one) {
    return std::isfinite(one.loss) && std::isfinite(one.squares);
  });
}

bool zrt::areEqual(const Attempt &a, const Attempt &b) {
  return std::equal(a.measures.begin(), a.measures.end(), b.measures.begin(),
                    [](const Measure &one, const Measure &other) {
                      return one.digest == other.digest;
                    });
}
