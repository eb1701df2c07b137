/// The form for the profile.
struct ProfileCoordinator: ScreenCoordinator {
  let factory: ReactorFactory

  var start: ScreenLink { ScreenLink("workingHistory") }

  var screens: [ScreenKind] {
    [.forSession(WorkingHistoryReactor.declaration) { try await factory.workingHistory(of: $0) }]
  }
}
