import Glibc
import LockstepTestSupport
import Testing

@Suite("What is in a server's memory stays there", .timeLimit(.minutes(10)))
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

  @Test("Nor that of a command, which is given passwords")
  func command() async throws {
    let folder = try TemporaryDirectory()
    let (server, _) = try await LockstepProcess.serving(in: folder)
    let password = folder.file("password")
    try #require(mkfifo(password, 0o600) == 0)
    let pipe = open(password, O_RDWR | O_CLOEXEC)
    try #require(pipe >= 0 && write(pipe, "x", 1) == 1)
    defer { close(pipe) }
    let command = try LockstepProcess(
      ["user", "add", "ada@example.com", "--data", folder.file("lockstep.db")],
      in: folder,
      name: "add",
      redirection: "<'\(password)'",
      isPowerless: true
    )
    // Once it has read the beginning of the password, it waits for the rest.
    await eventually {
      var unread: Int32 = 1
      return ioctl(pipe, UInt(FIONREAD), &unread) == 0 && unread == 0
    }
    #expect(try !Self.canLookInto(command.id))
    command.send(SIGTERM)
    #expect(await command.ended() == .signal(SIGTERM))
    server.send(SIGTERM)
    #expect(await server.ended() == .exit(0))
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
