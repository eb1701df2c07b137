import LockstepClient
import Observation

/// One value of a map, such as a setting, for views that read and change it.
@MainActor
@Observable
public final class ValueModel<Value: Codable & Equatable & Sendable> {
  /// The value. Setting it shows it at once, and writes it. Of several values in a moment, such as of a slider, only
  /// the last is written.
  public var value: Value {
    get { shown }
    set {
      shown = newValue
      wanted?.yield(newValue)
    }
  }
  /// Why the last write could not be stored on this device.
  public internal(set) var failure: (any Error)?
  private var shown: Value
  private let fallback: Value
  @ObservationIgnored private var wanted: AsyncStream<Value>.Continuation?
  @ObservationIgnored private var tasks: [FollowingTask] = []
  @ObservationIgnored private weak var client: LockstepClient?

  /// A model of the value of a key. `fallback` is shown while there is none.
  public convenience init(_ key: String, in map: SyncedMap, default fallback: Value) {
    self.init(fallback)
    follow(key, in: map)
  }

  /// Before `follow`, a value of this model alone.
  package init(_ fallback: Value) { (shown, self.fallback) = (fallback, fallback) }

  /// Follows a key of a client's defaults from now on, unless it does already.
  package func follow(_ key: String, suite: String, of client: LockstepClient) {
    if client === self.client { return }
    self.client = client
    follow(key, in: client.defaults(suite))
  }

  private func follow(_ key: String, in map: SyncedMap) {
    shown = map.value(key) ?? fallback
    let (values, continuation) = AsyncStream<Value>.makeStream(bufferingPolicy: .bufferingNewest(1))
    wanted = continuation
    tasks = [
      FollowingTask { [weak self, fallback] in
        for await value in map.values(of: key, as: Value.self) { self?.shown = value ?? fallback }
      },
      FollowingTask { [weak self] in
        for await value in values {
          do { try await map.set(key, value) } catch { self?.failure = error }
        }
      },
    ]
  }
}

/// An object, such as the profile, for views.
@MainActor
@Observable
public final class ObjectModel<Value: Codable & Equatable & Sendable> {
  /// The object; nil if the type cannot read it.
  public private(set) var value: Value?
  /// Why the last write could not be stored on this device.
  public internal(set) var failure: (any Error)?
  @ObservationIgnored private let object: SyncedObject<Value>
  @ObservationIgnored private var following: FollowingTask?

  /// A model of an object.
  public init(_ object: SyncedObject<Value>) {
    (self.object, value) = (object, object.value)
    following = FollowingTask { [weak self, object] in
      for await value in object.values { self?.value = value }
    }
  }

  /// Writes the members that `changes` has.
  public func save(_ changes: some Encodable & Sendable) {
    Task { [object] in
      do { _ = try await object.save(changes) } catch { failure = error }
    }
  }
}

/// Where a client stands, for a banner such as "offline, 3 changes wait".
@MainActor
@Observable
public final class StatusModel {
  /// Where the client stands.
  public private(set) var status: ClientStatus
  @ObservationIgnored private var following: FollowingTask?

  /// A model of a client's status.
  public init(_ client: LockstepClient) {
    status = client.status
    following = FollowingTask { [weak self] in
      for await status in client.statuses { self?.status = status }
    }
  }
}
