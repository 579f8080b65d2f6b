#include "controller/profiles.h"

#include <gtest/gtest.h>

namespace sl::controller {
namespace {

TEST(ProfileBook, each_family_is_found_under_its_name) {
  ProfileBook book;
  for (const char* family : {"resnet", "transformer-with-a-long-name"}) {
    wire::TrainingProfile profile;
    profile.family = family;
    EXPECT_EQ(book.put(profile, "mei", 1).family, family);
    ASSERT_TRUE(book.find(family));
    EXPECT_EQ(book.find(family)->family, family);
  }
  EXPECT_EQ(book.all().size(), 2U);
  book.remove("resnet", 2);
  EXPECT_FALSE(book.find("resnet"));
}

}  // namespace
}  // namespace sl::controller
