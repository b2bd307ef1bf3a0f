/* SPDX-License-Identifier: Apache-2.0
 * Prints size and alignment of every struct of the SDK, offset and size of every member, and every
 * value. */
#include <stdio.h>

#include "weft/abi.h"
#include "weft/algorithm.h"
#include "weft/host.h"
#include "weft/memory.h"
#include "weft/transport.h"

#define STRUCT(type)                                          \
  do {                                                        \
    struct Probe {                                            \
      char first;                                             \
      type second;                                            \
    };                                                        \
    printf("%s %u align %u\n", #type, (unsigned)sizeof(type), \
           (unsigned)offsetof(struct Probe, second));         \
  } while (0)
#define MEMBER(type, member)                                        \
  printf("  %s %u %u\n", #member, (unsigned)offsetof(type, member), \
         (unsigned)sizeof(((const type*)0)->member))
#define VALUE(name) printf("%s %lld\n", #name, (long long)(name))

static void print_abi(void) {
  STRUCT(weft_head);
  MEMBER(weft_head, size);
  MEMBER(weft_head, major);
  MEMBER(weft_head, minor);
  STRUCT(weft_plugin_desc);
  MEMBER(weft_plugin_desc, head);
  MEMBER(weft_plugin_desc, magic);
  MEMBER(weft_plugin_desc, kind);
  MEMBER(weft_plugin_desc, name);
  MEMBER(weft_plugin_desc, version);
  MEMBER(weft_plugin_desc, summary);
  MEMBER(weft_plugin_desc, table);
  STRUCT(weft_host);
  MEMBER(weft_host, head);
  MEMBER(weft_host, log);
  MEMBER(weft_host, fail);
  MEMBER(weft_host, remember);
  MEMBER(weft_host, recall);
  MEMBER(weft_host, forget);
}

static void print_schedules(void) {
  STRUCT(weft_chunk);
  MEMBER(weft_chunk, space);
  MEMBER(weft_chunk, rank);
  MEMBER(weft_chunk, block);
  MEMBER(weft_chunk, part);
  MEMBER(weft_chunk, parts);
  STRUCT(weft_step);
  MEMBER(weft_step, head);
  MEMBER(weft_step, verb);
  MEMBER(weft_step, peer);
  MEMBER(weft_step, dst_count);
  MEMBER(weft_step, src_count);
  MEMBER(weft_step, stride);
  MEMBER(weft_step, reserved);
  MEMBER(weft_step, dsts);
  MEMBER(weft_step, srcs);
  STRUCT(weft_builder);
  MEMBER(weft_builder, head);
  MEMBER(weft_builder, self);
  MEMBER(weft_builder, append);
  MEMBER(weft_builder, reserve);
  STRUCT(weft_problem);
  MEMBER(weft_problem, head);
  MEMBER(weft_problem, op);
  MEMBER(weft_problem, ranks);
  MEMBER(weft_problem, rank);
  MEMBER(weft_problem, root);
  MEMBER(weft_problem, param_count);
  MEMBER(weft_problem, reserved);
  MEMBER(weft_problem, params);
}

static void print_algorithms(void) {
  STRUCT(weft_param);
  MEMBER(weft_param, head);
  MEMBER(weft_param, name);
  MEMBER(weft_param, help);
  MEMBER(weft_param, def);
  MEMBER(weft_param, min);
  MEMBER(weft_param, max);
  MEMBER(weft_param, type);
  MEMBER(weft_param, reserved);
  MEMBER(weft_param, choices);
  STRUCT(weft_algorithm);
  MEMBER(weft_algorithm, head);
  MEMBER(weft_algorithm, name);
  MEMBER(weft_algorithm, summary);
  MEMBER(weft_algorithm, op);
  MEMBER(weft_algorithm, flags);
  MEMBER(weft_algorithm, min_ranks);
  MEMBER(weft_algorithm, max_ranks);
  MEMBER(weft_algorithm, param_count);
  MEMBER(weft_algorithm, param_stride);
  MEMBER(weft_algorithm, params);
  MEMBER(weft_algorithm, emit);
  MEMBER(weft_algorithm, hccl_algo);
  STRUCT(weft_algorithms);
  MEMBER(weft_algorithms, head);
  MEMBER(weft_algorithms, count);
  MEMBER(weft_algorithms, reserved);
  MEMBER(weft_algorithms, items);
}

