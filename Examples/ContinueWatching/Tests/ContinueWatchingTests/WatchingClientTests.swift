import Foundation
import LockstepClient
import LockstepClientTesting
import LockstepReactor
import LockstepReactorTesting
import LockstepTime
import Testing
import WatchingClient
import WatchingModule

/// The network of one device, which a test switches off and on.
private struct Network: ClientTransport {
  struct Unreachable: Error {}

  let server: FakeServer
  let isOn = Latest(true)

  func response(to request: ClientRequest) async throws -> ClientResponse {
    try await withThrowingTaskGroup(of: ClientResponse.self) { group in
      group.addTask {
        for await isOn in isOn.values where !isOn { throw Unreachable() }
        throw CancellationError()
      }
      group.addTask { try await server.response(to: request) }
      defer { group.cancelAll() }
      return try await group.next() ?? ClientResponse(status: 500)
    }
  }
}

/// A server and the devices of one user, on a clock that counts seconds.
private struct House {
  struct Device: Sendable {
    let network: Network
    let client: LockstepClient
    let store: WatchingStore
    let errors: ErrorStore
    let banner: ErrorBanner
    let actions: WatchingActions

    var row: [String] { store.videos.value.map { "\($0.id) at \($0.position)" } }
  }

  let scheduler = TestScheduler()
  let server: FakeServer

  init() {
    server = FakeServer(modules: [.watching], clock: scheduler.clock)
  }

  private static func time(of clock: VirtualClock) -> @Sendable () -> Timestamp {
    { Timestamp(millisecondsSince1970: 1_800_000_000_000 + Int64(clock.now.offset / .milliseconds(1))) }
  }

  /// A device that runs from a time on.
  func device(from start: Int = 0) throws -> Device {
    let now = Self.time(of: scheduler.clock)
    let network = Network(server: server)
    let client = try LockstepClient(
      store: .memory,
      transport: network,
      credentials: MemoryCredentials("token"),
      modules: [.watching],
      clock: scheduler.clock
    )
    let (dispatcher, errorDispatcher) = (WatchingDispatcher(), ErrorDispatcher())
    let (store, errors) = (WatchingStore(dispatcher: dispatcher), ErrorStore(dispatcher: errorDispatcher))
    let errorAction = ErrorAction(errorDispatcher)
    let actions = WatchingActions(client, dispatcher, errors: errorAction, now: now)
    scheduler.run(from: start) { await client.run() }
    scheduler.run { await actions.follow() }
    let banner = ErrorBanner(errors, errorAction)
    return Device(network: network, client: client, store: store, errors: errors, banner: banner, actions: actions)
  }

  func watch(_ device: Device, _ time: Int, _ id: String, at position: Int) {
    scheduler.run(from: time) { await device.actions.watch(id, at: position) }
  }
}

@Suite("The row of videos to continue", .timeLimit(.minutes(10)))
struct WatchingClientTests {
  private let house = House()
  private var scheduler: TestScheduler { house.scheduler }

  @Test("A position on one device is shown on the other, and the newest video is first")
  func twoDevices() throws {
    let (phone, television) = (try house.device(), try house.device())
    house.watch(phone, 100, "aurora", at: 10)
    house.watch(television, 200, "geyser", at: 20)
    house.watch(television, 300, "aurora", at: 30)
    let rows = scheduler.observe(phone.store.videos.values, from: 0)
    scheduler.advance(to: 999)
    #expect(rows.events.map(\.time) == [0, 100, 200, 300])
    #expect(phone.row == ["aurora at 30", "geyser at 20"])
    #expect(television.row == phone.row)
  }

