import LockstepClient
import LockstepReactor

/// The screen `workingHistory`, as an app declares it.
struct WorkingHistory: Decodable, Equatable, Sendable {
  struct Prompt: Decodable, Equatable, Identifiable, Sendable {
    let id: Int
    let message: String
    let choices: [String]
    let choiceTexts: [String: String]
  }

  var companyName = ""
  var position = ""
  var saveEnabled = false
  var isLoading = false
  var prompt: Prompt?
  var saved = 0

  /// The state as a row of a table.
  var row: String {
    if let prompt {
      return "prompt: \(prompt.choices.map { prompt.choiceTexts[$0] ?? "no text" }.joined(separator: " or "))"
    }
    if isLoading { return "saving" }
    return saved > 0 ? "saved \(saved)" : "editing"
  }
}

enum WorkingHistoryAction: ScreenAction {
  case setCompanyName(String)
  case setPosition(String)
  case save
  case answer(Int, String)

  private struct Answer: Encodable {
    let prompt: Int
    let choice: String
  }

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .setCompanyName(let value): try ScreenActionBody("setCompanyName", ["value": value]).encode(to: encoder)
    case .setPosition(let value): try ScreenActionBody("setPosition", ["value": value]).encode(to: encoder)
    case .save: try ScreenActionBody("save").encode(to: encoder)
    case .answer(let prompt, let choice):
      try ScreenActionBody("answer", Answer(prompt: prompt, choice: choice)).encode(to: encoder)
    }
  }
}

/// The screen `favoritesTop`.
struct FavoritesTop: Decodable, Equatable, Sendable {
  struct Route: Decodable, Equatable, Identifiable, Sendable {
    let id: Int
    let photoId: String
    let href: String
  }

  var favoriteIds: [String] = []
  var route: Route?
}

enum FavoritesTopAction: ScreenAction {
  case viewWillAppear
  case tapFavoritePhoto(Int)
  case setActive(Bool)

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .viewWillAppear: try ScreenActionBody("viewWillAppear").encode(to: encoder)
    case .tapFavoritePhoto(let row): try ScreenActionBody("tapFavoritePhoto", ["row": row]).encode(to: encoder)
    case .setActive(let value): try ScreenActionBody("setActive", ["value": value]).encode(to: encoder)
    }
  }
}

/// The screen `photoDetail`.
struct PhotoDetail: Decodable, Equatable, Sendable {
  var photoId = ""
  var title: String?
  var isFavorite = false
  var dateAdded: String?
}

enum PhotoDetailAction: ScreenAction {
  case toggleFavorite

  func encode(to encoder: any Encoder) throws { try ScreenActionBody("toggleFavorite").encode(to: encoder) }
}

/// The screen `login`.
struct Login: Decodable, Equatable, Sendable {
  struct Session: Decodable, Equatable, Sendable {
    let token: String
  }

  struct Validation: Decodable, Equatable, Sendable {
    var kind = ""
    var message = ""

    var row: String { "\(kind): \(message)" }
  }

  struct Route: Decodable, Equatable, Identifiable, Sendable {
    let id: Int
    let name: String
    let href: String
  }

  var username = ""
  var usernameValidation = Validation()
  var passwordValidation = Validation()
  var isLoginEnabled = false
  var isExecuting = false
  var session: Session?
  var route: Route?
}

enum LoginAction: ScreenAction {
  case setUsername(String)
  case setPassword(String)
  case submit

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .setUsername(let value): try ScreenActionBody("setUsername", ["value": value]).encode(to: encoder)
    case .setPassword(let value): try ScreenActionBody("setPassword", ["value": value]).encode(to: encoder)
    case .submit: try ScreenActionBody("submit").encode(to: encoder)
    }
  }
}
