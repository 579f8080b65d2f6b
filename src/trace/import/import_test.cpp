#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "trace/import/intake.h"
#include "trace/workloads.h"
#include "trace/writer.h"

namespace sl::trace {
namespace {

using Counts = std::map<std::string, std::int64_t>;

Imported good(Result<Imported> result) {
  if (!result.ok()) ADD_FAILURE() << result.error().message;
  SL_CHECK(result.ok(), "the files of tests are valid");
  return std::move(*result);
}

Trace reread(const std::string& csv) {
  TraceOptions options;
  options.everything = true;
  auto trace = parse_trace(csv, options);
  if (!trace.ok()) ADD_FAILURE() << trace.error().message << "\n" << csv.substr(0, 500);
  SL_CHECK(trace.ok(), "what we write can be read");
  return std::move(*trace);
}

// ---- Philly ----

std::string philly_job(const std::string& id, const std::string& attempts,
                       const std::string& submitted = "2017-10-07 01:11:39") {
  return R"({"status": "Pass", "vc": "ee9e8c", "jobid": ")" + id + R"(", "attempts": [)" + attempts +
         R"(], "submitted_time": ")" + submitted + R"(", "user": "ce2f4c"})";
}

std::string philly_attempt(const std::string& start, const std::string& end, const std::string& gpus) {
  return R"({"start_time": )" + start + R"(, "end_time": )" + end + R"(, "detail": [{"ip": "m47", "gpus": [)" + gpus +
         R"(]}]})";
}

TEST(ImportPhilly, adds_up_the_attempts_of_a_job) {
  const std::string two = philly_attempt(R"("2017-10-07 01:12:09")", R"("2017-10-07 01:13:23")", R"("gpu0","gpu1")") +
                          "," +
                          philly_attempt(R"("2017-10-07 01:13:30")", R"("2017-10-09 06:53:12")", R"("gpu2","gpu3")");
  const Imported imported = good(import_philly("[" + philly_job("application_1", two) + "]", {}));
  ASSERT_EQ(imported.trace.jobs.size(), 1u);
  const TraceJob& job = imported.trace.jobs[0];
  EXPECT_EQ(job.id(), "application_1");
  EXPECT_EQ(job.gpus, 2);
  EXPECT_EQ(job.submitted, Instant{0});
  EXPECT_EQ(job.duration, Duration::whole_seconds(74 + 193182));
  EXPECT_EQ(imported.trace.users[job.user], "ce2f4c");
  const TraceDetails& details = *imported.trace.details_of(job);
  EXPECT_EQ(details.virtual_cluster, "ee9e8c");
  EXPECT_EQ(details.status, "Pass");
  EXPECT_EQ(details.original_start, Instant::at_seconds(30));
}

TEST(ImportPhilly, counts_by_reason_what_is_no_finished_job) {
  const std::string start = R"("2017-10-07 01:12:09")", end = R"("2017-10-07 01:13:23")", gpu = R"("gpu0")";
  const std::string file = "[" + philly_job("ran", philly_attempt(start, end, gpu)) + "," +
                           philly_job("ran", philly_attempt(start, end, gpu)) + "," + philly_job("never", "") + "," +
                           philly_job("running", philly_attempt(start, "null", gpu)) + "," +
                           philly_job("unknown", philly_attempt("null", end, gpu)) + "," +
                           philly_job("backwards", philly_attempt(end, start, gpu)) + "," +
                           philly_job("cpu", philly_attempt(start, end, "")) + "," +
                           philly_job("when", philly_attempt(start, end, gpu), "None") + ", 7]";
  const Imported imported = good(import_philly(file, {}));
  EXPECT_EQ(imported.report.rows, 9);
  EXPECT_EQ(imported.trace.jobs.size(), 1u);
  EXPECT_EQ(imported.report.dropped, (Counts{{"it never ran", 1},
                                             {"it had not ended", 1},
                                             {"no start time", 1},
                                             {"it ends before it starts", 1},
                                             {"no GPU", 1},
                                             {"no submission time", 1},
                                             {"a job with this id came before", 1},
                                             {"not a job", 1}}));
}

TEST(ImportPhilly, says_where_the_json_is_broken) {
  EXPECT_EQ(import_philly("[{", {}).error().code, "import-format");
  EXPECT_EQ(import_philly("{}", {}).error().code, "import-format");
  const Error nothing = import_philly("[7]", {}).error();
  EXPECT_EQ(nothing.code, "trace-empty");
  EXPECT_EQ(nothing.notes.front(), "1 left out: not a job");
}

// ---- Helios ----

const std::string helios_header =
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n";

TEST(ImportHelios, takes_the_published_example) {
  const Imported imported = good(import_helios(
      helios_header +
          "1425511,uXBbc,vcJkd,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-10 04:55:09,36848,0\r\n"
          "1425512,uVMrF,vchbv,4,16,1,FAILED,2020-06-09 18:41:27,2020-06-09 18:41:30,2020-06-09 18:45:36,246,3\r\n"
          "1425513,uVMrF,vchbv,0,16,1,FAILED,2020-06-09 18:41:27,2020-06-09 18:41:30,2020-06-09 18:45:36,246,3\n"
          "1425514,uVMrF,vchbv,1,16,1,CANCELLED,2020-06-09 18:41:27,,,0,0\n",
      {}));
  EXPECT_EQ(imported.report.dropped, (Counts{{"no GPU", 1}, {"it never ran", 1}}));
  EXPECT_EQ(to_csv(imported.trace),
            "job_id,submit_time_s,gpus,duration_s,user,cpus,vc,status,orig_start_s\n"
            "1425511,0,1,36848,uXBbc,1,vcJkd,COMPLETED,0\n"
            "1425512,26,4,246,uVMrF,16,vchbv,FAILED,29\n");
}

TEST(ImportHelios, keeps_apart_whom_their_names_tell_apart) {
  const std::string times = ",v,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-09 18:41:11,10,0\n";
  const Imported imported = good(import_helios(helios_header + "a,J\xfcr" + times + "b,J\xf6r" + times, {}));
  EXPECT_EQ(imported.trace.users, (std::vector<std::string>{"", "J%FCr", "J%F6r"}));
  ASSERT_EQ(imported.report.changed.size(), 1U);
  EXPECT_EQ(imported.report.changed.begin()->second, 2);
}

TEST(ImportHelios, says_which_line_is_not_of_the_format) {
  EXPECT_EQ(import_helios("job_id,user\n1,2\n", {}).error().message, "line 1: there is no column vc");
  EXPECT_EQ(import_helios(helios_header + "1,2\n", {}).error().message, "line 2: 2 columns instead of 12");
}

// ---- PAI ----

const std::string pai_jobs =
    "j1,i1,u1,Terminated,100.0,400.0\n"
    "j2,i2,u2,Failed,50.0,90.0\n"
    "j3,i3,u2,Running,60.0,\n"
    "j4,i4,u2,Waiting,70.0,\n"
    "j5,i5,u2,Terminated,80.0,90.0\n"
    "j6,i6,u3,Terminated,200.0,300.0\n";
const std::string pai_tasks =
    "j1,ps,1.0,Terminated,110.0,390.0,600.0,29.296875,,\n"
    "j1,worker,2.0,Terminated,120.0,390.0,400.0,29.296875,50.0,T4\n"
    "j2,tensorflow,1.0,Failed,60.0,90.0,600.0,29.296875,25.0,MISC\n"
    "j3,tensorflow,1.0,Running,65.0,,600.0,29.296875,100.0,V100\n"
    "j5,tensorflow,1.0,Terminated,85.0,90.0,600.0,29.296875,,\n"
    "j6,worker,3.0,Terminated,210.0,290.0,100.0,1,50.0,T4\n";

TEST(ImportPai, keeps_jobs_without_gpus_if_asked_to) {
  TraceOptions keep;
  keep.keeps_without_gpus = true;
  const Imported imported = good(import_pai(pai_jobs, pai_tasks, keep));
  EXPECT_EQ(imported.report.dropped, (Counts{{"it had not ended", 1}, {"none of its tasks is known", 1}}));
  EXPECT_NE(to_csv(imported.trace).find("\nj5,30,0,5,u2,,,6,30000,Terminated,35\n"), std::string::npos)
      << to_csv(imported.trace);
}

TEST(ImportPai, joins_jobs_and_tasks_and_keeps_shares_of_a_gpu) {
  const Imported imported = good(import_pai(pai_jobs, pai_tasks, {}));
  EXPECT_EQ(imported.report.dropped,
            (Counts{{"it had not ended", 1}, {"none of its tasks is known", 1}, {"no GPU", 1}}));
  EXPECT_EQ(imported.report.changed, (Counts{{"rounded up to whole GPUs", 1}}));
  EXPECT_EQ(to_csv(imported.trace),
            "job_id,submit_time_s,gpus,duration_s,user,gpu_share,gpu_type,cpus,mem_mib,status,orig_start_s\n"
            "j2,0,1,30,u2,0.25,MISC,6,30000,Failed,10\n"
            "j1,50,1,270,u1,,T4,14,90000,Terminated,70\n"
            "j6,150,2,80,u3,,T4,3,3072,Terminated,160\n");
}

TEST(ImportPai, takes_its_two_tables_in_any_order_and_with_header_lines) {
  const std::string jobs = "job_name,inst_id,user,status,start_time,end_time\n" + pai_jobs;
  EXPECT_EQ(to_csv(good(import_pai(pai_tasks, jobs, {})).trace),
            to_csv(good(import_pai(pai_jobs, pai_tasks, {})).trace));
  EXPECT_EQ(import_pai(pai_jobs, pai_jobs, {}).error().code, "import-format");
  EXPECT_EQ(import_pai(pai_jobs + "x\n", pai_tasks, {}).error().message, "line 7: 1 columns instead of 6");
  EXPECT_EQ(import_trace(ImportFormat::pai, {pai_jobs}, {}).error().code, "import-files");
}

// ---- SWF ----

const std::string swf_file =
    "; Version: 2.2\n"
    ";   1   2   3   4  5  6  7  8   9  10 11 12 13 14 15 16 17 18\n"
    "    1   0  10 100  4 -1 -1 -1 120  -1  1  3  2  7  1 -1 -1 -1\n"
    "    2   5  -1  50  8 -1 -1 16  -1 1024  0  4 -1 -1 -1 -1 -1 -1\r\n"
    "\n"
    "    3   6   0  50  8 -1 -1 16  -1  -1  2  4 -1 -1 -1 -1 -1 -1\n"
    "    4   7   0  -1  8 -1 -1 16  -1  -1  5  4 -1 -1 -1 -1 -1 -1\n"
    "    5  -1   0  10  8 -1 -1 16  -1  -1  5  4 -1 -1 -1 -1 -1 -1\n"
    "    6   8   0  10 -1 -1 -1 -1  -1  -1  5  4 -1 -1 -1 -1 -1 -1\n"
    "    7   9   0 2.5  1 -1 -1  1  -1  -1  5 -1 -1 -1 -1 -1 -1 -1\n";

TEST(ImportSwf, reads_the_eighteen_fields_in_the_order_of_the_archive) {
  const Imported imported = good(import_swf(swf_file, {}));
  EXPECT_EQ(
      imported.report.dropped,
      (Counts{
          {"part of another job", 1}, {"no duration", 1}, {"no submission time", 1}, {"no number of processors", 1}}));
  EXPECT_EQ(to_csv(imported.trace),
            "job_id,submit_time_s,gpus,duration_s,user,mem_mib,vc,model,status,qos,est_duration_s,orig_start_s\n"
            "1,0,4,100,3,,2,7,completed,1,120,10\n"
            "2,5,16,50,4,16,,,failed,,,\n"
            "7,9,1,2.5,,,,,cancelled,,,9\n");
}

TEST(ImportSwf, says_which_line_is_not_of_the_format) {
  EXPECT_EQ(import_swf(swf_file + "1 2 3\n", {}).error().message, "line 11: 3 fields instead of 18");
}

// ---- There and back ----

TEST(Swf, fields_beyond_the_18_are_an_error_unless_they_are_to_be_ignored) {
  const std::string line = "7 5 0 10 4 -1 -1 4 -1 -1 1 3 1 1 1 -1 -1 -1";
  const auto refused = import_swf(line + " 0.5 extra\n", {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "line 1: more than 18 fields");
  EXPECT_EQ(refused.error().hints.front(), "--extra-fields ignore reads the first 18");
  const Imported read = good(import_swf(line + " 0.5 extra\n" + "8" + line.substr(1) + "\n", {}, ExtraFields::ignore));
  EXPECT_EQ(read.trace.jobs.size(), 2u);
  EXPECT_EQ(to_csv(read.trace), to_csv(good(import_swf(line + "\n8" + line.substr(1) + "\n", {})).trace));
  EXPECT_FALSE(import_swf("1 2 3\n", {}, ExtraFields::ignore).ok());
}

TEST(RoundTrip, swf_to_csv_to_swf_loses_nothing) {
  const Imported first = good(import_swf(swf_file, {}));
  const Trace read = reread(to_csv(first.trace));
  EXPECT_TRUE(lost_in_swf(read).empty());
  const Imported second = good(import_swf(to_swf(read), {}));
  EXPECT_EQ(to_csv(second.trace), to_csv(first.trace));
  EXPECT_EQ(second.report.dropped, Counts{});
}

TEST(RoundTrip, csv_holds_all_that_an_importer_says) {
  const std::string csv = to_csv(good(import_pai(pai_jobs, pai_tasks, {})).trace);
  EXPECT_EQ(to_csv(reread(csv)), csv);
}

RC_GTEST_PROP(RoundTripProperty, every_workload_written_as_csv_is_read_as_the_same_jobs, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  for (const WorkloadInfo& info : workloads()) {
    const auto made = make_workload(info.name, seed, {});
    RC_ASSERT(made.ok());
    const std::string csv = to_csv(*made);
    const Trace read = reread(csv);
    RC_ASSERT(to_csv(read) == csv);
    RC_ASSERT(read.jobs.size() == made->jobs.size());
    for (std::size_t i = 0; i < read.jobs.size(); ++i) {
      RC_ASSERT(read.jobs[i].submitted == made->jobs[i].submitted);
      RC_ASSERT(read.jobs[i].duration == made->jobs[i].duration);
    }
  }
}

TEST(RoundTrip, swf_says_what_it_has_no_place_for) {
  const auto trace = make_workload("poisson:users=3,elastic=1,deadline_slack=1,profile=linear", 1, {});
  EXPECT_EQ(lost_in_swf(*trace),
            (std::vector<std::string>{"names of users (numbered instead)",
                                      "names of virtual clusters, models and queues (numbered instead)", "deadlines",
                                      "ranges of GPUs", "profiles"}));
  EXPECT_EQ(good(import_swf(to_swf(*trace), {})).trace.jobs.size(), trace->jobs.size());
}

TEST(Intake, dates_are_checked) {
  EXPECT_EQ(parse_date_time("1970-01-02 00:00:01"), 86401);
  for (const char* text : {"", "2017-02-30 00:00:00", "2017-13-01 00:00:00", "2017-01-01 24:00:00", "2017-01-01",
                           "None", "2017-1--01 00:00:00", "2017-01-01 00:00:0x"})
    EXPECT_FALSE(parse_date_time(text)) << text;
}

TEST(Intake, names_that_csv_cannot_hold_are_cleaned) {
  EXPECT_EQ(clean("a\"b\nc\x7f"), "a%22b%0Ac%7F");
  EXPECT_EQ(clean("M\xc3\xbcller"), "M\xc3\xbcller");
  EXPECT_EQ(clean("M\xfcller\xc3"), "M%FCller%C3");
}

}  // namespace
}  // namespace sl::trace
