#include "agent/mpi.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "agent/environment.h"

namespace sl::agent {
namespace {

bool has_word(const std::vector<std::string>& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

bool has_variable(const Execution& execution, const std::string& name) {
  return std::ranges::any_of(execution.environment, [&](const std::string& v) { return v.starts_with(name + "="); });
}

wire::StartAttempt order_of(int rank, std::vector<int> gpus) {
  wire::StartAttempt order;
  order.placement.rank = rank;
  order.placement.gpus = std::move(gpus);
  order.spec.command = std::vector<std::string>{"python", "train.py", "two words"};
  order.spec.launch = "mpi";
  return order;
}

TEST(Mpi, parts_are_read_back_from_the_environment) {
  const std::vector<MpiPart> parts = {{"10.0.0.1", 7000, "abc", 2}, {"fd00::2", 7100, "abc", 1}};
  EXPECT_EQ(parse_mpi_parts(to_text(parts)), parts);
  for (const char* text : {"", "10.0.0.1", "10.0.0.1 7000 abc", "10.0.0.1 7000 abc 0", "a 1 b 2,c"})
    EXPECT_TRUE(parse_mpi_parts(text).empty()) << text;
}

// Process numbers of one server, or of one container, mean nothing in another.
TEST(Mpi, orted_is_told_of_the_program_on_its_own_server) {
  EXPECT_EQ(with_agent_of("/proc/7/exe", "orted -mca plm_rsh_agent \"/proc/612/exe mpi connect\" -mca a /proc/5/exe"),
            "orted -mca plm_rsh_agent \"/proc/7/exe mpi connect\" -mca a /proc/5/exe");
  for (const char* line : {"", "orted", "/proc/", "/proc/5", "/proc/x/exe mpi connect", "/proc//exe mpi connect"})
    EXPECT_EQ(with_agent_of("/proc/7/exe", line), line);
}

TEST(Mpi, on_one_server_nothing_is_started_elsewhere) {
  const auto words = mpirun_words("/self", {}, 3, "", false);
  EXPECT_TRUE(has_word(words, "localhost:3"));
  EXPECT_TRUE(has_word(words, "isolated"));
  EXPECT_FALSE(has_word(words, "plm_rsh_agent"));
  EXPECT_FALSE(has_word(words, "--allow-run-as-root"));
  EXPECT_TRUE(has_word(mpirun_words("/self", {}, 3, "", true), "--allow-run-as-root"));
}

TEST(Mpi, on_several_servers_each_has_as_many_processes_as_gpus_and_no_secret_is_on_a_command_line) {
  const std::vector<MpiPart> parts = {{"10.0.0.1", 7000, "abc", 2}, {"10.0.0.2", 7100, "abc", 1}};
  const auto words = mpirun_words("/self", parts, 3, "eth0", false);
  EXPECT_TRUE(has_word(words, "part-0:2,part-1:1"));
  EXPECT_TRUE(has_word(words, "/self mpi connect"));
  EXPECT_FALSE(has_word(words, "isolated"));
  for (const std::string& word : words) EXPECT_EQ(word.find("abc"), std::string::npos) << word;
}

TEST(Mpi, the_first_server_leads_and_the_others_serve_it) {
  const std::vector<wire::AttemptPart> parts = {{"a", "10.0.0.1", 7000, 2, "abc"}, {"b", "10.0.0.2", 7100, 1, "abc"}};
  AttemptPlace place;
  place.port = 7100;
  place.interface = "eth0";
  const Execution lead = make_execution(order_of(0, {0, 1}), parts, place, {});
  EXPECT_EQ(lead.required, "mpirun");
  EXPECT_EQ(lead.arguments[2], "lead");
  EXPECT_EQ(lead.arguments[3], "3");
  EXPECT_NE(lead.arguments.back().find("'two words'"), std::string::npos);
  EXPECT_TRUE(has_word(lead.environment, "SCHEDULEARN_MPI_PARTS=10.0.0.1 7000 abc 2,10.0.0.2 7100 abc 1"));
  EXPECT_FALSE(has_variable(lead, mpi_secret_variable));
  const Execution serve = make_execution(order_of(1, {4}), parts, place, {});
  EXPECT_EQ(serve.required, "orted");
  EXPECT_EQ(std::vector(serve.arguments.begin() + 1, serve.arguments.end()),
            (std::vector<std::string>{"mpi", "serve", "7100"}));
  EXPECT_TRUE(has_word(serve.environment, "SCHEDULEARN_MPI_SECRET=abc"));
  EXPECT_FALSE(has_variable(serve, mpi_parts_variable));
  for (const Execution* part : {&lead, &serve}) {
    EXPECT_TRUE(has_word(part->environment, "WORLD_SIZE=3"));
    EXPECT_TRUE(has_word(part->environment, "SCHEDULEARN_MPI_INTERFACE=eth0"));
  }
  const Execution alone = make_execution(order_of(0, {0, 1}), {}, {}, {});
  EXPECT_EQ(alone.arguments[3], "2");
  EXPECT_FALSE(has_variable(alone, mpi_parts_variable));
}

TEST(Mpi, an_interface_that_the_user_names_is_kept) {
  wire::StartAttempt order = order_of(0, {0});
  order.spec.env["OMPI_MCA_btl_tcp_if_include"] = "ib0";
  AttemptPlace place;
  place.interface = "eth0";
  const Execution e = make_execution(order, {{"a", "x", 1, 1, "s"}, {"b", "y", 2, 1, "s"}}, place, {});
  EXPECT_FALSE(has_variable(e, mpi_interface_variable));
}

}  // namespace
}  // namespace sl::agent
