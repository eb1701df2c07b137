/// Writes moments for people.
package protocol DateTexts: Sendable {
  /// A moment in a language, by the clocks of a time zone with IANA's name. It never fails: what a language isn't known,
  /// or isn't said, becomes ISO 8601, and a zone that isn't becomes UTC, which the text says then.
  func text(_ timestamp: Timestamp, language: String?, timeZone: String?) async -> String
}

/// The same by the system's own database of time zones.
package struct SystemDateTexts: DateTexts {
  private let zones: TimeZones

  package init(_ zones: TimeZones) {
    self.zones = zones
  }

  /// See `DateTexts`.
  package func text(_ timestamp: Timestamp, language: String?, timeZone: String?) async -> String {
    var rules: TimeZoneRules?
    if let timeZone { rules = try? await zones.rules(of: timeZone) }
    return DateText(timestamp, language: language ?? "", timeZone: rules).description
  }
}
