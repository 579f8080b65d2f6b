// Where on a server the checkpoint of an attempt is, and where one that comes from elsewhere belongs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "agent/attempt_files.h"

namespace sl::agent {
namespace {

namespace fs = std::filesystem;

class CheckpointPlacesTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/schedulearn-checkpoint-XXXXXX";
    top = ::mkdtemp(name);
    fs::create_directories(top / "work");
    fs::create_directories(top / "data");
    files = std::make_unique<AttemptFiles>(AttemptFilesSettings{top / "data", "http://127.0.0.1:1"});
  }
  void TearDown() override { fs::remove_all(top); }

  wire::StartAttempt order(const std::string& dir, int attempt = 2, const std::string& subfolder = "") const {
    wire::StartAttempt made;
    made.incarnation = {"c", 7, attempt, 100 * attempt};
    made.first = 100;
    made.spec.workdir = top / "work";
    made.spec.command = "true";
    made.spec.checkpoint.dir = dir;
    made.checkpoint.emplace().subfolder = subfolder;
    return made;
  }
  static std::string name_of(CheckpointHolder holder) {
    switch (holder) {
      case CheckpointHolder::own:
        return " own";
      case CheckpointHolder::had_before:
        return " had";
      case CheckpointHolder::unknown:
        return " of others";
      case CheckpointHolder::several:
        return " of several";
    }
    return "";
  }
  // "WHERE own", "WHERE had", "WHERE of others" or "WHERE of several"
  std::string place(const std::string& dir, const std::string& subfolder = "", int attempt = 2) {
    const wire::StartAttempt made = order(dir, attempt, subfolder);
    const auto found = files->checkpoint_place(key_of(made.incarnation), made);
    if (!found.ok()) return found.error().code;
    const CheckpointHolder holder = found->holder ? found->holder() : CheckpointHolder::own;
    return fs::relative(found->folder, top).string() + name_of(holder);
  }
  void run(const std::string& dir, int attempt, std::int64_t job = 7) {
    wire::StartAttempt made = order(dir, attempt);
    made.incarnation.job = job;
    ASSERT_TRUE(files->prepare(key_of(made.incarnation), made, {}, {}).ok());
  }
  // "WHERE" or "WHERE, SUBFOLDER"
  std::string left(int attempt) const {
    const LeftCheckpoint found = files->left_checkpoint(key_of(Incarnation{"c", 7, attempt, 100 * attempt}), 7);
    return fs::relative(found.folder, top).string() + (found.subfolder.empty() ? "" : ", " + found.subfolder);
  }

  fs::path top;
  std::unique_ptr<AttemptFiles> files;
};

// Folders in which a job has left nothing are taken back at its end; its checkpoint may be elsewhere all the same.
TEST_F(CheckpointPlacesTest,
       at_the_end_of_an_attempt_it_is_measured_where_it_is_also_by_an_agent_that_did_not_start_it) {
  for (const bool is_named : {true, false}) {
    for (const bool has_restarted : {false, true}) {
      wire::StartAttempt made = order("kept");
      if (!is_named) made.spec.checkpoint.dir.reset();
      const std::string key = key_of(made.incarnation);
      ASSERT_TRUE(files->prepare(key, made, {}, {}).ok());
      const fs::path job = files->folders().of_job(key), folder = is_named ? top / "work/kept" : job / "checkpoints";
      fs::create_directories(folder);
      std::ofstream(folder / "model") << "12345";
      if (has_restarted)
        files = std::make_unique<AttemptFiles>(AttemptFilesSettings{top / "data", "http://127.0.0.1:1"});
      const auto measure = files->on_end(key, 7, false);
      ASSERT_TRUE(measure) << is_named << has_restarted;
      const auto checkpoint = measure();
      ASSERT_TRUE(checkpoint) << is_named << has_restarted;
      EXPECT_EQ(checkpoint->bytes, 5);
      EXPECT_EQ(fs::exists(job), !is_named);
      fs::remove_all(top / "data/attempts"), fs::remove_all(top / "data/jobs"), fs::remove_all(top / "work/kept");
      fs::create_directories(top / "data/attempts"), fs::create_directories(top / "data/jobs");
    }
  }
  wire::StartAttempt made = order("");
  made.spec.checkpoint.dir.reset();
  ASSERT_TRUE(files->prepare(key_of(made.incarnation), made, {}, {}).ok());
  EXPECT_FALSE(files->on_end(key_of(made.incarnation), 7, false)) << "it has left nothing";
}

