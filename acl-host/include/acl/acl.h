// SPDX-License-Identifier: Apache-2.0
// Umbrella header of the ACL interface, and its start and end.
#ifndef ACL_ACL_H
#define ACL_ACL_H

#include "acl/acl_mdl.h"
#include "acl/acl_op.h"
#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_MAJOR_VERSION 1
#define ACL_MINOR_VERSION 17
#define ACL_PATCH_VERSION 0

#define ACL_PKG_VERSION_MAX_SIZE 128
#define ACL_PKG_VERSION_PARTS_MAX_SIZE 64

typedef enum aclCANNPackageName {
  ACL_PKG_NAME_CANN = 0,
  ACL_PKG_NAME_RUNTIME = 1,
  ACL_PKG_NAME_COMPILER = 2,
  ACL_PKG_NAME_HCCL = 3,
  ACL_PKG_NAME_TOOLKIT = 4,
  ACL_PKG_NAME_OPP = 5,
  ACL_PKG_NAME_OPP_KERNEL = 6,
  ACL_PKG_NAME_DRIVER = 7
} aclCANNPackageName;

typedef struct aclCANNPackageVersion {
  char version[ACL_PKG_VERSION_MAX_SIZE];
  char majorVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
  char minorVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
  char releaseVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
  char patchVersion[ACL_PKG_VERSION_PARTS_MAX_SIZE];
  char reserved[ACL_PKG_VERSION_MAX_SIZE];
} aclCANNPackageVersion;

/* Starts ACL. `configPath` names a JSON file, or is NULL or empty. Understood keys: "err_msg_mode"
 * ("0": texts per thread, "1": per process) and "defaultDevice": {"default_device": "<id>"}; others
 * are for parts a plain host does not have. A repeat counts a reference and returns
 * ACL_ERROR_REPEAT_INITIALIZE, which is harmless. */
ACL_FUNC_VISIBILITY aclError aclInit(const char* configPath);

/* Ends ACL whatever the count of references. Devices, streams and memory stay as they are. */
ACL_FUNC_VISIBILITY aclError aclFinalize(void);

/* Gives one reference back; the last one ends ACL. `refCount`, if not NULL, gets what remains. */
ACL_FUNC_VISIBILITY aclError aclFinalizeReference(uint64_t* refCount);

/* Version of the ACL interface. */
ACL_FUNC_VISIBILITY aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion,
                                             int32_t* patchVersion);

/* Version of the package generation whose interface this library has. */
ACL_FUNC_VISIBILITY aclError aclsysGetCANNVersion(aclCANNPackageName name,
                                                  aclCANNPackageVersion* version);

/* The same by lower-case package name ("runtime", "hccl", ...). `versionStr` has room for
 * ACL_PKG_VERSION_MAX_SIZE bytes. */
ACL_FUNC_VISIBILITY aclError aclsysGetVersionStr(char* pkgName, char* versionStr);

/* The same as major * 10000000 + minor * 100000 + release * 1000. */
ACL_FUNC_VISIBILITY aclError aclsysGetVersionNum(char* pkgName, int32_t* versionNum);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_H */
