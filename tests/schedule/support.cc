// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <cstdio>
#include <memory>
#include <stdexcept>

#include "proof/picture.hpp"
#include "proof/prove.hpp"
#include "schedule/builder.hpp"

namespace weft::schedule {

const plugin::Registry& plugins() {
  static const std::unique_ptr<plugin::Registry> kLoaded = [] {
    auto registry = std::make_unique<plugin::Registry>();
    for (const char* file : {WEFT_ALGO_MESH, WEFT_ALGO_RING, WEFT_ALGO_TREE, WEFT_ALGO_NULL})
      registry->load(file);
    return registry;
  }();
  return *kLoaded;
}

const plugin::Algorithm& algorithm(const std::string& full_name) {
  const plugin::Algorithm* found = plugins().find_algorithm(full_name);
  if (found == nullptr) throw std::out_of_range("no algorithm " + full_name);
  return *found;
}

std::vector<int64_t> defaults(const plugin::Algorithm& algorithm) {
  std::vector<int64_t> values;
  for (const plugin::Param& param : algorithm.params) values.push_back(param.def);
  return values;
}

std::vector<Schedule> emit_all(const weft_algorithm& algorithm, uint32_t ranks, uint32_t root) {
  std::vector<int64_t> values;
  for (uint32_t i = 0; i < algorithm.param_count; ++i) values.push_back(algorithm.params[i].def);
  std::vector<Schedule> all;
  for (uint32_t r = 0; r < ranks; ++r) {
    all.push_back(emit(algorithm, algorithm.name, {algorithm.op, ranks, r, root}, values));
  }
  return all;
}

std::vector<Schedule> emit_all(const std::string& full_name, uint32_t ranks, uint32_t root) {
  return emit_all(algorithm(full_name).table, ranks, root);
}

bool is_rejected(const Report& report, Fault fault, const std::string& part) {
  if (report.fault == fault && report.text.find(part) != std::string::npos) return true;
  std::fprintf(stderr, "wanted: %s ... %s\nreport: %s\n", fault_name(fault), part.c_str(),
               report.ok() ? "no fault" : report.text.c_str());
  return false;
}

plugin::Algorithm offered(const weft_algorithm& table) {
  plugin::Algorithm made{std::string("seeded.") + table.name, "", table, {}};
  for (uint32_t i = 0; i < table.param_count; ++i) {
    const weft_param& p = table.params[i];
    made.params.push_back({p.name, p.help, p.def, p.min, p.max});
  }
  return made;
}

namespace {

std::optional<proof::CounterExample> smallest(const plugin::Algorithm& algorithm) {
  const std::vector<uint32_t> ranks = {2, 3, 4, 5, 6, 7, 8, 9};
  return proof::smallest(algorithm, ranks);
}

}  // namespace

bool is_proved(const plugin::Algorithm& algorithm) {
  const auto found = smallest(algorithm);
  if (found) std::fprintf(stderr, "%s", proof::picture(algorithm, *found).c_str());
  return !found;
}

bool is_refuted(const plugin::Algorithm& algorithm, Fault fault, uint32_t ranks,
                std::initializer_list<const char*> parts) {
  const auto found = smallest(algorithm);
  const std::string picture = found ? proof::picture(algorithm, *found) : "no fault\n";
  bool good = found && found->report.fault == fault && found->of.ranks == ranks;
  for (const char* part : parts) {
    if (picture.find(part) != std::string::npos) continue;
    good = false;
    std::fprintf(stderr, "not there: %s\n", part);
  }
  if (!good) {
    std::fprintf(stderr, "wanted: %s with %u ranks\n%s", fault_name(fault), ranks, picture.c_str());
  }
  return good;
}

}  // namespace weft::schedule
