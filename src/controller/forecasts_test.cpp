#include "controller/forecasts.h"

#include <future>
#include <thread>

#include "controller/estimate_views.h"
#include "controller/logic_test.h"
#include "controller/submission_forecast.h"
#include "controller/suggestions.h"
#include "controller/tried_policies.h"
#include "wire/job_spec_text.h"
#include "wire/members.h"

namespace sl::controller {
namespace {

using namespace test;

// Instead of a virtual world: every job that has a length starts at once and ends after it.
forecast::Future at_once(const forecast::Present& present, std::unique_ptr<Policy>,
                         const forecast::FutureSettings& settings) {
  forecast::Future future;
  for (const double left_s : settings.left_s) {
    forecast::Future::Of& of = future.jobs.emplace_back();
    if (left_s == forecast::endless_s) continue;
    of.start = present.now;
    of.finish = present.now + Duration::seconds(left_s);
    of.server = ServerIndex(0);
  }
  return future;
}

class ForecastsTest : public LogicTest {
 protected:
  // What the core's thread is given; the test is that thread.
  Inbox inbox;
  std::unique_ptr<Forecasts> forecasts;
  std::unique_ptr<History> history;
  std::atomic<std::int64_t> worked_us = 0;  // time that futures took

  void begin(forecast::Continue continue_present = at_once) {
    std::vector<std::unique_ptr<store::Reader>> readers;
    readers.push_back(std::make_unique<NoPast>());
    history = std::make_unique<History>(std::move(readers), [this](auto work) { inbox.put(std::move(work)); });
    forecasts = std::make_unique<Forecasts>(
        *logic, std::move(continue_present), OwnPolicyMaker{}, [this] { return now + Duration{worked_us}; },
        [this](auto work) { inbox.put(std::move(work)); });
    logic->set_outlook(&forecasts->outlook());
    forecasts->start(*history);
  }
  ~ForecastsTest() override {
    forecasts.reset();
    history.reset();
  }
  // Waits for a forecast of the present.
  void renew() {
    bool is_there = false;
    forecasts->when_fresh(now, now + Duration::whole_seconds(1'000), [&] { is_there = true; });
    while (!is_there) {
      take_inputs();
      forecasts->on_turn(now);
    }
  }
  void take_inputs() {
    std::deque<std::function<void()>> inputs;
    inbox.take(inputs, std::chrono::milliseconds(20));
    for (auto& input : inputs) input();
  }
  boost::json::value estimate(std::int64_t job) {
    const JobIndex index = logic->core().find(JobId(job));
    return wire::to_value(estimate_view(*logic, index, now));
  }
  void submit_limited(int gpus, double limit_s) {
    Logic::Submission submission;
    submission.spec.command = "true";
    submission.spec.workdir = "/";
    submission.spec.name = "train";
    submission.spec.gpus = {gpus, gpus};
    if (limit_s > 0) submission.spec.time_limit_s = limit_s;
    logic->submit(std::move(submission), now, [](const Result<JobId>&) {});
    settle();
  }
};

TEST_F(ForecastsTest, a_job_of_which_nothing_is_known_says_what_would_give_it_an_estimate) {
  hello();
  begin();
  submit_limited(2, 0);
  renew();
  const boost::json::value shown = estimate(1);
  EXPECT_TRUE(shown.at("finish").is_null());
  EXPECT_EQ(shown.at("confidence"), "unknown");
  EXPECT_NE(shown.at("text").as_string().find("--estimate"), std::string::npos);
}

TEST_F(ForecastsTest, of_a_job_that_is_held_nothing_is_expected) {
  hello();
  begin();
  for (int i = 0; i < 2; ++i) submit_limited(2, 100);
  renew();
  EXPECT_FALSE(estimate(2).at("finish").is_null());
  logic->intervene(JobId(2), *wire::parse_intervention("suspend", ""), "mei", now, [](const Result<JobId>&) {});
  settle();
  EXPECT_EQ(estimate(2).at("text"), "no estimate while it is held") << "also before the next forecast";
  EXPECT_TRUE(estimate(2).at("start").is_null());
  EXPECT_TRUE(estimate(2).at("finish").is_null());
}

TEST(KnownLengths, an_array_is_of_the_kind_of_its_members) {
  wire::JobSpec array;
  array.user = "mei", array.name = "lr-{index}-x", array.command = "python train.py --run {index}", array.array = "0-9";
  Told told;
  told.jobs.push_back({JobId(5), wire::write_json(array)});
  KnownLengths known;
  known.learn(told);
  JobRequest member;
  member.id = JobId(8), member.member_of = JobId(5);  // it has come up, and has not been told
  EXPECT_EQ(known.kind_for(member).family, kind_of(wire::member_spec(array, 5, 2)).family);
}

// Each keeps a copy of the present: whoever asks without end would fill the memory.
TEST_F(ForecastsTest, only_so_many_questions_wait) {
  hello();
  submit_limited(2, 0);
  begin();
  std::promise<void> go;
  forecasts->ask([wait = go.get_future().share()](Forecasts&) { wait.wait(); });
  std::vector<std::string> codes;
  int asked = 0, submissions = 0;
  for (; !forecasts->is_full() && asked < 100; ++asked)
    try_on_present(*forecasts, {}, now,
                   [&](const Result<TriedPolicies>& tried) { codes.push_back(tried.error().code); });
  EXPECT_GT(asked, 4);
  EXPECT_LT(asked, 100);
  try_on_present(*forecasts, {}, now, [&](const Result<TriedPolicies>& tried) { codes.push_back(tried.error().code); });
  EXPECT_EQ(codes, std::vector<std::string>{"forecasts-busy"});
  wire::JobSpec spec;
  spec.command = "true", spec.workdir = "/";
  forecast_submission(*forecasts, *logic, spec, now, [&](const auto& estimate) { submissions += !estimate; });
  EXPECT_EQ(submissions, 1) << "it is accepted all the same";
  go.set_value();
  while (forecasts->is_full()) std::this_thread::yield();
}

TEST_F(ForecastsTest, a_time_limit_gives_a_range_that_ends_with_it) {
  hello();
  begin();
  submit_limited(2, 600);
  renew();
  const boost::json::value shown = estimate(1);
  ASSERT_TRUE(shown.at("finish").is_object()) << boost::json::serialize(shown);
  EXPECT_EQ(shown.at("basis").at(0), "time_limit");
  EXPECT_LE(shown.at("finish").at("p10").as_string(), shown.at("finish").at("p50").as_string());
  EXPECT_LE(shown.at("finish").at("p90").as_string(), rfc3339((now + Duration::whole_seconds(600)).us));
}

TEST_F(ForecastsTest, of_a_job_that_is_not_submitted_yet_it_is_said_when_it_would_start_and_end) {
  hello();
  begin();
  submit_limited(2, 0);
  const auto asked = [this](const std::function<void(wire::JobSpec&)>& more) {
    wire::JobSpec spec;
    spec.command = "python3 train.py";
    spec.workdir = "/";
    more(spec);
    std::optional<std::optional<answers::Estimate>> answer;
    forecast_submission(*forecasts, *logic, spec, now, [&](const auto& estimate) { answer = estimate; });
    while (!answer) take_inputs();
    return wire::to_value(*answer);
  };
  const boost::json::value limited = asked([](wire::JobSpec& spec) { spec.time_limit_s = 600; });
  EXPECT_EQ(limited.at("start").at("p50").as_string(), rfc3339(now.us)) << boost::json::serialize(limited);
  EXPECT_LE(limited.at("finish").at("p90").as_string(), rfc3339((now + Duration::whole_seconds(600)).us));
  EXPECT_EQ(limited.at("basis").at(0), "time_limit");
  EXPECT_FALSE(limited.at("server").is_null());
  EXPECT_TRUE(limited.at("text").is_null());
  const boost::json::value unknown = asked([](wire::JobSpec&) {});
  EXPECT_TRUE(unknown.at("finish").is_null());
  EXPECT_NE(unknown.at("text").as_string().find("--estimate"), std::string::npos);
  EXPECT_EQ(asked([](wire::JobSpec& spec) { spec.hold = true; }).at("text"), "no estimate while it is held");
  EXPECT_TRUE(asked([](wire::JobSpec& spec) { spec.array = "0-3"; }).is_null());
  EXPECT_EQ(logic->core().unfinished(), 1U) << "nothing was submitted";
}

TEST_F(ForecastsTest, what_is_shown_is_kept_for_the_next_commit_and_completed_when_the_job_ends) {
  hello();
  begin();
  submit_limited(2, 600);
  renew();
  const std::vector<store::EstimateRow> kept = forecasts->take_rows();
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept.front().target, "finish");
  EXPECT_FALSE(kept.front().actual_us);
  tell(report(1, 1, "running"));
  pass(30);
  tell(report(1, 1, "exited", 0));
  settle();
  renew();
  bool is_completed = false;
  for (const store::EstimateRow& row : forecasts->take_rows())
    is_completed = is_completed || (row.job_id == 1 && row.target == "finish" && row.actual_us == now.us);
  EXPECT_TRUE(is_completed);
}

// The same inputs with and without forecasts: the same orders and events.
TEST_F(ForecastsTest, decisions_are_the_same_with_and_without_forecasts) {
  struct Tape : controller::Tape {
    void input(Instant at, std::string_view kind, boost::json::object data) override {
      text += std::to_string(at.us) + std::string(kind) + boost::json::serialize(data) + "\n";
    }
    std::string text;
  };
  const auto run = [this](bool with_forecasts) {
    forecasts.reset();
    history.reset();
    world = World();
    calls = 0;
    now = Instant::at_seconds(1'000);
    restart();
    Tape tape;
    logic->record_to(tape);
    hello();
    if (with_forecasts) begin();
    use("fifo_easy");
    for (int i = 0; i < 6; ++i) {
      submit_limited(1 + i % 2, 100 + 50 * i);
      if (with_forecasts) renew();
      pass(10);
      keep_session();
    }
    for (std::int64_t job = 1; job <= 6; ++job) {
      if (state(job) == "starting") tell(report(job, 1, "running"));
      if (state(job) == "running") tell(report(job, 1, "exited", 0));
      if (with_forecasts) renew();
      pass(5);
      keep_session();
    }
    std::string text = tape.text;
    for (const auto& message : world.sent) text += wire::encode(message) + "\n";
    for (const store::EventRow& event : world.events) text += event.kind + event.from + event.to + event.text + "\n";
    return text;
  };
  const std::string without = run(false);
  EXPECT_GT(without.size(), 1'000U);
  EXPECT_NE(without.find("succeeded"), std::string::npos);
  EXPECT_TRUE(run(true) == without);
}

TEST_F(ForecastsTest, a_forecast_that_fails_says_why_and_the_next_one_is_made) {
  hello();
  auto failing = std::make_shared<std::atomic<bool>>(true);
  begin([failing](const forecast::Present& present, std::unique_ptr<Policy> policy,
                  const forecast::FutureSettings& asked) {
    forecast::Future future = at_once(present, std::move(policy), asked);
    if (*failing) future.failure = invalid("policy-failed", "it divides by zero");
    return future;
  });
  submit_limited(2, 600);
  renew();
  EXPECT_EQ(estimate(1).at("text"), "no estimate: it divides by zero");
  *failing = false;
  submit_limited(1, 600);
  renew();
  EXPECT_TRUE(estimate(1).at("finish").is_object());
}

TEST_F(ForecastsTest, nobody_waits_longer_than_asked) {
  hello();
  begin([](const forecast::Present& present, std::unique_ptr<Policy>, const forecast::FutureSettings& asked) {
    forecast::Future future;
    future.jobs.resize(present.jobs.size());
    while (!asked.stop()) std::this_thread::yield();
    future.is_cut = true;
    return future;
  });
  submit_limited(2, 600);
  bool answered = false;
  forecasts->when_fresh(now, now + Duration::milliseconds(100), [&] { answered = true; });
  EXPECT_FALSE(answered);
  EXPECT_EQ(forecasts->next_wake(), now + Duration::milliseconds(100));
  now = now + Duration::milliseconds(100);
  forecasts->on_turn(now);
  EXPECT_TRUE(answered);
}

TEST_F(ForecastsTest, a_long_queue_has_all_its_futures_and_fewer_while_somebody_has_a_question) {
  hello();
  const auto asks = std::make_shared<std::atomic<bool>>(false);
  begin([this, asks](const forecast::Present& present, std::unique_ptr<Policy> policy,
                     const forecast::FutureSettings& asked) {
    worked_us += 250'000;
    if (asks->exchange(false)) forecasts->ask([](Forecasts&) {});
    return at_once(present, std::move(policy), asked);
  });
  submit_limited(2, 600);
  renew();  // what was shown in the past is still being read
  submit_limited(2, 600);
  renew();
  EXPECT_EQ(forecasts->outlook().latest()->forecast.draws, forecast::draws_least);
  *asks = true;
  submit_limited(2, 600);
  renew();
  EXPECT_EQ(forecasts->outlook().latest()->forecast.draws, 13U) << "what took three seconds";
}

// Jobs for one GPU start at once, others in a while; each future of all jobs takes a second, as in a long queue, and
// changes are tried once `may_try` is set.
class SlowSuggestions : public ForecastsTest {
 protected:
  std::promise<void> may_try;
  std::unique_ptr<Suggester> suggester;

  SlowSuggestions() {
    hello();
    begin([this, allowed = may_try.get_future().share()](const forecast::Present& present, std::unique_ptr<Policy>,
                                                         const forecast::FutureSettings& asked) {
      if (asked.until_end_of) allowed.wait();
      if (!asked.until_end_of) worked_us += 1'000'000;
      forecast::Future future;
      for (std::size_t at = 0; at < present.jobs.size(); ++at) {
        const bool waits = present.jobs[at].allocation.empty() && present.jobs[at].request.gpus > 1;
        const Instant start = present.now + Duration::whole_seconds(waits ? 5'000 : 0);
        future.jobs.push_back(
            {.start = start, .finish = start + Duration::whole_seconds(600), .server = ServerIndex(0), .gpus = 1});
      }
      return future;
    });
    suggester = std::make_unique<Suggester>(*forecasts, *logic);
    for (int i = 0; i < 3; ++i) submit_limited(2, 600);  // the first one runs
    renew();
  }
  // The answer once its time is up.
  Suggestions answer(std::int64_t job) {
    std::optional<Suggestions> answer;
    const Instant until = now + Duration::milliseconds(70);
    suggester->suggest(JobId(job), now, until, [&](Suggestions said) { answer = std::move(said); });
    if (!answer) now = until, forecasts->on_turn(now);
    EXPECT_TRUE(answer.has_value());
    return answer.value_or(Suggestions{});
  }
  Suggestions found(std::int64_t job) {
    Suggestions said = answer(job);
    while (said.note == being_tried) take_inputs(), said = answer(job);
    return said;
  }
  static constexpr const char* being_tried = "changes are being tried, which takes some seconds";
};

TEST_F(SlowSuggestions, are_told_to_whoever_asks_again) {
  EXPECT_EQ(answer(2).note, being_tried);
  EXPECT_EQ(answer(2).note, being_tried) << "they are tried once";
  EXPECT_EQ(answer(3).note, "changes to another job are being tried first");
  may_try.set_value();
  const Suggestions said = found(2);
  EXPECT_EQ(said.note, "");  // all were tried
  ASSERT_EQ(said.items.size(), 1U);
  EXPECT_EQ(said.items.front().what, "with 1 GPU");
  EXPECT_EQ(found(3).items.size(), 1U);
}

TEST_F(SlowSuggestions, are_forgotten_when_the_job_or_the_policy_changes_and_after_a_while) {
  may_try.set_value();
  EXPECT_EQ(answer(2).note, being_tried);
  EXPECT_EQ(found(2).items.size(), 1U);
  wire::JobChange change;
  change.priority = -1;
  logic->edit(JobId(3), change, "mei", now, [](const Result<JobId>& done) { EXPECT_TRUE(done.ok()); });
  settle();
  renew();
  EXPECT_EQ(answer(2).items.size(), 1U) << "another job was changed";
  logic->edit(JobId(2), change, "mei", now, [](const Result<JobId>& done) { EXPECT_TRUE(done.ok()); });
  settle();
  renew();
  EXPECT_EQ(answer(2).note, being_tried);
  EXPECT_EQ(found(2).items.size(), 1U);
  use("sjf");
  renew();
  EXPECT_EQ(answer(2).note, being_tried);
  EXPECT_EQ(found(2).items.size(), 1U);
  now = now + Duration{worked_us} + Duration::whole_seconds(121);
  EXPECT_EQ(answer(2).note, being_tried);
}

TEST(Progress, says_what_is_left_at_the_measured_pace_or_the_average_one) {
  const Instant now = Instant::at_seconds(10'000);
  Job job;
  job.state = JobState::running;
  job.allocation = Allocation(ServerIndex(0), GpuSet::first(1));
  job.accounted = now - Duration::whole_seconds(100);
  ToldProgress told{.id = JobId(1),
                    .progress_json = R"({"done":20,"total":100,"unit":"step","updated_us":10000000000})"};
  const auto average = read_progress(told, job, now);
  ASSERT_TRUE(average);
  EXPECT_FALSE(average->is_measured);
  EXPECT_NEAR(average->left_s, 400, 1);
  EXPECT_NEAR(average->share, 0.2, 1e-9);
  told.per_s = 1, told.unit = "step";
  EXPECT_NEAR(read_progress(told, job, now)->left_s, 80, 1e-6);
  told.progress_json = R"({"done":2,"total":10,"unit":"epoch","updated_us":10000000000})", told.steps_per_epoch = 20;
  EXPECT_NEAR(read_progress(told, job, now)->left_s, 160, 1e-6);
  for (const char* useless :
       {"", "7", "{}", R"({"done":0,"total":10})", R"({"done":20,"total":10})", R"({"done":"x","total":1})"}) {
    told.progress_json = useless;
    EXPECT_FALSE(read_progress(told, job, now)) << useless;
  }
}

TEST(Progress, of_a_stopped_job_counts_if_it_goes_on_from_there) {
  const Instant now = Instant::at_seconds(10'000);
  Job job;
  job.state = JobState::pending;
  job.run = Duration::whole_seconds(100);
  const ToldProgress told{.id = JobId(1),
                          .progress_json = R"({"done":20,"total":100,"unit":"step","updated_us":1000000000})",
                          .per_s = 1,
                          .unit = "step"};
  EXPECT_FALSE(read_progress(told, job, now));
  job.request.capability = Capability::checkpoint;
  ASSERT_TRUE(read_progress(told, job, now));
  EXPECT_NEAR(read_progress(told, job, now)->left_s, 80, 1e-6) << "however long ago it was stopped";
}

}  // namespace
}  // namespace sl::controller
