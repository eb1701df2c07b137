import Foundation
import Testing

/// Tests that kill and restart servers many times. They run one after the other, because together,
/// on few cores, a single start took most of a minute.
@Suite("Servers that are killed and restarted", .serialized)
enum RestartTests {}

/// How often `CrashTests` kills a server.
let crashRounds = rounds("LOCKSTEP_CRASH_ROUNDS", standard: 5)
/// How often `FollowersTests` restarts a server.
let followerRounds = rounds("LOCKSTEP_FOLLOWER_ROUNDS", standard: 10)

/// How often `KilledClientTests` kills apps or their server.
let clientRounds = rounds("LOCKSTEP_CLIENT_ROUNDS", standard: 6)

private func rounds(_ variable: String, standard: Int) -> Int {
  ProcessInfo.processInfo.environment[variable].flatMap { Int($0) } ?? standard
}
