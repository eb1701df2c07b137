import LockstepReactor

/// Prints a table of the reactor library's costs on one core, and their targets.
///
/// The measure is CPU time. The elapsed time stands beside it.
func runBenchmark() {
  if CommandLine.arguments.contains("--help") {
    print(
      "usage: reactor-benchmark [--rounds N]\n\nPrints a Markdown table; each figure is the median of N rounds (5)."
    )
    return
  }
  let rounds = option("--rounds") ?? 5
  print("| what | by CPU time | elapsed | target |")
  print("|---|---|---|---|")
  row("step without a host: mutate, reduce", reach: "≥ 1,000,000 a second", rounds, perSecond: StepBenchmark.bare)
  row("host, 256 actions sent at a time", reach: "≥ 1,000,000 a second", rounds, perSecond: StepBenchmark.bursts)
  row("host, each action wakes the loop", reach: "", rounds, perSecond: StepBenchmark.single)
  row("host, send and await the state", reach: "", rounds, perSecond: StepBenchmark.roundTrips)
  row("an effect that emits, from send to the end", reach: "", rounds, perSecond: StepBenchmark.effects)
  row("10,000 items, 100 random edits: difference", reach: "≤ 3 ms", rounds, milliseconds: ChangesetBenchmark.edits)
  row("10,000 items shuffled: difference", reach: "", rounds, milliseconds: ChangesetBenchmark.shuffle)
  row("10,000 items, 100 edits: apply", reach: "", rounds, milliseconds: ChangesetBenchmark.apply)
  row("100,000 subscribers of one store notified", reach: "≤ 100 ms", rounds, milliseconds: StoreBenchmark.notifyAll)
  row("100,000 subscribers of one subject leave", reach: "", rounds, milliseconds: StoreBenchmark.removeAll)
}

private func option(_ name: String) -> Int? {
  guard let index = CommandLine.arguments.firstIndex(of: name) else { return nil }
  let value = CommandLine.arguments.dropFirst(index + 1).first
  return value.flatMap { Int($0) }
}

private func row(_ what: String, reach: String, _ rounds: Int, perSecond measure: () -> (steps: Int, time: Spent)) {
  let runs = (0..<rounds).map { _ in measure() }
  func rate(_ clock: (Spent) -> Duration) -> String {
    grouped(Int(median(runs.map { Double($0.steps) / (clock($0.time) / .seconds(1)) }))) + " a second"
  }
  print("| \(what) | \(rate(\.processor)) | \(rate(\.wall)) | \(reach) |")
}

private func row(_ what: String, reach: String, _ rounds: Int, milliseconds measure: () -> Spent) {
  let runs = (0..<rounds).map { _ in measure() }
  func time(_ clock: (Spent) -> Duration) -> String {
    "\((median(runs.map { clock($0) / .milliseconds(1) }) * 100).rounded() / 100) ms"
  }
  print("| \(what) | \(time(\.processor)) | \(time(\.wall)) | \(reach) |")
}

private func median(_ values: [Double]) -> Double {
  let sorted = values.sorted()
  return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
}

private func grouped(_ number: Int) -> String {
  var digits = String(number)
  var position = digits.count - 3
  while position > 0 {
    digits.insert(",", at: digits.index(digits.startIndex, offsetBy: position))
    position -= 3
  }
  return digits
}
