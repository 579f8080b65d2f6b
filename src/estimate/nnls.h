// Least squares with no negative coefficient: minimize |A*x - b| subject to x >= 0, exactly (Lawson and Hanson 1974).
#pragma once

#include <Eigen/Core>

namespace sl {

// Columns are scaled first. Columns that cannot be told apart share the effect between them (a ridge of 1e-9 of the
// mean diagonal). All entries must be finite. Never returns a NaN or a negative number.
Eigen::VectorXd nonnegative_least_squares(const Eigen::MatrixXd& a, const Eigen::VectorXd& b);

}  // namespace sl
