// SPDX-License-Identifier: Apache-2.0
// Capture of streams, which a plain host does not have: the functions say so.
#include "stream.hpp"

namespace weft::acl {
namespace {

aclError no_capture(const char* where) noexcept {
  return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
              "%s: capture is not available on a plain host; launch the work on the stream", where);
}

}  // namespace
}  // namespace weft::acl

using namespace weft::acl;

aclError aclmdlRICaptureBegin(aclrtStream, aclmdlRICaptureMode) {
  return no_capture("aclmdlRICaptureBegin");
}

aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus* status,
                                aclmdlRI* modelRI) {
  constexpr const char* kWhere = "aclmdlRICaptureGetInfo";
  if (status == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: status is NULL", kWhere);
  Stream* found = nullptr;
  if (const aclError error = find_stream(stream, kWhere, &found)) return error;
  *status = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
  if (modelRI != nullptr) *modelRI = nullptr;
  return ACL_SUCCESS;
}

aclError aclmdlRICaptureEnd(aclrtStream, aclmdlRI*) { return no_capture("aclmdlRICaptureEnd"); }

aclError aclmdlRIExecuteAsync(aclmdlRI, aclrtStream) { return no_capture("aclmdlRIExecuteAsync"); }

aclError aclmdlRIDestroy(aclmdlRI) { return no_capture("aclmdlRIDestroy"); }
