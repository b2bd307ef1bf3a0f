// SPDX-License-Identifier: Apache-2.0
// A JSON text, and its values as things that know where they are, so that every complaint names
// file, path, value and what is allowed. The JSON library stays inside document.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "cluster/rank_table.hpp"
#include "hccl/hccl_types.h"

namespace weft::cluster {

/// One value. Borrows from its document. Whatever does not fit throws Error (HCCL_E_PARA).
class Node {
 public:
  /// "server_list[0].device[2].rank_id"
  [[nodiscard]] const std::string& path() const { return path_; }

  /// The member of this object, if it has one.
  [[nodiscard]] std::optional<Node> find(std::string_view key) const;
  /// The same; a missing one throws Error with the document's code for that.
  [[nodiscard]] Node at(std::string_view key) const;

  /// How many items this array has.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] Node operator[](std::size_t index) const;

  /// This string, of `least` to `most` bytes.
  [[nodiscard]] const std::string& text(std::size_t least = 0, std::size_t most = SIZE_MAX) const;
  /// This string of decimal digits as a number from `least` to `most`.
  [[nodiscard]] std::uint32_t decimal(std::uint32_t least, std::uint32_t most) const;
  /// This number from `least` to `most`.
  [[nodiscard]] std::uint32_t number(std::uint32_t least, std::uint32_t most) const;

  /// Throws Error: "rank table FILE: PATH is VALUE: what".
  [[noreturn]] void refuse(const std::string& what, HcclResult code = HCCL_E_PARA) const;

 private:
  friend class Document;
  Node(const Document& document, const nlohmann::json& value, std::string path)
      : document_(&document), value_(&value), path_(std::move(path)) {}
  [[nodiscard]] std::string shown() const;

  const Document* document_;
  const nlohmann::json* value_;
  std::string path_;
};

class Document {
 public:
  /// `file` names the text in messages. Throws Error (HCCL_E_INTERNAL) if it is not JSON, or an
  /// object in it has a key twice.
  Document(std::string_view text, std::string file);
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();

  [[nodiscard]] Node root() const;
  [[nodiscard]] const std::string& file() const { return file_; }

  /// What a missing member is, from now on; HCCL_E_NOT_FOUND before.
  void set_code_of_missing(HcclResult code) { missing_ = code; }

  /// Equal for texts that differ in white space and the order of members only.
  [[nodiscard]] Digest digest() const;

 private:
  friend class Node;
  std::string file_;
  std::unique_ptr<nlohmann::json> json_;
  HcclResult missing_ = HCCL_E_NOT_FOUND;
};

/// That of one string in the object that a text is, without room for the others; empty if there is
/// none. Throws as a Document.
[[nodiscard]] std::string text_of_member(std::string_view text, const std::string& file,
                                         const char* key);

/// Values of which there may be only one each.
class Distinct {
 public:
  /// Throws Error that names both places if `value` was there before.
  void add(const Node& node, const std::string& value, std::string_view what);

 private:
  std::unordered_map<std::string, std::string> paths_;  // by value
};

}  // namespace weft::cluster
