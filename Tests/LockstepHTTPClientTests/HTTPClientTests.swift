import LockstepHTTP
import Synchronization
import LockstepTestSupport
import Testing

@testable import LockstepHTTPClient

@Suite("The HTTP client", .timeLimit(.minutes(10)))
struct HTTPClientTests {
  /// Runs `body` with a client without proxies, and shuts it down.
  static func withClient(
    _ change: (inout HTTPClient.Configuration) -> Void = { _ in },
    _ body: (HTTPClient) async throws -> Void
  ) async throws {
    var configuration = HTTPClient.Configuration(userAgent: "tests/1")
    configuration.usesProxies = false
    // Longer than any test. Only tests of timeouts set shorter times.
    configuration.bounds = HTTPClient.Bounds(connectTime: .seconds(600), totalTime: .seconds(600))
    change(&configuration)
    let client = try HTTPClient(configuration)
    do {
      try await body(client)
    } catch {
      Issue.record(error)
    }
    await aside { client.shutDown() }
  }

  static func post(_ client: HTTPClient, to url: String, _ body: String = "{}") async -> Result<Int, TransferError> {
    do throws(TransferError) {
      return .success(try await client.post(Array(body.utf8), type: "application/json", to: url).status)
    } catch {
      return .failure(error)
    }
  }

  private func kind(_ result: Result<Int, TransferError>) -> TransferError.Kind? {
    if case .failure(let failure) = result { failure.kind } else { nil }
  }

