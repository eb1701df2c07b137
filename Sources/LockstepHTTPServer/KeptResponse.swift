import LockstepHTTP

/// A response that its client may get again: see `ResponseValidity`.
struct KeptResponse {
  let response: Response
  let validity: any ResponseValidity

  /// The response as it's sent now.
  var present: Response {
    let fields = validity.fields
    if fields.isEmpty { return response }
    var response = response
    response.fields.append(contentsOf: fields)
    return response
  }

  /// Up to which size a body is kept: a longer one takes so long to send that making the response
  /// again isn't what it costs, and thousands of connections may keep one each.
  private static let longestBody = 4096

  var isShort: Bool {
    switch response.body {
    case .none: true
    case .bytes(let bytes): bytes.count <= Self.longestBody
    case .stream: false
    }
  }
}
