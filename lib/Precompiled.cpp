// Carries the precompiled headers; see CMakeLists.txt.
