// SPDX-License-Identifier: Apache-2.0
// One header, included before anything else.
#include ACL_HEADER

int acl_header_alone(void);
int acl_header_alone(void) { return (int)sizeof(aclError); }
