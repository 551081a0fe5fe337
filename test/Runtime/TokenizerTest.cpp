// Byte-level BPE, beside what Hugging Face's tokenizers make of the same.
#include "DataTesting.h"
#include "TemporaryFile.h"

#include "data/Tokenizer.h"
#include "data/Unicode.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

using namespace zrt;
using namespace zrt::test;
using nlohmann::json;

namespace {

/// All bytes, a few merges and a separator, as `tokenizers` saves it.
json tokenizerJson() {
  json vocabulary = {{"<|end|>", 0}};
  int next = 1;
  unsigned other = 256;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool printable =
        (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
    const unsigned code = printable ? byte : other++;
    std::string letter = code < 128 ? std::string(1, char(code))
                                    : std::string{char(0xc0 | code >> 6),
                                                  char(0x80 | (code & 63))};
    vocabulary[letter] = next++;
  }
  json merges = json::array();
  const std::pair<const char *, const char *> pairs[] = {
      {"h", "e"}, {"l", "l"}, {"he", "ll"}, {"\u0120", "hell"}, {"e", "l"}};
  for (const auto &[left, right] : pairs) {
    merges.push_back({left, right});
    vocabulary[std::string(left) + right] = next++;
  }
  return {{"added_tokens",
           {{{"id", 0},
             {"content", "<|end|>"},
             {"single_word", false},
             {"lstrip", false},
             {"rstrip", false}}}},
          {"normalizer", nullptr},
          {"pre_tokenizer",
           {{"type", "ByteLevel"},
            {"add_prefix_space", false},
            {"use_regex", true}}},
          {"decoder", {{"type", "ByteLevel"}, {"add_prefix_space", true}}},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"vocab", vocabulary},
            {"merges", merges}}}};
}

/// The tokens of `text`, each as its bytes, with bars between.
std::string cut(const Tokenizer &tokenizer, const std::string &text) {
  std::string result;
  for (const int32_t token : tokenizer.encode(text))
    result += (result.empty() ? "" : "|") + tokenizer.decode(token);
  return result;
}

TEST(Tokenizer, MergesInTheOrderOfTheirRanks) {
  const TemporaryFile file(".json", tokenizerJson().dump());
  const Tokenizer tokenizer(file.path());
  EXPECT_EQ(cut(tokenizer, "hello"), "hell|o");
  EXPECT_EQ(cut(tokenizer, "hell hello"), "hell| hell|o");
  // "l l" comes before "e l".
  EXPECT_EQ(cut(tokenizer, "ell"), "e|ll");
  EXPECT_EQ(cut(tokenizer, "elk"), "el|k");
}

TEST(Tokenizer, WordsEndWhereTheExpressionSays) {
  const TemporaryFile file(".json", tokenizerJson().dump());
  const Tokenizer tokenizer(file.path());
  // No merge crosses from one word to the next.
  EXPECT_EQ(cut(tokenizer, "hel l"), "he|l| |l");
  EXPECT_EQ(cut(tokenizer, "  hello"), " | hell|o");
  EXPECT_EQ(cut(tokenizer, "he'll"), "he|'|ll");
  EXPECT_EQ(cut(tokenizer, "hell\nhell"), "hell|\n|hell");
  EXPECT_EQ(cut(tokenizer, ""), "");
  EXPECT_EQ(cut(tokenizer, " "), " ");
}

TEST(Tokenizer, AddedTokensAreWhole) {
  const TemporaryFile file(".json", tokenizerJson().dump());
  const Tokenizer tokenizer(file.path());
  EXPECT_EQ(tokenizer.encode("<|end|>"), std::vector<int32_t>{0});
  EXPECT_EQ(cut(tokenizer, "he<|end|>he"), "he|<|end|>|he");
  EXPECT_EQ(tokenizer.decode(99999), "<99999>");
  EXPECT_EQ(tokenizer.decode(1), std::string(1, '\0'));
}

TEST(Tokenizer, OldFilesHaveMergesAsText) {
  json text = tokenizerJson();
  for (json &merge : text["model"]["merges"])
    merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  const TemporaryFile file(".json", text.dump());
  EXPECT_EQ(cut(Tokenizer(file.path()), "hello"), "hell|o");
}

