import Foundation
import LockstepJSON

/// Why a request or a write has failed.
public struct ClientFailure: LocalizedError, Sendable, Equatable, CustomStringConvertible {
  /// The status of the response; nil if there was none.
  public let status: Int?
  /// The type of the problem, such as `validation-failed`; nil if the response has no problem document of the server.
  public let type: String?
  /// A short text for users, such as “There is no room for more”, without a full stop at its end. It is the title of
  /// the problem document. If there is none, it is a text of the client, such as “The server cannot be reached”.
  public let title: String
  /// The failure in sentences for developers, with the faults that a problem document lists.
  public let description: String
  /// The problem document of the server (RFC 9457), which may name the faulty members; nil if the response has none.
  public let problem: JSON?

  /// The title, so that it is also the `localizedDescription`.
  public var errorDescription: String? { title }

  /// A failure without a response, such as in a transport of your own. `description` is for developers, and `title` is
  /// for users.
  public init(_ description: String, title: String = "Something went wrong") {
    self.init(status: nil, title: title, description, problem: nil)
  }

  private init(status: Int?, title: String, _ description: String, problem: JSON?) {
    (self.status, self.title, self.description, self.problem) = (status, title, description, problem)
    // The type is a URI reference whose last part names the problem.
    type = problem?["type"]?.stringValue?.split(separator: "/").last.map(String.init)
  }

  /// Two failures are equal if their status, description and problem document are equal.
  public static func == (left: ClientFailure, right: ClientFailure) -> Bool {
    left.status == right.status && left.description == right.description && left.problem == right.problem
  }
}

// MARK: - Failures that the client finds itself

extension ClientFailure {
  /// The titles of the failures that have no problem document of the server. If the server has a title with the same
  /// meaning, the client uses the same text.
  package enum Title: String, CaseIterable {
    /// There is no response, or it is not one of a Lockstep server.
    case unreachable = "The server cannot be reached"
    case longResponse = "The server has sent too much at once"
    case slowApp = "This device is too slow for what the server sends"
    case otherVersion = "The app and the server do not understand each other"
    case notLoggedIn = "You are not logged in"
    case loggedOut = "You have logged out"
    /// The write was pending when its user logged out, so the client has deleted it.
    case deleted = "This change was deleted from this device, because its user has logged out"
    case cancelled = "This was cancelled"
    /// The server may have applied the write or the action.
    case uncertain = "It is not certain whether this was done"
    /// The server has not performed the action.
    case notDone = "This was not done"
    case noCopy = "The data is not on this device yet"
    case credentials = "This device cannot use its login"
    /// A mistake of the app.
    case app = "Something went wrong in the app"
  }

  package init(_ title: Title, _ description: String) { self.init(description, title: title.rawValue) }

  static let loggedOut = ClientFailure(.loggedOut, "The user has logged out.")

  /// The failure of a write that was pending when its user logged out.
  static let deleted = ClientFailure(.deleted, "The user has logged out, so the client has deleted this write.")

  /// The client's file cannot be written.
  static func store(_ error: any Error) -> ClientFailure {
    ClientFailure("The client's file cannot be written: \(error)", title: LockstepClientError(error).title)
  }

  /// A value has faults, so the client does not send it. It has the form of the server's problem.
  static func invalid(_ sentence: String, _ faults: [(pointer: String, detail: String)]) -> ClientFailure {
    let errors = faults.map { JSON.object(["pointer": .string($0.pointer), "detail": .string($0.detail)]) }
    return ClientFailure(
      status: 422,
      problem: [
        "type": "/problems/validation-failed", "title": "Some of the input is not valid", "status": 422,
        "detail": .string(sentence), "errors": .array(errors),
      ]
    )
  }

  /// The failure that an error of a transport, of credentials or of the store describes.
  init(of error: any Error) {
    switch error {
    case let failure as ClientFailure: self = failure
    case let error as LockstepClientError: self.init(error.description, title: error.title)
    default: self.init(.unreachable, "The server cannot be reached: \(error)")
    }
  }
}

// MARK: - Responses

extension ClientFailure {
  /// The failure that a response describes.
  init(_ response: ClientResponse) {
    if let problem = response.problem {
      self.init(status: response.status, problem: problem)
    } else {
      let sentence = "The response with the status \(response.status) is not one of a Lockstep server."
      self.init(status: response.status, title: Title.unreachable.rawValue, sentence, problem: nil)
    }
  }

  private init(status: Int, problem: JSON) {
    let title = problem["title"]?.stringValue ?? "Something went wrong"
    let sentences = [problem["detail"]?.stringValue ?? title] + Self.faults(problem)
    self.init(status: status, title: title, sentences.joined(separator: " "), problem: problem)
  }

  /// The first faults that a problem document lists, such as `/title: It must be a string.`
  private static func faults(_ problem: JSON) -> [String] {
    (problem["errors"]?.arrayValue ?? []).prefix(3).compactMap { fault in
      guard let detail = fault["detail"]?.stringValue else { return nil }
      let place = fault["pointer"]?.stringValue ?? ""
      return place.isEmpty ? detail : "\(place): \(detail)"
    }
  }
}

// MARK: - The store

extension ClientFailure {
  /// The form in the store.
  var json: JSON {
    var object: JSONObject = ["description": .string(description), "title": .string(title)]
    if let status { object["status"] = JSON(status) }
    if let problem { object["problem"] = problem }
    return .object(object)
  }

  /// Reads the form in the store. Earlier versions of the client have written it without a title.
  init(stored json: JSON) {
    let problem = json["problem"]
    self.init(
      status: json["status"]?.intValue,
      title: json["title"]?.stringValue ?? problem?["title"]?.stringValue ?? "Something went wrong",
      json["description"]?.stringValue ?? "",
      problem: problem
    )
  }
}
