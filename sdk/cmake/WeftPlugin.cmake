# SPDX-License-Identifier: Apache-2.0
# weft_add_plugin(<target> SOURCES <file>... [OUTPUT_DIRECTORY <folder>])
#
# A plugin <target>.so that keeps the rules of docs/abi.md which a build can keep: one exported
# symbol (P1), nothing left undefined (P10). It is installed to lib64/weft/plugins, where weft looks
# for plugins, unless OUTPUT_DIRECTORY says that it is for private use.
function(weft_add_plugin target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OUTPUT_DIRECTORY" "SOURCES")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "usage: weft_add_plugin(<target> SOURCES <file>... "
                        "[OUTPUT_DIRECTORY <folder>])")
  endif()

  add_library(${target} MODULE ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE weft::sdk)
  set(map ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/weft_plugin.map)
  # Not -Wl: the path may have a comma.
  target_link_options(${target} PRIVATE
    LINKER:-z,defs "SHELL:-Xlinker \"--version-script=${map}\"")
  set_target_properties(${target} PROPERTIES
    PREFIX "" SUFFIX .so LINK_DEPENDS ${map}
    CXX_EXTENSIONS OFF
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)

  set(folder lib64/weft/plugins)
  if(arg_OUTPUT_DIRECTORY)
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${arg_OUTPUT_DIRECTORY})
    return()
  endif()
  if(WEFT_PREFIX)  # inside weft's own build, whose tree has the layout of an installed one
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${WEFT_PREFIX}/${folder})
  endif()
  install(TARGETS ${target} LIBRARY DESTINATION ${folder})
endfunction()
