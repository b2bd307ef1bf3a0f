// SPDX-License-Identifier: Apache-2.0
// The collectives of Gloo over TCP sockets of this machine. It starts its ranks itself.
//
// Gloo has two kinds: functions, and algorithm objects that are made once for their buffers and can
// run over pairs that poll busily (--busy-poll). Of those, all_reduce, reduce_scatter and broadcast
// work in place.
#include <gloo/allgather.h>
#include <gloo/allgather_ring.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/alltoall.h>
#include <gloo/broadcast.h>
#include <gloo/broadcast_one_to_all.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "common.hpp"

namespace weft::peers {
namespace {

using Context = std::shared_ptr<gloo::rendezvous::Context>;

void add(void* to, const void* a, const void* b, size_t count) {
  gloo::sum<float>(to, a, b, count);
}

class Gloo final : public Peer {
 public:
  Gloo(Context context, bool busy_poll) : context_(std::move(context)), busy_poll_(busy_poll) {}

  // There is no function for reduce_scatter.
  bool in_place(Op op) const override {
    return op == Op::kReduceScatter || (busy_poll_ && op == Op::kAllReduce);
  }

  void begin(const Job& job) override {
    job_ = job;
    if (busy_poll_ || job.op == Op::kReduceScatter) {
      algorithm_ = make_algorithm();
      call_ = [this] { algorithm_->run(); };
    } else {
      call_ = make_function();
    }
  }

  void call() override { call_(); }

 private:
  std::unique_ptr<gloo::Algorithm> make_algorithm();
  std::function<void()> make_function();

  template <typename Options>
  Options both(size_t send, size_t receive) {
    Options options(context_);
    options.setInput(job_.send, send);
    options.setOutput(job_.receive, receive);
    return options;
  }

  const Context context_;
  const bool busy_poll_;
  Job job_{};
  std::unique_ptr<gloo::Algorithm> algorithm_;
  std::function<void()> call_;
};

std::unique_ptr<gloo::Algorithm> Gloo::make_algorithm() {
  const int count = int(job_.count);
  const std::vector<float*> buffers = {job_.receive};
  algorithm_.reset();
  switch (job_.op) {
    case Op::kAllReduce:
      return std::make_unique<gloo::AllreduceHalvingDoubling<float>>(context_, buffers, count);
    case Op::kReduceScatter:
      return std::make_unique<gloo::ReduceScatterHalvingDoubling<float>>(
          context_, buffers, count * int(job_.ranks), std::vector<int>(job_.ranks, count));
    case Op::kAllGather:
      return std::make_unique<gloo::AllgatherRing<float>>(
          context_, std::vector<const float*>{job_.send}, job_.receive, count);
    case Op::kBroadcast:
      return std::make_unique<gloo::BroadcastOneToAll<float>>(context_, buffers, size_t(count));
    default:
      throw std::runtime_error("Gloo has no algorithm object for this operator");
  }
}

// Gloo's options own what they prepare, and can be used for many calls.
std::function<void()> Gloo::make_function() {
  const size_t count = job_.count;
  const size_t all = count * job_.ranks;
  const auto keep = [](auto options, auto function) -> std::function<void()> {
    const auto kept = std::make_shared<decltype(options)>(std::move(options));
    return [kept, function] { function(*kept); };
  };
  switch (job_.op) {
    case Op::kAllReduce: {
      auto options = both<gloo::AllreduceOptions>(count, count);
      options.setReduceFunction(&add);
      return keep(std::move(options), [](auto& each) { gloo::allreduce(each); });
    }
    case Op::kReduce: {
      auto options = both<gloo::ReduceOptions>(count, count);
      options.setReduceFunction(&add);
      options.setRoot(0);
      return keep(std::move(options), [](auto& each) { gloo::reduce(each); });
    }
    case Op::kAllGather:
      return keep(both<gloo::AllgatherOptions>(count, all),
                  [](auto& each) { gloo::allgather(each); });
    case Op::kAllToAll:
      return keep(both<gloo::AlltoallOptions>(all, all), [](auto& each) { gloo::alltoall(each); });
    case Op::kBroadcast: {
      gloo::BroadcastOptions options(context_);
      options.setOutput(job_.receive, count);
      options.setRoot(0);
      return keep(std::move(options), [](auto& each) { gloo::broadcast(each); });
    }
    default: {
      gloo::ScatterOptions options(context_);
      std::vector<float*> blocks;
      for (uint32_t i = 0; job_.rank == 0 && i < job_.ranks; ++i) {
        blocks.push_back(job_.send + i * count);
      }
      if (job_.rank == 0) options.setInputs(blocks, count);
      options.setOutput(job_.receive, count);
      options.setRoot(0);
      return keep(std::move(options), [](auto& each) { gloo::scatter(each); });
    }
  }
}

Context connect(const Options& options, uint32_t rank) {
  gloo::transport::tcp::attr attributes;
  attributes.iface = "lo";
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  gloo::rendezvous::FileStore store(options.store);
  auto context = std::make_shared<gloo::rendezvous::Context>(int(rank), int(options.ranks));
  context->connectFullMesh(store, device);
  for (uint32_t peer = 0; options.busy_poll && peer < options.ranks; ++peer) {
    if (peer != rank) context->getPair(int(peer))->setSync(true, true);
  }
  return context;
}

int run_rank(const Options& options, uint32_t rank) {
  end_with_parent();
  try {
    Team team(options.team, rank, options.ranks);
    Gloo gloo(connect(options, rank), options.busy_poll);
    measure(options, team, gloo);
    team.barrier();  // nobody closes a connection that another still uses
    std::fflush(nullptr);
    _exit(0);  // its threads and connections need no orderly end
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %u: %s\n", rank, error.what());
    _exit(1);
  }
}

// The first rank that fails ends the others.
int wait_for(const std::vector<pid_t>& ranks) {
  int result = 0;
  for (size_t ended = 0; ended < ranks.size(); ++ended) {
    int status = 0;
    if (wait(&status) < 0) return 1;
    if (status == 0 || result != 0) continue;
    result = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : 1;
    for (const pid_t each : ranks) kill(each, SIGKILL);
  }
  return result;
}

}  // namespace
}  // namespace weft::peers

int main(int argc, char** argv) {
  using namespace weft::peers;
  const Options options = parse_options(argc, argv);
  if (options.ranks == 0 || options.store.empty()) {
    std::fprintf(stderr, "--ranks and --store are needed\n");
    return 2;
  }
  std::vector<pid_t> ranks;
  for (uint32_t rank = 0; rank < options.ranks; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) return run_rank(options, rank);
    if (pid > 0) ranks.push_back(pid);
  }
  return wait_for(ranks);
}
