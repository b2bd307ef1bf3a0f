// SPDX-License-Identifier: Apache-2.0
// The collectives of MPI: built once with Open MPI and once with MPICH, started by its mpirun.
#include <mpi.h>

#include <vector>

#include "common.hpp"

namespace weft::peers {
namespace {

const MPI_Comm kAll = MPI_COMM_WORLD;
constexpr int kRoot = 0;

// The calls end the program if they fail (MPI_ERRORS_ARE_FATAL, the default).
class Mpi final : public Peer {
 public:
  bool overlaps() const override { return true; }

  void begin(const Job& job) override {
    job_ = job;
    count_ = int(job.count);
    requests_.resize(job.others.size() + 1);
  }

  void call() override {
    float* to = job_.receive;
    switch (job_.op) {
      case Op::kAllReduce:
        MPI_Allreduce(job_.send, to, count_, MPI_FLOAT, MPI_SUM, kAll);
        break;
      case Op::kReduceScatter:
        MPI_Reduce_scatter_block(job_.send, to, count_, MPI_FLOAT, MPI_SUM, kAll);
        break;
      case Op::kReduce:
        MPI_Reduce(job_.send, to, count_, MPI_FLOAT, MPI_SUM, kRoot, kAll);
        break;
      case Op::kAllGather:
        MPI_Allgather(job_.send, count_, MPI_FLOAT, to, count_, MPI_FLOAT, kAll);
        break;
      case Op::kAllToAll:
        MPI_Alltoall(job_.send, count_, MPI_FLOAT, to, count_, MPI_FLOAT, kAll);
        break;
      case Op::kBroadcast:
        MPI_Bcast(to, count_, MPI_FLOAT, kRoot, kAll);
        break;
      case Op::kScatter:
        MPI_Scatter(job_.send, count_, MPI_FLOAT, to, count_, MPI_FLOAT, kRoot, kAll);
        break;
    }
  }

  void overlapped() override {
    start(job_.receive, &requests_[0]);
    for (size_t i = 0; i < job_.others.size(); ++i) start(job_.others[i], &requests_[i + 1]);
    MPI_Waitall(int(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

 private:
  void start(float* to, MPI_Request* request) {
    switch (job_.op) {
      case Op::kAllReduce:
        MPI_Iallreduce(job_.send, to, count_, MPI_FLOAT, MPI_SUM, kAll, request);
        break;
      case Op::kReduceScatter:
        MPI_Ireduce_scatter_block(job_.send, to, count_, MPI_FLOAT, MPI_SUM, kAll, request);
        break;
      case Op::kReduce:
        MPI_Ireduce(job_.send, to, count_, MPI_FLOAT, MPI_SUM, kRoot, kAll, request);
        break;
      case Op::kAllGather:
        MPI_Iallgather(job_.send, count_, MPI_FLOAT, to, count_, MPI_FLOAT, kAll, request);
        break;
      case Op::kAllToAll:
        MPI_Ialltoall(job_.send, count_, MPI_FLOAT, to, count_, MPI_FLOAT, kAll, request);
        break;
      case Op::kBroadcast:
        MPI_Ibcast(to, count_, MPI_FLOAT, kRoot, kAll, request);
        break;
      case Op::kScatter:
        MPI_Iscatter(job_.send, count_, MPI_FLOAT, to, count_, MPI_FLOAT, kRoot, kAll, request);
        break;
    }
  }

  Job job_{};
  int count_ = 0;
  std::vector<MPI_Request> requests_;
};

void run(const Options& options) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(kAll, &rank);
  MPI_Comm_size(kAll, &ranks);
  Team team(options.team, uint32_t(rank), uint32_t(ranks));
  Mpi mpi;
  measure(options, team, mpi);
}

}  // namespace
}  // namespace weft::peers

int main(int argc, char** argv) {
  using namespace weft::peers;
  end_with_parent();
  const Options options = parse_options(argc, argv);
  const int wanted = options.thread_multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, wanted, &provided);
  run(options);
  MPI_Finalize();
  return 0;
}
