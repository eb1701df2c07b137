/// Why there is no time zone to be had.
struct TimeZoneError: Error, Equatable, CustomStringConvertible {
  /// What is wrong, in a sentence.
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
