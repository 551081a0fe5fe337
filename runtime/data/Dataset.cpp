#include "data/Dataset.h"

#include "data/TokenFile.h"

#include <stdexcept>

using namespace zrt;

Dataset::~Dataset() = default;

int64_t zrt::microBatchOf(const std::vector<Input> &inputs) {
  if (inputs.empty())
    throw std::runtime_error("the step has no inputs: there is nothing to "
                             "read data for");
  for (const Input &input : inputs)
    if (input.type.shape.empty() ||
        input.type.shape[0] != inputs[0].type.shape.front())
      throw std::runtime_error(
          "the step's inputs '" + inputs[0].name + "' and '" + input.name +
          "' have different first dimensions: it must be the micro-batch");
  return inputs[0].type.shape[0];
}

namespace {

bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Where the part that is not trained on begins, of `size` tokens or samples.
uint64_t splitPoint(uint64_t size, double fraction) {
  return size - uint64_t(double(size) * fraction);
}

/// Opens the validation part by `open`, or says in `data` why there is none.
template <typename Open> void tryValidation(Data &data, Open open) {
  try {
    data.validation = open();
  } catch (const std::runtime_error &error) {
    data.noValidation = std::string("there is no validation data: ") +
                        error.what() +
                        "; give --validation-data or a larger "
                        "--validation-fraction";
  }
}

Data openTokens(const DataOptions &options, const std::vector<Input> &inputs) {
  auto file = std::make_shared<TokenFile>(options.path);
  Data data;
  uint64_t end = file->size();
  if (!options.validationPath.empty()) {
    auto other = std::make_shared<TokenFile>(options.validationPath);
    data.validation = makeTokenDataset(other, 0, other->size(), inputs,
                                       /*shift=*/false, options.seed);
  } else if (options.validationFraction > 0) {
    end = splitPoint(file->size(), options.validationFraction);
    tryValidation(data, [&] {
      return makeTokenDataset(file, end, file->size(), inputs,
                              /*shift=*/false, options.seed);
    });
  } else {
    data.noValidation = "there is no validation data: "
                        "--validation-fraction is 0";
  }
  data.training =
      makeTokenDataset(file, 0, end, inputs, /*shift=*/true, options.seed);
  return data;
}

} // namespace

Data zrt::openData(const DataOptions &options,
                   const std::vector<Input> &inputs) {
  microBatchOf(inputs);
  return openTokens(options, inputs);
}