  @Test("A request has the body, its type and the credentials of the URL")
  func arrives() async throws {
    let seen = Mutex<[String]>([])
    try await LoopbackServer.run { request in
      let body = try await request.body.collect()
      let fields = request.head
      seen.withLock {
        $0.append(
          [
            request.head.method.name, request.head.path, fields["content-type"] ?? "-", fields["authorization"] ?? "-",
            fields["user-agent"] ?? "-", fields["expect"] ?? "-", String(decoding: body, as: UTF8.self),
          ].joined(separator: " ")
        )
      }
      return Response(status: .noContent)
    } _: { port in
      try await Self.withClient { client in
        let result = await Self.post(client, to: "http://u:p%40w@127.0.0.1:\(port)/a/b", #"{"x":"ü"}"#)
        #expect(result == .success(204))
        #expect(seen.withLock { $0 } == [#"POST /a/b application/json Basic dTpwQHc= tests/1 - {"x":"ü"}"#])
        let long = String(repeating: "x", count: 200_000)
        #expect(await Self.post(client, to: "http://127.0.0.1:\(port)/", long) == .success(204))
        #expect(seen.withLock { $0.last?.hasSuffix(" - \(long)") } == true)
      }
    }
  }

  @Test(
    "A response has the lifetime that Cache-Control gives it",
    arguments: [
      (nil, nil), ("max-age=3600", .seconds(3600)),
      ("public, Max-Age=19204, must-revalidate, no-transform", .seconds(19204)),
      ("no-cache", .zero), ("max-age=60, no-store", .zero), ("max-age=0", .zero), ("private", nil), ("max-age=", nil),
      ("max-age=-1", nil), ("max-age=1x", nil), ("max-age=99999999999", nil), ("s-maxage=10", nil),
      ("max-age=5,max-age=6", .seconds(5)), ("x-max-age=5", nil),
      (String(repeating: "x", count: 300) + ",max-age=5", nil),
    ] as [(String?, Duration?)]
  )
  func maxAge(field: String?, expected: Duration?) async throws {
    try await LoopbackServer.run { _ in
      var response = Response(status: .ok, body: .bytes(Array("{}".utf8)))
      if let field { response.fields.append(.cacheControl, field) }
      return response
    } _: { port in
      try await Self.withClient { client in
        let response = try await client.get("http://127.0.0.1:\(port)/")
        #expect(response.maxAge == expected)
      }
    }
  }

  @Test("A GET asks for JSON and returns the whole body, up to the limit", arguments: [0, 1, 100_000, 3_000_000])
  func gets(size: Int) async throws {
    let text = String(repeating: "0123456789", count: size / 10) + String(repeating: "x", count: size % 10)
    let seen = Mutex<[String]>([])
    try await LoopbackServer.run { request in
      seen.withLock {
        $0.append("\(request.head.method.name) \(request.head.path) \(request.head["accept"] ?? "-")")
      }
      return Response(status: .ok, body: .bytes(Array(text.utf8)))
    } _: { port in
      let url = "http://127.0.0.1:\(port)/a"
      try await Self.withClient {
        $0.bounds.responseBytes = 3_100_000
      } _: { client in
        let response = try await client.get(url)
        #expect(response == TransferResponse(status: 200, body: Array(text.utf8)))
      }
      #expect(seen.withLock { $0 } == ["GET /a application/json"])
      try await Self.withClient {
        $0.bounds.responseBytes = size
      } _: { client in
        let error = await #expect(throws: TransferError.self) { try await client.get(url) }
        #expect(error?.kind == .tooLong)
      }
    }
  }

  @Test("Header fields are sent, and the whole body of the response is returned")
  func bodies() async throws {
    let seen = Mutex<[String?]>([])
    let long = String(repeating: "x", count: 40_000)
    try await LoopbackServer.run { request in
      seen.withLock { $0 += [request.head["idempotency-key"], request.head["webhook-signature"]] }
      return Response(status: .ok, body: .bytes(Array(request.head.path == "/long" ? long.utf8 : "".utf8)))
    } _: { port in
      try await Self.withClient { client in
        let fields = [(name: "Idempotency-Key", value: "0123456789abcdef"), ("webhook-signature", "v1,a= v1,b;")]
        for (path, body) in [("/long", long), ("/", "")] {
          let url = "http://127.0.0.1:\(port)\(path)"
          let response = try await client.post([], type: "text/plain", fields: path == "/" ? [] : fields, to: url)
          #expect(response == TransferResponse(status: 200, body: Array(body.utf8)))
        }
        #expect(seen.withLock { $0 } == ["0123456789abcdef", "v1,a= v1,b;", nil, nil])
      }
    }
  }

  @Test(
    "A header field that is not visible ASCII is refused",
    arguments: [
      ("a", ""), ("a", "b\r\nc: d"), ("a", "b\nc"), ("a", "ü"), ("a", " b"), ("a", "b "), ("a", "b\u{0}"), ("", "b"),
      ("a:", "b"), ("a b", "c"), ("a\n", "b"),
    ]
  )
  func fields(name: String, value: String) async throws {
    let server = try RawServer(listens: false)
    try await Self.withClient { client in
      let error = await #expect(throws: TransferError.self) {
        try await client.post([], type: "text/plain", fields: [(name, value)], to: "http://127.0.0.1:\(server.port)/")
      }
      #expect(error?.kind == .notBegun)
    }
  }

  @Test(
    "The time in Retry-After is returned in both of its forms",
    arguments: [
      ("Retry-After: 120\r\n", Duration.seconds(120)), ("Retry-After: Thu, 01 Jan 1970 00:00:00 GMT\r\n", nil),
      ("Retry-After: soon\r\n", nil), ("Retry-After: -5\r\n", nil), ("", nil),
    ]
  )
  func retryAfter(line: String, expected: Duration?) async throws {
    let server = try RawServer()
    try await Self.withClient { client in
      async let responded: Void = aside {
        server.respondOnce("HTTP/1.1 503 X\r\n\(line)Content-Length: 0\r\n\r\n")
      }
      let response = try await client.post([], type: "text/plain", to: "http://127.0.0.1:\(server.port)/")
      #expect(response == TransferResponse(status: 503, body: [], retryAfter: expected))
      await responded
    }
  }

