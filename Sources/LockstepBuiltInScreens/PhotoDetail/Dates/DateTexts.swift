import LockstepTime

/// Writes dates for people. Tests replace it.
public protocol DateTexts: Sendable {
  /// A moment as people write it, in the first known language of these tags and in an IANA time zone.
  /// Without a known language, the text is ISO 8601. An unknown time zone gives UTC, and the text says so.
  func text(_ timestamp: Timestamp, languages: [String], timeZone: String?) async -> String
}

extension TimeZones: DateTexts {
  /// Reads the zone, unless it is in memory.
  public func text(_ timestamp: Timestamp, languages: [String], timeZone: String?) async -> String {
    var rules: TimeZoneRules?
    if let timeZone { rules = try? await self.rules(of: timeZone) }
    return timestamp.text(language: DateLanguage.best(languages) ?? "", timeZone: rules)
  }
}
