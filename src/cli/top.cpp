#include "cli/top.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <ctime>
#include <mutex>
#include <sstream>
#include <thread>

#include "cli/commands.h"
#include "cli/job_order.h"
#include "cli/render.h"
#include "cli/top_screen.h"
#include "cli/top_view.h"

namespace sl::cli {
namespace {

constexpr auto look_again_after = std::chrono::seconds(1);

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  return fmt::format("{:02}:{:02}:{:02}", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

// Asks the controller once a second, so that the screen never waits for it.
class Looker {
 public:
  explicit Looker(const Context& context) : context_(context) {
    context_.is_given_up = [this] { return is_ending_.load(); };
    thread_ = std::thread([this] { run(); });
  }
  ~Looker() {
    {
      const std::lock_guard lock(mutex_);
      is_ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Looker(const Looker&) = delete;
  Looker& operator=(const Looker&) = delete;

  TopData latest() {
    const std::lock_guard lock(mutex_);
    return data_;
  }
  void look_now() {
    {
      const std::lock_guard lock(mutex_);
      is_wanted_ = true;
    }
    changed_.notify_one();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!is_ending_) {
      is_wanted_ = false;
      lock.unlock();
      TopData seen;
      const Status looked = look(seen);
      lock.lock();
      if (looked.ok()) {
        data_ = std::move(seen);
      } else {
        data_.failure = looked.error().message;  // what was seen last stays
      }
      changed_.wait_for(lock, look_again_after, [this] { return is_ending_ || is_wanted_; });
    }
  }
  Status look(TopData& into) const {
    const auto cluster = context_.get("/api/v1/cluster");
    if (!cluster.ok()) return cluster.error();
    into.cluster = *cluster;
    for (const auto& [states, limit] : {std::pair(unfinished_states, 500), std::pair(finished_states, 30)}) {
      const auto jobs = context_.get(fmt::format("/api/v1/jobs?state={}&limit={}&grouped=true", states, limit));
      if (!jobs.ok()) return jobs.error();
      for (const json::value& job : value_at(*jobs, "items").as_array()) into.jobs.push_back(job);
    }
    into.at = time_of_day();
    return {};
  }

  Context context_;
  std::mutex mutex_;
  std::condition_variable changed_;
  TopData data_;
  std::atomic<bool> is_ending_ = false;
  bool is_wanted_ = false;
  std::thread thread_;
};

class Top {
 public:
  Top(const Context& context, const TopOptions& options, Screen& screen)
      : context_(context), screen_(screen), looker_(context) {
    choice_.is_readonly = options.is_readonly;
    choice_.is_ascii = options.is_ascii || !context.unicode;
  }

  void run() {
    while (!is_over_ && interrupts() == 0) {
      if (!choice_.is_paused) data_ = looker_.latest();
      show();
      if (const int key = screen_.key(); key != no_key) on_key(key);
    }
  }

 private:
  enum class Typing { nothing, filter, command, cancel };

  void show() {
    const TopSize size = screen_.size();
    if (size.columns < top_size_least.columns || size.lines < top_size_least.lines)
      return screen_.draw(
          {{{fmt::format("top needs {} columns and {} lines", top_size_least.columns, top_size_least.lines)}}});
    TopChoice shown = choice_;
    if (typing_ == Typing::filter) shown.prompt = "/" + choice_.filter + "_";
    if (typing_ == Typing::command) shown.prompt = "schedulearn " + typed_ + "_";
    screen_.draw(top_lines(context_, data_, shown, size));
  }

  void on_key(int key) {
    choice_.prompt.clear();
    switch (typing_) {
      case Typing::filter:
        return type(key, choice_.filter, [] {});
      case Typing::command:
        return type(key, typed_, [this] { run_typed(); });
      case Typing::cancel:
        typing_ = Typing::nothing;
        if (key == 'y') change("cancel");
        return;
      case Typing::nothing:
        return on_command(key);
    }
  }

  template <typename Done>
  void type(int key, std::string& text, Done done) {
    if (key == key_enter || key == key_escape) {
      typing_ = Typing::nothing;
      if (key == key_escape) return text.clear();
      return done();
    }
    if (key == key_erase) {
      while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) text.pop_back();
      if (!text.empty()) text.pop_back();
    } else if (key >= ' ' && key < 256) {
      text += static_cast<char>(key);
    }
  }

  void on_command(int key) {
    const bool changes = key == 'c' || key == 's' || key == 'm' || key == ':';
    if (changes && choice_.is_readonly) {
      choice_.prompt = "read only: started with --readonly";
      return;
    }
    switch (key) {
      case 'q':
        is_over_ = true;
        return;
      case '?':
        choice_.shows_help = !choice_.shows_help;
        return;
      case key_escape:
        choice_.shows_help = false;
        choice_.filter.clear();
        return;
      case 'g':
        choice_.shows_gpus = !choice_.shows_gpus;
        return;
      case ' ':
        choice_.is_paused = !choice_.is_paused;
        return;
      case 'o':
        return next_order();
      case '/':
        typing_ = Typing::filter;
        return;
      case ':':
        typed_.clear();
        typing_ = Typing::command;
        return;
      case 'j':
      case key_down:
        return move(1);
      case 'k':
      case key_up:
        return move(-1);
      case key_page_down:
        return move(10);
      case key_page_up:
        return move(-10);
      default:
        return on_job_command(key);
    }
  }

  void on_job_command(int key) {
    const json::value* job = chosen_job(data_, choice_);
    if (!job) return;
    const std::string id = fmt::format("{:.0f}", number_at(*job, "id")), state = text_at(*job, "state");
    choice_.job = static_cast<std::int64_t>(number_at(*job, "id"));
    if (key == key_enter) return run_command({"show", id});
    if (key == 'l') return run_command(is_over(state) ? Words{"logs", id} : Words{"logs", "-f", id});
    if (key == 'w') return run_command({"why", id});
    if (key == 's') return change(state == "held" || state == "suspended" ? "resume" : "suspend");
    if (key == 'm') return change("migrate");
    if (key != 'c') return;
    typing_ = Typing::cancel;
    choice_.prompt = fmt::format("cancel job {} {}? y: yes, any other key: no", id, name_text(*job));
  }

  void move(int by) {
    const auto jobs = listed_jobs(data_, choice_);
    if (jobs.empty()) return;
    const auto place = std::ranges::find(jobs, chosen_job(data_, choice_)) - jobs.begin();
    const auto next = std::clamp<std::ptrdiff_t>(place + by, 0, static_cast<std::ptrdiff_t>(jobs.size()) - 1);
    choice_.job = static_cast<std::int64_t>(number_at(*jobs[static_cast<std::size_t>(next)], "id"));
  }

  void next_order() {
    const std::vector<std::string> orders = list_orders();
    const auto at = std::ranges::find(orders, choice_.order);
    choice_.order = choice_.order.empty() ? orders.front() : at + 1 == orders.end() ? "" : *(at + 1);
    choice_.prompt = "in the order of " + (choice_.order.empty() ? "their states" : choice_.order);
  }

  // What happens to the chosen job, said in the last line.
  void change(const std::string& verb) {
    const auto changed = context_.call("POST", fmt::format("/api/v1/jobs/{}/{}", choice_.job, verb), "{}");
    const std::string effect = changed.ok() ? text_at(value_at(*changed, "effect"), "text") : "";
    choice_.prompt = !changed.ok()    ? "error: " + changed.error().message
                     : effect.empty() ? fmt::format("{}: job {} is {}", verb, choice_.job, text_at(*changed, "state"))
                                      : effect;
    looker_.look_now();
  }

  using Words = std::vector<std::string>;
  void run_typed() {
    Words words;
    std::istringstream typed(typed_);
    for (std::string word; typed >> word;) words.push_back(word);
    if (!words.empty()) run_command(std::move(words));
  }
  // This program again, with the same controller. Ctrl-C is for it alone.
  void run_command(Words words) {
    if (context_.socket.empty()) words.insert(words.begin(), {"--url", context_.url});
    words.insert(words.begin(), "schedulearn");
    screen_.leave_for([&] {
      if (std::ranges::find(words, "-f") != words.end()) std::fputs("Ctrl-C goes back.\n\n", stderr);
      std::vector<char*> argv;
      for (std::string& word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      const auto before = std::signal(SIGINT, SIG_IGN);
      const pid_t child = ::fork();
      if (child == 0) {
        std::signal(SIGINT, SIG_DFL);
        ::execv("/proc/self/exe", argv.data());
        ::_exit(127);
      }
      while (child > 0 && ::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
      }
      std::signal(SIGINT, before);
    });
    looker_.look_now();
  }

  Context context_;
  Screen& screen_;
  Looker looker_;
  TopData data_;
  TopChoice choice_;
  Typing typing_ = Typing::nothing;
  std::string typed_;
  bool is_over_ = false;
};

}  // namespace

int top(const Context& context, const TopOptions& options) {
  const auto first = context.get("/healthz");  // a wrong address is told on the terminal as it is
  if (!first.ok()) return fail(first.error());
  catch_interrupts();
  auto screen = Screen::open(options.is_light);
  if (!screen.ok()) return fail(screen.error());
  Top(context, options, **screen).run();
  return interrupts() > 0 ? 130 : 0;
}

void TopCommand::add_to(CLI::App& app) {
  CLI::App* top_command =
      command_(app, "top", "The cluster on a full screen: every GPU, every job, what to do with it (? lists the keys).",
               "  schedulearn top\n  schedulearn top --readonly\n", [this] { return top(context_(), options_); });
  top_command->add_flag("--readonly", options_.is_readonly, "no key changes anything");
  top_command->add_flag("--ascii", options_.is_ascii, "only characters that every terminal has");
  top_command->add_flag("--light", options_.is_light, "colours for a light background");
}

}  // namespace sl::cli
