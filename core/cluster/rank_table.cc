// SPDX-License-Identifier: Apache-2.0
#include "cluster/rank_table.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/shortage.hpp"
#include "cluster/formats.hpp"

namespace weft::cluster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostPathBytes = 4096;  // with the NUL
constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30;
constexpr std::uintmax_t kMostBytes1x = std::uintmax_t{40} << 20;

[[noreturn]] void cannot_read(const std::string& path, const std::string& why) {
  throw Error(HCCL_E_INTERNAL, fmt::format("cannot read the rank table '{}': {}", path, why));
}

std::string read_text(const std::string& path) {
  if (path.size() >= kMostPathBytes) {
    cannot_read(path.substr(0, 60) + "...",
                fmt::format("the path has {} bytes, at most {} are possible", path.size(),
                            kMostPathBytes - 1));
  }
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error) cannot_read(path, error.message());
  // Opening a pipe or a device could block.
  if (!std::filesystem::is_regular_file(status)) cannot_read(path, "it is not a regular file");
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) cannot_read(path, error.message());
  if (size > kMostBytes) cannot_read(path, "it is larger than 1 GiB");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) cannot_read(path, explain_errno(errno));
  std::string text(size, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(size));
  if (stream.bad()) cannot_read(path, explain_errno(errno));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.empty()) cannot_read(path, "it is empty");
  return text;
}

/// Empty: template two.
std::string version_of(const Node& root) {
  const std::optional<Node> version = root.find("version");
  if (!version) return {};
  const std::string& text = version->text();
  for (const char* known : {"1.0", "1.1", "1.2", "2.0"}) {
    if (text == known) return text;
  }
  version->refuse("allowed are 1.0, 1.1, 1.2 and 2.0, or no version at all (template two)",
                  HCCL_E_NOT_SUPPORT);
}

Document read_document(const std::string& path) {
  const std::string text = read_text(path);
  // Before all is parsed, which takes many times the memory of the text.
  if (text.size() > kMostBytes1x && text_of_member(text, path, "version") != "2.0") {
    cannot_read(path,
                "it is larger than 40 MiB, the most that a table of a version before 2.0 has");
  }
  return {text, path};
}

/// A version that is unknown is not waited for.
bool is_completed(const Document& document) {
  static_cast<void>(version_of(document.root()));
  const std::optional<Node> status = document.root().find("status");
  return !status || status->text() == "completed";
}

RankTable parse(Document& document) {
  const std::string version = version_of(document.root());
  if (version == "2.0") document.set_code_of_missing(HCCL_E_PARA);
  const Node root = document.root();
  // Whether it is completed was looked at before. 2.0 can do without.
  if (version != "2.0") static_cast<void>(root.at("status"));
  RankTable table = version.empty()    ? parse_template_two(root)
                    : version == "1.1" ? parse_1_1(root)
                    : version == "2.0" ? parse_2_0(root)
                                       : parse_1_x(root, version == "1.2");
  table.digest = document.digest();
  return table;
}

}  // namespace

RankTableFile::RankTableFile(std::string path)
    : path_(std::move(path)), document_(std::make_unique<Document>(read_document(path_))) {}

RankTableFile::~RankTableFile() = default;

RankTable RankTableFile::table(const Patience& patience) {
  const Clock::time_point end = Clock::now() + patience.limit;
  bool told = false;
  while (!is_completed(*document_)) {
    if (!std::exchange(told, true)) {
      log::info(fmt::format("waiting for the rank table {} to be completed", path_));
    }
    if (Clock::now() >= end) {
      document_->root().at("status").refuse(
          fmt::format("it did not become \"completed\" within {} s; see why the job's scheduler "
                      "does not complete the table",
                      std::chrono::duration_cast<std::chrono::seconds>(patience.limit).count()),
          HCCL_E_TIMEOUT);
    }
    std::this_thread::sleep_for(patience.pause);
    read_again(patience);
  }
  return parse(*document_);
}

void RankTableFile::read_again(const Patience& patience) {
  for (int bad = 1;; ++bad) {
    try {
      *document_ = read_document(path_);
      return;
    } catch (const Error&) {
      if (bad >= patience.bad_reads) throw;
    }
    std::this_thread::sleep_for(patience.pause);
  }
}

int ip_family(const std::string& text) noexcept {
  in6_addr unused{};
  if (inet_pton(AF_INET, text.c_str(), &unused) == 1) return AF_INET;
  if (inet_pton(AF_INET6, text.c_str(), &unused) == 1) return AF_INET6;
  return 0;
}

std::string canonical(const std::string& text) {
  in6_addr address{};
  char digits[INET6_ADDRSTRLEN] = {};
  if (inet_pton(AF_INET6, text.c_str(), &address) != 1) return text;
  return inet_ntop(AF_INET6, &address, digits, sizeof digits);
}

const std::string& check_ip(const Node& node) {
  const std::string& ip = node.text();
  if (ip_family(ip) == 0) node.refuse("allowed is an IPv4 or IPv6 address");
  return ip;
}

void OneFamily::add(const Node& node, const std::string& ip) {
  const int family = ip_family(ip);
  if (family_ == 0) {
    family_ = family;
    first_ = node.path();
  }
  if (!required_ || family == family_) return;
  node.refuse(
      fmt::format("{} is {}: all addresses of a table with several servers must be of one "
                  "family",
                  first_, family_ == AF_INET ? "IPv4" : "IPv6"));
}

}  // namespace weft::cluster
