/// Dates and times by RFC 3339.
enum DateFormat {
  /// `full-date`: a day that the calendar has.
  static func isDate(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    bytes.count == 10 && Day(bytes) != nil
  }

  /// `date-time`. A second 60 is allowed only where leap seconds are: before midnight UTC at the end of
  /// June and December.
  static func isDateTime(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    // The shortest is 2026-11-23T18:25:43Z.
    guard bytes.count >= 20, let day = Day(bytes), bytes[10] | 0x20 == UInt8(ascii: "t"),
      let time = ClockTime(bytes, at: 11), bytes[16] == UInt8(ascii: ":"),
      let second = twoDigits(bytes, at: 17), second <= 60
    else { return false }
    var place = 19
    if bytes[place] == UInt8(ascii: ".") {
      place += 1
      let start = place
      while place < bytes.count, isDigit(bytes[place]) { place += 1 }
      guard place > start else { return false }
    }
    guard let offset = offset(bytes, at: place) else { return false }
    return second < 60 || day.hasLeapSecond(atMinute: time.minutes - offset)
  }

  /// Minutes east of UTC.
  private static func offset(_ bytes: UnsafeBufferPointer<UInt8>, at place: Int) -> Int? {
    guard place < bytes.count else { return nil }
    if bytes[place] | 0x20 == UInt8(ascii: "z") { return place + 1 == bytes.count ? 0 : nil }
    let sign = bytes[place] == UInt8(ascii: "+") ? 1 : bytes[place] == UInt8(ascii: "-") ? -1 : 0
    guard sign != 0, place + 6 == bytes.count, let time = ClockTime(bytes, at: place + 1) else { return nil }
    return sign * time.minutes
  }

  /// - Precondition: Two bytes can be read.
  @inline(__always)
  fileprivate static func twoDigits(_ bytes: UnsafeBufferPointer<UInt8>, at place: Int) -> Int? {
    guard isDigit(bytes[place]), isDigit(bytes[place + 1]) else { return nil }
    return Int(bytes[place] - UInt8(ascii: "0")) * 10 + Int(bytes[place + 1] - UInt8(ascii: "0"))
  }

  /// `18:25`.
  private struct ClockTime {
    let minutes: Int

    /// - Precondition: Five bytes can be read.
    init?(_ bytes: UnsafeBufferPointer<UInt8>, at place: Int) {
      guard let hour = twoDigits(bytes, at: place), hour < 24, bytes[place + 2] == UInt8(ascii: ":"),
        let minute = twoDigits(bytes, at: place + 3), minute < 60
      else { return nil }
      minutes = hour * 60 + minute
    }
  }

  private struct Day {
    let month: Int
    let day: Int

    /// - Precondition: Ten bytes can be read.
    init?(_ bytes: UnsafeBufferPointer<UInt8>) {
      guard let century = twoDigits(bytes, at: 0), let yearOfCentury = twoDigits(bytes, at: 2),
        bytes[4] == UInt8(ascii: "-"), let month = twoDigits(bytes, at: 5), (1...12).contains(month),
        bytes[7] == UInt8(ascii: "-"), let day = twoDigits(bytes, at: 8), day >= 1
      else { return nil }
      let year = century * 100 + yearOfCentury
      let isLeapYear = year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
      guard day <= Self.length(ofMonth: month, isLeapYear: isLeapYear) else { return nil }
      (self.month, self.day) = (month, day)
    }

    private static func length(ofMonth month: Int, isLeapYear: Bool) -> Int {
      switch month {
      case 2: isLeapYear ? 29 : 28
      case 4, 6, 9, 11: 30
      default: 31
      }
    }

    /// Whether the minute of this day in UTC, which can be in a day next to it, ends with a leap second.
    func hasLeapSecond(atMinute minute: Int) -> Bool {
      let lastMinute = 24 * 60 - 1
      switch minute {
      case lastMinute: return month == 6 && day == 30 || month == 12 && day == 31
      // The day before.
      case lastMinute - 24 * 60: return month == 7 && day == 1 || month == 1 && day == 1
      // The day after.
      case lastMinute + 24 * 60: return month == 6 && day == 29 || month == 12 && day == 30
      default: return false
      }
    }
  }
}
