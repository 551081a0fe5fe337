// The rules of updates, for tests that hold for all of them.
#ifndef ZERO_TEST_RUNTIME_KERNELS_UPDATERULELIST_H
#define ZERO_TEST_RUNTIME_KERNELS_UPDATERULELIST_H

#include "program/Program.h"
#include "program/UpdateRules.h"

#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace zrt::test {

struct ListedRule {
  const char *name;
  /// How many states an update with these attributes has.
  int (*states)(const KernelSpec &spec);
};

inline std::vector<ListedRule> listUpdateRules() {
  std::vector<ListedRule> list;
#define ADD(Rule)                                                              \
  list.push_back({rules::Rule::kName, [](const KernelSpec &spec) {             \
                    return rules::Rule::states(rules::Rule::read(spec));       \
                  }});
  ZRT_FOR_EACH_UPDATE_RULE(ADD)
#undef ADD
  return list;
}

/// `spec` with those of its hyperparameters that its rule reads: one set of
/// them serves all rules.
inline KernelSpec onlyItsOwn(KernelSpec spec) {
  struct Reader {
    double real(const std::string &key, double otherwise = 0) const {
      keys.insert(key);
      return otherwise;
    }
    int64_t integer(const std::string &key, int64_t otherwise = 0) const {
      keys.insert(key);
      return otherwise;
    }
    mutable std::set<std::string> keys = {"partition"};
  } reader;
#define READ(Rule)                                                             \
  if (spec.name == rules::Rule::kName)                                         \
    rules::Rule::read(reader);
  ZRT_FOR_EACH_UPDATE_RULE(READ)
#undef READ
  auto drop = [&](auto &attributes) {
    for (auto it = attributes.begin(); it != attributes.end();)
      it = reader.keys.count(it->first) ? std::next(it) : attributes.erase(it);
  };
  drop(spec.ints);
  drop(spec.floats);
  return spec;
}

} // namespace zrt::test

#endif // ZERO_TEST_RUNTIME_KERNELS_UPDATERULELIST_H
