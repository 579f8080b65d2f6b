#include "cli/sign_ins.h"

#include <gtest/gtest.h>

namespace sl::cli {
namespace {

std::string understood(const std::string& typed) {
  const auto url = full_url(typed);
  return url.ok() ? *url : url.error().code;
}

TEST(Addresses, are_understood_as_people_type_and_copy_them) {
  for (const char* typed : {"lab:5000", "http://lab:5000/", "HTTP://lab:5000", "lab:5000/ui", "http://lab:5000//ui//",
                            "http://lab:5000/ui/jobs/1", "lab:5000/ui/#sign-in=abc", "http://lab:5000/ui?theme=dark"})
    EXPECT_EQ(understood(typed), "http://lab:5000") << typed;
  EXPECT_EQ(understood("http://proxy/team/ui/queue"), "http://proxy/team") << "behind a proxy";
}

TEST(Addresses, are_not_cut_where_no_page_begins) {
  for (const char* typed : {"http://ui", "http://ui:80", "http://lab/uid", "http://lab/gui"})
    EXPECT_EQ(understood(typed), typed);
  EXPECT_EQ(understood("ui"), "http://ui");
  EXPECT_EQ(understood("ui/ui/"), "http://ui");
  EXPECT_EQ(understood("http://lab/uid/ui/ui"), "http://lab/uid");
}

TEST(Addresses, that_are_none_are_refused) {
  for (const char* typed : {"", "http://", "http:///ui", "/ui", "lab:99999", "lab:x", "ftp://lab", "a b"})
    EXPECT_EQ(understood(typed), "bad-url") << typed;
}

}  // namespace
}  // namespace sl::cli
