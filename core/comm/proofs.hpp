// SPDX-License-Identifier: Apache-2.0
// What a policy with require_check asks for before a communicator is made. Kept for the life of the
// process: an algorithm is proved once for a number of ranks.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "config/policy.hpp"

namespace weft::comm {

class Proofs {
 public:
  /// Proves every algorithm that a communicator of so many ranks may get. Throws Error
  /// (HCCL_E_PARA) for the first that is wrong: rule, plugin, algorithm and how it is.
  void require(const config::Policy& policy, uint32_t ranks, const config::HcclAlgo& wishes);

 private:
  struct Proof {
    const plugin::Algorithm* algorithm = nullptr;
    uint32_t ranks = 0;
    std::vector<int64_t> params;
    std::string fault;  // empty: it is right
  };

  const Proof& prove(const config::Candidate& candidate, uint32_t ranks);

  std::mutex mutex_;  // also while something is proved: whoever waits needs the same proofs
  std::vector<Proof> proofs_;
};

}  // namespace weft::comm
