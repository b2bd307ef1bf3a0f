# SPDX-License-Identifier: Apache-2.0
# Build options, warnings, sanitizers and the output layout shared by every target.

option(WEFT_TESTS "Build the tests" ON)
set(WEFT_SANITIZE "" CACHE STRING "Sanitizers to build with: empty, 'address,undefined' or 'thread'")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# The build tree has the layout of the installed one, so that every file is found the same way.
set(WEFT_PREFIX ${CMAKE_BINARY_DIR}/prefix)
set(WEFT_LIBDIR lib64)
set(WEFT_PLUGINDIR lib64/weft/plugins)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${WEFT_PREFIX}/${WEFT_LIBDIR})
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${WEFT_PREFIX}/bin)
# Run paths are relative to the file itself: the installed tree can be moved.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)

add_library(weft_flags INTERFACE)
# -Wno-restrict: g++ 12 reports std::string concatenations that are fine (GCC bug 105651).
target_compile_options(weft_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wno-restrict
  $<$<CONFIG:Release,RelWithDebInfo>:-Werror>)
if(WEFT_SANITIZE)
  target_compile_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE})
endif()
