extension RecurringRule {
  /// Parses a rule such as `CET-1CEST,M3.5.0,M10.5.0/3`. If there is daylight saving time, its
  /// dates are required, because POSIX defines no default.
  init(parsing text: some Sequence<UInt8>) throws(TimeZoneError) {
    var scanner = RuleScanner(text)
    try scanner.name()
    standard = -(try scanner.time(upToHours: 24))
    guard !scanner.isAtEnd else {
      daylight = nil
      return
    }
    try scanner.name()
    let offset = scanner.isNext(",") ? standard + 3_600 : -(try scanner.time(upToHours: 24))
    let start = try scanner.change()
    let end = try scanner.change()
    guard scanner.isAtEnd else { throw RuleScanner.fault }
    daylight = Daylight(offset: offset, start: start, end: end)
  }
}

private struct RuleScanner {
  static let fault = TimeZoneError("The rule at the end of the file is invalid.")

  private var rest: ArraySlice<UInt8>

  init(_ text: some Sequence<UInt8>) { rest = ArraySlice(text) }

  var isAtEnd: Bool { rest.isEmpty }

  func isNext(_ character: Unicode.Scalar) -> Bool { rest.first == UInt8(ascii: character) }

  /// Skips an abbreviation: at least three letters, or text in angle brackets.
  mutating func name() throws(TimeZoneError) {
    let isBracketed = take("<")
    let name = rest.prefix { isLetter($0) || (isBracketed && (isDigit($0) || "+-".utf8.contains($0))) }
    rest = rest.dropFirst(name.count)
    guard name.count >= 3, !isBracketed || take(">") else { throw Self.fault }
  }

  /// Parses `[+-]hh[:mm[:ss]]` as seconds.
  mutating func time(upToHours hours: Int) throws(TimeZoneError) -> Int {
    let sign = take("-") ? -1 : 1
    if sign == 1 { _ = take("+") }
    var seconds = try number(0...hours) * 3_600
    if take(":") {
      seconds += try number(0...59) * 60
      if take(":") { seconds += try number(0...59) }
    }
    return sign * seconds
  }

  /// Parses `,day[/time]`. The default time is two o'clock.
  mutating func change() throws(TimeZoneError) -> RecurringRule.Change {
    guard take(",") else { throw Self.fault }
    let day = try day()
    return RecurringRule.Change(day: day, time: take("/") ? try time(upToHours: 167) : 7_200)
  }

  private mutating func day() throws(TimeZoneError) -> RecurringRule.Day {
    if take("J") { return .julian(try number(1...365)) }
    guard take("M") else { return .ordinal(try number(0...365)) }
    let month = try number(1...12)
    guard take(".") else { throw Self.fault }
    let week = try number(1...5)
    guard take(".") else { throw Self.fault }
    return .weekday(month: month, week: week, day: try number(0...6))
  }

  private mutating func number(_ range: ClosedRange<Int>) throws(TimeZoneError) -> Int {
    let digits = rest.prefix(while: isDigit)
    rest = rest.dropFirst(digits.count)
    guard (1...3).contains(digits.count) else { throw Self.fault }
    let number = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    guard range.contains(number) else { throw Self.fault }
    return number
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard isNext(character) else { return false }
    rest = rest.dropFirst()
    return true
  }

  private func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  private func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }
}
