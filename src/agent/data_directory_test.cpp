// Files of the agent's own on a disk that is full: they stay as they were.
#include "agent/data_directory.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/attempt_files.h"
#include "agent/files.h"
#include "agent/gpu_numbers.h"
#include "agent/lease_file.h"
#include "agent/whole_file.h"
#include "support/full_disk.h"

namespace sl::agent {
namespace {

using test::FullDisk;
namespace fs = std::filesystem;

class DataDirectoryTest : public testing::Test {
 protected:
  ~DataDirectoryTest() override { fs::remove_all(dir); }
  std::string text_of(const std::string& name) const { return read_text(dir + "/" + name); }
  std::string dir = "/tmp/schedulearn-data-XXXXXX";
  std::string made = ::mkdtemp(dir.data());
};

TEST_F(DataDirectoryTest, a_file_is_replaced_whole_or_not_at_all) {
  const std::string file = dir + "/a";
  EXPECT_TRUE(replace_file(file, "before", {.mode = 0600, .synced = true}));
  const auto replace = [&](rlim_t room) {
    const FullDisk full(room);
    return replace_file(file, "afterwards");
  };
  for (const rlim_t room : {0, 3, 9}) {
    EXPECT_FALSE(replace(room));
    EXPECT_EQ(text_of("a"), "before") << room;
    EXPECT_FALSE(is_there(file + ".new")) << "it would take room";
  }
  EXPECT_TRUE(replace(10));
  EXPECT_EQ(text_of("a"), "afterwards");
}

TEST_F(DataDirectoryTest, nothing_is_written_through_a_link_or_into_a_pipe_that_has_the_name) {
  std::ofstream(dir + "/others") << "theirs";
  fs::create_symlink(dir + "/others", dir + "/a.new");
  EXPECT_TRUE(replace_file(dir + "/a", "ours"));
  EXPECT_EQ(text_of("others"), "theirs");
  ASSERT_EQ(::mkfifo((dir + "/a.new").c_str(), 0600), 0);
  EXPECT_TRUE(replace_file(dir + "/a", "new"));
  EXPECT_EQ(text_of("a"), "new");
}

TEST_F(DataDirectoryTest, a_lease_is_renewed_although_no_new_file_can_be_written) {
  EXPECT_EQ(read_lease(dir).boot, "");
  write_lease(dir, {"a-boot", Instant{1'000'000'000}});
  fs::create_directories(dir + "/lease.new/in the way");
  write_lease(dir, {"a-boot", Instant{2'000'000}});
  EXPECT_EQ(read_lease(dir).boot, "a-boot");
  EXPECT_EQ(read_lease(dir).until, Instant{2'000'000});
}

TEST_F(DataDirectoryTest, the_cluster_stays_known) {
  write_known_cluster(dir, {"c", 7});
  {
    const FullDisk full;
    write_known_cluster(dir, {"c", 8});
  }
  EXPECT_EQ(read_known_cluster(dir), (KnownCluster{"c", 7}));
}

TEST_F(DataDirectoryTest, calls_are_counted_on) {
  EXPECT_EQ(next_call(dir, 500), 500);
  {
    const FullDisk full;
    EXPECT_EQ(next_call(dir, 600), 600);
  }
  EXPECT_EQ(next_call(dir, 1), 501);
}

TEST_F(DataDirectoryTest, an_agent_whose_id_cannot_be_kept_does_not_start) {
  const auto lock = [&](rlim_t room) {
    const FullDisk full(room);
    return lock_data_directory(dir);
  };
  const Result<int> locked = lock(10);
  ASSERT_FALSE(locked.ok());
  EXPECT_EQ(locked.error().code, "data-directory-not-writable");
  EXPECT_FALSE(is_there(dir + "/agent_id"));
  const Result<int> later = lock(100);
  ASSERT_TRUE(later.ok());
  EXPECT_EQ(agent_id(dir).size(), 32u);
  EXPECT_EQ(agent_id(dir), text_of("agent_id"));
  EXPECT_EQ(lock_data_directory(dir).error().code, "data-directory-in-use");
  ::close(*later);
}

TEST_F(DataDirectoryTest, python_files_that_jobs_import_stay_as_they_were) {
  const std::string file = dir + "/python/schedulearn/__init__.py";
  fs::create_directories(fs::path(file).parent_path());
  std::ofstream(file) << "# an older version's\n";
  {
    const FullDisk full(100);
    const AttemptFiles files({.data_dir = dir, .controller_url = "http://127.0.0.1:1"});
  }
  EXPECT_EQ(text_of("python/schedulearn/__init__.py"), "# an older version's\n");
  EXPECT_FALSE(is_there(dir + "/python/schedulearn/pytorch.py"));
  const AttemptFiles files({.data_dir = dir, .controller_url = "http://127.0.0.1:1"});
  EXPECT_GT(text_of("python/schedulearn/__init__.py").size(), 100u);
}

TEST_F(DataDirectoryTest, gpus_keep_their_numbers) {
  std::vector<wire::GpuReport> gpus(2);
  gpus[0].uuid = "A", gpus[1].uuid = "B";
  number_gpus(gpus, dir + "/gpus");
  {
    const FullDisk full;
    number_gpus({gpus[1]}, dir + "/gpus");
  }
  EXPECT_EQ(number_gpus({gpus[1]}, dir + "/gpus").size(), 2u);
}

TEST_F(DataDirectoryTest, an_output_loses_nothing_before_that_is_written_down) {
  std::ofstream(dir + "/output") << std::string(100'000, 'x');
  {
    const FullDisk full;
    EXPECT_FALSE(bound_output(dir, 40'000));
  }
  EXPECT_EQ(text_of("output"), std::string(100'000, 'x'));
  EXPECT_FALSE(is_there(dir + "/gap"));
}

}  // namespace
}  // namespace sl::agent
