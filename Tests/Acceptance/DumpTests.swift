import Glibc
import TestSupport
import Testing

@Suite("What is in a server's memory stays there")
struct DumpTests {
  /// Starts a shell's command with none of root's powers: with them anybody may look into anything.
  private static func spawn(_ command: String) throws -> pid_t {
    try ChildProcess.spawn(["/bin/sh", "-c", "\(LockstepProcess.powerless) \(command)"], ["PATH=/usr/bin:/bin"])
  }

  /// Whether somebody else of the same user can look into a process: what it was started with is as protected as its memory, and
  /// a core file is written of exactly those that can be looked into.
  private static func canLookInto(_ id: pid_t) throws -> Bool {
    let child = try spawn("cat /proc/\(id)/environ >/dev/null 2>&1")
    var status: Int32 = 0
    waitpid(child, &status, 0)
    return status == 0
  }

  @Test("A server's memory can't be dumped, unlike that of others")
  func dumpable() async throws {
    let other = try Self.spawn("sleep 1000")
    defer {
      kill(other, SIGKILL)
      waitpid(other, nil, 0)
    }
    let (process, _) = try await LockstepProcess.serving(in: TemporaryDirectory(), isPowerless: true)
    // It was started before: but it may still be the shell, which has root's powers.
    await eventually { (try? Self.canLookInto(other)) == true }
    #expect(try Self.canLookInto(other))
    #expect(try !Self.canLookInto(process.id))
    process.send(SIGTERM)
    #expect(await process.ended() == .exit(0))
  }
}
