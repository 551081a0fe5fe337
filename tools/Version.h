// What --version says: the version, and what the build was made with.
#ifndef ZERO_TOOLS_VERSION_H
#define ZERO_TOOLS_VERSION_H

#include "tools/Versions.inc"

#include <string>

namespace zero_tools {

/// Lines for people, without a newline at the end.
inline std::string versionText(const std::string &tool) {
  return tool + " " ZERO_VERSIONS;
}

} // namespace zero_tools

#endif // ZERO_TOOLS_VERSION_H
