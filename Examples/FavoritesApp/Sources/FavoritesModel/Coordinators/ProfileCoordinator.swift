import LockstepReactor
import Observation

/// The form for the profile. Ends when the user is done.
@MainActor
@Observable
public final class ProfileCoordinator: Coordinator {
  /// The form.
  public let form: ProfileForm
  @ObservationIgnored private let isDone = Latest(false)

  init(_ form: ProfileForm) { self.form = form }

  /// Runs the form until the user is done.
  public func start() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [form] in await form.run() }
      for await isDone in isDone.values where isDone { break }
      group.cancelAll()
    }
  }

  /// Ends the flow.
  public func done() { isDone.publish(true) }
}