  @Test("The old position of a device that was offline comes late and does not win")
  func offline() throws {
    let (phone, television) = (try house.device(), try house.device())
    scheduler.scheduleAt(50) { phone.network.isOn.publish(false) }
    scheduler.scheduleAt(500) { phone.network.isOn.publish(true) }
    house.watch(phone, 100, "aurora", at: 10)
    house.watch(television, 200, "aurora", at: 900)
    house.watch(phone, 300, "geyser", at: 20)
    let saved = scheduler.observe(phone.store.saved.events(), from: 0)
    let saving = scheduler.observe(phone.store.isSaving.values, from: 0)
    scheduler.advance(to: 499)
    #expect(phone.row == ["geyser at 20", "aurora at 10"])
    #expect(television.row == ["aurora at 900"])
    #expect(saving.events == [.next(0, false), .next(100, true)])
    scheduler.advance(to: 900)
    #expect(phone.row == ["geyser at 20", "aurora at 900"])
    #expect(television.row == phone.row)
    #expect(
      saved.elements == [SavedPosition(id: "aurora", isNewest: false), SavedPosition(id: "geyser", isNewest: true)]
    )
    #expect(saving.elements == [false, true, false])
  }

  @Test("Loading ends with the row")
  func loading() throws {
    house.server.perform(["module": "watching", "type": "watch", "payload": ["id": "aurora", "position": 10]])
    let phone = try house.device(from: 50)
    let loading = scheduler.observe(phone.store.isLoading.values, from: 0)
    let rows = scheduler.observe(phone.store.videos.values, from: 0)
    scheduler.advance(to: 999)
    #expect(loading.events == [.next(0, true), .next(50, false)])
    #expect(rows.events.map(\.time) == [0, 50])
    #expect(phone.row == ["aurora at 10"])
  }

  @Test("Without a network, loading ends with an error, and the row is shown when there is a network")
  func unreachable() throws {
    house.server.perform(["module": "watching", "type": "watch", "payload": ["id": "aurora", "position": 10]])
    house.server.goOffline()
    let phone = try house.device()
    let loading = scheduler.observe(phone.store.isLoading.values, from: 0)
    let errors = scheduler.createObserver(Bool.self)
    let stream = phone.errors.errors.events()
    scheduler.run { for await error in stream.ignoringLosses { errors.next(error is ClientFailure) } }
    scheduler.scheduleAt(100) { [server = house.server] in server.goOnline() }
    scheduler.advance(to: 99)
    #expect(loading.events == [.next(0, true), .next(0, false)] && errors.events == [.next(0, true)])
    scheduler.advance(to: 999)
    #expect(phone.row == ["aurora at 10"])
    #expect(errors.events.count == 1)
  }

  @Test("A position that the server refuses is an error and is taken back")
  func refused() throws {
    let phone = try house.device()
    let saving = scheduler.observe(phone.store.isSaving.values, from: 0)
    let errors = scheduler.createObserver(Int?.self)
    let stream = phone.errors.errors.events()
    scheduler.run { for await error in stream.ignoringLosses { errors.next((error as? ClientFailure)?.status) } }
    house.watch(phone, 100, "aurora", at: -1)
    scheduler.advance(to: 999)
    #expect(errors.events == [.next(100, 422)])
    #expect(saving.events == [.next(0, false), .next(100, true), .next(100, false)])
    #expect(phone.row == [])
  }

  @Test("The error of an action reaches the banner, which shows it until the user closes it, and again the next time")
  func banner() throws {
    let phone = try house.device()
    let texts = scheduler.observe(phone.banner.texts, from: 0)
    house.watch(phone, 100, "aurora", at: -1)
    scheduler.scheduleAt(200) { phone.banner.close() }
    house.watch(phone, 300, "aurora", at: -1)
    scheduler.advance(to: 999)
    let shown = texts.elements.compactMap(\.self)
    #expect(texts.events.map(\.time) == [0, 100, 200, 300])
    #expect(shown == Array(repeating: "Some of the input is not valid.", count: 2))
  }

  @Test("Without a network, the banner says so in a sentence for the user")
  func offlineBanner() throws {
    house.server.goOffline()
    let phone = try house.device()
    let texts = scheduler.observe(phone.banner.texts, from: 0)
    scheduler.advance(to: 10)
    #expect(texts.elements.last == "The server cannot be reached.")
  }

  @Test("After a logout, the banner says that the pending change was deleted")
  func logoutBanner() throws {
    let phone = try house.device()
    scheduler.scheduleAt(50) { phone.network.isOn.publish(false) }
    house.watch(phone, 100, "aurora", at: 10)
    let texts = scheduler.observe(phone.banner.texts, from: 0)
    scheduler.run(from: 200) { try? await phone.client.logOut() }
    scheduler.advance(to: 999)
    #expect(
      texts.elements.last == "This change was deleted from this device, because its user has logged out."
    )
  }

  @Test("An error of another kind is shown without its text, which is for developers")
  func otherError() {
    struct Broken: Error {}
    let dispatcher = ErrorDispatcher()
    let store = ErrorStore(dispatcher: dispatcher)
    ErrorAction(dispatcher).report(Broken())
    #expect(store.message.value == "Something went wrong.")
  }

  @Test("A finished video leaves the row on all devices")
  func finished() throws {
    let (phone, television) = (try house.device(), try house.device())
    house.watch(phone, 100, "aurora", at: 10)
    scheduler.run(from: 200) { await television.actions.watch("aurora", at: 900, isFinished: true) }
    scheduler.advance(to: 150)
    #expect(television.row == ["aurora at 10"])
    scheduler.advance(to: 999)
    #expect(television.row == [] && phone.row == [])
  }
}
