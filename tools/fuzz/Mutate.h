// Inputs that are nearly right.
#ifndef ZERO_TOOLS_FUZZ_MUTATE_H
#define ZERO_TOOLS_FUZZ_MUTATE_H

#include "Random.h"

#include <string>

namespace fuzz {

/// `bytes` with up to `most` changes: bits, bytes and integers replaced, ranges
/// removed, repeated, moved, or taken from `other`.
std::string mutateBytes(std::string bytes, const std::string &other, int most,
                        Random &random);

/// `text` with up to `most` changes: lines or tokens removed, repeated,
/// swapped, moved, or taken from `other`; numbers replaced; now and then a
/// byte.
std::string mutateText(std::string text, const std::string &other, int most,
                       Random &random);

} // namespace fuzz

#endif // ZERO_TOOLS_FUZZ_MUTATE_H
