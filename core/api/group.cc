// SPDX-License-Identifier: Apache-2.0
#include "api/group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/export.hpp"
#include "api/handles.hpp"
#include "api/operators.hpp"
#include "api/side_by_side.hpp"
#include "hccl/hccl_comm.h"

namespace weft::api {
namespace {

struct QueuedOperator {
  Operator what;
  std::function<void()> run;
};

struct QueuedMessage {
  Operator what;
  comm::Message message;
};

struct Job {
  const char* function;
  std::function<void()> run;
};

/// Of one communicator at a time.
struct Room {
  std::vector<comm::Message> batch;
  std::vector<const QueuedOperator*> ordered;
};

struct Group {
  std::vector<QueuedOperator> operators;
  std::vector<QueuedMessage> messages;
  std::vector<HcclComm> communicators;  // in the order of their first use
  std::vector<Job> jobs;

  // Room for its end.
  Room room;
  std::vector<void*> streams;

  /// Keeps the room, so that the next group of the thread need not allocate it.
  void clear() {
    operators.clear();
    messages.clear();
    communicators.clear();
    jobs.clear();
  }
};

Group& group() {
  thread_local Group group;
  return group;
}

/// The first failure of a group, which is what its end returns.
class Outcome {
 public:
  /// Runs `body` under guard(); keeps the code and the text if it fails first. False if it failed.
  template <class Body>
  bool take(const char* function, const Body& body) {
    const HcclResult code = guard(function, [&] {
      body();
      return HCCL_SUCCESS;
    });
    if (code != HCCL_SUCCESS) note(code, last_error());
    return code == HCCL_SUCCESS;
  }
  void note(HcclResult code, const std::string& text) {
    if (code_ == HCCL_SUCCESS && code != HCCL_SUCCESS) {
      code_ = code;
      text_ = text;
    }
  }
  void merge(const Outcome& other) { note(other.code_, other.text_); }
  [[nodiscard]] HcclResult report() const {
    return code_ == HCCL_SUCCESS ? code_ : weft::report_again(code_, "HcclGroupEnd", text_);
  }

