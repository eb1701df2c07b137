/// The login screen.
struct LoginCoordinator: ScreenCoordinator {
  let factory: ReactorFactory

  var start: ScreenLink { ScreenLink("login") }

  var screens: [ScreenKind] { [.withoutSession(LoginReactor.declaration) { factory.login() }] }
}
