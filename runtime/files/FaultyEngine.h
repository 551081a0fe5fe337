// Transfers that fail, or do something else, where a fault is injected.
#ifndef ZERO_RUNTIME_FILES_FAULTYENGINE_H
#define ZERO_RUNTIME_FILES_FAULTYENGINE_H

#include "files/FileEngine.h"
#include "injection/Faults.h"

namespace zrt {

/// On top of `engine`; `faults` is borrowed.
std::unique_ptr<FileEngine> makeFaultyEngine(std::unique_ptr<FileEngine> engine,
                                             Faults &faults);

} // namespace zrt

#endif // ZERO_RUNTIME_FILES_FAULTYENGINE_H
