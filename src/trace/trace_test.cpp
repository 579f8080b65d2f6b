#include "trace/trace.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <libdeflate.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/random.h"
#include "trace/profiles.h"
#include "trace/summary.h"
#include "trace/text_file.h"
#include "trace/workloads.h"
#include "trace/writer.h"

namespace sl::trace {
namespace {

const std::string header = "job_id,submit_time_s,gpus,duration_s\n";

Trace good(const std::string& text, const TraceOptions& options = {}) {
  auto trace = parse_trace(text, options);
  if (!trace.ok()) ADD_FAILURE() << trace.error().message;
  SL_CHECK(trace.ok(), "the traces of tests are valid");
  return std::move(*trace);
}

Error bad(const std::string& text, const TraceOptions& options = {}) { return parse_trace(text, options).error(); }

TEST(Traces, say_line_and_column_of_what_they_cannot_read) {
  const auto code = [](const std::string& text) { return parse_trace(text, {}).error(); };
  EXPECT_EQ(code("job_id,gpus\n").code, "trace-columns");
  EXPECT_EQ(code("").code, "trace-columns");
  EXPECT_EQ(code(header).code, "trace-empty");
  EXPECT_EQ(code(header + "a,0,1,5\nb,x,1,5\n").message, "line 3: submit_time_s is not a valid number: x");
  EXPECT_EQ(code(header + "a,0,1,100000000000\n").message,
            "line 2: duration_s is not a valid time, which is at least 0 and below 100,000,000,000 s: 100000000000");
  for (const char* row :
       {"a,-1,1,5", "a,0,1,nan", "a,0,1,inf", "a,0,1.5,5", "a,0,-1,5", "a,0,1e9,5", "a,1e300,1,5", "a,,1,5"})
    EXPECT_EQ(code(header + row + "\n").code, "trace-row") << row;
  EXPECT_EQ(code(header + "a,0,1\n").code, "trace-row");
  EXPECT_EQ(code(header + "a,0,1,5\na,1,1,5\n").code, "trace-duplicate-id");
  EXPECT_EQ(code(std::string(1'000'000, ',') + "\n").code, "trace-columns");
  EXPECT_EQ(code(header + std::string(1'000'000, ',') + "\n").code, "trace-row");
  EXPECT_EQ(read_trace("/no/such/file", {}).error().code, "no-such-file");
}

TEST(Traces, hold_sizes_of_models_numbers_of_gpus_and_roles_and_write_them_as_they_came) {
  const std::string text =
      "job_id,submit_time_s,gpus,duration_s,gpus_min,gpus_max,model_bytes,largest_tensor_bytes,gpus_allowed,roles\n"
      "a,0,4,5,1,8,400,300,1|2|4|8,\n"
      "b,0,3,5,1,4,,,,scheduler 1 gpus=0 cpus=1.5|server 2 gpus=0 mem_mib=8192|worker 1..4 cpus=2\n";
  const Trace trace = good(text);
  EXPECT_EQ(trace.details_of(trace.jobs[0])->model->parameter_bytes, 400);
  EXPECT_EQ(trace.details_of(trace.jobs[0])->model->largest_tensor_bytes, 300);
  EXPECT_EQ(trace.details_of(trace.jobs[0])->model->gpu_counts_allowed, (std::vector<int>{1, 2, 4, 8}));
  const std::vector<Role>& roles = trace.details_of(trace.jobs[1])->model->roles;
  ASSERT_EQ(roles.size(), 3u);
  EXPECT_EQ(roles[0].demand[Resource::cpu], 1.5);
  EXPECT_EQ(roles[1].count_min, 2);
  EXPECT_EQ(roles[1].gpus, 0);
  EXPECT_EQ(roles[1].demand[Resource::memory], 8192.0 * 1024 * 1024);
  EXPECT_EQ(roles[2].count_wanted, 4);
  EXPECT_EQ(to_csv(trace), text);
  EXPECT_TRUE(lost_in_csv(trace).empty());
}

const std::string array_header = "job_id,submit_time_s,gpus,duration_s,user,status,array,max_running\n";

TEST(Traces, hold_arrays_and_write_them_as_they_came) {
  const std::string text =
      array_header + "a,0,2,5,mei,,sweep,2\nb,0,2,7,mei,,sweep,2\nc,0,1,5,mei,,,\nd,9,1,5,mei,,x,\n";
  const Trace trace = good(text);
  EXPECT_EQ(array_at(trace, 0), 2U);
  EXPECT_EQ(array_at(trace, 1), 1U) << "from there on";
  EXPECT_EQ(array_at(trace, 2), 0U);
  EXPECT_EQ(array_at(trace, 3), 1U);
  EXPECT_EQ(trace.details_of(trace.jobs[1])->array, "sweep");
  EXPECT_EQ(trace.details_of(trace.jobs[1])->max_running, 2);
  EXPECT_EQ(trace.details_of(trace.jobs[3])->max_running, 0);
  const Trace again = good(to_csv(trace));
  ASSERT_EQ(again.jobs.size(), 4U);
  EXPECT_EQ(*again.details_of(again.jobs[0]), *trace.details_of(trace.jobs[0]));
  EXPECT_EQ(array_at(again, 0), 2U);
  EXPECT_EQ(lost_in_swf(trace).back(), "arrays");
}

TEST(Traces, have_arrays_whose_jobs_follow_each_other_and_are_alike) {
  const auto message = [](const std::string& rows) {
    const auto trace = parse_trace(array_header + rows, {.everything = true});
    return trace.ok() ? std::string("ok") : trace.error().code + ": " + trace.error().message;
  };
  EXPECT_EQ(message("a,0,2,5,,Pass,x,2\nb,0,2,7,,Killed,x,2\n"), "ok") << "how they ended there may differ";
  EXPECT_EQ(message("a,0,2,5,,,x,\nc,1,1,5,,,,\nb,0,2,7,,,x,\n"), "ok") << "once they are sorted";
  EXPECT_EQ(message("a,0,2,5,,,x,\nc,0,1,5,,,,\nb,0,2,7,,,x,\n"),
            "trace-array: job b of array x is apart from the others: jobs of an array follow each other");
  for (const char* second :
       {"b,1,2,5,,,x,2\n", "b,0,1,5,,,x,2\n", "b,0,2,5,mei,,x,2\n", "b,0,2,5,,,x,3\n", "b,0,2,5,,,x,\n"})
    EXPECT_EQ(message(std::string("a,0,2,5,,,x,2\n") + second),
              "trace-array: job b of array x is not as the one before: only their job_id and duration_s may differ");
  EXPECT_EQ(message("a,0,2,5,,,,2\n"), "trace-row: line 2: max_running without an array");
  EXPECT_EQ(message("a,0,2,5,,,x,-1\n"), "trace-row: line 2: max_running is not a valid whole number: -1");
  EXPECT_EQ(message("a,0,2,5,,,x,many\n"), "trace-row: line 2: max_running is not a valid whole number: many");
}

const std::string order_header = "job_id,submit_time_s,gpus,duration_s,after,on,not_on\n";

TEST(Traces, hold_what_jobs_come_after_and_where_they_may_run_and_write_it_as_it_came) {
  const std::string text = order_header + "a,0,1,5,,gpu0|rack=a,\nb,0,1,5,a,,gpu1\nc,1,1,5,a|b,,\n";
  const Trace trace = good(text);
  EXPECT_EQ(trace.details_of(trace.jobs[2])->after, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(trace.details_of(trace.jobs[0])->on, (std::vector<std::string>{"gpu0", "rack=a"}));
  EXPECT_EQ(trace.details_of(trace.jobs[1])->not_on, std::vector<std::string>{"gpu1"});
  EXPECT_EQ(to_csv(trace), text);
  EXPECT_EQ(lost_in_swf(trace),
            (std::vector<std::string>{"job ids (numbered instead)", "what jobs come after", "choices of servers"}));
}

TEST(Traces, name_what_swf_has_no_place_for) {
  const auto lost = [](const std::string& column, const std::string& value) {
    return lost_in_swf(good("job_id,submit_time_s,gpus,duration_s," + column + "\n1,0,2,5," + value + "\n"));
  };
  EXPECT_EQ(lost("epochs", "3"), std::vector<std::string>{"facts of trainings"});
  EXPECT_EQ(lost("roles", "scheduler 1 gpus=0 cpus=1|worker 2 cpus=2").back(), "roles");
  EXPECT_EQ(lost("profile", "pytorch-mnist"), std::vector<std::string>{"profiles"});
  EXPECT_EQ(lost("est_duration_s", "3"), std::vector<std::string>{});
}

TEST(Traces, have_jobs_that_wait_for_earlier_ones_only) {
  const auto message = [](const std::string& rows, TraceOptions options = {.everything = true}) {
    const auto trace = parse_trace(order_header + rows, options);
    return trace.ok() ? to_csv(*trace) : trace.error().code + ": " + trace.error().message;
  };
  EXPECT_EQ(message("b,1,1,5,a,,\na,0,1,5,,,\n"), "job_id,submit_time_s,gpus,duration_s,after\na,0,1,5,\nb,1,1,5,a\n")
      << "once they are sorted";
  for (const char* rows : {"a,0,1,5,a,,\n", "a,0,1,5,b,,\nb,1,1,5,,,\n", "a,0,1,5,b,,\nb,0,1,5,a,,\n"})
    EXPECT_TRUE(message(rows).starts_with("trace-after: job a is after ")) << message(rows);
  EXPECT_EQ(message("a,0,1,5,,,\nb,1,1,5,x,,\n"), "trace-after: job b is after x, which is not submitted before it");
  EXPECT_EQ(message("x,0,1,5,,,\na,1,1,5,x,,\ny,2,1,5,,,\nb,3,1,5,x,,\n").substr(0, 6), "job_id")
      << "jobs that are after the same share what is stated of them";
  EXPECT_EQ(message("a,0,9,5,,,\nb,1,1,5,a,,\n", {.gpus_max = 4}), "job_id,submit_time_s,gpus,duration_s\nb,1,1,5\n")
      << "one that is left out is waited for no more";
  const std::string arrays = "job_id,submit_time_s,gpus,duration_s,array,after\n";
  EXPECT_TRUE(parse_trace(arrays + "a,0,1,5,x,\nb,0,1,5,x,\nc,0,1,5,,x\n", {}).ok()) << "all of an array";
  EXPECT_EQ(parse_trace(arrays + "a,0,1,5,x,\nc,0,1,5,,x\nb,1,1,5,x,\n", {}).error().code, "trace-after");
  for (const char* column : {"a|", "|a", "a||b"})
    EXPECT_EQ(message("a,0,1,5,,,\nb,0,1,5," + std::string(column) + ",,\n"),
              "trace-row: line 3: after is not a valid list, like a|b: " + std::string(column));
  EXPECT_TRUE(message("a,0,1,5,,gpu0|,\n").starts_with("trace-row: line 2: on is not a valid list"));
  EXPECT_TRUE(message("a,0,1,5,,,|\n").starts_with("trace-row: line 2: not_on is not a valid list"));
}

TEST(Traces, take_the_range_of_gpus_from_roles_and_from_the_numbers_that_are_allowed) {
  const Trace trace = good(
      "job_id,submit_time_s,gpus,duration_s,gpus_allowed,roles\n"
      "a,0,2,5,2|4,\nb,0,2,5,,ps 1 gpus=0|worker 1..3|chief 1\n");
  EXPECT_EQ(trace.details_of(trace.jobs[0])->gpus_max, 4);
  EXPECT_EQ(trace.details_of(trace.jobs[1])->gpus_min, 2);
  EXPECT_EQ(trace.details_of(trace.jobs[1])->gpus_max, 4);
}

TEST(Traces, refuse_numbers_of_gpus_and_roles_that_make_no_sense) {
  const std::string start = "job_id,submit_time_s,gpus,duration_s,gpus_allowed,roles\na,0,3,5,";
  for (const char* row : {"1|2,", "3|2,", "3|x,", "0|3,", "3|3,", ",worker 4", ",worker 3 gpus=2", ",worker 0..3",
                          ",worker 3 disks=1", ",worker", ",ps 3 gpus=0", ",w 2|w 1", "3,worker 3"})
    EXPECT_EQ(bad(start + row + "\n").code, "trace-row") << row;
}

TEST(Traces, count_what_they_drop_and_clip) {
  TraceOptions options;
  options.gpus_max = 4;
  options.duration_min = Duration::whole_seconds(1);
  options.duration_max = Duration::whole_seconds(100);
  const auto trace =
      parse_trace("gpus,job_id,duration_s,submit_time_s,user\n8,a,5,0,u\n0,b,5,0,u\n2,c,500,7,u\n1,d,0,3,u\n", options);
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->report.dropped_oversize, 1);
  EXPECT_EQ(trace->report.dropped_without_gpus, 1);
  EXPECT_EQ(trace->report.clipped_duration, 2);
  EXPECT_TRUE(trace->report.was_unsorted);
  EXPECT_EQ(trace->jobs.front().id(), "d");
}

TEST(Traces, clip_to_the_largest_number_of_gpus_within_the_limit_that_a_job_names) {
  TraceOptions options;
  options.gpus_max = 8;
  options.oversize = Oversize::clip;
  const auto trace = parse_trace(
      "job_id,submit_time_s,gpus,duration_s,gpus_allowed\na,0,16,5,4|16\nb,0,16,5,\nc,0,16,5,10|16\nd,0,2,5,2|16\n",
      options);
  ASSERT_TRUE(trace.ok());
  ASSERT_EQ(trace->jobs.size(), 3u);
  EXPECT_EQ(trace->jobs[0].gpus, 4);
  EXPECT_EQ(trace->jobs[1].gpus, 8);
  EXPECT_EQ(trace->jobs[2].gpus, 2);
  EXPECT_EQ(trace->report.clipped_gpus, 2);
  EXPECT_EQ(trace->report.dropped_oversize, 1);
}

// Else it could not be read again, nor be given fewer GPUs than the limit.
TEST(Traces, end_the_range_of_a_job_where_it_is_clipped) {
  TraceOptions options;
  options.gpus_max = 8;
  options.oversize = Oversize::clip;
  const auto trace = parse_trace(
      "job_id,submit_time_s,gpus,duration_s,gpus_min,gpus_max\na,0,16,5,12,32\nb,0,16,5,2,16\nc,0,8,5,2,32\n", options);
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(to_csv(*trace),
            "job_id,submit_time_s,gpus,duration_s,gpus_min,gpus_max\na,0,8,5,8,8\nb,0,8,5,2,8\nc,0,8,5,2,32\n");
}

TEST(Traces, may_have_a_byte_order_mark_crlf_quotes_and_empty_lines) {
  const Trace trace =
      good("\xEF\xBB\xBF\"job_id\",submit_time_s,\"gpus\",duration_s\r\n\r\n\"a,b\",\"0\",1,5\r\n\nc,1,2,6");
  ASSERT_EQ(trace.jobs.size(), 2u);
  EXPECT_EQ(trace.jobs[0].id(), "a,b");
  EXPECT_EQ(trace.jobs[1].duration, Duration::whole_seconds(6));
  EXPECT_EQ(to_csv(trace), header + "\"a,b\",0,1,5\nc,1,2,6\n");
}

TEST(Traces, refuse_quotes_that_are_not_around_a_field) {
  for (const char* row : {"\"a,0,1,5", "a\",0,1,5", "\"a\"b,0,1,5", "a,0,1,5\""})
    EXPECT_EQ(bad(header + row + "\n").code, "trace-row") << row;
  EXPECT_EQ(bad("\"job_id,gpus\n").code, "trace-columns");
}

TEST(Traces, names_may_hold_quotes_commas_and_line_ends) {
  const Trace trace = good(header + "\"say \"\"hi\"\", twice\",0,1,5\n\"two\nlines\",1,1,5\n");
  ASSERT_EQ(trace.jobs.size(), 2u);
  EXPECT_EQ(trace.jobs[0].id(), "say \"hi\", twice");
  EXPECT_EQ(trace.jobs[1].id(), "two\nlines");
  EXPECT_EQ(to_csv(trace), to_csv(good(to_csv(trace))));
}

TEST(Traces, end_a_line_of_a_hundred_megabytes_with_an_error) {
  const std::string wide = std::string(50'000'000, 'x') + std::string(50'000'000, ',');
  EXPECT_EQ(bad(wide).code, "trace-columns");
  EXPECT_EQ(bad(header + wide + "\n").code, "trace-row");
  const Error long_id = bad(header + std::string(100'000'000, 'x') + ",0,1,5\n");
  EXPECT_EQ(long_id.code, "trace-row");
  EXPECT_LT(long_id.message.size(), 200u);
  EXPECT_EQ(bad(header + "a," + std::string(100'000'000, '1') + ",1,5\n").code, "trace-row");
}

// As spreadsheets write them: what is no text could not be told in JSON.
TEST(Traces, in_another_character_set_are_refused_with_the_line) {
  const Error error = bad(header + "a,0,1,5\nM\xfcller,0,1,5\n");
  EXPECT_EQ(error.code, "trace-row");
  EXPECT_EQ(error.message, "line 3 is no UTF-8 text");
  EXPECT_EQ(good(header + "M\xc3\xbcller,0,1,5\n").jobs.size(), 1u);
}

TEST(Traces, show_binary_garbage_without_control_characters) {
  const Error error =
      bad(std::string("\x7f"
                      "ELF\0\x1b[31m\xff\n\0\0",
                      14));
  EXPECT_EQ(error.code, "trace-columns");
  for (const char c : error.notes.front()) EXPECT_TRUE(c >= ' ' && c < 127);
}

TEST(Traces, name_the_line_of_what_is_senseless_in_every_column) {
  const std::map<std::string, std::string> senseless = {
      {"est_duration_s", "-1"}, {"deadline_s", "nan"},  {"priority", "high"},   {"gpus_min", "0.5"},
      {"gpus_max", "1e99"},     {"gpu_share", "1.5"},   {"cpus", "-1"},         {"mem_mib", "inf"},
      {"memory_bytes", "x"},    {"profile", "quantum"}, {"disk_mib", "-1"},     {"net_mbit_s", "1,"},
      {"gpus_min", "2"},        {"gpus_min", "0"},      {"iterations", "lots"}, {"orig_start_s", "-5"},
      {"gpu_type", "|"}};
  TraceOptions options;
  options.everything = true;
  for (const auto& [column, value] : senseless) {
    const Error error =
        bad("job_id,submit_time_s,gpus,duration_s," + column + "\na,0,1,5,\nb,0,1,5," + value + "\n", options);
    EXPECT_EQ(error.code, "trace-row") << column;
    EXPECT_TRUE(error.message.starts_with("line 3: ")) << error.message;
  }
}

// Parts of a priority would be lost, so that 0.9 and 0.1 were one; a type without a name would be any type.
TEST(Traces, are_refused_rather_than_changed) {
  const std::string columns = "job_id,submit_time_s,gpus,duration_s,priority,gpu_type\n";
  EXPECT_EQ(bad(columns + "a,0,1,5,0.9,\n").code, "trace-row");
  EXPECT_EQ(bad(columns + "a,0,1,5,1,V100|\n").code, "trace-row");
  EXPECT_EQ(bad(columns + "a,0,1,5,1,|V100\n").code, "trace-row");
  const Trace trace = good(columns + "a,0,1,5,2.0,\nb,0,1,5,-3,V100\n");
  EXPECT_EQ(trace.details_of(trace.jobs[0])->priority, 2);
  EXPECT_EQ(trace.details_of(trace.jobs[1])->priority, -3);
}

TEST(Traces, state_memory_once) {
  const std::string memory = "job_id,submit_time_s,gpus,duration_s,mem_mib,memory_bytes\n";
  EXPECT_EQ(bad(memory + "a,0,1,5,4096,1\n").code, "trace-columns");
}

TEST(Traces, leave_out_of_memory_what_no_simulation_uses) {
  const std::string text = "job_id,submit_time_s,gpus,duration_s,orig_start_s,qos\na,0,1,5,7,LS\nb,0,1,5,whenever,BE\n";
  EXPECT_TRUE(good(text).details.empty());
  TraceOptions options;
  options.everything = true;
  EXPECT_EQ(bad(text, options).code, "trace-row");
}

TEST(Traces, share_details_of_jobs_that_are_alike) {
  const Trace trace = good(
      "job_id,submit_time_s,gpus,duration_s,vc,gpu_type\na,0,1,5,x,V100|T4\nb,0,1,5,y,\nc,0,1,5,x,V100|T4\nd,0,1,5,,"
      "\n");
  EXPECT_EQ(trace.details.size(), 2u);
  EXPECT_EQ(trace.jobs[0].details, trace.jobs[2].details);
  EXPECT_EQ(trace.details_of(trace.jobs[3]), nullptr);
  EXPECT_EQ(trace.details_of(trace.jobs[0])->gpu_types, (std::vector<std::string>{"V100", "T4"}));
}

// The indented block under "## Example".
std::string example_of(const std::string& document, const std::string& heading) {
  std::ifstream file(document);
  std::string line, text;
  while (std::getline(file, line) && line != heading) continue;
  while (std::getline(file, line) && !line.starts_with("#")) {
    if (line.starts_with("    ")) text += line.substr(4) + "\n";
  }
  return text;
}

TEST(Traces, are_as_their_document_shows) {
  const std::string document = SCHEDULEARN_FIXTURES "/../../docs/formats/trace.md";
  const std::string text = example_of(document, "## Example");
  const Trace trace = good(text);
  EXPECT_EQ(trace.jobs.size(), 3u);
  EXPECT_EQ(trace.details_of(trace.jobs[1])->gpus_max, 8);
  EXPECT_EQ(to_csv(trace), text);
  const std::string with_array = example_of(document, "## Arrays");
  EXPECT_EQ(array_at(good(with_array), 0), 3u);
  EXPECT_EQ(to_csv(good(with_array)), with_array);
}

TEST(Traces, know_speeds_by_profile_or_by_list) {
  const std::string with_profile = "job_id,submit_time_s,gpus,duration_s,profile\n";
  const Trace trace = good(with_profile + "a,0,1,5,amdahl:0.5\nb,0,1,5,speedup:1|1.5\n");
  EXPECT_NEAR(trace.details_of(trace.jobs[0])->model->speed_curve.table()[3], 1.6, 1e-12);
  EXPECT_EQ(trace.details_of(trace.jobs[1])->model->speed_curve.table(), (std::vector<double>{1, 1.5}));
  EXPECT_EQ(to_csv(trace), with_profile + "a,0,1,5,amdahl:0.5\nb,0,1,5,speedup:1|1.5\n");
  for (const char* profile :
       {"amdahl:2", "amdahl:", "speedup:", "speedup:2", "speedup:1|", "speedup:1|-1", "speedup:1;2"})
    EXPECT_EQ(bad(with_profile + "a,0,1,5," + profile + "\n").code, "trace-row") << profile;
}

// In a process of its own: profiles are kept for as long as it lives.
TEST(TracesDeathTest, name_ten_thousand_profiles_at_most) {
  const auto name_many = [] {
    std::string code;
    for (int i = 1; code.empty() && i < 20'000; ++i) {
      const auto found = find_profile("speedup:1|" + std::to_string(i));
      if (!found.ok()) code = found.error().code;
    }
    std::exit(code == "too-many-profiles" ? 0 : 1);
  };
  EXPECT_EXIT(name_many(), testing::ExitedWithCode(0), "");
  EXPECT_EQ(find_profile("pytorch-mnits").error().code, "unknown-profile");
}

TEST(Traces, take_tenants_for_users_only_where_no_user_is_named) {
  const std::string both = "job_id,submit_time_s,gpus,duration_s,user,vc\n";
  const Trace tenants = good(both + "a,0,1,5,,x\nb,0,1,5,,y\nc,0,1,5,,x\n");
  EXPECT_EQ(tenants.users, (std::vector<std::string>{"", "x", "y"}));
  EXPECT_EQ(tenants.jobs[2].user, 1u);
  EXPECT_EQ(good(both + "a,0,1,5,,x\nb,0,1,5,u,y\n").users, (std::vector<std::string>{"", "u"}));
}

// ---- gzip and files ----

std::string gzip(const std::string& text) {
  libdeflate_compressor* const deflater = libdeflate_alloc_compressor(6);
  std::string out(libdeflate_gzip_compress_bound(deflater, text.size()), '\0');
  out.resize(libdeflate_gzip_compress(deflater, text.data(), text.size(), out.data(), out.size()));
  libdeflate_free_compressor(deflater);
  return out;
}

TEST(Gzip, is_inflated_whole_and_in_several_members) {
  const std::string text = header + "a,0,1,5\n";
  EXPECT_EQ(*inflate_text(gzip(text)), text);
  EXPECT_EQ(*inflate_text(gzip("")), "");
  EXPECT_EQ(*inflate_text(gzip(text) + gzip("b,0,1,5\n")), text + "b,0,1,5\n");
  const std::string zeros(30'000'000, '0');  // a thousand times smaller compressed
  EXPECT_EQ(*inflate_text(gzip(zeros)), zeros);
}

TEST(Gzip, is_unpacked_up_to_a_limit) {
  const std::string text(3 << 20, '0'), compressed = gzip(text);
  EXPECT_EQ(*inflate_text(compressed, text.size()), text);
  const auto refused = inflate_text(compressed, text.size() - 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "trace-too-large");
  EXPECT_EQ(refused.error().message, "the trace has more than 2 MiB of text");
}

TEST(Gzip, is_all_that_is_read_and_what_to_do_is_said) {
  const std::string folder = testing::TempDir();
  for (const auto& [name, begin, unpack] : {std::tuple("a.csv.xz", "\xFD\x37zXZ", "xz -dc "),
                                            {"a.csv.bz2", "BZh91AY&SY", "bzip2 -dc "},
                                            {"a.csv.zst", "\x28\xB5\x2F\xFD", "zstd -dc "},
                                            {"a.csv.zip", "PK\x03\x04", "unzip -p "}}) {
    ASSERT_TRUE(write_text(folder + name, begin).ok());
    const auto refused = read_text(folder + name);
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().code, "trace-compression");
    EXPECT_EQ(refused.error().hints.front(), unpack + folder + name + " | gzip > " + folder + "a.csv.gz");
  }
  for (const char* text : {"BZh,b\n", "BZh", "PK"}) {
    ASSERT_TRUE(write_text(folder + "a.csv", text).ok());
    EXPECT_EQ(*read_text(folder + "a.csv"), text);
  }
}

TEST(Gzip, that_is_cut_off_anywhere_is_an_error) {
  const std::string whole = gzip(header + "a,0,1,5\nb,0,1,5\n");
  for (std::size_t length = 2; length < whole.size(); ++length)
    EXPECT_EQ(inflate_text(whole.substr(0, length)).error().code, "trace-damaged") << length;
}

TEST(Gzip, with_a_wrong_checksum_length_or_tail_is_an_error) {
  const std::string whole = gzip(header + "a,0,1,5\nb,0,1,5\n");
  for (const std::size_t behind : {1u, 4u, 5u, 8u}) {
    std::string damaged = whole;
    damaged[damaged.size() - behind] = static_cast<char>(damaged[damaged.size() - behind] ^ 1);
    EXPECT_EQ(inflate_text(damaged).error().code, "trace-damaged") << behind;
  }
  EXPECT_EQ(inflate_text(whole + "more").error().code, "trace-damaged");
  EXPECT_EQ(inflate_text(whole + whole.substr(0, 12)).error().code, "trace-damaged");
}

class Files : public testing::Test {
 protected:
  Files() { std::filesystem::create_directory(folder_); }
  ~Files() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_ = testing::TempDir() + "trace_test_" + std::to_string(::getpid());
};

TEST_F(Files, are_gzip_or_plain_by_content_and_not_by_name) {
  const std::string text = header + "a,0,1,5\n";
  for (const char* name : {"t.csv", "t.csv.gz"}) {
    ASSERT_TRUE(write_text(path(name), text).ok());
    EXPECT_EQ(*read_text(path(name)), text);
  }
  EXPECT_EQ(read_trace(path("t.csv"), {.text_max = text.size()})->jobs.size(), 1U);
  for (const char* name : {"t.csv", "t.csv.gz"})
    EXPECT_EQ(read_trace(path(name), {.text_max = text.size() - 1}).error().code, "trace-too-large") << name;
  std::filesystem::rename(path("t.csv.gz"), path("renamed.csv"));
  EXPECT_EQ(*read_text(path("renamed.csv")), text);
  ASSERT_TRUE(write_text(path("a.gz"), text).ok());
  ASSERT_TRUE(write_text(path("b.gz"), text).ok());
  std::ifstream a(path("a.gz")), b(path("b.gz"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(a), {}), std::string(std::istreambuf_iterator<char>(b), {}));
}

TEST_F(Files, that_are_no_traces_are_errors) {
  EXPECT_EQ(read_trace(path("none"), {}).error().code, "no-such-file");
  EXPECT_EQ(read_trace(path(""), {}).error().code, "not-a-file");
  EXPECT_EQ(read_trace("/dev/null", {}).error().code, "trace-columns");
  EXPECT_EQ(open_trace("poison", 1, {}).error().hints.front(), "did you mean poisson?");
}

TEST_F(Files, appear_only_when_they_are_whole) {
  EXPECT_EQ(write_text(path("no/such/folder.csv"), "x").error().code, "cannot-write");
  EXPECT_FALSE(write_text("/dev/full/x", "x").ok());
  ASSERT_TRUE(write_text(path("t.csv"), "x").ok());
  EXPECT_EQ(write_text(path(""), "x").error().code, "cannot-write");
  const auto files = std::filesystem::directory_iterator(path(""));
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST_F(Files, are_written_where_links_lead_and_devices_stay_what_they_are) {
  std::filesystem::create_symlink("real.csv", path("link.csv"));
  for (const char* text : {"first", "second"}) {
    ASSERT_TRUE(write_text(path("link.csv"), text).ok());
    EXPECT_TRUE(std::filesystem::is_symlink(path("link.csv")));
    EXPECT_EQ(*read_text(path("real.csv")), text);
  }
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const int reader = ::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_TRUE(write_text(path("pipe"), "through").ok());
  std::array<char, 16> got{};
  EXPECT_EQ(::read(reader, got.data(), got.size()), 7);
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
}

// ---- Properties ----

std::string shuffled_rows(Random& random, int rows, bool one_time) {
  std::vector<std::string> lines;
  for (int i = 0; i < rows; ++i) {
    lines.push_back(std::to_string(i) + "," + std::to_string(one_time ? 7 : random.integer(0, 20)) + "," +
                    std::to_string(random.integer(0, 9)) + "," + std::to_string(random.integer(1, 100)) + "\n");
  }
  for (std::size_t i = lines.size(); i > 1; --i)
    std::swap(lines[i - 1], lines[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i) - 1))]);
  std::string text = header;
  for (const std::string& line : lines) text += line;
  return text;
}