  @Test(
    "Any status is returned, and redirects are not followed",
    arguments: [200, 201, 302, 307, 404, 500]
  )
  func statuses(status: Int) async throws {
    let server = try RawServer()
    // The redirect leads to a closed port.
    let target = try RawServer(listens: false)
    try await Self.withClient { client in
      let response =
        "HTTP/1.1 \(status) X\r\nLocation: http://127.0.0.1:\(target.port)/x\r\nContent-Length: 4\r\n\r\ndone"
      async let responded: Void = aside { server.respondOnce(response) }
      #expect(await Self.post(client, to: "http://127.0.0.1:\(server.port)/") == .success(status))
      await responded
    }
  }

  @Test("An unreachable host and an unknown name are errors with details")
  func unreachable() async throws {
    let server = try RawServer(listens: false)
    try await Self.withClient { client in
      let refused = await Self.post(client, to: "http://secret:word@127.0.0.1:\(server.port)/key")
      #expect(kind(refused) == .connection)
      #expect(!"\(refused)".contains("secret") && !"\(refused)".contains("word") && "\(refused)".contains("127.0.0.1"))
      // A label of a name has at most 63 letters, so the resolver refuses this name without a
      // lookup.
      let nameless = await Self.post(client, to: "http://\(String(repeating: "a", count: 64)).example/")
      #expect(kind(nameless) == .name)
      #expect(kind(await Self.post(client, to: "ftp://127.0.0.1:\(server.port)/")) == .notBegun)
      #expect(kind(await Self.post(client, to: "http://[")) == .notBegun)
    }
  }

  @Test("A slow connection and a missing response time out")
  func timeOuts() async throws {
    let full = try RawServer()
    // The only connection is in use, so the next one must wait.
    let first = try RawClient(port: full.port)
    try await Self.withClient {
      $0.bounds.connectTime = .milliseconds(30)
    } _: { client in
      #expect(kind(await Self.post(client, to: "http://127.0.0.1:\(full.port)/")) == .timeOut)
    }
    first.close()
    let silent = try RawServer()
    try await Self.withClient {
      $0.bounds.totalTime = .milliseconds(30)
    } _: { client in
      #expect(kind(await Self.post(client, to: "http://127.0.0.1:\(silent.port)/")) == .timeOut)
    }
  }

  @Test(
    "An incomplete response is an error",
    arguments: [
      ("", TransferError.Kind.broken), ("hello\r\n\r\n", .broken), ("HTTP/1.1 200 OK\r\nContent-Le", .broken),
      ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", .broken),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf", .broken),
      ("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" + String(repeating: "x", count: 99), .tooLong),
      ("HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 99) + "\r\n\r\n", .tooLong),
    ]
  )
  func incomplete(response: String, expected: TransferError.Kind) async throws {
    let server = try RawServer()
    try await Self.withClient {
      $0.bounds.responseBytes = 99
    } _: { client in
      async let responded: Void = aside { server.respondOnce(response) }
      #expect(kind(await Self.post(client, to: "http://127.0.0.1:\(server.port)/")) == expected)
      await responded
    }
  }

  @Test("Too many transfers throw at once; when one ends there is room again")
  func overloaded() async throws {
    let silent = try RawServer()
    try await LoopbackServer.run { _ in
      Response(status: .ok)
    } _: { port in
      try await Self.withClient {
        $0.bounds.transfers = 1
      } _: { client in
        let hanging = Task { await Self.post(client, to: "http://127.0.0.1:\(silent.port)/") }
        await eventually { client.running == 1 }
        #expect(kind(await Self.post(client, to: "http://127.0.0.1:\(port)/")) == .overloaded)
        hanging.cancel()
        #expect(kind(await hanging.value) == .cancelled)
        #expect(client.running == 0)
        #expect(await Self.post(client, to: "http://127.0.0.1:\(port)/") == .success(200))
      }
    }
  }

