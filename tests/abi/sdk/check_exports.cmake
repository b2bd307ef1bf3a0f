# SPDX-License-Identifier: Apache-2.0
# Fails unless weft_plugin is the only dynamic symbol that PLUGIN defines (P1), or if it is linked to
# the core (P10).
execute_process(COMMAND ${NM} -D --defined-only --format=posix ${PLUGIN}
  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE " [^\n]*\n" ";" names "${symbols}")
if(NOT names STREQUAL "weft_plugin;")
  message(FATAL_ERROR "${PLUGIN} exports: ${names}")
endif()
execute_process(COMMAND ${READELF} -d ${PLUGIN} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
if(dynamic MATCHES "NEEDED[^\n]*(hccl|hcomm)" OR NOT dynamic MATCHES "NEEDED")
  message(FATAL_ERROR "${PLUGIN} needs: ${dynamic}")
endif()
