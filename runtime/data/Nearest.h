// Words that a user may have meant.
#ifndef ZERO_RUNTIME_DATA_NEAREST_H
#define ZERO_RUNTIME_DATA_NEAREST_H

#include <string>
#include <vector>

namespace zrt {

/// The first of `words` with the fewest insertions, deletions and replacements
/// to `word`, but fewer than 3 and than the length of `word`; "" where none is
/// so near.
std::string nearestOf(const std::string &word,
                      const std::vector<std::string> &words);

} // namespace zrt

#endif // ZERO_RUNTIME_DATA_NEAREST_H
