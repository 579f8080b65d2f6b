#include "wire/job_spec_text.h"

#include <gtest/gtest.h>

#include "wire/json.h"
#include "wire/json_text.h"

namespace sl::wire {
namespace {

namespace json = boost::json;

JobSpec usual() {
  JobSpec spec;
  spec.name = "train";
  spec.user = "mei";
  spec.command = "python train.py";
  spec.workdir = "/home/mei";
  return spec;
}

JobSpec unusual() {
  JobSpec spec = usual();
  spec.command = std::vector<std::string>{"python", "train.py"};
  spec.gpus = GpuRange(2, 4);
  spec.gpus.allowed = {2, 4};
  spec.resources.gpu_type = {"A100", "H100"};
  spec.resources.share = true;
  spec.env = {{"A", ""}, {"B", "2"}};
  spec.weight = 0.5;
  spec.preemptible = false;
  spec.checkpoint.dir = "ckpt";
  spec.retry = {3, {}};
  spec.training.family = "resnet";
  spec.roles.resize(1);
  return spec;
}

TEST(JobSpecText, holds_what_is_not_as_usual) {
  EXPECT_EQ(spec_text(usual()), R"({"name":"train","user":"mei","command":"python train.py","workdir":"/home/mei"})");
}

TEST(JobSpecText, reads_as_the_same_submission) {
  for (const JobSpec& spec : {JobSpec(), usual(), unusual()}) {
    const Result<JobSpec> read = read_json<JobSpec>(spec_text(spec));
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(to_value(*read), to_value(spec));
  }
}

// Whoever changes a default changes jobs that are stored, and what older agents understand: give the key another name.
TEST(JobSpecText, defaults_stay_as_they_are) {
  EXPECT_EQ(
      json_text(full_spec("{}")),
      R"({"name":"","user":"","command":"","image":null,"framework":null,"launch":"none","gpus":{"min":1,"max":1},)"
      R"("servers":1,"resources":{"cpus":null,"memory_bytes":null,"gpu_memory_bytes":null,"gpu_type":[],)"
      R"("shm_bytes":null,"processes":null,"pin_cpus":false,"share":false,"on":[],"not_on":[]},"workdir":"","env":{},"labels":{},"priority":0,"weight":1,"hold":false,)"
      R"("time_limit_s":null,"estimate_s":null,"deadline_s":null,"checkpoint":{"dir":null,"signal":"TERM",)"
      R"("grace_s":120,"every_s":null},"retry":{"max":0,"on":["any"],"backoff_s":0},"preemptible":true,"migratable":true,"freeze":false,)"
      R"("resize":"restart","on_partition":"continue","output_limit_bytes":null,"training":{},)"
      R"("after":[],"after_any":[],"not_before":null,"array":null,"matrix":{},"max_running":0,"pty":false,)"
      R"("mounts":[],"secrets":[],"notify":[],"progress":null,"snapshot":null,"setup":[]})");
}

TEST(JobSpecText, is_shown_with_its_defaults) {
  const json::value whole = full_spec(spec_text(unusual()));
  EXPECT_EQ(whole.at("gpus"), json::parse(R"({"min":2,"max":4,"allowed":[2,4]})"));
  EXPECT_EQ(whole.at("retry"), json::parse(R"({"max":3,"on":[],"backoff_s":0E0})"));
  EXPECT_EQ(whole.at("training"), json::parse(R"({"family":"resnet"})"));
  EXPECT_EQ(whole.at("servers"), 1);
  EXPECT_EQ(full_spec("{broken"), nullptr);
}

}  // namespace
}  // namespace sl::wire
