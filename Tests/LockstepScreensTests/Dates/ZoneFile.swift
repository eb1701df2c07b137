/// Writes TZif files for tests.
struct ZoneFile {
  var version: UInt8 = UInt8(ascii: "2")
  /// The times of clock changes, and the index of the new offset.
  var transitions: [(time: Int64, type: UInt8)] = []
  var offsets: [Int32] = [0]
  var leapSeconds = 0
  /// The text of the rule. Nil omits the rule and its line feeds.
  var footer: String? = ""
  /// The changes in the part for version 1. Nil means the same ones, as far as they fit into 32
  /// bits.
  var firstPart: [(time: Int64, type: UInt8)]?

  var bytes: [UInt8] {
    guard version != 0 else { return part(transitions, times: 4) }
    let first = firstPart ?? transitions.filter { Int64(Int32(truncatingIfNeeded: $0.time)) == $0.time }
    return part(first, times: 4) + part(transitions, times: 8) + (footer.map { Array("\n\($0)\n".utf8) } ?? [])
  }

  private func part(_ transitions: [(time: Int64, type: UInt8)], times: Int) -> [UInt8] {
    var bytes = Array("TZif".utf8) + [version] + [UInt8](repeating: 0, count: 15)
    // In version 1 there is an indicator for each offset, so that a reader must skip them.
    let indicators = times == 4 ? offsets.count : 0
    for count in [indicators, indicators, leapSeconds, transitions.count, offsets.count, 4] {
      bytes += Self.bytes(Int64(count), 4)
    }
    for transition in transitions { bytes += Self.bytes(transition.time, times) }
    bytes += transitions.map(\.type)
    for offset in offsets { bytes += Self.bytes(Int64(offset), 4) + [0, 0] }
    bytes += Array("ABC\0".utf8)
    for _ in 0..<leapSeconds { bytes += [UInt8](repeating: 0, count: times + 4) }
    return bytes + [UInt8](repeating: 0, count: 2 * indicators)
  }

  private static func bytes(_ number: Int64, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * (count - 1 - $0))) }
  }
}
