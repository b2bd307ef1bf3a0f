// SPDX-License-Identifier: Apache-2.0
#include "tune/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/op_names.hpp"
#include "bench/texts.hpp"
#include "config/units.hpp"

namespace weft::tools {
namespace {

/// Three digits that count.
std::string number_text(double value) {
  if (value >= 100) return fmt::format("{:.0f}", value);
  if (value >= 10) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

/// Of a size; the number of candidates if nothing was right.
size_t fastest(const SizeFindings& size) {
  size_t best = size.timings.size();
  for (size_t i = 0; i < size.timings.size(); ++i) {
    const Timing& each = size.timings[i];
    if (each.blocks == 0 || each.wrong != 0) continue;
    if (best == size.timings.size() || each.median_us < size.timings[best].median_us) best = i;
  }
  return best;
}

std::string cell_text(const Findings& findings, size_t size, size_t candidate) {
  const SizeFindings& at = findings.sizes[size];
  const Timing& timing = at.timings[candidate];
  if (timing.wrong != 0) return "wrong";
  if (timing.blocks == 0) return "-";
  const char* mark = "";
  if (findings.is_good(size, candidate)) mark = "=";
  if (candidate == fastest(at)) mark = "*";
  return mark + number_text(timing.median_us);
}

size_t chosen(const Tuned& tuned, const Stretch& stretch, size_t size) {
  return stretch.candidate.value_or(tuned.findings.sizes[size].base);
}

std::string name_of(const Findings& findings, size_t candidate) {
  return findings.candidates[candidate].arm.text();
}

}  // namespace

std::string marks_text() {
  return "* the fastest, = not known to be slower than that; wrong: an algorithm with wrong "
         "results";
}

std::string table_of(const Tuned& tuned) {
  const Findings& findings = tuned.findings;
  size_t name_width = operation_name(findings.op).size() + 4;
  for (size_t i = 0; i < findings.candidates.size(); ++i) {
    name_width = std::max(name_width, name_of(findings, i).size() + 2);
  }
  std::string text =
      fmt::format("{:<{}}", fmt::format("{}, us", operation_name(findings.op)), name_width);
  for (const SizeFindings& size : findings.sizes)
    text += fmt::format(" {:>8}", size_text(size.bytes));
  text += '\n';
  for (size_t candidate = 0; candidate < findings.candidates.size(); ++candidate) {
    text += fmt::format("  {:<{}}", name_of(findings, candidate), name_width - 2);
    for (size_t size = 0; size < findings.sizes.size(); ++size) {
      text += fmt::format(" {:>8}", cell_text(findings, size, candidate));
    }
    text += '\n';
  }
  return text;
}

std::string choice_text(const Tuned& tuned) {
  if (tuned.findings.sizes.empty()) return "as before";
  std::string text;
  for (const Stretch& stretch : tuned.stretches) {
    const bool last = &stretch == &tuned.stretches.back();
    std::string what = "as before";
    if (stretch.candidate) what = name_of(tuned.findings, *stretch.candidate);
    text += text.empty() ? what : ", then " + what;
    if (!last) text += " up to " + config::text_of_bytes(stretch.bytes.last);
  }
  return text;
}

Chart chart_of(const Tuned& tuned) {
  const Findings& findings = tuned.findings;
  Chart chart;
  chart.title = std::string(operation_name(findings.op));
  const auto place = [](uint64_t bytes) { return std::max<double>(1, double(bytes)); };
  for (size_t candidate = 0; candidate < findings.candidates.size(); ++candidate) {
    Chart::Line line;
    line.name = name_of(findings, candidate);
    for (const SizeFindings& size : findings.sizes) {
      const Timing& timing = size.timings[candidate];
      if (timing.blocks == 0 || timing.wrong != 0 || timing.median_us <= 0) continue;
      line.points.push_back({place(size.bytes), timing.median_us});
    }
    chart.lines.push_back(std::move(line));
  }
  for (const SizeFindings& size : findings.sizes) {
    chart.x_ticks.emplace_back(place(size.bytes), size_text(size.bytes));
  }
  // Where a stretch ends; and what was chosen before may change by itself, somewhere in between.
  for (const Stretch& stretch : tuned.stretches) {
    for (size_t i = stretch.first; i < stretch.last; ++i) {
      const size_t next = chosen(tuned, stretch, i + 1);
      if (chosen(tuned, stretch, i) == next) continue;
      const double middle =
          std::sqrt(place(findings.sizes[i].bytes)) * std::sqrt(place(findings.sizes[i + 1].bytes));
      chart.marks.push_back({middle, "→ " + name_of(findings, next)});
    }
    if (&stretch == &tuned.stretches.back()) break;
    const Stretch& next = *(&stretch + 1);
    const std::string end = config::text_of_bytes(stretch.bytes.last);
    chart.marks.push_back(
        {place(stretch.bytes.last),
         fmt::format("{} → {}", end, name_of(findings, chosen(tuned, next, next.first)))});
  }
  return chart;
}

nlohmann::ordered_json json_of(const Tuned& tuned) {
  const Findings& findings = tuned.findings;
  auto sizes = nlohmann::ordered_json::array();
  for (const Stretch& stretch : tuned.stretches) {
    for (size_t i = stretch.first; i <= stretch.last && i < findings.sizes.size(); ++i) {
      const SizeFindings& size = findings.sizes[i];
      auto algorithms = nlohmann::ordered_json::array();
      for (size_t candidate = 0; candidate < size.timings.size(); ++candidate) {
        const Timing& timing = size.timings[candidate];
        algorithms.push_back({{"algorithm", name_of(findings, candidate)},
                              {"median_us", nullptr},
                              {"blocks", timing.blocks},
                              {"wrong", timing.wrong},
                              {"slower", timing.slower}});
        if (timing.blocks != 0) algorithms.back()["median_us"] = timing.median_us;
      }
      sizes.push_back({{"bytes", size.bytes},
                       {"before", name_of(findings, size.base)},
                       {"chosen", name_of(findings, chosen(tuned, stretch, i))},
                       {"algorithms", algorithms}});
      if (size.again) sizes.back()["ratio_once_more"] = *size.again;
    }
  }
  auto rules = nlohmann::ordered_json::array();
  for (const Stretch& stretch : tuned.stretches) {
    if (!stretch.candidate) continue;
    rules.push_back({{"bytes", config::text_of_bytes(stretch.bytes)},
                     {"use", name_of(findings, *stretch.candidate)}});
  }
  return {{"operation", operation_name(findings.op)}, {"sizes", sizes}, {"rules", rules}};
}

}  // namespace weft::tools
