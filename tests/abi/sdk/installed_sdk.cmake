# SPDX-License-Identifier: Apache-2.0
# Installs the component "sdk" of BUILD, builds the plugin PLUGIN of SOURCE against it, installs that
# too, and runs the conformance suite on it. Everything is under WORK.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${WORK}")
run(${CMAKE_COMMAND} --install "${BUILD}" --component sdk --prefix "${WORK}/first")
# The package must not depend on where it was installed.
file(RENAME "${WORK}/first" "${WORK}/sdk")

run(${CMAKE_COMMAND} -S "${SOURCE}" -B "${WORK}/build" -G "${GENERATOR}"
  "-DCMAKE_PREFIX_PATH=${WORK}/sdk" "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
run(${CMAKE_COMMAND} --build "${WORK}/build")
run(${CMAKE_COMMAND} --install "${WORK}/build" --prefix "${WORK}/weft")

set(ENV{WEFT_TEST_PLUGIN} "${WORK}/weft/lib64/weft/plugins/${PLUGIN}.so")
run("${CONFORMANCE}")
