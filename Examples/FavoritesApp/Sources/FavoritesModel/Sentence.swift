import Foundation

extension Error {
  /// The error in a sentence for users. The errors of the client have a text for users. The texts of other errors are
  /// for developers.
  public var sentence: String {
    "\((self as? any LocalizedError)?.errorDescription ?? "Something went wrong")."
  }
}
