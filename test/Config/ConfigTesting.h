// What the tests of the configuration share.
#ifndef ZERO_TEST_CONFIG_CONFIGTESTING_H
#define ZERO_TEST_CONFIG_CONFIGTESTING_H

#include "zero/Config/Config.h"

#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

#include <optional>
#include <string>

namespace mlir::zero::testing {

/// A parse and all that it said, as printed for the file `c.json`.
struct Parsed {
  std::optional<TrainConfig> config;
  std::string messages;
};

inline Parsed parse(llvm::StringRef text, ConfigContext context = {}) {
  Parsed parsed;
  llvm::SmallVector<ConfigDiagnostic> diagnostics;
  parsed.config = parseTrainConfig(text, context, diagnostics);
  llvm::raw_string_ostream os(parsed.messages);
  printConfigDiagnostics(os, "c.json", diagnostics);
  return parsed;
}

/// The text with a batch size, so that it is complete.
inline Parsed parseWithBatch(const std::string &keys, int64_t ranks = 1) {
  std::string text = R"({"train_micro_batch_size_per_gpu": 1)" +
                     (keys.empty() ? "" : ",\n" + keys) + "}";
  ConfigContext context;
  context.ranks = ranks;
  return parse(text, context);
}

/// The configuration of a text that must be right.
inline TrainConfig valid(const std::string &keys, int64_t ranks = 1) {
  Parsed parsed = parseWithBatch(keys, ranks);
  EXPECT_TRUE(parsed.config.has_value()) << parsed.messages;
  return parsed.config.value_or(TrainConfig());
}

/// What is said about a text that must be wrong.
inline std::string invalid(const std::string &keys, int64_t ranks = 1) {
  Parsed parsed = parseWithBatch(keys, ranks);
  EXPECT_FALSE(parsed.config.has_value());
  return parsed.messages;
}

} // namespace mlir::zero::testing

#endif // ZERO_TEST_CONFIG_CONFIGTESTING_H
