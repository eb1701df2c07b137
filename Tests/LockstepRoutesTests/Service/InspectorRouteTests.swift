import Foundation
import LockstepHTTP
import LockstepTestSupport
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepWebFiles

@Suite("The server serves the inspector to administrators who switch it on", .timeLimit(.minutes(10)))
struct InspectorRouteTests {
  private static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("web/inspector")
  private static let token = "an administrator token for tests"

  private static func run(_ body: (StubbedServer) async throws -> Void) async throws {
    try await StubbedServer.run(
      {
        $0.inspector = true
        $0.administratorToken = token
      },
      body
    )
  }

  private static func path(of name: String) -> String { "/inspector/\(name == "index.html" ? "" : name)" }

  @Test("Every file of the folder is served with its type and the fields that protect the page")
  func files() async throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).sorted()
    #expect(names == WebFile.inspector.map(\.name).sorted())
    try await Self.run { gateway in
      for name in names {
        let response = try await gateway.get(Self.path(of: name))
        #expect(response.status == 200)
        #expect(try response.body == Array(Data(contentsOf: Self.folder.appendingPathComponent(name))))
        let type = name.hasSuffix(".js") ? "javascript" : name.hasSuffix(".css") ? "css" : "html"
        #expect(response.values(of: "Content-Type") == ["text/\(type); charset=utf-8"])
        #expect(response.values(of: "X-Content-Type-Options") == ["nosniff"])
        #expect(response.values(of: "Referrer-Policy") == ["no-referrer"])
        #expect(response.values(of: "Cross-Origin-Opener-Policy") == ["same-origin"])
        #expect(response.values(of: "Cross-Origin-Resource-Policy") == ["same-origin"])
        #expect(response.values(of: "Cache-Control") == ["no-cache"])
        #expect(
          response.values(of: "Content-Security-Policy") == [
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
              + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
              + "trusted-types 'none'"
          ]
        )
        let tag = try #require(response.field("ETag"))
        #expect(try await gateway.get(Self.path(of: name), ["If-None-Match: \(tag)"]).status == 304)
      }
    }
  }

  @Test("All files together take at most 60 KiB when they are compressed")
  func size() async throws {
    try await Self.run { gateway in
      var size = 0
      for file in WebFile.inspector {
        let response = try await gateway.get(Self.path(of: file.name), ["Accept-Encoding: gzip"])
        if response.field("Content-Encoding") == "gzip" {
          #expect(try gunzipped(response.body) == file.bytes)
        } else {
          #expect(file.bytes.count <= 1024)
        }
        size += response.body.count
      }
      #expect(size <= 60 * 1024)
    }
  }

  @Test("The path without the slash redirects, and GET / links to it and to no file")
  func redirect() async throws {
    try await Self.run { gateway in
      let response = try await gateway.get("/inspector")
      #expect(response.status == 308)
      #expect(response.field("Location") == "/inspector/")
      let index = String(decoding: try await gateway.get("/").body, as: UTF8.self)
      #expect(index.contains(#""inspector":"/inspector""#))
      #expect(!index.contains("/inspector/"))
      #expect(try await gateway.get("/inspector/none.js").status == 404)
      #expect(try await gateway.ask("POST", "/inspector/").status == 405)
    }
  }

  @Test(
    "The paths are unknown unless the inspector is on",
    arguments: ["/inspector", "/inspector/", "/inspector/live.js"]
  )
  func off(path: String) async throws {
    try await StubbedServer.run({ $0.administratorToken = Self.token }) { gateway in
      let response = try await gateway.get(path)
      #expect(response.status == 404)
      #expect(!gateway.log.text.contains("inspector"))
    }
  }

  @Test("Without an administrator token, the inspector is off, and the log has a warning", arguments: [nil, ""])
  func withoutToken(token: String?) async throws {
    try await StubbedServer.run({
      $0.inspector = true
      $0.administratorToken = token
    }) { gateway in
      let response = try await gateway.get("/inspector/")
      #expect(response.status == 404)
      #expect(gateway.log.text.contains("WARNING the inspector is off"))
      #expect(gateway.log.text.contains("LOCKSTEP_ADMIN_TOKEN"))
    }
  }

  @Test("No file makes markup from text, and none has a style or a script of its own")
  func markup() throws {
    for file in WebFile.inspector {
      let text = String(decoding: file.bytes, as: UTF8.self)
      for word in [
        "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "createContextualFragment",
        "eval(", "new Function", "style=", "onclick=", "localStorage", "document.cookie",
      ] {
        #expect(!text.contains(word), "\(file.name): \(word)")
      }
      if file.name == "index.html" { #expect(!text.contains("<style") && !text.contains("<script>")) }
    }
  }
}
