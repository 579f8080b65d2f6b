#include "base/csv.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace sl {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows rows_of(std::string_view text) {
  Rows all;
  for (CsvRows rows(text); rows.next();) all.emplace_back(rows.fields().begin(), rows.fields().end());
  return all;
}

TEST(Csv, rows_end_at_any_line_end_and_empty_lines_are_none) {
  EXPECT_EQ(rows_of("\xEF\xBB\xBFid,n\r\n\r\na,1\n\n,\nb,2"), (Rows{{"id", "n"}, {"a", "1"}, {"", ""}, {"b", "2"}}));
  EXPECT_EQ(rows_of(""), Rows());
  EXPECT_EQ(rows_of("\n\r\n"), Rows());
}

TEST(Csv, quotes_hold_commas_line_ends_and_doubled_quotes) {
  EXPECT_EQ(rows_of("\"a,b\",\"say \"\"hi\"\"\"\r\n\"two\nlines\",x\n\"\",\"\"\"\"\n"),
            (Rows{{"a,b", "say \"hi\""}, {"two\nlines", "x"}, {"", "\""}}));
}

TEST(Csv, a_row_knows_its_line_also_behind_fields_of_several_lines) {
  CsvRows rows("a\n\n\"b\n\nb\",c\nd\n");
  std::vector<std::int64_t> lines;
  while (rows.next()) lines.push_back(rows.line());
  EXPECT_EQ(lines, (std::vector<std::int64_t>{1, 3, 6}));
}

TEST(Csv, a_quote_that_is_not_around_a_field_makes_a_row_malformed) {
  for (const char* row : {"\"a,0", "a\",0", "\"a\"b,0", "a,0\"", "\"a\"\r,0", "\"\"\""}) {
    CsvRows rows(row);
    ASSERT_TRUE(rows.next()) << row;
    EXPECT_TRUE(rows.is_malformed()) << row;
    EXPECT_TRUE(rows.fields().empty()) << row;
  }
}

TEST(Csv, a_row_of_too_many_fields_is_cut_off) {
  for (const std::string begin : {"a", "\"a\""}) {
    const std::string text = begin + std::string(5'000, ',') + "\nb\n";
    CsvRows rows(text);
    ASSERT_TRUE(rows.next());
    EXPECT_EQ(rows.fields().size(), csv_fields_max + 1);
    ASSERT_TRUE(rows.next());
    EXPECT_EQ(rows.fields().front(), "b");
  }
}

RC_GTEST_PROP(Csv, what_is_written_is_read_again, ()) {
  const auto field = rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab,\"\n\r ")));
  const auto row = rc::gen::container<std::vector<std::string>>(3, field);
  const auto rows = *rc::gen::container<Rows>(row);
  std::string text;
  for (const auto& one : rows) text += csv_field(one[0]) + "," + csv_field(one[1]) + "," + csv_field(one[2]) + "\n";
  RC_ASSERT(rows_of(text) == rows);
}

RC_GTEST_PROP(Csv, any_bytes_are_read_to_their_end, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("a,\"\n\r")));
  std::int64_t line = 0;
  for (CsvRows rows(text); rows.next();) {
    RC_ASSERT(rows.line() > line);
    RC_ASSERT(rows.fields().empty() == rows.is_malformed());
    line = rows.line();
  }
}

}  // namespace
}  // namespace sl
