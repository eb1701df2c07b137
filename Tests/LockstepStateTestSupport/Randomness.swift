import LockstepJSON
import LockstepTestSupport

extension SeededNumbers {
  /// A text of up to this many unusual scalars. It contains control characters only if `controls`
  /// is true.
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

  /// A value of any kind except null, with at most this depth.
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
