// Compares LockstepJSON with Foundation's JSONSerialization on the same document. The two take
// turns in one run, so that other work on the machine affects both.

import Foundation
import LockstepJSON

let usage = """
  usage: json-benchmark [--rounds N]

  Parses and writes one deterministic document of 1 MiB with JSON and with Foundation's JSONSerialization, in
  turn, and prints the median throughput of N rounds (default 15, at least 5) and the ratios of the medians.

  """

/// The number after `--rounds`; any other argument ends the program with the usage.
func readRounds() -> Int {
  let arguments = Array(CommandLine.arguments.dropFirst())
  if arguments.isEmpty { return 15 }
  if arguments == ["--help"] {
    print(usage, terminator: "")
    exit(0)
  }
  guard arguments.count == 2, arguments[0] == "--rounds", let rounds = Int(arguments[1]), rounds >= 5 else {
    FileHandle.standardError.write(Data(usage.utf8))
    exit(64)
  }
  return rounds
}

/// A measured operation, and the time of each round.
final class Contender {
  let name: String
  let work: () throws -> Int
  private(set) var durations: [Duration] = []

  init(_ name: String, _ work: @escaping () throws -> Int) {
    self.name = name
    self.work = work
  }

  func runRound() throws {
    var result = 0
    durations.append(try ContinuousClock().measure { result = try work() })
    guard result > 0 else { throw CocoaError(.coderInvalidValue) }
  }

  func throughput(of byteCount: Int) -> (median: Double, slowest: Double, fastest: Double) {
    let rates = durations.map { Double(byteCount) / 1e6 / ($0 / .seconds(1)) }.sorted()
    return (rates[rates.count / 2], rates[0], rates[rates.count - 1])
  }
}

func cell(_ value: Double) -> String {
  let text = String(format: "%.1f", value)
  return String(repeating: " ", count: max(0, 10 - text.count)) + text
}

func printRow(_ contender: Contender, byteCount: Int) {
  let rate = contender.throughput(of: byteCount)
  let name = contender.name.padding(toLength: 28, withPad: " ", startingAt: 0)
  print(name + cell(rate.median) + cell(rate.slowest) + cell(rate.fastest))
}

let rounds = readRounds()
var document = MixedDocument()
let text = document.make(byteCount: 1 << 20)
let data = Data(text)
let value = try JSON(parsing: text)
let object = try JSONSerialization.jsonObject(with: data)

let parse = Contender("parse  JSON") { try JSON(parsing: text).arrayValue?.count ?? 0 }
let foundationParse = Contender("parse  JSONSerialization") {
  (try JSONSerialization.jsonObject(with: data) as? [Any])?.count ?? 0
}
let write = Contender("write  JSON") { value.encoded().count }
let foundationWrite = Contender("write  JSONSerialization") {
  try JSONSerialization.data(withJSONObject: object).count
}
let contenders = [parse, foundationParse, write, foundationWrite]

for contender in contenders { _ = try contender.work() }
for _ in 0..<rounds {
  for contender in contenders { try contender.runRound() }
}

print("\(text.count) bytes, \(rounds) rounds each, in turn; MB/s")
print("                                median   slowest   fastest")
for contender in contenders { printRow(contender, byteCount: text.count) }
for (name, ours, theirs) in [("parse", parse, foundationParse), ("write", write, foundationWrite)] {
  let ratio = ours.throughput(of: text.count).median / theirs.throughput(of: text.count).median
  print("\(name): \(String(format: "%.1f", ratio)) times the throughput of JSONSerialization")
}
