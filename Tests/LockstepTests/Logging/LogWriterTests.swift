import Glibc
import LockstepLogging
import LockstepTestSupport
import LockstepThreading
import LockstepTime
import Testing

@Suite("The log writer never keeps the server waiting, and loses nothing it took", .timeLimit(.minutes(10)))
struct LogWriterTests {
  /// A pipe, whose ends are closed with it.
  private final class Pipe: Sendable {
    let reading: Int32
    let writing: Int32

    init() throws {
      var ends: [Int32] = [0, 0]
      try #require(pipe(&ends) == 0)
      (reading, writing) = (ends[0], ends[1])
    }

    /// Fills it until a writer would have to wait.
    func fill() {
      let flags = fcntl(writing, F_GETFL)
      _ = fcntl(writing, F_SETFL, flags | O_NONBLOCK)
      let bytes = [UInt8](repeating: UInt8(ascii: "x"), count: 4096)
      while write(writing, bytes, bytes.count) > 0 {}
      _ = fcntl(writing, F_SETFL, flags)
    }

    /// Everything until the writing end is closed.
    func readAll() -> [UInt8] {
      var all: [UInt8] = []
      var chunk = [UInt8](repeating: 0, count: 65_536)
      while case let count = read(reading, &chunk, chunk.count), count > 0 { all += chunk[..<count] }
      return all
    }

    func closeWriting() { _ = close(writing) }
    deinit { close(reading) }
  }

  private static let now: @Sendable () -> Timestamp = { Timestamp(millisecondsSince1970: 1000) }

  private static func line(_ number: Int) -> [UInt8] { Array("line \(number)\n".utf8) }

  @Test("Every line arrives, whole and in order, before close returns")
  func nothingLost() async throws {
    let pipe = try Pipe()
    let log = try LogWriter(descriptor: pipe.writing, timeout: 60_000, now: Self.now)
    for number in 0..<5000 { log.write(Self.line(number)) }
    // Much more than a pipe holds: it's closed while somebody reads.
    let closing = Task.detached {
      await aside { log.close() }
      pipe.closeWriting()
    }
    let read = LockedState<[UInt8]>([])
    await aside {
      let bytes = pipe.readAll()
      read.withLock { $0 = bytes }
    }
    await closing.value
    #expect(read.withLock { $0 } == (0..<5000).flatMap(Self.line))
    #expect(log.dropped == 0)
  }

  @Test(
    "While nobody reads, lines past the bound are dropped and counted, and a line says how many, and when",
    arguments: LogFormat.allCases
  )
  func slowReader(format: LogFormat) async throws {
    let pipe = try Pipe()
    pipe.fill()
    let log = try LogWriter(descriptor: pipe.writing, format: format, bound: 100, timeout: 60_000, now: Self.now)
    for number in 0..<1000 { log.write(Self.line(number)) }
    let dropped = log.dropped
    // The bound's worth waits, and as much again may be in the writer's hand.
    #expect(dropped >= 1000 - 2 * 100 / 7 && dropped < 1000)
    let read = LockedState<[UInt8]>([])
    let closing = Task.detached {
      await aside { log.close() }
      pipe.closeWriting()
    }
    await aside {
      let bytes = pipe.readAll()
      read.withLock { $0 = bytes }
    }
    await closing.value
    let text = String(decoding: read.withLock { $0 }.drop { $0 == UInt8(ascii: "x") }, as: UTF8.self)
    let lines = text.split(separator: "\n")
    #expect(lines.first == "line 0", "what came first is kept")
    let notices = lines.filter { $0.contains("log lines were dropped") }
    let start =
      format == .text
      ? "1970-01-01T00:00:01.000Z WARNING log" : #"{"time":"1970-01-01T00:00:01.000Z","level":"warning""#
    #expect(notices.allSatisfy { $0.hasPrefix(start) })
    let told = notices.compactMap { $0.split { !$0.isNumber }.last.flatMap { Int($0) } }
    #expect(told.reduce(0, +) == dropped)
    #expect(lines.count - notices.count == 1000 - dropped)
  }

  @Test("A reader that is gone is no trouble")
  func goneReader() async throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    // As the command has it: otherwise the signal would end the test's process.
    signal(SIGPIPE, SIG_IGN)
    close(ends[0])
    let log = try LogWriter(descriptor: ends[1], now: Self.now)
    for number in 0..<100 { log.write(Self.line(number)) }
    await aside { log.close() }
    close(ends[1])
    #expect(log.dropped == 0)
  }

  @Test("A reader that is there and takes nothing doesn't keep the writer from ending")
  func stuckReader() async throws {
    let pipe = try Pipe()
    pipe.fill()
    let log = try LogWriter(descriptor: pipe.writing, timeout: 0, now: Self.now)
    for number in 0..<100 { log.write(Self.line(number)) }
    // Returns at all: nobody reads until it has.
    await aside { log.close() }
    pipe.closeWriting()
    #expect(pipe.readAll().allSatisfy { $0 == UInt8(ascii: "x") })
  }
}
