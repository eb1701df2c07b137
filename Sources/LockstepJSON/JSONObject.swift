/// A JSON object: members in the order in which their names first came, each name once.
///
/// Names are the same when their bytes are the same in UTF-8. Finding a member takes a short scan while
/// there are few, and one probe of a hash index, seeded at random, when there are more than 16; so
/// hostile objects cost no more than friendly ones. Setting a member takes as long as finding it;
/// removing one takes time in proportion to the count, as in an array, and `removeAll(where:)` no more
/// than that for any number of them.
public struct JSONObject: Sendable {
  struct Member: Sendable {
    var name: String
    var value: JSON
  }

  private(set) var members: [Member]
  private var index: NameIndex

  /// An object without members.
  public init() {
    members = []
    index = NameIndex()
  }

  /// Members in the given order; of a repeated name the last value wins, in the place of the first.
  public init(_ members: some Sequence<(String, JSON)>) {
    self.init()
    reserveCapacity(members.underestimatedCount)
    for (name, value) in members { updateValue(value, named: name) }
  }

  /// Takes members of which the caller knows that no name is repeated, and that they are few enough
  /// to need no index.
  init(unrepeated members: [Member]) {
    self.members = members
    index = NameIndex()
  }

  /// Takes any members; of a repeated name the last wins.
  init(repeatable members: consuming [Member]) {
    self.init()
    reserveCapacity(members.count)
    for member in members { updateValue(member.value, named: member.name) }
  }

  /// Makes room for that many members at once.
  public mutating func reserveCapacity(_ capacity: Int) {
    members.reserveCapacity(capacity)
    index.rebuild(for: members, capacity: Swift.max(capacity, members.count))
  }

  /// The value with that name. Setting one that exists keeps its place, a new one comes last, and
  /// setting `nil` removes (for JSON's null, set `JSON.null`).
  public subscript(name: String) -> JSON? {
    get {
      place(of: name).map { members[$0].value }
    }
    set {
      if let newValue {
        updateValue(newValue, named: name)
      } else {
        removeValue(named: name)
      }
    }
  }

  /// Whether there is a member with that name.
  public func contains(name: String) -> Bool {
    place(of: name) != nil
  }

  /// Sets the value with that name and returns the one that it replaces.
  @discardableResult
  public mutating func updateValue(_ value: JSON, named name: String) -> JSON? {
    if let place = place(of: name) {
      let old = members[place].value
      members[place].value = value
      return old
    }
    members.append(Member(name: name, value: value))
    index.insertLast(of: members)
    return nil
  }

  /// Removes the member with that name and returns its value.
  @discardableResult
  public mutating func removeValue(named name: String) -> JSON? {
    guard let place = place(of: name) else { return nil }
    index.remove(place: place, of: members)
    return members.remove(at: place).value
  }

  /// Removes every member that the predicate picks, all in one pass.
  public mutating func removeAll(where shouldRemove: (_ name: String, _ value: JSON) -> Bool) {
    let countBefore = members.count
    members.removeAll { shouldRemove($0.name, $0.value) }
    if members.count != countBefore { index.rebuild(for: members, capacity: members.count) }
  }

  /// The names, in order.
  public var names: [String] {
    members.map(\.name)
  }

  /// Lets the body change a value where it stands, without a copy of it. Nil when there is none.
  mutating func modifyValue<Result, Failure: Error>(
    named name: String,
    _ body: (inout JSON) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard let place = place(of: name) else { return nil }
    return try body(&members[place].value)
  }

  /// The value with that name, which in an object of the same shape is likely to be at that place.
  func value(named name: String, expectedAt place: Int) -> JSON? {
    if place < members.count, members[place].name.hasSameBytes(as: name) { return members[place].value }
    return self[name]
  }

  private func place(of name: String) -> Int? {
    if index.isInUse { return index.place(of: name, in: members) }
    return members.firstIndex { $0.name.hasSameBytes(as: name) }
  }
}

extension JSONObject: RandomAccessCollection {
  /// The place of the first member.
  public var startIndex: Int { 0 }
  /// The place after the last member.
  public var endIndex: Int { members.count }

  /// The member at a place, which must be one of `indices`.
  public subscript(position: Int) -> (name: String, value: JSON) {
    let member = members[position]
    return (member.name, member.value)
  }
}

extension JSONObject: Hashable {
  /// Whether both have the same members, in whatever order.
  public static func == (left: JSONObject, right: JSONObject) -> Bool {
    JSON.object(left) == JSON.object(right)
  }

  /// Feeds the object to the hasher; equal objects feed the same.
  public func hash(into hasher: inout Hasher) {
    JSON.object(self).hash(into: &hasher)
  }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
  /// Members in the order of the literal; of a repeated name the last wins.
  public init(dictionaryLiteral elements: (String, JSON)...) {
    self.init(elements)
  }
}
