// Text for people: tables, states, durations, sizes. Pure functions of their arguments.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "cli/context.h"

namespace sl::cli {

// Columns as wide as their widest cell, two blanks between; `right` names the columns of numbers. Empty header: no
// header.
class Table {
 public:
  explicit Table(std::vector<std::string> header, std::vector<std::size_t> right = {})
      : header_(std::move(header)), right_(std::move(right)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  // `plain`: tab-separated without a header.
  std::string text(bool plain) const;

 private:
  std::vector<std::string> header_;
  std::vector<std::size_t> right_;
  std::vector<std::vector<std::string>> rows_;
};

// Columns a terminal shows for UTF-8 text; colour codes count nothing.
std::size_t display_width(std::string_view text);

std::string duration_text(double seconds);           // 12s  4m 05s  1h 10m  2d 3h
std::string bytes_text(double bytes);                // 7.9 GiB
std::string clock_text(const std::string& rfc3339);  // local time: 19:20, or the date when it is another day
// Sign, word and colour of a state; ASCII where the terminal knows no more.
std::string state_text(const Context& context, const std::string& state);
std::string where_text(const json::value& job);  // gpu3:0-3
std::string gpus_text(const json::value& job);   // 2  or 1..4
std::string plural(std::size_t n, const std::string& word);

}  // namespace sl::cli
