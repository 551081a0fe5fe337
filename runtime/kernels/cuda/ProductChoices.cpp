#include "kernels/cuda/ProductChoices.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

using namespace zrt::cuda;

/// Runs of a candidate that count. Others on the device can only add to a time.
static constexpr int kRuns = 5;

ProductChoices::ProductChoices(ProductProcessor processor, std::string origin,
                               Timer timer)
    : processor(std::move(processor)), origin(std::move(origin)),
      timer(std::move(timer)) {}

void ProductChoices::add(const std::vector<ProductRecord> &records) {
  for (const ProductRecord &record : records)
    if (record.processor == processor)
      choices.insert_or_assign(record.product, record.choice);
  std::vector<Wanted> left;
  for (Wanted &each : wanted)
    if (const std::string *choice = find(each.product))
      each.use(*choice);
    else
      left.push_back(std::move(each));
  wanted = std::move(left);
}

const std::string *ProductChoices::find(const std::string &product) const {
  const auto found = choices.find(product);
  return found == choices.end() ? nullptr : &found->second;
}

void ProductChoices::refuse(const std::string &product,
                            const std::string &why) const {
  throw std::runtime_error("'" + origin + "' has a choice for '" + product +
                           "' that cannot be used: " + why +
                           "; delete the file, and products are timed again");
}

void ProductChoices::want(const std::string &product,
                          std::vector<ProductCandidate> candidates,
                          std::function<void(const std::string &choice)> use) {
  if (const std::string *choice = find(product))
    return use(*choice);
  wanted.push_back({product, std::move(candidates), std::move(use)});
}

/// The first run loads the code, and does not count.
double ProductChoices::shortest(const ProductCandidate &candidate) const {
  timer(candidate.queue);
  double seconds = timer(candidate.queue);
  for (int run = 1; run < kRuns; ++run)
    seconds = std::min(seconds, timer(candidate.queue));
  return seconds;
}

/// Of equal ones the first is taken, which cuBLASLt takes for the fastest.
ProductRecord ProductChoices::measure(const Wanted &one) const {
  ProductRecord record;
  record.processor = processor;
  record.product = one.product;
  for (const ProductCandidate &candidate : one.candidates) {
    const double microseconds = shortest(candidate) * 1e6;
    if (!record.choice.empty() && microseconds >= record.microseconds)
      continue;
    record.choice = candidate.name;
    record.microseconds = microseconds;
  }
  return record;
}

/// In order: a product that is made of others is measured with their choices.
std::vector<ProductRecord> ProductChoices::measure() {
  std::vector<ProductRecord> records;
  for (const Wanted &each : wanted) {
    if (!find(each.product)) {
      records.push_back(measure(each));
      choices[each.product] = records.back().choice;
    }
    each.use(*find(each.product));
  }
  wanted.clear();
  return records;
}
