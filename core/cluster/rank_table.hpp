// SPDX-License-Identifier: Apache-2.0
// Rank tables: the JSON text that tells which ranks a job has, and on which devices of which
// servers. Nothing here looks at this host or its devices.
//
// Versions 1.0, 1.1, 1.2 and 2.0 are read, and the form without a version (template two). Members
// that no version knows are passed over.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft::cluster {

using Digest = std::array<std::byte, 16>;

class Document;

/// The world that a table describes.
struct RankTable {
  /// Where one rank is.
  struct Place {
    std::uint32_t server = 0;  // index into `servers`
    std::uint32_t device = 0;  // physical id on that server
  };

  std::vector<std::string> servers;  // their ids
  std::vector<Place> ranks;          // by rank; never empty

  /// Where rank 0 can be met: an address of its server, and a port. Empty and 0 if the table does
  /// not say.
  std::string root_ip;
  std::uint16_t root_port = 0;

  Digest digest{};  // equal for tables that say the same
};

/// How long to wait for a file whose `status` is not "completed".
struct Patience {
  std::chrono::milliseconds pause = std::chrono::seconds(1);  // between two looks
  std::chrono::milliseconds limit = std::chrono::minutes(30);
  int bad_reads = 5;  // one after another: a file that is being written may be half there
};

/// A rank table file. Opening it and understanding it are two steps, for callers that check
/// something in between.
class RankTableFile {
 public:
  /// Reads the text. Throws Error (HCCL_E_INTERNAL) if the file cannot be read or is not JSON.
  explicit RankTableFile(std::string path);
  ~RankTableFile();

  /// The world that it describes. Blocks until its status is "completed". Throws Error:
  ///   HCCL_E_INTERNAL     it was read again, and cannot be read or is not JSON
  ///   HCCL_E_TIMEOUT      it was not completed in time
  ///   HCCL_E_NOT_SUPPORT  its version is unknown
  ///   HCCL_E_NOT_FOUND    something required is missing
  ///   HCCL_E_PARA         a value is not allowed; in version 2.0 also something missing
  [[nodiscard]] RankTable table(const Patience& patience = {});

 private:
  void read_again(const Patience& patience);

  std::string path_;
  std::unique_ptr<Document> document_;
};

}  // namespace weft::cluster
