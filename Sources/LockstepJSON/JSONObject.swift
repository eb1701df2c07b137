/// A JSON object: members with unique names, in the order in which the names were first set.
///
/// Names are equal if their UTF-8 bytes are equal. Up to 16 members are searched in order. Larger
/// objects have a hash index with a random seed, against hostile names. Removing one member takes
/// time in proportion to the count, and `removeAll(where:)` takes no longer.
public struct JSONObject: Sendable {
  package struct Member: Sendable {
    package var name: String
    package var value: JSON
  }

  /// For fast code of other targets. The collection's own elements are copies.
  package private(set) var members: [Member]
  private var index: NameIndex

  /// An object without members.
  public init() {
    members = []
    index = NameIndex()
  }

  /// Members in order. The last value of a repeated name wins, at the position of the first.
  public init(_ members: some Sequence<(String, JSON)>) {
    self.init()
    reserveCapacity(members.underestimatedCount)
    for (name, value) in members { updateValue(value, named: name) }
  }

  /// Takes members without repeated names, and few enough to need no index.
  init(unrepeated members: [Member]) {
    self.members = members
    index = NameIndex()
  }

  init(repeatable members: consuming [Member]) {
    self.init()
    reserveCapacity(members.count)
    for member in members { updateValue(member.value, named: member.name) }
  }

  /// Makes room for members.
  public mutating func reserveCapacity(_ capacity: Int) {
    members.reserveCapacity(capacity)
    index.rebuild(for: members, capacity: Swift.max(capacity, members.count))
  }

  /// The value of a member. Setting an existing member keeps its position, and a new one comes
  /// last. Setting `nil` removes the member; for JSON's null, set `JSON.null`.
  public subscript(name: String) -> JSON? {
    get { place(of: name).map { members[$0].value } }
    set {
      if let newValue { updateValue(newValue, named: name) } else { removeValue(named: name) }
    }
  }

  /// Whether there is a member with this name.
  public func contains(name: String) -> Bool { place(of: name) != nil }

  /// Whether the member at a place has this name and value.
  @usableFromInline
  package func hasMember(_ name: String, equalTo value: JSON, at place: Int) -> Bool {
    place < members.count && members[place].name.hasSameBytes(as: name) && members[place].value == value
  }

  /// Sets the value of a member and returns the previous one.
  @discardableResult
  public mutating func updateValue(_ value: JSON, named name: String) -> JSON? {
    if let place = place(of: name) {
      let old = members[place].value
      members[place].value = value
      return old
    }
    append(value, named: name)
    return nil
  }

  /// Adds a member. There must be none with this name.
  @usableFromInline
  package mutating func append(_ value: JSON, named name: String) {
    members.append(Member(name: name, value: value))
    index.insertLast(of: members)
  }

  /// Removes a member and returns its value.
  @discardableResult
  public mutating func removeValue(named name: String) -> JSON? {
    guard let place = place(of: name) else { return nil }
    countOperations(members.count - place)
    index.remove(place: place, of: members)
    return members.remove(at: place).value
  }

  /// Removes all members that satisfy the predicate, in one pass.
  public mutating func removeAll(where shouldRemove: (_ name: String, _ value: JSON) -> Bool) {
    let countBefore = members.count
    members.removeAll { shouldRemove($0.name, $0.value) }
    if members.count != countBefore { index.rebuild(for: members, capacity: members.count) }
  }

  /// The names, in order.
  public var names: [String] { members.map(\.name) }

  /// The names that satisfy the predicate, in order.
  package func names(where isIncluded: (String) -> Bool) -> [String] {
    members.indices.lazy.map { members[$0].name }.filter(isIncluded)
  }

  mutating func modifyValue<Result, Failure: Error>(
    named name: String,
    _ body: (inout JSON) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard let place = place(of: name) else { return nil }
    return try body(&members[place].value)
  }

  /// The value of a member. Looks at `place` first, where objects in the same order have it.
  func value(named name: String, expectedAt place: Int) -> JSON? {
    if place < members.count, members[place].name.hasSameBytes(as: name) { return members[place].value }
    return self[name]
  }

  private func place(of name: String) -> Int? {
    if index.isInUse { return index.place(of: name, in: members) }
    return members.firstIndex { $0.name.hasSameBytes(as: name) }
  }
}

extension JSONObject: RandomAccessCollection, Hashable, ExpressibleByDictionaryLiteral {
  /// The index of the first member.
  public var startIndex: Int { 0 }
  /// The index after the last member.
  public var endIndex: Int { members.count }

  /// The member at an index.
  public subscript(position: Int) -> (name: String, value: JSON) {
    (members[position].name, members[position].value)
  }

  /// Whether both have the same members, in any order.
  public static func == (left: JSONObject, right: JSONObject) -> Bool {
    JSON.object(left) == JSON.object(right)
  }

  /// Hashes the object.
  public func hash(into hasher: inout Hasher) { JSON.object(self).hash(into: &hasher) }

  /// Members in order. The last value of a repeated name wins.
  public init(dictionaryLiteral elements: (String, JSON)...) { self.init(elements) }
}
