#include "controller/cursor.h"

#include <gtest/gtest.h>

namespace sl::controller {
namespace {

TEST(Cursor, is_read_by_the_list_that_issued_it_and_by_no_other) {
  const std::string cursor = cursor_text("/api/v1/jobs/5/events", 88);
  EXPECT_EQ(parse_cursor("/api/v1/jobs/5/events", cursor).value(), 88);
  for (const char* other : {"/api/v1/jobs/6/events", "/api/v1/events", "/api/v1/jobs"}) {
    const auto refused = parse_cursor(other, cursor);
    ASSERT_FALSE(refused.ok()) << other;
    EXPECT_EQ(refused.error().code, "bad-cursor");
    EXPECT_NE(refused.error().message.find("jobs.5.events"), std::string::npos);
    EXPECT_FALSE(refused.error().hints.empty());
  }
}

TEST(Cursor, that_is_malformed_is_refused) {
  for (const char* text : {"", "5", "jobs", "jobs:", "jobs:x", "jobs:-1", "jobs:1e3", ":"})
    EXPECT_FALSE(parse_cursor("/api/v1/jobs", text).ok()) << text;
}

}  // namespace
}  // namespace sl::controller