// Whatever a job leaves there.
TEST_F(CheckpointPlacesTest, a_link_that_leads_to_itself_ends_no_agent) {
  wire::StartAttempt made = order("kept");
  made.incarnation.job = 7;
  const std::string key = key_of(made.incarnation);
  ASSERT_TRUE(files->prepare(key, made, {}, {}).ok());
  fs::create_directories(top / "work/kept");
  fs::create_symlink("job-7.100", top / "work/kept/job-7.100");
  std::ofstream(top / "work/kept/model") << "12345";
  EXPECT_TRUE(files->on_end(key, 7, false)());
  fs::remove_all(top / "work");
  fs::create_symlink("work", top / "work");
  EXPECT_EQ(place("states"), "checkpoint-refused");
}

TEST_F(CheckpointPlacesTest, without_a_name_it_is_the_job_s_own_folder) {
  EXPECT_EQ(place(""), "data/jobs/7.100.c/checkpoints own");
  run("", 2);
  EXPECT_EQ(left(2), "data/jobs/7.100.c/checkpoints");
}

TEST_F(CheckpointPlacesTest, files_in_a_named_folder_are_the_job_s_if_it_has_run_there) {
  EXPECT_EQ(place("states/"), "work/states of others");
  EXPECT_EQ(place((top / "elsewhere").string()), "elsewhere of others");
  run("states", 1);
  EXPECT_EQ(place("states", "", 3), "work/states had");
  EXPECT_EQ(left(1), "work/states");
}

TEST_F(CheckpointPlacesTest, a_job_with_a_folder_of_its_own_in_the_named_one_takes_only_that) {
  run("states", 1);
  fs::create_directories(top / "work" / "states" / "job-8");
  EXPECT_EQ(left(1), "work/states");
  fs::create_directories(top / "work" / "states" / "job-7.100");
  EXPECT_EQ(left(1), "work/states/job-7.100, job-7.100");
  EXPECT_EQ(place("states", "job-7.100"), "work/states/job-7.100 own");
  EXPECT_EQ(place("fresh", "../../data", 4), "work/fresh of others") << "no other name is taken from the source";
}

TEST_F(CheckpointPlacesTest, a_folder_that_other_jobs_name_too_or_have_folders_in_is_not_the_job_s_alone) {
  const auto leaves_out_others = [&](int attempt) {
    return files->left_checkpoint(key_of(Incarnation{"c", 7, attempt, 100 * attempt}), 7).is_shared;
  };
  run("states", 1);
  EXPECT_EQ(place("states"), "work/states had");
  EXPECT_TRUE(leaves_out_others(1)) << "they may be there by the time it is looked at";
  fs::create_directories(top / "work" / "states" / "job-8");  // a name that a script may use
  EXPECT_EQ(place("states"), "work/states had");
  fs::create_directories(top / "work" / "states" / "job-8.200");
  EXPECT_EQ(place("states"), "work/states of several");
  fs::create_directories(top / "work" / "states" / "job-7.100");
  EXPECT_EQ(place("states", "job-7.100"), "work/states/job-7.100 own");
  EXPECT_FALSE(leaves_out_others(1));

  fs::create_directories(top / "work" / "other");
  fs::create_directory_symlink("other", top / "work" / "link");
  run("link/", 1, 8);
  EXPECT_EQ(place("other"), "work/other of several");
  EXPECT_EQ(place(""), "data/jobs/7.100.c/checkpoints own");
}

