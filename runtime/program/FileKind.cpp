#include "program/FileKind.h"

std::string zrt::whyNotRegular(mode_t mode) {
  if (S_ISREG(mode))
    return "";
  const char *kind = S_ISDIR(mode)    ? "a folder"
                     : S_ISFIFO(mode) ? "a pipe"
                     : S_ISSOCK(mode) ? "a socket"
                                      : "a device";
  return std::string("found ") + kind + ", wanted a regular file";
}
