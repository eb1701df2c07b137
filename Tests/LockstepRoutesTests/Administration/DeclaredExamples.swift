import Testing

@testable import LockstepServerTestSupport

/// Two declared collections that several suites use.
enum DeclaredExamples {
  static let path = "/v1/admin/collections"
  static let playlist = """
    {"kind":"list","description":"Songs in order.","quota":{"elements":3},"schema":{
      "type":"object","required":["song"],"additionalProperties":false,
      "properties":{"song":{"type":"string","maxLength":20},"stars":{"type":"integer","minimum":1,"maximum":5}}
    }}
    """
  static let levels = #"{"kind":"map","schema":{"type":"integer","minimum":0,"maximum":10}}"#

  /// A server with both collections.
  static func serve(_ body: @escaping @Sendable (ServerFixture) async throws -> Void) async throws {
    try await ServerFixture.administered { users in
      #expect(try await users.admin.put("\(path)/playlist", playlist).status == 201)
      #expect(try await users.admin.put("\(path)/levels", levels).status == 201)
      try await body(users)
    }
  }
}
