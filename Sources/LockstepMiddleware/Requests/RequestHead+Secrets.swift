import LockstepHTTP

extension RequestHead {
  /// The path without the id of a screen, because the id of a login screen gives access to a token.
  package var pathWithoutSecrets: String {
    var parts = path.split(separator: "/", omittingEmptySubsequences: false)
    // The router decodes each part too.
    let decoded = parts.prefix(3).map { PercentEncoding.decoded(Array($0.utf8)[...], isQuery: false) }
    guard parts.count > 4, decoded[1] == Array("v1".utf8), decoded[2] == Array("reactors".utf8) else { return path }
    parts[4] = "{id}"
    return parts.joined(separator: "/")
  }
}
