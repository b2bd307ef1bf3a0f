// SPDX-License-Identifier: Apache-2.0
// What a policy is made of: written by the reader of its file, read by what answers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "config/experiment.hpp"
#include "config/policy.hpp"
#include "config/rules.hpp"

namespace weft::config {

struct Contents {
  Settings settings;
  std::vector<Place> memory_places;                  // of the names in settings.memory_order
  std::map<std::string, Place, std::less<>> places;  // of settings: "transport.engine"
  std::vector<Rule> rules;
  std::vector<Experiment> experiments;
};

struct Policy::Impl {
  std::string name;
  std::string digest;
  Contents contents;
  uint32_t ops_by_bytes = 0;  // bit by operation: some rule of it looks at bytes
  // Those that answer to a name of HCCL_ALGO, by full name. Set by resolve.
  std::vector<const plugin::Algorithm*> wishable;
};

}  // namespace weft::config
