#include "controller/past.h"

#include <utility>

#include "controller/api.h"
#include "controller/clock.h"
#include "controller/inbox.h"
#include "controller/logic.h"
#include "controller/people.h"

namespace sl::controller {
namespace {

// Nothing gets out of a logic that only looks back.
class NoOutside : public Outside {
 public:
  void commit(store::Batch) override {}
  void send(SessionId, const wire::ControllerMessage&) override {}
  void close(SessionId, const std::string&) override {}
  void make_policy(const PolicyChange&) override {}
};

// The answer as it is made, on the thread that waits for it.
class Answer : public net::Reply, public net::Stream, public std::enable_shared_from_this<Answer> {
 public:
  explicit Answer(const Past::OnData& on_data) : on_data_(on_data) {}
  void send(net::Response response) override {
    stream(std::move(response));
    close();
  }
  std::shared_ptr<net::Stream> stream(net::Response head) override {
    response_ = std::move(head);
    if (passes_on()) write(std::exchange(response_.body, {}));
    return shared_from_this();
  }
  void write(std::string piece) override {
    if (!passes_on()) {
      response_.body += piece;
    } else if (!is_whole_) {
      is_whole_ = !on_data_(piece);
    }
  }
  void close() override { is_whole_ = true; }
  bool closed() const override { return is_whole_; }
  std::size_t unsent_bytes() const override { return 0; }
  void on_drain(std::function<void()> work) override { work(); }

  net::Response take() { return std::move(response_); }

 private:
  bool passes_on() const { return on_data_ && response_.status < 400; }

  const Past::OnData& on_data_;
  net::Response response_;
  bool is_whole_ = false;
};

class StoredPast : public Past {
 public:
  StoredPast(const std::string& data_dir, const std::string& version,
             std::vector<std::unique_ptr<store::Reader>> readers, const store::Loaded& loaded,
             Logs::ReadFiles read_output)
      : clock_(Instant{loaded.last_event_us}),
        logic_(LogicSettings{.version = version}, outside_, loaded, clock_.now()),
        history_(std::move(readers), [this](auto work) { inbox_.put(std::move(work)); }),
        retention_({}, logic_, history_, [this] { return clock_.now(); }),
        forecasts_(
            logic_, {}, {}, [this] { return clock_.now(); }, [this](auto work) { inbox_.put(std::move(work)); }),
        shadow_(logic_, forecasts_, loaded.settings),
        snapshots_({data_dir + "/snapshots"}, logic_, history_, [this] { return clock_.now(); }),
        people_({}, {}, [this] { return clock_.now(); }),
        sessions_("", people_, [this] { return clock_.now(); }),
        api_(
            logic_, history_, retention_, forecasts_, shadow_, sessions_, snapshots_, nullptr,
            [this] { return clock_.now(); }, [this](auto work) { inbox_.put(std::move(work)); }) {
    logic_.logs().read_from(std::move(read_output));
    for (const auto& [name, agent] : logic_.agents().all()) logic_.recorder().stop_awaiting(name);  // none will call
    shadow_.start(history_);
  }

  net::Response answer(net::Request request, const OnData& on_data) override {
    if (request.method != "GET")
      return error_response(conflict("not-running", "nothing can be changed while no controller runs"), request.path);
    const auto answer = std::make_shared<Answer>(on_data);
    api_.handle(std::move(request), Identity{.user = "", .role = Role::admin, .basis = "controller"}, answer);
    std::deque<std::function<void()>> inputs;
    while (!answer->closed() && inbox_.take(inputs, std::chrono::hours(1))) {
      for (auto& input : inputs) input();
      inputs.clear();
    }
    return answer->take();
  }

 private:
  NoOutside outside_;
  Clock clock_;
  Inbox inbox_;
  Logic logic_;
  History history_;
  Retention retention_;
  Forecasts forecasts_;  // never started: nothing happens any more
  Shadow shadow_;
  Snapshots snapshots_;
  People people_;
  BrowserSessions sessions_;  // nobody signs in to what has ended
  Api api_;
};

}  // namespace

Result<std::unique_ptr<Past>> Past::open(const std::string& data_dir, const std::string& version,
                                         Logs::ReadFiles read_output) {
  const auto loaded = store::load_past(data_dir, finished_jobs_max);
  if (!loaded.ok()) return loaded.error();
  std::vector<std::unique_ptr<store::Reader>> readers;
  auto reader = store::open_reader(data_dir);
  if (!reader.ok()) return reader.error();
  readers.push_back(std::move(*reader));
  return std::unique_ptr<Past>(
      std::make_unique<StoredPast>(data_dir, version, std::move(readers), *loaded, std::move(read_output)));
}

}  // namespace sl::controller