static void print_transport(void) {
  STRUCT(weft_task);
  MEMBER(weft_task, run);
  MEMBER(weft_task, drop);
  MEMBER(weft_task, begin);
  MEMBER(weft_task, group);
  MEMBER(weft_task, flags);
  MEMBER(weft_task, reserved);
  STRUCT(weft_endpoint_params);
  MEMBER(weft_endpoint_params, head);
  MEMBER(weft_endpoint_params, rank);
  MEMBER(weft_endpoint_params, ranks);
  MEMBER(weft_endpoint_params, device);
  MEMBER(weft_endpoint_params, engine);
  MEMBER(weft_endpoint_params, flags);
  MEMBER(weft_endpoint_params, marks);
  STRUCT(weft_peer_view);
  MEMBER(weft_peer_view, delta);
  STRUCT(weft_endpoint_info);
  MEMBER(weft_endpoint_info, head);
  MEMBER(weft_endpoint_info, window_base);
  MEMBER(weft_endpoint_info, window_size);
  MEMBER(weft_endpoint_info, all_local);
  MEMBER(weft_endpoint_info, reserved);
  STRUCT(weft_tasks);
  MEMBER(weft_tasks, head);
  MEMBER(weft_tasks, reduces);
  MEMBER(weft_tasks, share);
  MEMBER(weft_tasks, stream);
  MEMBER(weft_tasks, locate);
  MEMBER(weft_tasks, copy);
  MEMBER(weft_tasks, reduce);
  MEMBER(weft_tasks, record);
  MEMBER(weft_tasks, wait);
  MEMBER(weft_tasks, mark);
  MEMBER(weft_tasks, follow);
  MEMBER(weft_tasks, passed);
  MEMBER(weft_tasks, abort);
  STRUCT(weft_place);
  MEMBER(weft_place, head);
  MEMBER(weft_place, kind);
  MEMBER(weft_place, device);
  MEMBER(weft_place, base);
  MEMBER(weft_place, bytes);
  STRUCT(weft_transport);
  MEMBER(weft_transport, head);
  MEMBER(weft_transport, engines);
  MEMBER(weft_transport, reach);
  MEMBER(weft_transport, open);
  MEMBER(weft_transport, get_device);
  MEMBER(weft_transport, set_device);
  MEMBER(weft_transport, reset_device);
  MEMBER(weft_transport, physical_device);
  MEMBER(weft_transport, endpoint_open);
  MEMBER(weft_transport, endpoint_close);
  MEMBER(weft_transport, enter);
  MEMBER(weft_transport, leave);
  MEMBER(weft_transport, allocate);
  MEMBER(weft_transport, release);
  MEMBER(weft_transport, describe);
  MEMBER(weft_transport, connect);
  MEMBER(weft_transport, submit);
  MEMBER(weft_transport, synchronize);
  MEMBER(weft_transport, task_error);
  MEMBER(weft_transport, call_error);
  MEMBER(weft_transport, look_up);
  MEMBER(weft_transport, copy);
  MEMBER(weft_transport, reduce);
  MEMBER(weft_transport, reduces);
  MEMBER(weft_transport, tasks);
}

static void print_memory(void) {
  STRUCT(weft_group);
  MEMBER(weft_group, head);
  MEMBER(weft_group, self);
  MEMBER(weft_group, rank);
  MEMBER(weft_group, ranks);
  MEMBER(weft_group, device);
  MEMBER(weft_group, reserved);
  MEMBER(weft_group, window_bytes);
  MEMBER(weft_group, processes);
  MEMBER(weft_group, all_gather);
  MEMBER(weft_group, ask);
  MEMBER(weft_group, show_own);
  MEMBER(weft_group, hide_own);
  MEMBER(weft_group, show_peer);
  MEMBER(weft_group, hide_peer);
  MEMBER(weft_group, own_in_use);
  MEMBER(weft_group, peer_in_use);
  STRUCT(weft_memory);
  MEMBER(weft_memory, head);
  MEMBER(weft_memory, families);
  MEMBER(weft_memory, reach);
  MEMBER(weft_memory, open);
  MEMBER(weft_memory, attach);
  MEMBER(weft_memory, detach);
  MEMBER(weft_memory, explain);
  MEMBER(weft_memory, window_register);
  MEMBER(weft_memory, window_deregister);
  MEMBER(weft_memory, window_find);
  MEMBER(weft_memory, window_peer);
  MEMBER(weft_memory, memory_alloc);
  MEMBER(weft_memory, memory_free);
  MEMBER(weft_memory, range_set);
  MEMBER(weft_memory, range_unset);
  MEMBER(weft_memory, range_activate);
  MEMBER(weft_memory, range_deactivate);
  MEMBER(weft_memory, answer);
}

