// SPDX-License-Identifier: Apache-2.0
#include "tune/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

namespace weft::tools {
namespace {

// Pixels.
constexpr double kWidth = 960;
constexpr double kHeading = 46;
constexpr double kHeight = 400;  // of a chart with its title and axis
constexpr double kLeft = 70;
constexpr double kTop = 40;
constexpr double kPlotWidth = 600;
constexpr double kPlotHeight = 300;
constexpr double kTickWidth = 44;
constexpr double kLegend = kLeft + kPlotWidth + 24;

constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00",
                                 "#56b4e9", "#7f3fbf", "#333333", "#e69f00", "#a00000"};
constexpr std::array kDashes = {"none", "7 3", "2 3"};  // when the colours begin again

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

/// From a value to a pixel.
class Axis {
 public:
  Axis(double low, double high, double from, double to)
      : low_(std::log(low)), high_(std::log(high)), from_(from), to_(to) {}

  [[nodiscard]] double at(double value) const {
    if (high_ <= low_) return (from_ + to_) / 2;
    return from_ + (std::log(value) - low_) / (high_ - low_) * (to_ - from_);
  }

 private:
  double low_;
  double high_;
  double from_;
  double to_;
};

struct Box {
  double low_x = std::numeric_limits<double>::infinity();
  double high_x = 0;
  double low_y = std::numeric_limits<double>::infinity();
  double high_y = 0;
};

Box box_of(const Chart& chart) {
  constexpr double kRoom = 1.3;
  Box box;
  for (const Chart::Line& line : chart.lines) {
    for (const Chart::Point& point : line.points) {
      box.low_x = std::min(box.low_x, point.x);
      box.high_x = std::max(box.high_x, point.x);
      box.low_y = std::min(box.low_y, point.y);
      box.high_y = std::max(box.high_y, point.y);
    }
  }
  if (box.high_y == 0) return {1, 1, 1, 1};
  box.low_y /= kRoom;
  box.high_y *= kRoom;
  return box;
}

/// 1, 2 and 5 times powers of ten; of many decades the powers alone.
std::vector<double> round_numbers(double low, double high) {
  const bool many = high / low > 1000;
  std::vector<double> found;
  for (int power = int(std::floor(std::log10(low))); power <= int(std::ceil(std::log10(high)));
       ++power) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double number = digit * std::pow(10, power);
      if (number >= low && number <= high && (digit == 1 || !many)) found.push_back(number);
    }
  }
  return found;
}

class Writer {
 public:
  void begin(double height, const std::string& heading);
  void chart(const Chart& chart, double top);
  std::string end() { return text_ + "</svg>\n"; }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> form, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), form, std::forward<Values>(values)...);
  }
  void text(double x, double y, const char* anchor, const std::string& words,
            const std::string& more = "");
  void axes(const Chart& chart, const Box& box, const Axis& x, const Axis& y, double top);
  void line(const Chart::Line& line, size_t index, const Axis& x, const Axis& y, double top);

  std::string text_;
};

void Writer::begin(double height, const std::string& heading) {
  add(R"(<?xml version="1.0" encoding="UTF-8"?>)"
      "\n"
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" )"
      R"(font-family="sans-serif" font-size="12" fill="#222">)"
      "\n"
      R"(<rect width="{0}" height="{1}" fill="#fff"/>)"
      "\n",
      kWidth, height);
  text(kLeft, 28, "start", heading, R"( font-size="15")");
}

void Writer::text(double x, double y, const char* anchor, const std::string& words,
                  const std::string& more) {
  add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}"{}>{}</text>)"
      "\n",
      x, y, anchor, more, escaped(words));
}

void Writer::axes(const Chart& chart, const Box& box, const Axis& x, const Axis& y, double top) {
  const double bottom = top + kPlotHeight;
  add(R"(<rect x="{}" y="{}" width="{}" height="{}" fill="none" stroke="#999"/>)"
      "\n",
      kLeft, top, kPlotWidth, kPlotHeight);
  const auto grid = [&](double x1, double y1, double x2, double y2) {
    add(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="#e4e4e4"/>)"
        "\n",
        x1, y1, x2, y2);
  };
  for (const double number : round_numbers(box.low_y, box.high_y)) {
    grid(kLeft, y.at(number), kLeft + kPlotWidth, y.at(number));
    text(kLeft - 6, y.at(number) + 4, "end", fmt::format("{:g}", number));
  }
  double free = 0;  // from here on nothing is written yet
  for (const auto& [value, words] : chart.x_ticks) {
    grid(x.at(value), top, x.at(value), bottom);
    if (x.at(value) < free) continue;
    text(x.at(value), bottom + 16, "middle", words);
    free = x.at(value) + kTickWidth;
  }
  text(kLeft - 6, top - 8, "end", "µs");
  for (size_t i = 0; i < chart.marks.size(); ++i) {
    const double at = x.at(chart.marks[i].x);
    add(R"(<line x1="{0:.1f}" y1="{1:.1f}" x2="{0:.1f}" y2="{2:.1f}" stroke="#222" )"
        R"(stroke-dasharray="4 4"/>)"
        "\n",
        at, top, bottom);
    // In turn at two heights, so that neighbours do not cover each other.
    text(at + 4, top + 14 + 14 * double(i % 2), "start", chart.marks[i].text);
  }
}

void Writer::line(const Chart::Line& line, size_t index, const Axis& x, const Axis& y, double top) {
  const char* colour = kColours[index % kColours.size()];
  const char* dash = kDashes[index / kColours.size() % kDashes.size()];
  std::string points;
  for (const Chart::Point& point : line.points) {
    fmt::format_to(std::back_inserter(points), "{:.1f},{:.1f} ", x.at(point.x), y.at(point.y));
  }
  add(R"(<polyline points="{}" fill="none" stroke="{}" stroke-width="1.8" stroke-dasharray="{}"/>)"
      "\n",
      points, colour, dash);
  for (const Chart::Point& point : line.points) {
    add(R"(<circle cx="{:.1f}" cy="{:.1f}" r="2.4" fill="{}"/>)"
        "\n",
        x.at(point.x), y.at(point.y), colour);
  }
  const double at = top + 10 + 18 * double(index);
  add(R"(<line x1="{0:.1f}" y1="{1:.1f}" x2="{2:.1f}" y2="{1:.1f}" stroke="{3}" )"
      R"(stroke-width="1.8" stroke-dasharray="{4}"/>)"
      "\n",
      kLegend, at, kLegend + 26, colour, dash);
  text(kLegend + 32, at + 4, "start", line.name);
}

void Writer::chart(const Chart& chart, double top) {
  const Box box = box_of(chart);
  const double plot_top = top + kTop;
  const Axis x(box.low_x, box.high_x, kLeft, kLeft + kPlotWidth);
  const Axis y(box.low_y, box.high_y, plot_top + kPlotHeight, plot_top);
  text(kLeft, top + 18, "start", chart.title, R"( font-weight="bold")");
  axes(chart, box, x, y, plot_top);
  for (size_t i = 0; i < chart.lines.size(); ++i) line(chart.lines[i], i, x, y, plot_top);
}

}  // namespace

std::string svg_of(const std::string& heading, const std::vector<Chart>& charts) {
  Writer writer;
  writer.begin(kHeading + kHeight * double(charts.size()), heading);
  for (size_t i = 0; i < charts.size(); ++i) {
    writer.chart(charts[i], kHeading + kHeight * double(i));
  }
  return writer.end();
}

}  // namespace weft::tools
