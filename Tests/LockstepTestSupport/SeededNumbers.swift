import Foundation

/// SplitMix64, so that a seed gives the same test on every machine.
public struct SeededNumbers: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// Creates the numbers that follow from a seed.
  public init(seed: UInt64) {
    state = seed
  }

  /// Returns the next number.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  /// Returns a number below a bound, which is at least 1.
  public mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

  /// Returns true once in this many times, at random.
  public mutating func once(in times: Int) -> Bool { below(times) == 0 }

  /// Returns one of the elements. There must be at least one.
  public mutating func one<Element>(of elements: [Element]) -> Element { elements[below(elements.count)] }
}

/// The seed of a test's random numbers.
public enum TestSeed {
  /// Returns a new seed for each run and prints it, so that a failure can be repeated with
  /// `LOCKSTEP_TEST_SEED`.
  public static func make(for test: String) -> UInt64 {
    let given = ProcessInfo.processInfo.environment["LOCKSTEP_TEST_SEED"].flatMap { UInt64($0) }
    let seed = given ?? UInt64.random(in: 0...UInt64.max)
    print("\(test): LOCKSTEP_TEST_SEED=\(seed)")
    return seed
  }
}
