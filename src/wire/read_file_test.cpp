#include "wire/read_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sl::wire {
namespace {

TEST(Files, that_never_end_are_too_large_or_no_files_are_not_read) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("read-file-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "ten") << "0123456789";
  EXPECT_EQ(*read_file(folder / "ten", 10), "0123456789");
  EXPECT_EQ(read_file(folder / "ten", 9).error().code, "file-too-large");
  EXPECT_EQ(read_file(folder / "none", 9).error().code, "no-such-file");
  EXPECT_EQ(read_file(folder, 9).error().code, "not-a-file");
  EXPECT_EQ(read_file("/dev/zero", 9).error().code, "not-a-file");
  EXPECT_EQ(read_file("/proc/self/mem", 9).error().code, "cannot-read") << "nothing is mapped at its beginning";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sl::wire
