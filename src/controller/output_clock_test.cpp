#include "controller/output_clock.h"

#include <gtest/gtest.h>

namespace sl::controller {
namespace {

constexpr std::int64_t second = 1'000'000;

TEST(OutputClock, a_byte_was_written_by_the_first_note_after_it) {
  OutputClock clock;
  EXPECT_EQ(clock.at(0), std::nullopt);
  clock.add({{3, 10 * second}, {8, 20 * second}}, 0);
  EXPECT_EQ(clock.at(2), "1970-01-01T00:00:10.000Z");
  EXPECT_EQ(clock.at(3), "1970-01-01T00:00:20.000Z");
  EXPECT_EQ(clock.at(8), std::nullopt);
}

TEST(OutputClock, the_notes_of_the_next_piece_continue_those_of_the_line_that_is_open) {
  OutputClock clock;
  clock.add({{4, 10 * second}}, 0);
  clock.add({{4, 11 * second}, {9, 20 * second}}, 2);
  EXPECT_EQ(clock.at(2), "1970-01-01T00:00:10.000Z") << "the earlier note counts";
  EXPECT_EQ(clock.at(5), "1970-01-01T00:00:20.000Z");
  clock.restart();
  EXPECT_EQ(clock.at(5), std::nullopt);
}

TEST(OutputClock, each_line_is_stamped_once_however_the_text_is_cut) {
  OutputClock clock;
  clock.add({{4, 10 * second}, {9, 20 * second}}, 0);
  const std::string whole =
      "1970-01-01T00:00:10.000Z one\n1970-01-01T00:00:20.000Z \n1970-01-01T00:00:20.000Z two\n- end";
  const std::string text = "one\n\ntwo\nend";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    bool begins_line = true;
    std::string made = clock.stamped(text.substr(0, cut), 0, begins_line);
    made += clock.stamped(text.substr(cut), static_cast<std::int64_t>(cut), begins_line);
    EXPECT_EQ(made, whole) << cut;
  }
}

}  // namespace
}  // namespace sl::controller
