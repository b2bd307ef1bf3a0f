# SPDX-License-Identifier: Apache-2.0
# Fails if LIBRARY exports anything but the ACL interface. NM is the nm program.
execute_process(COMMAND ${NM} -D --defined-only --format=posix ${LIBRARY}
  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" lines "${symbols}")
if(NOT lines)
  message(FATAL_ERROR "${LIBRARY} exports nothing")
endif()
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^acl")
    message(SEND_ERROR "${LIBRARY} exports ${line}")
  endif()
endforeach()
