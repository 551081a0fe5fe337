// Carries precompiled headers; see PrecompiledHeaders.cmake.
