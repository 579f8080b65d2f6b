// What attempts may have of a server: as words, as files of control groups of both versions (in folders that look like
// them), and with real processes where the machine permits it.
#include "agent/limits.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>

#include "agent/attempt_limits.h"
#include "agent/process_runtime.h"

namespace sl::agent {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text, '\0');
  return text;
}

TEST(Limits, come_through_as_words) {
  Limits limits;
  limits.memory_bytes = 1 << 30, limits.cpus = 1.5, limits.processes = 7, limits.cpu_set = "0-3,8";
  limits.gpus = {{0, true}, {1, false}, {2, false}, {5, true}};
  EXPECT_EQ(to_limits(to_words(limits)), limits);
  EXPECT_EQ(to_limits(to_words({})), Limits());
  EXPECT_EQ(to_limits({"memory_bytes=5", "of_the_future=7", "", "nothing"}).memory_bytes, 5) << "of a newer agent";
}

TEST(Limits, processors_are_written_as_the_kernel_reads_them) {
  EXPECT_EQ(cpu_list({3, 1, 2, 8, 0}), "0-3,8");
  EXPECT_EQ(parse_cpu_list("0-3,8\n"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_cpu_list("x,-1,4-2,"), std::vector<int>{});
}

wire::StartAttempt asking(double memory, int cpus) {
  wire::StartAttempt order;
  order.spec.resources.memory_bytes = static_cast<std::int64_t>(memory), order.spec.resources.cpus = cpus;
  order.placement.gpus = {0};
  return order;
}

TEST(Limits, a_server_gives_the_share_of_its_gpus) {
  const double gib = 1 << 30;
  EXPECT_EQ(limits_of(asking(8 * gib, 4), {}).memory_bytes, std::int64_t{8} << 30);
  const Limits quarter = limits_of(asking(8 * gib, 4), {{"a", "", 0, 1, ""}, {"b", "", 0, 3, ""}});
  EXPECT_EQ(quarter.memory_bytes, std::int64_t{2} << 30);
  EXPECT_EQ(quarter.cpus, 1);
  EXPECT_EQ(quarter.processes, wire::processes_default);
}

TEST(Limits, a_job_without_gpus_has_all_that_it_asks_for) {
  wire::StartAttempt order = asking(1 << 30, 2);
  order.placement.gpus.clear();
  EXPECT_EQ(limits_of(order, {}).memory_bytes, 1 << 30);
  EXPECT_EQ(limits_of(order, {}).cpus, 2);
}

TEST(Limits, who_asks_for_nothing_is_limited_only_in_processes) {
  EXPECT_EQ(to_words(limits_of(asking(0, 0), {})), std::vector<std::string>{"processes=16384"});
}

TEST(Limits, with_less_memory_than_a_program_needs_to_begin_nothing_begins) {
  EXPECT_EQ(limits_of(asking(1, 0), {}).memory_bytes, memory_bytes_min);
}

TEST(Limits, processors_that_fewest_others_have_are_chosen) {
  Limits two;
  two.cpus = 1.5;
  EXPECT_EQ(choose_cpus(two, {0, 4, 1, 5}, {}), (std::vector<int>{0, 4})) << "of one core";
  EXPECT_EQ(choose_cpus(two, {0, 4, 1, 5}, {0, 4}), (std::vector<int>{1, 5}));
  EXPECT_EQ(choose_cpus(two, {0, 4, 1, 5}, {0, 4, 1, 5, 1}), (std::vector<int>{0, 4}));
  two.cpus = 9;
  EXPECT_EQ(choose_cpus(two, {0, 1}, {}).size(), 2u);
}

TEST(Limits, only_the_files_of_gpus_that_are_held_may_be_opened) {
  std::vector<wire::GpuReport> gpus(2);
  gpus[0].index = 0, gpus[0].device_number = 3;  // not its index
  gpus[1].index = 1, gpus[1].device_number = 0;
  const std::map<int, bool> one_of_three = {{0, false}, {3, true}, {7, false}};
  EXPECT_EQ(gpu_files(gpus, {0}, [] { return std::vector{0, 3, 7}; }), one_of_three);
  EXPECT_EQ(gpu_files(gpus, {}, [] { return std::vector<int>(); }), (std::map<int, bool>{{0, false}, {3, false}}));
  gpus[0].device_number.reset();
  EXPECT_TRUE(gpu_files(gpus, {0}, [] { return std::vector{0, 3}; }).empty()) << "it might be denied its own";
}

// ---- in folders that look like control groups ----

class FakeGroups : public testing::Test {
 protected:
  FakeGroups() { fs::create_directories(root); }
  ~FakeGroups() override { fs::remove_all(root); }
  void write(const std::string& path, const std::string& text = "") const {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  std::string read(const std::string& path) const { return text_of(root / path); }
  std::string own_name() const {
    return "schedulearn-" + std::to_string(::getpid()) + "-" + std::to_string(find_process(::getpid())->started_ticks);
  }
  CgroupSources sources() const { return {(root / "mountinfo").string(), (root / "cgroup").string()}; }

  fs::path root = fs::path(testing::TempDir()) / ("groups-" + std::to_string(::getpid()));
  Limits limits = to_limits(
      {"memory_bytes=1073741824", "milli_cpus=1500", "processes=7", "cpu_set=0-1", "gpus_denied=1", "gpus_allowed=0"});
};

// As on servers with systemd: one hierarchy, all controllers, our group three levels down.
TEST_F(FakeGroups, of_v2_are_the_attempt_s_own) {
  const std::string place = "v2/system.slice/agent.service/", own = place + own_name() + "/", key = own + "1.1/";
  write("mountinfo", "30 24 0:26 / " + (root / "v2").string() + " rw shared:4 - cgroup2 cgroup2 rw\n");
  write("cgroup", "0::/system.slice/agent.service\n");
  write(place + "cgroup.controllers", "cpuset cpu io memory hugetlb pids\n");
  for (const std::string& folder : {place, own}) write(folder + "cgroup.subtree_control");
  for (const std::string& folder : {own, key}) write(folder + "cgroup.kill");
  for (const char* file : {"memory.max", "cpu.max", "pids.max", "cpuset.cpus", "cgroup.procs"}) write(key + file);
  write(key + "memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 0\n");
  write(key + "memory.peak", "1073737728\n");

  Cgroups groups = Cgroups::make_folder("", sources());
  EXPECT_EQ(groups.version(), CgroupVersion::v2);
  EXPECT_EQ(groups.enforces(), (std::vector<std::string>{"cpu_set", "cpus", "memory", "processes"}));
  EXPECT_EQ(groups.cannot_enforce(), "");
  const std::string group = groups.make("1.1");
  ASSERT_EQ(group + "/", (root / key).string());
  const auto limited = groups.make_limited("1.1", group, limits);
  ASSERT_TRUE(limited.ok()) << limited.error().message;
  EXPECT_EQ(read(key + "memory.max"), "1073741824");
  EXPECT_EQ(read(key + "cpu.max"), "150000 100000");
  EXPECT_EQ(read(key + "pids.max"), "7");
  EXPECT_EQ(read(key + "cpuset.cpus"), "0-1");
  for (const auto& [controller, path] : *limited) EXPECT_EQ(path, group) << controller;
  EXPECT_NE(read(own + "cgroup.subtree_control").find("+pids"), std::string::npos) << "the last that was written";

  write(key + "memory.max", "1073741824\n");
  const MemoryUse use = memory_use(*limited);
  EXPECT_EQ(use.kills, 2);
  EXPECT_EQ(use.limit_bytes, 1 << 30);
  EXPECT_EQ(use.peak_bytes, 1073737728);
  write(key + "memory.max", "max\n");
  EXPECT_EQ(memory_use(*limited).limit_bytes, std::nullopt);
}

TEST_F(FakeGroups, where_none_may_be_made_it_says_so) {
  write("mountinfo", "30 24 0:26 / " + (root / "memory").string() + " rw - cgroup cgroup rw,memory\n");
  write("cgroup", "4:memory:/nowhere\n");
  Cgroups groups = Cgroups::make_folder("", sources());
  EXPECT_TRUE(groups.enforces().empty());
  EXPECT_NE(groups.cannot_enforce().find("memory: making a group in"), std::string::npos) << groups.cannot_enforce();
  EXPECT_NE(groups.cannot_enforce().find("No such file"), std::string::npos) << groups.cannot_enforce();
  EXPECT_NE(groups.cannot_enforce().find("the kernel has no controller cpu here"), std::string::npos);
  const auto limited = groups.make_limited("1.1", "", limits);
  ASSERT_TRUE(limited.ok());
  EXPECT_TRUE(limited->empty());
  EXPECT_NE(Cgroups::make_folder("off", sources()).cannot_enforce().find("SCHEDULEARN_CGROUPS"), std::string::npos);
}

TEST_F(FakeGroups, a_limit_that_the_kernel_refuses_fails_the_start_and_leaves_nothing) {
  write("mountinfo", "30 24 0:26 / " + (root / "pids").string() + " rw - cgroup cgroup rw,pids\n");
  write("cgroup", "4:pids:/\n");
  fs::create_directories(root / "pids");
  Cgroups groups = Cgroups::make_folder("v1", sources());
  EXPECT_EQ(groups.enforces(), std::vector<std::string>{"processes"});
  const auto limited = groups.make_limited("1.1", "", limits);  // there is no pids.max in a plain folder
  ASSERT_FALSE(limited.ok());
  EXPECT_EQ(limited.error().code, "server_setup");
  EXPECT_NE(limited.error().message.find("pids.max"), std::string::npos) << limited.error().message;
  EXPECT_FALSE(fs::exists(root / "pids" / own_name() / "1"));
}

TEST_F(FakeGroups, a_group_of_v1_that_counts_processes_serves_the_next_attempt_if_it_is_empty) {
  write("mountinfo", "30 24 0:26 / " + (root / "pids").string() + " rw - cgroup cgroup rw,pids\n");
  write("cgroup", "4:pids:/\n");
  const std::string own = "pids/" + own_name() + "/";
  for (const char* number : {"1", "2", "3"}) {
    fs::create_directories(root / own / number);
    for (const char* file : {"/pids.max", "/cgroup.procs"}) write(own + number + file);
    write(own + number + "/pids.current", "0\n");
  }
  Cgroups groups = Cgroups::make_folder("v1", sources());
  const auto group_of = [&](const std::string& key, int processes) {
    limits.processes = processes;
    const auto limited = groups.make_limited(key, "", limits);
    return limited.ok() ? limited->at("pids") : limited.error().message;
  };
  const std::string first = group_of("1.1", 7);
  EXPECT_EQ(first, (root / own / "1").string());
  EXPECT_EQ(group_of("2.1", 7), (root / own / "2").string()) << "the first has it still";
  groups.take_back({{"pids", first}});
  EXPECT_EQ(group_of("3.1", 9), first);
  EXPECT_EQ(read(own + "1/pids.max"), "9");
  write(own + "1/pids.current", "1\n");  // a process that has left everything else
  groups.take_back({{"pids", first}});
  EXPECT_EQ(group_of("4.1", 7), (root / own / "3").string());
}

// ---- with real processes ----

class LimitedProcesses : public testing::Test {
 protected:
  LimitedProcesses() {
    fs::create_directories(dir + "/attempts");
    journal.begin({});
    runtime = std::make_unique<ProcessRuntime>(dir, journal);
  }
  ~LimitedProcesses() override {
    runtime->kill("1.1");
    eventually([&] { return runtime->take_ended(), runtime->is_gone("1.1"); });
    runtime->forget("1.1");
    runtime.reset();
    fs::remove_all(dir);
  }
  bool enforces(const std::string& name) {
    const std::vector<std::string> names = runtime->enforces().names;
    return std::ranges::find(names, name) != names.end();
  }
  static bool eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 4'000; ++i) {
      if (condition()) return true;
      ::usleep(5'000);
    }
    return false;
  }
  void start(const std::string& line, const std::vector<std::string>& limits) {
    LaunchOrder order;
    fs::create_directory(attempt_folder(dir, "1.1"));
    order.key = "1.1", order.workdir = dir, order.output = dir + "/output", order.gpus = "0";
    order.arguments = {"/bin/bash", "-c", line}, order.environment = {"PATH=/usr/bin:/bin"};
    order.limits = to_limits(limits);
    const auto started = runtime->start(order);
    ASSERT_TRUE(started.ok()) << started.error().message;
  }
  int run(const std::string& line, const std::vector<std::string>& limits) {
    start(line, limits);
    std::vector<ProcessRuntime::Ended> ended;
    EXPECT_TRUE(eventually([&] { return !(ended = runtime->take_ended()).empty(); })) << text_of(dir + "/output");
    return ended.empty() ? -1 : ended[0].status.value_or(-1);
  }
  std::string output() const { return text_of(dir + "/output"); }

  std::string dir = testing::TempDir() + "limits-" + std::to_string(::getpid());
  Journal journal{dir + "/journal"};
  std::unique_ptr<ProcessRuntime> runtime;
};

constexpr const char* hog = "a=$(head -c 200000000 /dev/zero | tr '\\0' x); echo survived";

TEST_F(LimitedProcesses, that_want_more_memory_than_they_may_have_are_killed_and_counted) {
  if (!enforces("memory")) GTEST_SKIP() << runtime->enforces().cannot;
  EXPECT_NE(run(hog, {"memory_bytes=33554432"}), 0);
  EXPECT_EQ(output().find("survived"), std::string::npos);
  const MemoryUse use = runtime->memory_use("1.1");
  EXPECT_GT(use.kills, 0);
  EXPECT_EQ(use.limit_bytes, 33554432);
  EXPECT_GT(use.peak_bytes.value_or(0), 30'000'000);
}

// Memory of the killed child may be charged a moment longer, and the kernel then ends its parent too: of the status
// nothing is asked.
TEST_F(LimitedProcesses, a_child_in_another_session_has_no_memory_of_its_own) {
  if (!enforces("memory")) GTEST_SKIP() << runtime->enforces().cannot;
  std::ofstream(dir + "/hog") << hog << "\n";
  run("setsid env -i bash hog & wait; exit 3", {"memory_bytes=33554432"});
  EXPECT_EQ(output().find("survived"), std::string::npos);
  EXPECT_GT(runtime->memory_use("1.1").kills, 0);
}

// The kernel ends all processes that share memory with the one it chooses.
TEST_F(LimitedProcesses, a_program_that_cannot_even_begin_does_not_end_the_launcher) {
  if (!enforces("memory")) GTEST_SKIP() << runtime->enforces().cannot;
  LaunchOrder order;
  fs::create_directory(attempt_folder(dir, "1.1"));
  order.key = "1.1", order.workdir = dir, order.output = dir + "/output";
  order.arguments = {"/bin/bash", "-c", "true"};
  order.environment.assign(100, "A=" + std::string(10'000, 'x'));
  order.limits.memory_bytes = 4096;
  const auto started = runtime->start(order);
  EXPECT_EQ(started.ok() ? "setup" : started.error().code, "setup");
  EXPECT_TRUE(!started.ok() || eventually([&] { return !runtime->take_ended().empty(); }));
}

TEST_F(LimitedProcesses, a_fork_bomb_stays_within_its_number) {
  if (!enforces("processes")) GTEST_SKIP() << runtime->enforces().cannot;
  std::ofstream(dir + "/bomb.py") << "import os, time\n"
                                     "for made in range(30):\n"
                                     "    try: child = os.fork()\n"
                                     "    except OSError: break\n"
                                     "    if child == 0: time.sleep(77.31); os._exit(0)\n"
                                     "print(made, flush=True); os._exit(0)\n";
  run("exec /usr/bin/python3 bomb.py", {"processes=12"});
  EXPECT_EQ(output(), "11\n");
}

TEST_F(LimitedProcesses, run_on_their_processors_and_no_others) {
  start(
      "grep Cpus_allowed_list /proc/self/status; taskset -cp 0-63 $$ > /dev/null; grep Cpus_allowed_list "
      "/proc/self/status; "
      "sleep 0.01; exit 4",
      {"cpu_set=0"});
  eventually([&] { return !runtime->take_ended().empty(); });
  const std::string last = enforces("cpu_set") ? "Cpus_allowed_list:\t0\n" : "";
  EXPECT_TRUE(output().starts_with("Cpus_allowed_list:\t0\n")) << output();
  EXPECT_TRUE(output().ends_with(last)) << output();
}

TEST_F(LimitedProcesses, have_as_much_processor_time_as_they_may) {
  if (!enforces("cpus")) GTEST_SKIP() << runtime->enforces().cannot;
  run("timeout 1 bash -c 'while :; do :; done'; times | tail -1", {"milli_cpus=200"});
  double minutes = 0, seconds = 0;
  ASSERT_EQ(std::sscanf(output().c_str(), "%lfm%lfs", &minutes, &seconds), 2) << output();
  EXPECT_LT(seconds, 0.5) << output();
}

// Of both versions: v1 has files for it, v2 programs.
class LimitedDevices : public LimitedProcesses, public testing::WithParamInterface<const char*> {
 protected:
  LimitedDevices() {
    runtime.reset();
    ::setenv("SCHEDULEARN_CGROUPS", GetParam(), 1);
    runtime = std::make_unique<ProcessRuntime>(dir, journal);
    ::unsetenv("SCHEDULEARN_CGROUPS");
  }
};
INSTANTIATE_TEST_SUITE_P(Limits, LimitedDevices, testing::Values("v1", "v2"),
                         [](const auto& version) { return version.param; });

TEST_P(LimitedDevices, are_open_only_to_those_who_hold_the_gpu_also_after_that_has_changed) {
  if (!enforces("devices")) GTEST_SKIP() << runtime->enforces().cannot;
  for (const int number : {200, 201}) {  // no such GPU anywhere: one that may be opened is missing, another forbidden
    if (::mknod((dir + "/gpu" + std::to_string(number)).c_str(), S_IFCHR | 0600, ::makedev(195, number)) != 0)
      GTEST_SKIP() << "cannot make device files here";
  }
  start(
      "for turn in 1 2; do for gpu in gpu200 gpu201; do (exec < $gpu) 2>&1; done; echo -; "
      "while [ $turn = 1 -a ! -e more ]; do sleep 0.02; done; done",
      {"gpus_allowed=200", "gpus_denied=201"});
  ASSERT_TRUE(eventually([&] { return output().find("-\n") != std::string::npos; }));
  const std::string first = output();
  runtime->limit("1.1", to_limits({"gpus_allowed=201", "gpus_denied=200"}));
  std::ofstream(dir + "/more") << "";
  ASSERT_TRUE(eventually([&] { return !runtime->take_ended().empty(); }));
  const std::string second = output().substr(first.size());
  const auto says = [](const std::string& text, const std::string& gpu) {
    const std::size_t at = text.find(gpu);
    return text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_NE(says(first, "gpu200").find("No such device"), std::string::npos) << first;
  EXPECT_NE(says(first, "gpu201").find("not permitted"), std::string::npos) << first;
  EXPECT_NE(says(second, "gpu200").find("not permitted"), std::string::npos) << second;
  EXPECT_NE(says(second, "gpu201").find("No such device"), std::string::npos) << second;
}

TEST_F(LimitedProcesses, who_joins_later_is_limited_too) {
  if (!enforces("memory")) GTEST_SKIP() << runtime->enforces().cannot;
  start("sleep 78.13", {"memory_bytes=33554432", "processes=9"});
  runtime->join(
      {"1.1", {"/bin/bash", "-c", "cat /proc/self/cgroup > " + dir + "/new; mv " + dir + "/new " + dir + "/groups"}});
  ASSERT_TRUE(eventually([&] { return fs::exists(dir + "/groups"); }));
  EXPECT_EQ(text_of(dir + "/groups"), text_of("/proc/" + std::to_string(runtime->started().at("1.1").pid) + "/cgroup"));
  EXPECT_NE(text_of(dir + "/groups").find("/1.1\n"), std::string::npos);
}

TEST_F(LimitedProcesses, groups_are_adopted_by_the_next_launcher_and_go_with_their_attempt) {
  if (!enforces("memory")) GTEST_SKIP() << runtime->enforces().cannot;
  start("sleep 78.17", {"memory_bytes=33554432", "processes=9"});
  const LimitGroups groups = runtime->started().at("1.1").limits;
  ASSERT_FALSE(groups.empty());
  const JournalContents written = read_journal(dir + "/journal");
  EXPECT_EQ(written.started.at("1.1").limits, groups);
  {
    ProcessRuntime next(dir, journal);
    EXPECT_TRUE(next.adopt(written.started.at("1.1")));
    EXPECT_EQ(next.memory_use("1.1").limit_bytes, 33554432);
    next.kill("1.1");
    EXPECT_TRUE(eventually([&] { return runtime->take_ended(), next.take_ended(), next.is_gone("1.1"); }));
    next.forget("1.1");
    EXPECT_FALSE(fs::exists(groups.at("memory")));
  }
  for (const auto& [controller, path] : groups) EXPECT_FALSE(fs::exists(path)) << path;
}

}  // namespace
}  // namespace sl::agent
