import Foundation
import LockstepReactor

/// The one action for the errors of the app. Every other action reports its errors here, so one view shows them,
/// whichever screen the user is on.
public struct ErrorAction: Sendable {
  private let dispatcher: ErrorDispatcher

  /// An action that dispatches to this dispatcher.
  public init(_ dispatcher: ErrorDispatcher) { self.dispatcher = dispatcher }

  /// Shows an error, in place of an earlier one.
  public func report(_ error: any Error) {
    dispatcher.errors.dispatch(error)
    dispatcher.messages.dispatch(Self.message(for: error))
  }

  /// Removes the error.
  public func dismiss() { dispatcher.messages.dispatch(nil) }

  private static func message(for error: any Error) -> String {
    // The errors of the client have a text for users. The texts of other errors are for developers.
    "\((error as? any LocalizedError)?.errorDescription ?? "Something went wrong")."
  }
}

/// The subjects to which `ErrorAction` dispatches.
public struct ErrorDispatcher: Dispatcher {
  /// The errors, one event each.
  public let errors = DispatchSubject<any Error>()
  /// The sentence to show; nil for none.
  public let messages = DispatchSubject<String?>()

  /// A dispatcher. An app has one.
  public init() {}
}

/// The errors, for a log and for the banner.
public final class ErrorStore: FluxStore {
  /// The errors, one event each.
  public let errors: BoundEvents<any Error>
  /// The sentence to show; nil for none.
  public let message: BoundValue<String?>

  /// A store that shows what is dispatched from now on.
  public init(dispatcher: ErrorDispatcher) {
    errors = BoundEvents(dispatcher.errors)
    message = BoundValue(dispatcher.messages, initial: nil)
  }
}

/// The banner that shows the last error, for any platform: a view in SwiftUI or UIKit shows `texts`, and calls
/// `close` when the user taps the banner.
public struct ErrorBanner: Sendable {
  private let store: ErrorStore
  private let action: ErrorAction

  /// A banner for a store, which closes through the action.
  public init(_ store: ErrorStore, _ action: ErrorAction) { (self.store, self.action) = (store, action) }

  /// The text now, and each later one; nil while there is no banner.
  public var texts: LatestValues<String?> { store.message.values }

  /// The user has read the error.
  public func close() { action.dismiss() }
}
