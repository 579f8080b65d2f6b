#include "base/parameters.h"

#include <gtest/gtest.h>

namespace sl {
namespace {

const std::vector<ParameterInfo> infos = {
    {"who", ParameterType::names, "", "a,b", 0, 0, {"a", "b", "c"}, "some of them"}};

TEST(NamesParameter, is_a_list_of_its_choices_in_the_order_given) {
  EXPECT_EQ(Parameters::parse(infos, {}, "it")->names("who"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(Parameters::parse(infos, {{"who", "c"}}, "it")->names("who"), std::vector<std::string>{"c"});
  EXPECT_EQ(Parameters::parse(infos, {{"who", "c,a"}}, "it")->names("who"), (std::vector<std::string>{"c", "a"}));
}

TEST(NamesParameter, refuses_what_is_no_choice_named_twice_or_empty) {
  for (const char* wrong : {"d", "a,d", "a,a", "", "a,"}) {
    const auto parsed = Parameters::parse(infos, {{"who", wrong}}, "it");
    ASSERT_FALSE(parsed.ok()) << wrong;
    EXPECT_EQ(parsed.error().code, "bad-parameter");
  }
}

TEST(NamesParameter, several_lists_are_separated_by_slashes) {
  EXPECT_EQ(split_values(&infos.front(), "a,b/c"), (std::vector<std::string>{"a,b", "c"}));
}

}  // namespace
}  // namespace sl