TEST(Tokenizer, RefusesWhatItDoesNotDo) {
  const auto problem = [](const std::function<void(json &)> &change) {
    json text = tokenizerJson();
    change(text);
    const TemporaryFile file(".json", text.dump());
    const std::string message = messageOf([&] { Tokenizer t(file.path()); });
    const std::string begin =
        "'" + file.path() + "' is no tokenizer that is read here: ";
    EXPECT_EQ(message.rfind(begin, 0), 0u) << message;
    return message.substr(begin.size(), message.find(';') - begin.size());
  };
  EXPECT_EQ(problem([](json &t) { t["model"]["type"] = "Unigram"; }),
            "its model is \"Unigram\", wanted BPE");
  EXPECT_EQ(problem([](json &t) { t["normalizer"] = {{"type", "NFC"}}; }),
            "it has normalizer {\"type\":\"NFC\"}");
  EXPECT_EQ(problem([](json &t) { t["model"]["byte_fallback"] = true; }),
            "it has byte_fallback true");
  EXPECT_EQ(problem([](json &t) { t["pre_tokenizer"]["type"] = "Split"; }),
            "its pre_tokenizer and decoder are not both ByteLevel");
  EXPECT_EQ(
      problem([](json &t) { t["pre_tokenizer"]["add_prefix_space"] = true; }),
      "it has add_prefix_space true");
  EXPECT_EQ(problem([](json &t) { t["pre_tokenizer"]["use_regex"] = false; }),
            "its pre_tokenizer does not use GPT-2's expression");
  EXPECT_EQ(problem([](json &t) { t["model"]["vocab"]["h"] = -1; }),
            "a token has the id -1");
  EXPECT_EQ(problem([](json &t) { t["model"]["vocab"].erase("h"); }),
            "its vocabulary does not have all 256 bytes");
  EXPECT_EQ(problem([](json &t) { t["model"]["merges"][0] = "h"; }),
            "a merge is \"h\"");
  EXPECT_EQ(problem([](json &t) { t["model"]["vocab"].erase("hell"); }),
            "its vocabulary lacks the merged 'hell'");
  EXPECT_EQ(problem([](json &t) { t["added_tokens"][0]["lstrip"] = true; }),
            "it has lstrip true");
  EXPECT_EQ(problem([](json &t) { t.erase("model"); }),
            "it is no tokenizer.json");
  EXPECT_EQ(problem([](json &t) { t["model"] = json::array(); }),
            "it is no tokenizer.json");
}

/// What calls itself for each level would overflow the stack.
TEST(Tokenizer, RefusesDeepNesting) {
  std::string text = tokenizerJson().dump();
  const std::string null = "\"normalizer\":null";
  text.replace(text.find(null), null.size(),
               "\"normalizer\":" + std::string(100000, '[') +
                   std::string(100000, ']'));
  const TemporaryFile file(".json", text);
  EXPECT_NE(messageOf([&] {
              Tokenizer t(file.path());
            }).find("nested more than 100 deep"),
            std::string::npos);
}

TEST(Tokenizer, AgreesWithHuggingFace) {
  const std::string goldens = ZERO_GOLDENS;
  const Tokenizer tokenizer(goldens + "/tokenizer.json");
  std::ifstream file(goldens + "/tokenizer-cases.json");
  const json cases = json::parse(file);
  EXPECT_GT(cases.size(), 200u);
  for (const json &each : cases) {
    const auto text = each["text"].get<std::string>();
    const std::vector<int32_t> tokens = tokenizer.encode(text);
    EXPECT_EQ(tokens, each["ids"].get<std::vector<int32_t>>()) << each["text"];
    std::string back;
    for (const int32_t token : tokens)
      back += tokenizer.decode(token);
    EXPECT_EQ(back, text);
  }
}

/// Words end where the classes of Unicode's characters say.
TEST(Tokenizer, ReadsTextBeyondAscii) {
  const TemporaryFile file(".json", tokenizerJson().dump());
  const Tokenizer tokenizer(file.path());
  EXPECT_EQ(cut(tokenizer, "hell\u2003hell"), "hell|\xe2|\x80|\x83|hell");
  EXPECT_EQ(cut(tokenizer, "\u2003 hell"), "\xe2|\x80|\x83| hell");
  EXPECT_EQ(classOf(0x4e2d), CharacterClass::Letter);
  EXPECT_EQ(classOf(0x0660), CharacterClass::Number);
  EXPECT_EQ(classOf(0x3000), CharacterClass::Space);
  EXPECT_EQ(classOf(0x1f600), CharacterClass::Other);
  EXPECT_EQ(classOf(0), CharacterClass::Other);
  EXPECT_EQ(classOf(0x110000), CharacterClass::Other);
}

TEST(Tokenizer, RefusesTextThatIsNotUtf8) {
  const TemporaryFile file(".json", tokenizerJson().dump());
  const Tokenizer tokenizer(file.path());
  for (const char *wrong : {"\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
                            "\xf4\x90\x80\x80", "\xf5", "\xe4\xb8", "\xc3("})
    EXPECT_NE(messageOf([&] {
                tokenizer.encode("ab" + std::string(wrong));
              }).find("the prompt is not UTF-8: byte 2 begins no character"),
              std::string::npos)
        << wrong;
}

} // namespace
