// Times of products that ranks share, and their file. No product is computed
// here: candidates are numbers of seconds.
#include "../../Runtime/TemporaryFile.h"

#include "communicator/InProcess.h"
#include "device/cuda/ProductFile.h"
#include "device/cuda/ProductTuning.h"
#include "io/Together.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

using namespace zrt;
using cuda::ProductProcessor;
using cuda::ProductRecord;

namespace {

const ProductProcessor kHere = {"GPU \"A\"", 130000},
                       kThere = {"GPU B", 130000};

/// What a rank wants, and what became of it.
struct Rank {
  ProductProcessor processor = kHere;
  std::vector<std::string> products;
  std::vector<double> seconds = {3, 1, 2}; ///< of candidates a, b, c
  std::string failure;                     ///< of its timer; empty: none

  int timed = 0;
  std::map<std::string, std::string> used;
  std::string said, error;
};

class Tuning : public ::testing::Test {
protected:
  Tuning() { std::filesystem::remove(file.path()); }

  static void tune(Rank &rank, const std::string &path, Communicator &host) {
    double last = 0;
    ProductTuning tuning(
        path, rank.processor,
        [&](const std::function<void()> &queue) {
          if (!rank.failure.empty())
            throw std::runtime_error(rank.failure);
          queue();
          ++rank.timed;
          return last;
        },
        host);
    for (const std::string &product : rank.products) {
      std::vector<cuda::ProductCandidate> candidates;
      for (size_t i = 0; i < rank.seconds.size(); ++i)
        candidates.push_back({std::string(1, char('a' + i)),
                              [&, i] { last = rank.seconds[i]; }});
      tuning.choices().want(product, std::move(candidates),
                            [&rank, product](const std::string &choice) {
                              EXPECT_EQ(rank.used.count(product), 0u);
                              rank.used[product] = choice;
                            });
    }
    rank.said = tuning.finish();
  }

