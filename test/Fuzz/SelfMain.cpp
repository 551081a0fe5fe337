// Targets with faults, for a test of what is said about them.
#include "../../tools/fuzz/Target.h"

#include <cstdlib>
#include <unistd.h>

using namespace fuzz;

static std::vector<std::string> seeds() { return {"abc\n1 2\n", "def\n3\n"}; }

static bool isEven(const std::string &input) { return input.size() % 2 == 0; }

static std::string makeOddOrEven(const std::string &, const std::string &,
                                 Random &random) {
  return random.oneIn(3) ? "odd" : "even";
}

const std::vector<Target> &fuzz::targets() {
  static const std::vector<Target> all = {
      {"sound", seeds, makeText, isEven},
      {"violated", seeds, makeOddOrEven,
       [](const std::string &input) {
         require(input != "odd", "the input is odd");
         return true;
       }},
      {"signalled", seeds, makeOddOrEven,
       [](const std::string &input) {
         return input == "odd" ? *static_cast<volatile bool *>(nullptr) : true;
       }},
      {"ended", seeds, makeOddOrEven,
       [](const std::string &input) {
         if (input == "odd")
           std::exit(3);
         return true;
       }},
      {"endless", seeds, makeOddOrEven, [](const std::string &input) {
         while (input == "odd")
           ::pause();
         return true;
       }}};
  return all;
}
