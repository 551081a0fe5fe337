// Texts of all ranks, and files of text.
#ifndef ZERO_RUNTIME_REPORT_TEXTS_H
#define ZERO_RUNTIME_REPORT_TEXTS_H

#include "communicator/Communicator.h"

#include <string>
#include <vector>

namespace zrt {

/// The `text` of every rank, by rank, on rank 0; elsewhere an empty list. All
/// ranks call it. Apart from rank 0 no rank holds more than one other's text.
std::vector<std::string> gatherTexts(Communicator &communicator,
                                     const std::string &text);

/// Writes a file, which takes its place when it is complete. Throws
/// std::runtime_error with the path and the reason.
void writeText(const std::string &path, const std::string &text);

} // namespace zrt

#endif // ZERO_RUNTIME_REPORT_TEXTS_H
