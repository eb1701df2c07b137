import LockstepHTTP
import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("The service routes respond as documented", .timeLimit(.minutes(10)))
struct ServiceRouteTests {
  /// Every path of the routes, with the type of its content.
  private static let paths =
    ["/", "/healthz", "/readyz", "/metrics", "/openapi.json", "/problems"] + problems
    + files.map { "/\($0)" }
  private static let files = ["lockstep", "lockstep-\(lockstepVersion)"].flatMap { ["\($0).js", "\($0).d.ts"] }
  private static let problems = ProblemKind.allCases.map { "/problems/\($0.slug)" }
  private static let allow = "GET, HEAD, OPTIONS"
  /// Those of all routes.
  private static let allMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"

  @Test("The index links every page without parameters, and each link works")
  func index() async throws {
    try await StubbedServer.run {
      $0.administratorToken = "of the administrator"
    } _: { gateway in
      let index = try await gateway.get("/")
      #expect(index.status == 200)
      #expect(index.field("Content-Type") == "application/json")
      #expect(index.object["name"] == "lockstep")
      #expect(index.object["version"] == .string(lockstepVersion))
      guard case .object(let links)? = index.object["links"] else {
        Issue.record("no links: \(index.text)")
        return
      }
      let pages = Set(["healthz", "readyz", "metrics", "openapi.json", "problems"] + Self.files)
      #expect(Set(links.map(\.name).filter { !$0.hasPrefix("v1/") }) == pages)
      for (name, link) in links {
        #expect(link == .string("/\(name)"))
        // The pages of users and administrators need a token.
        let status = try await gateway.get("/\(name)").status
        #expect(pages.contains(name) ? status == 200 : [200, 401].contains(status), "\(name)")
      }
    }
  }

  @Test("Browsers get the index as a page, whose links work, and every other client gets JSON")
  func page() async throws {
    try await StubbedServer.run { gateway in
      let browser = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
      let page = try await gateway.get("/", [browser])
      #expect(page.status == 200)
      #expect(page.field("Content-Type") == "text/html; charset=utf-8")
      #expect(page.field("Vary")?.contains("Accept") == true)
      #expect(page.field("Content-Security-Policy") == "default-src 'none'; frame-ancestors 'none'")
      let links = page.text.matches(of: /href="([^"]*)"/).map { String($0.output.1) }
      #expect(links.contains("/lockstep.js") && links.contains("/openapi.json"))
      #expect(links.allSatisfy { !$0.hasPrefix("/v1") })
      for link in links { #expect(try await gateway.get(link).status == 200, "\(link)") }
      let json = try await gateway.get("/")
      #expect(json.field("ETag") != page.field("ETag"))
      #expect(json.field("Vary")?.contains("Accept") == true)
      #expect(try await gateway.get("/", [browser, "If-None-Match: \(page.field("ETag") ?? "")"]).status == 304)
      for accept in ["*/*", "application/json", "application/json, text/html;q=0.5", "text/html;q=0"] {
        let response = try await gateway.get("/", ["Accept: \(accept)"])
        #expect(response.field("Content-Type") == "application/json", "\(accept)")
      }
    }
  }

  @Test("A running server is healthy, whatever the state of its store")
  func healthz() async throws {
    try await StubbedServer.run { gateway in
      gateway.store.setBroken(true)
      let health = try await gateway.get("/healthz")
      #expect(health.status == 200)
      #expect(health.text == #"{"status":"ok"}"#)
      #expect(health.field("Cache-Control") == "no-store")
      #expect(gateway.store.checks == 0)
    }
  }

  @Test("It is ready while the store can be written, and checks that for each request")
  func readyz() async throws {
    try await StubbedServer.run { gateway in
      let ready = try await gateway.get("/readyz")
      #expect(ready.status == 200)
      #expect(ready.text == #"{"status":"ready"}"#)
      #expect(ready.field("Cache-Control") == "no-store")
      gateway.store.setBroken(true)
      let broken = try await gateway.get("/readyz")
      #expect(broken.status == 503)
      #expect(broken.field("Retry-After") == "1")
      #expect(broken.object["type"] == "/problems/overloaded")
      #expect(broken.object["notReady"] == ["store"])
      #expect(!broken.text.contains("Broken"), "only the operator learns the reason")
      #expect(gateway.log.text.contains("ERROR the store cannot be written error="))
      gateway.store.setBroken(false)
      #expect(try await gateway.get("/readyz").status == 200)
      #expect(gateway.store.checks == 3)
    }
  }

