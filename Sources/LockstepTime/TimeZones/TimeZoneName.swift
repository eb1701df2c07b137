/// The name of a time zone in the form that IANA's database gives names: `Europe/Berlin`, `America/Argentina/Ushuaia`,
/// `Etc/GMT+1`. Whether there is such a zone is another matter.
///
/// It's safe to look for a file by it: no part of it is `.` or `..`, begins with anything but a letter or is empty, so it
/// leads to nowhere but below the folder that it's looked for in.
struct TimeZoneName: Hashable, Sendable {
  let text: String

  /// Nil for what can't be one. Names begin with a capital; so what else lies in the folder (`posix`, `right`,
  /// `localtime`, `tzdata.zi`) isn't mistaken for one.
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
