import LockstepClient

extension ClientRequest {
  /// A request of the session that has this token.
  init(_ method: String, _ target: String, token: String, fields: [String: String] = [:], body: String? = nil) {
    self.init(
      method: method,
      target: target,
      fields: fields.merging(["Authorization": "Bearer \(token)"]) { $1 },
      body: body.map { Array($0.utf8) }
    )
  }
}