static void print_values(void) {
  VALUE(WEFT_ABI_MAJOR);
  VALUE(WEFT_ABI_MINOR);
  VALUE(WEFT_PLUGIN_MAGIC);
  VALUE(WEFT_KIND_ALGORITHMS);
  VALUE(WEFT_KIND_TRANSPORT);
  VALUE(WEFT_KIND_MEMORY);
  VALUE(WEFT_REACH_UNSAID);
  VALUE(WEFT_REACH_PROCESS);
  VALUE(WEFT_REACH_HOST);
  VALUE(WEFT_REACH_HOSTS);
  VALUE(WEFT_OK);
  VALUE(WEFT_E_PARA);
  VALUE(WEFT_E_PTR);
  VALUE(WEFT_E_MEMORY);
  VALUE(WEFT_E_INTERNAL);
  VALUE(WEFT_E_NOT_SUPPORT);
  VALUE(WEFT_E_NOT_FOUND);
  VALUE(WEFT_E_UNAVAIL);
  VALUE(WEFT_E_TIMEOUT);
  VALUE(WEFT_E_RUNTIME);
  VALUE(WEFT_E_AGAIN);
  VALUE(WEFT_E_REMOTE);
  VALUE(WEFT_E_OOM);
  VALUE(WEFT_ENGINE_DIRECT);
  VALUE(WEFT_ENGINE_TASKS);
  VALUE(WEFT_SIDE_DEVICE);
  VALUE(WEFT_SIDE_HOST);
  VALUE(WEFT_OP_ALL_REDUCE);
  VALUE(WEFT_OP_BROADCAST);
  VALUE(WEFT_OP_ALL_GATHER);
  VALUE(WEFT_OP_REDUCE_SCATTER);
  VALUE(WEFT_OP_ALL_TO_ALL);
  VALUE(WEFT_OP_BARRIER);
  VALUE(WEFT_OP_REDUCE);
  VALUE(WEFT_OP_SCATTER);
  VALUE(WEFT_OP_ALL_GATHER_V);
  VALUE(WEFT_OP_REDUCE_SCATTER_V);
  VALUE(WEFT_OP_ALL_TO_ALL_V);
  VALUE(WEFT_OP_COUNT);
  VALUE(WEFT_SPACE_IN);
  VALUE(WEFT_SPACE_OUT);
  VALUE(WEFT_SPACE_SCRATCH);
  VALUE(WEFT_VERB_COPY);
  VALUE(WEFT_VERB_REDUCE);
  VALUE(WEFT_VERB_SIGNAL);
  VALUE(WEFT_VERB_WAIT);
  VALUE(WEFT_PARAM_INTEGER);
  VALUE(WEFT_PARAM_BOOLEAN);
  VALUE(WEFT_PARAM_CHOICE);
  VALUE(WEFT_ALGORITHM_RANK_ORDER);
  VALUE(WEFT_ALGORITHM_REMOTE_WRITE);
  VALUE(WEFT_MEMORY_WINDOWS);
  VALUE(WEFT_MEMORY_RANGES);
  VALUE(WEFT_TOKEN_LIMIT);
  VALUE(WEFT_ENGINE_DIRECT);
  VALUE(WEFT_ENGINE_TASKS);
  VALUE(WEFT_PLACE_OTHER);
  VALUE(WEFT_PLACE_PINNED);
  VALUE(WEFT_PLACE_DEVICE);
  VALUE(WEFT_PLACE_MAPPED);
  VALUE(WEFT_PLACE_FREED);
  VALUE(WEFT_TASK_DONE);
  VALUE(WEFT_TASK_AGAIN);
  VALUE(WEFT_BLOB_BYTES);
  VALUE(WEFT_LOG_DEBUG);
  VALUE(WEFT_LOG_INFO);
  VALUE(WEFT_LOG_WARN);
  VALUE(WEFT_LOG_ERROR);
}

int main(void) {
  print_abi();
  print_schedules();
  print_algorithms();
  print_transport();
  print_memory();
  print_values();
  return 0;
}
