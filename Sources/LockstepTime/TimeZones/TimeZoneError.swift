/// Why a time zone is not available.
package struct TimeZoneError: Error, Equatable, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}
