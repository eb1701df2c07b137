#if canImport(SwiftUI)
  import LockstepClient
  import SwiftUI

  extension EnvironmentValues {
    /// The client of the app: `.environment(\.lockstep, client)`.
    @Entry public var lockstep: LockstepClient?
  }

  extension ValueModel {
    /// The value as a binding, such as for a toggle.
    public var binding: Binding<Value> {
      Binding {
        self.value
      } set: {
        self.value = $0
      }
    }
  }

  /// A setting that is the same on all devices of the user.
  ///
  ///     @Synced("theme") private var theme = "light"
  ///
  /// The client comes from the environment. Without one, the setting lives as long as the view.
  @propertyWrapper
  @MainActor
  public struct Synced<Value: Codable & Equatable & Sendable>: @preconcurrency DynamicProperty {
    private let key: String
    private let suite: String
    private let fallback: Value
    @Environment(\.lockstep) private var client
    @State private var box = SyncedBox<Value>()

    /// A setting with a key of a suite.
    public init(wrappedValue: Value, _ key: String, suite: String = "standard") {
      (fallback, self.key, self.suite) = (wrappedValue, key, suite)
    }

    /// Finds the model for the client.
    public func update() { box.prepare(key, suite, fallback, client) }

    /// The value.
    public var wrappedValue: Value {
      get { box.model?.value ?? box.local ?? fallback }
      nonmutating set { box.set(newValue) }
    }

    /// The value as a binding.
    public var projectedValue: Binding<Value> {
      Binding {
        wrappedValue
      } set: {
        wrappedValue = $0
      }
    }
  }

  /// Keeps the model of a property between two updates of its view.
  @MainActor
  @Observable
  final class SyncedBox<Value: Codable & Equatable & Sendable> {
    private(set) var model: ValueModel<Value>?
    private(set) var local: Value?
    @ObservationIgnored private weak var client: LockstepClient?

    nonisolated init() {}

    func prepare(_ key: String, _ suite: String, _ fallback: Value, _ client: LockstepClient?) {
      guard let client, client !== self.client else { return }
      self.client = client
      model = ValueModel(key, in: client.defaults(suite), default: fallback)
    }

    func set(_ value: Value) {
      if let model { model.value = value } else { local = value }
    }
  }
#endif
