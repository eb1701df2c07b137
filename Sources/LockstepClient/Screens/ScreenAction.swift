/// An action of a screen. It is encoded as `{"type": …, "payload": …}`.
///
/// `lockstep swift` prints the actions of a server's screens. To write actions by hand, declare an enum:
///
///     enum CounterAction: ScreenAction {
///       case increase
///       case setStep(Int)
///
///       func encode(to encoder: any Encoder) throws {
///         switch self {
///         case .increase: try ScreenActionBody("increase").encode(to: encoder)
///         case .setStep(let step): try ScreenActionBody("setStep", ["value": step]).encode(to: encoder)
///         }
///       }
///     }
public protocol ScreenAction: Encodable, Sendable {}

/// The form in which a client sends an action.
public struct ScreenActionBody<Payload: Encodable>: Encodable {
  /// The name of the action.
  public let type: String
  /// The values that belong to it; nil if there are none.
  public let payload: Payload?

  /// An action with a payload, which must be encoded as an object.
  public init(_ type: String, _ payload: Payload) {
    (self.type, self.payload) = (type, payload)
  }
}

extension ScreenActionBody where Payload == [String: String] {
  /// An action without a payload.
  public init(_ type: String) {
    (self.type, payload) = (type, nil)
  }
}
