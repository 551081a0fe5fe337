// The rules of updates, for tests that hold for all of them.
#ifndef ZERO_TEST_RUNTIME_UPDATERULELIST_H
#define ZERO_TEST_RUNTIME_UPDATERULELIST_H

#include "kernels/optimizer/UpdateRules.h"
#include "program/Program.h"

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

} // namespace zrt::test

#endif // ZERO_TEST_RUNTIME_UPDATERULELIST_H
