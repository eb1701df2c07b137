/// Reads the text of a time: the rule `date-time` of RFC 3339, with `T` and `Z` in either case.
struct TimeReader {
  private let bytes: [UInt8]
  private var position = 0

  init(_ text: String) { bytes = Array(text.utf8) }

  /// Nil if the text is not a time.
  mutating func millisecondsSince1970() -> Int64? {
    guard let year = number(4), skip("-"), let month = number(2), (1...12).contains(month), skip("-"),
      let day = number(2), (1...CivilDate.length(ofMonth: month, year: year)).contains(day), skip("T", or: "t"),
      let hour = number(2), hour < 24, skip(":"), let minute = number(2), minute < 60, skip(":"),
      let second = number(2), second <= 60, let fraction = fraction(), let offset = offset(), position == bytes.count
    else { return nil }
    let days = CivilDate.daysSince1970(year: year, month: month) + day - 1
    let minutes = (days * 24 + hour) * 60 + minute - offset
    // A leap second ends a day of UTC. It is the same moment as the beginning of the next day.
    if second == 60, (minutes % 1440 + 1440) % 1440 != 1439 { return nil }
    return (Int64(minutes) * 60 + Int64(second)) * 1000 + Int64(second == 60 ? 0 : fraction)
  }

  /// A number with a given count of digits.
  private mutating func number(_ count: Int) -> Int? {
    guard position + count <= bytes.count else { return nil }
    var number = 0
    for byte in bytes[position..<position + count] {
      guard Self.isDigit(byte) else { return nil }
      number = number * 10 + Int(byte - UInt8(ascii: "0"))
    }
    position += count
    return number
  }

  private mutating func skip(_ character: Unicode.Scalar, or other: Unicode.Scalar? = nil) -> Bool {
    guard position < bytes.count else { return false }
    let found = Unicode.Scalar(bytes[position])
    guard found == character || found == other else { return false }
    position += 1
    return true
  }

  /// The milliseconds after the seconds; 0 if there is no fraction.
  private mutating func fraction() -> Int? {
    guard skip(".") else { return 0 }
    let digits = bytes[position...].prefix(while: Self.isDigit)
    guard !digits.isEmpty else { return nil }
    position += digits.count
    return zip(digits, [100, 10, 1]).reduce(0) { $0 + Int($1.0 - UInt8(ascii: "0")) * $1.1 }
  }

  /// The minutes by which the time is ahead of UTC.
  private mutating func offset() -> Int? {
    if skip("Z", or: "z") { return 0 }
    let isAhead = skip("+")
    guard isAhead || skip("-"), let hours = number(2), hours < 24, skip(":"), let minutes = number(2), minutes < 60
    else { return nil }
    return (hours * 60 + minutes) * (isAhead ? 1 : -1)
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
