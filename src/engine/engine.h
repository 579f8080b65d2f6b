// The loop between a world and the core: the only place that decides order and durability.
//
//   events -> core -> records -> Journal (durable) -> commands -> Fleet
//
// A command leaves only after the records of its step are durable, in the order of the steps. The engine never blocks:
// a Journal that needs time calls durable() later. Worlds: sim/ (virtual clock, immediate journal) and controller/
// (live).
#pragma once

#include <cstdint>
#include <deque>

#include "core/core.h"

namespace sl {

using BatchNumber = std::uint64_t;

// Where records become durable. Returns true if they are durable on return; otherwise Engine::durable(batch) must be
// called later, for all batches in ascending order. The core may be read for the jobs that the records name.
class Journal {
 public:
  virtual ~Journal() = default;
  virtual bool append(const Core& core, const std::vector<Record>& records, BatchNumber batch) = 0;
};

// Carries out commands: simulated servers, or the agents of real ones.
class Fleet {
 public:
  virtual ~Fleet() = default;
  virtual void carry_out(const Core& core, std::vector<Command>& commands) = 0;
};

class Engine {
 public:
  Engine(Core& core, Journal& journal, Fleet& fleet) : core_(core), journal_(journal), fleet_(fleet) {}

  // Something happened. Its effects wait for the end of the instant.
  void feed(Event&& event, Instant now) { core_.apply(std::move(event), now, effects_); }

  // All events of this instant are in: decide, journal, and send what is durable. Returns the batch's number, or 0 if
  // there was nothing to write.
  BatchNumber turn(Instant now);

  // Everything up to and including `batch` is durable.
  void durable(BatchNumber batch);

  Effects& effects() { return effects_; }  // for Core::set_policy between feed and turn

 private:
  struct Held {
    BatchNumber batch;
    std::vector<Command> commands;
  };
  Core& core_;
  Journal& journal_;
  Fleet& fleet_;
  Effects effects_;
  BatchNumber last_batch_ = 0;
  std::deque<Held> held_;
};

}  // namespace sl
