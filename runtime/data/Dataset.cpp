#include "data/Dataset.h"

#include "data/ArrayFile.h"
#include "data/TokenFile.h"

#include <stdexcept>

using namespace zrt;

Dataset::~Dataset() = default;

int64_t zrt::microBatchOf(const std::vector<Input> &inputs) {
  if (inputs.empty())
    throw std::runtime_error("the step has no inputs: there is nothing to "
                             "read data for");
  for (const Input &input : inputs)
    if (input.type.shape.empty())
      throw std::runtime_error("the step's input '" + input.name +
                               "' is a scalar: data is read for inputs whose "
                               "first dimension is the micro-batch");
  for (const Input &input : inputs)
    if (input.type.shape[0] != inputs[0].type.shape[0])
      throw std::runtime_error(
          "the first dimension of the step's input '" + input.name + "' is " +
          std::to_string(input.type.shape[0]) + " and that of '" +
          inputs[0].name + "' is " + std::to_string(inputs[0].type.shape[0]) +
          ": both must be the micro-batch");
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

/// Opens both parts of `path`, which has `size` tokens or samples, by
/// `make(begin, end, training)`; `makeOther` makes the validation part from a
/// file of its own.
template <typename Make, typename MakeOther>
Data openParts(const DataOptions &options, uint64_t size, Make make,
               MakeOther makeOther) {
  Data data;
  uint64_t end = size;
  if (!options.validationPath.empty()) {
    data.validation = makeOther();
  } else if (options.validationFraction > 0) {
    end = splitPoint(size, options.validationFraction);
    tryValidation(data, [&] { return make(end, size, false); });
  } else {
    data.noValidation = "there is no validation data: "
                        "--validation-fraction is 0";
  }
  data.training = make(0, end, true);
  return data;
}

Data openTokens(const DataOptions &options, const std::vector<Input> &inputs) {
  auto file = std::make_shared<TokenFile>(options.path);
  const auto make = [&](uint64_t begin, uint64_t end, bool training) {
    return makeTokenDataset(file, begin, end, inputs, /*shift=*/training,
                            options.seed);
  };
  return openParts(options, file->size(), make, [&] {
    auto other = std::make_shared<TokenFile>(options.validationPath);
    return makeTokenDataset(other, 0, other->size(), inputs, /*shift=*/false,
                            options.seed);
  });
}

Data openArrays(const DataOptions &options, const std::vector<Input> &inputs) {
  const auto open = [&](const std::string &path) {
    return std::make_shared<SafeTensorsFile>(path);
  };
  const auto file = open(options.path);
  const auto make = [&](uint64_t begin, uint64_t end, bool) {
    return makeArrayDataset(file, options.path, begin, end, inputs);
  };
  const uint64_t samples = samplesOf(*file, options.path, inputs);
  Data data = openParts(options, samples, make, [&] {
    const std::string &path = options.validationPath;
    const auto other = open(path);
    return makeArrayDataset(other, path, 0, samplesOf(*other, path, inputs),
                            inputs);
  });
  data.remark = remarkOnOthers(*file, options.path, inputs);
  return data;
}

} // namespace

Data zrt::openData(const DataOptions &options,
                   const std::vector<Input> &inputs) {
  microBatchOf(inputs);
  if (endsWith(options.path, ".safetensors"))
    return openArrays(options, inputs);
  return openTokens(options, inputs);
}
