# SPDX-License-Identifier: Apache-2.0
# Installs BUILD under WORK and does there what DOCUMENT says.
file(REMOVE_RECURSE ${WORK})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/weft
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(
  COMMAND ${PYTHON} ${CMAKE_CURRENT_LIST_DIR}/run_document.py ${DOCUMENT} ${WORK}/reader ${WORK}/weft
  COMMAND_ERROR_IS_FATAL ANY)
