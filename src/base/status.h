// Errors as values. A returned error says what was wrong and where, why (what was expected, what was found)
// and what to try; the command line prints these as three lines and exits with ExitCode().
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace nextscale {

using absl::Status;
using absl::StatusOr;

// The call was wrong: a flag, a value, a missing file. Exit status 2.
Status CallError(std::string_view what, std::string_view why = "", std::string_view to_try = "");
// A feature that this version does not have yet. Exit status 2.
Status NotYet(std::string_view what);
// A file holds something other than expected. Exit status 1.
Status FileError(std::string_view what, std::string_view why = "", std::string_view to_try = "");
// The work failed: no memory, no disk space, numbers that are not finite. Exit status 1.
Status WorkError(std::string_view what, std::string_view why = "", std::string_view to_try = "");
// Stopped on request. Exit status 130.
Status Interrupted();

// 0 done, 1 the work failed, 2 the call was wrong, 130 interrupted.
int ExitCode(const Status& status);
// "error: WHAT\n  why: ...\n  try: ...\n"
std::string ErrorText(const Status& status);

}  // namespace nextscale

#define NS_RETURN_IF_ERROR(expr)                                              \
  do {                                                                        \
    if (::absl::Status ns_status = (expr); !ns_status.ok()) return ns_status; \
  } while (false)

#define NS_CONCAT_INNER(a, b) a##b
#define NS_CONCAT(a, b) NS_CONCAT_INNER(a, b)
#define NS_ASSIGN_OR_RETURN(lhs, expr) NS_ASSIGN_OR_RETURN_IMPL(NS_CONCAT(ns_or_, __LINE__), lhs, expr)
#define NS_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                             \
  if (!tmp.ok()) return tmp.status();            \
  lhs = std::move(tmp).value()
