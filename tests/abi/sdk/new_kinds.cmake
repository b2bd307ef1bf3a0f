# SPDX-License-Identifier: Apache-2.0
# Installs BUILD, lets `weft new` of that tree write a plugin of each kind, builds them against it,
# and runs KINDS_TEST with them. Everything is under WORK.
function(run)
  execute_process(COMMAND ${ARGV} WORKING_DIRECTORY "${WORK}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
execute_process(COMMAND ${CMAKE_COMMAND} --install "${BUILD}" --prefix "${WORK}/first"
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(RENAME "${WORK}/first" "${WORK}/weft")

file(WRITE "${WORK}/CMakeLists.txt" "cmake_minimum_required(VERSION 3.25)\nproject(all LANGUAGES CXX)\n")
foreach(kind algorithm transport memory)
  run("${WORK}/weft/bin/weft" new ${kind} my_${kind})
  file(APPEND "${WORK}/CMakeLists.txt" "add_subdirectory(my_${kind})\n")
endforeach()
run(${CMAKE_COMMAND} -S . -B build -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${WORK}/weft"
  "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Wshadow -Werror"
  "-DCMAKE_LIBRARY_OUTPUT_DIRECTORY=${WORK}/kinds")
run(${CMAKE_COMMAND} --build build)

set(ENV{WEFT_TEST_KINDS} "${WORK}/kinds")
set(ENV{WEFT_HOME} "${WORK}/weft")
set(ENV{WEFT_DEVICE_MEMORY} 4G)
run("${KINDS_TEST}")

# P10: nothing may be left undefined.
file(WRITE "${WORK}/undefined/undefined.c" "int nowhere(void);\nint f(void) { return nowhere(); }\nint (*weft_f)(void) = f;\n")
file(WRITE "${WORK}/undefined/CMakeLists.txt" "cmake_minimum_required(VERSION 3.25)
project(undefined LANGUAGES C)
find_package(weft REQUIRED)
weft_add_plugin(undefined SOURCES undefined.c)
")
run(${CMAKE_COMMAND} -S undefined -B undefined/build -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${WORK}/weft")
execute_process(COMMAND ${CMAKE_COMMAND} --build undefined/build WORKING_DIRECTORY "${WORK}"
  RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(NOT failed OR NOT text MATCHES "undefined reference to `nowhere'")
  message(FATAL_ERROR "a plugin with an undefined symbol was linked: ${text}")
endif()
