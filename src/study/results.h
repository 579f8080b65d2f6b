// The files of a simulation: CSV of jobs and events, and the document of a whole comparison (docs/formats/results.md).
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "base/result.h"
#include "sim/world.h"

namespace sl::study {

// A file written in large pieces. The first error is kept and returned by close(). One that is not closed, or could not
// be written whole, is removed: nobody takes half of it for all.
class OutputFile {
 public:
  // Error "cannot-write".
  static Result<OutputFile> create(const std::string& path);
  void write(std::string_view text);
  Status close();

 private:
  struct Discarder {
    std::string path;
    void operator()(std::FILE* file) const;
  };
  std::unique_ptr<std::FILE, Discarder> file_;
  bool whole_ = true;
};

// Errors: "cannot-write", "disk-full".
Status write_jobs(const std::string& path, const trace::Trace& trace, const sim::SimulationResult& result);

// Writes every event as it happens.
class EventFile : public sim::WorldObserver {
 public:
  // `trace` and `cluster` must outlive it.
  static Result<std::unique_ptr<EventFile>> create(const std::string& path, const trace::Trace& trace,
                                                   const sim::Cluster& cluster);
  void happened(const sim::WorldEvent& event) override;
  Status close();

 private:
  EventFile(OutputFile file, const trace::Trace& trace, const sim::Cluster& cluster);
  void add_place(const Allocation& gpus);
  OutputFile file_;
  const trace::Trace& trace_;
  std::vector<ServerDescription> servers_;
  std::string text_;
};

}  // namespace sl::study
