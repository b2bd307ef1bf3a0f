// SPDX-License-Identifier: Apache-2.0
#include "tune/policy_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/op_names.hpp"
#include "command.hpp"
#include "config/lint.hpp"
#include "config/policy_text.hpp"

namespace weft::tools {
namespace {

/// A comment of the file: every line of a text.
std::string commented(const std::string& text) {
  std::string result;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    result += end == begin ? "#\n" : fmt::format("# {}\n", text.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

config::Rule rule_for(const TunedFor& what, const Findings& findings, const Stretch& stretch) {
  config::Rule rule = rule_of(findings.candidates[*stretch.candidate].arm, findings.op);
  rule.ranks = {what.ranks, what.ranks};
  if (findings.by_bytes) {
    rule.bytes = {std::max(stretch.bytes.first, what.bytes.first),
                  std::min(stretch.bytes.last, what.bytes.last)};
  }
  const bool has_type = config::why_meaningless("type", findings.op).empty();
  if (what.type && has_type) rule.types = 1U << *what.type;
  return rule;
}

/// A rule in the file, and where it came from.
struct Entry {
  config::Rule rule;
  bool is_ours = false;  // of a stretch, not of the policy
  std::string comment;   // before it
};

class Author {
 public:
  Author(const TunedFor& what, const std::vector<Tuned>& tuned, const config::Policy& base)
      : what_(what), tuned_(tuned), base_(base) {
    for (const Tuned& each : tuned_) add_tuned(each);
    for (uint32_t op = 1; op < WEFT_OP_COUNT; ++op) {
      const bool is_tuned =
          std::ranges::any_of(tuned_, [op](const Tuned& each) { return each.findings.op == op; });
      if (!is_tuned) add_base(op, fmt::format("{}: not measured.\n", operation_name(op)));
    }
  }

  std::string write(const plugin::Registry& registry);

 private:
  void add_tuned(const Tuned& tuned);
  void add_base(uint32_t op, const std::string& comment);
  void drop(const std::set<size_t>& places);
  [[nodiscard]] std::set<size_t> covered() const;
  [[nodiscard]] std::set<size_t> idle(const std::string& written,
                                      const plugin::Registry& registry) const;
  [[nodiscard]] std::string text();
  void add_plugin_places(const plugin::Registry& registry);

  const TunedFor& what_;
  const std::vector<Tuned>& tuned_;
  const config::Policy& base_;
  config::Settings settings_ = base_.settings();
  std::vector<Entry> entries_;
  std::vector<size_t> lines_;  // of the entries in the last text
};

void Author::add_tuned(const Tuned& tuned) {
  const Findings& findings = tuned.findings;
  std::string comment = table_of(tuned);
  comment += fmt::format("  {}\n", choice_text(tuned));
  for (const Stretch& stretch : tuned.stretches) {
    if (!stretch.candidate) continue;
    if (findings.candidates[*stretch.candidate].reorders) {
      comment += fmt::format(
          "The rule for {} does not sum in rank order: calls that ask for a deterministic result "
          "go on to the rules behind it.\n",
          findings.candidates[*stretch.candidate].arm.text());
    }
    entries_.push_back({rule_for(what_, findings, stretch), true, comment});
    comment.clear();
  }
  add_base(findings.op, comment);
}

void Author::add_base(uint32_t op, const std::string& comment) {
  std::string first = comment;
  for (const config::Rule& rule : base_.rules()) {
    if (rule.op != op) continue;
    entries_.push_back({rule, false, first});
    first.clear();
  }
}

std::string Author::text() {
  std::string text;
  for (const std::string& line : what_.comment) text += commented(line);
  text += "\nschema = 1\n";
  lines_.clear();
  for (const Entry& entry : entries_) {
    text += '\n' + commented(entry.comment);
    lines_.push_back(1 + size_t(std::count(text.begin(), text.end(), '\n')));
    text += config::toml_of(entry.rule);
  }
  return text + config::toml_of(settings_);
}

/// Without those at these places; what is said before them is said before the next one.
void Author::drop(const std::set<size_t>& places) {
  std::vector<Entry> kept;
  std::string comment;
  for (size_t i = 0; i < entries_.size(); ++i) {
    comment += entries_[i].comment;
    if (places.contains(i)) continue;
    kept.push_back(entries_[i]);
    kept.back().comment = comment;
    comment.clear();
  }
  entries_ = std::move(kept);
}

/// Rules of the policy that a single one of ours covers: with them, the file would be refused.
std::set<size_t> Author::covered() const {
  std::set<size_t> found;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const bool covered = std::ranges::any_of(entries_, [&](const Entry& other) {
      return other.is_ours && config::covers(other.rule, entries_[i].rule);
    });
    if (!entries_[i].is_ours && covered) found.insert(i);
  }
  return found;
}

/// Rules that never decide a call.
std::set<size_t> Author::idle(const std::string& written, const plugin::Registry& registry) const {
  config::Policy policy = config::Policy::parse(written, base_.name());
  std::set<size_t> found;
  for (const config::Finding& each : config::lint(policy, registry)) {
    if (each.severity == config::Severity::kError) throw Failure(each.text);
    if (each.severity != config::Severity::kWarning) continue;
    const auto line = std::ranges::find(lines_, each.place.line);
    if (line != lines_.end()) found.insert(size_t(line - lines_.begin()));
  }
  return found;
}

/// WEFT_PLUGIN_PATH may be another one when the file is read.
void Author::add_plugin_places(const plugin::Registry& registry) {
  for (const Entry& entry : entries_) {
    const std::string name = entry.rule.use.substr(0, entry.rule.use.find('.'));
    for (const plugin::Plugin& each : registry.plugins()) {
      const auto path = std::filesystem::absolute(each.path).lexically_normal();
      auto& paths = settings_.plugin_paths;
      const bool known = each.path.parent_path() == plugin::default_folder() ||
                         std::ranges::find(paths, path) != paths.end() ||
                         std::ranges::find(paths, path.parent_path()) != paths.end();
      if (entry.is_ours && each.name == name && each.refusal.empty() && !known) {
        paths.push_back(path);
      }
    }
  }
}

std::string Author::write(const plugin::Registry& registry) {
  add_plugin_places(registry);
  drop(covered());
  for (;;) {
    const std::string written = text();
    const std::set<size_t> useless = idle(written, registry);
    if (useless.empty()) return written;
    drop(useless);
  }
}

}  // namespace

std::string policy_text(const TunedFor& what, const std::vector<Tuned>& tuned,
                        const config::Policy& base, const plugin::Registry& registry) {
  return Author(what, tuned, base).write(registry);
}

}  // namespace weft::tools
