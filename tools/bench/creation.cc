// SPDX-License-Identifier: Apache-2.0
#include "bench/creation.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <vector>

#include "acl/acl.h"
#include "bench/complaint.hpp"
#include "hccl/hccl.h"
#include "hccl/hccl_comm.h"

namespace weft::tools {
namespace {

/// Bytes of this process that are in memory, those that it shares with others included.
double resident() {
  std::ifstream file("/proc/self/statm");
  uint64_t pages = 0;
  file >> pages >> pages;
  return double(pages) * double(sysconf(_SC_PAGESIZE));
}

class Creator {
 public:
  Creator(const Spec& spec, Team& team, uint32_t rank) : spec_(spec), team_(team), rank_(rank) {}

  void run();

 private:
  void create(Creation& row);
  void destroy(HcclComm comm, Creation& row);
  /// Milliseconds, the same on all ranks: of the slowest one. They begin together.
  template <class Body>
  double time(const Body& body);
  void need(const char* function, int code) { tools::need(team_, rank_, function, code); }

  const Spec& spec_;
  Team& team_;
  const uint32_t rank_;
  std::vector<HcclComm> comms_;
};

void Creator::run() {
  need("aclrtSetDevice", aclrtSetDevice(int32_t(rank_ % spec_.devices)));
  std::vector<Creation> rows(spec_.iterations);
  for (Creation& row : rows) create(row);
  for (size_t i = 0; i < rows.size(); ++i) destroy(comms_[i], rows[i]);
  for (const Creation& row : rows) {
    if (rank_ == 0) team_.tell(row);
  }
  team_.barrier();
  need("aclrtResetDevice", aclrtResetDevice(int32_t(rank_ % spec_.devices)));
}

template <class Body>
double Creator::time(const Body& body) {
  team_.barrier();
  const auto start = std::chrono::steady_clock::now();
  body();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  return team_.largest(rank_, took.count());
}

void Creator::create(Creation& row) {
  team_.barrier();
  const double before = resident();
  row.root_ms = time([&] {
    if (rank_ == 0) need("HcclGetRootInfo", HcclGetRootInfo(&team_.root_info()));
  });
  HcclComm comm = nullptr;
  row.join_ms = time([&] {
    need("HcclCommInitRootInfo",
         HcclCommInitRootInfo(spec_.ranks, &team_.root_info(), rank_, &comm));
  });
  comms_.push_back(comm);
  const double more = std::max(0.0, resident() - before);
  row.resident = team_.largest(rank_, spec_.threads ? more / spec_.ranks : more);
}

void Creator::destroy(HcclComm comm, Creation& row) {
  row.destroy_ms = time([&] { need("HcclCommDestroy", HcclCommDestroy(comm)); });
}

}  // namespace

void run_creation(const Spec& spec, Team& team, uint32_t rank) { Creator(spec, team, rank).run(); }

}  // namespace weft::tools
