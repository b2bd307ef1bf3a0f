// SPDX-License-Identifier: Apache-2.0
// Single-operator interface. A plain host loads no operators: the header only brings the types in.
#ifndef ACL_ACL_OP_H
#define ACL_ACL_OP_H

#include "acl/acl_base.h"
#include "acl/acl_rt.h"

#endif /* ACL_ACL_OP_H */
