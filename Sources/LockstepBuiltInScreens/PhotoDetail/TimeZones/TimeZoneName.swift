/// A name in the form of IANA's time zones, such as `Europe/Berlin` or `Etc/GMT+1`. The zone need
/// not exist.
///
/// It is safe as a relative path: each part begins with a letter, so none is empty, `.` or `..`.
struct TimeZoneName: Hashable, Sendable {
  let text: String

  /// Nil for other forms. Zones begin with a capital, other files do not (`posix`, `tzdata.zi`).
  init?(_ text: String) {
    let bytes = text.utf8
    guard bytes.count <= 64, let first = bytes.first, (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first) else {
      return nil
    }
    for part in bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      guard let first = part.first, Self.isLetter(first), part.allSatisfy(Self.isAllowed) else { return nil }
    }
    self.text = text
  }

  private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "_+-".utf8.contains(byte)
  }
}
