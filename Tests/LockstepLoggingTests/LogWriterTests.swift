import Glibc
import LockstepLogging
import LockstepTestSupport
import LockstepThreading
import LockstepTime
import Testing

@Suite("The log writer never delays the server, and loses no line that it accepted", .timeLimit(.minutes(10)))
struct LogWriterTests {
  /// A pipe, whose ends are closed when it is released.
  private final class Pipe: Sendable {
    let reading: Int32
    let writing: Int32

    init() throws {
      var ends: [Int32] = [0, 0]
      try #require(pipe(&ends) == 0)
      (reading, writing) = (ends[0], ends[1])
    }

    /// Fills the pipe until a writer would have to wait.
    func fill() {
      let flags = fcntl(writing, F_GETFL)
      _ = fcntl(writing, F_SETFL, flags | O_NONBLOCK)
      let bytes = [UInt8](repeating: UInt8(ascii: "x"), count: 4096)
      while write(writing, bytes, bytes.count) > 0 {}
      _ = fcntl(writing, F_SETFL, flags)
    }

    /// Reads everything until the writing end is closed.
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

  @Test("Every line arrives complete and in order before `close` returns")
  func nothingLost() async throws {
    let pipe = try Pipe()
    let log = try LogWriter(descriptor: pipe.writing, timeout: 60_000, now: Self.now)
    for number in 0..<5000 { log.write(Self.line(number)) }
    // This is much more than a pipe holds, so `close` needs a reader.
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
    "Without a reader, lines above the limit are dropped and counted, and a line says how many and when",
    arguments: LogFormat.allCases
  )
  func slowReader(format: LogFormat) async throws {
    let pipe = try Pipe()
    pipe.fill()
    let log = try LogWriter(descriptor: pipe.writing, format: format, bound: 100, timeout: 60_000, now: Self.now)
    for number in 0..<1000 { log.write(Self.line(number)) }
    let dropped = log.dropped
    // Lines up to the limit are waiting, and the writer may hold as many again.
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
    #expect(lines.first == "line 0", "the first lines are kept")
    let notices = lines.filter { $0.contains("log lines were dropped") }
    let start =
      format == .text
      ? "1970-01-01T00:00:01.000Z WARNING log" : #"{"time":"1970-01-01T00:00:01.000Z","level":"warning""#
    #expect(notices.allSatisfy { $0.hasPrefix(start) })
    let told = notices.compactMap { $0.split { !$0.isNumber }.last.flatMap { Int($0) } }
    #expect(told.reduce(0, +) == dropped)
    #expect(lines.count - notices.count == 1000 - dropped)
  }

  @Test("A closed reader does not disturb the writer")
  func goneReader() async throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    // The command does the same. Otherwise the signal would end the process of the test.
    signal(SIGPIPE, SIG_IGN)
    close(ends[0])
    let log = try LogWriter(descriptor: ends[1], now: Self.now)
    for number in 0..<100 { log.write(Self.line(number)) }
    await aside { log.close() }
    close(ends[1])
    #expect(log.dropped == 0)
  }

  @Test("A reader that does not read cannot prevent `close` from returning")
  func stuckReader() async throws {
    let pipe = try Pipe()
    pipe.fill()
    let log = try LogWriter(descriptor: pipe.writing, timeout: 0, now: Self.now)
    for number in 0..<100 { log.write(Self.line(number)) }
    // `close` must return without a reader.
    await aside { log.close() }
    pipe.closeWriting()
    #expect(pipe.readAll().allSatisfy { $0 == UInt8(ascii: "x") })
  }
}
