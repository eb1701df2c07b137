/// Why a time zone is not available.
struct TimeZoneError: Error, Equatable, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
