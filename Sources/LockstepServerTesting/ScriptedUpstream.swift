import LockstepBuiltInScreens
import LockstepReactor
import LockstepReactorTesting
import Synchronization

/// The upstream of a test. It responds to profiles in the order in which they arrive, at the times of a script.
///
///     server.upstream.respond(at: 120, with: .failure(.unreachable))   // to the first profile
///     server.upstream.respond(at: 170, with: .success)                 // to the second profile
///
/// If a profile arrives after the time of its response, it gets the response at once. If the script has no response
/// for a profile, the profile waits until the test adds one. Without a script, the upstream accepts each profile at
/// once.
public final class ScriptedUpstream: ProfileUpstream {
  /// A response of the upstream.
  public enum Response: Sendable {
    /// It accepts the profile as it is.
    case success
    /// It accepts the profile, and changes it.
    case accepted(AcceptedProfile)
    /// It does not accept the profile, or does not respond.
    case failure(UpstreamError.Kind)
  }

  private struct Contents: Sendable {
    var script: [(time: Int, response: Response)] = []
    var profiles: [Recorded<OutgoingProfile>] = []
  }

  /// Whether the upstream can be reached. The test sets it. The script does not change it.
  public let reachability = Reachability()

  private let scheduler: TestScheduler
  private let contents = Mutex(Contents())
  /// The number of responses in the script.
  private let count = Latest(0)

  init(_ scheduler: TestScheduler) { self.scheduler = scheduler }

  /// Adds a response to the script. The first response is for the first profile, the second one for the second profile.
  /// `time` is in ticks of the test's scheduler.
  public func respond(at time: Int, with response: Response) {
    let count = contents.withLock { contents in
      contents.script.append((time, response))
      return contents.script.count
    }
    self.count.publish(count)
  }

  /// The profiles so far, with their times.
  public var profiles: [Recorded<OutgoingProfile>] { contents.withLock { $0.profiles } }

  /// Responds as the script says.
  nonisolated(nonsending) public func send(_ profile: OutgoingProfile) async throws(UpstreamError)
    -> AcceptedProfile
  {
    let row = Recorded.next(scheduler.time, profile)
    let (index, hasScript) = contents.withLock { contents in
      contents.profiles.append(row)
      return (contents.profiles.count - 1, !contents.script.isEmpty)
    }
    guard hasScript else { return AcceptedProfile() }
    for await count in count.values where count > index { break }
    let next = contents.withLock { index < $0.script.count ? $0.script[index] : nil }
    guard let next else { throw UpstreamError(.cancelled, detail: "the save was cancelled") }
    do { try await scheduler.clock.sleep(until: scheduler.instant(next.time)) } catch {
      throw UpstreamError(.cancelled, detail: "the save was cancelled")
    }
    switch next.response {
    case .success: return AcceptedProfile()
    case .accepted(let profile): return profile
    case .failure(let kind): throw UpstreamError(kind, detail: "the script of the test says so")
    }
  }
}
