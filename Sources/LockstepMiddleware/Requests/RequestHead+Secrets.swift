import LockstepHTTP

extension RequestHead {
  /// The path without the id of a screen, because the id of a login screen gives access to a token, and
  /// without the token of a link in a mail. A path that no route has may contain such a token too, for
  /// example if a proxy was set up wrongly, so its place does not matter.
  package var pathWithoutSecrets: String {
    var parts = path.split(separator: "/", omittingEmptySubsequences: false)
    // The router decodes each part too.
    let decoded = parts.map { part in
      PercentEncoding.decoded(Array(part.utf8)[...], isQuery: false).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
    if let index = decoded.firstIndex(where: { Self.beforeTokens.contains($0.lowercased()) }) {
      for index in parts.indices.dropFirst(index + 1) where !parts[index].isEmpty { parts[index] = "{token}" }
    } else if parts.count > 4, decoded[1] == "v1", decoded[2] == "reactors" {
      parts[4] = "{id}"
    } else {
      return path
    }
    return parts.joined(separator: "/")
  }

  private static let beforeTokens = ["password-resets", "email-proofs"]
}