std::multimap<std::string, std::int64_t> jobs_of(const Trace& trace) {
  std::multimap<std::string, std::int64_t> jobs;
  for (const TraceJob& job : trace.jobs) jobs.emplace(job.id(), job.duration.us + job.gpus);
  return jobs;
}

RC_GTEST_PROP(TraceProperty, is_sorted_and_counts_every_row_whatever_the_order, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  TraceOptions options;
  options.gpus_max = 6;
  const Trace trace = good(shuffled_rows(random, 80, false), options);
  RC_ASSERT(std::is_sorted(trace.jobs.begin(), trace.jobs.end(),
                           [](const TraceJob& a, const TraceJob& b) { return a.submitted < b.submitted; }));
  const auto kept = static_cast<std::int64_t>(trace.jobs.size());
  RC_ASSERT(kept + trace.report.dropped_oversize + trace.report.dropped_without_gpus == trace.report.rows);
}

RC_GTEST_PROP(TraceProperty, rows_of_one_time_in_another_order_are_the_same_jobs, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto rows = [&](std::uint64_t order) {
    Random values(seed), other(order);
    std::string text = shuffled_rows(values, 40, true);
    std::vector<std::string> lines;
    for (std::size_t at = header.size(); at < text.size();) {
      const std::size_t end = text.find('\n', at) + 1;
      lines.push_back(text.substr(at, end - at));
      at = end;
    }
    for (std::size_t i = lines.size(); i > 1; --i)
      std::swap(lines[i - 1], lines[static_cast<std::size_t>(other.integer(0, static_cast<std::int64_t>(i) - 1))]);
    text = header;
    for (const std::string& line : lines) text += line;
    return jobs_of(good(text));
  };
  RC_ASSERT(rows(1) == rows(2));
}

