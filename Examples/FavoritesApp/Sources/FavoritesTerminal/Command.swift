import FavoritesModel

/// A line that the user has typed.
enum Command: Equatable {
  case signUp(email: String, password: String)
  case logIn(email: String, password: String)
  case logOut
  case list
  case add(id: String, title: String)
  case rename(id: String, title: String)
  case move(id: String, index: Int)
  case delete(id: String)
  case open(id: String)
  case theme(Theme?)
  case status
  case profile(ProfileCommand)
  case connect
  case disconnect
  case wait
  case help
  case quit

  enum ProfileCommand: Equatable {
    case show
    case company(String)
    case position(String)
    case save
    case answer(String)
  }

  static let manual = """
    signup EMAIL PASSWORD   sign a new user up
    login EMAIL PASSWORD    log in; also needed again when the session has ended
    logout                  log out, and delete what is on this device
    list                    print the favorites, each with its number of openings
    add ID TITLE            add a favorite at the end
    rename ID TITLE         give it another title
    move ID INDEX           move it; the index is the one after the move
    delete ID               remove it
    open ID                 count that it was opened
    theme [system|light|dark]
                            print or choose the theme
    status                  print the connection and the number of changes that wait
    profile                 open the form for the profile, or print it
    profile company TEXT    type the company
    profile position TEXT   type the position
    profile save            save the profile
    profile answer CHOICE   answer the question after a save that has failed
    disconnect              behave as without a network
    connect                 follow the server again
    wait                    wait until the server has all changes of this device
    quit                    end; what waits is sent in the next run
    """

  struct Mistake: Error, Equatable {
    let description: String
  }

  /// Reads a line; nil for an empty line and for a comment.
  init?(_ line: String) throws(Mistake) {
    let words = line.split(separator: " ").map(String.init)
    guard let name = words.first, !name.hasPrefix("#") else { return nil }
    let (arguments, rest) = (Array(words.dropFirst()), words.dropFirst(2).joined(separator: " "))
    switch (name, arguments.count) {
    case ("signup", 2...): self = .signUp(email: arguments[0], password: rest)
    case ("login", 2...): self = .logIn(email: arguments[0], password: rest)
    case ("logout", 0): self = .logOut
    case ("list", 0): self = .list
    case ("add", 2...): self = .add(id: arguments[0], title: rest)
    case ("rename", 2...): self = .rename(id: arguments[0], title: rest)
    case ("move", 2):
      guard let index = Int(rest) else { throw Mistake(description: "\(rest) is not an index.") }
      self = .move(id: arguments[0], index: index)
    case ("delete", 1): self = .delete(id: arguments[0])
    case ("open", 1): self = .open(id: arguments[0])
    case ("theme", 0): self = .theme(nil)
    case ("theme", 1):
      guard let theme = Theme(rawValue: arguments[0]) else {
        throw Mistake(description: "\(arguments[0]) is not a theme.")
      }
      self = .theme(theme)
    case ("status", 0): self = .status
    case ("profile", _): self = .profile(try ProfileCommand(arguments, rest))
    case ("connect", 0): self = .connect
    case ("disconnect", 0): self = .disconnect
    case ("wait", 0): self = .wait
    case ("help", _): self = .help
    case ("quit", 0): self = .quit
    default: throw Mistake(description: "There is no such command: \(line). Type help.")
    }
  }
}

extension Command.ProfileCommand {
  fileprivate init(_ arguments: [String], _ rest: String) throws(Command.Mistake) {
    switch (arguments.first, arguments.count) {
    case (nil, _): self = .show
    // An empty text is not valid, and the form says so.
    case ("company", _): self = .company(rest)
    case ("position", _): self = .position(rest)
    case ("save", 1): self = .save
    case ("answer", 2): self = .answer(rest)
    default: throw Command.Mistake(description: "The form has no command \(arguments.joined(separator: " ")).")
    }
  }
}
