# SPDX-License-Identifier: Apache-2.0
# Sourced by users of an installed weft: `source P/set_env.sh`. The prefix is where this file is; it can be moved.
_weft_self="${BASH_SOURCE[0]:-$0}"
export ASCEND_HOME_PATH="$(cd "$(dirname "$_weft_self")" && pwd)"
export WEFT="$ASCEND_HOME_PATH"
unset _weft_self
export PATH="$ASCEND_HOME_PATH/bin:$PATH"
export LD_LIBRARY_PATH="$ASCEND_HOME_PATH/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export CMAKE_PREFIX_PATH="$ASCEND_HOME_PATH${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}"
export PYTHONPATH="$ASCEND_HOME_PATH/python${PYTHONPATH:+:$PYTHONPATH}"
