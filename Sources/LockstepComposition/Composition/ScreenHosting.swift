import LockstepBuiltInScreens
import LockstepHTTP
import LockstepHTTPClient
import LockstepScreens
import LockstepStore
import LockstepSync
import LockstepThreading
import LockstepTime

/// The screens of a server: what they use, and which there are.
struct ScreenHosting: Sendable {
  /// Reads and changes users' states for the screens.
  let users: LedgerUsers
  /// Tests replace the services of screens.
  var services: ScreenServices
  /// The screens of the program.
  let own: [ScreenDeclaration]
  let upstream: HTTPProfileUpstream?
  private let writes = LedgerUsers.makeTurns()
  // One thread is enough, because time zones stay in memory and their files are rarely read.
  private let zones: WorkerPool

  init(
    _ configuration: Configuration,
    _ accounts: AccountServices,
    _ modules: ModuleServices,
    _ states: StateServices,
    own: [ScreenDeclaration],
    counter: WorkCounter?
  ) throws {
    self.own = own
    upstream = try configuration.profileUpstream.map {
      try HTTPProfileUpstream($0, HTTPClient.Configuration(userAgent: "lockstep/\(lockstepVersion)"))
    }
    zones = try WorkerPool(name: "zone", threads: 1, capacity: 64, counter: counter)
    users = LedgerUsers(
      cache: states.cache,
      registry: states.registry,
      followed: FollowedUsers(),
      ledger: states.ledger,
      modules: modules.all,
      turns: writes
    )
    services = ScreenServices(
      users: users,
      builtIn: ScreenComponents(
        accounts: AccountsLogIn(accounts: accounts.stored),
        validators: ScreenValidators(configuration.accounts.passwordRules) { [accounts = accounts.stored] in
          try await accounts.shortestPassword()
        },
        upstream: upstream ?? LocalProfileUpstream(),
        dates: TimeZones(workers: zones)
      )
    )
  }

  /// All screens: the built-in ones, then those of the program.
  var declarations: [ScreenDeclaration] { BuiltInScreens.declarations(services.builtIn) + own }

  var waitingZones: Int { zones.waiting }

  /// Blocks until no write of a screen waits or runs, or until the time is over. The requests that caused
  /// these writes have got their responses already.
  func finishWrites(atMost time: Duration) { writes.waitUntilIdle(atMost: time.wholeNanoseconds) }

  func shutDown() {
    upstream?.shutDown()
    zones.shutDown()
  }
}
