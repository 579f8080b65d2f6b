#include "wire/json_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <limits>

namespace sl::wire {
namespace {

namespace json = boost::json;

TEST(JsonText, numbers_look_as_people_write_them) {
  EXPECT_EQ(json_text({{"a", 120.0}, {"b", 0.5}, {"c", -3}, {"d", json::array{1e300, 1e-9, 0.1, 0.0}}}),
            R"({"a":120,"b":0.5,"c":-3,"d":[1e+300,1e-09,0.1,0]})");
  EXPECT_EQ(json_text(std::numeric_limits<double>::infinity()), "null");
}

TEST(JsonText, texts_are_escaped) {
  EXPECT_EQ(json_text({{"quote\"d", "a\\b\n訓\x01"}}), "{\"quote\\\"d\":\"a\\\\b\\n訓\\u0001\"}");
  EXPECT_EQ(json_text(json::array{json::object{}, json::array{}, nullptr, true, ""}), "[{},[],null,true,\"\"]");
}

RC_GTEST_PROP(JsonText, reads_as_the_same_number, (double number)) {
  RC_ASSERT(std::strtod(json_text(number).c_str(), nullptr) == number);
}

}  // namespace
}  // namespace sl::wire