  @Test("A check of a store that hangs times out, and no other check begins until it has ended")
  func hangingStore() async throws {
    try await StubbedServer.run { gateway in
      gateway.store.setHanging(true)
      let (first, second) = (try gateway.connect(), try gateway.connect())
      for client in [first, second] { try await client.send(StubbedServer.request("GET", "/readyz")) }
      // The event loop has read both requests when it responds to this one.
      _ = try await gateway.get("/healthz")
      await eventually { gateway.store.checks == 1 && gateway.clock.sleeperCount == StubbedServer.sleeperCount + 1 }
      gateway.clock.advance(by: .milliseconds(1499))
      #expect(gateway.log.text.isEmpty || !gateway.log.text.contains("ERROR"))
      gateway.clock.advance(by: .milliseconds(1))
      for client in [first, second] {
        let response = try await client.response()
        #expect(response.status == 503)
        #expect(response.object["notReady"] == ["store"])
      }
      #expect(
        gateway.log.text.contains("the store cannot be written error=\"the check takes longer than 1.5 seconds\"")
      )
      // The response comes at once, and no other check begins behind the one that hangs.
      #expect(try await gateway.get("/readyz").status == 503)
      #expect(gateway.store.checks == 1)
      await eventually { gateway.clock.sleeperCount == StubbedServer.sleeperCount }
      gateway.store.setHanging(false)
      // The hanging check must end first, and nothing reports its end.
      try await eventually { try await gateway.get("/readyz").status == 200 }
      #expect(gateway.store.checks == 2)
      #expect(gateway.log.text.contains("INFO the server is ready again"))
    }
  }

  @Test("While it drains, it is healthy but not ready, and does not check the store")
  func draining() async throws {
    let gateway = try StubbedServer.start()
    let half = try gateway.connect()
    let other = try gateway.connect()
    try await half.send("GET /readyz HTTP/1.1\r\nHo")
    try await other.send("GET /healthz HTTP/1.1\r\nHo")
    // The event loop has read both halves when it responds to a third connection.
    _ = try await gateway.get("/healthz")
    gateway.server.drain()
    try await half.send("st: h\r\n\r\n")
    try await other.send("st: h\r\n\r\n")
    let response = try await half.response()
    #expect(response.status == 503)
    #expect(response.field("Retry-After") == "1")
    #expect(response.object["notReady"] == ["server"])
    #expect(response.field("Connection") == "close")
    #expect(try await other.response().text == #"{"status":"ok"}"#)
    #expect(gateway.store.checks == 0)
    await gateway.ended()
    #expect(gateway.store.shutDowns == 1)
    #expect(gateway.log.lines.last?.hasSuffix("INFO stopped\n") == true)
  }

  @Test("Every kind of problem has a page, and the list contains every page")
  func problemPages() async throws {
    try await StubbedServer.run { gateway in
      var pages: [JSON] = []
      for kind in ProblemKind.allCases {
        let page = try await gateway.get("/problems/\(kind.slug)")
        #expect(page.status == 200)
        #expect(page.field("Content-Type") == "application/json")
        #expect(page.object["type"] == .string("/problems/\(kind.slug)"))
        #expect(page.object["title"] == .string(kind.title))
        #expect(page.object["status"] == .integer(Int64(kind.status.code)))
        #expect(page.object["explanation"] == .string(kind.explanation))
        pages.append(.object(page.object))
      }
      #expect(try await gateway.get("/problems").object["items"] == .array(pages))
    }
  }

  @Test(
    "An unknown kind of problem is a problem itself",
    arguments: ["/problems/unknown", "/problems/%22%0D%0A", "/problems/Internal", "/problems/conflict%2F"]
  )
  func unknownProblem(path: String) async throws {
    try await StubbedServer.run { gateway in
      let response = try await gateway.get(path)
      #expect(response.status == 404)
      #expect(response.field("Content-Type") == "application/problem+json")
      #expect(response.object["type"] == "/problems/not-found")
    }
  }

  @Test("HEAD returns the fields of GET without a body, and OPTIONS returns the methods", arguments: paths)
  func headAndOptions(path: String) async throws {
    try await StubbedServer.run { gateway in
      let client = try gateway.connect()
      try await client.send(StubbedServer.request("GET", path))
      let get = try await client.response()
      try await client.send(StubbedServer.request("HEAD", path) + StubbedServer.request("OPTIONS", path))
      let head = try await client.response(toHead: true)
      let options = try await client.response()
      #expect(get.status == 200)
      #expect(head.status == get.status)
      // The metrics have changed between the two requests.
      let fixed = path == "/metrics" ? { $0.filter { !$0.hasPrefix("Content-Length") } } : { (all: [String]) in all }
      #expect(fixed(head.fields) == fixed(get.fields))
      #expect(options.status == 204)
      #expect(options.field("Allow") == Self.allow)
      #expect(options.field("Content-Length") == nil)
    }
  }

  @Test("Any other method is refused with the allowed ones", arguments: ["POST", "PUT", "PATCH", "DELETE"])
  func methodNotAllowed(method: String) async throws {
    try await StubbedServer.run { gateway in
      for path in Self.paths {
        let response = try await gateway.ask(method, path)
        #expect(response.status == 405, "\(path)")
        #expect(response.field("Allow") == Self.allow)
        #expect(response.object["type"] == "/problems/method-not-allowed")
      }
    }
  }

  @Test(
    "An unknown method gets 501 on every path, with the known ones",
    arguments: ["BREW", "get", "TRACE"]
  )
  func notImplemented(method: String) async throws {
    try await StubbedServer.run { gateway in
      for path in ["/healthz", "/nowhere", "/"] {
        let response = try await gateway.ask(method, path)
        #expect(response.status == 501, "\(path)")
        #expect(response.object["type"] == "/problems/not-implemented")
        #expect(response.text.contains("the method \(method), only \(Self.allMethods)."))
      }
    }
  }

  @Test(
    "A body with a content coding is refused with the name of the coding",
    arguments: ["gzip", "identity, br", "x"]
  )
  func codedBody(coding: String) async throws {
    try await StubbedServer.run { gateway in
      let client = try gateway.connect()
      try await client.send(
        StubbedServer.request("GET", "/healthz", ["Content-Encoding: \(coding)", "Content-Length: 2"]) + "ab"
          + StubbedServer.request("GET", "/healthz", ["Content-Encoding: Identity", "Content-Length: 2"]) + "ab"
          + StubbedServer.request("GET", "/healthz", ["Content-Encoding: \(coding)"])
      )
      let refused = try await client.response()
      #expect(refused.status == 415)
      #expect(refused.field("Accept-Encoding") == "identity")
      #expect(refused.text.contains("has the coding \(coding.split(separator: " ").last ?? ""), and none is supported"))
      #expect(try await client.response().status == 200)
      #expect(try await client.response().status == 200)
    }
  }

  @Test("OPTIONS * describes the server as a whole")
  func optionsOfTheServer() async throws {
    try await StubbedServer.run { gateway in
      let response = try await gateway.ask("OPTIONS", "*")
      #expect(response.status == 204)
      #expect(response.field("Allow") == Self.allMethods)
    }
  }

  @Test(
    "An unknown path gets 404 with a link to the index",
    arguments: ["/nowhere", "/healthz/", "/Healthz", "//", "/problems/", "/problems/a/b", "/health%7A/", "/metrics%00"]
  )
  func notFound(path: String) async throws {
    try await StubbedServer.run { gateway in
      for method in ["GET", "POST", "OPTIONS"] {
        let response = try await gateway.ask(method, path)
        #expect(response.status == 404, "\(method) \(path)")
        #expect(response.object["type"] == "/problems/not-found")
        #expect(response.field("Cache-Control") == "no-store")
      }
    }
  }

  @Test("A path is compared after it is decoded once")
  func decoding() async throws {
    try await StubbedServer.run { gateway in
      #expect(try await gateway.get("/health%7A").status == 200)
      #expect(try await gateway.get("/health%257A").status == 404)
      #expect(try await gateway.get("/healthz?x=%zz").status == 200)
      let malformed = try await gateway.get("/health%7")
      #expect(malformed.status == 400)
      #expect(malformed.object["type"] == "/problems/invalid-parameter")
    }
  }

  @Test("A body with a Content-Length above the limit is refused before any of it is read", arguments: [false, true])
  func payloadTooLarge(expects: Bool) async throws {
    try await StubbedServer.run({ $0.limits.body = 10 }) { gateway in
      let client = try gateway.connect()
      let expectation = expects ? ["Expect: 100-continue"] : []
      // The body is never sent, so a response that waited for it would not come.
      try await client.send(StubbedServer.request("GET", "/healthz", ["Content-Length: 11"] + expectation))
      let response = try await client.response()
      #expect(response.status == 413)
      #expect(response.object["type"] == "/problems/payload-too-large")
      client.finishSending()
      #expect(try await client.isClosed())
      let fits = try gateway.connect()
      try await fits.send(StubbedServer.request("GET", "/healthz", ["Content-Length: 10"]) + "0123456789")
      #expect(try await fits.response().status == 200)
    }
  }

  @Test("A server that cannot listen throws the reason, and its services stay with the caller")
  func addressTaken() async throws {
    try await StubbedServer.run { gateway in
      let error = #expect(throws: (any Error).self) {
        try StubbedServer.start { $0.port = gateway.server.address.port }
      }
      let text = error.map { "\($0)" } ?? ""
      #expect(text.contains("cannot listen on 127.0.0.1:\(gateway.server.address.port): Address already in use"))
    }
  }
}
