// SPDX-License-Identifier: Apache-2.0
#include "cluster/document.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.hpp"

namespace weft::cluster {
namespace {

using Json = nlohmann::json;
using Event = Json::parse_event_t;

constexpr std::size_t kMostShown = 80;  // bytes of a value
constexpr int kMostDepth = 64;          // more than any table has; writing JSON back is recursive

/// Where the parser is, as it goes through a text.
class Trail {
 public:
  explicit Trail(const std::string& file) : file_(file) {}

  /// Throws Error for what the parser would take: too deep a text, and a key that is there twice.
  void go_on(int depth, Event event, const Json& value) {
    if (depth > kMostDepth) {
      throw Error(HCCL_E_INTERNAL,
                  fmt::format("rank table {} is nested deeper than {} levels", file_, kMostDepth));
    }
    const auto at = static_cast<std::size_t>(depth);
    if (event == Event::object_end || event == Event::array_end) return;
    if (event == Event::key) return add_key(at, value.get_ref<const std::string&>());
    ++levels_[at].items;
    if (event == Event::value) return;
    levels_[at + 1] = Level();
    levels_[at + 1].is_array = event == Event::array_start;
  }

  /// That of the outermost object which was read last.
  [[nodiscard]] std::string_view outer_key() const { return levels_[1].key; }

 private:
  struct Level {
    bool is_array = false;
    std::size_t items = 0;
    std::string_view key;  // the last of `keys`
    std::set<std::string> keys;
  };

  void add_key(std::size_t depth, const std::string& key) {
    const auto [found, fresh] = levels_[depth].keys.insert(key);
    levels_[depth].key = *found;
    if (fresh) return;
    std::string path;
    for (std::size_t i = 1; i <= depth; ++i) {
      const Level& each = levels_[i];
      path += each.is_array ? fmt::format("[{}]", each.items - 1)
                            : fmt::format("{}{}", path.empty() ? "" : ".", each.key);
    }
    throw Error(HCCL_E_INTERNAL, fmt::format("rank table {}: {} is there twice", file_, path));
  }

  const std::string& file_;
  std::array<Level, kMostDepth + 2> levels_;  // by depth; the text itself is at 0
};

/// All of it, or of its members only the one of that key.
Json parse_json(std::string_view text, const std::string& file, std::string_view key = {}) {
  Trail trail(file);
  const auto keep = [&](int depth, Event event, const Json& value) {
    trail.go_on(depth, event, value);
    return key.empty() || depth == 0 || (depth == 1 && trail.outer_key() == key);
  };
  try {
    return Json::parse(text, keep);
  } catch (const Json::exception& error) {
    const std::string what = error.what();  // "[number of the exception] text"
    throw Error(HCCL_E_INTERNAL, fmt::format("rank table {} is not JSON: {}", file,
                                             what.substr(what.find(']') + 2)));
  }
}

}  // namespace

std::string text_of_member(std::string_view text, const std::string& file, const char* key) {
  const Json json = parse_json(text, file, key);
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

Document::Document(std::string_view text, std::string file)
    : file_(std::move(file)), json_(std::make_unique<Json>(parse_json(text, file_))) {}

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
