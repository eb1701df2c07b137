import LockstepJSON

/// Why a request or a write has failed.
public struct ClientFailure: Error, Sendable, Equatable, CustomStringConvertible {
  /// The status of the response; nil if there was none.
  public let status: Int?
  /// The type of the problem, such as `validation-failed`; nil if the response has no problem document.
  public let type: String?
  /// A short text for users, such as “There is no room for more”: the title of the problem document. Nil if the
  /// response has none.
  public let title: String?
  /// The failure in sentences for developers, with the faults that a problem document lists.
  public let description: String
  /// The problem document (RFC 9457), which may name the faulty members; nil if the response has none.
  public let problem: JSON?

  /// A failure without a response.
  public init(_ description: String) {
    (status, type, title, self.description, problem) = (nil, nil, nil, description, nil)
  }

  /// The failure that a response describes.
  init(status: Int, body: JSON?) {
    self.status = status
    // The type is a URI reference whose last part names the problem.
    type = body?["type"]?.stringValue?.split(separator: "/").last.map(String.init)
    title = body?["title"]?.stringValue
    problem = body?.objectValue == nil ? nil : body
    let sentence = body?["detail"]?.stringValue ?? body?["title"]?.stringValue
    description = ([sentence ?? "The server responded with the status \(status)."] + Self.faults(body))
      .joined(separator: " ")
  }

  /// The first faults that a problem document lists, such as `/title: It must be a string.`
  private static func faults(_ body: JSON?) -> [String] {
    (body?["errors"]?.arrayValue ?? []).prefix(3).compactMap { fault in
      guard let detail = fault["detail"]?.stringValue else { return nil }
      let place = fault["pointer"]?.stringValue ?? ""
      return place.isEmpty ? detail : "\(place): \(detail)"
    }
  }

  /// Two failures are equal if their status, description and problem document are equal.
  public static func == (left: ClientFailure, right: ClientFailure) -> Bool {
    left.status == right.status && left.description == right.description && left.problem == right.problem
  }
}
