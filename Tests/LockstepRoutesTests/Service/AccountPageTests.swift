import Foundation
import LockstepHTTP
import LockstepHTTPServer
import LockstepRoutes
import LockstepTestSupport
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepWebFiles

@Suite("The pages behind the links in mails", .timeLimit(.minutes(10)))
struct AccountPageTests {
  private static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("web/account")

  /// Runs `body` with the port of a server that has only these pages.
  private static func run(_ body: (Int) async throws -> Void) async throws {
    let (routes, router) = (AccountPageRoutes.routes, try Router(AccountPageRoutes.routes))
    let server = try Server(Server.Configuration())
    try server.start { request in
      .async {
        guard case .route(let index, _) = try router.match(request.head) else { throw Problem(.notFound) }
        return try routes[index].handler(request)
      }
    }
    do {
      try await body(server.address.port)
    } catch {
      Issue.record(error)
    }
    server.drain()
    await aside { server.join() }
  }

  private static func get(_ path: String, _ port: Int, _ fields: [String] = []) async throws -> RawResponse {
    let client = try RawClient(port: port)
    defer { client.close() }
    try await client.send(StubbedServer.request("GET", path, fields))
    return try await client.response()
  }

  @Test("Every file of the folder is served with its type and the fields that protect the page")
  func files() async throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).sorted()
    #expect(names == WebFile.account.map(\.name).sorted())
    try await Self.run { port in
      for (name, path) in names.filter({ $0 != "account.html" }).map({ ($0, $0) }) + [
        ("account.html", "reset"), ("account.html", "confirm"),
      ] {
        let response = try await Self.get("/account/\(path)", port)
        #expect(response.status == 200)
        #expect(try response.body == Array(Data(contentsOf: Self.folder.appendingPathComponent(name))))
        let type = name.hasSuffix(".js") ? "javascript" : name.hasSuffix(".css") ? "css" : "html"
        #expect(response.values(of: "Content-Type") == ["text/\(type); charset=utf-8"])
        #expect(response.values(of: "X-Content-Type-Options") == ["nosniff"])
        #expect(response.values(of: "Referrer-Policy") == ["no-referrer"])
        #expect(response.values(of: "Cross-Origin-Opener-Policy") == ["same-origin"])
        #expect(response.field("Content-Security-Policy")?.contains("default-src 'none'; script-src 'self';") == true)
        #expect(response.field("Content-Security-Policy")?.contains("frame-ancestors 'none'") == true)
        let tag = try #require(response.field("ETag"))
        #expect(try await Self.get("/account/\(path)", port, ["If-None-Match: \(tag)"]).status == 304)
      }
    }
  }

  @Test("No file makes markup from text, keeps a token, or has a style or a script of its own")
  func markup() throws {
    for file in WebFile.account {
      let text = String(decoding: file.bytes, as: UTF8.self)
      for word in [
        "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "createContextualFragment",
        "eval(", "new Function", "style=", "onclick=", "localStorage", "sessionStorage", "document.cookie", "<style",
        "<script>",
      ] {
        #expect(!text.contains(word), "\(file.name): \(word)")
      }
    }
  }
}
