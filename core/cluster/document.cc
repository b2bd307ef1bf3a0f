// SPDX-License-Identifier: Apache-2.0
#include "cluster/document.hpp"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"

namespace weft::cluster {
namespace {

constexpr std::size_t kMostShown = 80;  // bytes of a value
constexpr int kMostDepth = 64;          // more than any table has; writing JSON back is recursive

}  // namespace

Document::Document(std::string_view text, std::string file) : file_(std::move(file)) {
  const auto check_depth = [this](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth <= kMostDepth) return true;
    throw Error(HCCL_E_INTERNAL,
                fmt::format("rank table {} is nested deeper than {} levels", file_, kMostDepth));
  };
  try {
    json_ = std::make_unique<nlohmann::json>(nlohmann::json::parse(text, check_depth));
  } catch (const nlohmann::json::parse_error& error) {
    const std::string what = error.what();  // "[number of the exception] text"
    throw Error(HCCL_E_INTERNAL, fmt::format("rank table {} is not JSON: {}", file_,
                                             what.substr(what.find(']') + 2)));
  }
}

Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

Node Document::root() const { return {*this, *json_, ""}; }

// FNV-1a of 128 bits over the compact text, whose members are sorted.
Digest Document::digest() const {
  __extension__ using Wide = unsigned __int128;
  constexpr Wide kPrime = Wide{1} << 88 | 0x13b;
  Wide hash = Wide{0x6c62272e07bb0142} << 64 | 0x62b821756295c58d;
  for (const char byte : json_->dump()) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * kPrime;
  }
  Digest digest;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::byte>(static_cast<unsigned char>(hash >> (8 * i)));
  }
  return digest;
}

std::string Node::shown() const {
  if (value_->is_object()) return "an object";
  if (value_->is_array()) return fmt::format("an array of {}", value_->size());
  std::string text = value_->dump();
  if (text.size() > kMostShown) {
    text = value_->dump(-1, ' ', true).substr(0, kMostShown) + "...";  // in ASCII, so cut anywhere
  }
  return text;
}

void Node::refuse(const std::string& what, HcclResult code) const {
  throw Error(code, fmt::format("rank table {}: {} is {}: {}", document_->file_,
                                path_.empty() ? "the text" : path_, shown(), what));
}

std::optional<Node> Node::find(std::string_view key) const {
  if (!value_->is_object()) refuse("allowed is an object");
  const auto found = value_->find(key);
  if (found == value_->end()) return std::nullopt;
  std::string path = path_;
  if (!path.empty()) path += '.';
  return Node(*document_, *found, path.append(key));
}

Node Node::at(std::string_view key) const {
  if (std::optional<Node> found = find(key)) return *std::move(found);
  throw Error(document_->missing_,
              fmt::format("rank table {}: {}{}{} is missing, it is required", document_->file_,
                          path_, path_.empty() ? "" : ".", key));
}

std::size_t Node::size() const {
  if (!value_->is_array()) refuse("allowed is an array");
  return value_->size();
}

Node Node::operator[](std::size_t index) const {
  return {*document_, (*value_)[index], fmt::format("{}[{}]", path_, index)};
}

const std::string& Node::text(std::size_t least, std::size_t most) const {
  if (!value_->is_string()) refuse("allowed is a string, in quotation marks");
  const auto& text = value_->get_ref<const std::string&>();
  if (text.size() < least || text.size() > most) {
    refuse(most == SIZE_MAX ? fmt::format("allowed are {} characters and more", least)
                            : fmt::format("allowed are {} to {} characters, it has {}", least, most,
                                          text.size()));
  }
  return text;
}

std::uint32_t Node::decimal(std::uint32_t least, std::uint32_t most) const {
  const std::string allowed =
      fmt::format("allowed is a decimal number from {} to {} as a string", least, most);
  if (!value_->is_string()) refuse(allowed);
  const std::string& digits = text();
  std::uint32_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc() || stop != end || value < least || value > most) refuse(allowed);
  return value;
}

std::uint32_t Node::number(std::uint32_t least, std::uint32_t most) const {
  const bool whole = value_->is_number_unsigned();
  const std::uint64_t value = whole ? value_->get<std::uint64_t>() : 0;
  if (!whole || value < least || value > most) {
    refuse(fmt::format("allowed is a whole number from {} to {}", least, most));
  }
  return static_cast<std::uint32_t>(value);
}

void Distinct::add(const Node& node, const std::string& value, std::string_view what) {
  const auto [seen, fresh] = paths_.emplace(value, node.path());
  if (!fresh) node.refuse(fmt::format("{} has it too, {}", seen->second, what));
}

}  // namespace weft::cluster
