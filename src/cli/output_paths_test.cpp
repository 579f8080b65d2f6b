#include "cli/output_paths.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sl::cli {
namespace {

class OutputPaths : public testing::Test {
 protected:
  OutputPaths() {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "p.csv") << "text";
    std::filesystem::create_symlink("p.csv", folder_ / "link.csv");
    std::filesystem::create_hard_link(folder_ / "p.csv", folder_ / "hard.csv");
  }
  ~OutputPaths() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("output-paths-" + std::to_string(::getpid()));
};

TEST_F(OutputPaths, are_no_file_that_is_read_however_it_is_named) {
  for (const char* name : {"p.csv", "./p.csv", "link.csv", "hard.csv"}) {
    const Status checked = check_outputs({{"--out", path(name)}}, {"poisson:jobs=3", path("p.csv")});
    ASSERT_FALSE(checked.ok()) << name;
    EXPECT_EQ(checked.error().code, "bad-flag");
  }
  EXPECT_TRUE(check_outputs({{"--out", path("new.csv")}, {"--csv", ""}}, {path("p.csv"), "32x8", ""}).ok());
}

TEST_F(OutputPaths, are_no_folder_of_results_that_are_read) {
  for (const char* name : {"run.json", "fifo-1.jobs.csv", "fifo-1.events.csv"}) {
    std::ofstream(path(name)) << "x";
    EXPECT_FALSE(check_result_folder(folder_.string(), {path(name)}).ok()) << name;
    EXPECT_FALSE(check_result_folder(folder_.string() + "/.", {"32x8", path(name)}).ok()) << name;
    EXPECT_TRUE(check_result_folder(folder_.string() + "/other", {path(name)}).ok()) << name;
  }
  EXPECT_TRUE(check_result_folder(folder_.string(), {path("p.csv"), "poisson:jobs=3"}).ok());
}

TEST_F(OutputPaths, are_no_directories) {
  EXPECT_EQ(check_outputs({{"--out", folder_.string()}}, {}).error().code, "not-a-file");
}

TEST_F(OutputPaths, are_one_for_each_output) {
  EXPECT_FALSE(check_outputs({{"--out", path("x.svg")}, {"--csv", path("./x.svg")}}, {}).ok());
  EXPECT_FALSE(check_outputs({{"--out", path("p.csv")}, {"--csv", path("link.csv")}}, {}).ok());
  EXPECT_TRUE(check_outputs({{"--out", path("x.svg")}, {"--csv", path("x.csv")}}, {}).ok());
  EXPECT_TRUE(check_outputs({{"--jobs-out", "/dev/null"}, {"--events-out", "/dev/null"}}, {"/dev/null"}).ok());
}

}  // namespace
}  // namespace sl::cli
