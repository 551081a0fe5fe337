// Standard input, output and error of a process.
#ifndef ZERO_RUNTIME_TRAINER_STANDARDSTREAMS_H
#define ZERO_RUNTIME_TRAINER_STANDARDSTREAMS_H

#include <iosfwd>

namespace zrt {

/// Opens /dev/null for those that are closed, since the next file would take
/// their number and what is printed go into it; and lets a run outlive the
/// reader of its output and the limit on the size of files, which are errors of
/// whoever writes. Called before anything is opened.
void prepareStandardStreams();

/// `code` where all of `out`, which is standard output, has been written or
/// its reader closed it; else 1, or `code` if it is an error already, and says
/// so in `errors`.
int finishOutput(int code, std::ostream &out, std::ostream &errors);

} // namespace zrt

#endif // ZERO_RUNTIME_TRAINER_STANDARDSTREAMS_H
