#include "data/Dataset.h"

#include "data/ArrayDataset.h"
#include "data/TokenFile.h"
#include "program/ByteCount.h"

#include <filesystem>
#include <stdexcept>

using namespace zrt;

Dataset::~Dataset() = default;

bool zrt::isTokenInput(const std::string &name) {
  return name == "tokens" || name == "input_ids";
}

int64_t zrt::microBatchOf(const std::vector<Input> &inputs) {
  if (inputs.empty())
    throw std::runtime_error("the step has no inputs: there is nothing to "
                             "read data for");
  if (inputs[0].type.shape.empty())
    throw std::runtime_error("the step's first input '" + inputs[0].name +
                             "' is a scalar: wanted one whose first dimension "
                             "is the micro-batch");
  if (inputs[0].type.shape[0] < 1)
    throw std::runtime_error("the step's inputs have a micro-batch of no "
                             "samples: there is nothing to read data for");
  return inputs[0].type.shape[0];
}

namespace {

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
  const TokenFormat format = tokenFormatOf(options.format);
  std::string remark, text;
  const auto open = [&](const std::string &path) {
    auto file = std::make_shared<TokenFile>(path, format);
    if (remark.empty())
      remark = file->remark();
    if (file->isText() && format == TokenFormat::ByName)
      text = path;
    return file;
  };
  const auto file = open(options.path);
  const auto make = [&](uint64_t begin, uint64_t end, bool training) {
    return makeTokenDataset(file, begin, end, inputs, /*shift=*/training,
                            options.seed);
  };
  Data data = openParts(options, file->size(), make, [&] {
    const auto other = open(options.validationPath);
    return makeTokenDataset(other, 0, other->size(), inputs, /*shift=*/false,
                            options.seed);
  });
  data.remark = remark;
  data.text = text;
  return data;
}

Data openArrays(const DataOptions &options, const std::vector<Input> &inputs) {
  const BoundArrays arrays = bindArrays(options.path, inputs);
  const auto make = [&](uint64_t begin, uint64_t end, bool) {
    return makeArrayDataset(arrays, begin, end, inputs);
  };
  Data data = openParts(options, arrays.count, make, [&] {
    const BoundArrays others = bindArrays(options.validationPath, inputs);
    return makeArrayDataset(others, 0, others.count, inputs);
  });
  data.remark = remarkOnOthers(*arrays.file, inputs);
  return data;
}

/// Both parts must be of one kind: tokens, or arrays.
void checkKinds(const DataOptions &options) {
  for (const std::string &path : {options.path, options.validationPath})
    if (!path.empty() && options.format.empty() && !isOfArrays(path))
      refuseForeignFile(path);
  if (!options.format.empty() && std::filesystem::is_directory(options.path))
    throw std::runtime_error("'" + options.path +
                             "' is a folder: --data-format is for files of "
                             "tokens, and the files of a folder are arrays");
  if (!options.validationPath.empty() && options.format.empty() &&
      isOfArrays(options.path) != isOfArrays(options.validationPath))
    throw std::runtime_error("'" + options.path + "' and '" +
                             options.validationPath +
                             "' must both be tokens or both be arrays");
}

/// Throws where an update would see a sample twice.
void checkSize(const Data &data, const DataOptions &options,
               const std::vector<Input> &inputs) {
  const bool whole = data.training->wholeBatches();
  const uint64_t rows = whole ? 1 : uint64_t(microBatchOf(inputs));
  const uint64_t wanted = rows * uint64_t(options.ranks);
  if (data.training->samples() >= wanted)
    return;
  throw std::runtime_error(
      "'" + options.path + "' has " +
      (whole ? plural(data.training->samples(), "micro-batch", "es")
             : plural(data.training->samples(), "sample")) +
      " to train on, but " + plural(options.ranks, "rank") +
      (options.ranks == 1 ? " takes " : " take ") + std::to_string(wanted) +
      " at a time, a micro-batch each: give more data, hold out less of it, or "
      "compile for fewer ranks or a smaller micro-batch");
}

} // namespace

Data zrt::openData(const DataOptions &options,
                   const std::vector<Input> &inputs) {
  microBatchOf(inputs);
  checkKinds(options);
  const bool arrays = options.format.empty() && isOfArrays(options.path);
  Data data =
      arrays ? openArrays(options, inputs) : openTokens(options, inputs);
  checkSize(data, options, inputs);
  return data;
}
