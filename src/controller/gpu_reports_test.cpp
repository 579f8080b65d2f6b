// What the controller makes of the GPUs that an agent reports.
#include <algorithm>

#include "controller/logic_test.h"

namespace sl::controller {
namespace {

using test::LogicTest;

TEST_F(LogicTest, a_gpu_that_is_missing_when_the_agent_joins_is_unavailable_from_the_first_moment) {
  submit(2), submit(1);
  wire::Hello hello;
  hello.server = "s", hello.agent_id = "a";
  hello.gpus.resize(2);
  hello.gpus[0].missing = true, hello.gpus[1].index = 1;
  logic->on_agent_message(1, hello, now);
  settle();
  EXPECT_EQ(logic->core().servers()[ServerIndex(0)].unavailable, GpuSet::only(0));
  EXPECT_TRUE(std::any_of(world.events.begin(), world.events.end(),
                          [](const auto& event) { return event.kind == "gpu.unavailable"; }));
  EXPECT_EQ(state(1), "pending");
}

TEST_F(LogicTest, a_server_with_gpus_of_several_types_gives_none_of_them_as_a_certain_type) {
  wire::Hello hello;
  hello.server = "s", hello.agent_id = "a";
  hello.gpus.resize(2);
  hello.gpus[0].name = "old", hello.gpus[0].memory_total_bytes = 10;
  hello.gpus[1].name = "new", hello.gpus[1].memory_total_bytes = 20, hello.gpus[1].index = 1;
  logic->on_agent_message(1, hello, now);
  settle();
  const auto refusal = [&](const std::string& type, std::optional<std::int64_t> memory) {
    wire::JobSpec spec;
    spec.command = "true", spec.workdir = "/";
    if (!type.empty()) spec.resources.gpu_type = {type};
    spec.resources.gpu_memory_bytes = memory;
    const Status checked = logic->check(spec);
    return checked.ok() ? "" : checked.error().code;
  };
  EXPECT_EQ(refusal("old", {}), "resources-unsatisfiable");
  EXPECT_EQ(refusal("new", {}), "resources-unsatisfiable");
  EXPECT_EQ(refusal("", 20), "resources-unsatisfiable");
  EXPECT_EQ(refusal("", 10), "");
}

}  // namespace
}  // namespace sl::controller
