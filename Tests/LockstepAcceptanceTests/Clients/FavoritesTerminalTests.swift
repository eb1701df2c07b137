import Foundation
import Glibc
import LockstepJSON
import LockstepTestSupport
import Testing

@Suite("The example for the terminal, over HTTP", .timeLimit(.minutes(10)))
struct FavoritesTerminalTests {
  @Test("Two devices are in lockstep, also when one was offline, or the server has restarted")
  func twoDevices() async throws {
    let folder = try TemporaryDirectory()
    let server = RestartingServer(in: folder)
    try await server.start()
    let phone = try FavoritesProcess(server.address, store: "phone", in: folder, name: "phone")
    let tablet = try FavoritesProcess(
      server.address,
      store: "tablet",
      in: folder,
      name: "tablet",
      options: ["--events"]
    )
    try await phone.perform("signup ada@example.com correct horse")
    try await tablet.perform("login ada@example.com correct horse")
    try await phone.perform("add photo:1 Northern lights")
    await tablet.expect("added photo:1 at 0: Northern lights")
    try await tablet.perform("disconnect")
    try await tablet.perform("open photo:1")
    try await tablet.perform("theme dark")
    await tablet.expect("2 changes wait.")
    try await phone.perform("open photo:1")
    try await phone.perform("rename photo:1 Aurora")
    try await phone.perform("wait")
    await server.end(SIGTERM)
    await phone.expect("Offline.")
    try await server.start()
    try await tablet.perform("connect")
    await phone.expect("theme dark")
    await tablet.expect("renamed photo:1: Aurora")
    for device in [phone, tablet] {
      try await device.perform("wait")
      try await eventually { try await device.perform("list") == ["0 photo:1 2 Aurora", "ok"] }
      try await device.quit()
    }
    await server.end(SIGTERM)
  }

  @Test("The form for the profile checks texts and saves them, and typed texts survive a restart of the server")
  func profile() async throws {
    let folder = try TemporaryDirectory()
    let server = RestartingServer(in: folder)
    try await server.start()
    let phone = try FavoritesProcess(server.address, store: "phone", in: folder, name: "phone")
    try await phone.perform("signup ada@example.com correct horse")
    try await phone.perform("profile company Aurora")
    await phone.expect(#"profile: company "Aurora", position """#)
    await server.end(SIGKILL)
    try await server.start()
    try await phone.perform("profile position Chief")
    await phone.expect(#"profile: company "Aurora", position "Chief""#)
    try await phone.perform("profile save")
    await phone.expect(#"profile: company "Aurora", position "Chief", saved 1"#)
    let token = String(decoding: try folder.contents(of: "phone/token"), as: UTF8.self)
    #expect(try await server.json("/v1/profile", token) == ["companyName": "Aurora", "position": "Chief"])
    try await phone.quit()
    await server.end(SIGTERM)
  }
}
