import FavoritesModel
import LockstepClient
import LockstepReactor

/// The app without views: commands come as lines, and what changes is printed as it comes.
///
/// Each command ends with a line `ok` or `error: …`. A change that was made has an `ok` only when it is on disk. A line
/// that begins with `*` shows a change from this device or another one.
@MainActor
final class Terminal {
  private let reactors: ReactorFactory<AppComponents>
  private let model: FavoritesModel
  private let print: @MainActor (String) -> Void
  private var running: Task<Void, Never>?
  private var tasks: [Task<Void, Never>] = []
  private var form: ProfileForm?

  init(_ client: LockstepClient, print: @escaping @MainActor (String) -> Void) {
    reactors = ReactorFactory(AppComponents(client: client))
    (model, self.print) = (reactors.favorites(), print)
  }

  /// Follows the server, and prints what changes.
  func start() {
    connect()
    let (model, print) = (model, print)
    tasks += [
      Task {
        var isFirst = true
        for await update in model.photos.list.updates {
          if !isFirst { for line in Self.lines(of: update) { print("* \(line)") } }
          isFirst = false
        }
      },
      Task {
        var last: Theme?
        for await theme in model.settings.values(of: "theme", as: Theme.self) {
          if let theme, last != nil || theme != model.theme.value { print("* theme \(theme.rawValue)") }
          last = theme ?? .system
        }
      },
      Task {
        var last: Banner?
        for await banner in model.client.statuses.map({ Banner($0) }) where banner != last {
          print("* \(banner?.text ?? "In lockstep.")")
          last = banner
        }
      },
    ]
  }

  /// Ends what `start` has begun. Returns when nothing runs any more.
  func stop() async {
    for task in tasks { task.cancel() }
    await disconnect()
    for task in tasks { await task.value }
    tasks = []
  }

  private func connect() {
    if running == nil { running = Task { [client = model.client] in await client.run() } }
  }

  private func disconnect() async {
    running?.cancel()
    await running?.value
    running = nil
  }

  /// The changes of a list, each as a line.
  private static func lines(of update: ListUpdate<Photo>) -> [String] {
    let change = update.changeset
    return change.deletions.map { "deleted \($0.id)" }
      + change.insertions.map { "added \($0.element.id) at \($0.index): \($0.element.name)" }
      + change.moves.map { "moved \($0.id) to \($0.to)" }
      + change.modifications.map { "renamed \($0.element.id): \($0.element.name)" }
  }

  // MARK: - Commands

  /// Performs a line. Returns false if it ends the program.
  func perform(_ line: String) async -> Bool {
    do {
      guard let command = try Command(line) else { return true }
      if command == .quit { return false }
      try await perform(command)
      print("ok")
    } catch {
      print("error: \((error as? Command.Mistake)?.description ?? "\(error)")")
    }
    return true
  }

  private func perform(_ command: Command) async throws {
    let client = model.client
    switch command {
    case .signUp(let email, let password): try await client.signUp(email: email, password: password)
    case .logIn(let email, let password): try await client.logIn(email: email, password: password)
    case .logOut: try await client.logOut()
    case .list: showList()
    case .add(let id, let title): try await model.add(Photo(id: id, title: title))
    case .rename(let id, let title): try await model.rename(id, to: title)
    case .move(let id, let index): try await model.move(id, to: index)
    case .delete(let id): try await model.delete([id])
    case .open(let id): try await model.open(id)
    case .theme(nil): print("theme \(model.theme.value.rawValue)")
    case .theme(let theme?): try await model.choose(theme)
    case .status: showStatus()
    case .profile(let command): try await perform(command)
    case .connect: connect()
    case .disconnect: await disconnect()
    case .wait: try await waitForServer()
    case .help: print(Command.manual)
    case .quit: break
    }
  }

  private func showList() {
    // The list itself, because the model gets a change a moment later.
    for (index, photo) in model.photos.list.elements.enumerated() {
      print("\(index) \(photo.id) \(model.openings(of: photo.id)) \(photo.name)")
    }
  }

  private func showStatus() {
    let (status, refused) = (model.client.status, model.client.refusedWrites)
    print("\(status.connection), \(status.pending) waiting, \(refused.count) refused")
    for write in refused {
      print("refused \(write.actions.map(\.description).joined(separator: ", ")): \(write.failure)")
    }
  }

  /// Returns when the server has everything. Throws if the user must do something before.
  private func waitForServer() async throws {
    for await status in model.client.statuses {
      switch status.connection {
      case .live where status.pending == 0: return
      case .needsLogin, .failed: throw Command.Mistake(description: Banner(status)?.text ?? "\(status.connection)")
      case .stopped where running == nil: throw Command.Mistake(description: "There is no connection: type connect.")
      case .stopped, .connecting, .live, .offline: continue
      }
    }
  }

  // MARK: - The profile

  private func perform(_ command: Command.ProfileCommand) async throws {
    let form = form ?? openForm()
    switch command {
    case .show: print(Self.line(of: form.state))
    case .company(let text): form.companyName = text
    case .position(let text): form.position = text
    case .save: form.save()
    case .answer(let choice): form.answer(choice)
    }
  }

  private func openForm() -> ProfileForm {
    let (form, print) = (reactors.profile(), print)
    self.form = form
    tasks += [
      Task { await form.run() },
      Task { for await state in form.screen.states.dropFirst() { print("* \(Self.line(of: state))") } },
      Task {
        for await failure in form.screen.failures().ignoringLosses { print("* profile: \(failure.failure)") }
      },
    ]
    return form
  }

  private static func line(of state: WorkingHistory) -> String {
    var words = ["profile: company \"\(state.companyName)\", position \"\(state.position)\""]
    if state.isLoading { words.append("saving") }
    if state.saved > 0 { words.append("saved \(state.saved)") }
    words += [state.validatedCompanyName, state.validatedPosition].filter(\.isFailure).map(\.message)
    if let prompt = state.prompt {
      let choices = prompt.choices.map { "\($0): \(prompt.text(of: $0))" }
      words.append("\(prompt.title): \(prompt.message) (\(choices.joined(separator: "; ")))")
    }
    return words.joined(separator: ", ")
  }
}
