# SPDX-License-Identifier: Apache-2.0
# Fails unless weft_plugin is the only dynamic symbol that PLUGIN defines (P1).
execute_process(COMMAND ${NM} -D --defined-only --format=posix ${PLUGIN}
  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE " [^\n]*\n" ";" names "${symbols}")
if(NOT names STREQUAL "weft_plugin;")
  message(FATAL_ERROR "${PLUGIN} exports: ${names}")
endif()
