#include "cli/settings_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sl::cli {
namespace {

namespace fs = std::filesystem;

constexpr uid_t me = 1000, stranger = 1001;
constexpr gid_t mine = 1000, shared = 50;
constexpr Reader reader{me, mine};
constexpr Ownership my_folder{me, mine, 0755};

TEST(SettingsFile, only_what_nobody_else_can_have_written_counts) {
  const auto distrust = [](const Ownership& file) { return distrust_of(file, my_folder, reader); };
  EXPECT_EQ(distrust({me, shared, 0644}), Distrust::none);
  EXPECT_EQ(distrust({me, mine, 0664}), Distrust::none) << "a group of the user alone";
  EXPECT_EQ(distrust({0, 0, 0644}), Distrust::none) << "root's";
  EXPECT_EQ(distrust({stranger, mine, 0644}), Distrust::file_of_other);
  EXPECT_EQ(distrust({me, shared, 0664}), Distrust::others_write_file);
  EXPECT_EQ(distrust({me, mine, 0646}), Distrust::others_write_file);
  EXPECT_EQ(distrust_of({me, mine, 0664}, my_folder, {me, std::nullopt}), Distrust::others_write_file);
}

TEST(SettingsFile, only_where_nobody_else_can_put_another_it_counts) {
  const auto distrust = [](const Ownership& folder) { return distrust_of({me, mine, 0644}, folder, reader); };
  EXPECT_EQ(distrust({0, 0, 01777}), Distrust::none) << "sticky: /tmp";
  EXPECT_EQ(distrust({me, mine, 0775}), Distrust::none);
  EXPECT_EQ(distrust({me, shared, 02775}), Distrust::others_write_folder);
  EXPECT_EQ(distrust({me, shared, 03775}), Distrust::none);
  EXPECT_EQ(distrust({0, 0, 0777}), Distrust::others_write_folder);
  EXPECT_EQ(distrust({stranger, mine, 01755}), Distrust::folder_of_other);
}

TEST(SettingsFile, what_is_no_file_is_not_waited_for) {
  const fs::path folder = fs::temp_directory_path() / ("settings-file-test-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const auto place = [&](const char* name) { return (folder / name).string(); };
  EXPECT_FALSE(read_settings(place("none"))->has_value());
  ASSERT_EQ(::mkfifo(place("pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_settings(place("pipe")).error().code, "malformed-toml");
  EXPECT_EQ(read_settings("/dev/zero").error().code, "malformed-toml");
  EXPECT_EQ(read_settings(folder.string()).error().code, "malformed-toml");
  std::ofstream(place("file")) << "color = 'never'\n";
  EXPECT_EQ((*read_settings(place("file")))->text, "color = 'never'\n");
  fs::resize_file(folder / "file", std::uintmax_t{1} << 40);
  EXPECT_EQ(read_settings(place("file")).error().code, "malformed-toml");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace sl::cli
