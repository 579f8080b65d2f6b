#include "study/results.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "base/time.h"
#include "trace/text_file.h"

namespace sl::study {
namespace {

// As with >> log.txt: what is there stays, and what the program prints afterwards follows.
TEST(Results, on_standard_output_come_where_it_is) {
  const std::string path = testing::TempDir() + "standard-output-" + std::to_string(::getpid());
  ASSERT_TRUE(trace::write_text(path, "precious\n").ok());
  const int before = ::dup(STDOUT_FILENO), there = ::open(path.c_str(), O_WRONLY | O_APPEND);
  std::fflush(stdout);
  ::dup2(there, STDOUT_FILENO);
  {
    auto file = OutputFile::create("/dev/stdout");
    EXPECT_TRUE(file.ok());
    if (file.ok()) {
      file->write("rows\n");
      EXPECT_TRUE(file->close().ok());
    }
    std::puts("table");
    std::fflush(stdout);
  }
  ::dup2(before, STDOUT_FILENO);
  ::close(there), ::close(before);
  EXPECT_EQ(*trace::read_text(path), "precious\nrows\ntable\n");
  std::remove(path.c_str());
}

TEST(Results, have_no_time_beyond_what_can_be_counted) {
  EXPECT_EQ(Duration::seconds(1e300), Duration::infinite());
  EXPECT_EQ(Duration::seconds(-1e300).us, -Duration::infinite().us);
  EXPECT_EQ(Duration::seconds(1.5).us, 1'500'000);
  EXPECT_EQ(Duration::seconds(-1.5).us, -1'500'000);
}

}  // namespace
}  // namespace sl::study
