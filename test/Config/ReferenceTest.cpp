// The table of keys: its page, and its own consistency.
#include "../../lib/Config/ConfigKeys.h"
#include "ConfigTesting.h"
#include "program/Bounds.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir::zero;
using namespace mlir::zero::testing;

TEST(Reference, ThePageIsUpToDate) {
  std::string page;
  llvm::raw_string_ostream os(page);
  writeConfigReference(os);
  auto file = llvm::MemoryBuffer::getFile(ZERO_DOCS_DIR "/Configuration.md");
  ASSERT_TRUE(static_cast<bool>(file)) << file.getError().message();
  EXPECT_EQ(page, (*file)->getBuffer().str())
      << "docs/Configuration.md is stale; run tools/generate-docs";
}

TEST(Reference, RowsAreWellFormed) {
  llvm::StringSet<> seen;
  for (const ConfigKey &key : getConfigKeys()) {
    llvm::StringRef path = key.path;
    EXPECT_TRUE(seen.insert(path).second) << key.path << " stands twice";
    size_t dot = path.rfind('.');
    if (dot != llvm::StringRef::npos)
      EXPECT_TRUE(seen.contains(path.take_front(dot)))
          << key.path << " stands before its block";
    llvm::json::Value value = getDefault(key);
    EXPECT_TRUE(value.getAsNull() || hasType(key, value))
        << key.path << " has a default of another type";
    value = getDefault(key, /*hasNoFile=*/true);
    EXPECT_TRUE(value.getAsNull() || hasType(key, value))
        << key.path << " has a default of another type without a file";
    EXPECT_EQ(key.state == KeyState::Supported, !*key.note)
        << key.path << ": a note is for keys that are not supported";
    EXPECT_EQ(key.type == KeyType::Choice, *key.choices != 0) << key.path;
  }
}

/// The text of a configuration with one value at `path`.
static std::string nest(llvm::StringRef path, llvm::StringRef value) {
  auto [head, tail] = path.split('.');
  std::string inner =
      tail.empty() ? value.str() : "{" + nest(tail, value) + "}";
  return "\"" + (head == "*" ? "group" : head).str() + "\": " + inner;
}

/// The types that decide which settings a block has.
static std::string getTypeFor(const ConfigKey &key) {
  llvm::StringRef path = key.path;
  llvm::StringRef first = llvm::StringRef(key.only).split('|').first;
  if (path.starts_with("optimizer.params") && !first.empty())
    return ("\"type\": \"" + first + "\", ").str();
  if (path.starts_with("scheduler.params"))
    return ("\"type\": \"" + (first.empty() ? "WarmupLR" : first) + "\", ")
        .str();
  return "";
}

TEST(Reference, EveryDefaultIsAccepted) {
  for (const ConfigKey &key : getConfigKeys()) {
    llvm::StringRef path = key.path;
    if (llvm::StringRef(key.defaultValue) == "null" ||
        path.starts_with("scheduler.params"))
      continue;
    std::string text = nest(path, key.defaultValue);
    size_t brace = text.find('{');
    if (brace != std::string::npos)
      text.insert(brace + 1, getTypeFor(key));
    Parsed parsed = parseWithBatch(text);
    EXPECT_TRUE(parsed.config.has_value()) << key.path << parsed.messages;
    EXPECT_EQ(parsed.messages.find(key.path), std::string::npos)
        << "a default has nothing to say: " << parsed.messages;
  }
}

/// TableGen cannot include the constants that code checks as well.
TEST(Reference, BoundsAreThoseOfPrograms) {
  EXPECT_EQ(getConfigKey("aio.queue_depth").most, zrt::kMostInFlight);
  EXPECT_EQ(getConfigKey("zero.alignment").most, zrt::kMostCount);
}