  @Test("A cancelled task aborts its transfer")
  func cancelled() async throws {
    let began = Atomic(false)
    let gone = Atomic(false)
    try await LoopbackServer.run { _ in
      began.store(true, ordering: .sequentiallyConsistent)
      // Waits until the server has noticed that the client has gone.
      await withTaskCancellationHandler {
        await eventually { gone.load(ordering: .sequentiallyConsistent) }
      } onCancel: {
        gone.store(true, ordering: .sequentiallyConsistent)
      }
      return Response(status: .ok)
    } _: { port in
      try await Self.withClient { client in
        let task = Task { await Self.post(client, to: "http://127.0.0.1:\(port)/") }
        await eventually { began.load(ordering: .sequentiallyConsistent) }
        task.cancel()
        #expect(kind(await task.value) == .cancelled)
        await eventually { gone.load(ordering: .sequentiallyConsistent) }
        let late = Task {
          withUnsafeCurrentTask { $0?.cancel() }
          return await Self.post(client, to: "http://127.0.0.1:\(port)/")
        }
        #expect(kind(await late.value) == .cancelled)
      }
    }
  }

  @Test("Shutting down cancels running and later transfers")
  func shutDown() async throws {
    let silent = try RawServer()
    try await Self.withClient { client in
      let hanging = Task { await Self.post(client, to: "http://127.0.0.1:\(silent.port)/") }
      await eventually { client.running == 1 }
      await aside { client.shutDown() }
      #expect(kind(await hanging.value) == .cancelled)
      #expect(kind(await Self.post(client, to: "http://127.0.0.1:\(silent.port)/")) == .cancelled)
    }
  }

  @Test("A restarted server is reached over a new connection")
  func recovers() async throws {
    let server = try RawServer()
    let whole = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    try await Self.withClient { client in
      for (response, expected) in [(whole, nil), ("", TransferError.Kind.broken), (whole, nil)] {
        async let responded: Void = aside { server.respondOnce(response) }
        let result = await Self.post(client, to: "http://127.0.0.1:\(server.port)/")
        #expect(kind(result) == expected)
        await responded
      }
    }
  }

  @Test("Many transfers each complete once, with the server's status or as cancelled")
  func many() async throws {
    let seed = TestSeed.make(for: "HTTPClientTests.many")
    try await LoopbackServer.run { request in
      let body = try await request.body.collect()
      return Response(status: Self.status(of: Int(String(decoding: body, as: UTF8.self)) ?? -1))
    } _: { port in
      try await Self.withClient {
        $0.bounds.transfers = 300
      } _: { client in
        var numbers = SeededNumbers(seed: seed)
        var tasks: [(number: Int, isCancelled: Bool, task: Task<Result<Int, TransferError>, Never>)] = []
        for number in 0..<200 {
          let task = Task { await Self.post(client, to: "http://127.0.0.1:\(port)/", "\(number)") }
          let isCancelled = numbers.once(in: 4)
          if isCancelled { task.cancel() }
          tasks.append((number, isCancelled, task))
        }
        for (number, isCancelled, task) in tasks {
          let result = await task.value
          #expect(result == .success(Self.status(of: number).code) || isCancelled && kind(result) == .cancelled)
        }
        #expect(client.running == 0)
      }
    }
  }

  private static func status(of number: Int) -> Status { [.ok, .created, .conflict][(number + 3) % 3] }

  @Test("A released client releases all its resources")
  func dropped() async throws {
    weak var transfers: Transfers?
    do {
      let client = try HTTPClient(HTTPClient.Configuration(userAgent: "tests/1"))
      transfers = client.transfers
      #expect(transfers != nil)
    }
    await eventually { transfers == nil }
  }

  @Test("A missing or wrong libcurl is an error with its file")
  func library() {
    #expect {
      try CurlLibrary(files: ["libnowhere.so.4", "libnowhere-either.so.4"])
    } throws: {
      "\($0)"
        .hasPrefix(
          "cannot use libnowhere.so.4 (Debian's package libcurl4 or libcurl3-gnutls): libnowhere.so.4: cannot open"
        )
    }
    #expect(throws: LibraryUnavailableError(file: "libc.so.6", reason: "it has no curl_global_init")) {
      try CurlLibrary(files: ["libc.so.6"])
    }
  }

  @Test("If the first file is missing, the second is loaded")
  func second() throws {
    #expect(try CurlLibrary(files: ["libnowhere.so.4", "libcurl.so.4"]).file == "libcurl.so.4")
  }
}
