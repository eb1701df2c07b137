/// An event that the operator of a fleet should know of.
package enum FleetNotice: Sendable, Equatable {
  /// A standby of the database was promoted, or a backup was restored.
  case otherHistory
  /// The database was restarted.
  case databaseRestarted
  /// Another node has had the same address for seconds. Requests for the screens of one of them reach the
  /// other one.
  case sharedAddress(String)
  /// Another node has had no lease for a second, and has not stopped.
  case nodeLost(id: String, address: String?)
  /// A lost node has its lease again.
  case nodeBack(id: String, address: String?, after: Duration)
  /// This process got no processor time for so long.
  case stoodStill(Duration)
  /// Commits wait for a synchronous standby that does not confirm them.
  case standbySilent
  case standbyConfirms
}
