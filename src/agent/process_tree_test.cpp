// Real processes: what one attempt starts, however it tries to escape, ends with it, and nothing else does.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <utility>

#include "agent/process_runtime.h"
#include "support/full_disk.h"

namespace sl::agent {
namespace {

bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 2'000; ++i) {
    if (condition()) return true;
    ::usleep(5'000);
  }
  return false;
}

// With each kind of control group that the machine has, without, and with all of them, as agents use them: a group of v2
// whose controllers are all v1's is used again.
class ProcessTreeTest : public testing::TestWithParam<std::string> {
 protected:
  ProcessTreeTest() {
    ::mkdir((dir + "/attempts").c_str(), 0700);
    journal.begin({});
    ::setenv("SCHEDULEARN_CGROUPS", GetParam().c_str(), 1);
    runtime = std::make_unique<ProcessRuntime>(dir, journal);
    ::unsetenv("SCHEDULEARN_CGROUPS");
  }
  ~ProcessTreeTest() override {
    for (const char* key : {"1.1", "2.1"}) {
      if (runtime) end(key);
    }
    std::filesystem::remove_all(dir);
  }
  void SetUp() override {
    const bool works = Cgroups::make_folder(GetParam()).version() != CgroupVersion::none;
    if (GetParam() != "off" && !works) GTEST_SKIP() << "no control groups " << GetParam() << " here";
  }
  LaunchOrder order_of(const std::string& key, Fields arguments) const {
    LaunchOrder order;
    std::filesystem::create_directory(attempt_folder(dir, key));
    order.key = key, order.workdir = dir, order.output = attempt_folder(dir, key) + "/output", order.gpus = "0";
    order.arguments = std::move(arguments);
    order.environment = {"PATH=/usr/bin:/bin"};
    return order;
  }
  // Runs the shell line, which writes the number of the process to check to the file "pid".
  pid_t start(const std::string& key, const std::string& line) {
    std::filesystem::remove(dir + "/pid");
    EXPECT_TRUE(runtime->start(order_of(key, {"/bin/bash", "-c", line})).ok());
    pid_t pid = 0;
    EXPECT_TRUE(eventually([&] { return bool(std::ifstream(dir + "/pid") >> pid); })) << line;
    return pid;
  }
  // The attempts of which a launcher that starts now would think that they run.
  std::set<std::string> recorded() const {
    const JournalContents found = read_journal(dir + "/journal");
    std::set<std::string> keys;
    for (const auto& [key, started] : found.started) {
      if (found.ends.count(key) == 0) keys.insert(key);
    }
    return keys;
  }
  static bool runs(pid_t pid) {
    const auto facts = find_process(pid);
    return facts && !facts->is_zombie;
  }
  void end(const std::string& key) {
    EXPECT_TRUE(eventually([&] {
      runtime->take_ended();
      if (runtime->is_gone(key)) return true;
      runtime->kill(key);
      return false;
    }));
    runtime->forget(key);
  }
  static std::string make_folder() {
    std::string path = "/tmp/schedulearn-tree-XXXXXX";
    return ::mkdtemp(path.data());
  }
  std::string dir = make_folder();
  Journal journal{dir + "/journal"};
  std::unique_ptr<ProcessRuntime> runtime;
};

const char* const ways_out[] = {
    "setsid sleep 300 & echo $! > pid; sleep 300",
    "setsid sleep 300 & echo $! > pid",  // and its leader has ended
    "setsid bash -c 'sleep 300 & echo $! > pid' & sleep 300",
    "env -i setsid /bin/bash -c 'sleep 300 & echo $! > pid; exec sleep 300' &",
    "env -i setsid /bin/bash -c 'sleep 300 & echo $! > pid' & sleep 0.1",  // no mark, no session, no parent
    "trap '' TERM; (trap '' TERM HUP; sleep 300 & echo $! > pid; wait); wait",
};

TEST_P(ProcessTreeTest, what_could_not_start_says_whether_the_job_or_the_server_is_to_blame) {
  LaunchOrder order;
  order.key = "1.1", order.workdir = dir, order.output = dir + "/output", order.arguments = {"/bin/true"};
  const auto kind_of_failure = [&] {
    const Result<std::int64_t> started = runtime->start(order);
    return started.ok() ? "" : started.error().code;
  };
  order.workdir = "/nowhere";
  EXPECT_EQ(kind_of_failure(), "setup");
  order.workdir = dir, order.output = dir + "/no folder/output";
  EXPECT_EQ(kind_of_failure(), "server_setup");
  order.output = dir + "/output";
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ::dup3(full, journal.descriptor(), O_CLOEXEC);
  EXPECT_EQ(kind_of_failure(), "server_setup");
  ::close(full);
}

// The next may have the same groups, and a launcher that starts now would end it with the one that is over.
TEST_P(ProcessTreeTest, nothing_starts_while_an_end_could_not_be_recorded) {
  start("1.1", "echo $$ > pid; exec sleep 300");
  end("1.1");
  {
    const test::FullDisk full;
    journal.write_end({.key = "1.1", .state = "exited"});
    const auto started = runtime->start(order_of("2.1", {"/bin/true"}));
    ASSERT_FALSE(started.ok());
    EXPECT_EQ(started.error().code, "server_setup");
    EXPECT_NE(started.error().message.find("cannot write its start to the journal: "), std::string::npos);
  }
  EXPECT_TRUE(runs(start("2.1", "echo $$ > pid; exec sleep 300")));
  EXPECT_EQ(recorded(), std::set<std::string>{"2.1"});
}

TEST_P(ProcessTreeTest, what_could_not_record_its_start_is_not_glued_to_the_next) {
  {
    const test::FullDisk full(10);
    EXPECT_EQ(runtime->start(order_of("1.1", {"/bin/true"})).error().code, "server_setup");
  }
  EXPECT_EQ(std::filesystem::file_size(dir + "/journal"), 10u);
  EXPECT_TRUE(runs(start("2.1", "echo $$ > pid; exec sleep 300")));
  EXPECT_EQ(recorded(), std::set<std::string>{"2.1"});
}

TEST_P(ProcessTreeTest, what_recorded_its_start_and_ran_no_program_is_not_there_when_the_next_one_starts) {
  std::ofstream(dir + "/program") << "no program";
  ::chmod((dir + "/program").c_str(), 0700);
  EXPECT_FALSE(runtime->start(order_of("1.1", {dir + "/program"})).ok());
  EXPECT_EQ(recorded(), std::set<std::string>{"1.1"});
  EXPECT_TRUE(runs(start("2.1", "echo $$ > pid; exec sleep 300")));
  EXPECT_EQ(recorded(), std::set<std::string>{"2.1"});
}

TEST_P(ProcessTreeTest, nothing_gets_away) {
  for (const char* way : ways_out) {
    const pid_t pid = start("1.1", way);
    EXPECT_FALSE(runtime->is_gone("1.1")) << way;
    end("1.1");
    EXPECT_FALSE(runs(pid)) << way;
  }
}

TEST_P(ProcessTreeTest, what_is_started_after_another_was_killed_runs) {
  for (const char* key : {"1.1", "2.1"}) {
    const pid_t pid = start(key, "echo $$ > pid; exec sleep 300");
    EXPECT_TRUE(runs(pid));
    end(key);
  }
}

// The next may have the same groups.
TEST_P(ProcessTreeTest, what_is_started_after_another_has_ended_runs) {
  start("1.1", "echo $$ > pid");
  EXPECT_TRUE(eventually([&] { return runtime->take_ended(), runtime->is_gone("1.1"); }));
  const std::string group = runtime->started().at("1.1").cgroup;
  runtime->forget("1.1");
  EXPECT_TRUE(runs(start("2.1", "echo $$ > pid; exec sleep 300")));
  if (GetParam() == "v1") EXPECT_EQ(runtime->started().at("2.1").cgroup, group);
}

// Those that have left the session or the group stand still too, and what is stopped in the middle goes on there.
TEST_P(ProcessTreeTest, a_whole_tree_stands_still_and_goes_on) {
  const std::string count =
      "setsid bash -c 'for ((i=0;;++i)); do echo $i > count; sleep 0.01; done' & echo $! > pid; wait";
  const pid_t pid = start("1.1", count);
  const auto counted = [&] {
    int number = -1;
    std::ifstream(dir + "/count") >> number;
    return number;
  };
  EXPECT_TRUE(eventually([&] { return counted() > 0; }));
  EXPECT_FALSE(runtime->is_frozen("1.1"));
  runtime->freeze("1.1");
  EXPECT_TRUE(eventually([&] { return runtime->is_frozen("1.1"); }));
  const int stood_at = counted();
  ::usleep(200'000);
  EXPECT_LE(counted(), stood_at);  // a file being rewritten is empty for a moment
  runtime->thaw("1.1");
  EXPECT_TRUE(eventually([&] { return counted() > stood_at; }));
  runtime->freeze("1.1");
  end("1.1");
  EXPECT_FALSE(runs(pid));
}

TEST_P(ProcessTreeTest, what_others_have_started_lives_on) {
  const pid_t other = start("2.1", "setsid sleep 300 & echo $! > pid; sleep 300");
  start("1.1", "setsid sleep 300 & echo $! > pid; sleep 300");
  EXPECT_EQ(recorded(), (std::set<std::string>{"1.1", "2.1"}));
  end("1.1");
  EXPECT_TRUE(runs(other));
  EXPECT_FALSE(runtime->is_gone("2.1"));
}

TEST_P(ProcessTreeTest, a_successor_ends_what_a_dead_launcher_left_behind) {
  const pid_t pid = start("1.1", "setsid sleep 300 & echo $! > pid");
  const Started started = read_journal(dir + "/journal").started.at("1.1");
  EXPECT_EQ(started.boot, boot_id());
  EXPECT_EQ(started.ticks, runtime->started().at("1.1").ticks);
  ProcessTrees trees;
  ProcessTree tree = tree_of(dir, started);
  tree.is_own = false;
  trees.add("1.1", tree);
  EXPECT_TRUE(eventually([&] { return trees.kill("1.1"), trees.is_gone("1.1"); }));
  EXPECT_FALSE(runs(pid));
}

// A process that is about to become another program has no environment for a moment.
TEST(ProcessTrees, one_that_only_environments_could_show_is_gone_at_the_second_look) {
  ProcessTree ended;
  ended.leader = 1 << 30, ended.is_own = false, ended.leader_ended = true, ended.mark = "/of/nobody";
  ProcessTrees trees;
  trees.add("1.1", ended);
  EXPECT_FALSE(trees.is_gone("1.1"));
  EXPECT_TRUE(trees.is_gone("1.1"));
}

TEST_P(ProcessTreeTest, a_number_that_is_anothers_by_now_is_not_signalled) {
  const pid_t stranger = ::fork();
  if (stranger == 0) ::setsid(), ::pause(), ::_exit(0);
  const auto facts = find_process(stranger);
  ASSERT_TRUE(facts);
  EXPECT_FALSE(runtime->adopt({"1.1", stranger, facts->started_ticks + 1, 1, "0", false, boot_id(), ""}));
  runtime->kill("1.1"), runtime->signal("1.1", SIGKILL), runtime->forget("1.1");
  EXPECT_FALSE(signal_process(stranger, facts->started_ticks + 1, SIGKILL));
  EXPECT_TRUE(eventually([&] { return find_process(stranger)->session == stranger; }));
  EXPECT_TRUE(runs(stranger));
  EXPECT_TRUE(signal_process(stranger, facts->started_ticks, SIGKILL));
  ::waitpid(stranger, nullptr, 0);
}

TEST_P(ProcessTreeTest, a_job_is_known_by_whatever_it_has_started) {
  for (const char* way : ways_out) {
    EXPECT_TRUE(runtime->holds(start("1.1", way))) << way;
    end("1.1");
  }
  EXPECT_FALSE(runtime->holds(::getpid()));
  EXPECT_FALSE(runtime->holds(::getppid()));
}

TEST_P(ProcessTreeTest, a_job_may_open_as_many_files_as_before_and_ends_with_its_own_status) {
  runtime = std::make_unique<ProcessRuntime>(dir, journal, 321);
  start("1.1", "echo $(ulimit -n) > limit; echo $$ > pid; exit 7");
  int limit = 0;
  std::ifstream(dir + "/limit") >> limit;
  EXPECT_EQ(limit, 321);
  rlimit now{};
  ::getrlimit(RLIMIT_NOFILE, &now);
  EXPECT_EQ(now.rlim_cur, now.rlim_max);
  std::vector<ProcessRuntime::Ended> ended;
  EXPECT_TRUE(eventually([&] { return !(ended = runtime->take_ended()).empty(); }));
  EXPECT_EQ(ended.at(0).status, 7 << 8);
}

TEST_P(ProcessTreeTest, what_cannot_be_started_says_why_and_leaves_nothing) {
  LaunchOrder order;
  order.key = "1.1", order.workdir = dir, order.output = dir + "/nowhere/output", order.arguments = {"/bin/true"};
  const auto started = runtime->start(order);
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().message, "cannot write its output: No such file or directory");
  EXPECT_TRUE(runtime->is_gone("1.1"));
  EXPECT_TRUE(runtime->started().empty());
  EXPECT_TRUE(read_journal(dir + "/journal").started.empty());
  EXPECT_EQ(own_children().value_or(std::vector<pid_t>{}), std::vector<pid_t>{});
}

TEST_P(ProcessTreeTest, folders_of_control_groups_go_with_their_launcher_or_with_the_next) {
  if (GetParam() == "off") return;
  const std::string own = Cgroups::make_folder(GetParam()).folder();
  const std::filesystem::path parent = std::filesystem::path(own).parent_path();
  const auto exists = [&](const std::string& prefix) {
    for (const auto& entry : std::filesystem::directory_iterator(parent)) {
      if (entry.path().filename().string().starts_with(prefix)) return true;
    }
    return false;
  };
  start("1.1", "echo $$ > pid");
  end("1.1");
  runtime.reset();
  EXPECT_FALSE(std::filesystem::exists(own));
  const pid_t killed = ::fork();
  if (killed == 0) ::_exit(Cgroups::make_folder(GetParam()).make("9.1").empty());
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(killed), &ended, WEXITED | WNOWAIT), 0);
  ASSERT_EQ(ended.si_status, 0);
  EXPECT_TRUE(exists("schedulearn-" + std::to_string(killed) + "-"));
  ::waitpid(killed, nullptr, 0);  // only now may any launcher, also of another test, take the folder away
  Cgroups::make_folder(GetParam()).remove_folder();
  EXPECT_FALSE(exists("schedulearn-" + std::to_string(killed) + "-"));
}

INSTANTIATE_TEST_SUITE_P(, ProcessTreeTest, testing::Values("v2", "v1", "off", ""),
                         [](const auto& kind) { return kind.param.empty() ? "as_found" : kind.param; });

}  // namespace
}  // namespace sl::agent
