// Kinds of files, in words.
#ifndef ZERO_RUNTIME_PROGRAM_FILEKIND_H
#define ZERO_RUNTIME_PROGRAM_FILEKIND_H

#include <string>
#include <sys/stat.h>

namespace zrt {

/// "found a pipe, wanted a regular file" of a mode as `stat` gives it; "" of a
/// regular file.
std::string whyNotRegular(mode_t mode);

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_FILEKIND_H