TEST(Summary, has_figures_by_hand) {
  const Trace trace = good("job_id,submit_time_s,gpus,duration_s,user\na,0,1,10,u\nb,5,2,20,v\nc,10,2,60,u\n");
  const TraceSummary summary = summarize(trace);
  EXPECT_EQ(summary.users, 2);
  EXPECT_DOUBLE_EQ(summary.gpu_s, 170);
  EXPECT_DOUBLE_EQ(summary.span_s(), 10);
  EXPECT_DOUBLE_EQ(offered_load(trace, 17), 1);
  EXPECT_DOUBLE_EQ(summary.gap_mean_s, 5);
  EXPECT_EQ(summary.by_gpus.at(2).jobs, 2);
  EXPECT_EQ(summary.durations_s[3], (std::pair<double, double>{50, 20}));
  EXPECT_DOUBLE_EQ(offered_load(good(header + "a,0,1,10\n"), 1), 0);
}

TEST(Load, is_set_by_moving_submissions_and_their_deadlines) {
  Trace trace = good("job_id,submit_time_s,gpus,duration_s,deadline_s\na,100,1,10,130\nb,105,2,20,\nc,110,2,60,150\n");
  ASSERT_TRUE(set_load(trace, 17, 0.5));  // it is 1
  EXPECT_DOUBLE_EQ(offered_load(trace, 17), 0.5);
  EXPECT_EQ(trace.jobs[0].submitted, Instant::at_seconds(100));
  EXPECT_EQ(trace.jobs[1].submitted, Instant::at_seconds(110));
  EXPECT_EQ(trace.jobs[2].submitted, Instant::at_seconds(120));
  EXPECT_EQ(trace.details_of(trace.jobs[0])->deadline, Instant::at_seconds(130));
  EXPECT_EQ(trace.details_of(trace.jobs[2])->deadline, Instant::at_seconds(160));
  Trace at_once = good(header + "a,0,1,10\nb,0,1,10\n");
  EXPECT_FALSE(set_load(at_once, 1, 0.5));
}

TEST(Profiles, a_file_that_is_wrong_is_named_with_the_place_in_it) {
  const std::string path = testing::TempDir() + "profile" + std::to_string(::getpid()) + ".json";
  std::ofstream(path) << R"({"schedulearn_profile": 1, "family": "f", "speeds": [{"gpus": 2}]})";
  EXPECT_EQ(read_profiles({path}).error().notes.at(0), "in " + path + " at /speeds/0/steps_per_s");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace sl::trace
