/// The form of a date with its time in a language.
///
/// | tag | form |
/// |---|---|
/// | `en` | 21 November 2026 at 09:05 |
/// | `en-US` | November 21, 2026 at 9:05 AM |
/// | `de` | 21. November 2026 um 09:05 Uhr |
/// | `de-AT` | the same, with Jänner for January |
/// | `es` | 21 de noviembre de 2026, 9:05 |
/// | `fr` | 21 novembre 2026 à 09:05; 1er novembre on the first |
/// | `fr-CA` | 21 novembre 2026 à 9 h 05, with no-break spaces |
/// | `ja` | 2026年11月21日 9:05 |
/// | any other | 2026-11-21T09:05:00+01:00 (ISO 8601) |
///
/// Other regions (`es-MX`, `en-GB`) use the form of their language. Tags are BCP 47 or have the C
/// library's form: `ja_JP.UTF-8` means `ja-JP`. Case and other parts of a tag are ignored.
enum DateLanguage: Sendable, Equatable {
  case english
  case american
  case german(january: String)
  case spanish
  case french
  case canadianFrench
  case japanese
  case standard

  init(tag: String) {
    // Only the beginning is parsed, because a client may have saved a long text as its language.
    let parts = tag.lowercased().prefix(64).prefix { $0 != "." && $0 != "@" }
      .split(omittingEmptySubsequences: false) { $0 == "-" || $0 == "_" }
    // A region has two letters, and comes before any part of a single character.
    let region = parts.dropFirst().prefix { $0.count > 1 }.first { $0.count == 2 }
    self =
      switch (parts.first, region) {
      case ("en", "us"): .american
      case ("en", _): .english
      case ("de", "at"): .german(january: "Jänner")
      case ("de", _): .german(january: "Januar")
      case ("es", _): .spanish
      case ("fr", "ca"): .canadianFrench
      case ("fr", _): .french
      case ("ja", _): .japanese
      default: .standard
      }
  }

  /// The first tag whose language is not `standard`; nil if there is none.
  static func best(_ tags: [String]) -> String? { tags.first { Self(tag: $0) != .standard } }

  static let englishMonths = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
  ]
  static let germanMonths = [
    "Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November",
    "Dezember",
  ]
  static let spanishMonths = [
    "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre",
    "diciembre",
  ]
  static let frenchMonths = [
    "janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre",
    "décembre",
  ]
}
