import LockstepClient
import LockstepClientTesting
import LockstepJSON
import Testing

@testable import FavoritesTerminal

@Suite("Favorites in a terminal", .timeLimit(.minutes(10)))
@MainActor
struct TerminalTests {
  private let server = FakeServer()

  @Test("Two devices of a user are in lockstep")
  func twoDevices() async throws {
    let (phone, tablet) = (try Device(server), try Device(server))
    #expect(await phone.perform("add photo:1 Northern lights", "add photo:2 Geyser") == ["ok"])
    await tablet.expect("* added photo:2 at 1: Geyser")
    await phone.perform("rename photo:2 Old Faithful")
    await tablet.expect("* renamed photo:2: Old Faithful")
    await tablet.perform("move photo:2 0")
    await phone.expect("* moved photo:2 to 0")
    await tablet.perform("theme dark")
    await phone.expect("* theme dark")
    #expect(await phone.perform("theme") == ["theme dark", "ok"])
    #expect(await phone.perform("wait") == ["ok"])
    await phone.perform("open photo:1", "wait")
    await tablet.perform("open photo:1", "wait")
    await phone.perform("delete photo:2", "wait")
    await tablet.expect("* deleted photo:2")
    #expect(await tablet.perform("list") == ["0 photo:1 2 Northern lights", "ok"])
    await phone.stop()
    await tablet.stop()
  }

  @Test("Without a network, changes wait, and the program says so")
  func offline() async throws {
    let phone = try Device(server)
    await phone.perform("wait")
    server.goOffline()
    await phone.expect("* Offline.")
    #expect(await phone.perform("add photo:1 Aurora") == ["ok"])
    await phone.expect("* Offline. 1 change waits.")
    await phone.perform("open photo:1")
    await phone.expect("* Offline. 2 changes wait.")
    #expect(await phone.perform("list") == ["0 photo:1 1 Aurora", "ok"])
    server.goOnline()
    await phone.expect("* In lockstep.")
    #expect(await phone.perform("wait", "status") == ["live, 0 waiting, 0 refused", "ok"])
    await phone.stop()
  }

  @Test("When the session has ended, changes wait until the user logs in again")
  func endedSession() async throws {
    let phone = try Device(server)
    await phone.perform("wait")
    server.revokeSession("token")
    await phone.expect("* Log in again.")
    #expect(await phone.perform("add photo:1 Aurora", "wait") == ["error: Log in again. 1 change waits."])
    #expect(server.json(of: "favorites") == .null)
    await phone.perform("login user correct horse", "wait")
    #expect(server.json(of: "favorites").arrayValue?.count == 1)
    await phone.stop()
  }

  @Test("A new device asks for a login, and a logout deletes what is on the device")
  func newDevice() async throws {
    let phone = try Device(server, token: nil)
    await phone.expect("* Log in.")
    await phone.perform("signup ada@example.com correct horse", "add photo:1 Aurora", "wait")
    #expect(await phone.perform("list") == ["0 photo:1 0 Aurora", "ok"])
    await phone.perform("logout")
    #expect(await phone.perform("list") == ["ok"])
    await phone.stop()
  }

  @Test("After disconnect, nothing is sent until connect")
  func disconnecting() async throws {
    let phone = try Device(server)
    await phone.perform("wait", "disconnect", "add photo:1 Aurora")
    await phone.expect("* 1 change waits.")
    #expect(await phone.perform("wait") == ["error: There is no connection: type connect."])
    #expect(server.json(of: "favorites") == .null)
    #expect(await phone.perform("connect", "wait") == ["ok"])
    #expect(server.json(of: "favorites").arrayValue?.count == 1)
    await phone.stop()
  }

  @Test("A photo and its counter are deleted together")
  func deleting() async throws {
    let phone = try Device(server)
    await phone.perform("add photo:1 Aurora", "open photo:1", "wait")
    #expect(server.json(of: "defaults/standard") == ["opened.photo:1": 1])
    let before = server.requests.count { $0.method == "POST" }
    await phone.perform("delete photo:1", "wait")
    #expect(server.json(of: "defaults/standard") == [:] && server.json(of: "favorites") == [])
    #expect(server.requests.count { $0.method == "POST" } == before + 1)
    await phone.stop()
  }

  @Test("A refused change is taken back, and the program says why")
  func refusal() async throws {
    let phone = try Device(server)
    await phone.perform("move missing 0", "wait")
    let lines = await phone.perform("status")
    #expect(lines.first == "live, 0 waiting, 1 refused" && lines.count == 3, "\(lines)")
    await phone.stop()
  }
}

@Suite("Commands", .timeLimit(.minutes(10)))
struct CommandTests {
  @Test(
    "A line is read as a command",
    arguments: [
      ("", nil), ("   ", nil), ("# a comment", nil), ("list", .list),
      ("add a  Northern   lights", .add(id: "a", title: "Northern lights")),
      ("add a Northern lights", .add(id: "a", title: "Northern lights")), ("move a 3", .move(id: "a", index: 3)),
      ("theme", .theme(nil)), ("theme dark", .theme(.dark)), ("profile", .profile(.show)),
      ("profile company", .profile(.company(""))),
      ("profile position Chief of all", .profile(.position("Chief of all"))),
      ("login ada correct horse", .logIn(email: "ada", password: "correct horse")), ("quit", .quit),
    ] as [(String, Command?)]
  )
  func reading(line: String, command: Command?) throws {
    #expect(try Command(line) == command)
  }

  @Test(
    "Anything else is a mistake",
    arguments: ["lists", "add a", "move a", "move a b", "theme blue", "profile sing", "delete", "list all"]
  )
  func mistakes(line: String) {
    #expect(throws: Command.Mistake.self) { try Command(line) }
  }
}
