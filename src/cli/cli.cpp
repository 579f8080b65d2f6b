// Every command: its options, its examples, one call. Those of researchers are in research.cpp.
#include "cli/cli.h"

#include <pwd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>

#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/research.h"
#include "wire/error.h"

namespace sl::cli {
namespace {

constexpr const char* version = SCHEDULEARN_VERSION;

constexpr const char* usage = R"(Schedulearn schedules deep-learning jobs on GPU servers.

  schedulearn up                                 start everything on this machine
  schedulearn submit --gpus 1 -- python train.py hand in a training
  schedulearn ls                                 see what runs and what waits

Jobs      submit run ls show logs why wait cancel
Cluster   status gpus events servers (ls lost) policy (ls show set check history undo)
Research  sim (run compare)  plot (cdf gantt util lines bars)  trace (info import export gen ls)  reproduce
System    up controller (run replay) agent (run) version help

schedulearn COMMAND --help shows examples and every option.
)";

std::string user_name() {
  const passwd* entry = ::getpwuid(::getuid());
  if (entry && entry->pw_name) return entry->pw_name;
  const char* name = ::getenv("USER");
  return name ? name : "anonymous";
}

std::string read_secret(const std::string& path) {
  std::ifstream file(path);
  std::string secret;
  std::getline(file, secret);
  return secret;
}

std::string variable(const char* name) {
  const char* value = ::getenv(name);
  return value ? value : "";
}

// Help begins with examples: they are what most people look for.
class ExamplesFirst : public CLI::Formatter {
 public:
  std::map<const CLI::App*, std::string> examples;
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    const auto at = examples.find(app);
    const std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    return at == examples.end() || mode != CLI::AppFormatMode::Normal ? text : "Examples:\n" + at->second + "\n" + text;
  }
};

std::vector<CLI::App*> commands_of(const CLI::App& app) {
  return const_cast<CLI::App&>(app).get_subcommands([](const CLI::App*) { return true; });
}

CLI::App* find_command(const CLI::App& app, const std::string& name) {
  for (CLI::App* inner : commands_of(app)) {
    if (inner->check_name(name)) return inner;
  }
  return nullptr;
}

class CommandLine {
 public:
  CommandLine(const Roles& roles)
      : roles_(roles), app_("Schedulearn schedules deep-learning jobs on GPU servers.", "schedulearn") {
    app_.set_help_flag("-h,--help", "examples and options");
    app_.set_version_flag("--version", std::string("schedulearn ") + version);
    app_.fallthrough();
    app_.require_subcommand(0, 1);
    add_global_flags();
    add_job_commands();
    add_cluster_commands();
    research_.add_to(app_);
    add_system_commands();
  }

  int run(int argc, char** argv);

 private:
  // A command with its examples on top of its help.
  CLI::App* command(CLI::App& parent, const std::string& name, const std::string& summary, const std::string& examples,
                    std::function<int()> action) {
    CLI::App* added = parent.add_subcommand(name, summary);
    added->set_help_flag("-h,--help", "examples and options");
    added->fallthrough();
    formatter_->examples[added] = examples;
    added->formatter(formatter_);
    added->final_callback([this, action = std::move(action)] { action_ = action; });
    return added;
  }
  void add_global_flags();
  void add_job_commands();
  void add_submit(const std::string& name, bool run);
  void add_cluster_commands();
  void add_system_commands();
  Context context() const;
  int explain_parse_error(const CLI::ParseError& error, int argc, char** argv);

  const Roles& roles_;
  std::shared_ptr<ExamplesFirst> formatter_ = std::make_shared<ExamplesFirst>();
  CLI::App app_;
  std::function<int()> action_;
  std::string url_ = "http://127.0.0.1:5000", json_, color_ = "auto";
  bool plain_ = false, quiet_ = false, no_color_ = false, no_input_ = false, yes_ = false;
  double timeout_s_ = 30;
  SubmitOptions submit_;
  std::map<std::string, std::string> flags_;
  ListOptions list_;
  LogsOptions logs_;
  WaitOptions wait_;
  std::vector<std::string> selectors_, parameters_, after_dashes_;
  std::string name_, wait_timeout_;
  int events_limit_ = 30;
  std::string typed_;  // the command as it was typed
  UpOptions up_;
  ControllerOptions controller_;
  AgentOptions agent_;
  Research research_{[this](auto&&... of) { return command(of...); }, [this] { return context(); }, typed_};
};

