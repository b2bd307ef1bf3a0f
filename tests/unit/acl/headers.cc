// SPDX-License-Identifier: Apache-2.0
// The headers as users' programs include them, in every C++ since 11.
#include "acl/acl.h"
#include "acl/acl_base.h"
#include "acl/acl_host.h"
#include "acl/acl_prof.h"
#include "acl/acl_rt.h"

static_assert(sizeof(aclrtPtrAttributes) == 28, "documented layout");
static_assert(sizeof(aclrtPhysicalMemProp) == 32, "documented layout");
static_assert(sizeof(aclrtMemAccessDesc) == 24, "documented layout");
static_assert(sizeof(aclrtMemFabricHandle) == 128, "documented layout");
static_assert(sizeof(aclrtMemcpyBatchAttr) == 32, "documented layout");
static_assert(sizeof(aclrtServerPid) == 24, "documented layout");
static_assert(sizeof(aclrtCntNotifyRecordInfo) == 8, "documented layout");
static_assert(sizeof(aclrtCntNotifyWaitInfo) == 16, "documented layout");
static_assert(sizeof(aclrtMallocAttribute) == 12, "documented layout");
static_assert(sizeof(aclrtStreamAttrValue) == 16, "documented layout");
static_assert(sizeof(aclrtMemUsageInfo) == 112, "documented layout");
static_assert(sizeof(aclrtMemUceInfo) == 128, "documented layout");
static_assert(sizeof(aclCANNPackageVersion) == 512, "documented layout");
static_assert(ACL_ERROR_REPEAT_INITIALIZE == 100002 && ACL_ERROR_RT_CCU_EXCEPTION == 507916,
              "documented codes");
