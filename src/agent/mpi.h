// `launch = "mpi"`: mpirun of Open MPI starts one process per GPU, on one server or on several.
//
// On several servers mpirun needs to start a program of its own (orted) on the others. It usually does so by ssh; here it
// calls `connect`, which asks the part of the job on that server: each part but the first runs `serve`, which takes one
// order from whoever knows its secret. So mpirun runs with the rights, the environment and the GPUs of the job's part on
// that server, and all that it starts belongs to the job's tree of processes there.
//
//   first server                                           other servers
//   lead ── mpirun ─┬─ connect part-0 ── orted ── rank …
//                   └─ connect part-1 ──────────────────▶  serve ── orted ── rank …
//
// mpirun answers a request to stop by killing the processes a second later, and by stopping the others when the first
// has ended. So `lead` and `serve` keep such a request from it and pass it to the processes of their server, each of which
// is watched by `rank`: it tells orted of no failure once it was asked to stop.
//
// Each process writes to the output of its part; mpirun's own messages are in that of the first.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sl::agent {

// Who may be asked to start processes where, and how many. In the environment of the first part.
struct MpiPart {
  std::string address;  // a number, since this also runs in images, where no name may be known: "10.0.0.1"
  int port = 0;
  std::string secret;
  int processes = 0;
  friend bool operator==(const MpiPart&, const MpiPart&) = default;
};
inline constexpr const char* mpi_parts_variable = "SCHEDULEARN_MPI_PARTS";
inline constexpr const char* mpi_secret_variable = "SCHEDULEARN_MPI_SECRET";        // of a part that serves
inline constexpr const char* mpi_interface_variable = "SCHEDULEARN_MPI_INTERFACE";  // towards the others; may be unset

std::string to_text(const std::vector<MpiPart>& parts);  // "10.0.0.1 7000 SECRET 2,10.0.0.2 …"
// Nothing if the text is malformed.
std::vector<MpiPart> parse_mpi_parts(const std::string& text);

// The command line that mpirun wants run on another server, with the path of this program there (`self`) in place of the
// one on its own server, "/proc/N/exe": orted starts no others and yet ends if that path does not exist.
std::string with_agent_of(const std::string& self, std::string line);

// The words of mpirun's command line up to the command. `self`: the path of this program. Without parts, that many
// processes on this server.
std::vector<std::string> mpirun_words(const std::string& self, const std::vector<MpiPart>& parts, int processes,
                                      const std::string& interface, bool is_root);

// `schedulearn-launcher`, in containers `schedulearn-init`, `mpi lead COUNT COMMAND…`, `mpi serve PORT`, `mpi connect PART COMMAND…`, `mpi rank COMMAND…`;
// `arguments` begins with the word after "mpi" and ends with null. Returns the exit status.
int run_mpi(char** arguments);

}  // namespace sl::agent
