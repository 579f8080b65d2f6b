// Every command with its options, examples and action. The commands of researchers are in research.cpp.
#include "cli/cli.h"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "base/shell_words.h"
#include "base/whole_number.h"
#include "cli/agent_commands.h"
#include "cli/cancel.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/config.h"
#include "cli/config_commands.h"
#include "cli/daemon_options.h"
#include "cli/database.h"
#include "cli/demo.h"
#include "cli/doctor.h"
#include "cli/explaining.h"
#include "cli/files.h"
#include "cli/init.h"
#include "cli/interventions.h"
#include "cli/job_order.h"
#include "cli/login.h"
#include "cli/notify.h"
#include "cli/overview.h"
#include "cli/page_commands.h"
#include "cli/pager.h"
#include "cli/people.h"
#include "cli/profile.h"
#include "cli/render.h"
#include "cli/research.h"
#include "cli/secrets.h"
#include "cli/servers.h"
#include "cli/set.h"
#include "cli/shell.h"
#include "cli/sign_ins.h"
#include "cli/submit_commands.h"
#include "cli/surroundings.h"
#include "cli/top.h"
#include "cli/usage.h"
#include "cli/watch.h"
#include "net/url.h"
#include "wire/error.h"
#include "wire/event_subjects.h"

namespace sl::cli {
namespace {

constexpr const char* version = SCHEDULEARN_VERSION;

class CommandLine {
 public:
  CommandLine(const Roles& roles)
      : roles_(roles), app_("Schedulearn schedules deep-learning jobs on GPU servers.", "schedulearn") {
    app_.formatter(help_);
    app_.set_help_flag("-h,--help", "examples and options");
    app_.set_version_flag("--version", std::string("schedulearn ") + version);
    app_.fallthrough();
    app_.require_subcommand(0, 1);
    // Of a flag that is given twice, as by an alias and by hand, the last counts. The commands inherit it.
    app_.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    add_global_flags();
    add_job_commands();
    add_cluster_commands();
    profiles_.add_to(app_);
    research_.add_to(app_);
    add_system_commands();
  }

  int run(int argc, char** argv);

 private:
  // Adds a command whose help begins with its examples.
  CLI::App* command(CLI::App& parent, const std::string& name, const std::string& summary, const std::string& examples,
                    std::function<int()> action) {
    CLI::App* added = parent.add_subcommand(name, summary);
    added->set_help_flag("-h,--help", "examples and options");
    added->fallthrough();
    added->group("Commands");
    help_->examples[added] = examples;
    added->final_callback([this, action = std::move(action)] { action_ = action; });
    return added;
  }
  void add_global_flags();
  void add_job_commands();
  void add_cluster_commands();
  void add_system_commands();
  int print_candidates(const std::vector<std::string>& words);
  Context context() const;
  bool is_paged() const;  // people read it, and it may be long
  // A command that only reads. It has an option for the data folder to read.
  CLI::App* reading_command(const std::string& name, const std::string& summary, const std::string& examples,
                            std::function<int(const Context&)> action);
  Result<Context> context_of_data() const;

