// Measures how long LockstepSchema takes to check a typical value, and how long the most expensive
// checks take.

import Foundation
import LockstepJSON
import LockstepSchema

let usage = """
  usage: schema-benchmark [--rounds N] [--typical]

  Checks a value of about 1 KiB by a typical schema, and prints the median, the fastest and the slowest CPU time for
  one check in N rounds (default 15, at least 5). Then prints the same for hostile values, which the budget of
  steps ends in time. With --typical, leaves these out.

  """

func endWithUsage() -> Never {
  FileHandle.standardError.write(Data(usage.utf8))
  exit(64)
}

/// The options; any other argument ends the program with the usage.
func readOptions() -> (rounds: Int, isTypical: Bool) {
  var (rounds, isTypical) = (15, false)
  var arguments = Array(CommandLine.arguments.dropFirst())
  while !arguments.isEmpty {
    switch arguments.removeFirst() {
    case "--help":
      print(usage, terminator: "")
      exit(0)
    case "--typical": isTypical = true
    case "--rounds":
      guard let text = arguments.first, let number = Int(text), number >= 5 else { endWithUsage() }
      arguments.removeFirst()
      rounds = number
    default: endWithUsage()
    }
  }
  return (rounds, isTypical)
}

func cell(_ value: Double) -> String {
  let text = String(format: "%.2f", value)
  return String(repeating: " ", count: max(0, 11 - text.count)) + text
}

/// The CPU time of this thread in microseconds. Unlike elapsed time, it leaves out other work of the
/// machine.
func processorMicroseconds() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
}

/// The CPU time of one of many runs, in microseconds.
func microseconds(repeating count: Int, _ work: () -> Bool) -> Double {
  var isExpected = true
  let start = processorMicroseconds()
  for _ in 0..<count { isExpected = work() && isExpected }
  let duration = processorMicroseconds() - start
  precondition(isExpected, "the check has an unexpected result")
  return duration / Double(count)
}

func measure(_ name: String, rounds: Int, count: Int, _ work: () -> Bool) {
  _ = microseconds(repeating: count, work)
  let times = (0..<rounds).map { _ in microseconds(repeating: count, work) }.sorted()
  print(name.padding(toLength: 44, withPad: " ", startingAt: 0), terminator: "")
  print(cell(times[rounds / 2]) + cell(times[0]) + cell(times[rounds - 1]))
}

let (rounds, isTypical) = readOptions()
let playlist = try ValueSchema(TypicalCase.schema)
let value = TypicalCase.value
let invalid = TypicalCase.invalidValue
print("\(value.encodedByteCount) bytes, \(rounds) rounds; µs of CPU time for one check")
print("                                                 median    fastest    slowest")
measure("valid", rounds: rounds, count: 20_000) { playlist.faults(of: value).isEmpty }
measure("invalid, with \(playlist.faults(of: invalid).count) faults", rounds: rounds, count: 2_000) {
  !playlist.faults(of: invalid).isEmpty
}
for hostile in isTypical ? [] : HostileCase.all {
  let schema = try ValueSchema(hostile.schema)
  let faults = schema.faults(of: hostile.value)
  let isStopped = faults.contains { $0.detail.contains("too many steps") }
  let result = isStopped ? "stopped" : faults.isEmpty ? "valid" : "invalid"
  measure("\(hostile.name): \(result)", rounds: 5, count: 1) { schema.faults(of: hostile.value) == faults }
}
