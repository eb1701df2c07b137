import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepCollections
@testable import LockstepLogging
@testable import LockstepScreens
@testable import LockstepTime

@Suite("Failures of an upstream are logged", .timeLimit(.minutes(10)))
struct WatchedProfileUpstreamTests {
  /// Fails with the given errors, in order.
  private final class Failing: ProfileUpstream {
    private let failures: LockedState<[UpstreamError]>

    init(_ failures: [UpstreamError]) { self.failures = LockedState(failures) }

    nonisolated(nonsending) func send(_ profile: OutgoingProfile) async throws(UpstreamError) {
      if let failure = failures.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { throw failure }
    }
  }

  @Test(
    "Failures are logged once a minute with their reason and the number of the others; a cancellation is not a failure"
  )
  func failures() async {
    let (time, log) = (ManualTime(), LogRecorder())
    let down = UpstreamError(.unreachable, detail: "people.example refuses connections")
    let base = Failing([UpstreamError(.cancelled, detail: "cancelled"), down, down, down, down])
    let upstream = LoggingProfileUpstream(
      base,
      logger: Logger(level: .warning, format: .text, now: { Timestamp(millisecondsSince1970: 0) }) { log.record($0) },
      monotonic: time.serverTime.monotonic
    )
    let profile = OutgoingProfile(user: SyncFixture.session(1).user, companyName: nil, position: nil)
    for seconds in [0.0, 0, 0, 59, 1, 1] {
      time.advance(by: seconds)
      try? await upstream.send(profile)
    }
    let start = "1970-01-01T00:00:00.000Z WARNING the profile upstream failed"
    #expect(
      log.lines == [
        "\(start) reason=\"people.example refuses connections\" failuresNotLogged=0\n",
        "\(start) reason=\"people.example refuses connections\" failuresNotLogged=2\n",
      ]
    )
  }
}
