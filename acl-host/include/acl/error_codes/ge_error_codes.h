// SPDX-License-Identifier: Apache-2.0
// Error codes of the graph engine. There is no graph engine on a plain host, so there are none;
// the header exists because programs include it.
#ifndef ACL_ERROR_CODES_GE_ERROR_CODES_H
#define ACL_ERROR_CODES_GE_ERROR_CODES_H

#endif /* ACL_ERROR_CODES_GE_ERROR_CODES_H */
