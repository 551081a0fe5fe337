// What many tests of the compiler include; see cmake/PrecompiledHeaders.cmake.
#include "../lib/Precompiled.h"
#include "CompilerTesting.h"

#include <gmock/gmock.h>
