import Foundation
import JSON

/// SplitMix64, so that a seed gives the same test everywhere.
struct SeededNumbers: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  /// A number below a bound.
  mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

  /// Whether something that happens once in so many times happens now.
  mutating func once(in times: Int) -> Bool { below(times) == 0 }

  /// One of the elements, of which there must be one.
  mutating func one<Element>(of elements: [Element]) -> Element { elements[below(elements.count)] }

  /// A text of awkward characters, to so many scalars; none of them control characters unless they're asked for.
  mutating func text(upTo length: Int, controls: Bool = false) -> String {
    let samples: [Unicode.Scalar] = [
      "a", "b", "Z", "0", " ", "\"", "\\", "/", "'", "%", "é", "e", "\u{301}", "東", "🌌", "\u{FFFF}", "\u{2028}",
    ]
    var text = String.UnicodeScalarView()
    for _ in 0..<below(length + 1) {
      text.append(controls && once(in: 8) ? one(of: ["\n", "\0", "\u{1F}"]) : one(of: samples))
    }
    return String(text)
  }

  /// A value of any kind but null, at most that deep.
  mutating func json(depth: Int = 3) -> JSON {
    switch below(depth > 0 ? 9 : 6) {
    case 0: .bool(once(in: 2))
    case 1: .integer(Int64(bitPattern: next()) >> Int64(below(64)))
    case 2: JSON(next())
    case 3: .double(one(of: [0.5, -0.0, 1.0, 1e300, .leastNonzeroMagnitude, 0.1, 123_456_789.125]))
    case 4, 5: .string(text(upTo: 12, controls: true))
    case 6: .array((0..<below(4)).map { _ in once(in: 6) ? .null : json(depth: depth - 1) })
    default:
      .object(JSONObject((0..<below(5)).map { _ in (text(upTo: 4), once(in: 6) ? .null : json(depth: depth - 1)) }))
    }
  }
}

/// A new seed in each run, printed so that a failure can be repeated with `LOCKSTEP_TEST_SEED`.
enum TestSeed {
  static func make(for test: String) -> UInt64 {
    let given = ProcessInfo.processInfo.environment["LOCKSTEP_TEST_SEED"].flatMap { UInt64($0) }
    let seed = given ?? UInt64.random(in: 0...UInt64.max)
    print("\(test): LOCKSTEP_TEST_SEED=\(seed)")
    return seed
  }
}
