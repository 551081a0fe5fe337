// What many tests of the runtime include; see cmake/PrecompiledHeaders.cmake.
#include "../../runtime/Precompiled.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
