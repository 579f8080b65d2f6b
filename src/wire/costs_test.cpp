#include "wire/costs.h"

#include <gtest/gtest.h>

#include "wire/json.h"

namespace sl::wire {
namespace {

FamilyCosts costs_of(const char* family, int starts, double start_s) {
  FamilyCosts costs;
  costs.family = family;
  costs.starts = starts;
  costs.start_s = start_s;
  return costs;
}

TEST(Costs, what_was_written_is_read_back) {
  CostsDocument document;
  document.families = {costs_of("cnn", 2, 3.5), costs_of("mlp", 0, 0)};
  const auto read = parse_costs(write_json(document));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->families, document.families);
}

TEST(Costs, of_all_families_the_mean_is_weighted_by_how_often_each_was_measured) {
  const FamilyCosts mean = mean_of({costs_of("a", 1, 2), costs_of("b", 3, 6), costs_of("c", 0, 100)});
  EXPECT_EQ(mean.starts, 4);
  EXPECT_DOUBLE_EQ(mean.start_s, 5);
  EXPECT_FALSE(mean_of({}).has_restart());
}

TEST(Costs, a_restart_takes_the_stop_the_start_and_the_work_done_again) {
  FamilyCosts costs = costs_of("a", 1, 2);
  costs.repeated_s = 0.5;
  costs.stop_s = 10;  // of no stop
  EXPECT_DOUBLE_EQ(costs.restart_s(), 2.5);
  costs.stops = 1;
  EXPECT_DOUBLE_EQ(costs.restart_s(), 12.5);
}

TEST(Costs, what_cannot_be_is_refused) {
  const auto code = [](const char* text) { return parse_costs(text).error().code; };
  EXPECT_EQ(code("{"), "malformed-json");
  for (const char* no_costs : {"{}", R"({"schedulearn_costs": 1})", R"({"families": []})"})
    EXPECT_EQ(code(no_costs), "bad-costs") << no_costs;
  EXPECT_TRUE(parse_costs(R"({"schedulearn_costs": 1, "families": []})").ok()) << "nothing was measured yet";
  EXPECT_EQ(code(R"({"schedulearn_costs": 2, "families": []})"), "costs-version");
  EXPECT_EQ(code(R"({"schedulearn_costs": 1, "families": [{"family": "a", "starts": -1}]})"), "bad-costs");
  EXPECT_EQ(code(R"({"schedulearn_costs": 1, "families": [{"family": "a", "stops": 1, "stop_s": 1e12}]})"),
            "bad-costs");
  EXPECT_EQ(code(R"({"schedulearn_costs": 1, "families": [{"family": "a"}, {"family": "a"}]})"), "bad-costs");
  EXPECT_EQ(code(R"({"schedulearn_costs": 1, "familys": []})"), "unknown-key");
}

}  // namespace
}  // namespace sl::wire
