// SPDX-License-Identifier: Apache-2.0
#include "config/variables.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sstream>

#include "base/install.hpp"
#include "base/shortage.hpp"
#include "config/policy.hpp"

namespace weft::config {
namespace {

using Text = std::string_view;
namespace fs = std::filesystem;

template <uint64_t kMin, uint64_t kMax>
void check_number(Text text, Environment&) {
  (void)whole_number(text, kMin, kMax);
}

void check_truth(Text text, Environment&) { (void)one_of(text, {"true", "false"}, true); }

void read_base_port(Text text, Environment& into) {
  constexpr uint64_t kHostPorts = 32;
  const uint64_t first = whole_number(text, 1024, 65520);
  const uint64_t last = std::min<uint64_t>(first + kHostPorts - 1, 65535);
  into.network.ports = {{static_cast<uint16_t>(first), static_cast<uint16_t>(last)}};
  into.network.ports_source = "HCCL_IF_BASE_PORT";
}

void read_port_range(Text text, Environment& into) {
  into.network.ports = parse_ports(text);
  into.network.ports_source = "HCCL_HOST_SOCKET_PORT_RANGE";
}

void read_white_list_file(Text text, Environment& into) {
  constexpr size_t kLongestPath = 4095;
  check_length(text, kLongestPath);
  if (into.network.white_list.enforced) {
    into.network.white_list = read_white_list(text, into.warnings);
  }
}

void read_diagnostics(Text text, Environment& into) {
  into.diagnostics = parse_diagnostics(text, into.warnings);
  into.network.detection = into.diagnostics.detection;
}

void check_links(Environment& all) {
  if (all.intra_pcie.has_value() != all.intra_roce.has_value()) {
    if (!all.intra_pcie.value_or(true) || !all.intra_roce.value_or(true)) {
      throw BadValue("of it and HCCL_INTRA_PCIE_ENABLE only one is set, to 0; set the other to 1");
    }
  } else if (all.intra_pcie.value_or(false) && all.intra_roce.value_or(false)) {
    throw BadValue("it and HCCL_INTRA_PCIE_ENABLE are both 1; set one of them to 0");
  }
}

void check_family(Environment& all) {
  if (all.network.ip.empty() || all.network.family == AF_UNSPEC) return;
  if (control::parse_own_address(all.network.ip).address.ss_family != all.network.family) {
    all.warnings.emplace_back(
        "HCCL_IF_IP is of another family than HCCL_SOCKET_FAMILY, which is ignored");
  }
}

void read_checks(Text text, Environment& into) {
  for (const Text word : comma_list(text)) {
    if (word != "memory") {
      throw BadValue(fmt::format("\"{}\" is unknown; there is one: memory", word));
    }
  }
  into.check_memory = true;
}

/// Throws BadValue unless it is known to be there.
void require_path(const std::string& path) {
  std::error_code error;
  if (fs::exists(path, error)) return;
  throw BadValue(error ? fmt::format("'{}' cannot be looked at: {}", path, error.message())
                       : fmt::format("there is no '{}'", path));
}

void check_path(Text text, Environment&) { require_path(std::string(text)); }

void check_paths(Text text, Environment&) {
  std::istringstream list{std::string(text)};
  for (std::string path; std::getline(list, path, ':');) {
    if (!path.empty()) require_path(path);
  }
}

void check_trace(Text text, Environment&) {
  if (text == "stderr") return;
  const fs::path file(text);
  const fs::path folder = file.has_parent_path() ? file.parent_path() : ".";
  if (access(folder.c_str(), W_OK) != 0) {
    throw BadValue(
        fmt::format("no file can be made in {}: {}", folder.string(), explain_errno(errno)));
  }
}

void read_experiments(Text text, Environment& into) {
  std::error_code error;
  if (!fs::is_directory(fs::path(text), error)) throw BadValue("there is no such folder");
  if (access(fs::path(text).c_str(), W_OK) != 0) throw BadValue("no file can be made in it");
  into.experiments = fs::absolute(fs::path(text));
}

using enum Effect;

constexpr Variable of_others(const char* name, Text values, Text fallback, Text meaning) {
  return {
      .name = name, .values = values, .fallback = fallback, .meaning = meaning, .effect = kNotRead};
}

// Those that are read later may look at what the ones before them have read.
constexpr Variable kVariables[] = {
    {.name = "HCCL_IF_IP",
     .values = "an IPv4 or IPv6 address of this host in digits, also with %interface behind it",
     .fallback = "unset",
     .meaning = "where a root waits for its ranks; without it, the next two choose among this "
                "host's addresses",
     .effect = kActs,
     .read =
         [](Text text, Environment& into) {
           into.network.ip = control::parse_own_address(std::string(text)).ip;
         }},
    {.name = "HCCL_SOCKET_IFNAME",
     .values = "beginnings of names of interfaces with commas between them: a,b; ^a,b all others; "
               "=a,b whole names; ^=a,b all others",
     .fallback = "unset",
     .meaning = "network interface of a root: the first of the list that matches; of several "
                "docker* and then lo come last, the others in the order of their names",
     .effect = kActs,
     .empty_is_unset = true,
     .read = [](Text text,
                Environment& into) { into.network.interfaces = parse_interfaces(text); }},
    {.name = "HCCL_SOCKET_FAMILY",
     .values = "AF_INET, AF_INET6",
     .fallback = "AF_INET before AF_INET6",
     .meaning = "family of a root's address",
     .effect = kActs,
     .read =
         [](Text text, Environment& into) {
           into.network.family =
               one_of(text, {"AF_INET", "AF_INET6"}, false) == 0 ? AF_INET : AF_INET6;
         },
     .together = check_family},
    {.name = "HCCL_IF_BASE_PORT",
     .values = "1024 to 65520",
     .fallback = "a port that the system chooses",
     .meaning = "a root waits at one of the 32 ports from here on",
     .effect = kActs,
     .read = read_base_port},
    {.name = "HCCL_HOST_SOCKET_PORT_RANGE",
     .values = "ports of 1 to 65535: a-b, a, a list of both with commas, none twice; or auto, the "
               "system's choice; spaces do not count",
     .fallback = "unset",
     .meaning = "a root waits at one of these; wins over HCCL_IF_BASE_PORT",
     .effect = kActs,
     .read = read_port_range},
    {.name = "HCCL_NPU_SOCKET_PORT_RANGE",
     .values = "as HCCL_HOST_SOCKET_PORT_RANGE",
     .fallback = "unset",
     .meaning = "ports of devices; those of a host have none",
     .read = [](Text text, Environment&) { (void)parse_ports(text); }},
    {.name = "HCCL_CONNECT_TIMEOUT",
     .values = "120 to 7200 seconds",
     .fallback = "120",
     .meaning = "how long ranks wait for each other when a communicator is made; 20 s more pass "
                "until all know that it failed",
     .effect = kActs,
     .read =
         [](Text text, Environment& into) {
           into.connect_timeout = std::chrono::seconds(whole_number(text, 120, 7200));
         }},
    {.name = "HCCL_EXEC_TIMEOUT",
     .values = "0 to 2147483647 seconds, up to two decimals",
     .fallback = "1836",
     .meaning = "how long an operator waits for its peers; 0: for ever",
     .effect = kActs,
     .read = [](Text text,
                Environment& into) { into.exec_timeout = decimal_seconds(text, 2147483647); }},
    {.name = "HCCL_BUFFSIZE",
     .values = "1 to 4294967295 MB",
     .fallback = "200",
     .meaning = "HCCL buffer; each communicator has two",
     .effect = kActs,
     .read =
         [](Text text, Environment& into) {
           into.buffer_mb = static_cast<uint32_t>(whole_number(text, 1, UINT32_MAX));
         }},
    {.name = "HCCL_DETERMINISTIC",
     .values = "false, true, strict, in any case",
     .fallback = "false",
     .meaning = "true and strict: only algorithms that reduce in the order of the ranks",
     .effect = kActs,
     .read =
         [](Text text, Environment& into) {
           into.deterministic =
               static_cast<uint32_t>(one_of(text, {"false", "true", "strict"}, true));
         }},
    {.name = "HCCL_ALGO",
     .values = "level0:ring and the like, see policy.md",
     .fallback = "unset",
     .meaning = "algorithms, stronger than the policy",
     .effect = kActs,
     .empty_is_unset = true,
     .read =
         [](Text text, Environment& into) {
           into.algo = parse_hccl_algo(text, HcclAlgoSource::kVariable);
         }},
    {.name = "HCCL_WHITELIST_DISABLE",
     .values = "0 (check), 1 (do not)",
     .fallback = "1",
     .meaning = "whether a root lets in only ranks from hosts of the white list",
     .effect = kActs,
     .read = [](Text text, Environment& into) { into.network.white_list.enforced = !is_on(text); }},
    {.name = "HCCL_WHITELIST_FILE",
     .values = "a path of less than 4096 characters, to JSON {\"host_ip\": [..], \"device_ip\": "
               "[..]} of addresses",
     .fallback = "unset",
     .meaning = "the white list, under host_ip; read if HCCL_WHITELIST_DISABLE is 0",
     .effect = kActs,
     .empty_is_unset = true,
     .read = read_white_list_file},
    {.name = "HCCL_ENTRY_LOG_ENABLE",
     .values = "0, 1",
     .fallback = "0",
     .meaning = "1: logs every call of an operator, whatever WEFT_LOG is, but for off",
     .effect = kActs,
     .read = [](Text text, Environment& into) { into.entry_log = is_on(text); }},
    {.name = "HCCL_DEBUG_CONFIG",
     .values = "a list of ALG, TASK, RESOURCE in any case, with commas and without spaces; ^ in "
               "front: all others",
     .fallback = "unset",
     .meaning = "logs the choice of algorithms, how each call is carried out, what communicators "
                "take up; whatever WEFT_LOG is, but for off",
     .effect = kActs,
     .empty_is_unset = true,
     .read = [](Text text, Environment& into) { into.debug = parse_debug(text); }},
    {.name = "HCCL_DFS_CONFIG",
     .values = "a list of key:value with commas, in any case, spaces do not count: "
               "connection_fault_detection_time 0 or 20 to 7200 s, cluster_heartbeat on off, "
               "stuck_detection on off, inconsistent_check on first off, task_exception on off, "
               "task_monitor_interval 0 to 7200000 ms",
     .fallback = "20, on, on, first, on, 0",
     .meaning =
         "diagnostics, see environment.md; stuck_detection and inconsistent_check are checked only",
     .effect = kActs,
     .empty_is_unset = true,
     .read = read_diagnostics},
    {.name = "HCCL_DIAGNOSE_ENABLE",
     .values = "0, 1",
     .fallback = "0",
     .meaning = "1: a communicator that fails logs why at once, with the state of its ranks",
     .effect = kActs,
     .read = [](Text text, Environment& into) { into.diagnose = is_on(text); }},
    {.name = "HCCL_OP_EXPANSION_MODE",
     .values = "AI_CPU, AICPU_TS, AICPU_CacheDisable, AIV, HOST, HOST_TS, CCU_MS, CCU_SCHED",
     .fallback = "HOST",
     .meaning = "where operators run, which here is the host",
     .empty_is_unset = true,
     .read =
         [](Text text, Environment&) {
           (void)one_of(text,
                        {"AI_CPU", "AICPU_TS", "AICPU_CacheDisable", "AIV", "HOST", "HOST_TS",
                         "CCU_MS", "CCU_SCHED"},
                        false);
         }},
    {.name = "HCCL_LOGIC_SUPERPOD_ID",
     .values = "less than 128 characters",
     .fallback = "unset",
     .meaning = "logical superpod; a host is in none",
     .empty_is_unset = true,
     .read = [](Text text, Environment&) { check_length(text, 127); }},
    {.name = "HCCL_OP_RETRY_ENABLE",
     .values = "a list like L1:0,L2:1 of the levels L0, L1, L2, each once, with 0 or 1",
     .fallback = "L0:0,L1:0,L2:0",
     .meaning = "retries of operators over links of devices, which a host has none of; with L2:1 "
                "HcclCommWorkingDevNicSet is refused before the first operator",
     .effect = kActs,
     .read = [](Text text,
                Environment& into) { into.retries_links = parse_retry_levels(text)[2]; }},
    {.name = "HCCL_OP_RETRY_PARAMS",
     .values = "a list like MaxCnt:1,HoldTime:5000,IntervalTime:1000: 1 to 10, and 0 to 60000 ms",
     .fallback = "MaxCnt:1,HoldTime:5000,IntervalTime:1000",
     .meaning = "how they are retried",
     .read = [](Text text, Environment&) { check_retry_params(text); }},
    {.name = "HCCL_RDMA_TC",
     .values = "a multiple of 4 from 0 to 255",
     .fallback = "132",
     .meaning = "traffic class of RDMA",
     .read = [](Text text, Environment&) { check_traffic_class(whole_number(text, 0, 255)); }},
    {.name = "HCCL_RDMA_SL",
     .values = "0 to 7",
     .fallback = "4",
     .meaning = "service level of RDMA",
     .read = check_number<0, 7>},
    {.name = "HCCL_RDMA_TIMEOUT",
     .values = "5 to 20",
     .fallback = "20",
     .meaning = "time-out of RDMA, 4.096 us times two to this power",
     .read = check_number<5, 20>},
    {.name = "HCCL_RDMA_RETRY_CNT",
     .values = "1 to 7",
     .fallback = "7",
     .meaning = "retries of RDMA",
     .read = check_number<1, 7>},
    {.name = "HCCL_RDMA_QPS_PER_CONNECTION",
     .values = "1 to 32",
     .fallback = "1",
     .meaning = "queue pairs of an RDMA connection",
     .read = check_number<1, 32>},
    {.name = "HCCL_MULTI_QP_THRESHOLD",
     .values = "1 to 8192 KB",
     .fallback = "512",
     .meaning = "least share of a queue pair",
     .read = check_number<1, 8192>},
    {.name = "HCCL_INTRA_PCIE_ENABLE",
     .values = "0, 1; not 1 with HCCL_INTRA_ROCE_ENABLE, not 0 alone",
     .fallback = "1",
     .meaning = "PCIe between devices of a server",
     .read = [](Text text, Environment& into) { into.intra_pcie = is_on(text); }},
    {.name = "HCCL_INTRA_ROCE_ENABLE",
     .values = "0, 1; not 1 with HCCL_INTRA_PCIE_ENABLE, not 0 alone",
     .fallback = "0",
     .meaning = "RoCE between devices of a server",
     .read = [](Text text, Environment& into) { into.intra_roce = is_on(text); },
     .together = check_links},
    {.name = "HCCL_INTER_HCCS_DISABLE",
     .values = "true, false, in any case",
     .fallback = "false",
     .meaning = "no HCCS between servers of a superpod",
     .read = check_truth},
    {.name = "HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT",
     .values = "true, false, in any case",
     .fallback = "false",
     .meaning = "how RDMA is posted",
     .read = check_truth},
    {.name = "HCCL_RDMA_QP_PORT_CONFIG_PATH",
     .values = "a path that is there",
     .fallback = "unset",
     .meaning = "source ports of queue pairs",
     .read = check_path},
    {.name = "HCCL_UB_TIMEOUT",
     .values = "0 to 31",
     .fallback = "8",
     .meaning = "time-out of UB links",
     .read = check_number<0, 31>},
    {.name = "HCCL_UBOE_TIMEOUT",
     .values = "0 to 31",
     .fallback = "16",
     .meaning = "time-out of UB over Ethernet",
     .read = check_number<0, 31>},
    {.name = "HCCL_ALG_MULTIPLE_DIMENSION_SPLIT_RATIO",
     .values = "a decimal number from 0 to 1",
     .fallback = "0.5",
     .meaning = "how data is shared out between two kinds of links",
     .read = [](Text text, Environment&) { check_ratio(text); }},
    {.name = "HCCL_DETOUR", .values = "any", .fallback = "unset", .meaning = "internal to CANN"},
    of_others("PROFILING_MODE", "any", "unset", "internal to CANN"),
    of_others("PROFILING_OPTIONS", "any", "unset", "internal to CANN"),
    of_others("HCCL_ASYNC_ERROR_HANDLING", "0, 1", "1",
              "PyTorch's watchdog ends the process when a communicator has failed"),
    of_others("HCCL_DESYNC_DEBUG", "0, 1", "0", "PyTorch tells which ranks are late"),
    of_others("HCCL_EVENT_TIMEOUT", "seconds", "0", "PyTorch's wait for an event"),
    of_others("P2P_HCCL_BUFFSIZE", "MB", "HCCL_BUFFSIZE",
              "HCCL buffer that PyTorch asks for in communicators of two ranks"),
    of_others("RANK_TABLE_FILE", "a path", "unset",
              "rank table; weft run sets it for programs that read it"),
    of_others("RANK_ID", "a number", "unset", "rank of a process; weft run sets it"),
    of_others("RANK_SIZE", "a number", "unset", "number of ranks; weft run sets it"),
    of_others("ASCEND_DEVICE_ID", "a number", "unset", "device of a process; weft run sets it"),
    of_others("CM_CHIEF_IP", "an address", "unset", "TensorFlow, instead of a rank table"),
    of_others("CM_CHIEF_PORT", "0 to 65520", "unset", "TensorFlow, instead of a rank table"),
    of_others("CM_CHIEF_DEVICE", "a number", "unset", "TensorFlow, instead of a rank table"),
    of_others("CM_WORKER_SIZE", "0 to 32768", "unset", "TensorFlow, instead of a rank table"),
    of_others("CM_WORKER_IP", "an address", "unset", "TensorFlow, instead of a rank table"),
    {.name = "WEFT_HOME",
     .values = "a folder",
     .fallback = "the installation that the library is in",
     .meaning = "where plugins and the default policy are",
     .effect = kActs,
     .empty_is_unset = true,
     .at_init = false,
     .read = [](Text, Environment&) { (void)install_prefix(); }},
    {.name = "WEFT_POLICY",
     .values = "a policy file",
     .fallback = "etc/weft/policy.toml of the installation",
     .meaning = "which algorithm runs for which call, see policy.md",
     .effect = kActs,
     .empty_is_unset = true,
     .at_init = false,
     .read = [](Text, Environment&) { (void)Policy::load_default(); }},
    {.name = "WEFT_PLUGIN_PATH",
     .values = "folders or files with : between them",
     .fallback = "unset",
     .meaning = "more plugins, see plugins.md",
     .effect = kActs,
     .empty_is_unset = true,
     .at_init = false,
     .read = check_paths},
    {.name = "WEFT_LOG",
     .values = "off, error, warn, info, debug",
     .fallback = "warn",
     .meaning = "what is logged, to standard error",
     .effect = kActs,
     .at_init = false,
     .read =
         [](Text text, Environment&) {
           (void)one_of(text, {"off", "error", "warn", "info", "debug"}, false);
         }},
    {.name = "WEFT_TRACE",
     .values = "a file, or stderr",
     .fallback = "unset",
     .meaning = "a line for every call: its algorithm, what chose that, the way of its buffers",
     .effect = kActs,
     .empty_is_unset = true,
     .at_init = false,
     .read = check_trace},
    {.name = "WEFT_CHECK",
     .values = "a list of checks with commas between them; there is one: memory",
     .fallback = "unset",
     .meaning = "memory: looks at the buffers of every call, see how-it-works.md",
     .effect = kActs,
     .empty_is_unset = true,
     .read = read_checks},
    {.name = "WEFT_EARLY_CALLS",
     .values = "0, 1",
     .fallback = "1",
     .meaning = "0: a short call does nothing before those ahead of it on its stream have ended, "
                "see how-it-works.md",
     .effect = kActs,
     .empty_is_unset = true,
     .read = [](Text text, Environment& into) { into.early_calls = is_on(text); }},
    {.name = "WEFT_EXPERIMENTS",
     .values = "a folder",
     .fallback = "unset",
     .meaning = "where the results of a policy's experiments are written, see policy.md",
     .effect = kActs,
     .empty_is_unset = true,
     .read = read_experiments},
    {.name = "WEFT_DEVICES",
     .values = "1 to 1024",
     .fallback = "8",
     .meaning = "devices of the host runtime",
     .effect = kActs,
     .empty_is_unset = true,
     .at_init = false},
    {.name = "WEFT_DEVICE_MEMORY",
     .values = "bytes from 4K, also with K, M, G or T",
     .fallback = "the memory of the host",
     .meaning = "memory of each device of the host runtime; taken up as it is used",
     .effect = kActs,
     .empty_is_unset = true,
     .at_init = false},
    {.name = "WEFT_SOC_NAME",
     .values = "any",
     .fallback = "Ascend910_9391",
     .meaning = "the chip that the host runtime calls itself",
     .effect = kActs,
     .empty_is_unset = true,
     .at_init = false},
    {.name = "ASCEND_RT_VISIBLE_DEVICES",
     .values = "ascending numbers of devices with commas between them",
     .fallback = "all",
     .meaning = "the devices that a program sees",
     .effect = kActs,
     .empty_is_unset = true,
     .at_init = false},
};

}  // namespace

std::string_view effect_name(Effect effect) noexcept {
  switch (effect) {
    case kActs:
      return "acts";
    case kChecked:
      return "checked only";
    case kNotRead:
      break;
  }
  return "not read";
}

std::span<const Variable> variables() noexcept { return kVariables; }

}  // namespace weft::config
