#include <gtest/gtest.h>
#include <sys/wait.h>

#include <filesystem>

#include "python_policy/loader.h"
#include "study/experiment.h"
#include "support/cluster.h"
#include "support/random_history.h"
#include "support/workload.h"
#include "trace/workloads.h"

namespace sl::python_policy {
namespace {

using test::Cluster;
using test::elastic;
using test::gpus;
using test::Workload;

const std::string examples = std::string(SCHEDULEARN_EXAMPLES) + "/policies/";
const std::string order =
    "from schedulearn.policy import *\nclass Mine(Policy):\n    def order(self, jobs, cluster):\n";
const std::string decide = "from schedulearn.policy import *\nclass Mine(Policy):\n    def decide(self, snapshot):\n";

Result<PolicyEntry> load(const std::string& source, HostSettings settings = {}) {
  return make_loader(settings)("mine.py", source);
}

std::unique_ptr<Policy> make(const std::string& source, HostSettings settings = {}, const GivenParameters& given = {}) {
  auto entry = load(source, settings);
  SL_CHECK(entry.ok(), "the policies of tests can be read");
  const auto parameters = parse_parameters(entry->info, given);
  SL_CHECK(parameters.ok(), "the parameters of tests are valid");
  return entry->make(*parameters);
}

std::string refused(const std::string& source) {
  const auto entry = load(source);
  return entry.ok() ? "fine" : entry.error().code + " " + entry.error().message;
}

// The error of a policy that is asked once, with a job waiting and free GPUs.
std::string fault_of(const std::string& source, HostSettings settings = {}) {
  Cluster cluster({4}, make(source, settings));
  cluster.submit(1, gpus(1));
  const auto failure = cluster.core.policy_failure();
  return failure ? failure->message : "none";
}

std::vector<double> starts(const study::PolicyChoice& choice, const std::string& workload) {
  const auto trace = trace::make_workload(workload, 3, {});
  sim::SimulationSettings settings;
  settings.cluster = sim::Cluster::uniform(4, 8);
  const auto result = sim::simulate(*trace, std::move(*study::make_policy(choice)), settings);
  std::vector<double> times;
  for (const sim::Outcome& outcome : result.outcomes) {
    times.push_back(outcome.started.to_seconds());
    times.push_back(outcome.finished.to_seconds());
  }
  return times;
}

study::PolicyChoice example(const std::string& name) {
  const auto script = read_script(examples + name);
  auto entry = make_loader(simulation_settings())(script->file, script->source);
  SL_CHECK(entry.ok(), "the examples can be read");
  return {name, {}, std::make_shared<const PolicyEntry>(std::move(*entry))};
}

TEST(PythonPolicy, fifo_py_schedules_every_job_as_the_built_in_fifo_does) {
  const std::string workload = "poisson:jobs=400,cluster_gpus=32,load=1.5";
  EXPECT_EQ(starts(example("fifo.py"), workload), starts({"fifo", {}}, workload));
}

TEST(PythonPolicy, las_py_schedules_every_job_as_the_built_in_tiresias_does) {
  const std::string workload = "poisson:jobs=400,cluster_gpus=32,load=1.5";
  EXPECT_EQ(starts(example("las.py"), workload), starts({"tiresias", {{"thresholds_gpu_s", "3600"}}}, workload));
}

TEST(PythonPolicy, one_that_joins_late_decides_as_one_that_was_there) {
  const auto trace = trace::make_workload("poisson:jobs=200,cluster_gpus=32,load=2", 5, {});
  sim::SimulationSettings settings;
  settings.cluster = sim::Cluster::uniform(4, 8);
  const study::PolicyChoice las = example("las.py");
  std::vector<sim::PolicySwitch> again;
  for (int hour = 1; hour < 40; ++hour)
    again.push_back({Instant::at_seconds(hour * 3600), "las.py", std::move(*study::make_policy(las))});
  const auto once = sim::simulate(*trace, std::move(*study::make_policy(las)), settings);
  const auto often = sim::simulate(*trace, std::move(*study::make_policy(las)), settings, std::move(again));
  for (std::size_t i = 0; i < once.outcomes.size(); ++i)
    ASSERT_EQ(once.outcomes[i].finished, often.outcomes[i].finished) << i;
}

// Makes random decisions that are allowed.
const std::string restless = R"(from schedulearn.policy import *
class Restless(Policy):
    def decide(self, snapshot):
        if getattr(self, "acted_at_s", None) == snapshot.now_s:
            return []
        self.acted_at_s = snapshot.now_s
        actions, free = [], snapshot.cluster.free_gpus
        for job in snapshot.running:
            if job.can_preempt:
                what = (job.id * 7 + int(snapshot.now_s * 3)) % 4
                wanted = job.gpus_min if what == 1 else job.gpus_max
                if what == 0:
                    actions.append(preempt(job))
                elif what < 3 and wanted != job.gpus_held and wanted - job.gpus_held <= free:
                    actions.append(resize(job, wanted))
                    free -= max(0, wanted - job.gpus_held)
        for job in snapshot.waiting:
            wanted = job.gpus_min + int(snapshot.now_s + job.id) % (job.gpus_max - job.gpus_min + 1)
            if wanted <= free:
                actions.append(start(job, wanted))
                free -= wanted
        return actions
)";

// Servers join, fall silent and leave, with jobs of every kind: an author who relies on what the snapshot shows never
// breaks a rule.
TEST(PythonPolicy, the_examples_make_no_mistake_in_random_histories) {
  std::vector<study::PolicyChoice> choices = {example("fifo.py"), example("las.py"), example("elastic.py")};
  choices.push_back({"restless.py", {}, std::make_shared<const PolicyEntry>(*load(restless))});
  for (const study::PolicyChoice& choice : choices) {
    const std::string& name = choice.name;
    for (std::uint64_t seed = 1; seed <= 25; ++seed) {
      test::RandomHistory history(seed, std::move(*study::make_policy(choice)));
      for (int i = 0; i < 120; ++i) history.step();
      const Core& core = history.cluster.core;
      const auto failure = core.policy_failure();
      ASSERT_FALSE(failure) << name << " seed " << seed << ": " << failure->message;
      for (const Refusal why : {Refusal::unknown_job, Refusal::not_waiting, Refusal::not_running,
                                Refusal::not_interruptible, Refusal::wrong_gpu_count, Refusal::gpus_taken,
                                Refusal::server_not_up, Refusal::spans_servers, Refusal::type_or_memory}) {
        EXPECT_EQ(core.refusals(why), 0u) << name << " seed " << seed << ": " << to_string(why);
      }
    }
  }
}

TEST(PythonPolicy, the_head_of_a_blocking_order_holds_those_behind_it_and_of_another_does_not) {
  const std::string body = "    def order(self, jobs, cluster):\n        return jobs\n";
  for (const bool blocking : {true, false}) {
    Cluster cluster({4}, make("from schedulearn.policy import *\nclass Mine(Policy):\n    blocking = " +
                              std::string(blocking ? "True\n" : "False\n") + body));
    cluster.submit(1, gpus(3)).submit(2, gpus(2)).submit(3, gpus(1));
    EXPECT_EQ(cluster.state(3), blocking ? JobState::pending : JobState::running);
  }
}

TEST(PythonPolicy, a_waiting_job_that_is_left_out_is_not_started) {
  Cluster cluster({4}, make(order + "        return [job for job in jobs if job.id != 1]\n"));
  cluster.submit(1, gpus(1)).submit(2, gpus(1));
  EXPECT_EQ(cluster.state(1), JobState::pending);
  EXPECT_EQ(cluster.state(2), JobState::running);
}

TEST(PythonPolicy, actions_preempt_start_and_resize) {
  Cluster cluster({4}, make(decide + "        if snapshot.now_s == 1:\n"
                                     "            return [preempt(job) for job in snapshot.running if job.id == 1] + "
                                     "[start(job) for job in snapshot.waiting if job.id == 2]\n"
                                     "        if snapshot.now_s == 2:\n"
                                     "            return [resize(job, 2) for job in snapshot.running]\n"
                                     "        if snapshot.now_s == 3:\n"
                                     "            return [resize(job, 4) for job in snapshot.running]\n"
                                     "        return [start(job, job.gpus_max) for job in snapshot.waiting]\n"));
  cluster.submit(1, elastic(1, 4));
  EXPECT_EQ(cluster.where(1), "0:0,1,2,3");
  cluster.at(1).submit(2, elastic(1, 4));
  EXPECT_EQ(cluster.where(2), "0:0,1,2,3");
  EXPECT_EQ(cluster.state(1), JobState::pending);
  cluster.at(1.5).feed(JobHeld{JobId(1), true});
  cluster.at(2).submit(3, gpus(4));
  EXPECT_EQ(cluster.where(2), "0:0,1");
  cluster.at(3).submit(4, gpus(4));
  EXPECT_EQ(cluster.where(2), "0:0,1,2,3");
}

TEST(PythonPolicy, parameters_have_the_types_of_their_defaults_and_are_checked) {
  const std::string source =
      "from schedulearn.policy import *\nclass Mine(Policy):\n    \"\"\"Says so.\"\"\"\n"
      "    parameters = {'count': 3, 'part': 0.5, 'on': True, 'how': ['fast', 'slow'], 'at': [1, 2]}\n"
      "    def order(self, jobs, cluster):\n        raise ValueError(repr(sorted(self.parameters.items())))\n";
  const auto entry = load(source);
  ASSERT_TRUE(entry.ok());
  EXPECT_EQ(entry->info.summary, "Says so.");
  EXPECT_FALSE(parse_parameters(entry->info, {{"how", "otherwise"}}).ok());
  EXPECT_FALSE(parse_parameters(entry->info, {{"count", "many"}}).ok());
  EXPECT_FALSE(parse_parameters(entry->info, {{"at", "2,1"}}).ok());
  EXPECT_FALSE(parse_parameters(entry->info, {{"deadline_ms", "0"}}).ok());
  Cluster cluster({4}, make(source, {}, {{"count", "4"}, {"on", "false"}, {"how", "slow"}, {"at", "3250,7200"}}));
  cluster.submit(1, gpus(1));
  EXPECT_NE(cluster.core.policy_failure()->message.find(
                "[('at', [3250, 7200]), ('count', 4), ('how', 'slow'), ('on', False), ('part', 0.5)]"),
            std::string::npos);
}

TEST(PythonPolicy, a_fault_tells_the_line) {
  EXPECT_EQ(fault_of(order + "        return jobs\n"), "none");
  EXPECT_EQ(fault_of(order + "        return jobs[5]\n"), "mine.py:4: in order: IndexError: list index out of range");
  EXPECT_EQ(fault_of(order + "        raise ValueError('a\\x1b[31m\\nerror: fake')\n"),
            "mine.py:4: in order: ValueError: a^[[31m^Jerror: fake");
  EXPECT_EQ(fault_of(order + "        while True: pass\n", {.deadline = Duration::milliseconds(200)}),
            "mine.py:4: in order: no decision within 200 ms");
  EXPECT_EQ(fault_of(order + "        import os; os.abort()\n"),
            "mine.py:4: in order: Python died of signal 6 (Aborted)");
  EXPECT_EQ(fault_of(order + "        return [bytearray(1 << 40)]\n"), "mine.py:4: in order: MemoryError");
  EXPECT_EQ(fault_of(decide + "        return [start(snapshot.jobs[0], 2)]\n"),
            "mine.py:4: start(): job 1 runs on 1 GPUs, not on 2");
}

TEST(PythonPolicy, what_cannot_be_read_is_refused_with_its_line) {
  EXPECT_EQ(refused("class Mine(Policy\n"), "policy-exception mine.py:1: SyntaxError: '(' was never closed");
  EXPECT_EQ(refused("\nimport no_such_thing\n"),
            "policy-exception mine.py:2: ModuleNotFoundError: No module named 'no_such_thing'");
  EXPECT_EQ(refused("from schedulearn.policy import *\nclass A(Policy):\n    def order(self): pass\n"),
            "policy-invalid mine.py:3: the method must be order(self, jobs, cluster)");
  EXPECT_EQ(refused(order + "        return jobs\n    parameters = {'x': None}\n"),
            "policy-invalid mine.py:2: the default of parameter x must be a number, True or False, a list of words, or "
            "a list "
            "of rising numbers");
  EXPECT_EQ(refused(std::string("x\0y", 3)), "policy-not-text mine.py is not UTF-8 text");
  EXPECT_EQ(refused(std::string(300'000, '#')), "policy-too-large mine.py is longer than 262144 bytes");
}

TEST(PythonPolicy, one_that_lets_no_time_pass_is_ended) {
  Cluster cluster({4}, make(decide + "        return []\n"));
  cluster.submit(1, gpus(4));
  for (int i = 2; i <= 1100; ++i) cluster.submit(i, gpus(4)).feed(JobCancelled{JobId(i)});
  ASSERT_TRUE(cluster.core.policy_failure());
  EXPECT_EQ(cluster.core.policy_failure()->message.substr(0, 32), "mine.py: it was asked 2000 times");
}

TEST(PythonPolicy, one_that_was_made_was_read_once_and_decides_with_its_parameters) {
  const std::filesystem::path log = std::filesystem::temp_directory_path() / ("read-" + std::to_string(::getpid()));
  std::filesystem::remove(log);
  const std::string source = "with open('" + log.string() + "', 'a') as log:\n    log.write('x')\n" +
                             "from schedulearn.policy import *\nclass Mine(Policy):\n"
                             "    parameters = {'last': 1}\n"
                             "    def order(self, jobs, cluster):\n"
                             "        return [job for job in jobs if job.id <= self.parameters['last']]\n";
  auto made = make_maker({})("mine.py", source, {{"last", "2"}});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->info.name, "mine.py");
  Cluster cluster({4}, std::move(made->policy));
  cluster.submit(1, gpus(1)).submit(2, gpus(1)).submit(3, gpus(1));
  EXPECT_EQ(cluster.state(2), JobState::running);
  EXPECT_EQ(cluster.state(3), JobState::pending);
  EXPECT_EQ(std::filesystem::file_size(log), 1u);
  std::filesystem::remove(log);
}

TEST(PythonPolicy, one_that_cannot_be_made_with_its_parameters_is_refused_with_the_line) {
  const std::string source =
      "from schedulearn.policy import *\nclass Mine(Policy):\n    parameters = {'most': 1}\n"
      "    def __init__(self):\n        self.part = 1 / self.parameters['most']\n"
      "        while self.parameters['most'] > 5: pass\n"
      "    def order(self, jobs, cluster):\n        return jobs\n";
  const auto refused = [&](const std::string& most) {
    const auto made = make_maker({.start_deadline = Duration::milliseconds(500)})("mine.py", source, {{"most", most}});
    return made.ok() ? "fine" : made.error().message;
  };
  EXPECT_EQ(refused("1"), "fine");
  EXPECT_EQ(refused("0"), "mine.py:5: in __init__: ZeroDivisionError: division by zero");
  EXPECT_EQ(refused("6"), "mine.py:6: in __init__: its __init__ takes longer than allowed");
  EXPECT_EQ(refused("many").substr(0, 14), "parameter most");
}

TEST(PythonPolicy, jobs_have_the_names_of_their_users) {
  Cluster cluster({4}, make(order + "        return [job for job in jobs if job.user == 'mei']\n"));
  JobRequest mei = gpus(1), ali = gpus(1);
  mei.user = cluster.core.users().intern("mei");
  ali.user = cluster.core.users().intern("ali");
  cluster.submit(1, ali).submit(2, mei).submit(3, gpus(1));
  EXPECT_EQ(cluster.state(1), JobState::pending);
  EXPECT_EQ(cluster.state(2), JobState::running);
  EXPECT_EQ(cluster.state(3), JobState::pending) << "nobody's";
}

TEST(PythonPolicy, no_process_is_left_when_it_is_gone) {
  { fault_of(order + "        return jobs\n"); }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child process is left";
}

}  // namespace
}  // namespace sl::python_policy
