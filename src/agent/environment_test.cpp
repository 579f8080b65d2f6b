#include "agent/environment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace sl::agent {
namespace {

wire::StartAttempt order_of(wire::CommandLine command, const std::string& launch = "none") {
  wire::StartAttempt order;
  order.incarnation = {"", 5, 2, 0};
  order.resume = true;
  order.placement.gpus = {1, 3};
  order.spec.command = std::move(command);
  order.spec.launch = launch;
  order.spec.workdir = "/w";
  order.spec.env = {{"A", "b"}, {"OMP_NUM_THREADS", "4"}};
  return order;
}

bool has(const std::vector<std::string>& list, const std::string& entry) {
  return std::find(list.begin(), list.end(), entry) != list.end();
}

TEST(Environment, a_job_finds_who_it_is_and_which_gpus_it_has_and_no_secrets_of_the_agent) {
  const Execution e = make_execution(order_of("python train.py | tee log"), {},
                                     {"/d/attempts/5.2", "/d/jobs/5", "/d/torchrun.py", "/d/python", "http://c", 0},
                                     {"PATH=/bin", "SECRET=x", "HOME=/h"});
  EXPECT_TRUE(e.arguments.at(2).ends_with("set -o pipefail\npython train.py | tee log"));
  EXPECT_EQ(e.required, "python");
  for (const char* entry : {"SCHEDULEARN_JOB_ID=5", "SCHEDULEARN_ATTEMPT=2", "SCHEDULEARN_RESUME=1",
                            "CUDA_VISIBLE_DEVICES=1,3", "A=b", "OMP_NUM_THREADS=4", "PATH=/bin",
                            "SCHEDULEARN_CHECKPOINT_DIR=/d/jobs/5/checkpoints", "SCHEDULEARN_JOB_FOLDER=job-5"}) {
    EXPECT_TRUE(has(e.environment, entry)) << entry;
  }
  EXPECT_FALSE(has(e.environment, "SECRET=x"));
}

TEST(Environment, a_job_has_a_folder_in_what_jobs_share_that_no_other_job_of_its_number_has) {
  wire::StartAttempt order = order_of("true");
  order.first = 1'764'000'000'000'001;
  EXPECT_TRUE(has(make_execution(order, {}, {}, {}).environment, "SCHEDULEARN_JOB_FOLDER=job-5.1764000000000001"));
}

TEST(Environment, real_gpus_are_named_by_uuid_and_simulated_ones_by_index) {
  wire::StartAttempt order = order_of("true");
  order.placement.gpu_uuids = {"GPU-a", "GPU-b"};
  EXPECT_TRUE(has(make_execution(order, {}, {}, {}).environment, "CUDA_VISIBLE_DEVICES=GPU-a,GPU-b"));
  order.placement.gpu_uuids = {"SIMULATED-1", "SIMULATED-3"};
  EXPECT_TRUE(has(make_execution(order, {}, {}, {}).environment, "CUDA_VISIBLE_DEVICES=1,3"));
}

TEST(Environment, a_set_up_runs_in_the_shell_that_becomes_the_command) {
  wire::StartAttempt order = order_of(std::vector<std::string>{"python", "a b.py"});
  order.spec.setup = {"export A='x y'", "make"};
  const Execution e = make_execution(order, {}, {"/d/attempts/5.2"}, {});
  EXPECT_EQ(e.required, "") << "it may come with the set-up";
  ASSERT_EQ(e.arguments.size(), 6u);
  EXPECT_EQ(std::vector(e.arguments.begin() + 3, e.arguments.end()),
            (std::vector<std::string>{"schedulearn", "python", "a b.py"}));
  EXPECT_NE(e.arguments[2].find("schedulearn_line=2\neval 'make' || exit"), std::string::npos) << e.arguments[2];
}

TEST(Environment, a_job_knows_its_hosts_its_end_and_how_often_to_save) {
  wire::StartAttempt order = order_of("true");
  EXPECT_EQ(host_lines(order, {}), "127.0.0.1 slots=2\n");
  EXPECT_EQ(host_lines(order, {{"a", "10.0.0.1", 1, 2, ""}, {"b", "10.0.0.2", 1, 1, ""}}),
            "10.0.0.1 slots=2\n10.0.0.2 slots=1\n");
  order.spec.checkpoint.every_s = 90;
  AttemptPlace place;
  place.attempt_dir = "/d/attempts/5.2", place.time_limit_at = "2026-11-23T21:00:00.000Z";
  const Execution e = make_execution(order, {}, place, {});
  for (const char* entry : {"SCHEDULEARN_HOSTFILE=/d/attempts/5.2/hostfile",
                            "SCHEDULEARN_TIME_LIMIT_AT=2026-11-23T21:00:00.000Z", "SCHEDULEARN_CHECKPOINT_EVERY_S=90"})
    EXPECT_TRUE(has(e.environment, entry)) << entry;
}

TEST(Environment, a_vector_is_executed_as_it_is) {
  EXPECT_EQ(make_execution(order_of(std::vector<std::string>{"ls", "$HOME"}), {}, {}, {}).arguments,
            (std::vector<std::string>{"ls", "$HOME"}));
}

TEST(Environment, torchrun_starts_one_process_a_gpu_with_the_interpreter_that_was_asked_for) {
  const AttemptPlace place{"/a", "/j", "/d/t.py", "/d/python", "", 1234};
  const Execution e = make_execution(order_of("cd work && python train.py --x 1", "torchrun"), {}, place, {});
  EXPECT_NE(e.arguments[2].find("\ncd work && python '/d/t.py' --nnodes 1 --node_rank 0 --nproc_per_node 2 "),
            std::string::npos);
  EXPECT_TRUE(e.arguments[2].ends_with(" train.py --x 1"));
}

TEST(Environment, the_command_can_be_read_and_typed_and_tells_no_variable_of_the_job) {
  wire::StartAttempt order = order_of(std::vector<std::string>{"python", "train.py", "--name", "it's mine"});
  order.spec.workdir = "/my work";
  order.spec.env["API_KEY"] = "hidden";
  EXPECT_EQ(command_text(make_execution(order, {}, {}, {})),
            "cd '/my work' && CUDA_VISIBLE_DEVICES=1,3 python train.py --name 'it'\\''s mine'\n");
  order.spec.launch = "torchrun";
  order.placement.rank = 1;
  const std::vector<wire::AttemptPart> parts = {{"a", "10.0.0.1", 7000, 2, "s1"}, {"b", "10.0.0.2", 7001, 2, "s2"}};
  const std::string text = command_text(make_execution(order, parts, {"/a", "/j", "/d/t.py", "/d/python", "", 1}, {}));
  EXPECT_TRUE(
      text.starts_with("cd '/my work' && CUDA_VISIBLE_DEVICES=1,3 MASTER_ADDR=10.0.0.1 MASTER_PORT=7000 "
                       "NNODES=2 NODE_RANK=1 /bin/bash -c "))
      << text;
  EXPECT_NE(text.find("--nnodes 2 --node_rank 1"), std::string::npos) << text;
  EXPECT_EQ(text.find("hidden"), std::string::npos);
}

TEST(Environment, the_python_library_comes_after_the_job_s_own_folders) {
  const AttemptPlace place{"/a", "/j", "/d/t.py", "/d/python", "", 0};
  wire::StartAttempt order = order_of("true");
  EXPECT_TRUE(has(make_execution(order, {}, place, {}).environment, "PYTHONPATH=/d/python"));
  order.spec.env["PYTHONPATH"] = "/mine:/too";
  EXPECT_TRUE(has(make_execution(order, {}, place, {}).environment, "PYTHONPATH=/mine:/too:/d/python"));
}

TEST(Environment, a_python_environment_that_is_not_here_is_named) {
  wire::StartAttempt order = order_of("true");
  EXPECT_EQ(missing_python_environment(order.spec), "");
  order.spec.env["VIRTUAL_ENV"] = "/nowhere/venv";
  EXPECT_EQ(missing_python_environment(order.spec), "/nowhere/venv/bin/python");
  order.spec.env["VIRTUAL_ENV"] = "/usr";
  EXPECT_EQ(missing_python_environment(order.spec),
            std::filesystem::exists("/usr/bin/python") ? "" : "/usr/bin/python");
}

TEST(Environment, the_first_program_of_a_line_is_known_only_when_it_is_plain) {
  EXPECT_EQ(first_program("  python train.py\n"), "python");
  for (const char* line : {"", "cd x && ls", "A=b python x", "$PY x", "(ls)", "\"my prog\"", "for i in 1; do ls; done"})
    EXPECT_EQ(first_program(line), "") << line;
}

TEST(Environment, a_line_that_goes_on_without_its_first_program_does_not_require_it) {
  for (const char* line :
       {"python a.py && python b.py", "python a.py | tee log", "python a.py 2>&1 | tee log", "python a.py &> log"})
    EXPECT_EQ(first_program(line), "python") << line;
  for (const char* line : {"nvidia-smi; python a.py", "nvidia-smi || true", "nvidia-smi && ls || true", "monitor &",
                           "module load cuda\npython a.py", "f() { ls; }; f", "a |& b", "a | b || c"})
    EXPECT_EQ(first_program(line), "") << line;
}

TEST(Environment, no_word_that_bash_knows_itself_is_a_program) {
  std::FILE* bash = ::popen("bash -c 'compgen -bk'", "r");
  ASSERT_NE(bash, nullptr);
  int words = 0;
  for (char word[64]; std::fscanf(bash, "%63s", word) == 1; ++words)
    EXPECT_EQ(first_program(std::string(word) + " x"), "") << word;
  ::pclose(bash);
  EXPECT_GT(words, 70);
}

}  // namespace
}  // namespace sl::agent
