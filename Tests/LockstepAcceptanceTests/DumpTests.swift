import Glibc
import LockstepTestSupport
import Testing

@Suite("Other processes cannot read the memory of the server and the commands", .timeLimit(.minutes(10)))
struct DumpTests {
  /// Starts a shell command without root's capabilities. With them, a process may inspect any
  /// other.
  private static func spawn(_ command: String) throws -> pid_t {
    try ChildProcess.spawn(["/bin/sh", "-c", "\(LockstepProcess.powerless) \(command)"], ["PATH=/usr/bin:/bin"])
  }

  /// Whether another process of the same user can inspect the process. The kernel protects a
  /// process's environment like its memory, and it writes core files only of processes that can be
  /// inspected.
  private static func canLookInto(_ id: pid_t) throws -> Bool {
    let child = try spawn("cat /proc/\(id)/environ >/dev/null 2>&1")
    var status: Int32 = 0
    waitpid(child, &status, 0)
    return status == 0
  }

  @Test("A command that reads a password cannot be inspected")
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
    // When the command has read the beginning of the password, it waits for the rest.
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

  @Test("The server's memory cannot be dumped, unlike that of other processes")
  func dumpable() async throws {
    let other = try Self.spawn("sleep 1000")
    defer {
      kill(other, SIGKILL)
      waitpid(other, nil, 0)
    }
    let (process, _) = try await LockstepProcess.serving(in: TemporaryDirectory(), isPowerless: true)
    // The other process has started, but it may still be the shell with root's capabilities.
    await eventually { (try? Self.canLookInto(other)) == true }
    #expect(try Self.canLookInto(other))
    #expect(try !Self.canLookInto(process.id))
    process.send(SIGTERM)
    #expect(await process.ended() == .exit(0))
  }
}
