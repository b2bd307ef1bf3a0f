// SPDX-License-Identifier: Apache-2.0
#include "comm/proofs.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "proof/prove.hpp"

namespace weft::comm {

void Proofs::require(const config::Policy& policy, uint32_t ranks, const config::HcclAlgo& wishes) {
  if (ranks < 2) return;  // no algorithm is asked then
  const std::lock_guard lock(mutex_);
  for (const config::Candidate& each : policy.candidates(ranks, wishes)) {
    const Proof& proof = prove(each, ranks);
    if (proof.fault.empty()) continue;
    const std::string& name = each.algorithm->name;
    throw Error(HCCL_E_PARA,
                fmt::format("{}: algorithm \"{}\" of plugin \"{}\" is wrong with {} ranks, and the "
                            "policy has require_check: {}; run `weft check {} --ranks {}` to see "
                            "how, and repair the plugin or use another algorithm",
                            each.source, name, name.substr(0, name.find('.')), ranks, proof.fault,
                            name, ranks));
  }
}

const Proofs::Proof& Proofs::prove(const config::Candidate& candidate, uint32_t ranks) {
  for (const Proof& proof : proofs_) {
    if (proof.algorithm == candidate.algorithm && proof.ranks == ranks &&
        proof.params == candidate.params) {
      return proof;
    }
  }
  const proof::Fixed fixed(candidate.params.begin(), candidate.params.end());
  const proof::Verdict verdict = proof::prove(*candidate.algorithm, ranks, fixed);
  proofs_.push_back({candidate.algorithm, ranks, candidate.params,
                     verdict.wrong ? verdict.wrong->report.text : std::string()});
  return proofs_.back();
}

}  // namespace weft::comm
