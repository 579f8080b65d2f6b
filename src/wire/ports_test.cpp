#include "wire/ports.h"

#include <gtest/gtest.h>

#include "wire/job_spec_text.h"
#include "wire/json.h"

namespace sl::wire {
namespace {

TEST(Ports, a_number_or_a_table_names_one) {
  const auto spec =
      parse_job_toml("command = \"x\"\n[ports]\nboard = 0\nnote-book = { port = 8888, keep_path = true }\n", "/");
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec->ports, (std::map<std::string, PortSpec>{{"board", {0, false}}, {"note-book", {8888, true}}}));
  const auto again = read_json<JobSpec>(spec_text(*spec));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->ports, spec->ports);
  const auto submitted = parse_job_json(spec_text(*spec), "/");
  ASSERT_TRUE(submitted.ok()) << submitted.error().message;
  EXPECT_EQ(submitted->ports, spec->ports);
}

TEST(Ports, have_an_address_and_variables) {
  EXPECT_EQ(proxy_path(5, "note-book"), "/jobs/5/proxy/note-book/");
  EXPECT_EQ(port_variable("PORT", "note-book"), "SCHEDULEARN_PORT_NOTE_BOOK");
}

TEST(Ports, are_sixteen_at_most) {
  JobSpec spec;
  for (int i = 0; i < 16; ++i) spec.ports["p" + std::to_string(i)] = {};
  EXPECT_TRUE(validate_ports(spec).ok());
  spec.ports["one-more"] = {};
  EXPECT_EQ(validate_ports(spec).error().code, "bad-port");
}

}  // namespace
}  // namespace sl::wire
