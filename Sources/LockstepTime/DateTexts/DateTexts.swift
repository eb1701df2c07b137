/// Formats moments for people.
package protocol DateTexts: Sendable {
  /// Formats a moment in a language and an IANA time zone. An unknown language gives ISO 8601. An
  /// unknown time zone gives UTC, and the text says so.
  func text(_ timestamp: Timestamp, language: String?, timeZone: String?) async -> String
}

/// Uses the system's time zone database.
package struct SystemDateTexts: DateTexts {
  private let zones: TimeZones

  package init(_ zones: TimeZones) { self.zones = zones }

  package func text(_ timestamp: Timestamp, language: String?, timeZone: String?) async -> String {
    var rules: TimeZoneRules?
    if let timeZone { rules = try? await zones.rules(of: timeZone) }
    return timestamp.text(language: language ?? "", timeZone: rules)
  }
}
