import LockstepClient
import LockstepReactor
import Observation

/// The state of the server's screen `workingHistory`.
public struct WorkingHistory: Decodable, Equatable, Sendable {
  /// The result of checking a text.
  public struct Validation: Decodable, Equatable, Sendable {
    /// `ok`, `empty`, `validating` or `failed`.
    public let kind: String
    /// A sentence about the text, such as why it is not valid; may be empty.
    public let message: String

    /// Whether the message is about an error.
    public var isFailure: Bool { kind == "failed" }
  }

  /// A question after a save that has failed.
  public struct Prompt: Decodable, Equatable, Identifiable, Sendable {
    /// Grows by 1 with each question.
    public let id: Int
    /// A summary.
    public let title: String
    /// Why.
    public let message: String
    /// The possible answers, such as `retry`.
    public let choices: [String]
    /// A text for each choice, in the user's language. Nil: the server is older than these texts.
    public let choiceTexts: [String: String]?

    /// The text of a button.
    public func text(of choice: String) -> String { choiceTexts?[choice] ?? choice }
  }

  /// The company.
  public var companyName = ""
  /// The position in the company.
  public var position = ""
  /// The check of `companyName`.
  public var validatedCompanyName = Validation(kind: "empty", message: "")
  /// The check of `position`.
  public var validatedPosition = Validation(kind: "empty", message: "")
  /// Whether both are valid.
  public var saveEnabled = false
  /// Whether a save is under way.
  public var isLoading = false
  /// The present question.
  public var prompt: Prompt?
  /// How many saves succeeded.
  public var saved = 0

  /// The state before the server has opened the screen.
  public init() {}
}

/// The actions of the screen `workingHistory`. `lockstep swift` prints such types for all screens of a server.
public enum WorkingHistoryAction: ScreenAction {
  case setCompanyName(String)
  case setPosition(String)
  case save
  case answer(prompt: Int, choice: String)

  private struct Answer: Encodable {
    let prompt: Int
    let choice: String
  }

  /// Encodes the action as the server reads it.
  public func encode(to encoder: any Encoder) throws {
    switch self {
    case .setCompanyName(let text): try ScreenActionBody("setCompanyName", ["value": text]).encode(to: encoder)
    case .setPosition(let text): try ScreenActionBody("setPosition", ["value": text]).encode(to: encoder)
    case .save: try ScreenActionBody("save").encode(to: encoder)
    case .answer(let prompt, let choice):
      try ScreenActionBody("answer", Answer(prompt: prompt, choice: choice)).encode(to: encoder)
    }
  }
}

/// The form for the profile. The server runs it: it checks the texts, and asks what to do after a failed save.
///
/// A form needs a connection. `LockstepClient.profile` is the same profile as an object that also works without one.
@MainActor
@Observable
public final class ProfileForm {
  /// The state of the screen.
  public private(set) var state = WorkingHistory()
  /// Why the server has not performed the last action, in a sentence for users; nil if it has.
  public private(set) var failure: String?
  /// The company, as typed. The server's text follows when it has got what was typed.
  public var companyName = "" {
    didSet { if companyName != oldValue, !isFollowing { send(.setCompanyName(companyName)) } }
  }
  /// The position, as typed.
  public var position = "" {
    didSet { if position != oldValue, !isFollowing { send(.setPosition(position)) } }
  }
  /// The server's screen.
  @ObservationIgnored public let screen: RemoteScreen<WorkingHistoryAction, WorkingHistory>
  @ObservationIgnored private var isFollowing = false

  /// A form. Call `run()` while it is visible.
  public init(_ client: LockstepClient) {
    // When the server has restarted, what the user has typed is typed again.
    screen = client.screen("workingHistory", initially: WorkingHistory()) { last, new in
      (last.companyName == new.companyName ? [] : [.setCompanyName(last.companyName)])
        + (last.position == new.position ? [] : [.setPosition(last.position)])
    }
  }

  /// Opens the screen, and follows it until the task is cancelled.
  public func run() async {
    let (states, failures) = (screen.states, screen.failures())
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [screen] in await screen.run() }
      group.addTask { [weak self] in
        for await state in states { await self?.show(state) }
      }
      group.addTask { [weak self] in
        for await failure in failures.ignoringLosses { await self?.note(failure) }
      }
    }
  }

  private func show(_ new: WorkingHistory) {
    state = new
    // The texts that the user types must not be replaced by older ones of the server.
    guard screen.pending == 0 else { return }
    follow { (companyName, position) = (new.companyName, new.position) }
  }

  /// Texts that were typed while the server's screen was lost are typed again.
  private func note(_ lost: ScreenActionFailure<WorkingHistoryAction>) {
    switch lost.action {
    case .setCompanyName(let text) where lost.failure.status == nil:
      follow { companyName = text }
      send(.setCompanyName(text))
    case .setPosition(let text) where lost.failure.status == nil:
      follow { position = text }
      send(.setPosition(text))
    default: failure = lost.failure.sentence
    }
  }

  private func follow(_ body: () -> Void) {
    isFollowing = true
    body()
    isFollowing = false
  }

  /// Saves the profile.
  public func save() { send(.save) }

  /// Answers the present question.
  public func answer(_ choice: String) {
    if let prompt = state.prompt { send(.answer(prompt: prompt.id, choice: choice)) }
  }

  private func send(_ action: WorkingHistoryAction) {
    failure = nil
    screen.send(action)
  }
}
