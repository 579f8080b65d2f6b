// How fast a training runs in one configuration, from measurements in others (policies.md 10.3). The model is linear
// after inversion, so the fit is exact least squares without negative coefficients.
//
//   all-reduce        T = t0*M/n + t1 + t2*(n-1)/n + t3*(n-1) + t4*[several machines] + t5*[several machines]*(n-1)/n
//   servers, in step  T = t0*M/w + t1 + t2*w/p + t3*w + t4*p
//   servers, async    w/f = t0 + t1*w/p + t2*w + t3*p
//
// f = 1/T in steps per second, M the global batch (1 if unknown). With fewer configurations than columns: a power of the
// number of workers, f(n) = f(1)*n^c with c between 0 and 1, fitted to the logarithms; 0.9 if only one number of workers
// was measured. From 1 and 2 GPUs it misses published speeds on more by half as much as Amdahl's law does
// (docs/guide/estimates.md). Source: Optimus; the all-reduce formula and the power are ours.
#pragma once

#include <map>
#include <vector>

#include "estimate/estimates.h"

namespace sl {

struct Configuration {
  int workers = 1;
  int servers = 0;  // parameter servers; 0: all-reduce
  bool several_machines = false;
  friend auto operator<=>(const Configuration&, const Configuration&) = default;
};

class SpeedModel {
 public:
  // Samples taken with a neighbour on the GPUs, and those that are not positive numbers, are left out.
  SpeedModel(const std::vector<SpeedSample>& samples, TrainingMode mode);

  // Steps per second. Measured configurations return the measurement (moving average, weight 0.3 for the latest),
  // others the model's figure.
  Figure steps_per_s(const Configuration& configuration) const;
  // It is that fast in 80 % of all cases: 0 to infinite if nothing is known, exact if it was measured.
  struct Range {
    double low = 0, high = 0;
  };
  Range range(const Configuration& configuration) const;
  // The speed of this configuration relative to one worker: never falls before its peak, never above linear unless
  // measured.
  Figure speedup(int workers, int servers, bool several_machines) const;
  const std::vector<double>& coefficients() const { return theta_; }  // empty: the power, or nothing

 private:
  std::vector<double> columns(const Configuration& c) const;
  double response(const Configuration& c, double speed) const;  // what the columns add up to
  void fit();
  void fit_power();
  double modelled(const Configuration& c) const;

  TrainingMode mode_;
  double batch_ = 1;
  std::map<Configuration, double> measured_;
  std::vector<double> theta_;
  double on_one_ = 0, exponent_ = 0;  // f(n) = on_one_ * n^exponent_
};

}  // namespace sl
