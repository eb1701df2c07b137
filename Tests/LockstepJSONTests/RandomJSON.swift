import LockstepJSON
import LockstepTestSupport

/// The seed of all tests of this target.
let testSeed = TestSeed.make(for: "JSON")

extension JSON {
  /// A random value with at most this depth.
  static func random(depth: Int, using random: inout SeededNumbers) -> JSON {
    switch Int.random(in: 0..<(depth > 0 ? 10 : 7), using: &random) {
    case 0: .null
    case 1: .bool(Bool.random(using: &random))
    case 2: .integer(randomInteger(using: &random))
    case 3: JSON(random.next() | 1 << 63)
    case 4: JSON(randomDouble(using: &random))
    case 5, 6: .string(randomString(using: &random))
    case 7, 8:
      .array((0..<Int.random(in: 0..<6, using: &random)).map { _ in .random(depth: depth - 1, using: &random) })
    default: .object(randomObject(depth: depth, using: &random))
    }
  }

  static func randomDouble(using random: inout SeededNumbers) -> Double {
    let value = Double(bitPattern: random.next())
    return value.isFinite && Bool.random(using: &random) ? value : Double.random(in: -1e6...1e6, using: &random)
  }

  static func randomString(using random: inout SeededNumbers) -> String {
    let samples: [Unicode.Scalar] = [
      "a", "Z", " ", "\"", "\\", "/", "\n", "\0", "\u{1F}", "\u{7F}", "é", "\u{301}", "東", "🌌", "\u{FFFF}",
    ]
    var string = String.UnicodeScalarView()
    for _ in 0..<Int.random(in: 0..<24, using: &random) {
      let isPlain = Int.random(in: 0..<3, using: &random) > 0
      string.append(isPlain ? "x" : samples[Int.random(in: 0..<samples.count, using: &random)])
    }
    return String(string)
  }

  private static func randomInteger(using random: inout SeededNumbers) -> Int64 {
    Int64(bitPattern: random.next()) >> Int64.random(in: 0..<64, using: &random)
  }

  private static func randomObject(depth: Int, using random: inout SeededNumbers) -> JSONObject {
    let count = Int.random(in: 0..<10, using: &random) == 0 ? 30 : Int.random(in: 0..<6, using: &random)
    return JSONObject(
      (0..<count).map { _ in (randomString(using: &random), .random(depth: depth - 1, using: &random)) }
    )
  }
}
