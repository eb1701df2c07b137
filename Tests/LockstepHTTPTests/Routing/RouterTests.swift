@testable import LockstepHTTP
import Testing

@Suite("The router finds the route of a request", .timeLimit(.minutes(10)))
struct RouterTests {
  @Test(
    "A path is matched part by part, and a literal wins over a parameter",
    arguments: [
      ("/", "/"),
      ("/a", "/a"),
      ("/a/", "/a/"),
      ("/a/b", "/a/b"),
      ("/a/x", "/a/{id} id=x"),
      ("/a/b/c", "/a/b/c"),
      ("/a/x/c", "/a/{key}/c key=x"),
      ("/a/b/d", "/a/{key}/d key=b"),
      ("/a/b/e/f", "/a/{one}/e/{two} one=b two=f"),
      ("/x", "/{any} any=x"),
      ("/a?b", "/a"),
      ("http://h/a", "/a"),
      ("http://h", "/"),
      ("http://h?b", "/"),
      ("/A", "/{any} any=A"),
      ("/x/y", nil),
      ("/a/b/c/d", nil),
      ("/a/x/y", nil),
      ("//", nil),
      ("//a", nil),
      ("/a//", nil),
      ("/a//c", nil),
      ("/x/", nil),
      ("/a/b/e/", nil),
    ]
  )
  func paths(target: String, found: String?) throws {
    let router = try Router([
      .init("/"), .init("/a"), .init("/a/"), .init("/a/b"), .init("/a/{id}"), .init("/a/b/c"), .init("/a/{key}/c"),
      .init("/a/{key}/d"), .init("/a/{one}/e/{two}"), .init("/{any}"),
    ])
    #expect(try router.found(target) == found)
  }

  @Test("The order of the routes does not matter")
  func order() throws {
    for patterns in [["/a/b", "/a/{x}", "/{y}/b"], ["/{y}/b", "/a/{x}", "/a/b"]] {
      let router = try Router(patterns.map { Route($0) })
      #expect(try router.found("/a/b") == "/a/b")
      #expect(try router.found("/a/c") == "/a/{x} x=c")
      #expect(try router.found("/c/b") == "/{y}/b y=c")
    }
  }

  @Test("Routes with the same path may name its parameters differently")
  func names() throws {
    let router = try Router([Route("/{a}/x/{b}"), Route(.put, "/{c}/x/{d}")])
    #expect(try router.found("/1/x/2") == "/{a}/x/{b} a=1 b=2")
    #expect(try router.found("/1/x/2", "PUT") == "/{c}/x/{d} c=1 d=2")
  }

  @Test("An empty part matches no parameter, and an encoded slash does not split a part")
  func emptyParts() throws {
    let router = try Router([Route("/a/{id}/c")])
    #expect(try router.found("/a//c") == nil)
    #expect(try router.found("/a/%2F/c") == "/a/{id}/c id=/")
    #expect(try router.found("/a%2Fb/c") == nil)
  }

  @Test("If a literal has no route for the method, the parameter in its place matches, and both methods are allowed")
  func lentMethods() throws {
    let router = try Router([
      Route(.post, "/a/actions"), Route(.get, "/a/{id}"), Route(.delete, "/a/{id}"), Route(.post, "/a/{id}"),
    ])
    #expect(try router.found("/a/actions", "POST") == "/a/actions")
    #expect(try router.found("/a/x", "POST") == "/a/{id} id=x")
    for method in ["GET", "HEAD", "DELETE"] { #expect(try router.found("/a/actions", method) == "/a/{id} id=actions") }
    guard case .options(let allow) = try router.match(head("OPTIONS /a/actions HTTP/1.1", fields: [])) else {
      throw Unexpected(description: "no options")
    }
    #expect(allow == "GET, HEAD, POST, DELETE, OPTIONS")
  }

  @Test(
    "Each method has its own route, and HEAD uses the route of GET",
    arguments: [
      ("GET", "/a", "GET"), ("HEAD", "/a", "GET"), ("PUT", "/a", "PUT"), ("HEAD", "/own", "HEAD"),
      ("GET", "/own", "GET"), ("OPTIONS", "/own", "OPTIONS"),
    ]
  )
  func methods(method: String, target: String, found: String) throws {
    let router = try Router([
      Route(.get, "/a"), Route(.put, "/a"), Route(.get, "/own"), Route(.head, "/own"), Route(.options, "/own"),
    ])
    guard case .route(let index, _) = try router.match(head("\(method) \(target) HTTP/1.1", fields: [])) else {
      throw Unexpected(description: "not found")
    }
    #expect(router.routes[index].method.name == found)
    #expect(router.routes[index].pattern == target)
  }

  @Test(
    "A path without the method gets 405 with the allowed methods, and OPTIONS returns the same methods",
    arguments: [
      ("/get", "GET, HEAD, OPTIONS"), ("/put", "PUT, OPTIONS"),
      ("/all", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"),
      ("/items/x", "POST, DELETE, OPTIONS"), ("/head", "HEAD, OPTIONS"),
    ]
  )
  func allow(target: String, allow: String) throws {
    let all: [Method] = [.delete, .patch, .put, .post, .get]
    let router = try Router(
      [
        Route(.get, "/get"), Route(.put, "/put"), Route(.delete, "/items/{id}"), Route(.post, "/items/{id}"),
        Route(.head, "/head"),
      ] + all.map { Route($0, "/all") }
    )
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] where !allow.contains(method) {
      guard case .methodNotAllowed(let refused) = try router.match(head("\(method) \(target) HTTP/1.1", fields: []))
      else {
        throw Unexpected(description: "not refused")
      }
      #expect(refused == allow)
    }
    guard case .options(let options) = try router.match(head("OPTIONS \(target) HTTP/1.1", fields: [])) else {
      throw Unexpected(description: "no options")
    }
    #expect(options == allow)
  }

  @Test(
    "The server as a whole allows the methods of all its routes, and any other method gets 501",
    arguments: ["CONNECT a:1", "TRACE /a", "BREW /a", "get /a", "FOO /nowhere", "PROPFIND http://h"]
  )
  func wholeServer(line: String) throws {
    let router = try Router([Route(.get, "/a"), Route(.delete, "/b")])
    guard case .options(let allow) = try router.match(head("OPTIONS * HTTP/1.1", fields: [])) else {
      throw Unexpected(description: "no options")
    }
    #expect(allow == "GET, HEAD, DELETE, OPTIONS")
    guard case .notImplemented(let refused) = try router.match(head("\(line) HTTP/1.1", fields: [])) else {
      throw Unexpected(description: "not refused")
    }
    #expect(refused == allow)
  }

  @Test("OPTIONS of an unknown path is not found")
  func optionsOfNothing() throws {
    #expect(try Router([Route("/a")]).found("/b", "OPTIONS") == nil)
  }

  @Test("An empty table finds nothing")
  func empty() throws {
    #expect(try Router([]).found("/") == nil)
    #expect(try Router([]).found("/a/b") == nil)
  }
}
