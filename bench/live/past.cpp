#include "past.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "store/store.h"

namespace sl::bench {
namespace {

constexpr std::int64_t rows_per_batch = 5'000;
constexpr std::int64_t us = 1'000'000;

// One in ten failed, as with real trainings; three users.
store::JobRow job_of(std::int64_t id, std::int64_t at_us) {
  store::JobRow row;
  row.id = id;
  row.user = id % 3 == 0 ? "mei" : id % 3 == 1 ? "ali" : "zoe";
  row.name = "train-" + std::to_string(id % 1'000);
  row.spec_json = "{\"command\":[\"python\",\"train.py\",\"--epochs\",\"10\",\"--seed\",\"" + std::to_string(id) +
                  "\"],\"name\":\"" + row.name + "\",\"user\":\"" + row.user +
                  "\",\"workdir\":\"/home/user/project\",\"gpus\":{\"min\":1,\"max\":1},\"labels\":{},\"env\":{}}";
  row.state = id % 10 == 0 ? "failed" : "succeeded";
  row.submitted_us = at_us, row.first_start_us = row.last_start_us = at_us + us;
  row.state_since_us = at_us + 60 * us, row.finished_us = at_us + 60 * us;
  row.attempt = 1, row.run_us = 59 * us, row.attained_gpu_us = 59 * us;
  row.server = "bench", row.gpus = "0";
  row.exit_code = id % 10 == 0 ? 1 : 0;
  return row;
}

void add_events(store::Batch& batch, const store::JobRow& job, std::int64_t& seq) {
  const char* const states[] = {"", "pending", "starting", "running", job.state.c_str()};
  for (int step = 1; step < 5; ++step) {
    store::EventRow event;
    event.seq = seq++, event.at_us = job.submitted_us + step * us, event.job_id = job.id;
    event.kind = step == 1 ? "job.submitted" : "job.state";
    event.server = step > 1 ? job.server : "", event.actor_type = "system", event.actor_name = "scheduler";
    event.from = states[step - 1], event.to = step > 1 ? states[step] : "";
    batch.events.push_back(std::move(event));
  }
}

void require(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.error().message);
}

std::unique_ptr<store::Store> open(const std::string& controller_folder) {
  auto store = store::open_sqlite(controller_folder);
  if (!store.ok()) throw std::runtime_error(store.error().message);
  return std::move(*store);
}

std::int64_t now_us() {
  using namespace std::chrono;
  return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace

void write_keys(const std::string& controller_folder, std::int64_t keys) {
  const auto store = open(controller_folder);
  const std::int64_t begin_us = now_us() - 3600 * us;
  for (std::int64_t done = 0; done < keys;) {
    store::Batch batch;
    for (const std::int64_t end = std::min(keys, done + rows_per_batch); done < end; ++done)
      batch.keys.push_back(
          {.key = "past-" + std::to_string(done), .body_hash = "0", .job_id = 1, .at_us = begin_us + done});
    require(store->commit(batch));
  }
}

void write_past(const std::string& controller_folder, std::int64_t jobs) {
  const auto store = open(controller_folder);
  const std::int64_t now_us = bench::now_us();
  const auto loaded = store->load(now_us, 0);
  if (!loaded.ok()) throw std::runtime_error(loaded.error().message);
  std::int64_t seq = loaded->next_event_seq;
  for (std::int64_t done = 0; done < jobs;) {
    store::Batch batch;
    for (const std::int64_t end = std::min(jobs, done + rows_per_batch); done < end; ++done) {
      // All within the last weeks: too young for the retention rule to remove, and not in the future.
      batch.jobs.push_back(job_of(loaded->next_job_id + done, now_us - 120 * us - (jobs - done) * us));
      add_events(batch, batch.jobs.back(), seq);
    }
    require(store->commit(batch));
  }
}

}  // namespace sl::bench
