// What of the files that jobs leave can be read, and what cannot.
#include "agent/file_reads.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "wire/base64.h"
#include "wire/json.h"

namespace sl::agent {
namespace {

namespace fs = std::filesystem;

class FileReadsTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/schedulearn-files-XXXXXX";
    top = ::mkdtemp(name);
    std::ofstream(top / "secret") << "secret";
    folders = std::make_unique<AttemptFolders>((top / "agent").string());
    fs::create_directories(top / "agent");
    folders = std::make_unique<AttemptFolders>((top / "agent").string());
    job = *folders->make("5.1.7.c", 7);
    fs::create_directories(fs::path(job) / "output" / "deep");
    std::ofstream(job + "/output/model") << "weights";
  }
  void TearDown() override { fs::remove_all(top); }

  wire::LogChunk read(const std::string& path, std::int64_t offset = 0, std::int64_t limit = 1000) const {
    wire::LogRead request;
    request.incarnation = {"c", 5, 1, 7};
    request.path = path, request.offset = offset, request.limit = limit;
    return read_left_file(*folders, request);
  }
  // The contents, or the names in a folder, or the error.
  std::string found(const std::string& path, std::int64_t offset = 0, std::int64_t limit = 1000) const {
    const wire::LogChunk chunk = read(path, offset, limit);
    if (chunk.error) return *chunk.error;
    const std::string data = wire::decode_base64(chunk.data).value_or("damaged");
    if (chunk.kind != "folder") return data;
    std::string text;
    const auto files = wire::read_json<std::vector<wire::LeftFile>>(data);
    for (const wire::LeftFile& file : *files) text += (text.empty() ? "" : " ") + file.kind + ":" + file.name;
    return text;
  }

  fs::path top;
  std::unique_ptr<AttemptFolders> folders;
  std::string job;
};

TEST_F(FileReadsTest, the_top_has_the_folders_of_the_job_and_of_the_attempt) {
  EXPECT_EQ(found(""), "folder:attempt folder:checkpoints folder:output");
  EXPECT_EQ(found("output"), "folder:deep file:model");
  EXPECT_EQ(found("output/model"), "weights");
  EXPECT_EQ(found("output/model", 3, 2), "gh");
  EXPECT_EQ(read("output/model", 3, 2).size, 7);
  EXPECT_EQ(found("output/deep/"), "");
  EXPECT_EQ(found("attempt"), "folder:tmp");
}

TEST_F(FileReadsTest, names_travel_encoded) {
  std::ofstream(job + "/output/a b\xff") << "x";
  EXPECT_EQ(found("output"), "file:a%20b%FF folder:deep file:model");
  EXPECT_EQ(found("output/a%20b%FF"), "x");
}

TEST_F(FileReadsTest, no_path_leads_out) {
  fs::create_symlink(top / "secret", job + "/output/link");
  fs::create_directory_symlink(top, job + "/output/way");
  fs::create_directory_symlink(top, job + "/code");
  for (const char* path : {"../secret", "output/../../../../secret", "output/link", "output/way/secret", "/etc/passwd",
                           "secret", "output/%2E%2E/checkpoints", "code/secret", "attempt/../5.1.7.c", ".", ".."}) {
    const std::string text = found(path);
    EXPECT_TRUE(text == "no-such-file" || text == "unreadable") << path << ": " << text;
  }
  EXPECT_EQ(found("output"), "folder:deep link:link file:model link:way");
}

TEST_F(FileReadsTest, pipes_and_devices_are_not_opened) {
  ::mkfifo((job + "/output/pipe").c_str(), 0600);
  EXPECT_EQ(found("output/pipe"), "no-such-file");
}

TEST_F(FileReadsTest, a_large_folder_comes_in_parts) {
  for (int i = 0; i < 1500; ++i) std::ofstream(job + "/output/deep/" + std::to_string(10'000 + i));
  EXPECT_EQ(read("output/deep").size, 1500);
  EXPECT_TRUE(found("output/deep", 1499).starts_with("file:11499"));
  EXPECT_TRUE(found("output/deep").ends_with("file:10999"));
}

TEST_F(FileReadsTest, an_attempt_that_left_nothing_here_is_unknown) {
  wire::LogRead request;
  request.incarnation = {"c", 6, 1, 8};
  request.path = "output";
  EXPECT_EQ(read_left_file(*folders, request).error, "unknown-attempt");
}

}  // namespace
}  // namespace sl::agent
