#include "verbs.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <chrono>
#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>
#include <thread>

#include "load.h"

namespace sl::bench {
namespace {

// Says in a file when it started, was asked to stop, and ends.
const char* const says_when =
    "say() { echo $1 $EPOCHREALTIME >> $0; }; trap 'say asked; kill $!; say ends; exit 75' TERM; "
    "say started; sleep 1000 & wait";

void wait_soon(const std::function<bool()>& done) { wait_until(60, done, 0.0002); }

boost::json::object submit(Connection& connection, const boost::json::object& job) {
  const std::string answer = connection.call("POST", "/api/v1/jobs", boost::json::serialize(job));
  if (connection.status() != 201) throw std::runtime_error("the job was refused: " + answer);
  return boost::json::parse(answer).as_object();
}

std::string path_of(const boost::json::object& job) {
  return "/api/v1/jobs/" + std::to_string(job.at("id").to_number<std::int64_t>());
}

void wait_for_state(Connection& connection, const std::string& path, const char* state) {
  const std::string wanted = std::string("\"state\":\"") + state + "\"";
  wait_soon([&] { return connection.get(path).find(wanted) != std::string::npos; });
}

// Seconds from the request to the state.
double ask(Connection& connection, const std::string& path, const std::string& verb, const char* state) {
  const double begin = now_s();
  const std::string answer = connection.call("POST", path + "/" + verb, "{}");
  if (connection.status() != 202) throw std::runtime_error(verb + " was refused: " + answer);
  wait_for_state(connection, path, state);
  return now_s() - begin;
}

// The third field of /proc/PID/stat
char state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  file >> number >> name >> state;
  return state.empty() ? '?' : state[0];
}

double stop_alone() {
  const pid_t child = ::fork();
  if (child == 0) {
    while (true) ::pause();
  }
  const double begin = now_s();
  ::kill(child, SIGSTOP);
  while (state_of(child) != 'T') {
  }
  const double took = now_s() - begin;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return took;
}

struct Said {
  std::string what;
  double at = 0;  // by the clock of the wall
};
std::vector<Said> said_in(const std::string& file) {
  std::ifstream in(file);
  std::vector<Said> all;
  for (Said one; in >> one.what >> one.at;) all.push_back(one);
  return all;
}

// The wait for its signal and for the start of the next attempt; not what happens in between.
double resize(Connection& connection, const std::string& path, const std::string& file, int gpus) {
  const std::size_t before = said_in(file).size();
  const double begin = wall_now_s();
  const std::string answer = connection.call("POST", path + "/scale", "{\"gpus\":" + std::to_string(gpus) + "}");
  if (connection.status() != 202) throw std::runtime_error("scale was refused: " + answer);
  wait_soon([&] { return said_in(file).size() == before + 3; });
  const auto said = said_in(file);
  return (said[before].at - begin) + (said[before + 2].at - said[before + 1].at);
}

}  // namespace

Verbs measure_verbs(Lab& lab, int times) {
  Connection connection(lab.port);
  Verbs verbs;
  const auto frozen = path_of(submit(
      connection, {{"command", boost::json::array{"sleep", "1000"}}, {"workdir", "/"}, {"gpus", 1}, {"freeze", true}}));
  wait_for_state(connection, frozen, "running");
  for (int i = 0; i < times; ++i) {
    verbs.suspend_s.push_back(ask(connection, frozen, "suspend", "suspended"));
    verbs.resume_s.push_back(ask(connection, frozen, "resume", "running"));
    verbs.raw_s.push_back(stop_alone());
  }
  ask(connection, frozen, "cancel", "cancelled");
  const std::string file = lab.folder + "/said";
  const auto resized = path_of(submit(connection, {{"command", boost::json::array{"bash", "-c", says_when, file}},
                                                   {"workdir", "/"},
                                                   {"gpus", "1..2"},
                                                   {"checkpoint", boost::json::object{{"dir", ""}}}}));
  wait_soon([&] { return said_in(file).size() == 1; });
  wait_for_state(connection, resized, "running");
  const auto gpus_now = [&] {
    return boost::json::parse(connection.get(resized)).at("placement").at(0).at("gpus").as_array().size();
  };
  for (int i = 0; i < times; ++i) {
    verbs.resize_s.push_back(resize(connection, resized, file, gpus_now() == 1 ? 2 : 1));
    wait_for_state(connection, resized, "running");
  }
  ask(connection, resized, "cancel", "cancelled");
  return verbs;
}

std::vector<double> start_gangs(Lab& lab, int servers, int times) {
  Connection connection(lab.port);
  std::vector<double> took;
  for (int i = 0; i < times; ++i) {
    const double begin = now_s();
    const auto path = path_of(submit(
        connection,
        {{"command", boost::json::array{"sleep", "1000"}}, {"workdir", "/"}, {"gpus", servers}, {"servers", servers}}));
    wait_for_state(connection, path, "running");
    took.push_back(now_s() - begin);
    ask(connection, path, "cancel", "cancelled");
  }
  return took;
}

}  // namespace sl::bench
