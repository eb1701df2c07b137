import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepStateTestSupport
@testable import LockstepSync

/// The encoder threads, blocked by work of two other users.
struct HeldEncoders {
  let backgroundEncoder: BackgroundEncoder
  let gate = ThreadGate()
  let tasks: [Task<Void, any Error>]

  init(_ users: ServerFixture) async throws {
    let backgroundEncoder = try #require(users.running.withLock { $0?.services.users.encoding.background })
    let gate = gate
    self.backgroundEncoder = backgroundEncoder
    let arrivals = [ThreadGate(), ThreadGate()]
    tasks = arrivals.enumerated().map { number, arrival in
      Task {
        try await backgroundEncoder.run(for: SyncFixture.session(UInt64(number)).user, from: nil) {
          arrival.open()
          gate.pass()
        }
      }
    }
    for arrival in arrivals { await arrival.opened() }
  }

  /// Waits until a user's work waits or runs for an encoder thread.
  func hasRequest(of device: Device) async {
    await eventually {
      UserID(device.user).map { backgroundEncoder.shares.isRunning($0) } ?? false
    }
  }

  func letGo() async throws {
    gate.open()
    for task in tasks { try await task.value }
  }
}
