# SPDX-License-Identifier: Apache-2.0
# Fails unless PROGRAM prints what is in the file GOLDEN.
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
file(READ ${GOLDEN} golden)
if(NOT printed STREQUAL golden)
  message(FATAL_ERROR "${PROGRAM} differs from ${GOLDEN}. It printed:\n${printed}")
endif()
