# SPDX-License-Identifier: Apache-2.0
# Compiles the sources of a folder as one: most of the time of compiling a file is its headers. Continuous
# integration does so with the tests and, in sanitizer builds, with what is tested; the release build compiles the
# files of the product one by one, so that each still has to include what it uses.

set(WEFT_UNITY "" CACHE STRING "What to compile by folders: empty, 'tests' or 'all' (see WeftUnity.cmake)")

# weft_unity(<target> [ALONE <file>...]): the names in the anonymous namespaces of the files of a folder have to differ
# then. Files whose names do not are compiled ALONE.
function(weft_unity target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ALONE")
  get_target_property(sources ${target} SOURCES)
  get_target_property(root ${target} SOURCE_DIR)
  list(REMOVE_ITEM sources ${arg_ALONE})
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${root})
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP "weft_${folder}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # The warning takes a file that is included for a header.
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
endfunction()
