import LockstepJSON

/// A module of your own whose state is a list of a Swift type. `docs/own-reactor.md` has an
/// example.
///
///     struct Notes: ListModule {
///       typealias Element = Note
///       static let name = "notes"
///     }
///
/// Clients can add, change, move and remove elements without further code. `decide` may refuse
/// that, or change something else instead. A server takes the module as `.list(Notes())`.
public protocol ListModule<Element>: Sendable {
  /// The elements. The server derives their format from their `Codable` code.
  associatedtype Element: ListContent where Element.ID == String
  /// The input of `decide`. By default the mutations that clients propose. A module with further
  /// actions has an enumeration with one case for these mutations.
  associatedtype Action: Sendable = List<Element>.Mutation

  /// The name: a lower-case letter, then up to 63 letters, digits, `_` or `-`. Stores contain it,
  /// so never change it.
  static var name: String { get }
  /// Bounds and defaults of members. Default: none.
  static var rules: [ElementRule] { get }
  /// The largest size of one user's list.
  static var quota: CollectionQuota { get }
  /// The actions that clients can send.
  static var actions: ListActions<Element, Action> { get }

  /// Returns the mutations of an action in order, or an empty array if it changes nothing. Throws a
  /// refusal to decline it. Then the whole transaction changes nothing.
  ///
  /// It runs in the transaction that writes its mutations, while other writes wait. So it must be
  /// fast, have no side effects and read no clock.
  func decide(_ action: Action, _ list: List<Element>) throws(Refusal) -> [List<Element>.Mutation]

  /// The payload of an action as the journal shows it. Default: as the client sent it. Clients can
  /// read the journal, so leave secrets out.
  static func recorded(_ payload: JSON, of type: String) -> JSON
}

extension ListModule {
  /// A change of the list: what clients propose, and what `decide` returns.
  public typealias Mutation = List<Element>.Mutation

  /// The actions that clients can send.
  public typealias Actions = ListActions<Element, Action>

  /// No rules.
  public static var rules: [ElementRule] { [] }

  /// 10,000 elements and 16 MiB.
  public static var quota: CollectionQuota { CollectionQuota() }

  /// The payload as the client sent it.
  public static func recorded(_ payload: JSON, of type: String) -> JSON { payload }

  /// Decides on an action and applies the mutations, for tests.
  public func perform(_ action: Action, on list: inout List<Element>) throws(Refusal) -> [List<Element>.Mutation] {
    let mutations = try decide(action, list)
    for mutation in mutations { list.apply(mutation) }
    return mutations
  }

  /// The user's list in a state.
  package static func list(in state: ListState) -> List<Element> {
    List(state, defaults: ElementFormat<Element>.defaults(in: rules))
  }
}

extension ListModule where Action == List<Element>.Mutation {
  /// All standard actions.
  public static var actions: ListActions<Element, Action> { ListActions() }

  /// Accepts what the client proposes.
  public func decide(_ action: Action, _ list: List<Element>) throws(Refusal) -> [List<Element>.Mutation] { [action] }
}

extension ActionContext {
  /// Another list of the same user, with the changes of earlier actions in the same transaction.
  public func list<Module: ListModule>(_ module: Module.Type) -> List<Module.Element> {
    module.list(in: list(module.name))
  }
}