 private:
  HcclResult code_ = HCCL_SUCCESS;
  std::string text_;
};

void refuse_mixture(bool mixed) {
  if (!mixed) return;
  throw Error(HCCL_E_PARA,
              "a group holds either operators or calls that create and destroy communicators; end "
              "the group between them");
}

void note_use(HcclComm comm) {
  std::vector<HcclComm>& known = group().communicators;
  if (std::find(known.begin(), known.end(), comm) == known.end()) known.push_back(comm);
}

/// All sends and receives of one communicator, as one batch, or none: the others would meet the
/// wrong ones of their peers. False if something failed.
bool issue_messages(const Group& group, HcclComm comm, Room& room, Outcome& outcome) {
  std::vector<comm::Message>& batch = room.batch;
  batch.clear();
  const Operator* first = nullptr;
  bool good = true;
  for (const QueuedMessage& each : group.messages) {
    if (each.what.comm != comm) continue;
    good &= outcome.take(each.what.function, [&] {
      check_message(each.message, each.message.sends ? "destRank" : "srcRank", communicator(comm));
    });
    batch.push_back(each.message);
    if (first == nullptr) first = &each.what;
  }
  if (batch.empty() || !good) return good;
  return outcome.take(first->function, [&] {
    const InUse use(comm);
    comm::Communicator& members = *use;
    const comm::Communicator::Scope scope(members);
    members.issue(batch, first->stream);
  });
}

/// The collectives of one communicator: long ones first, so that they overlap with the rest. Where
/// all ranks queue the same calls this is the same order on all of them. The first that fails to
/// start is the last: peers may have started it, and must not meet the next one of this rank.
void issue_collectives(const Group& group, HcclComm comm, Room& room, Outcome& outcome) {
  std::vector<const QueuedOperator*>& ordered = room.ordered;
  ordered.clear();
  for (const QueuedOperator& each : group.operators) {
    if (each.what.comm == comm) ordered.push_back(&each);
  }
  std::sort(ordered.begin(), ordered.end(), [](const QueuedOperator* a, const QueuedOperator* b) {
    if (a->what.has_lengths != b->what.has_lengths) return b->what.has_lengths;
    if (!a->what.has_lengths && a->what.bytes != b->what.bytes) {
      return a->what.bytes > b->what.bytes;
    }
    return a < b;  // in the order of the calls
  });
  std::optional<InUse> use;
  std::optional<comm::Communicator::Scope> scope;
  for (const QueuedOperator* each : ordered) {
    const bool started = outcome.take(each->what.function, [&] {
      if (!use) use.emplace(comm);
      if (!scope) scope.emplace(**use);
      each->run();
    });
    if (!started) return;
  }
}

/// Only when all communicators have issued: one thread may drive several ranks of a call.
void synchronize_streams(Group& group, Outcome& outcome) {
  std::vector<void*>& done = group.streams;
  done.clear();
  for (const QueuedOperator& each : group.operators) {
    if (std::find(done.begin(), done.end(), each.what.stream) != done.end()) continue;
    outcome.take(each.what.function, [&] {
      const InUse use(each.what.comm);
      const comm::Communicator& members = *use;
      done.push_back(each.what.stream);
      const comm::Communicator::Scope scope(members);
      members.synchronize(each.what.stream);
    });
  }
}

/// Each on a thread of its own, since they wait for each other.
void run_jobs(const std::vector<Job>& jobs, Outcome& outcome) {
  std::vector<Outcome> outcomes(jobs.size());
  run_side_by_side(
      jobs.size(), [&](size_t i) { outcomes[i].take(jobs[i].function, jobs[i].run); },
      [&](size_t i, const char* why) {
        outcomes[i].note(
            HCCL_E_INTERNAL,
            fmt::format("{}: no thread for this call of the group: {}", jobs[i].function, why));
      });
  for (const Outcome& each : outcomes) outcome.merge(each);
}

void issue(const Group& group, HcclComm comm, Room& room, Outcome& outcome) {
  if (issue_messages(group, comm, room, outcome)) issue_collectives(group, comm, room, outcome);
}

bool issue_waits(HcclComm comm) {
  try {
    return communicator(comm).issue_waits();
  } catch (const Error&) {
    return false;  // it is gone, which its operators tell
  }
}

/// Whether two handles are ranks of the same communicator, and one may wait for the other while it
/// issues.
bool wait_for_each_other(HcclComm a, HcclComm b) {
  return issue_waits(a) && issue_waits(b) && communicator(a).name() == communicator(b).name();
}

/// In the order of first use, which is the same on all ranks: they may use the same streams. Ranks
/// of one communicator that this thread drives go side by side where they must.
void issue_all(Group& group, Outcome& outcome) {
  const bool waits =
      std::any_of(group.communicators.begin(), group.communicators.end(), issue_waits);
  if (!waits) {
    for (HcclComm comm : group.communicators) issue(group, comm, group.room, outcome);
    return;
  }
  std::vector<HcclComm> left = group.communicators;
  while (!left.empty()) {
    const HcclComm first = left.front();
    const auto others = std::stable_partition(left.begin(), left.end(), [first](HcclComm comm) {
      return comm == first || wait_for_each_other(first, comm);
    });
    const std::vector<HcclComm> together(left.begin(), others);
    left.erase(left.begin(), others);
    if (together.size() == 1) {
      issue(group, together.front(), group.room, outcome);
      continue;
    }
    std::vector<Outcome> outcomes(together.size());
    std::vector<Job> jobs;
    for (size_t i = 0; i < together.size(); ++i) {
      jobs.push_back({"HcclGroupEnd", [&, i] {
                        Room room;
                        issue(group, together[i], room, outcomes[i]);
                      }});
    }
    run_jobs(jobs, outcome);
    for (const Outcome& each : outcomes) outcome.merge(each);
  }
}

HcclResult finish_group() {
  Group group;  // the thread has an empty one while this is carried out
  std::swap(group, api::group());
  Outcome outcome;
  run_jobs(group.jobs, outcome);
  issue_all(group, outcome);
  synchronize_streams(group, outcome);
  group.clear();
  std::swap(group, api::group());
  return outcome.report();
}

}  // namespace

void queue(const Operator& what, std::function<void()> run) {
  refuse_mixture(!group().jobs.empty());
  group().operators.push_back({what, std::move(run)});
  note_use(what.comm);
}

void queue(const Operator& what, const comm::Message& message) {
  refuse_mixture(!group().jobs.empty());
  group().messages.push_back({what, message});
  note_use(what.comm);
}

void queue_job(const char* function, std::function<void()> run) {
  refuse_mixture(!group().communicators.empty());
  group().jobs.push_back({function, std::move(run)});
}

}  // namespace weft::api

extern "C" {

WEFT_API HcclResult HcclGroupStart() {
  ++weft::api::group_depth;
  return HCCL_SUCCESS;
}

WEFT_API HcclResult HcclGroupEnd() {
  return weft::guard("HcclGroupEnd", [] {
    if (weft::api::group_depth == 0) {
      throw weft::Error(HCCL_E_NOT_SUPPORT, "there is no HcclGroupStart on this thread to end");
    }
    if (--weft::api::group_depth > 0) return HCCL_SUCCESS;
    return weft::api::finish_group();
  });
}

WEFT_API HcclResult HcclGroupStatusGet(bool* isGroupEnabled) {
  return weft::guard("HcclGroupStatusGet", [&] {
    weft::api::require_all({{"isGroupEnabled", isGroupEnabled}});
    *isGroupEnabled = weft::api::in_group();
    return HCCL_SUCCESS;
  });
}

}  // extern "C"