TEST_F(CheckpointPlacesTest, a_copy_that_has_only_arrived_counts_for_other_jobs) {
  wire::StartAttempt made = order("states", 1);
  ASSERT_TRUE(files->checkpoint_place(key_of(made.incarnation), made).ok());
  EXPECT_EQ(place("states"), "work/states of others") << "this job has not run there";
  made.incarnation.job = 8;
  ASSERT_TRUE(files->checkpoint_place(key_of(made.incarnation), made).ok());
  EXPECT_EQ(place("states"), "work/states of several");
}

TEST_F(CheckpointPlacesTest, folders_of_other_jobs_are_not_measured) {
  wire::StartAttempt made = order("states");
  ASSERT_TRUE(files->prepare(key_of(made.incarnation), made, {}, {}).ok());
  fs::create_directories(top / "work/states/job-8.200");
  std::ofstream(top / "work/states/job-8.200/model") << "of job 8";
  EXPECT_FALSE(files->on_end(key_of(made.incarnation), 7, false)());
  std::ofstream(top / "work/states/model") << "12345";
  EXPECT_EQ(files->on_end(key_of(made.incarnation), 7, false)()->bytes, 5);
}

TEST_F(CheckpointPlacesTest, a_tilde_is_the_home_of_the_job) {
  wire::StartAttempt made = order("~/states");
  made.spec.workdir = "~";
  made.spec.env["HOME"] = top / "work";
  const std::string key = key_of(made.incarnation);
  for (const char* dir : {"~/states", "states"}) {
    made.spec.checkpoint.dir = dir;
    const wire::StartAttempt settled = files->in_its_folder(key, made);
    EXPECT_EQ(settled.spec.workdir, top / "work");
    EXPECT_EQ(files->checkpoint_place(key, settled)->folder, top / "work/states");
  }
  made.spec.workdir.clear();
  EXPECT_EQ(files->in_its_folder(key, made).spec.workdir, top / "work");
  made.spec.image = "debian";  // its home is known where it runs
  EXPECT_EQ(files->in_its_folder(key, made).spec.workdir, "");
}

// As an older version named it, by its number alone.
TEST_F(CheckpointPlacesTest, a_folder_of_the_job_s_number_is_the_job_s_if_it_has_changed_since_the_job_began) {
  run("states", 1);
  fs::create_directories(top / "work" / "states" / "job-7");
  EXPECT_EQ(left(1), "work/states/job-7, job-7");
  EXPECT_EQ(place("states", "job-7"), "work/states/job-7 own");
  std::ofstream(top / "data/attempts" / key_of(Incarnation{"c", 7, 1, 100}) / "first") << "9000000000000000";
  EXPECT_EQ(left(1), "work/states") << "of another database's job 7";
}

TEST_F(CheckpointPlacesTest, no_folder_is_made_where_the_job_could_not_start) {
  fs::remove(top / "work");
  EXPECT_EQ(place("states"), "checkpoint-refused");
  EXPECT_FALSE(fs::exists(top / "work"));
}

TEST_F(CheckpointPlacesTest, the_working_directory_is_never_replaced) {
  const std::string above = top, itself = top / "work";
  for (const std::string& dir :
       {std::string("."), std::string(".."), std::string("../work"), std::string("/"), above, itself})
    EXPECT_EQ(place(dir), "checkpoint-refused") << dir;
  fs::create_directory_symlink(top, top / "link");
  EXPECT_EQ(place((top / "link" / "work").string()), "checkpoint-refused");
  EXPECT_EQ(place("./states"), "work/states of others");
}

TEST_F(CheckpointPlacesTest, copies_that_were_given_up_are_found_after_an_hour) {
  place("");
  EXPECT_TRUE(files->left_copies().empty());
  const fs::path record = top / "data" / "attempts" / "7.2.200.c" / "arriving";
  fs::last_write_time(record, fs::file_time_type::clock::now() - std::chrono::hours(2));
  ASSERT_EQ(files->left_copies().size(), 1u);
  EXPECT_EQ(files->left_copies()[0].folder, (top / "data/jobs/7.100.c/checkpoints").string());
  files->copy_ended("7.2.200.c");
  EXPECT_TRUE(files->left_copies().empty());
}

}  // namespace
}  // namespace sl::agent