void CommandLine::add_global_flags() {
  app_.add_option("--url", url_, "where the controller is")->envname("SCHEDULEARN_URL")->group("Everywhere");
  app_.add_option("--json", json_, "the REST document instead of text; --json=id,state chooses fields")
      ->expected(0, 1)
      ->default_str("*")
      ->group("Everywhere");
  app_.add_flag("--plain", plain_, "tab-separated, one record a line")->group("Everywhere");
  app_.add_flag("-q,--quiet", quiet_, "ids only")->group("Everywhere");
  app_.add_option("--color", color_, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->group("Everywhere");
  app_.add_flag("--no-color", no_color_, "the same as --color never")->group("Everywhere");
  app_.add_flag("--no-input", no_input_, "never ask")->group("Everywhere");
  app_.add_flag("-y,--yes", yes_, "do not ask for confirmation")->group("Everywhere");
  const auto set_timeout = [this](const std::string& text) {
    const auto seconds = wire::parse_duration_s(text);
    if (!seconds.ok()) throw CLI::ValidationError("--timeout", seconds.error().message);
    if (*seconds == 0) throw CLI::ValidationError("--timeout", "no answer comes in no time");
    timeout_s_ = *seconds;
  };
  app_.add_option_function<std::string>("--timeout", set_timeout, "how long to wait for an answer (30s)")
      ->group("Everywhere");
}

void CommandLine::add_submit(const std::string& name, bool run) {
  const std::string examples = "  schedulearn " + name + " --gpus 1 -- python train.py --epochs 10\n  schedulearn " +
                               name + " job.toml\n  schedulearn " + name + " --gpus 2 --launch torchrun -- train.py\n";
  CLI::App* c = command(app_, name, run ? "Submit a job, follow its output, end with its exit code." : "Hand in a job.",
                        examples, [this, run] {
                          SubmitOptions options = submit_;
                          options.command = after_dashes_;
                          for (const auto& [key, text] : flags_) {
                            if (!text.empty()) options.keys[key] = text;
                          }
                          if (run) options.follow = options.wait = options.cancel_on_interrupt = true;
                          return submit(context(), options);
                        });
  c->add_option("file", submit_.file, "job file (TOML or JSON), - for standard input");
  const auto key = [&](const char* flag, const char* name_of_key, const char* help) {
    c->add_option(flag, flags_[name_of_key], help);
  };
  key("--name", "name", "what to call it");
  key("--gpus", "gpus", "how many GPUs, or a range: 2, 1..4");
  key("--servers", "servers", "on how many servers");
  key("--gpu-type", "resources.gpu_type", "a GPU of this name");
  key("--gpu-memory", "resources.gpu_memory", "memory of each GPU: 10GiB");
  key("--cpus", "resources.cpus", "processor cores");
  key("--memory", "resources.memory", "main memory: 64GiB");
  key("--image", "image", "container image");
  key("--launch", "launch", "none, torchrun or ranks");
  key("--framework", "framework", "pytorch, tensorflow, …");
  key("-C,--workdir", "workdir", "working directory (default: here)");
  key("--time-limit", "time.limit", "stop it after running this long: 2h");
  key("--estimate", "time.estimate", "how long you think it runs");
  key("--priority", "priority", "higher goes first");
  key("--checkpoint-dir", "checkpoint.dir", "it saves its state here and can be stopped and resumed");
  key("--checkpoint-signal", "checkpoint.signal", "signal that asks it to save (TERM)");
  key("--grace", "checkpoint.grace", "how long it may take to save");
  key("--retry", "retry.max", "try again this often");
  c->add_option("-e,--env", submit_.env, "NAME=VALUE, or NAME to pass on yours");
  c->add_option("--set", submit_.set, "any key of the job file: --set time.limit=2h");
  c->add_flag_callback(
      "--hold", [this] { flags_["hold"] = "true"; }, "wait until it is released");
  c->add_flag_callback(
      "--no-preempt", [this] { flags_["preemptible"] = "false"; }, "never interrupt it");
  c->add_flag_callback(
      "--no-migrate", [this] { flags_["migratable"] = "false"; }, "never move it");
  if (!run) {
    c->add_flag("-f,--follow", submit_.follow, "follow the output");
    c->add_flag("--wait", submit_.wait, "wait until it has ended");
    c->add_flag("-n,--dry-run", submit_.dry_run, "say what would happen");
  }
}

void CommandLine::add_job_commands() {
  add_submit("submit", false);
  add_submit("run", true);
  CLI::App* ls =
      command(app_, "ls", "What runs, waits and has ended.",
              "  schedulearn ls\n  schedulearn ls --state pending,running\n  schedulearn ls --all --json=id,state\n",
              [this] { return list_jobs(context(), list_); });
  ls->alias("ps");
  ls->alias("queue");
  ls->add_option("--state", list_.state, "only these states, separated by commas");
  ls->add_option("--user", list_.user, "only this user's");
  ls->add_option("--name", list_.word, "only names that contain this");
  ls->add_option("--limit", list_.limit, "at most this many")->check(CLI::Range(1, 100'000));
  ls->add_flag("-a,--all", list_.all, "no limit");
  command(app_, "show", "Everything about a job.", "  schedulearn show 5\n  schedulearn show last --json\n",
          [this] { return show_job(context(), selectors_); })
      ->add_option("job", selectors_, "5, 1-5, 1,3, last, all or a name")
      ->required();
  CLI::App* log = command(app_, "logs", "A job's output.",
                          "  schedulearn logs 5\n  schedulearn logs -f last\n  schedulearn logs --tail 20 mnist\n",
                          [this] { return logs(context(), logs_); });
  log->add_option("job", logs_.selectors, "5, last or a name")->required();
  log->add_flag("-f,--follow", logs_.follow, "go on until the job has ended");
  log->add_option("--tail", logs_.tail, "only the last lines")->check(CLI::NonNegativeNumber);
  log->add_option("--attempt", logs_.attempt, "of an earlier attempt")->check(CLI::PositiveNumber);
  command(app_, "why", "Why a job waits.", "  schedulearn why 5\n", [this] { return why(context(), name_); })
      ->add_option("job", name_, "5, last or a name")
      ->required();
  CLI::App* wait = command(app_, "wait", "Wait until jobs have ended; one job's exit code is ours.",
                           "  schedulearn wait 5\n  schedulearn wait all --for 1h\n", [this] {
                             if (!wait_timeout_.empty()) {
                               const auto seconds = wire::parse_duration_s(wait_timeout_);
                               if (!seconds.ok()) return fail(seconds.error());
                               wait_.timeout_s = *seconds;
                             }
                             catch_interrupts();
                             return wait_jobs(context(), wait_);
                           });
  wait->add_option("job", wait_.selectors, "5, 1-5, last, all or a name")->required();
  wait->add_option("--for", wait_timeout_, "give up after this long: 10m (exit status 124)");
  command(app_, "cancel", "Stop jobs, or take them out of the queue.",
          "  schedulearn cancel 5\n  schedulearn cancel all --yes\n",
          [this] { return cancel_jobs(context(), selectors_); })
      ->add_option("job", selectors_, "5, 1-5, last, all or a name")
      ->required();
}

void CommandLine::add_cluster_commands() {
  command(app_, "status", "The controller, its servers and the queue in short.", "  schedulearn status\n",
          [this] { return cluster_status(context()); });
  command(app_, "gpus", "Every GPU and who has it.", "  schedulearn gpus\n", [this] { return list_gpus(context()); });
  command(app_, "events", "What has happened, newest last.", "  schedulearn events --limit 50\n",
          [this] { return list_events(context(), events_limit_); })
      ->add_option("--limit", events_limit_, "how many")
      ->check(CLI::Range(1, 10'000));
  CLI::App* servers = app_.add_subcommand("servers", "Servers: ls, lost.");
  servers->require_subcommand(1);
  servers->fallthrough();
  command(*servers, "ls", "The servers and how they stand.", "  schedulearn servers ls\n",
          [this] { return cluster_status(context()); });
  command(*servers, "lost", "Declare a server dead: its jobs go back to the queue and start elsewhere.",
          "  schedulearn servers lost gpu4\n", [this] { return declare_server_lost(context(), name_); })
      ->add_option("name", name_, "a server that does not answer any more")
      ->required();

  CLI::App* policy = app_.add_subcommand("policy", "Scheduling policies: ls, show, set, check, history, undo.");
  policy->require_subcommand(1);
  policy->fallthrough();
  command(*policy, "ls", "The policies there are.", "  schedulearn policy ls\n",
          [this] { return list_policies(context()); });
  command(*policy, "show", "A policy, what it is good for, its parameters.",
          "  schedulearn policy show\n  schedulearn policy show fifo\n",
          [this] { return show_policy(context(), name_); })
      ->add_option("name", name_, "default: the one in force");
  CLI::App* set = command(*policy, "set", "Switch the policy while jobs wait and run; none is lost.",
                          "  schedulearn policy set round_robin\n  schedulearn policy set fifo --param preset=seed\n"
                          "  schedulearn policy set ./mine.py\n",
                          [this] { return set_policy(context(), name_, parameters_); });
  set->add_option("name", name_, "see: schedulearn policy ls; or ./mine.py, a policy of your own")->required();
  set->add_option("--param", parameters_, "name=value");
  CLI::App* check =
      command(*policy, "check", "Try a policy of your own on small workloads; what a decision costs.",
              "  schedulearn policy check mine.py\n", [this] { return check_policy(context(), name_, parameters_); });
  check->add_option("file", name_, "mine.py, or the name of a built-in policy")->required();
  check->add_option("--param", parameters_, "name=value");
  command(*policy, "history", "Which policy was in force since when, and who chose it.",
          "  schedulearn policy history\n", [this] { return policy_history(context()); });
  command(*policy, "undo", "Back to the policy before, with its parameters; within 10 minutes.",
          "  schedulearn policy undo\n", [this] { return undo_policy(context()); });
}

void CommandLine::add_system_commands() {
  CLI::App* up =
      command(app_, "up", "Controller and agent on this machine, until Ctrl-C.",
              "  schedulearn up\n  schedulearn up --simulate 4\n  schedulearn up --listen 127.0.0.1:0 --data ./data\n",
              [this] { return roles_.up(up_); });
  up->add_option("--data", up_.data, "data directory (default: ~/.local/share/schedulearn)")
      ->envname("SCHEDULEARN_DATA");
  up->add_option("--simulate", up_.simulate, "this many GPUs that do not exist (default 4 when there is no real one)");
  up->add_option("--listen", up_.listen, "address and port");
  up->add_flag("--no-open", up_.no_open, "do not open a browser");
  up->add_option("--record", up_.record, "folder: write down what comes in and what is decided, for controller replay");
  CLI::App* controller = app_.add_subcommand("controller", "The daemon with the queue: run, replay.");
  controller->require_subcommand(1);
  controller->fallthrough();
  CLI::App* run = command(*controller, "run", "Run the controller in the foreground.",
                          "  schedulearn controller run --data /var/lib/schedulearn\n",
                          [this] { return roles_.controller(controller_); });
  run->add_option("--data", controller_.data, "data directory")->required();
  run->add_option("--listen", controller_.listen, "address and port");
  run->add_option("--token-file", controller_.token_file,
                  "first line: the token everybody must show; needed beyond loopback");
  run->add_option("--record", controller_.record,
                  "folder: write down what comes in and what is decided, for controller replay");
  command(*controller, "replay", "Give a recording to this program again and compare what it decides.",
          "  schedulearn controller replay recordings/recording-1790000000000000.jsonl\n",
          [this] { return roles_.replay(name_, context().as_json); })
      ->add_option("file", name_, "of controller run --record FOLDER")
      ->required();
  CLI::App* agent = app_.add_subcommand("agent", "The daemon on each server: run.");
  agent->require_subcommand(1);
  agent->fallthrough();
  CLI::App* serve = command(*agent, "run", "Run the agent of this server in the foreground.",
                            "  schedulearn agent run --join http://lab:5000 --data /var/lib/schedulearn-agent\n",
                            [this] { return roles_.agent(agent_); });
  serve->add_option("--join", agent_.join, "where the controller is")->required();
  serve->add_option("--data", agent_.data, "data directory")->required();
  serve->add_option("--name", agent_.name, "the server's name (default: the host's)");
  serve->add_option("--simulate", agent_.simulate, "this many GPUs that do not exist")->check(CLI::Range(1, 64));
  serve->add_option("--token-file", agent_.token_file, "first line: the controller's token");
  command(app_, "version", "The version of this program.", "  schedulearn version\n", [] {
    std::printf("schedulearn %s\n", version);
    return 0;
  });
  command(app_, "help", "How to use it.", "  schedulearn help\n  schedulearn help submit\n", [this] {
    if (selectors_.empty()) {
      std::fputs(usage, stdout);
      return 0;
    }
    const CLI::App* of = &app_;
    std::string name;
    for (const std::string& word : selectors_) {
      name += (name.empty() ? "" : " ") + of->get_name();
      of = find_command(*of, word);
      if (!of) return fail(invalid("unknown-command", "there is no command " + word).hint("schedulearn help"));
    }
    std::fputs(of->help(name).c_str(), stdout);
    return 0;
  })->add_option("command", selectors_, "of this command");
}

Context CommandLine::context() const {
  Context c;
  c.url = url_;
  while (c.url.ends_with('/')) c.url.pop_back();
  c.user = user_name();
  c.token = variable("SCHEDULEARN_TOKEN");
  if (const std::string file = variable("SCHEDULEARN_TOKEN_FILE"); !file.empty()) c.token = read_secret(file);
  c.timeout_s = timeout_s_;
  c.as_json = app_.count("--json") > 0;
  if (c.as_json && json_ != "*" && !json_.empty()) {
    for (std::size_t at = 0; at <= json_.size();) {
      const std::size_t comma = std::min(json_.find(',', at), json_.size());
      c.json_fields.push_back(json_.substr(at, comma - at));
      at = comma + 1;
    }
  }
  c.plain = plain_;
  c.quiet = quiet_;
  const bool terminal = ::isatty(STDOUT_FILENO) != 0 && variable("TERM") != "dumb";
  c.color = color_ == "always" || (color_ == "auto" && !no_color_ && terminal && variable("NO_COLOR").empty()) ||
            (color_ == "auto" && !no_color_ && !variable("CLICOLOR_FORCE").empty());
  std::string locale;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) locale = locale.empty() ? variable(name) : locale;
  c.unicode = locale.find("UTF-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  c.interactive = !no_input_ && ::isatty(STDIN_FILENO) != 0 && ::isatty(STDERR_FILENO) != 0;
  c.assume_yes = yes_;
  return c;
}

// The word that was not understood, and the one that was probably meant.
int CommandLine::explain_parse_error(const CLI::ParseError& error, int argc, char** argv) {
  std::vector<std::string> known;
  const CLI::App* at = &app_;
  std::string help = "schedulearn help";
  for (int i = 1; i < argc; ++i) {
    const CLI::App* inner = find_command(*at, argv[i]);
    if (!inner) continue;
    at = inner;
    help += " " + at->get_name();
  }
  for (const CLI::App* level : {static_cast<const CLI::App*>(&app_), at}) {
    for (const CLI::App* inner : commands_of(*level)) known.push_back(inner->get_name());
    for (const CLI::Option* option : level->get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
  }
  Error problem = invalid("usage", error.what());
  std::vector<std::string_view> views(known.begin(), known.end());
  for (int i = 1; i < argc && problem.hints.empty() && std::string_view(argv[i]) != "--"; ++i) {
    const std::string word(argv[i], std::string_view(argv[i]).find('=') == std::string_view::npos
                                        ? std::string_view(argv[i]).size()
                                        : std::string_view(argv[i]).find('='));
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    const bool flag = word.starts_with("--");
    const bool is_command = i == 1 || (i == 2 && !commands_of(*at).empty());
    if (!flag && !is_command) continue;
    problem.message = flag ? "there is no flag " + word : "there is no command " + word;
    problem.code = flag ? "unknown-flag" : "unknown-command";
    if (const auto near = did_you_mean(word, views)) problem.hints.push_back("did you mean " + *near + "?");
  }
  problem.hints.push_back(help);
  if (problem.hints.size() > 2) problem.hints.resize(2);
  return fail(problem);
}

int CommandLine::run(int argc, char** argv) {
  for (int i = 0; i < argc; ++i) typed_ += (i > 0 ? " " : "") + std::string(i > 0 ? argv[i] : "schedulearn");
  if (argc == 1) {
    std::fputs(usage, stdout);
    return 0;
  }
  // What follows -- is the job's command, whatever it looks like.
  int ours = argc;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--") {
      ours = i;
      after_dashes_.assign(argv + i + 1, argv + argc);
      break;
    }
  }
  try {
    app_.parse(ours, argv);
  } catch (const CLI::CallForHelp& help) {
    if (app_.get_subcommands().empty()) return std::fputs(usage, stdout), 0;
    return app_.exit(help);
  } catch (const CLI::Success& done) {
    return app_.exit(done);
  } catch (const CLI::ParseError& error) {
    return explain_parse_error(error, ours, argv);
  }
  if (action_) return action_();
  std::fputs(usage, stdout);
  return 0;
}

}  // namespace

int run_cli(int argc, char** argv, const Roles& roles) { return CommandLine(roles).run(argc, argv); }

}  // namespace sl::cli
