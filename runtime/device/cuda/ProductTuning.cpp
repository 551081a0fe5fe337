#include "device/cuda/ProductTuning.h"

#include "device/cuda/ProductFile.h"
#include "io/Together.h"

#include <utility>

using namespace zrt;
using cuda::ProductRecord;

ProductTuning::ProductTuning(std::string file, cuda::ProductProcessor processor,
                             cuda::ProductChoices::Timer timer,
                             Communicator &communicator)
    : path(std::move(file)), communicator(communicator),
      own(std::move(processor), path, std::move(timer)) {
  together(communicator, [&] {
    if (communicator.rank() == 0)
      records = readProducts(path);
  });
  records =
      parseProducts(broadcastText(communicator, formatProducts(records)), path);
  own.add(records);
}

/// The lowest rank that wants something measured; -1: none does.
int ProductTuning::firstOpen() {
  int32_t most = own.isOpen() ? communicator.ranks() - communicator.rank() : 0;
  communicator.run(Collective::AllReduce, Reduction::Max,
                   {{&most, &most, 1, DataType::I32, 0}});
  return most ? communicator.ranks() - most : -1;
}

std::string ProductTuning::finish() {
  size_t timed = 0;
  for (int rank; (rank = firstOpen()) >= 0;) {
    std::string text;
    together(communicator, [&] {
      if (communicator.rank() == rank)
        text = formatProducts(own.measure());
    });
    const std::vector<ProductRecord> more =
        parseProducts(broadcastText(communicator, text, rank), path);
    timed += more.size();
    records.insert(records.end(), more.begin(), more.end());
    // What one rank cannot use would leave the others waiting for it.
    together(communicator, [&] { own.add(more); });
  }
  together(communicator, [&] {
    if (timed && communicator.rank() == 0)
      writeProducts(records, path);
  });
  return "products: " + std::to_string(timed) + " timed; '" + path + "' has " +
         std::to_string(own.size()) + " of this GPU and cuBLASLt";
}