  const Roles& roles_;
  CLI::App app_;
  std::shared_ptr<Help> help_ = std::make_shared<Help>(app_);
  std::function<int()> action_;
  std::shared_ptr<bool> json_failed_ = std::make_shared<bool>(false);
  FlagValues flags_of_all_{.url = default_url, .color = "auto"};
  std::string json_;
  bool plain_ = false, quiet_ = false, watch_ = false, no_color_ = false, no_input_ = false, yes_ = false,
       verbose_ = false, debug_ = false;
  ListOptions list_;
  LogsOptions logs_;
  WaitOptions wait_;
  std::vector<std::string> selectors_, parameters_, after_dashes_;
  bool diff_ = false, shadow_off_ = false, with_arrivals_ = false, call_off_ = false, try_first_ = false,
       no_open_ = false;
  std::string name_, at_, horizon_, wait_timeout_, data_, typed_;  // typed_: the command as typed
  EventsAsked events_;
  UpOptions up_;
  ControllerOptions controller_;
  const OutputTerminal terminal_ = output_terminal();
  const CommandFrame frame_{[this](auto&&... of) { return command(of...); }, [this] { return context(); }};
  SubmitCommands submissions_{frame_, after_dashes_};
  EndCommands ends_{frame_};
  SetCommand set_{frame_};
  Interventions interventions_{frame_};
  FilesCommand files_{frame_};
  ShellCommand shell_{frame_, after_dashes_};
  ProfileCommands profiles_{frame_};
  SecretCommands secrets_{frame_};
  ServerCommands servers_{frame_};
  NotifyCommands notify_{frame_};
  PageCommands page_{frame_};
  LoginCommands login_{frame_};
  PeopleCommands people_{frame_};
  TopCommand top_{frame_};
  DemoCommand demo_{frame_};
  AgentCommands agents_{frame_, roles_};
  DatabaseCommands database_{frame_, roles_};
  ConfigCommands config_{frame_};
  Doctor doctor_{frame_, version};
  Init init_{frame_};
  Explaining explaining_{frame_, app_, help_, usage, version};
  Research research_{frame_, typed_};
};

void CommandLine::add_global_flags() {
  app_.add_option("--url", flags_of_all_.url, "address of the controller")
      ->envname("SCHEDULEARN_URL")
      ->group("Everywhere");
  app_.add_option("--context", flags_of_all_.context,
                  "a controller that you have signed in to (schedulearn login); local: your own")
      ->group("Everywhere");
  app_.add_option("--json", json_, "print the REST document instead of text; --json=id,state selects fields")
      ->expected(0, 1)
      ->default_str("*")
      ->group("Everywhere");
  app_.add_flag("--plain", plain_, "tab-separated, one record per line")->group("Everywhere");
  app_.add_flag("-q,--quiet", quiet_, "ids or names only")->group("Everywhere");
  app_.add_flag("-v,--verbose", verbose_, "say which requests are sent and answered")->group("Everywhere");
  app_.add_flag("--debug", debug_, "say also what is sent and received, without secrets")->group("Everywhere");
  app_.add_flag("-w,--watch", watch_, "show it anew every 2 seconds, until Ctrl-C (commands that only read)")
      ->group("Everywhere");
  app_.add_option("--color", flags_of_all_.color, "auto, always or never")
      ->check(one_of({"auto", "always", "never"}))
      ->group("Everywhere");
  app_.add_flag("--no-color", no_color_, "the same as --color never")->group("Everywhere");
  app_.add_flag("--no-input", no_input_, "never ask")->group("Everywhere");
  app_.add_flag("-y,--yes", yes_, "do not ask for confirmation")->group("Everywhere");
  const auto set_timeout = [this](const std::string& text) {
    const auto seconds = parse_timeout_s(text);
    if (!seconds.ok()) throw CLI::ValidationError("--timeout", seconds.error().message);
    flags_of_all_.timeout_s = *seconds;
  };
  app_.add_option_function<std::string>("--timeout", set_timeout, "how long to wait for an answer (30s)")
      ->group("Everywhere");
}

CLI::App* CommandLine::reading_command(const std::string& name, const std::string& summary, const std::string& examples,
                                       std::function<int(const Context&)> action) {
  CLI::App* added = command(app_, name, summary, examples, [this, action = std::move(action)] {
    const auto context = context_of_data();
    return context.ok() ? action(*context) : fail(context.error());
  });
  added->add_option("--data", data_, "ask the controller of this data folder; if none runs, read the folder itself");
  return added;
}

void CommandLine::add_job_commands() {
  submissions_.add_to(app_);
  CLI::App* ls =
      reading_command("ls", "All jobs that wait or run, and the latest that have ended.",
                      "  schedulearn ls\n  schedulearn ls --state pending,running\n  schedulearn ls --sort ran\n"
                      "  schedulearn ls --all --json=id,state\n",
                      [this](const Context& context) {
                        const int status = list_jobs(context, list_);
                        print_announcements(context);
                        return status;
                      });
  ls->alias("ps");
  ls->alias("queue");
  ls->add_option("--state", list_.state, "only these states, separated by commas");
  ls->add_option("--user", list_.user, "only this user's jobs");
  ls->add_option("--name", list_.word, "only names that contain this");
  ls->add_option("--label", list_.label, "only jobs with this label: KEY=VALUE, or KEY for any value");
  ls->add_option("--group", list_.group, "only the members of this array")->check(above_zero());
  ls->add_flag("--members", list_.members, "also the members of arrays, one by one");
  ls->add_option("--sort", list_.sort, "id, name, user, gpus, waited or ran")->check(one_of(list_orders()));
  ls->add_option("--limit", list_.limit, "at most this many (default: all that wait or run, and with ended ones 30)")
      ->check(between(1, 100'000));
  ls->add_option("--before", list_.before, "only jobs with smaller numbers, for the next page")->check(above_zero());
  ls->add_flag("-a,--all", list_.all, "no limit");
  CLI::App* show =
      reading_command("show", "Everything about a job.",
                      "  schedulearn show 5\n  schedulearn show last --json\n  schedulearn show 5 --diff\n",
                      [this](const Context& context) { return (diff_ ? show_diff : show_job)(context, selectors_); });
  show->add_option("job", selectors_, "5, 1-5, 1,3, 12_3 (of an array), last, all or a name")->required();
  show->add_flag("--diff", diff_, "what its code differs in from the commit (of a job with snapshot = \"git\")");
  CLI::App* log =
      reading_command("logs", "A job's output.",
                      "  schedulearn logs 5\n  schedulearn logs -f last\n  schedulearn logs --tail 20 mnist\n"
                      "  schedulearn logs 5 --since 10m --grep 'loss|epoch'\n  schedulearn logs 5 --errors\n"
                      "  schedulearn logs --data /tmp/lab 5\n",
                      [this](const Context& context) { return logs(context, logs_); });
  log->add_option("job", logs_.selectors, "5, 12_3 (of an array), last or a name")->required();
  log->add_flag("-f,--follow", logs_.follow, "continue until the job ends");
  const auto set_tail = [this](const std::string& text) {
    const std::int64_t lines = parse_whole_number(text).value_or(-1);
    if (lines < 0 || lines > 999'999'999) throw CLI::ValidationError("--tail", "takes a number of lines, not " + text);
    logs_.tail = static_cast<int>(lines);
  };
  log->add_option_function<std::string>("--tail", set_tail, "only this many lines from the end");
  CLI::Option* times = log->add_flag("--timestamps", logs_.lines.shows_times,
                                     "when each line was written, by its server's clock; - where it is unknown");
  CLI::Option* since = log->add_option("--since", logs_.since, "only lines written since then: 10m (ago), 20:15");
  CLI::Option* grep =
      log->add_option("--grep", logs_.lines.grep, "only lines that match this extended regular expression (grep -E)");
  CLI::Option* errors = log->add_flag("--errors", logs_.lines.errors,
                                      "from the first line on that looks like an error: a traceback, CUDA out of "
                                      "memory, an NCCL error; status 1: there is none");
  log->add_flag("--raw", logs_.raw,
                "the bytes as they were written, also what a terminal obeys (standard output and standard error are "
                "one output)")
      ->excludes(times, since, grep, errors);
  log->add_option("--attempt", logs_.attempt, "output of an earlier attempt")->check(above_zero());
  log->add_option("--rank", logs_.rank, "output on this server of the job, from 0")->check(between(0, 1'000'000));
  CLI::App* reasons = reading_command(
      "why", "Why a job waits, or waited.",
      "  schedulearn why 5\n  schedulearn why 5 --at 20:15\n  schedulearn why 5 --at 10m --data /tmp/lab\n",
      [this](const Context& context) { return why(context, name_, at_); });
  reasons->add_option("job", name_, "5, 12_3 (of an array), last or a name")->required();
  reasons->add_option("--at", at_, "at a moment of the past: 20:15, 10m (ago), \"2026-11-23 20:15\"");
  CLI::App* wait = command(app_, "wait", "Wait until jobs end; for one job, exit with its code.",
                           "  schedulearn wait 5\n  schedulearn wait all --for 1h\n", [this] {
                             if (!wait_timeout_.empty()) {
                               const auto seconds = wire::parse_duration_s(wait_timeout_);
                               if (!seconds.ok()) return fail(seconds.error());
                               wait_.timeout_s = *seconds;
                             }
                             catch_interrupts();
                             return wait_jobs(context(), wait_);
                           });
  wait->add_option("job", wait_.selectors, "5, 1-5, 12_3 (of an array), last, all or a name")->required();
  wait->add_option("--for", wait_timeout_, "give up after this long: 10m (exit status 124)");
  ends_.add_to(app_);
  set_.add_to(app_);
  interventions_.add_to(app_);
  files_.add_to(app_);
  shell_.add_to(app_);
  secrets_.add_to(app_);
  notify_.add_to(app_);
}

void CommandLine::add_cluster_commands() {
  top_.add_to(app_);
  command(app_, "status", "Summary of the controller, its servers and the queue.", "  schedulearn status\n", [this] {
    const Context asked = context();
    const int status = cluster_status(asked);
    print_announcements(asked);
    return status;
  });
  command(app_, "gpus", "Every GPU and who uses it.", "  schedulearn gpus\n", [this] { return list_gpus(context()); });
  CLI::App* events =
      reading_command("events", "What has happened, newest last.",
                      "  schedulearn events --limit 50\n  schedulearn events 5\n  schedulearn events -f\n"
                      "  schedulearn events --about server --server gpu3\n",
                      [this](const Context& context) { return list_events(context, events_); });
  CLI::Option* of_job = events->add_option("job", events_.selector, "5, last or a name: only its events");
  events
      ->add_option("--about", events_.about,
                   fmt::format("only what is about this: {}", fmt::join(wire::event_subjects, ", ")))
      ->excludes(of_job);
  events->add_flag("--progress", events_.progress, "also each step of how far jobs have come");
  events->add_option("--server", events_.server, "only of this server")->excludes(of_job);
  events->add_option("--limit", events_.limit, "how many")->check(between(1, 10'000));
  events->add_flag("-f,--follow", events_.follow, "go on with what happens, until Ctrl-C");
  page_.add_to(app_);
  login_.add_to(app_);
  people_.add_to(app_);
  servers_.add_to(app_);
  CLI::App* policy =
      app_.add_subcommand("policy", "Scheduling policies: ls, show, set, try, shadow, check, history, undo.");
  policy->require_subcommand(1);
  policy->fallthrough();
  command(*policy, "ls", "List the policies.", "  schedulearn policy ls\n",
          [this] { return list_policies(context()); });
  command(*policy, "show", "Describe a policy: what it is good for, its parameters.",
          "  schedulearn policy show\n  schedulearn policy show fifo\n",
          [this] { return show_policy(context(), name_); })
      ->add_option("name", name_, "default: the current policy");
  CLI::App* set = command(*policy, "set", "Switch the policy while jobs wait and run; no job is lost.",
                          "  schedulearn policy set round_robin\n  schedulearn policy set fifo --param preset=seed\n"
                          "  schedulearn policy set ./mine.py\n  schedulearn policy set fifo_easy --at 21:00\n"
                          "  schedulearn policy set srtf --try\n",
                          [this] {
                            if (call_off_) return call_off_policy(context());
                            return set_policy(context(), name_, parameters_, at_, try_first_);
                          });
  CLI::Option* chosen =
      set->add_option("name", name_, "see: schedulearn policy ls; or ./mine.py, a policy of your own");
  set->add_option("--param", parameters_, "name=value");
  set->add_option("--at", at_, "later: 21:00, 2h, 2026-11-23T21:00:00Z")->needs(chosen);
  set->add_flag("--try", try_first_, "show what it would do with the jobs of now, then ask")->needs(chosen);
  set->add_flag("--call-off", call_off_, "what was planned with --at does not happen")->excludes(chosen);
  CLI::App* check =
      command(*policy, "check", "Test a policy of your own on small workloads and measure its decisions.",
              "  schedulearn policy check mine.py\n", [this] { return check_policy(context(), name_, parameters_); });
  check->add_option("file", name_, "mine.py, or the name of a built-in policy")->required();
  check->add_option("--param", parameters_, "name=value");
  CLI::App* tried =
      command(*policy, "try", "What other policies would do with the jobs that wait and run now; changes nothing.",
              "  schedulearn policy try srtf fifo_easy\n  schedulearn policy try ./mine.py\n",
              [this] { return try_policies(context(), selectors_, with_arrivals_, horizon_); });
  tried->add_option("name", selectors_, "up to four policies, or files with policies of your own")->required();
  tried->add_flag("--with-arrivals", with_arrivals_, "jobs come as they came in the last day");
  tried->add_option("--horizon", horizon_, "look only so far ahead: 12h");
  CLI::App* shadow = command(
      *policy, "shadow", "Have a policy follow the live events without deciding; what it would have changed.",
      "  schedulearn policy shadow srsf\n  schedulearn policy shadow\n  schedulearn policy shadow --off\n", [this] {
        if (shadow_off_) return end_shadow(context());
        return name_.empty() ? show_shadow(context()) : follow_policy(context(), name_, parameters_);
      });
  CLI::Option* followed =
      shadow->add_option("name", name_, "see: schedulearn policy ls; default: show the one that follows");
  shadow->add_option("--param", parameters_, "name=value");
  shadow->add_flag("--off", shadow_off_, "none follows any more")->excludes(followed);
  command(*policy, "history", "Past policies: since when, and who chose them.", "  schedulearn policy history\n",
          [this] { return policy_history(context()); });
  command(*policy, "undo", "Go back to the previous policy and its parameters, within 10 minutes.",
          "  schedulearn policy undo\n", [this] { return undo_policy(context()); });
}

void CommandLine::add_system_commands() {
  CLI::App* up = command(
      app_, "up",
      "Run controller and agent on this machine until Ctrl-C: running jobs with a checkpoint directory then go back to "
      "the "
      "queue, others are cancelled (docs/guide/operations.md).",
      "  schedulearn up\n  schedulearn up --simulate 3x4\n  schedulearn up --listen 127.0.0.1:0 --data ./data\n",
      [this] {
        if (up_.data.empty()) up_.data = own_data_directory();
        up_.opens_page = !no_open_ && context().interactive;
        return roles_.up(up_);
      });
  up->add_option("--data", up_.data, "data directory (default: SCHEDULEARN_DATA, ~/.local/share/schedulearn)");
  up->add_option("--simulate", up_.simulate,
                 "simulated GPUs, or servers and GPUs of each: 4, 3x4 (default: 4 if there is no real one)");
  up->add_option("--listen", up_.listen, "address and port");
  up->add_option("--token-file", up_.token_file,
                 "file whose first line is the token for other users (default: DATA/token, made at the first start)");
  up->add_option("--record", up_.record, "folder for a recording of all inputs and decisions, for controller replay");
  up->add_flag("--no-open", no_open_, "do not open the web page, which a desktop's browser otherwise shows");
  add_containers(*up, up_.containers);
  add_snapshot_limit(*up, up_.snapshot_bytes_max);
  add_notify_allow(*up, up_.notify_allow);
  add_free_limit(*up, up_.keep);
  add_retention(*up, up_.keep, "the history and the files", "the database, or all files together, are larger");
  CLI::App* controller = app_.add_subcommand("controller", "The daemon with the queue: run, replay.");
  controller->require_subcommand(1);
  controller->fallthrough();
  CLI::App* run = command(*controller, "run", "Run the controller in the foreground.",
                          "  schedulearn controller run --data /var/lib/schedulearn\n", [this] {
                            controller_.log_requests = true;
                            return roles_.controller(controller_);
                          });
  run->add_option("--data", controller_.data, "data directory")->required();
  run->add_option("--listen", controller_.listen, "address and port");
  run->add_option("--token-file", controller_.token_file,
                  "file whose first line is the token for other users (default: DATA/token, made at the first start); "
                  "needed beyond "
                  "loopback");
  run->add_option("--record", controller_.record,
                  "folder for a recording of all inputs and decisions, for controller replay");
  add_retention(*run, controller_.keep, "the history", "the database is larger");
  add_snapshot_limit(*run, controller_.snapshot_bytes_max);
  add_notify_allow(*run, controller_.notify_allow);
  command(*controller, "replay", "Feed a recording to this program and compare its decisions.",
          "  schedulearn controller replay recordings/recording-1790000000000000.jsonl\n",
          [this] { return roles_.replay(name_, context().as_json); })
      ->add_option("file", name_, "a file written by controller run --record FOLDER")
      ->required();
  agents_.add_to(app_);
  database_.add_to(app_);
  config_.add_to(app_);
  demo_.add_to(app_);
  doctor_.add_to(app_);
  init_.add_to(app_);
  explaining_.add();
}

Context CommandLine::context() const {
  Context c;
  c.url = flags_of_all_.url;
  c.defaults = flags_of_all_.defaults;
  while (c.url.ends_with('/')) c.url.pop_back();
  const std::string own = own_data_directory();
  if (const std::string socket = own + "/controller.sock"; !flags_of_all_.is_url_chosen && net::is_listening(socket))
    c.socket = socket;
  const auto address = net::parse_url(c.url);
  std::error_code ignored;
  if (address.ok() && net::is_loopback(address->host) && std::filesystem::exists(own + "/schedulearn.db", ignored))
    c.recorded = own;
  c.user = user_name();
  c.signed_in_to = flags_of_all_.context;
  std::string token = variable("SCHEDULEARN_TOKEN"), token_file = variable("SCHEDULEARN_TOKEN_FILE");
  const bool is_given = !flags_of_all_.token.empty();
  if (is_given && (flags_of_all_.is_context_flag || (token.empty() && token_file.empty()))) {
    token = flags_of_all_.token;
  } else {
    if (token_file.empty() && token.empty()) token_file = flags_of_all_.token_file;
    if (!token_file.empty()) {
      const auto read = read_token_file(token_file);
      if (!read.ok()) std::fprintf(stderr, "warning: %s\n", for_terminal(read.error().message).c_str());
      token = read.ok() ? *read : "";
    }
  }
  c.use_token(std::move(token));
  c.timeout_s = flags_of_all_.timeout_s;
  c.json_failed = json_failed_;
  const std::string output = variable("SCHEDULEARN_OUTPUT");  // "json", "plain"
  c.as_json = app_.count("--json") > 0 || (output == "json" && !plain_);
  if (c.as_json && json_ != "*" && !json_.empty()) {
    for (std::size_t at = 0; at <= json_.size();) {
      const std::size_t comma = std::min(json_.find(',', at), json_.size());
      c.json_fields.push_back(json_.substr(at, comma - at));
      at = comma + 1;
    }
  }
  c.plain = plain_ || (output == "plain" && !c.as_json);
  c.quiet = quiet_;
  const bool terminal = terminal_.is_one && variable("TERM") != "dumb";
  const bool is_auto = flags_of_all_.color == "auto" && !no_color_;
  c.color = flags_of_all_.color == "always" || (is_auto && terminal && variable("NO_COLOR").empty()) ||
            (is_auto && !variable("CLICOLOR_FORCE").empty());
  c.unicode = shows_unicode();
  c.columns = terminal_.columns;
  c.interactive = !no_input_ && ::isatty(STDIN_FILENO) != 0 && ::isatty(STDERR_FILENO) != 0;
  c.assume_yes = yes_;
  c.verbosity = debug_ ? 2 : verbose_ ? 1 : 0;
  return c;
}

Result<Context> CommandLine::context_of_data() const {
  Context c = context();
  if (data_.empty()) return c;
  c.data = data_;
  c.socket = data_ + "/controller.sock";
  if (net::is_listening(c.socket)) return c;
  Result<Fetch> past = roles_.open_past(data_);
  if (!past.ok()) return past.error();
  c.past = std::move(*past);
  if (!c.as_json && !c.plain && !c.quiet)
    std::fprintf(stderr, "No controller runs on %s; this is what is recorded there.\n", data_.c_str());
  return c;
}

int CommandLine::run(int argc, char** argv) {
  for (int i = 0; i < argc; ++i) typed_ += i > 0 ? " " + shell_word(argv[i]) : "schedulearn";
  if (argc == 1) {
    std::fputs(usage, stdout);
    return 0;
  }
  if (std::string_view(argv[1]) == "__complete") return print_candidates({argv + 2, argv + argc});
  // What follows -- is the job's command, whatever it looks like.
  int ours = argc;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--") {
      ours = i;
      after_dashes_.assign(argv + i + 1, argv + argc);
      break;
    }
  }
  const std::vector<std::string> words(argv + 1, argv + ours);
  try {
    app_.parse(ours, argv);
  } catch (const CLI::CallForHelp& help) {
    if (const auto problem = unknown_word(app_, words)) return fail(*problem);
    if (app_.get_subcommands().empty()) return std::fputs(usage, stdout), 0;
    return app_.exit(help);
  } catch (const CLI::Success& done) {
    return app_.exit(done);
  } catch (const CLI::ParseError& error) {
    return fail(usage_error(app_, error, words));
  }
  if (!action_) return std::fputs(usage, stdout), 0;
  if (const Status filled = fill_from_config(app_, flags_of_all_); !filled.ok()) return fail(filled.error());
  warn_of(flags_of_all_.unused_settings);
  if (watch_ && events_.follow) return fail(invalid("bad-flag", "-f goes on by itself: no --watch beside it"));
  if (watch_) return watch(app_, context(), action_);
  const Pager pager(is_paged() ? variable("PAGER") : "");
  const int status = action_();
  return status == 0 && *json_failed_ ? 2 : status;
}

bool CommandLine::is_paged() const {
  if (terminal_.columns == 0 || !is_long(app_) || logs_.follow || events_.follow || variable("PAGER").empty())
    return false;
  const Context asked = context();
  return !asked.as_json && !asked.plain && !asked.quiet;
}

// For the shell: one candidate per line, and what it is after a tab.
int CommandLine::print_candidates(const std::vector<std::string>& words) {
  static_cast<void>(fill_from_config(app_, flags_of_all_));  // without it, the words that need no controller
  if (const std::string url = variable("SCHEDULEARN_URL"); !url.empty())
    flags_of_all_.url = url, flags_of_all_.is_url_chosen = true, flags_of_all_.token = token_for(url);
  for (const Candidate& candidate : complete(app_, words, context()))
    std::printf("%s\t%s\n", candidate.word.c_str(), candidate.help.c_str());
  return 0;
}

}  // namespace

// A daemon begins when the command line that named it is gone: all commands with their options take a megabyte.
namespace {

// Whoever reads it may have gone; that is theirs to decide.
bool is_all_written() {
  errno = 0;
  std::cout.flush();
  const bool is_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
  return is_written || errno == EPIPE;
}

}  // namespace

int run_cli(int argc, char** argv, const Roles& roles) {
  std::function<int()> daemon;
  const auto later = [&daemon](const auto& role) {
    return [&daemon, role](const auto& options) { return daemon = [role, options] { return role(options); }, 0; };
  };
  Roles known = roles;
  known.up = later(roles.up), known.controller = later(roles.controller), known.agent = later(roles.agent);
  const int status = CommandLine(known).run(argc, argv);
  if (!daemon)
    return is_all_written() ? status : fail(denied("cannot-write", "the output could not be written in full"));
  ::malloc_trim(0);
  return daemon();
}

}  // namespace sl::cli
