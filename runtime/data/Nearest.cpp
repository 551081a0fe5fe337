#include "data/Nearest.h"

#include <algorithm>
#include <numeric>

using namespace zrt;

namespace {

/// Insertions, deletions and replacements between two words.
size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

} // namespace

std::string zrt::nearestOf(const std::string &word,
                           const std::vector<std::string> &words) {
  std::string best;
  size_t bestDistance = std::min<size_t>(3, word.size());
  for (const std::string &each : words)
    if (const size_t distance = editDistance(word, each);
        distance < bestDistance) {
      bestDistance = distance;
      best = each;
    }
  return best;
}
