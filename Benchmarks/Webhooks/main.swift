import Foundation
import LockstepCollections
import LockstepHTTP
import LockstepHTTPServer
import LockstepLogging
import LockstepStore
import LockstepThreading
import LockstepTime
import LockstepWebhooks

// Measures many queued deliveries: adding them, memory, the time to claim the next ones, and the
// rate at which they are sent to a sender that does nothing and to a real receiver on loopback.
// Prints a Markdown table.

let arguments = CommandLine.arguments.dropFirst()
if arguments.contains("--help") {
  print("Usage: scripts/bench webhooks [QUEUED] [CONNECTION]\n\nQUEUED: how many deliveries, 1000000 by default.")
  print("CONNECTION: that of an empty PostgreSQL database instead of a file.")
  exit(0)
}
let queued = arguments.first.flatMap { Int($0) } ?? 1_000_000
let folder = FileManager.default.temporaryDirectory.appendingPathComponent("webhooks-\(getpid())").path
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(atPath: folder) }

func milliseconds(_ duration: Duration) -> String { String(format: "%.2f ms", duration / .milliseconds(1)) }

func megabytes(_ number: Double) -> String { String(format: "%.1f MiB", number) }

func printRow(_ what: String, _ values: String...) {
  print("| \(what) | \(values.joined(separator: "; ")) |")
}

/// The process's resident memory in MiB.
func residentMemory() -> Double {
  let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")[1]
  return Double(pages.flatMap { Int($0) } ?? 0) * 4_096 / 1_048_576
}

func processorTime() -> Duration {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}

/// A receiver that accepts at once.
struct NullSender: DeliverySender {
  nonisolated(nonsending) func send(_ delivery: OutgoingDelivery) async -> AttemptOutcome {
    AttemptOutcome(.delivered, status: 204)
  }
}

func open() throws -> DurableStore {
  if arguments.count > 1 { return try DurableStore(postgreSQL: arguments.last ?? "") }
  return try DurableStore(path: "\(folder)/lockstep.db")
}

func measureRate(_ name: String, _ sender: any DeliverySender, _ store: DurableStore) async throws {
  let worker = DeliveryWorker(
    readers: store.readers,
    writer: store.writer,
    webhooks: sender,
    now: { TimeSource.system.now() }
  )
  let tasks = TaskScope()
  let (cpu, start) = (processorTime(), ContinuousClock.now)
  try tasks.start { await worker.run(by: ContinuousClock(), logger: .silent) }
  worker.wake()
  // Stops after a third of the deliveries, so that enough are left for the second measurement.
  while ContinuousClock.now - start < .seconds(10), worker.metrics.delivered < queued / 3 {
    try await Task.sleep(for: .milliseconds(2))
  }
  let delivered = worker.metrics.delivered
  let (used, time) = (processorTime() - cpu, ContinuousClock.now - start)
  await withCheckedContinuation { continuation in
    Thread.detachNewThread {
      worker.stop()
      tasks.shutDown()
      continuation.resume()
    }
  }
  let rate = Double(delivered) / (time / .seconds(1))
  printRow(name, "\(Int(rate)) a second", "\(milliseconds(used / max(1, delivered))) of CPU for each")
}

let store = try open()
let port = LockedState(0)
let server = try Server(Server.Configuration(), time: .system)
try server.start(noteRefusal: { _ in }, responderOfLoop: { _ in { _ in .response(Response(status: .noContent)) } })
let url = "http://127.0.0.1:\(server.address.port)/"
try await store.writer.write { connection in
  _ = try WebhookRecords(connection: connection)
    .put("main", url: url, events: [.stateChanged], secret: WebhookSecret.make().text, at: TimeSource.system.now())
}
let memory = residentMemory()
let (cpu, start) = (processorTime(), ContinuousClock.now)
var added = 0
while added < queued {
  let (from, count) = (added, min(1_000, queued - added))
  try await store.writer.write { connection in
    let outbox = WebhookOutbox(connection: connection)
    let now = TimeSource.system.now()
    for number in from..<from + count {
      let user = UserID(UUIDv7(milliseconds: 1, random12: 0, random62: UInt64(number)))
      try outbox.add(
        WebhookEvent(.stateChanged, of: user, ["revision": .integer(1), "collections": ["favorites"]], at: now)
      )
    }
  }
  added += count
}
let time = ContinuousClock.now - start
let size = (try? FileManager.default.attributesOfItem(atPath: "\(folder)/lockstep.db"))?[.size] as? Int ?? 0
print("| \(queued) queued deliveries | |\n|---|--:|")
printRow(
  "adding them, 1,000 in a transaction",
  "\(Int(Double(queued) / (time / .seconds(1)))) a second",
  "\(milliseconds((processorTime() - cpu) / max(1, queued))) of CPU for each"
)
if arguments.count < 2 {
  printRow("size of the store", "\(size / 1_048_576) MiB", "\(size / max(1, queued)) bytes for each")
}
printRow("resident memory before and after", megabytes(memory), megabytes(residentMemory()))

let id = try await store.readers.read { try WebhookRecords(connection: $0).webhook(named: "main")?.id } ?? WebhookID(1)
var times: [Duration] = []
for _ in 0..<50 {
  let begun = ContinuousClock.now
  _ = try await store.readers.read { try DeliveryQueues(connection: $0).nextTime(of: id) }
  try await store.writer.write { connection in
    let now = TimeSource.system.now()
    let end = now.advanced(byMilliseconds: 1)
    _ = try DeliveryQueues(connection: connection).claim(id, limit: 16, at: now, until: end)
  }
  times.append(ContinuousClock.now - begun)
}
times.sort()
printRow("claiming 16, with the commit", milliseconds(times[25]), "at most \(milliseconds(times[49]))")
let begun = ContinuousClock.now
let backlog = try await store.readers.read(length: .long) { connection in
  try DeliveryRecords(connection: connection).backlog(of: id, limit: DeliveryWorker.mostCounted)
}
printRow("counting \(backlog.count)", milliseconds(ContinuousClock.now - begun))
try await measureRate("sending to a sender that does nothing", NullSender(), store)
let sender = WebhookSender(userAgent: "lockstep/benchmark", allowsPrivateAddresses: true)
try await measureRate("sending by HTTP on loopback", sender, store)
printRow("resident memory at the end", megabytes(residentMemory()))
store.close()
exit(0)