  /// All ranks, each on a thread of its own.
  std::vector<Rank> run(std::vector<Rank> ranks) {
    auto communicators = makeInProcess(int(ranks.size()));
    std::vector<std::thread> threads;
    for (size_t i = 0; i < ranks.size(); ++i)
      threads.emplace_back([&, i] {
        try {
          tune(ranks[i], file.path(), *communicators[i]);
        } catch (const std::exception &error) {
          ranks[i].error = error.what();
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    return ranks;
  }
  Rank runOne(Rank rank) { return run({std::move(rank)}).front(); }
  static Rank wanting(std::vector<std::string> products) {
    Rank rank;
    rank.products = std::move(products);
    return rank;
  }
  static void write(const std::string &path, const std::string &text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  zrt::test::TemporaryFile file{".json"};
};

using Used = std::map<std::string, std::string>;

TEST_F(Tuning, WritesWhatOneRankMeasures) {
  const Rank rank = runOne(wanting({"p", "q"}));
  EXPECT_EQ(rank.error, "");
  EXPECT_EQ(rank.used, (Used{{"p", "b"}, {"q", "b"}}));
  EXPECT_EQ(rank.said, "products: 2 timed; '" + file.path() +
                           "' has 2 of this GPU and cuBLASLt");
  EXPECT_EQ(file.content(),
            "{\"format\": \"zero-products\", \"version\": 1, \"products\": [\n"
            "{\"gpu\":\"GPU \\\"A\\\"\",\"cublaslt\":130000,\"product\":\"p\","
            "\"choice\":\"b\",\"microseconds\":1000000.0},\n"
            "{\"gpu\":\"GPU \\\"A\\\"\",\"cublaslt\":130000,\"product\":\"q\","
            "\"choice\":\"b\",\"microseconds\":1000000.0}\n]}\n");
}

TEST_F(Tuning, ReadsWhatAnEarlierRunHasMeasured) {
  runOne(wanting({"p", "q"}));
  // A file to which nothing is added is not written.
  const std::string before = file.content() + "\n";
  write(file.path(), before);
  Rank again = wanting({"q", "p"});
  again.seconds = {1, 2, 3};
  again = runOne(again);
  EXPECT_EQ(again.timed, 0);
  EXPECT_EQ(again.used, (Used{{"p", "b"}, {"q", "b"}}));
  EXPECT_EQ(file.content(), before);
  // Only what is new is measured, and what is there stays.
  again.products = {"p", "r"};
  again.used.clear();
  again = runOne(again);
  EXPECT_EQ(again.timed, 3 * 6);
  EXPECT_EQ(again.used, (Used{{"p", "b"}, {"r", "a"}}));
  EXPECT_EQ(readProducts(file.path()).size(), 3u);
}

TEST_F(Tuning, IsDoneByTheFirstRankForAll) {
  std::vector<Rank> ranks(3, wanting({"p", "q"}));
  ranks[1].seconds = ranks[2].seconds = {1, 2, 3};
  ranks = run(ranks);
  EXPECT_EQ(ranks[0].timed, 2 * 3 * 6);
  for (const Rank &rank : ranks) {
    EXPECT_EQ(rank.error, "");
    EXPECT_EQ(rank.used, (Used{{"p", "b"}, {"q", "b"}}));
  }
  EXPECT_EQ(ranks[1].timed + ranks[2].timed, 0);
}

/// The slices of ranks may be aligned in different ways.
TEST_F(Tuning, OfWhatTheFirstRankDoesNotHaveIsDoneByAnother) {
  std::vector<Rank> ranks = {wanting({"p"}), wanting({"q", "p"}),
                             wanting({"q"})};
  ranks[2].seconds = {1, 2, 3};
  ranks = run(ranks);
  EXPECT_EQ(ranks[0].timed, 18);
  EXPECT_EQ(ranks[1].timed, 18);
  EXPECT_EQ(ranks[2].timed, 0);
  EXPECT_EQ(ranks[1].used, (Used{{"p", "b"}, {"q", "b"}}));
  EXPECT_EQ(ranks[2].used, (Used{{"q", "b"}}));
  EXPECT_EQ(readProducts(file.path()).size(), 2u);
}

TEST_F(Tuning, OfEachKindOfGpuIsDoneOnOne) {
  std::vector<Rank> ranks(4, wanting({"p"}));
  ranks[2].processor = ranks[3].processor = kThere;
  ranks[2].seconds = {1, 2, 3};
  ranks = run(ranks);
  std::vector<int> timed;
  std::string used;
  for (const Rank &rank : ranks) {
    timed.push_back(rank.timed);
    used += rank.used.at("p");
  }
  EXPECT_EQ(timed, (std::vector<int>{18, 0, 18, 0}));
  EXPECT_EQ(used, "bbaa");
  EXPECT_EQ(readProducts(file.path()).size(), 2u);
}

TEST_F(Tuning, KeepsWhatIsOfOtherProcessors) {
  Rank other = wanting({"p"});
  other.processor = kThere;
  other.seconds = {1, 2, 3};
  runOne(other);
  Rank here = runOne(wanting({"p"}));
  EXPECT_EQ(here.timed, 18);
  EXPECT_EQ(here.used.at("p"), "b");
  here.used.clear();
  here.processor.blasVersion = 1;
  EXPECT_EQ(runOne(here).timed, 2 * 18);
  other.timed = 0;
  other.used.clear();
  other = runOne(other);
  EXPECT_EQ(other.timed, 0);
  EXPECT_EQ(other.used.at("p"), "a");
}

TEST_F(Tuning, RefusesADamagedFile) {
  runOne(wanting({"p"}));
  const std::string good = file.content();
  const auto errorOf = [&](const std::string &from, const std::string &to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    write(file.path(), text);
    const std::vector<Rank> ranks = run({2, wanting({"p"})});
    EXPECT_EQ(ranks[1].error, "rank 0: " + ranks[0].error);
    EXPECT_EQ(ranks[0].timed + ranks[1].timed, 0);
    EXPECT_EQ(file.content(), text);
    const std::string begin = "--tune-products: '" + file.path() +
                              "' cannot be read: ",
                      end = "; name another file, or delete it, and products "
                            "are timed again";
    const std::string &error = ranks[0].error;
    if (error.size() < begin.size() + end.size() ||
        error.compare(0, begin.size(), begin) != 0 ||
        error.compare(error.size() - end.size(), end.size(), end) != 0)
      return "another error: " + error;
    return error.substr(begin.size(), error.size() - begin.size() - end.size());
  };
  EXPECT_EQ(errorOf("zero-products", "zero"),
            "its format is \"zero\", wanted \"zero-products\"");
  EXPECT_EQ(errorOf("\"version\": 1", "\"version\": 2"),
            "its version is 2, and this program reads version 1");
  EXPECT_NE(errorOf("]}\n", "").find("parse error"), std::string::npos);
  EXPECT_NE(errorOf(good, "").find("parse error"), std::string::npos);
  EXPECT_NE(errorOf("\"choice\"", "\"chosen\"").find("'choice' not found"),
            std::string::npos);
  EXPECT_NE(errorOf("\"b\"", "5").find("must be string"), std::string::npos);
  EXPECT_NE(errorOf("\"choice\"", "\"x\":1,\"choice\"")
                .find("a record has a key that is not known: {"),
            std::string::npos);
  const size_t begin = good.find("\n") + 1;
  const std::string line = good.substr(begin, good.find("\n]}") - begin);
  EXPECT_EQ(errorOf(line, line + ",\n" + line),
            "it has two records of 'p' on 'GPU \"A\"'");
}

TEST_F(Tuning, SaysWhatCannotBeReadOrWritten) {
  std::filesystem::create_directory(file.path());
  EXPECT_NE(
      runOne(wanting({"p"})).error.find("--tune-products: " + file.path()),
      std::string::npos);
  std::filesystem::remove(file.path());
  auto communicators = makeInProcess(1);
  Rank rank = wanting({"p"});
  try {
    tune(rank, file.path() + "/there/t.json", *communicators[0]);
    ADD_FAILURE();
  } catch (const std::runtime_error &error) {
    EXPECT_EQ(std::string(error.what())
                  .find("--tune-products: " + file.path() + "/there/t.json"),
              0u)
        << error.what();
  }
}

TEST_F(Tuning, FailsOnAllRanksWhereItFailsOnOne) {
  std::vector<Rank> ranks(2, wanting({"p"}));
  ranks[0].failure = "cublasLtMatmul: no";
  ranks = run(ranks);
  EXPECT_EQ(ranks[0].error, "cublasLtMatmul: no");
  EXPECT_EQ(ranks[1].error, "rank 0: cublasLtMatmul: no");
  EXPECT_FALSE(std::filesystem::exists(file.path()));
}

} // namespace
