import LockstepTime

extension Timestamp {
  /// The date and time as people write them. `language` is a tag such as `de-AT`: see
  /// `DateLanguage`. Without a time zone, the text is in UTC and says so.
  func text(language: String, timeZone: TimeZoneRules?) -> String {
    let seconds = millisecondsSince1970 / 1000
    let offset = timeZone?.offset(at: seconds) ?? 0
    let language = DateLanguage(tag: language)
    if language == .standard { return Self.standard(Int(seconds), offset) }
    let text = LocalTime(Int(seconds) + offset).text(in: language)
    return timeZone == nil ? "\(text) (UTC)" : text
  }

  /// ISO 8601 allows no seconds in an offset. If the offset has seconds, the text is in UTC.
  private static func standard(_ seconds: Int, _ offset: Int) -> String {
    let isWhole = offset % 60 == 0 && abs(offset) < 86_400
    let time = LocalTime(seconds + (isWhole ? offset : 0))
    let (hours, minutes) = (abs(offset) / 3_600, abs(offset) / 60 % 60)
    let zone = isWhole && offset != 0 ? "\(offset < 0 ? "-" : "+")\(hours.twoDigits):\(minutes.twoDigits)" : "Z"
    return time.standardText + zone
  }
}

extension LocalTime {
  func text(in language: DateLanguage) -> String {
    let (year, day) = (date.year, date.day)
    switch language {
    case .english:
      return "\(day) \(month(DateLanguage.englishMonths)) \(year) at \(clock)"
    case .american:
      let half = hour < 12 ? "AM" : "PM"
      return
        "\(month(DateLanguage.englishMonths)) \(day), \(year) at \((hour + 11) % 12 + 1):\(minute.twoDigits) \(half)"
    case .german(let january):
      return "\(day). \(date.month == 1 ? january : month(DateLanguage.germanMonths)) \(year) um \(clock) Uhr"
    case .spanish:
      return "\(day) de \(month(DateLanguage.spanishMonths)) de \(year), \(shortClock)"
    case .french:
      return "\(frenchDate) à \(clock)"
    case .canadianFrench:
      return "\(frenchDate) à \(hour)\u{A0}h\u{A0}\(minute.twoDigits)"
    case .japanese:
      return "\(year)年\(date.month)月\(day)日 \(shortClock)"
    case .standard:
      return standardText
    }
  }

  private var frenchDate: String {
    "\(date.day == 1 ? "1er" : "\(date.day)") \(month(DateLanguage.frenchMonths)) \(date.year)"
  }
  private var shortClock: String { "\(hour):\(minute.twoDigits)" }

  /// A date's month is from 1 to 12, and there are 12 names.
  private func month(_ names: [String]) -> String { names[date.month - 1] }
}

extension Int {
  /// For 0 to 99.
  fileprivate var twoDigits: String { self < 10 ? "0\(self)" : "\(self)" }
}
