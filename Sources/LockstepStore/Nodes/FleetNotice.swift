/// An event that the operator of a fleet should know of.
package enum FleetNotice: Sendable {
  /// A standby of the database was promoted, or a backup was restored.
  case otherHistory
  /// The database was restarted.
  case databaseRestarted
  /// Another node has had the same address for seconds. Requests for the screens of one of them reach the
  /// other one.
  case sharedAddress(String)
}
